/* SPDX-License-Identifier: MIT */
#include "cache/scan/scan.h"

bool scan_next_request(struct scan *scan, int idle, struct scan_request *ret)
{
    return scan->ops->next_request(scan, idle, ret);
}

int scan_add_answer(struct scan *scan, uint64_t id, struct answer *answer)
{
    return scan->ops->add_answer(scan, id, answer);
}

void scan_give_back(struct scan *scan, uint64_t id)
{
    scan->ops->give_back(scan, id);
}

enum scan_state scan_take(struct scan *scan, struct scan_item *ret)
{
    return scan->ops->take(scan, ret);
}

double scan_waiting(const struct scan *scan)
{
    return scan->ops->waiting(scan);
}

void scan_set_window(struct scan *scan, size_t window_bytes)
{
    if (scan->ops->set_window)
        scan->ops->set_window(scan, window_bytes);
}

void scan_destroy(struct scan *scan)
{
    if (scan)
        scan->ops->destroy(scan);
}
