/* SPDX-License-Identifier: MIT */
/* What is stored of a text over what is known to be there, and what is reported of it. */
#include "tests/unit/cache/account_queueing.h"

#define X              P_ROW("x")
#define TEXT(x)        "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"x\"" x "\n}\n"
#define PLAIN(x, v)    ",\n  \"" x "\": " v
#define TYPED(x, t, v) ",\n  \"" x "@odata.type\": \"Edm." t "\",\n  \"" x "\": " v

#define AMOUNT  TYPED("Amount", "Int64", "\"5\"")
#define RENAMED "{\"Amount@odata.type\":\"Edm.Int64\",\"Total\":\"5\"}"
#define REFUSED                                                                                    \
    "line 1, column 2: Amount@odata.type: a type without its property, next to a new property "    \
    "without a type: Total"
#define DROPPED "line 1, column 2: Amount@odata.type: a type without its property is dropped"
#define KEY     "line 1, column 2: RowKey: not this key counts, but the one of the path"

/* What was reported since the last assertion: of each note the row, its repetitions and its words.
 */
static void assert_told(struct setup *setup, uint64_t *after, const char *expected)
{
    struct failure_record record;
    _cleanup_(buffer_finish) struct buffer text = {.max = 1 << 16}, lines = {.max = 1 << 16};
    uint64_t number;
    while ((number = failure_log_next(account_failures(setup->account), *after, &record, &text))) {
        struct bytes row = position_row_key(record.position);
        assert_string_equal(record.operation, "write");
        assert_string_equal(record.table, "t");
        assert_int_equal(record.failure.error, 0);
        (void)buffer_append_format(&lines, "%.*s: %s;", (int)row.size, row.data,
                                   record.failure.message);
        *after = number;
    }
    assert_int_equal(failure_log_count(account_failures(setup->account)), 0);
    assert_string_equal(buffer_string(&lines), expected);
}

static const enum edit_begin all_begins[] = {EDIT_NEW, EDIT_EXCLUSIVE, EDIT_OVER, EDIT_CHANGED,
                                             EDIT_APPENDED};

/* A type without its property is refused without a request, however the edit began. */
static void a_renamed_property_needs_its_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(all_begins); i++) {
        struct setup setup;
        uint64_t after = 0;
        set_up(&setup, (struct setup_options){0});
        another_stores(&setup, X, TEXT(AMOUNT));
        assert_found(&setup, X, TEXT(AMOUNT));
        assert_request_count(&setup, 1);
        setup.now_ms += (int64_t)100 * TTL_MS; /* what was last known counts */
        assert_int_equal(store_text(&setup, all_begins[i], X, RENAMED), -EINVAL);
        assert_string_equal(setup.caller.call.failure.message, REFUSED);
        assert_request_count(&setup, 0);
        assert_told(&setup, &after, "");
        tear_down(&setup);
    }
}

static void where_nothing_is_known_it_is_dropped_and_told(void **state)
{
    struct setup *setup = *state;
    uint64_t after = 0;
    assert_int_equal(store_text(setup, EDIT_NEW, X, RENAMED), 0);
    assert_found(setup, X, TEXT(PLAIN("Total", "\"5\"")));
    assert_told(setup, &after, "x: " DROPPED ";");
    /* Total is there by now */
    assert_int_equal(store_text(setup, EDIT_OVER, X, RENAMED), 0);
    assert_told(setup, &after, "x: " DROPPED ";");
    /* known to be absent */
    another_client_writes(setup, WRITE_DELETE, X, "");
    setup->now_ms += TTL_MS + 1;
    assert_found(setup, X, NULL);
    assert_int_equal(store_text(setup, EDIT_NEW, X, RENAMED), 0);
    assert_told(setup, &after, "x: " DROPPED ";");
    /* what is not stored is not reported */
    setup->process = 7;
    open_row(setup, X);
    another_stores(setup, X, TEXT(AMOUNT));
    assert_int_equal(store_text(setup, EDIT_OVER, X, RENAMED), -ESTALE);
    assert_told(setup, &after, "");
}

/* vim renames the file to a backup, and creates it anew. */
static void what_is_masked_is_known(void **state)
{
    (void)state;
    static const char two[] = TEXT(TYPED("Amount", "Int64", "\"6\""));
    for (int is_changed = 0; is_changed < 2; is_changed++) {
        struct setup setup;
        struct entity entity = {0};
        uint64_t after = 0;
        set_up(&setup, (struct setup_options){0});
        another_stores(&setup, X, TEXT(AMOUNT));
        assert_int_equal(list(&setup, ROWS_OF("p"), false), 1);
        assert_int_equal(
            account_mask(setup.account, caller_of(&setup), address_of(X), PATH, &entity), 0);
        entity_finish(&entity);
        if (is_changed) { /* another version than the masked one is known by now */
            another_stores(&setup, X, two);
            setup.now_ms += TTL_MS + 1;
            assert_int_equal(store_text(&setup, EDIT_NEW, X, "{}"), -ESTALE);
            assert_int_equal(store_text(&setup, EDIT_NEW, X, RENAMED), -ESTALE);
        } else {
            assert_int_equal(store_text(&setup, EDIT_NEW, X, RENAMED), -EINVAL);
            assert_string_equal(setup.caller.call.failure.message, REFUSED);
            /* what is appended begins a new text */
            assert_int_equal(store_text(&setup, EDIT_APPENDED, X, "{\"Amount\":7}"), 0);
            assert_found(&setup, X, TEXT(PLAIN("Amount", "7")));
        }
        assert_told(&setup, &after, "");
        tear_down(&setup);
    }
}

static void with_write_back_it_is_refused_at_once(void **state)
{
    (void)state;
    struct setup setup;
    uint64_t after = 0;
    set_up_queue(&setup, (struct setup_options){.is_write_back = true});
    memory_store_add_table(setup.memory, "t");
    assert_int_equal(
        store_text(&setup, EDIT_NEW, X, "{\"Amount@odata.type\":\"Edm.Int64\",\"Amount\":5}"), 0);
    assert_int_equal(store_text(&setup, EDIT_OVER, X, RENAMED), -EINVAL);
    assert_int_equal(store_text(&setup, EDIT_NEW, P_ROW("y"), RENAMED), 0);
    assert_told(&setup, &after, "y: " DROPPED ";");
    /* an append waits for the queued text */
    assert_int_equal(store_text(&setup, EDIT_APPENDED, X, "{\"Amount\":6}"), 0);
    assert_found(&setup, X, TEXT(TYPED("Amount", "Int64", "\"6\"")));
    struct range all = RANGE_ALL;
    assert_int_equal(account_sync(setup.account, caller_of(&setup), "t", all), 0);
    tear_down_queue(&setup);
}

static void what_is_appended_keeps_the_types_that_are_there(void **state)
{
    struct setup *setup = *state;
    uint64_t after = 0;
    another_stores(setup, X, TEXT(AMOUNT TYPED("D", "Double", "1.5")));
    assert_found(setup, X, TEXT(AMOUNT TYPED("D", "Double", "1.5")));
    assert_int_equal(
        store_text(setup, EDIT_APPENDED, X, "{\"Amount\":6,\"D\":10000000000000000000}"), 0);
    assert_request_count(setup, 2); /* nothing is asked for beside */
    assert_found(
        setup, X,
        TEXT(TYPED("Amount", "Int64", "\"6\"") TYPED("D", "Double", "10000000000000000000.0")));
    /* the types are those of the version that it is merged into, and not of the one that is known
     */
    another_stores(setup, X, TEXT(PLAIN("Amount", "\"a\"") PLAIN("D", "1")));
    assert_int_equal(store_text(setup, EDIT_APPENDED, X, "{\"Amount\":7,\"D\":2}"), 0);
    assert_found(setup, X, TEXT(PLAIN("Amount", "7") PLAIN("D", "2")));
    another_stores(setup, X, TEXT(AMOUNT TYPED("D", "Double", "1.5")));
    assert_int_equal(store_text(setup, EDIT_APPENDED, X, "{\"Amount\":8,\"D\":3}"), 0);
    assert_found(setup, X, TEXT(TYPED("Amount", "Int64", "\"8\"") TYPED("D", "Double", "3.0")));
    /* of an entity that is gone nothing is kept */
    another_client_writes(setup, WRITE_DELETE, X, "");
    assert_int_equal(store_text(setup, EDIT_APPENDED, X, "{\"Amount\":9,\"D\":4}"), 0);
    assert_found(setup, X, TEXT(PLAIN("Amount", "9") PLAIN("D", "4")));
    assert_told(setup, &after, "");
}

static void a_key_that_does_not_count_is_told_once(void **state)
{
    struct setup *setup = *state;
    static const char other[] = "{\"RowKey\":\"y\"}";
    uint64_t after = 0;
    setup->process = 7;
    assert_int_equal(store_text(setup, EDIT_NEW, X, other), 0); /* a copy of y */
    assert_told(setup, &after, "");
    assert_int_equal(store_text(setup, EDIT_OVER, X, other), 0);
    assert_told(setup, &after, "x: " KEY ";");
    for (size_t i = 0; i < ARRAY_SIZE(all_begins); i++)
        if (all_begins[i] != EDIT_EXCLUSIVE)
            assert_int_equal(store_text(setup, all_begins[i], X, other), 0);
    assert_told(setup, &after, "");
    setup->process = 8;
    assert_int_equal(store_text(setup, EDIT_OVER, X, other), 0);
    assert_int_equal(store_text(setup, EDIT_APPENDED, X, other), 0);
    assert_told(setup, &after, "x: " KEY ";");
    setup->process = NO_PROCESS; /* all that cannot be seen are one */
    assert_int_equal(store_text(setup, EDIT_OVER, X, other), 0);
    assert_int_equal(store_text(setup, EDIT_OVER, X, other), 0);
    assert_told(setup, &after, "x: " KEY ";");
}

/* Many files with one mistake do not drown what else is in the log. */
static void equal_notes_are_counted(void **state)
{
    struct setup *setup = *state;
    struct failure_record record;
    _cleanup_(buffer_finish) struct buffer text = {.max = 1 << 16};
    uint64_t number, last = 0;
    for (int i = 0; i < 300; i++) {
        char position[] = "p\0r000";
        (void)snprintf(position + 3, 4, "%03d", i);
        assert_int_equal(store_text(setup, EDIT_NEW, (struct bytes){position, 6}, RENAMED), 0);
        memory_store_forget_diary(setup->memory);
    }
    while ((number = failure_log_next(account_failures(setup->account), last, &record, &text)))
        last = number;
    assert_int_equal(last, FAILURE_LOG_ALIKE);
    assert_int_equal(record.others, 290);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_renamed_property_needs_its_type),
        TEST_WITH(account, where_nothing_is_known_it_is_dropped_and_told),
        cmocka_unit_test(what_is_masked_is_known),
        cmocka_unit_test(with_write_back_it_is_refused_at_once),
        TEST_WITH(account, what_is_appended_keeps_the_types_that_are_there),
        TEST_WITH(account, a_key_that_does_not_count_is_told_once),
        TEST_WITH(account, equal_notes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
