/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_DECIMAL_H
#define CLIENT_TEXT_DECIMAL_H
/* Decimal numbers as text. Nothing is rounded: all digits are kept, except leading and trailing
 * zeros that do not change the value. Numbers with the same value get the same spelling. Pure. */
#include "client/base/bytes.h"

struct decimal { /* the value is 0.DIGITS times 10 to the power of `point` */
    bool is_negative;
    struct bytes digits; /* the first and the last are not 0; may have a point among them */
    size_t count;        /* number of digits; 0: the value is 0 */
    int64_t point;
};

/* `number`: a number of JSON, or digits, perhaps after a minus; ret has views of it. False: its
 * exponent has more than 9 digits. */
bool decimal_read(struct bytes number, struct decimal *ret);

#define DECIMAL_MAX_GROWTH 32 /* by how much the printed text may be longer than `number` */
/* Appends it as JavaScript prints a double, but always with a point or an exponent, so that no
 * reader takes it for an integer: 3.0, -0.0, 0.000001, 1.5e-7, 100000000000000000000.0, 1e+21. */
int decimal_append_double(struct buffer *ret, const struct decimal *decimal);
/* A quick check. True: decimal_append_double would print exactly `number`. False: perhaps, too. */
bool decimal_is_as_printed(struct bytes number);

/* Is it an integer of at most 19 digits? */
bool decimal_is_integer(const struct decimal *decimal);
int decimal_append_integer(struct buffer *ret, const struct decimal *decimal);

#endif
