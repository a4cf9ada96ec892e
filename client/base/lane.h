/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_LANE_H
#define CLIENT_BASE_LANE_H
/* Each table has a lane. A lane has only a part of what all requests share, such as connections. So
 * a table whose requests get no answer leaves room for the others. Two tables may have the same
 * lane and share its part. That is rare: among 20 tables, one given table shares its lane in one of
 * 50 accounts. Pure. */
#include "client/base/bytes.h"

#define LANES 1024

static inline unsigned lane_of(struct bytes table)
{
    return (unsigned)(bytes_hash(BYTES_HASH_START, table) % LANES);
}

/* NULL: the list of tables, which has the lane of an empty name. */
static inline unsigned lane_of_table(const char *table)
{
    return lane_of(bytes_of(table ? table : ""));
}

#endif
