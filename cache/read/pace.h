#ifndef CACHE_READ_PACE_H
#define CACHE_READ_PACE_H
/* How a reader goes through pages, and so how many may be ahead of it: none ahead of one who took a
 * page, who may have wanted just that; then two, and four more for each that it took in the stretch
 * of PACE_EPOCH_MS that is now and the one before, or, of those that it took before it came to
 * them, passed: less than a second's worth, or they are older than the usual ttl when they are
 * used. No lock: one thread at a time. Time is an argument, monotonic. */
#include "client/bytes.h"

#include <sys/queue.h>

#define PACE_EPOCH_MS  ((int64_t)100)
#define PACE_MARKS_MAX 512 /* pages ahead of the reader whose ends are remembered */

struct pace {             /* in its owner's memory; private */
    double taken, wanted; /* pages; how many the reader will have taken in all */
    int64_t looked_ms;    /* when it looked for the last time */
    int64_t took_ms;      /* when it took or passed a page and has not looked since; 0: it has */
    int64_t busy_ms;      /* how long it was busy with the last one */
    int64_t epoch_ms;
    struct pace_stretch {
        double taken, passed; /* pages */
    } now, before;
    STAILQ_HEAD(pace_marks, pace_mark) marks; /* ends of pages, in order */
    size_t marked;
};

void pace_init(struct pace *pace);
void pace_finish(struct pace *pace);

/* The reader looked for a page, and may have got none. */
void pace_look(struct pace *pace, int64_t now_ms);
/* It looked and took so many pages, which end with that position; empty: it never says where it is.
 * What there is no room or memory to remember is not passed later. */
void pace_take(struct pace *pace, double pages, struct bytes end, int64_t now_ms);
/* It has come to the position. For who lists a directory first and then goes through it, each page
 * that it passes is a look, too. */
void pace_come(struct pace *pace, struct bytes position, int64_t now_ms);
/* So many pages more will be taken, the reader thinks now. That is no promise: half as many more
 * may be ahead of it. */
void pace_want(struct pace *pace, size_t pages);
/* It may not come back; if it does, it is busy with nothing and wants what it wants. What it took
 * is not passed later: all of it would be at once, and a lone look would bring as much ahead. */
void pace_pause(struct pace *pace);

/* False: it is so slow that the next page may be too old for it, or has not looked for long. */
bool pace_goes_on(const struct pace *pace, int64_t now_ms);
/* Pages that the reader thinks it will take. */
double pace_wanted(const struct pace *pace);
/* Pages that may be ahead of one who goes on. */
double pace_most_ahead(struct pace *pace, int64_t now_ms);

#endif
