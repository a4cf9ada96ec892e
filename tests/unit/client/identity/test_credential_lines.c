/* SPDX-License-Identifier: MIT */
#include "client/identity/credential_lines.h"
#include "tests/unit/unit.h"

#define KEY                                                                                        \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

static int parse(const char *text, struct call *call, struct credential_lines *ret)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    *call = (struct call){0};
    *ret = (struct credential_lines){0};
    return credential_lines_parse(copy, call, ret);
}

/* NULL: the name has no line. */
static void expect(const struct credential_lines *lines, const char *name, const char *expected)
{
    const char *value = credential_lines_get(lines, name);
    if (!expected) {
        assert_null(value);
        return;
    }
    assert_non_null(value);
    assert_bytes(bytes_trim(bytes_of(value)), bytes_of(expected));
}

static void lines_have_values(void **state)
{
    (void)state;
    static const struct {
        const char *text, *account, *key;
        bool has_credential;
    } cases[] = {
        {"AZURE_STORAGE_KEY=" KEY, NULL, KEY, true},
        {"AZURE_STORAGE_KEY=" KEY "\n", NULL, KEY, true},
        {"\n# a comment\r\n  # another one: AZURE_STORAGE_KEY=x\n\t\n AZURE_STORAGE_KEY = " KEY
         " \r\nAZURE_STORAGE_ACCOUNT=abc\r",
         "abc", KEY, true},
        {"\xEF\xBB\xBF"
         "AZURE_STORAGE_KEY=" KEY,
         NULL, KEY, true},
        {"\xEF\xBB\xBF# first\nAZURE_STORAGE_ACCOUNT=abc", "abc", NULL, false},
        {"AZURE_STORAGE_KEY=\nAZURE_STORAGE_ACCOUNT=", "", "", false},
        {"AZURE_STORAGE_KEY= \r", NULL, "", false},
        {"AZURE_STORAGE_KEY=a # no comment", NULL, "a # no comment", true},
        {"AZURE_STORAGE_KEY==", NULL, "=", true},
        {"", NULL, NULL, false},
        {"#", NULL, NULL, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct credential_lines lines;
        struct call call;
        if (parse(cases[i].text, &call, &lines) < 0)
            fail_msg("%zu: %s", i, call.failure.message);
        expect(&lines, "AZURE_STORAGE_ACCOUNT", cases[i].account);
        expect(&lines, "AZURE_STORAGE_KEY", cases[i].key);
        expect(&lines, "AZURE_STORAGE_SAS_URL", NULL);
        expect(&lines, "HOME", NULL);
        assert_int_equal(credential_lines_has_credential(&lines), cases[i].has_credential);
        credential_lines_finish(&lines);
        credential_lines_finish(&lines);
    }
}

static void every_variable_has_a_line(void **state)
{
    (void)state;
    static const char *const names[CREDENTIAL_LINES_NAMES] = {"AZURE_STORAGE_CONNECTION_STRING",
                                                              "AZURE_STORAGE_ACCOUNT",
                                                              "AZURE_STORAGE_KEY",
                                                              "AZURE_STORAGE_SAS_TOKEN",
                                                              "AZURE_STORAGE_SAS_URL",
                                                              "AZURE_TENANT_ID",
                                                              "AZURE_CLIENT_ID",
                                                              "AZURE_CLIENT_SECRET",
                                                              "AZURE_AUTHORITY_HOST",
                                                              "AZURE_FEDERATED_TOKEN_FILE"};
    struct credential_lines lines;
    struct call call;
    char text[1000] = "";
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t size = strlen(text);
        (void)snprintf(text + size, sizeof(text) - size, "%s=%zu\n", names[i], i);
    }
    assert_int_equal(parse(text, &call, &lines), 0);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char expected[8];
        (void)snprintf(expected, sizeof(expected), "%zu", i);
        expect(&lines, names[i], expected);
    }
    credential_lines_finish(&lines);
}

#define NO_LINE(number) "line " #number " is not NAME=value with the name of a variable"

/* What may be a secret is not repeated. */
static void others_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {KEY, NO_LINE(1)},
        {"\n\n" KEY "\n", NO_LINE(3)},
        {"EBY8VDM02XNOCQFLQUWJPLLMETLCDXJ1OUZFT50USRZ6IFSUFQ2UVERCZ4I6TQ==", NO_LINE(1)},
        {"SECRET==", NO_LINE(1)},
        {"sv=2020-12-06&sp=rl&sig=SECRET%3D", NO_LINE(1)},
        {"AccountName=abc;AccountKey=" KEY, NO_LINE(1)},
        {"AZURE_STORAGE_KEY", NO_LINE(1)},
        {"AZURE_STORAGE_KEY: " KEY, NO_LINE(1)},
        {"=" KEY, NO_LINE(1)},
        {"azure_storage_key=" KEY, NO_LINE(1)},
        {"export AZURE_STORAGE_KEY=" KEY, NO_LINE(1)},
        {"AZURE_STORAGE_KEYS=" KEY, "line 1 has the unknown name AZURE_STORAGE_KEYS"},
        {"AZ_09=" KEY, "line 1 has the unknown name AZ_09"},
        {"9AZ_=" KEY, NO_LINE(1)},
        {"AZURE_Key=" KEY, NO_LINE(1)},
        {"# x\nAZURE_STORAGE_=1", "line 2 has the unknown name AZURE_STORAGE_"},
        {"AZURE_STORAGE_KEY=a\nAZURE_STORAGE_KEY=", "AZURE_STORAGE_KEY stands in it twice"},
        {"AZURE_STORAGE_KEY=a\n\xEF\xBB\xBF"
         "AZURE_STORAGE_ACCOUNT=abc",
         NO_LINE(2)},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct credential_lines lines;
        struct call call;
        assert_int_equal(parse(cases[i].text, &call, &lines), -EINVAL);
        assert_string_equal(call.failure.message, cases[i].message);
        assert_non_null(call.failure.advice);
        assert_null(lines.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_values),
        cmocka_unit_test(every_variable_has_a_line),
        cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
