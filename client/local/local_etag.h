#ifndef CLIENT_LOCAL_LOCAL_ETAG_H
#define CLIENT_LOCAL_LOCAL_ETAG_H
/* The ETag of a version, made of its Timestamp as the service does it:
 * W/"datetime'2024-01-02T03%3A04%3A05.1234567Z'", always with seven digits. Pure. */
#include "client/bytes.h"

#define LOCAL_ETAG_SIZE 46

/* 100 ns since 1970: what an account's Timestamps can be, 1970 to the end of 9999. */
#define LOCAL_TIMESTAMP_MAX (INT64_C(253402300800) * 10000000 - 1)

static inline bool local_timestamp_is_one(int64_t timestamp)
{
    return timestamp > 0 && timestamp <= LOCAL_TIMESTAMP_MAX;
}

void local_etag_write(int64_t timestamp, char ret[LOCAL_ETAG_SIZE + 1]);
/* false: it has not the form of one */
bool local_etag_parse(struct bytes etag, int64_t *ret_timestamp);

#endif
