/* SPDX-License-Identifier: MIT */
#include "client/azure/refusal.h"
#include "client/base/clock.h"
#include "tests/unit/unit.h"

#define NOW  (1735787045 * TICKS_PER_SEC) /* Thu, 02 Jan 2025 03:04:05 GMT */
#define DATE "Thu, 02 Jan 2025 03:04:05 GMT"

/* What is advised, after the service answered 403 with this code. */
static const char *ask(const struct credential *credential, const char *table, const char *needs,
                       const char *date, const char *code)
{
    struct failure failure = {.error = -EACCES, .http_status = 403};
    (void)snprintf(failure.code, sizeof(failure.code), "%s", code);
    const struct refused_request request = {.credential = credential,
                                            .table = table,
                                            .needs = needs,
                                            .date = bytes_of(date),
                                            .dated_utc_100ns = NOW};
    return refusal_advice(&request, &failure);
}

static void check(const char *advice, const char *part, const char *what)
{
    if (!part && advice)
        fail_msg("%s: %s", what, advice);
    if (part && (!advice || !strstr(advice, part)))
        fail_msg("%s: %s, and not %s", what, advice ? advice : "nothing", part);
}

static const struct {
    const char *token, *table, *needs, *code, *advice; /* advice: a part of it; NULL: none */
} tokens[] = {
#define ACCOUNT "ss=t&srt=sco&sp=rl&se=2025-02-01T00%3A00%3A00Z"
#define TABLE   "tn=mytable&sp=r&se=2025-02-01T00%3A00%3A00Z"
    /* times, by the service's clock */
    {"ss=t&srt=sco&sp=rl&se=2025-01-02T03%3A04%3A04Z", NULL, "l", "AuthenticationFailed",
     "expired"},
    {"ss=t&srt=sco&sp=rl&se=2025-01-02T03:04Z", NULL, "l", "AuthenticationFailed", "expired"},
    {"ss=t&srt=sco&sp=rl&se=2025-01-02", NULL, "l", "AuthenticationFailed", "expired"},
    {"ss=t&srt=sco&sp=rl&se=2025-01-02T03%3a04%3a04.9999999Z", NULL, "l", "", "expired"},
    {"ss=t&srt=sco&sp=rl&se=2024-12-31&spr=https", "t1x", "r", "AuthorizationFailure", "expired"},
    {"tn=t1x&sp=&se=2024-12-31", "t1x", "r", "AuthorizationPermissionMismatch", "expired"},
    {"ss=t&srt=sco&sp=rl&se=2025-01-02T03%3A04%3A05Z", NULL, "l", "AuthenticationFailed",
     "signature is wrong"},
    {"ss=t&srt=sco&sp=rl&se=2025-01-03", NULL, "l", "AuthenticationFailed", "signature is wrong"},
    {"ss=t&srt=sco&sp=rl&se=soon", NULL, "l", "AuthenticationFailed", "signature is wrong"},
    {"ss=t&srt=sco&sp=rl&se=2025-01-01T00%3A00%3A00Z%20and%20much%20more", NULL, "l",
     "AuthenticationFailed", "signature is wrong"},
    {"ss=t&srt=sco&sp=rl&st=2025-01-02T03%3A04%3A06Z&se=2026-01-01", NULL, "l",
     "AuthenticationFailed", "not valid yet"},
    {"ss=t&srt=sco&sp=rl&st=2025-01-02&se=2026-01-01", NULL, "l", "AuthenticationFailed",
     "signature is wrong"},
    /* a table's own token */
    {TABLE, NULL, "l", "AuthorizationFailure", "cannot list"},
    {TABLE, NULL, "", "AuthorizationResourceTypeMismatch", "cannot list"},
    {TABLE, "other", "r", "AuthenticationFailed", "another table"},
    {TABLE, "mytabl", "r", "AuthenticationFailed", "another table"},
    {TABLE, "MyTable", "r", "AuthenticationFailed", "signature is wrong"},
    {TABLE, "mytable", "a", "AuthorizationPermissionMismatch", "lacks a in sp="},
    /* what an account's token is for */
    {"ss=bfq&srt=sco&sp=rl", NULL, "l", "AuthorizationServiceMismatch", "t in ss="},
    {"ss=bfq&srt=sco&sp=rl", "t1x", "r", "AuthorizationFailure", "t in ss="},
    {"ss=bqt&srt=sc&sp=rl", "t1x", "r", "AuthorizationResourceTypeMismatch", "srt=sco"},
    {"ss=bqt&srt=o&sp=rl", NULL, "l", "AuthorizationResourceTypeMismatch", "srt=sco"},
    {"ss=bqt&srt=c&sp=rl", NULL, "l", "AuthorizationResourceTypeMismatch", "srt=sco"},
    {"ss=t&srt=co&sp=rl", NULL, "l", "AuthorizationFailure", "or the account's firewall"},
    /* permissions */
    {"ss=t&srt=sco&sp=l", "t1x", "r", "AuthorizationPermissionMismatch", "lacks r in sp="},
    {"ss=t&srt=sco&sp=r", NULL, "l", "AuthorizationPermissionMismatch", "write SOURCE/TABLE"},
    {"ss=t&srt=sco&sp=rl", "t1x", "a", "AuthorizationPermissionMismatch", "lacks a in sp="},
    {"ss=t&srt=sco&sp=rla", "t1x", "au", "AuthorizationPermissionMismatch", "lacks u in sp="},
    {"ss=t&srt=sco&sp=rlu", "t1x", "au", "AuthorizationPermissionMismatch", "lacks a in sp="},
    {"ss=t&srt=sco&sp=rlau", "t1x", "d", "AuthorizationPermissionMismatch", "lacks d in sp="},
    {"ss=t&srt=sco", "t1x", "r", "AuthorizationPermissionMismatch", "lacks r in sp="},
    {ACCOUNT, NULL, "", "AuthorizationPermissionMismatch", NULL}, /* the general advice */
    {"tn=t1x&si=policy", "t1x", "r", "AuthorizationPermissionMismatch", "policy"},
    {"tn=t1x&si=policy", "t1x", "r", "AuthenticationFailed", "signature is wrong"},
    /* by the code alone */
    {ACCOUNT, NULL, "l", "AuthenticationFailed", "signature is wrong"},
    {ACCOUNT, NULL, "l", "AuthorizationFailure", "or the account's firewall"},
    {ACCOUNT, NULL, "l", "AuthorizationProtocolMismatch", NULL},
    {ACCOUNT, NULL, "l", "AuthorizationSourceIPMismatch", NULL},
    {ACCOUNT, NULL, "l", "AccountIsDisabled", NULL},
    {ACCOUNT, NULL, "l", "KeyBasedAuthenticationNotPermitted", NULL},
    {ACCOUNT, NULL, "l", "SomethingNew", NULL},
    {ACCOUNT, NULL, "l", "", NULL}, /* perhaps a proxy's */
};

static void a_token_gets_advice_for_tokens(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
        _cleanup_(credential_unrefp) struct credential *credential = NULL;
        char token[200];
        (void)snprintf(token, sizeof(token), "sv=2020-12-06&%s&sig=SECRET%%3D", tokens[i].token);
        assert_int_equal(credential_create_sas(bytes_of(token), &credential), 0);
        const char *advice =
            ask(credential, tokens[i].table, tokens[i].needs, DATE, tokens[i].code);
        check(advice, tokens[i].advice, tokens[i].token);
        assert_true(!advice || !strstr(advice, "key is wrong"));
    }
}

/* Not by this machine's clock, unless the answer has no date. */
static void the_time_is_the_services(void **state)
{
    (void)state;
    _cleanup_(credential_unrefp) struct credential *credential = NULL;
    struct bytes token = BYTES_LITERAL("sp=r&tn=t1x&se=2025-01-02&sig=S");
    assert_int_equal(credential_create_sas(token, &credential), 0);
    check(ask(credential, "t1x", "r", "Wed, 01 Jan 2025 23:59:59 GMT", "AuthenticationFailed"),
          "signature is wrong", "earlier there");
    check(ask(credential, "t1x", "r", "", "AuthenticationFailed"), "expired", "no date");
}

static const struct {
    const char *date, *code, *advice;
} keys[] = {
    {DATE, "AuthenticationFailed", "the account key is wrong"},
    {DATE, "InvalidAuthenticationInfo", "the account key is wrong"},
    {DATE, "AuthorizationFailure", "or the account's firewall"},
    {DATE, "KeyBasedAuthenticationNotPermitted", NULL},
    {DATE, "AccountIsDisabled", NULL},
    {DATE, "", NULL}, /* perhaps a proxy's */
    {"", "AuthenticationFailed", "the account key is wrong"},
    {"nonsense", "AuthenticationFailed", "the account key is wrong"},
    {"Thu, 02 Jan 2025 03:09:05 GMT", "AuthenticationFailed", "the account key is wrong"},
    {"Thu, 02 Jan 2025 03:09:06 GMT", "AuthenticationFailed", "clock"},
    {"Thu, 02 Jan 2025 02:59:05 GMT", "AuthenticationFailed", "the account key is wrong"},
    {"Thu, 02 Jan 2025 02:59:04 GMT", "AuthenticationFailed", "clock"},
    {"Thu, 02 Jan 2025 02:00:00 GMT", "", "clock"},
};

static void a_key_gets_advice_for_keys(void **state)
{
    (void)state;
    _cleanup_(credential_unrefp) struct credential *credential = NULL;
    assert_int_equal(credential_create_shared_key(BYTES_LITERAL("account"),
                                                  BYTES_LITERAL("c2VjcmV0"), &credential),
                     0);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const char *advice = ask(credential, "t1x", "r", keys[i].date, keys[i].code);
        check(advice, keys[i].advice, keys[i].code);
        assert_true(!advice || !strstr(advice, "SAS"));
    }
}

static const struct {
    const char *date, *code, *advice;
} of_entra[] = {
    {DATE, "AuthorizationPermissionMismatch", "the role Storage Table Data Reader"},
    {DATE, "AuthorizationPermissionMismatch", "Owner or Contributor is not enough"},
    {DATE, "AuthorizationPermissionMismatch", "takes up to ten minutes"},
    {DATE, "AuthorizationFailure", "the account's firewall"},
    {DATE, "AuthenticationFailed", "the token is refused"},
    {"Thu, 02 Jan 2025 03:09:06 GMT", "AuthenticationFailed", "clock differs"},
    {DATE, "AccountIsDisabled", NULL},
    {DATE, "", NULL}, /* perhaps a proxy's */
};

static void a_token_of_entra_gets_advice_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(of_entra); i++) {
        const char *advice = ask(NULL, "t1x", "r", of_entra[i].date, of_entra[i].code);
        check(advice, of_entra[i].advice, of_entra[i].code);
        assert_true(!advice || (!strstr(advice, "SAS") && !strstr(advice, "key")));
    }
}

#define OTHER "44444444-4444-4444-4444-444444444444"
#define NAMES "application app (object obj) of tenant 11-1a, but the account is in tenant "

static const struct {
    const char *challenge, *message;
} challenges[] = {
    {"", "application app (object obj): refused"},
    {"Bearer", "application app (object obj): refused"},
    {"Bearer authorization_uri=https://login.microsoftonline.com/" OTHER
     "/oauth2/authorize resource_id=https://storage.azure.com",
     NAMES OTHER ": refused"},
    {"Bearer authorization_uri=\"https://h/" OTHER "\", resource_id=\"r\"",
     NAMES OTHER ": refused"},
    {"Bearer resource_id=https://r/x, authorization=https://h/22-2", NAMES "22-2: refused"},
    {"Bearer authorization_uri=https://h/11-1A/oauth2", "application app (object obj): refused"},
    {"Bearer authorization_uri=https://h/common/oauth2", "application app (object obj): refused"},
    {"Bearer authorization_uri=https://h", "application app (object obj): refused"},
    {"Bearer authorization_uri=https://h/", "application app (object obj): refused"},
    {"Bearer authorization_uri=http", "application app (object obj): refused"},
};

static void the_identity_and_another_tenant_are_named(void **state)
{
    (void)state;
    const struct token_claims claims = {.object = "obj", .application = "app", .tenant = "11-1a"};
    for (size_t i = 0; i < ARRAY_SIZE(challenges); i++) {
        struct failure failure = {.error = -EACCES, .message = "refused", .advice = "before"};
        refusal_name_identity(&claims, bytes_of(challenges[i].challenge), &failure);
        assert_string_equal(failure.message, challenges[i].message);
        bool is_foreign = strstr(challenges[i].message, "but the account");
        assert_string_equal(failure.advice,
                            is_foreign
                                ? "set AZURE_TENANT_ID to the tenant of the account; with "
                                  "auth=msi that cannot be chosen: use an application of that "
                                  "tenant"
                                : "before");
    }
    struct failure failure = {.error = -EACCES};
    memset(failure.message, 'm', sizeof(failure.message) - 1);
    refusal_name_identity(&claims, (struct bytes){0}, &failure); /* the end is cut */
    assert_int_equal(strlen(failure.message), sizeof(failure.message) - 1);
    assert_int_equal(strncmp(failure.message, "application app (object obj): mm", 32), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_gets_advice_for_tokens),
        cmocka_unit_test(the_time_is_the_services),
        cmocka_unit_test(a_key_gets_advice_for_keys),
        cmocka_unit_test(a_token_of_entra_gets_advice_of_its_own),
        cmocka_unit_test(the_identity_and_another_tenant_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
