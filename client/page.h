#ifndef CLIENT_PAGE_H
#define CLIENT_PAGE_H
/* Page: a run of entities in key order and the range it covers completely. Immutable, counted, any
 * thread. One allocation: positions, canonical texts and ETags one behind the other, and an index
 * of 24 bytes a row. Every entity text in the program is a row of a page: an answer of 1,000 and
 * one that was got alone. */
#include "client/position.h"

#define PAGE_MAX_BYTES ((size_t)64 << 20) /* of all a page holds: offsets have 32 bits */

struct page;

struct entity { /* one version of one entity; holds its page, NULL: none */
    struct page *page;
    size_t row;
};

struct run { /* rows [begin, end) of a page; holds it, NULL: none */
    struct page *page;
    size_t begin, end;
};

struct page *page_ref(struct page *page);
void page_unref(struct page *page);           /* takes NULL */
bool page_is_shared(const struct page *page); /* at this moment more than one reference is held */
size_t page_rows(const struct page *page);
size_t page_bytes(const struct page *page);       /* memory it takes */
struct range page_range(const struct page *page); /* empty (lo == hi) when it proves nothing */
bool page_is_keys_only(const struct page *page);  /* its texts are empty */
struct bytes page_position(const struct page *page, size_t row);
struct bytes page_text(const struct page *page, size_t row);
struct bytes page_etag(const struct page *page, size_t row);
int64_t page_timestamp(const struct page *page, size_t row);      /* 100 ns since 1970 */
size_t page_seek(const struct page *page, struct bytes position); /* first row at or after it */
/* The first row of [row + 1, end) that is not in the partition that `row` is in; else `end`. */
size_t page_next_partition(const struct page *page, size_t row, size_t end);
/* The row's inode number. The first call takes a block of numbers, one a row, from the atomic
 * counter: they grow along the page. */
uint64_t page_number(struct page *page, size_t row, _Atomic uint64_t *counter);

void entity_finish(struct entity *entity); /* lets its page go; takes an empty one */
/* The entity in a page of its own, so that who keeps it keeps no more. -ENOMEM. */
int entity_copy(const struct entity *entity, struct entity *ret);
void run_finish(struct run *run); /* the same */

/* A page without a row: surely none is in the range. -ENOMEM. */
int page_create_empty(struct range covered, struct page **ret);

/* One thread. A row: its text is appended to page_builder_text, then the row is ended. */
struct page_builder;
int page_builder_create(size_t max_bytes, struct page_builder **ret); /* at most PAGE_MAX_BYTES */
void page_builder_destroy(struct page_builder *builder);              /* takes NULL */
struct buffer *page_builder_text(struct page_builder *builder);
/* -EFBIG past max_bytes; ends the row with what was appended since the last. */
int page_builder_end_row(struct page_builder *builder, struct bytes position, struct bytes etag,
                         int64_t timestamp);
/* Forgets what was appended since the last end. */
void page_builder_drop_row(struct page_builder *builder);
void page_builder_clear(struct page_builder *builder); /* no row, no error */
size_t page_builder_rows(const struct page_builder *builder);
struct bytes page_builder_position(const struct page_builder *builder, size_t row);
/* the builder is empty afterwards */
int page_builder_finish(struct page_builder *builder, struct range covered, bool keys_only,
                        struct page **ret);

DEFINE_CLEANUP(struct page *, page_unref);
DEFINE_CLEANUP(struct page_builder *, page_builder_destroy);

#endif
