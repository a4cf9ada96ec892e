/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_QUEUE_OVERLAY_FIXTURE_H
#define TESTS_UNIT_CACHE_QUEUE_OVERLAY_FIXTURE_H
/* What the tests of the overlay share: an overlay over a reader, and its questions. */
#include "cache/queue/overlay.h"
#include "tests/unit/fetching.h"

#define PARTITION ((struct range){B("p\0"), B("p\x01")})
#define ROW(key)  ((struct range){B("p\0" key), B("p\0" key "\x01")})

struct setup {
    struct fetching fetching;
    struct overlay *overlay;
    struct caller caller; /* of the last question */
    struct seen seen;     /* by the last count_top; it has no rows any more */
};

static inline void set_up_with(struct setup *setup, struct fetching_options options)
{
    fetching_set_up(&setup->fetching, options);
    assert_int_equal(overlay_create(setup->fetching.cache, setup->fetching.fetcher,
                                    setup->fetching.pending, &setup->overlay),
                     0);
}

static inline void set_up(struct setup *setup)
{
    set_up_with(setup, (struct fetching_options){0});
}

static inline void tear_down(struct setup *setup)
{
    overlay_destroy(setup->overlay);
    fetching_tear_down(&setup->fetching);
}

static inline struct question question_of(struct setup *setup, struct range range)
{
    return (struct question){"t", range, fetching_since_ttl(&setup->fetching), false};
}

/* How many rows there are; what was seen is the caller's in *ret but for its rows. */
static inline int count(struct setup *setup, const struct question *question,
                        const struct on_miss *on_miss, struct seen *ret)
{
    setup->caller = fetching_caller(&setup->fetching);
    int r = overlay_next(setup->overlay, &setup->caller, question, on_miss, ret);
    if (r <= 0)
        return r;
    int rows = (int)(ret->run.end - ret->run.begin);
    assert_true(rows > 0);
    run_finish(&ret->run);
    return rows;
}

static inline int count_top(struct setup *setup, const struct question *question, int top)
{
    struct on_miss on_miss = {.top = top};
    return count(setup, question, &on_miss, &setup->seen);
}

/* All rows of the question's range, as overlay_next gives them: the last character of each
 * position, and "*" if its text is "queued". */
static inline void assert_all_rows(struct setup *setup, const struct question *all, int top,
                                   const char *expected)
{
    _cleanup_(buffer_finish) struct buffer line = {.max = 100}, lo = {.max = 100};
    struct on_miss on_miss = {.top = top};
    struct question question = *all;
    struct seen seen = {0};
    int r;
    setup->caller = fetching_caller(&setup->fetching);
    while ((r = overlay_next(setup->overlay, &setup->caller, &question, &on_miss, &seen)) > 0) {
        for (size_t row = seen.run.begin; row < seen.run.end; row++) {
            struct bytes position = page_position(seen.run.page, row);
            (void)buffer_append_char(&line, position.data[position.size - 1]);
            if (bytes_equal(page_text(seen.run.page, row), B("queued")))
                (void)buffer_append_char(&line, '*');
        }
        buffer_clear(&lo);
        (void)position_append_behind(&lo, page_position(seen.run.page, seen.run.end - 1));
        question.range.lo = buffer_bytes(&lo);
        run_finish(&seen.run);
    }
    assert_int_equal(r, 0);
    assert_string_equal(buffer_string(&line), expected);
}

static inline size_t asked(struct setup *setup)
{
    return setup->fetching.memory->asked;
}

DEFINE_FIXTURE(overlay, struct setup, set_up(test), tear_down(test))

#endif
