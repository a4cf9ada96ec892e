#include "cache/scan/guesses.h"

#define EMPTIES_SHARE   0.25 /* empty answers, of those with rows */
#define LEAST_CHANCE    0.05 /* of an empty answer, whatever was seen */
#define TRICKLE         16   /* with too many empty answers, one guess for so many slots */
#define PRIOR_GOOD      22   /* taken for granted, so that few mistakes at the beginning are few */
#define LEAST           1.25 /* pages of a piece */
#define LEAST_BOUNDED   2.2
#define WASTE_SHARE     0.1  /* of the pages with rows; beyond it pieces get longer, fast */
#define CAUTIOUS_AT     0.92 /* hits, of all guesses */
#define CAUTIOUS_PIECES 4

static double hits(const struct guesses *guesses)
{
    return ((double)guesses->good + 1) / ((double)(guesses->good + guesses->empties) + 1);
}

/* Further guesses that the empty answers so far leave. */
static double afford(const struct guesses *guesses, const struct guess_rules *rules, double out)
{
    double left = rules->free_empties - (double)guesses->empties;
    if (left >= 0)
        return 1e9;
    left += EMPTIES_SHARE * (double)guesses->good;
    return MAX(left, 0) / MAX(1 - hits(guesses), LEAST_CHANCE) - out;
}

int guesses_budget(const struct guesses *guesses, const struct guess_rules *rules, size_t out,
                   size_t slots)
{
    double known = rules->first * (double)guesses->good - (double)out;
    double trickle = MAX((double)slots / TRICKLE, 1) - (double)out;
    double budget = MIN(known, MAX(afford(guesses, rules, (double)out), trickle));
    return (int)MAX(MIN(budget, (double)slots), 0);
}

double guesses_least_piece(const struct guesses *guesses, bool is_bounded)
{
    if (!is_bounded)
        return hits(guesses) > CAUTIOUS_AT ? LEAST : hits(guesses) > 0.8 ? LEAST * 1.3 : LEAST * 2;
    double wasted = guesses->waste + (double)guesses->empties + 1;
    double excess = wasted / ((double)guesses->good + PRIOR_GOOD) / WASTE_SHARE;
    return excess > 1 ? LEAST_BOUNDED * excess * excess : LEAST_BOUNDED;
}

int guesses_most_pieces(const struct guesses *guesses)
{
    return hits(guesses) < CAUTIOUS_AT ? CAUTIOUS_PIECES : INT16_MAX;
}
