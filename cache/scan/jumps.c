#include "cache/scan/jumps.h"

int jumps_init(struct jumps *jumps, struct range range, const struct scan_limits *limits)
{
    *jumps = (struct jumps){.page_rows = limits->page_rows, .window_bytes = limits->window_bytes};
    int r = partition_map_init(&jumps->map, range);
    return r < 0 ? r : key_splitter_init(&jumps->splitter);
}

void jumps_finish(struct jumps *jumps)
{
    partition_map_finish(&jumps->map);
    key_splitter_finish(&jumps->splitter);
}

bool jumps_has_room(const struct jumps *jumps)
{
    const struct partition_map *map = &jumps->map;
    return jumps->window_bytes == 0 ||
           map->bytes + (map->asked + 1) * jumps->page_bytes <= jumps->window_bytes;
}

void jumps_ask(struct jumps *jumps, struct known *item, struct scan_request *ret)
{
    bool is_first = TAILQ_FIRST(&jumps->map.gaps) == item;
    partition_map_ask(&jumps->map, item, ret);
    ret->top = jumps->is_huge ? MIN(JUMP_TOP_MIN, jumps->page_rows) : jumps->page_rows;
    ret->is_head = is_first;
    ret->is_speculative = item->gap->is_guess && !is_first && jumps->map.asked > 1;
}

static void adapt_top(struct jumps *jumps, const struct known *item, const struct answer *answer)
{
    size_t rows = page_rows(answer->page);
    struct bytes covered = page_range(answer->page).hi, end = buffer_bytes(&item->gap->hi);
    if (rows == 0)
        return;
    bool is_one = bytes_equal(position_partition_key(page_position(answer->page, 0)),
                              position_partition_key(page_position(answer->page, rows - 1)));
    bool has_more = bytes_compare(covered, end) < 0;
    jumps->is_huge = is_one && has_more && rows >= JUMP_TOP_MIN;
}

int jumps_tell(struct jumps *jumps, struct known *item, struct answer *answer)
{
    jumps->page_bytes = MAX(jumps->page_bytes, page_bytes(answer->page));
    adapt_top(jumps, item, answer);
    size_t known = jumps->map.partitions;
    int learned = key_splitter_learn(&jumps->splitter, item, answer->page);
    int r = partition_map_tell(&jumps->map, item, answer);
    jumps->pages += page_rows(answer->page) > 0;
    jumps->keys += jumps->map.partitions - known;
    answer_finish(answer);
    return MIN(learned, r);
}

double jumps_pages(const struct jumps *jumps, size_t keys)
{
    return (double)keys * (double)jumps->pages / (double)MAX(jumps->keys, 1);
}
