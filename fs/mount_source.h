#ifndef FS_MOUNT_SOURCE_H
#define FS_MOUNT_SOURCE_H
/* What is mounted: SOURCE and the environment, turned into a table store with its decorators. The
 * one module above client/ that names stores. Used by one thread, in the process that stays: it
 * starts libraries. Functions that can fail say why in one line on standard error, and answer the
 * exit code of the program (fs/command.h), or 0. */
#include "client/bytes.h"
#include "fs/command.h"

#define LOCAL_SOURCE "local:" /* an account in one file */

struct mount_source_options {
    const char *name;       /* SOURCE; NULL: the environment says it all */
    const char *table;      /* -o table=; NULL: SOURCE says it, or none */
    const char *ca_cert;    /* NULL: the system's */
    const char *mountpoint; /* an account must not lie below its own mount */
};

struct mount_source;
int mount_source_open(const struct mount_source_options *options, store_decorator *decorate,
                      struct mount_source **ret);
void mount_source_close(struct mount_source *source); /* takes NULL */

/* One real question to the service: does it know us, and is the table there? */
int mount_source_ask(struct mount_source *source);

const char *
mount_source_table(const struct mount_source *source); /* the root's; NULL: the account */
/* The outermost store. Taken: it is the caller's, who destroys it before the source is closed. */
struct table_store *mount_source_take_store(struct mount_source *source);
/* While the store that was taken lives. */
int mount_source_append_metrics(const struct mount_source *source, struct buffer *ret);
int mount_source_append_description(const struct mount_source *source, struct buffer *ret);

DEFINE_CLEANUP(struct mount_source *, mount_source_close);

#endif
