/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_CONTROL_DIR_H
#define FS_TEXT_CONTROL_DIR_H
/* `.tablefuse/`: files with the state of the mount. The text of a file is made when its name is
 * looked up, without a request to the service. Any thread; a leaf mutex. */
#include "cache/failure_log.h"
#include "fs/text/control_text.h"

/* Appends the text of a file: of `stats`, counters in Prometheus's text format; of `config`, the
 * settings, without secrets. 0 or -errno. */
typedef int control_append(void *context, struct buffer *ret);

#define CONTROL_MAX_BYTES ((size_t)4 << 20)

/* The reason of a refused write to one of these files. */
#define CONTROL_IS_READ "the files of .tablefuse are read-only"

struct control_dir;
/* exit_socket: the socket's name (fs/base/exit_report.h); "": there is none. exit_socket and
 * `failures` must outlive the control directory. 0 or -ENOMEM. */
int control_dir_create(struct failure_log *failures, const char *exit_socket,
                       control_append *config, control_append *stats, void *context,
                       struct control_dir **ret);
void control_dir_destroy(struct control_dir *control); /* takes NULL */
/* The present text of a file, referenced. for_owner: the caller is root or the user of the mount's
 * process, and may see the name of the exit report's socket. If the text is the same as the last
 * time, so is *ret: then stat and open of an idle mount's file show the same node. 0, -ENOMEM, or
 * -EFBIG: it is longer than CONTROL_MAX_BYTES. */
int control_dir_text(struct control_dir *control, enum control_file file, bool for_owner,
                     int64_t now_100ns, struct control_text **ret);

/* Appends one line about a failure, without a newline, for the errors file: the time, the
 * operation, the path, the errno (OK: a note, nothing has failed), the service's answer, the
 * process and what to do. Example:
 *   2026-11-22T10:00:00.000Z open /T/p/r.json: EACCES, HTTP 403 AuthorizationFailure [cat]
 * 0 or -ENOMEM. */
int control_append_failure(struct buffer *ret, const struct failure_record *record);
/* The same without the time, for the log. */
int control_append_failure_text(struct buffer *ret, const struct failure_record *record);

/* Appends a line of the file `config`: the name, which ends in a blank, and the value, which is
 * made printable. value NULL: `-`. 0 or -errno. */
int control_append_setting(struct buffer *ret, const char *name, const char *value);

DEFINE_CLEANUP(struct control_dir *, control_dir_destroy);

#endif
