/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_CREDENTIAL_SOURCE_H
#define CLIENT_IDENTITY_CREDENTIAL_SOURCE_H
/* The current key or SAS of an account. When the service has refused it, it is read again from its
 * file, if there is one, at most once in CREDENTIAL_SOURCE_REREAD_MS for all requests together. So
 * a key can be replaced during a mount. Any thread. */
#include "client/identity/credential.h"
#include "client/store/call.h"

#define CREDENTIAL_SOURCE_REREAD_MS 30000

/* Called once for each SAS that expires within CREDENTIAL_SOURCE_WARN_100NS or has expired. */
#define CREDENTIAL_SOURCE_WARN_100NS (INT64_C(24) * 3600 * TICKS_PER_SEC)
typedef void credential_ends(void *context);

struct credential_reader { /* its function is called by one thread at a time */
    /* Reads the file; ret is a reference. 0 or a negative errno. May block. */
    int (*read)(void *context, struct credential **ret);
    void *context;
};

struct credential_source;
/* Takes over the reference, also on failure. `reader`: copied; NULL: there is no file. -ENOMEM. */
int credential_source_create(struct credential *credential, const struct credential_reader *reader,
                             const struct clock *clock, struct credential_source **ret);
void credential_source_destroy(struct credential_source *source); /* takes NULL */
/* From now on credential_source_get calls `ends`, on its caller's thread, when the SAS expires
 * soon. Call it before another thread uses the source. */
void credential_source_watch(struct credential_source *source, credential_ends *ends,
                             void *context);

struct credential *credential_source_get(struct credential_source *source); /* a reference */
/* The service has refused `refused`. True: *ret is a reference to another credential, which was
 * read now or before. False: the file has the same one, cannot be used, or was read too recently;
 * or the call was cancelled or is past its deadline. */
bool credential_source_replace(struct credential_source *source, const struct credential *refused,
                               struct call *call, struct credential **ret);

DEFINE_CLEANUP(struct credential_source *, credential_source_destroy);

#endif
