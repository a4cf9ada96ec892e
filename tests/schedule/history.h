/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SCHEDULE_HISTORY_H
#define TESTS_SCHEDULE_HISTORY_H
/* The changes that the threads of a test made, with their results, and the values that a reader may
 * see: a value is allowed if its change may have been made before the reader ended, and no
 * acknowledged change had replaced it before the reader began. Times are counted. One thread at a
 * time (schedule.h). */
#include "tests/schedule/schedule.h"

#define HISTORY_MAX 64

enum outcome { NOT_MADE, MADE, IN_DOUBT };

struct change {
    size_t name; /* of what is changed */
    int value;   /* that it leaves */
    unsigned begun, ended;
    enum outcome outcome;
    bool is_undone; /* history_undo */
};

struct history {
    struct change changes[HISTORY_MAX];
    size_t count;
    unsigned time;
};

static inline unsigned history_now(struct history *history)
{
    return ++history->time;
}

/* While it is under way, it may be made at any moment. */
static inline struct change *history_begin(struct history *history, size_t name, int value)
{
    SCHEDULE_CHECK(history->count < HISTORY_MAX);
    struct change *change = &history->changes[history->count++];
    *change = (struct change){.name = name,
                              .value = value,
                              .begun = history_now(history),
                              .ended = UINT32_MAX,
                              .outcome = IN_DOUBT};
    return change;
}

static inline void history_end(struct history *history, struct change *change, enum outcome outcome)
{
    change->ended = history_now(history);
    change->outcome = outcome == MADE && change->is_undone ? IN_DOUBT : outcome;
}

/* It was acknowledged, and has failed since: what was there before may be seen again. */
static inline void history_undo(struct change *change)
{
    change->is_undone = true;
    if (change->outcome == MADE)
        change->outcome = IN_DOUBT;
}

/* What is there before. */
static inline void history_add(struct history *history, size_t name, int value)
{
    history_end(history, history_begin(history, name, value), MADE);
}

static inline bool history_is_replaced(const struct history *history, const struct change *change,
                                       unsigned when)
{
    const struct change *end = history->changes + history->count;
    for (const struct change *later = history->changes; later < end; later++)
        if (later->name == change->name && later->outcome == MADE && later->begun > change->ended &&
            later->ended < when)
            return true;
    return false;
}

/* By a reader that began and ended then. */
static inline bool history_may_be_seen(const struct history *history, size_t name, int value,
                                       unsigned begun, unsigned ended)
{
    const struct change *end = history->changes + history->count;
    for (const struct change *change = history->changes; change < end; change++)
        if (change->name == name && change->value == value && change->outcome != NOT_MADE &&
            change->begun < ended && !history_is_replaced(history, change, begun))
            return true;
    return false;
}

#endif
