#ifndef TESTS_UNIT_REMEMBERING_H
#define TESTS_UNIT_REMEMBERING_H
/* What the tests of the history of processes share: one, some directories, and what it is told. */
#include "cache/read/process_history.h"
#include "tests/unit/unit.h"

#define TTL_MS 1000
#define GREP   1 /* a process */
#define SHELL  2

#define ACCOUNT     ((struct directory){.kind = DIRECTORY_TABLES, .range = RANGE_ALL})
#define TABLE(name) ((struct directory){DIRECTORY_FLAT, name, RANGE_ALL})
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

static inline struct process_history *new_history(int64_t ttl_ms)
{
    struct process_history *history = NULL;
    assert_int_equal(process_history_create(ttl_ms, 0, &history), 0);
    return history;
}

static inline int set_up(void **state)
{
    *state = new_history(TTL_MS);
    return 0;
}

static inline int tear_down(void **state)
{
    process_history_destroy(*state);
    return 0;
}

/* The listing of one READDIR, begun now, leaves nothing behind. */
static inline void lists(struct process_history *history, uint64_t process,
                         struct directory directory, int64_t began_ms, int64_t now_ms)
{
    struct region left;
    region_init(&left);
    (void)process_history_listed(history, process, &directory, began_ms, now_ms, &left);
    region_finish(&left);
}

static inline int64_t not_before(struct process_history *history, uint64_t process, const char *in,
                                 struct bytes position, int64_t now_ms)
{
    bool is_served;
    return process_history_not_before(history, process, in, position, now_ms, &is_served);
}

static inline int64_t listing_not_before(struct process_history *history,
                                         struct directory directory, int64_t now_ms,
                                         bool expected_is_served)
{
    bool is_served;
    int64_t ms = process_history_listing_not_before(history, GREP, &directory, now_ms, &is_served);
    assert_int_equal(is_served, expected_is_served);
    return ms;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

#endif
