/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_SCAN_SCANNING_H
#define TESTS_UNIT_CACHE_SCAN_SCANNING_H
/* Random tables, ranges and services for scans of rows: scan_once drives a scan to its end, and
 * checks that every row comes once and in order. */
#include "tests/scan/network.h"
#include "tests/unit/unit.h"

#define KEY_SIZE 64

struct reader {
    struct range range;
    struct buffer last;   /* position of the last row that came */
    struct rows original; /* positions that must come: touched ones are taken out */
    size_t came;          /* of the original */
    bool changes;
    const struct network_options *options;
};

static inline void read_item(void *context, const struct scan_item *item)
{
    struct reader *reader = context;
    assert_int_equal(item->kind, SCAN_ROWS);
    assert_true(item->rows.begin < item->rows.end);
    for (size_t row = item->rows.begin; row < item->rows.end; row++) {
        struct bytes position = page_position(item->rows.page, row);
        assert_true(range_holds(reader->range, position));
        assert_true(reader->options->matches == 0 || network_matches(reader->options, position));
        if (reader->last.size > 0)
            assert_true(bytes_compare(buffer_bytes(&reader->last), position) < 0);
        buffer_clear(&reader->last);
        (void)buffer_append(&reader->last, position);
        size_t original = rows_seek(&reader->original, position);
        bool is_there = original < reader->original.count &&
                        bytes_equal(reader->original.positions[original], position);
        assert_true(is_there || reader->changes);
        reader->came += is_there;
    }
}

static inline struct bytes random_key(uint64_t *seed, char key[KEY_SIZE])
{
    static const char *const beginnings[] = {"", "", "a", "evt-0000000", "\xE4\xB8\x80", "p"};
    static const char *const letters[] = {"0",
                                          "1",
                                          "9",
                                          "a",
                                          "b",
                                          "z",
                                          "-",
                                          ".",
                                          " ",
                                          "~",
                                          "\xC3\xA9",
                                          "\xE4\xB8\x81",
                                          "\xE9\xBF\xBF",
                                          "\xED\xA0\xBD\xED\xB8\x80",
                                          "\xEE\x80\x80",
                                          "\xEF\xBF\xBF"};
    _cleanup_(buffer_finish) struct buffer buffer = {.max = KEY_SIZE};
    (void)buffer_append_string(&buffer, beginnings[random_below(seed, ARRAY_SIZE(beginnings))]);
    size_t alphabet = 1 + random_below(seed, ARRAY_SIZE(letters));
    for (uint64_t n = random_below(seed, 6); n > 0; n--)
        (void)buffer_append_string(&buffer, letters[random_below(seed, alphabet)]);
    struct bytes result = {key, buffer.size};
    if (buffer.size > 0)
        memcpy(key, buffer.data, buffer.size);
    return result;
}

static inline void fill(uint64_t *seed, struct rows *rows)
{
    rows_init(rows);
    size_t count = random_below(seed, 400), partitions = 1 + random_below(seed, 30);
    char names[30][KEY_SIZE];
    struct bytes keys[30] = {{0}};
    for (size_t i = 0; i < partitions; i++)
        keys[i] = random_key(seed, names[i]);
    int hot = (int)random_below(seed, 100);
    for (size_t i = 0; i < count; i++) {
        char row[KEY_SIZE];
        size_t partition = random_percent(seed, hot) ? 0 : random_below(seed, partitions);
        rows_add(rows, keys[partition], random_key(seed, row));
    }
    rows_sort(rows);
}

/* Everything, a prefix, one partition, or between any two rows. */
static inline void choose_range(uint64_t *seed, const struct rows *rows, struct buffer *lo,
                                struct buffer *hi)
{
    buffer_clear(lo);
    buffer_clear(hi);
    uint64_t choice = random_below(seed, 5);
    if (rows->count == 0 || choice == 0) {
        (void)buffer_append_string(hi, POSITION_END);
        return;
    }
    struct bytes a = rows->positions[random_below(seed, rows->count)];
    struct bytes b = rows->positions[random_below(seed, rows->count)];
    if (choice == 1) {
        (void)buffer_append(lo, position_partition_key(a));
        (void)prefix_append_successor(hi, buffer_bytes(lo), BYTES_LITERAL(POSITION_END));
    } else if (choice == 2) {
        (void)position_append(lo, position_partition_key(a), BYTES_LITERAL(""));
        (void)buffer_append(hi, position_partition_key(a));
        (void)buffer_append_string(hi, POSITION_AFTER);
    } else {
        bool is_ordered = bytes_compare(a, b) < 0;
        (void)buffer_append(lo, is_ordered ? a : b);
        (void)buffer_append(hi, is_ordered ? b : a);
    }
}

static inline void keep_range(struct rows *rows, struct range range)
{
    size_t begin = rows_seek(rows, range.lo), end = MAX(rows_seek(rows, range.hi), begin);
    if (end > begin)
        memmove(rows->positions, rows->positions + begin, (end - begin) * sizeof(*rows->positions));
    rows->count = end - begin;
}

static inline void keep_matches(struct rows *rows, const struct network_options *options)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (network_matches(options, rows->positions[i]))
            rows->positions[kept++] = rows->positions[i];
    rows->count = kept;
}

/* Percent, mostly none. */
static inline int some(uint64_t *seed)
{
    return random_percent(seed, 60) ? 0 : (int)random_below(seed, 40);
}

static inline void change(void *context, struct rows *rows, uint64_t *seed)
{
    struct reader *reader = context;
    char partition[KEY_SIZE], row[KEY_SIZE];
    _cleanup_(buffer_finish) struct buffer position = {.max = 1000};
    if (rows->count > 0 && random_percent(seed, 50)) {
        (void)buffer_append(&position, rows->positions[random_below(seed, rows->count)]);
        (void)rows_remove(rows, buffer_bytes(&position));
        if (rows_remove(&reader->original, buffer_bytes(&position)) && reader->last.size > 0)
            reader->came -=
                bytes_compare(buffer_bytes(&position), buffer_bytes(&reader->last)) <= 0;
    } else {
        (void)position_append(&position, random_key(seed, partition), random_key(seed, row));
        (void)rows_insert(rows, buffer_bytes(&position));
    }
}

typedef int scan_create(struct range range, const struct scan_limits *limits, struct scan **ret);

/* changes: of rows meanwhile; matches: as of network_options. */
static inline void scan_once(scan_create *create, uint64_t seed, bool changes, int matches)
{
    struct reader reader = {.changes = changes};
    struct rows rows;
    _cleanup_(buffer_finish) struct buffer lo = {.max = 1000}, hi = {.max = 1000};
    uint64_t table_seed = seed + 1;
    buffer_init(&reader.last, 1000);
    fill(&table_seed, &rows);
    table_seed = seed + 1;
    fill(&table_seed, &reader.original);
    choose_range(&seed, &rows, &lo, &hi);
    reader.range = (struct range){buffer_bytes(&lo), buffer_bytes(&hi)};
    keep_range(&reader.original, reader.range);
    struct scan_limits limits = {.page_rows = 1 + (int)random_below(&seed, 20),
                                 .window_bytes =
                                     random_percent(&seed, 50) ? random_below(&seed, 4000) : 0};
    struct network_options options = {.slots = 1 + (int)random_below(&seed, 32),
                                      .takes = (int)random_below(&seed, 3),
                                      .seed = seed,
                                      .short_percent = some(&seed),
                                      .empty_percent = some(&seed),
                                      .border_percent = some(&seed),
                                      .larger_percent = changes ? 0 : some(&seed),
                                      .smaller_percent = some(&seed),
                                      .late_percent = some(&seed),
                                      .give_back_percent = some(&seed),
                                      .speculation_percent = some(&seed),
                                      .matches = matches,
                                      .looks = (int)random_below(&seed, 50),
                                      .is_shuffled = random_percent(&seed, 50),
                                      .change = changes ? change : NULL,
                                      .item = read_item,
                                      .context = &reader};
    struct scan *scan;
    struct network_figures figures;
    if (matches > 0)
        keep_matches(&reader.original, &options);
    reader.options = &options;
    assert_int_equal(create(reader.range, &limits, &scan), 0);
    assert_int_equal(network_run(&options, &rows, scan, &figures), 0);
    assert_int_equal(reader.came, reader.original.count);
    scan_destroy(scan);
    rows_finish(&rows);
    rows_finish(&reader.original);
    buffer_finish(&reader.last);
}

#endif
