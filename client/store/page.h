/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_PAGE_H
#define CLIENT_STORE_PAGE_H
/* Page: entities in key order, and the range of keys that they cover completely. Immutable,
 * reference-counted, any thread. One allocation: the positions, canonical texts and ETags, then an
 * index of 24 bytes a row. Every entity text in the program is a row of a page, whether it came
 * with 999 others or alone.
 *
 * A bad row is an entity that the service answered and that cannot be understood. Its text is the
 * service's JSON, which is never canonical and equals no text: the entity can be listed, deleted
 * and replaced, but not read, merged or copied. Only client/azure makes such rows. */
#include "client/base/position.h"
#include "client/store/later_etag.h"

#define PAGE_MAX_BYTES ((size_t)64 << 20) /* of a page's data: offsets have 32 bits */

struct page;

struct entity { /* one version of one entity; holds a reference to its page; NULL: none */
    struct page *page;
    size_t row;
};

struct run { /* rows [begin, end) of a page; holds a reference to it; NULL: none */
    struct page *page;
    size_t begin, end;
};

struct page *page_ref(struct page *page);
void page_unref(struct page *page);           /* takes NULL */
bool page_is_shared(const struct page *page); /* more than one reference is held now */
size_t page_rows(const struct page *page);
size_t page_bytes(const struct page *page);       /* memory used */
struct range page_range(const struct page *page); /* empty (lo == hi): it covers nothing */
bool page_is_keys_only(const struct page *page);  /* its texts are empty */
struct bytes page_position(const struct page *page, size_t row);
struct bytes page_text(const struct page *page, size_t row);
struct bytes page_etag(const struct page *page, size_t row);
/* Of page_create_queued, where page_etag stays empty: what learns the row's ETag. Else NULL. */
struct later_etag *page_later_etag(const struct page *page);
int64_t page_timestamp(const struct page *page, size_t row); /* 100 ns since 1970 */
bool page_is_bad(const struct page *page, size_t row);
size_t page_seek(const struct page *page, struct bytes position); /* first row at or after it */
/* The first row of [row + 1, end) that is not in the partition of `row`; `end` if there is none. */
size_t page_next_partition(const struct page *page, size_t row, size_t end);
/* A number of the row that no other row has. The first call for a page takes a block of numbers,
 * one for each row, from the atomic counter; numbers ascend with rows. */
uint64_t page_number(struct page *page, size_t row, _Atomic uint64_t *counter);

void entity_finish(struct entity *entity); /* drops its reference; takes an empty one */
/* Copies the entity to a page of its own, so that keeping it does not keep other rows. -ENOMEM. */
int entity_copy(const struct entity *entity, struct entity *ret);
void run_finish(struct run *run); /* likewise */

/* A page of one row, which covers no other. -ENOMEM, -EFBIG. */
int page_create_row(struct bytes position, struct bytes text, struct bytes etag, int64_t timestamp,
                    struct page **ret);
/* The same of a text that is queued: its ETag is not known yet. */
int page_create_queued(struct bytes position, struct bytes text, int64_t timestamp,
                       struct page **ret);
/* A page without rows: the range is known to be empty. -ENOMEM. */
int page_create_empty(struct range covered, struct page **ret);

/* Used by one thread. For each row the caller appends its text to page_builder_text, then calls
 * page_builder_end_row. */
struct page_builder;
int page_builder_create(size_t max_bytes, struct page_builder **ret); /* at most PAGE_MAX_BYTES */
void page_builder_destroy(struct page_builder *builder);              /* takes NULL */
struct buffer *page_builder_text(struct page_builder *builder);
/* Ends the row whose text was appended since the last end. -EFBIG: more than max_bytes. */
int page_builder_end_row(struct page_builder *builder, struct bytes position, struct bytes etag,
                         int64_t timestamp);
/* The row that was ended last is bad. */
void page_builder_set_bad(struct page_builder *builder);
/* Drops the text that was appended since the last end. */
void page_builder_drop_row(struct page_builder *builder);
void page_builder_clear(struct page_builder *builder); /* drops all rows and the error */
size_t page_builder_rows(const struct page_builder *builder);
struct bytes page_builder_position(const struct page_builder *builder, size_t row);
/* The builder is empty afterwards. */
int page_builder_finish(struct page_builder *builder, struct range covered, bool keys_only,
                        struct page **ret);

DEFINE_CLEANUP(struct page *, page_unref);
DEFINE_CLEANUP(struct page_builder *, page_builder_destroy);

#endif
