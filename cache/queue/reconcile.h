/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_RECONCILE_H
#define CACHE_QUEUE_RECONCILE_H
/* A batch was refused because of a row, and the rows were read: what becomes of one of its writes?
 * Pure; any thread.
 *
 *   write \ there is now   no row   the version of if_match   another version
 *   delete                 MADE     SEND                      LOST
 *   insert                 SEND     -                         EXISTS; doubtful and its text: MADE
 *   replace, merge         GONE     SEND                      LOST; doubtful and its text: MADE
 *   upsert                 SEND     -                         SEND
 *
 * An if_match of * fits every version. The text of a merge is there if all its properties are.
 *
 *   SEND     its precondition holds: send it again
 *   MADE     it is as the write would make it
 *   LOST     -ESTALE. A delete that meets another version leaves it: no user saw that one
 *   GONE     -ESTALE: as for a caller that waits (account_store)
 *   EXISTS   -EEXIST
 *
 * Doubtful: the write was sent before, and the answer was lost. Example: a batch of 100 deletes is
 * refused because another process has deleted 40 of the rows. One read shows 60 rows: 40 deletes
 * are MADE, 60 are sent again. */
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
