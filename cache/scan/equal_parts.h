/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_EQUAL_PARTS_H
#define CACHE_SCAN_EQUAL_PARTS_H
/* Cuts a range into parts that have about the same number of rows. It takes the rows in key order,
 * or some of them with the number of rows that follow each. Of many rows it keeps some positions,
 * evenly, so its memory does not depend on their number. Pure; one thread. */
#include "client/base/position.h"

struct equal_parts;
int equal_parts_create(struct range range, size_t parts, struct equal_parts **ret); /* parts > 0 */
void equal_parts_destroy(struct equal_parts *equal);                                /* takes NULL */

/* `rows` rows are between the position and the next that is added, with the row at the position.
 * Positions ascend strictly, inside the range. 0 or -ENOMEM. */
int equal_parts_add(struct equal_parts *equal, struct bytes position, double rows);

/* The start of the next part, from the second on, `parts` - 1 times: never before the last one. It
 * is the end of the range for surplus parts, which are empty. Then nothing more is added. A view.
 */
struct bytes equal_parts_next(struct equal_parts *equal);

DEFINE_CLEANUP(struct equal_parts *, equal_parts_destroy);

#endif
