/* SPDX-License-Identifier: MIT */
#include "cache/scan/partition_map.h"

#include <assert.h>

struct range gap_range(const struct gap *gap)
{
    return (struct range){buffer_bytes(&gap->lo), buffer_bytes(&gap->hi)};
}

struct bytes border_key(struct bytes border)
{
    bool is_behind = bytes_end_with(border, BYTES_LITERAL(POSITION_AFTER));
    return is_behind ? bytes_first(border, border.size - 1) : border;
}

static void known_destroy(struct known *item)
{
    struct gap *gap = item->gap;
    if (gap) {
        buffer_finish(&gap->lo);
        buffer_finish(&gap->hi);
        buffer_finish(&gap->begin);
        buffer_finish(&gap->end);
        free(gap);
    }
    free(item);
}

static int partition_create(struct bytes key, struct known **ret)
{
    struct known *item = calloc(1, sizeof(*item) + key.size);
    if (!item)
        return -ENOMEM;
    if (key.size > 0)
        memcpy(item->key_data, key.data, key.size);
    item->key = (struct bytes){item->key_data, key.size};
    *ret = item;
    return 0;
}

/* `like`: the gap whose page it remembers. */
static int gap_create(struct range range, const struct gap *like, struct known **ret)
{
    struct known *item = calloc(1, sizeof(*item));
    struct gap *gap = calloc(1, sizeof(*gap));
    if (!item || !gap) {
        free(item);
        free(gap);
        return -ENOMEM;
    }
    item->gap = gap;
    buffer_init(&gap->lo, POSITION_MAX_BYTES);
    buffer_init(&gap->hi, POSITION_MAX_BYTES);
    buffer_init(&gap->begin, POSITION_MAX_BYTES);
    buffer_init(&gap->end, POSITION_MAX_BYTES);
    (void)buffer_append(&gap->lo, range.lo);
    (void)buffer_append(&gap->hi, range.hi);
    (void)buffer_append(&gap->begin, buffer_bytes(&like->begin));
    (void)buffer_append(&gap->end, buffer_bytes(&like->end));
    int error = MIN(MIN(gap->lo.error, gap->hi.error), MIN(gap->begin.error, gap->end.error));
    if (error < 0)
        known_destroy(item);
    else
        *ret = item;
    return error;
}

int partition_map_init(struct partition_map *map, struct range range)
{
    struct known *item;
    *map = (struct partition_map){0};
    TAILQ_INIT(&map->list);
    TAILQ_INIT(&map->gaps);
    if (range_is_empty(range))
        return 0;
    int r = gap_create(range, &(struct gap){0}, &item);
    if (r < 0)
        return r;
    TAILQ_INSERT_TAIL(&map->list, item, link);
    TAILQ_INSERT_TAIL(&map->gaps, item, gap_link);
    map->open++;
    return 0;
}

static void destroy_all(struct known_list *list)
{
    struct known *item;
    while ((item = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, item, link);
        known_destroy(item);
    }
}

void partition_map_finish(struct partition_map *map)
{
    destroy_all(&map->list);
}

static struct known *first_open(struct known *item)
{
    while (item && item->gap->state != GAP_OPEN)
        item = TAILQ_NEXT(item, gap_link);
    return item;
}

struct known *partition_map_first_open(const struct partition_map *map)
{
    return first_open(TAILQ_FIRST(&map->gaps));
}

struct known *partition_map_next_open(const struct known *item)
{
    return first_open(TAILQ_NEXT(item, gap_link));
}

struct known *partition_map_find(const struct partition_map *map, uint64_t id)
{
    struct known *item = TAILQ_FIRST(&map->gaps);
    while (item && item->gap->id != id)
        item = TAILQ_NEXT(item, gap_link);
    return item;
}

int partition_map_split(struct partition_map *map, struct known *item, struct bytes at)
{
    struct known *second;
    struct gap *gap = item->gap;
    int r = gap_create((struct range){at, buffer_bytes(&gap->hi)}, gap, &second);
    if (r < 0)
        return r;
    r = buffer_set(&gap->hi, at);
    if (r < 0) {
        known_destroy(second);
        return r;
    }
    second->gap->is_guess = true;
    TAILQ_INSERT_AFTER(&map->list, item, second, link);
    TAILQ_INSERT_AFTER(&map->gaps, item, second, gap_link);
    map->open++;
    return 0;
}

void partition_map_request(struct partition_map *map, struct known *item, struct scan_request *ret)
{
    struct gap *gap = item->gap;
    gap->state = GAP_REQUESTED;
    gap->id = ++map->last_id;
    map->open--;
    map->in_flight++;
    *ret = (struct scan_request){.id = gap->id, .range = gap_range(gap), .keys_only = true};
}

void partition_map_give_back(struct partition_map *map, struct known *item)
{
    item->gap->state = GAP_OPEN;
    item->gap->id = 0;
    map->in_flight--;
    map->open++;
}

void partition_map_remove(struct partition_map *map, struct known *item)
{
    if (item->gap) {
        TAILQ_REMOVE(&map->gaps, item, gap_link);
        map->open--;
    } else {
        map->partitions--;
    }
    TAILQ_REMOVE(&map->list, item, link);
    known_destroy(item);
}

static struct bytes row_partition(const struct page *page, size_t row)
{
    return position_partition_key(page_position(page, row));
}

struct outcome { /* of an answer: what replaces its gap */
    const struct page *page;
    size_t first, end;   /* rows of the page that lie in it */
    struct buffer hi;    /* a partition border: the page proves the gap up to here */
    struct buffer begin; /* see gap.begin */
    struct known_list keys;
};

static void outcome_finish(struct outcome *outcome)
{
    buffer_finish(&outcome->hi);
    buffer_finish(&outcome->begin);
    destroy_all(&outcome->keys);
}

/* A page may end inside a partition. If it shows a row of it, the partition is known, and the rest
 * of the gap begins after it. Otherwise the rest begins with it. */
static int find_hi(struct outcome *outcome, struct bytes gap_hi)
{
    struct bytes end = page_range(outcome->page).hi, key = position_partition_key(end);
    if (bytes_compare(end, gap_hi) >= 0)
        return buffer_append(&outcome->hi, gap_hi);
    bool is_shown = outcome->first < outcome->end &&
                    bytes_equal(row_partition(outcome->page, outcome->end - 1), key);
    (void)buffer_append(&outcome->hi, key);
    return position_has_row(end) && is_shown ? buffer_append_string(&outcome->hi, POSITION_AFTER)
                                             : outcome->hi.error;
}

static int find_keys(struct outcome *outcome)
{
    int r = 0;
    for (size_t row = outcome->first; row < outcome->end && r == 0; row++) {
        struct known *item;
        struct bytes key = row_partition(outcome->page, row);
        if (row > outcome->first && bytes_equal(row_partition(outcome->page, row - 1), key))
            continue;
        r = partition_create(key, &item);
        if (r == 0)
            TAILQ_INSERT_TAIL(&outcome->keys, item, link);
    }
    return r;
}

/* The first key of the page; if it shows no new key, the key before the gap. */
static int append_begin(struct buffer *ret, const struct gap *gap, const struct outcome *outcome)
{
    const struct known *first = TAILQ_FIRST(&outcome->keys);
    return buffer_append(ret, first ? first->key : border_key(buffer_bytes(&gap->lo)));
}

/* Everything that can fail, before the map is changed. */
static int outcome_make(struct outcome *outcome, const struct page *page, const struct gap *of)
{
    struct range gap = gap_range(of);
    *outcome = (struct outcome){.page = page};
    TAILQ_INIT(&outcome->keys);
    buffer_init(&outcome->hi, POSITION_MAX_BYTES);
    buffer_init(&outcome->begin, POSITION_MAX_BYTES);
    outcome->first = page_seek(page, gap.lo);
    outcome->end = MAX(page_seek(page, gap.hi), outcome->first);
    int r = find_hi(outcome, gap.hi);
    if (r == 0)
        r = find_keys(outcome);
    return r < 0 ? r : append_begin(&outcome->begin, of, outcome);
}

static void put_before(struct partition_map *map, struct known *item, struct outcome *outcome)
{
    struct known *key;
    while ((key = TAILQ_FIRST(&outcome->keys))) {
        TAILQ_REMOVE(&outcome->keys, key, link);
        TAILQ_INSERT_BEFORE(item, key, link);
        map->partitions++;
    }
}

/* The gap becomes its rest after the page. */
static void shrink(struct gap *gap, struct outcome *outcome)
{
    gap->is_guess = false;
    buffer_swap(&gap->lo, &outcome->hi);
    buffer_swap(&gap->begin, &outcome->begin);
    buffer_clear(&gap->end);
    if (buffer_append(&gap->end, border_key(buffer_bytes(&gap->lo))) < 0)
        buffer_clear(&gap->begin); /* only the density is unknown then */
}

int partition_map_add_answer(struct partition_map *map, struct known *item, const struct page *page)
{
    _cleanup_(outcome_finish) struct outcome outcome = {0};
    struct gap *gap = item->gap;
    assert(range_holds(page_range(page), buffer_bytes(&gap->lo)));
    partition_map_give_back(map, item);
    int r = outcome_make(&outcome, page, gap);
    if (r < 0)
        return r;
    if (bytes_compare(buffer_bytes(&gap->lo), buffer_bytes(&outcome.hi)) >= 0)
        return 0; /* the page covers a part of one partition, and does not show it */
    bool is_known = bytes_equal(buffer_bytes(&outcome.hi), buffer_bytes(&gap->hi));
    put_before(map, item, &outcome);
    if (is_known)
        partition_map_remove(map, item);
    else
        shrink(gap, &outcome);
    return 0;
}

bool partition_map_cut(struct partition_map *map, struct known *item, struct range range)
{
    struct gap *gap = item->gap;
    struct bytes lo = buffer_bytes(&gap->lo), hi = buffer_bytes(&gap->hi);
    bool begins_inside = range_holds(range, lo);
    bool ends_inside = bytes_compare(range.lo, hi) < 0 && bytes_compare(hi, range.hi) <= 0;
    if (begins_inside && ends_inside) {
        if (gap->state == GAP_OPEN) {
            partition_map_remove(map, item);
            return true;
        }
        gap->state = GAP_NEEDLESS;
    }
    if (gap->state != GAP_OPEN)
        return false;
    if (begins_inside)
        (void)buffer_set(&gap->lo, range.hi); /* out of memory: the gap stays larger */
    if (ends_inside)
        (void)buffer_set(&gap->hi, range.lo);
    return false;
}
