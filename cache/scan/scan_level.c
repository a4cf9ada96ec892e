/* SPDX-License-Identifier: MIT */
/* Both scans of keys: the partitions of a range, and what a level shows.
 *
 * A page shows some partitions, and rows of the last one. The next request is for the partitions
 * after that one (`PartitionKey gt last`), never for its other rows, so ten huge partitions cost
 * ten requests: these are jumps. Free slots jump from places further on, where the key model
 * expects keys.
 *
 * A level in three steps, all by requests for the gaps of a partition map:
 * 1. Jumps count the partitions. If there are at most `fanout`, their keys are the names.
 * 2. If there are more, a ladder finds the beginning that all keys share.
 * 3. A skip-scan finds the children: the shared beginning and one more character. Two partitions of
 *    one child make it a name (a prefix), and its other keys need not be known: gaps inside it are
 *    cut away. A child with one partition shows that partition's key, once it is certain that no
 *    other partition starts with it.
 *
 * Example: "customer_000001" to "customer_030000" share "customer_0" and show the prefixes
 * "customer_00", "customer_01", "customer_02" and the partition "customer_030000".
 *
 * A prefix that ends in half a surrogate pair is not shown, since the pairs start with it, too. */
#include "cache/scan/key_splitter.h"
#include "client/base/unicode.h"

/* UNKNOWN -> PARTITIONS, if all gaps are known and there are at most `fanout` partitions
 * UNKNOWN -> MANY -> CHILDREN, if more are known; then, if their shared beginning is
 * A scan of the partitions of a range is PARTITIONS from the start. */
enum fate {
    FATE_UNKNOWN,
    FATE_PARTITIONS, /* the keys of the partitions are the names */
    FATE_MANY,       /* the children are the names; their shared beginning is sought */
    FATE_CHILDREN,   /* the children are the names, and are sought */
};

struct level_scan {
    struct scan scan;
    struct partition_map map;
    struct key_splitter splitter;
    enum fate fate;
    size_t fanout;
    size_t window_bytes; /* 0: unbounded */
    size_t page_bytes;   /* of the largest answer */
    int page_rows;
    bool is_huge;                 /* the last page was of one partition, and more of it follows */
    size_t pages, keys;           /* answers with rows, and the new keys that they showed */
    struct buffer prefix, common; /* of the level; the beginning that all keys share */
    struct known *taken;          /* the last name that was taken; NULL: none */
};

/* How many pages such keys filled, on average. */
static double pages_of(const struct level_scan *self, size_t keys)
{
    return (double)keys * (double)self->pages / (double)MAX(self->keys, 1);
}

/* A prefix counts as one key, although many were read for it. */
static double pages_waiting(const struct level_scan *self)
{
    return pages_of(self, self->map.partitions - (self->taken != NULL));
}

static bool is_high_surrogate(uint32_t character)
{
    return character >= 0xD800 && character <= 0xDBFF;
}

static bool is_shown(struct bytes prefix)
{
    size_t size;
    uint32_t last;
    return prefix_measure(prefix, &size, &last) && size <= PREFIX_MAX_BYTES &&
           !is_high_surrogate(last);
}

/* The shared beginning and the next character; only the beginning if that is the key. */
static struct bytes child(const struct level_scan *self, const struct known *item)
{
    uint32_t character;
    size_t size = self->common.size;
    return bytes_first(item->key, size + cesu8_next(bytes_skip(item->key, size), &character));
}

static bool is_child_shown(const struct level_scan *self, const struct known *item)
{
    struct bytes prefix = child(self, item);
    return prefix.size > self->common.size && is_shown(prefix);
}

static struct known *partition_at_or_after(struct known *item)
{
    while (item && item->gap)
        item = TAILQ_NEXT(item, link);
    return item;
}

static struct known *partition_at_or_before(struct known *item)
{
    while (item && item->gap)
        item = TAILQ_PREV(item, known_list, link);
    return item;
}

/* Two partitions of one child become one item that stands for all. An item that already did so is
 * kept, as it may have been taken. */
static struct known *join(struct level_scan *self, struct known *previous, struct known *item)
{
    if (!bytes_equal(child(self, previous), child(self, item)) || !is_child_shown(self, item))
        return item;
    struct known *kept = item->is_shared ? item : previous;
    kept->is_shared = true;
    partition_map_remove(&self->map, item->is_shared ? previous : item);
    return kept;
}

/* Joins all items from the partition `before` to the partition `behind`. NULL: an end of the list.
 */
static void join_between(struct level_scan *self, struct known *before, struct known *behind)
{
    struct known *kept = partition_at_or_before(before);
    struct known *end = partition_at_or_after(behind), *next;
    struct known *item = kept ? TAILQ_NEXT(kept, link) : TAILQ_FIRST(&self->map.list);
    for (bool is_end = false; item && !is_end; item = next) {
        next = TAILQ_NEXT(item, link);
        is_end = item == end;
        if (!item->gap)
            kept = kept ? join(self, kept, item) : item;
    }
}

static int append_behind(struct buffer *ret, struct bytes prefix)
{
    return prefix_append_successor(ret, prefix, BYTES_LITERAL(POSITION_END));
}

/* True: the gap was removed. Out of memory: it stays, and costs a request. */
static bool cut_from_gap(struct level_scan *self, struct known *gap, const struct known *shared)
{
    _cleanup_(buffer_finish) struct buffer successor = {.max = POSITION_MAX_BYTES};
    if (!shared || !shared->is_shared ||
        prefix_append_end(&successor, child(self, shared), BYTES_LITERAL(POSITION_END)) < 0)
        return false;
    struct range range = {child(self, shared), buffer_bytes(&successor)};
    return partition_map_cut(&self->map, gap, range);
}

/* Removes what need not be known: before the last name that was taken, or in a shared child.
 */
static void tidy(struct level_scan *self)
{
    struct partition_map *map = &self->map;
    struct known *item, *next;
    for (item = TAILQ_FIRST(&map->list); self->taken && item != self->taken; item = next) {
        next = TAILQ_NEXT(item, link);
        if (!item->gap || item->gap->state == GAP_OPEN)
            partition_map_remove(map, item);
    }
    for (item = TAILQ_FIRST(&map->gaps); self->fate == FATE_CHILDREN && item; item = next) {
        next = TAILQ_NEXT(item, gap_link);
        const struct known *behind = partition_at_or_after(item);
        if (!cut_from_gap(self, item, partition_at_or_before(item)))
            (void)cut_from_gap(self, item, behind);
    }
}

/* The beginning that all known keys share, a view. Half a surrogate pair is left out. */
static struct bytes known_common(const struct level_scan *self)
{
    const struct known_list *list = &self->map.list;
    const struct known *first_known = partition_at_or_after(TAILQ_FIRST(list));
    const struct known *last_known = partition_at_or_before(TAILQ_LAST(list, known_list));
    if (!first_known || !last_known)
        return buffer_bytes(&self->prefix);
    struct bytes first = first_known->key, last = last_known->key;
    size_t begin = self->prefix.size; /* which may be half a pair itself */
    size_t shared = shared_characters(bytes_skip(first, begin), bytes_skip(last, begin));
    struct bytes common = bytes_first(first, begin + shared);
    while (common.size > begin) {
        size_t size;
        uint32_t character;
        (void)prefix_measure(common, &size, &character);
        if (!is_high_surrogate(character))
            break;
        common.size -= 3;
    }
    return common;
}

/* If no gap reaches outside the keys that start with the known keys' beginning, all keys share it.
 */
static int settle_common(struct level_scan *self)
{
    _cleanup_(buffer_finish) struct buffer behind = {.max = POSITION_MAX_BYTES};
    const struct partition_map *map = &self->map;
    struct bytes common = known_common(self);
    int r = append_behind(&behind, common);
    if (r < 0)
        return r;
    if (!TAILQ_EMPTY(&map->gaps)) {
        const struct gap *first = TAILQ_FIRST(&map->gaps)->gap;
        const struct gap *last = TAILQ_LAST(&map->gaps, known_list)->gap;
        if (bytes_compare(buffer_bytes(&first->lo), common) < 0 ||
            bytes_compare(buffer_bytes(&last->hi), buffer_bytes(&behind)) > 0)
            return 0;
    }
    buffer_clear(&self->common); /* of an error, too */
    r = buffer_append(&self->common, common);
    if (r < 0)
        return r;
    self->fate = FATE_CHILDREN;
    join_between(self, NULL, NULL);
    return 0;
}

static int decide(struct level_scan *self)
{
    const struct partition_map *map = &self->map;
    if (self->fate == FATE_UNKNOWN && map->partitions > self->fanout)
        self->fate = FATE_MANY;
    else if (self->fate == FATE_UNKNOWN && TAILQ_EMPTY(&map->gaps))
        self->fate = FATE_PARTITIONS;
    return self->fate == FATE_MANY ? settle_common(self) : 0;
}

/* A key with illegal characters may lie in the range without starting with the prefix. */
static void drop_outside_prefix(struct level_scan *self, struct known *before,
                                const struct known *behind)
{
    struct known *item = before ? before : TAILQ_FIRST(&self->map.list), *next;
    for (; item && item != behind; item = next) {
        next = TAILQ_NEXT(item, link);
        if (!item->gap && !bytes_start_with(item->key, buffer_bytes(&self->prefix)))
            partition_map_remove(&self->map, item);
    }
}

static int top_of(const struct level_scan *self)
{
    return self->is_huge ? MIN(SCAN_HUGE_TOP, self->page_rows) : self->page_rows;
}

/* Do rows of the page's one partition follow? Then of the next page one key is used, too. */
static bool is_of_huge(const struct known *item, const struct page *page, int top)
{
    size_t rows = page_rows(page);
    bool has_more = bytes_compare(page_range(page).hi, buffer_bytes(&item->gap->hi)) < 0;
    bool is_one = rows > 0 && page_next_partition(page, 0, rows) == rows;
    return scan_is_of_huge(is_one ? 1 : 2, rows, top) && has_more;
}

static int take_answer(struct level_scan *self, struct known *item, const struct page *page)
{
    struct partition_map *map = &self->map;
    size_t known = map->partitions;
    self->page_bytes = MAX(self->page_bytes, page_bytes(page));
    if (page_rows(page) > 0)
        self->is_huge = is_of_huge(item, page, top_of(self));
    int learned = key_splitter_learn(&self->splitter, item, page);
    int r = partition_map_add_answer(map, item, page);
    self->pages += page_rows(page) > 0;
    self->keys += map->partitions - known;
    return MIN(learned, r);
}

static int level_add_answer(struct scan *scan, uint64_t id, struct answer *answer)
{
    struct level_scan *self = (struct level_scan *)scan;
    struct known *item = partition_map_find(&self->map, id);
    struct known *before = TAILQ_PREV(item, known_list, link), *behind = TAILQ_NEXT(item, link);
    int taken = take_answer(self, item, answer->page);
    answer_finish(answer);
    drop_outside_prefix(self, before, behind);
    if (self->fate == FATE_CHILDREN)
        join_between(self, before, behind);
    int r = decide(self);
    tidy(self);
    return MIN(taken, r);
}

static void level_give_back(struct scan *scan, uint64_t id)
{
    struct level_scan *self = (struct level_scan *)scan;
    struct partition_map *map = &self->map;
    partition_map_give_back(map, partition_map_find(map, id));
    tidy(self);
}

/* The search for keys that do not start with `key`, the beginning that all known keys share. */
struct search {
    struct bytes key;               /* a view of a known key */
    struct buffer behind;           /* the end after all keys that start with `key` */
    bool has_outside;               /* there are gaps where no key starts with it */
    struct known *outside, *across; /* the first open gaps: of these, and that reach there */
};

static struct bytes search_key(const struct level_scan *self)
{
    struct bytes key = known_common(self);
    if (self->map.partitions > 1)
        return key;
    return bytes_first(key, MAX(self->prefix.size, ladder_key_of_lone(key).size));
}

static void search_see(struct search *search, struct known *item)
{
    struct range gap = gap_range(item->gap);
    struct bytes behind = buffer_bytes(&search->behind);
    bool is_open = item->gap->state == GAP_OPEN;
    if (bytes_compare(gap.lo, behind) >= 0 || bytes_compare(gap.hi, search->key) <= 0) {
        search->has_outside = true;
        if (is_open && !search->outside)
            search->outside = item;
    } else if (is_open && !search->across &&
               (bytes_compare(gap.hi, behind) > 0 || bytes_compare(gap.lo, search->key) < 0)) {
        search->across = item;
    }
}

/* Out of memory: it is requested in one piece. */
static void search_cut(struct level_scan *self, struct search *search, size_t idle)
{
    struct partition_map *map = &self->map;
    struct range gap = gap_range(search->across->gap);
    size_t common = MAX(shared_in_range(border_key(gap.lo), gap.hi), self->prefix.size);
    size_t cuts = key_splitter_credit(&self->splitter, map, idle);
    size_t open = map->open;
    if (common >= search->key.size)
        return;
    (void)key_splitter_cut_as_ladder(map, search->across, search->key, common, MAX(cuts, 1));
    if (map->open > open)
        search->outside = partition_map_next_open(search->across);
}

/* The gap to request while the shared beginning is sought. Gaps inside it are for later. */
static struct known *find_on_ladder(struct level_scan *self, size_t idle)
{
    struct partition_map *map = &self->map;
    struct search search = {.key = search_key(self)};
    buffer_init(&search.behind, POSITION_MAX_BYTES);
    if (append_behind(&search.behind, search.key) == 0) {
        for (struct known *gap = TAILQ_FIRST(&map->gaps); gap; gap = TAILQ_NEXT(gap, gap_link))
            search_see(&search, gap);
        if (!search.has_outside && search.across)
            search_cut(self, &search, idle);
    }
    buffer_finish(&search.behind);
    if (search.outside)
        return search.outside;
    bool is_waiting = map->in_flight > 0 && map->partitions > 1;
    return is_waiting ? NULL : partition_map_first_open(map);
}

static struct known *find_gap(struct level_scan *self, size_t idle)
{
    struct partition_map *map = &self->map;
    struct bytes common = buffer_bytes(&self->common);
    bool is_of_children = self->fate == FATE_CHILDREN && prefix_has_children(common);
    if (self->fate == FATE_MANY)
        return find_on_ladder(self, idle);
    /* out of memory: fewer requests at once, nothing else */
    (void)key_splitter_fill(&self->splitter, map, idle, is_of_children ? &common : NULL);
    return partition_map_first_open(map);
}

/* Do the pages whose keys wait and those in flight leave room for one more? */
static bool has_room(const struct level_scan *self)
{
    const struct partition_map *map = &self->map;
    return self->window_bytes == 0 || self->fate == FATE_UNKNOWN || self->fate == FATE_MANY ||
           (pages_waiting(self) + (double)map->in_flight + 1) * (double)self->page_bytes <=
               (double)self->window_bytes;
}

static bool level_next_request(struct scan *scan, int idle, struct scan_request *ret)
{
    struct level_scan *self = (struct level_scan *)scan;
    struct partition_map *map = &self->map;
    bool may_guess = has_room(self);
    struct known *item = may_guess ? find_gap(self, (size_t)idle) : partition_map_first_open(map);
    bool is_first = item == TAILQ_FIRST(&map->gaps); /* which everything waits for */
    if (!item || (!may_guess && !is_first))
        return false;
    partition_map_request(map, item, ret);
    ret->top = top_of(self);
    ret->is_head = is_first;
    ret->is_speculative = item->gap->is_guess && !is_first && map->in_flight > 1;
    return true;
}

/* Is its name certain? It is a prefix, or no gap after it may hold a key of the same child. */
static bool is_certain(const struct level_scan *self, const struct known *item)
{
    const struct known *next = TAILQ_NEXT(item, link);
    if (item->is_shared || !is_child_shown(self, item))
        return true;
    while (next && next->gap && next->gap->state == GAP_NEEDLESS)
        next = TAILQ_NEXT(next, link);
    return !next || !next->gap ||
           !bytes_start_with(buffer_bytes(&next->gap->lo), child(self, item));
}

static enum scan_state level_take(struct scan *scan, struct scan_item *ret)
{
    struct level_scan *self = (struct level_scan *)scan;
    struct known_list *list = &self->map.list;
    (void)decide(self); /* again, in case memory was out before */
    if (self->fate == FATE_PARTITIONS && self->taken)
        partition_map_remove(&self->map, TAKE_PTR(self->taken));
    struct known *item = self->taken ? TAILQ_NEXT(self->taken, link) : TAILQ_FIRST(list);
    bool is_decided = self->fate == FATE_PARTITIONS || self->fate == FATE_CHILDREN;
    while (item && item->gap && item->gap->state == GAP_NEEDLESS)
        item = TAILQ_NEXT(item, link);
    if (is_decided && !item)
        return SCAN_END;
    if (!is_decided || item->gap || (self->fate == FATE_CHILDREN && !is_certain(self, item)))
        return SCAN_WAIT;
    self->taken = item;
    tidy(self);
    *ret = (struct scan_item){.kind = item->is_shared ? SCAN_PREFIX : SCAN_PARTITION,
                              .key = item->is_shared ? child(self, item) : item->key,
                              .pages = pages_of(self, 1)};
    return SCAN_ITEM;
}

static double level_waiting(const struct scan *scan)
{
    return pages_waiting((const struct level_scan *)scan);
}

static void level_destroy(struct scan *scan)
{
    struct level_scan *self = (struct level_scan *)scan;
    partition_map_finish(&self->map);
    key_splitter_finish(&self->splitter);
    buffer_finish(&self->prefix);
    buffer_finish(&self->common);
    free(self);
}

static const struct scan_ops level_ops = {.next_request = level_next_request,
                                          .add_answer = level_add_answer,
                                          .give_back = level_give_back,
                                          .take = level_take,
                                          .waiting = level_waiting,
                                          .destroy = level_destroy};

static int create(struct range range, const struct scan_limits *limits, enum fate fate,
                  struct bytes prefix, struct scan **ret)
{
    struct level_scan *self = calloc(1, sizeof(*self));
    if (!self)
        return -ENOMEM;
    _cleanup_(scan_destroyp) struct scan *scan = &self->scan;
    self->scan.ops = &level_ops;
    self->fate = fate;
    self->fanout = (size_t)limits->fanout;
    self->page_rows = limits->page_rows;
    self->window_bytes = limits->window_bytes;
    buffer_init(&self->prefix, POSITION_MAX_BYTES);
    buffer_init(&self->common, POSITION_MAX_BYTES);
    int r = buffer_append(&self->prefix, prefix);
    if (r == 0)
        r = partition_map_init(&self->map, range);
    if (r == 0)
        r = key_splitter_init(&self->splitter);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(scan);
    return 0;
}

int scan_level_create(struct bytes prefix, const struct scan_limits *limits, struct scan **ret)
{
    _cleanup_(buffer_finish) struct buffer behind = {.max = POSITION_MAX_BYTES};
    int r = append_behind(&behind, prefix);
    if (r < 0)
        return r;
    enum fate fate = prefix_has_children(prefix) ? FATE_UNKNOWN : FATE_PARTITIONS;
    return create((struct range){prefix, buffer_bytes(&behind)}, limits, fate, prefix, ret);
}

int scan_children_create(struct range range, const struct scan_limits *limits, struct scan **ret)
{
    return create(range, limits, FATE_UNKNOWN, BYTES_LITERAL(""), ret);
}

int scan_partitions_create(struct range range, const struct scan_limits *limits, struct scan **ret)
{
    return create(range, limits, FATE_PARTITIONS, BYTES_LITERAL(""), ret);
}
