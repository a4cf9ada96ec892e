/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_TABLE_NAMES_H
#define CACHE_KNOWN_TABLE_NAMES_H
/* Removes from a service's list of tables the names that cannot stand in a path. The mount does not
 * show these tables. Pure. */
#include "client/base/bytes.h"
#include "client/store/call.h"

struct left_out { /* a value */
    size_t count;
    uint64_t hash;     /* of all removed names, in their order; 0: none */
    char example[104]; /* the first, perhaps cut; untrusted text */
};

/* names: each with a NUL after it. */
void table_names_leave_out(struct buffer *names, struct left_out *ret);
/* The failure to report to the user; left_out->count is not 0. */
struct failure table_names_failure(const struct left_out *left_out);

#endif
