/* SPDX-License-Identifier: MIT */
#include "fs/kernel/entry.h"

/* The kernel keeps no partition's name for longer in a writable mount, for two reasons. A process
 * that finds the name there uses it without a LOOKUP, and may delete by another path afterwards
 * (cache/who/path_aliases.h). And a directory that was removed by another path must not seem to
 * be there to a process that would make it again. The cache answers the LOOKUPs that this adds.
 * Where it has lost the rows, a LOOKUP sends the request that the listing would have sent. */
#define PARTITION_VALID_MS 10

/* The attributes of a text that is being written: size and time as of now. */
static void attributes_of_writer(const struct file_system *fs, const struct inode *inode,
                                 struct stat *ret)
{
    struct node_file *file = inode_table_file(fs->inodes, inode->id);
    uint64_t size = inode->size;
    int64_t timestamp = 0;
    if (file) {
        struct writer *writer = writer_of_node_file(file);
        size = writer_size(writer);
        timestamp = writer_timestamp(writer);
        writer_unref(writer);
    }
    attributes_of_file(&fs->attributes, inode_table_number(fs->inodes, inode), size,
                       timestamp != 0 ? timestamp : inode->timestamp, ret);
}

static void attributes_of_scratch(const struct file_system *fs, const struct inode *inode,
                                  struct stat *ret)
{
    struct scratch_attributes attributes;
    struct scratch_file *file = scratch_of_node_file(inode_table_file(fs->inodes, inode->id));
    scratch_file_attributes(file, &attributes);
    scratch_file_unref(file);
    attributes_of_file(&fs->attributes, attributes.number, attributes.size, attributes.mtime_100ns,
                       ret);
    ret->st_mode = S_IFREG | attributes.mode;
    ret->st_uid = attributes.uid;
    ret->st_gid = attributes.gid;
    ret->st_nlink = attributes.is_named;
}

static void attributes_of(const struct file_system *fs, const struct inode *inode, struct stat *ret)
{
    switch (inode->place.kind) {
    case PLACE_DROP_DIRECTORY: /* only the owner drops tables */
        attributes_of_directory(&fs->attributes, inode->number, ret);
        ret->st_mode &= S_IFMT | S_IRWXU;
        return;
    case PLACE_DIRECTORY:
    case PLACE_CONTROL_DIRECTORY:
    case PLACE_DROPPED_TABLE:
    case PLACE_SCRATCH_DIRECTORY:
    case PLACE_FILTERS:
        attributes_of_directory(&fs->attributes, inode->number, ret);
        return;
    case PLACE_ENTITY:
    case PLACE_CONTROL_FILE:
        if (inode_kind(inode) == NODE_WRITER) {
            attributes_of_writer(fs, inode, ret);
            return;
        }
        attributes_of_file(&fs->attributes, inode_table_number(fs->inodes, inode), inode->size,
                           inode->timestamp, ret);
        return;
    case PLACE_SCRATCH:
        attributes_of_scratch(fs, inode, ret);
        return;
    }
}

void entry_attributes(const struct file_system *fs, const struct inode *inode, struct stat *ret)
{
    attributes_of(fs, inode, ret);
    if (inode_is_removed(inode))
        ret->st_nlink = 0;
}

double entry_attributes_sec(const struct inode *inode)
{
    return inode_kind(inode) == NODE_VERSION && !inode_is_renamed(inode) ? ATTRIBUTES_VALID_SEC : 0;
}

void entry_of(const struct file_system *fs, const struct inode *inode, int64_t valid_ms,
              struct fuse_entry_param *ret)
{
    if (fs->writers && place_lies_in_partition(&inode->place))
        valid_ms = MIN(valid_ms, PARTITION_VALID_MS);
    bool may_be_kept = inode_kind(inode) == NODE_VERSION;
    *ret = (struct fuse_entry_param){.ino = inode->id,
                                     .entry_timeout = may_be_kept ? (double)valid_ms / 1000 : 0};
    entry_attributes(fs, inode, &ret->attr);
    ret->attr_timeout = entry_attributes_sec(inode); /* after a rename they may not be kept */
}

/* Is the entity open for writing, or about to be? */
static bool is_written(const struct file_system *fs, uint64_t parent, struct bytes name,
                       const struct place *place)
{
    return fs->writers && (writers_is_open(fs->writers, place_address(place)) ||
                           inode_table_has_own(fs->inodes, parent, name));
}

int entry_make(struct file_system *fs, uint64_t parent, struct bytes name, struct place *place,
               const struct entity *entity, int64_t valid_ms, struct fuse_entry_param *ret)
{
    struct version version = {0};
    if (entity)
        version = version_of_entity(entity);
    if (entity && is_written(fs, parent, name, place))
        valid_ms = 0;
    const struct inode *inode = inode_table_enter(fs->inodes, parent, name, place, &version);
    if (!inode)
        return -ENOMEM;
    entry_of(fs, inode, valid_ms, ret);
    return 0;
}

int entry_make_writer(struct file_system *fs, uint64_t parent, struct bytes name,
                      struct place *place, struct writer *writer, struct fuse_entry_param *ret)
{
    const struct version version = {.timestamp = clock_utc_100ns(fs->clock)};
    const struct inode *inode = inode_table_enter_own(fs->inodes, parent, name, place, &version, 0,
                                                      NODE_WRITER, writer_node_file(writer));
    if (!inode)
        return -ENOMEM;
    entry_of(fs, inode, 0, ret);
    return 0;
}

int entry_make_control(struct file_system *fs, uint64_t parent, struct bytes name,
                       struct place *place, struct control_text *text, struct fuse_entry_param *ret)
{
    const struct version version = {.size = text->text.size, .timestamp = text->made_at_100ns};
    const struct inode *inode = inode_table_enter_own(
        fs->inodes, parent, name, place, &version, place_number(place), NODE_CONTROL, &text->file);
    if (!inode)
        return -ENOMEM;
    entry_of(fs, inode, 0, ret);
    return 0;
}

/* The name of the file's node in the table. */
static struct bytes node_name(const uint64_t *number)
{
    return (struct bytes){(const char *)number, sizeof(*number)};
}

void entry_rename_scratch(struct file_system *fs, struct scratch_file *file, uint64_t parent,
                          struct bytes name)
{
    struct scratch_attributes attributes;
    scratch_file_attributes(file, &attributes);
    (void)inode_table_rename_name(fs->inodes, 0, node_name(&attributes.number), parent, name,
                                  attributes.number);
}

int entry_make_scratch(struct file_system *fs, struct place *place, struct scratch_file *file,
                       struct fuse_entry_param *ret)
{
    static const struct version none = {0};
    struct scratch_attributes attributes;
    scratch_file_attributes(file, &attributes);
    struct bytes name = node_name(&attributes.number);
    const struct inode *inode =
        inode_table_enter_own(fs->inodes, 0, name, place, &none, attributes.number, NODE_SCRATCH,
                              scratch_node_file(file));
    if (!inode)
        return -ENOMEM;
    entry_of(fs, inode, 0, ret);
    return 0;
}
