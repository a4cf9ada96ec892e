#ifndef CLIENT_CALL_H
#define CLIENT_CALL_H
/* One call on the service: brings a deadline and a cancel, takes away the reason of a failure. On
 * the stack, one thread. */
#include "client/base.h"
#include "client/clock.h"

struct failure {     /* a value: copied, never owned; error 0 when nothing failed */
    int error;       /* negative errno */
    int http_status; /* 0: no answer */
    int retry_after_ms;
    int operation; /* index of the write of a batch that was refused; -1: none was named */
    bool is_retryable;
    bool is_ambiguous;  /* the change may have been made all the same */
    const char *advice; /* what the user can do about it: static text, or NULL */
    char code[64], message[256], request_id[40];
};

struct call {
    int64_t deadline_ms; /* monotonic */
    bool (*is_cancelled)(
        void *context); /* may be NULL; asked some 20 times a second while waiting */
    void *context;
    const char *command;    /* whom the request is counted for; may be NULL */
    int64_t sent_ms;        /* out: when the last attempt was begun; of a store that retries */
    int repeats;            /* out: how many attempts failed and were made again; adds up */
    struct failure failure; /* out */
};

/* Notes a failure that no service answer explains, and answers `error` (negative errno). */
int call_fail(struct call *call, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool call_is_cancelled(const struct call *call);
/* 0; -EINTR when it is cancelled; -ETIMEDOUT, for the reason `late`, when its deadline is over. */
int call_check(struct call *call, const struct clock *clock, const char *late);
int64_t call_remaining_ms(const struct call *call, const struct clock *clock); /* at least 0 */

#endif
