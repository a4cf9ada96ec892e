/* SPDX-License-Identifier: MIT */
/* A majority vote (Boyer and Moore). Each key votes for its kind and the text around its number:
 * what more than half of the keys have is the candidate at the end. Only keys that agree with the
 * candidate are counted. If four fifths of the keys agree, few of them are missed. */
#include "cache/scan/key_growth.h"
#include "client/base/position.h"

#define MAX_DIGITS 18 /* of a counter */

/* .NET's ticks: from 1965 to 2124, and of DateTime.MaxValue. */
#define TICKS_FROM UINT64_C(620000000000000000)
#define TICKS_TO   UINT64_C(670000000000000000)
#define TICKS_MAX  UINT64_C(3155378975999999999)

struct number { /* of a key: the text between `begin` and `end` */
    enum key_growth_kind kind;
    size_t begin, end;
    uint64_t value;
};

void key_growth_init(struct key_growth *growth)
{
    *growth = (struct key_growth){0};
    buffer_init(&growth->around, POSITION_MAX_BYTES);
    buffer_init(&growth->scratch, POSITION_MAX_BYTES);
    buffer_init(&growth->first, POSITION_MAX_BYTES);
    buffer_init(&growth->last, POSITION_MAX_BYTES);
}

void key_growth_finish(struct key_growth *growth)
{
    buffer_finish(&growth->around);
    buffer_finish(&growth->scratch);
    buffer_finish(&growth->first);
    buffer_finish(&growth->last);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t digits_from(struct bytes key, size_t at)
{
    size_t end = at;
    while (end < key.size && is_digit(key.data[end]))
        end++;
    return end - at;
}

static bool is_between(struct bytes digits, uint64_t least, uint64_t greatest)
{
    uint64_t value;
    return bytes_parse_unsigned(digits, greatest, &value) && value >= least;
}

/* A year of this or the last century, a month, and a day unless it is empty. */
static bool is_date(struct bytes year, struct bytes month, struct bytes day)
{
    return is_between(year, 1900, 2099) && is_between(month, 1, 12) &&
           (day.size == 0 || is_between(day, 1, 31));
}

static struct bytes part(struct bytes text, size_t begin, size_t size)
{
    return bytes_first(bytes_skip(text, begin), size);
}

/* Ticks that run backwards from those of DateTime.MaxValue. */
static bool is_reversed_ticks(struct bytes digits)
{
    return is_between(digits, TICKS_MAX - TICKS_TO, TICKS_MAX - TICKS_FROM);
}

/* A date without separators, which a time of day may follow; seconds, milliseconds, ticks. */
static bool is_time_number(struct bytes digits)
{
    switch (digits.size) {
    case 10:
        return is_between(digits, 1000000000, 2099999999); /* from 2001 on */
    case 13:
        return is_between(digits, 1000000000000, 2099999999999);
    case 18:
    case 19:
        return is_between(digits, TICKS_FROM, TICKS_TO);
    case 6:
    case 8:
    case 12:
    case 14:
    case 17:
        return is_date(part(digits, 0, 4), part(digits, 4, 2),
                       part(digits, 6, digits.size > 6 ? 2 : 0));
    default:
        return false;
    }
}

/* 2024-05-06 or 2024-05, the latter if no digit follows. */
static bool is_date_with_separators(struct bytes text)
{
    if (text.size < 7 || digits_from(text, 0) != 4 || !strchr("-_.", text.data[4]) ||
        digits_from(text, 5) != 2)
        return false;
    bool has_day = text.size >= 10 && text.data[7] == text.data[4] && digits_from(text, 8) == 2;
    return is_date(part(text, 0, 4), part(text, 5, 2),
                   has_day ? part(text, 8, 2) : (struct bytes){0});
}

static struct number time_of(struct bytes key)
{
    size_t begin = 0;
    while (begin < key.size && !is_digit(key.data[begin]))
        begin++;
    struct bytes rest = bytes_skip(key, begin);
    struct bytes digits = bytes_first(rest, digits_from(rest, 0));
    enum key_growth_kind kind = is_date_with_separators(rest) || is_time_number(digits)
                                    ? KEY_GROWTH_TIMES
                                : is_reversed_ticks(digits) ? KEY_GROWTH_REVERSED_TIMES
                                                            : KEY_GROWTH_NONE;
    return (struct number){kind, begin, key.size, 0};
}

static struct number last_number_of(struct bytes key)
{
    size_t end = key.size;
    while (end > 0 && !is_digit(key.data[end - 1]))
        end--;
    size_t begin = end;
    while (begin > 0 && end - begin < MAX_DIGITS && is_digit(key.data[begin - 1]))
        begin--;
    struct number number = {KEY_GROWTH_COUNTER, begin, end, 0};
    if (!bytes_parse_unsigned(part(key, begin, end - begin), UINT64_MAX, &number.value))
        number.kind = KEY_GROWTH_NONE;
    return number;
}

static int set_around(struct buffer *ret, struct bytes key, const struct number *number)
{
    buffer_clear(ret);
    (void)buffer_append(ret, bytes_first(key, number->begin));
    (void)buffer_append_char(ret, '\0');
    return buffer_append(ret, bytes_skip(key, number->end));
}

static int become_candidate(struct key_growth *growth, struct bytes key,
                            const struct number *number)
{
    growth->kind = number->kind;
    growth->members = 0;
    growth->least = growth->greatest = number->value;
    buffer_swap(&growth->around, &growth->scratch);
    return buffer_set(&growth->first, key);
}

/* Times have number 0: the one that is added last is the last. */
static int add_member(struct key_growth *growth, struct bytes key, uint64_t number)
{
    int r = number < growth->least ? buffer_set(&growth->first, key) : 0;
    if (r == 0 && number >= growth->greatest)
        r = buffer_set(&growth->last, key);
    growth->least = MIN(growth->least, number);
    growth->greatest = MAX(growth->greatest, number);
    growth->votes++;
    growth->members++;
    return r;
}

int key_growth_add(struct key_growth *growth, struct bytes key)
{
    /* a counter may pass numbers that look like a time */
    bool is_counting = growth->kind == KEY_GROWTH_COUNTER && growth->votes > 0;
    struct number number = is_counting ? last_number_of(key) : time_of(key);
    if (number.kind == KEY_GROWTH_NONE && !is_counting)
        number = last_number_of(key);
    growth->keys++;
    if (number.kind != KEY_GROWTH_NONE && set_around(&growth->scratch, key, &number) < 0)
        return -ENOMEM;
    bool is_member = number.kind != KEY_GROWTH_NONE && number.kind == growth->kind &&
                     bytes_equal(buffer_bytes(&growth->scratch), buffer_bytes(&growth->around));
    if (!is_member && growth->votes > 0)
        growth->votes--;
    else if (number.kind != KEY_GROWTH_NONE) {
        if (!is_member && become_candidate(growth, key, &number) < 0)
            return -ENOMEM;
        return add_member(growth, key, number.value);
    }
    return 0;
}

struct key_growth_finding key_growth_find(const struct key_growth *growth)
{
    struct key_growth_finding finding = {growth->kind, growth->members,
                                         buffer_bytes(&growth->first), buffer_bytes(&growth->last)};
    bool is_counter = growth->kind == KEY_GROWTH_COUNTER;
    bool is_dense = (growth->greatest - growth->least) / 2 < growth->members;
    if (growth->members < (is_counter ? KEY_GROWTH_MIN_NUMBERS : KEY_GROWTH_MIN_TIMES) ||
        growth->members < growth->keys - growth->keys / 5 || (is_counter && !is_dense))
        return (struct key_growth_finding){0};
    return finding;
}
