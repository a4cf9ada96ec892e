/* SPDX-License-Identifier: MIT */
/* Random questions, answers, splits and cuts: the map's invariants hold after each step, and in the
 * end the keys are exactly those of the table that were not cut out. */
#include "cache/scan/partition_map.h"
#include "tests/scan/rows.h"
#include "tests/unit/unit.h"

#define LETTERS 26

struct trial {
    struct partition_map map;
    struct rows rows;
    bool is_cut[LETTERS];
    uint64_t seed;
};

static bool is_behind(const struct known *item, const struct known *before)
{
    struct bytes begin = item->gap ? buffer_bytes(&item->gap->lo) : item->key;
    if (!before)
        return true;
    return before->gap ? bytes_compare(buffer_bytes(&before->gap->hi), begin) <= 0
                       : bytes_compare(before->key, begin) < 0;
}

/* Keys and gaps are in order without overlap, and states and counts agree. */
static void assert_is_sound(const struct partition_map *map)
{
    size_t open = 0, requested = 0, partitions = 0;
    const struct known *item, *gap = TAILQ_FIRST(&map->gaps);
    TAILQ_FOREACH(item, &map->list, link)
    {
        assert_true(is_behind(item, TAILQ_PREV(item, known_list, link)));
        if (!item->gap) {
            partitions++;
            continue;
        }
        assert_ptr_equal(item, gap);
        assert_false(range_is_empty(gap_range(item->gap)));
        assert_int_equal(item->gap->state == GAP_OPEN, item->gap->id == 0);
        gap = TAILQ_NEXT(gap, gap_link);
        open += item->gap->state == GAP_OPEN;
        requested += item->gap->state != GAP_OPEN;
    }
    assert_null(gap);
    assert_int_equal(open, map->open);
    assert_int_equal(requested, map->in_flight);
    assert_int_equal(partitions, map->partitions);
}

static char random_letter(struct trial *trial)
{
    return (char)('a' + (int)random_below(&trial->seed, LETTERS));
}

static struct known *random_gap(struct trial *trial, enum gap_state state)
{
    struct known *item, *chosen = NULL;
    uint64_t seen = 0;
    TAILQ_FOREACH(item, &trial->map.gaps, gap_link)
    {
        if (item->gap->state == state && random_below(&trial->seed, ++seen) == 0)
            chosen = item;
    }
    return chosen;
}

static void split(struct trial *trial, struct known *item)
{
    char at = random_letter(trial);
    struct bytes key = {&at, 1};
    struct range range = gap_range(item->gap);
    if (bytes_compare(range.lo, key) < 0 && bytes_compare(key, range.hi) < 0)
        assert_int_equal(partition_map_split(&trial->map, item, key), 0);
}

/* Up to three rows of the gap. */
static void answer(struct trial *trial, struct known *item)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct range range = gap_range(item->gap);
    size_t begin = rows_seek(&trial->rows, range.lo), end = rows_seek(&trial->rows, range.hi);
    size_t most = 1 + random_below(&trial->seed, 3), stop = MIN(end, begin + most);
    _cleanup_(buffer_finish) struct buffer hi = {.max = 100};
    assert_int_equal(page_builder_create(PAGE_MAX_BYTES, &builder), 0);
    for (size_t i = begin; i < stop; i++)
        assert_int_equal(page_builder_end_row(builder, trial->rows.positions[i], B(""), 0), 0);
    if (stop < end) {
        (void)position_append_behind(&hi, trial->rows.positions[stop - 1]);
        range.hi = buffer_bytes(&hi);
    }
    assert_int_equal(page_builder_finish(builder, range, true, &page), 0);
    assert_int_equal(partition_map_add_answer(&trial->map, item, page), 0);
}

/* As a level does for a child: its keys need not be known. */
static void cut(struct trial *trial, struct known *item)
{
    char lo = random_letter(trial), hi = (char)(lo + 1);
    struct range range = {{&lo, 1}, {&hi, 1}};
    trial->is_cut[lo - 'a'] = true;
    (void)partition_map_cut(&trial->map, item, range);
}

static void step(struct trial *trial)
{
    struct scan_request request;
    struct known *open = random_gap(trial, GAP_OPEN), *requested = random_gap(trial, GAP_REQUESTED);
    struct known *needless = random_gap(trial, GAP_NEEDLESS);
    uint64_t choice = random_below(&trial->seed, 10);
    if (open && choice < 2)
        split(trial, open);
    else if (open && choice < 5)
        partition_map_request(&trial->map, open, &request);
    else if (requested && choice < 7)
        answer(trial, requested);
    else if (requested && choice == 7)
        partition_map_give_back(&trial->map, requested);
    else if (needless)
        answer(trial, needless);
    else if ((open || requested) && random_percent(&trial->seed, 5))
        cut(trial, open ? open : requested);
}

static void assert_keys(const struct trial *trial)
{
    const struct known *item = TAILQ_FIRST(&trial->map.list);
    for (size_t i = 0; i < trial->rows.count; i++) {
        struct bytes key = position_partition_key(trial->rows.positions[i]);
        if (item && bytes_equal(item->key, key))
            item = TAILQ_NEXT(item, link);
        else if (i == 0 || !bytes_equal(position_partition_key(trial->rows.positions[i - 1]), key))
            assert_true(trial->is_cut[key.data[0] - 'a']);
    }
    assert_null(item);
}

static void run_trial(uint64_t seed)
{
    struct trial trial = {.seed = seed};
    rows_init(&trial.rows);
    for (uint64_t n = random_below(&trial.seed, 60); n > 0; n--) {
        char key[3] = {random_letter(&trial), random_letter(&trial), '\0'};
        rows_add_strings(&trial.rows, key, random_percent(&trial.seed, 50) ? "r" : "s");
    }
    rows_sort(&trial.rows);
    assert_int_equal(partition_map_init(&trial.map, RANGE_ALL), 0);
    assert_is_sound(&trial.map);
    for (int i = 0; !TAILQ_EMPTY(&trial.map.gaps); i++) {
        assert_true(i < 10000);
        step(&trial);
        assert_is_sound(&trial.map);
    }
    assert_keys(&trial);
    partition_map_finish(&trial.map);
    rows_finish(&trial.rows);
}

static void invariants_hold_after_each_step(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++)
        run_trial(seed * 7919);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invariants_hold_after_each_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
