/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CLIENT_STORE_RETRYING_FIXTURE_H
#define TESTS_UNIT_CLIENT_STORE_RETRYING_FIXTURE_H
/* A retrying store over a faulty one over one in memory. Time passes only in sleeps. */
#include "client/store/retrying_store.h"
#include "tests/stores/faulty_store.h"
#include "tests/stores/memory_store.h"
#include "tests/unit/unit.h"

struct setup {
    int64_t now_ms;
    struct clock clock;
    struct memory_store *memory;
    struct table_store *store; /* retrying over faulty over memory */
};

static inline void set_up(struct setup *setup, const char *rules)
{
    struct table_store *faulty;
    *setup = (struct setup){.memory = memory_store_create()};
    setup->clock = fake_clock(&setup->now_ms);
    memory_store_add_table(setup->memory, "one");
    memory_store_add_strings(setup->memory, "p", "r");
    assert_int_equal(faulty_store_create(&setup->memory->store, &setup->clock, rules, &faulty), 0);
    const struct retrying_store_options options = {.timeout_ms = 60000};
    assert_int_equal(retrying_store_create(faulty, &setup->clock, &options, &setup->store), 0);
}

static inline void tear_down(struct setup *setup)
{
    table_store_destroy(setup->store);
}

static inline int get(struct setup *setup, struct call *call)
{
    struct page *page = NULL;
    int r = table_store_get(setup->store, "one", B("p\0r"), call, &page);
    page_unref(page);
    return r;
}

static inline void assert_metric(struct setup *setup, const char *line)
{
    struct buffer text;
    buffer_init(&text, 4096);
    assert_int_equal(retrying_store_append_metrics(setup->store, &text), 0);
    assert_non_null(strstr(buffer_string(&text), line));
    buffer_finish(&text);
}

static inline bool is_cancelled_after_a_second(void *context)
{
    return *(int64_t *)context >= 1000;
}

static inline void nothing_to_destroy(struct table_store *store)
{
    (void)store;
}

#endif
