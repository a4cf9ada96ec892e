/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_CALL_H
#define CLIENT_STORE_CALL_H
/* The context of one call of a store: its deadline, a way to cancel it, and afterwards the reason
 * of a failure. Lives on the stack; used by one thread. */
#include "client/base/base.h"
#include "client/base/clock.h"

struct failure {     /* a value: copied, never owned; error 0 when nothing failed */
    int error;       /* negative errno */
    int http_status; /* 0: no answer */
    int retry_after_ms;
    int operation; /* index of the refused write in a batch; -1: unknown */
    bool is_retryable;
    bool is_ambiguous;     /* the change may have been made nevertheless */
    bool is_unanswered;    /* no answer: no connection, it broke, or the time ran out */
    bool has_begun_answer; /* a part of an answer arrived; http_status may be 0 */
    bool is_unresolved;    /* the name of the service's host has no address */
    bool lacks_token;      /* nothing was sent: the token has expired, and there is no new one */
    uint32_t outage;    /* > 0: failed at once because the service is down; the outage's number */
    const char *advice; /* what the user can do about it: static text, or NULL */
    char code[64], message[256], request_id[40]; /* code, request_id: the service's; or "" */
};

/* Observes the retries of a call; called by the call's thread. Embedded, or on the stack. */
struct call_observer {
    /* An attempt has failed or made no progress; the call waits before the next attempt. */
    void (*waits)(struct call_observer *observer, const struct failure *reason);
    struct call_observer *outer; /* is called next; NULL: none */
};

struct call {
    int64_t deadline_ms; /* monotonic */
    /* may be NULL; called about 20 times a second while waiting */
    bool (*is_cancelled)(void *context);
    void *context;
    struct call_observer *observer; /* the innermost; may be NULL */
    const char *command;            /* the program that the request is counted for; may be NULL */
    int64_t sent_ms;                /* out, set by retrying_store: when the last attempt began */
    int repeats;                    /* out: the store adds the number of retries */
    int64_t service_utc_100ns;      /* out: the service's clock in its last answer; 0: none */
    struct failure failure;         /* out */
};

/* Records a failure that is not an answer of the service. Returns `error`, a negative errno. */
int call_fail(struct call *call, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with advice for the user, which is static text. */
int call_fail_with(struct call *call, int error, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Records and returns -ENFILE: this program has no free descriptor. (A process that got EMFILE
 * would take it for its own limit.) */
int call_fail_no_descriptor(struct call *call);
/* Reports to the observers that the call waits, for the reason in call->failure. */
void call_waits(const struct call *call);
bool call_is_cancelled(const struct call *call);
/* 0: the call may continue; -EINTR: cancelled; -ETIMEDOUT: the deadline has passed; its message is
 * `late`, its advice call_advice_late. */
extern const char call_advice_late[];
int call_check(struct call *call, const struct clock *clock, const char *late);
bool failure_is_no_table(const struct failure *failure);  /* the table does not exist */
bool failure_is_throttled(const struct failure *failure); /* HTTP 503 or 429 */
int64_t call_remaining_ms(const struct call *call, const struct clock *clock); /* at least 0 */

#endif
