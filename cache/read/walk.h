#ifndef CACHE_READ_WALK_H
#define CACHE_READ_WALK_H
/* Processes that walk through a table: for each a scan in table order that runs ahead of it, across
 * the borders of directories. It begins where the process first misses something, and ends when the
 * process goes elsewhere, or is quiet and somebody comes by. One for each table that a process
 * walks through; its threads wait for each other. Any thread; one leaf mutex; blocks for the pages
 * it waits for. */
#include "cache/read/region.h"
#include "cache/read/stream.h"

#define WALKS_MAX     8    /* at once; of those that are quiet, the least recently used ends */
#define WALK_QUIET_MS 1000 /* and while none is, there is no walk for another process */

struct walks;

/* The source lives longer than the walks. */
int walks_create(const struct stream_source *source, struct walks **ret);
void walks_destroy(struct walks *walks); /* takes NULL */

/* The caller's process walks through `whole`, and misses what is at `position` in it, as of since.
 * enum reach. */
int walks_reach(struct walks *walks, struct caller *caller, const struct region *whole,
                struct bytes position, struct stamp since, struct page **ret_page);

/* The process has read rows by the stream up to where `rest` begins, and may walk on from there, or
 * not come back: takes the stream, paused, for its walk, and the region. Where another of its
 * threads walks now, or no place is free, the stream ends. */
void walks_adopt(struct walks *walks, uint64_t process, struct region *rest, struct stream *stream);

/* Ends those that nobody has used for STREAM_KEPT_MS: their pages are held. */
void walks_end_quiet(struct walks *walks);
/* The process has come there with what the cache knew. As stream_follow. */
void walks_follow(struct walks *walks, uint64_t process, const char *table, struct bytes position);

DEFINE_CLEANUP(struct walks *, walks_destroy);

#endif
