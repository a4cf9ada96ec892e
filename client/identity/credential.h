/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_CREDENTIAL_H
#define CLIENT_IDENTITY_CREDENTIAL_H
/* The credential of a request: a Shared Key of the account, which signs it, a SAS token, which is
 * appended to its URL, or a bearer token of Microsoft Entra ID. Reference-counted, otherwise
 * immutable; any thread. Its memory is wiped with the last reference. */
#include "client/base/bytes.h"

struct credential;

struct signed_request {
    const char *verb;
    struct bytes content_md5, content_type; /* exactly as sent; empty: no such header */
    struct bytes date;                      /* of x-ms-date */
    struct bytes path;                      /* exactly as sent, from the slash after the host */
    struct bytes query;                     /* as sent, without "?" */
};

/* -EINVAL: empty, or not base64. Nothing more is said: it could show a part of the key. */
int credential_create_shared_key(struct bytes account, struct bytes key_base64,
                                 struct credential **ret);
/* `token`: percent-encoded, as users paste it; a leading "?" is removed. -EINVAL: it has no `sig=`,
 * or characters that are not legal in a URL. */
int credential_create_sas(struct bytes token, struct credential **ret);
#define CREDENTIAL_BEARER_MAX_BYTES ((size_t)32 << 10)
/* -EINVAL: empty, longer than the maximum, or with characters that RFC 6750, 2.1 does not allow. */
int credential_create_bearer(struct bytes token, struct credential **ret);
struct credential *credential_ref(struct credential *credential);
void credential_unref(struct credential *credential); /* takes NULL */

/* Appends the value of the header Authorization: a bearer token, or a Shared Key in the Table
 * service's form; nothing for a SAS. */
int credential_append_authorization(const struct credential *credential,
                                    const struct signed_request *request, struct buffer *ret);
/* Appends the SAS token, unchanged; nothing for another credential. */
int credential_append_query(const struct credential *credential, struct buffer *ret);
bool credential_is_sas(const struct credential *credential);
/* Are they the same key of the same account, or the same token? */
bool credential_is_same(const struct credential *a, const struct credential *b);
/* The value of a parameter of a SAS token, not decoded; a view. False: there is none, or it is not
 * a SAS. */
bool credential_parameter(const struct credential *credential, const char *name, struct bytes *ret);
/* The value of a parameter that is a time, such as "se", the expiry. False: there is none. */
bool credential_time(const struct credential *credential, const char *name, int64_t *ret_utc_100ns);
/* Appends a description for users: the kind of the credential, and a SAS token's permissions and
 * expiry, without the key or the signature. */
int credential_append_description(const struct credential *credential, struct buffer *ret);

DEFINE_CLEANUP(struct credential *, credential_unref);

#endif
