/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_FAILING_CJSON_H
#define TESTS_UNIT_FAILING_CJSON_H
/* cJSON's allocations fail on the commands of failing_memory.h, too. */
#include "tests/unit/failing_memory.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <stdlib.h>

static void *failing_malloc(size_t size)
{
    if (!is_time_to_fail())
        return malloc(size);
    errno = ENOMEM;
    return NULL;
}

static void failing_cjson_begin(void)
{
    cJSON_Hooks hooks = {failing_malloc, free};
    cJSON_InitHooks(&hooks);
}

static void failing_cjson_end(void)
{
    cJSON_InitHooks(NULL);
}

#endif
