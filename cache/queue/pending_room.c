/* SPDX-License-Identifier: MIT */
#include "cache/queue/pending_room.h"
#include "cache/queue/pending_parts.h"

size_t room_for_queue_locked(const struct pending *pending)
{
    size_t max_bytes = pending->limits.max_bytes;
    return max_bytes - MIN(pending->reserved, max_bytes - max_bytes / 8);
}

static bool has_room_locked(const struct pending *pending)
{
    return pending->queued == 0 || pending->queue.bytes <= room_for_queue_locked(pending);
}

static int wait_locked(struct pending *pending, struct call *call)
{
    int r = 0;
    pending->waiting++;
    while (r == 0 && !has_room_locked(pending)) {
        r = queue_check_answers_locked(pending, call);
        if (r < 0)
            break;
        queue_hurry_for_bytes_locked(pending);
        monitor_wait(&pending->monitor);
        r = pending_check_locked(pending, call, "the queue of changes was full for too long");
    }
    pending->waiting--;
    return r;
}

static void set_reserved_locked(struct pending *pending, size_t before, size_t after)
{
    pending->reserved += after;
    pending->reserved -= before;
    if (after < before && pending->waiting > 0)
        monitor_notify(&pending->monitor);
}

static int refuse(struct call *call)
{
    (void)call_fail(call, -ENOSPC, "the texts of files that are open for writing fill their room");
    call->failure.advice = "close some of them, or mount with a larger -o pending_size";
    return -ENOSPC;
}

int pending_reserve(struct pending *pending, size_t own, size_t more, struct call *call)
{
    INSIDE(&pending->monitor);
    size_t others = pending->reserved - own;
    bool is_over = pending->reserved + more > pending->limits.max_bytes;
    int r = others > 0 && is_over ? refuse(call) : 0;
    if (r == 0) {
        set_reserved_locked(pending, 0, more);
        r = wait_locked(pending, call);
        if (r < 0)
            set_reserved_locked(pending, more, 0);
    }
    return r;
}

void pending_set_reserved(struct pending *pending, size_t before, size_t after)
{
    INSIDE(&pending->monitor);
    set_reserved_locked(pending, before, after);
}
