/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_input_refusal.h"
#include "client/base/unicode.h"
#include "client/text/json_reader.h"
#include "client/text/printable.h"

#define MAX_SHOWN_BYTES 48 /* of a name or value */

void entity_input_refusal_locate(struct entity_input_refusal *refusal, struct bytes text,
                                 size_t offset)
{
    static const struct bytes mark = BYTES_LITERAL(JSON_BYTE_ORDER_MARK);
    refusal->line = refusal->column = 1;
    for (size_t i = bytes_start_with(text, mark) ? mark.size : 0; i < offset; i++) {
        bool is_line_end = text.data[i] == '\n';
        refusal->line += is_line_end;
        if (is_line_end)
            refusal->column = 1;
        else
            refusal->column += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    }
}

int entity_input_refuse_json(struct bytes text, size_t offset, const char *problem,
                             struct entity_input_refusal *ret)
{
    struct bytes rest = bytes_skip(text, offset);
    *ret = (struct entity_input_refusal){
        .refusal = {.error = -EINVAL, .code = "InvalidInput", .reason = problem},
        .value = bytes_take_until(&rest, '\n')};
    entity_input_refusal_locate(ret, text, offset);
    return -EINVAL;
}

static void append_shown(struct buffer *ret, struct bytes text)
{
    size_t begin = ret->size;
    struct bytes shown = utf8_first(text, MAX_SHOWN_BYTES);
    (void)buffer_append(ret, shown);
    printable_replace_from(ret, begin);
    if (shown.size < text.size)
        (void)buffer_append(ret, BYTES_LITERAL("..."));
}

int entity_input_refusal_append(struct buffer *ret, const struct entity_input_refusal *refusal)
{
    if (refusal->line > 0)
        (void)buffer_append_format(ret, "line %zu", refusal->line);
    if (refusal->line > 0 && refusal->column > 0)
        (void)buffer_append_format(ret, ", column %zu", refusal->column);
    if (refusal->line > 0)
        (void)buffer_append(ret, BYTES_LITERAL(": "));
    if (refusal->refusal.name.data) {
        append_shown(ret, refusal->refusal.name);
        (void)buffer_append(ret, BYTES_LITERAL(": "));
    }
    (void)buffer_append_string(ret, refusal->refusal.reason);
    if (refusal->value.size > 0) {
        (void)buffer_append(ret, BYTES_LITERAL(": "));
        append_shown(ret, refusal->value);
    }
    return ret->error;
}
