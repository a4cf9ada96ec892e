#include "fs/entry.h"

void entry_attributes(const struct file_system *fs, const struct inode *inode, struct stat *ret)
{
    switch (inode->place.kind) {
    case PLACE_DIRECTORY:
    case PLACE_CONTROL_DIRECTORY:
        attributes_of_directory(&fs->attributes, inode->number, ret);
        return;
    case PLACE_ENTITY:
        attributes_of_file(&fs->attributes, inode->number, inode->size, inode->timestamp, ret);
        return;
    case PLACE_CONTROL_FILE: /* its text is made at open: the size is 0, the time is now */
        attributes_of_file(&fs->attributes, inode->number, 0, clock_utc_100ns(fs->clock), ret);
        return;
    }
}

double entry_attributes_sec(const struct inode *inode)
{
    return inode->place.kind == PLACE_CONTROL_FILE ? 0 : ATTRIBUTES_VALID_SEC;
}

int entry_make(struct file_system *fs, uint64_t parent, struct bytes name, struct place *place,
               const struct entity *entity, int64_t valid_ms, struct fuse_entry_param *ret)
{
    struct version version = {0};
    if (entity)
        version = version_of_entity(entity);
    uint64_t number = entity ? account_number(fs->account, entity) : place_number(place);
    const struct inode *inode =
        inode_table_enter(fs->inodes, parent, name, place, &version, number);
    if (!inode)
        return -ENOMEM;
    *ret = (struct fuse_entry_param){.ino = inode->id,
                                     .attr_timeout = entry_attributes_sec(inode),
                                     .entry_timeout = (double)valid_ms / 1000};
    entry_attributes(fs, inode, &ret->attr);
    return 0;
}
