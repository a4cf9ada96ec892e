/* SPDX-License-Identifier: MIT */
#include "client/text/timestamp_etag.h"
#include "tests/unit/local_account.h"

static void every_kind_of_write_does_what_it_says(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct call call;
    struct write_result first, second;
    assert_int_equal(write_row(store, WRITE_INSERT, "r", "\"A\": 1", "", &call, &first), 0);
    assert_row(store, "r", "\"A\": 1");
    assert_int_equal(write_row(store, WRITE_MERGE, "r", "\"B\": 2", "*", &call, NULL), 0);
    assert_row(store, "r", "\"A\": 1,\n  \"B\": 2");
    assert_int_equal(write_row(store, WRITE_REPLACE, "r", "\"C\": 3", "*", &call, NULL), 0);
    assert_row(store, "r", "\"C\": 3");
    assert_int_equal(write_row(store, WRITE_UPSERT_MERGE, "r", "\"D\": 4", "", &call, NULL), 0);
    assert_row(store, "r", "\"C\": 3,\n  \"D\": 4");
    assert_int_equal(write_row(store, WRITE_UPSERT_REPLACE, "r", "\"E\": 5", "", &call, &second),
                     0);
    assert_row(store, "r", "\"E\": 5");
    assert_true(second.timestamp > first.timestamp);
    assert_int_equal(write_row(store, WRITE_DELETE, "r", "", second.etag, &call, &second), 0);
    assert_no_row(store, "r");
    assert_string_equal(second.etag, "");
    assert_int_equal(second.timestamp, 0);
    assert_int_equal(write_row(store, WRITE_UPSERT_MERGE, "r", "\"F\": 6", "", &call, NULL), 0);
    assert_row(store, "r", "\"F\": 6");
    assert_int_equal(write_row(store, WRITE_UPSERT_REPLACE, "s", "", "", &call, NULL), 0);
    assert_row(store, "s", "");
}

static void a_page_tells_the_version_that_was_written(void **state)
{
    int64_t now_ms = 1704164645123; /* 2024-01-02T03:04:05.123 */
    struct clock clock = fake_clock(&now_ms);
    _cleanup_(table_store_destroyp) struct table_store *store = open_account_at(*state, &clock);
    struct call call = {.deadline_ms = now_ms + 1000};
    struct write_result result;
    _cleanup_(row_write_finish) struct row_write row = make_write(WRITE_INSERT, "p", "r", "", "");
    assert_int_equal(table_store_create_table(store, "items", &call), 0);
    assert_int_equal(table_store_write(store, "items", &row.write, 1, &call, &result), 0);
    assert_string_equal(result.etag, "W/\"datetime'2024-01-02T03%3A04%3A05.1230000Z'\"");
    assert_int_equal(result.timestamp, now_ms * TICKS_PER_MS);
    struct page *page;
    assert_int_equal(table_store_get(store, "ITEMS", row.write.position, &call, &page), 0);
    assert_bytes(page_etag(page, 0), bytes_of(result.etag));
    assert_int_equal(page_timestamp(page, 0), result.timestamp);
    page_unref(page);
}

static void preconditions_are_the_service_s(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct call call;
    struct write_result old, new;
    static const enum write_kind kinds[] = {WRITE_REPLACE, WRITE_MERGE, WRITE_DELETE};
    assert_int_equal(write_row(store, WRITE_INSERT, "r", "\"A\": 1", "", &call, &old), 0);
    assert_int_equal(write_row(store, WRITE_REPLACE, "r", "\"A\": 2", old.etag, &call, &new), 0);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        int r = write_row(store, kinds[i], "r", "\"A\": 3", old.etag, &call, NULL);
        assert_refused(r, &call, -ESTALE, 412, "UpdateConditionNotSatisfied");
        assert_int_equal(call.failure.operation, -1);
        r = write_row(store, kinds[i], "absent", "\"A\": 3", "*", &call, NULL);
        assert_refused(r, &call, -ENOENT, 404, "ResourceNotFound");
        r = write_row(store, kinds[i], "absent", "\"A\": 3", new.etag, &call, NULL);
        assert_refused(r, &call, -ENOENT, 404, "ResourceNotFound");
    }
    int r = write_row(store, WRITE_INSERT, "r", "", "", &call, NULL);
    assert_refused(r, &call, -EEXIST, 409, "EntityAlreadyExists");
    assert_row(store, "r", "\"A\": 2");
}

static void etags_are_times_and_back(void **state)
{
    (void)state;
    static const struct {
        int64_t timestamp;
        const char *etag;
    } cases[] = {
        {1, "W/\"datetime'1970-01-01T00%3A00%3A00.0000001Z'\""},
        {INT64_C(9517823990000000) + 9999999, "W/\"datetime'2000-02-28T23%3A59%3A59.9999999Z'\""},
        {INT64_C(17091648000000000), "W/\"datetime'2024-02-29T00%3A00%3A00.0000000Z'\""},
        {TIMESTAMP_MAX, "W/\"datetime'9999-12-31T23%3A59%3A59.9999999Z'\""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char etag[TIMESTAMP_ETAG_SIZE + 1];
        int64_t timestamp;
        timestamp_etag_write(cases[i].timestamp, etag);
        assert_string_equal(etag, cases[i].etag);
        assert_true(timestamp_etag_parse(bytes_of(etag), &timestamp));
        assert_int_equal(timestamp, cases[i].timestamp);
    }
}

static void an_etag_that_is_none_is_refused(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct call call;
    static const char *const etags[] = {
        "**",
        "\"*\"",
        "W/\"datetime'2024-01-02T03%3A04%3A05.1234567Z'",
        "W/\"datetime'2024-01-02T03:04:05.1234567Z'\"",
        "W/\"datetime'2024-13-02T03%3A04%3A05.1234567Z'\"",
        "W/\"datetime'2024-02-30T03%3A04%3A05.1234567Z'\"",
        "W/\"datetime'2024-01-02T24%3A04%3A05.1234567Z'\"",
        "W/\"datetime'2024-01-02T03%3A04%3A05.123456xZ'\"",
        "w/\"datetime'2024-01-02T03%3A04%3A05.1234567Z'\"",
        "W/\"datetime'2024-01-02T03%3A04%3A05.1234567Z'\" ",
        "x",
    };
    insert_row(store, "r", "");
    for (size_t i = 0; i < ARRAY_SIZE(etags); i++) {
        int r = write_row(store, WRITE_REPLACE, "r", "", etags[i], &call, NULL);
        assert_refused(r, &call, -EINVAL, 400, "InvalidInput");
    }
}

static void what_the_service_would_not_store_is_refused(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    static const struct {
        const char *row_key, *lines;
        int error;
        const char *code;
    } cases[] = {
        {"a/b", "", -EINVAL, "OutOfRangeInput"},
        {"r", "\"A\": 2147483648", -EINVAL, "InvalidInput"},
        {"r", "\"A-B\": 1", -EINVAL, "PropertyNameInvalid"},
        {"r", "\"B\": 1,\n  \"A\": 2", -EINVAL, "InvalidInput"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct call call;
        int r = write_row(store, WRITE_INSERT, cases[i].row_key, cases[i].lines, "", &call, NULL);
        assert_refused(r, &call, cases[i].error, 400, cases[i].code);
        assert_int_equal(call.failure.operation, -1);
    }
    assert_int_equal(count_all(store), 0);
}

static void append_string_of(struct buffer *ret, const char *name, size_t size)
{
    (void)buffer_append_format(ret, "\"%s\": \"", name);
    for (size_t i = 0; i < size; i++)
        (void)buffer_append_char(ret, 'x');
    (void)buffer_append_char(ret, '"');
}

/* Strings of 64 KiB as the service counts them. */
static void append_strings(struct buffer *ret, char prefix, int n)
{
    for (int i = 0; i < n; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "%c%02d", prefix, i);
        (void)buffer_append_string(ret, i > 0 ? ",\n  " : "");
        append_string_of(ret, name, 32768);
    }
}

static void a_merge_that_makes_too_much_is_refused(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct call call;
    _cleanup_(buffer_finish) struct buffer old, more;
    buffer_init(&old, TEXT_MAX_BYTES);
    buffer_init(&more, TEXT_MAX_BYTES);
    append_strings(&old, 'A', 8);
    append_strings(&more, 'B', 8);
    insert_row(store, "r", buffer_string(&old));
    int r = write_row(store, WRITE_MERGE, "r", buffer_string(&more), "*", &call, NULL);
    assert_refused(r, &call, -EFBIG, 400, "EntityTooLarge");
    assert_row(store, "r", buffer_string(&old));
}

static void keys_that_a_text_leaves_out_are_the_position_s(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct call call = some_call();
    struct write_result result;
    struct page *page;
    struct write write = {.kind = WRITE_UPSERT_MERGE,
                          .position = B("a\"b\0\xED\xA0\xBD\xED\xB8\x80\xED\xA0\x80"),
                          .text = B("{\n  \"A\": 1\n}\n")};
    assert_int_equal(table_store_write(store, "items", &write, 1, &call, &result), 0);
    assert_int_equal(table_store_get(store, "items", write.position, &call, &page), 0);
    assert_bytes(page_text(page, 0), B("{\n  \"PartitionKey\": \"a\\\"b\",\n"
                                       "  \"RowKey\": \"\xF0\x9F\x98\x80\\ud800\",\n"
                                       "  \"A\": 1\n}\n"));
    page_unref(page);
}

/* Rows a to e; the batch writes `bad` as its number `at` among inserts. */
static int write_batch(struct table_store *store, struct row_write *bad, size_t at,
                       struct call *call)
{
    struct row_write rows[5];
    struct write writes[5];
    struct write_result results[5];
    for (size_t i = 0; i < 5; i++) {
        char key[4];
        (void)snprintf(key, sizeof(key), "%c", (int)('a' + i));
        rows[i] = make_write(WRITE_INSERT, "p", key, "\"A\": 1", "");
        writes[i] = i == at ? bad->write : rows[i].write;
    }
    *call = some_call();
    int r = table_store_write(store, "items", writes, 5, call, results);
    for (size_t i = 0; i < 5; i++)
        row_write_finish(&rows[i]);
    return r;
}

static void a_batch_is_made_whole_or_not_at_all(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    static const struct {
        const char *row_key, *lines, *if_match, *code;
        enum write_kind kind;
        int error;
    } cases[] = {
        {"there", "", "", "EntityAlreadyExists", WRITE_INSERT, -EEXIST},
        {"absent", "", "*", "ResourceNotFound", WRITE_DELETE, -ENOENT},
        {"there", "", "W/\"datetime'2024-01-02T03%3A04%3A05.1234567Z'\"",
         "UpdateConditionNotSatisfied", WRITE_REPLACE, -ESTALE},
        {"there", "", "nonsense", "InvalidInput", WRITE_MERGE, -EINVAL},
        {"there", "\"A-B\": 1", "", "PropertyNameInvalid", WRITE_UPSERT_MERGE, -EINVAL},
    };
    insert_row(store, "there", "");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (size_t at = 0; at < 5; at++) {
            struct call call;
            _cleanup_(row_write_finish) struct row_write bad =
                make_write(cases[i].kind, "p", cases[i].row_key, cases[i].lines, cases[i].if_match);
            assert_int_equal(write_batch(store, &bad, at, &call), cases[i].error);
            assert_string_equal(call.failure.code, cases[i].code);
            assert_int_equal(call.failure.operation, at);
            assert_int_equal(strspn(call.failure.message, "0123456789"), 0);
            assert_int_equal(count_all(store), 1);
        }
    }
    struct call call;
    _cleanup_(row_write_finish) struct row_write good =
        make_write(WRITE_DELETE, "p", "there", "", "*");
    assert_int_equal(write_batch(store, &good, 2, &call), 0);
    assert_int_equal(count_all(store), 4);
}

static void a_batch_has_at_most_four_megabytes(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct row_write rows[9];
    struct write writes[9];
    struct write_result results[9];
    _cleanup_(buffer_finish) struct buffer lines;
    buffer_init(&lines, TEXT_MAX_BYTES);
    append_strings(&lines, 'A', 15);
    for (size_t i = 0; i < 9; i++) {
        char key[4];
        (void)snprintf(key, sizeof(key), "%zu", i);
        rows[i] = make_write(WRITE_INSERT, "p", key, buffer_string(&lines), "");
        writes[i] = rows[i].write;
    }
    struct call call = some_call();
    int r = table_store_write(store, "items", writes, 9, &call, results);
    assert_refused(r, &call, -EFBIG, 0, "");
    assert_int_equal(call.failure.operation, -1);
    assert_int_equal(count_all(store), 0);
    assert_int_equal(table_store_write(store, "items", writes, 8, &call, results), 0);
    struct answer answer; /* pages end at 4 MiB, too */
    struct query query = whole_table();
    insert_row(store, "9", buffer_string(&lines));
    assert_int_equal(table_store_query(store, &query, &call, &answer), 0);
    assert_int_equal(page_rows(answer.page), 8);
    assert_non_null(answer.next);
    answer_finish(&answer);
    assert_int_equal(count_all(store), 9);
    for (size_t i = 0; i < 9; i++)
        row_write_finish(&rows[i]);
}

static void pages_go_on_where_they_ended(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    static const struct {
        int top;
        size_t pages;
    } cases[] = {{1000, 3}, {700, 3}, {1, 2100}, {999, 3}, {300, 7}};
    insert_rows(store, "", 2100, "\"A\": 1");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct call call = some_call();
        struct query query = whole_table();
        size_t pages;
        query.top = cases[i].top;
        assert_int_equal(count_rows(store, query, &pages, &call), 2100);
        assert_int_equal(pages, cases[i].pages);
        query.keys_only = true;
        assert_int_equal(count_rows(store, query, &pages, &call), 2100);
        assert_int_equal(pages, cases[i].pages);
    }
}

static void assert_token_refused(struct table_store *store, struct query query, struct bytes token)
{
    struct call call = some_call();
    struct answer answer;
    struct continuation *after;
    assert_int_equal(continuation_create(token, BYTES_LITERAL(""), &after), 0);
    query.after = after;
    int r = table_store_query(store, &query, &call, &answer);
    assert_refused(r, &call, -EINVAL, 400, "InvalidInput");
    continuation_destroy(after);
}

static void a_token_that_is_none_is_refused(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct call call = some_call();
    struct answer answer;
    insert_rows(store, "r", 20, "");
    struct query query = {.table = "items", .range = {B("p\0"), B("p\0r000010")}, .top = 3};
    assert_int_equal(table_store_query(store, &query, &call, &answer), 0);
    assert_token_refused(store, query, B(""));
    assert_token_refused(store, query, B("1!8!cGFydA--"));
    assert_token_refused(store, query, B("tables1!packages"));
    struct query other = query; /* of another range */
    other.range = (struct range){B("p\0r000005"), B("p\x01")};
    assert_token_refused(store, other, continuation_token(answer.next));
    other.range = (struct range){B("p\0"), B("p\0r000001")};
    assert_token_refused(store, other, continuation_token(answer.next));
    struct table_names names;
    struct continuation *next = NULL;
    buffer_init(&names.names, 1000);
    int r = table_store_list_tables(store, NULL, answer.next, &call, &names, &next);
    assert_refused(r, &call, -EINVAL, 400, "InvalidInput");
    answer_finish(&answer);
    buffer_finish(&names.names);
}

static void a_filter_reads_no_more_than_it_must(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct call call = some_call();
    struct query query = whole_table();
    size_t pages;
    insert_rows(store, "a", 15000, "\"A\": 1");
    insert_rows(store, "b", 10, "\"A\": 2");
    query.filter = "A eq 2"; /* a page looks at 10,000 rows */
    assert_int_equal(count_rows(store, query, &pages, &call), 10);
    assert_int_equal(pages, 2);
    struct answer answer;
    assert_int_equal(table_store_query(store, &query, &call, &answer), 0);
    assert_int_equal(page_rows(answer.page), 0);
    assert_true(continuation_is_progress(answer.next)); /* so that no pause follows */
    answer_finish(&answer);
    query.filter = "PartitionKey eq 'p' and RowKey ge 'b' and A eq 2"; /* a range */
    assert_int_equal(count_rows(store, query, &pages, &call), 10);
    assert_int_equal(pages, 1);
    query.filter = "PartitionKey eq 'p' and RowKey lt 'a' and RowKey gt 'b'"; /* none */
    assert_int_equal(count_rows(store, query, &pages, &call), 0);
    assert_int_equal(pages, 1);
    query.keys_only = true;
    query.filter = "A eq 2";
    assert_int_equal(count_rows(store, query, &pages, &call), 10);
    query.filter = "A eq";
    assert_int_equal(count_rows(store, query, &pages, &call), -EINVAL);
    assert_refused(-EINVAL, &call, -EINVAL, 400, "InvalidInput");
}

static void a_select_leaves_the_rest_out(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct call call = some_call();
    struct answer answer;
    insert_row(store, "r", "\"A\": 1,\n  \"B\": 2");
    struct query query = whole_table();
    query.select = "B,C";
    assert_int_equal(table_store_query(store, &query, &call, &answer), 0);
    assert_bytes(page_text(answer.page, 0),
                 B("{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\",\n  \"B\": 2\n}\n"));
    answer_finish(&answer);
    query.keys_only = true;
    assert_int_equal(table_store_query(store, &query, &call, &answer), 0);
    assert_int_equal(page_text(answer.page, 0).size, 0);
    answer_finish(&answer);
    query.select = "B,,C";
    int r = table_store_query(store, &query, &call, &answer);
    assert_refused(r, &call, -EINVAL, 400, "InvalidInput");
}

static void a_call_that_ends_ends_the_reading(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct query query = whole_table();
    insert_row(store, "r", "");
    struct call call = call_for_ms(0);
    assert_int_equal(count_rows(store, query, NULL, &call), -ETIMEDOUT);
    assert_string_equal(call.failure.message, "the account's file was busy for too long");
    assert_string_equal(call.failure.advice, "another program writes to it, or many read: try "
                                             "again, or give a longer -o timeout=SECONDS");
    _cleanup_(row_write_finish) struct row_write row = make_write(WRITE_DELETE, "p", "r", "", "*");
    struct write_result result;
    assert_int_equal(table_store_write(store, "items", &row.write, 1, &call, &result), -ETIMEDOUT);
    assert_int_equal(count_all(store), 1);
}

static bool is_cancelled_at_last(void *context)
{
    int *left = context;
    return (*left)-- <= 0;
}

static void a_cancel_ends_a_long_look(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct query query = whole_table();
    insert_rows(store, "", 3000, "\"A\": 1");
    query.filter = "A eq 2";
    for (int asked = 0; asked < 5; asked++) {
        int left = asked;
        struct call call = some_call();
        call.is_cancelled = is_cancelled_at_last;
        call.context = &left;
        assert_int_equal(count_rows(store, query, NULL, &call), -EINTR);
        assert_int_equal(call.failure.error, -EINTR);
    }
    assert_int_equal(count_all(store), 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(every_kind_of_write_does_what_it_says),
        WITH_FOLDER(a_page_tells_the_version_that_was_written),
        WITH_FOLDER(preconditions_are_the_service_s),
        cmocka_unit_test(etags_are_times_and_back),
        WITH_FOLDER(an_etag_that_is_none_is_refused),
        WITH_FOLDER(what_the_service_would_not_store_is_refused),
        WITH_FOLDER(a_merge_that_makes_too_much_is_refused),
        WITH_FOLDER(keys_that_a_text_leaves_out_are_the_position_s),
        WITH_FOLDER(a_batch_is_made_whole_or_not_at_all),
        WITH_FOLDER(a_batch_has_at_most_four_megabytes),
        WITH_FOLDER(pages_go_on_where_they_ended),
        WITH_FOLDER(a_token_that_is_none_is_refused),
        WITH_FOLDER(a_filter_reads_no_more_than_it_must),
        WITH_FOLDER(a_select_leaves_the_rest_out),
        WITH_FOLDER(a_call_that_ends_ends_the_reading),
        WITH_FOLDER(a_cancel_ends_a_long_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
