/* SPDX-License-Identifier: MIT */
/* The parts of a directory, for `tablefuse split`. */
#include "cache/core.h"
#include "cache/scan/equal_parts.h"

/* Gives the parts to the sink: each ends where the next one begins. */
struct part_list {
    part_sink *sink;
    void *context;
    struct buffer begin; /* of the next part */
};

static int add_part(struct part_list *list, struct bytes end)
{
    int r = list->sink(list->context, (struct range){buffer_bytes(&list->begin), end});
    return r != 0 ? r : buffer_set(&list->begin, end);
}

static int split_by_few(struct account *account, struct caller *caller,
                        const struct directory *directory, size_t parts, struct part_list *list)
{
    _cleanup_(prefetcher_leavep) struct prefetcher *prefetcher = NULL;
    struct scan_item item;
    int r = read_ahead_borders(account->read_ahead, caller, directory->table, directory->range,
                               parts, &prefetcher);
    while (r == 0) {
        caller_made_progress(caller, account->read.clock);
        r = prefetcher_next(prefetcher, caller, true, &item);
        if (r <= 0)
            return r;
        r = add_part(list, item.key);
    }
    return r;
}

struct counted {
    struct equal_parts *equal;
    rows_sink *rows;
    void *context;
};

static int count_rows(void *context, const struct run *rows)
{
    struct counted *counted = context;
    int r = 0;
    for (size_t row = rows->begin; row < rows->end && r == 0; row++)
        r = equal_parts_add(counted->equal, page_position(rows->page, row), 1);
    return r < 0 ? r : counted->rows(counted->context, rows);
}

static int split_by_all(struct account *account, struct caller *caller,
                        const struct directory *directory, const struct split_choice *choice,
                        struct part_list *list)
{
    _cleanup_(equal_parts_destroyp) struct equal_parts *equal = NULL;
    const struct row_choice keys = {.keys_only = true};
    int r = equal_parts_create(directory->range, choice->parts, &equal);
    struct counted counted = {equal, choice->rows, list->context};
    if (r == 0)
        r = account_export(account, caller, directory, &keys, count_rows, &counted);
    for (size_t part = 1; part < choice->parts && r == 0; part++)
        r = add_part(list, equal_parts_next(equal));
    return r;
}

int account_split(struct account *account, struct caller *caller, const struct directory *directory,
                  const struct split_choice *choice, part_sink *sink, void *context)
{
    struct part_list list = {.sink = sink, .context = context};
    buffer_init(&list.begin, POSITION_MAX_BYTES);
    int r = buffer_append(&list.begin, directory->range.lo);
    if (r == 0)
        r = choice->rows ? split_by_all(account, caller, directory, choice, &list)
                         : split_by_few(account, caller, directory, choice->parts, &list);
    if (r == 0)
        r = add_part(&list, directory->range.hi);
    buffer_finish(&list.begin);
    if (r == -ENOMEM)
        (void)call_fail(&caller->call, r, "out of memory");
    return r;
}
