/* SPDX-License-Identifier: MIT */
/* Two tables in memory, compared, and one made equal to the other; random ones against a model in
 * plain arrays. */
#include "tests/unit/cache/account_fixture.h"

#include <sys/mman.h>

#define KEYS     60
#define WORLDS   100
#define ROW_KEYS 13 /* of a partition */

/* What a table has of a key. ONE and ONE_AGAIN are equal. */
enum form { NONE, ONE, ONE_AGAIN, TWO, MORE, BAD, FORMS };

static const char *const members[BAD] = {
    [ONE] = ",\n  \"A@odata.type\": \"Edm.Double\",\n  \"A\": 1.0",
    [ONE_AGAIN] = ",\n  \"A@odata.type\": \"Edm.Double\",\n  \"A\": 1E+0",
    [TWO] = ",\n  \"A\": 2",
    [MORE] = ",\n  \"A\": 2,\n  \"B\": \"x\"",
};

struct world {
    unsigned random;
    struct setup setups[COMPARE_SIDES]; /* an account each */
    enum form forms[COMPARE_SIDES][KEYS];
    struct compared_table tables[COMPARE_SIDES];
    struct version_file *waiting; /* NULL: nothing is deleted */
    struct comparison *comparison;
    struct sync *sync;
    int refused;
};

static struct world world; /* large */
/* Another client, which gives a key of TO this form before a request of TO. */
static struct rival {
    size_t at; /* this request; 0: the first write, whose first key it is */
    int key;
    enum form form;
    bool has_come;
} rival;
static size_t failing_at; /* this request of one side fails; 0: none does */

static int chance(int n)
{
    world.random = world.random * 1664525 + 1013904223;
    return (int)((world.random >> 8) % (unsigned)n);
}

static struct bytes position_of(int key, char ret[4])
{
    ret[0] = (char)('a' + key / ROW_KEYS);
    ret[1] = '\0';
    ret[2] = (char)('a' + key % ROW_KEYS);
    return (struct bytes){ret, 3};
}

static const char *text_of(int key, enum form form, char ret[200])
{
    char position[4];
    (void)position_of(key, position);
    (void)snprintf(ret, 200, "{\n  \"PartitionKey\": \"%c\",\n  \"RowKey\": \"%c\"%s\n}\n",
                   position[0], position[2], form == BAD ? ",\n  \"A\": {}" : members[form]);
    return ret;
}

static void put(enum compare_side side, int key, enum form form)
{
    struct memory_store *memory = world.setups[side].memory;
    char position[4], text[200];
    struct write write = {.kind = form == NONE ? WRITE_DELETE : WRITE_UPSERT_REPLACE,
                          .position = position_of(key, position),
                          .text = bytes_of(form == NONE ? "" : text_of(key, form, text))};
    if (form == BAD)
        memory_store_write_bad(memory, write.position, text);
    else
        memory_store_write(memory, &write);
}

static bool has(enum compare_side side, int key, enum form form)
{
    char position[4], text[200];
    const struct page *rows = world.setups[side].memory->rows;
    struct bytes wanted = position_of(key, position);
    size_t row = page_seek(rows, wanted);
    if (row == page_rows(rows) || !bytes_equal(page_position(rows, row), wanted))
        return form == NONE;
    if (form == NONE || form == BAD || page_is_bad(rows, row))
        return form == BAD && page_is_bad(rows, row);
    return bytes_equal(page_text(rows, row), bytes_of(text_of(key, form, text)));
}

/* What TO has in the end, if it had `to` when it was compared. */
static enum form model_of(int key, enum form to)
{
    enum form from = world.forms[COMPARE_FROM][key];
    bool are_one = (from == ONE || from == ONE_AGAIN) && (to == ONE || to == ONE_AGAIN);
    if (from == BAD || to == BAD || are_one)
        return to;
    return from == NONE && !world.waiting ? to : from;
}

static enum form model(int key)
{
    return model_of(key, world.forms[COMPARE_TO][key]);
}

/* A Double may be spelled anew. */
static bool is_now(int key, enum form form)
{
    bool is_one = form == ONE || form == ONE_AGAIN;
    return has(COMPARE_TO, key, form) ||
           (is_one && (has(COMPARE_TO, key, ONE) || has(COMPARE_TO, key, ONE_AGAIN)));
}

static bool is_done(int key)
{
    return is_now(key, model(key));
}

static bool is_by_rival(int key)
{
    return key == rival.key &&
           (has(COMPARE_TO, key, rival.form) || is_now(key, model_of(key, rival.form)));
}

/* Begin and end */

static int fail_once(struct memory_store *memory, size_t number, struct call *call)
{
    (void)memory;
    return number == failing_at ? call_fail(call, -EACCES, "no permission") : 0;
}

static int let_rival_write(struct memory_store *memory, size_t number, struct call *call)
{
    const struct memory_store_entry *request = &memory->diary[number - 1];
    (void)call;
    if (rival.has_come || number > MEMORY_STORE_DIARY ||
        (rival.at > 0 ? number != rival.at : request->what != ASKED_WRITE))
        return 0;
    rival.has_come = true;
    if (rival.at == 0)
        rival.key = (request->lo.data[0] - 'a') * ROW_KEYS + request->lo.data[2] - 'a';
    if (!has(COMPARE_TO, rival.key, rival.form))
        put(COMPARE_TO, rival.key, rival.form);
    return 0;
}

static struct version_file *new_waiting(void)
{
    struct version_file *waiting;
    assert_int_equal(version_file_create(memfd_create("waiting", MFD_CLOEXEC), &waiting), 0);
    return waiting;
}

/* Random tables, some with few rows in common, of random pages. */
static void open_tables(bool deletes)
{
    int share = chance(101);
    for (int side = 0; side < COMPARE_SIDES; side++) {
        struct setup *setup = &world.setups[side];
        set_up(setup,
               (struct setup_options){.max_rows = 1 + chance(20), .parallelism = 1 + chance(4)});
        world.tables[side] =
            (struct compared_table){setup->account, caller_of(setup), directory_of_table("t")};
    }
    for (int key = 0; key < KEYS; key++) {
        enum form from = world.forms[COMPARE_FROM][key] = chance(FORMS);
        world.forms[COMPARE_TO][key] = chance(100) < share ? (int)from : chance(FORMS);
        for (int side = 0; side < COMPARE_SIDES; side++)
            if (world.forms[side][key] != NONE)
                put(side, key, world.forms[side][key]);
    }
    world.waiting = deletes ? new_waiting() : NULL;
}

static void close_tables(void)
{
    version_file_destroy(world.waiting);
    for (int side = 0; side < COMPARE_SIDES; side++)
        tear_down(&world.setups[side]);
}

static bool never_gives_up(void *context)
{
    (void)context;
    return false;
}

static void count_refused(void *context, struct bytes position, const struct failure *failure)
{
    assert_ptr_equal(context, &world);
    assert_int_equal(position.size, 3);
    assert_true(failure->error < 0);
    world.refused++;
}

static void begin(void)
{
    const struct sync_options options = {.deletes = world.waiting,
                                         .events = {&world, never_gives_up, count_refused}};
    world.refused = 0;
    assert_int_equal(comparison_create(world.tables, false, &world.comparison), 0);
    assert_int_equal(sync_create(world.tables, &options, &world.sync), 0);
}

/* The file has what has waited. */
static void begin_again(void)
{
    bool deletes = world.waiting;
    version_file_destroy(world.waiting);
    world.waiting = deletes ? new_waiting() : NULL;
    begin();
}

static void end(void)
{
    sync_destroy(world.sync);
    comparison_destroy(world.comparison);
}

/* A request that was cancelled may be in the store yet. */
static void settle(enum compare_side side)
{
    (void)gate_store_settle(world.setups[side].gate);
}

static int run_until_deletes(void)
{
    struct pair pair;
    int r;
    while ((r = comparison_next(world.comparison, &pair)) > 0)
        if ((r = sync_take(world.sync, &pair)) < 0)
            break;
    return r == 0 ? sync_finish(world.sync) : r;
}

/* 0, or what has ended it. */
static int run(void)
{
    int r = run_until_deletes();
    if (r == 0 && world.waiting)
        r = sync_delete(world.sync);
    if (r < 0)
        sync_wait(world.sync);
    return r;
}

static void assert_counts(uint64_t inserted, uint64_t replaced, uint64_t deleted)
{
    struct sync_counts counts = sync_counts(world.sync);
    assert_int_equal(counts.inserted, inserted);
    assert_int_equal(counts.replaced, replaced);
    assert_int_equal(counts.deleted, deleted);
    assert_int_equal(counts.conflicts, 0);
    assert_int_equal(counts.refused, 0);
    assert_int_equal(world.refused, 0);
}

static void assert_counts_of_model(void)
{
    uint64_t inserted = 0, replaced = 0, deleted = 0;
    for (int key = 0; key < KEYS; key++) {
        enum form to = world.forms[COMPARE_TO][key], last = model(key);
        inserted += to == NONE && last != NONE;
        replaced += to != NONE && last != NONE && last != to;
        deleted += to != NONE && last == NONE;
    }
    assert_counts(inserted, replaced, deleted);
}

static void assert_all_done(void)
{
    for (int key = 0; key < KEYS; key++)
        assert_true(is_done(key));
}

/* Tests */

static void random_tables_become_equal(void **state)
{
    (void)state;
    for (int n = 0; n < WORLDS / TRIAL_SHARE; n++) {
        open_tables(chance(2));
        begin();
        assert_int_equal(run(), 0);
        assert_counts_of_model();
        assert_all_done();
        end();
        begin_again();
        assert_int_equal(run(), 0);
        assert_counts(0, 0, 0);
        end();
        close_tables();
    }
}

/* A key that another client writes meanwhile is as that client left it, or as FROM has it; the
 * others are as FROM has them. */
static void another_client_writes_meanwhile(void **state)
{
    uint64_t conflicts = 0;
    (void)state;
    for (int n = 0; n < WORLDS / TRIAL_SHARE; n++) {
        open_tables(chance(2));
        rival = (struct rival){
            .at = n % 2 * (1 + (size_t)chance(12)), .key = chance(KEYS), .form = chance(BAD)};
        world.setups[COMPARE_TO].memory->fault = let_rival_write;
        begin();
        assert_int_equal(run(), 0);
        settle(COMPARE_TO);
        for (int key = 0; key < KEYS; key++)
            assert_true(is_done(key) || is_by_rival(key));
        conflicts += sync_counts(world.sync).conflicts;
        end();
        close_tables();
    }
    assert_true(conflicts > 0);
}

/* It is not deleted. */
static void from_gets_a_row_that_waits(void **state)
{
    (void)state;
    for (int n = 0; n < WORLDS / TRIAL_SHARE; n++) {
        open_tables(true);
        begin();
        assert_int_equal(run_until_deletes(), 0);
        int back = chance(KEYS);
        enum form to = world.forms[COMPARE_TO][back];
        bool is_back = world.forms[COMPARE_FROM][back] == NONE && to != NONE;
        if (is_back) {
            settle(COMPARE_FROM);
            put(COMPARE_FROM, back, TWO);
        }
        assert_int_equal(sync_delete(world.sync), 0);
        for (int key = 0; key < KEYS; key++)
            assert_true(is_back && key == back ? has(COMPARE_TO, key, to) : is_done(key));
        end();
        close_tables();
    }
}

/* Nothing that FROM has is deleted, and nothing at all where FROM has failed; the same again makes
 * the tables equal. */
static void a_request_fails(void **state)
{
    int failed = 0;
    (void)state;
    for (int n = 0; n < WORLDS / TRIAL_SHARE; n++) {
        enum compare_side side = chance(2);
        open_tables(true);
        failing_at = 1 + (size_t)chance(12);
        world.setups[side].memory->fault = fail_once;
        begin();
        int r = run();
        assert_true(r == 0 || r == -EACCES);
        for (int key = 0; key < KEYS; key++) {
            bool is_left = has(COMPARE_TO, key, world.forms[COMPARE_TO][key]);
            assert_true(is_done(key) || (r < 0 && is_left));
            if (r < 0 && side == COMPARE_FROM && world.forms[COMPARE_FROM][key] == NONE)
                assert_true(is_left);
        }
        end();
        failed += r < 0;
        world.setups[side].memory->fault = NULL;
        begin_again();
        assert_int_equal(run(), 0);
        assert_all_done();
        end();
        close_tables();
    }
    failing_at = 0;
    assert_true(failed > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_tables_become_equal),
        cmocka_unit_test(another_client_writes_meanwhile),
        cmocka_unit_test(from_gets_a_row_that_waits),
        cmocka_unit_test(a_request_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
