/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_line.h"
#include "client/base/position.h"
#include "client/text/edm_datetime.h"
#include "client/text/json_string.h"

#include <limits.h>

/* Appends one line of a canonical text, which is `  "NAME": VALUE` and perhaps a comma: without the
 * blanks around the name. */
static int append_member(struct buffer *ret, struct bytes line)
{
    const struct bytes indent = BYTES_LITERAL("  \""), colon = BYTES_LITERAL("\": ");
    if (!bytes_start_with(line, indent))
        return -EPROTO;
    size_t quote = indent.size;
    while (quote < line.size && line.data[quote] != '"')
        quote += line.data[quote] == '\\' ? 2 : 1;
    if (quote > line.size || !bytes_start_with(bytes_skip(line, quote), colon))
        return -EPROTO;
    (void)buffer_append(ret, (struct bytes){line.data + 2, quote});
    return buffer_append(ret, bytes_skip(line, quote + colon.size));
}

/* Appends the members in the first lines of the text, at most `most`, and takes them from it. How
 * many; -EPROTO, -EFBIG, -ENOMEM. */
static int append_members(struct buffer *ret, struct bytes *text, int most)
{
    int n = 0, r = 0;
    for (; r == 0 && n < most && text->size > 0 && text->data[0] == ' '; n++)
        r = append_member(ret, bytes_take_until(text, '\n'));
    return r < 0 ? r : n;
}

/* Appends a member with this string. */
static int append_string(struct buffer *ret, const char *name, struct bytes cesu8)
{
    (void)buffer_append_format(ret, "\"%s\":\"", name);
    int r = json_string_append_of_cesu8(ret, cesu8);
    (void)buffer_append_char(ret, '"');
    return r == -EILSEQ ? -EPROTO : r;
}

static int append_keys(struct buffer *ret, struct bytes position)
{
    int r = append_string(ret, "PartitionKey", position_partition_key(position));
    (void)buffer_append_char(ret, ',');
    return r < 0 ? r : append_string(ret, "RowKey", position_row_key(position));
}

/* What a canonical text leaves out, each with a comma before it. */
static int append_extras(struct buffer *ret, const struct entity_line *line)
{
    if (line->etag.size > 0) {
        (void)buffer_append_char(ret, ',');
        int r = append_string(ret, "odata.etag", line->etag);
        if (r < 0)
            return r;
    }
    if (line->timestamp != 0) {
        (void)buffer_append_string(ret, ",\"Timestamp\":\"");
        (void)edm_datetime_append(ret, line->timestamp);
        (void)buffer_append_char(ret, '"');
    }
    return ret->error;
}

static int append_text(struct buffer *ret, const struct entity_line *line)
{
    struct bytes text = line->text;
    if (!bytes_equal(bytes_take_until(&text, '\n'), BYTES_LITERAL("{")))
        return -EPROTO;
    int n = append_members(ret, &text, 2);
    if (n < 2)
        return n < 0 ? n : -EPROTO;
    bool has_more = ret->data[ret->size - 1] == ',';
    ret->size -= has_more;
    int r = append_extras(ret, line);
    if (has_more)
        (void)buffer_append_char(ret, ',');
    n = r < 0 ? r : append_members(ret, &text, INT_MAX);
    if (n < 0)
        return n;
    return bytes_equal(text, BYTES_LITERAL("}\n")) ? 0 : -EPROTO;
}

int entity_line_append(struct buffer *ret, const struct entity_line *line)
{
    bool is_keys_only = line->text.size == 0;
    (void)buffer_append_char(ret, '{');
    int r = is_keys_only ? append_keys(ret, line->position) : append_text(ret, line);
    if (r == 0 && is_keys_only)
        r = append_extras(ret, line);
    if (r == 0 && (is_keys_only || line->is_part))
        r = buffer_append_string(ret, ",\"" ENTITY_LINE_SELECT "\":true");
    return r < 0 ? r : buffer_append_string(ret, "}\n");
}
