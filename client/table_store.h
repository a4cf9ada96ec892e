#ifndef CLIENT_TABLE_STORE_H
#define CLIENT_TABLE_STORE_H
/* The seam: a table service. Every operation blocks until its call's deadline, may run on any
 * thread, makes ONE attempt, answers 0 or -errno and leaves the reason in call->failure.
 * Implementers fill ops; users call the wrappers. */
#include "client/call.h"
#include "client/page.h"

#define TABLE_STORE_PAGE_ROWS 1000 /* what a service answers at most in one page */

/* The service's opaque token and the position it stands behind (the wrapper sets it; an empty page
 * carries it on), where a continued page's coverage begins and where a scan resumes when the token
 * is too old. Immutable outside the wrappers. */
struct continuation;
int continuation_create(struct bytes token, struct continuation **ret); /* for implementers */
/* No service's: for what is known without it up to `position`. It must not be given to a store. */
int continuation_create_at(struct bytes position, struct continuation **ret);
/* For decorators whose tokens hold the inner store's: that one, which stands where `outer` does. */
int continuation_create_inner(const struct continuation *outer, struct bytes token,
                              struct continuation **ret);
struct bytes continuation_token(const struct continuation *continuation);
struct bytes continuation_position(const struct continuation *continuation);
void continuation_destroy(struct continuation *continuation); /* takes NULL */

struct query {
    const char *table;
    struct range range;               /* range_is_askable */
    const char *filter;               /* the service's $filter text; NULL: none */
    const char *select;               /* the service's $select, a comma list; NULL: everything */
    const struct continuation *after; /* NULL: from range.lo */
    int top;                          /* 1 to TABLE_STORE_PAGE_ROWS */
    bool keys_only;
};

struct answer {
    struct page *page;         /* never NULL; may be empty though more follows */
    struct continuation *next; /* NULL: the range is exhausted */
};
void answer_finish(struct answer *answer);

enum write_kind {
    WRITE_INSERT,         /* must not be there yet: else -EEXIST */
    WRITE_REPLACE,        /* must be there, as if_match says: else -ENOENT, -ESTALE */
    WRITE_MERGE,          /* the same; what the text does not name stays */
    WRITE_UPSERT_REPLACE, /* whatever is there */
    WRITE_UPSERT_MERGE,
    WRITE_DELETE, /* must be there, as if_match says */
};

struct write { /* of one entity */
    enum write_kind kind;
    struct bytes position;
    struct bytes if_match; /* REPLACE, MERGE, DELETE: an ETag, or "*" for any; else empty */
    struct bytes text;     /* canonical; of a merge: the named properties; of a delete: empty */
};

struct write_result {
    char etag[128];    /* of the version that was written; "" of a delete */
    int64_t timestamp; /* 100 ns since 1970; 0: the service has not said */
};

struct table_store_limits {
    size_t batch_writes;
    size_t batch_bytes; /* as sent */
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
    int (*create_table)(struct table_store *, const char *table, struct call *);
    int (*delete_table)(struct table_store *, const char *table, struct call *);
    const struct table_store_limits *(*limits)(struct table_store *);
    void (*destroy)(struct table_store *);
};

/* The rows of the range, page by page. Checks that rows ascend strictly inside the range and behind
 * `after`, and that tokens do not go in a circle (else -EPROTO), and sets what the page covers: the
 * one place for these. Coverage begins at after's position, else range.lo; ends at range.hi without
 * a next, behind the last row with one; with a filter or a select it is empty. No such table:
 * -ENOENT. */
int table_store_query(struct table_store *store, const struct query *query, struct call *call,
                      struct answer *ret);
/* One entity, a page of one row; -ENOENT: no such entity, or no such table. */
int table_store_get(struct table_store *store, const char *table, struct bytes position,
                    struct call *call, struct page **ret);
/* A page of table names, appended to ret; `only` non-NULL: just the table of that name, spelled as
 * it is stored. */
int table_store_list_tables(struct table_store *store, const char *only,
                            const struct continuation *after, struct call *call,
                            struct table_names *ret, struct continuation **ret_next);
/* n = 1 is a plain request, n > 1 one entity group transaction: all or nothing. Checked before it
 * is sent (-EINVAL): one partition, no row twice, within the store's limits, a precondition where
 * the kind has one and nowhere else. ret: n results, in the order of the writes. On failure
 * call->failure.operation is the index of the write that was refused, -1 when none was named, and
 * is_ambiguous says that the change may have been made all the same. */
int table_store_write(struct table_store *store, const char *table, const struct write *writes,
                      size_t n, struct call *call, struct write_result *ret);
/* -EEXIST: there is one (its name differs in case at most); -EBUSY: one is being deleted. */
int table_store_create_table(struct table_store *store, const char *table, struct call *call);
int table_store_delete_table(struct table_store *store, const char *table, struct call *call);
const struct table_store_limits *table_store_limits(struct table_store *store);
void table_store_destroy(struct table_store *store); /* takes NULL */

DEFINE_CLEANUP(struct continuation *, continuation_destroy);
DEFINE_CLEANUP(struct table_store *, table_store_destroy);

#endif
