/* SPDX-License-Identifier: MIT */
/* How much a miss fetches, for entities that are opened by name in different orders. */
#include "cache/ahead/access_pattern.h"
#include "tests/unit/unit.h"

#define MAX_BYTES ((size_t)8 << 20)
#define ROW_BYTES ((size_t)500)
#define RECENT_MS ((int64_t)3000)
#define RANDOM    50000     /* a row that no other test row is near to */
#define HERE      B("p\0r") /* no order: always the same position */

/* Rows 0, 1, ... of one table. A fetch gives its rows new numbers, as page_number does. */
#define ROWS 60000
struct table {
    struct access_pattern pattern;
    size_t rows, row_bytes;
    uint64_t numbers[ROWS]; /* 0: not in the cache */
    uint64_t last_number;
    int64_t now_ms;
    size_t requests, read; /* rows */
};

static struct table *new_table(size_t rows)
{
    struct table *table = calloc(1, sizeof(*table));
    assert_non_null(table);
    assert_true(rows <= ROWS);
    table->rows = rows;
    table->row_bytes = ROW_BYTES;
    return table;
}

/* The miss of a row: fetches it with `ahead` rows after it, as far as there are rows. */
static void fetch(struct table *table, size_t row, size_t ahead)
{
    size_t rows = MIN(MIN(1 + ahead, TABLE_STORE_PAGE_ROWS), table->rows - row);
    for (size_t i = row; i < row + rows; i++)
        table->numbers[i] = ++table->last_number;
    table->requests++;
    table->read += rows;
    if (ahead > 0) /* as by_name: a row that is got alone is no fetch of the pattern */
        access_pattern_fetched(&table->pattern, B("p\0"), table->numbers[row], 1, rows,
                               rows * table->row_bytes, table->now_ms);
}

/* Opens the row. Returns how many rows were fetched ahead for it; -1: it was in the cache. */
static int opens(struct table *table, size_t row)
{
    int ahead = -1;
    if (table->numbers[row] == 0) {
        char position[16];
        int size = snprintf(position, sizeof(position), "p%c%08zu", '\0', row);
        ahead = (int)access_pattern_ahead(&table->pattern, (struct bytes){position, (size_t)size},
                                          MAX_BYTES, table->now_ms);
        fetch(table, row, (size_t)ahead);
    }
    access_pattern_used(&table->pattern, table->numbers[row]);
    return ahead;
}

static void opens_in_order_fetch_more_and_more(void **state)
{
    (void)state;
    static const struct {
        size_t row;
        int ahead;
    } misses[] = {{0, 3},        {4, 25},       {30, 225},    {256, 2025},
                  {1256, 10017}, {2256, 16777}, {3256, 16777}};
    struct table *table = new_table(4000);
    size_t next = 0;
    for (size_t row = 0; row < 4000; row++) {
        bool is_miss = next < ARRAY_SIZE(misses) && misses[next].row == row;
        assert_int_equal(opens(table, row), is_miss ? misses[next].ahead : -1);
        next += is_miss;
    }
    assert_int_equal(next, ARRAY_SIZE(misses));
    assert_int_equal(table->read, 4000);
    free(table);
}

static void random_opens_are_probed_less_and_less(void **state)
{
    (void)state;
    struct table *table = new_table(RANDOM);
    /* the distance from one probe to the next doubles up to 64 */
    static const size_t probes[] = {0, 1, 3, 7, 15, 31, 63, 127, 191};
    size_t next = 0;
    for (size_t i = 0; i < 200; i++) {
        bool is_probe = next < ARRAY_SIZE(probes) && probes[next] == i;
        assert_int_equal(opens(table, i * 30011 % RANDOM), is_probe ? 3 : 0);
        next += is_probe;
    }
    assert_int_equal(next, ARRAY_SIZE(probes));
    free(table);
}

static void a_probe_that_is_used_ends_the_backoff(void **state)
{
    (void)state;
    struct table *table = new_table(ROWS);
    for (size_t i = 0; i < 15; i++)
        assert_in_range(opens(table, 100 * (15 - i)), 0, 3);
    assert_int_equal(opens(table, RANDOM), 3);
    assert_int_equal(opens(table, RANDOM + 1), -1);
    assert_int_equal(opens(table, RANDOM + 10), 9); /* 8 times 1, and one: 1 of 3 was used */
    assert_int_equal(opens(table, RANDOM + 20), 9);
    free(table);
}

/* Every 20th row in key order: no fifth of a fetch is used, but misses ascend. */
static void opens_here_and_there_in_order_fetch_more_and_more(void **state)
{
    (void)state;
    struct table *table = new_table(40000);
    for (size_t row = 0; row < 40000; row += 20)
        (void)opens(table, row);
    assert_int_equal(table->requests, 48);
    assert_int_equal(table->read, 39864);
    free(table);
}

/* A fifth of the rows ahead must be used, where misses are in no order. */
static void a_few_hits_are_chance(void **state)
{
    (void)state;
    for (size_t used = 0; used < 20; used++) {
        struct access_pattern pattern = {0};
        access_pattern_fetched(&pattern, HERE, 1000, 1, 51, 51 * ROW_BYTES, 0);
        for (uint64_t number = 1001; number < 1001 + used; number++)
            access_pattern_used(&pattern, number);
        assert_int_equal(access_pattern_ahead(&pattern, HERE, MAX_BYTES, 0),
                         used < 10 ? 3 : 8 * used + 1);
    }
}

/* What all recent fetches were worth counts; those of other readers, which are worth nothing, do
 * not disturb it, until 16 of them have come. */
static void the_last_16_fetches_count(void **state)
{
    (void)state;
    for (int others = 0; others <= 16; others++) {
        struct access_pattern pattern = {0};
        access_pattern_fetched(&pattern, HERE, 1000, 1, 6, 6 * ROW_BYTES, 0);
        for (uint64_t number = 1001; number < 1006; number++)
            access_pattern_used(&pattern, number);
        for (int i = 0; i < others; i++)
            access_pattern_fetched(&pattern, HERE, 2000 + 100 * (uint64_t)i, 1, 4, 4 * ROW_BYTES,
                                   0);
        assert_int_equal(access_pattern_ahead(&pattern, HERE, MAX_BYTES, 0), others < 16 ? 41 : 3);
    }
}

/* A reader in random order in another partition. */
static void each_partition_has_its_readers(void **state)
{
    (void)state;
    struct access_pattern pattern = {0};
    struct bytes other = B("q\0r");
    access_pattern_fetched(&pattern, HERE, 1000, 1, 6, 6 * ROW_BYTES, 0);
    for (uint64_t number = 1001; number < 1006; number++)
        access_pattern_used(&pattern, number);
    assert_int_equal(access_pattern_ahead(&pattern, other, MAX_BYTES, 0), 41); /* it is new */
    access_pattern_fetched(&pattern, other, 2000, 1, 42, 42 * ROW_BYTES, 0);
    assert_int_equal(access_pattern_ahead(&pattern, other, MAX_BYTES, 0), 3);
    assert_int_equal(access_pattern_ahead(&pattern, HERE, MAX_BYTES, 0), 41);
}

static void large_rows_are_forgotten_with_their_fetch(void **state)
{
    (void)state;
    struct access_pattern pattern = {0};
    access_pattern_fetched(&pattern, HERE, 1000, 1, 2, 2 * MAX_BYTES, 0);
    assert_int_equal(access_pattern_ahead(&pattern, HERE, MAX_BYTES / 2, 0), 0);
    assert_int_equal(access_pattern_ahead(&pattern, HERE, MAX_BYTES / 2, RECENT_MS), 3);
}

/* Where every fetch ahead is refused, few are tried. */
static void a_fetch_that_failed_is_worth_nothing(void **state)
{
    (void)state;
    struct access_pattern pattern = {0};
    int tries = 0;
    for (int i = 0; i < 64; i++) {
        if (access_pattern_ahead(&pattern, HERE, MAX_BYTES, 0) == 0)
            continue;
        access_pattern_failed(&pattern, HERE, 0);
        tries++;
    }
    assert_int_equal(tries, 7);
}

static void after_3_s_a_fetch_says_nothing(void **state)
{
    (void)state;
    struct table *table = new_table(ROWS);
    assert_int_equal(opens(table, 0), 3);
    assert_int_equal(opens(table, 1), -1);
    assert_int_equal(opens(table, 2), -1);
    table->now_ms = RECENT_MS - 1;
    assert_int_equal(opens(table, 9000), 17);
    table->now_ms = RECENT_MS;
    assert_int_equal(opens(table, 8000), 3); /* by the fetch at 9000, which is worth nothing */
    assert_int_equal(opens(table, 7000), 3);
    assert_int_equal(opens(table, 6000), 0); /* it backs off */
    table->now_ms = 2 * RECENT_MS;           /* nothing is known of now: as at first */
    assert_int_equal(opens(table, 5000), 3);
    assert_int_equal(opens(table, 4000), 3);
    assert_int_equal(opens(table, 3000), 0);
    free(table);
}

static void a_partition_of_absent_names_is_remembered(void **state)
{
    (void)state;
    static struct access_pattern pattern;
    char key[] = "a\0row";
    struct bytes position = {key, sizeof(key) - 1};
    assert_false(access_pattern_is_absent(&pattern, position, 1000, 1));
    for (; key[0] < 'a' + 16; key[0]++)
        access_pattern_absent(&pattern, position, 100 + key[0]);
    key[0] = 'a';
    assert_true(access_pattern_is_absent(&pattern, B("a\0other"), 1000, 100 + 'a' + 999));
    assert_false(access_pattern_is_absent(&pattern, position, 1000, 100 + 'a' + 1000));
    assert_false(access_pattern_is_absent(&pattern, B("z\0row"), 1000, 200));
    access_pattern_absent(&pattern, position, 300); /* b is the oldest now */
    access_pattern_absent(&pattern, B("z\0row"), 300);
    assert_true(access_pattern_is_absent(&pattern, position, 1000, 300));
    assert_false(access_pattern_is_absent(&pattern, B("b\0row"), 1000, 300));
    assert_true(access_pattern_is_absent(&pattern, B("c\0row"), 1000, 300));
    assert_true(access_pattern_is_absent(&pattern, B("z\0row"), 1000, 300));
}

static void a_miss_fetches_at_most_max_bytes(void **state)
{
    (void)state;
    struct access_pattern pattern = {0};
    assert_int_equal(access_pattern_ahead(&pattern, HERE, 1000, 0), 3); /* no size is known yet */
    access_pattern_fetched(&pattern, HERE, 1, 1, 4, 4 * ROW_BYTES, 0);
    assert_int_equal(access_pattern_ahead(&pattern, HERE, 1000, 0), 2);
    for (uint64_t number = 2; number <= 4; number++)
        access_pattern_used(&pattern, number);
    assert_int_equal(access_pattern_ahead(&pattern, HERE, 3500, 0), 7);
    assert_int_equal(access_pattern_ahead(&pattern, HERE, 3499, 0), 6);
    assert_int_equal(access_pattern_ahead(&pattern, HERE, 499, 0), 0);
    access_pattern_fetched(&pattern, HERE, 5, 1, 0, 0,
                           0); /* without rows: it says nothing of them */
    assert_int_equal(access_pattern_ahead(&pattern, HERE, 3500, 0), 7);
}

/* A fetch is worth the rows that were used once or more, without those that the miss needed. */
static void only_rows_ahead_count_and_once(void **state)
{
    (void)state;
    struct access_pattern pattern = {0};
    access_pattern_fetched(&pattern, HERE, 100, 3, 10, 10 * ROW_BYTES, 0);
    for (uint64_t number = 98; number < 103; number++) /* before it, and what was needed */
        access_pattern_used(&pattern, number);
    access_pattern_used(&pattern, 110); /* after it */
    assert_int_equal(access_pattern_ahead(&pattern, HERE, MAX_BYTES, 0), 3);
    for (int i = 0; i < 5; i++)
        access_pattern_used(&pattern, 103);
    assert_int_equal(access_pattern_ahead(&pattern, HERE, MAX_BYTES, 0), 9);
    access_pattern_used(&pattern, 109);
    assert_int_equal(access_pattern_ahead(&pattern, HERE, MAX_BYTES, 0), 17);
}

static void a_fetch_counts_each_of_a_page_of_rows(void **state)
{
    (void)state;
    struct access_pattern pattern = {0};
    access_pattern_fetched(&pattern, HERE, 1, 0, TABLE_STORE_PAGE_ROWS, TABLE_STORE_PAGE_ROWS, 0);
    for (uint64_t number = 1; number <= TABLE_STORE_PAGE_ROWS; number++)
        access_pattern_used(&pattern, number);
    assert_int_equal(access_pattern_ahead(&pattern, HERE, MAX_BYTES, 0),
                     8 * TABLE_STORE_PAGE_ROWS + 1);
    access_pattern_used(&pattern, TABLE_STORE_PAGE_ROWS + 1);
    assert_int_equal(access_pattern_ahead(&pattern, HERE, MAX_BYTES, 0),
                     8 * TABLE_STORE_PAGE_ROWS + 1);
}

/* --- readers: requests and rows of whole workloads */

/* Like xargs: each of the readers takes the next chunk of rows, and opens it in order. They take
 * turns, one row each. */
struct chunk {
    size_t row, end;
};

static void take_chunk(struct chunk *chunk, size_t *next, size_t size, size_t rows)
{
    if (chunk->row < chunk->end)
        return;
    chunk->row = *next;
    *next = chunk->end = MIN(*next + size, rows);
}

static void read_in_chunks(struct table *table, size_t readers, size_t size, size_t rows)
{
    struct chunk chunks[8] = {0};
    size_t next = 0, opened = 0;
    for (size_t turn = 0; opened < rows; turn++) {
        struct chunk *chunk = &chunks[turn % readers];
        take_chunk(chunk, &next, size, rows);
        if (chunk->row == chunk->end)
            continue;
        (void)opens(table, chunk->row++);
        table->now_ms++;
        opened++;
    }
}

static void assert_read(const struct table *table, size_t requests, size_t rows)
{
    assert_int_equal(table->requests, requests);
    assert_int_equal(table->read, rows);
}

static void one_reader_in_order(void **state)
{
    (void)state;
    struct table *table = new_table(50000);
    read_in_chunks(table, 1, 200, 50000);
    assert_read(table, 53, 50000);
    free(table);
}

static void eight_readers_in_order(void **state)
{
    (void)state;
    struct table *table = new_table(50000);
    read_in_chunks(table, 8, 20, 50000);
    assert_read(table, 63, 51088);
    free(table);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static void read_random(struct table *table, size_t opens_count, size_t rows)
{
    uint64_t seed = 1;
    for (size_t i = 0; i < opens_count; i++) {
        (void)opens(table, next_random(&seed) % rows);
        table->now_ms++;
    }
}

static void random_opens_of_many(void **state)
{
    (void)state;
    struct table *table = new_table(60000);
    read_random(table, 200, 60000);
    assert_read(table, 199, 226); /* one row was drawn twice; at most twice the rows */
    free(table);
}

static void random_opens_then_in_order(void **state)
{
    (void)state;
    struct table *table = new_table(60000);
    read_random(table, 200, 10000);
    size_t requests = table->requests, read = table->read;
    for (size_t row = 10000; row < 60000; row++) {
        (void)opens(table, row);
        table->now_ms++;
    }
    assert_int_equal(table->requests - requests, 109);
    assert_int_equal(table->read - read, 50000);
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_in_order_fetch_more_and_more),
        cmocka_unit_test(random_opens_are_probed_less_and_less),
        cmocka_unit_test(a_probe_that_is_used_ends_the_backoff),
        cmocka_unit_test(opens_here_and_there_in_order_fetch_more_and_more),
        cmocka_unit_test(a_few_hits_are_chance),
        cmocka_unit_test(the_last_16_fetches_count),
        cmocka_unit_test(a_fetch_that_failed_is_worth_nothing),
        cmocka_unit_test(each_partition_has_its_readers),
        cmocka_unit_test(large_rows_are_forgotten_with_their_fetch),
        cmocka_unit_test(after_3_s_a_fetch_says_nothing),
        cmocka_unit_test(a_partition_of_absent_names_is_remembered),
        cmocka_unit_test(a_miss_fetches_at_most_max_bytes),
        cmocka_unit_test(only_rows_ahead_count_and_once),
        cmocka_unit_test(a_fetch_counts_each_of_a_page_of_rows),
        cmocka_unit_test(one_reader_in_order),
        cmocka_unit_test(eight_readers_in_order),
        cmocka_unit_test(random_opens_of_many),
        cmocka_unit_test(random_opens_then_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
