/* SPDX-License-Identifier: MIT */
#include "client/identity/token_claims.h"
#include "client/identity/credential.h"
#include "client/text/base64.h"
#include "client/text/printable.h"
#include "client/text/small_json.h"

/* The first of two names that the claims have. */
static void copy_claim(const cJSON *claims, const char *name, const char *other,
                       char ret[TOKEN_CLAIM_SIZE])
{
    struct bytes value = small_json_string(claims, name);
    if (value.size == 0 && other)
        value = small_json_string(claims, other);
    size_t n = MIN(value.size, (size_t)TOKEN_CLAIM_SIZE - 1);
    if (n > 0)
        memcpy(ret, value.data, n);
    ret[printable_replace(ret, n)] = '\0';
}

static int64_t read_expiry(const cJSON *claims)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(claims, "exp");
    bool is_time = cJSON_IsNumber(value) && value->valuedouble > 0 && value->valuedouble < 1e12;
    return is_time ? (int64_t)value->valuedouble : 0;
}

bool token_claims_read(struct bytes token, struct token_claims *ret)
{
    struct bytes rest = token;
    _cleanup_(buffer_wipe) struct buffer text;
    _cleanup_(cJSON_Deletep) cJSON *claims = NULL;
    buffer_init(&text, CREDENTIAL_BEARER_MAX_BYTES);
    *ret = (struct token_claims){0};
    (void)bytes_take_until(&rest, '.'); /* the header */
    if (base64url_append_decoded(&text, bytes_take_until(&rest, '.')) < 0 ||
        small_json_parse(buffer_bytes(&text), &claims) < 0 || !cJSON_IsObject(claims))
        return false;
    copy_claim(claims, "oid", NULL, ret->object);
    copy_claim(claims, "upn", "unique_name", ret->user);
    copy_claim(claims, "appid", "azp", ret->application);
    copy_claim(claims, "tid", NULL, ret->tenant);
    ret->expires_sec = read_expiry(claims);
    return true;
}

int token_claims_append_identity(const struct token_claims *claims, struct buffer *ret)
{
    const char *name = claims->user[0] ? claims->user : claims->application;
    if (!name[0] && !claims->object[0])
        return buffer_append_string(ret, "an identity that its token does not name");
    if (name[0])
        (void)buffer_append_format(ret, "%s %s", claims->user[0] ? "user" : "application", name);
    if (!claims->object[0])
        return ret->error;
    return buffer_append_format(ret, name[0] ? " (object %s)" : "object %s", claims->object);
}
