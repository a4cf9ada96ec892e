/* SPDX-License-Identifier: MIT */
#include "client/text/part_token.h"
#include "client/text/base64.h"
#include "client/text/digest.h"
#include "client/base/unicode.h"
#include "tests/unit/unit.h"

#define SHORT_TOKEN "AXRhYgAAA2EAYmIAjaF8HQgp"

static void make(struct buffer *ret, const char *table, struct range range)
{
    buffer_init(ret, PART_TOKEN_MAX_BYTES + 1);
    assert_int_equal(part_token_append(ret, table, range), 0);
}

static int read_token(struct bytes token)
{
    struct part part;
    part_init(&part);
    int r = part_token_read(token, &part);
    part_finish(&part);
    return r;
}

static void assert_comes_back(struct range range)
{
    _cleanup_(buffer_finish) struct buffer token;
    _cleanup_(part_finish) struct part part;
    make(&token, "packages", range);
    part_init(&part);
    assert_int_equal(part_token_read(buffer_bytes(&token), &part), 0);
    assert_string_equal(part.table, "packages");
    assert_bytes(part_range(&part).lo, range.lo);
    assert_bytes(part_range(&part).hi, range.hi);
    assert_true(token.size < PART_TOKEN_MAX_BYTES);
    assert_int_equal(strspn(buffer_string(&token), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstu"
                                                   "vwxyz0123456789-_"),
                     token.size);
    assert_int_equal(token.data[0], 'A'); /* it begins like no option */
}

static void a_range_comes_back(void **state)
{
    (void)state;
    assert_comes_back(RANGE_ALL);
    assert_comes_back((struct range){B(""), B("")});
    assert_comes_back((struct range){B("\xff"), B("\xff")});
    assert_comes_back((struct range){B("a"), B("b\0r")});
    assert_comes_back((struct range){B("a\0r"), B("a\1")});
    assert_comes_back((struct range){B("\0"), B("\0\xED\xA0\x80")}); /* a lone surrogate */
    assert_comes_back((struct range){B("\xED\xA0\xBD\xED\xB8\x80"), B("\xEF\xBF\xBF")});
}

static void keys_of_any_length_come_back(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer lo, hi;
    buffer_init(&lo, POSITION_MAX_BYTES);
    buffer_init(&hi, POSITION_MAX_BYTES);
    for (size_t units = 0; units <= 1024; units += 256) {
        buffer_clear(&lo);
        buffer_clear(&hi);
        for (size_t i = 0; i < 2 * units; i++) {
            (void)cesu8_append(&lo, 0xFFFD);
            (void)cesu8_append(&hi, 0xFFFF);
            if (i == units)
                (void)buffer_append_char(&lo, '\0');
        }
        assert_comes_back((struct range){buffer_bytes(&lo), buffer_bytes(&hi)});
    }
}

/* A token that was given out is right for ever. */
static void the_format_stays(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer token;
    make(&token, "Tab", (struct range){B("a\0b"), B("b\0")});
    assert_bytes(buffer_bytes(&token), B(SHORT_TOKEN));
}

static void a_table_has_one_name_in_every_case(void **state)
{
    (void)state;
    _cleanup_(part_finish) struct part part;
    part_init(&part);
    assert_int_equal(part_token_read(B(SHORT_TOKEN), &part), 0);
    assert_true(part_is_of(&part, "TAB"));
    assert_false(part_is_of(&part, "Tab1"));
}

static void what_was_cut_or_changed_is_refused(void **state)
{
    (void)state;
    const struct bytes token = B(SHORT_TOKEN);
    char text[sizeof(SHORT_TOKEN)];
    for (size_t size = 0; size < token.size; size++)
        assert_int_equal(read_token(bytes_first(token, size)), -EINVAL);
    for (size_t i = 0; i < token.size; i++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            memcpy(text, SHORT_TOKEN, sizeof(text));
            if (text[i] == (char)byte)
                continue;
            text[i] = (char)byte;
            assert_int_equal(read_token((struct bytes){text, token.size}), -EINVAL);
        }
    }
    assert_int_equal(read_token(B(SHORT_TOKEN "A")), -EINVAL);
    assert_int_equal(read_token(B(SHORT_TOKEN SHORT_TOKEN)), -EINVAL);
    assert_int_equal(read_token(B(SHORT_TOKEN "\n")), -EINVAL);
}

/* With the right checksum. */
static int read_made(struct bytes content)
{
    unsigned char digest[DIGEST_SIZE];
    struct buffer bytes, token;
    buffer_init(&bytes, PART_TOKEN_MAX_BYTES);
    buffer_init(&token, PART_TOKEN_MAX_BYTES);
    assert_int_equal(digest_sha256(content, digest), 0);
    (void)buffer_append(&bytes, content);
    (void)buffer_append(&bytes, (struct bytes){(char *)digest, 6});
    assert_int_equal(base64url_append(&token, buffer_bytes(&bytes)), 0);
    int r = read_token(buffer_bytes(&token));
    buffer_finish(&bytes);
    buffer_finish(&token);
    return r;
}

static void other_content_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct bytes content;
        int r;
    } cases[] = {
        {B("\1tab\0\0\1ab"), 0},
        {B("\1tab\0\0\0"), 0},
        {B("\2tab\0\0\1ab"), -ENOTSUP},
        {B("\xff"), -ENOTSUP},
        {B("\0tab\0\0\1ab"), -EINVAL},
        {B("\1"), -EINVAL},
        {B("\1tab"), -EINVAL},
        {B("\1tab\0"), -EINVAL},
        {B("\1tab\0\0"), -EINVAL},
        {B("\1tab\0\0\3ab"), -EINVAL},      /* lo is longer than what there is */
        {B("\1tab\0\0\1ba"), -EINVAL},      /* hi is before lo */
        {B("\1Tab\0\0\1ab"), -EINVAL},      /* not in lower case */
        {B("\1\0\0\1ab"), -EINVAL},         /* no table */
        {B("\1ta/b\0\0\1ab"), -EINVAL},     /* no name of one */
        {B("\1tab\0\0\1a\xC3"), -EINVAL},   /* half a character */
        {B("\1tab\0\0\1ab\0\0"), -EINVAL},  /* three keys */
        {B("\1tab\0\0\1a\xfe"), -EINVAL},   /* an unsettled key */
        {B("\1tab\0\0\1a\xff\1"), -EINVAL}, /* after the end */
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(read_made(cases[i].content), cases[i].r);
}

static void borders_have_a_maximum(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer border, token;
    buffer_init(&border, POSITION_MAX_BYTES);
    buffer_init(&token, PART_TOKEN_MAX_BYTES + 1);
    while (border.size < PART_BORDER_MAX_BYTES)
        (void)buffer_append_char(&border, 'a');
    assert_comes_back((struct range){buffer_bytes(&border), buffer_bytes(&border)});
    (void)buffer_append_char(&border, 'a');
    struct range range = {B(""), buffer_bytes(&border)};
    assert_int_equal(part_token_append(&token, "tab", range), -EFBIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_comes_back),
        cmocka_unit_test(keys_of_any_length_come_back),
        cmocka_unit_test(the_format_stays),
        cmocka_unit_test(a_table_has_one_name_in_every_case),
        cmocka_unit_test(what_was_cut_or_changed_is_refused),
        cmocka_unit_test(other_content_is_refused),
        cmocka_unit_test(borders_have_a_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
