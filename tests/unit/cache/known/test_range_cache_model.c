/* SPDX-License-Identifier: MIT */
/* The range cache against a model without pieces: each position by itself, and every
 * page that was ever put. */
#include "tests/unit/range_check.h"

#include "tests/unit/failing_memory.h"

#define LARGE     ((size_t)1 << 30)
#define ROWS      12
#define POSITIONS (2 * ROWS) /* row i stands at 2 i; 2 i + 1 is what lies after it */
#define STEPS     120
#define TABLES    2
#define WORLDS    TRIALS(2000) /* of each kind */
#define MOST_GONE 4            /* rows that are deleted at once */

struct model_page {
    struct stamp stamp;
    int begin, end; /* positions */
    bool has_row[POSITIONS];
    bool is_change[POSITIONS]; /* is it a change of our own there? */
    bool is_keys_only, is_gone;
    int64_t answered_ms; /* of a gone page: what it tells of the deleted rows alone is so young */
};

struct model { /* of one table */
    struct model_page pages[MOST_GONE * STEPS];
    int count;
    uint64_t dropped; /* order */
};

struct world {
    unsigned random;
    struct range_cache *cache;
    struct model models[TABLES];
    struct stamp waiting[8]; /* of pages that are on their way */
    _Atomic uint64_t orders;
    int64_t now_ms;
    struct run held[4];
    struct buffer lo, hi;
    struct position until;
};

static int chance(struct world *world, int n)
{
    world->random = world->random * 1664525 + 1013904223;
    return (int)((world->random >> 8) % (unsigned)n);
}

static struct bytes position_of(int number, struct buffer *ret)
{
    buffer_clear(ret);
    (void)buffer_append(ret, B("p\0"));
    (void)buffer_append_format(ret, "%02d%s", number / 2, number % 2 ? POSITION_AFTER : "");
    return buffer_bytes(ret);
}

static int number_of(struct bytes position)
{
    uint64_t row = 0;
    assert_true(position.size >= 4);
    assert_true(bytes_parse_unsigned(bytes_first(bytes_skip(position, 2), 2), 99, &row));
    return (int)(2 * row) + (position.size > 4);
}

static struct range range_of(struct world *world, int begin, int end)
{
    return (struct range){position_of(begin, &world->lo), position_of(end, &world->hi)};
}

static const char *table_of(size_t i)
{
    return i ? "table" : NULL;
}

/* A row's ETag is its page's order. */
static struct page *make_page(struct world *world, const struct model_page *model)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    struct page *page;
    assert_int_equal(page_builder_create(1 << 20, &builder), 0);
    for (int i = model->begin; i < model->end; i++) {
        char etag[24];
        (void)snprintf(etag, sizeof(etag), "%d", (int)model->stamp.order);
        if (!model->is_keys_only)
            (void)buffer_append_string(page_builder_text(builder), "text");
        if (model->has_row[i])
            assert_int_equal(
                page_builder_end_row(builder, position_of(i, &world->lo), bytes_of(etag), 0), 0);
        else
            page_builder_drop_row(builder);
    }
    struct range range = range_of(world, model->begin, model->end);
    assert_int_equal(page_builder_finish(builder, range, model->is_keys_only, &page), 0);
    return page;
}

static struct stamp take_stamp(struct world *world)
{
    world->now_ms += chance(world, 3);
    return stamp_take(&world->orders, world->now_ms);
}

/* Of what was on its way; something else is then. */
static struct stamp late_stamp(struct world *world)
{
    struct stamp *waiting = &world->waiting[chance(world, ARRAY_SIZE(world->waiting))];
    struct stamp late = *waiting;
    *waiting = take_stamp(world);
    return late;
}

static void make_answer(struct world *world, struct model_page *ret)
{
    ret->stamp = late_stamp(world);
    ret->begin = chance(world, POSITIONS);
    ret->end = ret->begin + chance(world, POSITIONS - ret->begin + 1); /* maybe nothing */
    ret->is_keys_only = chance(world, 2) == 0;
    int density = chance(world, 4); /* 0: no row */
    for (int i = ret->begin; i < ret->end; i++)
        ret->has_row[i] = i % 2 == 0 && density > 0 && chance(world, density) == 0;
}

/* The cache will take it: changes are put in the order of their stamps. */
static struct stamp next_stamp(struct world *world)
{
    world->now_ms += chance(world, 3);
    return stamp_from_now(&world->orders, world->now_ms);
}

static void make_change(struct world *world, struct model_page *ret)
{
    ret->begin = 2 * chance(world, ROWS);
    ret->end = ret->begin + 1;
    ret->has_row[ret->begin] = chance(world, 2) == 0;
    ret->is_change[ret->begin] = true;
    ret->stamp = next_stamp(world);
}

/* No row lacks its text. */
static bool is_texts(const struct model_page *page)
{
    for (int i = page->begin; page->is_keys_only && i < page->end; i++)
        if (page->has_row[i])
            return false;
    return true;
}

static bool has(const struct model *model, const struct model_page *page, int position)
{
    return page->stamp.order > model->dropped && page->begin <= position && position < page->end;
}

/* The youngest page of one kind at the position. */
static const struct model_page *youngest(const struct model *model, int position, bool texts)
{
    const struct model_page *found = NULL;
    for (const struct model_page *page = model->pages; page < model->pages + model->count; page++)
        if (has(model, page, position) && is_texts(page) == texts &&
            (!found || stamp_is_younger(page->stamp, found->stamp)))
            found = page;
    return found;
}

/* Is the page what its kind has at the position? Keys are not, where younger texts are. */
static bool stands(const struct model *model, const struct model_page *page, int position)
{
    bool texts = is_texts(page);
    if (youngest(model, position, texts) != page)
        return false;
    const struct model_page *over = texts ? NULL : youngest(model, position, true);
    return !over || stamp_is_younger(page->stamp, over->stamp);
}

static const struct model_page *answer_at(const struct model *model, int position,
                                          struct stamp since)
{
    const struct model_page *texts = youngest(model, position, true);
    if (texts && stamp_satisfies(texts->stamp, since))
        return texts;
    const struct model_page *keys = youngest(model, position, false);
    return keys && stands(model, keys, position) && stamp_satisfies(keys->stamp, since) ? keys
                                                                                        : NULL;
}

/* The youngest page at the position that tells that no row is there; NULL: none. What was read
 * counts as 1 ms older. */
static const struct model_page *absent_at(const struct model *model, int position,
                                          int64_t *requested_ms)
{
    const struct model_page *page = youngest(model, position, false);
    if (!page || !stands(model, page, position))
        page = youngest(model, position, true);
    if (!page || page->has_row[position])
        return NULL;
    *requested_ms = MIN(*requested_ms, page->stamp.requested_ms - !page->is_gone);
    return page;
}

static bool is_absent(const struct model *model, int begin, int end, int64_t *requested_ms)
{
    int64_t oldest_ms = *requested_ms;
    for (int i = begin; i < end; i++)
        if (!absent_at(model, i, &oldest_ms))
            return false;
    *requested_ms = oldest_ms;
    return true;
}

/* From `end`, which is next to the run, in steps of 1 or -1: over absent rows to the next gone page
 * and over that. Its last position, or the one before `end`. */
static int join(const struct model *model, int end, int step, int64_t *requested_ms)
{
    int64_t oldest_ms = *requested_ms;
    const struct model_page *page = NULL;
    int i = end;
    while (i >= 0 && i < POSITIONS && (page = absent_at(model, i, &oldest_ms)) && !page->is_gone)
        i += step;
    if (i < 0 || i >= POSITIONS || !page)
        return end - step;
    int64_t ignored = INT64_MAX;
    while (i >= 0 && i < POSITIONS && absent_at(model, i, &ignored) == page)
        i += step;
    *requested_ms = oldest_ms;
    return i - step;
}

/* The deletes of `count` rows, as the model has them: one page for each run. */
static void add_gone(struct model *model, const int *rows, size_t count, struct stamp stamp)
{
    for (size_t taken; count > 0; rows += taken, count -= taken) {
        struct model_page made = {
            .stamp = stamp, .is_gone = true, .answered_ms = stamp.requested_ms};
        int64_t *requested_ms = &made.stamp.requested_ms;
        made.is_change[rows[0]] = true;
        for (taken = 1; taken < count; taken++) {
            if (!is_absent(model, rows[taken - 1] + 1, rows[taken], requested_ms))
                break;
            made.is_change[rows[taken]] = true;
        }
        made.begin = join(model, rows[0] - 1, -1, requested_ms);
        made.end = join(model, rows[taken - 1] + 1, 1, requested_ms) + 1;
        model->pages[model->count++] = made;
    }
}

struct asked { /* a question in numbers */
    int begin, end;
    struct stamp since;
    bool keys_suffice;
};

struct told { /* its answer */
    int known;
    int at; /* where the first row is, or where it is not known any more; else the end */
    int rows[POSITIONS], count;
    uint64_t order; /* of the rows' page */
    int64_t requested_ms;
};

static void report_rows(const struct model *model, const struct asked *asked,
                        const struct model_page *page, struct told *ret)
{
    ret->known = KNOWN_ROWS;
    ret->order = page->stamp.order;
    for (int i = ret->at; i < asked->end && stands(model, page, i); i++)
        if (page->has_row[i])
            ret->rows[ret->count++] = i;
}

/* Keeps to a page while it stands; of keys only to its next row where texts are wanted. */
static void ask_model(const struct model *model, const struct asked *asked, struct told *ret)
{
    const struct model_page *page = NULL;
    *ret = (struct told){.known = KNOWN_EMPTY, .requested_ms = -1};
    for (ret->at = asked->begin; ret->at < asked->end; ret->at++) {
        bool wants_text = page && page->has_row[ret->at] && !asked->keys_suffice;
        if (!page || !stands(model, page, ret->at) || (wants_text && page->is_keys_only))
            page = answer_at(model, ret->at, asked->since);
        if (page)
            ret->requested_ms = ret->requested_ms < 0
                                    ? page->stamp.requested_ms
                                    : MIN(ret->requested_ms, page->stamp.requested_ms);
        if (!page || (page->has_row[ret->at] && page->is_keys_only && !asked->keys_suffice)) {
            ret->known = KNOWN_NOT;
            return;
        }
        if (page->has_row[ret->at]) {
            report_rows(model, asked, page, ret);
            return;
        }
    }
}

static void read_run(const struct run *run, struct told *ret)
{
    uint64_t order;
    for (size_t row = run->begin; row < run->end; row++) {
        assert_true(bytes_parse_unsigned(page_etag(run->page, row), UINT32_MAX, &order));
        assert_true(row == run->begin || order == ret->order);
        ret->order = order;
        ret->rows[ret->count++] = number_of(page_position(run->page, row));
    }
    ret->at = ret->rows[0];
}

static void ask_cache(struct world *world, size_t table, const struct asked *asked,
                      struct told *ret)
{
    struct question question = {.table = table_of(table),
                                .range = range_of(world, asked->begin, asked->end),
                                .since = asked->since,
                                .keys_suffice = asked->keys_suffice};
    struct run run = {0};
    *ret = (struct told){.at = asked->end, .requested_ms = -1};
    ret->known = range_cache_next(world->cache, &question, &run, &ret->requested_ms, &world->until);
    if (ret->known == KNOWN_ROWS) {
        read_run(&run, ret);
        struct run *held = &world->held[chance(world, ARRAY_SIZE(world->held))];
        run_finish(held);
        *held = run;
    } else if (ret->known == KNOWN_NOT) {
        ret->at = number_of(position_bytes(&world->until));
    }
}

static struct asked make_question(struct world *world)
{
    struct asked asked = {.begin = chance(world, POSITIONS), .keys_suffice = chance(world, 2)};
    asked.end = asked.begin + chance(world, POSITIONS - asked.begin + 1);
    if (chance(world, 2))
        asked.since.requested_ms = world->now_ms - chance(world, 60);
    if (chance(world, 4) == 0)
        asked.since.order = (uint64_t)MAX(0, (int)world->orders - chance(world, 40));
    return asked;
}

static void assert_same(const struct told *told, const struct told *expected)
{
    assert_int_equal(told->known, expected->known);
    assert_int_equal(told->at, expected->at);
    assert_int_equal(told->requested_ms, expected->requested_ms);
    assert_int_equal(told->order, expected->order);
    assert_int_equal(told->count, expected->count);
    assert_memory_equal(told->rows, expected->rows, sizeof(told->rows));
}

/* May an answer of this kind come from a gone page? That has the order of the deletes, but the time
 * of the pages that it rests on, and a drop may have taken these meanwhile. */
static bool may_rest_on_gone(const struct model *model, const struct asked *asked, bool has_row)
{
    for (const struct model_page *page = model->pages; page < model->pages + model->count; page++)
        if (!has_row && page->is_gone && page->stamp.order > model->dropped &&
            page->stamp.order >= asked->since.order)
            return true;
    return false;
}

/* The cache's gone page may be smaller than the model's, and rest on less. */
static int64_t asked_ms_at(const struct model_page *page, int position)
{
    bool is_deleted = page->is_gone && page->is_change[position];
    return is_deleted ? page->answered_ms : page->stamp.requested_ms;
}

static uint64_t youngest_change(const struct model *model, int position)
{
    uint64_t change = 0;
    for (const struct model_page *page = model->pages; page < model->pages + model->count; page++)
        if (page->is_change[position] && has(model, page, position))
            change = MAX(change, page->stamp.order);
    return change;
}

/* Some page says whether a row is there (order 0: any page), asked since, and not before the
 * youngest change there. */
static bool is_said(const struct model *model, const struct asked *asked, int position,
                    bool has_row, uint64_t order)
{
    uint64_t change = youngest_change(model, position);
    bool is_of_gone = may_rest_on_gone(model, asked, has_row);
    for (const struct model_page *page = model->pages; page < model->pages + model->count; page++)
        if (page->begin <= position && position < page->end && page->has_row[position] == has_row &&
            (order == 0 || page->stamp.order == order) && page->stamp.order >= change &&
            asked_ms_at(page, position) >= asked->since.requested_ms &&
            (is_of_gone ||
             (page->stamp.order > model->dropped && page->stamp.order >= asked->since.order)))
            return true;
    return false;
}

/* What leaves for want of memory may make an answer less, never wrong. */
static void assert_true_as_far_as_it_goes(const struct model *model, const struct asked *asked,
                                          const struct told *told)
{
    int last = told->count > 0 ? told->rows[told->count - 1] + 1 : told->at, next = 0;
    for (int i = asked->begin; i < last; i++) {
        bool has_row = next < told->count && told->rows[next] == i;
        uint64_t order = told->count > 0 && i >= told->at ? told->order : 0;
        next += has_row;
        assert_true(is_said(model, asked, i, has_row, order));
    }
}

static void question_step(struct world *world, bool is_exact)
{
    size_t table = (size_t)chance(world, TABLES);
    struct asked asked = make_question(world);
    struct told told, expected;
    ask_cache(world, table, &asked, &told);
    ask_model(&world->models[table], &asked, &expected);
    if (is_exact)
        assert_same(&told, &expected);
    else if (told.known >= 0)
        assert_true_as_far_as_it_goes(&world->models[table], &asked, &told);
}

enum mode {
    EXACT,   /* all is known that was put */
    SMALL,   /* pages leave */
    FAILING, /* and memory is not always there */
};

static void begin_failures(struct world *world, enum mode mode)
{
    if (mode == FAILING && chance(world, 4) == 0) {
        allocations_until_failure = 1 + chance(world, 5);
        failures_in_a_row = chance(world, 4);
    }
}

static void end_failures(int r, enum mode mode)
{
    assert_true(r == 0 || (r == -ENOMEM && mode == FAILING));
    allocations_until_failure = failures_in_a_row = 0;
}

static void put_step(struct world *world, enum mode mode)
{
    size_t table = (size_t)chance(world, TABLES);
    struct model *model = &world->models[table];
    struct model_page *made = &model->pages[model->count++];
    bool is_change = chance(world, 4) == 0;
    if (is_change)
        make_change(world, made);
    else
        make_answer(world, made);
    _cleanup_(page_unrefp) struct page *page = make_page(world, made);
    begin_failures(world, mode);
    int r = is_change ? range_cache_put_change(world->cache, table_of(table), page, &world->orders,
                                               made->stamp.requested_ms)
                      : range_cache_put(world->cache, table_of(table), page, made->stamp);
    end_failures(r, mode);
    assert_true(!is_change || world->orders == made->stamp.order);
}

/* Rows are deleted, known or not. */
static void gone_step(struct world *world, enum mode mode)
{
    size_t table = (size_t)chance(world, TABLES), count = 0;
    struct stamp stamp = next_stamp(world);
    struct buffer memory[MOST_GONE];
    struct bytes positions[MOST_GONE];
    int rows[MOST_GONE];
    for (int row = chance(world, ROWS); row < ROWS && count < MOST_GONE;
         row += 1 + chance(world, 3), count++) {
        rows[count] = 2 * row;
        buffer_init(&memory[count], 100);
        positions[count] = position_of(2 * row, &memory[count]);
    }
    add_gone(&world->models[table], rows, count, stamp);
    begin_failures(world, mode);
    int r = range_cache_put_gone(world->cache, table_of(table), positions, count, &world->orders,
                                 stamp.requested_ms);
    end_failures(r, mode);
    assert_int_equal(world->orders, stamp.order);
    for (size_t i = 0; i < count; i++)
        buffer_finish(&memory[i]);
}

static void drop_step(struct world *world)
{
    size_t table = (size_t)chance(world, TABLES);
    struct stamp stamp = late_stamp(world);
    world->models[table].dropped = MAX(world->models[table].dropped, stamp.order);
    range_cache_drop_table(world->cache, table_of(table), stamp);
}

static void passed_step(struct world *world)
{
    int begin = chance(world, POSITIONS);
    struct range range = range_of(world, begin, begin + chance(world, POSITIONS - begin + 1));
    range_cache_passed(world->cache, table_of((size_t)chance(world, TABLES)), range);
}

static void let_go(struct world *world)
{
    for (size_t i = 0; i < ARRAY_SIZE(world->held); i++)
        run_finish(&world->held[i]);
}

static void step(struct world *world, enum mode mode)
{
    int kind = chance(world, 100);
    if (kind < 34)
        put_step(world, mode);
    else if (kind < 40)
        gone_step(world, mode);
    else if (kind < 85)
        question_step(world, mode == EXACT);
    else if (kind < 97)
        passed_step(world);
    else if (kind < 98)
        drop_step(world);
    else
        let_go(world);
}

static void assert_within_budget(struct world *world, size_t max_bytes)
{
    struct range_cache_stats stats;
    range_cache_stats(world->cache, &stats);
    assert_cache_is_sound(world->cache);
    assert_true(stats.bytes <= max_bytes || stats.pages <= ARRAY_SIZE(world->held) + 1);
}

static void run_world(unsigned seed, enum mode mode)
{
    struct world world = {.random = seed, .now_ms = 1000};
    size_t max_bytes = mode == EXACT ? LARGE : (size_t)chance(&world, 8000);
    assert_int_equal(range_cache_create(max_bytes, &world.cache), 0);
    buffer_init(&world.lo, 100);
    buffer_init(&world.hi, 100);
    for (size_t i = 0; i < ARRAY_SIZE(world.waiting); i++)
        world.waiting[i] = take_stamp(&world);
    for (int i = 0; i < STEPS; i++) {
        step(&world, mode);
        assert_within_budget(&world, max_bytes);
    }
    let_go(&world);
    range_cache_destroy(world.cache);
    buffer_finish(&world.lo);
    buffer_finish(&world.hi);
}

static void run_worlds(enum mode mode)
{
    for (unsigned seed = 1; seed <= WORLDS; seed++)
        run_world(seed, mode);
}

static void a_large_cache_knows_what_the_model_knows(void **state)
{
    (void)state;
    run_worlds(EXACT);
}

static void a_small_cache_knows_less_and_nothing_else(void **state)
{
    (void)state;
    run_worlds(SMALL);
}

static void without_memory_it_knows_less_and_nothing_else(void **state)
{
    (void)state;
    run_worlds(FAILING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_cache_knows_what_the_model_knows),
        cmocka_unit_test(a_small_cache_knows_less_and_nothing_else),
        cmocka_unit_test(without_memory_it_knows_less_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
