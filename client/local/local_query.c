/* SPDX-License-Identifier: MIT */
#include "client/local/local_query.h"
#include "client/entity/entity_select.h"
#include "client/filter/filter.h"
#include "client/local/local_failure.h"
#include "client/local/local_rows.h"
#include "client/text/timestamp_etag.h"

#define PAGE_TEXT_BYTES     ((size_t)4 << 20)
#define TESTED_ROWS         10000 /* rows that a filter may test for one page */
#define TESTED_BYTES        ((size_t)32 << 20)
#define ROWS_BETWEEN_CHECKS 256 /* between two checks of the call */
#define TOKEN_MAX_BYTES     ((size_t)16 << 10)

#define TOKEN_MARK "rows1!"

/* A page in progress. */
struct scan {
    struct local_connection *connection;
    const struct clock *clock;
    const struct query *query;
    struct filter *filter; /* NULL: none */
    struct entity_select select;
    struct page_builder *builder;
    struct buffer lo, hi; /* the filter's bounds */
    struct buffer last;   /* position of the last row that was read */
    struct local_rows source;
    size_t rows, bytes; /* that were read */
    size_t text_bytes;  /* of the page */
};

static void scan_finish(struct scan *scan)
{
    local_rows_finish(&scan->source);
    filter_destroy(scan->filter);
    buffer_finish(&scan->lo);
    buffer_finish(&scan->hi);
    buffer_finish(&scan->last);
}

int local_token_create(struct call *call, const char *mark, struct bytes from,
                       struct continuation **ret)
{
    _cleanup_(buffer_finish) struct buffer token = {.max = TOKEN_MAX_BYTES};
    (void)buffer_append_string(&token, mark);
    int r = buffer_append(&token, from);
    if (r == 0)
        r = continuation_create(buffer_bytes(&token), BYTES_LITERAL(""), ret);
    return r < 0 ? call_fail(call, r, "a continuation token that could not be kept") : 0;
}

bool local_token_read(const struct continuation *token, const char *mark, struct bytes *ret_from)
{
    struct bytes bytes = continuation_token(token);
    if (!bytes_start_with(bytes, bytes_of(mark)))
        return false;
    *ret_from = bytes_skip(bytes, strlen(mark));
    return true;
}

/* Another module has found that the row's text is not canonical. */
static int fail_not_entity(const struct scan *scan, const struct local_row *row)
{
    return local_connection_fail_damaged(scan->connection, scan->query->table, row->position,
                                         "not an entity");
}

static int end_row(struct local_connection *connection, struct page_builder *builder,
                   const struct local_row *row)
{
    char etag[TIMESTAMP_ETAG_SIZE + 1];
    timestamp_etag_write(row->timestamp, etag);
    int r = page_builder_end_row(builder, row->position, (struct bytes){etag, TIMESTAMP_ETAG_SIZE},
                                 row->timestamp);
    return r < 0 ? call_fail(local_connection_call(connection), r, "the page could not be kept")
                 : 0;
}

static int add_row(struct scan *scan, const struct local_row *row)
{
    struct buffer *ret = page_builder_text(scan->builder);
    int r = 0;
    if (scan->query->keys_only)
        r = 0;
    else if (scan->query->select)
        r = entity_select_append(&scan->select, row->text, ret);
    else
        r = buffer_append(ret, row->text);
    if (r == -EPROTO)
        return fail_not_entity(scan, row);
    scan->text_bytes += row->text.size;
    return end_row(scan->connection, scan->builder, row); /* also checks the error of the append */
}

/* 1: the row matches the query. */
static int match_row(struct scan *scan, const struct local_row *row)
{
    scan->rows++;
    scan->bytes += row->text.size;
    buffer_clear(&scan->last);
    int r = buffer_append(&scan->last, row->position);
    if (r < 0) /* longer than any key is, or no memory */
        return r == -EFBIG ? fail_not_entity(scan, row)
                           : call_fail(local_connection_call(scan->connection), r, "out of memory");
    if (scan->rows % ROWS_BETWEEN_CHECKS == 0) {
        r = local_check_call(local_connection_call(scan->connection), scan->clock);
        if (r < 0)
            return r;
    }
    if (!scan->filter)
        return 1;
    r = filter_matches(scan->filter, row->position, row->text, row->timestamp);
    return r == -EPROTO ? fail_not_entity(scan, row) : r;
}

/* Does the page end before this row? */
static bool is_full(const struct scan *scan, const struct local_row *row)
{
    size_t rows = page_builder_rows(scan->builder);
    return rows == (size_t)scan->query->top || scan->rows == TESTED_ROWS ||
           (rows > 0 && scan->text_bytes + row->text.size > PAGE_TEXT_BYTES) ||
           (scan->rows > 0 && scan->bytes + row->text.size > TESTED_BYTES);
}

/* The next page begins after the last row. Rows were read, so the page is progress even if the
 * filter took none. */
static int end_page(struct scan *scan, struct continuation **ret_next)
{
    struct call *call = local_connection_call(scan->connection);
    int r = buffer_append_string(&scan->last, POSITION_AFTER);
    if (r < 0)
        return call_fail(call, r, "a continuation token that could not be kept");
    r = local_token_create(call, TOKEN_MARK, buffer_bytes(&scan->last), ret_next);
    if (r == 0)
        continuation_set_progress(*ret_next);
    return r;
}

/* 1: a row that was checked, with its text if the query needs it; 0: there is none; -errno. */
static int read_row(struct scan *scan, struct local_row *ret)
{
    int r = local_rows_next(&scan->source, ret);
    if (r <= 0 || (scan->query->keys_only && !scan->filter))
        return r;
    r = local_rows_read_text(&scan->source, ret);
    return r < 0 ? r : 1;
}

/* 1: the next row is in the page, or was refused; 0: there is none; then, when the page is full,
 * ret_next says where more follow. A page ends before a damaged row, so that the rows before it can
 * be read; the next one begins there, and fails. */
static int scan_row(struct scan *scan, struct continuation **ret_next)
{
    struct local_row row;
    int r = read_row(scan, &row);
    if (r == -EIO && scan->rows > 0) {
        local_connection_call(scan->connection)->failure = (struct failure){0};
        return end_page(scan, ret_next);
    }
    if (r <= 0)
        return r;
    if (is_full(scan, &row))
        return end_page(scan, ret_next);
    r = match_row(scan, &row);
    if (r == 1)
        r = add_row(scan, &row);
    return r < 0 ? r : 1;
}

static int scan_range(struct scan *scan, struct range range, struct continuation **ret_next)
{
    struct local_table table;
    int r = local_rows_require_table(scan->connection, scan->query->table, &table);
    if (r < 0)
        return r;
    local_rows_begin(scan->connection, &table, range, &scan->source);
    do
        r = scan_row(scan, ret_next);
    while (r == 1);
    return r;
}

static int set_filter(struct scan *scan, struct range *range)
{
    struct call *call = local_connection_call(scan->connection);
    struct filter_error error;
    int r = filter_create(bytes_of(scan->query->filter), &scan->filter, &error);
    if (r == -EINVAL)
        return local_refuse_input(call, r, error.code, "the filter's byte %zu: %s", error.at,
                                  error.problem);
    struct range bounds = *range;
    if (r == 0)
        r = filter_bounds(scan->filter, &scan->lo, &scan->hi, &bounds);
    if (r < 0)
        return call_fail(call, r, "out of memory");
    if (bytes_compare(bounds.lo, range->lo) > 0)
        range->lo = bounds.lo;
    if (bytes_compare(bounds.hi, range->hi) < 0)
        range->hi = bounds.hi;
    return 0;
}

static int set_select(struct scan *scan)
{
    struct call *call = local_connection_call(scan->connection);
    const char *problem;
    size_t at;
    int r = entity_select_init(&scan->select, bytes_of(scan->query->select), &problem, &at);
    if (r == 0)
        return 0;
    return local_refuse_input(call, r, "InvalidInput", "the select's byte %zu: %s", at, problem);
}

int local_query_rows(struct local_connection *connection, const struct clock *clock,
                     const struct query *query, struct page_builder *builder,
                     struct continuation **ret_next)
{
    _cleanup_(scan_finish) struct scan scan = {
        .connection = connection, .clock = clock, .query = query, .builder = builder};
    struct range range = query->range;
    buffer_init(&scan.lo, 2 * FILTER_MAX_BYTES);
    buffer_init(&scan.hi, 2 * FILTER_MAX_BYTES);
    buffer_init(&scan.last, TOKEN_MAX_BYTES);
    int r = 0;
    if (query->after && (!local_token_read(query->after, TOKEN_MARK, &range.lo) ||
                         !range_holds(query->range, range.lo)))
        return local_refuse(local_connection_call(connection), REFUSED_TOKEN);
    if (query->filter)
        r = set_filter(&scan, &range);
    if (r == 0 && query->select)
        r = set_select(&scan);
    return r < 0 ? r : scan_range(&scan, range, ret_next);
}

int local_query_row(struct local_connection *connection, const char *table, struct bytes position,
                    struct page_builder *builder)
{
    _cleanup_(local_rows_finish) struct local_rows source = {0};
    struct local_row row;
    struct local_table found;
    int r = local_rows_require_table(connection, table, &found);
    if (r < 0)
        return r;
    local_rows_begin_one(connection, &found, position, &source);
    r = local_rows_next(&source, &row);
    if (r <= 0)
        return r < 0 ? r
                     : local_refuse(local_connection_call(connection), REFUSED_RESOURCE_NOT_FOUND);
    r = local_rows_read_text(&source, &row);
    if (r < 0)
        return r;
    (void)buffer_append(page_builder_text(builder), row.text);
    return end_row(connection, builder, &row);
}
