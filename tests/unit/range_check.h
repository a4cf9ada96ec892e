/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_RANGE_CHECK_H
#define TESTS_UNIT_RANGE_CHECK_H
/* The invariants of range maps, and of a range cache with all its maps. Looks at every piece. */
#include "cache/known/range_cache.h"
#include "cache/known/range_cache_parts.h"
#include "client/base/locked.h"
#include "tests/unit/unit.h"

struct range_map_check { /* zeroed at first; sums of all maps that were checked */
    size_t pages, bytes; /* of pages and pieces */
    size_t empty_maps;
    struct page_queue *queues[2]; /* that the pages are in; NULL: none */
};

static int compare_check(const struct piece *a, const struct piece *b)
{
    return bytes_compare(a->range.lo, b->range.lo);
}

RB_GENERATE_INTERNAL(piece_tree, piece, in_tree, compare_check, static __attribute__((unused)));

static int compare_table_names(const struct table *a, const struct table *b)
{
    return strcmp(a->name, b->name);
}

RB_GENERATE_INTERNAL(table_tree, table, by_name, compare_table_names,
                     static __attribute__((unused)));

static inline void assert_page_is_counted(struct range_map_check *check,
                                          const struct cached_page *page)
{
    struct page_queue **queue = check->queues;
    while (*queue && *queue != page->queue)
        assert_true(++queue < check->queues + ARRAY_SIZE(check->queues));
    *queue = page->queue;
    check->pages++;
    check->bytes += cached_page_bytes(page);
}

static inline void assert_piece_is_sound(struct range_map *map, struct piece *piece)
{
    const struct cached_page *page = piece->page;
    struct range whole = page_range(page->page);
    const struct piece *next = TAILQ_NEXT(piece, in_page);
    assert_false(range_is_empty(piece->range));
    assert_true(range_is_empty(whole) || range_holds_range(whole, piece->range));
    assert_true(!next || bytes_compare(piece->range.hi, next->range.lo) <= 0);
    assert_true(page->origin != ORIGIN_GONE || page_rows(page->page) == 0);
    assert_true(page->newest_change <= page->stamp.order);
    assert_ptr_equal(page->map, map);
    assert_non_null(page->queue);
    assert_ptr_not_equal(page->queue, &map->holdings->removed);
}

/* Pieces of one kind do not overlap, and are of pages of that kind. */
static inline void assert_tree_is_sound(struct range_map *map, enum range_kind kind,
                                        struct range_map_check *check)
{
    struct piece *piece, *before = NULL;
    RB_FOREACH(piece, piece_tree, &map->trees[kind])
    {
        struct page *page = piece->page->page;
        assert_int_equal(kind == RANGE_KEYS, page_is_keys_only(page) && page_rows(page) > 0);
        assert_true(!before || bytes_compare(before->range.hi, piece->range.lo) <= 0);
        assert_piece_is_sound(map, piece);
        check->bytes += sizeof(*piece) + piece->range.lo.size + piece->range.hi.size;
        if (piece == TAILQ_FIRST(&piece->page->pieces))
            assert_page_is_counted(check, piece->page);
        before = piece;
    }
}

static inline bool do_overlap(const struct piece *a, const struct piece *b)
{
    return bytes_compare(a->range.lo, b->range.hi) < 0 &&
           bytes_compare(b->range.lo, a->range.hi) < 0;
}

/* Keys are younger than the texts under them, or as old. */
static inline void assert_keys_are_over_older_texts(struct range_map *map)
{
    struct piece *texts = RB_MIN(piece_tree, &map->trees[RANGE_TEXTS]), *keys;
    RB_FOREACH(keys, piece_tree, &map->trees[RANGE_KEYS])
    {
        while (texts && bytes_compare(texts->range.hi, keys->range.lo) <= 0)
            texts = RB_NEXT(piece_tree, NULL, texts);
        for (struct piece *under = texts; under && do_overlap(under, keys);
             under = RB_NEXT(piece_tree, NULL, under))
            assert_false(stamp_is_younger(under->page->stamp, keys->page->stamp));
    }
}

/* Of one map; may be called for several in turn. */
static inline void check_range_map(struct range_map_check *check, struct range_map *map)
{
    check->empty_maps += range_map_is_empty(map);
    for (enum range_kind kind = 0; kind < RANGE_KINDS; kind++)
        assert_tree_is_sound(map, kind, check);
    assert_keys_are_over_older_texts(map);
}

/* The queues hold the pages that were counted, and no others. */
static inline void assert_queues_are_sound(const struct range_map_check *check)
{
    size_t pages = 0;
    for (size_t i = 0; i < ARRAY_SIZE(check->queues) && check->queues[i]; i++) {
        const struct cached_page *page;
        TAILQ_FOREACH(page, check->queues[i], in_queue)
        {
            assert_ptr_equal(page->queue, check->queues[i]);
            pages++;
        }
    }
    assert_int_equal(pages, check->pages);
}

/* Each table's map, under the lock. */
static inline void check_range_maps(struct range_map_check *check, struct range_cache *cache)
{
    struct table *table;
    LOCKED(&cache->lock);
    RB_FOREACH(table, table_tree, &cache->tables)
    check_range_map(check, &table->map);
}

/* While no other thread changes the cache. */
static inline void assert_cache_is_sound(struct range_cache *cache)
{
    struct range_map_check check = {0};
    struct range_cache_stats stats;
    check_range_maps(&check, cache);
    assert_queues_are_sound(&check);
    range_cache_stats(cache, &stats);
    assert_int_equal(check.pages, stats.pages);
    assert_int_equal(check.bytes, stats.bytes);
    assert_in_range(check.empty_maps, 0, 64); /* the tables without a page that are kept */
}

#endif
