/* SPDX-License-Identifier: MIT */
/* Batches whose answer was lost: whether they were made is found out by reading, with as few
 * requests as the rows stand together. */
#include "tests/unit/client/store/retrying_fixture.h"

#define ROWS     100
#define KEY_SIZE 32

/* Rows p/rNNN of a batch. */
struct rows {
    char positions[ROWS][KEY_SIZE];
    char texts[ROWS][100];
    struct write writes[ROWS];
    struct write_result results[ROWS];
};

static void make(struct rows *rows, enum write_kind kind, size_t step)
{
    bool is_conditional = kind == WRITE_REPLACE || kind == WRITE_MERGE || kind == WRITE_DELETE;
    memset(rows, 0, sizeof(*rows));
    for (size_t i = 0; i < ROWS; i++) {
        (void)snprintf(rows->positions[i], KEY_SIZE, "p%cr%03zu", 0, i * step);
        (void)snprintf(
            rows->texts[i], 100,
            "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r%03zu\",\n  \"n\": %zu\n}\n", i * step,
            i);
        rows->writes[i] = (struct write){
            .kind = kind,
            .position = {rows->positions[i], 6},
            .if_match = bytes_of(is_conditional ? "etag" : ""),
            .text = bytes_of(kind == WRITE_DELETE ? "" : rows->texts[i]),
        };
    }
}

/* Over rows p/r000 and on with the ETag "etag". */
static void set_up_over(struct setup *setup, size_t count, const char *rules)
{
    set_up(setup, rules);
    for (size_t i = 0; i < count; i++) {
        char key[KEY_SIZE];
        (void)snprintf(key, sizeof(key), "r%03zu", i);
        memory_store_add_strings(setup->memory, "p", key);
    }
}

static int write(struct setup *setup, struct rows *rows, size_t n, struct call *call)
{
    *call = (struct call){.deadline_ms = setup->now_ms + 60000};
    return table_store_write(setup->store, "one", rows->writes, n, call, rows->results);
}

static void delete_elsewhere(struct setup *setup, size_t row)
{
    char position[KEY_SIZE];
    (void)snprintf(position, sizeof(position), "p%cr%03zu", 0, row);
    memory_store_write(setup->memory,
                       &(struct write){.kind = WRITE_DELETE, .position = {position, 6}});
}

static void assert_query(struct setup *setup, size_t request, bool keys_only, int top)
{
    const struct memory_store_entry *entry = &setup->memory->diary[request];
    assert_int_equal(entry->what, ASKED_QUERY);
    assert_int_equal(entry->keys_only, keys_only);
    assert_int_equal(entry->top, top);
}

static void deletes_take_one_query_of_keys(void **state)
{
    (void)state;
    static struct rows rows;
    struct setup setup;
    struct call call;
    for (size_t n = 2; n <= ROWS; n += n < 5 ? 1 : 19) {
        make(&rows, WRITE_DELETE, 1);
        set_up_over(&setup, ROWS, "lost=batch:1");
        assert_int_equal(write(&setup, &rows, n, &call), 0);
        assert_int_equal(call.failure.error, 0);
        assert_int_equal(setup.memory->asked, 2 + 1);
        assert_query(&setup, 2, true, 1000);
        assert_bytes(buffer_bytes(&setup.memory->diary[2].lo), rows.writes[0].position);
        assert_int_equal(setup.memory->diary[2].hi.size, 7); /* after the last of them */
        assert_memory_equal(setup.memory->diary[2].hi.data, rows.positions[n - 1], 6);
        table_store_destroy(setup.store);
    }
}

static void texts_take_one_query_that_has_their_versions(void **state)
{
    (void)state;
    static const enum write_kind kinds[] = {WRITE_INSERT, WRITE_REPLACE};
    static struct rows rows;
    struct setup setup;
    struct call call;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        make(&rows, kinds[i], 1);
        set_up_over(&setup, kinds[i] == WRITE_INSERT ? 0 : ROWS, "lost=batch:1");
        assert_int_equal(write(&setup, &rows, ROWS, &call), 0);
        assert_int_equal(setup.memory->asked, 2 + 1);
        assert_query(&setup, 2, false, ROWS);
        for (size_t row = 0; row < ROWS; row++) {
            char etag[KEY_SIZE];
            (void)snprintf(etag, sizeof(etag), "version-%zu", row + 1);
            assert_string_equal(rows.results[row].etag, etag);
            assert_int_equal(rows.results[row].timestamp, row + 1);
        }
        table_store_destroy(setup.store);
    }
}

/* In any order, with deletes between them. */
static void results_are_those_of_their_writes(void **state)
{
    (void)state;
    static struct rows rows, deletes;
    struct setup setup;
    struct call call;
    make(&rows, WRITE_REPLACE, 1);
    make(&deletes, WRITE_DELETE, 1);
    for (size_t i = 0; i < ROWS; i += 3)
        rows.writes[i] = deletes.writes[i];
    for (size_t i = 0; i < ROWS / 2; i++) {
        struct write write = rows.writes[i];
        rows.writes[i] = rows.writes[ROWS - 1 - i];
        rows.writes[ROWS - 1 - i] = write;
    }
    set_up_over(&setup, ROWS, "lost=batch:1");
    assert_int_equal(write(&setup, &rows, ROWS, &call), 0);
    assert_int_equal(setup.memory->asked, 2 + 1);
    int version = 0;
    for (size_t i = 0; i < ROWS; i++) {
        char etag[KEY_SIZE] = "";
        if (rows.writes[i].kind != WRITE_DELETE)
            (void)snprintf(etag, sizeof(etag), "version-%d", ++version);
        assert_string_equal(rows.results[i].etag, etag);
    }
    table_store_destroy(setup.store);
}

/* The first attempt did not arrive, and meanwhile another client deletes half of the rows. */
static void a_batch_that_another_client_did_by_half_was_not_made(void **state)
{
    (void)state;
    static struct rows rows;
    struct setup setup;
    struct call call;
    make(&rows, WRITE_DELETE, 1);
    set_up_over(&setup, ROWS, "fail=batch:1:0");
    for (size_t i = 0; i < ROWS; i += 2)
        delete_elsewhere(&setup, i);
    assert_int_equal(write(&setup, &rows, ROWS, &call), -ENOENT);
    assert_int_equal(call.failure.operation, 0);
    assert_false(call.failure.is_ambiguous);
    assert_int_equal(setup.memory->asked, 1 + 1);
    assert_query(&setup, 1, true, 1000);
    table_store_destroy(setup.store);
}

/* All of them are gone: it does not matter who did it. */
static void deletes_that_another_client_made_are_made(void **state)
{
    (void)state;
    static struct rows rows;
    struct setup setup;
    struct call call;
    make(&rows, WRITE_DELETE, 1);
    set_up_over(&setup, ROWS, "fail=batch:1:0");
    for (size_t i = 0; i < ROWS; i++)
        delete_elsewhere(&setup, i);
    assert_int_equal(write(&setup, &rows, ROWS, &call), 0);
    assert_int_equal(setup.memory->asked, 1 + 1);
    table_store_destroy(setup.store);
}

/* The batch was made, and then another client has written one of the rows again. */
static void what_was_changed_since_stays_ambiguous(void **state)
{
    (void)state;
    static struct rows rows, theirs;
    struct setup setup;
    struct call call;
    make(&theirs, WRITE_UPSERT_REPLACE, 1);
    make(&rows, WRITE_INSERT, 1);
    theirs.writes[7].text = B("{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r007\"\n}\n");
    set_up_over(&setup, 0, "fail=batch:1:0");
    memory_store_write(setup.memory, &theirs.writes[7]);
    assert_int_equal(write(&setup, &rows, ROWS, &call), -EEXIST);
    assert_int_equal(call.failure.operation, 7);
    assert_true(call.failure.is_ambiguous);
    assert_int_equal(setup.memory->asked, 1 + 1);
    table_store_destroy(setup.store);
}

/* The text that a replace would have stored was there before: its version tells. */
static void the_same_text_of_the_version_before_is_not_ours(void **state)
{
    (void)state;
    static struct rows rows;
    struct setup setup;
    struct call call;
    make(&rows, WRITE_UPSERT_REPLACE, 1);
    set_up_over(&setup, 0, "fail=batch:2:0");
    assert_int_equal(write(&setup, &rows, 2, &call), 0);
    make(&rows, WRITE_REPLACE, 1);
    rows.writes[0].if_match = B("version-1");
    assert_int_equal(write(&setup, &rows, 2, &call), -ESTALE);
    assert_int_equal(call.failure.operation, 1);
    assert_false(call.failure.is_ambiguous);
    assert_int_equal(setup.memory->asked, 1 + 1 + 1);
    table_store_destroy(setup.store);
}

/* Every tenth of many rows: a page has few of them. */
static void rows_that_stand_apart_are_read_one_by_one(void **state)
{
    (void)state;
    static struct rows rows;
    struct setup setup;
    struct call call;
    make(&rows, WRITE_DELETE, 10);
    set_up_over(&setup, 1000, "lost=batch:1");
    setup.memory->max_rows = 5;
    assert_int_equal(write(&setup, &rows, 10, &call), 0);
    assert_int_equal(setup.memory->asked, 2 + 1 + 9);
    assert_query(&setup, 2, true, 1000);
    for (size_t i = 3; i < 12; i++)
        assert_int_equal(setup.memory->diary[i].what, ASKED_GET);
    table_store_destroy(setup.store);

    set_up_over(&setup, 1000, "lost=batch:1");
    setup.memory->max_rows = 30; /* of our rows four are in a page */
    assert_int_equal(write(&setup, &rows, 100, &call), 0);
    assert_int_equal(setup.memory->asked, 2 + 25);
    table_store_destroy(setup.store);
}

/* The service may answer with pages without rows. */
static void empty_pages_are_followed(void **state)
{
    (void)state;
    static struct rows rows;
    struct setup setup;
    struct call call;
    make(&rows, WRITE_DELETE, 1);
    set_up_over(&setup, ROWS, "lost=batch:1,empty=3");
    assert_int_equal(write(&setup, &rows, ROWS, &call), 0);
    assert_int_equal(setup.memory->asked, 2 + 1);
    table_store_destroy(setup.store);
}

static int drop_behind_the_first(struct memory_store *memory, size_t number, struct call *call)
{
    (void)call;
    if (number == 2)
        memory_store_remove_table(memory, "one");
    return 0;
}

static void in_a_table_that_was_dropped_nothing_is_stored(void **state)
{
    (void)state;
    static struct rows rows;
    struct setup setup;
    struct call call;
    for (enum write_kind kind = WRITE_INSERT; kind <= WRITE_DELETE; kind++) {
        make(&rows, kind, 1);
        set_up_over(&setup, kind == WRITE_INSERT ? 0 : ROWS, "lost=batch:1");
        setup.memory->checks_tables = true;
        setup.memory->fault = drop_behind_the_first;
        int r = write(&setup, &rows, ROWS, &call);
        assert_int_equal(r, kind == WRITE_DELETE ? 0 : -ENOENT);
        assert_int_equal(call.failure.is_ambiguous, kind != WRITE_DELETE);
        assert_string_equal(call.failure.code, kind == WRITE_DELETE ? "" : "TableNotFound");
        assert_int_equal(setup.memory->asked, 2 + 1);
        table_store_destroy(setup.store);
    }
}

static void rows_that_cannot_be_read_stay_ambiguous(void **state)
{
    (void)state;
    static struct rows rows;
    struct setup setup;
    struct call call;
    make(&rows, WRITE_DELETE, 1);
    set_up_over(&setup, ROWS,
                "lost=batch:1,fail=query:1:503:ServerBusy,"
                "fail=query:2:403:AuthorizationFailure");
    assert_int_equal(write(&setup, &rows, ROWS, &call), -EACCES);
    assert_true(call.failure.is_ambiguous);
    assert_int_equal(setup.memory->asked, 2);
    table_store_destroy(setup.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deletes_take_one_query_of_keys),
        cmocka_unit_test(texts_take_one_query_that_has_their_versions),
        cmocka_unit_test(results_are_those_of_their_writes),
        cmocka_unit_test(a_batch_that_another_client_did_by_half_was_not_made),
        cmocka_unit_test(deletes_that_another_client_made_are_made),
        cmocka_unit_test(what_was_changed_since_stays_ambiguous),
        cmocka_unit_test(the_same_text_of_the_version_before_is_not_ours),
        cmocka_unit_test(rows_that_stand_apart_are_read_one_by_one),
        cmocka_unit_test(empty_pages_are_followed),
        cmocka_unit_test(in_a_table_that_was_dropped_nothing_is_stored),
        cmocka_unit_test(rows_that_cannot_be_read_stay_ambiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
