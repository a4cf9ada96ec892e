/* SPDX-License-Identifier: MIT */
#include "client/store/page.h"

#include <stdatomic.h>

struct row { /* text, position and ETag follow each other; `end` is the start of the next row's text
              */
    int64_t timestamp;
    uint32_t text, position, etag;
    uint32_t end : 31, is_bad : 1;
};
_Static_assert(sizeof(struct row) == 24, "an index of 24 bytes a row");

struct page {
    _Atomic size_t references;
    _Atomic uint64_t first_number; /* 0: no block taken yet */
    size_t rows, data_size;
    size_t lo_size, hi_size;  /* the range's ends follow the rows' data */
    struct later_etag *later; /* of the one row; NULL: its ETag is known */
    bool is_keys_only;
    struct row index[]; /* then data_size bytes, lo, hi */
};

struct page_builder {
    struct buffer data, index; /* index: struct row */
    size_t rows, begin;        /* of the row that is being built */
};

static const char *page_data(const struct page *page)
{
    return (const char *)(page->index + page->rows);
}

struct page *page_ref(struct page *page)
{
    atomic_fetch_add_explicit(&page->references, 1, memory_order_relaxed);
    return page;
}

void page_unref(struct page *page)
{
    if (!page || atomic_fetch_sub_explicit(&page->references, 1, memory_order_acq_rel) > 1)
        return;
    later_etag_unref(page->later);
    free(page);
}

bool page_is_shared(const struct page *page)
{
    return atomic_load_explicit(&page->references, memory_order_acquire) > 1;
}

size_t page_rows(const struct page *page)
{
    return page->rows;
}

size_t page_bytes(const struct page *page)
{
    return sizeof(*page) + page->rows * sizeof(struct row) + page->data_size + page->lo_size +
           page->hi_size;
}

struct range page_range(const struct page *page)
{
    const char *lo = page_data(page) + page->data_size;
    return (struct range){{lo, page->lo_size}, {lo + page->lo_size, page->hi_size}};
}

bool page_is_keys_only(const struct page *page)
{
    return page->is_keys_only;
}

static struct bytes slice(const struct page *page, uint32_t begin, uint32_t end)
{
    return (struct bytes){page_data(page) + begin, end - begin};
}

struct bytes page_position(const struct page *page, size_t row)
{
    return slice(page, page->index[row].position, page->index[row].etag);
}

struct bytes page_text(const struct page *page, size_t row)
{
    return slice(page, page->index[row].text, page->index[row].position);
}

struct bytes page_etag(const struct page *page, size_t row)
{
    return slice(page, page->index[row].etag, page->index[row].end);
}

struct later_etag *page_later_etag(const struct page *page)
{
    return page->later;
}

int64_t page_timestamp(const struct page *page, size_t row)
{
    return page->index[row].timestamp;
}

bool page_is_bad(const struct page *page, size_t row)
{
    return page->index[row].is_bad;
}

size_t page_seek(const struct page *page, struct bytes position)
{
    size_t lo = 0, hi = page->rows;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (bytes_compare(page_position(page, middle), position) < 0)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

size_t page_next_partition(const struct page *page, size_t row, size_t end)
{
    struct bytes key = position_partition_key(page_position(page, row));
    size_t lo = row + 1, hi = end;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (bytes_equal(position_partition_key(page_position(page, middle)), key))
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

uint64_t page_number(struct page *page, size_t row, _Atomic uint64_t *counter)
{
    uint64_t first = atomic_load(&page->first_number);
    if (first == 0) {
        uint64_t block = atomic_fetch_add(counter, page->rows);
        /* if two threads do this, one block stays unused, and `first` becomes the other thread's */
        if (atomic_compare_exchange_strong(&page->first_number, &first, block))
            first = block;
    }
    return first + row;
}

void entity_finish(struct entity *entity)
{
    page_unref(TAKE_PTR(entity->page));
}

void run_finish(struct run *run)
{
    page_unref(TAKE_PTR(run->page));
}

int page_builder_create(size_t max_bytes, struct page_builder **ret)
{
    struct page_builder *builder = calloc(1, sizeof(*builder));
    if (!builder)
        return -ENOMEM;
    buffer_init(&builder->data, MIN(max_bytes, PAGE_MAX_BYTES));
    buffer_init(&builder->index, PAGE_MAX_BYTES);
    *ret = builder;
    return 0;
}

void page_builder_destroy(struct page_builder *builder)
{
    if (!builder)
        return;
    buffer_finish(&builder->data);
    buffer_finish(&builder->index);
    free(builder);
}

struct buffer *page_builder_text(struct page_builder *builder)
{
    return &builder->data;
}

void page_builder_drop_row(struct page_builder *builder)
{
    builder->data.size = builder->begin;
}

int page_builder_end_row(struct page_builder *builder, struct bytes position, struct bytes etag,
                         int64_t timestamp)
{
    struct row row = {.timestamp = timestamp, .text = (uint32_t)builder->begin};
    row.position = (uint32_t)builder->data.size;
    row.etag = (uint32_t)(builder->data.size + position.size);
    (void)buffer_append(&builder->data, position);
    int r = buffer_append(&builder->data, etag);
    if (r < 0)
        return r;
    row.end = (uint32_t)builder->data.size & INT32_MAX;
    r = buffer_append(&builder->index, (struct bytes){(const char *)&row, sizeof(row)});
    if (r < 0)
        return r;
    builder->begin = builder->data.size;
    builder->rows++;
    return 0;
}

void page_builder_set_bad(struct page_builder *builder)
{
    struct row row;
    char *last = builder->index.data + (builder->rows - 1) * sizeof(row);
    memcpy(&row, last, sizeof(row));
    row.is_bad = true;
    memcpy(last, &row, sizeof(row));
}

void page_builder_clear(struct page_builder *builder)
{
    buffer_clear(&builder->data);
    buffer_clear(&builder->index);
    builder->rows = builder->begin = 0;
}

size_t page_builder_rows(const struct page_builder *builder)
{
    return builder->rows;
}

struct bytes page_builder_position(const struct page_builder *builder, size_t row)
{
    struct row entry;
    memcpy(&entry, builder->index.data + row * sizeof(entry), sizeof(entry));
    return (struct bytes){builder->data.data + entry.position, entry.etag - entry.position};
}

int page_builder_finish(struct page_builder *builder, struct range covered, bool keys_only,
                        struct page **ret)
{
    size_t index_size = builder->rows * sizeof(struct row);
    size_t size =
        sizeof(struct page) + index_size + builder->begin + covered.lo.size + covered.hi.size;
    struct page *page = malloc(size);
    if (!page)
        return -ENOMEM;
    *page = (struct page){.references = 1,
                          .rows = builder->rows,
                          .data_size = builder->begin,
                          .lo_size = covered.lo.size,
                          .hi_size = covered.hi.size,
                          .is_keys_only = keys_only};
    char *end = (char *)page->index;
    struct bytes parts[] = {{builder->index.data, index_size},
                            {builder->data.data, builder->begin},
                            covered.lo,
                            covered.hi};
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (parts[i].size > 0)
            memcpy(end, parts[i].data, parts[i].size);
        end += parts[i].size;
    }
    page_builder_clear(builder);
    *ret = page;
    return 0;
}

int entity_copy(const struct entity *entity, struct entity *ret)
{
    const struct page *page = entity->page;
    struct bytes position = page_position(page, entity->row);
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    int r = page_builder_create(PAGE_MAX_BYTES, &builder);
    if (r < 0)
        return r;
    (void)buffer_append(page_builder_text(builder), page_text(page, entity->row));
    r = page_builder_end_row(builder, position, page_etag(page, entity->row),
                             page_timestamp(page, entity->row));
    if (r == 0 && page_is_bad(page, entity->row))
        page_builder_set_bad(builder);
    if (r == 0)
        r = page_builder_finish(builder, (struct range){position, position},
                                page_is_keys_only(page), &ret->page);
    if (r < 0)
        return r;
    ret->row = 0;
    ret->page->later = page->later ? later_etag_ref(page->later) : NULL;
    return 0;
}

int page_create_row(struct bytes position, struct bytes text, struct bytes etag, int64_t timestamp,
                    struct page **ret)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    struct position end;
    int r = page_builder_create(PAGE_MAX_BYTES, &builder);
    if (r == 0)
        r = buffer_append(page_builder_text(builder), text);
    if (r == 0)
        r = page_builder_end_row(builder, position, etag, timestamp);
    return r < 0 ? r : page_builder_finish(builder, range_of_one(position, &end), false, ret);
}

int page_create_queued(struct bytes position, struct bytes text, int64_t timestamp,
                       struct page **ret)
{
    struct later_etag *later = later_etag_create();
    int r = later ? page_create_row(position, text, (struct bytes){0}, timestamp, ret) : -ENOMEM;
    if (r < 0)
        later_etag_unref(later);
    else
        (*ret)->later = later;
    return r;
}

int page_create_empty(struct range covered, struct page **ret)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    int r = page_builder_create(PAGE_MAX_BYTES, &builder);
    return r < 0 ? r : page_builder_finish(builder, covered, false, ret);
}
