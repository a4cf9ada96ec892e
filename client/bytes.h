#ifndef CLIENT_BYTES_H
#define CLIENT_BYTES_H
/* Byte strings: views that own nothing, and buffers that grow up to a maximum given once.
 * Pure; a buffer belongs to one thread. */
#include "client/base.h"

struct bytes {
    const char *data;
    size_t size;
};

#define BYTES_LITERAL(literal) ((struct bytes){(literal), sizeof(literal) - 1})

static inline struct bytes bytes_of(const char *string)
{
    return (struct bytes){string, strlen(string)};
}

int bytes_compare(struct bytes a, struct bytes b);             /* memcmp, then the shorter first */
const char *bytes_find(struct bytes bytes, struct bytes part); /* NULL: nowhere */
struct bytes bytes_trim(struct bytes bytes);                   /* without blanks and tabs around */
/* Takes what stands before the first `end`, and `end` itself, off `rest`; all of it without one. */
struct bytes bytes_take_until(struct bytes *rest, char end);
/* Decimal digits only; false for anything else, and above max. */
bool bytes_parse_unsigned(struct bytes bytes, uint64_t max, uint64_t *ret);
/* FNV-1a of 64 bits: goes on from `hash`, which is BYTES_HASH_START before the first. It spreads
 * well; who chooses the bytes can make two meet. */
#define BYTES_HASH_START UINT64_C(14695981039346656037)
uint64_t bytes_hash(uint64_t hash, struct bytes bytes);
/* Does text fit a form? In it 0 stands for a digit, x for a hexadecimal digit in either case, and
 * every other character for itself: "2024-01-02" has the form "0000-00-00". */
bool bytes_have_form(struct bytes bytes, const char *form);
int hex_digit_value(char digit);          /* in either case; -1: no hexadecimal digit */
int hex_byte_value(const char digits[2]); /* 0 to 255; -1: not two hexadecimal digits */

/* The short ones are inline: so comparing with a literal is no call. */

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Without the first n; n <= size. */
static inline struct bytes bytes_skip(struct bytes bytes, size_t n)
{
    if (n == 0)
        return bytes; /* the data of nothing may be NULL */
    return (struct bytes){bytes.data + n, bytes.size - n};
}

/* The first n; n <= size. */
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

/* An error sticks: after -EFBIG or -ENOMEM the content stays, every append answers the error again.
 * So a run of appends is checked once, by the last one's answer or by `error`. */
struct buffer {
    char *data;
    size_t size, capacity, max;
    int error; /* 0, -EFBIG, -ENOMEM */
};

void buffer_init(struct buffer *buffer, size_t max);
void buffer_finish(struct buffer *buffer);
void buffer_clear(struct buffer *buffer); /* size and error become 0, the memory stays */
int buffer_append_growing(struct buffer *buffer, struct bytes bytes); /* of buffer_append alone */
int buffer_append_string(struct buffer *buffer, const char *string);
int buffer_append_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Room for n more bytes, to be filled by the caller and then counted into size; NULL on error. */
char *buffer_reserve(struct buffer *buffer, size_t n);
/* The content as a C string: a NUL stands behind it and is not counted. NULL on error. */
const char *buffer_string(struct buffer *buffer);

/* Inline where there is room, which there nearly always is. */
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
