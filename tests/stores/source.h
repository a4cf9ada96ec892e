/* SPDX-License-Identifier: MIT */
#ifndef TESTS_STORES_SOURCE_H
#define TESTS_STORES_SOURCE_H
/* A store by its name, for test programs: `local:FILE`, or what `tablefuse mount` takes as SOURCE,
 * with the credential in the environment, under retries. One thread creates and destroys it. */
#include "client/store/table_store.h"

struct source;
/* After a message on standard error: -errno. */
int source_open(const char *name, struct source **ret);
struct table_store *source_store(struct source *source);
void source_close(struct source *source); /* takes NULL */

DEFINE_CLEANUP(struct source *, source_close);

#endif
