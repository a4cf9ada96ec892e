/* SPDX-License-Identifier: MIT */
#ifndef CACHE_BULK_JUDGE_H
#define CACHE_BULK_JUDGE_H
/* What an import makes of one JSON object: a write, or a refusal. Sends nothing. One thread.
 *
 *     mode \ the object    without odata.etag             with odata.etag
 *     replace              upsert that replaces           replace of that version
 *     merge                upsert that merges             merge into that version
 *     insert               insert                         refused: it would change no version
 *     delete               refused; any_version: delete   delete of that version
 *
 * In an answer of the service, that is, a list of entities, odata.etag is ignored: else the list
 * could not be imported into another table. The ETag "*" stands for any version that exists. A
 * delete reads only the keys and the ETag. Only delete and merge accept a line that is no whole
 * entity (entity_line.h), because replace and insert would remove the missing properties. Merge
 * refuses a line that has only keys, because it would change nothing but the version. What
 * entity_names.h and entity_input.h refuse is refused; for a delete, what entity_check.h refuses in
 * keys. */
#include "client/entity/entity_input.h"
#include "client/entity/object_source.h"
#include "client/store/table_store.h"

enum import_mode { IMPORT_REPLACE, IMPORT_MERGE, IMPORT_INSERT, IMPORT_DELETE };

struct judge_options {
    enum import_mode mode;
    bool any_version;           /* of a delete */
    struct bytes partition_key; /* of every object, in CESU-8; data NULL: each has its own */
};

struct judge;
/* partition_key outlives it. 0 or -ENOMEM. */
int judge_create(const struct judge_options *options, struct judge **ret);
void judge_destroy(struct judge *judge); /* takes NULL */
/* `object` is an object, and not the parser's refusal of one. 0: it becomes the write in ret, and
 * ret_ignored says which part of it is ignored; without a reason: none is. -ENOMEM. Another -errno:
 * refused, for ret_refusal. All views are valid until the next call. */
int judge_object(struct judge *judge, const struct stream_object *object, struct write *ret,
                 struct entity_input_refusal *ret_ignored,
                 struct entity_input_refusal *ret_refusal);

DEFINE_CLEANUP(struct judge *, judge_destroy);

#endif
