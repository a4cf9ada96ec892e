/* SPDX-License-Identifier: MIT */
/* tablefuse over a service on a bad day: the rules are in the environment, TABLEFUSE_FAULTS. */
#include "fs/verbs/command.h"
#include "tests/stores/faulty_store.h"

static int decorate(struct table_store *inner, struct table_store **ret)
{
    const char *rules = getenv("TABLEFUSE_FAULTS");
    return faulty_store_create(inner, &clock_system, rules ? rules : "", ret);
}

int main(int argc, char **argv)
{
    return command_run(argc, argv, decorate);
}
