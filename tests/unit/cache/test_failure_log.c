/* SPDX-License-Identifier: MIT */
#include "cache/failure_log.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/unit.h"

static int told;

static void sink(void *context, const struct failure_record *record)
{
    assert_string_equal(context, "context");
    assert_non_null(record->operation);
    told++;
}

static struct failure_record record_number(int i)
{
    return (struct failure_record){.at_100ns = i,
                                   .operation = "lookup",
                                   .command = "cat",
                                   .table = i % 2 ? "t" : NULL,
                                   .position = B("p\0r"),
                                   .kept_in = i % 3 ? "/lost/f" : NULL,
                                   .failure = {.error = -EIO, .http_status = i}};
}

static void the_last_hundred_are_kept_in_order(void **state)
{
    (void)state;
    struct failure_log *log;
    char context[] = "context";
    told = 0;
    assert_int_equal(failure_log_create(sink, context, &log), 0);
    struct failure_record record;
    _cleanup_(buffer_finish) struct buffer text = {.max = 1 << 16};
    assert_int_equal(failure_log_next(log, 0, &record, &text), 0);
    for (int i = 1; i <= 250; i++) {
        struct failure_record added = record_number(i);
        failure_log_add(log, &added);
    }
    assert_int_equal(told, 250);
    assert_int_equal(failure_log_count(log), 250);
    int expected = 151;
    for (uint64_t n = 0; (n = failure_log_next(log, n, &record, &text)) != 0; expected++) {
        assert_int_equal(n, expected);
        assert_int_equal(record.failure.http_status, expected);
        assert_string_equal(record.command, "cat");
        assert_bytes(record.position, B("p\0r"));
        if (expected % 2)
            assert_string_equal(record.table, "t");
        else
            assert_null(record.table);
        if (expected % 3)
            assert_string_equal(record.kept_in, "/lost/f");
        else
            assert_null(record.kept_in);
    }
    assert_int_equal(expected, 251);
    failure_log_destroy(log);
}

static struct failure_record record_of_outage(int i, uint32_t outage)
{
    struct failure_record record = record_number(i);
    record.failure.outage = outage;
    return record;
}

/* The next record is the one that was added as number i. It counts `others` more failures. */
static uint64_t expect_record(struct failure_log *log, uint64_t after, int i, uint64_t others)
{
    struct failure_record record;
    _cleanup_(buffer_finish) struct buffer text = {.max = 1 << 16};
    uint64_t number = failure_log_next(log, after, &record, &text);
    assert_true(number > 0);
    assert_int_equal(record.at_100ns, i);
    assert_int_equal(record.others, others);
    if (others > 0)
        assert_int_equal(record.last_100ns, i + others);
    return number;
}

static void an_outage_has_one_record(void **state)
{
    (void)state;
    struct failure_log *log;
    char context[] = "context";
    told = 0;
    assert_int_equal(failure_log_create(sink, context, &log), 0);
    struct failure_record cause = record_number(1), other = record_number(1003);
    failure_log_add(log, &cause);
    for (int i = 2; i <= 1002; i++) {
        struct failure_record added = record_of_outage(i, 1);
        failure_log_add(log, &added);
    }
    failure_log_add(log, &other);
    for (int i = 1004; i <= 1005; i++) {
        struct failure_record added = record_of_outage(i, 2);
        failure_log_add(log, &added);
    }
    assert_int_equal(failure_log_count(log), 1005);
    assert_int_equal(told, 4);
    uint64_t n = expect_record(log, 0, 1, 0);
    n = expect_record(log, n, 2, 1000);
    n = expect_record(log, n, 1003, 0);
    n = expect_record(log, n, 1004, 1);
    assert_int_equal(n, 1004);
    for (int i = 1; i <= FAILURE_LOG_SIZE; i++) { /* drive it out: the next gets a record again */
        struct failure_record added = record_number(2000 + i);
        failure_log_add(log, &added);
    }
    struct failure_record late = record_of_outage(3000, 2);
    failure_log_add(log, &late);
    (void)expect_record(log, 1005 + FAILURE_LOG_SIZE, 3000, 0);
    failure_log_destroy(log);
}

/* How many records follow; ret_others: of the last. */
static int count_records(struct failure_log *log, uint64_t after, uint64_t *ret_others)
{
    struct failure_record record;
    _cleanup_(buffer_finish) struct buffer text = {.max = 1 << 16};
    int records = 0;
    for (; (after = failure_log_next(log, after, &record, &text)) != 0; records++)
        *ret_others = record.others;
    return records;
}

/* The n-th failure of a program that tries again and again. */
static struct failure_record record_of_loop(int n)
{
    struct failure_record record = record_number(1);
    record.at_100ns = n;
    (void)snprintf(record.failure.request_id, sizeof(record.failure.request_id), "%d", n);
    return record;
}

static void equal_failures_have_one_record(void **state)
{
    (void)state;
    struct failure_log *log;
    struct failure_record record;
    _cleanup_(buffer_finish) struct buffer text = {.max = 1 << 16};
    char context[] = "context";
    told = 0;
    assert_int_equal(failure_log_create(sink, context, &log), 0);
    for (int n = 1; n <= 1000; n++) { /* each tenth is another one */
        struct failure_record added = n % 10 == 0 ? record_number(n) : record_of_loop(n);
        failure_log_add(log, &added);
    }
    assert_int_equal(told, 1000);
    assert_int_equal(failure_log_count(log), 1000);
    uint64_t number = 0;
    for (int n = 20; n < 1000; n += 10) /* the loop has driven one out */
        number = expect_record(log, number, n, 0);
    assert_int_equal(failure_log_next(log, number, &record, &text), 999); /* the last of the loop */
    assert_string_equal(record.failure.request_id, "999");
    assert_int_equal(record.times, 900);
    assert_int_equal(record.first_100ns, 1);
    assert_int_equal(record.at_100ns, 999);
    assert_int_equal(record.others, 0);
    assert_string_equal(record.command, "cat");
    assert_int_equal(failure_log_next(log, 999, &record, &text), 1000);
    assert_int_equal(record.times, 1);
    assert_int_equal(failure_log_next(log, 1000, &record, &text), 0);
    failure_log_destroy(log);
}

static void what_differs_in_one_thing_is_not_equal(void **state)
{
    (void)state;
    struct failure_log *log;
    struct failure_record record = record_number(1), first = record;
    uint64_t others;
    assert_int_equal(failure_log_create(NULL, NULL, &log), 0);
    failure_log_add(log, &record);
    record.operation = "open";
    failure_log_add(log, &record);
    record = first;
    record.command = "tac";
    failure_log_add(log, &record);
    record.command = NULL;
    failure_log_add(log, &record);
    record = first;
    record.table = "u";
    failure_log_add(log, &record);
    record.table = NULL;
    failure_log_add(log, &record);
    record = first;
    record.position = B("p\0s");
    failure_log_add(log, &record);
    record = first;
    record.is_prefix = true;
    failure_log_add(log, &record);
    record = first;
    record.kept_in = "/lost/g";
    failure_log_add(log, &record);
    record = first;
    record.failure.error = -EINVAL;
    failure_log_add(log, &record);
    record = first;
    (void)snprintf(record.failure.code, sizeof(record.failure.code), "Code");
    failure_log_add(log, &record);
    (void)snprintf(record.failure.message, sizeof(record.failure.message), "line 1");
    failure_log_add(log, &record);
    (void)snprintf(record.failure.message, sizeof(record.failure.message), "line 2");
    failure_log_add(log, &record);
    assert_int_equal(count_records(log, 0, &others), 13);
    failure_log_add(log, &record);
    failure_log_add(log, &first);
    assert_int_equal(count_records(log, 0, &others), 13);
    failure_log_destroy(log);
}

static void add_delete(struct failure_log *log, int number, const char *table, const char *code)
{
    struct failure_record record = record_number(number);
    record.table = table;
    record.is_one_of_many = true;
    record.at_100ns = number * TICKS_PER_SEC;
    (void)snprintf(record.failure.code, sizeof(record.failure.code), "%s", code);
    failure_log_add(log, &record);
}

static void queued_deletes_that_fail_alike_have_ten_records(void **state)
{
    (void)state;
    struct failure_log *log;
    uint64_t others = 0;
    char context[] = "context";
    told = 0;
    assert_int_equal(failure_log_create(sink, context, &log), 0);
    for (int i = 0; i < 10; i++)
        add_delete(log, i, "t", "Refused");
    assert_int_equal(count_records(log, 0, &others), 10);
    assert_int_equal(others, 0);
    for (int i = 10; i < 500; i++)
        add_delete(log, i, "t", "Refused");
    assert_int_equal(count_records(log, 0, &others), 10);
    assert_int_equal(others, 490);
    assert_int_equal(told, 500); /* each has its name in the log */
    assert_int_equal(failure_log_count(log), 500);
    add_delete(log, 500, "u", "Refused"); /* another table, another cause, after a rest */
    add_delete(log, 501, "u", "Other");
    add_delete(log, 501 + FAILURE_LOG_REST_MS / 1000, "u", "Other");
    assert_int_equal(count_records(log, 10, &others), 3);
    assert_int_equal(others, 0);
    failure_log_destroy(log);
}

static void a_record_that_is_too_long_stays_without_its_strings(void **state)
{
    (void)state;
    struct failure_log *log;
    assert_int_equal(failure_log_create(NULL, NULL, &log), 0);
    char *position = calloc(1, 100000);
    struct failure_record record = record_number(1);
    record.position = (struct bytes){position, 100000};
    failure_log_add(log, &record);
    free(position);
    _cleanup_(buffer_finish) struct buffer text = {.max = 1 << 16};
    assert_int_equal(failure_log_next(log, 0, &record, &text), 1);
    assert_int_equal(record.failure.http_status, 1);
    assert_null(record.table);
    assert_int_equal(record.position.size, 0);
    failure_log_destroy(log);
}

static void a_record_stays_without_memory_for_its_strings(void **state)
{
    (void)state;
    struct failure_log *log;
    struct failure_record record = record_number(1);
    struct buffer text;
    buffer_init(&text, 1 << 16);
    assert_int_equal(failure_log_create(NULL, NULL, &log), 0);
    allocations_until_failure = 1;
    failures_in_a_row = 10;
    failure_log_add(log, &record);
    failures_in_a_row = 0;
    record = record_number(2);
    failure_log_add(log, &record);
    assert_int_equal(failure_log_next(log, 0, &record, &text), 1);
    assert_int_equal(record.failure.http_status, 1);
    assert_string_equal(record.command, "");
    assert_null(record.table);
    assert_int_equal(record.position.size, 0);
    assert_int_equal(failure_log_next(log, 1, &record, &text), 2);
    assert_string_equal(record.command, "cat");
    assert_int_equal(failure_log_next(log, 2, &record, &text), 0);
    assert_int_equal(text.error, 0); /* the end */

    buffer_finish(&text);
    allocations_until_failure = 1;
    assert_int_equal(failure_log_next(log, 1, &record, &text), 0);
    assert_int_equal(text.error, -ENOMEM); /* not the end */
    buffer_finish(&text);
    failure_log_destroy(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_hundred_are_kept_in_order),
        cmocka_unit_test(an_outage_has_one_record),
        cmocka_unit_test(equal_failures_have_one_record),
        cmocka_unit_test(what_differs_in_one_thing_is_not_equal),
        cmocka_unit_test(queued_deletes_that_fail_alike_have_ten_records),
        cmocka_unit_test(a_record_that_is_too_long_stays_without_its_strings),
        cmocka_unit_test(a_record_stays_without_memory_for_its_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
