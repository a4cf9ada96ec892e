/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_CSV_ROWS_H
#define CLIENT_ENTITY_CSV_ROWS_H
/* Reads CSV (RFC 4180) as entities: each row becomes the JSON object that entity_input.h takes.
 *
 *     PartitionKey,RowKey,Count,Count@type,Note,Note@type
 *     1,a,2,Int32,"say ""hi"", you",String
 *
 * becomes {"PartitionKey":"1","RowKey":"a","Count@odata.type":"Edm.Int32","Count":2,
 * "Note@odata.type":"Edm.String","Note":"say \"hi\", you"}.
 *
 * - The first row has the names of the columns; an equal row later, as of a second file, is
 *   skipped. If no column is called PartitionKey or RowKey, the first one with that name in another
 *   case is used.
 * - Column X@type has the type of X in each row, as Azure Storage Explorer writes it: String,
 *   Int32, Int64, Double, Boolean, DateTime, Guid, Binary. If it is empty, the last type in that
 *   column counts, or String. Without such columns every value is a String, or with `infers` a
 *   number, Boolean or time if it looks like one.
 * - An empty value without a type is an absent property; with a type, an empty value of that type.
 * - Blanks around a value belong to it. A byte order mark at the start is skipped.
 * - Timestamp is ignored.
 *
 * Refused rows: a quote inside a value without quotes, text after a value's last quote, a number
 * of values other than that of the columns. Reading resumes in the next line. Values are not
 * checked against their types. */
#include "client/entity/object_source.h"

#define CSV_ROWS_ROW_MAX    ((size_t)8 << 20)
#define CSV_ROWS_COLUMN_MAX ((size_t)4096) /* including those of types */
#define CSV_TYPE_SUFFIX     "@type"        /* follows the name of the property */

/* Accepts `,`, `;`, `|`, a tab, and the word `tab`. */
bool csv_delimiter_parse(const char *text, char *ret);

struct csv_rows_options {
    char delimiter; /* 0: a comma */
    bool infers;    /* without type columns: numbers, true, false and times get these types */
    bool needs_no_partition_key; /* false: a first row without PartitionKey is an error, as one
                                    without RowKey */
};

/* In struct stream_object, only refusals have a column, and their text is the row.
 * object_source_next returns -EBADMSG if PartitionKey or RowKey is not among the columns, if there
 * are too many columns, or at a row of more than CSV_ROWS_ROW_MAX. 0, -ENOMEM. */
int csv_rows_create(const struct csv_rows_options *options, struct object_source **ret);

#endif
