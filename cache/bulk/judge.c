/* SPDX-License-Identifier: MIT */
#include "cache/bulk/judge.h"
#include "client/entity/entity_check.h"
#include "client/entity/entity_lines.h"
#include "client/entity/entity_names.h"

#define ETAG_MAX_BYTES 127 /* of struct write_result */

struct judge {
    struct judge_options options;
    struct entity_input *input;
    struct entity_names names;
    struct buffer position, text; /* of the last write */
};

int judge_create(const struct judge_options *options, struct judge **ret)
{
    _cleanup_(judge_destroyp) struct judge *judge = calloc(1, sizeof(*judge));
    if (!judge)
        return -ENOMEM;
    judge->options = *options;
    entity_names_init(&judge->names);
    buffer_init(&judge->position, 2 * POSITION_MAX_BYTES + 1); /* two keys of entity_names.h */
    buffer_init(&judge->text, ENTITY_INPUT_MAX_BYTES);
    int r = entity_input_create(&judge->input);
    if (r == 0)
        *ret = TAKE_PTR(judge);
    return r;
}

void judge_destroy(struct judge *judge)
{
    if (!judge)
        return;
    entity_input_destroy(judge->input);
    entity_names_finish(&judge->names);
    buffer_finish(&judge->position);
    buffer_finish(&judge->text);
    free(judge);
}

/* The refusal of a whole object. */
static int refuse(const char *reason, struct entity_input_refusal *ret)
{
    *ret = (struct entity_input_refusal){
        .line = 1,
        .column = 1,
        .refusal = {.error = -EINVAL, .code = "InvalidInput", .reason = reason}};
    return -EINVAL;
}

static int check_keys(struct bytes position, struct entity_input_refusal *ret)
{
    struct entity_total total;
    struct entity_refusal refusal;
    int r = entity_check_keys(position, &total, &refusal);
    if (r < 0)
        *ret = (struct entity_input_refusal){.line = 1, .column = 1, .refusal = refusal};
    return r;
}

static int read_position(struct judge *judge, struct entity_input_refusal *ret_refusal)
{
    struct entity_names *names = &judge->names;
    struct bytes partition_key = judge->options.partition_key;
    if (!partition_key.data && !names->has_partition_key)
        return refuse("no PartitionKey that is a string", ret_refusal);
    if (!names->has_row_key)
        return refuse("no RowKey that is a string", ret_refusal);
    if (!partition_key.data)
        partition_key = buffer_bytes(&names->partition_key);
    buffer_clear(&judge->position);
    int r = position_append(&judge->position, partition_key, buffer_bytes(&names->row_key));
    if (r == -EPROTO)
        return refuse("a key with the character U+0000", ret_refusal);
    return r < 0 ? r : check_keys(buffer_bytes(&judge->position), ret_refusal);
}

/* It becomes a part of a request's header. */
static bool is_etag(struct bytes etag)
{
    static const struct bytes weak = BYTES_LITERAL("W/");
    if (bytes_equal(etag, BYTES_LITERAL("*")))
        return true;
    if (etag.size > ETAG_MAX_BYTES)
        return false;
    if (bytes_start_with(etag, weak))
        etag = bytes_skip(etag, weak.size);
    for (size_t i = 0; i < etag.size; i++)
        if (etag.data[i] <= ' ' || etag.data[i] > '~')
            return false;
    return etag.size > 1 && etag.data[0] == '"' && etag.data[etag.size - 1] == '"';
}

static int choose(const struct judge *judge, struct write *ret,
                  struct entity_input_refusal *ret_refusal)
{
    static const enum write_kind kinds[][2] = {
        [IMPORT_REPLACE] = {WRITE_UPSERT_REPLACE, WRITE_REPLACE},
        [IMPORT_MERGE] = {WRITE_UPSERT_MERGE, WRITE_MERGE},
        [IMPORT_INSERT] = {WRITE_INSERT, WRITE_INSERT},
        [IMPORT_DELETE] = {WRITE_DELETE, WRITE_DELETE},
    };
    const struct entity_names *names = &judge->names;
    enum import_mode mode = judge->options.mode;
    ret->kind = kinds[mode][names->has_etag];
    if (names->has_etag && !is_etag(buffer_bytes(&names->etag)))
        return refuse("odata.etag is no ETag", ret_refusal);
    if (names->has_etag && mode == IMPORT_INSERT)
        return refuse("odata.etag names a version, and insert changes none", ret_refusal);
    if (names->is_select && mode != IMPORT_DELETE && mode != IMPORT_MERGE)
        return refuse("no whole entity (odata.select), which only merge and delete take",
                      ret_refusal);
    bool is_part = names->is_select && mode == IMPORT_MERGE;
    /* an entity that another client has deleted must not be made anew of these properties alone */
    if (is_part)
        ret->kind = WRITE_MERGE;
    if (names->has_etag)
        ret->if_match = buffer_bytes(&names->etag);
    else if (is_part || (mode == IMPORT_DELETE && judge->options.any_version))
        ret->if_match = BYTES_LITERAL("*");
    else if (mode == IMPORT_DELETE)
        return refuse("no odata.etag, and delete needs it without --any-version", ret_refusal);
    return 0;
}

static bool has_property(struct bytes text)
{
    struct entity_lines lines;
    struct entity_property property;
    int r;
    entity_lines_init(&lines, text);
    while ((r = entity_lines_next(&lines, &property)) > 0 && property.role != ENTITY_PROPERTY)
        ;
    return r > 0;
}

int judge_object(struct judge *judge, const struct stream_object *object, struct write *ret,
                 struct entity_input_refusal *ret_ignored, struct entity_input_refusal *ret_refusal)
{
    struct entity_input_ignored ignored = {0};
    struct write write = {0};
    int r = entity_names_read(object->text, &judge->names);
    if (r == -EINVAL)
        return refuse(judge->names.refusal, ret_refusal);
    judge->names.has_etag &= !object->is_listed;
    if (r == 0)
        r = read_position(judge, ret_refusal);
    if (r == 0)
        r = choose(judge, &write, ret_refusal);
    if (r < 0)
        return r;
    write.position = buffer_bytes(&judge->position);
    if (write.kind != WRITE_DELETE) {
        const struct entity_input_over over = {
            .position = write.position,
            .text = object->text,
            .left_out = object->is_of_items ? BYTES_LITERAL("etag") : (struct bytes){NULL, 0},
            .kind = judge->options.mode == IMPORT_MERGE ? INPUT_MERGE : INPUT_WHOLE};
        buffer_clear(&judge->text);
        r = entity_input_append_over(judge->input, &over, &judge->text, &ignored, ret_refusal);
        write.text = buffer_bytes(&judge->text);
    }
    bool is_merge = judge->options.mode == IMPORT_MERGE;
    if (r == 0 && is_merge && judge->names.is_select && !has_property(write.text))
        return refuse("a line of keys alone (odata.select), which only delete takes", ret_refusal);
    if (r == 0) {
        *ret = write;
        *ret_ignored = ignored.annotation;
    }
    return r;
}
