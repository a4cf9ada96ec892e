/* SPDX-License-Identifier: MIT */
/* Batches whose answer was lost: whether they were made is found out by reading, with as few
 * requests as the rows stand together. */
#include "tests/unit/client/store/retrying_fixture.h"

#define ROWS     100
#define KEY_SIZE 32

/* Rows p/rNNN of a batch. */
struct batch {
    struct setup setup;
    struct call call;
    char positions[ROWS][KEY_SIZE];
    char texts[ROWS][100];
    struct write writes[ROWS];
    struct write_result results[ROWS];
};

static void make(struct batch *batch, enum write_kind kind, size_t step)
{
    bool is_conditional = kind == WRITE_REPLACE || kind == WRITE_MERGE || kind == WRITE_DELETE;
    for (size_t i = 0; i < ROWS; i++) {
        (void)snprintf(batch->positions[i], KEY_SIZE, "p%cr%03zu", 0, i * step);
        (void)snprintf(
            batch->texts[i], 100,
            "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r%03zu\",\n  \"n\": %zu\n}\n", i * step,
            i);
        batch->writes[i] = (struct write){
            .kind = kind,
            .position = {batch->positions[i], 6},
            .if_match = bytes_of(is_conditional ? "etag" : ""),
            .text = bytes_of(kind == WRITE_DELETE ? "" : batch->texts[i]),
        };
    }
}

/* The batch writes every step-th row. `count` rows from p/r000 on are stored, with the ETag "etag".
 */
static void begin(struct batch *batch, enum write_kind kind, size_t step, size_t count,
                  const char *rules)
{
    set_up(&batch->setup, rules);
    for (size_t i = 0; i < count; i++) {
        char key[KEY_SIZE];
        (void)snprintf(key, sizeof(key), "r%03zu", i);
        memory_store_add_strings(batch->setup.memory, "p", key);
    }
    make(batch, kind, step);
}

static void end(struct batch *batch)
{
    table_store_destroy(batch->setup.store);
}

/* The first n writes. */
static int write(struct batch *batch, size_t n)
{
    struct setup *setup = &batch->setup;
    batch->call = (struct call){.deadline_ms = setup->now_ms + 60000};
    return table_store_write(setup->store, "one", batch->writes, n, &batch->call, batch->results);
}

static void delete_elsewhere(struct batch *batch, size_t row)
{
    char position[KEY_SIZE];
    (void)snprintf(position, sizeof(position), "p%cr%03zu", 0, row);
    memory_store_write(batch->setup.memory,
                       &(struct write){.kind = WRITE_DELETE, .position = {position, 6}});
}

static void assert_query(const struct batch *batch, size_t request, bool keys_only, int top)
{
    const struct memory_store_entry *entry = &batch->setup.memory->diary[request];
    assert_int_equal(entry->what, ASKED_QUERY);
    assert_int_equal(entry->keys_only, keys_only);
    assert_int_equal(entry->top, top);
}

static void deletes_take_one_query_of_keys(void **state)
{
    (void)state;
    for (size_t n = 2; n <= ROWS; n += n < 5 ? 1 : 19) {
        _cleanup_(end) struct batch batch;
        begin(&batch, WRITE_DELETE, 1, ROWS, "lost=batch:1");
        assert_int_equal(write(&batch, n), 0);
        assert_int_equal(batch.call.failure.error, 0);
        assert_int_equal(batch.setup.memory->asked, 2 + 1);
        assert_query(&batch, 2, true, 1000);
        assert_bytes(buffer_bytes(&batch.setup.memory->diary[2].lo), batch.writes[0].position);
        assert_int_equal(batch.setup.memory->diary[2].hi.size, 7); /* after the last of them */
        assert_memory_equal(batch.setup.memory->diary[2].hi.data, batch.positions[n - 1], 6);
    }
}

static void texts_take_one_query_that_has_their_versions(void **state)
{
    (void)state;
    static const enum write_kind kinds[] = {WRITE_INSERT, WRITE_REPLACE};
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        _cleanup_(end) struct batch batch;
        begin(&batch, kinds[i], 1, kinds[i] == WRITE_INSERT ? 0 : ROWS, "lost=batch:1");
        assert_int_equal(write(&batch, ROWS), 0);
        assert_int_equal(batch.setup.memory->asked, 2 + 1);
        assert_query(&batch, 2, false, ROWS);
        for (size_t row = 0; row < ROWS; row++) {
            char etag[KEY_SIZE];
            (void)snprintf(etag, sizeof(etag), "version-%zu", row + 1);
            assert_string_equal(batch.results[row].etag, etag);
            assert_int_equal(batch.results[row].timestamp, row + 1);
        }
    }
}

/* In any order, with deletes and upserts between them. */
static void results_are_those_of_their_writes(void **state)
{
    (void)state;
    _cleanup_(end) struct batch batch;
    begin(&batch, WRITE_REPLACE, 1, ROWS, "lost=batch:1");
    for (size_t i = 0; i < ROWS; i++) {
        struct write *write = &batch.writes[i];
        if (i % 3 == 0)
            *write = (struct write){WRITE_DELETE, write->position, write->if_match, B("")};
        if (i % 3 == 1)
            *write = (struct write){WRITE_UPSERT_REPLACE, write->position, B(""), write->text};
    }
    for (size_t i = 0; i < ROWS / 2; i++) {
        struct write write = batch.writes[i];
        batch.writes[i] = batch.writes[ROWS - 1 - i];
        batch.writes[ROWS - 1 - i] = write;
    }
    assert_int_equal(write(&batch, ROWS), 0);
    assert_int_equal(batch.setup.memory->asked, 2 + 1);
    int version = 0;
    for (size_t i = 0; i < ROWS; i++) {
        char etag[KEY_SIZE] = "";
        if (batch.writes[i].kind != WRITE_DELETE)
            (void)snprintf(etag, sizeof(etag), "version-%d", ++version);
        assert_string_equal(batch.results[i].etag, etag);
    }
}

/* The first attempt did not arrive, and meanwhile another client deletes half of the rows. */
static void a_batch_that_another_client_did_by_half_was_not_made(void **state)
{
    (void)state;
    _cleanup_(end) struct batch batch;
    begin(&batch, WRITE_DELETE, 1, ROWS, "fail=batch:1:0");
    for (size_t i = 0; i < ROWS; i += 2)
        delete_elsewhere(&batch, i);
    assert_int_equal(write(&batch, ROWS), -ENOENT);
    assert_int_equal(batch.call.failure.operation, 0);
    assert_false(batch.call.failure.is_ambiguous);
    assert_int_equal(batch.setup.memory->asked, 1 + 1);
    assert_query(&batch, 1, true, 1000);
}

/* All of them are gone: it does not matter who did it. */
static void deletes_that_another_client_made_are_made(void **state)
{
    (void)state;
    _cleanup_(end) struct batch batch;
    begin(&batch, WRITE_DELETE, 1, ROWS, "fail=batch:1:0");
    for (size_t i = 0; i < ROWS; i++)
        delete_elsewhere(&batch, i);
    assert_int_equal(write(&batch, ROWS), 0);
    assert_int_equal(batch.setup.memory->asked, 1 + 1);
}

/* The batch was made, and then another client has written one of the rows again. */
static void what_was_changed_since_stays_ambiguous(void **state)
{
    (void)state;
    _cleanup_(end) struct batch batch;
    begin(&batch, WRITE_INSERT, 1, 0, "fail=batch:1:0");
    struct write theirs = batch.writes[7];
    theirs.kind = WRITE_UPSERT_REPLACE;
    theirs.text = B("{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r007\"\n}\n");
    memory_store_write(batch.setup.memory, &theirs);
    assert_int_equal(write(&batch, ROWS), -EEXIST);
    assert_int_equal(batch.call.failure.operation, 7);
    assert_true(batch.call.failure.is_ambiguous);
    assert_int_equal(batch.setup.memory->asked, 1 + 1);
}

/* The text that a replace would have stored was there before: its version tells. */
static void the_same_text_of_the_version_before_is_not_ours(void **state)
{
    (void)state;
    _cleanup_(end) struct batch batch;
    begin(&batch, WRITE_UPSERT_REPLACE, 1, 0, "fail=batch:2:0");
    assert_int_equal(write(&batch, 2), 0);
    make(&batch, WRITE_REPLACE, 1);
    batch.writes[0].if_match = B("version-1");
    assert_int_equal(write(&batch, 2), -ESTALE);
    assert_int_equal(batch.call.failure.operation, 1);
    assert_false(batch.call.failure.is_ambiguous);
    assert_int_equal(batch.setup.memory->asked, 1 + 1 + 1);
}

/* Every tenth of many rows: a page has few of them. */
static void rows_that_stand_apart_are_read_one_by_one(void **state)
{
    (void)state;
    struct batch batch;
    begin(&batch, WRITE_DELETE, 10, 1000, "lost=batch:1");
    batch.setup.memory->max_rows = 5;
    assert_int_equal(write(&batch, 10), 0);
    assert_int_equal(batch.setup.memory->asked, 2 + 1 + 9);
    assert_query(&batch, 2, true, 1000);
    for (size_t i = 3; i < 12; i++)
        assert_int_equal(batch.setup.memory->diary[i].what, ASKED_GET);
    end(&batch);

    begin(&batch, WRITE_DELETE, 10, 1000, "lost=batch:1");
    batch.setup.memory->max_rows = 30; /* of our rows four are in a page */
    assert_int_equal(write(&batch, 100), 0);
    assert_int_equal(batch.setup.memory->asked, 2 + 25);
    end(&batch);
}

/* The service may answer with pages without rows. */
static void empty_pages_are_followed(void **state)
{
    (void)state;
    _cleanup_(end) struct batch batch;
    begin(&batch, WRITE_DELETE, 1, ROWS, "lost=batch:1,empty=3");
    assert_int_equal(write(&batch, ROWS), 0);
    assert_int_equal(batch.setup.memory->asked, 2 + 1);
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
    for (enum write_kind kind = WRITE_INSERT; kind <= WRITE_DELETE; kind++) {
        _cleanup_(end) struct batch batch;
        begin(&batch, kind, 1, kind == WRITE_INSERT ? 0 : ROWS, "lost=batch:1");
        batch.setup.memory->checks_tables = true;
        batch.setup.memory->fault = drop_behind_the_first;
        int r = write(&batch, ROWS);
        assert_int_equal(r, kind == WRITE_DELETE ? 0 : -ENOENT);
        assert_int_equal(batch.call.failure.is_ambiguous, kind != WRITE_DELETE);
        assert_string_equal(batch.call.failure.code, kind == WRITE_DELETE ? "" : "TableNotFound");
        assert_int_equal(batch.setup.memory->asked, 2 + 1);
    }
}

static void rows_that_cannot_be_read_stay_ambiguous(void **state)
{
    (void)state;
    _cleanup_(end) struct batch batch;
    begin(&batch, WRITE_DELETE, 1, ROWS,
          "lost=batch:1,fail=query:1:503:ServerBusy,"
          "fail=query:2:403:AuthorizationFailure");
    assert_int_equal(write(&batch, ROWS), -EACCES);
    assert_true(batch.call.failure.is_ambiguous);
    assert_int_equal(batch.setup.memory->asked, 2);
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
