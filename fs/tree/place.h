#ifndef FS_TREE_PLACE_H
#define FS_TREE_PLACE_H
/* What a node stands for, made from names: the one place where a path becomes keys, and where a
 * leading dot is seen. Pure; a place owns its strings and does not change. */
#include "cache/address.h"
#include "fs/tree/names.h"

enum place_kind {
    PLACE_DIRECTORY,         /* of the account: place_directory */
    PLACE_ENTITY,            /* place_address */
    PLACE_CONTROL_DIRECTORY, /* .tablefuse */
    PLACE_CONTROL_FILE,      /* place.control_file */
};

enum control_file { CONTROL_STATS, CONTROL_ERRORS, CONTROL_VERSION, CONTROL_CONFIG, CONTROL_FILES };

#define CONTROL_DIRECTORY_NAME ".tablefuse"
extern const char *const control_file_names[CONTROL_FILES];

struct place {
    enum place_kind kind : 8;
    enum directory_kind directory_kind : 8;
    enum directory_kind layout : 8; /* of the account: what its tables are */
    enum control_file control_file : 8;
    bool is_root;
    bool is_given; /* there wherever its parent is, so nobody is asked */
    bool is_cut;   /* not settled: a long key that starts like this; place_of_key settles it */
    char *text;    /* one block: table NUL lo hi; an entity's position is lo */
    uint32_t table_size, lo_size, hi_size;
};

/* table NULL: the account; else that table's directory. layout: DIRECTORY_AUTO or DIRECTORY_FLAT,
 * for every table below. */
int place_root(const char *table, enum directory_kind layout, struct place *ret);
void place_finish(struct place *place);

/* What `name` is in the directory `parent`: 0, -ENOENT (such a name is never there), -ENAMETOOLONG,
 * -ENOTDIR, -ENOMEM. A child's range lies within the parent's. */
int place_child(const struct place *parent, struct bytes name, struct place *ret);
/* The child that a key of the parent's range makes: settles a cut place once its key is found. 0,
 * -ENOMEM, -EPROTO (no such key). */
int place_of_key(const struct place *parent, struct bytes key, struct place *ret);
/* The directory of what starts with `prefix`, in a level or partition. 0, -ENOMEM, -ENOENT: the
 * parent has no prefixes in it, or none but those that are longer than its own and start so. */
int place_of_prefix(const struct place *parent, struct bytes prefix, struct place *ret);

/* Views into the place. Of a cut place: the directory whose listing holds the key, if any does. */
struct directory place_directory(const struct place *place);
struct address place_address(const struct place *place);

/* st_ino of what is no entity: a hash of what the place shows, so the same for every spelling of a
 * path and in every mount. 62 bits, between PLACE_NUMBER_MIN and twice that: never the root's, nor
 * one of those that count up. */
#define PLACE_NUMBER_MIN ((uint64_t)1 << 62)
uint64_t place_number(const struct place *place);

#endif
