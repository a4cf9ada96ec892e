/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_CONTROL_TEXT_H
#define FS_TEXT_CONTROL_TEXT_H
/* The text of a file of `.tablefuse/`, as it was made for a LOOKUP. It never changes, so stat, open
 * and read of one node show the same text: the kernel ends splice and sendfile at the size that
 * stat has shown. Any thread. Reference-counted: nodes, open files and the control directory hold
 * references. */
#include "client/base/bytes.h"
#include "fs/tree/inode.h"

struct control_text {
    struct node_file file; /* first */
    _Atomic size_t references;
    struct buffer text;
    bool for_owner;        /* see control_dir_text */
    int64_t made_at_100ns; /* since 1970 */
};

/* Takes *text on success. 0 or -ENOMEM. */
int control_text_create(struct buffer *text, bool for_owner, int64_t made_at_100ns,
                        struct control_text **ret);
struct control_text *control_text_ref(struct control_text *text);
void control_text_unref(struct control_text *text); /* takes NULL */
struct control_text *
control_text_of_node_file(struct node_file *file); /* takes over the reference */

DEFINE_CLEANUP(struct control_text *, control_text_unref);

#endif
