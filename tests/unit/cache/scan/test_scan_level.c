/* SPDX-License-Identifier: MIT */
#include "tests/scan/network.h"
#include "tests/scan/shapes.h"
#include "tests/unit/unit.h"

#define OUTPUT_MAX ((size_t)8 << 20)

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
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    struct answer answer = {0};
    struct range covered = request->range;
    assert_int_equal(page_builder_create(PAGE_MAX_BYTES, &builder), 0);
    size_t begin = rows_seek(&dialog->rows, covered.lo), end = rows_seek(&dialog->rows, covered.hi);
    size_t stop = MIN(end, begin + (size_t)request->top);
    _cleanup_(buffer_finish) struct buffer last = {.max = 4096};
    for (size_t i = begin; i < stop; i++)
        assert_int_equal(page_builder_end_row(builder, dialog->rows.positions[i], B(""), 0), 0);
    if (stop < end) {
        (void)buffer_append(&last, dialog->rows.positions[stop - 1]);
        (void)buffer_append_string(&last, POSITION_AFTER);
        covered.hi = buffer_bytes(&last);
        assert_int_equal(continuation_create(B("token"), BYTES_LITERAL(""), &answer.next), 0);
    }
    assert_int_equal(page_builder_finish(builder, covered, true, &answer.page), 0);
    assert_int_equal(scan_add_answer(scan, request->id, &answer), 0);
}

/* A round is over when all that was asked in it is answered: ". " */
static void run_dialog(struct dialog *dialog, struct bytes prefix, int fanout, int slots)
{
    _cleanup_(scan_destroyp) struct scan *scan = NULL;
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
        for (; out < slots && scan_next_request(scan, slots - out, &sent[out]); out++)
            note_question(dialog, &sent[out]);
        assert_true(out > 0);
        for (int i = 0; i < out; i++)
            answer_question(dialog, scan, &sent[i]);
        (void)buffer_append_string(&dialog->asked, ". ");
    }
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
    /* after each character that the first thousand share, the last ones sparsely */
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
    assert_bytes(buffer_bytes(&dialog.asked),
                 B(" $ 1000, . a1 $ 1000, . b $ 1000, . e $ 1000, . { $ 1000, . \x7F $ 1000, . "));
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
    assert_bytes(bytes_first(buffer_bytes(&dialog.asked), 61),
                 B(" $ 1000, . region-0| $ 16, . region-1| $ 16, . region-2| $ 16"));
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

/* What waits and is on its way stays in the window, for a reader that takes its time, too. */
static void partitions_wait_in_the_window(void **state)
{
    (void)state;
    struct rows rows;
    struct scan *scan;
    struct network_figures figures;
    struct network_options options = {.slots = 32, .takes = 700};
    struct scan_limits limits = {.page_rows = 1000, .keys_only = true, .window_bytes = 1 << 20};
    scan_shape_fill("guid", 40000, &rows);
    assert_int_equal(scan_partitions_create(RANGE_ALL, &limits, &scan), 0);
    assert_int_equal(network_run(&options, &rows, scan, &figures), 0);
    assert_int_equal(figures.items, 40000);
    assert_true(figures.bytes_ahead <= limits.window_bytes);
    assert_true(figures.requests <= 60);
    scan_destroy(scan);
    rows_finish(&rows);
}

/* A service may store, against the rules, keys with / \ # ? or a control character. They lie
 * directly after a prefix that ends in the character before, and belong to none. */
static void keys_with_illegal_characters_are_shown_once(void **state)
{
    (void)state;
#define NAMES                                                                                      \
    "ab\"+, ab#0, ab#1, ab.+, ab/0, ab/1, ab>+, ab?0, ab?1, ab[+, ab\\0, ab\\1, ab~+, ab\x7F"      \
    "0, ab\x7F"                                                                                    \
    "1, ab\xC2\x9F"                                                                                \
    "0, ab\xC2\x9F"                                                                                \
    "1, "
    static const struct shape shapes[] = {
        {"ab\"", 4, ""}, {"ab#", 1, ""},    {"ab.", 4, ""},        {"ab/", 1, ""},
        {"ab>", 4, ""},  {"ab?", 1, ""},    {"ab[", 4, ""},        {"ab\\", 1, ""},
        {"ab~", 4, ""},  {"ab\x7F", 1, ""}, {"ab\xC2\x9F", 1, ""},
    };
    static const struct {
        struct bytes prefix;
        const char *names;
    } levels[] = {
        {B("ab"), NAMES},
        {B(""), NAMES},
        {B("ab."), "ab.0+, ab.1+, "},
        {B("ab~"), "ab~0+, ab~1+, "},
    };
#undef NAMES
    for (size_t i = 0; i < ARRAY_SIZE(levels) * 2; i++) {
        struct dialog dialog;
        dialog_init(&dialog);
        for (size_t j = 0; j < ARRAY_SIZE(shapes); j++)
            add_many(&dialog.rows, shapes[j], shapes[j].digits == 1 ? 2 : 1500, 1);
        run_dialog(&dialog, levels[i / 2].prefix, 4, i % 2 == 0 ? 1 : 8);
        assert_string_equal(buffer_string(&dialog.names), levels[i / 2].names);
        dialog_finish(&dialog);
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
        cmocka_unit_test(partitions_wait_in_the_window),
        cmocka_unit_test(keys_with_illegal_characters_are_shown_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
