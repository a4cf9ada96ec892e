/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_BACKOFF_H
#define CLIENT_BASE_BACKOFF_H
/* How long to wait before the next attempt. Pure. */
#include <stdint.h>

#define BACKOFF_MIN_MS  50
#define BACKOFF_STEP_MS 200
#define BACKOFF_MAX_MS  8000

/* The wait after `failures` consecutive failures (from 1): min(MIN + c * STEP * (2^failures - 1),
 * MAX). `chance`, a random number in [0, 1], gives c from 0.8 to 1.2. If the service sent a
 * Retry-After (> 0), the result is that. */
int64_t backoff_wait_ms(int failures, double chance, int retry_after_ms);

#endif
