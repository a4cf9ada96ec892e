#ifndef CACHE_READ_STREAM_H
#define CACHE_READ_STREAM_H
/* A scan that runs ahead of who reads: he takes its items in key order, or waits; workers send its
 * requests, as many as the request window allows and the reader seems to want (cache/read/pace).
 * Pages of rows go into the range cache as they arrive, and what is known there already is not
 * asked.
 *
 * A failure is told once everything before it was taken, and the next call goes on from there. One
 * far ahead, in a partition that is throttled, say, ends the reading ahead until the next answer,
 * and is asked again when it is what the reader waits for.
 *
 * Without memory for a thread the reader sends what it waits for by itself, and nothing ahead.
 *
 * Any thread, but one reader at a time; one leaf mutex, under it only scan code runs. Counted, by
 * what is in flight: when its reader goes, that is cancelled. */
#include "cache/read/overlay.h"
#include "cache/read/request_window.h"
#include "cache/read/worker_pool.h"
#include "cache/scan/scan.h"

#define STREAM_COMMAND_SIZE 16
#define STREAM_KEPT_MS      30000 /* one that nobody used for so long is of no use */

struct stream;

struct stream_source { /* lives longer than its streams */
    struct reader *reader;
    struct overlay *overlay;
    struct worker_pool *workers;
    struct request_window *window;
    const struct clock *clock;
    int64_t kept_ms;      /* so long an answer serves; one of half that age is not taken any more,
                             where it may wait for its reader */
    size_t window_bytes;  /* that one may run ahead: alone all, a second one half, and so on */
    _Atomic size_t *live; /* how many streams run: they share what may be read ahead */
    const _Atomic bool *is_closing; /* then nothing is sent any more, and what is in flight ends */
};

struct stream_options {
    const char *table;
    struct scan *scan;
    struct stamp since; /* how old an answer may be that is known already */
    bool is_of_keys;    /* the scan asks for keys: scan_level, scan_partitions */
    bool is_eager;      /* many answers are needed before the first item: all are wanted at once */
};

/* Takes the scan, on failure, too; sends nothing. The requests are counted for the opener's command
 * and have its patience each. */
int stream_open(const struct stream_source *source, const struct stream_options *options,
                const struct caller *opener, struct stream **ret);
void stream_unref(struct stream *stream); /* its reader goes; takes NULL */
/* So many pages more will be taken, the reader thinks now. That is no promise: half as many more
 * may be ahead of it where nothing is guessed. */
void stream_want(struct stream *stream, size_t pages);
/* How far the scan of one more stream may run ahead. */
size_t stream_window_bytes(const struct stream_source *source);

/* Of keys: when the oldest answer was asked, at the latest now. */
int64_t stream_asked_ms(struct stream *stream);
/* 1: the next item (its rows are the caller's to finish; its key is good until the next call); 0:
 * the end; -EAGAIN: it has not come yet, and may not be waited for, but was asked for as far as the
 * stream runs ahead; -errno with the reason in caller->call. */
int stream_next(struct stream *stream, struct caller *caller, bool may_wait, struct scan_item *ret);

/* Of what somebody misses in the cache; or -errno, the reason in caller->call. NOT: he has to ask
 * for it by himself; IN_CACHE: now it is there, as long as ret_page (NULL: nothing) is held. */
enum reach { REACH_NOT, REACH_IN_CACHE };
/* Takes items until what is at `position` was taken; when the reader comes there, maybe much later,
 * stream_follow tells. REACH_NOT: that is behind it already, or not near before it. enum reach. */
int stream_reach(struct stream *stream, struct caller *caller, struct bytes position,
                 struct page **ret_page);

/* The reader may not come back: what is in flight arrives, and nothing is sent before it looks
 * again. Meanwhile the stream does not run; then its window is that of one more stream. */
void stream_pause(struct stream *stream);
/* The reader has come to `position` with what the cache knew: takes what is there already, and asks
 * on. Never blocks. */
void stream_follow(struct stream *stream, struct bytes position);

DEFINE_CLEANUP(struct stream *, stream_unref);

#endif
