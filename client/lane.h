#ifndef CLIENT_LANE_H
#define CLIENT_LANE_H
/* Lanes divide what all requests share, by table. So a table whose requests are not answered leaves
 * room to the others. Two tables may have the same lane; then they share its part. Pure. */
#include "client/bytes.h"

#define LANES 64

static inline unsigned lane_of(struct bytes table)
{
    return (unsigned)(bytes_hash(BYTES_HASH_START, table) % LANES);
}

/* NULL: a list of tables, which has the lane of an empty name. */
static inline unsigned lane_of_table(const char *table)
{
    return lane_of(bytes_of(table ? table : ""));
}

#endif
