/* SPDX-License-Identifier: MIT */
#include "client/identity/token_claims.h"
#include "client/identity/credential.h"
#include "tests/unit/unit.h"

#include <openssl/evp.h>

/* header.CLAIMS.signature, in base64url without padding */
static struct bytes make_token(const char *claims, struct buffer *ret)
{
    unsigned char base64[2000];
    int n = EVP_EncodeBlock(base64, (const unsigned char *)claims, (int)strlen(claims));
    buffer_init(ret, 4000);
    (void)buffer_append_string(ret, "eyJhbGciOiJub25lIn0.");
    for (int i = 0; i < n; i++) {
        char c = (char)base64[i];
        if (c == '+')
            c = '-';
        else if (c == '/')
            c = '_';
        if (c != '=')
            (void)buffer_append_char(ret, c);
    }
    assert_int_equal(buffer_append_string(ret, ".c2ln"), 0);
    return buffer_bytes(ret);
}

static const struct {
    const char *claims, *object, *user, *application, *tenant;
    int64_t expires_sec;
    const char *identity;
} good[] = {
    {"{\"oid\":\"o\",\"appid\":\"a\",\"tid\":\"t\",\"exp\":1735787045}", "o", "", "a", "t",
     1735787045, "application a (object o)"},
    {"{\"oid\":\"o\",\"appid\":\"a\",\"upn\":\"ada@example.com\"}", "o", "ada@example.com", "a", "",
     0, "user ada@example.com (object o)"},
    {"{\"oid\":\"o\",\"unique_name\":\"ada\"}", "o", "ada", "", "", 0, "user ada (object o)"},
    {"{\"azp\":\"a\",\"exp\":1.5}", "", "", "a", "", 1, "application a"},
    {"{\"oid\":\"o\",\"exp\":\"7\"}", "o", "", "", "", 0, "object o"},
    {"{\"oid\":7,\"exp\":-1}", "", "", "", "", 0, "an identity that its token does not name"},
    {"{}", "", "", "", "", 0, "an identity that its token does not name"},
    {"{\"upn\":\"a\\n\\u001b\\u202e\\u00e9\"}", "", "a???\xC3\xA9", "", "", 0, "user a???\xC3\xA9"},
    {"{\"upn\":\"~~~?\"}", "", "~~~?", "", "", 0, "user ~~~?"}, /* with - and _ */
};

static void claims_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct token_claims claims;
        _cleanup_(buffer_finish) struct buffer text;
        _cleanup_(buffer_finish) struct buffer identity;
        buffer_init(&identity, 1000);
        assert_true(token_claims_read(make_token(good[i].claims, &text), &claims));
        assert_string_equal(claims.object, good[i].object);
        assert_string_equal(claims.user, good[i].user);
        assert_string_equal(claims.application, good[i].application);
        assert_string_equal(claims.tenant, good[i].tenant);
        assert_int_equal(claims.expires_sec, good[i].expires_sec);
        assert_int_equal(token_claims_append_identity(&claims, &identity), 0);
        assert_bytes(buffer_bytes(&identity), bytes_of(good[i].identity));
    }
}

static void a_long_claim_is_cut(void **state)
{
    (void)state;
    char claims[600];
    struct token_claims read;
    _cleanup_(buffer_finish) struct buffer text;
    (void)snprintf(claims, sizeof(claims), "{\"upn\":\"%0500d\"}", 7);
    assert_true(token_claims_read(make_token(claims, &text), &read));
    assert_int_equal(strlen(read.user), TOKEN_CLAIM_SIZE - 1);
}

static void what_is_no_jwt_tells_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",        ".",        "..",       "abc",      "a.b.c",           "a.====.c",
        "a.W10.c", "a.e30=.c", "a.e30 .c", "a.Zm9v.c", "a.eyJvaWQiOiJv.c"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct token_claims claims;
        assert_false(token_claims_read(bytes_of(texts[i]), &claims));
        assert_int_equal(claims.object[0], '\0');
    }
    char large[CREDENTIAL_BEARER_MAX_BYTES + 10];
    struct token_claims claims;
    memset(large, 'A', sizeof(large));
    large[1] = '.';
    assert_false(token_claims_read((struct bytes){large, sizeof(large)}, &claims));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_are_read),
        cmocka_unit_test(a_long_claim_is_cut),
        cmocka_unit_test(what_is_no_jwt_tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
