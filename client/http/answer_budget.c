/* SPDX-License-Identifier: MIT */
#include "client/http/answer_budget.h"
#include "client/base/locked.h"

void answer_budget_init(struct answer_budget *budget, size_t max_bytes)
{
    *budget = (struct answer_budget){.max_bytes = max_bytes};
    TAILQ_INIT(&budget->waits);
    (void)pthread_mutex_init(&budget->lock, NULL);
}

void answer_budget_finish(struct answer_budget *budget)
{
    (void)pthread_mutex_destroy(&budget->lock);
}

/* One that has waited stays in its place until its answer has ended, so it waits only once. */
bool answer_budget_take(struct answer_budget *budget, struct answer_wait *wait, size_t n)
{
    LOCKED(&budget->lock);
    bool has_room = n <= budget->max_bytes - MIN(budget->used_bytes, budget->max_bytes);
    if (!has_room && !wait->is_listed) {
        TAILQ_INSERT_TAIL(&budget->waits, wait, entries);
        wait->is_listed = true;
    }
    bool is_taken = has_room || TAILQ_FIRST(&budget->waits) == wait;
    budget->used_bytes += is_taken ? n : 0;
    return is_taken;
}

void answer_budget_stop(struct answer_budget *budget, struct answer_wait *wait)
{
    LOCKED(&budget->lock);
    if (wait->is_listed)
        TAILQ_REMOVE(&budget->waits, wait, entries);
    wait->is_listed = false;
}

void answer_budget_give_back(struct answer_budget *budget, size_t n)
{
    LOCKED(&budget->lock);
    budget->used_bytes -= n;
}
