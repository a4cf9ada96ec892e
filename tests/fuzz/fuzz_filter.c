/* SPDX-License-Identifier: MIT */
/* A filter is refused with a place in its text, or its range holds every entity that it matches,
 * parentheses change nothing, and `not` turns it around. */
#include "client/filter/filter.h"
#include "tests/fuzz/fuzz.h"

#define KEYS(partition_key, row_key)                                                               \
    "{\n  \"PartitionKey\": \"" partition_key "\",\n  \"RowKey\": \"" row_key "\""

static const struct {
    struct bytes position, text;
    int64_t timestamp;
} entities[] = {
    {BYTES_LITERAL("\0"), BYTES_LITERAL(KEYS("", "") "\n}\n"), 0},
    {BYTES_LITERAL("a\0"), BYTES_LITERAL(KEYS("a", "") ",\n  \"a\": 1\n}\n"), 1},
    {BYTES_LITERAL("a\0r"), BYTES_LITERAL(KEYS("a", "r") ",\n  \"a\": true\n}\n"), -1},
    {BYTES_LITERAL("a\0s"), BYTES_LITERAL(KEYS("a", "s") ",\n  \"a\": \"b\"\n}\n"), 0},
    {BYTES_LITERAL("a b\0r"),
     BYTES_LITERAL(KEYS("a b", "r") ",\n  \"\\\"\": 1,\n  \"a\": \"\\ud800\"\n}\n"), 0},
    {BYTES_LITERAL("ab\0r"),
     BYTES_LITERAL(KEYS("ab", "r") ",\n  \"a@odata.type\": \"Edm.Int64\",\n  \"a\": \"5\"\n}\n"),
     15829776000000000},
    {BYTES_LITERAL("\xED\xA0\xBD\xED\xB8\x80\0r\xEF\xBF\xBF"),
     BYTES_LITERAL(KEYS("\xF0\x9F\x98\x80", "r\xEF\xBF\xBF") ",\n  \"a@odata.type\": "
                                                             "\"Edm.Double\",\n  \"a\": 1e9\n}\n"),
     0},
    {BYTES_LITERAL("b\0r"),
     BYTES_LITERAL(KEYS("b", "r") ",\n  \"a@odata.type\": \"Edm.DateTime\",\n  \"a\": "
                                  "\"2008-07-10T00:00:00Z\",\n  \"\xC3\xA9\": 1\n}\n"),
     0},
    {BYTES_LITERAL("\xEE\x80\x80\0'"),
     BYTES_LITERAL(KEYS("\xEE\x80\x80", "'") ",\n  \"a@odata.type\": \"Edm.Binary\",\n  \"a\": "
                                             "\"AAE=\"\n}\n"),
     0},
};

/* NULL when it is refused. */
static struct filter *make(struct bytes text)
{
    struct filter *filter = NULL;
    struct filter_error error = {0};
    int r = filter_create(text, &filter, &error);
    INVARIANT(r == 0 || r == -EINVAL);
    INVARIANT((r == 0) == (filter != NULL));
    INVARIANT(r == 0 || (error.code && error.problem && error.at <= text.size));
    return filter;
}

static struct filter *make_around(const char *before, struct bytes text, const char *after)
{
    struct buffer whole;
    buffer_init(&whole, FILTER_MAX_BYTES * 2);
    (void)buffer_append_string(&whole, before);
    (void)buffer_append(&whole, text);
    INVARIANT(buffer_append_string(&whole, after) == 0);
    struct filter *filter = make(buffer_bytes(&whole));
    buffer_finish(&whole);
    return filter;
}

static void check_matches(const struct filter *filter, const struct filter *other, bool is_not,
                          struct range range)
{
    for (size_t i = 0; i < ARRAY_SIZE(entities); i++) {
        int r =
            filter_matches(filter, entities[i].position, entities[i].text, entities[i].timestamp);
        INVARIANT(r == 0 || r == 1);
        INVARIANT(r == 0 || range_holds(range, entities[i].position));
        if (other)
            INVARIANT(filter_matches(other, entities[i].position, entities[i].text,
                                     entities[i].timestamp) == (is_not ? !r : r));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes text = {(const char *)data, size};
    struct buffer lo, hi;
    struct range range;
    struct filter *filter = make(text);
    if (!filter)
        return 0;
    buffer_init(&lo, 2 * FILTER_MAX_BYTES);
    buffer_init(&hi, 2 * FILTER_MAX_BYTES);
    struct filter *same = make_around("(", text, ")"), *not = make_around("not (", text, ")");
    INVARIANT(filter_bounds(filter, &lo, &hi, &range) == 0);
    check_matches(filter, same, false, range);
    check_matches(filter, not, true, range);
    filter_destroy(filter);
    filter_destroy(same);
    filter_destroy(not );
    buffer_finish(&lo);
    buffer_finish(&hi);
    return 0;
}
