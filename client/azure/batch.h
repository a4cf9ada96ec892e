/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_BATCH_H
#define CLIENT_AZURE_BATCH_H
/* An entity group transaction: writes to one partition, made all or none, as the multipart body of
 * one request; and the parser of its answer, which is untrusted input. Pure, any thread.
 * https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions */
#include "client/azure/service_error.h"
#include "client/store/table_store.h"

#define BATCH_MAX_WRITES 100
/* Of a body, at most, beside its parts, where the id is a UUID. */
#define BATCH_FRAME_BYTES ((size_t)256)

struct batch {       /* at most BATCH_MAX_WRITES writes */
    const char *url; /* of the account: scheme://host[:port][/account] */
    const char *table;
    const struct write *writes;
    size_t n;
    const char *id; /* part of its boundaries: occurs nowhere in the writes */
};

int batch_append_path(struct buffer *ret);                         /* "/$batch" */
int batch_append_content_type(struct buffer *ret, const char *id); /* its value */
/* -EFBIG: longer than ret's maximum; -EINVAL, -ENAMETOOLONG: the write `operation` cannot be sent;
 * -ENOMEM. The reason is in call->failure. */
int batch_append_body(struct buffer *ret, const struct batch *batch, struct call *call);

/* The bytes of a write's part of the body: an upper bound, as table_store_write_size says. `url` as
 * in struct batch; the id is a UUID. */
size_t batch_part_size(const char *url, const char *table, const struct write *write);

/* `answer` has a success status, but may contain a failure: then that one's status decides, and
 * `operation` is the write that the service refused. An answer that cannot be parsed, or has fewer
 * parts than writes, is -EPROTO and ambiguous. ret: batch->n results. */
int batch_read_answer(const struct service_answer *answer, struct bytes content_type,
                      const struct batch *batch, int64_t now_utc_100ns, struct call *call,
                      struct write_result *ret);

#endif
