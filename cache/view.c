#include "cache/view.h"

struct stamp view_not_before(struct view *view, int64_t not_before_ms)
{
    if (not_before_ms >= clock_now_ms(view->clock)) /* ttl 0 */
        return stamp_from_now(&view->orders, not_before_ms);
    return stamp_since(not_before_ms);
}

struct stamp view_since(struct view *view, const struct caller *caller, const char *table,
                        struct bytes position)
{
    int64_t now_ms = clock_now_ms(view->clock);
    return view_not_before(
        view, process_history_not_before(view->history, caller->process, table, position, now_ms));
}

void view_set_valid(const struct view *view, struct caller *caller, int64_t asked_ms)
{
    caller->valid_ms = MAX(asked_ms + view->ttl_ms - clock_now_ms(view->clock), 0);
}
