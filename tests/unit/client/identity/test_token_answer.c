/* SPDX-License-Identifier: MIT */
#include "client/identity/token_answer.h"
#include "client/identity/credential.h"
#include "tests/unit/unit.h"

#define NOW_SEC 1735787045
#define NOW     (NOW_SEC * TICKS_PER_SEC)
#define T       "\"access_token\":\"abc\","
/* {"exp":1735787105,"oid":"o-1","appid":"a-1","tid":"t-1"}: a minute from now */
#define CLAIMS "eyJleHAiOjE3MzU3ODcxMDUsIm9pZCI6Im8tMSIsImFwcGlkIjoiYS0xIiwidGlkIjoidC0xIn0"
#define JWT    "eyJhbGciOiJub25lIn0." CLAIMS ".c2ln"

static const struct {
    const char *body;
    int64_t life_ms, refresh_ms;
} good[] = {
    {"{" T "\"expires_in\":3599}", 3599000, 0},
    {"{" T "\"expires_in\":\"3599\",\"expires_on\":\"1\"}", 3599000, 0},
    {"{" T "\"expires_in\":3599.9}", 3599000, 0},
    {"{" T "\"expires_on\":1735787145}", 100000, 0},
    {"{" T "\"expires_on\":\"1735787145\",\"resource\":\"r\"}", 100000, 0},
    {"{\"accessToken\":\"abc\",\"expires_on\":1735787145,\"expiresOn\":\"2026-01-01 01:00\"}",
     100000, 0},
    {"{" T "\"expires_in\":86400,\"refresh_in\":43200}", 86400000, 43200000},
    {"{" T "\"expires_in\":86400,\"refresh_in\":\"100\"}", 86400000, 100000},
    {"{" T "\"expires_in\":86400,\"refresh_in\":86400}", 86400000, 0},
    {"{" T "\"expires_in\":86400,\"refresh_in\":-1}", 86400000, 0},
    {"{" T "\"expires_in\":1}", 1000, 0},
    {"{" T "\"expires_in\":999999999999}", INT64_C(3650) * 86400 * 1000, 0}, /* ten years */
    {"{" T "\"expires_in\":\"soon\",\"expires_on\":1735787145}", 100000, 0},
    {"{\"access_token\":\"" JWT "\"}", 60000, 0},
};

static void good_answers_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        _cleanup_(token_answer_finish) struct token_answer answer;
        struct call call = {0};
        int r = token_answer_read(bytes_of(good[i].body), NOW, &call, &answer);
        if (r < 0)
            fail_msg("%s: %s", good[i].body, call.failure.message);
        assert_int_equal(answer.life_ms, good[i].life_ms);
        assert_int_equal(answer.refresh_ms, good[i].refresh_ms);
        assert_bytes(buffer_bytes(&answer.text), strstr(good[i].body, JWT) ? B(JWT) : B("abc"));
    }
}

static const struct {
    const char *body, *reason;
} bad[] = {
    {"", "the answer is not JSON"},
    {"<html>", "the answer is not JSON"},
    {"[]", "the answer is not JSON"},
    {"\"abc\"", "the answer is not JSON"},
    {"{" T "\"expires_in\":1", "the answer is not JSON"},
    {"{}", "the answer has no access token"},
    {"{\"access_token\":\"\",\"expires_in\":1}", "the answer has no access token"},
    {"{\"access_token\":7,\"expires_in\":1}", "the answer has no access token"},
    {"{\"access_token\":\"a b\",\"expires_in\":1}", "the answer has an access token that is none"},
    {"{\"access_token\":\"a\\r\\nX: y\",\"expires_in\":1}",
     "the answer has an access token that is none"},
    {"{" T "\"x\":1}", "the answer does not say when its token ends"},
    {"{" T "\"expires_in\":true}", "the answer does not say when its token ends"},
    {"{" T "\"expires_in\":-5}", "the answer does not say when its token ends"},
    {"{" T "\"expires_in\":1e300}", "the answer does not say when its token ends"},
    {"{" T "\"expires_in\":\"1e3\"}", "the answer does not say when its token ends"},
    {"{" T "\"expires_in\":\"99999999999999999999\"}",
     "the answer does not say when its token ends"},
    {"{" T "\"expires_in\":0}",
     "the answer has a token that has ended already: check this machine's clock"},
    {"{" T "\"expires_on\":1735787045}",
     "the answer has a token that has ended already: check this machine's clock"},
};

static void bad_answers_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct token_answer answer;
        struct call call = {0};
        assert_int_equal(token_answer_read(bytes_of(bad[i].body), NOW, &call, &answer), -EPROTO);
        assert_string_equal(call.failure.message, bad[i].reason);
        assert_false(call.failure.is_retryable);
    }
}

static void a_token_has_a_maximum(void **state)
{
    (void)state;
    char text[CREDENTIAL_BEARER_MAX_BYTES + 100];
    for (size_t size = CREDENTIAL_BEARER_MAX_BYTES; size <= CREDENTIAL_BEARER_MAX_BYTES + 1;
         size++) {
        struct token_answer answer;
        struct call call = {0};
        int n = snprintf(text, sizeof(text), "{\"expires_in\":9,\"access_token\":\"");
        memset(text + n, 'a', size);
        memcpy(text + n + size, "\"}", 3);
        int r = token_answer_read(bytes_of(text), NOW, &call, &answer);
        assert_int_equal(r, size > CREDENTIAL_BEARER_MAX_BYTES ? -EPROTO : 0);
        if (r == 0)
            token_answer_finish(&answer);
    }
}

#define D "\"error_description\":"

static const struct {
    int status;
    const char *body, *reason;
    int error;
    bool is_retryable;
} refusals[] = {
    {401,
     "{\"error\":\"invalid_client\"," D "\"AADSTS7000215: Invalid secret. Ensure\\r\\nTrace: 1\"}",
     "AADSTS7000215: Invalid secret.", -EACCES, false},
    {400, "{" D "\"AADSTS90002: no tenant\\r\\nTrace: 1. 2\"}", "AADSTS90002: no tenant", -EACCES,
     false},
    {400, "{" D "\"Identity not found\"}", "Identity not found", -EACCES, false},
    {400, "{\"statusCode\":400,\"message\":\"No identity. Add one.\"}", "No identity.", -EACCES,
     false},
    {400, "{\"error\":\"invalid_scope\"," D "\"\"}", "invalid_scope", -EACCES, false},
    {400, "{" D "\"1.5 is v1.2. Two\"}", "1.5 is v1.2.", -EACCES, false},
    {400, "{" D "\"a\\u001b[2Jb\"}", "a?[2Jb", -EACCES, false},
    {403, "", "it answered HTTP 403 without a reason", -EACCES, false},
    {302, "", "it answered HTTP 302 without a reason", -EIO, false},
    {404, "{}", "it answered HTTP 404 without a reason", -EIO, true},
    {410, "gone", "it answered HTTP 410 without a reason", -EIO, true},
    {429, "{\"error\":\"slow_down\"}", "slow_down", -EIO, true},
    {500, "<html>", "it answered HTTP 500 without a reason", -EIO, true},
    {503, "{" D "7}", "it answered HTTP 503 without a reason", -EIO, true},
};

static void a_refusal_tells_its_first_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        struct call call = {0};
        int r = token_answer_refusal(bytes_of(refusals[i].body), refusals[i].status, &call);
        assert_string_equal(call.failure.message, refusals[i].reason);
        assert_int_equal(r, refusals[i].error);
        assert_int_equal(call.failure.is_retryable, refusals[i].is_retryable);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_answers_are_read),
        cmocka_unit_test(bad_answers_are_refused),
        cmocka_unit_test(a_token_has_a_maximum),
        cmocka_unit_test(a_refusal_tells_its_first_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
