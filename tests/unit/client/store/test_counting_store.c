/* SPDX-License-Identifier: MIT */
#include "client/store/counting_store.h"
#include "tests/stores/faulty_store.h"
#include "tests/stores/memory_store.h"
#include "tests/unit/unit.h"

#define OF(operation, status, command)                                                             \
    "{operation=\"" operation "\",status=\"" status "\",command=\"" command "\"} "

static int64_t now_ms;

static struct table_store *create(const char *rules, const struct clock *clock)
{
    struct memory_store *memory = memory_store_create();
    struct table_store *faulty, *counting;
    memory_store_add_table(memory, "one");
    memory_store_add_strings(memory, "p", "r");
    memory_store_add_strings(memory, "p", "s");
    assert_int_equal(faulty_store_create(&memory->store, clock, rules, &faulty), 0);
    assert_int_equal(counting_store_create(faulty, clock, &counting), 0);
    return counting;
}

static void get(struct table_store *store, const char *command, int expected)
{
    struct call call = {.deadline_ms = INT64_MAX, .command = command};
    _cleanup_(page_unrefp) struct page *page = NULL;
    assert_int_equal(table_store_get(store, "one", B("p\0r"), &call, &page), expected);
}

static void assert_lines(struct table_store *store, const char *const *lines, size_t n)
{
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, 1 << 20);
    assert_int_equal(counting_store_append_metrics(store, &text), 0);
    const char *all = buffer_string(&text);
    assert_null(strstr(all, "list_tables")); /* what was not requested has no line */
    assert_null(strstr(all, "(null)"));
    for (size_t i = 0; i < n; i++)
        if (!strstr(all, lines[i]))
            fail_msg("no line %s in\n%s", lines[i], all);
}

static void attempts_are_counted_by_operation_status_and_command(void **state)
{
    (void)state;
    struct clock clock = fake_clock(&now_ms);
    _cleanup_(table_store_destroyp) struct table_store *store =
        create("latency=25,fail=get:2:404:X,fail=get:3:0", &clock);
    get(store, "cat", 0);
    get(store, "cat", -ENOENT);
    get(store, "we\"ird\n\\", -EIO);
    get(store, "cat", 0);
    struct call call = {.deadline_ms = INT64_MAX};
    struct query query = {.table = "one", .range = RANGE_ALL, .top = 1000};
    struct answer answer;
    assert_int_equal(table_store_query(store, &query, &call, &answer), 0);
    answer_finish(&answer);
    const struct write writes[] = {
        {.kind = WRITE_UPSERT_REPLACE, .position = B("p\0t"), .text = B("{\n}\n")},
        {.kind = WRITE_UPSERT_REPLACE, .position = B("p\0u"), .text = B("{\n}\n")},
        {.kind = WRITE_DELETE, .position = B("p\0u"), .if_match = B("*"), .text = B("")},
    };
    struct write_result results[2];
    assert_int_equal(table_store_write(store, "one", writes, 2, &call, results), 0);
    assert_int_equal(table_store_write(store, "one", &writes[0], 1, &call, results), 0);
    assert_int_equal(table_store_write(store, "one", &writes[2], 1, &call, results), 0);
    assert_int_equal(counting_store_requests(store), 4 + 1 + 3);
    static const char *const lines[] = {
        "\ntablefuse_requests_total" OF("get", "200", "cat") "2\n",
        "\ntablefuse_requests_total" OF("get", "404", "cat") "1\n",
        "\ntablefuse_requests_total" OF("get", "0", "we\\\"ird?\\\\") "1\n",
        "\ntablefuse_requests_total" OF("query", "200", "") "1\n",
        "\ntablefuse_request_rows_total" OF("query", "200", "") "2\n",
        "\ntablefuse_request_bytes_total" OF("get", "200", "cat") "20\n",
        "\ntablefuse_request_rows_total" OF("batch", "200", "") "2\n",
        "\ntablefuse_request_bytes_total" OF("batch", "200", "") "8\n",
        "\ntablefuse_request_bytes_total" OF("write", "200", "") "4\n",
        "\ntablefuse_requests_total" OF("delete", "200", "") "1\n",
        "\ntablefuse_request_seconds_total" OF("get", "200", "cat") "0.050\n",
        "\ntablefuse_request_duration_seconds_bucket{operation=\"get\",le=\"0.01\"} 0\n",
        "\ntablefuse_request_duration_seconds_bucket{operation=\"get\",le=\"0.025\"} 4\n",
        "\ntablefuse_request_duration_seconds_bucket{operation=\"get\",le=\"+Inf\"} 4\n"
        "tablefuse_request_duration_seconds_sum{operation=\"get\"} 0.100\n"
        "tablefuse_request_duration_seconds_count{operation=\"get\"} 4\n",
        "\ntablefuse_request_duration_seconds_count{operation=\"query\"} 1\n",
    };
    assert_lines(store, lines, ARRAY_SIZE(lines));
}

/* The kernel cuts a command's name after 15 bytes. Two that differ in the cut character alone are
 * one label: the same label twice would be unreadable, too. */
static void a_command_that_is_cut_within_a_character(void **state)
{
    (void)state;
    struct clock clock = fake_clock(&now_ms);
    _cleanup_(table_store_destroyp) struct table_store *store = create("", &clock);
    get(store, "aaaaaaaaaaaaaa\xc3", 0);
    get(store, "aaaaaaaaaaaaaa\xe2", 0);
    get(store, "b\xff\xc3\xa9\xed\xa0\x80", 0);
    static const char *const lines[] = {
        "\ntablefuse_requests_total" OF("get", "200", "aaaaaaaaaaaaaa?") "2\n",
        "\ntablefuse_requests_total" OF("get", "200", "b?\xc3\xa9???") "1\n",
    };
    assert_lines(store, lines, ARRAY_SIZE(lines));
}

static void commands_beyond_the_table_are_counted_together(void **state)
{
    (void)state;
    struct clock clock = fake_clock(&now_ms);
    _cleanup_(table_store_destroyp) struct table_store *store = create("", &clock);
    for (int i = 0; i < 1000; i++) {
        char command[16];
        (void)snprintf(command, sizeof(command), "command%d", i);
        get(store, command, 0);
    }
    static const char *const lines[] = {"status=\"200\",command=\"command0\"} 1\n",
                                        "status=\"200\",command=\"command383\"} 1\n",
                                        "status=\"200\",command=\"other\"} 616\n"};
    assert_lines(store, lines, ARRAY_SIZE(lines));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_are_counted_by_operation_status_and_command),
        cmocka_unit_test(a_command_that_is_cut_within_a_character),
        cmocka_unit_test(commands_beyond_the_table_are_counted_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
