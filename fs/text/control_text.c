/* SPDX-License-Identifier: MIT */
#include "fs/text/control_text.h"

#include <stdatomic.h>

static void ref_file(struct node_file *file)
{
    (void)control_text_ref(control_text_of_node_file(file));
}

static void unref_file(struct node_file *file)
{
    control_text_unref(control_text_of_node_file(file));
}

static const struct node_file_ops file_ops = {ref_file, unref_file};

int control_text_create(struct buffer *text, bool for_owner, int64_t made_at_100ns,
                        struct control_text **ret)
{
    struct control_text *made = malloc(sizeof(*made));
    if (!made)
        return -ENOMEM;
    *made = (struct control_text){.file = {&file_ops},
                                  .references = 1,
                                  .text = *text,
                                  .for_owner = for_owner,
                                  .made_at_100ns = made_at_100ns};
    buffer_init(text, text->max);
    *ret = made;
    return 0;
}

struct control_text *control_text_ref(struct control_text *text)
{
    (void)atomic_fetch_add(&text->references, 1);
    return text;
}

void control_text_unref(struct control_text *text)
{
    if (!text || atomic_fetch_sub(&text->references, 1) > 1)
        return;
    buffer_finish(&text->text);
    free(text);
}

struct control_text *control_text_of_node_file(struct node_file *file)
{
    return (struct control_text *)file;
}
