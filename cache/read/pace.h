#ifndef CACHE_READ_PACE_H
#define CACHE_READ_PACE_H
/* How fast a reader goes through pages: how many it took in the stretch of PACE_EPOCH_MS that is
 * now and the one before, or, of those that it took before it came to them, how many it passed.
 * No lock: one thread at a time. Time is an argument, monotonic. */
#include "client/bytes.h"

#include <sys/queue.h>

#define PACE_EPOCH_MS  ((int64_t)100)
#define PACE_MARKS_MAX 512 /* pages ahead of the reader whose ends are remembered */

struct pace { /* in its owner's memory; private */
    int64_t epoch_ms;
    struct pace_stretch {
        double taken, passed; /* pages */
    } now, before;
    STAILQ_HEAD(pace_marks, pace_mark) marks; /* ends of pages, in order */
    size_t marked;
};

void pace_init(struct pace *pace);
void pace_finish(struct pace *pace);

/* The reader took so many pages, which end with that position; empty: it never says where it is.
 * What there is no room or memory to remember is not passed later. */
void pace_take(struct pace *pace, double pages, struct bytes end, int64_t now_ms);
/* It has come to the position. True: it has passed pages that it took. */
bool pace_come(struct pace *pace, struct bytes position, int64_t now_ms);
double pace_lately(struct pace *pace, int64_t now_ms);

#endif
