/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_PAGE_H
#define CLIENT_STORE_PAGE_H
/* Page: entities in key order, and the range that it covers: in this range there are no other
 * entities. Immutable, reference-counted, any thread. One allocation: the positions, canonical
 * texts and ETags, then an index of 24 bytes a row. Each entity in the program is a row of a page,
 * whether it was read with 999 others or alone.
 *
 * A bad row is an entity of which the service sent JSON that has no canonical text (entity_text.h).
 * Its text is that JSON, which equals no canonical text. Such an entity can be listed, deleted and
 * replaced, but not read, merged or copied. Only client/azure makes bad rows. */
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
bool page_is_shared(const struct page *page); /* are there several references now? */
size_t page_rows(const struct page *page);
size_t page_bytes(const struct page *page);       /* memory used */
struct range page_range(const struct page *page); /* empty (lo == hi): it covers nothing */
bool page_is_keys_only(const struct page *page);  /* its texts are empty */
struct bytes page_position(const struct page *page, size_t row);
struct bytes page_text(const struct page *page, size_t row);
struct bytes page_etag(const struct page *page, size_t row);
/* Of a page of page_create_queued: where its ETag will be; page_etag stays empty. Else NULL. */
struct later_etag *page_later_etag(const struct page *page);
int64_t page_timestamp(const struct page *page, size_t row); /* 100 ns since 1970 */
bool page_is_bad(const struct page *page, size_t row);
size_t page_seek(const struct page *page, struct bytes position); /* first row at or after it */
/* The first row of [row + 1, end) that is not in the partition of `row`; `end` if there is none. */
size_t page_next_partition(const struct page *page, size_t row, size_t end);
/* A number for the row, unique among all pages. The first call for a page takes a block of numbers,
 * one for each row, from the atomic counter; they ascend in the order of the rows. */
uint64_t page_number(struct page *page, size_t row, _Atomic uint64_t *counter);

void entity_finish(struct entity *entity); /* drops its reference; takes an empty one */
/* Copies the entity into its own page, so that the memory of other rows can be freed. -ENOMEM. */
int entity_copy(const struct entity *entity, struct entity *ret);
void run_finish(struct run *run); /* likewise */

/* A page of one row, which covers only the row's position. -ENOMEM, -EFBIG. */
int page_create_row(struct bytes position, struct bytes text, struct bytes etag, int64_t timestamp,
                    struct page **ret);
/* The same for a queued text, whose ETag is not known yet. */
int page_create_queued(struct bytes position, struct bytes text, int64_t timestamp,
                       struct page **ret);
/* A page without rows: the range is known to be empty. -ENOMEM. */
int page_create_empty(struct range covered, struct page **ret);

/* Builds a page; used by one thread. For each row, the caller appends the text to page_builder_text
 * and calls page_builder_end_row. */
struct page_builder;
int page_builder_create(size_t max_bytes, struct page_builder **ret); /* at most PAGE_MAX_BYTES */
void page_builder_destroy(struct page_builder *builder);              /* takes NULL */
struct buffer *page_builder_text(struct page_builder *builder);
/* Adds a row with the text that was appended since the last call. -EFBIG: more than max_bytes. */
int page_builder_end_row(struct page_builder *builder, struct bytes position, struct bytes etag,
                         int64_t timestamp);
/* Marks the last added row as bad. */
void page_builder_set_bad(struct page_builder *builder);
/* Drops the text that was appended since the last row. */
void page_builder_drop_row(struct page_builder *builder);
void page_builder_clear(struct page_builder *builder); /* drops all rows and the error */
size_t page_builder_rows(const struct page_builder *builder);
struct bytes page_builder_position(const struct page_builder *builder, size_t row);
/* Creates the page; the builder is empty afterwards. */
int page_builder_finish(struct page_builder *builder, struct range covered, bool keys_only,
                        struct page **ret);

DEFINE_CLEANUP(struct page *, page_unref);
DEFINE_CLEANUP(struct page_builder *, page_builder_destroy);

#endif
