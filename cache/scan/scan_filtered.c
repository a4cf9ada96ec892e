/* SPDX-License-Identifier: MIT */
/* | stage  | requests                                      | ends with                        |
 * | FIRST  | the first range alone, page after page        | a page before the last, in a     |
 * |        |                                               | range of whole partitions: NAMES |
 * | NAMES  | the first range; keys, by a level scan        | the names are known: RANGES      |
 * | RANGES | each range, as far ahead as the window allows | the end                          |
 *
 * A small answer costs one request. Rows do not wait for names. At the split the first range reads
 * again what its last pages without rows have covered: only rows show how far its query is. That is
 * about one page, as names take less than 5 s. */
#include "cache/scan/chunk.h"
#include "cache/scan/scan.h"

#define FANOUT      512 /* of more partitions the prefixes are used */
#define NAMES_IDLE  4   /* slots for names: with 16 of them a third of the requests find nothing */
#define BORDERS_MAX (4 * SCAN_FILTERED_RANGES - 1) /* to choose from */

enum stage { STAGE_FIRST, STAGE_NAMES, STAGE_RANGES };

struct filtered_scan {
    struct scan scan;
    struct scan_limits limits;
    enum stage stage;
    struct chunk_list chunks;
    struct scan *names; /* NULL: they were not requested */
    size_t names_in_flight;
    /* The begins of every `stride`th child but the first one. */
    struct buffer borders[BORDERS_MAX];
    size_t border_count, children, stride;
    struct buffer point; /* room for a position */
    uint64_t last_id;
    size_t in_flight, waiting_bytes, page_bytes; /* page_bytes: of the largest page */
};

/* The ids of both kinds of requests. */
static uint64_t id_of_rows(uint64_t id)
{
    return id << 1 | 1;
}

static uint64_t id_of_names(uint64_t id)
{
    return id << 1;
}

static bool is_of_names(uint64_t id)
{
    return (id & 1) == 0;
}

static struct chunk *find_head(const struct filtered_scan *self)
{
    struct chunk *chunk = TAILQ_FIRST(&self->chunks);
    while (chunk && chunk->state == CHUNK_DONE)
        chunk = TAILQ_NEXT(chunk, link);
    return chunk;
}

static bool has_room(const struct filtered_scan *self)
{
    size_t limit = self->limits.window_bytes;
    return limit == 0 || self->waiting_bytes + (self->in_flight + 1) * self->page_bytes <= limit;
}

static struct chunk *find_ready(const struct filtered_scan *self)
{
    const struct chunk *head = find_head(self);
    for (struct chunk *chunk = TAILQ_FIRST(&self->chunks); chunk; chunk = TAILQ_NEXT(chunk, link)) {
        bool is_due = chunk == head && chunk->waiting_rows == 0;
        bool is_allowed = (chunk == head || self->stage == STAGE_RANGES) && has_room(self);
        if (chunk->state == CHUNK_READY && (is_due || is_allowed))
            return chunk;
    }
    return NULL;
}

/* Splits the chunk at `at`, which lies inside. */
static int split(struct filtered_scan *self, struct chunk *chunk, struct bytes at)
{
    struct chunk *behind;
    int r = chunk_split(chunk, at, &behind);
    if (r == 0)
        TAILQ_INSERT_AFTER(&self->chunks, chunk, behind, link);
    return r;
}

/* Shortens the chunk so that one query can request all of it; a new chunk has the rest. The query
 * of its token is good if it ends with the chunk: a longer one would read on through pages without
 * rows. */
static int make_expressible(struct filtered_scan *self, struct chunk *chunk)
{
    bool is_own = bytes_equal(buffer_bytes(&chunk->query.hi), buffer_bytes(&chunk->end));
    if (chunk->token && is_own)
        return 0;
    buffer_clear(&self->point);
    int r = chunk_append_expressible_end(chunk, &self->point);
    if (r < 0 || !chunk_can_split(chunk, buffer_bytes(&self->point)))
        return r;
    return split(self, chunk, buffer_bytes(&self->point));
}

static bool request_names(struct filtered_scan *self, int idle, struct scan_request *ret)
{
    int free = NAMES_IDLE - (int)MIN(self->names_in_flight, NAMES_IDLE);
    if (self->stage != STAGE_NAMES || free == 0 ||
        !scan_next_request(self->names, MIN(idle, free), ret))
        return false;
    self->names_in_flight++;
    ret->id = id_of_names(ret->id);
    ret->is_of_names = true;
    ret->is_head = false;
    return true;
}

/* Returns false also if memory is out: then the scan waits. */
static bool filtered_next_request(struct scan *scan, int idle, struct scan_request *ret)
{
    struct filtered_scan *self = (struct filtered_scan *)scan;
    struct chunk *chunk = find_ready(self);
    struct range range;
    if (!chunk)
        return request_names(self, idle, ret);
    if (make_expressible(self, chunk) < 0 || chunk_request(chunk, &range) < 0)
        return false;
    self->in_flight++;
    chunk->id = id_of_rows(++self->last_id);
    *ret = (struct scan_request){.id = chunk->id,
                                 .range = range,
                                 .after = chunk->token,
                                 .top = self->limits.page_rows,
                                 .keys_only = self->limits.keys_only,
                                 .is_head = chunk == find_head(self)};
    return true;
}

static struct chunk *find_requested(const struct filtered_scan *self, uint64_t id)
{
    struct chunk *chunk = TAILQ_FIRST(&self->chunks);
    while (chunk->state != CHUNK_REQUESTED || chunk->id != id)
        chunk = TAILQ_NEXT(chunk, link);
    return chunk;
}

/* Removes every second border: the ranges have equally many children still. */
static void thin_borders(struct filtered_scan *self)
{
    size_t kept = 0;
    for (size_t i = 1; i < self->border_count; i += 2)
        buffer_swap(&self->borders[kept++], &self->borders[i]);
    self->border_count = kept;
    self->stride *= 2;
}

static int add_child(struct filtered_scan *self, struct bytes key)
{
    size_t child = self->children++;
    if (child == 0 || child % self->stride != 0)
        return 0;
    if (self->border_count == BORDERS_MAX)
        thin_borders(self);
    int r = buffer_set(&self->borders[self->border_count], key);
    self->border_count += r == 0;
    return r;
}

/* A border that the first range has passed is ignored. */
static int split_at(struct filtered_scan *self, struct bytes border)
{
    for (struct chunk *chunk = TAILQ_FIRST(&self->chunks); chunk; chunk = TAILQ_NEXT(chunk, link))
        if (chunk->state != CHUNK_DONE && chunk_can_split(chunk, border))
            return split(self, chunk, border);
    return 0;
}

/* Into ranges of equally many children. Each may cost a page that is not full. */
static void split_all(struct filtered_scan *self)
{
    size_t parts = self->border_count + 1, ranges = MIN(parts, SCAN_FILTERED_RANGES);
    for (size_t i = 1; i < ranges; i++)
        (void)split_at(self, buffer_bytes(&self->borders[i * parts / ranges - 1]));
}

/* Takes the names that are certain. With fewer borders for lack of memory the ranges are longer. */
static void take_names(struct filtered_scan *self)
{
    struct scan_item item;
    enum scan_state state;
    while ((state = scan_take(self->names, &item)) == SCAN_ITEM)
        (void)add_child(self, item.key);
    if (state != SCAN_END)
        return;
    split_all(self);
    self->stage = STAGE_RANGES;
}

/* Begins to read the names after the partition of the cursor. */
static int begin_names(struct filtered_scan *self, const struct chunk *chunk)
{
    const struct scan_limits limits = {.page_rows = self->limits.page_rows, .fanout = FANOUT};
    struct bytes cursor = buffer_bytes(&chunk->cursor);
    int r = buffer_set(&self->point, cursor);
    if (r == 0 && position_has_row(cursor)) {
        self->point.size = position_partition_key(cursor).size;
        r = buffer_append_string(&self->point, POSITION_AFTER);
    }
    const struct range range = {buffer_bytes(&self->point), buffer_bytes(&chunk->end)};
    if (r == 0)
        r = scan_children_create(range, &limits, &self->names);
    if (r < 0)
        return r;
    self->stage = STAGE_NAMES;
    take_names(self);
    return 0;
}

static int add_names(struct filtered_scan *self, uint64_t id, struct answer *answer)
{
    self->names_in_flight--;
    int r = scan_add_answer(self->names, id >> 1, answer);
    if (self->stage == STAGE_NAMES)
        take_names(self);
    return r;
}

static int filtered_add_answer(struct scan *scan, uint64_t id, struct answer *answer)
{
    struct filtered_scan *self = (struct filtered_scan *)scan;
    struct run run;
    if (is_of_names(id))
        return add_names(self, id, answer);
    struct chunk *chunk = find_requested(self, id);
    bool is_whole = !range_is_in_partition(
        (struct range){buffer_bytes(&chunk->query.lo), buffer_bytes(&chunk->query.hi)});
    self->in_flight--;
    int r = chunk_add_answer(chunk, answer, &run);
    if (r < 0)
        return r;
    if (run.page) {
        self->waiting_bytes += page_bytes(run.page);
        self->page_bytes = MAX(self->page_bytes, page_bytes(run.page));
    }
    bool has_more = chunk->state == CHUNK_READY && self->stage == STAGE_FIRST;
    return has_more && is_whole ? begin_names(self, chunk) : 0;
}

static void filtered_give_back(struct scan *scan, uint64_t id)
{
    struct filtered_scan *self = (struct filtered_scan *)scan;
    if (is_of_names(id)) {
        self->names_in_flight--;
        scan_give_back(self->names, id >> 1);
        return;
    }
    self->in_flight--;
    chunk_give_back_with_token(find_requested(self, id));
}

static enum scan_state filtered_take(struct scan *scan, struct scan_item *ret)
{
    struct filtered_scan *self = (struct filtered_scan *)scan;
    enum scan_state state = chunk_list_take(&self->chunks, ret);
    if (state == SCAN_ITEM)
        self->waiting_bytes -= page_bytes(ret->rows.page);
    return state;
}

static double filtered_waiting(const struct scan *scan)
{
    return (double)chunk_list_waiting_pages(&((const struct filtered_scan *)scan)->chunks);
}

static void filtered_set_window(struct scan *scan, size_t window_bytes)
{
    ((struct filtered_scan *)scan)->limits.window_bytes = window_bytes;
}

static void filtered_destroy(struct scan *scan)
{
    struct filtered_scan *self = (struct filtered_scan *)scan;
    chunk_list_finish(&self->chunks);
    scan_destroy(self->names);
    for (size_t i = 0; i < BORDERS_MAX; i++)
        buffer_finish(&self->borders[i]);
    buffer_finish(&self->point);
    free(self);
}

static const struct scan_ops filtered_ops = {.next_request = filtered_next_request,
                                             .add_answer = filtered_add_answer,
                                             .give_back = filtered_give_back,
                                             .take = filtered_take,
                                             .waiting = filtered_waiting,
                                             .set_window = filtered_set_window,
                                             .destroy = filtered_destroy};

int scan_filtered_create(struct range range, const struct scan_limits *limits, struct scan **ret)
{
    struct filtered_scan *self = calloc(1, sizeof(*self));
    if (!self)
        return -ENOMEM;
    _cleanup_(scan_destroyp) struct scan *scan = &self->scan;
    *self = (struct filtered_scan){.scan = {&filtered_ops}, .limits = *limits, .stride = 1};
    for (size_t i = 0; i < BORDERS_MAX; i++)
        buffer_init(&self->borders[i], POSITION_MAX_BYTES);
    buffer_init(&self->point, POSITION_MAX_BYTES);
    int r = chunk_list_init(&self->chunks, range);
    if (r == 0)
        *ret = TAKE_PTR(scan);
    return r;
}
