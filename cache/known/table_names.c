/* SPDX-License-Identifier: MIT */
#include "cache/known/table_names.h"
#include "client/base/unicode.h"
#include "client/text/table_name.h"

static void note(struct left_out *ret, struct bytes name)
{
    ret->hash = bytes_hash(ret->count == 0 ? BYTES_HASH_START : ret->hash, name);
    if (ret->count++ > 0)
        return;
    struct bytes example = utf8_first(name, sizeof(ret->example) - 1);
    memcpy(ret->example, example.data, example.size);
}

void table_names_leave_out(struct buffer *names, struct left_out *ret)
{
    size_t kept = 0;
    *ret = (struct left_out){0};
    for (size_t i = 0; i < names->size;) {
        struct bytes name = bytes_of(names->data + i);
        i += name.size + 1;
        if (!table_name_is_shown(name)) {
            note(ret, name);
            continue;
        }
        memmove(names->data + kept, name.data, name.size + 1);
        kept += name.size + 1;
    }
    names->size = kept;
}

struct failure table_names_failure(const struct left_out *left_out)
{
    struct call call = {0};
    (void)call_fail(&call, -EPROTO,
                    left_out->count == 1
                        ? "%zu table is left out of the list, because no path can have its name: %s"
                        : "%zu tables are left out of the list, because no path can have their "
                          "names, the first of which is %s",
                    left_out->count, left_out->example);
    call.failure.advice = "read such a table with another program";
    return call.failure;
}
