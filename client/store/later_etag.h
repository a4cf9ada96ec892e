/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_LATER_ETAG_H
#define CLIENT_STORE_LATER_ETAG_H
/* The ETag of a queued text, which is not known before the service has answered. Whatever reads or
 * writes the text before keeps a reference to this, and gets the ETag from it later.
 * Reference-counted; any thread. */
#include "client/base/bytes.h"

struct later_etag;
struct later_etag *later_etag_create(void); /* NULL: no memory */
struct later_etag *later_etag_ref(struct later_etag *later);
void later_etag_unref(struct later_etag *later); /* takes NULL */

/* The service has stored the text with this ETag. Called at most once. If `etag` is empty, or there
 * is no memory, the ETag is lost. */
void later_etag_learn(struct later_etag *later, struct bytes etag);
/* The ETag will never be known: the text was refused, or there was no memory. A write that replaces
 * the text then fails once with -ESTALE, because the version there may be another client's. */
void later_etag_lose(struct later_etag *later);
/* A view, valid while the caller has the reference. Empty: the text is still queued, or the ETag is
 * lost. */
struct bytes later_etag_get(const struct later_etag *later);
bool later_etag_is_lost(const struct later_etag *later);

DEFINE_CLEANUP(struct later_etag *, later_etag_unref);

#endif
