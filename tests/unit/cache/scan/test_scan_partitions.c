/* SPDX-License-Identifier: MIT */
#include "cache/scan/scan.h"
#include "tests/stores/faulty_store.h"
#include "tests/stores/memory_store.h"
#include "tests/unit/unit.h"

/* Drives a scan to its end over a store, and puts the keys into `keys`, a comma after each. The
 * first answer has at most first_rows: a page from the cache. */
static size_t run_from(struct table_store *store, struct range range, int first_rows,
                       struct buffer *keys)
{
    struct scan *scan;
    size_t requests = 0;
    assert_int_equal(scan_partitions_create(
                         range, &(struct scan_limits){.page_rows = TABLE_STORE_PAGE_ROWS}, &scan),
                     0);
    for (;;) {
        struct scan_item item;
        enum scan_state state = scan_take(scan, &item);
        if (state == SCAN_END)
            break;
        if (state == SCAN_ITEM) {
            (void)buffer_append(keys, item.key);
            (void)buffer_append_char(keys, ',');
            continue;
        }
        struct scan_request request, again;
        assert_true(scan_next_request(scan, 1, &request));
        assert_false(scan_next_request(scan, 1, &again)); /* one slot: one after the other */
        if (requests++ % 3 == 1) { /* as if it had failed: it is asked again, the same */
            scan_give_back(scan, request.id);
            assert_true(scan_next_request(scan, 1, &again));
            request = again;
        }
        assert_true(requests < 5000);
        struct query query = {.table = "t",
                              .range = request.range,
                              .top = requests == 1 ? MIN(first_rows, request.top) : request.top,
                              .keys_only = request.keys_only};
        struct call call = {.deadline_ms = INT64_MAX};
        struct answer answer = {0};
        assert_int_equal(table_store_query(store, &query, &call, &answer), 0);
        while (page_rows(answer.page) == 0 && answer.next) { /* as the cache does */
            struct answer empty = answer;
            answer = (struct answer){0};
            query.after = empty.next;
            assert_int_equal(table_store_query(store, &query, &call, &answer), 0);
            answer_finish(&empty);
        }
        assert_int_equal(scan_add_answer(scan, request.id, &answer), 0);
    }
    scan_destroy(scan);
    return requests;
}

static size_t run(struct table_store *store, struct range range, struct buffer *keys)
{
    return run_from(store, range, TABLE_STORE_PAGE_ROWS, keys);
}

static void ten_huge_partitions_cost_ten_requests(void **state)
{
    (void)state;
    struct memory_store *memory = memory_store_create();
    for (int p = 0; p < 10; p++) {
        for (int r = 0; r < 3000; r++) {
            char partition[8], row[8];
            (void)snprintf(partition, sizeof(partition), "p%d", p);
            (void)snprintf(row, sizeof(row), "%05d", r);
            memory_store_add_strings(memory, partition, row);
        }
    }
    _cleanup_(buffer_finish) struct buffer keys = {.max = 1000};
    assert_int_equal(run(&memory->store, RANGE_ALL, &keys),
                     11); /* the last says that nothing follows */
    assert_bytes(buffer_bytes(&keys), B("p0,p1,p2,p3,p4,p5,p6,p7,p8,p9,"));
    assert_int_equal(memory->diary[0].top, 1000);
    assert_int_equal(memory->diary[5].top, 16); /* of each page one key is used */
    assert_true(memory->diary[0].keys_only);
    assert_false(memory->diary[5].is_continued);
    table_store_destroy(&memory->store);
}

static void add_partitions(struct memory_store *memory, int partitions, int rows)
{
    for (int i = 0; i < partitions * rows; i++) {
        char partition[8], row[8];
        (void)snprintf(partition, sizeof(partition), "p%02d", i / rows);
        (void)snprintf(row, sizeof(row), "%05d", i % rows);
        memory_store_add_strings(memory, partition, row);
    }
}

/* A known page ends within a partition of 30 rows. */
static void a_part_of_a_partition_does_not_make_it_huge(void **state)
{
    (void)state;
    struct memory_store *memory = memory_store_create();
    _cleanup_(buffer_finish) struct buffer keys = {.max = 1000};
    add_partitions(memory, 40, 30);
    assert_int_equal(run_from(&memory->store, RANGE_ALL, 20, &keys), 3);
    assert_int_equal(keys.size, 40 * 4);
    table_store_destroy(&memory->store);
}

static void a_thousand_small_partitions_are_one_page(void **state)
{
    (void)state;
    struct memory_store *memory = memory_store_create();
    for (int p = 0; p < 2500; p++) {
        char partition[8];
        (void)snprintf(partition, sizeof(partition), "%04d", p);
        memory_store_add_strings(memory, partition, "");
    }
    _cleanup_(buffer_finish) struct buffer keys = {.max = 20000};
    assert_int_equal(run(&memory->store, RANGE_ALL, &keys), 3);
    assert_int_equal(keys.size, 2500 * 5);
    table_store_destroy(&memory->store);
}

static void awkward_keys_come_each_once_in_order(void **state)
{
    (void)state;
    static const char *const partitions[] = {"",
                                             "\x20",
                                             "A",
                                             "A!",
                                             "A+",
                                             "AB",
                                             "a",
                                             "\xC3\xA9",
                                             "\xED\xA0\xBD\xED\xB8\x80",
                                             "\xEE\x80\x80",
                                             "\xEF\xBF\xBF",
                                             "\xEF\xBF\xBF\xEF\xBF\xBF"};
    static const char *const faults[] = {"",        "short=1", "short=2",
                                         "short=3", "empty=1", "empty=9,short=1"};
    for (size_t f = 0; f < ARRAY_SIZE(faults); f++) {
        struct memory_store *memory = memory_store_create();
        _cleanup_(buffer_finish) struct buffer keys = {.max = 1000}, expected = {.max = 1000};
        for (size_t p = 0; p < ARRAY_SIZE(partitions); p++) {
            memory_store_add_strings(memory, partitions[p], "");
            memory_store_add_strings(memory, partitions[p], "\xEF\xBF\xBF");
            (void)buffer_append_format(&expected, "%s,", partitions[p]);
        }
        struct table_store *faulty;
        assert_int_equal(faulty_store_create(&memory->store, &clock_system, faults[f], &faulty), 0);
        (void)run(faulty, RANGE_ALL, &keys);
        assert_bytes(buffer_bytes(&keys), buffer_bytes(&expected));
        buffer_clear(&keys);
        (void)run(faulty, (struct range){B("A"), B("B")}, &keys);
        assert_bytes(buffer_bytes(&keys), B("A,A!,A+,AB,"));
        table_store_destroy(faulty);
    }
}

static void an_empty_range_is_one_request(void **state)
{
    (void)state;
    struct memory_store *memory = memory_store_create();
    _cleanup_(buffer_finish) struct buffer keys = {.max = 10};
    assert_int_equal(run(&memory->store, RANGE_ALL, &keys), 1);
    assert_int_equal(keys.size, 0);
    table_store_destroy(&memory->store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_huge_partitions_cost_ten_requests),
        cmocka_unit_test(a_part_of_a_partition_does_not_make_it_huge),
        cmocka_unit_test(a_thousand_small_partitions_are_one_page),
        cmocka_unit_test(awkward_keys_come_each_once_in_order),
        cmocka_unit_test(an_empty_range_is_one_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
