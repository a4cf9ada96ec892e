/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_RECONCILE_H
#define CACHE_QUEUE_RECONCILE_H
/* A batch was refused because of one of its rows, and the rows were read again. Decides for one
 * write of the batch what is done with it. Pure; any thread.
 *
 *   write \ there is now   no row   the version of if_match   another version
 *   delete                 MADE     SEND                      LOST
 *   insert                 SEND     (it has no if_match)      EXISTS, or MADE (*)
 *   replace, merge         GONE     SEND                      LOST, or MADE (*)
 *   upsert                 SEND     SEND                      SEND
 *
 * (*) MADE if the write was sent before, its answer was lost ("doubtful"), and the row has the text
 * of the write; of a merge, all its properties. An if_match of * fits every version.
 *
 *   SEND     its precondition holds: send it again
 *   MADE     the row is as the write would make it
 *   LOST     -ESTALE. A delete does not delete another version, because no user saw that one
 *   GONE     -ESTALE, as for a store that is sent at once (account_store)
 *   EXISTS   -EEXIST
 *
 * Example: a batch of 100 deletes is refused because another process has deleted 40 of the rows.
 * One read shows 60 rows: 40 deletes are MADE, 60 are sent again. */
#include "client/store/table_store.h"

enum reconciled {
    RECONCILED_SEND,
    RECONCILED_MADE,
    RECONCILED_LOST,
    RECONCILED_GONE,
    RECONCILED_EXISTS,
};
/* found: the row that is there now; no page: none. */
enum reconciled reconcile(const struct write *write, bool is_doubtful, const struct entity *found);

#endif
