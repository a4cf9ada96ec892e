/* SPDX-License-Identifier: MIT */
/* What a miss of an entity that is opened by name requests, and how its failures end. */
#include "cache/ahead/by_name.h"
#include "tests/unit/cache/ahead/prefetching.h"

#define PAST(rows) (1 + (rows)) /* the row that is needed, and those after it */

struct setup {
    struct fetching fetching;
    struct overlay *overlay;
    struct by_name *by_name;
};

static void set_up(struct setup *setup)
{
    *setup = (struct setup){0};
    fetching_set_up(&setup->fetching, (struct fetching_options){0});
    assert_int_equal(overlay_create(setup->fetching.cache, setup->fetching.fetcher,
                                    setup->fetching.pending, &setup->overlay),
                     0);
    struct by_name_source source = {.fetcher = setup->fetching.fetcher,
                                    .overlay = setup->overlay,
                                    .clock = &setup->fetching.clock,
                                    .max_bytes = (size_t)8 << 20,
                                    .ttl_ms = TTL_MS};
    assert_int_equal(by_name_create(&source, &setup->by_name), 0);
}

/* `partitions` named p0000 and on, of `rows` rows each. */
static void set_up_rows(struct setup *setup, int partitions, int rows)
{
    set_up(setup);
    for (int i = 0; i < partitions; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "p%04d", i);
        fetching_add_rows(&setup->fetching, key, rows);
    }
}

static void tear_down(struct setup *setup)
{
    by_name_destroy(setup->by_name);
    overlay_destroy(setup->overlay);
    fetching_tear_down(&setup->fetching);
}

static size_t asked(struct setup *setup)
{
    return gate_store_arrived(setup->fetching.store);
}

/* The row, or with is_partition the first of the partition that begins there. */
static struct question question_of(struct setup *setup, const char *table, struct bytes position,
                                   struct buffer *end, bool is_partition)
{
    struct bytes key = position_partition_key(position);
    buffer_init(end, PREFETCHED_MAX);
    (void)buffer_append(end, is_partition ? key : position);
    (void)buffer_append_string(end, POSITION_AFTER);
    return (struct question){
        table, {position, buffer_bytes(end)}, fetching_since_ttl(&setup->fetching), false};
}

struct opened {
    int r;         /* of the fetch */
    bool is_known; /* then */
    struct failure failure;
};

/* Opens as read_ahead does: looks, fetches where it is not known, looks again. */
static struct opened open_at(struct setup *setup, const char *table, struct bytes position,
                             bool is_partition)
{
    struct opened opened = {0};
    struct buffer end;
    struct position until;
    struct page *page = NULL;
    struct seen seen = {0};
    struct caller caller = fetching_caller(&setup->fetching);
    struct question question = question_of(setup, table, position, &end, is_partition);
    enum knowledge known = overlay_find(setup->overlay, &question, &seen, &until);
    if (known == KNOWN_NOT) {
        opened.r = is_partition ? by_name_fetch_partition(setup->by_name, &caller, &question, &page)
                                : by_name_fetch_entity(setup->by_name, &caller, &question, &page);
        known = overlay_find(setup->overlay, &question, &seen, &until);
    }
    opened.is_known = known != KNOWN_NOT;
    opened.failure = caller.call.failure;
    if (known == KNOWN_ROWS)
        by_name_used(setup->by_name, table, &seen.run);
    else if (known == KNOWN_EMPTY)
        by_name_absent(setup->by_name, table, position);
    run_finish(&seen.run);
    page_unref(page);
    buffer_finish(&end);
    return opened;
}

/* Opens what can be opened: is it known then? */
static bool opens(struct setup *setup, struct bytes position)
{
    struct opened opened = open_at(setup, "t", position, false);
    assert_int_equal(opened.r, 0);
    assert_int_equal(opened.failure.error, 0);
    return opened.is_known;
}

/* The n-th request was of rows from there on. */
static void assert_fetch(struct setup *setup, size_t n, struct bytes lo, struct bytes hi, int top)
{
    assert_int_equal(asked(setup), n);
    assert_request(&setup->fetching, n, ASKED_QUERY, (struct range){lo, hi}, top);
}

/* One query cannot go on from the middle of a partition into the next. */
static void in_a_partition_rows_behind_come(void **state)
{
    (void)state;
    struct setup setup;
    set_up_rows(&setup, 2, 100);
    assert_true(opens(&setup, ROW_AT("p0000", "00050")));
    assert_fetch(&setup, 1, ROW_AT("p0000", "00050"), B("p0000\x01"), PAST(3));
    for (char row[] = "p0000\0"
                      "00051";
         row[10] < '4'; row[10]++)
        assert_true(opens(&setup, (struct bytes){row, 11}));
    assert_int_equal(asked(&setup), 1);
    assert_true(opens(&setup, ROW_AT("p0000", "00054")));
    assert_fetch(&setup, 2, ROW_AT("p0000", "00054"), B("p0000\x01"), PAST(25));
    tear_down(&setup);
}

static void from_the_begin_it_goes_on_into_the_next_partitions(void **state)
{
    (void)state;
    struct setup setup;
    set_up_rows(&setup, 10, 2);
    assert_true(open_at(&setup, "t", B("p0000\0"), true).is_known);
    assert_fetch(&setup, 1, B("p0000\0"), B(POSITION_END), BY_NAME_FIRST_ROWS + 3);
    for (char row[] = "p0000\0"
                      "00000";
         row[4] <= '9'; row[4]++) {
        assert_true(opens(&setup, (struct bytes){row, 11}));
        assert_true(open_at(&setup, "t", (struct bytes){row, 6}, true).is_known);
    }
    assert_int_equal(asked(&setup), 1);
    tear_down(&setup);
}

/* Also for a row, where all before it in its partition is known: here there can be none. */
static void a_row_at_the_begin_goes_on_into_the_next_partitions(void **state)
{
    (void)state;
    struct setup setup;
    set_up_rows(&setup, 10, 2);
    assert_true(opens(&setup, ROW_AT("p0001", "")));
    assert_fetch(&setup, 1, B("p0001\0"), B(POSITION_END), PAST(3));
    assert_true(opens(&setup, ROW_AT("p0002", "00001")));
    assert_int_equal(asked(&setup), 1);
    tear_down(&setup);
}

/* Where a page ends inside a partition, the next one begins again at that partition. */
static void rows_in_order_cost_a_request_a_page(void **state)
{
    (void)state;
    struct setup setup;
    set_up_rows(&setup, 2000, 3);
    for (int i = 0; i < 2000 * 3; i++) {
        char row[16];
        (void)snprintf(row, sizeof(row), "p%04d%c%05d", i / 3, '\0', i % 3);
        if (i % 3 == 0)
            assert_true(open_at(&setup, "t", (struct bytes){row, 6}, true).is_known);
        assert_true(opens(&setup, (struct bytes){row, 11}));
    }
    assert_int_equal(asked(&setup), 8);
    tear_down(&setup);
}

/* Of p0001 the first 2 rows are known: the page of p0000 ended there. */
static void set_up_known_begin(struct setup *setup)
{
    set_up(setup);
    fetching_add_rows(&setup->fetching, "p0000", BY_NAME_FIRST_ROWS + 1);
    fetching_add_rows(&setup->fetching, "p0001", 900);
    assert_true(open_at(setup, "t", B("p0000\0"), true).is_known);
    assert_true(opens(setup, ROW_AT("p0000", "00032")));
    assert_true(opens(setup, ROW_AT("p0001", "00000"))); /* 2 of 3 were used */
    assert_fetch(setup, 1, B("p0000\0"), B(POSITION_END), BY_NAME_FIRST_ROWS + 3);
}

/* The last row that is known was not used: nothing says that this row follows it. */
static void a_random_row_does_not_begin_again(void **state)
{
    (void)state;
    struct setup setup;
    set_up_known_begin(&setup);
    assert_true(opens(&setup, ROW_AT("p0001", "00500")));
    assert_fetch(&setup, 2, ROW_AT("p0001", "00500"), B("p0001\x01"), PAST(17));
    tear_down(&setup);
}

static void the_row_behind_a_used_one_begins_again(void **state)
{
    (void)state;
    struct setup setup;
    set_up_known_begin(&setup);
    assert_true(opens(&setup, ROW_AT("p0001", "00001")));
    assert_true(opens(&setup, ROW_AT("p0001", "00002")));
    assert_fetch(&setup, 2, B("p0001\0"), B(POSITION_END), 2 + PAST(25));
    tear_down(&setup);
}

/* What is known is too old for the question, but tells that the partition is small. */
static void old_pages_tell_where_a_partition_begins(void **state)
{
    (void)state;
    struct setup setup;
    struct seen seen = {0};
    set_up_rows(&setup, 10, 1);
    struct caller caller = fetching_caller(&setup.fetching);
    struct on_miss on_miss = {.top = TABLE_STORE_PAGE_ROWS};
    struct question all = {
        .table = "t", .range = RANGE_ALL, .since = fetching_since_ttl(&setup.fetching)};
    assert_int_equal(overlay_next(setup.overlay, &caller, &all, &on_miss, &seen), 1);
    run_finish(&seen.run);
    setup.fetching.now_ms += TTL_MS + 1;
    assert_true(opens(&setup, ROW_AT("p0003", "00000")));
    assert_fetch(&setup, 2, B("p0003\0"), B(POSITION_END), PAST(3));
    tear_down(&setup);
}

/* All before the row is known: it follows, also where the row before was not used. */
static void the_first_unknown_row_begins_again(void **state)
{
    (void)state;
    struct setup setup;
    struct seen seen = {0};
    set_up_rows(&setup, 2, 100);
    struct caller caller = fetching_caller(&setup.fetching);
    struct on_miss on_miss = {.top = TABLE_STORE_PAGE_ROWS};
    struct question before = {.table = "t",
                              .range = {B("p0000\0"), ROW_AT("p0000", "00001")},
                              .since = fetching_since_ttl(&setup.fetching)};
    assert_int_equal(overlay_next(setup.overlay, &caller, &before, &on_miss, &seen), 1);
    run_finish(&seen.run);
    assert_true(opens(&setup, ROW_AT("p0000", "00001")));
    assert_fetch(&setup, 2, B("p0000\0"), B(POSITION_END), 1 + PAST(3));
    tear_down(&setup);
}

/* Rows that are fetched twice are at most half of what is fetched ahead. */
static void far_from_the_begin_it_goes_on_inside(void **state)
{
    (void)state;
    struct setup setup;
    set_up_rows(&setup, 2, 100);
    assert_true(open_at(&setup, "t", B("p0000\0"), true).is_known);
    assert_true(opens(&setup, ROW_AT("p0000", "00034"))); /* the last that is known */
    assert_true(opens(&setup, ROW_AT("p0000", "00035")));
    assert_fetch(&setup, 2, ROW_AT("p0000", "00035"), B("p0000\x01"), PAST(9));
    tear_down(&setup);
}

/* Nothing was fetched of a table of which nothing ahead was used: the caller requests its row. */
static void random_rows_are_left_to_the_caller(void **state)
{
    (void)state;
    struct setup setup;
    set_up_rows(&setup, 1, 900);
    assert_true(opens(&setup, ROW_AT("p0000", "00100")));
    assert_true(opens(&setup, ROW_AT("p0000", "00200")));
    assert_false(opens(&setup, ROW_AT("p0000", "00300")));
    assert_int_equal(asked(&setup), 2);
    /* another table has a pattern of its own */
    assert_true(open_at(&setup, "u", ROW_AT("p0000", "00100"), false).is_known);
    assert_int_equal(asked(&setup), 3);
    assert_true(opens(&setup, ROW_AT("p0000", "00400")));
    assert_false(opens(&setup, ROW_AT("p0000", "00500")));
    tear_down(&setup);
}

/* The next three misses are no probes. */
static void set_up_random(struct setup *setup)
{
    set_up_rows(setup, 2, 900);
    assert_true(opens(setup, ROW_AT("p0000", "00100")));
    assert_true(opens(setup, ROW_AT("p0000", "00200")));
    assert_false(opens(setup, ROW_AT("p0000", "00250")));
    assert_true(opens(setup, ROW_AT("p0000", "00300")));
    assert_int_equal(asked(setup), 3);
}

DEFINE_FIXTURE(random_rows, struct setup, set_up_random(test), tear_down(test))

/* Absent names are known up to the next row, and after the last one up to the partition's end. */
static void where_a_name_was_absent_the_gap_is_asked_for(void **state)
{
    struct setup *setup = *state;
    by_name_absent(setup->by_name, "t", ROW_AT("p0000", "00300x")); /* it was got */
    assert_true(opens(setup, ROW_AT("p0000", "00400x1")));
    assert_fetch(setup, 4, ROW_AT("p0000", "00400x1"), B("p0000\x01"), 1);
    assert_true(opens(setup, ROW_AT("p0000", "00400x2")));
    assert_true(opens(setup, ROW_AT("p0000", "00401")));
    assert_true(opens(setup, ROW_AT("p0000", "z")));
    assert_fetch(setup, 5, ROW_AT("p0000", "z"), B("p0000\x01"), 1);
    assert_true(opens(setup, ROW_AT("p0000", "zz")));
    assert_int_equal(asked(setup), 5);
    assert_true(opens(setup, ROW_AT("p0000", "00500"))); /* a row, in one request, too */
    assert_fetch(setup, 6, ROW_AT("p0000", "00500"), B("p0000\x01"), 1);
}

static void elsewhere_and_later_it_is_not(void **state)
{
    struct setup *setup = *state;
    by_name_absent(setup->by_name, "t", ROW_AT("p0000", "00300x"));
    assert_false(opens(setup, ROW_AT("p0001", "00300x")));
    assert_int_equal(asked(setup), 3);
    setup->fetching.now_ms += TTL_MS;
    assert_false(opens(setup, ROW_AT("p0000", "00400x")));
    assert_int_equal(asked(setup), 3);
}

static void no_such_row_is_known_afterwards(void **state)
{
    (void)state;
    struct setup setup;
    set_up_rows(&setup, 2, 10);
    assert_true(opens(&setup, ROW_AT("p0000", "00005x")));
    assert_true(open_at(&setup, "t", B("p0005\0"), true).is_known);
    assert_int_equal(asked(&setup), 2);
    tear_down(&setup);
}

/* --- two callers */

struct opener {
    struct setup *setup;
    struct bytes position;
    pthread_t thread;
    struct opened opened;
};

static void *open_in_thread(void *context)
{
    struct opener *opener = context;
    opener->opened = open_at(opener->setup, "t", opener->position, false);
    return NULL;
}

static void start(struct opener *opener, struct setup *setup, struct bytes position)
{
    *opener = (struct opener){.setup = setup, .position = position};
    assert_int_equal(pthread_create(&opener->thread, NULL, open_in_thread, opener), 0);
}

static void end(struct opener *opener)
{
    assert_int_equal(pthread_join(opener->thread, NULL), 0);
    assert_int_equal(opener->opened.r, 0);
    assert_true(opener->opened.is_known);
}

/* The first requests rows from 00050 on, and waits at the gate; the second joins it. */
static void open_two(struct setup *setup, struct bytes second_position)
{
    struct opener first, second;
    set_up_rows(setup, 1, 100);
    gate_store_let(setup->fetching.store, 0);
    start(&first, setup, ROW_AT("p0000", "00050"));
    wait_for_requests(&setup->fetching, 1);
    start(&second, setup, second_position);
    wait_for_joined(&setup->fetching, 1);
    gate_store_let(setup->fetching.store, GATE_OPEN);
    end(&first);
    end(&second);
}

static void a_caller_joins_a_flight_of_another(void **state)
{
    (void)state;
    struct setup setup;
    open_two(&setup, ROW_AT("p0000", "00052"));
    assert_int_equal(asked(&setup), 1);
    tear_down(&setup);
}

/* The flight's range holds the row, but its page ends before: no other is joined then. */
static void a_caller_that_joined_in_vain_asks_by_itself(void **state)
{
    (void)state;
    struct setup setup;
    open_two(&setup, ROW_AT("p0000", "00060"));
    assert_fetch(&setup, 2, ROW_AT("p0000", "00060"), B("p0000\x01"), PAST(3));
    tear_down(&setup);
}

/* --- failures */

static int refuse(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    return call_fail(call, -EACCES, "refused");
}

/* The next partition may be the one that is refused: the caller asks for its own row, and is told
 * what holds there. */
static void a_refusal_across_a_border_is_forgiven(void **state)
{
    (void)state;
    for (int is_partition = 0; is_partition <= 1; is_partition++) {
        struct setup setup;
        set_up_rows(&setup, 3, 10);
        setup.fetching.memory->fault = refuse;
        struct opened opened = open_at(&setup, "t", B("p0001\0"), is_partition);
        assert_int_equal(opened.r, 0);
        assert_int_equal(opened.failure.error, 0);
        assert_false(opened.is_known);
        assert_int_equal(asked(&setup), 1);
        tear_down(&setup);
    }
}

/* The caller asks for its row alone: the refusal may be about the rows after it. */
static void a_refusal_inside_the_partition_is_forgiven(void **state)
{
    (void)state;
    struct setup setup;
    set_up_rows(&setup, 3, 100);
    setup.fetching.memory->fault = refuse;
    struct opened opened = open_at(&setup, "t", ROW_AT("p0001", "00050"), false);
    assert_int_equal(opened.r, 0);
    assert_int_equal(opened.failure.error, 0);
    assert_false(opened.is_known);
    assert_int_equal(asked(&setup), 1);
    tear_down(&setup);
}

static int no_table(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    return call_fail(call, -ENOENT, "no such table");
}

/* A refusal may be that of the row after. */
static void a_gap_that_is_refused_is_left_to_the_caller(void **state)
{
    struct setup *setup = *state;
    by_name_absent(setup->by_name, "t", ROW_AT("p0000", "00300x"));
    setup->fetching.memory->fault = refuse;
    assert_false(opens(setup, ROW_AT("p0000", "00400x")));
    assert_int_equal(asked(setup), 4);
}

static void no_such_table_costs_one_request(void **state)
{
    (void)state;
    static const struct bytes positions[] = {B("p\0"), B("p\0r"), B("p\0")}; /* a partition, rows */
    for (size_t i = 0; i < ARRAY_SIZE(positions); i++) {
        struct setup setup;
        set_up_rows(&setup, 3, 10);
        setup.fetching.memory->fault = no_table;
        assert_int_equal(open_at(&setup, "t", positions[i], i == 0).r, -ENOENT);
        assert_int_equal(asked(&setup), 1);
        tear_down(&setup);
    }
}

static void no_such_table_behind_an_absent_name_costs_one(void **state)
{
    struct setup *setup = *state;
    by_name_absent(setup->by_name, "t", ROW_AT("p0000", "00300x"));
    setup->fetching.memory->fault = no_table;
    assert_int_equal(open_at(setup, "t", ROW_AT("p0000", "00400x"), false).r, -ENOENT);
    assert_int_equal(asked(setup), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_a_partition_rows_behind_come),
        cmocka_unit_test(from_the_begin_it_goes_on_into_the_next_partitions),
        cmocka_unit_test(a_row_at_the_begin_goes_on_into_the_next_partitions),
        cmocka_unit_test(rows_in_order_cost_a_request_a_page),
        cmocka_unit_test(a_random_row_does_not_begin_again),
        cmocka_unit_test(the_row_behind_a_used_one_begins_again),
        cmocka_unit_test(old_pages_tell_where_a_partition_begins),
        cmocka_unit_test(the_first_unknown_row_begins_again),
        cmocka_unit_test(far_from_the_begin_it_goes_on_inside),
        cmocka_unit_test(random_rows_are_left_to_the_caller),
        TEST_WITH(random_rows, where_a_name_was_absent_the_gap_is_asked_for),
        TEST_WITH(random_rows, elsewhere_and_later_it_is_not),
        cmocka_unit_test(no_such_row_is_known_afterwards),
        cmocka_unit_test(a_caller_joins_a_flight_of_another),
        cmocka_unit_test(a_caller_that_joined_in_vain_asks_by_itself),
        cmocka_unit_test(a_refusal_across_a_border_is_forgiven),
        cmocka_unit_test(a_refusal_inside_the_partition_is_forgiven),
        TEST_WITH(random_rows, a_gap_that_is_refused_is_left_to_the_caller),
        cmocka_unit_test(no_such_table_costs_one_request),
        TEST_WITH(random_rows, no_such_table_behind_an_absent_name_costs_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
