/* SPDX-License-Identifier: MIT */
#include "fs/tree/filter_name.h"

static int decode(struct bytes name, struct buffer *ret, struct filter_error *ret_error)
{
    for (size_t at = 0; at < name.size; at++) {
        struct bytes rest = bytes_skip(name, at);
        char c = name.data[at];
        if (bytes_start_with(rest, BYTES_LITERAL("#2F")))
            c = '/';
        else if (c == '#' && !bytes_start_with(rest, BYTES_LITERAL("#23"))) {
            *ret_error = (struct filter_error){
                .code = "", .problem = "# is written #23 here, and / is written #2F", .at = at};
            return -EINVAL;
        }
        at += name.data[at] == '#' ? 2 : 0;
        (void)buffer_append_char(ret, c);
    }
    return ret->error;
}

static int check(struct bytes text, struct filter_error *ret_error)
{
    _cleanup_(filter_destroyp) struct filter *filter = NULL;
    return filter_create(text, &filter, ret_error);
}

int filter_name_append(const char *outer, struct bytes name, struct buffer *ret,
                       struct filter_error *ret_error)
{
    _cleanup_(buffer_finish) struct buffer own = {.max = FILTER_MAX_BYTES};
    int r = decode(name, &own, ret_error);
    if (r == 0)
        r = check(buffer_bytes(&own), ret_error);
    if (r < 0 || !outer)
        return r < 0 ? r : buffer_append(ret, buffer_bytes(&own));
    struct bytes text = buffer_bytes(&own);
    (void)buffer_append_format(ret, "(%s) and (%.*s)", outer, (int)text.size, text.data);
    if (ret->error == -EFBIG)
        return -ENAMETOOLONG;
    return ret->error < 0 ? ret->error : check(buffer_bytes(ret), ret_error);
}
