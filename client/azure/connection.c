#include "client/azure/connection.h"

#include <strings.h>

#define CONNECTION_STRING "AZURE_STORAGE_CONNECTION_STRING"
#define DEFAULT_SUFFIX    "core.windows.net"
#define EMULATOR_PORT     "10002"
#define EMULATOR_ACCOUNT  "devstoreaccount1"
/* published by Microsoft and the same for every emulator, so not a secret */
#define EMULATOR_KEY                                                                               \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

#define URL_MAX_BYTES 1024

struct settings { /* of a connection string: views of it; empty: not set */
    struct bytes protocol, account, key, suffix, endpoint, secondary, sas, development, proxy;
};

static const struct {
    const char *name;
    size_t offset; /* in struct settings */
} setting_names[] = {
    {"DefaultEndpointsProtocol", offsetof(struct settings, protocol)},
    {"AccountName", offsetof(struct settings, account)},
    {"AccountKey", offsetof(struct settings, key)},
    {"EndpointSuffix", offsetof(struct settings, suffix)},
    {"TableEndpoint", offsetof(struct settings, endpoint)},
    {"TableSecondaryEndpoint", offsetof(struct settings, secondary)},
    {"SharedAccessSignature", offsetof(struct settings, sas)},
    {"UseDevelopmentStorage", offsetof(struct settings, development)},
    {"DevelopmentStorageProxyUri", offsetof(struct settings, proxy)},
};

static struct bytes bytes_of_setting(const char *variable)
{
    return variable ? bytes_trim(bytes_of(variable)) : (struct bytes){0};
}

static bool equals_ignoring_case(struct bytes text, const char *word)
{
    return text.size == strlen(word) && strncasecmp(text.data, word, text.size) == 0;
}

/* Other names, such as BlobEndpoint, are ignored, as in every SDK. */
static int put_setting(struct settings *settings, struct bytes name, struct bytes value,
                       struct call *call)
{
    for (size_t i = 0; i < ARRAY_SIZE(setting_names); i++) {
        struct bytes *setting = (struct bytes *)((char *)settings + setting_names[i].offset);
        if (!equals_ignoring_case(name, setting_names[i].name))
            continue;
        if (setting->size > 0)
            return call_fail(call, -EINVAL, CONNECTION_STRING " names %s twice",
                             setting_names[i].name);
        *setting = value;
    }
    return 0;
}

static int parse_settings(struct bytes text, struct settings *ret, struct call *call)
{
    struct settings settings = {0};
    for (int n = 1; text.size > 0; n++) {
        struct bytes value = bytes_trim(bytes_take_until(&text, ';'));
        if (value.size == 0)
            continue;
        if (!memchr(value.data, '=', value.size))
            return call_fail(call, -EINVAL, "part %d of " CONNECTION_STRING " is not NAME=VALUE",
                             n);
        struct bytes name = bytes_trim(bytes_take_until(&value, '='));
        int r = put_setting(&settings, name, bytes_trim(value), call);
        if (r < 0)
            return r;
    }
    *ret = settings;
    return 0;
}

static int create_shared_key(const char *account, struct bytes key, const char *what,
                             struct credential **ret, struct call *call)
{
    int r = credential_create_shared_key(bytes_of(account), key, ret);
    if (r == -EINVAL)
        return call_fail(call, r, "%s is not the base64 of an account key: was it cut?", what);
    return r < 0 ? call_fail(call, r, "out of memory") : 0;
}

static int create_sas(struct bytes token, const char *what, struct credential **ret,
                      struct call *call)
{
    int r = credential_create_sas(token, ret);
    if (r == -EINVAL)
        return call_fail(call, r,
                         "%s is not a percent-encoded SAS token with a signature: was it cut, or "
                         "not quoted?",
                         what);
    return r < 0 ? call_fail(call, r, "out of memory") : 0;
}

/* The emulator's host may be set; its port and account are fixed. */
static int connect_emulator(struct connection *ret, struct bytes proxy, struct call *call)
{
    int r = endpoint_parse_at(&ret->endpoint, "DevelopmentStorageProxyUri",
                              proxy.size > 0 ? proxy : BYTES_LITERAL("http://127.0.0.1"),
                              EMULATOR_PORT, EMULATOR_ACCOUNT, call);
    if (r < 0)
        return r;
    return create_shared_key(ret->endpoint.account, BYTES_LITERAL(EMULATOR_KEY),
                             "the emulator's key", &ret->credential, call);
}

/* protocol://account.table.suffix */
static int parse_composed(struct endpoint *ret, const char *what, struct bytes protocol,
                          struct bytes account, struct bytes suffix, struct call *call)
{
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
    return endpoint_parse(ret, what, buffer_bytes(&url), account, call);
}

static int find_endpoint(struct endpoint *ret, const struct settings *settings, struct call *call)
{
    struct bytes protocol =
        settings->protocol.size > 0 ? settings->protocol : BYTES_LITERAL("https");
    struct bytes suffix =
        settings->suffix.size > 0 ? settings->suffix : BYTES_LITERAL(DEFAULT_SUFFIX);
    if (settings->account.size > 0 && !endpoint_is_account_name(settings->account))
        return call_fail(call, -EINVAL, "AccountName is not 3 to 24 of the characters a-z and 0-9");
    if (settings->endpoint.size > 0)
        return endpoint_parse(ret, "TableEndpoint", settings->endpoint, settings->account, call);
    if (settings->secondary.size > 0)
        return call_fail(call, -EINVAL, "TableSecondaryEndpoint is set without TableEndpoint");
    if (settings->account.size == 0)
        return call_fail(call, -EINVAL,
                         CONNECTION_STRING " names neither AccountName nor TableEndpoint");
    if (!equals_ignoring_case(protocol, "https") && !equals_ignoring_case(protocol, "http"))
        return call_fail(call, -EINVAL, "DefaultEndpointsProtocol is neither https nor http");
    return parse_composed(ret, "the endpoint of " CONNECTION_STRING, protocol, settings->account,
                          suffix, call);
}

static int connect_by_string(struct connection *ret, struct bytes text, struct call *call)
{
    struct settings settings = {0};
    int r = parse_settings(text, &settings, call);
    if (r < 0)
        return r;
    if (settings.development.size > 0) {
        if (!equals_ignoring_case(settings.development, "true"))
            return call_fail(call, -EINVAL, "UseDevelopmentStorage can only be true");
        if (settings.account.size + settings.key.size + settings.sas.size + settings.endpoint.size)
            return call_fail(
                call, -EINVAL,
                "UseDevelopmentStorage is set together with an account, key or endpoint");
        return connect_emulator(ret, settings.proxy, call);
    }
    r = find_endpoint(&ret->endpoint, &settings, call);
    if (r < 0)
        return r;
    if (ret->endpoint.table[0] != '\0')
        return call_fail(call, -EINVAL, "TableEndpoint names a table: write SOURCE/TABLE");
    if (settings.key.size > 0)
        return create_shared_key(ret->endpoint.account, settings.key, "AccountKey",
                                 &ret->credential, call);
    if (settings.sas.size > 0)
        return create_sas(settings.sas, "SharedAccessSignature", &ret->credential, call);
    return call_fail(call, -EINVAL,
                     CONNECTION_STRING " holds neither AccountKey nor SharedAccessSignature");
}

struct variables { /* the environment as views */
    struct bytes connection_string, account, key, sas_token;
};

static int check_variables(const struct variables *variables, struct call *call)
{
    static const char both[] = "%s and %s are both set: unset one of them";
    if (variables->connection_string.size > 0 && variables->key.size > 0)
        return call_fail(call, -EINVAL, both, CONNECTION_STRING, "AZURE_STORAGE_KEY");
    if (variables->connection_string.size > 0 && variables->sas_token.size > 0)
        return call_fail(call, -EINVAL, both, CONNECTION_STRING, "AZURE_STORAGE_SAS_TOKEN");
    if (variables->key.size > 0 && variables->sas_token.size > 0)
        return call_fail(call, -EINVAL, both, "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN");
    if (variables->account.size > 0 && !endpoint_is_account_name(variables->account))
        return call_fail(call, -EINVAL,
                         "AZURE_STORAGE_ACCOUNT is not 3 to 24 of the characters a-z and 0-9");
    return 0;
}

/* The endpoint is set; the credential comes from AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN. */
static int connect_by_variables(struct connection *ret, const struct variables *variables,
                                struct call *call)
{
    if (variables->key.size > 0)
        return create_shared_key(ret->endpoint.account, variables->key, "AZURE_STORAGE_KEY",
                                 &ret->credential, call);
    if (variables->sas_token.size > 0)
        return create_sas(variables->sas_token, "AZURE_STORAGE_SAS_TOKEN", &ret->credential, call);
    return call_fail(call, -EINVAL,
                     "no credential for account '%s': set AZURE_STORAGE_KEY, "
                     "AZURE_STORAGE_SAS_TOKEN or " CONNECTION_STRING,
                     ret->endpoint.account);
}

static int connect_without_source(struct connection *ret, const struct variables *variables,
                                  struct call *call)
{
    if (variables->account.size == 0)
        return call_fail(call, -EINVAL,
                         "no account: name one as SOURCE, or set " CONNECTION_STRING
                         " or AZURE_STORAGE_ACCOUNT");
    int r = parse_composed(&ret->endpoint, "AZURE_STORAGE_ACCOUNT", BYTES_LITERAL("https"),
                           variables->account, BYTES_LITERAL(DEFAULT_SUFFIX), call);
    return r < 0 ? r : connect_by_variables(ret, variables, call);
}

static bool is_url(struct bytes source)
{
    return bytes_find(source, BYTES_LITERAL("://")) != NULL;
}

/* ACCOUNT or URL, perhaps with /TABLE. */
static int parse_source(struct endpoint *ret, struct bytes source, struct call *call)
{
    if (bytes_find(source, BYTES_LITERAL(";")) ||
        (!is_url(source) && memchr(source.data, '=', source.size)))
        return call_fail(call, -EINVAL,
                         "SOURCE looks like a connection string: put it into " CONNECTION_STRING);
    if (is_url(source))
        return endpoint_parse(ret, "SOURCE", source, (struct bytes){0}, call);
    struct bytes table = source;
    struct bytes account = bytes_take_until(&table, '/');
    if (!endpoint_is_account_name(account))
        return call_fail(call, -EINVAL,
                         "SOURCE is not a URL, local:FILE or an account name, which has 3 to 24 of "
                         "the characters "
                         "a-z and 0-9");
    int r = parse_composed(ret, "SOURCE", BYTES_LITERAL("https"), account,
                           BYTES_LITERAL(DEFAULT_SUFFIX), call);
    return r < 0 ? r : endpoint_set_table(ret, table, call);
}

/* Uses a connection string for a SOURCE of the same account. If SOURCE is a URL, the endpoint
 * must be the same, too, because a SAS token must not be sent to another host. */
static int connect_source_by_string(struct connection *ret, struct bytes source,
                                    const struct variables *variables, struct call *call)
{
    struct endpoint wanted = ret->endpoint;
    int r = connect_by_string(ret, variables->connection_string, call);
    if (r < 0)
        return r;
    if (strcmp(wanted.account, ret->endpoint.account) != 0)
        return call_fail(call, -EINVAL,
                         "SOURCE names account '%s', but " CONNECTION_STRING " account '%s'",
                         wanted.account, ret->endpoint.account);
    if (is_url(source) && strcmp(wanted.url, ret->endpoint.url) != 0)
        return call_fail(call, -EINVAL,
                         "SOURCE is at %s, but " CONNECTION_STRING " at %s: unset one", wanted.url,
                         ret->endpoint.url);
    memcpy(ret->endpoint.table, wanted.table, sizeof(wanted.table));
    return 0;
}

static int connect_by_source(struct connection *ret, struct bytes source,
                             const struct variables *variables, struct call *call)
{
    int r = parse_source(&ret->endpoint, source, call);
    if (r < 0)
        return r;
    if (variables->connection_string.size > 0)
        return connect_source_by_string(ret, source, variables, call);
    return connect_by_variables(ret, variables, call);
}

static int check_account(const struct connection *connection, struct bytes account,
                         struct call *call)
{
    if (account.size == 0 || bytes_equal(account, bytes_of(connection->endpoint.account)))
        return 0;
    return call_fail(call, -EINVAL,
                     "AZURE_STORAGE_ACCOUNT names account '%.*s', but SOURCE or " CONNECTION_STRING
                     " account '%s'",
                     (int)account.size, account.data, connection->endpoint.account);
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

static int connect(struct connection *ret, struct bytes source, const struct variables *variables,
                   struct call *call)
{
    struct bytes table;
    if (is_emulator(source, &table)) {
        int r = connect_emulator(ret, (struct bytes){0}, call);
        return r < 0 ? r : endpoint_set_table(&ret->endpoint, table, call);
    }
    int r = check_variables(variables, call);
    if (r < 0)
        return r;
    if (source.size > 0)
        r = connect_by_source(ret, source, variables, call);
    else if (variables->connection_string.size > 0)
        r = connect_by_string(ret, variables->connection_string, call);
    else
        r = connect_without_source(ret, variables, call);
    return r < 0 ? r : check_account(ret, variables->account, call);
}

int connection_init(struct connection *ret, const char *source,
                    const struct connection_environment *environment, struct call *call)
{
    const struct variables variables = {
        bytes_of_setting(environment->connection_string), bytes_of_setting(environment->account),
        bytes_of_setting(environment->key), bytes_of_setting(environment->sas_token)};
    _cleanup_(connection_finish) struct connection connection = {0};
    int r = connect(&connection, bytes_of_setting(source), &variables, call);
    if (r < 0)
        return r;
    *ret = connection;
    connection.credential = NULL;
    return 0;
}

void connection_finish(struct connection *connection)
{
    credential_destroy(TAKE_PTR(connection->credential));
}
