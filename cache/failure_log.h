/* SPDX-License-Identifier: MIT */
#ifndef CACHE_FAILURE_LOG_H
#define CACHE_FAILURE_LOG_H
/* The last 100 failures. It gives the user a readable reason for every errno. A record with error 0
 * is a note about an operation that succeeded. Records are in the order of their last failures.
 *
 * Many failures share one record, so that thousands of one kind do not evict the rest:
 * - equal failures: the same program fails in the same operation at the same place for the same
 *   reason;
 * - the failures of an outage: while the service is down, thousands of operations may fail;
 * - failures that are each one of many, as of queued deletes, and that are alike: the first
 *   FAILURE_LOG_ALIKE have a record each, and the last of these counts the others.
 * The sink gets each failure, except those of an outage. Any thread; one leaf mutex, which is not
 * held while the sink is called. */
#include "client/base/bytes.h"
#include "client/store/call.h"

#define FAILURE_LOG_SIZE  100
#define FAILURE_LOG_ALIKE 10
/* After this time without such a failure the next one gets a record of its own again. */
#define FAILURE_LOG_REST_MS 60000

struct failure_record {    /* fs/ makes a path from table and position when it shows the record */
    int64_t at_100ns;      /* the time; of equal failures that of the last */
    const char *operation; /* static text: "open" */
    const char *command;   /* the name of the process; may be NULL */
    const char *table;     /* NULL: the account */
    struct bytes position; /* of an entity; without NUL: a PartitionKey; empty: the table */
    bool is_prefix;        /* position is the prefix of a directory, not a key */
    /* One cause may lead to thousands of such failures: of queued deletes, or of links, which some
     * programs try to make for each file before they copy it. `table` is set. */
    bool is_one_of_many;
    const char *kept_in; /* the file that keeps the text that was not stored; NULL: none */
    struct failure failure;
    /* Out: how many equal failures this is, and when the first was. */
    uint64_t times;
    int64_t first_100ns;
    /* Out: how many more failures this record counts, of the same outage or of many that are alike,
     * and the time of the last of them. */
    uint64_t others;
    int64_t last_100ns;
};

/* Called on the thread that adds a failure, unless the failure is only counted in the record of its
 * outage. So each failed delete of the queue has a line in the log. The record and its strings are
 * valid during the call. */
typedef void failure_sink(void *context, const struct failure_record *record);

struct failure_log;
/* sink: may be NULL. 0 or -errno. */
int failure_log_create(failure_sink *sink, void *context, struct failure_log **ret);
void failure_log_destroy(struct failure_log *log); /* takes NULL */
/* Copies the record and its strings, or counts it in an earlier record. If there is
 * no memory, or they take more than 16 KiB, the record is kept without its strings. */
void failure_log_add(struct failure_log *log, const struct failure_record *record);
uint64_t failure_log_count(struct failure_log *log); /* of all failures ever added, not notes */
/* Failures are numbered from 1, and a record has the number of its last equal failure. Copies the
 * first record whose number is above `after` (0: the oldest record) and returns its number. 0:
 * there is none, or ret_text->error is set. The strings of *ret are views into ret_text, which is
 * cleared first. */
uint64_t failure_log_next(struct failure_log *log, uint64_t after, struct failure_record *ret,
                          struct buffer *ret_text);

#endif
