/* SPDX-License-Identifier: MIT */
/* Threads that share a range cache: each sees what it wrote. */
#include "tests/unit/range_check.h"

#include <pthread.h>

#define LARGE       ((size_t)1 << 30)
#define SHARED_ROWS 8
#define UNKNOWN     (-1)
#define ABSENT      (-2)

struct shared { /* a service of 8 rows, and a cache of it */
    struct range_cache *cache;
    _Atomic uint64_t orders;
    _Atomic int stored[SHARED_ROWS]; /* ABSENT: no such row */
    _Atomic bool is_over;
};

struct writer {
    struct shared *shared;
    int row;
    int seen; /* how often it saw its text */
};

/* The rows [begin, end) as they are stored now. */
static struct page *page_of_stored(struct shared *shared, int begin, int end, bool keys_only)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    struct page *page = NULL;
    char digits[] = "0123456789";
    assert_int_equal(page_builder_create(1 << 20, &builder), 0);
    for (int row = begin; row < end; row++) {
        int stored = shared->stored[row];
        if (stored == ABSENT)
            continue;
        if (!keys_only)
            (void)buffer_append_format(page_builder_text(builder), "%d", stored);
        (void)page_builder_end_row(builder, (struct bytes){digits + row, 1}, B(""), 0);
    }
    struct range range = {{digits + begin, 1}, {digits + end, 1}};
    assert_int_equal(page_builder_finish(builder, range, keys_only, &page), 0);
    (void)sched_yield();
    return page;
}

/* UNKNOWN also for a row that is known without its text. */
static int known_text(struct shared *shared, int row, bool keys_suffice)
{
    char lo = (char)('0' + row), hi = (char)('1' + row);
    struct question question = {
        .table = "t", .range = {{&lo, 1}, {&hi, 1}}, .keys_suffice = keys_suffice};
    struct run run = {0};
    int64_t requested_ms;
    struct position until;
    int text = UNKNOWN;
    enum knowledge known = range_cache_next(shared->cache, &question, &run, &requested_ms, &until);
    uint64_t value = 0;
    if (known == KNOWN_EMPTY)
        text = ABSENT;
    if (known == KNOWN_ROWS &&
        bytes_parse_unsigned(page_text(run.page, run.begin), 1 << 30, &value))
        text = (int)value;
    run_finish(&run);
    return text;
}

static void store(struct shared *shared, int row, int text)
{
    shared->stored[row] = text;
    _cleanup_(page_unrefp) struct page *page = page_of_stored(shared, row, row + 1, false);
    assert_int_equal(range_cache_put_change(shared->cache, "t", page, &shared->orders, text), 0);
}

static void delete_rows(struct shared *shared, const char *rows, int64_t now_ms)
{
    struct bytes positions[SHARED_ROWS];
    size_t count = strlen(rows);
    for (size_t i = 0; i < count; i++) {
        positions[i] = (struct bytes){rows + i, 1};
        shared->stored[rows[i] - '0'] = ABSENT;
    }
    assert_int_equal(
        range_cache_put_gone(shared->cache, "t", positions, count, &shared->orders, now_ms), 0);
}

/* What it wrote it sees, or nothing; never what was there before. Every third time its row is
 * deleted first. */
static void *write_and_ask(void *argument)
{
    struct writer *writer = argument;
    struct shared *shared = writer->shared;
    const char row[] = {(char)('0' + writer->row), 0};
    for (int i = 1; i <= 3000; i++) {
        if (i % 3 == 0) {
            delete_rows(shared, row, i);
            assert_true(known_text(shared, writer->row, i % 2) < 0);
        }
        store(shared, writer->row, i);
        for (int again = 0; again < 3; again++) {
            int text = known_text(shared, writer->row, again == 1);
            assert_true(text == UNKNOWN || text >= i);
            writer->seen += text >= i;
        }
    }
    return NULL;
}

/* Rows on both sides of one that is deleted and stored again: the gap is bridged, or not. */
static void *delete_around(void *argument)
{
    struct shared *shared = argument;
    for (int i = 0; !shared->is_over; i++) {
        delete_rows(shared, "24", i);
        (void)sched_yield();
    }
    return NULL;
}

static void *read_all(void *argument)
{
    struct shared *shared = argument;
    for (int i = 0; !shared->is_over; i++) {
        struct stamp stamp = stamp_take(&shared->orders, i);
        (void)sched_yield();
        _cleanup_(page_unrefp) struct page *page = page_of_stored(shared, 0, SHARED_ROWS, i % 2);
        assert_int_equal(range_cache_put(shared->cache, "t", page, stamp), 0);
        (void)known_text(shared, i % SHARED_ROWS, i % 3);
        range_cache_passed(shared->cache, "t", (struct range){B("0"), B("9")});
        if (i % 100 == 0)
            range_cache_drop_table(shared->cache, "t", stamp);
        struct range_map_check check = {0};
        if (i % 50 == 0)
            check_range_maps(&check, shared->cache);
    }
    return NULL;
}

/* In a cache that holds all, and in one that holds next to nothing. */
static void threads_see_what_they_wrote(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct shared shared = {0};
        assert_int_equal(range_cache_create(i ? 1000 : LARGE, &shared.cache), 0);
        struct writer writers[3] = {{&shared, 0, 0}, {&shared, 3, 0}, {&shared, 7, 0}};
        pthread_t threads[6];
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(pthread_create(&threads[j], NULL, write_and_ask, &writers[j]), 0);
        for (size_t j = 3; j < 5; j++)
            assert_int_equal(pthread_create(&threads[j], NULL, read_all, &shared), 0);
        assert_int_equal(pthread_create(&threads[5], NULL, delete_around, &shared), 0);
        for (size_t j = 0; j < 6; j++) {
            shared.is_over = j >= 3;
            assert_int_equal(pthread_join(threads[j], NULL), 0);
        }
        struct range_cache_stats stats;
        range_cache_stats(shared.cache, &stats);
        assert_true(writers[0].seen > 0);
        assert_true((stats.evicted > 0) == (i == 1));
        assert_cache_is_sound(shared.cache);
        range_cache_destroy(shared.cache);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_see_what_they_wrote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
