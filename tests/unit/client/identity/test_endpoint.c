/* SPDX-License-Identifier: MIT */
#include "client/identity/endpoint.h"
#include "client/text/table_name.h"
#include "tests/unit/unit.h"

#define AZURE "https://acct.table.core.windows.net"

static const struct {
    const char *url, *known, *ret_url, *account, *table;
    bool is_loopback;
} good[] = {
    {AZURE, "", AZURE, "acct", "", false},
    {AZURE "/", "", AZURE, "acct", "", false},
    {"HTTPS://Acct.Table.Core.Windows.Net:443/MyTable/", "", AZURE, "acct", "MyTable", false},
    {"https://acct.z01.table.storage.azure.net:8443/tab", "",
     "https://acct.z01.table.storage.azure.net:8443", "acct", "tab", false},
    {"https://acct-secondary.table.core.windows.net", "",
     "https://acct-secondary.table.core.windows.net", "acct", "", false},
    {"http://127.0.0.1:10002/devstoreaccount1", "", "http://127.0.0.1:10002/devstoreaccount1",
     "devstoreaccount1", "", true},
    {"http://127.9.8.7:80/acct/tab1", "", "http://127.9.8.7/acct", "acct", "tab1", true},
    {"http://[::1]:10002/acct/tab1/", "", "http://[::1]:10002/acct", "acct", "tab1", true},
    {"http://LocalHost/acct", "", "http://localhost/acct", "acct", "", true},
    {"http://localhost./acct", "", "http://localhost./acct", "acct", "", false},
    {"http://mylocalhost/acct", "", "http://mylocalhost/acct", "acct", "", false},
    {"http://localhost.example.com/acct", "", "http://localhost.example.com/acct", "acct", "",
     false},
    {"http://127.0.0.1.example.com/acct", "", "http://127.0.0.1.example.com/acct", "acct", "",
     false},
    {"http://128.0.0.1/acct", "", "http://128.0.0.1/acct", "acct", "", false},
    {"http://[::2]:80/acct", "", "http://[::2]/acct", "acct", "", false},
    {"http://acct.table.core.windows.net", "", "http://acct.table.core.windows.net", "acct", "",
     false},
    {"https://localhost/acct-secondary", "", "https://localhost/acct-secondary", "acct", "", true},
    {"https://10.0.0.1/acct/tab", "", "https://10.0.0.1/acct", "acct", "tab", false},
    {"https://[2001:DB8::1]/acct", "", "https://[2001:db8::1]/acct", "acct", "", false},
    {"http://[0:0:0:0:0:0:0:1]/acct", "", "http://[::1]/acct", "acct", "", true},
    {"http://localhost:/acct", "", "http://localhost/acct", "acct", "", true},
    {"http://azurite.LOCALHOST:1/acct", "", "http://azurite.localhost:1/acct", "acct", "", true},
    {"https://under_score.internal/acct", "", "https://under_score.internal/acct", "acct", "",
     false},
    {"https://azurite.internal/acct", "", "https://azurite.internal/acct", "acct", "", false},
    {"https://tables.example.com", "acct", "https://tables.example.com", "acct", "", false},
    {"https://tables.example.com/acct/tab", "acct", "https://tables.example.com/acct", "acct",
     "tab", false},
    {AZURE, "acct", AZURE, "acct", "", false},
};

static void endpoints_are_taken_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct endpoint endpoint;
        struct call call = {0};
        assert_int_equal(endpoint_parse(&endpoint, "SOURCE", bytes_of(good[i].url),
                                        bytes_of(good[i].known), &call),
                         0);
        assert_string_equal(endpoint.url, good[i].ret_url);
        assert_string_equal(endpoint.account, good[i].account);
        assert_string_equal(endpoint.table, good[i].table);
        assert_int_equal(endpoint.is_loopback, good[i].is_loopback);
        bool is_https = strncmp(good[i].ret_url, "https", 5) == 0;
        assert_int_equal(endpoint.is_https, is_https);
        /* the path begins after the origin */
        const char *host = strstr(good[i].ret_url, "://") + 3;
        assert_int_equal(endpoint.origin_size,
                         host - good[i].ret_url + (ptrdiff_t)strcspn(host, "/"));
    }
}

#define NO_URL     "SOURCE is not a URL that begins with https:// or http://"
#define NO_HOST    "SOURCE has no valid host"
#define NO_PORT    "SOURCE has no valid port"
#define NO_PATH    "SOURCE has a path that is not [/ACCOUNT][/TABLE]"
#define NO_ACCOUNT "the account name in SOURCE is not 3 to 24 of the characters a-z and 0-9"
#define NO_TABLE   "the table name is not a letter followed by 2 to 62 letters and digits"
#define HAS_QUERY  "SOURCE has a query string: put a SAS URL into AZURE_STORAGE_SAS_URL"
#define COSMOS                                                                                     \
    "SOURCE is a Cosmos DB endpoint: it does not order its results by key, which tablefuse needs"

static const struct {
    const char *url, *known, *message;
} bad[] = {
    {"", "", NO_URL},
    {"ftp://host/SECRET", "", NO_URL},
    {"https://u:SECRET@acct.table.core.windows.net", "",
     "SOURCE has user information, which is not supported"},
    {"https://acct.table.core.windows.net/?sig=SECRET", "", HAS_QUERY},
    {"https://acct.table.core.windows.net#SECRET", "", HAS_QUERY},
    {"https://", "", NO_HOST},
    {"https:///acct", "", NO_HOST},
    {"https://SECRET host/acct", "", NO_HOST},
    {"https://host/SECRET\tacct", "", NO_PATH},
    {"https://[::1/acct", "", NO_HOST},
    {"https://[]/acct", "", NO_HOST},
    {"https://[127.0.0.1]/acct", "", NO_HOST},
    {"https://[::1]x/acct", "", NO_PORT},
    /* libcurl would take or normalise these: our reading and its must be the same */
    {"https:/host/acct", "", NO_URL},
    {" https://host/acct", "", NO_URL},
    {"https://h%6fst/acct", "", NO_HOST},
    {"https://h\xc3\xb6st/acct", "", NO_HOST},
    {"https://host\\acct", "", NO_HOST},
    {"https://[::1%25lo]/acct", "", NO_HOST},
    {"https://[fe80::1%eth0]/acct", "", NO_HOST},
    {"https://host/acct/?", "", HAS_QUERY},
    {"https://host/../acct", "", NO_ACCOUNT},
    {"https://host/%61cct", "", NO_ACCOUNT},
    {"https://host/acct/./tab", "", NO_PATH},
    {"https://host/%2e%2e/acct", "", NO_ACCOUNT},
    {"https://host/acct/tab/..", "", NO_PATH},
    {"http://127.1/acct", "", NO_HOST},
    {"http://2130706433/acct", "", NO_HOST},
    {"http://0x7f.1/acct", "", NO_HOST},
    {"http://0X7F.0.0.1/acct", "", NO_HOST},
    {"http://0177.0.0.1/acct", "", NO_HOST},
    {"https://10.1/acct", "", NO_HOST},
    {"https://10.0.0.010/acct", "", NO_HOST},
    {"https://localhos%74/acct", "", NO_HOST},
    {"https://host:/acct:x", "", NO_ACCOUNT},
    {"https://host:65536/acct", "", NO_PORT},
    {"https://host:SECRET/acct", "", NO_PORT},
    {"https://host:-1/acct", "", NO_PORT},
    {"https://host/acct/tab/more", "", NO_PATH},
    {"https://host//tab", "", NO_PATH},
    {"https://acct.table.core.windows.net/tab/more", "", "SOURCE has a path that is not /TABLE"},
    {"https://host", "", "SOURCE names no account: append /ACCOUNT"},
    {"https://host/Acct", "", NO_ACCOUNT},
    {"https://host/..", "", NO_ACCOUNT},
    {"https://ac.table.core.windows.net", "", NO_ACCOUNT},
    {"https://host/acct/1ab", "", NO_TABLE},
    {"https://host/acct/..", "", NO_TABLE},
    {"https://host/acct/$batch", "", NO_TABLE},
    {"https://abcd.table.core.windows.net", "acct",
     "SOURCE is of account 'abcd', but AccountName is 'acct'"},
    {"https://acct.Table.Cosmos.azure.com:443/", "", COSMOS},
    {"https://acct.table.cosmosdb.azure.com", "", COSMOS},
};

static void other_endpoints_are_refused_without_repeating_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct endpoint endpoint = {.account = "untouched"};
        struct call call = {0};
        assert_int_equal(endpoint_parse(&endpoint, "SOURCE", bytes_of(bad[i].url),
                                        bytes_of(bad[i].known), &call),
                         -EINVAL);
        assert_string_equal(call.failure.message, bad[i].message);
        assert_null(strstr(call.failure.message, "SECRET"));
        assert_int_equal(call.failure.error, -EINVAL);
        assert_string_equal(endpoint.account, "untouched");
    }
}

static void a_long_host_is_refused(void **state)
{
    (void)state;
    char url[600] = "https://";
    struct endpoint endpoint;
    struct call call = {0};
    memset(url + 8, 'a', 254);
    assert_int_equal(endpoint_parse(&endpoint, "SOURCE", bytes_of(url), bytes_of("acct"), &call),
                     -EINVAL);
    url[8 + 253] = '\0';
    assert_int_equal(endpoint_parse(&endpoint, "SOURCE", bytes_of(url), bytes_of("acct"), &call),
                     0);
    assert_int_equal(strlen(endpoint.url), 8 + 253);
}

static void names_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_account, is_table;
    } names[] = {
        {"abc", true, true},
        {"ab", false, false},
        {"1abc", true, false},
        {"aBc", false, true},
        {"ab-c", false, false},
        {"ab\xc3\xa4", false, false},
        {"abcdefghijklmnopqrstuvwx", true, true},
        {"abcdefghijklmnopqrstuvwxy", false, true},
        {"a12345678901234567890123456789012345678901234567890123456789012", false, true},
        {"a123456789012345678901234567890123456789012345678901234567890123", false, false},
        {"", false, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_int_equal(endpoint_is_account_name(bytes_of(names[i].name)), names[i].is_account);
        assert_int_equal(table_name_is_legal(bytes_of(names[i].name)), names[i].is_table);
    }
}

static void endpoints_of_other_services_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *url, *service; /* service NULL: a table's */
    } cases[] = {
        {"https://acct.blob.core.windows.net/", "blob"},
        {"https://acct.blob.core.windows.net/table", "blob"},
        {"https://ACCT.DFS.CORE.chinacloudapi.cn", "dfs"},
        {"https://acct-secondary.queue.core.usgovcloudapi.net:443", "queue"},
        {"https://acct.file.core.windows.net", "file"},
        {"https://acct.z01.web.storage.azure.net", "web"},
        {"https://acct.z01.blob.storage.azure.net", "blob"},
        {"https://acct.table.core.windows.net", NULL},
        {"https://acct.z01.table.storage.azure.net", NULL},
        {"https://blob.table.core.windows.net", NULL},
        {"https://proxy.blob.example.com/acct", NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct endpoint endpoint;
        struct call call = {0};
        char expected[200];
        int r =
            endpoint_parse(&endpoint, "SOURCE", bytes_of(cases[i].url), (struct bytes){0}, &call);
        assert_int_equal(r, cases[i].service ? -EINVAL : 0);
        if (!cases[i].service)
            continue;
        (void)snprintf(expected, sizeof(expected),
                       "SOURCE is the endpoint of the %s service: write .table. in place of .%s.",
                       cases[i].service, cases[i].service);
        assert_string_equal(call.failure.message, expected);
    }
}

static void an_account_has_two_locations(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool is_same, is_secondary; /* is a secondary? */
    } cases[] = {
        {"https://acct.table.core.windows.net", "https://acct.table.core.windows.net/tab", true,
         false},
        {"https://acct-secondary.table.core.windows.net/tab", "https://acct.table.core.windows.net",
         true, true},
        {"http://acct.table.core.windows.net:443", "https://acct.table.core.windows.net:443", false,
         false}, /* another port */
        {"http://127.0.0.1:1/acct-secondary", "http://127.0.0.1:1/acct", true, true},
        {"http://acct-secondary.corp/acct", "http://acct.corp/acct", false, false},
        {"http://127.0.0.1:1/acct", "http://127.0.0.1:2/acct", false, false},
        {"http://127.0.0.1:1/acct", "http://127.0.0.1:1/acct2", false, false},
        {"https://acct.table.core.windows.net", "https://acct.table.core.chinacloudapi.cn", false,
         false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct endpoint a, b;
        struct call call = {0};
        assert_int_equal(endpoint_parse(&a, "A", bytes_of(cases[i].a), (struct bytes){0}, &call),
                         0);
        assert_int_equal(endpoint_parse(&b, "B", bytes_of(cases[i].b), (struct bytes){0}, &call),
                         0);
        assert_int_equal(endpoint_is_same_account(&a, &b), cases[i].is_same);
        assert_int_equal(endpoint_is_same_account(&b, &a), cases[i].is_same);
        assert_int_equal(endpoint_is_secondary(&a), cases[i].is_secondary);
        assert_false(endpoint_is_secondary(&b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endpoints_are_taken_apart),
        cmocka_unit_test(other_endpoints_are_refused_without_repeating_them),
        cmocka_unit_test(a_long_host_is_refused),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(endpoints_of_other_services_are_named),
        cmocka_unit_test(an_account_has_two_locations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
