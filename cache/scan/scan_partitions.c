/* Jumps. A page of keys tells some partitions whole and the beginning of one more; the next
 * question is for what lies behind that last one (`PartitionKey gt last`), never for the rest of
 * it, so ten huge partitions cost ten requests. A token is followed only behind an empty page,
 * which tells nothing to jump from. One request is out at a time. */
#include "cache/scan/scan.h"

#define TOP_MAX TABLE_STORE_PAGE_ROWS
#define TOP_MIN 16 /* enough where partitions are huge: of each page one key is used */

#define POSITION_MAX_BYTES ((size_t)16 << 10)

struct partition_scan {
    struct scan scan;
    struct buffer lo, hi; /* what is not known yet */
    struct answer answer; /* the page whose keys are handed out; next only behind an empty one */
    size_t row;           /* of the page: the first that was not handed out */
    size_t distinct;      /* partitions of the page so far */
    int top;
    bool is_asked, is_complete; /* complete: nothing follows the page */
};

static bool partitions_ask(struct scan *scan, int idle, struct scan_request *ret)
{
    (void)idle; /* one after the other */
    struct partition_scan *self = (struct partition_scan *)scan;
    if (self->is_asked || self->is_complete || self->answer.page)
        return false;
    self->is_asked = true;
    *ret = (struct scan_request){.range = {buffer_bytes(&self->lo), buffer_bytes(&self->hi)},
                                 .after = self->answer.next,
                                 .top = self->top,
                                 .keys_only = true};
    return true;
}

/* The next question begins behind the page's last partition. */
static int jump(struct partition_scan *self)
{
    const struct page *page = self->answer.page;
    struct bytes last = page_position(page, page_rows(page) - 1);
    buffer_clear(&self->lo);
    (void)buffer_append(&self->lo, position_partition_key(last));
    int r = buffer_append_string(&self->lo, POSITION_AFTER);
    if (bytes_compare(buffer_bytes(&self->lo), buffer_bytes(&self->hi)) >= 0)
        self->is_complete = true;
    return r;
}

static int partitions_tell(struct scan *scan, uint64_t id, struct answer *answer)
{
    struct partition_scan *self = (struct partition_scan *)scan;
    (void)id; /* there is only one */
    answer_finish(&self->answer);
    self->answer = *answer;
    *answer = (struct answer){0};
    self->is_asked = false;
    self->is_complete = self->answer.next == NULL;
    self->row = self->distinct = 0;
    if (page_rows(self->answer.page) == 0) {
        page_unref(TAKE_PTR(self->answer.page));
        return 0;
    }
    continuation_destroy(TAKE_PTR(self->answer.next));
    return jump(self);
}

static void partitions_give_back(struct scan *scan, uint64_t id)
{
    (void)id;
    ((struct partition_scan *)scan)->is_asked = false;
}

/* Ask for fewer rows while pages hold one partition, for more where they are made of many. */
static void adapt_top(struct partition_scan *self)
{
    if (self->distinct == 1 && page_rows(self->answer.page) >= TOP_MIN)
        self->top = TOP_MIN;
    else if (self->distinct * 4 >= page_rows(self->answer.page))
        self->top = MIN(self->top * 4, TOP_MAX);
}

/* The first row behind the partition that `row` is in. */
static size_t next_partition(const struct page *page, size_t row)
{
    struct bytes key = position_partition_key(page_position(page, row));
    size_t lo = row + 1, hi = page_rows(page);
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (bytes_equal(position_partition_key(page_position(page, middle)), key))
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static enum scan_state partitions_take(struct scan *scan, struct scan_item *ret)
{
    struct partition_scan *self = (struct partition_scan *)scan;
    const struct page *page = self->answer.page;
    if (page && self->row == page_rows(page)) {
        adapt_top(self);
        page_unref(TAKE_PTR(self->answer.page));
        page = NULL;
    }
    if (!page)
        return self->is_complete ? SCAN_END : SCAN_WAIT;
    *ret = (struct scan_item){.kind = SCAN_PARTITION,
                              .key = position_partition_key(page_position(page, self->row))};
    self->row = next_partition(page, self->row);
    self->distinct++;
    return SCAN_ITEM;
}

static void partitions_destroy(struct scan *scan)
{
    struct partition_scan *self = (struct partition_scan *)scan;
    buffer_finish(&self->lo);
    buffer_finish(&self->hi);
    answer_finish(&self->answer);
    free(self);
}

static const struct scan_ops partitions_ops = {.ask = partitions_ask,
                                               .tell = partitions_tell,
                                               .give_back = partitions_give_back,
                                               .take = partitions_take,
                                               .destroy = partitions_destroy};

int scan_partitions_create(struct range range, const struct scan_limits *limits, struct scan **ret)
{
    struct partition_scan *self = calloc(1, sizeof(*self));
    if (!self)
        return -ENOMEM;
    _cleanup_(scan_destroyp) struct scan *scan = &self->scan;
    self->scan.ops = &partitions_ops;
    buffer_init(&self->lo, POSITION_MAX_BYTES);
    buffer_init(&self->hi, POSITION_MAX_BYTES);
    self->top = limits->page_rows;
    (void)buffer_append(&self->lo, range.lo);
    int r = buffer_append(&self->hi, range.hi);
    if (self->lo.error < 0 || r < 0)
        return MIN(self->lo.error, r);
    *ret = TAKE_PTR(scan);
    return 0;
}
