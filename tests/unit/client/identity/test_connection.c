/* SPDX-License-Identifier: MIT */
#include "client/identity/connection.h"
#include "tests/unit/unit.h"

#define KEY  "U0VDUkVULVNFQ1JFVC1TRUNSRVQ="
#define KEY2 "T1RIRVItT1RIRVItT1RIRVItT1Q="
/* published by Microsoft for the emulator */
#define EMULATOR_KEY                                                                               \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
#define TABLE_SAS    "sv=2020-12-06&tn=Tab1&sp=r&sig=SECRET%3D"
#define TABLE_TEXT   "SAS token (sv=2020-12-06, tn=Tab1, sp=r, signature not shown)"
#define AZURE        "https://acct.table.core.windows.net"
#define EMULATOR     "http://127.0.0.1:10002/devstoreaccount1"
#define LOOPBACK     "http://127.0.0.1:1/acct"
#define AZURITE      "http://azurite:10002"
#define STRING       "AccountName=acct;AccountKey=" KEY
#define SAS          "sv=2020-12-06&sp=rl&sig=SECRET%3D"
#define KEY_ACCT     "shared key of account acct"
#define KEY_EMULATOR "shared key of account devstoreaccount1"
#define SAS_TEXT     "SAS token (sv=2020-12-06, sp=rl, signature not shown)"

static const struct {
    const char *source;
    struct connection_environment environment;
    const char *url, *table, *credential;
} good[] = {
    {"emulator", {0}, EMULATOR, "", KEY_EMULATOR},
    {"emulator/tab/",
     {.connection_string = "nonsense", .account = "X", .key = "?", .sas_token = "?"},
     EMULATOR,
     "tab",
     KEY_EMULATOR},
    {"acct", {.key = KEY}, AZURE, "", KEY_ACCT},
    {" acct/Tab1 ", {.sas_token = SAS}, AZURE, "Tab1", SAS_TEXT},
    {"acct/", {.account = "acct", .key = " " KEY " "}, AZURE, "", KEY_ACCT},
    {AZURE "/tab", {.key = KEY, .sas_token = ""}, AZURE, "tab", KEY_ACCT},
    {"http://localhost:1/acct/tab",
     {.sas_token = "?" SAS},
     "http://localhost:1/acct",
     "tab",
     SAS_TEXT},
    {NULL, {.account = "acct", .key = KEY}, AZURE, "", KEY_ACCT},
    {"", {.account = "acct", .sas_token = SAS}, AZURE, "", SAS_TEXT},
    {NULL, {.connection_string = STRING}, AZURE, "", KEY_ACCT},
    {NULL,
     {.connection_string = " ; accountname = acct ;ACCOUNTKEY=" KEY
                           ";DefaultEndpointsProtocol=HTTPS;EndpointSuffix=core.chinacloudapi.cn;"},
     "https://acct.table.core.chinacloudapi.cn",
     "",
     KEY_ACCT},
    {NULL, {.connection_string = STRING ";SharedAccessSignature=" SAS}, AZURE, "", KEY_ACCT},
    {NULL,
     {.connection_string =
          "TableEndpoint=" AZURE "/;BlobEndpoint=https://x;SharedAccessSignature=?" SAS ";"},
     AZURE,
     "",
     SAS_TEXT},
    {NULL,
     {.connection_string = "DefaultEndpointsProtocol=http;AccountName=acct;AccountKey=" KEY
                           ";TableEndpoint=http://127.0.0.1:10002/acct;"},
     "http://127.0.0.1:10002/acct",
     "",
     KEY_ACCT},
    {NULL,
     {.connection_string = STRING ";TableEndpoint=https://tables.example.com"},
     "https://tables.example.com",
     "",
     KEY_ACCT},
    {NULL,
     {.connection_string = "TableEndpoint=" AZURE ";"
                           "TableSecondaryEndpoint=https://acct-secondary.table.core.windows.net;"
                           "AccountKey=" KEY},
     AZURE,
     "",
     KEY_ACCT},
    {NULL, {.connection_string = "UseDevelopmentStorage=true"}, EMULATOR, "", KEY_EMULATOR},
    {NULL,
     {.connection_string =
          "usedevelopmentstorage=True;DevelopmentStorageProxyUri=http://localhost:99/;"},
     "http://localhost:10002/devstoreaccount1",
     "",
     KEY_EMULATOR},
    {NULL,
     {.connection_string = "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://[::1]"},
     "http://[::1]:10002/devstoreaccount1",
     "",
     KEY_EMULATOR},
    {"acct/tab",
     {.connection_string = STRING ";EndpointSuffix=core.cloudapi.de"},
     "https://acct.table.core.cloudapi.de",
     "tab",
     KEY_ACCT},
    {AZURE ":443/tab", {.connection_string = STRING, .account = "acct"}, AZURE, "tab", KEY_ACCT},
    /* as they come from files of Windows and from `$(cat FILE)` */
    {"acct\r\n", {.key = KEY "\r\n"}, AZURE, "", KEY_ACCT},
    {NULL, {.account = "\tacct\r", .sas_token = " ?" SAS "\r\n \n"}, AZURE, "", SAS_TEXT},
    {NULL,
     {.connection_string = "\xEF\xBB\xBF"
                           "AccountName=acct\r;\r\nAccountKey=" KEY " \r\n;\n"},
     AZURE,
     "",
     KEY_ACCT},
    {NULL, {.account = "acct", .key = "\r\n", .sas_token = SAS}, AZURE, "", SAS_TEXT},
    /* SAS URLs */
    {NULL, {.sas_url = AZURE "/?" SAS "\r\n"}, AZURE, "", SAS_TEXT},
    {NULL, {.sas_url = AZURE "?" SAS, .account = "acct"}, AZURE, "", SAS_TEXT},
    {NULL, {.sas_token = AZURE "/?" SAS}, AZURE, "", SAS_TEXT},
    {NULL,
     {.sas_url = "HTTPS://Acct.table.core.windows.net:443/tAB1?" TABLE_SAS},
     AZURE,
     "tAB1",
     TABLE_TEXT},
    {NULL, {.sas_url = AZURE "/?" TABLE_SAS}, AZURE, "Tab1", TABLE_TEXT},
    {NULL, {.sas_url = AZURE "/tab2?" SAS}, AZURE, "tab2", SAS_TEXT},
    {NULL,
     {.sas_url = AZURE "/?tn=%24Metrics1&sig=SECRET"},
     AZURE,
     "$Metrics1",
     "SAS token (tn=%24Metrics1, signature not shown)"},
    {NULL, {.sas_url = LOOPBACK "/tab1?" TABLE_SAS}, LOOPBACK, "tab1", TABLE_TEXT},
    {"acct", {.sas_url = AZURE "/?" TABLE_SAS}, AZURE, "Tab1", TABLE_TEXT},
    {"acct/TAB1", {.sas_url = AZURE "/tab1?" TABLE_SAS}, AZURE, "TAB1", TABLE_TEXT},
    {AZURE "/tab2", {.sas_url = AZURE ":443/?" SAS}, AZURE, "tab2", SAS_TEXT},
    {"acct",
     {.sas_token = "https://acct.table.core.usgovcloudapi.net/?" SAS},
     "https://acct.table.core.usgovcloudapi.net",
     "",
     SAS_TEXT},
    {"emulator",
     {.sas_url = "nonsense", .key = "\"", .connection_string = "'"},
     EMULATOR,
     "",
     KEY_EMULATOR},
    /* the public account of the emulator: anywhere, and without a credential */
    {AZURITE "/devstoreaccount1", {0}, AZURITE "/devstoreaccount1", "", KEY_EMULATOR},
    {"http://host.docker.internal:10002/devstoreaccount1/tab",
     {.key = EMULATOR_KEY},
     "http://host.docker.internal:10002/devstoreaccount1",
     "tab",
     KEY_EMULATOR},
    {NULL,
     {.connection_string =
          "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=" EMULATOR_KEY
          ";TableEndpoint=http://192.168.1.2:10002/devstoreaccount1;"},
     "http://192.168.1.2:10002/devstoreaccount1",
     "",
     KEY_EMULATOR},
    {NULL,
     {.connection_string =
          "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://azurite.example.com"},
     "http://azurite.example.com:10002/devstoreaccount1",
     "",
     KEY_EMULATOR},
    /* http that is allowed, or stays on this machine */
    {"http://192.168.1.2/acct",
     {.key = KEY, .allows_http = true},
     "http://192.168.1.2/acct",
     "",
     KEY_ACCT},
    {AZURITE "/devstoreaccount1",
     {.key = KEY, .allows_http = true},
     AZURITE "/devstoreaccount1",
     "",
     KEY_EMULATOR},
    {NULL, {.sas_url = AZURITE "/acct?" SAS, .allows_http = true}, AZURITE "/acct", "", SAS_TEXT},
    {NULL,
     {.connection_string = "DefaultEndpointsProtocol=http;AccountName=acct;AccountKey=" KEY,
      .allows_http = true},
     "http://acct.table.core.windows.net",
     "",
     KEY_ACCT},
    {"http://azurite.localhost:1/acct",
     {.key = KEY},
     "http://azurite.localhost:1/acct",
     "",
     KEY_ACCT},
};

#define CS      "AZURE_STORAGE_CONNECTION_STRING"
#define SAS_URL "AZURE_STORAGE_SAS_URL"

static const char *variable_of(const struct connection_environment *environment, bool is_sas)
{
    return environment->connection_string ? CS
           : environment->sas_url         ? SAS_URL
           : is_sas                       ? "AZURE_STORAGE_SAS_TOKEN"
                                          : "AZURE_STORAGE_KEY";
}

static void sources_and_environments_make_connections(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        _cleanup_(connection_finish) struct connection connection = {0};
        struct call call = {0};
        _cleanup_(buffer_finish) struct buffer text;
        buffer_init(&text, 1000);
        assert_int_equal(connection_init(&connection, good[i].source, &good[i].environment, &call),
                         0);
        assert_string_equal(connection.endpoint.url, good[i].url);
        assert_string_equal(connection.endpoint.table, good[i].table);
        const char *named = good[i].source ? strstr(good[i].source, good[i].table) : NULL;
        assert_int_equal(connection.source_has_table, good[i].table[0] && named);
        assert_int_equal(credential_append_description(connection.credential, &text), 0);
        assert_string_equal(buffer_string(&text), good[i].credential);
        if (strcmp(good[i].credential, KEY_EMULATOR) != 0)
            assert_string_equal(
                connection.credential_by,
                variable_of(&good[i].environment, credential_is_sas(connection.credential)));
    }
}

#define QUOTED   " begins or ends with a quotation mark: remove it"
#define AT_STAKE ": over http:// others on the network can read and change the data"
#define WITH_SAS AT_STAKE ", and take the SAS token"
#define SET_ONE  ": set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, AZURE_STORAGE_SAS_URL or " CS
#define NO_ACCOUNT                                                                                 \
    "no account: name one as SOURCE, or set " CS ", " SAS_URL " or AZURE_STORAGE_ACCOUNT"
#define NO_SOURCE                                                                                  \
    "SOURCE is not a URL, local:FILE or an account name, which has 3 to 24 of the characters a-z " \
    "and 0-9"
#define BAD_TABLE "the table name is not a letter followed by 2 to 62 letters and digits"
#define EMULATORS                                                                                  \
    "devstoreaccount1 is the emulator's account: write `emulator`, or name its URL as SOURCE or "  \
    "TableEndpoint, such as http://127.0.0.1:10002/devstoreaccount1"

static const struct {
    const char *source;
    struct connection_environment environment;
    const char *message;
} bad[] = {
    {NULL, {0}, NO_ACCOUNT},
    {NULL, {.key = KEY}, NO_ACCOUNT},
    {"acct", {0}, "no credential for account 'acct'" SET_ONE},
    {NULL, {.account = "acct"}, "no credential for account 'acct'" SET_ONE},
    {NULL,
     {.connection_string = STRING, .key = KEY2},
     CS " and AZURE_STORAGE_KEY are both set: unset one of them"},
    {"acct",
     {.connection_string = STRING, .sas_token = SAS},
     CS " and AZURE_STORAGE_SAS_TOKEN are both set: unset one of them"},
    {"acct",
     {.key = KEY, .sas_token = SAS},
     "AZURE_STORAGE_KEY and AZURE_STORAGE_SAS_TOKEN are both set: unset one of them"},
    {"acct",
     {.account = "other", .key = KEY},
     "AZURE_STORAGE_ACCOUNT names account 'other', but SOURCE account 'acct'"},
    {NULL,
     {.account = "other", .connection_string = STRING},
     "AZURE_STORAGE_ACCOUNT names account 'other', but " CS " account 'acct'"},
    {NULL,
     {.account = "SECRET", .key = KEY},
     "AZURE_STORAGE_ACCOUNT is not 3 to 24 of the characters a-z and 0-9"},
    {"other",
     {.connection_string = STRING},
     "SOURCE names account 'other', but " CS " account 'acct'"},
    {LOOPBACK,
     {.connection_string = STRING},
     "SOURCE is at " LOOPBACK ", but " CS " at " AZURE ": unset one"},
    {"acct",
     {.key = "SECRET"},
     "AZURE_STORAGE_KEY is not the base64 of an account key: was it cut?"},
    {"acct",
     {.sas_token = "SECRET"},
     "AZURE_STORAGE_SAS_TOKEN is not a percent-encoded SAS token with a signature: was it cut, or "
     "not quoted?"},
    {"acct",
     {.key = "sv=2020-08-04&ss=t&sig=SECRET%3D"},
     "AZURE_STORAGE_KEY looks like a SAS token: put it into AZURE_STORAGE_SAS_TOKEN"},
    {"acct",
     {.key = "AccountName=acct;AccountKey=SECRET"},
     "AZURE_STORAGE_KEY looks like a connection string: put it into " CS},
    {"acct",
     {.sas_token = EMULATOR_KEY},
     "AZURE_STORAGE_SAS_TOKEN looks like an account key: put it into AZURE_STORAGE_KEY"},
    {"acct",
     {.sas_token = "TableEndpoint=https://acct.x.y/;SharedAccessSignature=SECRET"},
     "AZURE_STORAGE_SAS_TOKEN looks like a connection string: put it into " CS},
    {NULL,
     {.connection_string = "AccountName=acct;AccountKey=SECRET"},
     "AccountKey is not the base64 of an account key: was it cut?"},
    {NULL,
     {.connection_string = "AccountName=acct;SharedAccessSignature=SECRET"},
     "SharedAccessSignature is not a percent-encoded SAS token with a signature: was it cut, or "
     "not quoted?"},
    {NULL,
     {.connection_string = "AccountName=SECRET AccountKey=" KEY},
     "AccountName is not 3 to 24 of the characters a-z and 0-9"},
    {NULL,
     {.connection_string = "AccountKey=" KEY},
     CS " names neither AccountName nor TableEndpoint"},
    {NULL, {.connection_string = ";;"}, CS " names neither AccountName nor TableEndpoint"},
    {NULL,
     {.connection_string = "AccountName=acct"},
     CS " holds neither AccountKey nor SharedAccessSignature"},
    {NULL,
     {.connection_string = "AccountName=acct;DefaultEndpointsProtocol=ftp;AccountKey=" KEY},
     "DefaultEndpointsProtocol is neither https nor http"},
    {NULL,
     {.connection_string = "AccountName=acct;DefaultEndpointsProtocol=http;AccountKey=" KEY},
     "DefaultEndpointsProtocol=http without TableEndpoint" AT_STAKE},
    {NULL,
     {.connection_string = STRING ";TableEndpoint=" AZURE "/tab"},
     "TableEndpoint names a table: write SOURCE/TABLE"},
    {NULL,
     {.connection_string =
          "TableSecondaryEndpoint=https://acct-secondary.table.core.windows.net;" STRING},
     "TableSecondaryEndpoint is set without TableEndpoint"},
    {NULL,
     {.connection_string = "UseDevelopmentStorage=false"},
     "UseDevelopmentStorage can only be true"},
    {NULL,
     {.connection_string = "UseDevelopmentStorage=true;AccountKey=" KEY},
     "UseDevelopmentStorage is set together with an account, key or endpoint"},
    {NULL,
     {.connection_string = "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=localhost"},
     "DevelopmentStorageProxyUri is not a URL that begins with https:// or http://"},
    {NULL,
     {.connection_string = "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://localhost/"
                           "devstoreaccount1"},
     "DevelopmentStorageProxyUri has a path"},
    {"?" SAS, {.key = KEY}, "SOURCE looks like a SAS token: put it into AZURE_STORAGE_SAS_TOKEN"},
    {"TableEndpoint=https://host/acct;SharedAccessSignature=" SAS,
     {0},
     "SOURCE looks like a connection string: put it into " CS},
    {"AccountKey=SECRET", {0}, "SOURCE looks like a connection string: put it into " CS},
    {AZURE "?sig=SECRET",
     {.key = KEY},
     "SOURCE has a query string: put a SAS URL into AZURE_STORAGE_SAS_URL"},
    {"Acct", {.key = KEY}, NO_SOURCE},
    {"/tab", {.key = KEY}, NO_SOURCE},
    {"acct/tab/more", {.key = KEY}, BAD_TABLE},
    {"emulator/1", {0}, BAD_TABLE},
    {"acct", {.key = "'" KEY "'\r\n"}, "AZURE_STORAGE_KEY" QUOTED},
    {"acct", {.sas_token = "\u201C" SAS "\u201D"}, "AZURE_STORAGE_SAS_TOKEN" QUOTED},
    {NULL, {.sas_url = "'" AZURE "/?" SAS "'"}, "AZURE_STORAGE_SAS_URL" QUOTED},
    {NULL, {.account = "`acct`", .key = KEY}, "AZURE_STORAGE_ACCOUNT" QUOTED},
    {"'acct'", {.key = KEY}, "SOURCE" QUOTED},
    {NULL, {.connection_string = "\"" STRING "\""}, CS QUOTED},
    {NULL, {.connection_string = "AccountName='acct';AccountKey=" KEY}, "AccountName" QUOTED},
    {NULL,
     {.sas_url = AZURE "/?" SAS, .key = KEY},
     "AZURE_STORAGE_KEY and AZURE_STORAGE_SAS_URL are both set: unset one of them"},
    {"acct",
     {.sas_url = AZURE "/?" SAS, .sas_token = SAS},
     "AZURE_STORAGE_SAS_TOKEN and AZURE_STORAGE_SAS_URL are both set: unset one of them"},
    {NULL,
     {.sas_url = AZURE "/?" SAS, .connection_string = "AccountName=acct"},
     CS " and AZURE_STORAGE_SAS_URL are both set: unset one of them"},
    {NULL,
     {.sas_url = AZURE "/?" SAS, .account = "other"},
     "AZURE_STORAGE_ACCOUNT names account 'other', but AZURE_STORAGE_SAS_URL account 'acct'"},
    {NULL,
     {.sas_token = AZURE "/?" SAS, .account = "other"},
     "AZURE_STORAGE_ACCOUNT names account 'other', but AZURE_STORAGE_SAS_TOKEN account 'acct'"},
    {"other",
     {.sas_url = AZURE "/?" SAS},
     "SOURCE names account 'other', but AZURE_STORAGE_SAS_URL account 'acct'"},
    {LOOPBACK,
     {.sas_url = AZURE "/?" SAS},
     "SOURCE is at " LOOPBACK ", but AZURE_STORAGE_SAS_URL at " AZURE ": unset one"},
    {"acct/tab2",
     {.sas_token = AZURE "/tab1?" SAS},
     "SOURCE names table 'tab2', but AZURE_STORAGE_SAS_TOKEN table 'tab1'"},
    {"acct/tab2",
     {.sas_url = AZURE "/?" TABLE_SAS},
     "SOURCE names table 'tab2', but AZURE_STORAGE_SAS_URL table 'Tab1'"},
    {NULL,
     {.sas_url = AZURE "/tab2?" TABLE_SAS},
     "the path of AZURE_STORAGE_SAS_URL names table 'tab2', but its tn= another one"},
    {NULL, {.sas_url = AZURE "/?tn=1&sig=SECRET"}, BAD_TABLE},
    {NULL,
     {.sas_url = AZURE "/?sv=2020-12-06"},
     "what follows ? in AZURE_STORAGE_SAS_URL is not a percent-encoded SAS token with a signature: "
     "was it cut, or not quoted?"},
    {NULL,
     {.sas_token = AZURE "/"},
     "what follows ? in AZURE_STORAGE_SAS_TOKEN is not a percent-encoded SAS token with a "
     "signature: was it cut, or not quoted?"},
    {NULL,
     {.sas_url = SAS},
     "AZURE_STORAGE_SAS_URL is not a URL that begins with https:// or http://: put a token alone "
     "into AZURE_STORAGE_SAS_TOKEN"},
    {NULL,
     {.sas_url = "https://acct.blob.core.windows.net/?" SAS},
     "AZURE_STORAGE_SAS_URL is the endpoint of the blob service: write .table. in place of .blob."},
    {NULL,
     {.connection_string = AZURE "/?" SAS},
     CS " is a URL: put a SAS URL into AZURE_STORAGE_SAS_URL"},
    {AZURITE "/acct", {.key = KEY}, "SOURCE" AT_STAKE},
    {"http://acct.table.core.windows.net", {.key = KEY}, "SOURCE" AT_STAKE},
    {"http://10.0.0.1/acct", {.sas_token = SAS}, "SOURCE" WITH_SAS},
    {AZURITE "/devstoreaccount1", {.key = KEY}, "SOURCE" AT_STAKE},
    {AZURITE "/devstoreaccount1", {.sas_token = SAS}, "SOURCE" WITH_SAS},
    {AZURITE "/acct", {.key = EMULATOR_KEY}, "SOURCE" AT_STAKE},
    {NULL, {.sas_url = "http://10.0.0.1/acct?" SAS}, "AZURE_STORAGE_SAS_URL" WITH_SAS},
    {NULL,
     {.connection_string = STRING ";TableEndpoint=" AZURITE "/acct"},
     "TableEndpoint" AT_STAKE},
    {NULL,
     {.connection_string =
          "AccountName=acct;DefaultEndpointsProtocol=http;SharedAccessSignature=" SAS},
     "DefaultEndpointsProtocol=http without TableEndpoint" WITH_SAS},
    {NULL,
     {.connection_string =
          "AccountName=devstoreaccount1;DefaultEndpointsProtocol=http;AccountKey=" EMULATOR_KEY},
     EMULATORS},
    {"devstoreaccount1", {.key = KEY}, EMULATORS},
    {NULL, {.account = "devstoreaccount1"}, EMULATORS},
};

/* The next step is advice, or stands in the message. */
static void assert_has_step(const struct failure *failure)
{
    static const char *const steps[] = {": unset ", ": remove it", ": put ",  ": append ",
                                        ": write ", "leave out ",  " write ", " set "};
    bool is_found = failure->advice;
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
        is_found |= strstr(failure->message, steps[i]) != NULL;
    if (!is_found)
        fail_msg("%s", failure->message);
}

static void other_sources_and_environments_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct connection connection = {.endpoint.account = "untouched"};
        struct call call = {0};
        assert_int_equal(connection_init(&connection, bad[i].source, &bad[i].environment, &call),
                         -EINVAL);
        assert_string_equal(call.failure.message, bad[i].message);
        assert_has_step(&call.failure);
        assert_null(strstr(call.failure.message, "SECRET"));
        assert_null(strstr(call.failure.message, "U0VD"));
        assert_null(strchr(call.failure.message, '\n'));
        if (strstr(call.failure.message, AT_STAKE))
            assert_string_equal(call.failure.advice,
                                "use https://, or accept that with -o allow_http");
        assert_string_equal(connection.endpoint.account, "untouched");
        assert_null(connection.credential);
    }
}

/* Of two services a credential is for the one whose account is named with it. */
static const char shared_owner[] = "with two services set AZURE_STORAGE_ACCOUNT, too: it names the "
                                   "account of the credential";
static const struct {
    const char *source;
    struct connection_environment environment;
    const char *credential, *message; /* one of them */
} shared[] = {
    {"acct/tab", {.account = "acct", .key = KEY}, KEY_ACCT, NULL},
    {"acct/tab", {.account = "acct", .sas_token = SAS}, SAS_TEXT, NULL},
    {"acct/tab", {.key = KEY}, NULL, shared_owner},
    {"acct/tab", {.sas_token = SAS}, NULL, shared_owner},
    {"http://localhost:1/devstoreaccount1", {.key = KEY}, NULL, shared_owner},
    {"http://localhost:1/devstoreaccount1", {.account = "acct", .key = KEY}, KEY_EMULATOR, NULL},
    {"http://localhost:1/devstoreaccount1", {0}, KEY_EMULATOR, NULL},
    {"http://localhost:1/devstoreaccount1", {.connection_string = STRING}, KEY_EMULATOR, NULL},
    {"acct", {.connection_string = STRING}, KEY_ACCT, NULL},
    {AZURE, {.connection_string = STRING}, KEY_ACCT, NULL},
    {"acct", {.sas_url = AZURE "/Tab1?" TABLE_SAS}, TABLE_TEXT, NULL},
    {"other", {.account = "acct", .key = KEY}, NULL, "no credential for account 'other'" SET_ONE},
    {AZURE "/Tab1", {.account = "acct", .key = KEY}, KEY_ACCT, NULL},
    {"http://localhost:1/devstoreaccount1",
     {.account = "devstoreaccount1", .key = KEY},
     KEY_EMULATOR,
     NULL},
    /* the same account at another host gets neither a key nor a SAS */
    {"https://acct.example.com/acct",
     {.account = "acct", .key = KEY},
     NULL,
     "no credential for account 'acct'" SET_ONE},
    {"https://acct.example.com/acct",
     {.sas_url = AZURE "/Tab1?" TABLE_SAS},
     NULL,
     "no credential for account 'acct'" SET_ONE},
};

static void a_shared_environment_is_for_its_account(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
        _cleanup_(connection_finish) struct connection connection = {0};
        _cleanup_(buffer_finish) struct buffer text;
        struct connection_environment environment = shared[i].environment;
        struct call call = {0};
        buffer_init(&text, 1000);
        environment.is_shared = true;
        int r = connection_init(&connection, shared[i].source, &environment, &call);
        assert_int_equal(r, shared[i].message ? -EINVAL : 0);
        if (shared[i].message) {
            assert_string_equal(call.failure.message, shared[i].message);
            assert_has_step(&call.failure);
            continue;
        }
        assert_int_equal(credential_append_description(connection.credential, &text), 0);
        assert_string_equal(buffer_string(&text), shared[i].credential);
    }
}

static const struct {
    const char *source;
    struct connection_environment environment;
    const char *message; /* NULL: it is one */
} with_tokens[] = {
    {"acct", {0}, NULL},
    {"https://127.0.0.1:10002/acct/orders", {0}, NULL},
    {NULL, {.account = "acct"}, NULL},
    {"acct", {.key = KEY}, "-o auth= and AZURE_STORAGE_KEY are both set: unset one of them"},
    {NULL,
     {.connection_string = STRING},
     "-o auth= and AZURE_STORAGE_CONNECTION_STRING are both set: unset one of them"},
    {"http://127.0.0.1:10002/acct",
     {0},
     "SOURCE: -o auth= needs https://, so that nobody can take the token"},
    {"http://127.0.0.1:10002/acct",
     {.allows_http = true},
     "SOURCE: -o auth= needs https://, so that nobody can take the token"},
    {"emulator", {0}, "SOURCE `emulator` has a key: leave out -o auth="},
};

static void tokens_need_https_and_no_credential(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(with_tokens); i++) {
        struct connection connection = {0};
        struct connection_environment environment = with_tokens[i].environment;
        struct call call = {0};
        environment.uses_tokens = true;
        int r = connection_init(&connection, with_tokens[i].source, &environment, &call);
        assert_int_equal(r, with_tokens[i].message ? -EINVAL : 0);
        assert_null(connection.credential);
        if (r < 0)
            assert_string_equal(call.failure.message, with_tokens[i].message);
        else
            assert_string_equal(connection.endpoint.account, "acct");
    }
}

static const struct {
    const char *source;
    struct connection_environment environment;
    const char *account; /* "": none lacks a credential, or something else is wrong */
} lacking[] = {
    {"acct", {0}, "acct"},
    {" acct/Tab1 ", {.key = " \n"}, "acct"},
    {AZURE "/tab", {0}, "acct"},
    {"http://127.0.0.1:1/devstoreaccount1", {0}, "devstoreaccount1"},
    {NULL, {.account = " acct "}, "acct"},
    {"acct", {.account = "other"}, "acct"},
    {"acct", {.account = "other", .key = KEY, .is_shared = true}, "acct"},
    {"acct", {.account = "acct", .key = KEY, .is_shared = true}, ""},
    {"acct", {.connection_string = "AccountName=other;AccountKey=" KEY, .is_shared = true}, "acct"},
    {"acct", {.connection_string = "AccountName=other;AccountKey=" KEY}, ""},
    {"acct", {.key = KEY}, ""},
    {"acct", {.key = "not base64"}, ""},
    {"acct", {.sas_token = SAS}, ""},
    {"acct", {.sas_token = AZURE "?" SAS}, ""},
    {NULL, {.sas_url = AZURE "?" SAS}, ""},
    {"acct", {.uses_tokens = true}, ""},
    {"emulator", {0}, ""},
    {"emulator/tab", {0}, ""},
    {NULL, {0}, ""},
    {"Not an account", {0}, ""},
    {"../acct", {0}, ""},
    {"acct", {.key = KEY, .sas_token = SAS}, ""},
    {"acct", {.key = "'" KEY "'"}, ""},
};

static void the_account_that_lacks_a_credential_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lacking); i++) {
        char account[ENDPOINT_ACCOUNT_SIZE];
        connection_find_lacking(lacking[i].source, &lacking[i].environment, account);
        if (strcmp(account, lacking[i].account) != 0)
            fail_msg("%zu: %s", i, account);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_and_environments_make_connections),
        cmocka_unit_test(other_sources_and_environments_are_refused),
        cmocka_unit_test(a_shared_environment_is_for_its_account),
        cmocka_unit_test(tokens_need_https_and_no_credential),
        cmocka_unit_test(the_account_that_lacks_a_credential_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
