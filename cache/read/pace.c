#include "cache/read/pace.h"

struct pace_mark {
    STAILQ_ENTRY(pace_mark) link;
    double pages;
    size_t size;
    char end[];
};

void pace_init(struct pace *pace)
{
    *pace = (struct pace){0};
    STAILQ_INIT(&pace->marks);
}

static struct pace_mark *remove_first(struct pace *pace)
{
    struct pace_mark *mark = STAILQ_FIRST(&pace->marks);
    STAILQ_REMOVE_HEAD(&pace->marks, link);
    pace->marked--;
    return mark;
}

void pace_finish(struct pace *pace)
{
    while (!STAILQ_EMPTY(&pace->marks))
        free(remove_first(pace));
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

void pace_take(struct pace *pace, double pages, struct bytes end, int64_t now_ms)
{
    begin_epoch(pace, now_ms);
    pace->now.taken += pages;
    if (end.size > 0 && pace->marked < PACE_MARKS_MAX)
        mark(pace, pages, end);
}

bool pace_come(struct pace *pace, struct bytes position, int64_t now_ms)
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
    return pace->marked < marked;
}

double pace_lately(struct pace *pace, int64_t now_ms)
{
    begin_epoch(pace, now_ms);
    return MAX(pace->now.taken + pace->before.taken, pace->now.passed + pace->before.passed);
}
