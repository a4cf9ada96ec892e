/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_FAILURE_H
#define CLIENT_LOCAL_LOCAL_FAILURE_H
/* Records the reasons of failures: those of the service, with its codes and texts, and those that
 * only a file can have. Pure, except for the clock. */
#include "client/base/bytes.h"
#include "client/store/call.h"

enum local_refusal {
    REFUSED_TABLE_NOT_FOUND,
    REFUSED_RESOURCE_NOT_FOUND,
    REFUSED_ENTITY_EXISTS,
    REFUSED_TABLE_EXISTS,
    REFUSED_CONDITION,
    REFUSED_ETAG,
    REFUSED_TOKEN,
    REFUSED_TABLE_CHARACTERS,
    REFUSED_TABLE_LENGTH,
    REFUSED_TABLE_RESERVED,
};

/* Records the refusal in the call and returns its errno. */
int local_refuse(struct call *call, enum local_refusal refusal);
/* Likewise for input that another module has refused; `code`: the service's. */
int local_refuse_input(struct call *call, int error, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* 0: the call may continue; -EINTR: it was cancelled; -ETIMEDOUT. */
int local_check_call(struct call *call, const struct clock *clock);

/* Records an error of SQLite, and returns its errno. code: an extended result code; system_error:
 * an errno or 0; words: SQLite's message. For SQLITE_BUSY call local_check_call first. */
int local_fail(struct call *call, int code, int system_error, const char *words);

/* Records damage that SQLite does not detect. Returns -EIO. table NULL: not in a table; position
 * without data: the row is not known. */
int local_fail_damaged(struct call *call, const char *table, struct bytes position,
                       const char *what);
/* If the failure is damage that SQLite has detected, adds the name of the table that was read. */
void local_failure_name_table(struct call *call, const char *table);

#endif
