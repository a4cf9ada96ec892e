/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_KNOWN_FRESHNESS_FIXTURE_H
#define TESTS_UNIT_CACHE_KNOWN_FRESHNESS_FIXTURE_H
/* What the tests of freshness share: its clock, some directories, and short forms of the calls. The
 * time of each call is an argument. */
#include "cache/known/freshness.h"
#include "tests/unit/unit.h"

#define TTL_MS 1000
#define GREP   1 /* a process */
#define SHELL  2

#define ACCOUNT ((struct directory){.kind = DIRECTORY_TABLES, .range = RANGE_ALL})
#define TABLE(name)                                                                                \
    ((struct directory){.kind = DIRECTORY_FLAT, .table = (name), .range = RANGE_ALL})
/* Of the literal: its NULs count. */
#define PARTITION(key)                                                                             \
    ((struct directory){.kind = DIRECTORY_ENTITIES,                                                \
                        .table = "t",                                                              \
                        .range = {BYTES_LITERAL(key "\0"), BYTES_LITERAL(key POSITION_AFTER)}})
#define ROW_PREFIX(key, prefix, successor)                                                         \
    ((struct directory){                                                                           \
        .kind = DIRECTORY_ENTITIES,                                                                \
        .table = "t",                                                                              \
        .range = {BYTES_LITERAL(key "\0" prefix), BYTES_LITERAL(key "\0" successor)}})

struct setup {
    int64_t now_ms, ttl_ms;
    struct clock clock;
    _Atomic uint64_t orders;
    struct freshness *freshness;
};

static inline struct setup *new_setup(int64_t ttl_ms)
{
    struct setup *setup = calloc(1, sizeof(*setup));
    assert_non_null(setup);
    setup->ttl_ms = ttl_ms;
    setup->clock = fake_clock(&setup->now_ms);
    assert_int_equal(freshness_create(ttl_ms, &setup->clock, &setup->orders, &setup->freshness), 0);
    return setup;
}

static inline void destroy_setup(struct setup *setup)
{
    freshness_destroy(setup->freshness);
    free(setup);
}

static inline int set_up(void **state)
{
    *state = new_setup(TTL_MS);
    return 0;
}

static inline int tear_down(void **state)
{
    destroy_setup(*state);
    return 0;
}

/* The process reads a listing that it began at began_ms: the listing may show what is a ttl older.
 * True where it has left a directory, which is put into ret_left. */
static inline bool lists_and_leaves(struct setup *setup, uint64_t process,
                                    struct directory directory, int64_t began_ms, int64_t now_ms,
                                    struct owned_range *ret_left)
{
    setup->now_ms = now_ms;
    return freshness_listed(setup->freshness, process, &directory,
                            stamp_since(began_ms - setup->ttl_ms), ret_left);
}

static inline void lists(struct setup *setup, uint64_t process, struct directory directory,
                         int64_t began_ms, int64_t now_ms)
{
    struct owned_range left;
    owned_range_init(&left);
    (void)lists_and_leaves(setup, process, directory, began_ms, now_ms, &left);
    owned_range_finish(&left);
}

/* How old an answer about the position may be. */
static inline int64_t since(struct setup *setup, uint64_t process, const char *table,
                            struct bytes position, int64_t now_ms)
{
    setup->now_ms = now_ms;
    return freshness_oldest(setup->freshness, process, table, position, &(struct served){0})
        .requested_ms;
}

/* The same for a listing that GREP begins. */
static inline int64_t listing_since(struct setup *setup, struct directory directory, int64_t now_ms)
{
    setup->now_ms = now_ms;
    return freshness_begin_listing(setup->freshness, GREP, &directory).requested_ms;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

#endif
