/* SPDX-License-Identifier: MIT */
#include "tests/scan/network.h"

#define SLOTS_MAX    1024
#define POSITION_MAX ((size_t)64 << 10)

struct sent {
    struct scan_request request;
    int delay; /* round trips beyond the next */
};

struct network {
    struct table_store store;
    const struct network_options *options;
    struct rows *rows;
    struct scan *scan;
    struct network_figures figures;
    struct sent sent[SLOTS_MAX];
    size_t out;          /* of sent */
    struct page **pages; /* answers that the engine may still hold */
    size_t held, held_capacity;
    uint64_t seed;
    uint64_t tokens; /* each is different, or the seam would take them for a circle */
};

struct token { /* then the position where it goes on */
    uint64_t query, number;
};

static uint64_t hash_bytes(uint64_t hash, struct bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ (unsigned char)bytes.data[i]) * 0x100000001B3U;
    return hash * 31 + bytes.size;
}

bool network_matches(const struct network_options *options, struct bytes position)
{
    return (hash_bytes(1, position) >> 8) % 1000 < (uint64_t)options->matches;
}

static uint64_t hash_query(const struct query *query)
{
    return hash_bytes(hash_bytes(query->keys_only, query->range.lo), query->range.hi);
}

static int make_token(struct network *self, const struct query *query, struct bytes position,
                      struct continuation **ret)
{
    struct token head = {hash_query(query), self->tokens++};
    _cleanup_(buffer_finish) struct buffer token;
    buffer_init(&token, POSITION_MAX);
    (void)buffer_append(&token, (struct bytes){(const char *)&head, sizeof(head)});
    int r = buffer_append(&token, position);
    return r < 0 ? r : continuation_create(buffer_bytes(&token), BYTES_LITERAL(""), ret);
}

/* Where the page begins; a token is good for its own query alone. */
static int find_begin(const struct network *self, const struct query *query, size_t *ret)
{
    struct bytes position = query->range.lo;
    if (query->after) {
        struct token head;
        struct bytes token = continuation_token(query->after);
        memcpy(&head, token.data, sizeof(head));
        if (head.query != hash_query(query))
            return -EINVAL;
        position = bytes_skip(token, sizeof(head));
    }
    *ret = rows_seek(self->rows, position);
    return 0;
}

static bool is_border(const struct rows *rows, size_t row)
{
    return row > 0 && row < rows->count &&
           !bytes_equal(position_partition_key(rows->positions[row - 1]),
                        position_partition_key(rows->positions[row]));
}

static size_t choose_rows(struct network *self, size_t begin, size_t end)
{
    const struct network_options *options = self->options;
    if (random_percent(&self->seed, options->empty_percent))
        return begin;
    if (end > begin && random_percent(&self->seed, options->short_percent))
        return begin + 1 + random_below(&self->seed, end - begin);
    size_t border = begin + 1;
    while (border < end && !is_border(self->rows, border))
        border++;
    if (border < end && random_percent(&self->seed, options->border_percent))
        return border;
    return end;
}

static bool is_shown(const struct network *self, const struct query *query, size_t row)
{
    return !query->filter || network_matches(self->options, self->rows->positions[row]);
}

/* After the last row that the page may show or look at. */
static size_t find_page_end(const struct network *self, const struct query *query, size_t begin,
                            size_t end)
{
    size_t looks = (size_t)self->options->looks, shown = 0, row = begin;
    if (query->filter && looks > 0)
        end = MIN(end, begin + looks);
    for (; row < end && shown < (size_t)query->top; row++)
        shown += is_shown(self, query, row);
    return row;
}

static int network_query(struct table_store *store, const struct query *query, struct call *call,
                         struct page_builder *builder, struct continuation **ret_next)
{
    struct network *self = (struct network *)store;
    (void)call;
    size_t row;
    int r = find_begin(self, query, &row);
    if (r < 0)
        return r;
    size_t end = MAX(rows_seek(self->rows, query->range.hi), row);
    size_t page_end = find_page_end(self, query, row, end);
    size_t stop = choose_rows(self, row, page_end);
    bool is_cut = stop < page_end || (stop == row && self->options->empty_percent > 0 &&
                                      random_percent(&self->seed, self->options->empty_percent));
    for (size_t i = row; i < stop && r == 0; i++)
        if (is_shown(self, query, i))
            r = page_builder_end_row(builder, self->rows->positions[i], BYTES_LITERAL(""), 0);
    if (r < 0 || (stop == end && !is_cut))
        return r;
    struct bytes next = stop < self->rows->count ? self->rows->positions[stop] : query->range.hi;
    if (stop > row && is_border(self->rows, stop) &&
        random_percent(&self->seed, self->options->border_percent))
        next = position_partition_key(next);
    return make_token(self, query, next, ret_next);
}

static void network_destroy(struct table_store *store)
{
    (void)store; /* network_run's own */
}

static const struct table_store_ops network_ops = {.query = network_query,
                                                   .destroy = network_destroy};

/* A page that covers [lo, hi), whatever was asked for: as one from a cache does. */
static int build_page(struct network *self, struct range range, bool keys_only, struct page **ret)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    int r = page_builder_create(PAGE_MAX_BYTES, &builder);
    size_t end = rows_seek(self->rows, range.hi);
    for (size_t i = rows_seek(self->rows, range.lo); i < end && r == 0; i++)
        r = page_builder_end_row(builder, self->rows->positions[i], BYTES_LITERAL(""), 0);
    return r < 0 ? r : page_builder_finish(builder, range, keys_only, ret);
}

/* From some rows before what was asked for to some rows after its end. */
static int answer_larger(struct network *self, const struct scan_request *request,
                         struct answer *ret)
{
    size_t begin = rows_seek(self->rows, request->range.lo);
    size_t end = rows_seek(self->rows, request->range.hi);
    end = MIN(MIN(end, begin + (size_t)request->top) + random_below(&self->seed, 4),
              self->rows->count);
    begin -= MIN(begin, random_below(&self->seed, 4));
    struct range range = request->range;
    if (begin < self->rows->count && bytes_compare(self->rows->positions[begin], range.lo) < 0)
        range.lo = self->rows->positions[begin];
    range.hi = end < self->rows->count ? self->rows->positions[end] : BYTES_LITERAL(POSITION_END);
    return build_page(self, range, request->keys_only, &ret->page);
}

/* Up to some row of what was asked for, and no token. With a token this is a query that begins anew
 * at its position. */
static int answer_smaller(struct network *self, const struct scan_request *request,
                          struct answer *ret)
{
    struct range range = request->range;
    struct position last;
    if (request->after)
        range = range_expressible_part(
            (struct range){continuation_position(request->after), range.hi}, &last);
    size_t begin = rows_seek(self->rows, range.lo), end = rows_seek(self->rows, range.hi);
    size_t row = begin + 1 + random_below(&self->seed, (size_t)request->top);
    if (row < end)
        range.hi = self->rows->positions[row];
    else if (end - begin > (size_t)request->top)
        range.hi = self->rows->positions[begin + (size_t)request->top];
    return build_page(self, range, request->keys_only, &ret->page);
}

static int ask_store(struct network *self, const struct scan_request *request, struct answer *ret)
{
    struct query query = {.table = "table",
                          .range = request->range,
                          .after = request->after,
                          .filter = self->options->matches > 0 && !request->is_of_names ? "" : NULL,
                          .top = request->top,
                          .keys_only = request->keys_only};
    bool is_of_keys = self->options->is_of_keys || request->is_of_names;
    struct call call = {.deadline_ms = INT64_MAX};
    if (!range_is_expressible(request->range) || range_is_empty(request->range))
        return -EINVAL;
    if (!query.filter && !request->after &&
        random_percent(&self->seed, self->options->larger_percent))
        return answer_larger(self, request, ret);
    if (!query.filter && random_percent(&self->seed, self->options->smaller_percent))
        return answer_smaller(self, request, ret);
    int r = table_store_query(&self->store, &query, &call, ret);
    while (r == 0 && is_of_keys && page_rows(ret->page) == 0 && ret->next) {
        _cleanup_(answer_finish) struct answer empty = *ret;
        *ret = (struct answer){0};
        query.after = empty.next;
        r = table_store_query(&self->store, &query, &call, ret);
    }
    return r;
}

static int hold_page(struct network *self, struct page *page)
{
    if (self->held == self->held_capacity) {
        size_t capacity = MAX(self->held_capacity * 2, 64);
        struct page **pages = realloc(self->pages, capacity * sizeof(struct page *));
        if (!pages)
            return -ENOMEM;
        self->pages = pages;
        self->held_capacity = capacity;
    }
    self->pages[self->held++] = page_ref(page);
    self->figures.page_bytes = MAX(self->figures.page_bytes, page_bytes(page));
    return 0;
}

/* Lets go what the engine has let go, and counts what it keeps; an engine that keeps pages keeps
 * those that it says are waiting. */
static int count_held(struct network *self)
{
    size_t kept = 0, rows = 0, bytes = 0;
    for (size_t i = 0; i < self->held; i++) {
        if (!page_is_shared(self->pages[i])) {
            page_unref(self->pages[i]);
            continue;
        }
        rows += page_rows(self->pages[i]);
        bytes += page_bytes(self->pages[i]);
        self->pages[kept++] = self->pages[i];
    }
    self->held = kept;
    struct network_figures *figures = &self->figures;
    figures->held_rows = MAX(figures->held_rows, rows);
    figures->held_bytes = MAX(figures->held_bytes, bytes);
    figures->bytes_ahead = MAX(figures->bytes_ahead, bytes + self->out * figures->page_bytes);
    return kept > 0 && scan_waiting(self->scan) != (double)kept ? -EPROTO : 0;
}

static int answer(struct network *self, const struct scan_request *request)
{
    struct answer answer = {0};
    self->figures.requests++;
    self->figures.speculative += request->is_speculative;
    int r = ask_store(self, request, &answer);
    if (r < 0)
        return r;
    size_t rows = page_rows(answer.page);
    self->figures.empties += rows == 0;
    self->figures.answered_rows += rows;
    r = hold_page(self, answer.page);
    if (r == 0)
        r = scan_add_answer(self->scan, request->id, &answer);
    answer_finish(&answer); /* scan_add_answer has emptied it */
    return r;
}

static int settle(struct network *self, size_t index)
{
    struct scan_request request = self->sent[index].request;
    self->out--;
    memmove(self->sent + index, self->sent + index + 1, (self->out - index) * sizeof(*self->sent));
    if (!random_percent(&self->seed, self->options->give_back_percent))
        return answer(self, &request);
    self->figures.given_back++;
    scan_give_back(self->scan, request.id);
    return 0;
}

/* The first that was sent is answered first, or any; none is due: `out`. */
static size_t choose_due(struct network *self)
{
    size_t found = self->out, due = 0;
    for (size_t i = 0; i < self->out; i++) {
        if (self->sent[i].delay > 0)
            continue;
        due++;
        if (due == 1 || (self->options->is_shuffled && random_below(&self->seed, due) == 0))
            found = i;
    }
    return found;
}

static int pass_round_trip(struct network *self)
{
    self->figures.round_trips++;
    if (self->options->change)
        self->options->change(self->options->context, self->rows, &self->seed);
    int r = 0;
    for (size_t i = choose_due(self); i < self->out && r == 0; i = choose_due(self))
        r = settle(self, i);
    for (size_t i = 0; i < self->out; i++)
        self->sent[i].delay--;
    return r;
}

static void send_all(struct network *self)
{
    struct scan_request request;
    size_t slots = MIN((size_t)self->options->slots, SLOTS_MAX);
    while (self->out < slots && scan_next_request(self->scan, (int)(slots - self->out), &request)) {
        if (request.is_speculative &&
            random_percent(&self->seed, self->options->speculation_percent)) {
            self->figures.given_back++;
            scan_give_back(self->scan, request.id);
            return; /* until the next round trip */
        }
        self->sent[self->out++] = (struct sent){
            request, random_percent(&self->seed, self->options->late_percent) ? 1 : 0};
    }
}

static void count_names(struct network *self)
{
    size_t names = 0;
    for (size_t i = 0; i < self->out; i++)
        names += self->sent[i].request.is_of_names;
    self->figures.names_out = MAX(self->figures.names_out, names);
}

/* True: its end. */
static bool take_all(struct network *self)
{
    struct network_figures *figures = &self->figures;
    for (int i = 0; self->options->takes == 0 || i < self->options->takes; i++) {
        struct scan_item item = {0};
        enum scan_state state = scan_take(self->scan, &item);
        if (state != SCAN_ITEM)
            return state == SCAN_END;
        figures->items++;
        figures->taken_rows += item.rows.end - item.rows.begin;
        if (figures->first_item == 0)
            figures->first_item = figures->round_trips;
        if (self->options->item)
            self->options->item(self->options->context, &item);
        run_finish(&item.rows);
    }
    return false;
}

static int run(struct network *self)
{
    size_t most = 1000 + 100 * self->rows->count;
    while (!take_all(self)) {
        send_all(self);
        count_names(self);
        int r = count_held(self);
        if (r < 0)
            return r;
        if (self->out == 0 && self->options->takes == 0 && self->options->speculation_percent == 0)
            return -EDEADLK;
        if (self->figures.round_trips + self->figures.requests > most)
            return -ELOOP;
        r = pass_round_trip(self);
        if (r < 0)
            return r;
    }
    return scan_waiting(self->scan) != 0 ? -EPROTO : 0;
}

int network_run(const struct network_options *options, struct rows *rows, struct scan *scan,
                struct network_figures *ret)
{
    _cleanup_(freep) struct network *self = calloc(1, sizeof(*self));
    if (!self)
        return -ENOMEM;
    *self = (struct network){.store = {&network_ops},
                             .options = options,
                             .rows = rows,
                             .scan = scan,
                             .seed = options->seed};
    int r = run(self);
    for (size_t i = 0; i < self->held; i++)
        page_unref(self->pages[i]);
    free(self->pages);
    if (r == 0)
        *ret = self->figures;
    return r;
}
