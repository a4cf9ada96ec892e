/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_LANE_H
#define CLIENT_BASE_LANE_H
/* Lanes divide what all requests share, by table. So a table whose requests are not answered leaves
 * room to the others. Two tables may have the same lane; then they share its part. That is rare: of
 * 20 tables, a sick one shares its lane with another in one account of 50. Pure. */
#include "client/base/bytes.h"

#define LANES 1024

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
