/* SPDX-License-Identifier: MIT */
/* A mutant for the soak: a change that is made at once does not wait for another change of its
 * entity. A change that is queued still waits, because the queue has one change per position. */
#include "cache/queue/pending_queue.h"

#define SKIPPED_MAX 4 /* positions that a caller has at a time */

/* The claims that this thread seems to have. */
static _Thread_local struct {
    const char *table; /* NULL: free */
    struct bytes position;
} skipped[SKIPPED_MAX];

int __real_pending_claim(struct pending *pending, const char *table, const struct bytes *positions,
                         size_t n, struct call *call);
void __real_pending_release(struct pending *pending, const char *table,
                            const struct bytes *positions, size_t n);
int __real_pending_queue(struct pending *pending, const char *table,
                         const struct queued_change *change, struct call *call);
int __wrap_pending_claim(struct pending *pending, const char *table, const struct bytes *positions,
                         size_t n, struct call *call);
void __wrap_pending_release(struct pending *pending, const char *table,
                            const struct bytes *positions, size_t n);
int __wrap_pending_queue(struct pending *pending, const char *table,
                         const struct queued_change *change, struct call *call);

/* True: there was room. The caller keeps the table's name and the position until it releases. */
static bool skip(const char *table, struct bytes position)
{
    for (size_t i = 0; i < SKIPPED_MAX; i++) {
        if (skipped[i].table)
            continue;
        skipped[i].table = table;
        skipped[i].position = position;
        return true;
    }
    return false;
}

/* False: the claim is a real one. */
static bool forget(const char *table, struct bytes position)
{
    for (size_t i = 0; i < SKIPPED_MAX; i++) {
        if (!skipped[i].table || strcmp(skipped[i].table, table) != 0 ||
            bytes_compare(skipped[i].position, position) != 0)
            continue;
        skipped[i].table = NULL;
        return true;
    }
    return false;
}

int __wrap_pending_claim(struct pending *pending, const char *table, const struct bytes *positions,
                         size_t n, struct call *call)
{
    if (n == 1 && table && pending_is_changing(pending, table, positions[0]) &&
        skip(table, positions[0]))
        return 0;
    return __real_pending_claim(pending, table, positions, n, call);
}

void __wrap_pending_release(struct pending *pending, const char *table,
                            const struct bytes *positions, size_t n)
{
    if (n != 1 || !table || !forget(table, positions[0]))
        __real_pending_release(pending, table, positions, n);
}

int __wrap_pending_queue(struct pending *pending, const char *table,
                         const struct queued_change *change, struct call *call)
{
    struct bytes position = change->write.position;
    bool was_skipped = forget(table, position);
    int r = was_skipped ? __real_pending_claim(pending, table, &position, 1, call) : 0;
    if (r < 0) {
        (void)skip(table, position);
        return r;
    }
    return __real_pending_queue(pending, table, change, call);
}
