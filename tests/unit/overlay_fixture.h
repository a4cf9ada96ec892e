#ifndef TESTS_UNIT_OVERLAY_FIXTURE_H
#define TESTS_UNIT_OVERLAY_FIXTURE_H
/* What the tests of the overlay share: an overlay over a reader, and its questions. */
#include "cache/read/overlay.h"
#include "tests/unit/fetching.h"

struct setup {
    struct fetching fetching;
    struct overlay *overlay;
    struct caller caller; /* of the last question */
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

static inline size_t asked(struct setup *setup)
{
    return setup->fetching.memory->asked;
}

#endif
