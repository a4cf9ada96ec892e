/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CONTRACT_CONTRACT_H
#define TESTS_CONTRACT_CONTRACT_H
/* One contract for every table store: these tests run unchanged against a local account and against
 * a service, which is Azurite behind the strict proxy (tests/service). Each test has a table of its
 * own. */
#include "client/base/unicode.h"
#include "client/store/table_store.h"
#include "tests/unit/unit.h"

struct contract {
    struct table_store *store;
};

extern struct contract contract;

extern const struct CMUnitTest contract_tables[], contract_entities[], contract_queries[],
    contract_batches[];
extern const size_t contract_tables_count, contract_entities_count, contract_queries_count,
    contract_batches_count;

int contract_set_up(void **state);    /* *state: the name of a new table */
int contract_tear_down(void **state); /* drops it */

struct call contract_call(void); /* a deadline in ten seconds */
/* "prefix" and a number that was not used before. */
void contract_name(char ret[64], const char *prefix);

/* Canonical text of an entity: the keys in UTF-8, without characters that need escapes, and lines
 * of properties such as `"A": 1`, NULL after the last. On a heap; freed at the test's end. */
struct bytes contract_text(const char *partition_key, const char *row_key,
                           const char *const *lines);
struct bytes contract_position(const char *partition_key, const char *row_key);

/* One write; the result's ETag goes to ret_etag (may be NULL). */
int contract_write(const char *table, enum write_kind kind, const char *partition_key,
                   const char *row_key, const char *if_match, const char *const *lines,
                   char ret_etag[128], struct call *call);
#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_LINES   ((const char *const[]){NULL})

/* The stored text, canonical; "" when there is no such entity. Freed at the test's end. */
struct bytes contract_stored(const char *table, const char *partition_key, const char *row_key);
void contract_assert_stored(const char *table, const char *partition_key, const char *row_key,
                            const char *const *lines);
void contract_assert_absent(const char *table, const char *partition_key, const char *row_key);
/* The write was refused as the service does it. */
void contract_assert_refused(int r, const struct call *call, int error, int http_status,
                             const char *code);
/* All rows of a query, page after page of `top`: their keys as "partition/row ", and the pages. */
struct bytes contract_rows(const char *table, struct range range, const char *filter, int top,
                           size_t *ret_pages);

#endif
