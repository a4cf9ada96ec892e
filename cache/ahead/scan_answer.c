/* SPDX-License-Identifier: MIT */
#include "cache/ahead/scan_answer.h"

static struct question known_of(const struct scan_question *question, bool keys_suffice)
{
    return (struct question){.table = question->table,
                             .range = question->request->range,
                             .since = question->since,
                             .keys_suffice = keys_suffice};
}

static int answer_rows(struct overlay *overlay, struct fetcher *fetcher, struct caller *caller,
                       const struct scan_question *question, struct answer *ret,
                       struct seen *ret_seen)
{
    const struct scan_request *request = question->request;
    struct question known = known_of(question, request->keys_only);
    struct query query = {.table = question->table,
                          .range = request->range,
                          .filter = question->filter,
                          .select = question->select,
                          .after = request->after,
                          .top = request->top,
                          .keys_only = request->keys_only};
    bool may_know = !request->after && !question->is_apart && !question->filter;
    ret->page = may_know ? overlay_known_page(overlay, &known) : NULL;
    ret_seen->was_fetched = !ret->page;
    return ret->page ? 0 : fetcher_query(fetcher, caller, &query, !question->is_apart, ret);
}

int scan_answer(struct overlay *overlay, struct fetcher *fetcher, struct caller *caller,
                const struct scan_question *question, struct answer *ret, struct seen *ret_seen)
{
    bool is_of_rows = question->kind == READ_ROWS || question->kind == READ_KEYS ||
                      question->kind == READ_BORDERS;
    if (is_of_rows && !question->request->is_of_names)
        return answer_rows(overlay, fetcher, caller, question, ret, ret_seen);
    struct question known = known_of(question, true);
    return overlay_keys(overlay, caller, &known, question->request->top, &ret->page, ret_seen);
}
