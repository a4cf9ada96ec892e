#ifndef CLIENT_TEXT_TIMESTAMP_ETAG_H
#define CLIENT_TEXT_TIMESTAMP_ETAG_H
/* The ETag that is made of an entity's Timestamp, as Azure, Azurite and local accounts make it:
 * W/"datetime'2024-01-02T03%3A04%3A05.1234567Z'", here always with seven digits. Pure. */
#include "client/bytes.h"
#include "client/clock.h"

#define TIMESTAMP_ETAG_SIZE 46

/* 100 ns since 1970: what an account's Timestamps can be, 1970 to the end of 9999. */
#define TIMESTAMP_MAX (253402300800 * TICKS_PER_SEC - 1)

static inline bool timestamp_is_valid(int64_t timestamp)
{
    return timestamp > 0 && timestamp <= TIMESTAMP_MAX;
}

void timestamp_etag_write(int64_t timestamp, char ret[TIMESTAMP_ETAG_SIZE + 1]);
/* false: it has not the form of one */
bool timestamp_etag_parse(struct bytes etag, int64_t *ret_timestamp);
/* Is it the one that timestamp_etag_write makes? */
bool timestamp_etag_is_of(struct bytes etag, int64_t timestamp);

#endif
