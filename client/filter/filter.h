/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_FILTER_FILTER_H
#define CLIENT_FILTER_FILTER_H
/* The service's $filter: a condition on entities. It is parsed from its text, gives the range of
 * keys outside which nothing matches, and is evaluated for an entity. Pure; a filter is immutable,
 * any thread.
 *
 *     or         = and { "or" and }
 *     and        = not { "and" not }
 *     not        = "not" not | "(" or ")" | comparison
 *     comparison = PROPERTY OPERATOR CONSTANT | CONSTANT OPERATOR PROPERTY | PROPERTY
 *     OPERATOR   = "eq" | "ne" | "gt" | "ge" | "lt" | "le"
 *
 * Words are in lower case and have a blank, a parenthesis or the end of the text on each side.
 * filter_constant.h has the constants. A property alone must be a Boolean. Names are
 * case-sensitive.
 * https://learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities
 *
 * Results are those that the service was seen to give. Every comparison of an absent property is
 * false, also `ne`, so `not (x ne 1)` is true. If the types differ and are not both numbers, eq, gt
 * and ge are false, and ne, lt and le are true. With NaN only ne is true. */
#include "client/base/position.h"

#define FILTER_MAX_BYTES       ((size_t)32 << 10) /* no URL is longer */
#define FILTER_MAX_DEPTH       64                 /* of nested parentheses and nots */
#define FILTER_MAX_COMPARISONS 1024               /* the service documents 15 and accepts more */

struct filter;

struct filter_error { /* static texts */
    const char *code; /* the service's: InvalidInput, or NotImplemented if it lacks the feature */
    const char *problem; /* "a blank is missing here" */
    size_t at;           /* its offset in the text, in bytes */
};

/* `text` is UTF-8 and is copied. -EINVAL: ret_error is set. -ENOMEM. */
int filter_create(struct bytes text, struct filter **ret, struct filter_error *ret_error);
void filter_destroy(struct filter *filter);           /* takes NULL */
const char *filter_text(const struct filter *filter); /* as it was given; the filter's */

/* The range outside of which nothing matches. It comes from the comparisons of keys that `and`
 * joins at the top level; RowKey counts only if PartitionKey is compared by `eq`. It may contain
 * rows that do not match; it is empty if the comparisons contradict each other. Its ends are views
 * of lo and hi, the caller's buffers, whose maximum should be at least 2 * FILTER_MAX_BYTES (else
 * perhaps -EFBIG). -ENOMEM. */
int filter_bounds(const struct filter *filter, struct buffer *lo, struct buffer *hi,
                  struct range *ret);

/* 1: the entity matches, 0: it does not. The keys come from the position, the Timestamp (100 ns
 * since 1970) from the argument, properties from the canonical text, which is read only as far as
 * needed. -EPROTO: the text is not canonical. */
int filter_matches(const struct filter *filter, struct bytes position, struct bytes text,
                   int64_t timestamp);

DEFINE_CLEANUP(struct filter *, filter_destroy);

#endif
