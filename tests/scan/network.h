/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SCAN_NETWORK_H
#define TESTS_SCAN_NETWORK_H
/* A simulated network for scan engines: drives any engine to its end over a table in memory,
 * through the seam's own wrapper, and counts. Time is counted in round trips: every request that is
 * out when one passes is answered by it. One thread. */
#include "cache/scan/scan.h"
#include "tests/scan/rows.h"

struct network_options {
    int slots;               /* requests in flight */
    int takes;               /* items that are taken in a round trip; 0: all there are */
    uint64_t seed;           /* of all chance below; percent of the requests it happens to: */
    int short_percent;       /* fewer rows than there are, and a token */
    int empty_percent;       /* no row, and a token, though there may be rows; of a scan of keys the
                                token is followed, as the cache does */
    int border_percent;      /* the page ends where a partition does, its token names the next */
    int larger_percent;      /* the page covers more than was asked for, as a cached one may */
    int smaller_percent;     /* the page covers less, without a token */
    int late_percent;        /* the answer takes a round trip more */
    int give_back_percent;   /* it is given back, not answered */
    int speculation_percent; /* of the speculative ones alone: given back before it is sent */
    bool is_shuffled;        /* answers come in any order */
    bool is_of_keys;         /* scan_level, scan_partitions */
    int matches; /* of scan_filtered: the number of rows in 1000 that match; 0: no filter */
    int looks;   /* of scan_filtered: a query that has compared this number of rows ends its page,
                    even without a match; 0: no limit */
    /* called in each round trip, before its answers are made; NULL: nothing changes */
    void (*change)(void *context, struct rows *rows, uint64_t *seed);
    /* called for each item; the engine's views are valid, the run is finished afterwards */
    void (*item)(void *context, const struct scan_item *item);
    void *context;
};

struct network_figures {
    size_t requests, empties;     /* answered; of these without a row */
    size_t given_back;            /* not counted as requests */
    size_t speculative;           /* of the requests */
    size_t names_out;             /* requests for names in flight at once, at most */
    size_t round_trips;           /* until the end */
    size_t first_item;            /* the round trip that brought it; 0: there was none */
    size_t items, taken_rows;     /* handed out */
    size_t answered_rows;         /* more than taken: some came twice, or were thrown away */
    size_t held_rows, held_bytes; /* at most, of pages that the engine kept over a round trip */
    size_t bytes_ahead;           /* at most: held, and as much again for what is on its way */
    size_t page_bytes;            /* of the heaviest page */
};

/* Does the row match? */
bool network_matches(const struct network_options *options, struct bytes position);

/* `rows` is sorted. 0 with the figures; -EDEADLK: the engine waits and has nothing to ask;
 * -ELOOP: it has asked more often than `rows` can explain; -EPROTO: scan_waiting is wrong; else
 * what the seam or scan_add_answer said. */
int network_run(const struct network_options *options, struct rows *rows, struct scan *scan,
                struct network_figures *ret);

#endif
