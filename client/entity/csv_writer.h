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
 * A column is added when the first entity has its property, unless the columns are given. So the
 * header row can be written only after the last entity, and a row that was made before a column was
 * added has fewer values: csv_writer_append_end appends empty values for the missing ones.
 *
 * Lines end with LF. Values and names are quoted if they have a delimiter, a quote, a line end, a
 * blank at their start or end, or a byte order mark at their start. */
#include "client/entity/entity_line.h"

struct csv_writer;

struct csv_writer_options {
    const char *columns; /* names of properties, "A,B"; NULL: all that the entities have */
    char delimiter;      /* 0: a comma */
    bool keys_only, is_part, has_etag, has_timestamp; /* what each struct entity_line has */
};

/* -EINVAL: a name in `columns` is empty, occurs twice, or is not a property's; -E2BIG: too many
 * names; -ENOMEM. */
int csv_writer_create(const struct csv_writer_options *options, struct csv_writer **ret);
void csv_writer_destroy(struct csv_writer *writer); /* takes NULL */

/* Appends the row of an entity, without its line end. 0; -EPROTO: as entity_line_append; -EILSEQ: a
 * lone surrogate, which UTF-8 cannot contain; -E2BIG: more than CSV_ROWS_COLUMN_MAX columns;
 * -ENOMEM; -EFBIG: of ret. After an error ret has a part of the row. */
int csv_writer_append_row(struct csv_writer *writer, const struct entity_line *line,
                          struct buffer *ret);
/* The number of property columns of the last row. */
size_t csv_writer_columns(const struct csv_writer *writer);
/* Ends a row that has `columns` property columns: appends an empty value for each column that was
 * added since, and the line end. */
int csv_writer_append_end(const struct csv_writer *writer, size_t columns, struct buffer *ret);
/* Appends the header row: the names of all columns so far, and the line end. */
int csv_writer_append_header(struct csv_writer *writer, struct buffer *ret);

DEFINE_CLEANUP(struct csv_writer *, csv_writer_destroy);

#endif
