/* SPDX-License-Identifier: MIT */
/* A mutant for the soak: a change does not wait for another change of its entity. */
#include "cache/queue/pending.h"

/* How many positions this thread should have claimed, and has not. */
static _Thread_local size_t unclaimed;

int __real_pending_claim(struct pending *pending, const char *table, const struct bytes *positions,
                         size_t n, struct call *call);
void __real_pending_release(struct pending *pending, const char *table,
                            const struct bytes *positions, size_t n);
int __wrap_pending_claim(struct pending *pending, const char *table, const struct bytes *positions,
                         size_t n, struct call *call);
void __wrap_pending_release(struct pending *pending, const char *table,
                            const struct bytes *positions, size_t n);

int __wrap_pending_claim(struct pending *pending, const char *table, const struct bytes *positions,
                         size_t n, struct call *call)
{
    if (n == 1 && table && pending_is_changing(pending, table, positions[0])) {
        unclaimed++;
        return 0;
    }
    return __real_pending_claim(pending, table, positions, n, call);
}

void __wrap_pending_release(struct pending *pending, const char *table,
                            const struct bytes *positions, size_t n)
{
    if (n == 1 && table && unclaimed > 0)
        unclaimed--;
    else
        __real_pending_release(pending, table, positions, n);
}
