#ifndef CACHE_LEVEL_SHELF_H
#define CACHE_LEVEL_SHELF_H
/* Levels that were listed to the end lately, for the next opendir: grep and rm open each directory
 * twice, shells list again for every TAB. The last LEVEL_SHELF_SIZE of at most
 * LEVEL_SHELF_MAX_BYTES each. Any thread, never blocks; one leaf mutex. */
#include "cache/address.h"
#include "cache/level_names.h"
#include "cache/read/stamp.h"

#define LEVEL_SHELF_SIZE      16
#define LEVEL_SHELF_MAX_BYTES ((size_t)1 << 20)

struct level_shelf;
int level_shelf_create(struct level_shelf **ret);
void level_shelf_destroy(struct level_shelf *shelf); /* takes NULL */

/* `asked`: when the oldest of what it rests on was. What is too much, or there is no memory for, is
 * not kept. */
void level_shelf_put(struct level_shelf *shelf, const struct directory *directory,
                     struct stamp asked, struct level_names *names);
/* A reference to what shows the directory as of `since`; NULL: none does. */
struct level_names *level_shelf_find(struct level_shelf *shelf, const struct directory *directory,
                                     struct stamp since, int64_t *ret_asked_ms);

DEFINE_CLEANUP(struct level_shelf *, level_shelf_destroy);

#endif
