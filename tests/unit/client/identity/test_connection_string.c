/* SPDX-License-Identifier: MIT */
#include "client/identity/connection_string.h"
#include "tests/unit/unit.h"

#define BEFORE CONNECTION_STRING " "

static void assert_setting(struct bytes setting, const char *expected)
{
    assert_int_equal(setting.size, strlen(expected));
    assert_memory_equal(setting.data ? setting.data : "", expected, setting.size);
}

static void all_settings_are_found(void **state)
{
    (void)state;
    static const char text[] =
        ";;defaultendpointsprotocol=http; ACCOUNTNAME = acct ;\r\nAccountKey=a=b==\r\n;"
        "EndpointSuffix=suffix;TableEndpoint=https://host/?x=y;TableSecondaryEndpoint=second;"
        "BlobEndpoint='ignored';SharedAccessSignature=?sv=1&sig=2;UseDevelopmentStorage=true;"
        "DevelopmentStorageProxyUri=proxy;AccountNames=other;";
    struct connection_string settings;
    struct call call = {0};
    assert_int_equal(connection_string_parse(bytes_of(text), &call, &settings), 0);
    assert_setting(settings.protocol, "http");
    assert_setting(settings.account, "acct");
    assert_setting(settings.key, "a=b==");
    assert_setting(settings.suffix, "suffix");
    assert_setting(settings.endpoint, "https://host/?x=y");
    assert_setting(settings.secondary, "second");
    assert_setting(settings.sas, "?sv=1&sig=2");
    assert_setting(settings.development, "true");
    assert_setting(settings.proxy, "proxy");
    assert_int_equal(connection_string_parse(bytes_of(" ; ;\r\n"), &call, &settings), 0);
    assert_setting(settings.account, "");
}

static void what_is_wrong_is_named_and_not_repeated(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"SECRET", "part 1 of " CONNECTION_STRING " is not NAME=VALUE"},
        {"AccountName=a;\r\n;SECRET", "part 3 of " CONNECTION_STRING " is not NAME=VALUE"},
        {"AccountKey=SECRET;accountkey=SECRET", BEFORE "names AccountKey twice"},
        {"AccountKey=\"SECRET\";", "AccountKey begins or ends with a quotation mark: remove it"},
        {"SharedAccessSignature='SECRET'",
         "SharedAccessSignature begins or ends with a quotation mark: remove it"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct connection_string settings = {.account = BYTES_LITERAL("untouched")};
        struct call call = {0};
        assert_int_equal(connection_string_parse(bytes_of(cases[i].text), &call, &settings),
                         -EINVAL);
        assert_string_equal(call.failure.message, cases[i].message);
        assert_setting(settings.account, "untouched");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_settings_are_found),
        cmocka_unit_test(what_is_wrong_is_named_and_not_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
