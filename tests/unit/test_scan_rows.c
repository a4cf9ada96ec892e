/* SPDX-License-Identifier: MIT */
/* Random tables, ranges and services: whatever happens, every row comes once and in order. */
#include "client/text/unicode.h"
#include "tests/scan/network.h"
#include "tests/stores/memory_store.h"
#include "tests/unit/unit.h"

#define KEY_SIZE 64

struct reader {
    struct range range;
    struct buffer last;   /* position of the last row that came */
    struct rows original; /* positions that must come: touched ones are taken out */
    size_t came;          /* of the original */
    bool changes;
};

static void read_item(void *context, const struct scan_item *item)
{
    struct reader *reader = context;
    assert_int_equal(item->kind, SCAN_ROWS);
    assert_true(item->rows.begin < item->rows.end);
    for (size_t row = item->rows.begin; row < item->rows.end; row++) {
        struct bytes position = page_position(item->rows.page, row);
        assert_true(range_holds(reader->range, position));
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

static struct bytes random_key(uint64_t *seed, char key[KEY_SIZE])
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
    struct buffer buffer;
    buffer_init(&buffer, KEY_SIZE);
    (void)buffer_append_string(&buffer, beginnings[random_below(seed, ARRAY_SIZE(beginnings))]);
    size_t alphabet = 1 + random_below(seed, ARRAY_SIZE(letters));
    for (uint64_t n = random_below(seed, 6); n > 0; n--)
        (void)buffer_append_string(&buffer, letters[random_below(seed, alphabet)]);
    struct bytes result = {key, buffer.size};
    if (buffer.size > 0)
        memcpy(key, buffer.data, buffer.size);
    buffer_finish(&buffer);
    return result;
}

static void fill(uint64_t *seed, struct rows *rows)
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
static void choose_range(uint64_t *seed, const struct rows *rows, struct buffer *lo,
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

static void keep_range(struct rows *rows, struct range range)
{
    size_t begin = rows_seek(rows, range.lo), end = MAX(rows_seek(rows, range.hi), begin);
    if (end > begin)
        memmove(rows->positions, rows->positions + begin, (end - begin) * sizeof(*rows->positions));
    rows->count = end - begin;
}

/* Percent, mostly none. */
static int some(uint64_t *seed)
{
    return random_percent(seed, 60) ? 0 : (int)random_below(seed, 40);
}

static void change(void *context, struct rows *rows, uint64_t *seed)
{
    struct reader *reader = context;
    char partition[KEY_SIZE], row[KEY_SIZE];
    struct buffer position;
    buffer_init(&position, 1000);
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
    buffer_finish(&position);
}

static void scan_once(uint64_t seed, bool changes)
{
    struct reader reader = {.changes = changes};
    struct rows rows;
    struct buffer lo, hi;
    uint64_t table_seed = seed + 1;
    buffer_init(&reader.last, 1000);
    buffer_init(&lo, 1000);
    buffer_init(&hi, 1000);
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
                                      .is_shuffled = random_percent(&seed, 50),
                                      .change = changes ? change : NULL,
                                      .item = read_item,
                                      .context = &reader};
    struct scan *scan;
    struct network_figures figures;
    assert_int_equal(scan_rows_create(reader.range, &limits, &scan), 0);
    assert_int_equal(network_run(&options, &rows, scan, &figures), 0);
    assert_int_equal(reader.came, reader.original.count);
    scan_destroy(scan);
    rows_finish(&rows);
    rows_finish(&reader.original);
    buffer_finish(&reader.last);
    buffer_finish(&lo);
    buffer_finish(&hi);
}

static void every_row_comes_once_and_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < TRIALS(3000); seed++)
        scan_once(seed * 1000003, false);
}

static void also_while_rows_come_and_go(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < TRIALS(1500); seed++)
        scan_once(seed * 1000033, true);
}

/* Asks for one request, which must be there. */
static struct scan_request ask(struct scan *scan, int idle)
{
    struct scan_request request;
    assert_true(scan_ask(scan, idle, &request));
    assert_true(range_is_askable(request.range));
    return request;
}

static void answer(struct scan *scan, struct table_store *store, const struct scan_request *request)
{
    struct query query = {
        .table = "t", .range = request->range, .after = request->after, .top = request->top};
    struct call call = {.deadline_ms = INT64_MAX};
    struct answer result = {0};
    assert_int_equal(table_store_query(store, &query, &call, &result), 0);
    assert_int_equal(scan_tell(scan, request->id, &result), 0);
    assert_null(result.page);
    assert_null(result.next);
}

static void an_empty_table_is_one_request(void **state)
{
    (void)state;
    struct scan *scan;
    struct scan_item item;
    struct scan_request request;
    assert_int_equal(scan_rows_create(RANGE_ALL, &(struct scan_limits){.page_rows = 10}, &scan), 0);
    assert_int_equal(scan_take(scan, &item), SCAN_WAIT);
    request = ask(scan, 8);
    assert_false(request.is_speculative);
    struct memory_store *memory = memory_store_create();
    answer(scan, &memory->store, &request);
    table_store_destroy(&memory->store);
    assert_int_equal(scan_take(scan, &item), SCAN_END);
    scan_destroy(scan);
    assert_int_equal(scan_rows_create((struct range){B("b"), B("a")},
                                      &(struct scan_limits){.page_rows = 10}, &scan),
                     0);
    assert_int_equal(scan_take(scan, &item), SCAN_END);
    assert_false(scan_ask(scan, 8, &request));
    scan_destroy(scan);
}

static void a_range_that_no_query_can_ask_is_asked_in_pieces(void **state)
{
    (void)state;
    struct scan *scan;
    struct range range = {B("a\0x"), B("c\0y")};
    assert_int_equal(scan_rows_create(range, &(struct scan_limits){.page_rows = 10}, &scan), 0);
    struct scan_request first = ask(scan, 8), second = ask(scan, 7), third = ask(scan, 6), none;
    assert_bytes(first.range.lo, B("a\0x"));
    assert_bytes(first.range.hi, B("a\1"));
    assert_bytes(second.range.hi, B("c\0"));
    assert_bytes(third.range.hi, B("c\0y"));
    assert_false(first.is_speculative);
    assert_true(third.is_speculative);
    assert_false(scan_ask(scan, 5, &none));
    scan_destroy(scan); /* with requests out */
}

/* Rows 0 to 99 of partition "p". */
static struct memory_store *make_partition(void)
{
    struct memory_store *memory = memory_store_create();
    for (int i = 0; i < 100; i++) {
        char row[8];
        (void)snprintf(row, sizeof(row), "%02d", i);
        memory_store_add_strings(memory, "p", row);
    }
    return memory;
}

static void nothing_is_guessed_before_the_first_page(void **state)
{
    (void)state;
    struct memory_store *memory = make_partition();
    struct scan *scan;
    struct scan_item item;
    struct scan_request request;
    assert_int_equal(scan_rows_create(RANGE_ALL, &(struct scan_limits){.page_rows = 10}, &scan), 0);
    struct scan_request first = ask(scan, 32);
    assert_false(scan_ask(scan, 31, &request));
    answer(scan, &memory->store, &first);
    assert_int_equal(scan_take(scan, &item), SCAN_ITEM); /* at once */
    assert_int_equal(item.rows.end, 10);
    run_finish(&item.rows);
    assert_int_equal(scan_take(scan, &item), SCAN_WAIT);
    int asked = 0;
    for (; scan_ask(scan, 32 - asked, &request); asked++)
        assert_int_equal(request.is_speculative, asked > 0);
    assert_in_range(asked, 2, 3); /* two guesses for the first page */
    scan_destroy(scan);           /* with requests out */
    table_store_destroy(&memory->store);
}

static void without_room_for_guesses_what_is_certain_is_asked(void **state)
{
    (void)state;
    struct memory_store *memory = make_partition();
    struct scan *scan;
    struct scan_request requests[32];
    assert_int_equal(scan_rows_create(RANGE_ALL, &(struct scan_limits){.page_rows = 2}, &scan), 0);
    size_t guesses = 0, certain = 0, left = 0;
    while (guesses == 0 || certain < 3) { /* until there are both */
        size_t asked = 0;
        while (asked < 32 && scan_ask(scan, 32 - (int)asked, &requests[asked]))
            asked++;
        guesses = certain = 0;
        for (size_t i = 0; i < asked; i++) {
            guesses += requests[i].is_speculative;
            certain += !requests[i].is_speculative;
        }
        for (size_t i = 0; i < asked; i++) {
            if (guesses > 0 && certain >= 3)
                scan_give_back(scan, requests[i].id);
            else
                answer(scan, &memory->store, &requests[i]);
        }
    }
    for (; scan_ask(scan, 0, &requests[left]); left++)
        assert_false(requests[left].is_speculative);
    assert_int_equal(left, certain);
    struct scan_request more = ask(scan, 1);
    assert_true(more.is_speculative);
    scan_destroy(scan);
    table_store_destroy(&memory->store);
}

static void a_token_does_not_outlive_a_pause(void **state)
{
    (void)state;
    struct memory_store *memory = make_partition();
    struct scan *scan;
    assert_int_equal(scan_rows_create(RANGE_ALL, &(struct scan_limits){.page_rows = 10}, &scan), 0);
    struct scan_request request = ask(scan, 1);
    answer(scan, &memory->store, &request);
    request = ask(scan, 1);
    assert_non_null(request.after);
    assert_bytes(request.range.hi, B(POSITION_END));
    scan_give_back(scan, request.id);
    request = ask(scan, 1); /* behind the last row: first what is in its partition */
    assert_null(request.after);
    assert_bytes(request.range.lo, B("p\0"
                                     "09\1"));
    assert_bytes(request.range.hi, B("p\1"));
    scan_destroy(scan); /* with rows that wait */
    table_store_destroy(&memory->store);
}

/* A piece that was cut at its partition's end is asked for by itself: its last page holds nothing
 * of what lies behind, which is asked for meanwhile. */
static void what_is_left_of_a_partition_is_asked_for_alone(void **state)
{
    (void)state;
    struct memory_store *memory = make_partition();
    struct scan *scan;
    assert_int_equal(scan_rows_create(RANGE_ALL, &(struct scan_limits){.page_rows = 10}, &scan), 0);
    struct scan_request request = ask(scan, 1);
    answer(scan, &memory->store, &request);
    request = ask(scan, 8);
    assert_non_null(request.after);
    struct scan_request behind = ask(scan, 7); /* its split */
    assert_bytes(behind.range.lo, B("p\1"));
    answer(scan, &memory->store, &request);
    request = ask(scan, 7);
    assert_null(request.after);
    assert_bytes(request.range.lo, B("p\0"
                                     "19\1"));
    assert_bytes(request.range.hi, B("p\1"));
    answer(scan, &memory->store, &request);
    request = ask(scan, 1); /* and by its token from there on */
    assert_non_null(request.after);
    scan_destroy(scan);
    table_store_destroy(&memory->store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_table_is_one_request),
        cmocka_unit_test(a_range_that_no_query_can_ask_is_asked_in_pieces),
        cmocka_unit_test(nothing_is_guessed_before_the_first_page),
        cmocka_unit_test(without_room_for_guesses_what_is_certain_is_asked),
        cmocka_unit_test(a_token_does_not_outlive_a_pause),
        cmocka_unit_test(what_is_left_of_a_partition_is_asked_for_alone),
        cmocka_unit_test(every_row_comes_once_and_in_order),
        cmocka_unit_test(also_while_rows_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
