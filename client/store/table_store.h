/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_TABLE_STORE_H
#define CLIENT_STORE_TABLE_STORE_H
/* The interface to a table service. Every operation blocks, at most until its call's deadline, may
 * run on any thread, makes ONE attempt, and returns 0 or -errno with the reason in call->failure.
 * Implementations fill `ops`; users call the wrappers. */
#include "client/store/call.h"
#include "client/store/page.h"

#define TABLE_STORE_PAGE_ROWS 1000 /* a service sends at most this many in one page */

/* Where the next page of a query begins: the service's opaque token, and the position after the
 * last row so far. The wrapper sets the position; an empty page leaves it unchanged. The range that
 * the next page covers begins there; so does a new query if the token has expired. Only the
 * wrappers and the fetcher (its origin) change it. */
struct continuation;
/* For implementations: they pass an empty position, which the wrapper sets. A decorator whose token
 * contains the token of its inner store creates a continuation with the inner token and the
 * position of its own. */
int continuation_create(struct bytes token, struct bytes position, struct continuation **ret);
struct bytes continuation_token(const struct continuation *continuation);
struct bytes continuation_position(const struct continuation *continuation);
/* For implementations: the service sent rows that are not in the page, or compared rows with a
 * filter. Then even an empty page counts as progress: a caller that waits continues to wait. */
void continuation_set_progress(struct continuation *continuation);
bool continuation_is_progress(const struct continuation *continuation);
/* For retrying_store, which delays after empty pages: the pages without rows and without progress
 * that follow each other up to this continuation. How many they are, and when the first of them was
 * requested. */
struct empty_run {
    int pages;
    int64_t since_ms;
};
struct empty_run continuation_empty_run(const struct continuation *continuation); /* NULL: none */
void continuation_set_empty_run(struct continuation *continuation, struct empty_run run);
/* For the fetcher: the answer that gave the token, or the last row before it. When it arrived
 * (monotonic), and the order of its request (cache/known/stamp.h). */
struct token_origin {
    int64_t arrived_ms;
    uint64_t order;
};
struct token_origin continuation_origin(const struct continuation *continuation); /* NULL: 0, 0 */
void continuation_set_origin(struct continuation *continuation, struct token_origin origin);
void continuation_destroy(struct continuation *continuation); /* takes NULL */

struct query {
    const char *table;
    struct range range;               /* range_is_expressible(range) holds */
    const char *filter;               /* the service's $filter text; NULL: none */
    const char *select;               /* the service's $select, names with commas; NULL: all */
    const struct continuation *after; /* NULL: from range.lo */
    int top;                          /* 1 to TABLE_STORE_PAGE_ROWS */
    bool keys_only;                   /* rows have their keys, ETag and Timestamp, and no text */
};

struct answer {
    struct page *page;         /* never NULL; may be empty although more follows */
    struct continuation *next; /* NULL: the range is exhausted */
};
void answer_finish(struct answer *answer);
/* True: the page has rows, or it is the last one, or continuation_set_progress was called. */
bool answer_is_progress(const struct answer *answer);

enum write_kind {
    WRITE_INSERT,         /* the entity must not exist: else -EEXIST */
    WRITE_REPLACE,        /* it must exist (else -ENOENT) and match if_match (else -ESTALE) */
    WRITE_MERGE,          /* likewise; properties that are not in the text stay unchanged */
    WRITE_UPSERT_REPLACE, /* no precondition */
    WRITE_UPSERT_MERGE,
    WRITE_DELETE, /* as WRITE_REPLACE */
};

struct write { /* of one entity */
    enum write_kind kind;
    struct bytes position;
    struct bytes if_match; /* REPLACE, MERGE, DELETE: an ETag, or "*" for any; else empty */
    struct bytes text;     /* canonical; merge: the properties to set; delete: empty */
};

struct write_result {
    char etag[128];    /* of the new version; "" after a delete */
    int64_t timestamp; /* 100 ns since 1970; 0: the service did not send it */
};

struct table_store_limits {
    size_t batch_writes;
    size_t batch_bytes; /* maximum sum of the table_store_write_size of its writes */
};

struct table_names {
    struct buffer names; /* NUL after each, in the service's order */
};

struct table_store {
    const struct table_store_ops *ops;
};

struct table_store_ops {
    int (*query)(struct table_store *, const struct query *, struct call *, struct page_builder *,
                 struct continuation **ret_next);
    int (*get)(struct table_store *, const char *table, struct bytes position, struct call *,
               struct page_builder *);
    int (*list_tables)(struct table_store *, const char *only, const struct continuation *after,
                       struct call *, struct table_names *, struct continuation **ret_next);
    int (*write)(struct table_store *, const char *table, const struct write *, size_t n,
                 struct call *, struct write_result *ret);
    bool (*is_down)(struct table_store *); /* NULL: the store does not know it */
    size_t (*write_size)(struct table_store *, const char *table, const struct write *);
    int (*create_table)(struct table_store *, const char *table, struct call *);
    int (*delete_table)(struct table_store *, const char *table, struct call *);
    const struct table_store_limits *(*limits)(struct table_store *);
    void (*destroy)(struct table_store *);
};

/* Reads one page of the rows in the range. For all stores, this wrapper checks that the rows ascend
 * strictly, lie in the range and after `after`, and that no token repeats (else -EPROTO). It also
 * sets the range that the page covers: from the position of `after`, or range.lo, to range.hi, or
 * if more pages follow, to the position after the last row. With a filter or a select a page
 * covers nothing. -ENOENT: no such table. */
int table_store_query(struct table_store *store, const struct query *query, struct call *call,
                      struct answer *ret);
/* One entity, a page of one row; -ENOENT: no such entity, or no such table. */
int table_store_get(struct table_store *store, const char *table, struct bytes position,
                    struct call *call, struct page **ret);
/* Appends a page of table names to ret, as the service spells them: UTF-8, but they may break the
 * rules of client/text/table_name.h. With `only`: just that table, if its spelling is the same. */
int table_store_list_tables(struct table_store *store, const char *only,
                            const struct continuation *after, struct call *call,
                            struct table_names *ret, struct continuation **ret_next);
/* n = 1: a plain request (or a transaction of one write, if no URL can contain the key). n > 1: one
 * entity group transaction: all writes are made or none. -EINVAL without a request: not all in one
 * partition, an entity twice, too many writes, if_match is set for a kind that takes none, or
 * missing for a kind that needs it. -EFBIG without a request: the batch is too large. ret: n
 * results, in the order of the writes. After a failure, call->failure.operation is the index of the
 * refused write, -1 if unknown; is_ambiguous: the change may have been made nevertheless. */
int table_store_write(struct table_store *store, const char *table, const struct write *writes,
                      size_t n, struct call *call, struct write_result *ret);
/* How many bytes of limits.batch_bytes the write takes: its part of the batch's body, encoded. This
 * is an upper bound: too large by some hundred bytes, and by the size of the keys if the text has
 * them, too. A write of more than batch_bytes can only be sent alone. */
size_t table_store_write_size(struct table_store *store, const char *table,
                              const struct write *write);
/* Should the write be sent alone, if the caller has the choice? The emulator Azurite has
 * two faults with batches: changes of some rare keys reach another entity, and after some other
 * keys all later batches fail. table_store_write sends a batch with such keys nevertheless. Pure.
 */
bool table_store_goes_alone(const struct write *write);
/* -EEXIST: it exists, perhaps spelled in another case; -EBUSY: it is being deleted. */
int table_store_create_table(struct table_store *store, const char *table, struct call *call);
int table_store_delete_table(struct table_store *store, const char *table, struct call *call);
/* After a write, or a change of a table, failed with `error`. True: the entity or table was not as
 * the caller expected, or the answer was lost, so the change may have been made. Then the caller
 * should read the present state. */
static inline bool table_store_is_in_doubt(int error, const struct failure *failure)
{
    return error == -ESTALE || error == -EEXIST || error == -ENOENT || failure->is_ambiguous;
}
/* Is the service down, as far as the store knows from other calls? Sends nothing. */
bool table_store_is_down(struct table_store *store);
const struct table_store_limits *table_store_limits(struct table_store *store);
void table_store_destroy(struct table_store *store); /* takes NULL */

DEFINE_CLEANUP(struct continuation *, continuation_destroy);
DEFINE_CLEANUP(struct table_store *, table_store_destroy);

#endif
