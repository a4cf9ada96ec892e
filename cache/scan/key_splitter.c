/* SPDX-License-Identifier: MIT */
#include "cache/scan/key_splitter.h"
#include "client/base/unicode.h"

/* Each constant names a figure that gets worse without it, or with another value: a scan of keys of
 * a shape of tests/scan, requests/round trips. */
#define GUESSES_PER_ANSWER 8 /* unlimited: "single", 32 slots: 9/2, 16/2 */
#define FREE_EMPTIES       8 /* 4: "ten", 32 slots: 16/3, 16/4 */
#define GOOD_TO_EMPTY      4 /* unlimited: "package", 40,000, 32 slots: 192/15, 272/11 */
#define SAMPLES            24 /* keys learned of a page; 32: "package", 40,000, 32 slots: 57/7, 80/7 */
#define PAGES_MAX          2000.0 /* estimates end here: any large, finite weight will do */
#define PAGES_MIN          2.0    /* pages of a piece; 1.25: "sensors", 32 slots: 37/7, 45/6 */

int key_splitter_init(struct key_splitter *splitter)
{
    *splitter = (struct key_splitter){0};
    return key_model_create(&splitter->model);
}

void key_splitter_finish(struct key_splitter *splitter)
{
    key_model_destroy(splitter->model);
}

static struct bytes key_before(const struct known *item)
{
    while (item && item->gap)
        item = TAILQ_PREV(item, known_list, link);
    return item ? item->key : BYTES_LITERAL("");
}

int key_splitter_learn(struct key_splitter *splitter, const struct known *item,
                       const struct page *page)
{
    struct bytes previous = key_before(item);
    size_t first = page_seek(page, buffer_bytes(&item->gap->lo));
    size_t end = page_seek(page, buffer_bytes(&item->gap->hi));
    int r = 0;
    if (first < end)
        splitter->good++;
    else if (item->gap->is_guess)
        splitter->empties++;
    for (size_t row = first; row < end && r == 0; row += MAX((end - first) / SAMPLES, 1)) {
        struct bytes key = position_partition_key(page_position(page, row));
        r = key_model_learn(splitter->model, previous, key);
        previous = key;
    }
    return r;
}

static double place_of_end(const struct key_splitter *splitter, struct bytes hi,
                           struct bytes common)
{
    hi = border_key(hi);
    return bytes_start_with(hi, common) ? key_model_place(splitter->model, hi, common.size) : 1;
}

/* The pages left in the gap, if keys are as dense there as on the page before it. */
static double pages_left(const struct key_splitter *splitter, const struct gap *gap)
{
    struct bytes begin = buffer_bytes(&gap->begin), hi = buffer_bytes(&gap->hi);
    size_t common = shared_in_range(begin, hi);
    double from = key_model_place(splitter->model, begin, common);
    double to = key_model_place(splitter->model, buffer_bytes(&gap->end), common);
    double lo = key_model_place(splitter->model, border_key(buffer_bytes(&gap->lo)), common);
    double end = place_of_end(splitter, hi, bytes_first(begin, common));
    if (to <= from)
        return PAGES_MAX;
    return MIN((end - lo) / (to - from), PAGES_MAX);
}

size_t key_splitter_credit(const struct key_splitter *splitter, const struct partition_map *map,
                           size_t idle)
{
    size_t out = 0;
    for (struct known *item = TAILQ_FIRST(&map->gaps); item; item = TAILQ_NEXT(item, gap_link))
        out += item->gap->is_guess;
    if (splitter->empties > FREE_EMPTIES + splitter->good / GOOD_TO_EMPTY)
        return out == 0;
    return speculation_budget(splitter->good, GUESSES_PER_ANSWER, out, idle);
}

/* *item becomes the gap after the cut. A place outside the gap is ignored. */
static int cut(struct partition_map *map, struct known **item, struct bytes at)
{
    struct range range = gap_range((*item)->gap);
    if (bytes_compare(at, range.lo) <= 0 || bytes_compare(at, range.hi) >= 0)
        return 0;
    int r = partition_map_split(map, *item, at);
    if (r == 0)
        *item = TAILQ_NEXT(*item, gap_link);
    return r;
}

struct line { /* the places of the cuts of a gap in the key model */
    struct bytes common;
    double begin, step;
};

/* For `pieces` pieces of equal width. */
static struct line draw_line(const struct key_splitter *splitter, const struct gap *gap,
                             struct bytes common, size_t pieces)
{
    struct line line = {.common = common};
    struct bytes lo = border_key(buffer_bytes(&gap->lo));
    if (bytes_start_with(lo, common))
        line.begin = key_model_place(splitter->model, lo, common.size);
    line.step =
        (place_of_end(splitter, buffer_bytes(&gap->hi), common) - line.begin) / (double)pieces;
    return line;
}

static int append_place(const struct key_splitter *splitter, const struct line *line, size_t i,
                        struct buffer *ret)
{
    buffer_clear(ret);
    return key_model_append_key(splitter->model, line->common, line->begin + line->step * (double)i,
                                line->step / 4, ret);
}

/* Where the last page was one partition, the next keys are expected to look like its key: the cut
 * gets the same length and the same end. Example: the page was partition "042-tenant" and the cut
 * is "07", so it becomes "072-tenant", and lies after that partition, since it may exist. */
static int end_like_key(struct buffer *at, const struct gap *gap)
{
    uint32_t character;
    struct bytes key = buffer_bytes(&gap->end);
    size_t n, size = 0;
    if (bytes_equal(buffer_bytes(&gap->begin), key)) {
        while ((n = cesu8_next(bytes_skip(buffer_bytes(at), size), &character)) > 0 &&
               size + n <= key.size)
            size += n;
        at->size = size;
        if (cesu8_next(bytes_skip(key, size), &character) > 0)
            (void)buffer_append(at, bytes_skip(key, size));
    }
    return at->size == key.size ? buffer_append_string(at, POSITION_AFTER) : 0;
}

/* Into pieces that hold the same number of keys by the model. */
static int cut_evenly(struct key_splitter *splitter, struct partition_map *map, struct known *item,
                      size_t cuts)
{
    _cleanup_(buffer_finish) struct buffer at = {.max = POSITION_MAX_BYTES};
    struct bytes lo = border_key(buffer_bytes(&item->gap->lo)); /* a cut does not move it */
    struct bytes common = bytes_first(lo, shared_in_range(lo, buffer_bytes(&item->gap->hi)));
    struct line line = draw_line(splitter, item->gap, common, cuts + 1);
    int r = 0;
    for (size_t i = 1; i <= cuts && r == 0; i++) {
        r = append_place(splitter, &line, i, &at);
        if (r == 0)
            r = end_like_key(&at, item->gap);
        if (r == 0)
            r = cut(map, &item, buffer_bytes(&at));
    }
    return r;
}

/* The end of the alphabet of the first character: after the digits or after the letters. NULL:
 * the alphabet is unknown. "": the character itself is an ASCII character after an alphabet. */
static const char *end_of_alphabet(struct bytes child)
{
    char c;
    if (child.size == 0)
        return NULL;
    c = child.data[0];
    if (c >= '0' && c <= '9')
        return ":";
    if (c >= 'A' && c <= 'Z')
        return "[";
    if (c >= 'a' && c <= 'z')
        return "{";
    return c >= ' ' && c <= '~' ? "" : NULL;
}

static int append_child(const struct key_splitter *splitter, const struct line *line, size_t i,
                        bool is_behind, struct buffer *ret)
{
    uint32_t character;
    size_t common = line->common.size;
    int r = append_place(splitter, line, i, ret);
    if (r < 0 || ret->size <= common) /* there is no such place */
        return r;
    ret->size = common + cesu8_next(bytes_skip(buffer_bytes(ret), common), &character);
    return is_behind ? buffer_append_string(ret, POSITION_AFTER) : 0;
}

/* Between the characters that may follow `common`. `is_behind`: the cut lies after the partition
 * whose key is `common` and that character. */
static int cut_children(struct key_splitter *splitter, struct partition_map *map,
                        struct known *item, struct bytes common, bool is_behind, size_t cuts)
{
    _cleanup_(buffer_finish) struct buffer at = {.max = POSITION_MAX_BYTES};
    struct bytes lo = border_key(buffer_bytes(&item->gap->lo));
    struct bytes first = bytes_skip(lo, MIN(common.size, lo.size));
    const char *end = end_of_alphabet(first);
    struct known *behind = item;
    int r = 0;
    if (end && !end[0])
        return 0; /* few keys are after an alphabet: one answer shows them */
    if (end && cuts > 1) {
        (void)buffer_append(&at, common);
        (void)buffer_append_string(&at, end);
        r = at.error < 0 ? at.error : cut(map, &behind, buffer_bytes(&at));
        cuts--;
    }
    struct line line = draw_line(splitter, item->gap, common, cuts + 1);
    for (size_t i = 1; i <= cuts && r == 0; i++) {
        r = append_child(splitter, &line, i, is_behind, &at);
        if (r == 0)
            r = cut(map, &item, buffer_bytes(&at));
    }
    return r;
}

int key_splitter_cut_as_ladder(struct partition_map *map, struct known *item, struct bytes key,
                               size_t common, size_t cuts)
{
    _cleanup_(buffer_finish) struct buffer at = {.max = POSITION_MAX_BYTES};
    struct ladder ladder = ladder_of(key, common, LADDER_DEEP, cuts);
    int r = 0;
    for (size_t i = 0; i < ladder.rungs && r == 0; i++) {
        buffer_clear(&at);
        r = ladder_append_rung(&ladder, i, &at);
        if (r == 0)
            r = cut(map, &item, buffer_bytes(&at));
    }
    return r;
}

/* Is the key before the gap just `common` and one character? Then the next keys may be, too. */
static bool is_whole_child(const struct known *item, struct bytes common)
{
    struct bytes key = key_before(item);
    uint32_t character;
    return key.size > common.size &&
           cesu8_next(bytes_skip(key, common.size), &character) == key.size - common.size;
}

static int cut_gap(struct key_splitter *splitter, struct partition_map *map, struct known *item,
                   const struct bytes *children, size_t cuts)
{
    if (children)
        return cut_children(splitter, map, item, *children, is_whole_child(item, *children), cuts);
    struct gap *gap = item->gap;
    struct bytes end = buffer_bytes(&gap->end);
    size_t common = shared_in_range(border_key(buffer_bytes(&gap->lo)), buffer_bytes(&gap->hi));
    size_t shared = shared_characters(buffer_bytes(&gap->begin), end);
    if (!ladder_is_needed(splitter->model, end, common, shared))
        return cut_evenly(splitter, map, item, cuts);
    struct bytes key = shared == end.size ? ladder_key_of_lone(end) : bytes_first(end, shared);
    return key_splitter_cut_as_ladder(map, item, key, common, cuts);
}

/* The last page ended in the child that it began in: each other child is worth a request. */
static bool is_within_child(const struct gap *gap, struct bytes common)
{
    return shared_characters(buffer_bytes(&gap->begin), buffer_bytes(&gap->end)) > common.size;
}

/* 0: a cut is not worth a request, or is not possible. */
static double pages_to_cut(const struct key_splitter *splitter, const struct known *item,
                           const struct bytes *children)
{
    const struct gap *gap = item->gap;
    if (gap->is_guess)
        return 0;
    if (children && is_within_child(gap, *children))
        return PAGES_MAX;
    double pages = pages_left(splitter, gap);
    return pages >= 2 * PAGES_MIN ? pages : 0;
}

int key_splitter_fill(struct key_splitter *splitter, struct partition_map *map, size_t idle,
                      const struct bytes *children)
{
    double total = 0;
    struct known *item, *next;
    size_t left = idle > map->open ? key_splitter_credit(splitter, map, idle - map->open) : 0;
    double all = (double)left;
    if (left == 0)
        return 0;
    for (item = partition_map_first_open(map); item; item = partition_map_next_open(item))
        total += pages_to_cut(splitter, item, children);
    int r = 0;
    for (item = partition_map_first_open(map); item && left > 0 && r == 0; item = next) {
        next = partition_map_next_open(item);
        double pages = pages_to_cut(splitter, item, children);
        size_t wanted = pages > 0 ? (size_t)(all * pages / total + 0.5) : 0;
        size_t open = map->open;
        wanted = MIN(MIN(wanted, left), (size_t)(pages / PAGES_MIN));
        if (wanted > 0)
            r = cut_gap(splitter, map, item, children, wanted);
        left -= MIN(left, map->open - open);
    }
    return r;
}
