/* SPDX-License-Identifier: MIT */
#ifndef TESTS_STORES_RIVAL_H
#define TESTS_STORES_RIVAL_H
/* Another client, which comes between a request and the service. For tests. Any thread. */
#include "client/base/clock.h"
#include "client/store/table_store.h"

enum rival_deed {
    RIVAL_NONE,
    RIVAL_DELETES, /* the row, whatever its version */
    RIVAL_CHANGES, /* the row gets another version, and the property "Rival" */
    RIVAL_DROPS,   /* the table */
};

/* Does it in `store`, which gets one request. 0, also where there is nothing to do it to; or -EIO,
 * the reason in call. */
int rival_act(struct table_store *store, const struct clock *clock, enum rival_deed deed,
              const char *table, struct bytes position, struct call *call);

#endif
