/* SPDX-License-Identifier: MIT */
#include "client/identity/token_settings.h"
#include "tests/unit/unit.h"

#define RESOURCE "resource=https%3A%2F%2Fstorage.azure.com"
#define FORM                                                                                       \
    "grant_type=client_credentials&client_id=cl-1&scope=https%3A%2F%2Fstorage.azure.com%2F."       \
    "default"
#define ASSERTS                                                                                    \
    "&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
#define APP "AZURE_TENANT_ID=tn.example", "AZURE_CLIENT_ID=cl-1"

#define VARIABLES 8

static const char *get(const void *context, const char *name)
{
    const char *const *environment = context;
    size_t size = strlen(name);
    for (size_t i = 0; i < VARIABLES && environment[i]; i++)
        if (strncmp(environment[i], name, size) == 0 && environment[i][size] == '=')
            return environment[i] + size + 1;
    return NULL;
}

static const struct {
    const char *mode, *variables[VARIABLES];
    enum token_mode expected;
    const char *name, *url, *headers, *form, *tenant, *file;
} good[] = {
    {.mode = "spn",
     {APP, "AZURE_CLIENT_SECRET=a b~+/="},
     TOKEN_SPN,
     "login.microsoftonline.com",
     "https://login.microsoftonline.com/tn.example/oauth2/v2.0/token",
     "Content-Type: application/x-www-form-urlencoded\r\n",
     FORM "&client_secret=a%20b~%2B%2F%3D"},
    {.mode = "workload",
     {APP, "AZURE_AUTHORITY_HOST= https://login.microsoftonline.us/\n",
      "AZURE_FEDERATED_TOKEN_FILE=/var/token"},
     TOKEN_WORKLOAD,
     "login.microsoftonline.us",
     "https://login.microsoftonline.us/tn.example/oauth2/v2.0/token",
     "Content-Type: application/x-www-form-urlencoded\r\n",
     FORM ASSERTS,
     NULL,
     "/var/token"},
    {.mode = "spn",
     {APP, "AZURE_CLIENT_SECRET=s", "AZURE_AUTHORITY_HOST=https://127.0.0.1:8443"},
     TOKEN_SPN,
     "127.0.0.1:8443",
     "https://127.0.0.1:8443/tn.example/oauth2/v2.0/token",
     "Content-Type: application/x-www-form-urlencoded\r\n",
     FORM "&client_secret=s"},
    {.mode = "msi",
     {NULL},
     TOKEN_MSI_MACHINE,
     "169.254.169.254",
     "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&" RESOURCE,
     "Metadata: true\r\n",
     ""},
    {.mode = "msi",
     {"AZURE_CLIENT_ID=cl-1", "AZURE_POD_IDENTITY_AUTHORITY_HOST=http://10.0.0.1:80/",
      "IDENTITY_HEADER=h"},
     TOKEN_MSI_MACHINE,
     "10.0.0.1:80",
     "http://10.0.0.1:80/metadata/identity/oauth2/token?api-version=2018-02-01&" RESOURCE
     "&client_id=cl-1",
     "Metadata: true\r\n",
     ""},
    {.mode = "msi",
     {"IDENTITY_ENDPOINT=http://localhost:42356/msi/token", "IDENTITY_HEADER=secret",
      "AZURE_CLIENT_ID=cl-1"},
     TOKEN_MSI_ENDPOINT,
     "localhost:42356",
     "http://localhost:42356/msi/token?api-version=2019-08-01&" RESOURCE "&client_id=cl-1",
     "X-IDENTITY-HEADER: secret\r\n",
     ""},
    {.mode = "azcli", {NULL}, TOKEN_AZCLI, "az", "", "", ""},
    {.mode = "azcli", {"AZURE_TENANT_ID=azAZ09.-"}, TOKEN_AZCLI, "az", "", "", "", "azAZ09.-"},
};

static void expect_text(const char *actual, const char *expected)
{
    assert_int_equal(actual != NULL, expected != NULL);
    if (expected)
        assert_string_equal(actual, expected);
}

static void modes_and_variables_make_settings(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct token_settings settings;
        struct call call = {0};
        const struct token_variables variables = {get, good[i].variables};
        int r = token_settings_init(&settings, good[i].mode, &variables, &call);
        if (r < 0)
            fail_msg("%zu: %s", i, call.failure.message);
        assert_int_equal(settings.mode, good[i].expected);
        assert_string_equal(settings.name, good[i].name);
        assert_bytes(buffer_bytes(&settings.url), bytes_of(good[i].url));
        assert_bytes(buffer_bytes(&settings.headers), bytes_of(good[i].headers));
        assert_bytes(buffer_bytes(&settings.form), bytes_of(good[i].form));
        expect_text(settings.tenant, good[i].tenant);
        expect_text(settings.file, good[i].file);
        token_settings_finish(&settings);
    }
}

#define NOT_HTTPS "AZURE_AUTHORITY_HOST is not a URL that begins with https://"
#define NOT_HTTP  "IDENTITY_ENDPOINT is not a URL that begins with http:// or https://"
#define WITH_SPN  APP, "AZURE_CLIENT_SECRET=SECRET"

static const struct {
    const char *mode, *variables[VARIABLES], *message;
} bad[] = {
    {"", {NULL}, "-o auth=: expected msi, workload, spn or azcli"},
    {"SPN", {NULL}, "-o auth=: expected msi, workload, spn or azcli"},
    {"spn", {"AZURE_CLIENT_ID=cl-1"}, "-o auth=spn needs AZURE_TENANT_ID: it is not set"},
    {"spn", {"AZURE_TENANT_ID=t"}, "-o auth=spn needs AZURE_CLIENT_ID: it is not set"},
    {"spn", {APP}, "-o auth=spn needs AZURE_CLIENT_SECRET: it is not set"},
    {"spn",
     {APP, "AZURE_CLIENT_SECRET= \n"},
     "-o auth=spn needs AZURE_CLIENT_SECRET: it is not set"},
    {"workload", {APP}, "-o auth=workload needs AZURE_FEDERATED_TOKEN_FILE: it is not set"},
    {"workload",
     {APP, "AZURE_FEDERATED_TOKEN_FILE=token"},
     "AZURE_FEDERATED_TOKEN_FILE is not an absolute path"},
    {"spn", {WITH_SPN, "AZURE_AUTHORITY_HOST=http://login.example.com"}, NOT_HTTPS},
    {"spn", {WITH_SPN, "AZURE_AUTHORITY_HOST=login.example.com"}, NOT_HTTPS},
    {"spn", {WITH_SPN, "AZURE_AUTHORITY_HOST=https://a@b"}, NOT_HTTPS},
    {"spn", {WITH_SPN, "AZURE_AUTHORITY_HOST=https://b/?q"}, NOT_HTTPS},
    {"spn",
     {WITH_SPN, "AZURE_AUTHORITY_HOST=https://b/c"},
     "AZURE_AUTHORITY_HOST has a path: leave it out"},
    {"spn",
     {"AZURE_TENANT_ID=a/b", "AZURE_CLIENT_ID=c"},
     "AZURE_TENANT_ID has characters that no id has"},
    {"spn",
     {"AZURE_TENANT_ID=a", "AZURE_CLIENT_ID=c&d"},
     "AZURE_CLIENT_ID has characters that no id has"},
    {"msi", {"AZURE_CLIENT_ID=c\r\nd"}, "AZURE_CLIENT_ID has characters that no id has"},
    {"azcli", {"AZURE_TENANT_ID=--debug x"}, "AZURE_TENANT_ID has characters that no id has"},
    {"msi",
     {"IDENTITY_ENDPOINT=http://localhost:42356/msi/token"},
     "IDENTITY_ENDPOINT is set without IDENTITY_HEADER: this is Azure Arc, whose tokens cannot be "
     "used yet"},
    {"msi", {"IDENTITY_ENDPOINT=unix:/x", "IDENTITY_HEADER=SECRET"}, NOT_HTTP},
    {"msi", {"IDENTITY_ENDPOINT=http://h/?a=b", "IDENTITY_HEADER=SECRET"}, NOT_HTTP},
    {"msi",
     {"IDENTITY_ENDPOINT=http://h", "IDENTITY_HEADER=SECRET\r\nX: y"},
     "IDENTITY_HEADER has a line end in it"},
};

static void others_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct token_settings settings;
        struct call call = {0};
        const struct token_variables variables = {get, bad[i].variables};
        assert_int_equal(token_settings_init(&settings, bad[i].mode, &variables, &call), -EINVAL);
        assert_string_equal(call.failure.message, bad[i].message);
        assert_true(call.failure.advice || strstr(bad[i].message, ": leave it out") ||
                    strstr(bad[i].message, " yet"));
    }
}

static void a_variable_has_a_maximum(void **state)
{
    (void)state;
    static char secret[20 << 10] = "AZURE_CLIENT_SECRET=";
    const char *const texts[VARIABLES] = {APP, secret};
    const struct token_variables variables = {get, texts};
    struct token_settings settings;
    struct call call = {0};
    memset(secret + strlen(secret), 's', sizeof(secret) - strlen(secret) - 1);
    assert_int_equal(token_settings_init(&settings, "spn", &variables, &call), -EINVAL);
    assert_string_equal(call.failure.message, "-o auth=spn: a variable is too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_and_variables_make_settings),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(a_variable_has_a_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
