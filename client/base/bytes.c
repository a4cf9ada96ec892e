/* SPDX-License-Identifier: MIT */
#include "client/base/bytes.h"

#include <stdarg.h>

int bytes_compare(struct bytes a, struct bytes b)
{
    size_t n = MIN(a.size, b.size);
    int order = n > 0 ? memcmp(a.data, b.data, n) : 0;
    if (order != 0)
        return order;
    return (a.size > b.size) - (a.size < b.size);
}

const char *bytes_find(struct bytes bytes, struct bytes part)
{
    if (bytes.size < part.size || bytes.size == 0)
        return NULL;
    return memmem(bytes.data, bytes.size, part.data, part.size);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct bytes bytes_trim(struct bytes bytes)
{
    while (bytes.size > 0 && is_space(bytes.data[0]))
        bytes = bytes_skip(bytes, 1);
    while (bytes.size > 0 && is_space(bytes.data[bytes.size - 1]))
        bytes.size--;
    return bytes;
}

struct bytes bytes_take_until(struct bytes *rest, char end)
{
    const char *found = rest->size > 0 ? memchr(rest->data, end, rest->size) : NULL;
    struct bytes taken = bytes_first(*rest, found ? (size_t)(found - rest->data) : rest->size);
    *rest = bytes_skip(*rest, found ? taken.size + 1 : taken.size);
    return taken;
}

bool bytes_parse_unsigned(struct bytes bytes, uint64_t max, uint64_t *ret)
{
    uint64_t value = 0;
    if (bytes.size == 0)
        return false;
    for (size_t i = 0; i < bytes.size; i++) {
        if (bytes.data[i] < '0' || bytes.data[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(bytes.data[i] - '0');
        if (digit > max || value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

uint64_t bytes_hash(uint64_t hash, struct bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ (unsigned char)bytes.data[i]) * UINT64_C(1099511628211);
    return hash;
}

bool bytes_have_form(struct bytes bytes, const char *form)
{
    size_t i = 0;
    for (; i < bytes.size && form[i] != '\0'; i++) {
        char c = bytes.data[i];
        bool fits = form[i] == '0'   ? c >= '0' && c <= '9'
                    : form[i] == 'x' ? hex_digit_value(c) >= 0
                                     : c == form[i];
        if (!fits)
            return false;
    }
    return i == bytes.size && form[i] == '\0';
}

int hex_digit_value(char digit)
{
    char lower = (char)(digit | 0x20);
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

int hex_byte_value(const char digits[2])
{
    int high = hex_digit_value(digits[0]), low = hex_digit_value(digits[1]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

void buffer_init(struct buffer *buffer, size_t max)
{
    *buffer = (struct buffer){.max = max};
}

void buffer_finish(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){.max = buffer->max};
}

void buffer_wipe(struct buffer *buffer)
{
    if (buffer->data)
        explicit_bzero(buffer->data, buffer->capacity);
    buffer_finish(buffer);
}

void buffer_clear(struct buffer *buffer)
{
    buffer->size = 0;
    buffer->error = 0;
}

/* Capacity for n more bytes and a NUL after them, which does not count against max. */
static int buffer_grow(struct buffer *buffer, size_t n)
{
    if (buffer->error < 0)
        return buffer->error;
    if (n > buffer->max - buffer->size)
        return buffer->error = -EFBIG;
    size_t needed = buffer->size + n + 1;
    if (needed <= buffer->capacity)
        return 0;
    size_t capacity = MAX(needed, MIN(buffer->capacity * 2, buffer->max + 1));
    char *data = realloc(buffer->data, capacity);
    if (!data)
        return buffer->error = -ENOMEM;
    buffer->data = data;
    buffer->capacity = capacity;
    return 0;
}

char *buffer_reserve(struct buffer *buffer, size_t n)
{
    return buffer_grow(buffer, n) < 0 ? NULL : buffer->data + buffer->size;
}

int buffer_ensure(struct buffer *buffer, size_t size)
{
    buffer->error = 0;
    if (size < buffer->capacity || buffer_reserve(buffer, size - buffer->size))
        return 0;
    int r = buffer->error;
    buffer->error = 0;
    return r;
}

void buffer_shrink(struct buffer *buffer)
{
    if (buffer->size + 1 >= buffer->capacity)
        return;
    char *data = realloc(buffer->data, buffer->size + 1);
    if (!data)
        return; /* it stays as it is */
    buffer->data = data;
    buffer->capacity = buffer->size + 1;
}

int buffer_set(struct buffer *buffer, struct bytes bytes)
{
    int r = buffer_ensure(buffer, bytes.size);
    if (r < 0)
        return r;
    buffer_clear(buffer);
    return buffer_append(buffer, bytes);
}

void buffer_swap(struct buffer *a, struct buffer *b)
{
    struct buffer old = *a;
    *a = *b;
    *b = old;
}

int buffer_append_growing(struct buffer *buffer, struct bytes bytes)
{
    char *room = buffer_reserve(buffer, bytes.size);
    if (!room)
        return buffer->error;
    if (bytes.size > 0)
        memcpy(room, bytes.data, bytes.size);
    buffer->size += bytes.size;
    return 0;
}

int buffer_append_string(struct buffer *buffer, const char *string)
{
    return buffer_append(buffer, bytes_of(string));
}

int buffer_append_format(struct buffer *buffer, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int n = vsnprintf(NULL, 0, format, list);
    char *room = n < 0 ? NULL : buffer_reserve(buffer, (size_t)n);
    if (room) {
        (void)vsnprintf(room, (size_t)n + 1, format, again);
        buffer->size += (size_t)n;
    } else if (n < 0) {
        buffer->error = -EINVAL;
    }
    va_end(again);
    va_end(list);
    return buffer->error;
}

const char *buffer_string(struct buffer *buffer)
{
    if (buffer_grow(buffer, 0) < 0)
        return NULL;
    buffer->data[buffer->size] = '\0';
    return buffer->data;
}
