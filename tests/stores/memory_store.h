/* SPDX-License-Identifier: MIT */
#ifndef TESTS_STORES_MEMORY_STORE_H
#define TESTS_STORES_MEMORY_STORE_H
/* A store for unit tests: tables in memory, answered by the rules of the seam, and a diary of what
 * was asked. All tables share their rows, which stay when one is deleted; only canonical texts can
 * be merged. One thread. */
#include "client/store/table_store.h"

#define MEMORY_STORE_DIARY 256

struct memory_store_entry { /* one request */
    enum { ASKED_QUERY, ASKED_GET, ASKED_LIST_TABLES, ASKED_WRITE, ASKED_TABLE_CHANGE } what;
    struct buffer lo, hi; /* of a get: lo; of a write: its first and last position */
    bool is_continued, keys_only;
    int top;
    size_t writes;
};

struct memory_store {
    struct table_store store;
    struct buffer tables;         /* names, NUL after each */
    struct buffer leaving;        /* the same of tables that are being deleted */
    struct page_builder *rows_in; /* rows of every table, added in key order before any request */
    struct page *rows;
    struct memory_store_entry diary[MEMORY_STORE_DIARY];
    int versions; /* how many were written: each has its number for its ETag and Timestamp */
    size_t asked; /* requests; the first of them are in the diary */
    int max_rows; /* of a page, whatever top says; that a filter looks at for one */
    /* Called for each request, with its number from 1. < 0: the request fails so. NULL: never.
     * Atomic, because a test may set it while a read-ahead still sends its last request. */
    int (*_Atomic fault)(struct memory_store *self, size_t number, struct call *call);
    bool is_fault_late; /* only when the answer was made: half of it is there already */
    bool checks_tables; /* requests for rows of a table that is not there are refused */
    bool drops_slowly;  /* a deleted table is listed, and not created again, until its end */
    bool swaps_rows;    /* answers rows out of order, which table_store must refuse */
};

struct memory_store *memory_store_create(void);
void memory_store_add_table(struct memory_store *self, const char *table);
/* Keys in CESU-8; rows ascend. The text is the keys, the ETag `etag`. */
void memory_store_add(struct memory_store *self, struct bytes partition_key, struct bytes row_key,
                      const char *etag);
void memory_store_add_strings(struct memory_store *self, const char *partition_key,
                              const char *row_key);
/* What another client does at this moment, from the fault above too: it asks nothing. */
void memory_store_write(struct memory_store *self, const struct write *write);
/* A bad row of this JSON is there. */
void memory_store_write_bad(struct memory_store *self, struct bytes position, const char *json);
void memory_store_remove_table(struct memory_store *self, const char *table);
void memory_store_end_drops(struct memory_store *self); /* of all that are being deleted */
void memory_store_forget_diary(struct memory_store *self);

#endif
