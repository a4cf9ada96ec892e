/* SPDX-License-Identifier: MIT */
/* A batch that is refused is repaired: what becomes of each change, and how many requests it takes.
 */
#include "tests/unit/cache/queue/batches_fixture.h"
#include "tests/unit/failing_memory.h"

static struct setup setup; /* large */

/* Over a table that has rows 0 to n - 1. */
static void begin(const char *faults, int n)
{
    set_up(&setup, (struct fetching_options){.faults = faults});
    fetching_add_rows(&setup.fetching, "p", n);
}

static void a_batch_is_one_request(void **state)
{
    (void)state;
    begin(NULL, 100);
    add_deletes(&setup, 0, 98);
    add_write(&setup, 98, WRITE_REPLACE, "{\n}\n");
    add_write(&setup, 100, WRITE_INSERT, "{\n}\n");
    commit(&setup);
    assert_int_equal(count_ends(&setup, BATCH_MADE), 100);
    assert_told(&setup, "98 stored;100 stored;");
    assert_requests(&setup, "W100");
    assert_known(&setup, 97, "");
    assert_known(&setup, 98, "{\n}\n");
    assert_known(&setup, 99, NULL);
    assert_known(&setup, 100, "{\n}\n");
    tear_down(&setup);
}

/* Two `rm -r` of one directory. */
static void rows_that_are_gone_cost_one_read(void **state)
{
    (void)state;
    static const struct {
        int first, gone; /* every second from the first on */
        const char *requests;
    } cases[] = {
        {0, 1, "W100 Q W99"},  {99, 1, "W100 G W99"}, {0, 50, "W100 Q W50"},
        {1, 50, "W100 Q W50"}, {0, 100, "W100 Q"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int step = cases[i].gone == 100 ? 1 : 2;
        begin(NULL, 100);
        for (int k = 0; k < cases[i].gone; k++)
            another_client(&setup, WRITE_DELETE, cases[i].first + k * step, NULL);
        add_deletes(&setup, 0, 100);
        commit(&setup);
        assert_int_equal(count_ends(&setup, BATCH_MADE), 100);
        assert_told(&setup, "");
        assert_requests(&setup, cases[i].requests);
        for (int row = 0; row < 100; row++)
            assert_known(&setup, row, "");
        tear_down(&setup);
    }
}

static void another_version_is_not_deleted(void **state)
{
    (void)state;
    for (int row = 0; row < 100; row += 33) {
        char told[32];
        begin(NULL, 100);
        another_client(&setup, WRITE_UPSERT_REPLACE, row, "younger");
        add_deletes(&setup, 0, 100);
        commit(&setup);
        assert_int_equal(count_ends(&setup, BATCH_MADE), 99);
        assert_int_equal(setup.batch.changes[row].end, BATCH_FAILED);
        assert_string_equal(setup.batch.changes[row].failure.message,
                            "another client has changed the entity since it was shown: it is not "
                            "deleted");
        (void)snprintf(told, sizeof(told), "%d ESTALE;", row);
        assert_told(&setup, told);
        assert_requests(&setup, row == 99 ? "W100 G W99" : "W100 Q W99");
        for (int i = 0; i < 100; i++)
            assert_known(&setup, i, i == row ? "younger" : "");
        tear_down(&setup);
    }
}

static void texts_fail_alone(void **state)
{
    (void)state;
    begin(NULL, 6);
    another_client(&setup, WRITE_UPSERT_REPLACE, 1, "younger");
    another_client(&setup, WRITE_DELETE, 2, NULL);
    add_write(&setup, 0, WRITE_REPLACE, "{\n}\n");
    add_write(&setup, 1, WRITE_REPLACE, "{\n}\n");
    add_write(&setup, 2, WRITE_REPLACE, "{\n}\n");
    add_write(&setup, 3, WRITE_INSERT, "{\n}\n");
    add_write(&setup, 4, WRITE_UPSERT_REPLACE, "{\n}\n");
    add_write(&setup, 7, WRITE_INSERT, "{\n}\n");
    commit(&setup);
    assert_told(&setup, "1 ESTALE;2 ESTALE;3 EEXIST;0 stored;4 stored;7 stored;");
    assert_string_equal(setup.batch.changes[1].failure.message,
                        "another client has changed the entity since it was read");
    assert_string_equal(setup.batch.changes[2].failure.message,
                        "another client has deleted the entity");
    assert_string_equal(setup.batch.changes[3].failure.message,
                        "another client has stored an entity of this name");
    assert_requests(&setup, "W6 Q W3");
    assert_known(&setup, 0, "{\n}\n");
    assert_known(&setup, 1, "younger");
    assert_known(&setup, 2, "");
    assert_known(&setup, 3, "p|00003");
    assert_known(&setup, 7, "{\n}\n");
    tear_down(&setup);
}

/* The pages of the service are shorter than the batch: each read shows some of its rows. */
static void a_repair_goes_on_behind_a_page(void **state)
{
    (void)state;
    set_up(&setup, (struct fetching_options){0});
    setup.fetching.memory->max_rows = 4;
    fetching_add_rows(&setup.fetching, "p", 12);
    for (int row = 0; row < 12; row += 2)
        another_client(&setup, WRITE_UPSERT_REPLACE, row, "younger");
    add_deletes(&setup, 0, 12);
    commit(&setup);
    assert_told(&setup, "0 ESTALE;2 ESTALE;4 ESTALE;6 ESTALE;8 ESTALE;10 ESTALE;");
    assert_int_equal(count_ends(&setup, BATCH_MADE), 6);
    assert_requests(&setup, "W12 Q W10 G W9 G G W8 G G G G W6");
    tear_down(&setup);
}

static void another_refusal_of_a_row_ends_that_one(void **state)
{
    (void)state;
    begin("refuse=2:400:PropertyNameInvalid", 4);
    add_deletes(&setup, 0, 4); /* of each batch the second is refused; the last one goes alone */
    commit(&setup);
    assert_told(&setup, "1 EINVAL;2 EINVAL;3 EINVAL;");
    assert_int_equal(setup.batch.changes[0].end, BATCH_MADE);
    assert_string_equal(setup.batch.changes[1].failure.code, "PropertyNameInvalid");
    assert_requests(&setup, "W1");
    assert_known(&setup, 0, "");
    assert_known(&setup, 1, NULL);
    tear_down(&setup);
}

static int bad_row, bad_error;

/* Refuses what has the bad row in it, and does not tell which one it is. */
static int refuse_bad_row(struct memory_store *memory, size_t number, struct call *call)
{
    const struct memory_store_entry *entry = &memory->diary[number - 1];
    return entry->what == ASKED_WRITE && row_number(buffer_bytes(&entry->lo)) <= bad_row &&
                   row_number(buffer_bytes(&entry->hi)) >= bad_row
               ? call_fail(call, bad_error, "bad")
               : 0;
}

static void a_refusal_without_a_row_halves_the_batch(void **state)
{
    (void)state;
    static const char *const requests[] = {"W8 W4 W2 W1 W1 W2 W4", "W8 W4 W2 W2 W1 W1 W4",
                                           "W8 W4 W4 W2 W2 W1 W1"};
    static const int rows[] = {0, 3, 7};
    for (int i = 0; i < 3; i++) {
        char told[32];
        begin(NULL, 8);
        bad_row = rows[i];
        bad_error = i == 1 ? -EFBIG : -EINVAL;
        setup.fetching.memory->fault = refuse_bad_row;
        add_deletes(&setup, 0, 8);
        commit(&setup);
        (void)snprintf(told, sizeof(told), "%d %s;", bad_row, strerrorname_np(-bad_error));
        assert_told(&setup, told);
        assert_int_equal(count_ends(&setup, BATCH_MADE), 7);
        assert_requests(&setup, requests[i]);
        tear_down(&setup);
    }
}

static void a_refusal_of_all_fails_all(void **state)
{
    (void)state;
    begin("fail=batch:*:403:AuthorizationFailure", 3);
    add_deletes(&setup, 0, 3);
    commit(&setup);
    assert_told(&setup, "0 EACCES;1 EACCES;2 EACCES;");
    assert_int_equal(setup.batch.again.error, 0);
    assert_requests(&setup, "");
    tear_down(&setup);
}

static void without_the_table_deletes_are_made(void **state)
{
    (void)state;
    set_up(&setup, (struct fetching_options){0});
    setup.fetching.memory->checks_tables = true;
    add_deletes(&setup, 0, 2);
    add_write(&setup, 2, WRITE_INSERT, "{\n}\n");
    add_deletes(&setup, 3, 1);
    commit(&setup);
    assert_told(&setup, "2 ENOENT;");
    assert_int_equal(count_ends(&setup, BATCH_MADE), 3);
    assert_requests(&setup, "W4");
    forget_batch(&setup);
    add_deletes(&setup, 0, 1); /* the same alone */
    commit(&setup);
    assert_told(&setup, "");
    assert_int_equal(count_ends(&setup, BATCH_MADE), 1);
    assert_requests(&setup, "W1");
    tear_down(&setup);
}

/* Another client drops the table: the service refuses changes of its rows for a while. */
static void in_a_table_that_is_being_deleted_deletes_are_made(void **state)
{
    (void)state;
    static const char *const faults[] = {
        "fail=batch:*:409:TableBeingDeleted", /* and of the repair: */
        "refuse=2:404:ResourceNotFound,fail=query:*:409:TableBeingDeleted"};
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        begin(faults[i], 4);
        add_deletes(&setup, 0, 2);
        add_write(&setup, 2, WRITE_UPSERT_REPLACE, "{\n}\n");
        add_deletes(&setup, 3, 1);
        commit(&setup);
        assert_told(&setup, "2 EBUSY;");
        assert_int_equal(count_ends(&setup, BATCH_MADE), 3);
        assert_string_equal(setup.batch.changes[2].failure.code, "TableBeingDeleted");
        assert_requests(&setup, "");
        assert_known(&setup, 0, "");
        assert_known(&setup, 2, NULL);
        assert_known(&setup, 3, "");
        tear_down(&setup);
    }
}

/* It is dropped between the refusal of a row and its repair. */
static int drop_before_query(struct memory_store *memory, size_t number, struct call *call)
{
    (void)call;
    if (memory->diary[number - 1].what == ASKED_QUERY)
        memory_store_remove_table(memory, "t");
    return 0;
}

static void a_table_that_goes_during_the_repair_is_gone(void **state)
{
    (void)state;
    set_up(&setup, (struct fetching_options){0});
    memory_store_add_table(setup.fetching.memory, "t");
    setup.fetching.memory->checks_tables = true;
    setup.fetching.memory->fault = drop_before_query;
    fetching_add_rows(&setup.fetching, "p", 3);
    another_client(&setup, WRITE_DELETE, 1, NULL);
    add_deletes(&setup, 0, 3);
    add_write(&setup, 5, WRITE_INSERT, "{\n}\n");
    commit(&setup);
    assert_told(&setup, "5 ENOENT;");
    assert_int_equal(count_ends(&setup, BATCH_MADE), 3);
    assert_requests(&setup, "W4 Q");
    tear_down(&setup);
}

static void what_was_made_before_a_lost_answer_is_recognised(void **state)
{
    (void)state;
    begin("lost=batch:1", 4);
    add_deletes(&setup, 0, 2);
    add_write(&setup, 2, WRITE_REPLACE, "{\n}\n");
    add_write(&setup, 3, WRITE_UPSERT_REPLACE, "{\n}\n");
    add_write(&setup, 5, WRITE_INSERT, "{\n}\n");
    commit(&setup);
    assert_int_equal(count_ends(&setup, BATCH_AGAIN), 5);
    assert_true(setup.batch.again.is_ambiguous);
    assert_told(&setup, "");
    assert_requests(&setup, "W5");
    commit_again(&setup); /* the upsert is made twice */
    assert_int_equal(count_ends(&setup, BATCH_MADE), 5);
    assert_told(&setup, "2 stored;5 stored;3 stored;");
    assert_requests(&setup, "W5 Q W1");
    assert_known(&setup, 0, "");
    assert_known(&setup, 2, "{\n}\n");
    assert_known(&setup, 5, "{\n}\n");
    tear_down(&setup);
}

/* A query was sent before the batch, and its answer comes late: it brings no old row back, although
 * the cache has no room for the new one. */
static void what_is_recognised_is_younger_than_older_queries(void **state)
{
    (void)state;
    set_up(&setup, (struct fetching_options){.faults = "lost=batch:1", .cache_bytes = 1});
    fetching_add_rows(&setup.fetching, "p", 3);
    struct fetching *fetching = &setup.fetching;
    struct stamp sent = stamp_take(&fetching->orders, fetching->now_ms);
    struct page *old = NULL, *other = NULL;
    add_write(&setup, 0, WRITE_REPLACE, "{\n}\n");
    add_write(&setup, 1, WRITE_REPLACE, "{\n}\n");
    commit(&setup);
    commit_again(&setup);
    assert_told(&setup, "0 stored;1 stored;");
    assert_int_equal(page_create_row(B("q\0r"), B("text"), B("etag"), 1, &other), 0);
    struct stamp later = stamp_take(&fetching->orders, fetching->now_ms);
    assert_int_equal(range_cache_put(fetching->cache, "t", other, later), 0);
    assert_known(&setup, 0, NULL);
    assert_int_equal(page_create_row(setup.batch.writes[0].position, B("old"), B("etag"), 1, &old),
                     0);
    assert_int_equal(range_cache_put(fetching->cache, "t", old, sent), 0);
    assert_known(&setup, 0, NULL);
    page_unref(old);
    page_unref(other);
    tear_down(&setup);
}

/* retrying_store reads what is there before it believes the refusal. */
static void a_lost_answer_is_found_out_under_retries(void **state)
{
    (void)state;
    set_up(&setup, (struct fetching_options){.faults = "lost=batch:1", .retries = true});
    fetching_add_rows(&setup.fetching, "p", 100);
    add_deletes(&setup, 0, 100);
    commit(&setup);
    assert_int_equal(count_ends(&setup, BATCH_MADE), 100);
    assert_told(&setup, "");
    assert_requests(&setup, "W100 W100 Q");
    tear_down(&setup);
}

static void what_the_service_does_not_take_stays(void **state)
{
    (void)state;
    static const struct {
        const char *faults;
        int error;
        bool is_unanswered;
    } cases[] = {
        {"fail=batch:1:0:", -EIO, true},
        {"fail=batch:1:503:ServerBusy", -EBUSY, false},
        {"fail=batch:1:500:InternalError", -EIO, false},
        {"fail=query:1:503:ServerBusy", -EBUSY, false}, /* of the repair */
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        set_up(&setup, (struct fetching_options){.faults = cases[i].faults});
        fetching_add_rows(&setup.fetching, "p", 3);
        another_client(&setup, WRITE_DELETE, 1, NULL);
        add_deletes(&setup, 0, 3);
        commit(&setup);
        assert_int_equal(count_ends(&setup, BATCH_AGAIN), 3);
        assert_int_equal(setup.batch.again.error, cases[i].error);
        assert_int_equal(setup.batch.again.is_unanswered, cases[i].is_unanswered);
        assert_told(&setup, "");
        commit_again(&setup);
        assert_int_equal(count_ends(&setup, BATCH_MADE), 3);
        assert_told(&setup, "");
        tear_down(&setup);
    }
}

/* The first half is made, then the service goes: only the rest is sent again. */
static int fail_third(struct memory_store *memory, size_t number, struct call *call)
{
    if (number != 3)
        return number == 1 ? call_fail(call, -EINVAL, "bad") : 0;
    (void)memory;
    (void)call_fail(call, -EAGAIN, "throttled");
    call->failure.is_retryable = true;
    return -EAGAIN;
}

static void what_has_ended_is_not_sent_again(void **state)
{
    (void)state;
    begin(NULL, 8);
    setup.fetching.memory->fault = fail_third;
    add_deletes(&setup, 0, 8);
    commit(&setup);
    assert_int_equal(count_ends(&setup, BATCH_MADE), 4);
    assert_int_equal(count_ends(&setup, BATCH_AGAIN), 4);
    assert_int_equal(setup.batch.again.error, -EAGAIN);
    assert_requests(&setup, "W8 W4 W4");
    setup.fetching.memory->fault = NULL;
    commit_again(&setup);
    assert_requests(&setup, "W4");
    assert_int_equal(count_ends(&setup, BATCH_MADE), 4);
    tear_down(&setup);
}

static void a_cancelled_batch_stays(void **state)
{
    (void)state;
    begin(NULL, 3);
    gate_store_let(setup.fetching.store, 0);
    setup.is_cancelled = true;
    add_deletes(&setup, 0, 3);
    commit(&setup);
    assert_int_equal(count_ends(&setup, BATCH_AGAIN), 3);
    assert_int_equal(setup.batch.again.error, -EINTR);
    assert_requests(&setup, "");
    tear_down(&setup);
}

/* Rows that others stand between: a page has one or two of the batch. */
static void sparse_rows_are_got_one_by_one(void **state)
{
    (void)state;
    static const struct {
        int there;
        const char *requests;
    } cases[] = {
        {0, "W16"},
        {1, "W16 Q W15"},
        {3, "W16 Q W14 G W13"},
        {16, "W16 Q W14 G W13 G G W11 G G G G W7 G G G G G G G"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        set_up(&setup, (struct fetching_options){0});
        setup.fetching.memory->max_rows = 10;
        for (int row = 0; row < 9 * cases[i].there; row++)
            another_client(&setup, WRITE_UPSERT_REPLACE, row, "other");
        for (int row = 0; row < 16; row++)
            add_write(&setup, 9 * row, WRITE_INSERT, "{\n}\n");
        for (int row = 0; i == 1 && row < 200; row++)
            if (row % 9)
                another_client(&setup, WRITE_UPSERT_REPLACE, row, "other");
        commit(&setup);
        assert_int_equal(count_ends(&setup, BATCH_FAILED), cases[i].there);
        assert_int_equal(count_ends(&setup, BATCH_MADE), 16 - cases[i].there);
        assert_requests(&setup, cases[i].requests);
        tear_down(&setup);
    }
}

static int fail_seventh(struct memory_store *memory, size_t number, struct call *call)
{
    (void)memory;
    return number == 7 ? call_fail(call, -EINVAL, "bad") : 0;
}

/* The get before it has ended a change already: each change ends once, for its own reason. */
static void a_get_that_fails_behind_another_one_ends_nothing(void **state)
{
    (void)state;
    set_up(&setup, (struct fetching_options){0});
    setup.fetching.memory->max_rows = 10;
    for (int row = 0; row < 72; row++)
        another_client(&setup, WRITE_UPSERT_REPLACE, row, "other");
    for (int row = 0; row < 8; row++)
        add_write(&setup, 9 * row, WRITE_INSERT, "{\n}\n");
    setup.fetching.memory->fault = fail_seventh;
    commit(&setup);
    assert_told(&setup, "0 EEXIST;9 EEXIST;18 EEXIST;27 EEXIST;36 EEXIST;45 EEXIST;54 EEXIST;"
                        "63 EEXIST;");
    assert_int_equal(count_ends(&setup, BATCH_FAILED), 8);
    assert_requests(&setup, "W8 Q W6 G W5 G G W4 G G G G");
    tear_down(&setup);
}

/* Before each batch another client deletes one row more, from the last to the first. */
static int delete_one_more(struct memory_store *memory, size_t number, struct call *call)
{
    static int next;
    (void)call;
    if (number == 1)
        next = 99;
    const struct memory_store_entry *entry = &memory->diary[number - 1];
    if (entry->what == ASKED_WRITE && entry->writes > 1)
        another_client(&setup, WRITE_DELETE, next--, NULL);
    return 0;
}

static void a_row_that_is_gone_is_never_a_failure(void **state)
{
    (void)state;
    begin(NULL, 100);
    setup.fetching.memory->fault = delete_one_more;
    add_deletes(&setup, 0, 100);
    commit(&setup);
    assert_told(&setup, "");
    assert_int_equal(count_ends(&setup, BATCH_MADE), 100);
    assert_int_equal(setup.fetching.memory->asked, 99 + 100); /* a repair for each */
    tear_down(&setup);
}

static int answer_later(struct memory_store *memory, size_t number, struct call *call)
{
    (void)memory;
    (void)number;
    (void)call;
    setup.fetching.now_ms += TTL_MS / 4;
    return 0;
}

/* A row that was gone may be there again when the answer arrives: so what is known is as old as the
 * request. */
static void what_is_gone_is_as_old_as_the_request(void **state)
{
    (void)state;
    static const struct {
        bool has_table, is_alone;
        const char *requests;
        int64_t after_ms; /* the request that shows it */
    } cases[] = {
        {true, false, "W2 Q W1", TTL_MS / 4}, /* the repair's read */
        {true, true, "W1", 0},                /* the delete */
        {false, false, "W2", 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        set_up(&setup, (struct fetching_options){0});
        setup.fetching.memory->checks_tables = !cases[i].has_table;
        setup.fetching.memory->fault = answer_later;
        int64_t begun_ms = setup.fetching.now_ms;
        add_deletes(&setup, 1, 1);
        if (!cases[i].is_alone)
            add_write(&setup, 3, WRITE_INSERT, "{\n}\n");
        commit(&setup);
        assert_int_equal(setup.batch.changes[0].end, BATCH_MADE);
        assert_requests(&setup, cases[i].requests);
        assert_int_equal(assert_known(&setup, 1, ""), begun_ms + cases[i].after_ms);
        tear_down(&setup);
    }
}

static long failing_later;

static void hold_failure(void *context)
{
    (void)context;
    failing_later = allocations_until_failure;
    allocations_until_failure = 0;
}

static int go_on_to_failure(void *context, bool is_change, int r, struct call *call)
{
    (void)context;
    (void)is_change;
    (void)call;
    allocations_until_failure = failing_later;
    return r;
}

/* Each change has an end at each allocation that fails; what is still to be sent is made then. */
static void without_memory_nothing_is_lost(void **state)
{
    (void)state;
    for (long failing = 1;; failing++) {
        const struct store_hooks hooks = {hold_failure, go_on_to_failure, NULL};
        set_up_with(&setup, (struct fetching_options){0}, &hooks);
        assert_non_null(buffer_reserve(&setup.told, 1000));
        fetching_add_rows(&setup.fetching, "p", 4);
        another_client(&setup, WRITE_DELETE, 1, NULL);
        another_client(&setup, WRITE_UPSERT_REPLACE, 2, "younger");
        add_deletes(&setup, 0, 4);
        add_write(&setup, 5, WRITE_INSERT, "{\n}\n");
        allocations_until_failure = failing;
        commit(&setup);
        bool was_failure = allocations_until_failure == 0;
        allocations_until_failure = 0;
        if (count_ends(&setup, BATCH_AGAIN) > 0) {
            assert_true(setup.batch.again.error < 0);
            commit_again(&setup);
        }
        assert_int_equal(count_ends(&setup, BATCH_AGAIN), 0);
        assert_non_null(strstr(buffer_string(&setup.told), "2 ESTALE;"));
        assert_non_null(strstr(buffer_string(&setup.told), "5 stored"));
        tear_down(&setup);
        if (!was_failure)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_one_request),
        cmocka_unit_test(rows_that_are_gone_cost_one_read),
        cmocka_unit_test(another_version_is_not_deleted),
        cmocka_unit_test(texts_fail_alone),
        cmocka_unit_test(a_repair_goes_on_behind_a_page),
        cmocka_unit_test(another_refusal_of_a_row_ends_that_one),
        cmocka_unit_test(a_refusal_without_a_row_halves_the_batch),
        cmocka_unit_test(a_refusal_of_all_fails_all),
        cmocka_unit_test(without_the_table_deletes_are_made),
        cmocka_unit_test(in_a_table_that_is_being_deleted_deletes_are_made),
        cmocka_unit_test(a_table_that_goes_during_the_repair_is_gone),
        cmocka_unit_test(what_was_made_before_a_lost_answer_is_recognised),
        cmocka_unit_test(what_is_recognised_is_younger_than_older_queries),
        cmocka_unit_test(a_lost_answer_is_found_out_under_retries),
        cmocka_unit_test(what_the_service_does_not_take_stays),
        cmocka_unit_test(what_has_ended_is_not_sent_again),
        cmocka_unit_test(a_cancelled_batch_stays),
        cmocka_unit_test(sparse_rows_are_got_one_by_one),
        cmocka_unit_test(a_get_that_fails_behind_another_one_ends_nothing),
        cmocka_unit_test(a_row_that_is_gone_is_never_a_failure),
        cmocka_unit_test(what_is_gone_is_as_old_as_the_request),
        cmocka_unit_test(without_memory_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
