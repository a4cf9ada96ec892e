/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_FILTER_FILTER_CONSTANT_H
#define CLIENT_FILTER_FILTER_CONSTANT_H
/* A constant of a $filter, and its comparison with values of entities. Pure.
 *
 *     'text' ('' is one quote)   123   -5   4294967296L   123.45   1e9   true   false
 *     datetime'2012-11-10T03:04:05.2Z' (edm_datetime.h has all forms)   guid'c9da6455-...'
 *     X'010f' or binary'010f'
 *
 * https://learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities */
#include "client/text/edm_value.h"

struct filter_constant {
    enum edm_type type;  /* not EDM_OTHER */
    int64_t integer;     /* Int32, Int64; DateTime: 100 ns since 1970; Boolean: 0 or 1 */
    double number;       /* Double */
    struct buffer bytes; /* String: CESU-8; Guid: 16 bytes; Binary: its bytes */
};

/* 1: reads the constant at the start of `text`, and removes it from `text`; a NUL must follow the
 * text. 0: no constant begins there. -EINVAL: it is wrong; ret_problem is the reason. -ENOMEM. */
int filter_constant_read(struct bytes *text, struct filter_constant *ret, const char **ret_problem);
void filter_constant_finish(struct filter_constant *constant);

enum filter_order {
    FILTER_LESS,
    FILTER_EQUAL,
    FILTER_GREATER,
    FILTER_UNORDERED,  /* one is NaN */
    FILTER_OTHER_TYPE, /* the types differ, or the value is not valid for its type */
};

/* Compares an entity's value with the constant. FILTER_LESS: the value is less. Numbers of
 * different types are compared exactly by value, strings by UTF-16 units, times to 100 ns. */
enum filter_order filter_constant_order(const struct filter_constant *constant,
                                        const struct edm_value *value);
enum filter_order filter_constant_order_key(const struct filter_constant *constant,
                                            struct bytes key); /* CESU-8 */
enum filter_order filter_constant_order_time(const struct filter_constant *constant,
                                             int64_t time); /* 100 ns since 1970 */

#endif
