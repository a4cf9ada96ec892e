/* SPDX-License-Identifier: MIT */
#include "cache/scan/chunk.h"

#define BUFFERS 7

static void list_buffers(struct chunk *chunk, struct buffer *ret[BUFFERS])
{
    struct buffer *const buffers[BUFFERS] = {&chunk->cursor,    &chunk->end,   &chunk->query.lo,
                                             &chunk->query.hi,  &chunk->first, &chunk->last,
                                             &chunk->page_first};
    memcpy(ret, buffers, sizeof(buffers));
}

int chunk_create(struct range range, struct chunk **ret)
{
    _cleanup_(chunk_destroyp) struct chunk *chunk = calloc(1, sizeof(*chunk));
    if (!chunk)
        return -ENOMEM;
    TAILQ_INIT(&chunk->runs);
    struct buffer *buffers[BUFFERS];
    list_buffers(chunk, buffers);
    for (size_t i = 0; i < BUFFERS; i++)
        buffer_init(buffers[i], POSITION_MAX_BYTES);
    (void)buffer_append(&chunk->cursor, range.lo);
    int r = buffer_append(&chunk->end, range.hi);
    if (chunk->cursor.error < 0 || r < 0)
        return MIN(chunk->cursor.error, r);
    *ret = TAKE_PTR(chunk);
    return 0;
}

void chunk_destroy(struct chunk *chunk)
{
    if (!chunk)
        return;
    struct run run;
    while (chunk_take(chunk, &run))
        run_finish(&run);
    struct buffer *buffers[BUFFERS];
    list_buffers(chunk, buffers);
    for (size_t i = 0; i < BUFFERS; i++)
        buffer_finish(buffers[i]);
    continuation_destroy(chunk->token);
    free(chunk);
}

int chunk_list_init(struct chunk_list *list, struct range range)
{
    struct chunk *chunk;
    TAILQ_INIT(list);
    if (range_is_empty(range))
        return 0;
    int r = chunk_create(range, &chunk);
    if (r == 0)
        TAILQ_INSERT_TAIL(list, chunk, link);
    return r;
}

size_t chunk_list_waiting_pages(const struct chunk_list *list)
{
    const struct chunk *chunk;
    size_t pages = 0;
    TAILQ_FOREACH(chunk, list, link)
    pages += chunk->waiting_pages;
    return pages;
}

void chunk_list_finish(struct chunk_list *list)
{
    struct chunk *chunk;
    while ((chunk = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, chunk, link);
        chunk_destroy(chunk);
    }
}

static struct range remainder_of(const struct chunk *chunk)
{
    return (struct range){buffer_bytes(&chunk->cursor), buffer_bytes(&chunk->end)};
}

int chunk_append_expressible_end(const struct chunk *chunk, struct buffer *ret)
{
    struct position end;
    return buffer_append(ret, range_expressible_part(remainder_of(chunk), &end).hi);
}

bool chunk_can_split(const struct chunk *chunk, struct bytes position)
{
    return bytes_compare(buffer_bytes(&chunk->cursor), position) < 0 &&
           bytes_compare(position, buffer_bytes(&chunk->end)) < 0;
}

int chunk_split(struct chunk *chunk, struct bytes position, struct chunk **ret)
{
    _cleanup_(chunk_destroyp) struct chunk *behind = NULL;
    int r = chunk_create((struct range){position, buffer_bytes(&chunk->end)}, &behind);
    if (r == 0)
        r = buffer_set(&chunk->end, position);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(behind);
    return 0;
}

/* The token's query reaches beyond the end, so its page would hold foreign rows, and a query for
 * exactly the rest is possible. */
static bool is_token_too_wide(const struct chunk *chunk)
{
    return bytes_compare(buffer_bytes(&chunk->end), buffer_bytes(&chunk->query.hi)) < 0 &&
           range_is_expressible(remainder_of(chunk));
}

int chunk_request(struct chunk *chunk, struct range *ret_range)
{
    if (chunk->token && is_token_too_wide(chunk))
        continuation_destroy(TAKE_PTR(chunk->token));
    if (!chunk->token) {
        int r = buffer_set(&chunk->query.lo, buffer_bytes(&chunk->cursor));
        if (r == 0)
            r = buffer_set(&chunk->query.hi, buffer_bytes(&chunk->end));
        if (r < 0)
            return r;
    }
    chunk->state = CHUNK_REQUESTED;
    *ret_range = (struct range){buffer_bytes(&chunk->query.lo), buffer_bytes(&chunk->query.hi)};
    return 0;
}

bool chunk_is_begun(const struct chunk *chunk)
{
    return chunk->rows > 0;
}

/* The rows of the page between the chunk's cursor and its end. */
static struct run own_rows(const struct chunk *chunk, struct page *page)
{
    struct range range = remainder_of(chunk);
    return (struct run){page, page_seek(page, range.lo), page_seek(page, range.hi)};
}

static int show(struct chunk *chunk, const struct run *run)
{
    struct bytes first = page_position(run->page, run->begin);
    int r = 0;
    if (!chunk_is_begun(chunk))
        r = buffer_set(&chunk->first, first);
    if (r == 0)
        r = buffer_set(&chunk->page_first, first);
    return r < 0 ? r : buffer_set(&chunk->last, page_position(run->page, run->end - 1));
}

/* The page's reference goes over to the chunk. */
static int add_run(struct chunk *chunk, struct run run)
{
    struct waiting_run *waiting = calloc(1, sizeof(*waiting));
    int r = waiting ? show(chunk, &run) : -ENOMEM;
    if (r < 0) {
        free(waiting);
        return r;
    }
    waiting->run = run;
    TAILQ_INSERT_TAIL(&chunk->runs, waiting, link);
    chunk->page_rows = run.end - run.begin;
    chunk->rows += chunk->page_rows;
    chunk->waiting_pages++;
    chunk->waiting_rows += chunk->page_rows;
    chunk->waiting_bytes += page_bytes(run.page);
    return 0;
}

/* Where the answer's knowledge ends. Without a token it ends where the page does, which may be
 * before the end of the request. A page without a token that covers nothing new is the last. */
static struct bytes known_end(const struct chunk *chunk, const struct answer *answer)
{
    if (answer->next)
        return continuation_position(answer->next);
    struct bytes covered = page_range(answer->page).hi;
    return bytes_compare(covered, buffer_bytes(&chunk->cursor)) > 0 ? covered
                                                                    : buffer_bytes(&chunk->end);
}

static int advance(struct chunk *chunk, struct bytes known)
{
    struct bytes end = buffer_bytes(&chunk->end);
    bool is_done = bytes_compare(known, end) >= 0;
    int r = buffer_set(&chunk->cursor, is_done ? end : known);
    if (r == 0)
        chunk->state = is_done ? CHUNK_DONE : CHUNK_READY;
    return r;
}

static int take_answer(struct chunk *chunk, struct answer *answer, struct run run)
{
    struct bytes known = known_end(chunk, answer);
    int r = buffer_ensure(&chunk->cursor, MAX(known.size, chunk->end.size));
    if (r == 0 && run.begin < run.end)
        r = add_run(chunk, run);
    if (r < 0)
        return r;
    if (run.begin < run.end)
        answer->page = NULL;
    return advance(chunk, known);
}

int chunk_add_answer(struct chunk *chunk, struct answer *answer, struct run *ret_run)
{
    struct run run = own_rows(chunk, answer->page);
    chunk_give_back(chunk); /* take_answer moves on from here */
    int r = take_answer(chunk, answer, run);
    if (r == 0 && chunk->state == CHUNK_READY)
        chunk->token = TAKE_PTR(answer->next);
    if (r == 0)
        *ret_run = run.begin < run.end ? run : (struct run){0};
    answer_finish(answer);
    return r;
}

void chunk_give_back(struct chunk *chunk)
{
    continuation_destroy(TAKE_PTR(chunk->token));
    chunk->state = CHUNK_READY;
}

void chunk_give_back_with_token(struct chunk *chunk)
{
    chunk->state = CHUNK_READY;
}

bool chunk_take(struct chunk *chunk, struct run *ret)
{
    struct waiting_run *waiting = TAILQ_FIRST(&chunk->runs);
    if (!waiting)
        return false;
    TAILQ_REMOVE(&chunk->runs, waiting, link);
    *ret = waiting->run;
    free(waiting);
    chunk->waiting_pages--;
    chunk->waiting_rows -= ret->end - ret->begin;
    chunk->waiting_bytes -= page_bytes(ret->page);
    return true;
}

/* The rows that `next` has shown lie after the chunk's. */
static void join_shown(struct chunk *chunk, struct chunk *next)
{
    if (!chunk_is_begun(chunk))
        buffer_swap(&chunk->first, &next->first);
    buffer_swap(&chunk->page_first, &next->page_first);
    buffer_swap(&chunk->last, &next->last);
    chunk->rows += next->rows;
    chunk->page_rows = next->page_rows;
}

enum scan_state chunk_list_take(struct chunk_list *list, struct scan_item *ret)
{
    struct chunk *chunk;
    while ((chunk = TAILQ_FIRST(list))) {
        *ret = (struct scan_item){.kind = SCAN_ROWS, .pages = 1};
        if (chunk_take(chunk, &ret->rows))
            return SCAN_ITEM;
        if (chunk->state != CHUNK_DONE)
            return SCAN_WAIT;
        TAILQ_REMOVE(list, chunk, link);
        chunk_destroy(chunk);
    }
    return SCAN_END;
}

void chunk_join(struct chunk *chunk, struct chunk *next)
{
    if (chunk->waiting_rows == 0)
        chunk->taken_before = next->taken_before;
    struct waiting_run *waiting;
    while ((waiting = TAILQ_FIRST(&next->runs))) {
        TAILQ_REMOVE(&next->runs, waiting, link);
        TAILQ_INSERT_TAIL(&chunk->runs, waiting, link);
    }
    chunk->waiting_pages += next->waiting_pages;
    chunk->waiting_rows += next->waiting_rows;
    chunk->waiting_bytes += next->waiting_bytes;
    next->waiting_pages = next->waiting_rows = next->waiting_bytes = 0;
    if (chunk_is_begun(next))
        join_shown(chunk, next);
    buffer_swap(&chunk->cursor, &next->cursor);
    buffer_swap(&chunk->end, &next->end);
}

bool chunk_drop_waiting(struct chunk *chunk)
{
    const struct waiting_run *first = TAILQ_FIRST(&chunk->runs);
    if (!first || buffer_set(&chunk->cursor, page_position(first->run.page, first->run.begin)) < 0)
        return false;
    chunk->rows -= MIN(chunk->waiting_rows, chunk->rows);
    struct run run;
    while (chunk_take(chunk, &run))
        run_finish(&run);
    chunk_give_back(chunk);
    return true;
}
