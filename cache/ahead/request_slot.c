/* SPDX-License-Identifier: MIT */
#include "cache/ahead/request_slot.h"

/* When the last attempt began. */
static int64_t sent_ms(const struct request_slot *slot)
{
    return MAX(slot->began_ms, slot->call->sent_ms);
}

/* The first failed attempt is reported: the window is halved before the request ends. */
static void note_wait(struct call_observer *observer, const struct failure *reason)
{
    struct request_slot *slot = (struct request_slot *)observer;
    (void)reason;
    if (!slot->is_reported)
        request_window_throttled(slot->window, sent_ms(slot), clock_now_ms(slot->clock));
    slot->is_reported = true;
}

void request_slot_begin(struct request_slot *slot, struct call *call, const struct clock *clock)
{
    slot->observer = (struct call_observer){.waits = note_wait, .outer = call->observer};
    slot->call = call;
    slot->clock = clock;
    slot->began_ms = clock_now_ms(clock);
    call->observer = &slot->observer;
}

static enum request_end choose_end(const struct request_slot *slot, int r, enum request_end end)
{
    const struct call *call = slot->call;
    if (slot->is_reported)
        return REQUEST_OTHER;
    if (call->repeats > 0 || (r < 0 && call->failure.is_retryable))
        return REQUEST_THROTTLED;
    return end;
}

void request_slot_end(struct request_slot *slot, struct call *call, int r, enum request_end end)
{
    end = choose_end(slot, r, end);
    int64_t now_ms = clock_now_ms(slot->clock);
    call->observer = slot->observer.outer;
    request_window_leave(slot->window, slot->lane, end, sent_ms(slot), now_ms);
}
