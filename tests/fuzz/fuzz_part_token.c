/* SPDX-License-Identifier: MIT */
/* A token that is taken is the only one of its part, which may be asked for. So is the token of a
 * range that is made of the input. */
#include "client/text/part_token.h"
#include "tests/fuzz/fuzz.h"

/* The part's token is `token`. */
static void check_part(const struct part *part, struct bytes token)
{
    struct range range = part_range(part);
    struct buffer again;
    buffer_init(&again, PART_TOKEN_MAX_BYTES + 4);
    INVARIANT(bytes_compare(range.lo, range.hi) <= 0);
    INVARIANT(part_is_of(part, part->table));
    INVARIANT(part_token_append(&again, part->table, range) == 0);
    INVARIANT(bytes_equal(token, buffer_bytes(&again)));
    buffer_finish(&again);
}

static void check_token(struct bytes token)
{
    struct part part;
    part_init(&part);
    int r = part_token_read(token, &part);
    INVARIANT(r == 0 || r == -EINVAL || r == -ENOTSUP);
    if (r == 0)
        check_part(&part, token);
    part_finish(&part);
}

static void check_range(struct range range)
{
    struct buffer token;
    buffer_init(&token, PART_TOKEN_MAX_BYTES + 4);
    int r = part_token_append(&token, "Packages", range);
    INVARIANT(r == 0 || r == -EFBIG);
    if (r == 0)
        check_token(buffer_bytes(&token));
    buffer_finish(&token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = {(const char *)data, size};
    check_token(input);
    for (size_t i = 0; i <= size; i += MAX(size / 8, 1))
        check_range((struct range){bytes_first(input, i), bytes_skip(input, i)});
    return 0;
}
