/* What a miss asks for: rows of a partition, opened in different orders. */
#include "cache/read/process_history.h"
#include "tests/unit/unit.h"

#define MAX_BYTES ((size_t)8 << 20)
#define GREP      1 /* a process */

static int set_up(void **state)
{
    struct process_history *history = NULL;
    assert_int_equal(process_history_create(1000, MAX_BYTES, &history), 0);
    *state = history;
    return 0;
}

static int tear_down(void **state)
{
    process_history_destroy(*state);
    return 0;
}

/* A partition of rows of `row_bytes`, of which a cache that forgets nothing knows some. */
struct reader {
    struct process_history *history;
    const char *table, *key;
    size_t rows, row_bytes;
    bool known[20000];
    size_t requests, read; /* rows */
};

static struct bytes row_position(const struct reader *reader, size_t row, char text[32])
{
    size_t size = strlen(reader->key);
    (void)snprintf(text, 32, "%s", reader->key);
    (void)snprintf(text + size + 1, 32 - size - 1, "%06zu", row);
    return (struct bytes){text, size + 7};
}

/* As the account does: what the process was told to read, 0 where the row was known. */
static int opens(struct reader *reader, size_t row)
{
    char text[32];
    struct bytes position = row_position(reader, row, text);
    struct reading reading = process_history_ask(reader->history, GREP, reader->table, position);
    assert_true(reading.rows == 1 || reading.is_in_order);
    if (reader->known[row])
        return 0;
    size_t rows = MIN((size_t)reading.rows, reader->rows - row);
    for (size_t i = row; i < row + rows; i++)
        reader->known[i] = true;
    process_history_missed(reader->history, GREP, WAY_ROWS, reader->table, position, rows,
                           rows * reader->row_bytes);
    reader->requests++;
    reader->read += rows;
    return reading.rows;
}

static struct reader new_reader(struct process_history *history, const char *key)
{
    return (struct reader){
        .history = history, .table = "t", .key = key, .rows = 20000, .row_bytes = 500};
}

static void opens_in_order_ask_for_more_and_more(void **state)
{
    struct reader reader = new_reader(*state, "p");
    static const struct {
        size_t row;
        int rows;
    } misses[] = {{0, 1},    {1, 1},     {2, 4},     {6, 12},      {18, 36},
                  {54, 108}, {162, 324}, {486, 972}, {1458, 1000}, {2458, 1000}};
    size_t next = 0;
    for (size_t row = 0; row < 3458; row++) {
        bool is_miss = next < ARRAY_SIZE(misses) && misses[next].row == row;
        assert_int_equal(opens(&reader, row), is_miss ? misses[next].rows : 0);
        next += is_miss;
    }
    assert_int_equal(reader.requests, ARRAY_SIZE(misses));
    for (size_t row = 3458; row < reader.rows; row++)
        (void)opens(&reader, row);
    assert_int_equal(reader.requests, 27);
    assert_int_equal(reader.read, reader.rows);
}

static void what_was_known_is_opened_in_order_all_the_same(void **state)
{
    struct reader reader = new_reader(*state, "p");
    memset(reader.known, true, 10000);
    for (size_t row = 0; row < 10000; row++)
        assert_int_equal(opens(&reader, row), 0);
    assert_int_equal(opens(&reader, 10000), 1000);
}

static void doubled_opens_are_one(void **state)
{
    struct reader reader = new_reader(*state, "p");
    for (size_t row = 0; row < 100; row++) {
        (void)opens(&reader, row);
        assert_int_equal(opens(&reader, row), 0);
    }
    assert_int_equal(reader.requests, 6); /* 0, 1, 2, 6, 18, 54 */
}

static void random_opens_ask_for_one(void **state)
{
    struct reader reader = new_reader(*state, "p");
    static const size_t rows[] = {900, 17, 14000, 3, 5, 4, 6, 2, 19999, 0, 1, 0, 1, 0};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bool is_known = reader.known[rows[i]];
        assert_int_equal(opens(&reader, rows[i]), is_known ? 0 : 1);
    }
    size_t row = 1; /* a long sequence that never ascends twice in a row */
    for (size_t i = 0; i < 5000; i++) {
        row = (row * 7919 + 13) % 9000 + (i % 2 ? 0 : 10000);
        assert_true(opens(&reader, row) <= 1);
    }
    assert_int_equal(reader.read, reader.requests);
}

static void backwards_is_random(void **state)
{
    struct reader reader = new_reader(*state, "p");
    for (size_t row = 1000; row-- > 0;)
        assert_int_equal(opens(&reader, row), 1);
}

static void far_jumps_ahead_fall_back(void **state)
{
    struct reader reader = new_reader(*state, "p");
    static const int expected[] = {1, 1, 4, 6, 1, 1, 4, 6, 1, 1, 4, 6};
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_int_equal(opens(&reader, i * 1500), expected[i]);
}

static void a_row_used_of_each_range_keeps_reading_ahead(void **state)
{
    struct reader reader = new_reader(*state, "p");
    static const struct {
        size_t row;
        int expected;
    } asks[] = {{0, 1}, {1, 1}, {2, 4}, {5, 0}, {100, 8}, {107, 0}, {200, 12}, {300, 14}, {400, 1}};
    for (size_t i = 0; i < ARRAY_SIZE(asks); i++)
        assert_int_equal(opens(&reader, asks[i].row), asks[i].expected);
}

static void two_directories_at_a_time_are_both_in_order(void **state)
{
    struct reader left = new_reader(*state, "p"), right = new_reader(*state, "q");
    struct reader elsewhere = new_reader(*state, "p");
    elsewhere.table = "u";
    for (size_t row = 0; row < 5000; row++) {
        int expected = opens(&left, row);
        assert_int_equal(opens(&right, row), expected);
        assert_int_equal(opens(&elsewhere, row), expected);
    }
    assert_int_equal(left.requests, 12);
}

static void four_partitions_are_remembered(void **state)
{
    static const char *const keys[] = {"e", "d", "c", "b", "a"}; /* not a way in key order */
    struct reader *readers = calloc(5, sizeof(*readers));
    assert_non_null(readers);
    for (size_t i = 0; i < 5; i++)
        readers[i] = new_reader(*state, keys[i]);
    for (size_t row = 0; row < 4; row++)
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(opens(&readers[i], row), row < 2 ? 1 : row == 2 ? 4 : 0);
    assert_int_equal(opens(&readers[4], 0), 1); /* in place of e */
    assert_int_equal(opens(&readers[1], 6), 8);
    assert_int_equal(opens(&readers[2], 6), 8);
    assert_int_equal(opens(&readers[3], 6), 8);
    assert_int_equal(opens(&readers[0], 6), 1); /* in place of a */
    assert_int_equal(opens(&readers[4], 1), 1);
    free(readers);
}

static void large_entities_are_bounded_in_bytes(void **state)
{
    struct reader reader = new_reader(*state, "p");
    reader.row_bytes = (size_t)1 << 20;
    static const int expected[] = {1, 1, 4, 0, 0, 0, 8};
    for (size_t row = 0; row < ARRAY_SIZE(expected); row++)
        assert_int_equal(opens(&reader, row), expected[row]);
    for (size_t row = ARRAY_SIZE(expected); row < 1000; row++)
        assert_true(opens(&reader, row) <= 8);
    struct reader huge = new_reader(*state, "q");
    huge.row_bytes = MAX_BYTES + 1;
    for (size_t row = 0; row < 100; row++)
        assert_int_equal(opens(&huge, row), 1);
}

static void a_miss_without_rows_tells_nothing_of_their_size(void **state)
{
    struct process_history *history = *state;
    static const struct bytes rows[] = {B("p\0a"), B("p\0b"), B("p\0c"), B("p\0d"), B("p\0e")};
    static const struct {
        int expected;
        size_t rows, bytes;
    } steps[] = {{1, 1, 4 << 20}, {1, 0, 0}, {2, 0, 0}, {2, 2, 0}, {8, 1, 1}};
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        struct reading reading = process_history_ask(history, GREP, "t", rows[i]);
        assert_int_equal(reading.rows, steps[i].expected);
        assert_true(reading.is_in_order == (i >= 2));
        process_history_missed(history, GREP, WAY_ROWS, "t", rows[i], steps[i].rows,
                               steps[i].bytes);
    }
    /* of a partition that the process did not ask for, or no process */
    process_history_missed(history, GREP, WAY_ROWS, "t", B("q\0a"), 100, 100);
    process_history_missed(history, 2, WAY_ROWS, "t", B("p\0a"), 100, 100);
    process_history_missed(history, 0, WAY_ROWS, "t", B("p\0a"), 100, 100);
}

static bool reads_at(struct process_history *history, const char *table, struct range range,
                     struct bytes expected)
{
    struct buffer position;
    buffer_init(&position, 100);
    bool reads = process_history_reads_at(history, GREP, table, range, &position);
    assert_bytes(buffer_bytes(&position), reads ? expected : B(""));
    buffer_finish(&position);
    return reads;
}

static void where_it_reads_in_order_is_told(void **state)
{
    struct reader reader = new_reader(*state, "p");
    const struct range partition = {B("p\0"), B("p\x01")};
    assert_false(reads_at(*state, "t", partition, B("")));
    (void)opens(&reader, 1);
    (void)opens(&reader, 2);
    assert_false(reads_at(*state, "t", partition, B(""))); /* two may be an accident */
    (void)opens(&reader, 3);
    assert_true(reads_at(*state, "t", partition,
                         B("p\0"
                           "000003")));
    assert_true(reads_at(*state, "t", RANGE_ALL,
                         B("p\0"
                           "000003")));
    assert_false(reads_at(*state, "t",
                          (struct range){B("p\0"
                                           "000004"),
                                         B("p\x01")},
                          B("")));
    assert_false(reads_at(*state, "u", partition, B("")));
    assert_false(reads_at(*state, "t", (struct range){B("q\0"), B("q\x01")}, B("")));
    (void)opens(&reader, 2);
    assert_false(reads_at(*state, "t", partition, B("")));
}

static void process_0_reads_at_random(void **state)
{
    struct process_history *history = *state;
    static const struct bytes rows[] = {B("p\0a"), B("p\0b"), B("p\0c"), B("p\0d")};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct reading reading = process_history_ask(history, 0, "t", rows[i]);
        assert_int_equal(reading.rows, 1);
        assert_false(reading.is_in_order);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(opens_in_order_ask_for_more_and_more),
        TEST(what_was_known_is_opened_in_order_all_the_same),
        TEST(doubled_opens_are_one),
        TEST(random_opens_ask_for_one),
        TEST(backwards_is_random),
        TEST(far_jumps_ahead_fall_back),
        TEST(a_row_used_of_each_range_keeps_reading_ahead),
        TEST(two_directories_at_a_time_are_both_in_order),
        TEST(four_partitions_are_remembered),
        TEST(large_entities_are_bounded_in_bytes),
        TEST(a_miss_without_rows_tells_nothing_of_their_size),
        TEST(where_it_reads_in_order_is_told),
        TEST(process_0_reads_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
