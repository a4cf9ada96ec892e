/* SPDX-License-Identifier: MIT */
#include "client/text/part_token.h"
#include "client/text/base64.h"
#include "client/text/digest.h"
#include "client/base/unicode.h"

#include <strings.h>

#define VERSION       1
#define CHECKSUM_SIZE 6
#define BYTES_MAX     (1 + TABLE_NAME_SIZE + 2 + 2 * PART_BORDER_MAX_BYTES + CHECKSUM_SIZE)

void part_init(struct part *part)
{
    *part = (struct part){0};
    buffer_init(&part->lo, PART_BORDER_MAX_BYTES);
    buffer_init(&part->hi, PART_BORDER_MAX_BYTES);
}

void part_finish(struct part *part)
{
    buffer_finish(&part->lo);
    buffer_finish(&part->hi);
}

struct range part_range(const struct part *part)
{
    return (struct range){buffer_bytes(&part->lo), buffer_bytes(&part->hi)};
}

bool part_is_of(const struct part *part, const char *table)
{
    return strcasecmp(part->table, table) == 0;
}

static int append_size(struct buffer *ret, size_t size)
{
    const unsigned char bytes[2] = {(unsigned char)(size >> 8), (unsigned char)size};
    return buffer_append(ret, (struct bytes){(const char *)bytes, sizeof(bytes)});
}

static int append_name(struct buffer *ret, const char *table)
{
    for (const char *c = table; *c; c++)
        (void)buffer_append_char(ret, (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c));
    return buffer_append_char(ret, '\0');
}

int part_token_append(struct buffer *ret, const char *table, struct range range)
{
    _cleanup_(buffer_finish) struct buffer bytes;
    unsigned char digest[DIGEST_SIZE];
    if (MAX(range.lo.size, range.hi.size) > PART_BORDER_MAX_BYTES)
        return -EFBIG;
    buffer_init(&bytes, BYTES_MAX);
    (void)buffer_append_char(&bytes, VERSION);
    (void)append_name(&bytes, table);
    (void)append_size(&bytes, range.lo.size);
    (void)buffer_append(&bytes, range.lo);
    int r = buffer_append(&bytes, range.hi);
    if (r == 0)
        r = digest_sha256(buffer_bytes(&bytes), digest);
    if (r == 0)
        r = buffer_append(&bytes, (struct bytes){(const char *)digest, CHECKSUM_SIZE});
    return r < 0 ? r : base64url_append(ret, buffer_bytes(&bytes));
}

/* A PartitionKey, or both keys, of whole characters; or the end of all positions. */
static bool is_border(struct bytes border)
{
    uint32_t character;
    size_t size, nuls = 0;
    if (bytes_equal(border, BYTES_LITERAL(POSITION_END)))
        return true;
    for (; border.size > 0; border = bytes_skip(border, size)) {
        size = cesu8_next(border, &character);
        nuls += size > 0 && character == 0;
        if (size == 0 || nuls > 1)
            return false;
    }
    return true;
}

/* Takes the checksum off. 0, -EINVAL, -ENOMEM. */
static int check_sum(struct bytes *bytes)
{
    unsigned char digest[DIGEST_SIZE];
    if (bytes->size <= CHECKSUM_SIZE)
        return -EINVAL;
    struct bytes summed = bytes_first(*bytes, bytes->size - CHECKSUM_SIZE);
    if (digest_sha256(summed, digest) < 0)
        return -ENOMEM;
    bool is_right = memcmp(bytes->data + summed.size, digest, CHECKSUM_SIZE) == 0;
    *bytes = summed;
    return is_right ? 0 : -EINVAL;
}

static bool read_name(struct bytes *rest, char ret[TABLE_NAME_SIZE])
{
    if (!memchr(rest->data, '\0', rest->size))
        return false;
    struct bytes name = bytes_take_until(rest, '\0');
    if (!table_name_is_shown(name))
        return false;
    memcpy(ret, name.data, name.size);
    ret[name.size] = '\0';
    for (size_t i = 0; i < name.size; i++)
        if (ret[i] >= 'A' && ret[i] <= 'Z')
            return false;
    return true;
}

/* The one before it is not read yet. */
static bool take_size(struct bytes *rest, size_t *ret)
{
    if (rest->size < 2)
        return false;
    *ret = (size_t)(unsigned char)rest->data[0] << 8 | (unsigned char)rest->data[1];
    *rest = bytes_skip(*rest, 2);
    return *ret <= rest->size;
}

static int read_bytes(struct bytes bytes, struct part *ret)
{
    size_t size;
    int r = check_sum(&bytes);
    if (r < 0)
        return r;
    if (bytes.data[0] != VERSION)
        return (unsigned char)bytes.data[0] > VERSION ? -ENOTSUP : -EINVAL;
    bytes = bytes_skip(bytes, 1);
    if (!read_name(&bytes, ret->table) || !take_size(&bytes, &size))
        return -EINVAL;
    struct bytes lo = bytes_first(bytes, size), hi = bytes_skip(bytes, size);
    if (!is_border(lo) || !is_border(hi) || bytes_compare(lo, hi) > 0 ||
        MAX(lo.size, hi.size) > PART_BORDER_MAX_BYTES)
        return -EINVAL;
    r = buffer_set(&ret->lo, lo);
    return r < 0 ? r : buffer_set(&ret->hi, hi);
}

/* The unused bits of the last digit are 0: a part has one token. */
static bool is_canonical(struct bytes token, struct bytes bytes)
{
    _cleanup_(buffer_finish) struct buffer again;
    buffer_init(&again, PART_TOKEN_MAX_BYTES + 4);
    return base64url_append(&again, bytes) == 0 && bytes_equal(token, buffer_bytes(&again));
}

int part_token_read(struct bytes token, struct part *ret)
{
    _cleanup_(buffer_finish) struct buffer bytes;
    if (token.size > PART_TOKEN_MAX_BYTES)
        return -EINVAL;
    buffer_init(&bytes, PART_TOKEN_MAX_BYTES);
    int r = base64url_append_decoded(&bytes, token);
    if (r == 0 && !is_canonical(token, buffer_bytes(&bytes)))
        r = -EINVAL;
    return r < 0 ? r : read_bytes(buffer_bytes(&bytes), ret);
}
