/* SPDX-License-Identifier: MIT */
/* Whatever an answer holds: its token can be a credential, its life is bounded, and the reason of a
 * refusal is a line that can be shown. The whole input is read as a token, too: its claims can be
 * shown. */
#include "client/identity/credential.h"
#include "client/identity/token_answer.h"
#include "client/identity/token_claims.h"
#include "client/text/printable.h"
#include "tests/fuzz/fuzz.h"

#define TEN_YEARS_MS (INT64_C(3650) * 24 * 3600 * 1000)

static void check_shown(const char *text, size_t size)
{
    char copy[512];
    size_t n = strnlen(text, size);
    INVARIANT(n < size && n < sizeof(copy));
    memcpy(copy, text, n + 1);
    printable_replace_string(copy);
    INVARIANT(strcmp(copy, text) == 0);
}

static void check_claims(struct bytes token)
{
    struct token_claims claims;
    bool is_read = token_claims_read(token, &claims);
    check_shown(claims.object, sizeof(claims.object));
    check_shown(claims.user, sizeof(claims.user));
    check_shown(claims.application, sizeof(claims.application));
    check_shown(claims.tenant, sizeof(claims.tenant));
    INVARIANT(claims.expires_sec >= 0);
    INVARIANT(is_read || (claims.expires_sec == 0 && !claims.object[0]));
}

static void check_answer(const struct token_answer *answer)
{
    struct credential *credential = NULL;
    INVARIANT(answer->life_ms > 0 && answer->life_ms <= TEN_YEARS_MS);
    INVARIANT(answer->refresh_ms >= 0);
    INVARIANT(credential_create_bearer(buffer_bytes(&answer->text), &credential) == 0);
    credential_unref(credential);
    check_claims(buffer_bytes(&answer->text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes body = {(const char *)data, size};
    struct token_answer answer = {0};
    struct call call = {0};
    int r = token_answer_read(body, 1735787045 * TICKS_PER_SEC, &call, &answer);
    INVARIANT(r == 0 || r == -EPROTO);
    if (r == 0)
        check_answer(&answer);
    else
        check_shown(call.failure.message, sizeof(call.failure.message));
    token_answer_finish(&answer);
    INVARIANT(token_answer_refusal(body, 400, &call) == -EACCES);
    check_shown(call.failure.message, sizeof(call.failure.message));
    check_claims(body);
    return 0;
}
