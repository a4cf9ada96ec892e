/* SPDX-License-Identifier: MIT */
#ifndef TESTS_STORES_FAULTY_STORE_H
#define TESTS_STORES_FAULTY_STORE_H
/* A decorator for tests: it delays, refuses or loses requests by rules. Any thread. The rules are
 * separated by commas:
 *
 *   latency=MS             every request waits so long first (a cancelled one does not)
 *   page=MS                a query for more than one row waits so long besides
 *   fail=OP:N:STATUS:CODE  the N-th request (from 1) of OP answers this HTTP status and service
 *                          code, and is not passed on; STATUS 0: the connection is reset. N+: the
 *                          N-th and all later; N of "*": every one; /K: every K-th
 *   hang=OP:N              the N-th request of OP is never answered; N+, "*" and /K as above
 *   lost=OP:N              the N-th change of OP is passed on, and its answer is lost
 *   gone=OP:N:ROW          before the N-th change of OP is passed on, another client deletes its
 *                          ROW-th row (from 1); N+, "*" and /K as above
 *   changed=OP:N:ROW       the same, but it merges a property, "Rival", into the row
 *   dropped=OP:N           before the N-th request of OP is passed on, another client drops its
 *                          table
 *   throttle=ROWS:MS       a partition takes ROWS rows in MS: a change beyond that is answered 503
 *                          ServerBusy, unless it is the first there
 *   only=TABLE             fail, hang, lost, gone, changed and dropped apply to the requests of
 *                          this table, and count them
 *   partition=KEY          likewise to the requests of this partition
 *   refuse=N:STATUS:CODE   the N-th row (from 1) of every batch is refused
 *   short=ROWS             pages hold at most ROWS rows, with a token
 *   empty=K                K empty pages with a token come before each page of a query
 *   down=FILE              while FILE exists, every connection is refused
 *   hold=OP:FILE           while FILE exists, requests of OP wait; each adds a byte to FILE.held.
 *                          The other rules apply after that. May be repeated with the same FILE
 *   endless=N              the N-th query and later ones answer empty pages with tokens that are
 *                          always new; the N-th list_tables and later ones likewise
 *   circle=N               the N-th query and later ones answer empty pages whose tokens go in a
 *                          circle of three
 *
 * OP is query, get or list_tables, or a change: write, batch, delete (one entity), create_table or
 * delete_table; or * for each of them. */
#include "client/base/clock.h"
#include "client/store/table_store.h"

/* Takes the inner store on success. -EINVAL: a rule that does not exist. */
int faulty_store_create(struct table_store *inner, const struct clock *clock, const char *rules,
                        struct table_store **ret);

#endif
