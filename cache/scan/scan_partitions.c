/* The distinct partition keys of a range. Free slots jump from places further on, where the key
 * model expects keys; the keys that they find wait for those before them. */
#include "cache/scan/jumps.h"

struct partition_scan {
    struct scan scan;
    struct jumps jumps;
    struct known *taken; /* its key was handed out */
};

static bool partitions_ask(struct scan *scan, int idle, struct scan_request *ret)
{
    struct jumps *jumps = &((struct partition_scan *)scan)->jumps;
    bool has_room = jumps_has_room(jumps);
    if (has_room) /* out of memory: fewer questions, no more */
        (void)key_splitter_fill(&jumps->splitter, &jumps->map, (size_t)idle, NULL);
    struct known *item = partition_map_first_open(&jumps->map);
    bool is_first = item == TAILQ_FIRST(&jumps->map.gaps); /* which everything waits for */
    if (!item || (!is_first && !has_room))
        return false;
    jumps_ask(jumps, item, ret);
    return true;
}

static int partitions_tell(struct scan *scan, uint64_t id, struct answer *answer)
{
    struct jumps *jumps = &((struct partition_scan *)scan)->jumps;
    return jumps_tell(jumps, partition_map_find(&jumps->map, id), answer);
}

static void partitions_give_back(struct scan *scan, uint64_t id)
{
    struct partition_map *map = &((struct partition_scan *)scan)->jumps.map;
    partition_map_give_back(map, partition_map_find(map, id));
}

static enum scan_state partitions_take(struct scan *scan, struct scan_item *ret)
{
    struct partition_scan *self = (struct partition_scan *)scan;
    struct partition_map *map = &self->jumps.map;
    if (self->taken)
        partition_map_remove(map, TAKE_PTR(self->taken));
    struct known *first = TAILQ_FIRST(&map->list);
    if (!first)
        return SCAN_END;
    if (first->gap)
        return SCAN_WAIT;
    *ret = (struct scan_item){
        .kind = SCAN_PARTITION, .key = first->key, .pages = jumps_pages(&self->jumps, 1)};
    self->taken = first;
    return SCAN_ITEM;
}

static double partitions_waiting(const struct scan *scan)
{
    const struct partition_scan *self = (const struct partition_scan *)scan;
    return jumps_pages(&self->jumps, self->jumps.map.partitions - (self->taken != NULL));
}

static void partitions_destroy(struct scan *scan)
{
    struct partition_scan *self = (struct partition_scan *)scan;
    jumps_finish(&self->jumps);
    free(self);
}

static const struct scan_ops partitions_ops = {.ask = partitions_ask,
                                               .tell = partitions_tell,
                                               .give_back = partitions_give_back,
                                               .take = partitions_take,
                                               .waiting = partitions_waiting,
                                               .destroy = partitions_destroy};

int scan_partitions_create(struct range range, const struct scan_limits *limits, struct scan **ret)
{
    struct partition_scan *self = calloc(1, sizeof(*self));
    if (!self)
        return -ENOMEM;
    _cleanup_(scan_destroyp) struct scan *scan = &self->scan;
    self->scan.ops = &partitions_ops;
    int r = jumps_init(&self->jumps, range, limits);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(scan);
    return 0;
}
