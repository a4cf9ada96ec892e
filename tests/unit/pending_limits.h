/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_PENDING_LIMITS_H
#define TESTS_UNIT_PENDING_LIMITS_H
/* For tests to which the limits of the queue do not matter. */
#include "cache/queue/pending_queue.h"

static const struct pending_limits no_limits = {
    .max_bytes = SIZE_MAX, .batch_writes = PENDING_BATCH_MAX, .batch_bytes = SIZE_MAX};

#endif
