/* SPDX-License-Identifier: MIT */
/* A text from empty: what is sent, what is refused, and what is known afterwards. */
#include "tests/unit/cache/account_writing.h"

#define X P_ROW("x")

static void a_stored_text_is_known_without_a_request(void **state)
{
    struct setup *setup = *state;
    assert_found(setup, X, NULL);
    assert_request_count(setup, 1);
    struct edit edit = {.address = address_of(X),
                        .begin = EDIT_NEW,
                        .text = B("{\"RowKey\": \"other\", \"a\": 3000000000}")};
    struct entity stored = {0}, found = {0};
    assert_int_equal(account_store(setup->account, caller_of(setup), &edit, &stored), 0);
    assert_request_count(setup, 1);
    const char *text = "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"x\",\n"
                       "  \"a@odata.type\": \"Edm.Int64\",\n  \"a\": \"3000000000\"\n}\n";
    assert_bytes(page_text(stored.page, stored.row), bytes_of(text));
    assert_bytes(page_etag(stored.page, stored.row), B("version-1"));
    assert_int_equal(page_timestamp(stored.page, stored.row), 1);
    assert_int_equal(account_find(setup->account, caller_of(setup), address_of(X), &found), 0);
    assert_ptr_equal(found.page, stored.page);
    assert_int_equal(setup->caller.valid_ms, TTL_MS);
    assert_request_count(setup, 0);
    entity_finish(&stored);
    entity_finish(&found);

    another_stores(setup, X, "other");
    setup->now_ms += TTL_MS + 1; /* the answer is too old now */
    assert_found(setup, X, "other");
    assert_request_count(setup, 1);
}

static void a_listing_that_begins_then_shows_it(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 3);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 3);
    assert_request_count(setup, 1);
    assert_int_equal(store_text(setup, EDIT_NEW, X, "{}"), 0);
    assert_int_equal(store_text(setup, EDIT_OVER, P_ROW("00001"), "{\"a\": 1}"), 0);
    assert_request_count(setup, 2);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 4);
    assert_found(setup, P_ROW("00001"), TEXT_OF("00001", "1"));
    assert_request_count(setup, 0);
}

static struct { /* the answers that other callers get while the service stores or deletes x */
    struct setup *setup;
    int found;
    int64_t found_ms, other_ms, listed_ms;
} told;

static int64_t found_ms(struct bytes position, int *ret_found)
{
    struct caller caller = {.call = {.deadline_ms = told.setup->now_ms + PATIENCE_MS}};
    struct entity entity = {0};
    *ret_found = account_find(told.setup->account, &caller, address_of(position), &entity);
    entity_finish(&entity);
    return caller.valid_ms;
}

static int64_t listed_ms(void)
{
    struct caller caller = {.call = {.deadline_ms = told.setup->now_ms + PATIENCE_MS}};
    struct listing *listing = open_listing(told.setup, ROWS_OF("p"));
    struct listing_entry entry = {0};
    while (listing_next(listing, &caller, entry.cookie, false, true, &entry) == 1)
        if (bytes_equal(entry.key, B("x")))
            told.listed_ms = entry.valid_ms;
    listing_close(listing);
    return told.listed_ms;
}

static int ask_meanwhile(struct memory_store *memory, size_t number, struct call *call)
{
    int other;
    (void)call;
    if (memory->diary[number - 1].what != ASKED_WRITE)
        return 0;
    told.found_ms = found_ms(X, &told.found);
    told.other_ms = found_ms(P_ROW("00000"), &other);
    told.listed_ms = listed_ms();
    return 0;
}

/* The kernel would cache the answer for a ttl, beyond the end of the change. */
static void answers_during_a_change_are_not_cached_by_the_kernel(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 1);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 1);
    told.setup = setup;
    told.listed_ms = -1;
    setup->memory->fault = ask_meanwhile;
    assert_int_equal(store_text(setup, EDIT_NEW, X, "{}"), 0);
    assert_int_equal(told.found, -ENOENT);
    assert_int_equal(told.found_ms, 0);
    assert_int_equal(told.other_ms, TTL_MS);
    assert_int_equal(told.listed_ms, -1); /* it was in no listing */
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{\"a\": 1}"), 0);
    assert_int_equal(told.found, 0);
    assert_int_equal(told.found_ms, 0);
    assert_int_equal(told.other_ms, TTL_MS);
    assert_int_equal(told.listed_ms, 0);
    setup->memory->fault = NULL;
    assert_int_equal(found_ms(X, &told.found), TTL_MS);
    assert_int_equal(listed_ms(), TTL_MS);
}

/* The cache keeps one page: the stored text is evicted. The listing's window has the old one. */
static void a_listing_under_way_lets_nobody_keep_an_old_text(void **state)
{
    (void)state;
    for (int is_changed = 0; is_changed <= 1; is_changed++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){.cache_bytes = 1});
        add_rows(&setup, "p", 3);
        struct listing *listing = open_listing(&setup, ROWS_OF("p"));
        assert_row(&setup, listing, 0);
        assert_int_equal(setup.shown_ms, TTL_MS);
        if (is_changed)
            assert_int_equal(store_text(&setup, EDIT_OVER, P_ROW("00001"), "{}"), 0);
        assert_partition_found(&setup, "q", -ENOENT);
        assert_row(&setup, listing, 1);
        assert_int_equal(setup.shown_ms, is_changed ? 0 : TTL_MS);
        listing_close(listing);
        tear_down(&setup);
    }
}

static void assert_refused(struct setup *setup, const char *text, int error, const char *code,
                           const char *reason)
{
    assert_int_equal(store_text(setup, EDIT_NEW, X, text), error);
    assert_string_equal(setup->caller.call.failure.message, reason);
    assert_string_equal(setup->caller.call.failure.code, code);
    assert_request_count(setup, 0);
}

static void what_the_service_would_refuse_is_not_sent(void **state)
{
    struct setup *setup = *state;
    _cleanup_(buffer_finish) struct buffer large = {.max = 1 << 20};
    assert_refused(setup, "{\"a\": 1,\n \"b\" 2}", -EINVAL, "InvalidInput",
                   "line 2, column 6: a value where none can be: 2}");
    assert_refused(setup, "{\"a\": 1, \"a\": 2}", -EINVAL, "DuplicatePropertiesSpecified",
                   "line 1, column 10: a: a name that is there twice");
    (void)buffer_append_string(&large, "{\"a\": \"");
    for (int i = 0; i < 32769; i++)
        (void)buffer_append_char(&large, 'x');
    (void)buffer_append_string(&large, "\"}");
    assert_int_equal(store_text(setup, EDIT_NEW, X, buffer_string(&large)), -EINVAL);
    assert_string_equal(setup->caller.call.failure.code, "PropertyValueTooLarge");
    assert_request_count(setup, 0);
}

static void an_exclusive_text_is_inserted(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(store_text(setup, EDIT_EXCLUSIVE, X, "{\"a\": 1}"), 0);
    assert_int_equal(store_text(setup, EDIT_EXCLUSIVE, X, "{\"a\": 2}"), -EEXIST);
    assert_request_count(setup, 3); /* the last reads what is there */
    assert_found(setup, X, TEXT_OF("x", "1"));
    another_stores(setup, P_ROW("y"), "other");
    assert_int_equal(store_text(setup, EDIT_EXCLUSIVE, P_ROW("y"), "{}"), -EEXIST);
    memory_store_forget_diary(setup->memory);
    assert_found(setup, P_ROW("y"), "other");
    assert_request_count(setup, 0);
}

static void a_process_that_has_read_it_overwrites_no_other_version(void **state)
{
    struct setup *setup = *state;
    another_stores(setup, X, "first");
    setup->process = 7;
    open_row(setup, X);
    another_stores(setup, X, "second");
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{\"a\": 1}"), -ESTALE);
    assert_non_null(setup->caller.call.failure.advice);
    memory_store_forget_diary(setup->memory);
    assert_found(setup, X, "second");
    assert_request_count(setup, 0);
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{\"a\": 1}"), 0); /* ESTALE comes once */
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{\"a\": 2}"), 0); /* over its own */
    another_stores(setup, X, "third");
    setup->process = 8; /* has not read it: the last writer wins */
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{\"a\": 3}"), 0);
    setup->process = 7;
    assert_int_equal(store_text(setup, EDIT_NEW, X, "{\"a\": 4}"), 0); /* it saw no entity */
    assert_found(setup, X, TEXT_OF("x", "4"));
}

static void conflicts_may_be_overwritten(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.overwrites_conflicts = true});
    another_stores(&setup, X, "first");
    setup.process = 7;
    open_row(&setup, X);
    another_stores(&setup, X, "second");
    assert_int_equal(store_text(&setup, EDIT_OVER, X, "{\"a\": 1}"), 0);
    tear_down(&setup);
}

static void an_entity_that_is_gone_has_lost_too(void **state)
{
    struct setup *setup = *state;
    another_stores(setup, X, "first");
    setup->process = 7;
    open_row(setup, X);
    another_client_writes(setup, WRITE_DELETE, X, "");
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{\"a\": 1}"), -ESTALE);
    assert_found(setup, X, NULL);
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{\"a\": 1}"), 0);
}

static void what_was_stored_before_is_replaced(void **state)
{
    struct setup *setup = *state;
    char etag[32];
    struct edit edit = {.address = address_of(X), .begin = EDIT_EXCLUSIVE, .text = B("{\"a\": 1}")};
    assert_int_equal(store(setup, &edit, etag), 0);
    edit.last_stored = bytes_of(etag);
    edit.text = B("{\"a\": 2}");
    assert_int_equal(store(setup, &edit, NULL), 0);
    another_stores(setup, X, "other");
    assert_int_equal(store(setup, &edit, NULL), -ESTALE);
    assert_found(setup, X, "other");
}

enum reading { READS_NOTHING, READS_BEFORE, READS_AFTER, READS_ITS_TEXT };

/* An edit has stored a text, and then another one of this mount. */
static int store_after_another(struct setup *setup, enum edit_begin begin, enum reading reading)
{
    char etag[32];
    struct edit edit = {.address = address_of(X), .begin = begin, .text = B("{\"a\": 1}")};
    if (begin == EDIT_CHANGED)
        another_stores(setup, X, "first");
    setup->process = 7;
    assert_int_equal(store(setup, &edit, etag), 0);
    if (reading == READS_BEFORE)
        open_row(setup, X);
    setup->process = 8;
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{\"a\": 2}"), 0);
    setup->process = 7;
    if (reading == READS_AFTER)
        open_row(setup, X);
    edit.was_read = reading == READS_ITS_TEXT;
    edit.last_stored = bytes_of(etag);
    edit.text = B("{\"a\": 3}");
    return store(setup, &edit, NULL);
}

static void a_store_of_this_mount_is_no_other_clients_change(void **state)
{
    (void)state;
    static const struct {
        enum edit_begin begin;
        enum reading reading;
        int result;
    } cases[] = {
        {EDIT_NEW, READS_NOTHING, 0},           {EDIT_EXCLUSIVE, READS_NOTHING, 0},
        {EDIT_OVER, READS_NOTHING, 0},          {EDIT_OVER, READS_AFTER, 0},
        {EDIT_OVER, READS_BEFORE, -ESTALE},     {EDIT_NEW, READS_BEFORE, -ESTALE},
        {EDIT_NEW, READS_ITS_TEXT, -ESTALE},    {EDIT_OVER, READS_ITS_TEXT, -ESTALE},
        {EDIT_CHANGED, READS_NOTHING, -ESTALE},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){0});
        assert_int_equal(store_after_another(&setup, cases[i].begin, cases[i].reading),
                         cases[i].result);
        assert_found(&setup, X, cases[i].result == 0 ? TEXT_OF("x", "3") : TEXT_OF("x", "2"));
        tear_down(&setup);
    }
}

/* What another client stored after that is not overwritten. */
static void behind_another_client_it_does_not_count(void **state)
{
    struct setup *setup = *state;
    char etag[32];
    struct edit edit = {.address = address_of(X), .begin = EDIT_NEW, .text = B("{\"a\": 1}")};
    assert_int_equal(store(setup, &edit, etag), 0);
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{\"a\": 2}"), 0);
    another_stores(setup, X, "other");
    edit.last_stored = bytes_of(etag);
    assert_int_equal(store(setup, &edit, NULL), -ESTALE);
    assert_found(setup, X, "other");
}

static void a_text_whose_answer_was_lost_is_another_version(void **state)
{
    (void)state;
    static const struct {
        enum edit_begin begin;
        const char *snapshot; /* version that was opened */
        int again;
    } cases[] = {{EDIT_EXCLUSIVE, "", -EEXIST},
                 {EDIT_CHANGED, "version-1", -ESTALE},
                 {EDIT_NEW, "", 0},
                 {EDIT_OVER, "", 0}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        bool is_changed = cases[i].begin == EDIT_CHANGED;
        set_up(&setup,
               (struct setup_options){.faults = is_changed ? "lost=write:2" : "lost=write:1"});
        if (is_changed)
            assert_int_equal(store_text(&setup, EDIT_NEW, X, "{\"a\": 0}"), 0);
        struct edit edit = {.address = address_of(X),
                            .begin = cases[i].begin,
                            .text = B("{\"a\": 1}"),
                            .snapshot = bytes_of(cases[i].snapshot)};
        assert_true(store(&setup, &edit, NULL) < 0);
        assert_true(setup.caller.call.failure.is_ambiguous);
        memory_store_forget_diary(setup.memory);
        assert_found(&setup, X, TEXT_OF("x", "1")); /* the next lookup is right */
        assert_request_count(&setup, 0);
        edit.text = B("{\"a\": 2}");
        assert_int_equal(store(&setup, &edit, NULL), cases[i].again);
        assert_found(&setup, X, cases[i].again == 0 ? TEXT_OF("x", "2") : TEXT_OF("x", "1"));
        tear_down(&setup);
    }
}

static void touch(struct setup *setup, struct bytes position, int error, const char *etag)
{
    _cleanup_(entity_finish) struct entity entity = {0};
    int r =
        account_touch(setup->account, caller_of(setup), address_of(position), B(""), NULL, &entity);
    assert_int_equal(r, error);
    if (r == 0)
        assert_bytes(page_etag(entity.page, entity.row), bytes_of(etag));
}

static void a_touch_stores_the_text_that_is_there(void **state)
{
    struct setup *setup = *state;
    setup->process = 7;
    assert_int_equal(store_text(setup, EDIT_NEW, X, "{\"a\": 1}"), 0);
    assert_request_count(setup, 1);
    open_row(setup, X);
    touch(setup, X, 0, "version-2");
    assert_request_count(setup, 1);
    assert_found(setup, X, TEXT_OF("x", "1"));
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{\"a\": 2}"), 0); /* its own touch */
    assert_request_count(setup, 1);

    another_stores(setup, X, TEXT_OF("x", "\"other\""));
    touch(setup, X, 0, "version-5"); /* refused, read again, and stored again */
    assert_request_count(setup, 3);
    assert_found(setup, X, TEXT_OF("x", "\"other\""));
    assert_request_count(setup, 0);
    /* the process has not read what it touched */
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{}"), -ESTALE);

    touch(setup, P_ROW("y"), -ENOENT, NULL);
}

/* A writer must not take the version of another client for its own. */
static void a_touch_of_a_version_that_is_not_known_hands_out_none(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(store_text(setup, EDIT_NEW, X, "{\"a\": 1}"), 0);
    static const struct {
        const char *known;
        bool is_changed, is_handed_out;
    } cases[] = {{"version-1", false, true},  /* version-2 */
                 {"version-1", false, false}, /* version-3 */
                 {"version-3", true, false},  /* version-4 is the other client's */
                 {"version-5", false, true}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct entity entity = {0};
        if (cases[i].is_changed)
            another_stores(setup, X, TEXT_OF("x", "\"other\""));
        assert_int_equal(account_touch(setup->account, caller_of(setup), address_of(X),
                                       bytes_of(cases[i].known), NULL, &entity),
                         0);
        assert_int_equal(entity.page != NULL, cases[i].is_handed_out);
        entity_finish(&entity);
    }
}

#define BAD_VALUE                                                                                  \
    "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"x\",\n  \"a@odata.type\": \"Edm.Int64\",\n"    \
    "  \"a\": \"seven\"\n}\n"
#define BAD_ROW "{\"PartitionKey\":\"p\",\"RowKey\":\"x\",\"a\":{\"b\":1}}"

static void assert_reason(const struct setup *setup, const char *expected)
{
    assert_string_equal(setup->caller.call.failure.message, expected);
}

static void a_touch_does_not_store_what_would_be_refused(void **state)
{
    struct setup *setup = *state;
    static const char seven[] = "line 5, column 8: a: no integer of 64 bits: \"seven\"";
    static const char nested[] =
        "what the service has cannot be understood: an object or array as a property's value: a";
    another_stores(setup, X, BAD_VALUE);
    touch(setup, X, -EINVAL, NULL);
    assert_reason(setup, seven);
    assert_request_count(setup, 1); /* it was read */
    assert_found(setup, X, BAD_VALUE);
    assert_int_equal(store_text(setup, EDIT_OVER, X, BAD_VALUE), -EINVAL);
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{\"a\": 7}"), 0); /* mended */
    assert_request_count(setup, 1);
    assert_found(setup, X, TEXT_OF("x", "7"));

    another_stores(setup, X, BAD_VALUE); /* it is met where the touch was refused */
    touch(setup, X, -EINVAL, NULL);
    assert_reason(setup, seven);
    assert_request_count(setup, 2);

    memory_store_write_bad(setup->memory, X, BAD_ROW);
    setup->now_ms += TTL_MS + 1;
    touch(setup, X, -EIO, NULL);
    assert_reason(setup, nested);
    assert_non_null(setup->caller.call.failure.advice);
    assert_request_count(setup, 1);
    assert_found(setup, X, BAD_ROW);
}

static void a_bad_row_is_replaced_as_a_whole(void **state)
{
    struct setup *setup = *state;
    setup->process = 7;
    memory_store_write_bad(setup->memory, X, BAD_ROW); /* version-1 */
    struct edit edit = {.address = address_of(X),
                        .begin = EDIT_CHANGED,
                        .text = B("{\"a\": 1}"),
                        .snapshot = B("version-0")};
    assert_int_equal(store(setup, &edit, NULL), -ESTALE);
    assert_int_equal(store_text(setup, EDIT_EXCLUSIVE, X, "{}"), -EEXIST);
    assert_found(setup, X, BAD_ROW);
    edit.snapshot = B("version-1");
    assert_int_equal(store(setup, &edit, NULL), 0);
    assert_found(setup, X, TEXT_OF("x", "1"));
    memory_store_write_bad(setup->memory, X, BAD_ROW);
    assert_int_equal(store_text(setup, EDIT_OVER, P_ROW("y"), "{}"), 0);
    setup->process = 8;
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{\"a\": 2}"), 0);
    assert_found(setup, X, TEXT_OF("x", "2"));
}

static void read_only_comes_before_anything_else(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.is_read_only = true});
    assert_int_equal(store_text(&setup, EDIT_NEW, X, "no JSON"), -EROFS);
    touch(&setup, X, -EROFS, NULL);
    assert_int_equal(
        account_unlink(setup.account, caller_of(&setup), address_of(X), B("etag"), PATH), -EROFS);
    assert_int_equal(
        account_make_directory(setup.account, caller_of(&setup), PATH_OF(*PARTITIONS_OF("+"))),
        -EROFS);
    assert_int_equal(account_make_directory(setup.account, caller_of(&setup), PATH), -EROFS);
    assert_int_equal(account_remove_directory(setup.account, caller_of(&setup), PATH), -EROFS);
    assert_int_equal(
        account_remove_directory(setup.account, caller_of(&setup), PATH_OF(*PARTITIONS_OF("t"))),
        -EROFS);
    assert_request_count(&setup, 0);
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(account, a_stored_text_is_known_without_a_request),
        TEST_WITH(account, a_listing_that_begins_then_shows_it),
        TEST_WITH(account, answers_during_a_change_are_not_cached_by_the_kernel),
        cmocka_unit_test(a_listing_under_way_lets_nobody_keep_an_old_text),
        TEST_WITH(account, what_the_service_would_refuse_is_not_sent),
        TEST_WITH(account, an_exclusive_text_is_inserted),
        TEST_WITH(account, a_process_that_has_read_it_overwrites_no_other_version),
        cmocka_unit_test(conflicts_may_be_overwritten),
        TEST_WITH(account, an_entity_that_is_gone_has_lost_too),
        TEST_WITH(account, what_was_stored_before_is_replaced),
        cmocka_unit_test(a_store_of_this_mount_is_no_other_clients_change),
        TEST_WITH(account, behind_another_client_it_does_not_count),
        cmocka_unit_test(a_text_whose_answer_was_lost_is_another_version),
        TEST_WITH(account, a_touch_stores_the_text_that_is_there),
        TEST_WITH(account, a_touch_of_a_version_that_is_not_known_hands_out_none),
        TEST_WITH(account, a_touch_does_not_store_what_would_be_refused),
        TEST_WITH(account, a_bad_row_is_replaced_as_a_whole),
        cmocka_unit_test(read_only_comes_before_anything_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
