#ifndef CLIENT_FILTER_H
#define CLIENT_FILTER_H
/* The service's $filter: a condition on entities, read from its text, asked for the range of keys
 * that it can meet, and for each entity. Pure; a filter is immutable, any thread.
 *
 *     or         = and { "or" and }
 *     and        = not { "and" not }
 *     not        = "not" not | "(" or ")" | comparison
 *     comparison = PROPERTY OPERATOR CONSTANT | CONSTANT OPERATOR PROPERTY | PROPERTY
 *     OPERATOR   = "eq" | "ne" | "gt" | "ge" | "lt" | "le"
 *
 * Words are in lower case and have a blank, an end or a parenthesis on each side; constants are
 * filter_constant.h's. A property alone is a Boolean. Names count in their case.
 * https://learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities
 *
 * What it says of an entity is what the service was seen to say: without the property every
 * comparison is false, `ne` too, so that `not (x ne 1)` is true. Where the types differ, other than
 * in kinds of numbers, eq, gt and ge are false, ne, lt and le true. With NaN only ne is true. */
#include "client/position.h"

#define FILTER_MAX_BYTES       ((size_t)32 << 10) /* no URL is longer */
#define FILTER_MAX_DEPTH       64                 /* of parentheses and nots in each other */
#define FILTER_MAX_COMPARISONS 1024               /* the service promises 15, and takes more */

struct filter;

struct filter_error {    /* static texts */
    const char *code;    /* the service's: InvalidInput; NotImplemented for what it cannot do */
    const char *problem; /* "a blank is missing here" */
    size_t at;           /* how many bytes of the text stand before it */
};

/* `text` in UTF-8; nothing of it is kept. -EINVAL: ret_error is written. -ENOMEM. */
int filter_create(struct bytes text, struct filter **ret, struct filter_error *ret_error);
void filter_destroy(struct filter *filter); /* takes NULL */

/* The range outside of which nothing matches: what the comparisons of keys say that are joined by
 * `and` at the top, of RowKey where PartitionKey is set by `eq`. May hold more than matches; empty
 * where they contradict each other. Its ends are views of lo and hi, the caller's, whose maximum is
 * at least 2 * FILTER_MAX_BYTES (else perhaps -EFBIG). -ENOMEM. */
int filter_bounds(const struct filter *filter, struct buffer *lo, struct buffer *hi,
                  struct range *ret);

/* 1: the entity of this canonical text meets the condition, 0: not. The keys are taken from the
 * position, Timestamp (100 ns since 1970) from the argument. The text is read no further than
 * needed. -EPROTO: it is not canonical. */
int filter_matches(const struct filter *filter, struct bytes position, struct bytes text,
                   int64_t timestamp);

DEFINE_CLEANUP(struct filter *, filter_destroy);

#endif
