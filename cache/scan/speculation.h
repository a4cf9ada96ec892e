/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_SPECULATION_H
#define CACHE_SCAN_SPECULATION_H
/* Speculation: what the guesses of a scan of rows have cost, which decides how many more it makes
 * and how large their pieces are. A guess is a request for a piece that begins where keys are only
 * expected. It wastes a request if the piece is empty, and a part of one if the piece ends within
 * a page. Pure; one thread. */
#include "client/base/base.h"

struct speculation {
    size_t good;    /* number of answers with rows */
    size_t empties; /* number of guesses that found no row */
    double waste;   /* in pages: what last pages of pieces lacked, and pages that were dropped */
};

/* How many new guesses may be sent: `per_answer` for each of the `good` answers with rows so far
 * (so none before the first), minus the `out` guesses in flight; at most `idle`. */
size_t speculation_budget(size_t good, size_t per_answer, size_t out, size_t idle);
/* The minimum size of a piece in pages. It grows if many guesses fail. is_bounded: the scan has a
 * limit of bytes that wait to be taken. */
double speculation_least_piece(const struct speculation *speculation, bool is_bounded);
/* The maximum number of pieces into which a chunk is split at once. It is small if many guesses
 * fail, so that answers are used before more pieces are made. */
int speculation_most_pieces(const struct speculation *speculation);

#endif
