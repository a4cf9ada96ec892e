/* SPDX-License-Identifier: MIT */
/* The published cases, read from the file of the reference, and its worked example query for
 * query. */
#include "tests/scan/published_scan.h"
#include "tests/stores/memory_store.h"
#include "tests/unit/local_account.h"

#include <cjson/cJSON.h>

#define OUTPUT_MAX ((size_t)1 << 20)

static cJSON *cases; /* the whole file */

static int read_cases(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer text = {.max = OUTPUT_MAX};
    FILE *file = fopen(TEST_DATA "/prefix_cases.json", "re");
    size_t n = 0;
    if (!file)
        return -1;
    do {
        char *room = buffer_reserve(&text, 4096);
        n = room ? fread(room, 1, 4096, file) : 0;
        text.size += n;
    } while (n > 0);
    (void)fclose(file);
    cases = cJSON_ParseWithLength(text.data, text.size);
    return cases ? 0 : -1;
}

static int forget_cases(void **state)
{
    (void)state;
    cJSON_Delete(cases);
    return 0;
}

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(member(object, name));
}

static int number_of(const cJSON *object, const char *name, int otherwise)
{
    const cJSON *number = member(object, name);
    return number ? number->valueint : otherwise;
}

/* What is compared: what was handed out, and what was asked and answered. */
struct run_log {
    struct buffer rows;     /* "P/R," */
    struct buffer segments; /* "[P,P]", of its rows' PartitionKeys */
    struct buffer trace;    /* "filter top [rows] more\n" */
    struct buffer texts;
    int requests, empties;
};

static void run_log_init(struct run_log *log)
{
    *log = (struct run_log){0};
    buffer_init(&log->rows, OUTPUT_MAX);
    buffer_init(&log->segments, OUTPUT_MAX);
    buffer_init(&log->trace, OUTPUT_MAX);
    buffer_init(&log->texts, OUTPUT_MAX);
}

static void run_log_finish(struct run_log *log)
{
    buffer_finish(&log->rows);
    buffer_finish(&log->segments);
    buffer_finish(&log->trace);
    buffer_finish(&log->texts);
}

static void append_name(struct buffer *ret, struct bytes position)
{
    struct bytes partition = position_partition_key(position), row = position_row_key(position);
    (void)buffer_append_format(ret, "%.*s/%.*s,", (int)partition.size, partition.data,
                               (int)row.size, row.data);
}

static struct bytes without_end(struct bytes bytes) /* POSITION_AFTER */
{
    return bytes_first(bytes, bytes.size - 1);
}

static void append_filter(struct buffer *ret, struct range range)
{
    struct bytes key = position_partition_key(range.lo), row = position_row_key(range.lo);
    if (!position_has_row(range.lo)) {
        key = without_end(range.lo);
        (void)buffer_append_format(ret, "PartitionKey gt '%.*s' and PartitionKey lt '%.*s'",
                                   (int)key.size, key.data, (int)range.hi.size, range.hi.data);
        return;
    }
    (void)buffer_append_format(ret, "PartitionKey eq '%.*s'", (int)key.size, key.data);
    if (row.size > 0)
        (void)buffer_append_format(ret, " and RowKey gt '%.*s'", (int)row.size - 1, row.data);
}

static void log_answer(struct run_log *log, const struct scan_request *request,
                       const struct answer *answer)
{
    log->requests++;
    log->empties += page_rows(answer->page) == 0;
    append_filter(&log->trace, request->range);
    (void)buffer_append_format(&log->trace, " %d [", request->top);
    for (size_t row = 0; row < page_rows(answer->page); row++)
        append_name(&log->trace, page_position(answer->page, row));
    (void)buffer_append_format(&log->trace, "] %d\n", answer->next != NULL);
}

static void log_item(struct run_log *log, const struct scan *scan, const struct run *run)
{
    if (published_scan_begins_segment(scan))
        (void)buffer_append_string(&log->segments, "\n");
    for (size_t row = run->begin; row < run->end; row++) {
        struct bytes position = page_position(run->page, row);
        append_name(&log->rows, position);
        (void)buffer_append(&log->segments, position_partition_key(position));
        (void)buffer_append_char(&log->segments, ',');
        (void)buffer_append(&log->texts, page_text(run->page, row));
    }
}

static void ask_store(struct scan *scan, struct table_store *store, const char *select,
                      struct run_log *log)
{
    struct scan_request request, none;
    assert_true(scan_next_request(scan, 8, &request));
    assert_false(scan_next_request(scan, 7, &none)); /* one is out at a time */
    struct query query = {.table = "items",
                          .range = request.range,
                          .select = select,
                          .after = request.after,
                          .top = request.top};
    struct call call = some_call();
    struct answer answer = {0};
    assert_true(range_is_expressible(request.range));
    assert_int_equal(table_store_query(store, &query, &call, &answer), 0);
    log_answer(log, &request, &answer);
    assert_int_equal(scan_add_answer(scan, request.id, &answer), 0);
    assert_true(log->requests < 5000);
}

static void run(const struct published_options *options, struct table_store *store,
                struct run_log *ret)
{
    _cleanup_(scan_destroyp) struct scan *scan = NULL;
    run_log_init(ret);
    assert_int_equal(published_scan_create(options, &scan), 0);
    for (;;) {
        struct scan_item item;
        enum scan_state state = scan_take(scan, &item);
        if (state == SCAN_END)
            break;
        if (state == SCAN_WAIT) {
            ask_store(scan, store, options->select, ret);
            continue;
        }
        log_item(ret, scan, &item.rows);
        run_finish(&item.rows);
    }
}

/* Every step in a scan of its own, begun as soon as it is known; takes the scan. */
static void run_split(struct scan *scan, struct table_store *store, struct run_log *log)
{
    struct scan_item item;
    enum scan_state state;
    while ((state = scan_take(scan, &item)) != SCAN_END) {
        if (state == SCAN_ITEM) {
            log_item(log, scan, &item.rows);
            run_finish(&item.rows);
            continue;
        }
        ask_store(scan, store, NULL, log);
        struct scan *other;
        while (published_scan_split(scan, &other) == 0 && other)
            run_split(other, store, log);
    }
    scan_destroy(scan);
}

static struct memory_store *fill(const char *table)
{
    struct memory_store *memory = memory_store_create();
    const cJSON *row;
    cJSON_ArrayForEach(row, member(member(cases, "tables"), table))
    {
        memory_store_add_strings(memory, cJSON_GetStringValue(cJSON_GetArrayItem(row, 0)),
                                 cJSON_GetStringValue(cJSON_GetArrayItem(row, 1)));
    }
    return memory;
}

static struct published_options options_of(const cJSON *item)
{
    int take = number_of(item, "take", 1000);
    return (struct published_options){
        .prefix = text_of(item, "prefix"),
        .take = take,
        .partition_take = take,
        .segments_first = number_of(item, "segments_per_first_prefix", 1),
        .segments_later = number_of(item, "segments_per_subsequent_prefix", 1),
        .is_without_partition_keys = cJSON_IsFalse(member(item, "expand_partition_keys"))};
}

static void assert_rows(const cJSON *item, const struct run_log *log)
{
    _cleanup_(buffer_finish) struct buffer expected = {.max = OUTPUT_MAX};
    const cJSON *row;
    cJSON_ArrayForEach(row, member(member(item, "expect"), "rows"))(void)
        buffer_append_format(&expected, "%s,", cJSON_GetStringValue(row));
    assert_bytes(buffer_bytes(&log->rows), buffer_bytes(&expected));
}

static void assert_segments(const cJSON *item, const struct run_log *log)
{
    _cleanup_(buffer_finish) struct buffer expected = {.max = OUTPUT_MAX};
    const cJSON *segment, *key;
    cJSON_ArrayForEach(segment, member(member(item, "expect"), "segments"))
    {
        (void)buffer_append_string(&expected, "\n");
        cJSON_ArrayForEach(key, segment)(void)
            buffer_append_format(&expected, "%s,", cJSON_GetStringValue(key));
    }
    assert_bytes(buffer_bytes(&log->segments), buffer_bytes(&expected));
    assert_int_equal(log->requests, number_of(member(item, "derived"), "requests", -1));
    assert_int_equal(log->empties, number_of(member(item, "derived"), "empty_requests", -1));
}

static void published_cases_hold(void **state)
{
    (void)state;
    int count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, member(cases, "cases"))
    {
        struct memory_store *memory = fill(text_of(item, "table"));
        struct published_options options = options_of(item);
        bool has_rows = member(member(item, "expect"), "rows") != NULL;
        struct run_log log;
        run(&options, &memory->store, &log);
        if (has_rows)
            assert_rows(item, &log);
        else
            assert_segments(item, &log);
        run_log_finish(&log);
        table_store_destroy(&memory->store);
        count++;
    }
    assert_int_equal(count, 30);
}

static void assert_same_rows(struct bytes rows, struct bytes expected)
{
    assert_int_equal(rows.size, expected.size);
    while (expected.size > 0) {
        size_t size = (size_t)(bytes_find(expected, B(",")) + 1 - expected.data);
        assert_non_null(bytes_find(rows, bytes_first(expected, size)));
        expected = bytes_skip(expected, size);
    }
}

static void steps_that_are_handed_over_ask_and_find_the_same(void **state)
{
    (void)state;
    const cJSON *item;
    cJSON_ArrayForEach(item, member(cases, "cases"))
    {
        struct memory_store *memory = fill(text_of(item, "table"));
        struct published_options options = options_of(item);
        struct run_log whole, split;
        struct scan *scan;
        run(&options, &memory->store, &whole);
        run_log_init(&split);
        assert_int_equal(published_scan_create(&options, &scan), 0);
        run_split(scan, &memory->store, &split);
        assert_int_equal(split.requests, whole.requests);
        assert_int_equal(split.empties, whole.empties);
        assert_same_rows(buffer_bytes(&split.rows), buffer_bytes(&whole.rows));
        run_log_finish(&whole);
        run_log_finish(&split);
        table_store_destroy(&memory->store);
    }
}

static const cJSON *find_case(const char *id)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, member(cases, "cases"))
    {
        if (strcmp(text_of(item, "id"), id) == 0)
            return item;
    }
    return NULL;
}

/* FieldA is "P/R", FieldB "R/P". */
static void insert_two_fields(struct table_store *store, const char *partition, const char *row)
{
    char lines[64];
    struct write_result result;
    struct call call = some_call();
    (void)snprintf(lines, sizeof(lines), "\"FieldA\": \"%s/%s\",\n  \"FieldB\": \"%s/%s\"",
                   partition, row, row, partition);
    struct row_write write = make_write(WRITE_INSERT, partition, row, lines, "");
    assert_int_equal(table_store_write(store, "items", &write.write, 1, &call, &result), 0);
    row_write_finish(&write);
}

static void a_projection_is_passed_on(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    const cJSON *item = find_case("projection");
    const cJSON *table = member(member(cases, "tables"), "projection");
    struct published_options options = options_of(item);
    options.select = "PartitionKey,RowKey,FieldB";
    for (const cJSON *row = table->child; row; row = row->next)
        insert_two_fields(store, cJSON_GetStringValue(cJSON_GetArrayItem(row, 0)),
                          cJSON_GetStringValue(cJSON_GetArrayItem(row, 1)));
    struct run_log log;
    run(&options, store, &log);
    assert_rows(item, &log);
    assert_non_null(bytes_find(buffer_bytes(&log.texts), B("\"FieldB\": \"R1/PK1\"")));
    assert_null(bytes_find(buffer_bytes(&log.texts), B("FieldA")));
    run_log_finish(&log);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    const struct published_options good = {"", NULL,  NULL, "RowKey,PartitionKey", 1, 1, 1,
                                           1,  false, false};
    static const char *const selects[] = {"PartitionKey", "RowKey", "PartitionKey,FieldA",
                                          "MyPartitionKey,RowKey", ""};
    struct scan *scan;
    assert_int_equal(published_scan_create(&good, &scan), 0);
    scan_destroy(scan);
    for (size_t i = 0; i < ARRAY_SIZE(selects); i++) {
        struct published_options options = good;
        options.select = selects[i];
        assert_int_equal(published_scan_create(&options, &scan), -EINVAL);
    }
    for (int i = 0; i < 4; i++) {
        struct published_options options = good;
        int *const numbers[] = {&options.take, &options.partition_take, &options.segments_first,
                                &options.segments_later};
        *numbers[i] = 0;
        assert_int_equal(published_scan_create(&options, &scan), -EINVAL);
    }
}

/* "\uffff" is written out in the file's filters. */
static void append_expected_filter(struct buffer *ret, const char *filter)
{
    for (const char *at; (at = strstr(filter, "\\uffff")); filter = at + 6) {
        (void)buffer_append(ret, (struct bytes){filter, (size_t)(at - filter)});
        (void)buffer_append_string(ret, "\xEF\xBF\xBF");
    }
    (void)buffer_append_string(ret, filter);
}

static void append_expected_trace(struct buffer *ret, const cJSON *golden)
{
    const cJSON *query, *row;
    cJSON_ArrayForEach(query, member(golden, "trace"))
    {
        append_expected_filter(ret, text_of(query, "filter"));
        (void)buffer_append_format(ret, " %d [", number_of(query, "top", -1));
        cJSON_ArrayForEach(row, member(query, "results"))(void)
            buffer_append_format(ret, "%s,", cJSON_GetStringValue(row));
        (void)buffer_append_format(ret, "] %d\n", cJSON_IsTrue(member(query, "more")));
    }
}

static void assert_example(const char *name, const struct published_options *options)
{
    const cJSON *golden = member(member(cases, "blog_golden"), name);
    struct memory_store *memory = fill("blog");
    _cleanup_(buffer_finish) struct buffer expected = {.max = OUTPUT_MAX};
    struct run_log log;
    append_expected_trace(&expected, golden);
    run(options, &memory->store, &log);
    assert_bytes(buffer_bytes(&log.trace), buffer_bytes(&expected));
    assert_int_equal(log.requests, number_of(golden, "requests", -1));
    assert_int_equal(log.empties, number_of(golden, "empty", -1));
    assert_bytes(buffer_bytes(&log.rows),
                 B("Dashner/Cleopatra,Davis/Gemma,Davis/Loralee,Dodge/Lowell,Hartlage/Marketta,"
                   "Nuckles/Timmy,Rundle/Coleen,Splawn/Lise,Wedell/Annabelle,Wongus/Rosenda,"));
    run_log_finish(&log);
    table_store_destroy(&memory->store);
}

static void the_worked_example_is_traced_query_for_query(void **state)
{
    (void)state;
    assert_example("insights_dfs", &(struct published_options){.prefix = "",
                                                               .take = 2,
                                                               .partition_take = 2,
                                                               .segments_first = 1,
                                                               .segments_later = 1});
    assert_example("explorepackages2020_dfs",
                   &(struct published_options){.prefix = "",
                                               .take = 2,
                                               .partition_take = 1000,
                                               .segments_first = 1,
                                               .segments_later = 1,
                                               .is_without_empty_key = true});
}

/* The example's first layer alone: 4 queries, 8 rows, prefixes D H N R S W. */
static void the_example_s_first_layer_is_four_queries(void **state)
{
    (void)state;
    struct memory_store *memory = fill("blog");
    struct published_options options = {.prefix = "",
                                        .take = 2,
                                        .partition_take = 2,
                                        .segments_first = 1,
                                        .segments_later = 1,
                                        .is_without_partition_keys = true,
                                        .is_without_empty_key = true};
    struct scan *scan;
    struct scan_item item;
    struct run_log log;
    run_log_init(&log);
    assert_int_equal(published_scan_create(&options, &scan), 0);
    while (scan_take(scan, &item) == SCAN_WAIT)
        ask_store(scan, &memory->store, NULL, &log);
    assert_int_equal(log.requests, 4);
    assert_bytes(buffer_bytes(&log.trace),
                 B("PartitionKey gt '' and PartitionKey lt '\xEF\xBF\xBF' 2 "
                   "[Dashner/Cleopatra,Davis/Gemma,] 1\n"
                   "PartitionKey gt 'D\xEF\xBF\xBF' and PartitionKey lt '\xEF\xBF\xBF' 2 "
                   "[Hartlage/Marketta,Nuckles/Timmy,] 1\n"
                   "PartitionKey gt 'N\xEF\xBF\xBF' and PartitionKey lt '\xEF\xBF\xBF' 2 "
                   "[Rundle/Coleen,Splawn/Lise,] 1\n"
                   "PartitionKey gt 'S\xEF\xBF\xBF' and PartitionKey lt '\xEF\xBF\xBF' 2 "
                   "[Wedell/Annabelle,Wongus/Rosenda,] 0\n"));
    run_finish(&item.rows);
    scan_destroy(scan);
    run_log_finish(&log);
    table_store_destroy(&memory->store);
}

static const char *const bounded[] = {"",
                                      "A",
                                      "AK",
                                      "P",
                                      "PA",
                                      "PK",
                                      "PP",
                                      "PPA",
                                      "PPP",
                                      "PPPP",
                                      "PPPZ",
                                      "PPZ",
                                      "PZ",
                                      "Q",
                                      "Q\xED\xA0\x81\xED\xB0\xB7x",
                                      "Q\xED\xA0\x81\xED\xB0\xB7y",
                                      "Q\xED\xA0\x92\xED\xBD\xA2",
                                      "ZK1"};

static void append_bounded(struct buffer *ret, const struct published_options *options)
{
    for (size_t i = 0; i < ARRAY_SIZE(bounded); i++) {
        struct bytes key = bytes_of(bounded[i]);
        if (!bytes_start_with(key, bytes_of(options->prefix)) ||
            (options->lower && bytes_compare(key, bytes_of(options->lower)) <= 0) ||
            (options->upper && bytes_compare(key, bytes_of(options->upper)) >= 0))
            continue;
        (void)buffer_append_format(ret, "%s/1,%s/2,", bounded[i], bounded[i]);
    }
}

/* Prefixes of each other, a key that equals the prefix, surrogate pairs, for each pair of bounds
 * and several page sizes. */
static void bounds_are_exclusive_and_every_row_comes_once(void **state)
{
    (void)state;
    static const char *const ends[] = {NULL, "", "A", "P", "PB", "PPP", "PPZZ", "Q", "ZZ"};
    static const char *const prefixes[] = {"", "P", "PP", "PPPP", "Q", "Q\xED\xA0\x81\xED\xB0\xB7",
                                           "X"};
    struct memory_store *memory = memory_store_create();
    for (size_t i = 0; i < ARRAY_SIZE(bounded); i++) {
        memory_store_add_strings(memory, bounded[i], "1");
        memory_store_add_strings(memory, bounded[i], "2");
    }
    for (size_t i = 0; i < ARRAY_SIZE(ends) * ARRAY_SIZE(ends) * ARRAY_SIZE(prefixes) * 5; i++) {
        size_t rest = i / 5;
        int take = (int[]){1, 2, 3, 7, 1000}[i % 5];
        struct published_options options = {.prefix = prefixes[rest % ARRAY_SIZE(prefixes)],
                                            .take = take,
                                            .partition_take = take,
                                            .segments_first = 1,
                                            .segments_later = 1 + take % 2};
        rest /= ARRAY_SIZE(prefixes);
        options.lower = ends[rest % ARRAY_SIZE(ends)];
        options.upper = ends[rest / ARRAY_SIZE(ends)];
        _cleanup_(buffer_finish) struct buffer expected = {.max = OUTPUT_MAX};
        struct run_log log;
        append_bounded(&expected, &options);
        run(&options, &memory->store, &log);
        assert_bytes(buffer_bytes(&log.rows), buffer_bytes(&expected));
        run_log_finish(&log);
    }
    table_store_destroy(&memory->store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_cases_hold),
        cmocka_unit_test(steps_that_are_handed_over_ask_and_find_the_same),
        WITH_FOLDER(a_projection_is_passed_on),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(the_worked_example_is_traced_query_for_query),
        cmocka_unit_test(the_example_s_first_layer_is_four_queries),
        cmocka_unit_test(bounds_are_exclusive_and_every_row_comes_once),
    };
    return cmocka_run_group_tests(tests, read_cases, forget_cases);
}
