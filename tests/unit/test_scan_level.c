#include "client/text/unicode.h"
#include "tests/scan/network.h"
#include "tests/scan/shapes.h"
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
};

static const char *const characters[] = {"a",
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

static void append_random(struct buffer *ret, uint64_t *seed, size_t length, size_t alphabet)
{
    for (size_t i = 0; i < length; i++)
        (void)buffer_append_string(ret, characters[random_below(seed, alphabet)]);
}

static void random_position(struct trial *trial, struct bytes shared, size_t alphabet,
                            struct buffer *ret)
{
    buffer_clear(ret);
    (void)buffer_append(ret, shared);
    append_random(ret, &trial->seed, random_below(&trial->seed, 5), alphabet);
    (void)buffer_append_char(ret, '\0');
    (void)buffer_append_format(ret, "%02u", (unsigned)random_below(&trial->seed, 40));
}

static void add_position(struct rows *rows, struct bytes position)
{
    rows_add(rows, position_partition_key(position), position_row_key(position));
}

static void fill_trial(struct trial *trial)
{
    struct buffer shared, position;
    uint64_t *seed = &trial->seed;
    size_t alphabet = 1 + random_below(seed, ARRAY_SIZE(characters));
    buffer_init(&shared, 4096);
    buffer_init(&position, 4096);
    append_random(&shared, seed, random_below(seed, 3) * random_below(seed, 6), alphabet);
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
    buffer_finish(&shared);
    buffer_finish(&position);
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
                                              .item = note_name,
                                              .context = trial};
#undef SOMETIMES
    trial->limits = (struct scan_limits){.page_rows = 1 + (int)random_below(seed, 20),
                                         .fanout = (int)random_below(seed, 20),
                                         .window_bytes = random_below(seed, 2) * 2000,
                                         .keys_only = true};
}

static void trial_init(struct trial *trial, uint64_t seed)
{
    trial->seed = seed * 7919 + 17;
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
    struct buffer behind;
    buffer_init(&behind, 4096);
    (void)prefix_append_successor(&behind, prefix, B(POSITION_END));
    int r = trial->is_level ? scan_level_create(prefix, &trial->limits, &scan)
                            : scan_partitions_create((struct range){prefix, buffer_bytes(&behind)},
                                                     &trial->limits, &scan);
    assert_int_equal(r, 0);
    r = network_run(&trial->network, &trial->rows, scan, ret);
    scan_destroy(scan);
    buffer_finish(&behind);
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
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct network_figures figures;
        trial_init(&trial, seed);
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
    struct buffer position;
    buffer_init(&position, 4096);
    for (size_t n = random_below(seed, 4); n > 0; n--) {
        if (rows->count > 0 && random_percent(seed, 50)) {
            struct bytes gone = rows->positions[random_below(seed, rows->count)];
            (void)rows_remove(&trial->before, gone);
            (void)rows_remove(rows, gone);
            continue;
        }
        random_position(trial, buffer_bytes(&trial->prefix), ARRAY_SIZE(characters), &position);
        (void)rows_insert(rows, buffer_bytes(&position));
        (void)rows_insert(&trial->ever, buffer_bytes(&position));
    }
    buffer_finish(&position);
}

static bool starts_some(const struct names *keys, struct bytes name, bool is_prefix)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (is_prefix ? bytes_start_with(keys->items[i], name) : bytes_equal(keys->items[i], name))
            return true;
    }
    return false;
}

static bool is_named(const struct trial *trial, struct bytes key)
{
    for (size_t i = 0; i < trial->count; i++) {
        struct bytes name = trial_name(trial, i);
        if (trial->is_prefix[i] ? bytes_start_with(key, name) : bytes_equal(key, name))
            return true;
    }
    return false;
}

static void what_changes_meanwhile_disturbs_nothing_else(void **state)
{
    (void)state;
    static struct trial trial;
    static struct names untouched, ever;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct network_figures figures;
        trial_init(&trial, seed);
        trial.network.change = change_rows;
        int r = trial_run(&trial, &figures);
        if (r < 0)
            fail_msg("seed %lu: %d", seed, r);
        collect_keys(&trial.before, buffer_bytes(&trial.prefix), &untouched);
        collect_keys(&trial.ever, buffer_bytes(&trial.prefix), &ever);
        for (size_t i = 0; i < untouched.count; i++)
            assert_true(is_named(&trial, untouched.items[i]));
        for (size_t i = 0; i < trial.count; i++) {
            assert_true(starts_some(&ever, trial_name(&trial, i), trial.is_prefix[i]));
            if (i > 0)
                assert_true(bytes_compare(trial_name(&trial, i - 1), trial_name(&trial, i)) < 0);
        }
        trial_finish(&trial);
    }
}

/* Questions one by one, in the order in which they are sent to eight slots. */

struct dialog {
    struct rows rows;
    struct buffer asked; /* "lo hi top, " of each; "|": POSITION_AFTER, "$": the end of all */
    struct buffer names; /* "partition, " or "prefix+, " */
    size_t requests;
};

static void dialog_init(struct dialog *dialog)
{
    rows_init(&dialog->rows);
    buffer_init(&dialog->asked, OUTPUT_MAX);
    buffer_init(&dialog->names, OUTPUT_MAX);
    dialog->requests = 0;
}

static void dialog_finish(struct dialog *dialog)
{
    rows_finish(&dialog->rows);
    buffer_finish(&dialog->asked);
    buffer_finish(&dialog->names);
}

static void append_end(struct buffer *ret, struct bytes end)
{
    for (size_t i = 0; i < end.size; i++) {
        if (end.data[i] == POSITION_AFTER[0])
            (void)buffer_append_char(ret, '|');
        else if (end.data[i] == POSITION_END[0])
            (void)buffer_append_char(ret, '$');
        else
            (void)buffer_append_char(ret, end.data[i]);
    }
}

static void note_question(struct dialog *dialog, const struct scan_request *request)
{
    assert_true(request->keys_only);
    dialog->requests++;
    append_end(&dialog->asked, request->range.lo);
    (void)buffer_append_char(&dialog->asked, ' ');
    append_end(&dialog->asked, request->range.hi);
    (void)buffer_append_format(&dialog->asked, " %d, ", request->top);
}

static void answer_question(struct dialog *dialog, struct scan *scan,
                            const struct scan_request *request)
{
    struct page_builder *builder;
    struct answer answer = {0};
    struct range covered = request->range;
    assert_int_equal(page_builder_create(PAGE_MAX_BYTES, &builder), 0);
    size_t begin = rows_seek(&dialog->rows, covered.lo), end = rows_seek(&dialog->rows, covered.hi);
    size_t stop = MIN(end, begin + (size_t)request->top);
    struct buffer last;
    buffer_init(&last, 4096);
    for (size_t i = begin; i < stop; i++)
        assert_int_equal(page_builder_end_row(builder, dialog->rows.positions[i], B(""), 0), 0);
    if (stop < end) {
        (void)buffer_append(&last, dialog->rows.positions[stop - 1]);
        (void)buffer_append_string(&last, POSITION_AFTER);
        covered.hi = buffer_bytes(&last);
        assert_int_equal(continuation_create(B("token"), &answer.next), 0);
    }
    assert_int_equal(page_builder_finish(builder, covered, true, &answer.page), 0);
    assert_int_equal(scan_tell(scan, request->id, &answer), 0);
    page_builder_destroy(builder);
    buffer_finish(&last);
}

/* A round is over when all that was asked in it is answered: ". " */
static void run_dialog(struct dialog *dialog, struct bytes prefix, int fanout, int slots)
{
    struct scan *scan;
    struct scan_item item;
    struct scan_request sent[32];
    enum scan_state state;
    struct scan_limits limits = {.page_rows = 1000, .fanout = fanout, .keys_only = true};
    assert_int_equal(scan_level_create(prefix, &limits, &scan), 0);
    while ((state = scan_take(scan, &item)) != SCAN_END) {
        if (state == SCAN_ITEM) {
            (void)buffer_append(&dialog->names, item.key);
            (void)buffer_append_string(&dialog->names, item.kind == SCAN_PREFIX ? "+, " : ", ");
            continue;
        }
        int out = 0;
        for (; out < slots && scan_ask(scan, slots - out, &sent[out]); out++)
            note_question(dialog, &sent[out]);
        assert_true(out > 0);
        for (int i = 0; i < out; i++)
            answer_question(dialog, scan, &sent[i]);
        (void)buffer_append_string(&dialog->asked, ". ");
    }
    scan_destroy(scan);
}

struct shape { /* of partition keys that count up */
    const char *before;
    int digits;
    const char *behind;
};

static void add_many(struct rows *rows, struct shape shape, unsigned partitions, unsigned each)
{
    char key[400], row[16];
    for (unsigned p = 0; p < partitions; p++) {
        int n = snprintf(key, sizeof(key), "%s%0*u%s", shape.before, shape.digits, p, shape.behind);
        assert_true(n > 0 && (size_t)n < sizeof(key));
        for (unsigned r = 0; r < each; r++) {
            (void)snprintf(row, sizeof(row), "%05u", r);
            rows_add_strings(rows, key, row);
        }
    }
    rows_sort(rows);
}

static void a_small_table_is_one_question(void **state)
{
    (void)state;
    static const unsigned sizes[] = {0, 1, 512, 1000};
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct dialog dialog;
        dialog_init(&dialog);
        add_many(&dialog.rows, (struct shape){"k", 4, ""}, sizes[i], 1);
        run_dialog(&dialog, B(""), 512, 8);
        assert_bytes(buffer_bytes(&dialog.asked), B(" $ 1000, . "));
        if (sizes[i] == 1000)
            assert_bytes(buffer_bytes(&dialog.names),
                         B("k00+, k01+, k02+, k03+, k04+, k05+, k06+, k07+, k08+, k09+, "));
        dialog_finish(&dialog);
    }
}

static void a_ladder_finds_the_common_prefix(void **state)
{
    (void)state;
    struct dialog dialog;
    dialog_init(&dialog);
    add_many(&dialog.rows, (struct shape){"customer_", 6, ""}, 30000, 1);
    run_dialog(&dialog, B("cu"), 512, 8);
    assert_bytes(buffer_bytes(&dialog.names), B("customer_00+, customer_01+, customer_02+, "));
    assert_true(dialog.requests <= 3 + 16);
    /* behind each character that the first thousand share, the last ones sparsely */
    assert_bytes(bytes_first(buffer_bytes(&dialog.asked), 26), B("cu cv 1000, . customer_001"));
    dialog_finish(&dialog);
}

static void serial_questions_skip_from_child_to_child(void **state)
{
    (void)state;
    struct dialog dialog;
    dialog_init(&dialog);
    for (const char *c = "adz~"; *c; c++) {
        const char before[] = {*c, '\0'};
        add_many(&dialog.rows, (struct shape){before, 4, ""}, 2000, 1);
    }
    run_dialog(&dialog, B(""), 512, 1);
    assert_bytes(buffer_bytes(&dialog.names), B("a+, d+, z+, ~+, "));
    assert_bytes(
        buffer_bytes(&dialog.asked),
        B(" $ 1000, . a1 $ 1000, . b $ 1000, . e $ 1000, . { $ 1000, . \xC2\xA0 $ 1000, . "));
    dialog_finish(&dialog);
}

/* Whether it is alone, one more question tells, and that finds the next child. */
static void a_huge_partition_stands_alone(void **state)
{
    (void)state;
    struct dialog dialog;
    dialog_init(&dialog);
    add_many(&dialog.rows, (struct shape){"a", 3, ""}, 600, 1);
    add_many(&dialog.rows, (struct shape){"big", 1, ""}, 1, 3000);
    add_many(&dialog.rows, (struct shape){"c", 3, ""}, 600, 1);
    run_dialog(&dialog, B(""), 512, 1);
    assert_bytes(buffer_bytes(&dialog.names), B("a+, big0, c+, "));
    assert_bytes(buffer_bytes(&dialog.asked), B(" $ 1000, . big0| $ 1000, . "));
    dialog_finish(&dialog);
}

static void ten_huge_partitions_are_themselves(void **state)
{
    (void)state;
    struct dialog dialog;
    dialog_init(&dialog);
    add_many(&dialog.rows, (struct shape){"region-", 1, ""}, 10, 2500);
    run_dialog(&dialog, B(""), 512, 1);
    assert_bytes(buffer_bytes(&dialog.names),
                 B("region-0, region-1, region-2, region-3, region-4, region-5, region-6, "
                   "region-7, region-8, region-9, "));
    assert_int_equal(dialog.requests, 11);
    assert_bytes(bytes_first(buffer_bytes(&dialog.asked), 63),
                 B(" $ 1000, . region-0| $ 1000, . region-1| $ 16, . region-2| $ 16"));
    dialog_finish(&dialog);
}

static void a_key_that_equals_the_prefix_stands_beside_the_children(void **state)
{
    (void)state;
    struct dialog dialog;
    dialog_init(&dialog);
    rows_add_strings(&dialog.rows, "ab", "r");
    rows_add_strings(&dialog.rows, "abc", "r");
    rows_add_strings(&dialog.rows, "abc+", "r");
    rows_add_strings(&dialog.rows, "abd+", "r");
    rows_add_strings(&dialog.rows, "abd+", "s");
    rows_sort(&dialog.rows);
    run_dialog(&dialog, B(""), 3, 8);
    assert_bytes(buffer_bytes(&dialog.names), B("ab, abc+, abd+, ")); /* the last is a key */
    assert_int_equal(dialog.requests, 1);
    dialog_finish(&dialog);
}

/* Below a prefix that is too long to be a name its partitions are listed, however many. */
static void too_long_a_prefix_is_not_shown(void **state)
{
    (void)state;
    char before[300];
    for (int size = 239; size <= 240; size++) {
        struct dialog dialog;
        dialog_init(&dialog);
        (void)snprintf(before, sizeof(before), "%0*d", size, 0);
        add_many(&dialog.rows, (struct shape){before, 3, ""}, 900, 1);
        run_dialog(&dialog, B("00"), 512, 8);
        bool is_short = size == 239;
        assert_int_equal(dialog.names.size, is_short ? 9 * (240 + 3) : 900 * (243 + 2));
        dialog_finish(&dialog);
    }
}

/* The figures of the design: children + 16 questions, 6 + (children + 16) / slots round trips. */
static void a_level_costs_little_more_than_its_children(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        size_t children;
    } shapes[] = {{"guid", 16}, {"customer", 10}, {"package", 25}, {"ten", 10},  {"sensors", 5},
                  {"dates", 2}, {"skew", 10},     {"long", 10},    {"small", 10}};
    for (size_t i = 0; i < ARRAY_SIZE(shapes) * 3; i++) {
        struct rows rows;
        struct scan *scan;
        struct network_figures figures;
        int slots = (int[]){1, 8, 32}[i % 3];
        struct network_options options = {.slots = slots};
        struct scan_limits limits = {.page_rows = 200, .fanout = 1, .keys_only = true};
        scan_shape_fill(shapes[i / 3].shape, 40000, &rows);
        assert_int_equal(scan_level_create(B(""), &limits, &scan), 0);
        assert_int_equal(network_run(&options, &rows, scan, &figures), 0);
        size_t requests = figures.items + 16;
        if (figures.requests > requests || figures.round_trips > 6 + requests / (size_t)slots)
            fail_msg("%s, %d slots: %zu names, %zu requests, %zu round trips", shapes[i / 3].shape,
                     slots, figures.items, figures.requests, figures.round_trips);
        scan_destroy(scan);
        rows_finish(&rows);
    }
}

/* Counting up to `fanout` huge partitions: 8 + fanout / slots round trips until the first name. */
static void huge_partitions_are_counted_in_parallel(void **state)
{
    (void)state;
    static const struct shape counted[] = {{"p", 4, ""}, {"", 3, "-tenant"}, {"a:", 5, ""}};
    for (size_t i = 0; i < ARRAY_SIZE(counted) * 6; i++) {
        struct rows rows;
        struct scan *scan;
        struct network_figures figures;
        int slots = (int[]){1, 4, 8}[i % 3], fanout = 128;
        unsigned partitions = i / 3 % 2 == 0 ? 128 : 600;
        struct network_options options = {.slots = slots};
        struct scan_limits limits = {.page_rows = 20, .fanout = fanout, .keys_only = true};
        rows_init(&rows);
        add_many(&rows, counted[i / 6], partitions, 30);
        assert_int_equal(scan_level_create(B(""), &limits, &scan), 0);
        assert_int_equal(network_run(&options, &rows, scan, &figures), 0);
        if (figures.first_item > 8 + (size_t)(fanout / slots))
            fail_msg("%s, %u partitions, %d slots: first name after %zu", counted[i / 6].before,
                     partitions, slots, figures.first_item);
        scan_destroy(scan);
        rows_finish(&rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_table_is_one_question),
        cmocka_unit_test(a_ladder_finds_the_common_prefix),
        cmocka_unit_test(serial_questions_skip_from_child_to_child),
        cmocka_unit_test(a_huge_partition_stands_alone),
        cmocka_unit_test(ten_huge_partitions_are_themselves),
        cmocka_unit_test(a_key_that_equals_the_prefix_stands_beside_the_children),
        cmocka_unit_test(too_long_a_prefix_is_not_shown),
        cmocka_unit_test(a_level_costs_little_more_than_its_children),
        cmocka_unit_test(huge_partitions_are_counted_in_parallel),
        cmocka_unit_test(random_tables_show_exactly_their_level),
        cmocka_unit_test(what_changes_meanwhile_disturbs_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
