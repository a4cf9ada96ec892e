#ifndef CACHE_FAILURE_LOG_H
#define CACHE_FAILURE_LOG_H
/* The last 100 failures, so that every errno has a readable reason. Any thread; one leaf mutex; the
 * sink is called outside it. */
#include "client/bytes.h"
#include "client/call.h"

#define FAILURE_LOG_SIZE 100

struct failure_record { /* fs/ turns table and position into a path when it is read */
    int64_t at_100ns;
    const char *operation; /* static text */
    const char *command;   /* who asked; may be NULL */
    const char *table;     /* NULL: the account */
    struct bytes position; /* an entity; without NUL: a partition; empty: the table */
    bool is_prefix;        /* position: what the keys of a directory start with */
    struct failure failure;
};

typedef void failure_sink(void *context, const struct failure_record *record);

struct failure_log;
int failure_log_create(failure_sink *sink, void *context, struct failure_log **ret);
void failure_log_destroy(struct failure_log *log);                                  /* takes NULL */
void failure_log_add(struct failure_log *log, const struct failure_record *record); /* copies */
uint64_t failure_log_count(struct failure_log *log); /* of all ever added */
/* The record after number `after` (0: the oldest kept): its number, or 0 behind the last, and
 * without memory, which ret_text->error tells then. The strings of *ret live in ret_text, which is
 * cleared first. */
uint64_t failure_log_next(struct failure_log *log, uint64_t after, struct failure_record *ret,
                          struct buffer *ret_text);

DEFINE_CLEANUP(struct failure_log *, failure_log_destroy);

#endif
