/* SPDX-License-Identifier: MIT */
#include "client/azure/service_error.h"
#include "tests/unit/failing_cjson.h"
#include "tests/unit/unit.h"

#define NOW (1735787045 * TICKS_PER_SEC) /* Thu, 02 Jan 2025 03:04:05 GMT */
#define JSON(code)                                                                                 \
    "{\"odata.error\":{\"code\":\"" code "\",\"message\":{\"lang\":\"en-US\","                     \
    "\"value\":\"Text of it.\\nRequestId:1\\nTime:2\"}}}"

static struct failure read_answer(int status, const char *body, const char *header)
{
    struct failure failure;
    const struct service_answer answer = {
        .status = status, .body = bytes_of(body), .error_code = bytes_of(header)};
    service_error_read(&answer, NOW, &failure);
    assert_int_equal(failure.http_status, status);
    return failure;
}

static const struct {
    int status;
    const char *code;
    int error;
    bool is_retryable;
    const char *advice; /* a part of it; NULL: none */
} rules[] = {
    {301, "", -EIO, false, "endpoint"},
    {304, "ConditionNotMet", -EIO, false, "endpoint"},
    {400, "InvalidInput", -EINVAL, false, NULL},
    {400, "", -EINVAL, false, NULL},
    {400, "OutOfRangeInput", -EINVAL, false, NULL},
    {400, "KeyValueTooLarge", -ENAMETOOLONG, false, "key"},
    {400, "EntityTooLarge", -EFBIG, false, NULL},
    {400, "RequestBodyTooLarge", -EFBIG, false, NULL},
    {400, "InvalidHeaderValue", -EINVAL, false, "--skipApiVersionCheck"},
    {400, "InvalidAuthenticationInfo", -EACCES, false, "account key"},
    {401, "", -EACCES, false, "account key"},
    {403, "", -EACCES, false, "no proxy answers"},
    {403, "AuthenticationFailed", -EACCES, false, "account key"},
    {403, "AuthorizationFailure", -EACCES, false, "account key"},
    {403, "AuthorizationPermissionMismatch", -EACCES, false, "sp="},
    {403, "AuthorizationProtocolMismatch", -EACCES, false, "spr="},
    {403, "AuthorizationSourceIPMismatch", -EACCES, false, "sip="},
    {403, "InsufficientAccountPermissions", -EACCES, false, "subscription"},
    {403, "AccountIsDisabled", -EACCES, false, "disabled"},
    {403, "KeyBasedAuthenticationNotPermitted", -EACCES, false, "token of Microsoft Entra ID"},
    {404, "TableNotFound", -ENOENT, false, NULL},
    {404, "ResourceNotFound", -ENOENT, false, NULL},
    {404, "EntityNotFound", -ENOENT, false, NULL},
    {404, "SomethingNewNotFound", -ENOENT, false, NULL},
    {404, "", -EPROTO, false, "no proxy answers"},
    {405, "UnsupportedHttpVerb", -EIO, false, "endpoint"},
    {408, "", -ETIMEDOUT, true, "too long"},
    {409, "EntityAlreadyExists", -EEXIST, false, NULL},
    {409, "TableAlreadyExists", -EEXIST, false, NULL},
    {409, "TableBeingDeleted", -EBUSY, false, "minute"},
    {409, "AccountBeingCreated", -EBUSY, false, "not ready"},
    {409, "SomethingElse", -EIO, false, "endpoint"},
    {412, "UpdateConditionNotSatisfied", -ESTALE, false, NULL},
    {413, "", -EFBIG, false, NULL},
    {414, "", -ENAMETOOLONG, false, "key"},
    {415, "AtomFormatNotSupported", -EIO, false, "endpoint"},
    {429, "TooManyRequests", -EBUSY, true, "fewer"},
    {431, "", -ENAMETOOLONG, false, "key"},
    {500, "OperationTimedOut", -ETIMEDOUT, true, "too long"},
    {500, "InternalError", -EIO, true, "itself failed"},
    {500, "", -EIO, true, "itself failed"},
    {501, "NotImplemented", -EIO, false, "endpoint"},
    {502, "", -EIO, true, "gateway"},
    {503, "ServerBusy", -EBUSY, true, "fewer"},
    {504, "", -ETIMEDOUT, true, "too long"},
    {505, "", -EIO, false, "endpoint"},
    {204, "", -EIO, false, "endpoint"},
};

static void status_and_code_decide(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        struct failure failure = read_answer(rules[i].status, "", rules[i].code);
        assert_int_equal(failure.error, rules[i].error);
        assert_int_equal(failure.is_retryable, rules[i].is_retryable);
        assert_string_equal(failure.code, rules[i].code);
        assert_int_equal(failure.retry_after_ms, 0);
        if (rules[i].advice)
            assert_non_null(strstr(failure.advice, rules[i].advice));
        else
            assert_null(failure.advice);
    }
}

#define NO_REASON "the service answered HTTP 403 without a reason"

static const struct {
    const char *body, *header, *code, *message;
} bodies[] = {
    {JSON("TableNotFound"), "", "TableNotFound", "Text of it."},
    {JSON("TableNotFound"), "Other", "TableNotFound", "Text of it."},
    {JSON(""), "Other", "Other", "Text of it."},
    {" {\"odata.error\":{\"code\":\"A\"}}", "", "A", NO_REASON},
    /* members in another case are other members */
    {"{\"odata.Error\":{\"code\":\"A\"}}", "", "", NO_REASON},
    {"{\"odata.error\":{\"code\":7,\"message\":\"x\"}}", "H", "H", NO_REASON},
    {"{\"odata.error\":[]}", "", "", NO_REASON},
    {"{\"odata.error\":{\"code\":\"A\"", "H", "H", NO_REASON},
    {"{\"odata.error\":{\"code\":\"A\"}} x", "H", "H", NO_REASON},
    {"{\"odata.error\":{\"message\":{\"lang\":[1],\"value\":{\"a\":1}},\"code\":{\"b\":[]}},\"c\":"
     "2}",
     "", "", NO_REASON},
    {"{\"odata.error\":{\"c\\u006fde\":\"\\u0041\",\"message\":{\"value\":"
     "\"\\u00e9\\ud83d\\ude00\\u001b\\t\\\"q\\\" \\r\\n2\"}}}",
     "", "A", "\xC3\xA9\xF0\x9F\x98\x80\x1b\t\"q\" "},
    /* of equal names the first counts */
    {"{\"odata.error\":{\"code\":\"A\",\"code\":\"B\"},\"odata.error\":{\"code\":\"C\"}}", "", "A",
     NO_REASON},
    /* a string that is no C string in UTF-8: then the header has the code */
    {"{\"odata.error\":{\"code\":\"A\",\"message\":{\"value\":\"x\\u0000y\"}}}", "H", "H",
     NO_REASON},
    {"{\"odata.error\":{\"code\":\"A\\u0000B\"}}", "", "", NO_REASON},
    {"{\"odata.error\":{\"code\":\"A\",\"message\":{\"value\":\"x\\ud83d\"}}}", "H", "H",
     NO_REASON},
    {"{\"odata.error\":{\"code\":\"A\",\"message\":{\"value\":\"x\\\\u0000y\"}}}", "H", "A",
     "x\\u0000y"},
    {"<?xml version=\"1.0\"?><m:error xmlns:m=\"u\"><m:code>AuthenticationFailed</m:code>"
     "<m:message xml:lang=\"en-US\">Not you.\nRequestId:1</m:message></m:error>",
     "", "AuthenticationFailed", "Not you."},
    {"<Error><Code>A</Code><Message>B</Message></Error>", "", "A", "B"},
    {"<Error><Code>A</Code><Message>B</Message></Error>", "H", "H", "B"},
    {"<Error><Codex>A</Codex><Message", "", "", NO_REASON},
    {"<m:code", "", "", NO_REASON},
    {"<m:code>", "", "", NO_REASON},
    {"<m:code>A", "", "", NO_REASON},
    {"<html><body><h1>Forbidden</h1></body></html>", "", "", NO_REASON},
    {"", "", "", NO_REASON},
    {"\x01\xFF\x00", "", "", NO_REASON},
    /* what would be a secret is struck out */
    {"<m:message>bad http://x/?a=1&sig=SECRET%3D&b=2 and sig=SECRET</m:message>", "", "",
     "bad http://x/?a=1&sig=*********&b=2 and sig=******"},
    {"<m:message>'SharedKey acct:SECRET' is wrong</m:message>", "", "",
     "'SharedKey ***********' is wrong"},
    {"<m:message>Authorization: Bearer eyJ0.SECRET-1 is wrong</m:message>", "", "",
     "Authorization: Bearer ************* is wrong"},
};

static void every_form_of_body_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        struct failure failure = read_answer(403, bodies[i].body, bodies[i].header);
        assert_string_equal(failure.code, bodies[i].code);
        assert_string_equal(failure.message, bodies[i].message);
        assert_int_equal(failure.error, -EACCES);
    }
}

/* Only a table service says that something is not there. */
static void a_404_without_a_code_is_no_answer(void **state)
{
    (void)state;
    static const struct {
        const char *body, *header, *code;
        int error;
    } cases[] = {
        {"", "", "", -EPROTO},
        {"<!DOCTYPE html><html><head><title>404 Not Found</title></head></html>", "", "", -EPROTO},
        {"Not Found", "", "", -EPROTO},
        {"{\"error\":{\"code\":\"ResourceNotFound\"}}", "", "", -EPROTO},
        {"{\"odata.error\":{\"code\":\"\"}}", "", "", -EPROTO},
        {"{\"odata.error\":{\"code\":\"ResourceNotFound\"", "", "", -EPROTO}, /* cut */
        {"", "ResourceNotFound", "ResourceNotFound", -ENOENT},                /* as to a HEAD */
        {"<html></html>", "TableNotFound", "TableNotFound", -ENOENT},
        {JSON("ResourceNotFound"), "", "ResourceNotFound", -ENOENT},
        {"<m:error><m:code>TableNotFound</m:code></m:error>", "", "TableNotFound", -ENOENT},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct failure failure = read_answer(404, cases[i].body, cases[i].header);
        assert_int_equal(failure.error, cases[i].error);
        assert_string_equal(failure.code, cases[i].code);
        assert_false(failure.is_retryable);
        assert_false(failure.is_ambiguous);
        if (failure.error == -EPROTO) {
            assert_string_equal(failure.message, "the service answered HTTP 404 without a reason");
            assert_non_null(strstr(failure.advice, "check that the endpoint is a Table endpoint"));
        }
    }
}

static void long_texts_are_cut_between_characters(void **state)
{
    (void)state;
    static const size_t expected[] = {255, 253,
                                      254}; /* whole characters of three bytes, in at most 255 */
    for (size_t lead = 0; lead < 2 * ARRAY_SIZE(expected); lead++) {
        bool is_json = lead >= ARRAY_SIZE(expected);
        _cleanup_(buffer_finish) struct buffer body;
        buffer_init(&body, 2000);
        (void)buffer_append_string(&body, is_json ? "{\"odata.error\":{\"message\":{\"value\":\""
                                                  : "<m:message>");
        (void)buffer_append(&body, bytes_first(bytes_of("xx"), lead % ARRAY_SIZE(expected)));
        for (int i = 0; i < 200; i++)
            (void)buffer_append_string(&body, "\xE2\x82\xAC");
        (void)buffer_append_string(&body, is_json ? "\"}}}" : "</m:message>");
        struct failure failure = read_answer(500, buffer_string(&body), "");
        assert_int_equal(strlen(failure.message), expected[lead % ARRAY_SIZE(expected)]);
    }
}

static void a_huge_body_is_not_searched(void **state)
{
    (void)state;
    size_t size = (size_t)1 << 20;
    char *body = malloc(size + 1);
    assert_non_null(body);
    memset(body, '[', size);
    body[size] = '\0';
    struct failure failure = read_answer(500, body, "H");
    assert_string_equal(failure.code, "H");
    body[0] = '{';
    failure = read_answer(500, body, "H");
    assert_string_equal(failure.code, "H");
    memset(body, ' ', size);
    memcpy(body + 70000, JSON("A"), sizeof(JSON("A")));
    failure = read_answer(500, body, "H");
    assert_string_equal(failure.code, "H");
    free(body);
}

/* A code that is not known does not become another reason. */
static void without_memory_the_header_has_the_code(void **state)
{
    (void)state;
    long n = 0;
    bool is_reached = true;
    failing_cjson_begin();
    while (is_reached) {
        allocations_until_failure = ++n;
        struct failure with = read_answer(409, JSON("EntityAlreadyExists"), "TableAlreadyExists");
        is_reached = allocations_until_failure == 0;
        allocations_until_failure = n;
        struct failure without = read_answer(409, JSON("EntityAlreadyExists"), "");
        allocations_until_failure = 0;
        assert_int_equal(with.error, -EEXIST);
        assert_string_equal(with.code, is_reached ? "TableAlreadyExists" : "EntityAlreadyExists");
        assert_int_equal(without.error, is_reached ? -ENOMEM : -EEXIST);
        assert_string_equal(without.message, is_reached ? "out of memory" : "Text of it.");
        assert_null(without.advice);
    }
    failing_cjson_end();
    assert_true(n > 10);
}

static void the_service_says_how_long_to_wait(void **state)
{
    (void)state;
    static const struct {
        const char *ms, *seconds;
        int expected_ms;
    } cases[] = {
        {"", "", 0},
        {"", "3", 3000},
        {"250", "3", 250},
        {"", "Thu, 02 Jan 2025 03:04:15 GMT", 10000},
        {"", "Thu, 02 Jan 2025 03:04:00 GMT", 0},
        {"", "Fri, 03 Jan 2025 03:04:00 GMT", 3600000},
        {"", "Fri, 31 Dec 2147483647 23:59:59 GMT", 0},
        {"", "99999999999999999999", 0},
        {"", "2147483647", 3600000},
        {"2147483647", "", 3600000},
        {"-5", "soon", 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct failure failure;
        const struct service_answer answer = {.status = 503,
                                              .retry_after_ms = bytes_of(cases[i].ms),
                                              .retry_after = bytes_of(cases[i].seconds)};
        service_error_read(&answer, NOW, &failure);
        assert_int_equal(failure.retry_after_ms, cases[i].expected_ms);
        assert_true(failure.is_retryable);
    }
}

static void a_status_may_leave_a_change_open(void **state)
{
    (void)state;
    static const struct {
        int status;
        bool is_open;
    } cases[] = {
        {200, true},  {302, true},  {400, false}, {403, false}, {404, true}, {408, true},
        {409, false}, {412, false}, {413, false}, {429, false}, {500, true}, {501, false},
        {502, true},  {503, true},  {504, true},  {505, false}, {599, true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct service_answer answer = {.status = cases[i].status};
        struct failure failure;
        service_error_read(&answer, NOW, &failure);
        assert_false(failure.is_ambiguous);
        assert_int_equal(failure.operation, -1);
        answer.is_of_change = true;
        service_error_read(&answer, NOW, &failure);
        assert_int_equal(failure.is_ambiguous, cases[i].is_open);
        assert_int_equal(failure.operation, -1);
    }
}

static void the_request_id_is_kept(void **state)
{
    (void)state;
    struct failure failure;
    struct service_answer answer = {.status = 503,
                                    .request_id = bytes_of("72205fa1-bf4f-43fa-8a83-e9355ed1f78a")};
    service_error_read(&answer, NOW, &failure);
    assert_string_equal(failure.request_id, "72205fa1-bf4f-43fa-8a83-e9355ed1f78a");
    answer.request_id = bytes_of("72205fa1-bf4f-43fa-8a83-e9355ed1f78a-and-much-more");
    service_error_read(&answer, NOW, &failure);
    assert_string_equal(failure.request_id, "72205fa1-bf4f-43fa-8a83-e9355ed1f78a-an");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_and_code_decide),
        cmocka_unit_test(every_form_of_body_is_read),
        cmocka_unit_test(a_404_without_a_code_is_no_answer),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(a_huge_body_is_not_searched),
        cmocka_unit_test(without_memory_the_header_has_the_code),
        cmocka_unit_test(the_service_says_how_long_to_wait),
        cmocka_unit_test(a_status_may_leave_a_change_open),
        cmocka_unit_test(the_request_id_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
