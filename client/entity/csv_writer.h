/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_CSV_WRITER_H
#define CLIENT_ENTITY_CSV_WRITER_H
/* Writes entities as CSV with types, which csv_rows.h and Azure Storage Explorer read. Pure, one
 * thread.
 *
 *     PartitionKey,RowKey,Count,Count@type,Note,Note@type
 *     1,a,2,Int32,"say ""hi"", you",String
 *     1,b,4,Int32,,
 *
 * Columns are in the order in which rows have them, so the first row can be written only when the
 * last entity is known, unless the columns are named. A row that was written earlier has fewer
 * values: csv_writer_append_end appends the missing ones, which are empty.
 *
 * Lines end in LF. In quotes stand values and names with a delimiter, a quote, a line end, a blank
 * at their begin or end, or a byte order mark at their begin. */
#include "client/entity/entity_line.h"

struct csv_writer;

struct csv_writer_options {
    const char *columns; /* names of properties, "A,B"; NULL: those that the entities have */
    char delimiter;      /* 0: a comma */
    bool keys_only, is_part, has_etag, has_timestamp; /* what each entity_line has */
};

/* -EINVAL: of `columns` a name is empty, there twice, or not of a property; -E2BIG: too many;
 * -ENOMEM. */
int csv_writer_create(const struct csv_writer_options *options, struct csv_writer **ret);
void csv_writer_destroy(struct csv_writer *writer); /* takes NULL */

/* Appends the row of an entity, without its end. 0; -EPROTO: as entity_line_append; -EILSEQ: UTF-8,
 * and so CSV, cannot hold half a surrogate; -E2BIG: more columns than CSV_ROWS_COLUMN_MAX; -ENOMEM;
 * -EFBIG: of ret. Then ret holds a part of it. */
int csv_writer_append_row(struct csv_writer *writer, const struct entity_line *line,
                          struct buffer *ret);
/* The number of property columns in the row that was written last. */
size_t csv_writer_columns(const struct csv_writer *writer);
/* Ends a row that was written with `columns` property columns: appends an empty value for each
 * column that was found since, and the line end. */
int csv_writer_append_end(const struct csv_writer *writer, size_t columns, struct buffer *ret);
/* The row with the names of the columns so far, and its line end. */
int csv_writer_append_header(struct csv_writer *writer, struct buffer *ret);

DEFINE_CLEANUP(struct csv_writer *, csv_writer_destroy);

#endif
