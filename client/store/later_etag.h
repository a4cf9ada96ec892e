/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_LATER_ETAG_H
#define CLIENT_STORE_LATER_ETAG_H
/* The ETag of a text that is queued. It is learned once: when the service has answered. What reads
 * or writes the text meanwhile keeps a reference, and learns the ETag by it. Reference-counted; any
 * thread. */
#include "client/base/bytes.h"

struct later_etag;
struct later_etag *later_etag_create(void); /* NULL: no memory */
struct later_etag *later_etag_ref(struct later_etag *later);
void later_etag_unref(struct later_etag *later); /* takes NULL */

/* The text is stored as this version. Called once at most. Empty, or without memory: it is lost. */
void later_etag_learn(struct later_etag *later, struct bytes etag);
/* The ETag will never be known: the text was refused, or there was no memory. What would replace
 * the text is refused once, with -ESTALE: another client's version may be there. */
void later_etag_lose(struct later_etag *later);
/* Empty: it is not known: the text is still queued, or the ETag is lost. A view, while the
 * reference is held. */
struct bytes later_etag_get(const struct later_etag *later);
bool later_etag_is_lost(const struct later_etag *later);

DEFINE_CLEANUP(struct later_etag *, later_etag_unref);

#endif
