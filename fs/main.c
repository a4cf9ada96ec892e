/* SPDX-License-Identifier: MIT */
#include "fs/verbs/command.h"

#include <stddef.h>

int main(int argc, char **argv)
{
    return command_run(argc, argv, NULL);
}
