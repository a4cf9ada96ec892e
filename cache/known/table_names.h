/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_TABLE_NAMES_H
#define CACHE_KNOWN_TABLE_NAMES_H
/* The names in a service's list of tables that no path can have. Such a table is left out, and
 * nothing else of the list. Pure. */
#include "client/base/bytes.h"
#include "client/store/call.h"

struct left_out { /* a value */
    size_t count;
    uint64_t hash;     /* of all of them, in their order; 0: none */
    char example[104]; /* the first, perhaps cut; its text is the service's */
};

/* Removes them. names: each with a NUL behind it. */
void table_names_leave_out(struct buffer *names, struct left_out *ret);
/* The failure to tell of; count is not 0. */
struct failure table_names_failure(const struct left_out *left_out);

#endif
