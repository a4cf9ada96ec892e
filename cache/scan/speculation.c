#include "cache/scan/speculation.h"

/* Each constant names the figure that gets worse without it: requests/round trips of
 * tests/scan/figures, or of test_scan_figures where the rows are 200,000 or fewer. */
#define LEAST         1.25 /* pages of a piece; 2.2: "sensors", 200,000, 32 slots: 238/20, 224/33 */
#define LEAST_BOUNDED 2.2  /* inside a window; 1.25: "package", 32 slots: 1,288/182, 1,829/102 */
#define WASTE_SHARE   0.08 /* wasted pages of the good ones; unlimited: the same, 1,937/97 */
#define PRIOR_GOOD    22   /* pages taken for good at the beginning, so that one error is little */
#define GOOD_TO_EMPTY                                                                              \
    10 /* good answers for each empty one; none: "package": 1,376/123, 1,752/138 */
#define FEW_PIECES 4

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
