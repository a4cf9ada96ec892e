/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_TIMESTAMP_ETAG_H
#define CLIENT_TEXT_TIMESTAMP_ETAG_H
/* The ETag that local accounts make from an entity's Timestamp, as Azure and Azurite do:
 * W/"datetime'2024-01-02T03%3A04%3A05.1234567Z'". In local accounts the fraction always has seven
 * digits. Pure. */
#include "client/base/bytes.h"
#include "client/base/clock.h"

#define TIMESTAMP_ETAG_SIZE 46

/* The greatest Timestamp, at the end of 9999; the least is 1. */
#define TIMESTAMP_MAX (253402300800 * TICKS_PER_SEC - 1)

static inline bool timestamp_is_valid(int64_t timestamp)
{
    return timestamp > 0 && timestamp <= TIMESTAMP_MAX;
}

void timestamp_etag_write(int64_t timestamp, char ret[TIMESTAMP_ETAG_SIZE + 1]);
/* false: not an ETag of this form */
bool timestamp_etag_parse(struct bytes etag, int64_t *ret_timestamp);
/* Is it the ETag that timestamp_etag_write makes? */
bool timestamp_etag_is_of(struct bytes etag, int64_t timestamp);

#endif
