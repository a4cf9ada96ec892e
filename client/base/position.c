/* SPDX-License-Identifier: MIT */
#include "client/base/position.h"
#include "client/base/unicode.h"

static const char *find_nul(struct bytes position)
{
    return position.size > 0 ? memchr(position.data, '\0', position.size) : NULL;
}

struct bytes position_partition_key(struct bytes position)
{
    const char *nul = find_nul(position);
    return nul ? bytes_first(position, (size_t)(nul - position.data)) : position;
}

bool position_has_row(struct bytes position)
{
    return find_nul(position) != NULL;
}

struct bytes position_row_key(struct bytes position)
{
    const char *nul = find_nul(position);
    return nul ? bytes_skip(position, (size_t)(nul - position.data) + 1)
               : bytes_skip(position, position.size);
}

int position_append(struct buffer *ret, struct bytes partition_key, struct bytes row_key)
{
    if (find_nul(partition_key) || find_nul(row_key))
        return -EPROTO;
    (void)buffer_append(ret, partition_key);
    (void)buffer_append_char(ret, '\0');
    return buffer_append(ret, row_key);
}

int position_append_behind(struct buffer *ret, struct bytes position)
{
    (void)buffer_append(ret, position);
    return buffer_append_string(ret, POSITION_AFTER);
}

bool position_is_unsettled(struct bytes position)
{
    return position.size > 0 &&
           memchr(position.data, (unsigned char)KEY_UNSETTLED[0], position.size);
}

static bool is_control(uint32_t character)
{
    return character < 0x20 || (character >= 0x7F && character <= 0x9F);
}

bool position_is_legal_in_key(uint32_t character)
{
    return !is_control(character) && character != '/' && character != '\\' && character != '#' &&
           character != '?';
}

static size_t utf8_size(uint32_t character)
{
    if (UNICODE_IS_SURROGATE(character))
        return 9;
    return character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
}

bool prefix_measure(struct bytes prefix, size_t *ret_size, uint32_t *ret_last)
{
    size_t n;
    *ret_size = 0;
    *ret_last = 0;
    for (; prefix.size > 0; prefix = bytes_skip(prefix, n)) {
        n = cesu8_next(prefix, ret_last);
        if (n == 0 || !position_is_legal_in_key(*ret_last))
            return false;
        *ret_size += utf8_size(*ret_last);
    }
    return true;
}

bool prefix_is_showable(struct bytes prefix)
{
    size_t size;
    uint32_t last;
    return prefix_measure(prefix, &size, &last) && size > 0 && size <= PREFIX_MAX_BYTES;
}

bool prefix_has_children(struct bytes prefix)
{
    size_t size;
    uint32_t last;
    return prefix_measure(prefix, &size, &last) && size < PREFIX_MAX_BYTES;
}

/* The next character in UTF-16 order; false: there is none. After a lone surrogate it is the next
 * unit. */
static bool next_character(uint32_t *character)
{
    switch (*character) {
    case 0xD7FF:
        *character = 0x10000;
        return true;
    case 0x10FFFF:
        *character = 0xE000;
        return true;
    case 0xFFFF:
        return false;
    default:
        *character += 1;
        return true;
    }
}

/* The next that a key can hold. */
static bool next_legal_character(uint32_t *character)
{
    do
        if (!next_character(character))
            return false;
    while (!position_is_legal_in_key(*character));
    return true;
}

/* The offset of the last character. */
static size_t last_character(struct bytes cesu8, uint32_t *ret)
{
    size_t begin = 0, n;
    for (size_t i = 0; i < cesu8.size; i += n) {
        begin = i;
        n = cesu8_next(bytes_skip(cesu8, i), ret);
        if (n == 0) { /* not CESU-8: each byte counts as a character */
            *ret = 0xFFFF;
            n = 1;
        }
    }
    return begin;
}

static int append_successor(struct buffer *ret, struct bytes prefix, struct bytes fallback,
                            bool (*next)(uint32_t *character))
{
    while (prefix.size > 0) {
        uint32_t character;
        prefix.size = last_character(prefix, &character);
        if (next(&character)) {
            (void)buffer_append(ret, prefix);
            return cesu8_append(ret, character);
        }
    }
    return buffer_append(ret, fallback);
}

int prefix_append_successor(struct buffer *ret, struct bytes prefix, struct bytes fallback)
{
    return append_successor(ret, prefix, fallback, next_legal_character);
}

int prefix_append_end(struct buffer *ret, struct bytes prefix, struct bytes fallback)
{
    return append_successor(ret, prefix, fallback, next_character);
}

struct range range_of_one(struct bytes position, struct position *end)
{
    bool fits = position.size <= POSITION_ROW_MAX_BYTES;
    return (struct range){position, fits ? position_behind(position, end) : position};
}

void position_set(struct position *ret, struct bytes bytes)
{
    ret->size = MIN(bytes.size, sizeof(ret->data));
    if (ret->size > 0)
        memmove(ret->data, bytes.data, ret->size);
}

struct bytes position_behind(struct bytes position, struct position *end)
{
    if (position.size > POSITION_ROW_MAX_BYTES)
        return BYTES_LITERAL(POSITION_END);
    position_set(end, position);
    end->data[end->size++] = POSITION_AFTER[0];
    return position_bytes(end);
}

bool range_is_empty(struct range range)
{
    return bytes_compare(range.lo, range.hi) >= 0;
}

bool range_holds(struct range range, struct bytes position)
{
    return bytes_compare(range.lo, position) <= 0 && bytes_compare(position, range.hi) < 0;
}

bool range_holds_range(struct range range, struct range part)
{
    return bytes_compare(range.lo, part.lo) <= 0 && bytes_compare(part.hi, range.hi) <= 0;
}

struct range range_meet(struct range a, struct range b)
{
    return (struct range){bytes_compare(a.lo, b.lo) < 0 ? b.lo : a.lo,
                          bytes_compare(a.hi, b.hi) > 0 ? b.hi : a.hi};
}

bool range_is_in_partition(struct range range)
{
    if (!position_has_row(range.lo))
        return false;
    struct bytes key = position_partition_key(range.lo);
    if (bytes_equal(position_partition_key(range.hi), key))
        return position_has_row(range.hi);
    /* the partition's own end, "p\1", has no NUL */
    return range.hi.size == key.size + 1 && bytes_start_with(range.hi, key) &&
           range.hi.data[key.size] == POSITION_AFTER[0];
}

/* "p\0" and every end without a NUL lie between two partitions. */
static bool is_partition_border(struct bytes end)
{
    return !position_has_row(end) || position_row_key(end).size == 0;
}

bool range_is_expressible(struct range range)
{
    return range_is_in_partition(range) ||
           (is_partition_border(range.lo) && is_partition_border(range.hi));
}

struct range range_expressible_part(struct range range, struct position *end)
{
    if (range_is_expressible(range))
        return range;
    bool begins_inside = position_row_key(range.lo).size > 0;
    struct bytes key = position_partition_key(begins_inside ? range.lo : range.hi);
    if (key.size >= sizeof(end->data))
        return (struct range){range.lo, range.lo};
    memcpy(end->data, key.data, key.size);
    end->data[key.size] = *(begins_inside ? POSITION_AFTER : "");
    end->size = key.size + 1;
    return (struct range){range.lo, position_bytes(end)};
}
