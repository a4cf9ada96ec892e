#include "client/azure/endpoint.h"
#include "client/text/table_name.h"

#include <arpa/inet.h>
#include <strings.h>

#define SEGMENTS_MAX 2 /* account and table */

#define HOST_MAX 253

struct parts { /* views of the URL; the host is a copy in lower case, without brackets */
    char host[HOST_MAX + 1];
    struct bytes port;
    struct bytes segments[SEGMENTS_MAX];
    size_t segment_count;
    bool is_https, is_ipv6, is_ipv4;
};

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

static bool holds(struct bytes text, const char *part)
{
    return bytes_find(text, bytes_of(part)) != NULL;
}

static bool starts_with_word(struct bytes text, const char *word)
{
    size_t n = strlen(word);
    return text.size >= n && strncasecmp(text.data, word, n) == 0;
}

static bool is_loopback(const struct parts *parts)
{
    unsigned char ipv4[4];
    struct in6_addr ipv6;
    if (parts->is_ipv6)
        return inet_pton(AF_INET6, parts->host, &ipv6) == 1 && IN6_IS_ADDR_LOOPBACK(&ipv6);
    return strcmp(parts->host, "localhost") == 0 ||
           (inet_pton(AF_INET, parts->host, ipv4) == 1 && ipv4[0] == 127);
}

static bool copy_host(struct bytes host, struct parts *parts)
{
    if (host.size == 0 || host.size > HOST_MAX)
        return false;
    for (size_t i = 0; i < host.size; i++)
        parts->host[i] = lower(host.data[i]);
    return true;
}

/* Splits "[v6]" or a name or address, perhaps with ":port". */
static bool split_authority(struct bytes authority, struct parts *parts)
{
    union {
        struct in_addr ipv4;
        struct in6_addr ipv6;
    } address;
    parts->is_ipv6 = authority.size > 0 && authority.data[0] == '[';
    if (parts->is_ipv6) {
        bool is_closed = holds(authority, "]");
        authority = bytes_skip(authority, 1);
        struct bytes host = bytes_take_until(&authority, ']');
        struct bytes between = bytes_take_until(&authority, ':');
        parts->port = authority;
        return is_closed && between.size == 0 && copy_host(host, parts) &&
               inet_pton(AF_INET6, parts->host, &address) == 1;
    }
    struct bytes host = bytes_take_until(&authority, ':');
    parts->port = authority;
    for (size_t i = 0; i < host.size; i++) {
        char c = host.data[i];
        if (!is_alphanumeric(c) && c != '-' && c != '.' && c != '_')
            return false;
    }
    if (!copy_host(host, parts))
        return false;
    parts->is_ipv4 = inet_pton(AF_INET, parts->host, &address) == 1;
    return true;
}

static bool split_path(struct bytes path, struct parts *parts)
{
    while (path.size > 0) {
        struct bytes segment = bytes_take_until(&path, '/');
        if (segment.size == 0 || parts->segment_count == SEGMENTS_MAX)
            return false;
        parts->segments[parts->segment_count++] = segment;
    }
    return true;
}

static int split_url(struct bytes url, const char *what, struct call *call, struct parts *parts)
{
    uint64_t port;
    parts->is_https = starts_with_word(url, "https://");
    if (!parts->is_https && !starts_with_word(url, "http://"))
        return call_fail(call, -EINVAL, "%s is not a URL that begins with https:// or http://",
                         what);
    if (holds(url, "@"))
        return call_fail(call, -EINVAL, "%s has user information, which is not supported", what);
    if (holds(url, "?") || holds(url, "#"))
        return call_fail(call, -EINVAL,
                         "%s has a query string: put a SAS token into "
                         "AZURE_STORAGE_SAS_TOKEN",
                         what);
    struct bytes path = bytes_skip(url, strlen(parts->is_https ? "https://" : "http://"));
    if (!split_authority(bytes_take_until(&path, '/'), parts))
        return call_fail(call, -EINVAL, "%s has no valid host", what);
    if (parts->port.size > 0 && !bytes_parse_unsigned(parts->port, UINT16_MAX, &port))
        return call_fail(call, -EINVAL, "%s has no valid port", what);
    if (!split_path(path, parts))
        return call_fail(call, -EINVAL, "%s has a path that is not [/ACCOUNT][/TABLE]", what);
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
        return call_fail(call, -EINVAL,
                         "%s is a Cosmos DB endpoint: it does not order its results by key, "
                         "which a mount needs",
                         what);
    if (!parts->is_https && !is_loopback(parts))
        return call_fail(call, -EINVAL,
                         "%s uses http:// to another machine, where others can read the traffic: "
                         "use https://",
                         what);
    return check_service(parts, what, call);
}

static struct bytes without_secondary(struct bytes name)
{
    struct bytes suffix = BYTES_LITERAL("-secondary");
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
    (void)snprintf(endpoint->url, sizeof(endpoint->url), "%s://%s%s%s%s%.*s%s%.*s",
                   parts->is_https ? "https" : "http", parts->is_ipv6 ? "[" : "", parts->host,
                   parts->is_ipv6 ? "]" : "", port.size > 0 ? ":" : "", (int)port.size, port.data,
                   segment.size > 0 ? "/" : "", (int)segment.size, segment.data);
}

int endpoint_set_table(struct endpoint *endpoint, struct bytes table, struct call *call)
{
    if (table.size > 0 && table.data[table.size - 1] == '/')
        table.size--;
    if (table.size > 0 && !table_name_is_readable(table))
        return call_fail(call, -EINVAL,
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
        return call_fail(call, -EINVAL,
                         "the account name in %s is not 3 to 24 of the characters a-z and 0-9",
                         what);
    if (known.size > 0 && !bytes_equal(account, known))
        return call_fail(call, -EINVAL, "%s is of account '%.*s', but AccountName is '%.*s'", what,
                         (int)account.size, account.data, (int)known.size, known.data);
    return 0;
}

int endpoint_parse(struct endpoint *ret, const char *what, struct bytes url, struct bytes account,
                   struct call *call)
{
    struct parts parts = {0};
    struct endpoint endpoint = {0};
    struct bytes segment, table;
    int r = split_url(url, what, call, &parts);
    if (r < 0)
        return r;
    r = check_host(&parts, what, call);
    if (r < 0)
        return r;
    struct bytes named = take_account(&parts, account, &segment, &table);
    r = check_account(named, account, what, call);
    if (r < 0)
        return r;
    if (is_host_style(&parts) && segment.size > 0)
        return call_fail(call, -EINVAL, "%s has a path that is not /TABLE", what);
    endpoint.is_loopback = is_loopback(&parts);
    write_url(&parts, segment, &endpoint);
    (void)snprintf(endpoint.account, sizeof(endpoint.account), "%.*s", (int)named.size, named.data);
    r = endpoint_set_table(&endpoint, table, call);
    if (r < 0)
        return r;
    *ret = endpoint;
    return 0;
}
