/* SPDX-License-Identifier: MIT */
#ifndef CACHE_WRITE_CONFIRMED_DROPS_H
#define CACHE_WRITE_CONFIRMED_DROPS_H
/* Remembers which process may drop which table with all that is in it. `tablefuse drop` asks the
 * user for the table's name, and confirms the drop before it removes the table's directory.
 *
 * A confirmation is of one process and one table. It is used up by the process's next attempt to
 * remove the table, and ends after CONFIRMED_DROPS_MS.
 *
 * Bounded: CONFIRMED_DROPS_SIZE confirmations that are not used up. The oldest is forgotten for one
 * more. Process 0 (unknown) is never remembered, because all unknown processes have this number.
 *
 * Any thread; one leaf mutex; never blocks. now_ms is monotonic milliseconds. */
#include "client/base.h"

#define CONFIRMED_DROPS_SIZE 16
#define CONFIRMED_DROPS_MS   30000

struct confirmed_drops;
int confirmed_drops_create(struct confirmed_drops **ret);    /* 0 or -ENOMEM */
void confirmed_drops_destroy(struct confirmed_drops *drops); /* takes NULL */
/* False: it is not remembered, because the process is 0 or the name is longer than a table's. */
bool confirmed_drops_add(struct confirmed_drops *drops, uint64_t process, const char *table,
                         int64_t now_ms);
/* Has the process confirmed it? It has not any more, afterwards. */
bool confirmed_drops_take(struct confirmed_drops *drops, uint64_t process, const char *table,
                          int64_t now_ms);

DEFINE_CLEANUP(struct confirmed_drops *, confirmed_drops_destroy);

#endif
