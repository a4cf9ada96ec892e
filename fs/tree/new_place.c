/* SPDX-License-Identifier: MIT */
#include "fs/tree/new_place.h"
#include "client/base/unicode.h"
#include "client/entity/entity_check.h"
#include "client/text/table_name.h"
#include "fs/tree/scratch_name.h"

/* Messages may be cut after 255 bytes: see struct failure. */
#define FILE_OUTSIDE                                                                               \
    "a file is an entity, and entities are in partitions: TABLE/PARTITION/ROWKEY.json"
#define TABLE_RULE "the name of a table is a letter and then 2 to 62 letters and digits"
#define DIRECTORY_INSIDE                                                                           \
    "a partition holds entities, which are files named ROWKEY.json; no directory can be made in "  \
    "it"
#define ENTITY_RULE                                                                                \
    "the name of an entity ends in .json; other files are not stored, and only temporary names "   \
    "are possible for them, as .x, x~ and x.tmp; -o scratch=GLOB adds more"
#define DOT_RULE                                                                                   \
    "the name of a table, partition or entity does not begin with a dot; a key's own first dot "   \
    "is written #2E"
#define NESTED_RULE "a directory with a temporary name holds files alone"
#define FILTERS_RULE                                                                               \
    "nothing is created in .filter: a filter's directory is there as soon as it is named"
#define FILTERED_RULE                                                                              \
    "an empty directory matches no filter: make it in the directory that has .filter"
#define LENGTH_RULE "a name has at most 255 bytes"
#define UTF8_RULE   "a name must be UTF-8"
#define HASH_RULE                                                                                  \
    "# cannot be in a key; in a name it only begins the two hex digits of a byte that cannot be "  \
    "shown, as in #2E for a key's first dot"
#define KEY_RULE "a key cannot have any of / \\ # ? nor control characters"
#define FLAT_RULE                                                                                  \
    "no directories of prefixes are shown here, so no name ends in +; a key's own last + is "      \
    "written #2B"
#define PREFIX_RULE                                                                                \
    "the name of a prefix's directory is the prefix and a +; the prefix has 1 to 240 bytes"
#define OUTSIDE_RULE                                                                               \
    "this directory holds only what begins with its prefix; create the name in the directory of "  \
    "the whole table or partition"
#define LONGER_RULE "this directory holds only longer prefixes that begin with its own"

static int refuse(const char **ret_reason, int error, const char *reason)
{
    *ret_reason = reason;
    return error;
}

static int refuse_name(const char **ret_reason, const char *rule)
{
    return refuse(ret_reason, -EINVAL, rule);
}

static bool is_in_partition(const struct place *parent)
{
    return parent->directory_kind == DIRECTORY_ENTITIES;
}

static enum name_kind kind_of(const struct place *parent, struct bytes name)
{
    if (is_in_partition(parent))
        return NAME_ENTITY;
    return names_is_prefix(name) ? NAME_PREFIX : NAME_PARTITION;
}

static bool is_utf8(struct bytes name)
{
    uint32_t character;
    size_t n = 1;
    for (; name.size > 0 && n > 0; name = bytes_skip(name, n))
        n = utf8_next(name, &character);
    return n > 0;
}

/* The reason why a name stands for no key. */
static const char *rule_of_nothing(struct bytes name, enum name_kind kind)
{
    if (!is_utf8(name))
        return UTF8_RULE;
    if (memchr(name.data, '#', name.size))
        return HASH_RULE;
    bool has_prefix_size = name.size > 1 && name.size <= PREFIX_MAX_BYTES + 1;
    return kind == NAME_PREFIX && !has_prefix_size ? PREFIX_RULE : KEY_RULE;
}

/* The reason why place_child does not know a name in a level or a partition. */
static int refuse_absent(const struct place *parent, struct bytes name, const char **ret_reason)
{
    enum name_kind kind = kind_of(parent, name);
    if (name.size > 0 && name.data[0] == '.')
        return refuse_name(ret_reason, DOT_RULE);
    if (kind == NAME_ENTITY && !bytes_end_with(name, BYTES_LITERAL(".json")))
        return refuse_name(ret_reason, ENTITY_RULE);
    if (kind == NAME_PREFIX && parent->directory_kind == DIRECTORY_FLAT)
        return refuse_name(ret_reason, FLAT_RULE);
    _cleanup_(buffer_finish) struct buffer key = {.max = POSITION_MAX_BYTES};
    enum name_meaning meaning;
    int r = names_decode(name, kind, &key, &meaning);
    if (r < 0)
        return refuse(ret_reason, r, "out of memory");
    if (meaning == NAME_MEANS_NOTHING)
        return refuse_name(ret_reason, rule_of_nothing(name, kind));
    return refuse_name(ret_reason, kind == NAME_PREFIX ? LONGER_RULE : OUTSIDE_RULE);
}

/* The key or prefix that a new child would have, as far as the name shows it. */
static struct bytes key_of(const struct place *parent, const struct place *child)
{
    struct bytes position = place_address(child).position;
    struct bytes key =
        is_in_partition(parent) ? position_row_key(position) : position_partition_key(position);
    return bytes_take_until(&key, KEY_UNSETTLED[0]);
}

/* Makes the place of a cut name, whose key is not known yet. -EINVAL: no key can have the name. */
static int unsettle(const struct place *parent, struct bytes name, struct place *child,
                    const char **ret_reason)
{
    struct place cut = *child;
    *child = (struct place){0};
    int r = place_of_unsettled(parent, name, &cut, child);
    place_finish(&cut);
    if (r < 0)
        return refuse(ret_reason, r, "out of memory");
    struct bytes position = place_address(child).position;
    r = names_is_of(name, kind_of(parent, name),
                    is_in_partition(parent) ? position_row_key(position)
                                            : position_partition_key(position));
    return r < 0    ? refuse(ret_reason, r, "out of memory")
           : r == 0 ? refuse_name(ret_reason, HASH_RULE)
                    : 0;
}

/* Can it be created? */
static int check(const struct place *parent, struct bytes name, const struct place *child,
                 const char **ret_reason)
{
    struct entity_refusal refusal;
    if (child->is_given)
        return refuse(ret_reason, -EEXIST, "the name is part of the mount");
    if (parent->directory_kind == DIRECTORY_TABLES && table_name_is_reserved(name))
        return refuse_name(ret_reason, "the service reserves the name tables, in any case");
    if (parent->directory_kind == DIRECTORY_TABLES)
        return table_name_is_legal(name) ? 0 : refuse_name(ret_reason, TABLE_RULE);
    if (is_in_partition(parent) && child->kind != PLACE_ENTITY)
        return refuse_name(ret_reason, ENTITY_RULE); /* the name of a prefix */
    int r = entity_check_key(key_of(parent, child), &refusal);
    return r < 0 ? refuse(ret_reason, r, KEY_RULE) : 0;
}

static int check_made(int r, const char **ret_reason)
{
    return r < 0 ? refuse(ret_reason, -ENOMEM, "out of memory") : 0;
}

/* In a scratch directory each name is a scratch file's. */
static int make_in_scratch(const struct place *parent, struct bytes name, bool is_directory,
                           struct place *ret, const char **ret_reason)
{
    if (is_directory)
        return refuse_name(ret_reason, NESTED_RULE);
    if (name.size > NAME_MAX_BYTES)
        return refuse(ret_reason, -ENAMETOOLONG, LENGTH_RULE);
    return check_made(place_of_scratch(parent, ret), ret_reason);
}

static int make_scratch_directory(const struct place *parent, struct bytes name, struct place *ret,
                                  const char **ret_reason)
{
    if (name.data[0] != '.')
        return refuse_name(ret_reason, DIRECTORY_INSIDE);
    if (name.size > NAME_MAX_BYTES)
        return refuse(ret_reason, -ENAMETOOLONG, LENGTH_RULE);
    return check_made(place_of_scratch_directory(parent, name, ret), ret_reason);
}

int new_place_child(const struct place *parent, struct bytes name, enum new_kind kind,
                    const char *globs, struct place *ret, const char **ret_reason)
{
    bool is_directory = kind == NEW_DIRECTORY;
    if (place_is_of_control(parent))
        return refuse_name(ret_reason, "nothing can be created in .tablefuse");
    if (parent->kind == PLACE_SCRATCH_DIRECTORY)
        return make_in_scratch(parent, name, is_directory, ret, ret_reason);
    if (parent->kind == PLACE_FILTERS)
        return refuse(ret_reason, -EPERM, FILTERS_RULE);
    if (parent->kind != PLACE_DIRECTORY)
        return refuse(ret_reason, -ENOTDIR, "an entity is a file and holds no names");
    if (is_directory && is_in_partition(parent))
        return make_scratch_directory(parent, name, ret, ret_reason);
    if (is_directory && place_directory(parent).filter)
        return refuse(ret_reason, -EPERM, FILTERED_RULE);
    if (!is_directory && !is_in_partition(parent))
        return refuse_name(ret_reason, FILE_OUTSIDE);
    bool is_temporary = kind == NEW_TEMPORARY_FILE && scratch_name_is_possible(name);
    if (!is_directory && (is_temporary || scratch_name_is(name, globs)))
        return check_made(place_of_scratch(parent, ret), ret_reason);
    _cleanup_(place_finish) struct place child = {0};
    int r = place_child(parent, name, &child);
    if (r == -ENOMEM)
        return refuse(ret_reason, r, "out of memory");
    if (r == -ENAMETOOLONG)
        return refuse(ret_reason, r, LENGTH_RULE);
    if (r == -ENOENT && parent->directory_kind == DIRECTORY_TABLES)
        return refuse_name(ret_reason, TABLE_RULE);
    if (r == -ENOENT)
        return refuse_absent(parent, name, ret_reason);
    if (r == 0 && child.is_cut)
        r = unsettle(parent, name, &child, ret_reason);
    if (r == 0)
        r = check(parent, name, &child, ret_reason);
    if (r < 0)
        return r;
    *ret = child;
    child = (struct place){0};
    return 0;
}
