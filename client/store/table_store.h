/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_TABLE_STORE_H
#define CLIENT_STORE_TABLE_STORE_H
/* The interface to a table service. Every operation blocks, at most until its call's deadline, may
 * run on any thread, makes ONE attempt, and returns 0 or -errno with the reason in call->failure.
 * Implementations fill `ops`; users call the wrappers. */
#include "client/store/call.h"
#include "client/store/page.h"

#define TABLE_STORE_PAGE_ROWS 1000 /* a service sends at most this many in one page */

/* Where a query goes on: the service's opaque token, and the position after which the next page
 * begins. The wrapper sets the position, and keeps it over an empty page. The coverage of the next
 * page begins there, and so does a new query when the token is too old. Immutable outside the
 * wrappers. */
struct continuation;
int continuation_create(struct bytes token, struct continuation **ret); /* for implementations */
/* For a decorator whose token contains the inner store's: a continuation with that token and the
 * position of `outer`. */
int continuation_create_inner(const struct continuation *outer, struct bytes token,
                              struct continuation **ret);
struct bytes continuation_token(const struct continuation *continuation);
struct bytes continuation_position(const struct continuation *continuation);
/* For implementations: the service sent rows for this page, or looked at rows for a filter. Then
 * the page is progress even if none is in it. */
void continuation_set_progress(struct continuation *continuation);
bool continuation_is_progress(const struct continuation *continuation);
/* For the decorator that paces empty pages: how many in a row led to this continuation, each with
 * nothing but the next token, and when the first of them was asked for. */
struct empty_run {
    int pages;
    int64_t since_ms;
};
struct empty_run continuation_empty_run(const struct continuation *continuation); /* NULL: none */
void continuation_set_empty_run(struct continuation *continuation, struct empty_run run);
void continuation_destroy(struct continuation *continuation); /* takes NULL */

struct query {
    const char *table;
    struct range range;               /* range_is_expressible */
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
/* An empty page that goes on is none, but for continuation_set_progress. */
bool answer_is_progress(const struct answer *answer);

enum write_kind {
    WRITE_INSERT,         /* the entity must not exist: else -EEXIST */
    WRITE_REPLACE,        /* it must exist and fit if_match: else -ENOENT, -ESTALE */
    WRITE_MERGE,          /* likewise; properties that the text does not name stay */
    WRITE_UPSERT_REPLACE, /* whether it exists or not */
    WRITE_UPSERT_MERGE,
    WRITE_DELETE, /* it must exist and fit if_match */
};

struct write { /* of one entity */
    enum write_kind kind;
    struct bytes position;
    struct bytes if_match; /* REPLACE, MERGE, DELETE: an ETag, or "*" for any; else empty */
    struct bytes text;     /* canonical; for a merge: the named properties; for a delete: empty */
};

struct write_result {
    char etag[128];    /* of the new version; "" after a delete */
    int64_t timestamp; /* 100 ns since 1970; 0: the service did not send it */
};

struct table_store_limits {
    size_t batch_writes;
    size_t batch_bytes; /* of the sizes of its writes: table_store_write_size */
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
    bool (*is_down)(struct table_store *); /* NULL: it is not known */
    size_t (*write_size)(struct table_store *, const char *table, const struct write *);
    int (*create_table)(struct table_store *, const char *table, struct call *);
    int (*delete_table)(struct table_store *, const char *table, struct call *);
    const struct table_store_limits *(*limits)(struct table_store *);
    void (*destroy)(struct table_store *);
};

/* The rows of the range, page by page. For all stores this function checks that rows ascend
 * strictly inside the range and after `after`, and that tokens do not repeat (else -EPROTO), and
 * sets the range that the page covers: from after's position or range.lo, to range.hi or, if more
 * follows, to the position after the last row. With a filter or a select a page covers nothing.
 * -ENOENT: no such table. */
int table_store_query(struct table_store *store, const struct query *query, struct call *call,
                      struct answer *ret);
/* One entity, a page of one row; -ENOENT: no such entity, or no such table. */
int table_store_get(struct table_store *store, const char *table, struct bytes position,
                    struct call *call, struct page **ret);
/* Appends a page of table names to ret, as the service has them: UTF-8, perhaps against the rules
 * of client/text/table_name.h. With `only`, just the table of that name, if it is stored
 * in this spelling. */
int table_store_list_tables(struct table_store *store, const char *only,
                            const struct continuation *after, struct call *call,
                            struct table_names *ret, struct continuation **ret_next);
/* n = 1 is a plain request (of a key that no plain request can name a transaction), n > 1 one
 * entity group transaction: all writes are made or none. Checked first: one partition, no row
 * twice, the number of writes, and a precondition for exactly the kinds that have one (-EINVAL);
 * and the size of a batch (-EFBIG). ret: n results, in the order of the writes. After a failure
 * call->failure.operation is the index of the refused write, -1 if unknown, and is_ambiguous says
 * that the change may have been made nevertheless. */
int table_store_write(struct table_store *store, const char *table, const struct write *writes,
                      size_t n, struct call *call, struct write_result *ret);
/* How many bytes of limits.batch_bytes the write takes in a batch: its part of the body, with the
 * encoding of its keys and text. The result is never too small. It is too large by some hundred
 * bytes, and by the size of the keys where the text names them, too. A write with more than
 * batch_bytes can only be sent alone. */
size_t table_store_write_size(struct table_store *store, const char *table,
                              const struct write *write);
/* Should the write be sent alone? A caller that need not send it in a batch asks this first. In a
 * batch the emulator Azurite takes some rare keys for those of another row, and fails all later
 * batches after others. A batch with them is sent nevertheless. Pure. */
bool table_store_goes_alone(const struct write *write);
/* -EEXIST: it exists, perhaps spelled in another case; -EBUSY: it is being deleted. */
int table_store_create_table(struct table_store *store, const char *table, struct call *call);
int table_store_delete_table(struct table_store *store, const char *table, struct call *call);
/* A write, or a change of a table, has failed with this error. Has it met something else than was
 * expected there, or may it have been made nevertheless? Then what is there is to be read. */
static inline bool table_store_is_in_doubt(int error, const struct failure *failure)
{
    return error == -ESTALE || error == -EEXIST || error == -ENOENT || failure->is_ambiguous;
}
/* Does the service not answer, as far as the store knows from other calls? Sends nothing. */
bool table_store_is_down(struct table_store *store);
const struct table_store_limits *table_store_limits(struct table_store *store);
void table_store_destroy(struct table_store *store); /* takes NULL */

DEFINE_CLEANUP(struct continuation *, continuation_destroy);
DEFINE_CLEANUP(struct table_store *, table_store_destroy);

#endif
