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
 * - The first row names the columns; a row that repeats it, as of a second file, is skipped. If no
 *   column is called PartitionKey or RowKey, the first one counts that is so in another case.
 * - X@type is the type of X in each row, as Azure Storage Explorer writes it: String, Int32, Int64,
 *   Double, Boolean, DateTime, Guid, Binary. An empty type is the one that the column had last,
 *   else String. Without any such column every value is a String, or what it looks like.
 * - An empty value without a type is an absent property; with a type it is that type's.
 * - Blanks around a value belong to it. A byte order mark at the begin does not.
 * - Timestamp is ignored.
 *
 * Refused, and reading goes on in the next line: a quote inside a value without quotes, text behind
 * a value's last quote, another number of values than columns. Whether a value is one of its type
 * is not looked at. */
#include "client/entity/object_source.h"

#define CSV_ROWS_ROW_MAX    ((size_t)8 << 20)
#define CSV_ROWS_COLUMN_MAX ((size_t)4096) /* with those of types */
#define CSV_TYPE_SUFFIX     "@type"        /* follows the name of the property */

/* One of `,`, `;`, `|` and a tab, which is also called `tab`. */
bool csv_delimiter_parse(const char *text, char *ret);

struct csv_rows_options {
    char delimiter; /* 0: a comma */
    bool infers;    /* without types: numbers, true, false and times are what they look like */
    bool needs_no_partition_key; /* else a first row without PartitionKey fails, as one without
                                    RowKey does */
};

/* What is refused has a column, an object none. The text of what is refused is the row. -EBADMSG of
 * the source: no PartitionKey or RowKey among the columns, too many of them, or a row of more than
 * CSV_ROWS_ROW_MAX. 0, -ENOMEM. */
int csv_rows_create(const struct csv_rows_options *options, struct object_source **ret);

#endif
