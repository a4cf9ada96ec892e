/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_WRITTEN_H
#define CLIENT_STORE_WRITTEN_H
/* Finds out whether a change was made when its answer was lost. Example: the second attempt of an
 * insert fails with "exists", perhaps because the first attempt succeeded. The rows are read and
 * compared with what the change would have stored. The same content written by another client
 * cannot be told apart and counts as ours; so does a row that another client has deleted, where a
 * delete was lost. */
#include "client/store/table_store.h"

enum written { /* of several rows the first that holds for one of them */
               /* Not made: a row still has the version that it would have replaced or deleted. */
               WRITTEN_NOT,
               /* The rows differ from what it would have stored: it was not made, or another client
                * has changed them since. */
               WRITTEN_PERHAPS,
               WRITTEN_WHOLE, /* made; ret holds the stored versions */
};

/* One of enum written, or -errno: the rows could not be read, the reason in call. Sends one get for
 * one write. For a batch of rows that stand together one query, of keys if it only deletes; where
 * few of its rows are in a page, a get for each of the others. */
int written_check(struct table_store *store, const char *table, const struct write *writes,
                  size_t n, struct call *call, struct write_result *ret);

#endif
