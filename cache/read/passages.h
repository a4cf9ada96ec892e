#ifndef CACHE_READ_PASSAGES_H
#define CACHE_READ_PASSAGES_H
/* How somebody goes through the rows of a partition, and from partition to partition reading rows
 * in each, in key order: the longer, the more a miss asks for. The last four ways of each kind are
 * known. Pure; no lock. */
#include "cache/read/region.h"

enum way { WAY_ROWS, WAY_PARTITIONS, WAYS };
#define PASSAGES           4
#define PASSAGES_STEP_ROWS 32 /* for each partition that was read in order */

struct passage {        /* private; without a region it is none */
    struct region last; /* lo is where it came last: a row, or a partition key */
    int streak;         /* steps in key order up to that one */
    bool is_new;        /* one step was made */
    size_t asks;        /* since the last miss */
    size_t missed_rows; /* what was read for that */
    size_t row_bytes;   /* average of the last miss that brought rows; 0: none yet */
};

struct passages {
    struct passage ways[WAYS][PASSAGES]; /* of each, the last used first */
};

void passages_init(struct passages *passages);
void passages_finish(struct passages *passages);

/* A row at the position is asked for. The same again changes nothing. */
void passages_go(struct passages *passages, enum way way, const char *table, struct bytes position);
/* Has nothing been asked for on that way, or one row alone? */
bool passages_are_new(const struct passages *passages, enum way way, const char *table,
                      struct bytes position);
bool passages_are_in_order(const struct passages *passages, enum way way, const char *table,
                           struct bytes position);
/* So many rows, of max_bytes at most, are to be asked for where the way leads: at the row that was
 * asked for last or behind it, or in a partition behind the last. 0: there is no order. */
int passages_rows(const struct passages *passages, enum way way, const char *table,
                  struct bytes position, size_t max_bytes);
/* So much was read for a miss there, in that order. A range of which nothing is asked for
 * afterwards was for nothing: there is no order then. Nor where no partitions could be read. */
void passages_missed(struct passages *passages, enum way way, const char *table,
                     struct bytes position, size_t rows, size_t bytes);
/* The last row of one that goes through a partition of the range in order. False: none does. */
bool passages_last(const struct passages *passages, const char *table, struct range range,
                   struct buffer *ret_position);

#endif
