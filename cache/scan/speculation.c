/* SPDX-License-Identifier: MIT */
#include "cache/scan/speculation.h"

/* Each constant names a figure that gets worse without it, or with another value: a shape of
 * tests/scan/figures with 32 slots, requests/round trips; 1,000,000 rows in a window of 128 pages
 * if nothing else is said. */
#define LEAST         1.25 /* pages; 2.2: "sensors", 200,000, no window: 238/20, 224/33 */
#define LEAST_BOUNDED 2.2  /* pages; 1.25: "package": 1,288/182, 1,829/102 */
#define WASTE_SHARE   0.07 /* wasted pages of the good ones; unlimited: the same, 1,937/97 */
#define PRIOR_GOOD    24   /* taken for good at the beginning; 10: "ticks": 1,216/84, 1,205/118 */
#define GOOD_TO_EMPTY 10   /* good answers for an empty one; no rule: "package": 123, 138 trips */
#define FEW_PIECES    4    /* 8: "package": 1,376/123, 1,598/128 */

size_t speculation_budget(size_t good, size_t per_answer, size_t out, size_t idle)
{
    size_t earned = per_answer * good;
    return earned > out ? MIN(earned - out, idle) : 0;
}

double speculation_least_piece(const struct speculation *speculation, bool is_bounded)
{
    double wasted = speculation->waste + (double)speculation->empties;
    double allowed = WASTE_SHARE * ((double)speculation->good + PRIOR_GOOD);
    return (is_bounded ? LEAST_BOUNDED : LEAST) * MAX(wasted / allowed, 1);
}

int speculation_most_pieces(const struct speculation *speculation)
{
    bool is_poor = speculation->empties * GOOD_TO_EMPTY > speculation->good;
    return is_poor ? FEW_PIECES : INT16_MAX;
}
