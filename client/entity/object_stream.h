/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_OBJECT_STREAM_H
#define CLIENT_ENTITY_OBJECT_STREAM_H
/* Finds the JSON objects of a byte stream.
 *
 * An object may take one line or several, and a line may have several objects; commas between them
 * are ignored. An array at the top level is read as its objects. So is the list in an answer of a
 * table service, or in the output of `az storage entity query`: an array called `value` or `items`
 * in a top-level object, if neither PartitionKey nor RowKey is before it. The rest of that object
 * is ignored:
 *
 *     {"odata.metadata":"...","value":[{...},{...}]}    {"items":[{...},{...}],"nextMarker":{}}
 *
 * A byte order mark before an object or array is skipped, because texts of several editors may be
 * concatenated. An object's text is JSON (RFC 8259, strict, UTF-8); its members are not checked.
 *
 * Other input is refused. Reading resumes:
 * - after another JSON value, or an object over OBJECT_SOURCE_OBJECT_MAX: after its end;
 * - after input that is not JSON: at the next line that begins with `{`, if blanks, `[` and `,` are
 *   ignored.
 * Inside an array or list reading does not resume. If there is input that is not JSON, or the input
 * ends there, the stream ends with -EBADMSG, because a `{` that begins a later line may be nested
 * in a broken object. The same is true for an object that nests deeper than JSON_MAX_DEPTH, because
 * the reader cannot read it.
 *
 * Memory: at most twice OBJECT_SOURCE_OBJECT_MAX. */
#include "client/entity/object_source.h"

int object_stream_create(struct object_source **ret); /* 0, -ENOMEM */

#endif
