/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_HTTP_ANSWER_BUDGET_H
#define CLIENT_HTTP_ANSWER_BUDGET_H
/* Limits the bytes of all answers in flight together. An answer is charged as it grows. If there is
 * no room, it waits. The one that began to wait first may exceed the limit, so that always one
 * answer can end. So the answers take at most max_bytes plus the bytes of one answer. Any thread;
 * one leaf mutex. No function blocks: the caller of a waiting answer calls answer_budget_take
 * again. */
#include "client/base/base.h"

#include <pthread.h>
#include <sys/queue.h>

struct answer_wait { /* of one answer, embedded, or on the stack, zeroed at first; private */
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
/* Charges n bytes. False: there is no room: nothing is charged, the answer waits from now on. */
bool answer_budget_take(struct answer_budget *budget, struct answer_wait *wait, size_t n);
/* The answer is complete, or failed: it no longer waits. Its bytes stay charged. */
void answer_budget_stop(struct answer_budget *budget, struct answer_wait *wait);
void answer_budget_give_back(struct answer_budget *budget, size_t n);

#endif
