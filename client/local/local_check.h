/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_CHECK_H
#define CLIENT_LOCAL_LOCAL_CHECK_H
/* Checks the whole file of an account:
 * - its structure, by SQLite's own check;
 * - each row of a table: its checksum matches, the index `versions` has it, its text is an entity;
 * - each entry of the index: its row exists.
 *
 * Tables are found without the index of names. If the rest of a table cannot be read, a line
 * reports where. It changes nothing. Other processes may read and write meanwhile: it reads 1,000
 * rows at a time; only SQLite's check reads one version of the whole file. One thread. */
#include "client/store/call.h"

#include <inttypes.h>

struct local_check_report {
    uint64_t tables, entities, faults;
    bool has_checksums; /* false: format 1, in which damage to rows cannot be found */
};

/* Reports one fault, without a newline. */
typedef void local_check_fault(void *context, const char *line);

/* Calls `on_fault` for each fault. 0: the check is complete; ret->faults: the number of faults.
 * -errno: it is not complete, with the reason in the call. A file that is too damaged to be opened
 * is one fault. */
int local_check_run(const char *path, const struct clock *clock, struct call *call,
                    local_check_fault *on_fault, void *context, struct local_check_report *ret);

#endif
