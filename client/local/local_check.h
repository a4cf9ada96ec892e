/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_CHECK_H
#define CLIENT_LOCAL_LOCAL_CHECK_H
/* Checks the whole file of an account: SQLite's own check of its structure; of each row of a table
 * that its checksum fits, that the index of versions has it, and that its text is an entity's; of
 * each entry of the index that its row is there. Tables are found without the index of names, and
 * a line says where the rest of a table could not be read. It changes nothing. Other processes may
 * read and write: but for SQLite's check, which reads one version of the file, it reads 1,000 rows
 * at a time. One thread. */
#include "client/store/call.h"

#include <inttypes.h>

struct local_check_report {
    uint64_t tables, entities, faults;
    bool has_checksums; /* false: a file of format 1, in which rows are not told from damage */
};

/* Tells one fault, without a newline. */
typedef void local_check_fault(void *context, const char *line);

/* 0: it was checked to its end, and `faults` is how many were told; -errno: it was not, the reason
 * in the call. A file that is too damaged to be opened is one fault. */
int local_check_run(const char *path, const struct clock *clock, struct call *call,
                    local_check_fault *tell, void *context, struct local_check_report *ret);

#endif
