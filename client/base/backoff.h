/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_BACKOFF_H
#define CLIENT_BASE_BACKOFF_H
/* How long to wait before the next attempt. Pure. */
#include <stdint.h>

#define BACKOFF_MIN_MS  50
#define BACKOFF_STEP_MS 200
#define BACKOFF_MAX_MS  8000

/* The wait after `failures` failures in a row (from 1): min(MIN + c * STEP * (2^failures - 1),
 * MAX). `chance` in [0, 1] chooses c from 0.8 to 1.2. A Retry-After of the service (> 0) replaces
 * the result. */
int64_t backoff_wait_ms(int failures, double chance, int retry_after_ms);

#endif
