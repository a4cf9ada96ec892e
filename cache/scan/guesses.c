#include "cache/scan/guesses.h"

#define SLOW_START      2 /* guesses out at once, for each page with rows so far */
#define FREE_EMPTIES    4
#define EMPTIES_SHARE   0.25 /* empty answers, of the pages with rows */
#define TRICKLE         16   /* with too many empty answers, one guess for so many slots */
#define PRIOR_GOOD      34   /* taken for granted, so that few mistakes at the beginning are few */
#define LEAST           1.25 /* pages of a piece */
#define LEAST_BOUNDED   1.6
#define WASTE_SHARE     0.119 /* of the pages with rows; beyond it pieces get longer, fast */
#define CAUTIOUS_AT     0.92  /* hits, of all guesses */
#define CAUTIOUS_PIECES 4

static double hits(const struct guesses *guesses)
{
    return ((double)guesses->good + 1) / ((double)(guesses->good + guesses->empties) + 1);
}

/* Further guesses that the empty answers so far leave. */
static double afford(const struct guesses *guesses, double out)
{
    if (guesses->empties <= FREE_EMPTIES)
        return 1e9;
    double left = EMPTIES_SHARE * (double)guesses->good + FREE_EMPTIES - (double)guesses->empties;
    return MAX(left, 0) / MAX(1 - hits(guesses), 0.05) - out;
}

int guesses_budget(const struct guesses *guesses, size_t out, size_t slots)
{
    double known = SLOW_START * (double)guesses->good - (double)out;
    double trickle = MAX((double)slots / TRICKLE, 1) - (double)out;
    double budget = MIN(known, MAX(afford(guesses, (double)out), trickle));
    return (int)MAX(MIN(budget, (double)slots), 0);
}

double guesses_least_piece(const struct guesses *guesses, bool is_bounded)
{
    if (!is_bounded)
        return hits(guesses) > CAUTIOUS_AT ? LEAST : hits(guesses) > 0.8 ? LEAST * 1.3 : LEAST * 2;
    double wasted = guesses->waste + (double)guesses->empties + 1;
    double excess = wasted / ((double)guesses->good + PRIOR_GOOD) / WASTE_SHARE;
    return excess > 1 ? LEAST_BOUNDED * excess * excess * excess : LEAST_BOUNDED;
}

int guesses_most_pieces(const struct guesses *guesses)
{
    return hits(guesses) < CAUTIOUS_AT ? CAUTIOUS_PIECES : INT16_MAX;
}
