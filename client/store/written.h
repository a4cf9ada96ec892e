/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_WRITTEN_H
#define CLIENT_STORE_WRITTEN_H
/* Finds out whether a write was made when its answer was lost. Example: the second attempt of an
 * insert fails with "exists", perhaps because the first attempt succeeded. The entities are read
 * and compared with what the write would have stored. If another client has written the same
 * content, or has deleted an entity that a lost delete would have deleted, this cannot be
 * distinguished, and counts as made. */
#include "client/store/table_store.h"

enum written { /* for a batch: the first value that is true for one of its entities */
               /* Not made: the version that it would have replaced or deleted still exists. */
               WRITTEN_NOT,
               /* The entity differs from what the write would have stored: it was not made, or
                * another client has changed the entity since. */
               WRITTEN_PERHAPS,
               WRITTEN_WHOLE, /* made; ret has the stored versions */
};

/* Returns enum written, or -errno if the entities could not be read, with the reason in call. For
 * one write it sends one get. For a batch it sends one query of the range, of keys if the batch
 * only deletes; if few entities of the batch are in its page, also a get for each of the others. */
int written_check(struct table_store *store, const char *table, const struct write *writes,
                  size_t n, struct call *call, struct write_result *ret);

#endif
