/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_HTTP_ANSWER_BUDGET_H
#define CLIENT_HTTP_ANSWER_BUDGET_H
/* How many bytes the answers in flight may have in all. An answer is charged as it grows. Where
 * there is no room, it waits; the one that has waited longest may go on beyond the limit, so that
 * the answers end one after the other. So the bytes are at most the limit and one answer. Any
 * thread; one leaf mutex. No function blocks: the caller of a waiting answer calls
 * answer_budget_take again. */
#include "client/base/base.h"

#include <pthread.h>
#include <sys/queue.h>

struct answer_wait { /* of one answer, in its owner's memory; at first zero; private */
    bool is_listed;
    TAILQ_ENTRY(answer_wait) entries;
};

struct answer_budget { /* private to answer_budget.c */
    pthread_mutex_t lock;
    size_t max_bytes, used_bytes;
    TAILQ_HEAD(answer_waits, answer_wait) waits; /* in order of arrival */
};

void answer_budget_init(struct answer_budget *budget, size_t max_bytes);
void answer_budget_finish(struct answer_budget *budget);
/* Charges n bytes. False: there is no room now, and the answer waits from now on. */
bool answer_budget_take(struct answer_budget *budget, struct answer_wait *wait, size_t n);
/* The answer grows no more. What was charged stays. */
void answer_budget_stop(struct answer_budget *budget, struct answer_wait *wait);
void answer_budget_give_back(struct answer_budget *budget, size_t n);

#endif
