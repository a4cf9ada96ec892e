#ifndef CACHE_SCAN_JUMPS_H
#define CACHE_SCAN_JUMPS_H
/* Jumps: what both scans for partition keys do. A page shows some partitions, and rows of the last
 * one. The next question is for the partitions behind that one (`PartitionKey gt last`), never for
 * its other rows, so ten huge partitions cost ten requests. A token is used only behind an empty
 * page, which shows no partition to jump from. Pure; one thread. */
#include "cache/scan/key_splitter.h"

/* While partitions are huge, one key of each page is used, so few rows are asked for. A page of at
 * least this many rows of one partition, with more to follow, says that partitions are huge. */
#define JUMP_TOP_MIN 16

struct jumps {
    struct partition_map map;
    struct key_splitter splitter;
    size_t window_bytes; /* 0: unbounded */
    size_t page_bytes;   /* of the largest answer */
    int page_rows;
    bool is_huge;       /* the last page was of one partition, and more of it follows */
    size_t pages, keys; /* answers with rows, and the new keys that they showed */
};

/* Call finish also after a failure. */
int jumps_init(struct jumps *jumps, struct range range, const struct scan_limits *limits);
void jumps_finish(struct jumps *jumps);

/* Do the keys that wait and the pages in flight leave room for one more page? */
bool jumps_has_room(const struct jumps *jumps);
void jumps_ask(struct jumps *jumps, struct known *item, struct scan_request *ret); /* an open gap */
int jumps_tell(struct jumps *jumps, struct known *item, struct answer *answer);
/* How many pages such keys filled, on average. */
double jumps_pages(const struct jumps *jumps, size_t keys);

#endif
