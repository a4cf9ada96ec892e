/* SPDX-License-Identifier: MIT */
#include "client/identity/token_answer.h"
#include "client/identity/credential.h"
#include "client/identity/token_claims.h"
#include "client/text/printable.h"
#include "client/text/small_json.h"

#define SECONDS_MAX UINT64_C(1000000000000) /* more is no time */
#define LIFE_MAX_MS (INT64_C(3650) * 24 * 3600 * 1000)

/* The tree holds the token. */
static void wipe(cJSON **tree)
{
    for (cJSON *item = cJSON_IsObject(*tree) ? (*tree)->child : NULL; item; item = item->next)
        if (cJSON_IsString(item))
            explicit_bzero(item->valuestring, strlen(item->valuestring));
    cJSON_Delete(*tree);
}

/* A number, or a text of digits. False: there is neither. */
static bool read_seconds(const cJSON *tree, const char *name, int64_t *ret)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(tree, name);
    uint64_t value = 0;
    if (cJSON_IsString(item)) {
        if (!bytes_parse_unsigned(bytes_of(item->valuestring), SECONDS_MAX, &value))
            return false;
    } else if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) ||
               item->valuedouble > (double)SECONDS_MAX) {
        return false;
    } else {
        value = (uint64_t)item->valuedouble;
    }
    *ret = (int64_t)value;
    return true;
}

/* False: the answer does not have it. */
static bool read_life(const cJSON *tree, struct bytes token, int64_t now_utc_100ns, int64_t *ret_ms)
{
    int64_t now_ms = now_utc_100ns / TICKS_PER_MS, seconds;
    struct token_claims claims;
    if (read_seconds(tree, "expires_in", &seconds)) {
        *ret_ms = seconds * 1000;
        return true;
    }
    if (!read_seconds(tree, "expires_on", &seconds)) {
        if (!token_claims_read(token, &claims) || claims.expires_sec == 0)
            return false;
        seconds = claims.expires_sec;
    }
    *ret_ms = seconds * 1000 - now_ms;
    return true;
}

static int fail(struct call *call, const char *what)
{
    return call_fail(call, -EPROTO, "the answer %s", what);
}

/* `az` writes names in its own way. */
static struct bytes find_token(const cJSON *tree)
{
    struct bytes token = small_json_string(tree, "access_token");
    return token.size > 0 ? token : small_json_string(tree, "accessToken");
}

static int check_token(struct bytes token, struct call *call)
{
    _cleanup_(credential_unrefp) struct credential *credential = NULL;
    if (token.size == 0)
        return fail(call, "has no access token");
    int r = credential_create_bearer(token, &credential);
    return r == -EINVAL ? fail(call, "has an access token that is none") : r;
}

int token_answer_read(struct bytes body, int64_t now_utc_100ns, struct call *call,
                      struct token_answer *ret)
{
    _cleanup_(wipe) cJSON *tree = NULL;
    int64_t life_ms, refresh_sec;
    int r = small_json_parse(body, &tree);
    if (r == -EPROTO || (r == 0 && !cJSON_IsObject(tree)))
        return fail(call, "is not JSON");
    struct bytes token = find_token(tree);
    if (r == 0)
        r = check_token(token, call);
    if (r == -ENOMEM)
        return call_fail(call, r, "out of memory");
    if (r < 0)
        return r;
    if (!read_life(tree, token, now_utc_100ns, &life_ms))
        return fail(call, "does not say when its token ends");
    if (life_ms <= 0)
        return fail(call, "has a token that has ended already: check this machine's clock");
    *ret = (struct token_answer){.life_ms = MIN(life_ms, LIFE_MAX_MS)};
    if (read_seconds(tree, "refresh_in", &refresh_sec) && refresh_sec * 1000 < life_ms)
        ret->refresh_ms = refresh_sec * 1000;
    buffer_init(&ret->text, CREDENTIAL_BEARER_MAX_BYTES);
    r = buffer_append(&ret->text, token);
    return r < 0 ? call_fail(call, r, "out of memory") : 0;
}

void token_answer_finish(struct token_answer *answer)
{
    buffer_wipe(&answer->text);
}

/* Up to the end of its line, or to a full stop with a blank after it. */
static struct bytes first_sentence(struct bytes text)
{
    size_t n = 0;
    while (n < text.size && text.data[n] != '\r' && text.data[n] != '\n' &&
           !(n > 0 && text.data[n] == ' ' && text.data[n - 1] == '.'))
        n++;
    return bytes_trim(bytes_first(text, n));
}

static bool may_go_by(int status)
{
    return status == 404 || status == 408 || status == 410 || status == 429 || status >= 500;
}

int token_answer_refusal(struct bytes body, int status, struct call *call)
{
    static const char *const members[] = {"error_description", "message", "error"};
    _cleanup_(cJSON_Deletep) cJSON *tree = NULL;
    struct bytes reason = {0};
    int error = may_go_by(status) || status < 400 ? -EIO : -EACCES;
    if (small_json_parse(body, &tree) == -ENOMEM)
        return call_fail(call, -ENOMEM, "out of memory");
    for (size_t i = 0; reason.size == 0 && i < ARRAY_SIZE(members); i++)
        reason = first_sentence(small_json_string(tree, members[i]));
    if (reason.size > 0)
        (void)call_fail(call, error, "%.*s", (int)MIN(reason.size, (size_t)200), reason.data);
    else
        (void)call_fail(call, error, "it answered HTTP %d without a reason", status);
    printable_replace_string(call->failure.message);
    call->failure.is_retryable = may_go_by(status);
    return error;
}
