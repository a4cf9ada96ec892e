#ifndef CACHE_ACCOUNT_PARTS_H
#define CACHE_ACCOUNT_PARTS_H
/* What the files of the account share: account.c, store.c, unlink.c, directories.c. Private to
 * them. */
#include "cache/account.h"
#include "cache/read/read_ahead.h"
#include "cache/write/write_side.h"

#include <stdatomic.h>

struct account {
    struct table_store *store;
    struct failure_log *failures;
    struct account_options options;
    struct read_ahead_source read; /* what reading needs; the account's */
    struct read_ahead *read_ahead;
    struct listing_source listings;
    struct write_side write;
    _Atomic uint64_t orders;  /* of stamps */
    _Atomic uint64_t numbers; /* the next inode number; 1 is the root's */
};

/* The first question of every change: 0, or -EROFS with the reason. */
static inline int account_may_change(const struct account *account, struct caller *caller)
{
    return account->options.is_read_only
               ? call_fail(&caller->call, -EROFS, "mounted with the option ro")
               : 0;
}

/* Does an entity lie in the directory? As account_find_directory, without local directories. */
int account_find_rows(struct account *account, struct caller *caller,
                      const struct directory *directory);

#endif
