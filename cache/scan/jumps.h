#ifndef CACHE_SCAN_JUMPS_H
#define CACHE_SCAN_JUMPS_H
/* What both engines that look for partition keys do: they jump. A page of keys tells some
 * partitions whole and the beginning of one more; the next question is for what lies behind that
 * last one (`PartitionKey gt last`), never for the rest of it, so ten huge partitions cost ten
 * requests. A token is followed only behind an empty page, which tells nothing to jump from. Pure,
 * one thread. */
#include "cache/scan/key_splitter.h"

/* The rows to ask for while partitions are huge: one key of each page is used. A page of at least
 * that many rows that all belong to one partition says that they are. */
#define JUMP_TOP_MIN 16

struct jumps {
    struct partition_map map;
    struct key_splitter splitter;
    size_t window_bytes; /* 0: unbounded */
    size_t page_bytes;   /* of the largest answer */
    int page_rows;
    bool is_huge;       /* the last page was of one partition, and more of it follows */
    size_t pages, keys; /* answers with rows, and the keys that they told */
};

/* After a failure finish may be called too. */
int jumps_init(struct jumps *jumps, struct range range, const struct scan_limits *limits);
void jumps_finish(struct jumps *jumps);

/* Does what waits and is on its way leave room for one more page? */
bool jumps_has_room(const struct jumps *jumps);
void jumps_ask(struct jumps *jumps, struct known *item, struct scan_request *ret); /* an open gap */
int jumps_tell(struct jumps *jumps, struct known *item, struct answer *answer);
double jumps_pages(const struct jumps *jumps, size_t keys); /* the part of answers that they are */

#endif
