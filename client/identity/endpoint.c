/* SPDX-License-Identifier: MIT */
#include "client/identity/endpoint.h"
#include "client/http/url.h"
#include "client/text/table_name.h"

#include <arpa/inet.h>
#include <strings.h>

#define SECONDARY "-secondary" /* after the account's name: its other location */

#define SEGMENTS_MAX 2 /* account and table */
#define HOST_MAX     253

#define BAD_PATH "%s has a path that is not [/ACCOUNT][/TABLE]"

const char endpoint_advice_accounts[] =
    "`az storage account list --query '[].name' --output tsv` shows the accounts that you have";
static const char advice_url[] =
    "write https://ACCOUNT.table.core.windows.net[/TABLE], or http://HOST:PORT/ACCOUNT[/TABLE] of "
    "an emulator";

struct parts { /* views of `url`; the host is a copy in lower case, without brackets */
    struct url url;
    char host[HOST_MAX + 1];
    struct bytes port;
    struct bytes segments[SEGMENTS_MAX];
    size_t segment_count;
    bool is_https, is_ipv6, is_ipv4;
};

static void parts_finish(struct parts *parts)
{
    url_finish(&parts->url);
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool is_alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}

bool endpoint_is_account_name(struct bytes name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (!is_alphanumeric(name.data[i]) || name.data[i] != lower(name.data[i]))
            return false;
    }
    return name.size >= 3 && name.size < ENDPOINT_ACCOUNT_SIZE;
}

static bool starts_with_word(struct bytes text, const char *word)
{
    size_t n = strlen(word);
    return text.size >= n && strncasecmp(text.data, word, n) == 0;
}

bool endpoint_is_url(struct bytes text)
{
    return starts_with_word(text, "https://") || starts_with_word(text, "http://");
}

/* libcurl connects to loopback for `localhost` and all names below it, without a resolver.
 */
static bool is_loopback(const struct parts *parts)
{
    unsigned char ipv4[4];
    struct in6_addr ipv6;
    if (parts->is_ipv6)
        return inet_pton(AF_INET6, parts->host, &ipv6) == 1 && IN6_IS_ADDR_LOOPBACK(&ipv6);
    return strcmp(parts->host, "localhost") == 0 ||
           bytes_end_with(bytes_of(parts->host), BYTES_LITERAL(".localhost")) ||
           (inet_pton(AF_INET, parts->host, ipv4) == 1 && ipv4[0] == 127);
}

static bool is_legal_in_name(char c)
{
    return is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
}

static bool set_host(struct bytes host, struct parts *parts)
{
    unsigned char address[sizeof(struct in6_addr)];
    parts->is_ipv6 = bytes_start_with(host, BYTES_LITERAL("["));
    if (parts->is_ipv6 && bytes_end_with(host, BYTES_LITERAL("]")))
        host = (struct bytes){host.data + 1, host.size - 2};
    if (host.size == 0 || host.size > HOST_MAX)
        return false;
    for (size_t i = 0; i < host.size; i++) {
        if (!parts->is_ipv6 && !is_legal_in_name(host.data[i]))
            return false;
        parts->host[i] = lower(host.data[i]);
    }
    parts->is_ipv4 = inet_pton(AF_INET, parts->host, address) == 1;
    return !parts->is_ipv6 || inet_pton(AF_INET6, parts->host, address) == 1;
}

static bool split_path(struct bytes path, struct parts *parts)
{
    path = bytes_skip(path, 1); /* the first slash */
    while (path.size > 0) {
        struct bytes segment = bytes_take_until(&path, '/');
        if (segment.size == 0 || parts->segment_count == SEGMENTS_MAX)
            return false;
        parts->segments[parts->segment_count++] = segment;
    }
    return true;
}

static int refuse_url(CURLUcode code, const char *what, struct call *call)
{
    if (code == CURLUE_OUT_OF_MEMORY)
        return call_fail(call, -ENOMEM, "out of memory");
    if (code == CURLUE_USER_NOT_ALLOWED)
        return call_fail_with(call, -EINVAL, advice_url,
                              "%s has user information, which is not supported", what);
    if (code == CURLUE_BAD_PORT_NUMBER)
        return call_fail_with(call, -EINVAL, advice_url, "%s has no valid port", what);
    if (code == CURLUE_BAD_PATH)
        return call_fail_with(call, -EINVAL, advice_url, BAD_PATH, what);
    return call_fail_with(call, -EINVAL, advice_url, "%s has no valid host", what);
}

static int split_url(struct bytes url, const char *what, struct call *call, struct parts *parts)
{
    uint64_t port;
    if (!endpoint_is_url(url))
        return call_fail_with(call, -EINVAL, advice_url,
                              "%s is not a URL that begins with https:// or http://", what);
    if (memchr(url.data, '?', url.size) || memchr(url.data, '#', url.size))
        return call_fail(call, -EINVAL,
                         "%s has a query string: put a SAS URL into AZURE_STORAGE_SAS_URL", what);
    CURLUcode code = url_split(url, &parts->url);
    if (code != CURLUE_OK)
        return refuse_url(code, what, call);
    parts->is_https = strcasecmp(parts->url.scheme, "https") == 0;
    if (!set_host(bytes_of(parts->url.host), parts))
        return call_fail_with(call, -EINVAL, advice_url, "%s has no valid host", what);
    parts->port = parts->url.port ? bytes_of(parts->url.port) : (struct bytes){0};
    if (parts->port.size > 0 && !bytes_parse_unsigned(parts->port, UINT16_MAX, &port))
        return call_fail_with(call, -EINVAL, advice_url, "%s has no valid port", what);
    if (!split_path(bytes_of(parts->url.path), parts))
        return call_fail_with(call, -EINVAL, advice_url, BAD_PATH, what);
    return 0;
}

/* The other services of an account have hosts that differ in one label. */
static int check_service(const struct parts *parts, const char *what, struct call *call)
{
    static const char *const services[] = {"blob", "dfs", "file", "queue", "web"};
    for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
        char core[16], zone[32];
        (void)snprintf(core, sizeof(core), ".%s.core.", services[i]);
        (void)snprintf(zone, sizeof(zone), ".%s.storage.azure.", services[i]);
        if (strstr(parts->host, core) || strstr(parts->host, zone))
            return call_fail(call, -EINVAL,
                             "%s is the endpoint of the %s service: write .table. in place of .%s.",
                             what, services[i], services[i]);
    }
    return 0;
}

static int check_host(const struct parts *parts, const char *what, struct call *call)
{
    if (strstr(parts->host, ".table.cosmos.") || strstr(parts->host, ".table.cosmosdb."))
        return call_fail_with(call, -EINVAL, "name an account of Azure Storage",
                              "%s is a Cosmos DB endpoint: it does not order its results by key, "
                              "which tablefuse needs",
                              what);
    return check_service(parts, what, call);
}

static struct bytes without_secondary(struct bytes name)
{
    struct bytes suffix = BYTES_LITERAL(SECONDARY);
    return bytes_end_with(name, suffix) ? bytes_first(name, name.size - suffix.size) : name;
}

static bool is_host_style(const struct parts *parts)
{
    return !parts->is_ipv6 && !parts->is_ipv4 && strstr(parts->host, ".table.");
}

/* The account that the URL names, and the rest of the path, which is a table. ret_segment: the
 * path segment that names the account, which stays in the URL. */
static struct bytes take_account(const struct parts *parts, struct bytes known,
                                 struct bytes *ret_segment, struct bytes *ret_table)
{
    struct bytes first = parts->segment_count > 0 ? parts->segments[0] : (struct bytes){0};
    struct bytes second = parts->segment_count > 1 ? parts->segments[1] : (struct bytes){0};
    struct bytes labels = bytes_of(parts->host);
    if (is_host_style(parts)) {
        *ret_segment = second; /* empty, or refused by the caller */
        *ret_table = first;
        return without_secondary(bytes_take_until(&labels, '.'));
    }
    *ret_segment = first;
    *ret_table = second;
    return first.size > 0 ? without_secondary(first) : known;
}

static void write_url(const struct parts *parts, struct bytes segment, struct endpoint *endpoint)
{
    struct bytes port = parts->port;
    if (bytes_equal(port, bytes_of(parts->is_https ? "443" : "80")))
        port.size = 0;
    int n =
        snprintf(endpoint->url, sizeof(endpoint->url), "%s://%s%s%s%s%.*s",
                 parts->is_https ? "https" : "http", parts->is_ipv6 ? "[" : "", parts->host,
                 parts->is_ipv6 ? "]" : "", port.size > 0 ? ":" : "", (int)port.size, port.data);
    endpoint->origin_size = (size_t)n;
    (void)snprintf(endpoint->url + n, sizeof(endpoint->url) - (size_t)n, "%s%.*s",
                   segment.size > 0 ? "/" : "", (int)segment.size, segment.data);
}

int endpoint_set_table(struct endpoint *endpoint, struct bytes table, struct call *call)
{
    if (table.size > 0 && table.data[table.size - 1] == '/')
        table.size--;
    if (table.size > 0 && !table_name_is_readable(table))
        return call_fail_with(
            call, -EINVAL, "`tablefuse tables SOURCE` shows the tables",
            "the table name is not a letter followed by 2 to 62 letters and digits");
    (void)snprintf(endpoint->table, sizeof(endpoint->table), "%.*s", (int)table.size, table.data);
    return 0;
}

static int check_account(struct bytes account, struct bytes known, const char *what,
                         struct call *call)
{
    if (account.size == 0)
        return call_fail(call, -EINVAL, "%s names no account: append /ACCOUNT", what);
    if (!endpoint_is_account_name(account))
        return call_fail_with(call, -EINVAL, endpoint_advice_accounts,
                              "the account name in %s is not 3 to 24 of the characters a-z and 0-9",
                              what);
    if (known.size > 0 && !bytes_equal(account, known))
        return call_fail_with(call, -EINVAL,
                              "leave AccountName out, or name the URL of that account",
                              "%s is of account '%.*s', but AccountName is '%.*s'", what,
                              (int)account.size, account.data, (int)known.size, known.data);
    return 0;
}

/* From the parts, whose URL was split. */
static int set_endpoint(struct endpoint *ret, const char *what, const struct parts *parts,
                        struct bytes account, struct call *call)
{
    struct endpoint endpoint = {.is_loopback = is_loopback(parts), .is_https = parts->is_https};
    struct bytes segment, table;
    int r = check_host(parts, what, call);
    if (r < 0)
        return r;
    struct bytes named = take_account(parts, account, &segment, &table);
    r = check_account(named, account, what, call);
    if (r < 0)
        return r;
    if (is_host_style(parts) && segment.size > 0)
        return call_fail_with(call, -EINVAL, advice_url, "%s has a path that is not /TABLE", what);
    write_url(parts, segment, &endpoint);
    (void)snprintf(endpoint.account, sizeof(endpoint.account), "%.*s", (int)named.size, named.data);
    r = endpoint_set_table(&endpoint, table, call);
    if (r < 0)
        return r;
    *ret = endpoint;
    return 0;
}

int endpoint_parse(struct endpoint *ret, const char *what, struct bytes url, struct bytes account,
                   struct call *call)
{
    _cleanup_(parts_finish) struct parts parts = {0};
    int r = split_url(url, what, call, &parts);
    return r < 0 ? r : set_endpoint(ret, what, &parts, account, call);
}

int endpoint_parse_at(struct endpoint *ret, const char *what, struct bytes url, const char *port,
                      const char *account, struct call *call)
{
    _cleanup_(parts_finish) struct parts parts = {0};
    int r = split_url(url, what, call, &parts);
    if (r < 0)
        return r;
    if (parts.segment_count > 0)
        return call_fail_with(call, -EINVAL, advice_url, "%s has a path", what);
    parts.port = bytes_of(port);
    parts.segments[parts.segment_count++] = bytes_of(account);
    return set_endpoint(ret, what, &parts, (struct bytes){0}, call);
}

/* Where SECONDARY stands in the URL, after the account's name; NULL: nowhere. */
static const char *find_secondary(const struct endpoint *endpoint)
{
    size_t size = strlen(endpoint->account);
    const char *at = strstr(endpoint->url, "://") + strlen("://");
    if (endpoint->url[endpoint->origin_size] == '/')
        at = endpoint->url + endpoint->origin_size + 1;
    bool is_there = strncmp(at, endpoint->account, size) == 0 &&
                    strncmp(at + size, SECONDARY, strlen(SECONDARY)) == 0;
    return is_there ? at + size : NULL;
}

bool endpoint_is_secondary(const struct endpoint *endpoint)
{
    return find_secondary(endpoint) != NULL;
}

/* The URL of the primary location, without http:// or https://. */
static void write_primary(const struct endpoint *endpoint, char ret[ENDPOINT_URL_SIZE])
{
    const char *host = strstr(endpoint->url, "://"), *secondary = find_secondary(endpoint);
    size_t size = secondary ? (size_t)(secondary - host) : strlen(host);
    (void)snprintf(ret, ENDPOINT_URL_SIZE, "%.*s%s", (int)size, host,
                   secondary ? secondary + strlen(SECONDARY) : "");
}

bool endpoint_is_same_account(const struct endpoint *a, const struct endpoint *b)
{
    char first[ENDPOINT_URL_SIZE], second[ENDPOINT_URL_SIZE];
    write_primary(a, first);
    write_primary(b, second);
    return strcmp(first, second) == 0;
}
