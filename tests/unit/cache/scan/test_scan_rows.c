/* SPDX-License-Identifier: MIT */
/* Random tables, ranges and services: whatever happens, every row comes once and in order. */
#include "client/base/unicode.h"
#include "tests/stores/memory_store.h"
#include "tests/unit/cache/scan/scanning.h"

static void every_row_comes_once_and_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < TRIALS(3000); seed++)
        scan_once(scan_rows_create, seed * 1000003, false, 0);
}

static void also_while_rows_come_and_go(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < TRIALS(1500); seed++)
        scan_once(scan_rows_create, seed * 1000033, true, 0);
}

/* Asks for one request, which must be there. */
static struct scan_request ask(struct scan *scan, int idle)
{
    struct scan_request request;
    assert_true(scan_next_request(scan, idle, &request));
    assert_true(range_is_expressible(request.range));
    return request;
}

static void answer(struct scan *scan, struct table_store *store, const struct scan_request *request)
{
    struct query query = {
        .table = "t", .range = request->range, .after = request->after, .top = request->top};
    struct call call = {.deadline_ms = INT64_MAX};
    struct answer result = {0};
    assert_int_equal(table_store_query(store, &query, &call, &result), 0);
    assert_int_equal(scan_add_answer(scan, request->id, &result), 0);
    assert_null(result.page);
    assert_null(result.next);
}

static void an_empty_table_is_one_request(void **state)
{
    (void)state;
    struct scan *scan;
    struct scan_item item;
    struct scan_request request;
    assert_int_equal(scan_rows_create(RANGE_ALL, &(struct scan_limits){.page_rows = 10}, &scan), 0);
    assert_int_equal(scan_take(scan, &item), SCAN_WAIT);
    request = ask(scan, 8);
    assert_false(request.is_speculative);
    struct memory_store *memory = memory_store_create();
    answer(scan, &memory->store, &request);
    table_store_destroy(&memory->store);
    assert_int_equal(scan_take(scan, &item), SCAN_END);
    scan_destroy(scan);
    assert_int_equal(scan_rows_create((struct range){B("b"), B("a")},
                                      &(struct scan_limits){.page_rows = 10}, &scan),
                     0);
    assert_int_equal(scan_take(scan, &item), SCAN_END);
    assert_false(scan_next_request(scan, 8, &request));
    scan_destroy(scan);
}

static void a_range_that_no_query_can_ask_is_asked_in_pieces(void **state)
{
    (void)state;
    struct scan *scan;
    struct range range = {B("a\0x"), B("c\0y")};
    assert_int_equal(scan_rows_create(range, &(struct scan_limits){.page_rows = 10}, &scan), 0);
    struct scan_request first = ask(scan, 8), second = ask(scan, 7), third = ask(scan, 6), none;
    assert_bytes(first.range.lo, B("a\0x"));
    assert_bytes(first.range.hi, B("a\1"));
    assert_bytes(second.range.hi, B("c\0"));
    assert_bytes(third.range.hi, B("c\0y"));
    assert_false(first.is_speculative);
    assert_true(third.is_speculative);
    assert_false(scan_next_request(scan, 5, &none));
    scan_destroy(scan); /* with requests out */
}

/* Rows 0 to 99 of partition "p". */
static struct memory_store *make_partition(void)
{
    struct memory_store *memory = memory_store_create();
    for (int i = 0; i < 100; i++) {
        char row[8];
        (void)snprintf(row, sizeof(row), "%02d", i);
        memory_store_add_strings(memory, "p", row);
    }
    return memory;
}

static void nothing_is_guessed_before_the_first_page(void **state)
{
    (void)state;
    struct memory_store *memory = make_partition();
    struct scan *scan;
    struct scan_item item;
    struct scan_request request;
    assert_int_equal(scan_rows_create(RANGE_ALL, &(struct scan_limits){.page_rows = 10}, &scan), 0);
    struct scan_request first = ask(scan, 32);
    assert_false(scan_next_request(scan, 31, &request));
    answer(scan, &memory->store, &first);
    assert_int_equal(scan_take(scan, &item), SCAN_ITEM); /* at once */
    assert_int_equal(item.rows.end, 10);
    run_finish(&item.rows);
    assert_int_equal(scan_take(scan, &item), SCAN_WAIT);
    int asked = 0;
    for (; scan_next_request(scan, 32 - asked, &request); asked++)
        assert_int_equal(request.is_speculative, asked > 0);
    assert_in_range(asked, 2, 3); /* two guesses for the first page */
    scan_destroy(scan);           /* with requests out */
    table_store_destroy(&memory->store);
}

static void without_room_for_guesses_what_is_certain_is_asked(void **state)
{
    (void)state;
    struct memory_store *memory = make_partition();
    struct scan *scan;
    struct scan_request requests[32];
    assert_int_equal(scan_rows_create(RANGE_ALL, &(struct scan_limits){.page_rows = 2}, &scan), 0);
    size_t guesses = 0, certain = 0, left = 0;
    while (guesses == 0 || certain < 3) { /* until there are both */
        size_t asked = 0;
        while (asked < 32 && scan_next_request(scan, 32 - (int)asked, &requests[asked]))
            asked++;
        guesses = certain = 0;
        for (size_t i = 0; i < asked; i++) {
            guesses += requests[i].is_speculative;
            certain += !requests[i].is_speculative;
        }
        for (size_t i = 0; i < asked; i++) {
            if (guesses > 0 && certain >= 3)
                scan_give_back(scan, requests[i].id);
            else
                answer(scan, &memory->store, &requests[i]);
        }
    }
    for (; scan_next_request(scan, 0, &requests[left]); left++)
        assert_false(requests[left].is_speculative);
    assert_int_equal(left, certain);
    struct scan_request more = ask(scan, 1);
    assert_true(more.is_speculative);
    scan_destroy(scan);
    table_store_destroy(&memory->store);
}

static void a_token_does_not_outlive_a_pause(void **state)
{
    (void)state;
    struct memory_store *memory = make_partition();
    struct scan *scan;
    assert_int_equal(scan_rows_create(RANGE_ALL, &(struct scan_limits){.page_rows = 10}, &scan), 0);
    struct scan_request request = ask(scan, 1);
    answer(scan, &memory->store, &request);
    request = ask(scan, 1);
    assert_non_null(request.after);
    assert_bytes(request.range.hi, B(POSITION_END));
    scan_give_back(scan, request.id);
    request = ask(scan, 1); /* after the last row: first what is in its partition */
    assert_null(request.after);
    assert_bytes(request.range.lo, B("p\0"
                                     "09\1"));
    assert_bytes(request.range.hi, B("p\1"));
    scan_destroy(scan); /* with rows that wait */
    table_store_destroy(&memory->store);
}

/* A piece that was cut at its partition's end is asked for by itself: its last page holds nothing
 * of what lies after, which is asked for meanwhile. */
static void what_is_left_of_a_partition_is_asked_for_alone(void **state)
{
    (void)state;
    struct memory_store *memory = make_partition();
    struct scan *scan;
    assert_int_equal(scan_rows_create(RANGE_ALL, &(struct scan_limits){.page_rows = 10}, &scan), 0);
    struct scan_request request = ask(scan, 1);
    answer(scan, &memory->store, &request);
    request = ask(scan, 8);
    assert_non_null(request.after);
    struct scan_request behind = ask(scan, 7); /* its split */
    assert_bytes(behind.range.lo, B("p\1"));
    answer(scan, &memory->store, &request);
    request = ask(scan, 7);
    assert_null(request.after);
    assert_bytes(request.range.lo, B("p\0"
                                     "19\1"));
    assert_bytes(request.range.hi, B("p\1"));
    answer(scan, &memory->store, &request);
    request = ask(scan, 1); /* and by its token from there on */
    assert_non_null(request.after);
    scan_destroy(scan);
    table_store_destroy(&memory->store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_table_is_one_request),
        cmocka_unit_test(a_range_that_no_query_can_ask_is_asked_in_pieces),
        cmocka_unit_test(nothing_is_guessed_before_the_first_page),
        cmocka_unit_test(without_room_for_guesses_what_is_certain_is_asked),
        cmocka_unit_test(a_token_does_not_outlive_a_pause),
        cmocka_unit_test(what_is_left_of_a_partition_is_asked_for_alone),
        cmocka_unit_test(every_row_comes_once_and_in_order),
        cmocka_unit_test(also_while_rows_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
