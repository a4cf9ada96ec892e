/* SPDX-License-Identifier: MIT */
#include "cache/ahead/scan_answer.h"

static struct question known_of(const struct scan_query *wanted, bool keys_suffice)
{
    return (struct question){.table = wanted->table,
                             .range = wanted->request->range,
                             .since = wanted->since,
                             .keys_suffice = keys_suffice};
}

static int answer_rows(struct overlay *overlay, struct fetcher *fetcher, struct caller *caller,
                       const struct scan_query *wanted, struct answer *ret, struct seen *ret_seen)
{
    const struct scan_request *request = wanted->request;
    struct question known = known_of(wanted, request->keys_only);
    struct query query = {.table = wanted->table,
                          .range = request->range,
                          .filter = wanted->filter,
                          .select = wanted->select,
                          .after = request->after,
                          .top = request->top,
                          .keys_only = request->keys_only};
    bool may_know = !request->after && !wanted->is_apart && !wanted->filter;
    ret->page = may_know ? overlay_known_page(overlay, &known) : NULL;
    ret_seen->was_fetched = !ret->page;
    return ret->page ? 0 : fetcher_query(fetcher, caller, &query, !wanted->is_apart, ret);
}

int scan_answer(struct overlay *overlay, struct fetcher *fetcher, struct caller *caller,
                const struct scan_query *wanted, struct answer *ret, struct seen *ret_seen)
{
    bool is_of_rows =
        wanted->kind == READ_ROWS || wanted->kind == READ_KEYS || wanted->kind == READ_BORDERS;
    if (is_of_rows && !wanted->request->is_of_names)
        return answer_rows(overlay, fetcher, caller, wanted, ret, ret_seen);
    struct question known = known_of(wanted, true);
    return overlay_keys(overlay, caller, &known, wanted->request->top, &ret->page, ret_seen);
}
