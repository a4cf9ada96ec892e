/* SPDX-License-Identifier: MIT */
#include "client/identity/connection.h"
#include "client/identity/connection_string.h"
#include "client/identity/pasted.h"

#include <curl/curl.h>
#include <strings.h>

#define SAS_URL          "AZURE_STORAGE_SAS_URL"
#define DEFAULT_SUFFIX   "core.windows.net"
#define EMULATOR_PORT    "10002"
#define EMULATOR_ACCOUNT "devstoreaccount1"
/* published by Microsoft and the same for every emulator, so not a secret */
#define EMULATOR_KEY                                                                               \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

#define URL_MAX_BYTES          1024
#define ACCOUNT_KEY_CHARACTERS 88 /* base64 of 64 bytes */

static const char advice_emulator[] =
    "`unset AZURE_STORAGE_CONNECTION_STRING`, and write `emulator` as SOURCE";
static const char advice_key[] =
    "`az storage account keys list --account-name ACCOUNT` shows it, and so does the portal";
static const char advice_sas[] = "`az storage account generate-sas` makes one; write it in '...'";
static const char advice_mismatch[] = "leave SOURCE out, or unset the variable";

struct variables { /* the environment as views, and, in place of a SAS URL's variable, its name */
    struct bytes connection_string, account, key, sas_token, sas_url;
    const char *sas_url_name;
    bool uses_tokens;
};

static const struct {
    const char *name;
    size_t given, cleaned; /* in struct connection_environment, and in struct variables */
    bool is_credential;
} variable_names[] = {
    {CONNECTION_STRING, offsetof(struct connection_environment, connection_string),
     offsetof(struct variables, connection_string), true},
    {"AZURE_STORAGE_ACCOUNT", offsetof(struct connection_environment, account),
     offsetof(struct variables, account), false},
    {"AZURE_STORAGE_KEY", offsetof(struct connection_environment, key),
     offsetof(struct variables, key), true},
    {"AZURE_STORAGE_SAS_TOKEN", offsetof(struct connection_environment, sas_token),
     offsetof(struct variables, sas_token), true},
    {SAS_URL, offsetof(struct connection_environment, sas_url), offsetof(struct variables, sas_url),
     true},
};

static bool equals_ignoring_case(struct bytes text, const char *word)
{
    return text.size == strlen(word) && strncasecmp(text.data, word, text.size) == 0;
}

/* Sets the endpoint. `what` names it in messages. */
static int set_endpoint(struct connection *ret, const char *what, struct bytes url,
                        struct bytes account, struct call *call)
{
    ret->named_by = what;
    return endpoint_parse(&ret->endpoint, what, url, account, call);
}

/* What a text looks like if it is not a credential of the expected kind. NULL: unknown. */
static const char *describe_credential(struct bytes text)
{
    if (bytes_find(text, BYTES_LITERAL("AccountKey=")) ||
        bytes_find(text, BYTES_LITERAL("SharedAccessSignature=")))
        return "looks like a connection string: put it into " CONNECTION_STRING;
    if (bytes_find(text, BYTES_LITERAL("&sig=")))
        return "looks like a SAS token: put it into AZURE_STORAGE_SAS_TOKEN";
    if (text.size == ACCOUNT_KEY_CHARACTERS && bytes_end_with(text, BYTES_LITERAL("==")))
        return "looks like an account key: put it into AZURE_STORAGE_KEY";
    return NULL;
}

static int refuse_credential(struct call *call, const char *what, struct bytes text,
                             const char *otherwise, const char *advice)
{
    const char *hint = describe_credential(text);
    return call_fail_with(call, -EINVAL, hint ? NULL : advice, "%s %s", what,
                          hint ? hint : otherwise);
}

/* Sets the credential for the account of the endpoint. */
static int set_shared_key(struct connection *ret, const char *what, struct bytes key,
                          struct call *call)
{
    const char *account = ret->endpoint.account;
    ret->credential_by = what;
    ret->is_published =
        strcmp(account, EMULATOR_ACCOUNT) == 0 && bytes_equal(key, BYTES_LITERAL(EMULATOR_KEY));
    int r = credential_create_shared_key(bytes_of(account), key, &ret->credential);
    if (r == -EINVAL)
        return refuse_credential(call, what, key,
                                 "is not the base64 of an account key: was it cut?", advice_key);
    return r < 0 ? call_fail(call, r, "out of memory") : 0;
}

static int set_sas(struct connection *ret, const char *what, struct bytes token, struct call *call)
{
    ret->credential_by = what;
    int r = credential_create_sas(token, &ret->credential);
    if (r == -EINVAL)
        return refuse_credential(call, what, token,
                                 "is not a percent-encoded SAS token with a signature: was it cut, "
                                 "or not quoted?",
                                 advice_sas);
    return r < 0 ? call_fail(call, r, "out of memory") : 0;
}

/* The emulator's host may be set; its port and account are fixed. */
static int connect_emulator(struct connection *ret, struct bytes proxy, struct call *call)
{
    ret->named_by = "DevelopmentStorageProxyUri";
    int r = endpoint_parse_at(&ret->endpoint, ret->named_by,
                              proxy.size > 0 ? proxy : BYTES_LITERAL("http://127.0.0.1"),
                              EMULATOR_PORT, EMULATOR_ACCOUNT, call);
    return r < 0 ? r : set_shared_key(ret, "the emulator's key", BYTES_LITERAL(EMULATOR_KEY), call);
}

/* protocol://account.table.suffix */
static int compose_endpoint(struct connection *ret, const char *what, struct bytes protocol,
                            struct bytes account, struct bytes suffix, struct call *call)
{
    if (equals_ignoring_case(account, EMULATOR_ACCOUNT) &&
        equals_ignoring_case(suffix, DEFAULT_SUFFIX))
        return call_fail(call, -EINVAL,
                         EMULATOR_ACCOUNT " is the emulator's account: write `emulator`, or name "
                                          "its URL as SOURCE or TableEndpoint, such as "
                                          "http://127.0.0.1:10002/" EMULATOR_ACCOUNT);
    _cleanup_(buffer_finish) struct buffer url;
    buffer_init(&url, URL_MAX_BYTES);
    (void)buffer_append(&url, protocol);
    (void)buffer_append_string(&url, "://");
    (void)buffer_append(&url, account);
    (void)buffer_append_string(&url, ".table.");
    int r = buffer_append(&url, suffix);
    if (r < 0)
        return r == -EFBIG ? call_fail(call, -EINVAL, "%s is too long", what)
                           : call_fail(call, r, "out of memory");
    return set_endpoint(ret, what, buffer_bytes(&url), account, call);
}

static int find_endpoint(struct connection *ret, const struct connection_string *settings,
                         struct call *call)
{
    struct bytes protocol =
        settings->protocol.size > 0 ? settings->protocol : BYTES_LITERAL("https");
    struct bytes suffix =
        settings->suffix.size > 0 ? settings->suffix : BYTES_LITERAL(DEFAULT_SUFFIX);
    if (settings->account.size > 0 && !endpoint_is_account_name(settings->account))
        return call_fail_with(call, -EINVAL, endpoint_advice_accounts,
                              "AccountName is not 3 to 24 of the characters a-z and 0-9");
    if (settings->endpoint.size > 0)
        return set_endpoint(ret, "TableEndpoint", settings->endpoint, settings->account, call);
    if (settings->secondary.size > 0)
        return call_fail_with(call, -EINVAL, connection_string_advice,
                              "TableSecondaryEndpoint is set without TableEndpoint");
    if (settings->account.size == 0)
        return call_fail_with(call, -EINVAL, connection_string_advice,
                              CONNECTION_STRING " names neither AccountName nor TableEndpoint");
    if (!equals_ignoring_case(protocol, "https") && !equals_ignoring_case(protocol, "http"))
        return call_fail_with(call, -EINVAL, connection_string_advice,
                              "DefaultEndpointsProtocol is neither https nor http");
    int r = compose_endpoint(ret, "the endpoint of " CONNECTION_STRING, protocol, settings->account,
                             suffix, call);
    ret->named_by = "DefaultEndpointsProtocol=http without TableEndpoint"; /* shown for http only */
    return r;
}

static int connect_by_string(struct connection *ret, struct bytes text, struct call *call)
{
    struct connection_string settings;
    if (endpoint_is_url(text))
        return call_fail(call, -EINVAL, CONNECTION_STRING " is a URL: put a SAS URL into " SAS_URL);
    int r = connection_string_parse(text, call, &settings);
    if (r < 0)
        return r;
    if (settings.development.size > 0) {
        if (!equals_ignoring_case(settings.development, "true"))
            return call_fail_with(call, -EINVAL, advice_emulator,
                                  "UseDevelopmentStorage can only be true");
        if (settings.account.size + settings.key.size + settings.sas.size + settings.endpoint.size)
            return call_fail_with(
                call, -EINVAL, advice_emulator,
                "UseDevelopmentStorage is set together with an account, key or endpoint");
        return connect_emulator(ret, settings.proxy, call);
    }
    r = find_endpoint(ret, &settings, call);
    if (r < 0)
        return r;
    if (ret->endpoint.table[0] != '\0')
        return call_fail(call, -EINVAL, "TableEndpoint names a table: write SOURCE/TABLE");
    if (settings.key.size > 0)
        r = set_shared_key(ret, "AccountKey", settings.key, call);
    else if (settings.sas.size > 0)
        r = set_sas(ret, "SharedAccessSignature", settings.sas, call);
    else
        r = call_fail_with(call, -EINVAL, connection_string_advice,
                           CONNECTION_STRING " holds neither AccountKey nor SharedAccessSignature");
    ret->credential_by = CONNECTION_STRING;
    return r;
}

static void free_text(char **text)
{
    curl_free(*text);
}

/* Sets the table that tn= of the token names. The path may name the same one; its case counts. */
static int take_table_of_token(struct connection *ret, const char *what, struct call *call)
{
    struct bytes encoded;
    int size = 0;
    if (!credential_parameter(ret->credential, "tn", &encoded) || encoded.size == 0)
        return 0;
    _cleanup_(free_text) char *table =
        curl_easy_unescape(NULL, encoded.data, (int)encoded.size, &size);
    if (!table)
        return call_fail(call, -ENOMEM, "out of memory");
    struct bytes name = {table, (size_t)size};
    if (ret->endpoint.table[0] == '\0')
        return endpoint_set_table(&ret->endpoint, name, call);
    if (!equals_ignoring_case(name, ret->endpoint.table))
        return call_fail_with(call, -EINVAL, "leave the table out of the path",
                              "the path of %s names table '%s', but its tn= another one", what,
                              ret->endpoint.table);
    return 0;
}

/* Account, perhaps table, and token: ENDPOINT[/TABLE]?TOKEN. The token never reaches libcurl's
 * parser, whose memory is not wiped. */
static int connect_by_sas_url(struct connection *ret, const struct variables *variables,
                              struct call *call)
{
    const char *what = variables->sas_url_name;
    struct bytes token = variables->sas_url, url = bytes_take_until(&token, '?');
    char token_name[64];
    if (!endpoint_is_url(url))
        return call_fail(call, -EINVAL,
                         SAS_URL " is not a URL that begins with https:// or http://: put a token "
                                 "alone into AZURE_STORAGE_SAS_TOKEN");
    (void)snprintf(token_name, sizeof(token_name), "what follows ? in %s", what);
    int r = set_endpoint(ret, what, url, (struct bytes){0}, call);
    if (r == 0)
        r = set_sas(ret, token_name, token, call);
    ret->credential_by = what;
    return r < 0 ? r : take_table_of_token(ret, what, call);
}

/* Sets the views. Two credentials are refused. A SAS URL may stand where a token belongs. */
static int read_variables(const struct connection_environment *environment, struct call *call,
                          struct variables *ret)
{
    const char *credential = environment->uses_tokens ? "-o auth=" : NULL;
    *ret = (struct variables){.sas_url_name = SAS_URL, .uses_tokens = environment->uses_tokens};
    for (size_t i = 0; i < ARRAY_SIZE(variable_names); i++) {
        const char *given =
            *(const char *const *)((const char *)environment + variable_names[i].given);
        struct bytes *cleaned = (struct bytes *)((char *)ret + variable_names[i].cleaned);
        const char *name = variable_names[i].name;
        int r = pasted_clean(name, bytes_of(given ? given : ""), call, cleaned);
        if (r < 0)
            return r;
        if (cleaned->size == 0 || !variable_names[i].is_credential)
            continue;
        if (credential)
            return call_fail(call, -EINVAL, "%s and %s are both set: unset one of them", credential,
                             name);
        credential = name;
    }
    if (ret->account.size > 0 && !endpoint_is_account_name(ret->account))
        return call_fail_with(call, -EINVAL, endpoint_advice_accounts,
                              "AZURE_STORAGE_ACCOUNT is not 3 to 24 of the characters a-z and 0-9");
    if (endpoint_is_url(ret->sas_token)) {
        ret->sas_url = ret->sas_token;
        ret->sas_url_name = "AZURE_STORAGE_SAS_TOKEN";
    }
    return 0;
}

/* A token is a credential of its own, and is sent over https alone. */
static int check_tokens(const struct connection *connection, struct call *call)
{
    if (connection->endpoint.is_https)
        return 0;
    return call_fail_with(call, -EINVAL, "write https:// in place of http://",
                          "%s: -o auth= needs https://, so that nobody can take the token",
                          connection->named_by);
}

/* The endpoint is set; the credential is from AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN. */
static int connect_by_variables(struct connection *ret, const struct variables *variables,
                                struct call *call)
{
    if (variables->uses_tokens)
        return check_tokens(ret, call);
    if (variables->key.size > 0)
        return set_shared_key(ret, "AZURE_STORAGE_KEY", variables->key, call);
    if (variables->sas_token.size > 0)
        return set_sas(ret, "AZURE_STORAGE_SAS_TOKEN", variables->sas_token, call);
    if (strcmp(ret->endpoint.account, EMULATOR_ACCOUNT) == 0)
        return set_shared_key(ret, "the emulator's key", BYTES_LITERAL(EMULATOR_KEY), call);
    (void)call_fail(call, -EINVAL,
                    "no credential for account '%s': set AZURE_STORAGE_KEY, "
                    "AZURE_STORAGE_SAS_TOKEN, " SAS_URL " or " CONNECTION_STRING,
                    ret->endpoint.account);
    call->failure.advice =
        "or name a file that has one: -o credentials=FILE; or use a token of Microsoft Entra ID: "
        "-o auth=azcli, msi, workload, spn";
    return -EINVAL;
}

static int connect_without_source(struct connection *ret, const struct variables *variables,
                                  struct call *call)
{
    if (variables->account.size == 0) {
        (void)call_fail(call, -EINVAL,
                        "no account: name one as SOURCE, or set " CONNECTION_STRING ", " SAS_URL
                        " or AZURE_STORAGE_ACCOUNT");
        call->failure.advice =
            "three ways to begin: `tablefuse mount -o create local:FILE DIR`, an account in a "
            "file; `tablefuse mount -o credentials=FILE ACCOUNT DIR`, where FILE has "
            "AZURE_STORAGE_KEY=...; `tablefuse mount -o auth=azcli ACCOUNT DIR` after `az login`";
        return -EINVAL;
    }
    int r = compose_endpoint(ret, "AZURE_STORAGE_ACCOUNT", BYTES_LITERAL("https"),
                             variables->account, BYTES_LITERAL(DEFAULT_SUFFIX), call);
    return r < 0 ? r : connect_by_variables(ret, variables, call);
}

static bool is_url(struct bytes source)
{
    return bytes_find(source, BYTES_LITERAL("://")) != NULL;
}

/* ACCOUNT or URL, perhaps with /TABLE. */
static int parse_source(struct connection *ret, struct bytes source, struct call *call)
{
    bool has_parts = bytes_find(source, BYTES_LITERAL(";"));
    if (!has_parts && !is_url(source) && bytes_find(source, BYTES_LITERAL("sig=")))
        return call_fail(call, -EINVAL,
                         "SOURCE looks like a SAS token: put it into AZURE_STORAGE_SAS_TOKEN");
    if (has_parts || (!is_url(source) && memchr(source.data, '=', source.size)))
        return call_fail(call, -EINVAL,
                         "SOURCE looks like a connection string: put it into " CONNECTION_STRING);
    if (is_url(source))
        return set_endpoint(ret, "SOURCE", source, (struct bytes){0}, call);
    struct bytes table = source;
    struct bytes account = bytes_take_until(&table, '/');
    if (!endpoint_is_account_name(account))
        return call_fail_with(
            call, -EINVAL, endpoint_advice_accounts,
            "SOURCE is not a URL, local:FILE or an account name, which has 3 to 24 of "
            "the characters "
            "a-z and 0-9");
    int r = compose_endpoint(ret, "SOURCE", BYTES_LITERAL("https"), account,
                             BYTES_LITERAL(DEFAULT_SUFFIX), call);
    return r < 0 ? r : endpoint_set_table(&ret->endpoint, table, call);
}

/* Compares what a variable has named with SOURCE: the account must be the same, and if SOURCE is a
 * URL, the endpoint, too, because a SAS token must not be sent to another host. Sets the table. */
static int match_source(struct connection *ret, const char *variable, struct bytes source,
                        const struct endpoint *wanted, struct call *call)
{
    struct endpoint *endpoint = &ret->endpoint;
    if (strcmp(wanted->account, endpoint->account) != 0)
        return call_fail_with(call, -EINVAL, advice_mismatch,
                              "SOURCE names account '%s', but %s account '%s'", wanted->account,
                              variable, endpoint->account);
    if (is_url(source) && strcmp(wanted->url, endpoint->url) != 0)
        return call_fail(call, -EINVAL, "SOURCE is at %s, but %s at %s: unset one", wanted->url,
                         variable, endpoint->url);
    if (wanted->table[0] == '\0')
        return 0;
    if (endpoint->table[0] && strcasecmp(wanted->table, endpoint->table) != 0)
        return call_fail_with(call, -EINVAL, advice_mismatch,
                              "SOURCE names table '%s', but %s table '%s'", wanted->table, variable,
                              endpoint->table);
    memcpy(endpoint->table, wanted->table, sizeof(wanted->table));
    return 0;
}

static int connect_by_source(struct connection *ret, struct bytes source,
                             const struct variables *variables, struct call *call)
{
    int r = parse_source(ret, source, call);
    if (r < 0)
        return r;
    struct endpoint wanted = ret->endpoint;
    ret->source_has_table = wanted.table[0] != '\0';
    if (variables->connection_string.size > 0) {
        r = connect_by_string(ret, variables->connection_string, call);
        return r < 0 ? r : match_source(ret, CONNECTION_STRING, source, &wanted, call);
    }
    if (variables->sas_url.size > 0) {
        r = connect_by_sas_url(ret, variables, call);
        return r < 0 ? r : match_source(ret, variables->sas_url_name, source, &wanted, call);
    }
    return connect_by_variables(ret, variables, call);
}

/* Does the environment name the account of the source? */
static int is_owner(struct bytes source, const struct variables *variables, struct call *call,
                    bool *ret)
{
    _cleanup_(connection_finish) struct connection wanted = {0}, named = {0};
    bool has_string = variables->connection_string.size > 0;
    bool has_url = has_string || variables->sas_url.size > 0;
    struct call ignored = {0}; /* a name that is no host owns nothing */
    int r = parse_source(&wanted, source, call);
    if (r == 0 && !has_url && is_url(source) && variables->account.size > 0)
        (void)parse_source(&named, variables->account, &ignored);
    else if (r == 0 && has_string)
        r = connect_by_string(&named, variables->connection_string, call);
    else if (r == 0 && has_url)
        r = connect_by_sas_url(&named, variables, call);
    else if (r == 0 && variables->account.size == 0 &&
             variables->key.size + variables->sas_token.size > 0)
        r = call_fail(call, -EINVAL,
                      "with two services set AZURE_STORAGE_ACCOUNT, too: it names the account of "
                      "the credential");
    if (r < 0)
        return r;
    *ret = bytes_equal(has_url ? bytes_of(named.endpoint.account) : variables->account,
                       bytes_of(wanted.endpoint.account)) &&
           (!is_url(source) || strcmp(named.endpoint.url, wanted.endpoint.url) == 0);
    return 0;
}

/* Ignores the variables of another account. */
static int keep_own(struct bytes source, struct variables *variables, struct call *call)
{
    bool is_own = false;
    int r = is_owner(source, variables, call, &is_own);
    if (r == 0 && !is_own)
        *variables =
            (struct variables){.sas_url_name = SAS_URL, .uses_tokens = variables->uses_tokens};
    return r;
}

static int check_account(const struct connection *connection, const struct variables *variables,
                         bool has_source, struct call *call)
{
    struct bytes account = variables->account;
    const char *by = has_source                    ? "SOURCE"
                     : variables->sas_url.size > 0 ? variables->sas_url_name
                                                   : CONNECTION_STRING;
    if (account.size == 0 || bytes_equal(account, bytes_of(connection->endpoint.account)))
        return 0;
    return call_fail_with(call, -EINVAL, "`unset AZURE_STORAGE_ACCOUNT`, or name that account",
                          "AZURE_STORAGE_ACCOUNT names account '%.*s', but %s account '%s'",
                          (int)account.size, account.data, by, connection->endpoint.account);
}

/* http is allowed on this machine, and for what is public. */
static int check_encryption(const struct connection *connection, bool allows_http,
                            struct call *call)
{
    const struct endpoint *endpoint = &connection->endpoint;
    if (endpoint->is_https || endpoint->is_loopback || connection->is_published || allows_http)
        return 0;
    return call_fail_with(call, -EINVAL, "use https://, or accept that with -o allow_http",
                          "%s: over http:// others on the network can read and change the data%s",
                          connection->named_by,
                          credential_is_sas(connection->credential) ? ", and take the SAS token"
                                                                    : "");
}

/* Is it "emulator" or "emulator/TABLE"? */
static bool is_emulator(struct bytes source, struct bytes *ret_table)
{
    struct bytes table = source;
    if (!bytes_equal(bytes_take_until(&table, '/'), BYTES_LITERAL("emulator")))
        return false;
    *ret_table = table;
    return true;
}

static int choose_connection(struct connection *ret, struct bytes source,
                             const struct connection_environment *environment, struct call *call)
{
    struct variables variables;
    struct bytes table;
    if (is_emulator(source, &table)) {
        if (environment->uses_tokens)
            return call_fail(call, -EINVAL, "SOURCE `emulator` has a key: leave out -o auth=");
        int r = connect_emulator(ret, (struct bytes){0}, call);
        ret->source_has_table = table.size > 0;
        return r < 0 ? r : endpoint_set_table(&ret->endpoint, table, call);
    }
    int r = read_variables(environment, call, &variables);
    if (r == 0 && environment->is_shared && source.size > 0)
        r = keep_own(source, &variables, call);
    if (r < 0)
        return r;
    if (source.size > 0)
        r = connect_by_source(ret, source, &variables, call);
    else if (variables.connection_string.size > 0)
        r = connect_by_string(ret, variables.connection_string, call);
    else if (variables.sas_url.size > 0)
        r = connect_by_sas_url(ret, &variables, call);
    else
        r = connect_without_source(ret, &variables, call);
    if (r == 0)
        r = check_account(ret, &variables, source.size > 0, call);
    return r < 0 ? r : check_encryption(ret, environment->allows_http, call);
}

bool connection_is_emulator(const char *source)
{
    struct bytes table;
    return source && is_emulator(bytes_trim(bytes_of(source)), &table);
}

/* Of the account that `source` names, else the variable. */
static int find_account(struct bytes source, const struct variables *variables, struct call *call,
                        char ret_account[ENDPOINT_ACCOUNT_SIZE])
{
    struct connection named = {0};
    int r = source.size > 0 ? parse_source(&named, source, call) : 0;
    if (r == 0 && source.size == 0 && variables->account.size > 0)
        memcpy(ret_account, variables->account.data, variables->account.size); /* it is checked */
    else if (r == 0 && source.size > 0)
        memcpy(ret_account, named.endpoint.account, ENDPOINT_ACCOUNT_SIZE);
    return r;
}

void connection_find_lacking(const char *source, const struct connection_environment *environment,
                             char ret_account[ENDPOINT_ACCOUNT_SIZE])
{
    struct call call = {0};
    struct variables variables = {0};
    struct bytes cleaned;
    memset(ret_account, 0, ENDPOINT_ACCOUNT_SIZE);
    if (environment->uses_tokens || connection_is_emulator(source))
        return;
    int r = pasted_clean("SOURCE", bytes_of(source ? source : ""), &call, &cleaned);
    if (r == 0)
        r = read_variables(environment, &call, &variables);
    if (r == 0 && environment->is_shared && cleaned.size > 0)
        r = keep_own(cleaned, &variables, &call);
    bool has_one = r < 0 || variables.connection_string.size > 0 || variables.key.size > 0 ||
                   variables.sas_token.size > 0 || variables.sas_url.size > 0;
    if (!has_one && find_account(cleaned, &variables, &call, ret_account) < 0)
        ret_account[0] = '\0';
}

int connection_init(struct connection *ret, const char *source,
                    const struct connection_environment *environment, struct call *call)
{
    _cleanup_(connection_finish) struct connection connection = {0};
    struct bytes cleaned;
    int r = pasted_clean("SOURCE", bytes_of(source ? source : ""), call, &cleaned);
    if (r == 0)
        r = choose_connection(&connection, cleaned, environment, call);
    if (r < 0)
        return r;
    *ret = connection;
    connection.credential = NULL;
    return 0;
}

void connection_finish(struct connection *connection)
{
    credential_unref(TAKE_PTR(connection->credential));
}
