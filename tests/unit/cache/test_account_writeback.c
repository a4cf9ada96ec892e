/* SPDX-License-Identifier: MIT */
/* Texts that are queued: with -o writeback. */
#include "tests/unit/cache/account_queueing.h"

#define ONE "{\"a\": 1}"
#define TWO "{\"a\": 2}"
#define X   P_ROW("x")

static void set_up_writeback(struct setup *setup)
{
    set_up_queue(setup, (struct setup_options){.is_write_back = true});
    memory_store_add_table(setup->memory, "t");
}

static int unlink_x(struct setup *setup, struct bytes etag)
{
    int r = account_unlink(setup->account, caller_of(setup), address_of(X), etag, PATH);
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

DEFINE_FIXTURE(writeback, struct setup, set_up_writeback(test), tear_down_queue(test))

static void a_queued_text_is_there(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(list(setup, ROWS_OF("p"), false), 0);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(store_text(setup, EDIT_NEW, X, ONE), 0);
    assert_found(setup, X, TEXT_OF("x", "1"));
    assert_int_equal(setup->caller.valid_ms, 0);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 1);
    assert_partition_found(setup, "p", 0);
    assert_request_count(setup, 0);
    assert_int_equal(sync_all(setup), 0);
    assert_requests(setup, "write p/x");
    assert_found(setup, X, TEXT_OF("x", "1"));
    assert_int_equal(list(setup, ROWS_OF("p"), false), 1);
    assert_request_count(setup, 0);
}

/* The clock stands still: what waits for a place does not wait until an old change is due. */
static void more_partitions_than_places_take_turns(void **state)
{
    struct setup *setup = *state;
    for (int i = 0; i < 2 * (PENDING_PARTITIONS_MAX + 100); i++) {
        char position[32];
        int size = snprintf(position, sizeof(position), "p%d%crow%d",
                            i % (PENDING_PARTITIONS_MAX + 100), '\0', i);
        struct bytes bytes = {position, (size_t)size};
        assert_int_equal(store_text(setup, EDIT_NEW, bytes, ONE), 0);
    }
    assert_int_equal(sync_all(setup), 0);
}

static void one_file_is_synced_alone(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(store_text(setup, EDIT_NEW, X, ONE), 0);
    assert_int_equal(store_text(setup, EDIT_NEW, B("q\0x"), ONE), 0);
    assert_int_equal(account_sync_entity(setup->account, caller_of(setup), address_of(X)), 0);
    assert_requests(setup, "write p/x");
    assert_int_equal(metric(setup, "tablefuse_queued"), 1);
    assert_int_equal(account_sync(setup->account, caller_of(setup), NULL, RANGE_ALL), 0);
    assert_requests(setup, "write q/x");
}

static void a_hundred_texts_are_one_request(void **state)
{
    struct setup *setup = *state;
    char position[16];
    for (int i = 0; i < 100; i++) {
        int size = snprintf(position, sizeof(position), "p%c%05d", '\0', i);
        struct bytes bytes = {position, (size_t)size};
        assert_int_equal(store_text(setup, EDIT_NEW, bytes, ONE), 0);
    }
    while (metric(setup, "tablefuse_queued") > 0) /* no time passes: the batch is full */
        (void)usleep(500);
    assert_requests(setup, "write p/00000 and p/00099");
}

static void a_second_text_waits_for_the_first(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(store_text(setup, EDIT_NEW, X, ONE), 0);
    assert_int_equal(store_text(setup, EDIT_OVER, X, TWO), 0);
    assert_requests(setup, "write p/x"); /* the first */
    assert_found(setup, X, TEXT_OF("x", "2"));
    assert_int_equal(sync_all(setup), 0);
    assert_requests(setup, "write p/x");
    assert_found(setup, X, TEXT_OF("x", "2"));
}

static void what_is_appended_waits_and_is_stored_at_once(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(store_text(setup, EDIT_NEW, X, ONE), 0);
    assert_int_equal(store_text(setup, EDIT_APPENDED, X, "{\"b\": 2}"), 0);
    assert_requests(setup, "write p/x, write p/x");
    assert_found(setup, X,
                 "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"x\",\n  \"a\": 1,\n  \"b\": "
                 "2\n}\n");
}

/* Queues a new text of x. What learns its ETag. */
static struct later_etag *queue_x(struct setup *setup)
{
    const struct edit edit = {.address = address_of(X), .begin = EDIT_NEW, .text = bytes_of(ONE)};
    struct entity entity = {0};
    assert_int_equal(account_store(setup->account, caller_of(setup), &edit, &entity), 0);
    assert_bytes(page_etag(entity.page, entity.row), B(""));
    struct later_etag *later = later_etag_ref(page_later_etag(entity.page));
    assert_bytes(later_etag_get(later), B(""));
    entity_finish(&entity);
    return later;
}

static void what_goes_on_with_a_store_is_stored_at_once(void **state)
{
    struct setup *setup = *state;
    char etag[32];
    _cleanup_(later_etag_unrefp) struct later_etag *queued = queue_x(setup);
    struct edit edit = {
        .address = address_of(X), .begin = EDIT_NEW, .text = bytes_of(TWO), .queued = queued};
    assert_int_equal(store(setup, &edit, etag), 0);
    assert_string_not_equal(etag, "");
    assert_int_equal(metric(setup, "tablefuse_queued"), 0);
    assert_found(setup, X, TEXT_OF("x", "2"));
    edit.queued = NULL;
    edit.last_stored = bytes_of(etag);
    edit.text = bytes_of(ONE);
    assert_int_equal(store(setup, &edit, NULL), 0);
    assert_int_equal(metric(setup, "tablefuse_queued"), 0);
    assert_found(setup, X, TEXT_OF("x", "1"));
}

/* The version counts, not the text. */
static void a_queued_text_is_not_taken_for_an_equal_one(void **state)
{
    struct setup *setup = *state;
    _cleanup_(later_etag_unrefp) struct later_etag *queued = queue_x(setup);
    assert_int_equal(sync_all(setup), 0);
    another_stores(setup, X, TEXT_OF("x", "1"));
    struct edit edit = {
        .address = address_of(X), .begin = EDIT_NEW, .text = bytes_of(TWO), .queued = queued};
    assert_int_equal(store(setup, &edit, NULL), -ESTALE);
    assert_found(setup, X, TEXT_OF("x", "1"));
}

/* A touch adopts no other client's version, either. */
static void a_queued_text_is_touched_as_its_version(void **state)
{
    (void)state;
    struct setup setup;
    for (int is_changed = 0; is_changed <= 1; is_changed++) {
        set_up_writeback(&setup);
        _cleanup_(later_etag_unrefp) struct later_etag *queued = queue_x(&setup);
        struct entity entity = {0};
        assert_int_equal(sync_all(&setup), 0);
        if (is_changed)
            another_stores(&setup, X, TEXT_OF("x", "3"));
        assert_int_equal(
            account_touch(setup.account, caller_of(&setup), address_of(X), B(""), queued, &entity),
            0);
        assert_int_equal(entity.page == NULL, is_changed);
        entity_finish(&entity);
        tear_down_queue(&setup);
    }
}

static int replace_x(struct setup *setup, bool is_renamed)
{
    if (is_renamed)
        return rename_to(setup, P_ROW("y"), X, EDIT_OVER, NULL);
    return store_text(setup, EDIT_OVER, X, TWO);
}

/* By a process that has read it while it was queued, or by one of those that cannot be seen. */
static void what_was_read_while_queued_has_its_version(void **state)
{
    (void)state;
    struct setup setup;
    for (int i = 0; i < 8; i++) {
        bool is_unseen = i & 1, is_renamed = i & 2, is_read_late = i & 4;
        set_up_writeback(&setup);
        another_stores(&setup, P_ROW("y"), TEXT_OF("y", "5"));
        later_etag_unref(queue_x(&setup));
        struct entity queued = {0};
        setup.process = is_unseen ? NO_PROCESS : RM;
        assert_int_equal(account_find(setup.account, caller_of(&setup), address_of(X), &queued), 0);
        if (is_read_late)
            assert_int_equal(sync_all(&setup), 0);
        account_opened(setup.account, &setup.caller, address_of(X), &queued);
        entity_finish(&queued);
        assert_int_equal(sync_all(&setup), 0);
        another_stores(&setup, X, TEXT_OF("x", "3"));
        int r = replace_x(&setup, is_renamed);
        if (r == 0) /* it is queued */
            r = sync_all(&setup);
        assert_int_equal(r, -ESTALE);
        assert_lost(is_renamed ? "" : "write t p/x ESTALE;");
        assert_found(&setup, X, TEXT_OF("x", "3"));
        tear_down_queue(&setup);
    }
}

/* Another client was first: the text that was read is nowhere. A process that has read it is told
 * once. */
static void what_was_read_and_then_refused_is_not_replaced(void **state)
{
    (void)state;
    struct setup setup;
    for (int is_renamed = 0; is_renamed <= 1; is_renamed++) {
        set_up_writeback(&setup);
        another_stores(&setup, P_ROW("y"), TEXT_OF("y", "5"));
        assert_int_equal(list(&setup, ROWS_OF("p"), false), 1);
        another_stores(&setup, X, TEXT_OF("x", "3"));
        assert_int_equal(store_text(&setup, EDIT_EXCLUSIVE, X, ONE), 0);
        setup.process = RM;
        open_row(&setup, X);
        assert_int_equal(sync_all(&setup), -EEXIST);
        assert_lost("write t p/x EEXIST;");
        memory_store_forget_diary(setup.memory);
        assert_int_equal(replace_x(&setup, is_renamed), -ESTALE);
        assert_requests(&setup, "");
        assert_found(&setup, X, TEXT_OF("x", "3"));
        assert_int_equal(store_text(&setup, EDIT_OVER, X, TWO), 0);
        assert_int_equal(sync_all(&setup), 0);
        assert_found(&setup, X, TEXT_OF("x", "2"));
        tear_down_queue(&setup);
    }
}

static int deny(struct memory_store *store, size_t number, struct call *call)
{
    (void)store;
    (void)number;
    return call_fail(call, -EACCES, "not authorized");
}

/* Whatever the reason was, the text is not stored, and another client's version may be there. */
static void what_was_read_and_then_denied_is_not_replaced(void **state)
{
    (void)state;
    struct setup setup;
    for (int i = 0; i < 4; i++) {
        bool is_unseen = i & 1, is_renamed = i & 2;
        set_up_writeback(&setup);
        another_stores(&setup, P_ROW("y"), TEXT_OF("y", "5"));
        later_etag_unref(queue_x(&setup));
        setup.process = is_unseen ? NO_PROCESS : RM;
        open_row(&setup, X);
        setup.memory->fault = deny;
        assert_int_equal(sync_all(&setup), -EACCES);
        setup.memory->fault = NULL;
        assert_lost("write t p/x EACCES;");
        another_stores(&setup, X, TEXT_OF("x", "3"));
        memory_store_forget_diary(setup.memory);
        assert_int_equal(replace_x(&setup, is_renamed), -ESTALE);
        assert_non_null(setup.caller.call.failure.advice);
        assert_null(strstr(setup.caller.call.failure.advice, "another client"));
        assert_requests(&setup, is_renamed ? "rows [p/y p+) 4" : "");
        assert_found(&setup, X, TEXT_OF("x", "3"));
        tear_down_queue(&setup);
    }
}

static void a_rename_waits_for_both_names(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(store_text(setup, EDIT_NEW, X, ONE), 0);
    assert_int_equal(store_text(setup, EDIT_NEW, P_ROW("y"), TWO), 0);
    assert_int_equal(rename_to(setup, X, P_ROW("y"), EDIT_OVER, TEXT_OF("y", "1")), 0);
    assert_requests(setup, "write p/x and p/y, write p/y and p/x");
    assert_found(setup, X, NULL);
    assert_found(setup, P_ROW("y"), TEXT_OF("y", "1"));
    assert_request_count(setup, 0);
}

static void a_queued_text_is_stored_and_then_deleted(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(store_text(setup, EDIT_NEW, X, ONE), 0);
    assert_int_equal(unlink_x(setup, B("")), 0); /* it was shown without an ETag */
    assert_requests(setup, "write p/x, write p/x");
    assert_found(setup, X, NULL);
    assert_int_equal(unlink_x(setup, B("")), 0); /* another process saw it, too */
    assert_request_count(setup, 0);
}

static void a_version_that_was_not_read_stays(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 3);
    setup->process = RM;
    open_row(setup, P_ROW("00001"));
    memory_store_forget_diary(setup->memory);
    another_stores(setup, P_ROW("00001"), "younger");
    assert_int_equal(store_text(setup, EDIT_OVER, P_ROW("00001"), ONE), 0);
    assert_int_equal(store_text(setup, EDIT_NEW, X, ONE), 0);
    assert_int_equal(sync_all(setup), -ESTALE);
    assert_string_equal(setup->caller.call.failure.message,
                        "another client has changed the entity since it was read");
    assert_requests(setup, "write p/00001 and p/x, rows [p/00001 p/x+) 1000, write p/x");
    assert_lost("write t p/00001 ESTALE;");
    assert_found(setup, P_ROW("00001"), "younger");
    assert_found(setup, X, TEXT_OF("x", "1"));
    assert_int_equal(sync_all(setup), 0);
    assert_request_count(setup, 0);
}

static void a_name_that_is_taken_stays(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(list(setup, ROWS_OF("p"), false), 0);
    another_stores(setup, X, "younger");
    assert_int_equal(store_text(setup, EDIT_EXCLUSIVE, X, ONE), 0);
    assert_int_equal(sync_all(setup), -EEXIST);
    assert_lost("write t p/x EEXIST;");
    assert_found(setup, X, "younger");
}

static void what_is_not_stored_at_the_end_is_told(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(store_text(setup, EDIT_NEW, X, ONE), 0);
    gate_store_let(setup->gate, gate_store_arrived(setup->gate));
    assert_int_equal(account_end_changes(setup->account, setup->now_ms), 1);
    account_abandon_changes(setup->account);
    assert_lost("write t p/x ETIMEDOUT;");
    gate_store_let(setup->gate, GATE_OPEN);
    assert_found(setup, X, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(writeback, a_queued_text_is_there),
        TEST_WITH(writeback, more_partitions_than_places_take_turns),
        TEST_WITH(writeback, one_file_is_synced_alone),
        TEST_WITH(writeback, a_hundred_texts_are_one_request),
        TEST_WITH(writeback, a_second_text_waits_for_the_first),
        TEST_WITH(writeback, what_is_appended_waits_and_is_stored_at_once),
        TEST_WITH(writeback, what_goes_on_with_a_store_is_stored_at_once),
        TEST_WITH(writeback, a_queued_text_is_not_taken_for_an_equal_one),
        cmocka_unit_test(a_queued_text_is_touched_as_its_version),
        cmocka_unit_test(what_was_read_while_queued_has_its_version),
        cmocka_unit_test(what_was_read_and_then_refused_is_not_replaced),
        cmocka_unit_test(what_was_read_and_then_denied_is_not_replaced),
        TEST_WITH(writeback, a_rename_waits_for_both_names),
        TEST_WITH(writeback, a_queued_text_is_stored_and_then_deleted),
        TEST_WITH(writeback, a_version_that_was_not_read_stays),
        TEST_WITH(writeback, a_name_that_is_taken_stays),
        TEST_WITH(writeback, what_is_not_stored_at_the_end_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
