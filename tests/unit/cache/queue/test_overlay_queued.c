/* SPDX-License-Identifier: MIT */
/* What is queued is seen as if it were made, and what is masked as if it were gone: random pages,
 * texts, deletes and masks against an array. A change may settle between the two looks of a
 * question, and while its request is under way. */
#include "tests/unit/cache/queue/overlay_fixture.h"

#define ROWS      12
#define POSITIONS (2 * ROWS) /* row i stands at 2 i; 2 i + 1 is what lies after it */
#define WORLDS    TRIALS(3000)
#define QUESTIONS 20

struct model {
    unsigned random;
    bool are_keys;              /* its pages have no texts, and its changes are masks */
    struct {                    /* by position */
        bool is_known, has_row; /* in the cache */
        enum { NOT_QUEUED, MASKED, QUEUED_TEXT, QUEUED_DELETE } queued;
    } at[POSITIONS];
};

static struct setup setup;
static struct model model;
static struct write_batch batch; /* large */
static bool may_settle;          /* between two looks */
static bool loses_page;          /* others' pages take the next page's place, and are evicted */
static int settles_before_look;  /* the n-th one at pending from now on; 0: none */

static int chance(int n)
{
    model.random = model.random * 1664525 + 1013904223;
    return (int)((model.random >> 8) % (unsigned)n);
}

static struct bytes position_of(int number, struct buffer *ret)
{
    buffer_clear(ret);
    (void)buffer_append(ret, B("p\0"));
    (void)buffer_append_format(ret, "%02d%s", number / 2, number % 2 ? POSITION_AFTER : "");
    return buffer_bytes(ret);
}

/* Each change is a full batch. */
static void set_up_queue(struct fetching_options options)
{
    struct pending_limits limits = no_limits;
    limits.batch_writes = 1;
    set_up_with(&setup, options);
    pending_destroy(setup.fetching.pending);
    assert_int_equal(pending_create(&limits, &setup.fetching.clock, &setup.fetching.pending), 0);
    overlay_destroy(setup.overlay);
    assert_int_equal(overlay_create(setup.fetching.cache, setup.fetching.fetcher,
                                    setup.fetching.pending, &setup.overlay),
                     0);
}

static size_t queued(void)
{
    struct pending_stats stats;
    pending_stats(setup.fetching.pending, &stats);
    return stats.queued;
}

static void queue_change(struct bytes position, bool is_text)
{
    struct call call = {.deadline_ms = INT64_MAX};
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct queued_change change = {
        .write = {.kind = WRITE_DELETE, .position = position, .if_match = B("e")}};
    if (is_text) {
        assert_int_equal(page_create_row(position, B("queued"), B(""), 1, &page), 0);
        change.write = (struct write){
            .kind = WRITE_UPSERT_REPLACE, .position = position, .text = page_text(page, 0)};
        change.text = (struct entity){page, 0};
    }
    assert_int_equal(pending_claim(setup.fetching.pending, "t", &position, 1, &call), 0);
    assert_int_equal(pending_queue(setup.fetching.pending, "t", &change, &call), 0);
}

/* The oldest change is made: as the committer does it, the result is in the cache first. */
static void settle(void)
{
    struct fetching *fetching = &setup.fetching;
    assert_true(pending_take(fetching->pending, &batch));
    struct bytes position = batch.writes[0].position;
    struct page *page = NULL;
    if (batch.changes[0].text.page) {
        assert_int_equal(page_create_row(position, batch.writes[0].text, B("e"), 1, &page), 0);
        assert_int_equal(
            range_cache_put_change(fetching->cache, "t", page, &fetching->orders, fetching->now_ms),
            0);
    } else {
        assert_int_equal(range_cache_put_gone(fetching->cache, "t", &position, 1, &fetching->orders,
                                              fetching->now_ms),
                         0);
    }
    struct bytes row = position_row_key(position);
    int i = 2 * (10 * (row.data[0] - '0') + row.data[1] - '0');
    model.at[i].is_known = true;
    model.at[i].has_row = page != NULL;
    model.at[i].queued = NOT_QUEUED;
    page_unref(page);
    batch.changes[0].end = BATCH_MADE;
    pending_end(fetching->pending, &batch);
}

enum knowledge __real_range_cache_next(struct range_cache *cache, const struct question *question,
                                       struct run *ret_run, int64_t *ret_requested_ms,
                                       struct position *ret_until);
enum knowledge __wrap_range_cache_next(struct range_cache *cache, const struct question *question,
                                       struct run *ret_run, int64_t *ret_requested_ms,
                                       struct position *ret_until);

/* It is called after pending was looked at. */
enum knowledge __wrap_range_cache_next(struct range_cache *cache, const struct question *question,
                                       struct run *ret_run, int64_t *ret_requested_ms,
                                       struct position *ret_until)
{
    if (may_settle && queued() > 0 && chance(2) == 0)
        settle();
    return __real_range_cache_next(cache, question, ret_run, ret_requested_ms, ret_until);
}

int __real_range_cache_put(struct range_cache *cache, const char *table, struct page *page,
                           struct stamp stamp);
int __wrap_range_cache_put(struct range_cache *cache, const char *table, struct page *page,
                           struct stamp stamp);

int __wrap_range_cache_put(struct range_cache *cache, const char *table, struct page *page,
                           struct stamp stamp)
{
    bool is_lost = loses_page && table;
    loses_page &= !is_lost;
    return is_lost ? 0 : __real_range_cache_put(cache, table, page, stamp);
}

static void make_changes(void);

enum overlaid __real_pending_next(struct pending *pending, const char *table, struct range range,
                                  struct entity *ret, struct position *ret_position);
enum overlaid __wrap_pending_next(struct pending *pending, const char *table, struct range range,
                                  struct entity *ret, struct position *ret_position);

enum overlaid __wrap_pending_next(struct pending *pending, const char *table, struct range range,
                                  struct entity *ret, struct position *ret_position)
{
    if (settles_before_look > 0 && --settles_before_look == 0)
        make_changes();
    return __real_pending_next(pending, table, range, ret, ret_position);
}

static void put_page(void)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    _cleanup_(page_unrefp) struct page *page = NULL;
    _cleanup_(buffer_finish) struct buffer lo = {.max = 100}, hi = {.max = 100};
    struct fetching *fetching = &setup.fetching;
    int begin = chance(POSITIONS), end = begin + chance(POSITIONS - begin + 1);
    assert_int_equal(page_builder_create(1 << 20, &builder), 0);
    if (model.are_keys) /* a page without rows counts as one of texts, which younger keys leave */
        begin -= begin % 2, end = MAX(end, begin + 1);
    for (int i = begin; i < end; i++) {
        model.at[i].is_known = true;
        bool must_have = model.are_keys && i == begin;
        model.at[i].has_row = i % 2 == 0 && (chance(2) == 0 || must_have);
        if (!model.at[i].has_row)
            continue;
        (void)buffer_append_string(page_builder_text(builder), model.are_keys ? "" : "text");
        assert_int_equal(page_builder_end_row(builder, position_of(i, &lo), B("e"), 0), 0);
    }
    struct range range = {position_of(begin, &lo), position_of(end, &hi)};
    assert_int_equal(page_builder_finish(builder, range, model.are_keys, &page), 0);
    struct stamp stamp = stamp_take(&fetching->orders, fetching->now_ms);
    assert_int_equal(range_cache_put(fetching->cache, "t", page, stamp), 0);
}

/* A row may be masked whether it is known or not. */
static void queue_or_mask_some(void)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = 100};
    struct pending *pending = setup.fetching.pending;
    int i = 2 * chance(ROWS);
    struct bytes position = position_of(i, &text);
    if (model.at[i].queued == MASKED) {
        pending_unmask(pending, "t", position);
        model.at[i].queued = NOT_QUEUED;
    } else if (model.at[i].queued == NOT_QUEUED) {
        model.at[i].queued = model.are_keys ? MASKED : MASKED + chance(3);
        if (model.at[i].queued == MASKED)
            assert_int_equal(pending_mask(pending, "t", position, B("e")), 0);
        else
            queue_change(position, model.at[i].queued == QUEUED_TEXT);
    }
}

static bool is_row(int i)
{
    return model.at[i].queued == QUEUED_TEXT ||
           (model.at[i].queued == NOT_QUEUED && model.at[i].is_known && model.at[i].has_row);
}

/* The first position from `begin` on at which a row is seen, or nothing is known; `end`: none. */
static int first_of(int begin, int end)
{
    int i = begin;
    while (i < end &&
           (model.at[i].queued == QUEUED_DELETE || model.at[i].queued == MASKED ||
            (model.at[i].queued == NOT_QUEUED && model.at[i].is_known && !model.at[i].has_row)))
        i++;
    return i;
}

/* One look from `begin` on answers what the model does; where to go on: `end`: nowhere. */
static int check_look(int begin, int end)
{
    _cleanup_(buffer_finish) struct buffer lo = {.max = 100}, hi = {.max = 100};
    struct position until;
    struct question question =
        question_of(&setup, (struct range){position_of(begin, &lo), position_of(end, &hi)});
    struct seen seen = {0};
    question.keys_suffice = model.are_keys;
    may_settle = true;
    enum knowledge known = overlay_find(setup.overlay, &question, &seen, &until);
    may_settle = false;
    int first = first_of(begin, end), next = end;
    if (first == end) {
        assert_int_equal(known, KNOWN_EMPTY);
    } else if (!is_row(first)) {
        assert_int_equal(known, KNOWN_NOT);
        assert_bytes(position_bytes(&until), position_of(first, &lo));
    } else {
        assert_int_equal(known, KNOWN_ROWS);
        next = first;
        for (size_t row = seen.run.begin; row < seen.run.end; row++) {
            next = first_of(next, end);
            assert_true(next < end && is_row(next));
            assert_bytes(page_position(seen.run.page, row), position_of(next, &lo));
            if (model.at[next].queued == QUEUED_TEXT)
                assert_bytes(page_text(seen.run.page, row), B("queued"));
            next++;
        }
    }
    run_finish(&seen.run);
    return next;
}

static void looks_agree_with_a_model(void **state)
{
    (void)state;
    for (unsigned world = 0; world < WORLDS; world++) {
        model = (struct model){.random = world, .are_keys = world % 4 == 0};
        set_up_queue((struct fetching_options){0});
        for (int i = 0; i < QUESTIONS; i++) {
            if (chance(3) == 0)
                put_page();
            if (chance(2) == 0)
                queue_or_mask_some();
            if (queued() > 0 && chance(6) == 0)
                settle();
            int begin = chance(POSITIONS), end = begin + chance(POSITIONS - begin + 1);
            do
                begin = check_look(begin, end);
            while (begin < end);
        }
        while (queued() > 0)
            settle();
        tear_down(&setup);
    }
}

static void assert_rows(const char *expected)
{
    struct question question = question_of(&setup, (struct range){B("p\0"), B("p\x01")});
    question.since = stamp_from_now(&setup.fetching.orders, setup.fetching.now_ms);
    assert_all_rows(&setup, &question, 1000, expected);
}

static void queue_three(void)
{
    model = (struct model){0};
    fetching_add_rows(&setup.fetching, "p", 5);
    queue_change(ROW_AT("p", "00001"), false);
    queue_change(ROW_AT("p", "00002"), true);
    queue_change(ROW_AT("p", "00007"), true);
}

static void settle_all(void)
{
    while (queued() > 0)
        settle();
}

/* With ttl 0 each question is asked again. */
static void what_is_fetched_has_the_queued_changes_in_it(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes <= 1; bytes++) { /* 1: nothing stays in the cache */
        set_up_queue((struct fetching_options){.cache_bytes = bytes, .is_ttl_0 = true});
        queue_three();
        assert_rows("02*347*");
        size_t requests = asked(&setup);
        assert_rows("02*347*");
        assert_int_equal(asked(&setup), 2 * requests);
        settle_all();
        tear_down(&setup);
    }
}

static void make_changes(void)
{
    struct memory_store *memory = setup.fetching.memory;
    settle_all();
    memory_store_write(memory,
                       &(struct write){.kind = WRITE_DELETE, .position = ROW_AT("p", "00001")});
    memory_store_write(memory, &(struct write){.kind = WRITE_UPSERT_REPLACE,
                                               .position = ROW_AT("p", "00002"),
                                               .text = B("queued")});
    memory_store_write(memory, &(struct write){.kind = WRITE_UPSERT_REPLACE,
                                               .position = ROW_AT("p", "00007"),
                                               .text = B("queued")});
}

/* The service has answered what was there before; then the changes are made, and leave the queue.
 */
static int settle_late(struct memory_store *memory, size_t number, struct call *call)
{
    (void)memory;
    (void)call;
    if (number == 1)
        make_changes();
    return 0;
}

static void an_answer_from_before_the_changes_is_not_believed(void **state)
{
    (void)state;
    static const struct {
        size_t cache_bytes; /* 1: the changes leave the cache, too */
        bool loses_page;
        int settles_before_look; /* 0: while the request is under way */
    } cases[] = {{0, false, 0}, {1, false, 0}, {0, true, 0}, {0, true, 3}, {1, true, 3}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        set_up_queue((struct fetching_options){.cache_bytes = cases[i].cache_bytes});
        queue_three();
        loses_page = cases[i].loses_page;
        settles_before_look = cases[i].settles_before_look;
        setup.fetching.memory->fault = settles_before_look == 0 ? settle_late : NULL;
        setup.fetching.memory->is_fault_late = true;
        assert_rows("02*347*");
        assert_int_equal(queued(), 0);
        tear_down(&setup);
    }
}

/* The first query ends with the partition, and its page has no rows. */
static void a_change_is_seen_that_ends_while_an_empty_page_is_searched(void **state)
{
    (void)state;
    set_up_queue((struct fetching_options){0});
    model = (struct model){0};
    fetching_add_rows(&setup.fetching, "q", 1);
    queue_change(ROW_AT("p", "00007"), true);
    loses_page = true;
    settles_before_look = 3; /* at what is missed, at the lost page, and at the page itself */
    struct question question =
        question_of(&setup, (struct range){ROW_AT("p", "00006"), B("q\x01")});
    assert_all_rows(&setup, &question, 1000, "7*0");
    assert_int_equal(queued(), 0);
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_agree_with_a_model),
        cmocka_unit_test(what_is_fetched_has_the_queued_changes_in_it),
        cmocka_unit_test(an_answer_from_before_the_changes_is_not_believed),
        cmocka_unit_test(a_change_is_seen_that_ends_while_an_empty_page_is_searched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
