/* SPDX-License-Identifier: MIT */
#ifndef FS_OUTPUT_CSV_OUTPUT_H
#define FS_OUTPUT_CSV_OUTPUT_H
/* Writes an export as CSV (client/entity/csv_writer.h) into a line_output. One thread.
 *
 * The first line of CSV has the columns. If the user does not name them, they are known only after
 * the last row. Until then the rows are kept in a file without a name, in the directory of the
 * output's file, else in TMPDIR or /var/tmp, and a failure leaves the output empty. Memory does not
 * grow with the number of rows. */
#include "client/entity/csv_writer.h"
#include "fs/output/line_output.h"

struct csv_output;

/* Takes the writer, also if it fails. has_columns: the user has named them. file: the name of the
 * output's file, or NULL. -errno: of the file of kept rows. Then ret is set, too, for the functions
 * below that describe the failure. */
int csv_output_create(struct csv_writer *writer, bool has_columns, struct line_output *output,
                      const char *file, struct csv_output **ret);
void csv_output_destroy(struct csv_output *csv); /* takes NULL */

/* ret_size: the row's bytes. Errors of csv_writer_append_row, after which nothing of the row is
 * written; or -errno of the output or of the file of kept rows. */
int csv_output_write(struct csv_output *csv, const struct entity_line *line, size_t *ret_size);
/* Writes the kept rows; then line_output_finish completes the output. -EINTR: is_cancelled returned
 * true. */
int csv_output_finish(struct csv_output *csv, line_output_cancelled *is_cancelled, void *context);

/* The directory of the file of kept rows; NULL: there is none. */
const char *csv_output_waiting_in(const struct csv_output *csv);
/* Was the last returned error one of the file in that directory? */
bool csv_output_is_waiting_failed(const struct csv_output *csv);

DEFINE_CLEANUP(struct csv_output *, csv_output_destroy);

#endif
