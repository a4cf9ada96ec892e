/* SPDX-License-Identifier: MIT */
#include "cache/scan/ladder.h"
#include "client/base/position.h"
#include "client/base/unicode.h"

/* Unexpected bytes that all keys of a page may share by chance. 0: "cjk", in a window of 128 pages:
 * 1,153/76 -> 1,085/697; 8: "small": 7/5 -> 14/5. */
#define SURPRISES_MIN 4
/* One character apart; the flatter rungs are four apart, or more. All one apart: a level of
 * "000-tenant" keys: 20 -> 25 round trips. */
#define NEAR_RUNGS 4

size_t shared_characters(struct bytes a, struct bytes b)
{
    size_t shared = 0;
    for (;;) {
        uint32_t character, other;
        size_t n = cesu8_next(bytes_skip(a, shared), &character);
        if (n == 0 || cesu8_next(bytes_skip(b, shared), &other) != n || character != other)
            return shared;
        shared += n;
    }
}

/* The first `count` characters after the first `common` bytes; *ret_count: how many there are. */
static struct bytes first_characters(struct bytes key, size_t common, size_t count,
                                     size_t *ret_count)
{
    uint32_t character;
    size_t size = common, n, i = 0;
    while (i < count && (n = cesu8_next(bytes_skip(key, size), &character)) > 0) {
        size += n;
        i++;
    }
    *ret_count = i;
    return bytes_first(key, size);
}

/* One character more than `lo` and `hi` share, if `hi` is the end after all that starts so: every
 * key in ["ab", "ac") starts with "ab". */
size_t shared_in_range(struct bytes lo, struct bytes hi)
{
    size_t shared = shared_characters(lo, hi), count;
    struct bytes longer = first_characters(lo, shared, 1, &count);
    _cleanup_(buffer_finish) struct buffer successor = {.max = POSITION_MAX_BYTES};
    bool is_all = count > 0 &&
                  prefix_append_successor(&successor, longer, BYTES_LITERAL(POSITION_END)) == 0 &&
                  bytes_equal(buffer_bytes(&successor), hi);
    return is_all ? longer.size : shared;
}

bool ladder_is_needed(const struct key_model *model, struct bytes key, size_t common, size_t shared)
{
    return key_model_surprises(model, key, common, shared) > SURPRISES_MIN;
}

struct ladder ladder_of(struct bytes key, size_t common, enum ladder_spacing spacing, size_t most)
{
    struct ladder ladder = {.key = key, .common = common};
    (void)first_characters(key, common, SIZE_MAX, &ladder.depths);
    if (spacing == LADDER_DEEP)
        ladder.near = MIN(NEAR_RUNGS, MIN(most, ladder.depths));
    size_t others = ladder.depths - ladder.near;
    if (spacing == LADDER_DEEP)
        others = (others + NEAR_RUNGS - 1) / NEAR_RUNGS;
    ladder.rungs = MIN(most, ladder.near + others);
    return ladder;
}

struct bytes ladder_key_of_lone(struct bytes key)
{
    size_t count;
    (void)first_characters(key, 0, SIZE_MAX, &count);
    return first_characters(key, 0, MAX(count, 1) - 1, &count);
}

/* After the near rungs: in the middle of the rung's share of the depths that are left. */
static size_t characters_left_out(const struct ladder *ladder, size_t index)
{
    size_t near = ladder->near;
    if (ladder->depths <= ladder->rungs || index < near)
        return index;
    return near + (2 * (index - near) + 1) * (ladder->depths - near) / (2 * (ladder->rungs - near));
}

int ladder_append_rung(const struct ladder *ladder, size_t index, struct buffer *ret)
{
    size_t count = ladder->depths - characters_left_out(ladder, index);
    struct bytes prefix = first_characters(ladder->key, ladder->common, count, &count);
    return prefix_append_successor(ret, prefix, BYTES_LITERAL(POSITION_END));
}
