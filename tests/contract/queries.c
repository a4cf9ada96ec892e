/* SPDX-License-Identifier: MIT */
#include "tests/contract/contract.h"

static void insert(const char *table, const char *partition_key, const char *row_key,
                   const char *const *lines)
{
    struct call call;
    int r = contract_write(table, WRITE_INSERT, partition_key, row_key, "", lines, NULL, &call);
    if (r < 0)
        fail_msg("insert: %d %s", r, call.failure.message);
}

static void assert_rows(const char *table, struct range range, const char *filter,
                        const char *expected)
{
    static const int tops[] = {1000, 1, 2, 3};
    size_t pages;
    for (size_t i = 0; i < ARRAY_SIZE(tops); i++)
        assert_bytes(contract_rows(table, range, filter, tops[i], &pages), bytes_of(expected));
}

static void ranges_end_where_they_say(void **state)
{
    const char *table = *state;
    static const char *const partitions[] = {"a", "b", "b!", "c"}, *const rows[] = {"", "1", "2"};
    for (size_t p = 0; p < ARRAY_SIZE(partitions); p++)
        for (size_t r = 0; r < ARRAY_SIZE(rows); r++)
            insert(table, partitions[p], rows[r], NO_LINES);
    static const struct {
        struct range range;
        const char *expected;
    } cases[] = {
        {{B(""), B("\xff")}, "a/ a/1 a/2 b/ b/1 b/2 b!/ b!/1 b!/2 c/ c/1 c/2 "},
        {{B("b"), B("c")}, "b/ b/1 b/2 b!/ b!/1 b!/2 "},
        {{B("b\0"), B("b\x01")}, "b/ b/1 b/2 "},
        {{B("b\x01"), B("\xff")}, "b!/ b!/1 b!/2 c/ c/1 c/2 "},
        {{B(""), B("b\x01")}, "a/ a/1 a/2 b/ b/1 b/2 "},
        {{B("b\0"
            "1"),
          B("b\x01")},
         "b/1 b/2 "},
        {{B("b\0"
            "1\x01"),
          B("b\x01")},
         "b/2 "},
        {{B("b\0"), B("b\0"
                      "2")},
         "b/ b/1 "},
        {{B("b\0"), B("b\0"
                      "1\x01")},
         "b/ b/1 "},
        {{B("b\0"
            "1"),
          B("b\0"
            "1\x01")},
         "b/1 "},
        {{B("b\0\x01"), B("b\x01")}, "b/1 b/2 "},
        {{B("d"), B("\xff")}, ""},
        {{B("b\0"
            "3"),
          B("b\x01")},
         ""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_rows(table, cases[i].range, NULL, cases[i].expected);
}

static void order_is_that_of_utf16_units(void **state)
{
    const char *table = *state;
    /* U+1F600 is before U+E000: its first unit is 0xD83D */
    static const char *const sorted[] = {"",
                                         " ",
                                         "!",
                                         "+",
                                         "-",
                                         ".",
                                         "0",
                                         "A",
                                         "B",
                                         "_",
                                         "a",
                                         "\xC3\xA9",
                                         "\xE6\x97\xA5",
                                         "\xF0\x9F\x98\x80",
                                         "\xEE\x80\x80",
                                         "\xEF\xBF\xBD"};
    for (size_t i = ARRAY_SIZE(sorted); i-- > 0;)
        insert(table, "p", sorted[i], NO_LINES);
    struct buffer expected;
    buffer_init(&expected, 1000);
    for (size_t i = 0; i < ARRAY_SIZE(sorted); i++) {
        (void)buffer_append_string(&expected, "p/");
        (void)cesu8_append_utf8(&expected, bytes_of(sorted[i]));
        (void)buffer_append_char(&expected, ' ');
    }
    assert_rows(table, RANGE_ALL, NULL, buffer_string(&expected));
    buffer_finish(&expected);
}

static void pages_hold_at_most_top_rows(void **state)
{
    const char *table = *state;
    struct call call;
    struct write_result results[100];
    struct write writes[100];
    for (int batch = 0; batch < 21; batch++) {
        for (int i = 0; i < 100; i++) {
            char row[16];
            (void)snprintf(row, sizeof(row), "%06d", batch * 100 + i);
            writes[i] = (struct write){.kind = WRITE_INSERT,
                                       .position = contract_position("p", row),
                                       .text = contract_text("p", row, NO_LINES)};
        }
        call = contract_call();
        assert_int_equal(table_store_write(contract.store, table, writes, 100, &call, results), 0);
    }
    size_t pages;
    struct bytes rows = contract_rows(table, RANGE_ALL, NULL, 1000, &pages);
    assert_int_equal(rows.size, 2100 * 9);
    assert_int_equal(pages, 3);
    rows = contract_rows(table, RANGE_ALL, NULL, 700, &pages);
    assert_int_equal(rows.size, 2100 * 9);
    assert_int_equal(pages, 3); /* no token after the very last row */
}

static void a_token_goes_on_though_rows_come_and_go(void **state)
{
    const char *table = *state;
    struct call call = contract_call();
    static const char *const rows[] = {"1", "2", "3", "4", "5"};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        insert(table, "p", rows[i], NO_LINES);
    struct query query = {.table = table, .range = RANGE_ALL, .top = 2};
    struct answer first, second;
    assert_int_equal(table_store_query(contract.store, &query, &call, &first), 0);
    assert_int_equal(contract_write(table, WRITE_DELETE, "p", "3", "*", NULL, NULL, &call), 0);
    insert(table, "p", "0", NO_LINES);
    query.after = first.next;
    assert_int_equal(table_store_query(contract.store, &query, &call, &second), 0);
    assert_int_equal(page_rows(second.page), 2);
    assert_bytes(page_position(second.page, 0), B("p\0"
                                                  "4"));
    answer_finish(&first);
    answer_finish(&second);
}

static void filters_compare_by_type(void **state)
{
    const char *table = *state;
    insert(table, "p", "1", LINES("\"I\": 5", "\"S\": \"it's\""));
    insert(table, "p", "2",
           LINES("\"B\": true", "\"I\": 7", "\"L@odata.type\": \"Edm.Int64\"",
                 "\"L\": \"9007199254740993\""));
    insert(table, "p", "3",
           LINES("\"D@odata.type\": \"Edm.Double\"", "\"D\": 2.5", "\"G@odata.type\": \"Edm.Guid\"",
                 "\"G\": \"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\""));
    insert(table, "q", "1",
           LINES("\"T@odata.type\": \"Edm.DateTime\"", "\"T\": \"2024-05-06T07:08:09.123Z\"",
                 "\"X@odata.type\": \"Edm.Binary\"", "\"X\": \"AQL/\""));
    static const struct {
        const char *filter, *expected;
    } cases[] = {
        {"I eq 5", "p/1 "},
        {"I gt 4 and I lt 8", "p/1 p/2 "},
        {"I eq 5 or D eq 2.5", "p/1 p/3 "},
        {"S eq 'it''s'", "p/1 "},
        {"B eq true", "p/2 "},
        {"L eq 9007199254740993L", "p/2 "},
        {"L gt 9007199254740992L", "p/2 "},
        {"D ge 2.5", "p/3 "},
        {"G eq guid'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "p/3 "},
        {"T gt datetime'2024-05-06T07:08:09.122Z'", "q/1 "},
        {"X eq X'0102ff'", "q/1 "},
        {"PartitionKey eq 'q'", "q/1 "},
        {"PartitionKey ge 'p' and RowKey eq '1'", "p/1 q/1 "},
        {"(I eq 5 or I eq 7) and not (I eq 7)", "p/1 "},
        {"I ne 5", "p/2 "},
        {"Nothing eq 1", ""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_rows(table, RANGE_ALL, cases[i].filter, cases[i].expected);
    /* with the range of the query */
    assert_rows(table, (struct range){B("p\0"), B("p\x01")},
                "I gt 0 or T gt datetime'2000-01-01T00:00:00Z'", "p/1 p/2 ");
}

static void filters_take_times_in_every_form(void **state)
{
    const char *table = *state;
    insert(table, "p", "1",
           LINES("\"T@odata.type\": \"Edm.DateTime\"", "\"T\": \"2008-07-10T04:25:03.5Z\""));
    static const struct {
        const char *filter, *expected;
    } cases[] = {
        {"T gt datetime'2008-07-10'", "p/1 "},
        {"T lt datetime'2008-07-10'", ""},
        {"T gt datetime'2008-07-10T04:25Z'", "p/1 "},
        {"T lt datetime'2008-07-10T04:26Z'", "p/1 "},
        {"T eq datetime'2008-07-10T04:25:03.5Z'", "p/1 "},
        {"T eq datetime'2008-07-10T04:25:03.5000000Z'", "p/1 "},
        {"T eq datetime'2008-07-10T05:25:03.5+01:00'", "p/1 "},
        {"T eq datetime'2008-07-09T20:25:03.5-08:00'", "p/1 "},
        {"T lt datetime'2008-07-10T05:25:03.5+01:00'", ""},
        {"Timestamp gt datetime'2008-07-10'", "p/1 "},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_rows(table, RANGE_ALL, cases[i].filter, cases[i].expected);
}

static void filters_and_selects_take_names_beyond_ascii(void **state)
{
    const char *table = *state;
    struct call call = contract_call();
    struct answer answer;
    insert(table, "p", "1", LINES("\"A\": 1", "\"\xC3\xA9\": 2", "\"\xE5\x90\x8D\": 3"));
    insert(table, "p", "2", LINES("\"\xC3\xA9\": 3"));
    assert_rows(table, RANGE_ALL, "\xC3\xA9 eq 2", "p/1 ");
    assert_rows(table, RANGE_ALL, "\xE5\x90\x8D gt 0 or \xC3\xA9 eq 3", "p/1 p/2 ");
    struct query query = {
        .table = table, .range = RANGE_ALL, .select = "\xE5\x90\x8D,\xC3\xA9", .top = 1000};
    assert_int_equal(table_store_query(contract.store, &query, &call, &answer), 0);
    assert_int_equal(page_rows(answer.page), 2);
    assert_bytes(page_text(answer.page, 0),
                 contract_text("p", "1", LINES("\"\xC3\xA9\": 2", "\"\xE5\x90\x8D\": 3")));
    answer_finish(&answer);
}

static void a_filter_that_is_none_is_refused(void **state)
{
    static const char *const filters[] = {"I eq", "(I eq 5", "I eq 'open", "I is 5"};
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        struct call call = contract_call();
        struct query query = {
            .table = *state, .range = RANGE_ALL, .filter = filters[i], .top = 1000};
        struct answer answer;
        int r = table_store_query(contract.store, &query, &call, &answer);
        contract_assert_refused(r, &call, -EINVAL, 400, "InvalidInput");
    }
}

static void filtered_pages_prove_nothing(void **state)
{
    const char *table = *state;
    insert(table, "p", "1", LINES("\"I\": 5"));
    struct call call = contract_call();
    struct query query = {.table = table, .range = RANGE_ALL, .filter = "I eq 5", .top = 1000};
    struct answer answer;
    assert_int_equal(table_store_query(contract.store, &query, &call, &answer), 0);
    assert_int_equal(page_rows(answer.page), 1);
    assert_true(range_is_empty(page_range(answer.page)));
    answer_finish(&answer);
}

static void a_select_gives_what_it_names(void **state)
{
    const char *table = *state;
    insert(table, "p", "1",
           LINES("\"A\": 1", "\"B\": 2", "\"C@odata.type\": \"Edm.Int64\"", "\"C\": \"3\""));
    insert(table, "p", "2", LINES("\"B\": 5"));
    struct call call = contract_call();
    struct query query = {.table = table, .range = RANGE_ALL, .select = "C,A", .top = 1000};
    struct answer answer;
    assert_int_equal(table_store_query(contract.store, &query, &call, &answer), 0);
    assert_int_equal(page_rows(answer.page), 2);
    assert_bytes(
        page_text(answer.page, 0),
        contract_text("p", "1",
                      LINES("\"A\": 1", "\"C@odata.type\": \"Edm.Int64\"", "\"C\": \"3\"")));
    assert_bytes(page_text(answer.page, 1), contract_text("p", "2", NO_LINES));
    assert_true(page_etag(answer.page, 0).size > 0);
    assert_true(page_timestamp(answer.page, 0) > 0);
    answer_finish(&answer);
    query = (struct query){.table = table, .range = RANGE_ALL, .keys_only = true, .top = 1000};
    assert_int_equal(table_store_query(contract.store, &query, &call, &answer), 0);
    assert_true(page_is_keys_only(answer.page));
    assert_bytes(page_position(answer.page, 1), B("p\0"
                                                  "2"));
    assert_int_equal(page_text(answer.page, 1).size, 0);
    answer_finish(&answer);
}

/* Whether a row is as it was written can be seen without its text. */
static void rows_of_keys_have_the_versions_of_their_texts(void **state)
{
    const char *table = *state;
    static const char *const rows[] = {"", "1", "2", "it's"};
    struct query query = {.table = table, .range = {B("p\0"), B("p\x01")}, .top = 1000};
    struct call call = contract_call();
    struct answer texts, keys;
    char etags[ARRAY_SIZE(rows)][128];
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_int_equal(contract_write(table, WRITE_INSERT, "p", rows[i], "", LINES("\"A\": 1"),
                                        etags[i], &call),
                         0);
    assert_int_equal(contract_write(table, WRITE_MERGE, "p", rows[2], etags[2], LINES("\"A\": 2"),
                                    etags[2], &call),
                     0);
    assert_int_equal(table_store_query(contract.store, &query, &call, &texts), 0);
    query.keys_only = true;
    assert_int_equal(table_store_query(contract.store, &query, &call, &keys), 0);
    assert_int_equal(page_rows(texts.page), ARRAY_SIZE(rows));
    assert_int_equal(page_rows(keys.page), ARRAY_SIZE(rows));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct bytes position = contract_position("p", rows[i]);
        struct page *got;
        assert_int_equal(table_store_get(contract.store, table, position, &call, &got), 0);
        assert_bytes(page_etag(keys.page, i), page_etag(got, 0));
        page_unref(got);
        assert_bytes(page_position(keys.page, i), position);
        assert_bytes(page_etag(keys.page, i), bytes_of(etags[i]));
        assert_bytes(page_etag(texts.page, i), bytes_of(etags[i]));
        assert_int_equal(page_timestamp(keys.page, i), page_timestamp(texts.page, i));
        assert_int_equal(page_text(keys.page, i).size, 0);
    }
    answer_finish(&texts);
    answer_finish(&keys);
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, contract_set_up, contract_tear_down)

const struct CMUnitTest contract_queries[] = {
    WITH_TABLE(ranges_end_where_they_say),
    WITH_TABLE(order_is_that_of_utf16_units),
    WITH_TABLE(pages_hold_at_most_top_rows),
    WITH_TABLE(a_token_goes_on_though_rows_come_and_go),
    WITH_TABLE(filters_compare_by_type),
    WITH_TABLE(filters_take_times_in_every_form),
    WITH_TABLE(filters_and_selects_take_names_beyond_ascii),
    WITH_TABLE(a_filter_that_is_none_is_refused),
    WITH_TABLE(filtered_pages_prove_nothing),
    WITH_TABLE(a_select_gives_what_it_names),
    WITH_TABLE(rows_of_keys_have_the_versions_of_their_texts),
};
const size_t contract_queries_count = ARRAY_SIZE(contract_queries);
