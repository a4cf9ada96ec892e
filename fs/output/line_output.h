/* SPDX-License-Identifier: MIT */
#ifndef FS_OUTPUT_LINE_OUTPUT_H
#define FS_OUTPUT_LINE_OUTPUT_H
/* Where the lines of an export go: to standard output, or into a file that appears when it is
 * whole. One thread.
 *
 * A file is written as FILE.partial beside FILE, synced, and renamed at the end, so an earlier FILE
 * stays until then. What has failed leaves FILE.partial, and a later export may go on behind its
 * last whole line. */
#include "client/base/bytes.h"

struct line_output;
/* Answers true if the output is to be given up: then the functions below answer -EINTR. */
typedef bool line_output_cancelled(void *context);

/* file NULL: standard output. goes_on: behind the last whole line of FILE.partial, if it is there.
 * -EBUSY: another process writes it; -ENOTSUP: FILE is no regular file. 0 or -errno. */
int line_output_open(const char *file, bool goes_on, line_output_cancelled *is_cancelled,
                     void *context, struct line_output **ret);
/* Takes NULL. FILE.partial stays. */
void line_output_close(struct line_output *output);

/* The last whole line that was there at the begin, without its end; empty: there was none. A view,
 * valid until the first line is added. */
struct bytes line_output_last(const struct line_output *output);
/* Append a line with its end; then call line_output_written. */
struct buffer *line_output_buffer(struct line_output *output);
/* -EPIPE: its reader has ended. */
int line_output_written(struct line_output *output);
/* Writes what is left. */
int line_output_flush(struct line_output *output);
/* The same; of a file: it is whole, and has its name. */
int line_output_finish(struct line_output *output);
/* What a call that has failed could not write. A view. */
struct bytes line_output_rest(const struct line_output *output);

/* The process ends by SIGPIPE, as `cat` does when its reader has ended. */
__attribute__((noreturn)) void line_output_end_by_sigpipe(void);

DEFINE_CLEANUP(struct line_output *, line_output_close);

#endif
