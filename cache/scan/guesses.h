#ifndef CACHE_SCAN_GUESSES_H
#define CACHE_SCAN_GUESSES_H
/* Guesses: how often a scan has split well, and so how much it may still guess. A guess costs a
 * request when the piece is empty, a part of one when it ends within a page. Pure; one thread. */
#include "client/base.h"

struct guesses {
    size_t good;    /* answers with rows */
    size_t empties; /* guesses without */
    double waste;   /* pages that were cut short by a split, or thrown away */
};

struct guess_rules {
    int first;        /* guesses out at once, for each answer with rows so far */
    int free_empties; /* empty answers that are taken without a thought; then one for four good */
};

/* So many new guesses may be made, with `out` made and not answered, of `slots` requests at once:
 * none before the first page, few before many were seen, fewer when many were wrong. */
int guesses_budget(const struct guesses *guesses, const struct guess_rules *rules, size_t out,
                   size_t slots);
/* A piece must be so many pages long to be worth a request. In a window pieces are short, so there
 * they get longer as the waste grows. */
double guesses_least_piece(const struct guesses *guesses, bool is_bounded);
/* Into so many pieces one chunk may be divided at once: where guesses are bad, what the first say
 * is to be heard before more are made. */
int guesses_most_pieces(const struct guesses *guesses);

#endif
