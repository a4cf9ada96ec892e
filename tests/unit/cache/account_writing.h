/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_ACCOUNT_WRITING_H
#define TESTS_UNIT_CACHE_ACCOUNT_WRITING_H
/* What the tests of the account's changes share. The entities are in partition p of table t. */
#include "tests/unit/cache/account_fixture.h"

/* The canonical text of the row with one property. */
#define TEXT_OF(row, value)                                                                        \
    "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"" row "\",\n  \"a\": " value "\n}\n"

/* To a row of the partition. */
#define PATH PATH_OF(*ROWS_OF("p"), *PARTITIONS_OF("t"))

static inline struct address address_of(struct bytes position)
{
    return (struct address){.table = "t", .position = position};
}

/* The version, as a string; ret_etag: of 32 bytes. */
static inline void copy_etag(const struct entity *entity, char *ret_etag)
{
    struct bytes etag = page_etag(entity->page, entity->row);
    (void)snprintf(ret_etag, 32, "%.*s", (int)etag.size, etag.data);
}

/* Stores the text; the version is copied into ret_etag (of 32 bytes; NULL: it is not wanted). */
static inline int store(struct setup *setup, const struct edit *edit, char *ret_etag)
{
    struct entity entity = {0};
    int r = account_store(setup->account, caller_of(setup), edit, &entity);
    assert_int_equal(setup->caller.call.failure.error, r);
    if (r == 0 && ret_etag)
        copy_etag(&entity, ret_etag);
    entity_finish(&entity);
    return r;
}

static inline int store_text(struct setup *setup, enum edit_begin begin, struct bytes position,
                             const char *text)
{
    struct edit edit = {.address = address_of(position), .begin = begin, .text = bytes_of(text)};
    return store(setup, &edit, NULL);
}

/* The process opens the row for reading, as it is found. */
static inline void open_row(struct setup *setup, struct bytes position)
{
    _cleanup_(entity_finish) struct entity entity = {0};
    assert_int_equal(account_find(setup->account, caller_of(setup), address_of(position), &entity),
                     0);
    account_opened(setup->account, &setup->caller, address_of(position), &entity);
}

/* Renames a row, which is in partition p. What it is afterwards has this text. */
static inline int rename_to(struct setup *setup, struct bytes from, struct bytes to,
                            enum edit_begin begin, const char *expected)
{
    const struct rename rename = {
        .from = address_of(from), .to = address_of(to), .begin = begin, .path = PATH};
    struct renamed renamed;
    int r = account_rename(setup->account, caller_of(setup), &rename, &renamed);
    assert_int_equal(setup->caller.call.failure.error, r);
    assert_int_equal(renamed.after.page != NULL, expected != NULL);
    assert_int_equal(renamed.before.page != NULL, expected != NULL);
    if (expected)
        assert_bytes(page_text(renamed.after.page, renamed.after.row), bytes_of(expected));
    renamed_finish(&renamed);
    return r;
}

static inline int remove_at(struct setup *setup, const struct directory_path *path)
{
    int r = account_remove_directory(setup->account, caller_of(setup), path);
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

static inline int remove_table(struct setup *setup)
{
    return remove_at(setup, PATH_OF(*PARTITIONS_OF("t")));
}

static inline void another_stores(struct setup *setup, struct bytes position, const char *text)
{
    another_client_writes(setup, WRITE_UPSERT_REPLACE, position, text);
}

#endif
