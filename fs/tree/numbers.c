/* SPDX-License-Identifier: MIT */
#include "fs/tree/numbers.h"
#include "client/text/digest.h"

#define FIRST 2

int numbers_init(struct numbers *numbers)
{
    *numbers = (struct numbers){.last = FIRST - 1};
    numbers->swapped = malloc(NUMBERS_MAX * sizeof(*numbers->swapped));
    return numbers->swapped ? 0 : -ENOMEM;
}

void numbers_finish(struct numbers *numbers)
{
    free(numbers->swapped);
}

uint64_t numbers_hash(struct address address)
{
    const struct bytes parts[] = {{address.table, strlen(address.table) + 1}, address.position};
    return NUMBERS_MIN + digest_number(parts, ARRAY_SIZE(parts)) % (NUMBERS_END - NUMBERS_MIN);
}

/* The index of the number, or where it would be inserted. */
static size_t find(const struct numbers *numbers, uint64_t own)
{
    size_t begin = 0, end = numbers->count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (numbers->swapped[middle].own < own)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

uint64_t numbers_shown(const struct numbers *numbers, uint64_t own)
{
    size_t i = find(numbers, own);
    bool is_swapped = i < numbers->count && numbers->swapped[i].own == own;
    return is_swapped ? numbers->swapped[i].shown : own;
}

static void put(struct numbers *numbers, uint64_t own, uint64_t shown)
{
    size_t i = find(numbers, own);
    struct swapped_number *at = &numbers->swapped[i];
    bool is_there = i < numbers->count && at->own == own;
    size_t behind = numbers->count - i;
    if (is_there && own == shown) {
        memmove(at, at + 1, (behind - 1) * sizeof(*at));
        numbers->count--;
    } else if (is_there) {
        at->shown = shown;
    } else if (own != shown) {
        memmove(at + 1, at, behind * sizeof(*at));
        *at = (struct swapped_number){own, shown};
        numbers->count++;
    }
}

void numbers_swap(struct numbers *numbers, uint64_t a, uint64_t b)
{
    if (numbers->count + 2 > NUMBERS_MAX)
        numbers->count = 0;
    uint64_t of_a = numbers_shown(numbers, a), of_b = numbers_shown(numbers, b);
    put(numbers, a, of_b);
    put(numbers, b, of_a);
}

uint64_t numbers_count(struct numbers *numbers)
{
    return ++numbers->last;
}
