#include "cache/read/passages.h"
#include "client/table_store.h"

#define ORDERED_STREAK 2 /* so many steps, each behind the one before, are no accident */

/* Rows for each step that was in order. */
static const int step_rows[WAYS] = {[WAY_ROWS] = 2, [WAY_PARTITIONS] = PASSAGES_STEP_ROWS};

void passages_init(struct passages *passages)
{
    *passages = (struct passages){0};
    for (enum way way = 0; way < WAYS; way++)
        for (size_t i = 0; i < PASSAGES; i++)
            region_init(&passages->ways[way][i].last);
}

void passages_finish(struct passages *passages)
{
    for (enum way way = 0; way < WAYS; way++)
        for (size_t i = 0; i < PASSAGES; i++)
            region_finish(&passages->ways[way][i].last);
}

static struct bytes step_at(enum way way, struct bytes position)
{
    return way == WAY_ROWS ? position : position_partition_key(position);
}

static bool is_on(const struct passage *passage, enum way way, const char *table,
                  struct bytes position)
{
    const struct region *last = &passage->last;
    if (!region_is_set(last) || !is_same_table(last->table, table))
        return false;
    struct bytes key = position_partition_key(position);
    return way == WAY_PARTITIONS || bytes_equal(position_partition_key(last->range.lo), key);
}

/* Where the passage is, or will be: in place of what was not used for longest. */
static size_t find(const struct passages *passages, enum way way, const char *table,
                   struct bytes position)
{
    size_t i = 0;
    while (i < PASSAGES - 1 && !is_on(&passages->ways[way][i], way, table, position))
        i++;
    return i;
}

/* NULL: none. */
static const struct passage *find_known(const struct passages *passages, enum way way,
                                        const char *table, struct bytes position)
{
    const struct passage *passage = &passages->ways[way][find(passages, way, table, position)];
    return is_on(passage, way, table, position) ? passage : NULL;
}

static void advance(struct passage *passage, enum way way, const char *table, struct bytes position)
{
    struct bytes step = step_at(way, position);
    if (!is_on(passage, way, table, position)) {
        *passage = (struct passage){.last = passage->last, .is_new = true, .asks = 1};
    } else {
        int order = bytes_compare(step, passage->last.range.lo);
        if (order == 0)
            return;
        passage->streak = order > 0 ? MIN(passage->streak + 1, TABLE_STORE_PAGE_ROWS) : 0;
        passage->is_new = false;
        passage->asks++;
    }
    (void)region_set(&passage->last, table, (struct range){.lo = step});
}

void passages_go(struct passages *passages, enum way way, const char *table, struct bytes position)
{
    struct passage *first = passages->ways[way];
    size_t i = find(passages, way, table, position);
    struct passage passage = first[i];
    memmove(&first[1], &first[0], i * sizeof(passage));
    advance(&passage, way, table, position);
    first[0] = passage;
}

bool passages_are_new(const struct passages *passages, enum way way, const char *table,
                      struct bytes position)
{
    const struct passage *passage = find_known(passages, way, table, position);
    return !passage || passage->is_new;
}

bool passages_are_in_order(const struct passages *passages, enum way way, const char *table,
                           struct bytes position)
{
    const struct passage *passage = find_known(passages, way, table, position);
    return passage && passage->streak >= ORDERED_STREAK;
}

int passages_rows(const struct passages *passages, enum way way, const char *table,
                  struct bytes position, size_t max_bytes)
{
    const struct passage *passage = find_known(passages, way, table, position);
    if (!passage || passage->streak < ORDERED_STREAK)
        return 0;
    int order = bytes_compare(step_at(way, position), passage->last.range.lo);
    if (order < 0 || (way == WAY_PARTITIONS && order == 0)) /* it is in there already */
        return 0;
    int rows = MIN(passage->streak * step_rows[way], TABLE_STORE_PAGE_ROWS);
    if (passage->row_bytes > 0)
        rows = (int)MIN((size_t)rows, max_bytes / passage->row_bytes);
    return MAX(rows, 1);
}

void passages_missed(struct passages *passages, enum way way, const char *table,
                     struct bytes position, size_t rows, size_t bytes)
{
    struct passage *passage = &passages->ways[way][find(passages, way, table, position)];
    if (!is_on(passage, way, table, position))
        return;
    bool was_for_nothing = passage->missed_rows > 1 && passage->asks <= 1; /* for this */
    if (was_for_nothing || (way == WAY_PARTITIONS && rows == 0))
        passage->streak = 0;
    passage->asks = 0;
    passage->missed_rows = rows;
    if (rows > 0)
        passage->row_bytes = bytes / rows;
}

bool passages_last(const struct passages *passages, const char *table, struct range range,
                   struct buffer *ret_position)
{
    buffer_clear(ret_position);
    for (size_t i = 0; i < PASSAGES; i++) {
        const struct passage *passage = &passages->ways[WAY_ROWS][i];
        const struct region *last = &passage->last;
        if (passage->streak >= ORDERED_STREAK && region_is_set(last) &&
            is_same_table(last->table, table) && range_holds(range, last->range.lo))
            return buffer_append(ret_position, last->range.lo) == 0;
    }
    return false;
}
