#ifndef CLIENT_AZURE_BATCH_H
#define CLIENT_AZURE_BATCH_H
/* An entity group transaction: writes of one partition, all or none, as the multipart body of one
 * request; and its answer, which is not trusted. Pure, any thread.
 * https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions */
#include "client/azure/service_error.h"
#include "client/table_store.h"

#define BATCH_MAX_WRITES 100

struct batch {       /* its writes are at most BATCH_MAX_WRITES */
    const char *url; /* of the account: scheme://host[:port][/account] */
    const char *table;
    const struct write *writes;
    size_t n;
    const char *id; /* of its boundaries: occurs nowhere in the writes */
};

int batch_append_path(struct buffer *ret);                         /* "/$batch" */
int batch_append_content_type(struct buffer *ret, const char *id); /* its value */
/* The reason of an error in call->failure: -EFBIG over ret's maximum; -EINVAL, -ENAMETOOLONG a
 * write that cannot be sent, which `operation` names; -ENOMEM. */
int batch_append_body(struct buffer *ret, const struct batch *batch, struct call *call);

/* `answer` has the status of a success. A failure is found inside: its own status counts, and
 * `operation` is the write that the service refused. What is not understood is -EPROTO and
 * ambiguous, and so is an answer with fewer parts than writes. ret: batch->n results. */
int batch_read_answer(const struct service_answer *answer, struct bytes content_type,
                      const struct batch *batch, int64_t now_utc_100ns, struct call *call,
                      struct write_result *ret);

#endif
