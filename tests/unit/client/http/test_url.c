/* SPDX-License-Identifier: MIT */
#include "client/http/url.h"
#include "tests/unit/unit.h"

static void assert_part(const char *part, const char *expected)
{
    if (expected)
        assert_string_equal(part ? part : "(none)", expected);
    else
        assert_null(part);
}

static void a_url_is_split(void **state)
{
    (void)state;
    static const struct {
        const char *text, *scheme, *host, *port, *path;
    } cases[] = {
        {"https://Host.example/a/../b%2F%c3?sv=1&sig=%3D#x", "https", "Host.example", NULL,
         "/a/../b%2F%c3"},
        {"HTTP://127.0.0.1:010002", "http", "127.0.0.1", "10002", "/"},
        {"http://[::1]:80/", "http", "[::1]", "80", "/"},
        {"https://host:/?a", "https", "host", NULL, "/"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct url url;
        assert_int_equal(url_split(bytes_of(cases[i].text), &url), CURLUE_OK);
        assert_part(url.scheme, cases[i].scheme);
        assert_part(url.host, cases[i].host);
        assert_part(url.port, cases[i].port);
        assert_part(url.path, cases[i].path);
        url_finish(&url);
        assert_null(url.host);
    }
}

static void a_url_that_libcurl_reads_otherwise_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        CURLUcode code;
    } cases[] = {
        {"", CURLUE_BAD_SCHEME},
        {"https://u:p@host/", CURLUE_USER_NOT_ALLOWED},
        {"https://u@host/", CURLUE_USER_NOT_ALLOWED},
        {"https://host:65536/", CURLUE_BAD_PORT_NUMBER},
        {"https://a b/", CURLUE_BAD_HOSTNAME},
        {"https://a/b c", CURLUE_BAD_PATH},
        {"https:///host/", CURLUE_BAD_HOSTNAME},
        {"https:/host/", CURLUE_BAD_HOSTNAME},
        {"https://0x7f.1/", CURLUE_BAD_HOSTNAME},
        {"https://127.1/", CURLUE_BAD_HOSTNAME},
        {"https://h%6fst/", CURLUE_BAD_HOSTNAME},
        {"https://[fe80::1%25eth0]/", CURLUE_BAD_HOSTNAME},
        {"https://[127.0.0.1]/", CURLUE_BAD_IPV6},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct url url;
        assert_int_equal(url_split(bytes_of(cases[i].text), &url), cases[i].code);
        url_finish(&url);
    }
    struct url url;
    assert_int_equal(url_split((struct bytes){0}, &url), CURLUE_BAD_SCHEME);
    url_finish(&url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_url_is_split),
        cmocka_unit_test(a_url_that_libcurl_reads_otherwise_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
