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
 * In a list that a service answered, odata.etag does not count: it would let the list be imported
 * into no other table. The ETag "*" stands for any version that is there. A delete reads the keys
 * and the ETag alone. Only delete and merge take a line that is no whole entity (entity_line.h):
 * replace and insert would remove the other properties. Merge takes none of the keys alone: it
 * would change nothing but the version. What entity_names.h
 * and entity_input.h refuse is refused, of a delete what entity_check.h says of keys. */
#include "client/entity/entity_input.h"
#include "client/entity/object_source.h"
#include "client/store/table_store.h"

enum import_mode { IMPORT_REPLACE, IMPORT_MERGE, IMPORT_INSERT, IMPORT_DELETE };

struct judge_options {
    enum import_mode mode;
    bool any_version;           /* of a delete */
    struct bytes partition_key; /* in CESU-8; counts for every object; data NULL: not given */
};

struct judge;
/* partition_key outlives it. 0 or -ENOMEM. */
int judge_create(const struct judge_options *options, struct judge **ret);
void judge_destroy(struct judge *judge); /* takes NULL */
/* object: no refusal. ret: views that are valid until the next call, as those of the refusals.
 * ret_ignored: what does not count in an object that is taken; without a reason: nothing. 0;
 * -ENOMEM; else refused. */
int judge_object(struct judge *judge, const struct stream_object *object, struct write *ret,
                 struct entity_input_refusal *ret_ignored,
                 struct entity_input_refusal *ret_refusal);

DEFINE_CLEANUP(struct judge *, judge_destroy);

#endif
