#include "cache/view.h"

/* Of now or later, unless a listing decides: from now on. That is what ttl 0 means. */
static struct stamp wanted(struct view *view, int64_t now_ms, int64_t not_before_ms, bool is_served)
{
    return is_served || not_before_ms < now_ms ? stamp_since(not_before_ms)
                                               : stamp_from_now(&view->orders, now_ms);
}

struct stamp view_since(struct view *view, const struct caller *caller, const char *table,
                        struct bytes position)
{
    int64_t now_ms = clock_now_ms(view->clock);
    bool is_served;
    int64_t not_before_ms = process_history_not_before(view->history, caller->process, table,
                                                       position, now_ms, &is_served);
    return wanted(view, now_ms, not_before_ms, is_served);
}

struct stamp view_listing_begins(struct view *view, const struct caller *caller,
                                 const struct directory *directory)
{
    int64_t now_ms = clock_now_ms(view->clock);
    bool is_served;
    int64_t not_before_ms = process_history_listing_not_before(view->history, caller->process,
                                                               directory, now_ms, &is_served);
    return wanted(view, now_ms, not_before_ms, is_served);
}

struct stamp view_listing_since(const struct view *view, struct stamp began)
{
    int64_t oldest_ms = clock_now_ms(view->clock) - MAX(PROCESS_HISTORY_KEPT_MS, view->ttl_ms);
    began.asked_ms = MAX(began.asked_ms, oldest_ms);
    return began;
}

void view_set_valid(const struct view *view, struct caller *caller, int64_t asked_ms)
{
    caller->valid_ms = MAX(asked_ms + view->ttl_ms - clock_now_ms(view->clock), 0);
}
