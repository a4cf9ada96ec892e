/* SPDX-License-Identifier: MIT */
/* What a change leaves in the range cache, however it ends. */
#include "cache/queue/committer.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/fetching.h"

#define ROW(key) ((struct range){B("p\0" key), B("p\0" key "\x01")})
#define ALL      ((struct range){B("p\0"), B("p\x01")})

struct setup {
    struct fetching fetching;
    struct committer *committer;
    struct caller caller; /* of the last change */
};

/* Rows 00000 to 00002 of partition p, which are known. */
static void set_up(struct setup *setup, struct fetching_options options)
{
    struct fetching *fetching = &setup->fetching;
    fetching_set_up(fetching, options);
    struct committer_source source = {.store = fetching->store,
                                      .cache = fetching->cache,
                                      .fetcher = fetching->fetcher,
                                      .clock = &fetching->clock,
                                      .orders = &fetching->orders};
    assert_int_equal(committer_create(&source, &setup->committer), 0);
    fetching_add_rows(fetching, "p", 3);
    struct fetch fetch = {.table = "t", .range = ALL, .top = 1000};
    struct caller caller = fetching_caller(fetching);
    struct page *page = NULL;
    bool is_own;
    assert_int_equal(fetcher_fetch(fetching->fetcher, &caller, &fetch, fetching_since_ttl(fetching),
                                   &page, &is_own),
                     0);
    page_unref(page);
    memory_store_forget_diary(fetching->memory);
}

static void tear_down(struct setup *setup)
{
    committer_destroy(setup->committer);
    fetching_tear_down(&setup->fetching);
}

static struct write write_of(enum write_kind kind, struct bytes position, struct bytes if_match,
                             struct bytes text)
{
    return (struct write){.kind = kind, .position = position, .if_match = if_match, .text = text};
}

static int commit(struct setup *setup, const struct write *write, struct entity *ret)
{
    setup->caller = fetching_caller(&setup->fetching);
    return committer_write(setup->committer, &setup->caller, "t", write, 1, ret);
}

static void assert_entity(const struct entity *entity, struct bytes text)
{
    assert_non_null(entity->page);
    assert_bytes(page_text(entity->page, entity->row), text);
}

static void assert_known(struct setup *setup, struct range row, const char *expected)
{
    (void)fetching_assert_known(&setup->fetching, row, expected);
}

static void assert_asked(struct setup *setup, size_t n, int last)
{
    struct memory_store *memory = setup->fetching.memory;
    assert_int_equal(memory->asked, n);
    if (n > 0)
        assert_int_equal(memory->diary[n - 1].what, last);
}

DEFINE_FIXTURE(committer, struct setup, set_up(test, (struct fetching_options){0}), tear_down(test))

static void a_stored_text_is_known(void **state)
{
    struct setup *setup = *state;
    struct entity entity;
    struct write writes[] = {
        write_of(WRITE_INSERT, ROW("1").lo, B(""), B("inserted")),
        write_of(WRITE_UPSERT_REPLACE, ROW("00001").lo, B(""), B("upserted")),
        write_of(WRITE_REPLACE, ROW("00002").lo, B("etag"), B("replaced")),
    };
    for (size_t i = 0; i < ARRAY_SIZE(writes); i++) {
        char etag[16];
        (void)snprintf(etag, sizeof(etag), "version-%zu", i + 1);
        assert_int_equal(commit(setup, &writes[i], &entity), 0);
        assert_entity(&entity, writes[i].text);
        assert_bytes(page_position(entity.page, 0), writes[i].position);
        assert_bytes(page_etag(entity.page, 0), bytes_of(etag));
        assert_int_equal(page_timestamp(entity.page, 0), i + 1);
        entity_finish(&entity);
    }
    assert_known(setup, ROW("1"), "inserted");
    assert_known(setup, ROW("00001"), "upserted");
    assert_known(setup, ROW("00002"), "replaced");
    assert_known(setup, ROW("00000"), "p|00000");
    assert_asked(setup, 3, ASKED_WRITE);
}

static void a_deleted_row_is_known_to_be_gone(void **state)
{
    struct setup *setup = *state;
    struct entity entity;
    struct write write = write_of(WRITE_DELETE, ROW("00001").lo, B("etag"), B(""));
    assert_int_equal(commit(setup, &write, &entity), 0);
    assert_null(entity.page);
    assert_known(setup, ROW("00001"), "");
    assert_known(setup, ROW("00000"), "p|00000");
    assert_asked(setup, 1, ASKED_WRITE);
}

static void two_rows_are_changed_at_once(void **state)
{
    struct setup *setup = *state;
    struct entity entities[2];
    struct write writes[] = {write_of(WRITE_INSERT, ROW("1").lo, B(""), B("inserted")),
                             write_of(WRITE_DELETE, ROW("00001").lo, B("etag"), B(""))};
    setup->caller = fetching_caller(&setup->fetching);
    assert_int_equal(committer_write(setup->committer, &setup->caller, "t", writes, 2, entities),
                     0);
    assert_entity(&entities[0], B("inserted"));
    assert_null(entities[1].page);
    assert_known(setup, ROW("1"), "inserted");
    assert_known(setup, ROW("00001"), "");
    assert_asked(setup, 1, ASKED_WRITE);
    entity_finish(&entities[0]);
    /* of two the refused one is read again */
    writes[1] = write_of(WRITE_DELETE, ROW("00002").lo, B("another"), B(""));
    writes[0] = write_of(WRITE_INSERT, ROW("2").lo, B(""), B("inserted"));
    assert_int_equal(committer_write(setup->committer, &setup->caller, "t", writes, 2, entities),
                     -ESTALE);
    assert_null(entities[0].page);
    assert_entity(&entities[1], B("p|00002"));
    assert_known(setup, ROW("2"), "");
    assert_known(setup, ROW("00002"), "p|00002");
    assert_asked(setup, 3, ASKED_GET);
    entity_finish(&entities[1]);
}

static void what_refused_a_change_is_read_again(void **state)
{
    (void)state;
    const struct {
        struct write write; /* of row 00001, which another client has changed */
        int expected;
    } cases[] = {
        {write_of(WRITE_INSERT, ROW("00001").lo, B(""), B("own")), -EEXIST},
        {write_of(WRITE_REPLACE, ROW("00001").lo, B("etag"), B("own")), -ESTALE},
        {write_of(WRITE_DELETE, ROW("00001").lo, B("etag"), B("")), -ESTALE},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        struct entity entity;
        set_up(&setup, (struct fetching_options){0});
        struct write others = write_of(WRITE_UPSERT_REPLACE, ROW("00001").lo, B(""), B("other"));
        memory_store_write(setup.fetching.memory, &others);
        assert_int_equal(commit(&setup, &cases[i].write, &entity), cases[i].expected);
        assert_int_equal(setup.caller.call.failure.error, cases[i].expected);
        assert_entity(&entity, B("other"));
        assert_known(&setup, ROW("00001"), "other");
        assert_asked(&setup, 2, ASKED_GET);
        entity_finish(&entity);
        tear_down(&setup);
    }
}

static void a_row_that_is_gone_is_known_then(void **state)
{
    struct setup *setup = *state;
    struct entity entity;
    struct write others = write_of(WRITE_DELETE, ROW("00001").lo, B("*"), B(""));
    memory_store_write(setup->fetching.memory, &others);
    assert_known(setup, ROW("00001"), "p|00001");
    struct write write = write_of(WRITE_REPLACE, ROW("00001").lo, B("etag"), B("own"));
    assert_int_equal(commit(setup, &write, &entity), -ENOENT);
    assert_null(entity.page);
    assert_known(setup, ROW("00001"), "");
    assert_asked(setup, 2, ASKED_GET);
}

static void after_a_lost_answer_the_row_is_read_again(void **state)
{
    (void)state;
    struct setup setup;
    struct entity entity;
    set_up(&setup, (struct fetching_options){.faults = "lost=write:1"});
    struct write write = write_of(WRITE_UPSERT_REPLACE, ROW("00001").lo, B(""), B("own"));
    assert_true(commit(&setup, &write, &entity) < 0);
    assert_true(setup.caller.call.failure.is_ambiguous);
    assert_entity(&entity, B("own"));
    assert_known(&setup, ROW("00001"), "own");
    assert_known(&setup, ROW("00000"), "p|00000");
    assert_asked(&setup, 2, ASKED_GET);
    entity_finish(&entity);
    tear_down(&setup);
}

static void what_cannot_be_read_again_is_forgotten(void **state)
{
    (void)state;
    struct setup setup;
    struct entity entity;
    set_up(&setup, (struct fetching_options){.faults = "lost=delete:1,fail=get:*:500:X"});
    struct write write = write_of(WRITE_DELETE, ROW("00001").lo, B("etag"), B(""));
    assert_true(commit(&setup, &write, &entity) < 0);
    assert_true(setup.caller.call.failure.is_ambiguous); /* the write's, not the get's */
    assert_null(entity.page);
    assert_known(&setup, ROW("00001"), NULL);
    assert_known(&setup, ROW("00000"), NULL);
    tear_down(&setup);
}

static void another_refusal_changes_nothing(void **state)
{
    (void)state;
    struct setup setup;
    struct entity entity;
    set_up(&setup, (struct fetching_options){.faults = "fail=write:*:403:AuthorizationFailure"});
    struct write write = write_of(WRITE_UPSERT_REPLACE, ROW("00001").lo, B(""), B("own"));
    assert_int_equal(commit(&setup, &write, &entity), -EACCES);
    assert_null(entity.page);
    assert_known(&setup, ROW("00001"), "p|00001");
    assert_asked(&setup, 0, 0);
    tear_down(&setup);
}

/* Another client drops the table: the service refuses changes of its rows for a while. */
static void in_a_table_that_is_being_deleted_a_row_is_gone(void **state)
{
    (void)state;
    struct setup setup;
    struct entity entity;
    set_up(&setup, (struct fetching_options){.faults = "fail=delete:*:409:TableBeingDeleted,"
                                                       "fail=write:*:409:TableBeingDeleted"});
    struct write write = write_of(WRITE_DELETE, ROW("00001").lo, B("etag"), B(""));
    assert_int_equal(commit(&setup, &write, &entity), -ENOENT);
    assert_int_equal(setup.caller.call.failure.error, -ENOENT);
    assert_null(entity.page);
    assert_known(&setup, ROW("00001"), "");
    assert_known(&setup, ROW("00000"), "p|00000");
    write = write_of(WRITE_UPSERT_REPLACE, ROW("00000").lo, B(""), B("own"));
    assert_int_equal(commit(&setup, &write, &entity), -EBUSY);
    assert_null(entity.page);
    assert_known(&setup, ROW("00000"), "p|00000");
    assert_asked(&setup, 0, 0);
    tear_down(&setup);
}

/* With retries an answer is lost, and the second attempt finds the change made. */
static void a_retried_change_is_known(void **state)
{
    (void)state;
    struct setup setup;
    struct entity entity;
    set_up(&setup, (struct fetching_options){.faults = "lost=write:1", .retries = true});
    struct write write =
        write_of(WRITE_INSERT, ROW("1").lo, B(""),
                 B("{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"1\",\n  \"a\": true\n}\n"));
    assert_int_equal(commit(&setup, &write, &entity), 0);
    assert_entity(&entity, write.text);
    assert_bytes(page_etag(entity.page, entity.row), B("version-1"));
    entity_finish(&entity);
    tear_down(&setup);
}

/* A query was answered before the change, and its answer arrives after it. */
static struct setup *late_setup;

static int change_meanwhile(struct memory_store *memory, size_t number, struct call *call)
{
    (void)number;
    (void)call;
    struct setup *setup = late_setup;
    struct entity entity;
    memory->fault = NULL;
    struct write write = write_of(WRITE_UPSERT_REPLACE, ROW("00001").lo, B(""), B("own"));
    struct write gone = write_of(WRITE_DELETE, ROW("00002").lo, B("*"), B(""));
    assert_int_equal(commit(setup, &write, &entity), 0);
    entity_finish(&entity);
    assert_int_equal(commit(setup, &gone, &entity), 0);
    return 0;
}

static void an_older_query_does_not_bring_the_old_row_back(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes <= 1; bytes++) { /* 1: the change is evicted at once */
        struct setup setup;
        struct fetching *fetching = &setup.fetching;
        set_up(&setup, (struct fetching_options){.cache_bytes = bytes});
        committer_destroy(setup.committer);
        struct committer_source source = {.store = &fetching->memory->store, /* past the gate */
                                          .cache = fetching->cache,
                                          .fetcher = fetching->fetcher,
                                          .clock = &fetching->clock,
                                          .orders = &fetching->orders};
        assert_int_equal(committer_create(&source, &setup.committer), 0);
        late_setup = &setup;
        fetching->memory->fault = change_meanwhile;
        fetching->memory->is_fault_late = true;
        struct fetch fetch = {.table = "t", .range = ALL, .top = 1000, .is_alone = true};
        struct caller caller = fetching_caller(fetching);
        struct page *page = NULL;
        bool is_own;
        assert_int_equal(fetcher_fetch(fetching->fetcher, &caller, &fetch,
                                       fetching_since_ttl(fetching), &page, &is_own),
                         0);
        assert_int_equal(page_rows(page), 3);
        page_unref(page);
        if (bytes == 0) {
            assert_known(&setup, ROW("00000"), "p|00000");
            assert_known(&setup, ROW("00001"), "own");
            assert_known(&setup, ROW("00002"), "");
        } else {
            assert_known(&setup, ROW("00001"), NULL);
        }
        tear_down(&setup);
    }
}

static int looks;

static bool is_cancelled_later(void *context)
{
    (void)context;
    return looks++ > 0;
}

static bool is_cancelled_at_once(void *context)
{
    (void)context;
    return true;
}

static void a_change_is_cancelled_before_it_is_sent_or_never(void **state)
{
    struct setup *setup = *state;
    _cleanup_(entity_finish) struct entity entity = {0};
    struct write write = write_of(WRITE_UPSERT_REPLACE, ROW("00001").lo, B(""), B("own"));
    setup->caller = fetching_caller(&setup->fetching);
    setup->caller.call.is_cancelled = is_cancelled_at_once;
    assert_int_equal(committer_write(setup->committer, &setup->caller, "t", &write, 1, &entity),
                     -EINTR);
    assert_asked(setup, 0, 0);
    assert_known(setup, ROW("00001"), "p|00001");
    setup->caller.call.is_cancelled = is_cancelled_later;
    assert_int_equal(committer_write(setup->committer, &setup->caller, "t", &write, 1, &entity), 0);
    assert_int_equal(looks, 1);
    assert_ptr_equal(setup->caller.call.is_cancelled, is_cancelled_later);
}

/* Of table "new": 1, 0, -1: not known. */
static void assert_table(struct setup *setup, int expected)
{
    struct question question = {
        NULL, {B("new"), B("new\x01")}, fetching_since_ttl(&setup->fetching), false};
    struct run run = {0};
    int64_t requested_ms;
    struct position until;
    enum knowledge known =
        range_cache_next(setup->fetching.cache, &question, &run, &requested_ms, &until);
    assert_int_equal(known, expected < 0 ? KNOWN_NOT : expected ? KNOWN_ROWS : KNOWN_EMPTY);
    run_finish(&run);
}

static void a_table_is_created_and_deleted(void **state)
{
    struct setup *setup = *state;
    setup->caller = fetching_caller(&setup->fetching);
    assert_table(setup, -1);
    assert_int_equal(committer_create_table(setup->committer, &setup->caller, "new"), 0);
    assert_table(setup, 1);
    assert_asked(setup, 1, ASKED_TABLE_CHANGE);
    assert_int_equal(committer_create_table(setup->committer, &setup->caller, "new"), -EEXIST);
    assert_asked(setup, 3, ASKED_LIST_TABLES);
    assert_table(setup, 1);
    assert_int_equal(committer_delete_table(setup->committer, &setup->caller, "new"), 0);
    assert_table(setup, 0);
    memory_store_add_table(setup->fetching.memory, "new"); /* by another client */
    assert_int_equal(committer_create_table(setup->committer, &setup->caller, "new"), -EEXIST);
    assert_table(setup, 1);
    memory_store_remove_table(setup->fetching.memory, "new");
    assert_int_equal(committer_delete_table(setup->committer, &setup->caller, "new"), -ENOENT);
    assert_table(setup, 0);
    assert_known(setup, ROW("00001"), "p|00001"); /* of table t */
    memory_store_add_table(setup->fetching.memory, "t");
    assert_int_equal(committer_delete_table(setup->committer, &setup->caller, "t"), 0);
    assert_known(setup, ROW("00001"), NULL);
}

static void after_a_lost_answer_the_table_is_asked_for(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct fetching_options){.faults = "lost=create_table:1"});
    setup.caller = fetching_caller(&setup.fetching);
    assert_true(committer_create_table(setup.committer, &setup.caller, "new") < 0);
    assert_true(setup.caller.call.failure.is_ambiguous);
    assert_table(&setup, 1);
    assert_asked(&setup, 2, ASKED_LIST_TABLES);
    tear_down(&setup);
}

static void without_memory_nothing_old_is_answered(void **state)
{
    (void)state;
    int r = -ENOMEM;
    for (int n = 1; r < 0; n++) {
        struct setup setup;
        struct entity entity;
        assert_true(n < 100);
        set_up(&setup, (struct fetching_options){0});
        struct write write = write_of(WRITE_UPSERT_REPLACE, ROW("00001").lo, B(""), B("own"));
        allocations_until_failure = n;
        r = commit(&setup, &write, &entity);
        bool was_reached = allocations_until_failure == 0;
        allocations_until_failure = 0;
        assert_true(r == 0 || (r == -ENOMEM && was_reached));
        entity_finish(&entity);
        struct question question = {"t", ROW("00001"), fetching_since_ttl(&setup.fetching), false};
        struct run run = {0};
        int64_t requested_ms;
        struct position until;
        enum knowledge known =
            range_cache_next(setup.fetching.cache, &question, &run, &requested_ms, &until);
        struct page *stored = NULL;
        struct call call = {0};
        assert_int_equal(
            table_store_get(&setup.fetching.memory->store, "t", ROW("00001").lo, &call, &stored),
            0);
        bool was_made = bytes_equal(page_text(stored, 0), B("own"));
        assert_true(known != KNOWN_EMPTY);
        if (known == KNOWN_ROWS)
            assert_bytes(page_text(run.page, run.begin), page_text(stored, 0));
        if (r < 0)
            assert_int_equal(setup.caller.call.failure.is_ambiguous, was_made);
        run_finish(&run);
        page_unref(stored);
        tear_down(&setup);
        if (!was_reached)
            break;
        r = -ENOMEM; /* also after a success: the cache went without */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(committer, a_stored_text_is_known),
        TEST_WITH(committer, a_deleted_row_is_known_to_be_gone),
        TEST_WITH(committer, two_rows_are_changed_at_once),
        cmocka_unit_test(what_refused_a_change_is_read_again),
        TEST_WITH(committer, a_row_that_is_gone_is_known_then),
        cmocka_unit_test(after_a_lost_answer_the_row_is_read_again),
        cmocka_unit_test(what_cannot_be_read_again_is_forgotten),
        cmocka_unit_test(another_refusal_changes_nothing),
        cmocka_unit_test(in_a_table_that_is_being_deleted_a_row_is_gone),
        cmocka_unit_test(a_retried_change_is_known),
        cmocka_unit_test(an_older_query_does_not_bring_the_old_row_back),
        TEST_WITH(committer, a_change_is_cancelled_before_it_is_sent_or_never),
        TEST_WITH(committer, a_table_is_created_and_deleted),
        cmocka_unit_test(after_a_lost_answer_the_table_is_asked_for),
        cmocka_unit_test(without_memory_nothing_old_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
