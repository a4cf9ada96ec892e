#ifndef CLIENT_LOCAL_LOCAL_FAILURE_H
#define CLIENT_LOCAL_LOCAL_FAILURE_H
/* The reasons of failures: those that the service would give, in its codes and words, and those
 * that only a file has. Pure but for the clock. */
#include "client/call.h"

enum local_refusal {
    REFUSED_TABLE_NOT_FOUND,
    REFUSED_RESOURCE_NOT_FOUND,
    REFUSED_ENTITY_EXISTS,
    REFUSED_TABLE_EXISTS,
    REFUSED_CONDITION,
    REFUSED_ETAG,
    REFUSED_TOKEN,
    REFUSED_BODY_SIZE,
    REFUSED_TABLE_CHARACTERS,
    REFUSED_TABLE_LENGTH,
    REFUSED_TABLE_RESERVED,
};

/* Notes the refusal and answers its errno. */
int local_refuse(struct call *call, enum local_refusal refusal);
/* Likewise for an input that others have judged, with the service's code. */
int local_refuse_input(struct call *call, int error, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* 0: the call may go on; -EINTR: it was cancelled; -ETIMEDOUT. */
int local_check_call(struct call *call, const struct clock *clock);

/* SQLite's words for what went wrong on a file: code is an extended result code, system_error an
 * errno or 0. For SQLITE_BUSY ask local_check_call first. */
int local_fail(struct call *call, int code, int system_error, const char *words);

#endif
