/* SPDX-License-Identifier: MIT */
#include "client/base/backoff.h"
#include "client/base/base.h"

int64_t backoff_wait_ms(int failures, double chance, int retry_after_ms)
{
    if (retry_after_ms > 0)
        return retry_after_ms;
    double factor = 0.8 + 0.4 * chance;
    int exponent = MIN(failures, 20); /* MAX is reached before; keeps the shift defined */
    double wait = BACKOFF_MIN_MS + factor * BACKOFF_STEP_MS * (double)((1 << exponent) - 1);
    return (int64_t)MIN(wait, BACKOFF_MAX_MS);
}
