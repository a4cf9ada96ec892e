/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_BATCH_H
#define CLIENT_AZURE_BATCH_H
/* An entity group transaction: the multipart body of one request with writes to one partition, of
 * which the service makes all or none; and the parser of its answer, which is untrusted input.
 * Pure, any thread.
 * https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions */
#include "client/azure/service_error.h"
#include "client/store/table_store.h"

#define BATCH_MAX_WRITES 100
/* Maximum size of a body without its parts, if the id is a UUID. */
#define BATCH_FRAME_BYTES ((size_t)256)

struct batch {       /* at most BATCH_MAX_WRITES writes */
    const char *url; /* of the account: scheme://host[:port][/account] */
    const char *table;
    const struct write *writes;
    size_t n;
    const char *id; /* for the multipart boundaries: occurs nowhere in the writes */
};

int batch_append_path(struct buffer *ret);                         /* "/$batch" */
int batch_append_content_type(struct buffer *ret, const char *id); /* the header's value */
/* -EFBIG: longer than ret's maximum; -EINVAL, -ENAMETOOLONG: a write cannot be sent, its index is
 * call->failure.operation; -ENOMEM. The reason is in call->failure. */
int batch_append_body(struct buffer *ret, const struct batch *batch, struct call *call);

/* An upper bound of the size of a write's part of the body (see table_store_write_size). `url` as
 * in struct batch; the id is a UUID. */
size_t batch_part_size(const char *url, const char *table, const struct write *write);

/* `answer` has a success status, but one of its parts may be a failure. Then that part's status
 * gives the error, and call->failure.operation is the index of the refused write. An answer that
 * cannot be parsed, or has fewer parts than writes, is -EPROTO and ambiguous; one that
 * breaks off is retryable, too. ret: batch->n results. */
int batch_read_answer(const struct service_answer *answer, struct bytes content_type,
                      const struct batch *batch, int64_t now_utc_100ns, struct call *call,
                      struct write_result *ret);

#endif
