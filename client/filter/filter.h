/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_FILTER_FILTER_H
#define CLIENT_FILTER_FILTER_H
/* The service's $filter: a condition on entities. This module parses its text, finds a range
 * outside of which no entity matches, and tests whether an entity matches. Pure; a filter is
 * immutable, any thread.
 *
 *     or         = and { "or" and }
 *     and        = not { "and" not }
 *     not        = "not" not | "(" or ")" | comparison
 *     comparison = PROPERTY OPERATOR CONSTANT | CONSTANT OPERATOR PROPERTY | PROPERTY
 *     OPERATOR   = "eq" | "ne" | "gt" | "ge" | "lt" | "le"
 *
 * Words are in lower case, with a blank, a parenthesis or the end of the text on each side.
 * Constants: filter_constant.h. A property without an operator must be a Boolean. Names are
 * case-sensitive. https://learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities
 *
 * Results are as observed from the service. Every comparison of an absent property is false, also
 * `ne`, so `not (x ne 1)` is true. If the types differ and are not both numbers, eq, gt and ge are
 * false, and ne, lt and le are true. With NaN only ne is true. */
#include "client/base/position.h"

#define FILTER_MAX_BYTES       ((size_t)32 << 10) /* longer than any URL may be */
#define FILTER_MAX_DEPTH       64                 /* of nested parentheses and nots */
#define FILTER_MAX_COMPARISONS 1024               /* the service documents 15 and accepts more */

struct filter;

struct filter_error {    /* static texts */
    const char *code;    /* the service's: InvalidInput, or NotImplemented for a missing feature */
    const char *problem; /* "a blank is missing here" */
    size_t at;           /* its offset in the text, in bytes */
};

/* `text` is UTF-8 and is copied. -EINVAL: ret_error is set. -ENOMEM. */
int filter_create(struct bytes text, struct filter **ret, struct filter_error *ret_error);
void filter_destroy(struct filter *filter);           /* takes NULL */
const char *filter_text(const struct filter *filter); /* as it was given; the filter's */

/* Finds a range outside of which no entity matches. It uses the comparisons of keys that are joined
 * by `and` at the top level, those of RowKey only if PartitionKey is compared with `eq`. Not every
 * entity in the range must match. The range is empty if the comparisons contradict each other. Its
 * bounds are views of lo and hi, the caller's buffers, whose maximum should be at least
 * 2 * FILTER_MAX_BYTES (else perhaps -EFBIG). -ENOMEM. */
int filter_bounds(const struct filter *filter, struct buffer *lo, struct buffer *hi,
                  struct range *ret);

/* 1: the entity matches, 0: it does not. Its keys are in `position`, its Timestamp (100 ns since
 * 1970) in `timestamp`, its properties in the canonical text, which is read only as far as needed.
 * -EPROTO: the text is not canonical. */
int filter_matches(const struct filter *filter, struct bytes position, struct bytes text,
                   int64_t timestamp);

DEFINE_CLEANUP(struct filter *, filter_destroy);

#endif
