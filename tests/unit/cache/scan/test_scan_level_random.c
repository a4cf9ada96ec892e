/* SPDX-License-Identifier: MIT */
/* Random tables against what a level shows by its definition; distinct partitions beside it. */
#include "client/base/unicode.h"
#include "tests/scan/network.h"
#include "tests/unit/unit.h"

#define OUTPUT_MAX ((size_t)8 << 20)
#define KEYS_MAX   4096

struct names {
    struct bytes items[KEYS_MAX];
    bool is_prefix[KEYS_MAX];
    size_t count;
};

/* What a level shows, computed by looking at every key. */

static size_t next_size(struct bytes bytes)
{
    uint32_t character;
    return cesu8_next(bytes, &character);
}

static bool is_high(uint32_t character)
{
    return character >= 0xD800 && character <= 0xDBFF;
}

static bool all_go_on(const struct names *keys, size_t common, size_t n)
{
    struct bytes first = bytes_skip(keys->items[0], common);
    for (size_t i = 1; i < keys->count; i++) {
        struct bytes rest = bytes_skip(keys->items[i], common);
        if (next_size(rest) != n || memcmp(rest.data, first.data, n) != 0)
            return false;
    }
    return n > 0;
}

/* Without high surrogates that stand alone at its end: a pair may follow. */
static size_t common_size(const struct names *keys, size_t begin)
{
    size_t common = begin, n, whole = begin;
    uint32_t character;
    struct bytes first = keys->items[0];
    while ((n = cesu8_next(bytes_skip(first, common), &character)) > 0 &&
           all_go_on(keys, common, n)) {
        common += n;
        whole = is_high(character) ? whole : common;
    }
    return whole;
}

static bool is_prefix_shown(struct bytes prefix)
{
    size_t size = 0, n;
    uint32_t character = 0;
    for (; prefix.size > 0; prefix = bytes_skip(prefix, n)) {
        n = cesu8_next(prefix, &character);
        size += n == 6 ? 4 : UNICODE_IS_SURROGATE(character) ? 9 : n;
        if (!position_is_legal_in_key(character))
            return false;
    }
    return size <= 240 && !is_high(character);
}

static void expect_level(const struct names *keys, struct bytes prefix, size_t fanout,
                         struct names *ret)
{
    ret->count = 0;
    size_t common = keys->count > fanout ? common_size(keys, prefix.size) : 0;
    for (size_t i = 0, same; i < keys->count; i += same) {
        struct bytes key = keys->items[i];
        struct bytes child = bytes_first(key, common + next_size(bytes_skip(key, common)));
        for (same = 1; i + same < keys->count && child.size > common; same++) {
            struct bytes other = keys->items[i + same];
            if (!bytes_start_with(other, child) ||
                next_size(bytes_skip(other, common)) != child.size - common)
                break;
        }
        bool is_shown = keys->count > fanout && same > 1 && is_prefix_shown(child);
        if (!is_shown)
            same = 1;
        ret->is_prefix[ret->count] = is_shown;
        ret->items[ret->count++] = is_shown ? child : key;
    }
}

/* The distinct partition keys that start so; views. */
static void collect_keys(const struct rows *rows, struct bytes prefix, struct names *ret)
{
    ret->count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        struct bytes key = position_partition_key(rows->positions[i]);
        if (!bytes_start_with(key, prefix) ||
            (ret->count > 0 && bytes_equal(ret->items[ret->count - 1], key)))
            continue;
        assert_true(ret->count < KEYS_MAX);
        ret->items[ret->count++] = key;
    }
}

/* Random tables */

struct trial {
    uint64_t seed;
    struct rows rows, before;   /* as it is, and as it was first */
    struct rows ever;           /* all that was ever in it */
    struct buffer prefix, text; /* of the names that were handed out, and they themselves */
    size_t ends[KEYS_MAX];
    bool is_prefix[KEYS_MAX];
    size_t count;
    bool is_level;
    struct scan_limits limits;
    struct network_options network;
    const char *const *characters; /* of its keys */
    size_t alphabet;               /* how many of them there are */
};

static const char *const legal[] = {"a",
                                    "b",
                                    "c",
                                    "0",
                                    "1",
                                    "+",
                                    "~",
                                    ".",
                                    " ",
                                    "z",
                                    "\xC3\xA9",
                                    "\xED\xA0\x81",
                                    "\xED\xB0\x80",
                                    "\xED\xA0\x81\xED\xB0\xB7",
                                    "\xED\xA0\x81\xED\xB0\xB8",
                                    "\xEE\x80\x80",
                                    "\xEF\xBF\xBF",
                                    "\xE4\xB8\xAD"};

/* Each is next to one that the rules forbid, or is one. */
static const char *const forbidden[] = {
    "a", "~", "\x7F", "\xC2\x80", "\xC2\x9F", "\xC2\xA0", ".", "/", "\"", "#", ">", "?", "[", "\\"};

static void append_random(struct trial *trial, struct buffer *ret, size_t length, size_t alphabet)
{
    for (size_t i = 0; i < length; i++)
        (void)buffer_append_string(ret, trial->characters[random_below(&trial->seed, alphabet)]);
}

static void random_position(struct trial *trial, struct bytes shared, size_t alphabet,
                            struct buffer *ret)
{
    buffer_clear(ret);
    (void)buffer_append(ret, shared);
    append_random(trial, ret, random_below(&trial->seed, 5), alphabet);
    (void)buffer_append_char(ret, '\0');
    (void)buffer_append_format(ret, "%02u", (unsigned)random_below(&trial->seed, 40));
}

static void add_position(struct rows *rows, struct bytes position)
{
    rows_add(rows, position_partition_key(position), position_row_key(position));
}

static void fill_trial(struct trial *trial)
{
    _cleanup_(buffer_finish) struct buffer shared = {.max = 4096}, position = {.max = 4096};
    uint64_t *seed = &trial->seed;
    size_t alphabet = 1 + random_below(seed, trial->alphabet);
    append_random(trial, &shared, random_below(seed, 3) * random_below(seed, 6), alphabet);
    if (random_percent(seed, 5)) {
        for (size_t i = random_below(seed, 4) + 235; i > shared.size;)
            (void)buffer_append_char(&shared, 'x');
    }
    for (size_t n = random_below(seed, 4) * random_below(seed, 60); n > 0; n--) {
        random_position(trial, buffer_bytes(&shared), alphabet, &position);
        add_position(&trial->rows, buffer_bytes(&position));
        for (size_t hot = random_percent(seed, 3) ? random_below(seed, 80) : 0; hot > 0; hot--) {
            (void)buffer_append_char(&position, 'r');
            add_position(&trial->rows, buffer_bytes(&position));
        }
    }
    rows_sort(&trial->rows);
    struct bytes prefix = buffer_bytes(&shared);
    size_t keep = random_below(seed, 3);
    for (size_t i = 0, n; keep < 2 && i < prefix.size; i += n) {
        n = next_size(bytes_skip(prefix, i));
        if (keep == 0 || random_percent(seed, 50)) {
            prefix.size = keep == 0 ? 0 : i;
            break;
        }
    }
    (void)buffer_append(&trial->prefix, prefix);
}

static void note_name(void *context, const struct scan_item *item)
{
    struct trial *trial = context;
    assert_true(trial->count < KEYS_MAX);
    assert_true(item->kind != SCAN_ROWS);
    (void)buffer_append(&trial->text, item->key);
    trial->ends[trial->count] = trial->text.size;
    trial->is_prefix[trial->count++] = item->kind == SCAN_PREFIX;
}

static void choose_network(struct trial *trial)
{
    uint64_t *seed = &trial->seed;
    bool is_rough = random_percent(seed, 70);
#define SOMETIMES (is_rough && random_percent(seed, 50) ? (int)random_below(seed, 50) : 0)
    trial->network = (struct network_options){.slots = 1 + (int)random_below(seed, 32),
                                              .takes = (int)random_below(seed, 3) * 2,
                                              .seed = *seed,
                                              .short_percent = SOMETIMES,
                                              .empty_percent = SOMETIMES,
                                              .border_percent = SOMETIMES,
                                              .larger_percent = SOMETIMES,
                                              .smaller_percent = SOMETIMES,
                                              .late_percent = SOMETIMES,
                                              .give_back_percent = SOMETIMES,
                                              .speculation_percent = SOMETIMES * 2,
                                              .is_shuffled = random_percent(seed, 50),
                                              .is_of_keys = true,
                                              .item = note_name,
                                              .context = trial};
#undef SOMETIMES
    trial->limits = (struct scan_limits){.page_rows = 1 + (int)random_below(seed, 20),
                                         .fanout = (int)random_below(seed, 20),
                                         .window_bytes = random_below(seed, 2) * 2000,
                                         .keys_only = true};
}

static void trial_init(struct trial *trial, uint64_t seed, const char *const *characters,
                       size_t alphabet)
{
    trial->seed = seed * 7919 + 17;
    trial->characters = characters;
    trial->alphabet = alphabet;
    trial->count = 0;
    trial->is_level = seed % 4 != 0;
    rows_init(&trial->rows);
    rows_init(&trial->before);
    rows_init(&trial->ever);
    buffer_init(&trial->prefix, OUTPUT_MAX);
    buffer_init(&trial->text, OUTPUT_MAX);
    fill_trial(trial);
    choose_network(trial);
    for (size_t i = 0; i < trial->rows.count; i++) {
        add_position(&trial->before, trial->rows.positions[i]);
        add_position(&trial->ever, trial->rows.positions[i]);
    }
    rows_sort(&trial->before);
    rows_sort(&trial->ever);
}

static void trial_finish(struct trial *trial)
{
    rows_finish(&trial->rows);
    rows_finish(&trial->before);
    rows_finish(&trial->ever);
    buffer_finish(&trial->prefix);
    buffer_finish(&trial->text);
}

static int trial_run(struct trial *trial, struct network_figures *ret)
{
    struct scan *scan;
    struct bytes prefix = buffer_bytes(&trial->prefix);
    _cleanup_(buffer_finish) struct buffer behind = {.max = 4096};
    (void)prefix_append_successor(&behind, prefix, B(POSITION_END));
    int r = trial->is_level ? scan_level_create(prefix, &trial->limits, &scan)
                            : scan_partitions_create((struct range){prefix, buffer_bytes(&behind)},
                                                     &trial->limits, &scan);
    assert_int_equal(r, 0);
    r = network_run(&trial->network, &trial->rows, scan, ret);
    scan_destroy(scan);
    return r;
}

static struct bytes trial_name(const struct trial *trial, size_t i)
{
    size_t begin = i > 0 ? trial->ends[i - 1] : 0;
    return (struct bytes){trial->text.data + begin, trial->ends[i] - begin};
}

static void assert_names(const struct trial *trial, const struct names *expected, uint64_t seed)
{
    assert_int_equal(trial->count, expected->count);
    for (size_t i = 0; i < trial->count; i++) {
        if (bytes_compare(trial_name(trial, i), expected->items[i]) != 0 ||
            trial->is_prefix[i] != expected->is_prefix[i])
            fail_msg("seed %lu: name %zu differs", seed, i);
    }
}

static void random_tables_show_exactly_their_level(void **state)
{
    (void)state;
    static struct trial trial;
    static struct names keys, expected;
    for (uint64_t seed = 1; seed <= TRIALS(3000); seed++) {
        struct network_figures figures;
        trial_init(&trial, seed, legal, ARRAY_SIZE(legal));
        int r = trial_run(&trial, &figures);
        if (r < 0)
            fail_msg("seed %lu: %d", seed, r);
        collect_keys(&trial.rows, buffer_bytes(&trial.prefix), &keys);
        expect_level(&keys, buffer_bytes(&trial.prefix),
                     trial.is_level ? (size_t)trial.limits.fanout : KEYS_MAX, &expected);
        assert_names(&trial, &expected, seed);
        trial_finish(&trial);
    }
}

/* Some rows come and go. */
static void change_rows(void *context, struct rows *rows, uint64_t *seed)
{
    struct trial *trial = context;
    _cleanup_(buffer_finish) struct buffer position = {.max = 4096};
    for (size_t n = random_below(seed, 4); n > 0; n--) {
        if (rows->count > 0 && random_percent(seed, 50)) {
            struct bytes gone = rows->positions[random_below(seed, rows->count)];
            (void)rows_remove(&trial->before, gone);
            (void)rows_remove(rows, gone);
            continue;
        }
        random_position(trial, buffer_bytes(&trial->prefix), trial->alphabet, &position);
        (void)rows_insert(rows, buffer_bytes(&position));
        (void)rows_insert(&trial->ever, buffer_bytes(&position));
    }
}

static bool starts_some(const struct names *keys, struct bytes name, bool is_prefix)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (is_prefix ? bytes_start_with(keys->items[i], name) : bytes_equal(keys->items[i], name))
            return true;
    }
    return false;
}

/* How many names the key is shown by: its own, and prefixes. */
static size_t count_names(const struct trial *trial, struct bytes key)
{
    size_t count = 0;
    for (size_t i = 0; i < trial->count; i++) {
        struct bytes name = trial_name(trial, i);
        count += trial->is_prefix[i] ? bytes_start_with(key, name) : bytes_equal(key, name);
    }
    return count;
}

static void what_changes_meanwhile_disturbs_nothing_else(void **state)
{
    (void)state;
    static struct trial trial;
    static struct names untouched, ever;
    for (uint64_t seed = 1; seed <= TRIALS(3000); seed++) {
        struct network_figures figures;
        trial_init(&trial, seed, legal, ARRAY_SIZE(legal));
        trial.network.change = change_rows;
        int r = trial_run(&trial, &figures);
        if (r < 0)
            fail_msg("seed %lu: %d", seed, r);
        collect_keys(&trial.before, buffer_bytes(&trial.prefix), &untouched);
        collect_keys(&trial.ever, buffer_bytes(&trial.prefix), &ever);
        for (size_t i = 0; i < untouched.count; i++)
            assert_true(count_names(&trial, untouched.items[i]) > 0);
        for (size_t i = 0; i < trial.count; i++) {
            assert_true(starts_some(&ever, trial_name(&trial, i), trial.is_prefix[i]));
            if (i > 0)
                assert_true(bytes_compare(trial_name(&trial, i - 1), trial_name(&trial, i)) < 0);
        }
        trial_finish(&trial);
    }
}

/* A service may store, against the rules, keys with / \ # ? or a control character. What their
 * level shares is not always found, but each is shown once, and by no prefix that has such a
 * character. */
static void random_keys_against_the_rules_are_shown_once(void **state)
{
    (void)state;
    static struct trial trial;
    static struct names keys;
    for (uint64_t seed = 1; seed <= TRIALS(1000); seed++) {
        struct network_figures figures;
        trial_init(&trial, seed, forbidden, ARRAY_SIZE(forbidden));
        int r = trial_run(&trial, &figures);
        if (r < 0)
            fail_msg("seed %lu: %d", seed, r);
        collect_keys(&trial.rows, buffer_bytes(&trial.prefix), &keys);
        for (size_t i = 0; i < keys.count; i++)
            if (trial.is_level && count_names(&trial, keys.items[i]) != 1)
                fail_msg("seed %lu: key %zu is shown %zu times", seed, i,
                         count_names(&trial, keys.items[i]));
        for (size_t i = 0; i < trial.count; i++)
            assert_true(!trial.is_prefix[i] || is_prefix_shown(trial_name(&trial, i)));
        trial_finish(&trial);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_tables_show_exactly_their_level),
        cmocka_unit_test(what_changes_meanwhile_disturbs_nothing_else),
        cmocka_unit_test(random_keys_against_the_rules_are_shown_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
