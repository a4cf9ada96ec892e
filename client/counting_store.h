#ifndef CLIENT_COUNTING_STORE_H
#define CLIENT_COUNTING_STORE_H
/* A decorator over any store: counts attempts by operation, outcome and the caller's command. Any thread; one leaf mutex. */
#include "client/clock.h"
#include "client/table_store.h"

struct counting_row {
    const char *operation; /* query, get, list_tables */
    const char *command;   /* "other" for commands beyond the table's size */
    int http_status;       /* of a failure that the service answered; 200 of a success; 0: no answer */
    uint64_t requests, rows;
    int64_t duration_ms;
};

/* Takes the inner store on success. */
int counting_store_create(struct table_store *inner, const struct clock *clock,
                          struct table_store **ret);
/* Calls `each` for every row, outside the lock, until it answers non-zero, and answers that. */
int counting_store_each(struct table_store *store, int (*each)(void *context, const struct counting_row *row),
                        void *context);

#endif
