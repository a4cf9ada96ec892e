/* SPDX-License-Identifier: MIT */
#include "fs/tree/names.h"
#include "client/base/position.h"
#include "client/base/unicode.h"
#include "client/text/digest.h"

#define ENTITY_SUFFIX BYTES_LITERAL(".json")
#define PREFIX_SUFFIX BYTES_LITERAL("+")
#define CUT_MARK      BYTES_LITERAL("#~")
#define EMPTY_KEY     BYTES_LITERAL("#00")
#define UNSETTLED     BYTES_LITERAL(KEY_UNSETTLED)

#define ESCAPED_MAX_BYTES ((size_t)9) /* of one character: a lone surrogate */

static struct bytes suffix_of(enum name_kind kind)
{
    switch (kind) {
    case NAME_ENTITY:
        return ENTITY_SUFFIX;
    case NAME_PREFIX:
        return PREFIX_SUFFIX;
    case NAME_PARTITION:
        break;
    }
    return BYTES_LITERAL("");
}

/* The room before the mark in a cut name of `max` bytes. */
static size_t cut_room(enum name_kind kind, size_t max)
{
    return max - suffix_of(kind).size - CUT_MARK.size - NAME_DIGEST_CHARS;
}

static bool is_control(uint32_t character)
{
    return character < 0x20 || (character >= 0x7F && character <= 0x9F);
}

static bool must_escape(uint32_t character, bool is_first, bool is_last)
{
    return character == '/' || character == '#' || is_control(character) ||
           UNICODE_IS_SURROGATE(character) || (character == '.' && is_first) ||
           (character == '+' && is_last);
}

static int append_escaped(struct buffer *name, struct bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        (void)buffer_append_format(name, "#%02X", (unsigned char)bytes.data[i]);
    return name->error;
}

/* Appends the whole key, even if it is too long. is_followed: something stands after it in the
 * name, so that a + at its end makes no prefix of it. *ret_fit: the size of its longest beginning
 * in whole characters that fits into `room`. */
static int encode_whole(struct bytes key, bool is_followed, size_t room, struct buffer *name,
                        size_t *ret_fit)
{
    size_t begin = name->size;
    *ret_fit = 0;
    for (size_t i = 0, n; i < key.size; i += n) {
        uint32_t character;
        n = cesu8_next(bytes_skip(key, i), &character);
        if (n == 0 || character == 0) /* no key holds U+0000, and `#00` is the empty key */
            return -EILSEQ;
        if (must_escape(character, i == 0, i + n == key.size && !is_followed))
            (void)append_escaped(name, bytes_first(bytes_skip(key, i), n));
        else
            (void)utf8_append(name, character);
        if (name->size - begin <= room)
            *ret_fit = name->size - begin;
    }
    return name->error;
}

static int append_digest(struct bytes key, struct buffer *name)
{
    unsigned char digest[DIGEST_SIZE];
    int r = digest_sha256(key, digest);
    if (r < 0)
        return r;
    for (size_t i = 0; i < NAME_DIGEST_CHARS / 2; i++)
        (void)buffer_append_format(name, "%02x", digest[i]);
    return name->error;
}

static bool are_digits(struct bytes digits)
{
    for (size_t i = 0; i < digits.size; i++) {
        char c = digits.data[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
            return false;
    }
    return true;
}

/* The beginning of an unsettled key, which is left, and the digits after it. False: it is none. */
static bool split_unsettled(struct bytes *key, struct bytes *ret_digits)
{
    size_t tail = UNSETTLED.size + NAME_DIGEST_CHARS;
    if (!position_is_unsettled(*key) || key->size < tail)
        return false;
    struct bytes begin = bytes_first(*key, key->size - tail);
    struct bytes digits = bytes_skip(*key, key->size - NAME_DIGEST_CHARS);
    if (!bytes_start_with(bytes_skip(*key, begin.size), UNSETTLED) || !are_digits(digits))
        return false;
    *key = begin;
    *ret_digits = digits;
    return true;
}

/* max: bytes of the name; a longer one is cut. */
static int encode(struct bytes key, enum name_kind kind, size_t max, struct buffer *ret_name)
{
    struct bytes suffix = suffix_of(kind), digits = {0};
    size_t fit = 0;
    _cleanup_(buffer_finish) struct buffer name = {.max = POSITION_MAX_BYTES};

    bool is_unsettled = split_unsettled(&key, &digits);
    bool is_followed = is_unsettled || kind == NAME_ENTITY; /* by the digits, or by .json */
    int r = key.size == 0 ? buffer_append(&name, EMPTY_KEY)
                          : encode_whole(key, is_followed, cut_room(kind, max), &name, &fit);
    if (r < 0)
        return r;
    if (is_unsettled || name.size + suffix.size > max) {
        name.size = fit;
        (void)buffer_append(&name, CUT_MARK);
        r = is_unsettled ? buffer_append(&name, digits) : append_digest(key, &name);
    }
    if (r == 0)
        r = buffer_append(&name, suffix);
    return r < 0 ? r : buffer_append(ret_name, buffer_bytes(&name));
}

int names_encode(struct bytes key, enum name_kind kind, struct buffer *ret_name)
{
    if (kind == NAME_PREFIX && !prefix_is_showable(key))
        return -EILSEQ;
    return encode(key, kind, NAME_MAX_BYTES, ret_name);
}

int names_append_short(struct bytes key, size_t max, struct buffer *ret_name)
{
    return encode(key, NAME_PARTITION, max, ret_name);
}

int names_append_beginning(struct bytes key, size_t room, struct buffer *ret_name)
{
    size_t fit = EMPTY_KEY.size;
    struct bytes digits = {0};
    _cleanup_(buffer_finish) struct buffer name = {.max = POSITION_MAX_BYTES};
    (void)split_unsettled(&key, &digits);
    int r = key.size == 0 ? buffer_append(&name, EMPTY_KEY)
                          : encode_whole(key, false, room, &name, &fit);
    return r < 0 ? r : buffer_append(ret_name, bytes_first(buffer_bytes(&name), MIN(fit, room)));
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *found = c == '\0' ? NULL : strchr(digits, c);
    return found ? (int)(found - digits) : -1;
}

/* Converts a name without its suffix to CESU-8. False: no key has this name, or key->error is set.
 */
static bool unescape(struct bytes name, struct buffer *key)
{
    while (name.size > 0) {
        uint32_t character;
        size_t n = utf8_next(name, &character);
        if (n == 0)
            return false;
        if (character == '#') {
            int high = name.size >= 3 ? hex_digit(name.data[1]) : -1;
            int low = name.size >= 3 ? hex_digit(name.data[2]) : -1;
            if (high < 0 || low < 0)
                return false;
            n = 3;
            (void)buffer_append_char(key, (char)(high << 4 | low));
        } else {
            (void)cesu8_append(key, character);
        }
        name = bytes_skip(name, n);
    }
    return key->error == 0;
}

/* Finds the beginning of the key in a cut name: what is before `#~` and the digest. False: the stem
 * has no mark and digest, or its beginning is so short that another character would have fit. No
 * key has such a name, and without this check a LOOKUP of one would list all keys. */
static bool split_cut(struct bytes stem, enum name_kind kind, struct bytes *ret_begin)
{
    size_t tail = CUT_MARK.size + NAME_DIGEST_CHARS;
    if (kind == NAME_PREFIX || stem.size < tail ||
        stem.size - tail + ESCAPED_MAX_BYTES <= cut_room(kind, NAME_MAX_BYTES) ||
        !bytes_start_with(bytes_skip(stem, stem.size - tail), CUT_MARK) ||
        !are_digits(bytes_skip(stem, stem.size - NAME_DIGEST_CHARS)))
        return false;
    *ret_begin = bytes_first(stem, stem.size - tail);
    return true;
}

/* Is this how the beginning of a key is written in a cut name? 1, 0, -ENOMEM. */
static int is_beginning_of(struct bytes begin, struct bytes key)
{
    size_t fit = 0;
    _cleanup_(buffer_finish) struct buffer name = {.max = POSITION_MAX_BYTES};
    int r = encode_whole(key, true, begin.size, &name, &fit);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    return bytes_equal(buffer_bytes(&name), begin);
}

int names_decode(struct bytes name, enum name_kind kind, struct buffer *ret_key,
                 enum name_meaning *ret_meaning)
{
    struct bytes suffix = suffix_of(kind), begin;
    *ret_meaning = NAME_MEANS_NOTHING;
    buffer_clear(ret_key);
    if (name.size > NAME_MAX_BYTES || name.size <= suffix.size || name.data[0] == '.' ||
        !bytes_end_with(name, suffix))
        return 0;
    struct bytes stem = bytes_first(name, name.size - suffix.size);
    if (bytes_equal(stem, EMPTY_KEY) && kind != NAME_PREFIX) {
        *ret_meaning = NAME_MEANS_KEY;
        return 0;
    }
    bool is_cut = split_cut(stem, kind, &begin);
    if (!unescape(is_cut ? begin : stem, ret_key))
        return ret_key->error;
    if (is_cut) { /* the caller checks each candidate with names_is_of */
        int is_written_so = is_beginning_of(begin, buffer_bytes(ret_key));
        if (is_written_so == 1)
            *ret_meaning = NAME_MEANS_CUT;
        return MIN(is_written_so, 0);
    }
    int r = names_is_of(name, kind, buffer_bytes(ret_key));
    if (r == 1)
        *ret_meaning = NAME_MEANS_KEY;
    return MIN(r, 0);
}

int names_is_of(struct bytes name, enum name_kind kind, struct bytes key)
{
    _cleanup_(buffer_finish) struct buffer own;
    buffer_init(&own, NAME_MAX_BYTES); /* every name fits */
    int r = names_encode(key, kind, &own);
    if (r == -ENOMEM)
        return r;
    return r == 0 && bytes_equal(buffer_bytes(&own), name);
}

bool names_digits(struct bytes name, enum name_kind kind, struct bytes *ret_digits)
{
    struct bytes suffix = suffix_of(kind), begin;
    if (name.size > NAME_MAX_BYTES || !bytes_end_with(name, suffix))
        return false;
    struct bytes stem = bytes_first(name, name.size - suffix.size);
    if (!split_cut(stem, kind, &begin))
        return false;
    *ret_digits = bytes_skip(stem, stem.size - NAME_DIGEST_CHARS);
    return true;
}

int names_append_unsettled(struct bytes begin, struct bytes digits, struct buffer *ret_key)
{
    (void)buffer_append(ret_key, begin);
    (void)buffer_append(ret_key, UNSETTLED);
    return buffer_append(ret_key, digits);
}

bool names_is_prefix(struct bytes name)
{
    return bytes_end_with(name, PREFIX_SUFFIX);
}
