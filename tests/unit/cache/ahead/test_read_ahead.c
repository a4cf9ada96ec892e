/* SPDX-License-Identifier: MIT */
#include "cache/ahead/read_ahead.h"
#include "tests/unit/parts_fixture.h"

#define ROW(key)  B("p\0" key)
#define PARTITION ((struct range){B("p\0"), B("p\x01")})

static const struct directory partition = {
    .kind = DIRECTORY_ENTITIES, .table = "t", .range = {B("p\0"), B("p\x01")}};
static const struct directory flat = {
    .kind = DIRECTORY_FLAT, .table = "t", .range = {B(""), B(POSITION_END)}};

struct setup {
    struct parts parts;
    struct read_cursor cursor; /* of a listing */
};

static void set_up_with(struct setup *setup, struct parts_options options)
{
    parts_set_up(&setup->parts, options);
    read_cursor_init(&setup->cursor);
}

/* Partition p has `rows` rows. */
static void set_up(struct setup *setup, int parallelism, int rows)
{
    set_up_with(setup, (struct parts_options){.parallelism = parallelism});
    parts_add(&setup->parts, "p", rows);
}

static void tear_down(struct setup *setup)
{
    read_cursor_reset(&setup->cursor);
    parts_tear_down(&setup->parts);
}

/* A listing of the directory comes to this position: the number of rows that it is given, or
 * -errno. */
static int rows_at(struct setup *setup, const struct directory *directory, struct bytes position)
{
    struct seen seen = {0};
    struct read_step step = {.directory = directory,
                             .question = {.table = "t",
                                          .range = {position, directory->range.hi},
                                          .since = parts_since(&setup->parts)}};
    struct caller *caller = parts_caller(&setup->parts);
    int r = read_ahead_rows(setup->parts.read_ahead, caller, &setup->cursor, &step, &seen);
    assert_int_equal(caller->call.failure.error, MIN(r, 0));
    if (r == 1) {
        assert_true(bytes_compare(page_position(seen.run.page, seen.run.begin), position) >= 0);
        r = (int)(seen.run.end - seen.run.begin);
    }
    run_finish(&seen.run);
    return r;
}

/* All rows of the directory, one page after the other. */
static void assert_listed(struct setup *setup, const struct directory *directory, int rows)
{
    _cleanup_(buffer_finish) struct buffer behind = {.max = ANSWER_MAX};
    int listed = 0, r = 1;
    (void)buffer_append(&behind, directory->range.lo);
    while (r > 0) {
        struct seen seen = {0};
        struct read_step step = {.directory = directory,
                                 .question = {.table = "t",
                                              .range = {buffer_bytes(&behind), directory->range.hi},
                                              .since = parts_since(&setup->parts)}};
        if (range_is_empty(step.question.range))
            break;
        r = read_ahead_rows(setup->parts.read_ahead, parts_caller(&setup->parts), &setup->cursor,
                            &step, &seen);
        assert_true(r >= 0);
        if (r == 0)
            break;
        listed += (int)(seen.run.end - seen.run.begin);
        buffer_clear(&behind);
        (void)position_append_behind(&behind, page_position(seen.run.page, seen.run.end - 1));
        run_finish(&seen.run);
    }
    assert_int_equal(listed, rows);
}

static const struct memory_store_entry *request(struct setup *setup, size_t number)
{
    assert_true(number <= parts_asked(&setup->parts));
    return &setup->parts.memory->diary[number - 1];
}

static void assert_begins_at(struct setup *setup, size_t number, struct bytes position)
{
    assert_bytes(buffer_bytes(&request(setup, number)->lo), position);
}

/* 1, 0 or -errno. */
static int find(struct setup *setup, struct bytes position)
{
    struct seen seen = {0};
    _cleanup_(buffer_finish) struct buffer end = {.max = ANSWER_MAX};
    struct caller *caller = parts_caller(&setup->parts);
    assert_int_equal(position_append_behind(&end, position), 0);
    struct question question = {
        .table = "t", .range = {position, buffer_bytes(&end)}, .since = parts_since(&setup->parts)};
    int r = read_ahead_entity(setup->parts.read_ahead, caller, &question, false, &seen);
    assert_int_equal(caller->call.failure.error, MIN(r, 0));
    if (r == 1) {
        assert_int_equal(seen.run.end - seen.run.begin, 1);
        assert_bytes(page_position(seen.run.page, seen.run.begin), position);
    }
    run_finish(&seen.run);
    return r;
}

static int find_partition(struct setup *setup, struct range range)
{
    struct seen seen = {0};
    struct question question = {
        .table = "t", .range = range, .since = parts_since(&setup->parts), .keys_suffice = true};
    int r = read_ahead_directory(setup->parts.read_ahead, parts_caller(&setup->parts),
                                 DIRECTORY_ENTITIES, &question, &seen);
    run_finish(&seen.run);
    return r;
}

static void assert_counted(struct setup *setup, uint64_t hits, uint64_t misses)
{
    struct read_ahead_stats stats;
    read_ahead_stats(setup->parts.read_ahead, &stats);
    assert_int_equal(stats.hits, hits);
    assert_int_equal(stats.misses, misses);
}

static void with_ttl_0_a_row_is_asked_for_alone(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, (struct parts_options){.is_ttl_0 = true});
    parts_add(&setup.parts, "p", 100);
    for (int row = 0; row < 10; row++) {
        char position[8];
        (void)snprintf(position, sizeof(position), "p%c%05d", '\0', row);
        assert_int_equal(find(&setup, (struct bytes){position, 7}), 1);
        assert_int_equal(request(&setup, (size_t)row + 1)->what, ASKED_GET);
        assert_begins_at(&setup, (size_t)row + 1, (struct bytes){position, 7});
    }
    assert_int_equal(find(&setup, ROW("x")), 0);
    assert_int_equal(parts_asked(&setup.parts), 11);
    assert_int_equal(find_partition(&setup, PARTITION), 1);
    assert_int_equal(request(&setup, 12)->top, 32);
    assert_bytes(buffer_bytes(&request(&setup, 12)->hi), PARTITION.hi);
    assert_counted(&setup, 0, 12);
    tear_down(&setup);
}

static int fail_always(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    return call_fail(call, -EIO, "broken");
}

static void each_question_is_a_hit_or_a_miss(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 1, 2000);
    assert_int_equal(find(&setup, ROW("00500")), 1);
    assert_counted(&setup, 0, 1);
    assert_int_equal(find(&setup, ROW("00500")), 1);
    assert_counted(&setup, 1, 1);
    assert_int_equal(find(&setup, ROW("00700!")), 0);
    assert_counted(&setup, 1, 2);
    assert_int_equal(find(&setup, ROW("00700!")), 0);
    assert_counted(&setup, 2, 2);
    assert_int_equal(find_partition(&setup, PARTITION), 1);
    assert_counted(&setup, 2, 3);
    assert_int_equal(find_partition(&setup, PARTITION), 1);
    assert_counted(&setup, 3, 3);
    setup.parts.memory->fault = fail_always;
    assert_int_equal(find(&setup, ROW("01500")), -EIO);
    assert_int_equal(rows_at(&setup, &partition, ROW("01600")), -EIO);
    assert_counted(&setup, 3, 5);
    tear_down(&setup);
}

/* The second is the first page of the listing's prefetcher, which runs ahead from its second page
 * on. */
static void the_first_two_misses_of_a_listing_are_one_request_each(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct setup setup;
        set_up(&setup, parallelism, 9000);
        assert_int_equal(rows_at(&setup, &partition, PARTITION.lo), 1000);
        assert_int_equal(parts_asked(&setup.parts), 1);
        assert_int_equal(request(&setup, 1)->top, 1000);
        assert_true(rows_at(&setup, &partition, ROW("01000")) > 0);
        assert_int_equal(parts_asked(&setup.parts), 2);
        assert_true(rows_at(&setup, &partition, ROW("02000")) > 0);
        if (parallelism == 1)
            assert_int_equal(parts_asked(&setup.parts), 3);
        else
            assert_in_range(parts_asked(&setup.parts), 4, 10);
        tear_down(&setup);
    }
}

static void what_is_known_sends_nothing(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 1, 9000);
    assert_int_equal(rows_at(&setup, &partition, PARTITION.lo), 1000);
    assert_int_equal(rows_at(&setup, &partition, PARTITION.lo), 1000);
    assert_int_equal(rows_at(&setup, &partition, ROW("00990")), 10);
    assert_int_equal(find(&setup, ROW("00999")), 1);
    assert_int_equal(find(&setup, ROW("00998!")), 0);
    assert_int_equal(find_partition(&setup, PARTITION), 1);
    assert_int_equal(parts_asked(&setup.parts), 1);
    assert_counted(&setup, 5, 1);
    tear_down(&setup);
}

static void a_whole_listing_costs_its_pages(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct setup setup;
        set_up(&setup, parallelism, 20500);
        assert_listed(&setup, &partition, 20500);
        size_t most = parallelism == 1 ? 21 : 21 * 115 / 100 + 14;
        assert_in_range(parts_asked(&setup.parts), 21, most);
        tear_down(&setup);
    }
}

/* A listing that has its prefetcher, which runs ahead, far from its end. */
static void set_up_prefetching(struct setup *setup)
{
    set_up(setup, 2, 50000);
    assert_true(rows_at(setup, &partition, ROW("30000")) > 0);
    assert_true(rows_at(setup, &partition, ROW("31000")) > 0);
    assert_true(rows_at(setup, &partition, ROW("32000")) > 0);
    assert_true(parts_asked(&setup->parts) > 3);
}

static void a_listing_that_goes_back_begins_there(void **state)
{
    (void)state;
    struct setup setup;
    set_up_prefetching(&setup);
    size_t asked = parts_asked(&setup.parts);
    assert_int_equal(rows_at(&setup, &partition, ROW("00500")), 1000);
    assert_begins_at(&setup, asked + 1, ROW("00500"));
    tear_down(&setup);
}

static void a_prefetcher_that_was_not_used_for_long_is_replaced(void **state)
{
    (void)state;
    struct setup setup;
    set_up_prefetching(&setup);
    size_t asked = parts_asked(&setup.parts);
    setup.parts.now_ms += FRESHNESS_KEPT_MS + 1;
    assert_true(rows_at(&setup, &partition, ROW("31500")) > 0);
    assert_begins_at(&setup, asked + 1, ROW("31500"));
    tear_down(&setup);
}

static void reset_it_begins_as_at_first(void **state)
{
    (void)state;
    struct setup setup;
    set_up_prefetching(&setup);
    read_cursor_reset(&setup.cursor);
    setup.parts.now_ms += TTL_MS + 1;
    size_t asked = parts_asked(&setup.parts);
    assert_int_equal(rows_at(&setup, &partition, PARTITION.lo), 1000);
    assert_int_equal(parts_asked(&setup.parts), asked + 1);
    assert_begins_at(&setup, asked + 1, PARTITION.lo);
    tear_down(&setup);
}

/* The service refuses one request, wherever it reads. */
static size_t refused;

static int fail_refused(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    return number == refused ? call_fail(call, -EACCES, "no more than that") : 0;
}

static void no_failure_ahead_fails_a_listing(void **state)
{
    (void)state;
    for (refused = 2; refused <= 8; refused++) {
        struct setup setup;
        set_up(&setup, 4, 9000);
        setup.parts.memory->fault = fail_refused;
        assert_listed(&setup, &partition, 9000);
        tear_down(&setup);
    }
}

/* A failed request for the position that the caller waits for is the result of the call. A later
 * call asks again and gets the rest. */
static void a_failure_of_its_own_is_returned_and_the_rest_comes(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct setup setup;
        set_up(&setup, parallelism, 9000);
        setup.parts.memory->fault = fail_always;
        assert_int_equal(rows_at(&setup, &partition, PARTITION.lo), -EIO);
        assert_int_equal(rows_at(&setup, &partition, PARTITION.lo), -EIO);
        (void)parts_asked(&setup.parts);
        setup.parts.memory->fault = NULL;
        assert_listed(&setup, &partition, 9000);
        tear_down(&setup);
    }
}

static void list(struct setup *setup, const struct directory *directory)
{
    struct caller *caller = parts_caller(&setup->parts);
    struct stamp began =
        freshness_begin_listing(setup->parts.freshness, caller->process, directory);
    read_ahead_listed(setup->parts.read_ahead, caller, directory, began);
}

/* The process has listed the table: what it misses in a directory is brought by its traversal, also
 * where one request runs at a time. It goes on in the next directory. */
static void a_traversal_is_served_across_directories(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct setup setup;
        set_up_with(&setup, (struct parts_options){.parallelism = parallelism});
        parts_add_many(&setup.parts, 300, 30);
        list(&setup, &flat);
        for (int i = 0; i < 300; i++) {
            char lo[8], hi[8];
            int size = snprintf(lo, sizeof(lo), "p%04d", i);
            (void)snprintf(hi, sizeof(hi), "p%04d%s", i, POSITION_AFTER);
            struct directory directory = {
                .kind = DIRECTORY_ENTITIES,
                .table = "t",
                .range = {{lo, (size_t)size + 1}, {hi, (size_t)size + 1}}};
            assert_int_equal(find_partition(&setup, directory.range), 1);
            list(&setup, &directory);
            assert_listed(&setup, &directory, 30);
        }
        size_t most = parallelism == 1 ? 9 * 115 / 100 + 1 : 9 * 125 / 100 + 14;
        assert_in_range(parts_asked(&setup.parts), 9, most);
        tear_down(&setup);
    }
}

/* The process looks a directory up that its traversal has passed, and lists it: one request, and
 * one stray. So the traversal goes on where it was, and begins no request at another directory. */
static void what_a_traversal_has_passed_is_fetched_for_its_listing(void **state)
{
    (void)state;
    struct setup setup;
    const struct directory first = {
        .kind = DIRECTORY_ENTITIES, .table = "t", .range = {B("p0000\0"), B("p0000\x01")}};
    const struct range second = {B("p0001\0"), B("p0001\x01")};
    const struct range later = {B("p0007\0"), B("p0007\x01")};
    set_up_with(&setup, (struct parts_options){.parallelism = 1});
    parts_add_many(&setup.parts, 9, 1000);
    list(&setup, &flat);
    assert_int_equal(find_partition(&setup, first.range), 1);
    assert_int_equal(find_partition(&setup, second), 1);
    size_t before = parts_asked(&setup.parts);
    setup.parts.now_ms += TTL_MS + 1; /* all that is known is too old */
    assert_int_equal(find_partition(&setup, first.range), 1);
    list(&setup, &first);
    assert_listed(&setup, &first, 1000);
    assert_int_equal(parts_asked(&setup.parts), before + 1);
    assert_begins_at(&setup, before + 1, first.range.lo);
    assert_int_equal(request(&setup, before + 1)->top, 1000);
    assert_int_equal(find_partition(&setup, later), 1);
    for (size_t i = parts_asked(&setup.parts); i > before; i--)
        assert_true(bytes_compare(buffer_bytes(&request(&setup, i)->lo), later.lo) < 0);
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_ttl_0_a_row_is_asked_for_alone),
        cmocka_unit_test(each_question_is_a_hit_or_a_miss),
        cmocka_unit_test(the_first_two_misses_of_a_listing_are_one_request_each),
        cmocka_unit_test(what_is_known_sends_nothing),
        cmocka_unit_test(a_whole_listing_costs_its_pages),
        cmocka_unit_test(a_listing_that_goes_back_begins_there),
        cmocka_unit_test(a_prefetcher_that_was_not_used_for_long_is_replaced),
        cmocka_unit_test(reset_it_begins_as_at_first),
        cmocka_unit_test(no_failure_ahead_fails_a_listing),
        cmocka_unit_test(a_failure_of_its_own_is_returned_and_the_rest_comes),
        cmocka_unit_test(a_traversal_is_served_across_directories),
        cmocka_unit_test(what_a_traversal_has_passed_is_fetched_for_its_listing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
