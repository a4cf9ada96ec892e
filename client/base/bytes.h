/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_BYTES_H
#define CLIENT_BASE_BYTES_H
/* Byte strings: views, which own nothing, and buffers, which grow up to a maximum that buffer_init
 * sets. Pure; a buffer is used by one thread. */
#include "client/base/base.h"

struct bytes {
    const char *data;
    size_t size;
};

#define BYTES_LITERAL(literal) ((struct bytes){(literal), sizeof(literal) - 1})

static inline struct bytes bytes_of(const char *string)
{
    return (struct bytes){string, strlen(string)};
}

int bytes_compare(struct bytes a, struct bytes b);             /* as memcmp; a prefix is less */
const char *bytes_find(struct bytes bytes, struct bytes part); /* NULL: not found */
/* Removes blanks, tabs and line ends at both ends. */
struct bytes bytes_trim(struct bytes bytes);
/* Removes the bytes up to and with the first `end` from `rest`, and returns them without `end`. If
 * there is no `end`, removes and returns all. */
struct bytes bytes_take_until(struct bytes *rest, char end);
/* Decimal digits only; false for anything else, and above max. */
bool bytes_parse_unsigned(struct bytes bytes, uint64_t max, uint64_t *ret);
/* FNV-1a of 64 bits. Continues from `hash`, which is BYTES_HASH_START at first. Not secure: it is
 * easy to find two inputs with the same hash. */
#define BYTES_HASH_START UINT64_C(14695981039346656037)
uint64_t bytes_hash(uint64_t hash, struct bytes bytes);
/* Does the text have the form? In a form, 0 stands for a digit, x for a hexadecimal digit in either
 * case, and every other character for itself: "2024-01-02" has the form "0000-00-00". */
bool bytes_have_form(struct bytes bytes, const char *form);
int hex_digit_value(char digit);          /* in either case; -1: no hexadecimal digit */
int hex_byte_value(const char digits[2]); /* 0 to 255; -1: not two hexadecimal digits */

/* These short functions are inline, so that a comparison with a literal needs no function call. */

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* All but the first n bytes; n <= size. */
static inline struct bytes bytes_skip(struct bytes bytes, size_t n)
{
    if (n == 0)
        return bytes; /* empty text may have NULL as data */
    return (struct bytes){bytes.data + n, bytes.size - n};
}

/* The first n bytes; n <= size. */
static inline struct bytes bytes_first(struct bytes bytes, size_t n)
{
    return (struct bytes){bytes.data, n};
}

static inline bool bytes_start_with(struct bytes bytes, struct bytes prefix)
{
    return bytes.size >= prefix.size && bytes_equal(bytes_first(bytes, prefix.size), prefix);
}

static inline bool bytes_end_with(struct bytes bytes, struct bytes suffix)
{
    return bytes.size >= suffix.size &&
           bytes_equal(bytes_skip(bytes, bytes.size - suffix.size), suffix);
}

/* Errors are sticky: after -EFBIG or -ENOMEM the content does not change, and every further append
 * returns the error. So it is enough to check the last of several appends, or `error`. */
struct buffer {
    char *data;
    size_t size, capacity, max;
    int error; /* 0, -EFBIG, -ENOMEM */
};

void buffer_init(struct buffer *buffer, size_t max);
void buffer_finish(struct buffer *buffer);
/* As buffer_finish, for a secret: overwrites the memory first. Memory that the buffer used before
 * it grew is not overwritten: call buffer_ensure before the first append. */
void buffer_wipe(struct buffer *buffer);
void buffer_clear(struct buffer *buffer); /* size and error become 0; frees no memory */
int buffer_append_growing(struct buffer *buffer, struct bytes bytes); /* for buffer_append only */
int buffer_append_string(struct buffer *buffer, const char *string);
int buffer_append_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns room for n more bytes. The caller fills it and adds n to `size`. NULL on error. */
char *buffer_reserve(struct buffer *buffer, size_t n);
/* Allocates, so that content of `size` bytes fits without an error. On failure the content does not
 * change. Clears the sticky error, and sets none. */
int buffer_ensure(struct buffer *buffer, size_t size);
/* Frees memory that the content does not need. (Else an empty buffer may keep its 8 MiB.) */
void buffer_shrink(struct buffer *buffer);
/* Replaces the content; errors as of buffer_ensure. */
int buffer_set(struct buffer *buffer, struct bytes bytes);
void buffer_swap(struct buffer *a, struct buffer *b);
/* The content as a C string, with a NUL that `size` does not count. NULL on error. */
const char *buffer_string(struct buffer *buffer);

/* Inline for the usual case that there is room. */
static inline int buffer_append(struct buffer *buffer, struct bytes bytes)
{
    if (buffer->error < 0 || bytes.size == 0 || bytes.size >= buffer->capacity - buffer->size)
        return buffer_append_growing(buffer, bytes);
    memcpy(buffer->data + buffer->size, bytes.data, bytes.size);
    buffer->size += bytes.size;
    return 0;
}

static inline int buffer_append_char(struct buffer *buffer, char c)
{
    return buffer_append(buffer, (struct bytes){&c, 1});
}

static inline struct bytes buffer_bytes(const struct buffer *buffer)
{
    return (struct bytes){buffer->data, buffer->size};
}

#endif
