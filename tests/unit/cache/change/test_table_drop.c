/* SPDX-License-Identifier: MIT */
/* May a table be dropped? Its rows over a store behind a gate, or of a local account; the deletes
 * that are queued. */
#include "tests/unit/cache/change/looking.h"
#include "tests/unit/local_account.h"

#define PAGE_ROWS 400 /* where pages are short: five of PARTITION_ROWS */

static void queue_text(struct bytes position, struct bytes etag)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    assert_int_equal(page_create_row(position, B("text"), B(""), 1, &page), 0);
    struct queued_change change = {.write = {.kind = etag.size > 0 ? WRITE_REPLACE : WRITE_INSERT,
                                             .position = position,
                                             .if_match = etag,
                                             .text = page_text(page, 0)},
                                   .text = {page, 0},
                                   .request_bytes = 100,
                                   .process = FIND};
    queue_change(&change);
}

/* The text is stored. */
static void end_text(void)
{
    static struct write_batch batch;
    setup.parts.now_ms += PENDING_REST_MS;
    assert_true(pending_take(setup.parts.pending, &batch));
    for (size_t i = 0; i < batch.n; i++)
        batch.changes[i].end = BATCH_MADE;
    pending_end(setup.parts.pending, &batch);
}

static void an_empty_table_is_one_request(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism *= 8) {
        set_up(parallelism);
        assert_look(TABLE_EMPTY, 1);
        queue_delete(B("p\0gone"), B("etag")); /* another client was first */
        assert_look(TABLE_EMPTY, 1);
        assert_true(setup.parts.memory->diary[0].keys_only);
        assert_int_equal(setup.parts.memory->diary[0].top, TABLE_STORE_PAGE_ROWS);
        tear_down();
    }
}

static void a_table_of_which_all_rows_are_removed(void **state)
{
    (void)state;
    static const struct {
        int partitions, rows, page_rows;
        size_t requests;
    } cases[] = {
        {1, 1, 0, 1},
        {1, 1000, 0, 1},
        {1, 5000, 0, 5},
        {1, 5000, PAGE_ROWS, 13},
        {500, 10, 0, 5},
        {1500, 1, 0, 2},
        {5, 1000, 0, 5},
        {5, 1000, PAGE_ROWS, 13},
        {50, 100, PAGE_ROWS, 13},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        set_up(1);
        setup.parts.memory->max_rows = cases[i].page_rows;
        add_removed(cases[i].partitions, cases[i].rows);
        assert_look(TABLE_REMOVED, cases[i].requests);
        assert_look(TABLE_REMOVED, cases[i].requests); /* what was read is not used */
        tear_down();
    }
}

/* How many requests there are depends on the order of the answers; what they tell does not. */
static void requests_at_once_tell_the_same(void **state)
{
    (void)state;
    bool has_changed;
    set_up(8);
    setup.parts.memory->max_rows = PAGE_ROWS;
    add_removed(5, 2000);
    assert_int_equal(look_and_watch(&has_changed), TABLE_REMOVED);
    memory_store_write(setup.parts.memory,
                       &(struct write){.kind = WRITE_INSERT, .position = B("p0004\0x")});
    assert_int_equal(look_and_watch(&has_changed), TABLE_IN_USE);
    assert_false(has_changed);
    tear_down();
}

static void assert_state(int state)
{
    bool has_changed;
    assert_int_equal(look_and_watch(&has_changed), state);
    assert_false(has_changed);
}

/* Of three pages. The first one decides by itself; the third may be asked for when the second one
 * is looked at. */
static void one_row_that_is_not_removed(void **state)
{
    (void)state;
    static const struct bytes rows[] = {ROW_AT("p0000", "00500"), ROW_AT("p0001", "00500"),
                                        ROW_AT("p0002", "00899")};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct write replacing = {.kind = WRITE_UPSERT_REPLACE, .position = rows[i]};
        set_up(1);
        add_removed(3, 900);
        assert_look(TABLE_REMOVED, 3);
        assert_int_equal(pending_mask(setup.parts.pending, "t", rows[i], B("etag")), 0);
        assert_state(TABLE_IN_USE);
        pending_unmask(setup.parts.pending, "t", rows[i]);
        assert_look(TABLE_REMOVED, 3);
        memory_store_write(setup.parts.memory, &replacing); /* a newer version */
        assert_state(TABLE_IN_USE);
        tear_down();
    }
}

static void one_row_more(void **state)
{
    (void)state;
    static const struct bytes rows[] = {B("p0000\0x"), B("p0001\0x"), B("p0002\0x")};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct write adding = {.kind = WRITE_INSERT, .position = rows[i]};
        set_up(1);
        add_removed(3, 900);
        memory_store_write(setup.parts.memory, &adding);
        assert_state(TABLE_IN_USE);
        queue_delete(adding.position, B("etag")); /* of another version */
        assert_state(TABLE_IN_USE);
        if (i == 0)
            assert_look(TABLE_IN_USE, 1);
        tear_down();
    }
}

static void a_queued_text_is_no_delete(void **state)
{
    (void)state;
    bool has_changed;
    set_up(1);
    parts_add(&setup.parts, "p", 2);
    queue_delete(ROW_AT("p", "00000"), B("etag"));
    queue_text(ROW_AT("p", "00001"), B("etag"));
    assert_int_equal(look_and_watch(&has_changed), TABLE_IN_USE);
    assert_true(has_changed);
    end_text();
    tear_down();
    set_up(1);
    parts_add(&setup.parts, "p", 1);
    queue_delete(ROW_AT("p", "00000"), B("etag"));
    queue_text(B("p\0new"), B("")); /* the service has no such row yet */
    assert_int_equal(look_and_watch(&has_changed), TABLE_REMOVED);
    assert_true(has_changed);
    end_text();
    tear_down();
}

static int write_before(struct memory_store *memory, size_t number, struct call *call)
{
    (void)call;
    if (number == setup.before)
        memory_store_write(memory, &setup.write);
    return 0;
}

/* Another client's row is seen if it is added before its page is read. */
static void a_row_is_added_between_two_pages(void **state)
{
    (void)state;
    static const struct {
        struct bytes position;
        int state;
    } cases[] = {
        {B("p0000\0x"), TABLE_REMOVED}, /* of the first page */
        {ROW_AT("p0001", "00500x"), TABLE_IN_USE},
        {B("p0002\0x"), TABLE_IN_USE},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        set_up(1);
        add_removed(3, 1000);
        setup.write = (struct write){.kind = WRITE_INSERT, .position = cases[i].position};
        setup.before = 2;
        setup.parts.memory->fault = write_before;
        assert_state(cases[i].state);
        assert_state(TABLE_IN_USE); /* the next look sees it in any case */
        tear_down();
    }
}

static int claim_before(struct memory_store *memory, size_t number, struct call *call)
{
    (void)memory;
    (void)call;
    if (number == setup.before) {
        claim(setup.write.position);
        release(setup.write.position);
    }
    return 0;
}

/* A change of this mount, wherever it is: the watch tells of it. */
static void claims_during_the_look(void **state)
{
    (void)state;
    static const struct bytes positions[] = {B("p0000\0x"), B("p0002\0x")};
    for (size_t i = 0; i < ARRAY_SIZE(positions); i++) {
        bool has_changed;
        set_up(1);
        add_removed(3, 1000);
        setup.write.position = positions[i];
        setup.before = 2;
        setup.parts.memory->fault = claim_before;
        assert_int_equal(look_and_watch(&has_changed), TABLE_REMOVED);
        assert_true(has_changed);
        assert_look(TABLE_REMOVED, 3);
        claim(positions[i]);
        assert_int_equal(look_and_watch(&has_changed), TABLE_REMOVED);
        assert_true(has_changed);
        release(positions[i]);
        tear_down();
    }
}

static void nothing_known_is_used_and_nothing_is_kept(void **state)
{
    (void)state;
    const struct on_miss on_miss = {.top = TABLE_STORE_PAGE_ROWS};
    struct range_cache_stats before, after;
    set_up(1);
    add_removed(1, 500);
    struct question question = {.table = "t", .range = RANGE_ALL, .since = stamp_since(0)};
    struct seen seen;
    pending_forget_deletes(setup.parts.pending, setup.table);
    assert_int_equal(
        overlay_next(setup.parts.overlay, parts_caller(&setup.parts), &question, &on_miss, &seen),
        1);
    assert_int_equal(seen.run.end, 500);
    range_cache_stats(setup.parts.cache, &before);
    memory_store_write(setup.parts.memory,
                       &(struct write){.kind = WRITE_INSERT, .position = B("p0001\0x")});
    for (size_t row = 0; row < 500; row++)
        queue_delete(page_position(seen.run.page, row), page_etag(seen.run.page, row));
    assert_look(TABLE_IN_USE, 1);
    range_cache_stats(setup.parts.cache, &after);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.pages, before.pages);
    assert_int_equal(after.evicted, 0);
    run_finish(&seen.run);
    tear_down();
}

static void a_table_that_does_not_exist(void **state)
{
    (void)state;
    set_up(1);
    setup.parts.memory->checks_tables = true;
    assert_look(-ENOENT, 1);
    assert_string_equal(setup.caller.call.failure.code, "TableNotFound");
    tear_down();
}

/* --- a local account: its ETags are made from Timestamps */

#define LOCAL_ROWS 2000

static struct bytes local_position(int row, struct buffer *ret)
{
    char key[16];
    (void)snprintf(key, sizeof(key), "%06d", row);
    buffer_clear(ret);
    assert_int_equal(position_append(ret, B("p"), bytes_of(key)), 0);
    return buffer_bytes(ret);
}

static void set_up_local(const char *path)
{
    struct parts *parts = &setup.parts;
    struct table_store *store = open_with_table(path);
    setup = (struct setup){.parts = {.clock = clock_system}, .table = "items"};
    insert_rows(store, "", LOCAL_ROWS, "\"A\": 1");
    assert_int_equal(gate_store_create(store, &parts->clock, &parts->gate), 0);
    parts_create_readers(parts, &(struct parts_options){.parallelism = 4});
}

static struct caller local_caller(void)
{
    return (struct caller){.call = some_call(), .process = FIND, .patience_ms = 30000};
}

/* Queues a delete of each row from `begin` on, of the version that a listing shows. */
static void delete_listed(int begin)
{
    const struct on_miss on_miss = {.top = TABLE_STORE_PAGE_ROWS};
    _cleanup_(buffer_finish) struct buffer at = {.max = POSITION_MAX_BYTES};
    int rows = begin, r;
    struct question question = {.table = "items",
                                .range = {local_position(begin, &at), B(POSITION_END)},
                                .since = stamp_since(0)};
    struct seen seen;
    do {
        struct caller caller = local_caller();
        r = overlay_next(setup.parts.overlay, &caller, &question, &on_miss, &seen);
        assert_true(r >= 0);
        for (size_t row = seen.run.begin; r > 0 && row < seen.run.end; row++, rows++)
            queue_delete(page_position(seen.run.page, row), page_etag(seen.run.page, row));
        if (r > 0)
            run_finish(&seen.run); /* the next rows are after the queued deletes */
    } while (r > 0);
    assert_int_equal(rows, LOCAL_ROWS);
}

/* The same of one row, of the version that is got by its name. */
static void delete_got(int row)
{
    struct call call = some_call();
    _cleanup_(page_unrefp) struct page *page = NULL;
    _cleanup_(buffer_finish) struct buffer at = {.max = POSITION_MAX_BYTES};
    struct bytes position = local_position(row, &at);
    assert_int_equal(table_store_get(setup.parts.gate, "items", position, &call, &page), 0);
    queue_delete(position, page_etag(page, 0));
}

static int look_at_local(void)
{
    setup.caller = local_caller();
    return look_until(clock_now_ms(&clock_system) + LOOK_MS);
}

static void versions_of_a_local_account_are_equal(void **state)
{
    struct call call = some_call();
    struct write_result result;
    set_up_local(*state);
    delete_listed(2);
    assert_int_equal(look_at_local(), TABLE_IN_USE);
    delete_got(1);
    struct row_write row = make_write(WRITE_MERGE, "p", "000000", "\"A\": 2", "*");
    assert_int_equal(table_store_write(setup.parts.gate, "items", &row.write, 1, &call, &result),
                     0);
    assert_int_equal(look_at_local(), TABLE_IN_USE);
    queue_delete(buffer_bytes(&row.position), bytes_of(result.etag)); /* as it was written */
    assert_int_equal(look_at_local(), TABLE_REMOVED);
    assert_int_equal(table_store_write(setup.parts.gate, "items", &row.write, 1, &call, &result),
                     0);
    assert_int_equal(look_at_local(), TABLE_IN_USE);
    row_write_finish(&row);
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_table_is_one_request),
        cmocka_unit_test(a_table_of_which_all_rows_are_removed),
        cmocka_unit_test(requests_at_once_tell_the_same),
        cmocka_unit_test(one_row_that_is_not_removed),
        cmocka_unit_test(one_row_more),
        cmocka_unit_test(a_queued_text_is_no_delete),
        cmocka_unit_test(a_row_is_added_between_two_pages),
        cmocka_unit_test(claims_during_the_look),
        cmocka_unit_test(nothing_known_is_used_and_nothing_is_kept),
        cmocka_unit_test(a_table_that_does_not_exist),
        WITH_FOLDER(versions_of_a_local_account_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
