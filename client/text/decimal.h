/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_DECIMAL_H
#define CLIENT_TEXT_DECIMAL_H
/* Decimal numbers as text. Nothing is rounded: all digits stay, but zeros that mean nothing go, and
 * numbers of the same digits and exponent get one spelling. Pure. */
#include "client/base/bytes.h"

struct decimal { /* the value is 0.DIGITS times 10 to the power of `point` */
    bool is_negative;
    struct bytes digits; /* the first and the last are not 0; a point may stand among them */
    size_t count;        /* of the digits; 0: the number is 0 */
    int64_t point;
};

/* `number` is a number of JSON, or digits, perhaps after a minus; ret has views of it. False: its
 * exponent has more than 9 digits. */
bool decimal_read(struct bytes number, struct decimal *ret);

#define DECIMAL_MAX_GROWTH 32 /* how much longer one is printed than it was */
/* As JavaScript prints a double, but always with a point or an exponent, so that no reader
 * takes it for an integer: 3.0, -0.0, 0.000001, 1.5e-7, 100000000000000000000.0, 1e+21. */
int decimal_append_double(struct buffer *ret, const struct decimal *decimal);
/* Quickly: is `number` known to be printed as it is? Most are. */
bool decimal_is_as_printed(struct bytes number);

/* Is it an integer of at most 19 digits? */
bool decimal_is_integer(const struct decimal *decimal);
int decimal_append_integer(struct buffer *ret, const struct decimal *decimal);

#endif
