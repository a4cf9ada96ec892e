#include "cache/read/pace.h"

#include <math.h>

#define AHEAD_FIRST 2
#define AHEAD_EACH  4
#define WANTED_MORE 1.5  /* what a reader thinks is an estimate */
#define SLOW_MS     5000 /* that it was busy with a page */
#define LOOKS_MS    2000 /* so long a look holds */

struct pace_mark {
    STAILQ_ENTRY(pace_mark) link;
    double pages;
    size_t size;
    char end[];
};

void pace_init(struct pace *pace)
{
    *pace = (struct pace){.wanted = INFINITY};
    STAILQ_INIT(&pace->marks);
}

static struct pace_mark *remove_first(struct pace *pace)
{
    struct pace_mark *mark = STAILQ_FIRST(&pace->marks);
    STAILQ_REMOVE_HEAD(&pace->marks, link);
    pace->marked--;
    return mark;
}

static void forget_marks(struct pace *pace)
{
    while (!STAILQ_EMPTY(&pace->marks))
        free(remove_first(pace));
}

void pace_finish(struct pace *pace)
{
    forget_marks(pace);
}

static void begin_epoch(struct pace *pace, int64_t now_ms)
{
    int64_t since_ms = now_ms - pace->epoch_ms;
    if (since_ms < PACE_EPOCH_MS)
        return;
    pace->before = since_ms < 2 * PACE_EPOCH_MS ? pace->now : (struct pace_stretch){0};
    pace->now = (struct pace_stretch){0};
    pace->epoch_ms = now_ms;
}

static void mark(struct pace *pace, double pages, struct bytes end)
{
    struct pace_mark *mark = malloc(sizeof(*mark) + end.size);
    if (!mark)
        return;
    mark->pages = pages;
    mark->size = end.size;
    memcpy(mark->end, end.data, end.size);
    STAILQ_INSERT_TAIL(&pace->marks, mark, link);
    pace->marked++;
}

void pace_look(struct pace *pace, int64_t now_ms)
{
    if (pace->took_ms != 0)
        pace->busy_ms = now_ms - pace->took_ms;
    pace->looked_ms = now_ms;
    pace->took_ms = 0;
}

void pace_take(struct pace *pace, double pages, struct bytes end, int64_t now_ms)
{
    pace_look(pace, now_ms);
    begin_epoch(pace, now_ms);
    pace->took_ms = now_ms;
    pace->taken += pages;
    pace->now.taken += pages;
    if (end.size > 0 && pace->marked < PACE_MARKS_MAX)
        mark(pace, pages, end);
}

void pace_come(struct pace *pace, struct bytes position, int64_t now_ms)
{
    const struct pace_mark *first;
    size_t marked = pace->marked;
    begin_epoch(pace, now_ms);
    while ((first = STAILQ_FIRST(&pace->marks)) != NULL &&
           bytes_compare((struct bytes){first->end, first->size}, position) < 0) {
        struct pace_mark *passed = remove_first(pace);
        pace->now.passed += passed->pages;
        free(passed);
    }
    if (pace->marked == marked)
        return;
    pace_look(pace, now_ms);
    pace->took_ms = now_ms;
}

void pace_want(struct pace *pace, size_t pages)
{
    pace->wanted = pace->taken + (double)pages;
}

void pace_pause(struct pace *pace)
{
    forget_marks(pace);
    pace->took_ms = pace->busy_ms = 0;
    pace->wanted = INFINITY;
}

bool pace_goes_on(const struct pace *pace, int64_t now_ms)
{
    return pace->busy_ms <= SLOW_MS && now_ms - pace->looked_ms <= LOOKS_MS;
}

double pace_wanted(const struct pace *pace)
{
    return pace->wanted - pace->taken;
}

double pace_most_ahead(struct pace *pace, int64_t now_ms)
{
    begin_epoch(pace, now_ms);
    double lately =
        MAX(pace->now.taken + pace->before.taken, pace->now.passed + pace->before.passed);
    double most = MIN(AHEAD_FIRST + AHEAD_EACH * lately, WANTED_MORE * pace_wanted(pace));
    return pace->taken > 1 ? most : 0;
}
