#ifndef FS_FILES_CONTROL_DIR_H
#define FS_FILES_CONTROL_DIR_H
/* `.tablefuse/`: what the mount tells about itself. A file's text is made when it is opened, and
 * asks the service nothing. Any thread; no lock of its own. */
#include "cache/failure_log.h"
#include "fs/tree/place.h"

/* Appends Prometheus text; whoever has counters gives one. 0 or -errno. */
typedef int control_stats(void *context, struct buffer *ret);

struct control_dir;
/* `config`: the text of that file, secrets masked already (copied). The log lives longer. */
int control_dir_create(struct failure_log *failures, const char *config, control_stats *stats,
                       void *stats_context, struct control_dir **ret);
void control_dir_destroy(struct control_dir *control); /* takes NULL */
int control_dir_text(struct control_dir *control, enum control_file file, struct buffer *ret);

/* One line about a failure: what, where, errno, the service's words, what to do. For the errors
 * file and the log. */
int control_append_failure(struct buffer *ret, const struct failure_record *record);

DEFINE_CLEANUP(struct control_dir *, control_dir_destroy);

#endif
