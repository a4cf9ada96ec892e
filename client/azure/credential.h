#ifndef CLIENT_AZURE_CREDENTIAL_H
#define CLIENT_AZURE_CREDENTIAL_H
/* What proves to the service who asks: a Shared Key, which signs each request, or a SAS token,
 * which is appended to each URL. Immutable, any thread; its memory is wiped when it is
 * destroyed. */
#include "client/bytes.h"

struct credential;

struct signed_request {
    const char *verb;
    struct bytes content_md5, content_type; /* byte for byte as sent; empty: no such header */
    struct bytes date;                      /* of x-ms-date */
    struct bytes path;  /* byte for byte as sent, from the slash behind the host on */
    struct bytes query; /* as sent, without "?" */
};

/* -EINVAL: not base64, or nothing; no message could say more without showing the key. */
int credential_create_shared_key(struct bytes account, struct bytes key_base64,
                                 struct credential **ret);
/* As it is pasted: percent-encoded, a leading "?" is dropped. -EINVAL: no `sig=`, or characters
 * that no URL holds. */
int credential_create_sas(struct bytes token, struct credential **ret);
void credential_destroy(struct credential *credential); /* takes NULL */

/* The value of the header Authorization, in the Table service's form of Shared Key; nothing for a
 * SAS. */
int credential_append_authorization(const struct credential *credential,
                                    const struct signed_request *request, struct buffer *ret);
/* The SAS token as it was given; nothing for a Shared Key. */
int credential_append_query(const struct credential *credential, struct buffer *ret);
/* For people: the kind, and what a SAS permits until when; the key and the signature are not
 * shown. */
int credential_append_description(const struct credential *credential, struct buffer *ret);

DEFINE_CLEANUP(struct credential *, credential_destroy);

#endif
