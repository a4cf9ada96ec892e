/* SPDX-License-Identifier: MIT */
#include "client/identity/credential.h"
#include "tests/unit/unit.h"

#include <cjson/cJSON.h>

static cJSON *read_vectors(void)
{
    char text[64 << 10];
    FILE *file = fopen(TEST_DATA "/sharedkey_vectors.json", "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof(text), file);
    assert_true(n > 0 && n < sizeof(text));
    (void)fclose(file);
    cJSON *vectors = cJSON_ParseWithLength(text, n);
    assert_non_null(vectors);
    return vectors;
}

static const char *member(const cJSON *object, const char *name)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    assert_non_null(value);
    return value;
}

static void sign(const cJSON *vector, const char *key, struct buffer *ret)
{
    _cleanup_(credential_unrefp) struct credential *credential = NULL;
    const struct signed_request request = {
        .verb = member(vector, "verb"),
        .content_md5 = bytes_of(member(vector, "content_md5")),
        .content_type = bytes_of(member(vector, "content_type")),
        .date = bytes_of(member(vector, "x_ms_date")),
        .path = bytes_of(member(vector, "url_path")),
        .query = bytes_of(member(vector, "url_query")),
    };
    assert_int_equal(credential_create_shared_key(bytes_of(member(vector, "account")),
                                                  bytes_of(key), &credential),
                     0);
    assert_int_equal(credential_append_authorization(credential, &request, ret), 0);
}

static void shared_key_vectors_pass(void **state)
{
    (void)state;
    cJSON *vectors = read_vectors();
    const cJSON *vector;
    int n = 0;
    cJSON_ArrayForEach(vector, cJSON_GetObjectItemCaseSensitive(vectors, "shared_key"))
    {
        struct buffer authorization;
        buffer_init(&authorization, 1000);
        sign(vector, member(vectors, "account_key_base64"), &authorization);
        assert_string_equal(buffer_string(&authorization), member(vector, "authorization"));
        buffer_finish(&authorization);
        n++;
    }
    assert_int_equal(n, 19);
    cJSON_Delete(vectors);
}

static void a_sas_is_appended_as_it_was_given(void **state)
{
    (void)state;
    cJSON *vectors = read_vectors();
    const cJSON *vector;
    int n = 0;
    cJSON_ArrayForEach(vector, cJSON_GetObjectItemCaseSensitive(vectors, "sas"))
    {
        struct credential *credential = NULL;
        struct buffer url, authorization;
        char pasted[1000];
        (void)snprintf(pasted, sizeof(pasted), " ?%s \r\n", member(vector, "query"));
        buffer_init(&url, 1000);
        buffer_init(&authorization, 1000);
        assert_int_equal(credential_create_sas(bytes_of(pasted), &credential), 0);
        assert_int_equal(credential_append_query(credential, &url), 0);
        assert_string_equal(buffer_string(&url), member(vector, "query"));
        const struct signed_request request = {.verb = "GET"};
        assert_int_equal(credential_append_authorization(credential, &request, &authorization), 0);
        assert_int_equal(authorization.size, 0);
        credential_unref(credential);
        buffer_finish(&url);
        buffer_finish(&authorization);
        n++;
    }
    assert_int_equal(n, 5);
    cJSON_Delete(vectors);
}

static void a_shared_key_appends_nothing_to_the_url(void **state)
{
    (void)state;
    _cleanup_(credential_unrefp) struct credential *credential = NULL;
    _cleanup_(buffer_finish) struct buffer url;
    buffer_init(&url, 100);
    assert_int_equal(
        credential_create_shared_key(bytes_of("acct"), bytes_of("AAECAw==\r\n"), &credential), 0);
    assert_int_equal(credential_append_query(credential, &url), 0);
    assert_int_equal(url.size, 0);
}

static void what_is_not_base64_is_no_key(void **state)
{
    (void)state;
    static const char *const keys[] = {"",     " ",     "=",     "====",  "A",
                                       "AB",   "ABC",   "AB=C",  "A===",  "AB C",
                                       "AB-_", "ABCDE", "ABCD=", "ABC\n", "\xc3\xa4+/"};
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        struct credential *credential = NULL;
        assert_int_equal(
            credential_create_shared_key(bytes_of("acct"), bytes_of(keys[i]), &credential),
            -EINVAL);
        assert_null(credential);
    }
    struct credential *credential = NULL;
    assert_int_equal(credential_create_shared_key(bytes_of(""), bytes_of("AAAA"), &credential),
                     -EINVAL);
}

static void hostile_tokens_are_no_sas(void **state)
{
    (void)state;
    static const char *const tokens[] = {
        "",        "?",         "sig=",          "sv=2020",        "sv=1&xsig=a",  "sigx=a",
        "?sv=1",   "sig=a b",   "sig=a\r\nX: y", "sig=a#fragment", "sig=\xc3\xa4", "a=\"&sig=b",
        "sig=a?b", "sig=a\x7f",
    };
    for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
        struct credential *credential = NULL;
        assert_int_equal(credential_create_sas(bytes_of(tokens[i]), &credential), -EINVAL);
        assert_null(credential);
    }
}

static void too_long_a_secret_is_refused(void **state)
{
    (void)state;
    static char text[8193];
    struct credential *credential = NULL;
    memset(text, 'A', sizeof(text) - 1);
    assert_int_equal(credential_create_shared_key(bytes_of("acct"), bytes_of(text), &credential),
                     -EINVAL);
    (void)snprintf(text, sizeof(text), "sig=%08000d", 1);
    assert_int_equal(credential_create_sas(bytes_of(text), &credential), -EINVAL);
}

static void descriptions_show_no_secret(void **state)
{
    (void)state;
    struct credential *credential = NULL;
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, 1000);
    assert_int_equal(
        credential_create_shared_key(bytes_of("acct"), bytes_of("c2VjcmV0"), &credential), 0);
    assert_int_equal(credential_append_description(credential, &text), 0);
    assert_string_equal(buffer_string(&text), "shared key of account acct");
    credential_unref(credential);
    buffer_clear(&text);
    assert_int_equal(
        credential_create_sas(bytes_of("sv=2020-12-06&sig=c2VjcmV0&sp=rl&secret=x&se=2030-01-01"),
                              &credential),
        0);
    assert_int_equal(credential_append_description(credential, &text), 0);
    assert_string_equal(buffer_string(&text),
                        "SAS token (sv=2020-12-06, sp=rl, se=2030-01-01, signature not shown)");
    credential_unref(credential);
}

static void comp_alone_enters_the_signature(void **state)
{
    (void)state;
    _cleanup_(credential_unrefp) struct credential *credential = NULL;
    struct signed_request request = {.verb = "GET", .path = bytes_of("/t"), .date = bytes_of("d")};
    static const struct {
        const char *a, *b;
        bool is_equal;
    } queries[] = {
        {"", "timeout=30&xcomp=acl&company=1", true},
        {"comp=acl", "timeout=1&comp=acl&x=2", true},
        {"", "comp=acl", false},
        {"comp=acl", "comp=ac", false},
    };
    assert_int_equal(
        credential_create_shared_key(bytes_of("acct"), bytes_of("AAECAw=="), &credential), 0);
    for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
        _cleanup_(buffer_finish) struct buffer a, b;
        buffer_init(&a, 200);
        buffer_init(&b, 200);
        request.query = bytes_of(queries[i].a);
        assert_int_equal(credential_append_authorization(credential, &request, &a), 0);
        request.query = bytes_of(queries[i].b);
        assert_int_equal(credential_append_authorization(credential, &request, &b), 0);
        assert_int_equal(bytes_equal(buffer_bytes(&a), buffer_bytes(&b)), queries[i].is_equal);
    }
    credential_unref(NULL);
}

static void a_bearer_is_sent_as_it_is(void **state)
{
    (void)state;
    _cleanup_(credential_unrefp) struct credential *credential = NULL;
    _cleanup_(credential_unrefp) struct credential *same = NULL;
    _cleanup_(credential_unrefp) struct credential *other = NULL;
    const struct signed_request request = {.verb = "GET"};
    struct bytes parameter;
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, 100);
    assert_int_equal(credential_create_bearer(BYTES_LITERAL("a.B-9_~+/="), &credential), 0);
    assert_int_equal(credential_create_bearer(BYTES_LITERAL("a.B-9_~+/="), &same), 0);
    assert_int_equal(credential_create_bearer(BYTES_LITERAL("a.B"), &other), 0);
    assert_int_equal(credential_append_query(credential, &text), 0);
    assert_int_equal(text.size, 0);
    assert_int_equal(credential_append_authorization(credential, &request, &text), 0);
    assert_string_equal(buffer_string(&text), "Bearer a.B-9_~+/=");
    buffer_clear(&text);
    assert_int_equal(credential_append_description(credential, &text), 0);
    assert_string_equal(buffer_string(&text), "token of Microsoft Entra ID");
    assert_false(credential_is_sas(credential));
    assert_false(credential_parameter(credential, "a", &parameter));
    assert_true(credential_is_same(credential, same));
    assert_false(credential_is_same(credential, other));
}

static void what_no_token_has_is_no_bearer(void **state)
{
    (void)state;
    static const char *const texts[] = {"",    "a b",      "a\n", "a\r\nX: y",
                                        "a\"", "\xC3\xA9", "a,b", "a:b"};
    struct credential *credential = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_int_equal(credential_create_bearer(bytes_of(texts[i]), &credential), -EINVAL);
    assert_int_equal(credential_create_bearer((struct bytes){"a\0b", 3}, &credential), -EINVAL);
    char text[CREDENTIAL_BEARER_MAX_BYTES + 1];
    memset(text, 'a', sizeof(text));
    assert_int_equal(credential_create_bearer((struct bytes){text, sizeof(text)}, &credential),
                     -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_key_vectors_pass),
        cmocka_unit_test(a_sas_is_appended_as_it_was_given),
        cmocka_unit_test(a_shared_key_appends_nothing_to_the_url),
        cmocka_unit_test(what_is_not_base64_is_no_key),
        cmocka_unit_test(hostile_tokens_are_no_sas),
        cmocka_unit_test(too_long_a_secret_is_refused),
        cmocka_unit_test(descriptions_show_no_secret),
        cmocka_unit_test(comp_alone_enters_the_signature),
        cmocka_unit_test(a_bearer_is_sent_as_it_is),
        cmocka_unit_test(what_no_token_has_is_no_bearer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
