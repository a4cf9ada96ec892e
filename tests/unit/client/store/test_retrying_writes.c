/* SPDX-License-Identifier: MIT */
/* Changes whose answer was lost: repeated where that is safe, else reported as ambiguous. */
#include "tests/unit/client/store/retrying_fixture.h"

#define TEXT(row_key, n)                                                                           \
    "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"" row_key "\",\n  \"n\": " n "\n}\n"

static const struct write insert = {.position = B("p\0new"), .text = B(TEXT("new", "1"))};

static int write(struct setup *setup, const struct write *writes, size_t n, struct call *call,
                 struct write_result *ret)
{
    *call = (struct call){.deadline_ms = setup->now_ms + 60000};
    return table_store_write(setup->store, "one", writes, n, call, ret);
}

/* Another client's change: it goes to the inner store directly. */
static void write_elsewhere(struct setup *setup, const struct write *write,
                            struct write_result *ret)
{
    struct call call = {.deadline_ms = 60000};
    assert_int_equal(table_store_write(&setup->memory->store, "one", write, 1, &call, ret), 0);
}

static void expect_row(struct setup *setup, struct bytes position, const char *etag,
                       struct bytes text)
{
    struct call call = {.deadline_ms = 60000};
    _cleanup_(page_unrefp) struct page *page = NULL;
    assert_int_equal(table_store_get(&setup->memory->store, "one", position, &call, &page), 0);
    assert_bytes(page_etag(page, 0), bytes_of(etag));
    assert_bytes(page_text(page, 0), text);
}

static void an_insert_whose_answer_was_lost_was_made(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    struct write_result result;
    set_up(&setup, "lost=write:1");
    assert_int_equal(write(&setup, &insert, 1, &call, &result), 0);
    assert_string_equal(result.etag, "version-1");
    assert_int_equal(result.timestamp, 1);
    assert_int_equal(call.failure.error, 0);
    expect_row(&setup, insert.position, "version-1", insert.text);
    assert_int_equal(setup.memory->diary[0].what, ASKED_WRITE);
    assert_int_equal(setup.memory->diary[1].what, ASKED_WRITE);
    assert_int_equal(setup.memory->diary[2].what, ASKED_GET);
}

static void an_insert_that_was_not_sent_is_sent_again(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    struct write_result result;
    set_up(&setup, "fail=write:1:500:InternalError,fail=write:2:0");
    assert_int_equal(write(&setup, &insert, 1, &call, &result), 0);
    assert_string_equal(result.etag, "version-1");
    assert_int_equal(setup.memory->asked, 1);
}

static void changes_whose_answers_were_lost_were_made(void **state)
{
    (void)state;
    static const struct {
        enum write_kind kind;
        struct bytes text;
    } cases[] = {
        {WRITE_REPLACE, B(TEXT("x", "2"))},
        {WRITE_MERGE, B("{\n  \"m\": 2\n}\n")},
        {WRITE_UPSERT_REPLACE, B(TEXT("x", "2"))},
        {WRITE_UPSERT_MERGE, B("{\n  \"m\": 2\n}\n")},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct write stored = {.position = B("p\0x"), .text = B(TEXT("x", "1"))};
        _cleanup_(tear_down) struct setup setup;
        struct call call;
        struct write_result first, result;
        set_up(&setup, "lost=write:1");
        write_elsewhere(&setup, &stored, &first);
        bool is_upsert = cases[i].kind >= WRITE_UPSERT_REPLACE;
        const struct write change = {.kind = cases[i].kind,
                                     .position = stored.position,
                                     .if_match = bytes_of(is_upsert ? "" : first.etag),
                                     .text = cases[i].text};
        assert_int_equal(write(&setup, &change, 1, &call, &result), 0);
        /* an upsert is simply made again */
        assert_string_equal(result.etag, is_upsert ? "version-3" : "version-2");
        assert_int_equal(result.timestamp, is_upsert ? 3 : 2);
    }
}

static void a_delete_whose_answer_was_lost_was_made(void **state)
{
    (void)state;
    const struct write delete = {
        .kind = WRITE_DELETE, .position = B("p\0r"), .if_match = B("etag"), .text = B("")};
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    struct write_result result;
    set_up(&setup, "lost=delete:1");
    assert_int_equal(write(&setup, &delete, 1, &call, &result), 0);
    assert_string_equal(result.etag, "");
    assert_int_equal(write(&setup, &delete, 1, &call, &result), -ENOENT);
    assert_false(call.failure.is_ambiguous);
}

/* The answer was lost, but of a change that had been refused. */
static void a_real_conflict_stays_one(void **state)
{
    (void)state;
    static const struct {
        enum write_kind kind;
        int error;
        const char *if_match, *rules;
    } cases[] = {
        {WRITE_INSERT, -EEXIST, "", "lost=write:1"},
        {WRITE_REPLACE, -ESTALE, "stale", "lost=write:1"},
        {WRITE_MERGE, -ESTALE, "stale", "lost=write:1"},
        {WRITE_DELETE, -ESTALE, "stale", "lost=delete:1"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct write theirs = {.position = B("p\0x"), .text = B(TEXT("x", "1"))};
        _cleanup_(tear_down) struct setup setup;
        struct call call;
        struct write_result result;
        set_up(&setup, cases[i].rules);
        write_elsewhere(&setup, &theirs, &result);
        const struct write ours = {.kind = cases[i].kind,
                                   .position = theirs.position,
                                   .if_match = bytes_of(cases[i].if_match),
                                   .text =
                                       cases[i].kind == WRITE_DELETE ? B("") : B(TEXT("x", "2"))};
        assert_int_equal(write(&setup, &ours, 1, &call, &result), cases[i].error);
        assert_int_equal(call.failure.error, cases[i].error);
        assert_true(call.failure.is_ambiguous); /* it may have been made, and changed again */
        expect_row(&setup, theirs.position, "version-1", theirs.text);
    }
}

static void a_first_refusal_is_believed(void **state)
{
    (void)state;
    const struct write same = {.position = B("p\0r"), .text = B("p|r")};
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    struct write_result result;
    set_up(&setup, ""); /* the very same text is there: it is another client's all the same */
    assert_int_equal(write(&setup, &same, 1, &call, &result), -EEXIST);
    assert_int_equal(setup.memory->asked, 1);
}

static void what_cannot_be_read_stays_ambiguous(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    struct write_result result;
    set_up(&setup, "lost=write:1,fail=get:1:503:ServerBusy,fail=get:2:403:AuthorizationFailure");
    assert_int_equal(write(&setup, &insert, 1, &call, &result), -EACCES);
    assert_true(call.failure.is_ambiguous);
}

static bool is_cancelled_at_once(void *context)
{
    (void)context;
    return true;
}

static void an_end_after_a_lost_answer_is_ambiguous(void **state)
{
    (void)state;
    static const struct {
        const char *rules;
        bool (*is_cancelled)(void *context);
        int error;
        bool is_ambiguous;
    } cases[] = {
        {"lost=write:1,fail=write:2+:403:AuthorizationFailure", is_cancelled_at_once, -EINTR, true},
        {"lost=write:1,fail=write:2+:403:AuthorizationFailure", NULL, -EACCES, true},
        {"lost=write:1,fail=write:2+:429:TooManyRequests", NULL, -EBUSY,
         true}, /* at the deadline */
        {"fail=write:1+:429:TooManyRequests", NULL, -EBUSY, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(tear_down) struct setup setup;
        struct call call = {.deadline_ms = 60000, .is_cancelled = cases[i].is_cancelled};
        struct write_result result;
        set_up(&setup, cases[i].rules);
        assert_int_equal(table_store_write(setup.store, "one", &insert, 1, &call, &result),
                         cases[i].error);
        assert_int_equal(call.failure.is_ambiguous, cases[i].is_ambiguous);
    }
}

static void a_batch_that_was_refused_names_its_write(void **state)
{
    (void)state;
    const struct write writes[] = {
        {.position = B("p\0a"), .text = B(TEXT("a", "1"))},
        {.kind = WRITE_UPSERT_REPLACE, .position = B("p\0b"), .text = B(TEXT("b", "2"))},
        {.kind = WRITE_DELETE, .position = B("p\0r"), .if_match = B("etag"), .text = B("")},
    };
    const struct write theirs = {.position = B("p\0a"), .text = B(TEXT("a", "7"))};
    struct setup setup;
    struct call call;
    struct write_result results[3];
    set_up(&setup, "lost=batch:1");
    write_elsewhere(&setup, &theirs, results);
    assert_int_equal(write(&setup, writes, 3, &call, results), -EEXIST);
    assert_int_equal(call.failure.operation, 0);
    assert_false(call.failure.is_ambiguous); /* the row that it deletes is as it was */
    assert_int_equal(setup.memory->asked, 1 + 2 + 1);
    table_store_destroy(setup.store);

    set_up(&setup, "refuse=2:412:UpdateConditionNotSatisfied");
    assert_int_equal(write(&setup, writes, 3, &call, results), -ESTALE);
    assert_int_equal(call.failure.operation, 1);
    assert_string_equal(call.failure.code, "UpdateConditionNotSatisfied");
    assert_int_equal(setup.memory->asked, 0);
    assert_int_equal(write(&setup, writes, 1, &call, results), 0); /* no batch */
    table_store_destroy(setup.store);
}

static void tables_whose_answers_were_lost_were_changed(void **state)
{
    (void)state;
    struct setup setup;
    struct call call = {.deadline_ms = 60000};
    set_up(&setup, "lost=create_table:1,lost=delete_table:1");
    assert_int_equal(table_store_create_table(setup.store, "two", &call), 0);
    assert_int_equal(call.failure.error, 0);
    assert_int_equal(table_store_create_table(setup.store, "two", &call), -EEXIST);
    assert_int_equal(table_store_delete_table(setup.store, "one", &call), 0);
    assert_int_equal(call.failure.error, 0);
    assert_int_equal(table_store_delete_table(setup.store, "one", &call), -ENOENT);
    table_store_destroy(setup.store);
    set_up(&setup, "lost=create_table:1,fail=create_table:2:409:TableBeingDeleted");
    assert_int_equal(table_store_create_table(setup.store, "two", &call), -EBUSY);
    assert_true(call.failure.is_ambiguous);
    table_store_destroy(setup.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_insert_whose_answer_was_lost_was_made),
        cmocka_unit_test(an_insert_that_was_not_sent_is_sent_again),
        cmocka_unit_test(changes_whose_answers_were_lost_were_made),
        cmocka_unit_test(a_delete_whose_answer_was_lost_was_made),
        cmocka_unit_test(a_real_conflict_stays_one),
        cmocka_unit_test(a_first_refusal_is_believed),
        cmocka_unit_test(what_cannot_be_read_stays_ambiguous),
        cmocka_unit_test(an_end_after_a_lost_answer_is_ambiguous),
        cmocka_unit_test(a_batch_that_was_refused_names_its_write),
        cmocka_unit_test(tables_whose_answers_were_lost_were_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
