/* SPDX-License-Identifier: MIT */
#ifndef FS_OUTPUT_LINE_OUTPUT_H
#define FS_OUTPUT_LINE_OUTPUT_H
/* Writes the lines of an export: to standard output, or into a file that appears only when it is
 * complete. One thread.
 *
 * A file is written as FILE.partial next to FILE, synced, and renamed at the end. So an earlier
 * FILE stays until then. A failed export leaves FILE.partial, and a later export may resume after
 * its last complete line. */
#include "client/base/bytes.h"

struct line_output;
/* Returns true if the output is to be cancelled: then the functions below return -EINTR. */
typedef bool line_output_cancelled(void *context);

/* file NULL: standard output. resumes: resumes after the last complete line of FILE.partial, if
 * that exists. -EBUSY: another process writes it; -ENOTSUP: FILE is no regular file. 0 or -errno.
 */
int line_output_open(const char *file, bool resumes, line_output_cancelled *is_cancelled,
                     void *context, struct line_output **ret);
/* The same, but in place of FILE.partial a file next to FILE with a name that no other process
 * uses. So two processes may write one FILE at once, and the later one stays. It is removed if FILE
 * is not finished. */
int line_output_open_apart(const char *file, line_output_cancelled *is_cancelled, void *context,
                           struct line_output **ret);
/* Does FILE's place refuse it, so that another try would fail in the same way? No permission, no
 * such directory, no regular file and the like; not a full disk. */
bool line_output_is_refused(int error);
/* FILE gets this after its name when it is finished. 0 or -ENOMEM. */
int line_output_rename(struct line_output *output, const char *behind);
/* Takes NULL. FILE.partial stays. */
void line_output_close(struct line_output *output);

/* The last complete line that FILE.partial had when it was opened, without its newline; empty:
 * there was none. A view, valid until the first line is added. */
struct bytes line_output_last(const struct line_output *output);
/* The caller appends a line with its newline to this, and then calls line_output_written. */
struct buffer *line_output_buffer(struct line_output *output);
/* 0 or -errno. -EPIPE: the reader of standard output has ended. */
int line_output_written(struct line_output *output);
/* Writes all lines that are still in memory. */
int line_output_flush(struct line_output *output);
/* The same; and a file, which is complete now, gets its name. */
int line_output_finish(struct line_output *output);
/* The bytes that a failed call could not write. A view. */
struct bytes line_output_rest(const struct line_output *output);

/* Ends the process by SIGPIPE, as `cat` ends when its reader has ended. */
__attribute__((noreturn)) void line_output_end_by_sigpipe(void);

DEFINE_CLEANUP(struct line_output *, line_output_close);

#endif
