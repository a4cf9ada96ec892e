/* SPDX-License-Identifier: MIT */
#include "client/store/table_store.h"
#include "client/base/unicode.h"

#include <strings.h>

/* Detects a service whose tokens repeat (Brent's algorithm): tokens are compared with one that
 * is kept, the milestone, which is replaced after 1, 2, 4... empty pages. A cycle of any length
 * is found within a few times its length. A page with rows is progress and ends the comparison. */
struct continuation {
    struct buffer token, position, milestone;
    size_t steps, limit;
    struct empty_run empty_run;
    struct token_origin origin;
    bool is_progress;
};

#define CONTINUATION_MAX_BYTES ((size_t)16 << 10)

int continuation_create(struct bytes token, struct bytes position, struct continuation **ret)
{
    _cleanup_(continuation_destroyp) struct continuation *continuation =
        calloc(1, sizeof(*continuation));
    if (!continuation)
        return -ENOMEM;
    buffer_init(&continuation->token, CONTINUATION_MAX_BYTES);
    buffer_init(&continuation->position, CONTINUATION_MAX_BYTES);
    buffer_init(&continuation->milestone, CONTINUATION_MAX_BYTES);
    continuation->limit = 1;
    (void)buffer_append(&continuation->token, token);
    (void)buffer_append(&continuation->position, position);
    int r = MIN(continuation->token.error, continuation->position.error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(continuation);
    return 0;
}

struct bytes continuation_token(const struct continuation *continuation)
{
    return buffer_bytes(&continuation->token);
}

struct bytes continuation_position(const struct continuation *continuation)
{
    return buffer_bytes(&continuation->position);
}

void continuation_set_progress(struct continuation *continuation)
{
    continuation->is_progress = true;
}

bool continuation_is_progress(const struct continuation *continuation)
{
    return continuation->is_progress;
}

struct empty_run continuation_empty_run(const struct continuation *continuation)
{
    return continuation ? continuation->empty_run : (struct empty_run){0};
}

void continuation_set_empty_run(struct continuation *continuation, struct empty_run run)
{
    continuation->empty_run = run;
}

struct token_origin continuation_origin(const struct continuation *continuation)
{
    return continuation ? continuation->origin : (struct token_origin){0};
}

void continuation_set_origin(struct continuation *continuation, struct token_origin origin)
{
    continuation->origin = origin;
}

void continuation_destroy(struct continuation *continuation)
{
    if (!continuation)
        return;
    buffer_finish(&continuation->token);
    buffer_finish(&continuation->position);
    buffer_finish(&continuation->milestone);
    free(continuation);
}

/* Passes the milestone on over an empty page; -EPROTO: the token has occurred before. */
static int continuation_follow(struct continuation *next, const struct continuation *after)
{
    next->steps = after->steps + 1;
    next->limit = after->limit;
    struct bytes milestone = buffer_bytes(&after->milestone);
    if (bytes_equal(continuation_token(next), continuation_token(after)) ||
        (milestone.size > 0 && bytes_equal(continuation_token(next), milestone)))
        return -EPROTO;
    if (next->steps >= next->limit) {
        next->steps = 0;
        next->limit *= 2;
        milestone = continuation_token(next);
    }
    return buffer_append(&next->milestone, milestone);
}

static int fail_to_follow(struct call *call, int r)
{
    return call_fail(call, r, "%s",
                     r == -EPROTO ? "the service's continuation tokens repeat" : "out of memory");
}

void answer_finish(struct answer *answer)
{
    page_unref(TAKE_PTR(answer->page));
    continuation_destroy(TAKE_PTR(answer->next));
}

bool answer_is_progress(const struct answer *answer)
{
    return page_rows(answer->page) > 0 || !answer->next || continuation_is_progress(answer->next);
}

static int check_rows(const struct query *query, const struct page_builder *builder,
                      struct call *call)
{
    struct bytes last = query->after ? continuation_position(query->after) : query->range.lo;
    size_t rows = page_builder_rows(builder);
    if (rows > (size_t)query->top)
        return call_fail(call, -EPROTO, "the service answered %zu rows where %d were requested",
                         rows, query->top);
    for (size_t i = 0; i < rows; i++) {
        struct bytes position = page_builder_position(builder, i);
        int order = bytes_compare(last, position);
        /* the first row may equal range.lo; every other must be greater than the one before */
        if (order > 0 || (order == 0 && i > 0) || bytes_compare(position, query->range.hi) >= 0)
            return call_fail(call, -EPROTO,
                             "the service answered row %zu out of key order or out of the range "
                             "that was requested",
                             i);
        last = position;
    }
    return 0;
}

/* Sets the range that the page covers, and the position of `next`. */
static int find_covered(const struct query *query, const struct page_builder *builder,
                        struct continuation *next, struct range *ret)
{
    struct range covered = query->range;
    if (query->after)
        covered.lo = continuation_position(query->after);
    if (next) {
        size_t rows = page_builder_rows(builder);
        int r = rows > 0 ? position_append_behind(&next->position,
                                                  page_builder_position(builder, rows - 1))
                         : buffer_append(&next->position, covered.lo);
        if (r < 0)
            return r;
        covered.hi = continuation_position(next);
    }
    *ret = covered;
    return 0;
}

int table_store_query(struct table_store *store, const struct query *query, struct call *call,
                      struct answer *ret)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    _cleanup_(continuation_destroyp) struct continuation *next = NULL;
    if (!range_is_expressible(query->range))
        return call_fail(call, -EINVAL, "a range that one query cannot request");
    int r = page_builder_create(PAGE_MAX_BYTES, &builder);
    if (r < 0)
        return call_fail(call, r, "out of memory");
    r = store->ops->query(store, query, call, builder, &next);
    if (r < 0)
        return r;
    r = check_rows(query, builder, call);
    if (r < 0)
        return r;
    if (next && query->after && page_builder_rows(builder) == 0) {
        r = continuation_follow(next, query->after);
        if (r < 0)
            return fail_to_follow(call, r);
    }
    struct range covered;
    r = find_covered(query, builder, next, &covered);
    if (query->filter || query->select) /* the page does not have all rows of the range */
        covered.hi = covered.lo;
    if (r == 0)
        r = page_builder_finish(builder, covered, query->keys_only, &ret->page);
    if (r < 0)
        return call_fail(call, r, "out of memory");
    ret->next = TAKE_PTR(next);
    return 0;
}

int table_store_get(struct table_store *store, const char *table, struct bytes position,
                    struct call *call, struct page **ret)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    int r = page_builder_create(PAGE_MAX_BYTES, &builder);
    if (r < 0)
        return call_fail(call, r, "out of memory");
    r = store->ops->get(store, table, position, call, builder);
    if (r < 0)
        return r;
    if (page_builder_rows(builder) != 1 ||
        !bytes_equal(page_builder_position(builder, 0), position))
        return call_fail(call, -EPROTO, "the service answered another entity than was requested");
    struct position end;
    r = page_builder_finish(builder, range_of_one(position, &end), false, ret);
    return r < 0 ? call_fail(call, r, "out of memory") : 0;
}

int table_store_list_tables(struct table_store *store, const char *only,
                            const struct continuation *after, struct call *call,
                            struct table_names *ret, struct continuation **ret_next)
{
    _cleanup_(continuation_destroyp) struct continuation *next = NULL;
    int r = store->ops->list_tables(store, only, after, call, ret, &next);
    if (r < 0)
        return r;
    if (next && after) { /* the order of names is not known: a page of names may be no progress */
        r = continuation_follow(next, after);
        if (r < 0)
            return fail_to_follow(call, r);
    }
    *ret_next = TAKE_PTR(next);
    return 0;
}

/* A character that Azurite's patterns of a line, or UTF-8, cannot contain. */
static bool has_odd_character(struct bytes position)
{
    uint32_t character;
    while (position.size > 0) {
        size_t n = cesu8_next(position, &character);
        if (n == 0 || character == 0x2028 || character == 0x2029 || UNICODE_IS_SURROGATE(character))
            return true;
        position = bytes_skip(position, n);
    }
    return false;
}

/* In a URL of a batch Azurite takes the last "'," as the end of the PartitionKey, and the first
 * "RowKey='", in any case, as the start of the RowKey. */
bool table_store_goes_alone(const struct write *write)
{
    static const struct bytes begin = BYTES_LITERAL("RowKey='");
    struct bytes partition_key = position_partition_key(write->position);
    if (has_odd_character(write->position) ||
        bytes_find(position_row_key(write->position), BYTES_LITERAL("',")))
        return true;
    for (; partition_key.size >= begin.size; partition_key = bytes_skip(partition_key, 1)) {
        if (strncasecmp(partition_key.data, begin.data, begin.size) == 0)
            return true;
    }
    return false;
}

static bool has_precondition(enum write_kind kind)
{
    return kind == WRITE_REPLACE || kind == WRITE_MERGE || kind == WRITE_DELETE;
}

static int check_write(const struct write *write, int operation, struct call *call)
{
    const char *reason = NULL;
    if (!position_has_row(write->position))
        reason = "a write without a row";
    else if (has_precondition(write->kind) != (write->if_match.size > 0))
        reason = "a write with the wrong precondition";
    else if ((write->kind == WRITE_DELETE) != (write->text.size == 0))
        reason = "a write without its text";
    if (!reason)
        return 0;
    (void)call_fail(call, -EINVAL, "%s", reason);
    call->failure.operation = operation;
    return -EINVAL;
}

struct placed {
    struct bytes position;
    int operation;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int order = bytes_compare(x->position, y->position);
    return order != 0 ? order : x->operation - y->operation;
}

/* One partition and no row twice. As in the service, the failure names the second of two that do
 * not fit together. */
static int check_batch(const struct write *writes, size_t n, struct call *call)
{
    _cleanup_(freep) struct placed *placed = calloc(n, sizeof(*placed));
    if (!placed)
        return call_fail(call, -ENOMEM, "out of memory");
    struct bytes partition = position_partition_key(writes[0].position);
    for (size_t i = 0; i < n; i++) {
        placed[i] = (struct placed){writes[i].position, (int)i};
        if (!bytes_equal(position_partition_key(writes[i].position), partition)) {
            (void)call_fail(call, -EINVAL, "a batch over several partitions");
            call->failure.operation = (int)i;
            return -EINVAL;
        }
    }
    qsort(placed, n, sizeof(*placed), compare_placed);
    for (size_t i = 1; i < n; i++) {
        if (bytes_equal(placed[i].position, placed[i - 1].position)) {
            (void)call_fail(call, -EINVAL, "a batch with a row twice");
            call->failure.operation = placed[i].operation;
            return -EINVAL;
        }
    }
    return 0;
}

static int check_batch_size(struct table_store *store, const char *table,
                            const struct write *writes, size_t n, struct call *call)
{
    size_t size = 0, max = table_store_limits(store)->batch_bytes;
    for (size_t i = 0; i < n; i++)
        size += table_store_write_size(store, table, &writes[i]);
    if (size <= max)
        return 0;
    (void)call_fail(call, -EFBIG, "a batch of %zu writes has %zu bytes; at most %zu", n, size, max);
    call->failure.operation = -1;
    return -EFBIG;
}

int table_store_write(struct table_store *store, const char *table, const struct write *writes,
                      size_t n, struct call *call, struct write_result *ret)
{
    size_t max = table_store_limits(store)->batch_writes;
    int r = 0;
    if (n == 0 || n > max)
        return call_fail(call, -EINVAL, "a batch of %zu writes; at most %zu", n, max);
    for (size_t i = 0; i < n && r == 0; i++)
        r = check_write(&writes[i], (int)i, call);
    if (r == 0)
        r = check_batch(writes, n, call);
    if (r == 0 && n > 1)
        r = check_batch_size(store, table, writes, n, call);
    if (r == 0)
        r = store->ops->write(store, table, writes, n, call, ret);
    if (r < 0 && n == 1)
        call->failure.operation = -1; /* there is only one write */
    return r;
}

size_t table_store_write_size(struct table_store *store, const char *table,
                              const struct write *write)
{
    return store->ops->write_size(store, table, write);
}

int table_store_create_table(struct table_store *store, const char *table, struct call *call)
{
    return store->ops->create_table(store, table, call);
}

int table_store_delete_table(struct table_store *store, const char *table, struct call *call)
{
    return store->ops->delete_table(store, table, call);
}

const struct table_store_limits *table_store_limits(struct table_store *store)
{
    return store->ops->limits(store);
}

void table_store_destroy(struct table_store *store)
{
    if (store)
        store->ops->destroy(store);
}

bool table_store_is_down(struct table_store *store)
{
    return store->ops->is_down && store->ops->is_down(store);
}
