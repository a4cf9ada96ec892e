/* SPDX-License-Identifier: MIT */
#include "client/identity/credential.h"
#include "client/text/base64.h"
#include "client/text/edm_datetime.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdatomic.h>

#define SECRET_MAX_BYTES ((size_t)4 << 10) /* a key has 64, a SAS token about 300 */
#define DIGEST_SIZE      32
#define TIME_SIZE        40 /* more than any form of a time has */

enum kind { SHARED_KEY, SAS, BEARER };

struct credential {
    _Atomic int references;
    enum kind kind;
    size_t size;        /* of the allocation: all of it is wiped */
    size_t secret_size; /* the key's bytes, or the token */
    char account[32];   /* of a Shared Key */
    char secret[];
};

static struct credential *allocate(enum kind kind, size_t secret_size)
{
    size_t size = sizeof(struct credential) + secret_size;
    struct credential *credential = OPENSSL_zalloc(size);
    if (credential) {
        atomic_init(&credential->references, 1);
        credential->kind = kind;
        credential->size = size;
        credential->secret_size = secret_size;
    }
    return credential;
}

struct credential *credential_ref(struct credential *credential)
{
    (void)atomic_fetch_add(&credential->references, 1);
    return credential;
}

void credential_unref(struct credential *credential)
{
    if (credential && atomic_fetch_sub(&credential->references, 1) == 1)
        OPENSSL_clear_free(credential, credential->size);
}

int credential_create_shared_key(struct bytes account, struct bytes key_base64,
                                 struct credential **ret)
{
    struct bytes text = bytes_trim(key_base64);
    size_t size;
    if (!base64_decoded_size(text, &size) || size == 0 || text.size > SECRET_MAX_BYTES ||
        account.size == 0 || account.size >= sizeof((*ret)->account))
        return -EINVAL;
    _cleanup_(credential_unrefp) struct credential *credential =
        allocate(SHARED_KEY, text.size / 4 * 3);
    if (!credential)
        return -ENOMEM;
    credential->secret_size = base64_decode(text, (unsigned char *)credential->secret);
    memcpy(credential->account, account.data, account.size);
    *ret = TAKE_PTR(credential);
    return 0;
}

/* The value of a named parameter of a query string; false: there is none. */
static bool find_parameter(struct bytes query, struct bytes name, struct bytes *ret)
{
    while (query.size > 0) {
        struct bytes pair = bytes_take_until(&query, '&');
        if (pair.size > name.size && pair.data[name.size] == '=' && bytes_start_with(pair, name)) {
            *ret = bytes_skip(pair, name.size + 1);
            return true;
        }
    }
    return false;
}

/* Creates a credential that is sent as it is. */
static int create_token(enum kind kind, struct bytes text, struct credential **ret)
{
    struct credential *credential = allocate(kind, text.size);
    if (!credential)
        return -ENOMEM;
    memcpy(credential->secret, text.data, text.size);
    *ret = credential;
    return 0;
}

int credential_create_sas(struct bytes token, struct credential **ret)
{
    struct bytes text = bytes_trim(token), signature;
    if (bytes_start_with(text, BYTES_LITERAL("?")))
        text = bytes_skip(text, 1);
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] <= ' ' || text.data[i] >= 0x7F || strchr("#\"'<>\\?", text.data[i]))
            return -EINVAL;
    }
    if (text.size > SECRET_MAX_BYTES || !find_parameter(text, BYTES_LITERAL("sig"), &signature) ||
        signature.size == 0)
        return -EINVAL;
    return create_token(SAS, text, ret);
}

int credential_create_bearer(struct bytes token, struct credential **ret)
{
    static const char legal[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";
    if (token.size == 0 || token.size > CREDENTIAL_BEARER_MAX_BYTES)
        return -EINVAL;
    for (size_t i = 0; i < token.size; i++)
        if (!memchr(legal, token.data[i], sizeof(legal) - 1))
            return -EINVAL;
    return create_token(BEARER, token, ret);
}

bool credential_is_sas(const struct credential *credential)
{
    return credential->kind == SAS;
}

static struct bytes secret_of(const struct credential *credential)
{
    return (struct bytes){credential->secret, credential->secret_size};
}

bool credential_is_same(const struct credential *a, const struct credential *b)
{
    return a->kind == b->kind && strcmp(a->account, b->account) == 0 &&
           bytes_equal(secret_of(a), secret_of(b));
}

/* The text to sign: https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-
 * key, "Table service". */
static int append_string_to_sign(const struct credential *credential,
                                 const struct signed_request *request, struct buffer *ret)
{
    struct bytes comp;
    struct bytes parts[] = {bytes_of(request->verb), request->content_md5, request->content_type,
                            request->date};
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        (void)buffer_append(ret, parts[i]);
        (void)buffer_append_char(ret, '\n');
    }
    (void)buffer_append_char(ret, '/');
    (void)buffer_append_string(ret, credential->account);
    (void)buffer_append(ret, request->path);
    if (find_parameter(request->query, BYTES_LITERAL("comp"), &comp)) {
        (void)buffer_append_string(ret, "?comp=");
        (void)buffer_append(ret, comp);
    }
    return ret->error;
}

int credential_append_authorization(const struct credential *credential,
                                    const struct signed_request *request, struct buffer *ret)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned char base64[(DIGEST_SIZE + 2) / 3 * 4 + 1];
    unsigned int digest_size;
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, (size_t)64 << 10);
    if (credential->kind == BEARER)
        (void)buffer_append_string(ret, "Bearer ");
    if (credential->kind == BEARER)
        return buffer_append(ret, secret_of(credential));
    if (credential->kind == SAS)
        return ret->error;
    int r = append_string_to_sign(credential, request, &text);
    if (r < 0)
        return r;
    if (!HMAC(EVP_sha256(), credential->secret, (int)credential->secret_size,
              (const unsigned char *)text.data, text.size, digest, &digest_size))
        return -ENOMEM;
    (void)EVP_EncodeBlock(base64, digest, (int)digest_size);
    return buffer_append_format(ret, "SharedKey %s:%s", credential->account, base64);
}

int credential_append_query(const struct credential *credential, struct buffer *ret)
{
    if (!credential_is_sas(credential))
        return ret->error;
    return buffer_append(ret, secret_of(credential));
}

bool credential_parameter(const struct credential *credential, const char *name, struct bytes *ret)
{
    return credential_is_sas(credential) &&
           find_parameter(secret_of(credential), bytes_of(name), ret);
}

/* Decodes %XX. False: it does not fit. */
static bool decode(struct bytes text, char ret[TIME_SIZE])
{
    size_t n = 0;
    for (; text.size > 0 && n < TIME_SIZE - 1; n++) {
        int byte = text.data[0] == '%' && text.size >= 3 ? hex_byte_value(text.data + 1) : -1;
        ret[n] = (char)(byte >= 0 ? byte : text.data[0]);
        text = bytes_skip(text, byte >= 0 ? 3 : 1);
    }
    ret[n] = '\0';
    return text.size == 0;
}

bool credential_time(const struct credential *credential, const char *name, int64_t *ret_utc_100ns)
{
    struct bytes value;
    char given[TIME_SIZE];
    return credential_parameter(credential, name, &value) && decode(value, given) &&
           edm_datetime_parse(bytes_of(given), ret_utc_100ns);
}

int credential_append_description(const struct credential *credential, struct buffer *ret)
{
    static const char *const shown[] = {"sv", "ss", "srt", "tn", "sp", "st", "se", "spr", "si"};
    if (credential->kind == BEARER)
        return buffer_append_string(ret, "token of Microsoft Entra ID");
    if (credential->kind == SHARED_KEY)
        return buffer_append_format(ret, "shared key of account %s", credential->account);
    (void)buffer_append_string(ret, "SAS token (");
    for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
        struct bytes value;
        if (!credential_parameter(credential, shown[i], &value))
            continue;
        (void)buffer_append_format(ret, "%s=%.*s, ", shown[i], (int)value.size, value.data);
    }
    return buffer_append_string(ret, "signature not shown)");
}
