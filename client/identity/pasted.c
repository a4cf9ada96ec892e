/* SPDX-License-Identifier: MIT */
#include "client/identity/pasted.h"

static const struct bytes byte_order_mark = {"\xEF\xBB\xBF", 3};

/* In UTF-8: as shells know them, and as word processors write them. */
static const char *const quotation_marks[] = {
    "\"", "'", "`", "\u201C", "\u201D", "\u201E", "\u2018", "\u2019",
};

static bool is_quoted(struct bytes text)
{
    for (size_t i = 0; i < ARRAY_SIZE(quotation_marks); i++) {
        struct bytes mark = bytes_of(quotation_marks[i]);
        if (bytes_start_with(text, mark) || bytes_end_with(text, mark))
            return true;
    }
    return false;
}

int pasted_clean(const char *what, struct bytes text, struct call *call, struct bytes *ret)
{
    text = bytes_trim(text);
    if (bytes_start_with(text, byte_order_mark))
        text = bytes_trim(bytes_skip(text, byte_order_mark.size));
    if (is_quoted(text))
        return call_fail(call, -EINVAL, "%s begins or ends with a quotation mark: remove it", what);
    *ret = text;
    return 0;
}
