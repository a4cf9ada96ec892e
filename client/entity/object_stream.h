/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_OBJECT_STREAM_H
#define CLIENT_ENTITY_OBJECT_STREAM_H
/* Finds the JSON objects of a byte stream.
 *
 * Objects stand on a line each, over several lines, or several on a line; commas between them do
 * not matter. An array at the top is read as its objects, and so is the list in what a table
 * service answers or `az storage entity query` prints: an array that is called `value` or `items`
 * in an object at the top that has no key before it. What stands around the list is left out:
 *
 *     {"odata.metadata":"...","value":[{...},{...}]}    {"items":[{...},{...}],"nextMarker":{}}
 *
 * A byte order mark before an object or array is skipped, for texts of several editors may follow
 * each other. An object's text is JSON (RFC 8259, strict, UTF-8); what its members are is not
 * looked at.
 *
 * What is no object is refused, and reading goes on:
 * - another JSON value, and an object over OBJECT_SOURCE_OBJECT_MAX: behind its own end;
 * - what is not JSON: at the next line whose first character other than a blank, `[` or `,` is `{`.
 * What is not JSON inside such an array ends the stream by -EBADMSG, as the end of the input does:
 * its objects cannot be told apart from what they contain. So does an object there that nests
 * deeper than JSON_MAX_DEPTH, which is not JSON for the reader.
 *
 * Memory: twice OBJECT_SOURCE_OBJECT_MAX at most. */
#include "client/entity/object_source.h"

int object_stream_create(struct object_source **ret); /* 0, -ENOMEM */

#endif
