/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_FILTER_NAME_H
#define FS_TREE_FILTER_NAME_H
/* The name of a directory in `.filter`: a filter (client/filter/filter.h), in which a `/` is
 * written #2F and a `#` is written #23. Pure. */
#include "client/filter/filter.h"

/* The maximum of the joined text of nested filters: each directory below has a copy of it. */
#define FILTER_NAME_MAX_BYTES ((size_t)2048)

/* Appends the filter's text. outer: the filter of the directory that contains this one; the joined
 * text matches if both do; NULL: none. 0; -EINVAL: ret_error says why, with the offset of the byte
 * in the name's filter; or in the joined text, if only that is wrong (nested too deep);
 * -ENAMETOOLONG: the joined text has more than FILTER_NAME_MAX_BYTES; -ENOMEM. */
int filter_name_append(const char *outer, struct bytes name, struct buffer *ret,
                       struct filter_error *ret_error);

#endif
