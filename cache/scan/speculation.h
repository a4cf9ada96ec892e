/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_SPECULATION_H
#define CACHE_SCAN_SPECULATION_H
/* Speculation: what the guesses of a scan of rows have cost, and so how coarse the next ones are.
 * A guess is a request for a piece that begins where keys are only expected. It costs a request if
 * the piece is empty, and a part of one if the piece ends within its page. Pure; one thread. */
#include "client/base/base.h"

struct speculation {
    size_t good;    /* answers with rows */
    size_t empties; /* guesses that found no row */
    double waste;   /* the parts of pages that a split left empty, and pages that were dropped */
};

/* How many new guesses may be sent to `idle` free slots while `out` guesses are unanswered: at most
 * `per_answer` for each answer with rows so far, so none before the first. */
size_t speculation_budget(size_t good, size_t per_answer, size_t out, size_t idle);
/* The fewest pages that a piece should have. Where many guesses fail, pieces get longer. */
double speculation_least_piece(const struct speculation *speculation, bool is_bounded);
/* The most pieces that one chunk is split into at once. Where many guesses fail, the first few
 * answers are used before more pieces are made. */
int speculation_most_pieces(const struct speculation *speculation);

#endif
