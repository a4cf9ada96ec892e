/* SPDX-License-Identifier: MIT */
#include "client/azure/refusal.h"
#include "client/azure/clock_skew.h"
#include "client/base/clock.h"
#include "client/http/http_date.h"

#include <strings.h>

static const char advice_key[] =
    "the account key is wrong: check AZURE_STORAGE_KEY, or AccountKey in the connection string";
static const char advice_key_or_firewall[] =
    "the account key is wrong (AZURE_STORAGE_KEY, or AccountKey in the connection string), or the "
    "account's firewall does not let this machine in";
static const char advice_clock[] =
    "this machine's clock differs from the service's by more than 5 minutes: set it";
static const char advice_expired[] =
    "the SAS token has expired: the time in se= is over; make a new token and start again with it";
static const char advice_early[] =
    "the SAS token is not valid yet: the time in st= is to come; wait, or make a new token";
static const char advice_service[] =
    "the SAS token is not for tables: make one with t in ss=, or one of the table itself";
static const char advice_tables[] =
    "a table's own SAS token cannot list, create or delete tables: write SOURCE/TABLE, or make an "
    "account SAS";
static const char advice_other_table[] = "the SAS token is for another table, the one in tn=";
static const char advice_types[] = "the SAS token lacks resource types: make one with srt=sco";
static const char advice_policy[] =
    "the stored access policy that si= of the SAS token names does not allow this, or has ended";
static const char advice_signature[] = "the SAS token's signature is wrong: its text was cut or "
                                       "changed, or the key that signed it was "
                                       "replaced; make a new token and start again with it";
static const char advice_signature_or_firewall[] =
    "the SAS token's signature is wrong (its text was cut or changed, or the key that signed it "
    "was "
    "replaced), or the account's firewall does not let this machine in";

static const char advice_role[] =
    "the identity needs the role Storage Table Data Reader on the account (to write: Storage Table "
    "Data Contributor); Owner or Contributor is not enough, and a new role takes up to ten minutes";
static const char advice_firewall[] = "the account's firewall does not let this machine in";
static const char advice_token[] = "the token is refused: check this machine's clock, and that the "
                                   "identity is of the account's tenant";
static const char advice_tenant[] =
    "set AZURE_TENANT_ID to the tenant of the account; with auth=msi that cannot be chosen: use an "
    "application of that tenant";

static const struct {
    char letter;
    const char *advice;
} permissions[] = {
    {'r', "the SAS token lacks r in sp=, which reading entities needs"},
    {'l', "the SAS token lacks l in sp=, which listing tables needs: make a new one, or write "
          "SOURCE/TABLE"},
    {'a', "the SAS token lacks a in sp=, which adding entities needs"},
    {'u', "the SAS token lacks u in sp=, which changing entities needs"},
    {'d', "the SAS token lacks d in sp=, which deleting needs"},
};

/* In ticks since 1970. Now by the service's clock, if its answer says it. */
static int64_t service_time(const struct refused_request *request)
{
    int64_t then;
    return http_date_parse(request->date, &then) ? then : request->dated_utc_100ns;
}

static bool is_clock_wrong(const struct refused_request *request)
{
    return !clock_skew_fits(request->dated_utc_100ns, service_time(request));
}

static bool has_letter(struct bytes letters, char letter)
{
    return letters.size > 0 && memchr(letters.data, letter, letters.size);
}

static const char *advice_of_times(const struct refused_request *request)
{
    int64_t then, now = service_time(request);
    if (credential_time(request->credential, "se", &then) && then < now)
        return advice_expired;
    return credential_time(request->credential, "st", &then) && then > now ? advice_early : NULL;
}

/* What the token is for: an account SAS has ss= and srt=, a table's own SAS tn=. */
static const char *advice_of_scope(const struct refused_request *request)
{
    struct bytes value;
    const struct credential *credential = request->credential;
    if (credential_parameter(credential, "tn", &value)) {
        if (!request->table)
            return advice_tables;
        bool is_same = strlen(request->table) == value.size &&
                       strncasecmp(request->table, value.data, value.size) == 0;
        return is_same ? NULL : advice_other_table;
    }
    if (credential_parameter(credential, "ss", &value) && !has_letter(value, 't'))
        return advice_service;
    if (credential_parameter(credential, "srt", &value) &&
        !(request->table ? has_letter(value, 'o')
                         : has_letter(value, 's') || has_letter(value, 'c')))
        return advice_types;
    return NULL;
}

static const char *advice_of_permissions(const struct refused_request *request)
{
    struct bytes value = {0};
    if (credential_parameter(request->credential, "si", &value))
        return NULL; /* a stored access policy may have further permissions */
    (void)credential_parameter(request->credential, "sp", &value);
    for (size_t i = 0; i < ARRAY_SIZE(permissions); i++) {
        if (strchr(request->needs, permissions[i].letter) &&
            !has_letter(value, permissions[i].letter))
            return permissions[i].advice;
    }
    return NULL;
}

/* By the service's code alone, after nothing was found in the token's text. */
static const char *advice_of_code(const struct refused_request *request, const char *code)
{
    struct bytes policy;
    if (strcmp(code, "AuthorizationPermissionMismatch") == 0)
        return credential_parameter(request->credential, "si", &policy) ? advice_policy : NULL;
    if (strcmp(code, "AuthorizationResourceTypeMismatch") == 0)
        return advice_types;
    if (strcmp(code, "AuthorizationFailure") == 0)
        return advice_signature_or_firewall;
    return strcmp(code, "AuthenticationFailed") == 0 ? advice_signature : NULL;
}

static const char *advice_for_sas(const struct refused_request *request, const char *code)
{
    const char *advice = advice_of_times(request);
    if (!advice)
        advice = advice_of_scope(request);
    if (!advice)
        advice = advice_of_permissions(request);
    return advice ? advice : advice_of_code(request, code);
}

/* Codes that say another reason than a wrong credential. */
static bool is_of_account(const char *code)
{
    static const char *const codes[] = {
        "InsufficientAccountPermissions",     "AccountIsDisabled",
        "KeyBasedAuthenticationNotPermitted", "AuthorizationProtocolMismatch",
        "AuthorizationSourceIPMismatch",
    };
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        if (strcmp(codes[i], code) == 0)
            return true;
    }
    return false;
}

static const char *advice_for_token(const struct refused_request *request,
                                    const struct failure *failure)
{
    if (strcmp(failure->code, "AuthorizationPermissionMismatch") == 0)
        return advice_role;
    if (strcmp(failure->code, "AuthorizationFailure") == 0)
        return advice_firewall;
    if (is_clock_wrong(request))
        return advice_clock;
    return failure->code[0] || failure->http_status == 401 ? advice_token : NULL;
}

const char *refusal_advice(const struct refused_request *request, const struct failure *failure)
{
    if (is_of_account(failure->code))
        return NULL;
    if (!request->credential)
        return advice_for_token(request, failure);
    if (credential_is_sas(request->credential))
        return advice_for_sas(request, failure->code);
    if (is_clock_wrong(request))
        return advice_clock;
    if (failure->code[0] == '\0')
        return NULL; /* perhaps not the service's answer */
    return strcmp(failure->code, "AuthorizationFailure") == 0 ? advice_key_or_firewall : advice_key;
}

/* The tenant in "Bearer authorization_uri=https://HOST/TENANT/oauth2/authorize ..."; empty: none.
 */
static struct bytes tenant_of_challenge(struct bytes challenge)
{
    static const char before[] = "https://";
    const char *found = bytes_find(challenge, BYTES_LITERAL("authorization"));
    if (!found)
        return (struct bytes){0};
    struct bytes rest = bytes_skip(challenge, (size_t)(found - challenge.data));
    found = bytes_find(rest, bytes_of(before));
    if (!found)
        return (struct bytes){0};
    rest = bytes_skip(rest, (size_t)(found - rest.data) + strlen(before));
    (void)bytes_take_until(&rest, '/'); /* the host */
    size_t n = 0;
    while (n < rest.size && (hex_digit_value(rest.data[n]) >= 0 || rest.data[n] == '-'))
        n++;
    bool is_whole = n == rest.size || strchr("/ ,\"", rest.data[n]);
    return is_whole && n < TOKEN_CLAIM_SIZE ? bytes_first(rest, n) : (struct bytes){0};
}

void refusal_name_identity(const struct token_claims *claims, struct bytes challenge,
                           struct failure *failure)
{
    _cleanup_(buffer_finish) struct buffer message;
    struct bytes own = bytes_of(claims->tenant), tenant = tenant_of_challenge(challenge);
    bool is_foreign =
        own.size > 0 && tenant.size > 0 &&
        (own.size != tenant.size || strncasecmp(own.data, tenant.data, own.size) != 0);
    buffer_init(&message, (size_t)8 * TOKEN_CLAIM_SIZE);
    (void)token_claims_append_identity(claims, &message);
    if (is_foreign)
        (void)buffer_append_format(&message, " of tenant %s, but the account is in tenant %.*s",
                                   claims->tenant, (int)tenant.size, tenant.data);
    if (is_foreign)
        failure->advice = advice_tenant;
    (void)buffer_append_format(&message, ": %s", failure->message);
    const char *text = buffer_string(&message);
    if (text)
        (void)snprintf(failure->message, sizeof(failure->message), "%s", text);
}
