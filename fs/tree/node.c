/* SPDX-License-Identifier: MIT */
#include "fs/tree/node.h"
#include "client/text/timestamp_etag.h"

struct open_text {
    size_t count; /* handles */
    struct entity entity;
};

static struct bytes etag_of(const struct node *node)
{
    return (struct bytes){node->text + node->name_size, node->etag_size};
}

static bool is_regular(const struct version *version)
{
    return timestamp_etag_is_of(version->etag, version->timestamp);
}

static void append(char *text, struct bytes bytes)
{
    if (bytes.size > 0)
        memcpy(text, bytes.data, bytes.size);
}

struct node *node_create(uint64_t parent, struct bytes name, struct place *place,
                         const struct version *version, uint64_t number)
{
    bool is_regular_etag = is_regular(version);
    size_t etag_size = is_regular_etag ? 0 : version->etag.size;
    if (name.size > UINT16_MAX || etag_size > UINT16_MAX) /* no service sends such an ETag */
        return NULL;
    struct node *node = calloc(1, sizeof(*node) + name.size + etag_size);
    if (!node)
        return NULL;
    node->inode.parent = parent;
    node->inode.number = number;
    node->inode.size = version->size;
    node->inode.timestamp = version->timestamp;
    node->is_regular_etag = is_regular_etag;
    node->name_size = (uint16_t)name.size;
    node->etag_size = (uint16_t)etag_size;
    append(node->text, name);
    append(node->text + name.size, bytes_first(version->etag, etag_size));
    node->inode.place = *place;
    *place = (struct place){0};
    return node;
}

void open_text_destroy(struct open_text *open)
{
    if (!open)
        return;
    entity_finish(&open->entity);
    free(open);
}

void node_destroy(struct node *node)
{
    place_finish(&node->inode.place);
    if (node->kind == NODE_VERSION)
        open_text_destroy(node->open);
    else if (node->file)
        node->file->ops->unref(node->file);
    free(node);
}

struct bytes inode_name(const struct inode *inode)
{
    return node_name((const struct node *)inode);
}

enum node_kind inode_kind(const struct inode *inode)
{
    return (enum node_kind)((const struct node *)inode)->kind;
}

bool inode_is_version(const struct inode *inode, const struct version *version)
{
    const struct node *node = (const struct node *)inode;
    if (inode->timestamp != version->timestamp || inode->size != version->size)
        return false;
    return node->is_regular_etag ? is_regular(version) : bytes_equal(etag_of(node), version->etag);
}

bool inode_is_removed(const struct inode *inode)
{
    unsigned char left = atomic_load(&((const struct node *)inode)->left);
    return left == LEFT_REMOVED || left == LEFT_REPLACED;
}

bool inode_is_renamed(const struct inode *inode)
{
    return atomic_load(&((const struct node *)inode)->left) == LEFT_RENAMED;
}

struct version version_of_entity(const struct entity *entity)
{
    return (struct version){.etag = page_etag(entity->page, entity->row),
                            .size = page_text(entity->page, entity->row).size,
                            .timestamp = page_timestamp(entity->page, entity->row)};
}

int node_append_etag(const struct node *node, struct buffer *ret)
{
    char etag[TIMESTAMP_ETAG_SIZE + 1];
    if (!node->is_regular_etag)
        return buffer_append(ret, etag_of(node));
    timestamp_etag_write(node->inode.timestamp, etag);
    return buffer_append(ret, (struct bytes){etag, TIMESTAMP_ETAG_SIZE});
}

int node_open(struct node *node, const struct entity *entity)
{
    if (!node->open)
        node->open = calloc(1, sizeof(*node->open));
    if (!node->open)
        return -ENOMEM;
    if (node->open->count++ == 0)
        node->open->entity = (struct entity){page_ref(entity->page), entity->row};
    return 0;
}

struct open_text *node_close(struct node *node)
{
    return node->open && --node->open->count == 0 ? TAKE_PTR(node->open) : NULL;
}

const struct entity *node_open_entity(const struct node *node)
{
    return node->open ? &node->open->entity : NULL;
}
