/* SPDX-License-Identifier: MIT */
#include "cache/queue/reconcile.h"
#include "tests/unit/cache/queue/queueing.h"

#define ROW   B("p\0r")
#define OWN   "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\",\n  \"a\": 1\n}\n"
#define OTHER "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\",\n  \"a\": 2\n}\n"

enum {
    SEND = RECONCILED_SEND,
    MADE = RECONCILED_MADE,
    LOST = RECONCILED_LOST,
    GONE = RECONCILED_GONE,
    EXISTS = RECONCILED_EXISTS
};

static struct page *found_row(const char *text, const char *etag)
{
    struct page *page;
    assert_int_equal(page_create_row(ROW, bytes_of(text), bytes_of(etag), 1, &page), 0);
    return page;
}

struct cell {
    enum write_kind kind;
    int none, version, other, own; /* what is there; own: another version, its text */
    int doubtful_version, doubtful_other, doubtful_own;
};

static const struct cell cells[] = {
    {WRITE_DELETE, MADE, SEND, LOST, LOST, SEND, LOST, LOST},
    {WRITE_INSERT, SEND, EXISTS, EXISTS, EXISTS, EXISTS, EXISTS, MADE},
    {WRITE_REPLACE, GONE, SEND, LOST, LOST, SEND, LOST, MADE},
    {WRITE_MERGE, GONE, SEND, LOST, LOST, SEND, LOST, MADE},
    {WRITE_UPSERT_REPLACE, SEND, SEND, SEND, SEND, SEND, SEND, SEND},
    {WRITE_UPSERT_MERGE, SEND, SEND, SEND, SEND, SEND, SEND, SEND},
};

static void assert_cell(const struct cell *cell, bool is_doubtful, const char *text,
                        const char *etag, int expected)
{
    bool has_precondition =
        cell->kind == WRITE_DELETE || cell->kind == WRITE_REPLACE || cell->kind == WRITE_MERGE;
    struct write write = {.kind = cell->kind,
                          .position = ROW,
                          .if_match = has_precondition ? B("expected") : B(""),
                          .text = cell->kind == WRITE_DELETE ? B("") : B(OWN)};
    struct entity found = {text ? found_row(text, etag) : NULL, 0};
    assert_int_equal(reconcile(&write, is_doubtful, &found), expected);
    entity_finish(&found);
}

static void every_cell(void **state)
{
    (void)state;
    for (const struct cell *cell = cells; cell < cells + ARRAY_SIZE(cells); cell++) {
        assert_cell(cell, false, NULL, NULL, cell->none);
        assert_cell(cell, true, NULL, NULL, cell->none);
        assert_cell(cell, false, OTHER, "expected", cell->version);
        assert_cell(cell, false, OTHER, "another", cell->other);
        assert_cell(cell, false, OWN, "another", cell->own);
        assert_cell(cell, true, OTHER, "expected", cell->doubtful_version);
        assert_cell(cell, true, OTHER, "another", cell->doubtful_other);
        assert_cell(cell, true, OWN, "another", cell->doubtful_own);
    }
}

/* Its text is the service's JSON: never the own one, and never none. */
static void a_bad_row_is_another_version(void **state)
{
    (void)state;
    static const char json[] = "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"a\":1,\"a\":1}";
    for (size_t i = 0; i < ARRAY_SIZE(cells); i++) {
        assert_cell(&cells[i], false, json, "expected", cells[i].version);
        assert_cell(&cells[i], true, json, "expected", cells[i].doubtful_version);
        assert_cell(&cells[i], true, json, "theirs", cells[i].doubtful_other);
    }
}

static void a_star_fits_every_version(void **state)
{
    (void)state;
    static const enum write_kind kinds[] = {WRITE_DELETE, WRITE_REPLACE, WRITE_MERGE};
    for (size_t i = 0; i < 2 * ARRAY_SIZE(kinds); i++) {
        struct write write = {
            .kind = kinds[i / 2], .position = ROW, .if_match = B("*"), .text = B(OWN)};
        struct entity found = {found_row(i % 2 ? OWN : OTHER, "any"), 0};
        assert_int_equal(reconcile(&write, i % 2, &found), SEND);
        entity_finish(&found);
    }
}

/* What another client has added does not count; what it has changed does. */
static void a_merge_is_made_if_its_properties_are_there(void **state)
{
    (void)state;
    static const char both[] =
        "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\",\n  \"a\": 1,\n  \"b\": 2\n}\n";
    struct write write = {
        .kind = WRITE_MERGE, .position = ROW, .if_match = B("old"), .text = B(OWN)};
    struct entity found = {found_row(both, "new"), 0};
    assert_int_equal(reconcile(&write, true, &found), MADE);
    assert_int_equal(reconcile(&write, false, &found), LOST);
    write.kind = WRITE_REPLACE;
    assert_int_equal(reconcile(&write, true, &found), LOST);
    entity_finish(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell),
        cmocka_unit_test(a_bad_row_is_another_version),
        cmocka_unit_test(a_star_fits_every_version),
        cmocka_unit_test(a_merge_is_made_if_its_properties_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
