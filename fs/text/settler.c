/* SPDX-License-Identifier: MIT */
#include "fs/text/settler.h"
#include "client/entity/entity_check.h"

/* One of the two keys of an address. */
struct part {
    const char *property, *named; /* for reasons: "RowKey", and what has the name */
    enum name_kind kind;
    struct bytes key;    /* as it is in the address */
    struct buffer name;  /* if that is unsettled */
    struct buffer found; /* the key that it stands for; empty: not known */
};

struct parts {
    struct part partition, row;
};

static int part_init(struct part *part, const char *property, const char *named,
                     enum name_kind kind, struct bytes key)
{
    *part = (struct part){.property = property, .named = named, .kind = kind, .key = key};
    buffer_init(&part->name, NAME_MAX_BYTES);
    buffer_init(&part->found, POSITION_MAX_BYTES);
    return position_is_unsettled(key) ? names_encode(key, kind, &part->name) : 0;
}

static void parts_finish(struct parts *parts)
{
    buffer_finish(&parts->partition.name);
    buffer_finish(&parts->partition.found);
    buffer_finish(&parts->row.name);
    buffer_finish(&parts->row.found);
}

/* Is it the key that the unsettled one stands for? 1, 0, -ENOMEM. */
static int fits(const struct part *part, struct bytes key)
{
    struct bytes rest = part->key, begin = bytes_take_until(&rest, KEY_UNSETTLED[0]);
    if (position_is_unsettled(key) || !bytes_start_with(key, begin))
        return 0;
    return names_is_of(buffer_bytes(&part->name), part->kind, key);
}

/* Finds the key, if the mount has shown the name before. */
static int find_known(const struct settler *settler, struct part *part)
{
    if (part->name.size == 0)
        return 0;
    int r = long_names_find(settler->names, buffer_bytes(&part->name), part->kind, &part->found);
    if (r > 0)
        r = fits(part, buffer_bytes(&part->found));
    if (r <= 0)
        buffer_clear(&part->found);
    return MIN(r, 0);
}

static int parts_init(const struct settler *settler, struct caller *caller, struct address address,
                      struct parts *ret)
{
    struct bytes position = address.position;
    int r = part_init(&ret->partition, "PartitionKey", "the directory's name", NAME_PARTITION,
                      position_partition_key(position));
    int row = part_init(&ret->row, "RowKey", "this name", NAME_ENTITY, position_row_key(position));
    r = MIN(r, row);
    if (r == 0)
        r = find_known(settler, &ret->partition);
    if (r == 0)
        r = find_known(settler, &ret->row);
    return r < 0 ? call_fail(&caller->call, r, "out of memory") : 0;
}

static bool is_missing(const struct part *part)
{
    return part->name.size > 0 && part->found.size == 0;
}

static int check_key(struct call *call, const struct part *part, struct bytes key)
{
    struct entity_refusal refusal;
    if (key.size == 0)
        return call_fail(call, -EINVAL,
                         "the text has no %s: %s is the short form of a long key, which only the "
                         "text can tell",
                         part->property, part->named);
    int r = fits(part, key);
    if (r == 0)
        return call_fail(call, -EINVAL, "the text's %s does not belong to %s", part->property,
                         part->named);
    if (r < 0)
        return call_fail(call, r, "out of memory");
    r = entity_check_key(key, &refusal);
    return r < 0 ? call_fail(call, r, "the text's %s: %s", part->property, refusal.reason) : 0;
}

/* Takes the key that the source has. */
static int take_key(struct caller *caller, struct part *part, struct bytes key)
{
    if (!is_missing(part))
        return 0;
    int r = check_key(&caller->call, part, key);
    if (r < 0)
        return r;
    r = buffer_set(&part->found, key);
    return r < 0 ? call_fail(&caller->call, r, "out of memory") : 0;
}

static int take_keys(struct caller *caller, const struct key_source *source, struct parts *parts)
{
    if (!is_missing(&parts->partition) && !is_missing(&parts->row))
        return 0;
    _cleanup_(buffer_finish) struct buffer partition = {.max = POSITION_MAX_BYTES};
    _cleanup_(buffer_finish) struct buffer row = {.max = POSITION_MAX_BYTES};
    int r = 0;
    if (source->position.size > 0) {
        (void)buffer_append(&partition, position_partition_key(source->position));
        (void)buffer_append(&row, position_row_key(source->position));
        r = MIN(partition.error, row.error);
        if (r < 0)
            return call_fail(&caller->call, r, "out of memory");
    } else {
        r = account_read_keys(caller, source->text, source->begin, &partition, &row);
    }
    if (r == 0)
        r = take_key(caller, &parts->partition, buffer_bytes(&partition));
    return r < 0 ? r : take_key(caller, &parts->row, buffer_bytes(&row));
}

static struct bytes key_of(const struct part *part)
{
    return part->found.size > 0 ? buffer_bytes(&part->found) : part->key;
}

/* Nodes come last: by then the settled address can be looked up. place: one that is not of a node;
 * may be NULL. */
static int apply(const struct settler *settler, struct caller *caller, struct place *place,
                 const struct settlement *settlement)
{
    int r = account_settle(settler->account, settlement);
    if (r == 0 && settler->writers)
        r = writers_settle(settler->writers, settlement);
    if (r == 0 && settler->scratch)
        r = scratch_settle(settler->scratch, settlement);
    if (r == 0)
        r = inode_table_settle(settler->inodes, settlement);
    if (r == 0 && place)
        r = place_settle(place, settlement);
    return r < 0 ? call_fail(&caller->call, r, "out of memory") : 0;
}

/* Settles the partition first, and then the row in that. */
static int apply_parts(const struct settler *settler, struct caller *caller, struct place *place,
                       const char *table, const struct parts *parts)
{
    const struct part *partition = &parts->partition, *row = &parts->row;
    _cleanup_(buffer_finish) struct buffer from = {.max = POSITION_MAX_BYTES};
    _cleanup_(buffer_finish) struct buffer to = {.max = POSITION_MAX_BYTES};
    (void)position_append(&from, key_of(partition), row->key);
    (void)position_append(&to, key_of(partition), key_of(row));
    int r = MIN(from.error, to.error);
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    const struct settlement of_partition = {table, partition->key, key_of(partition)};
    const struct settlement of_row = {table, buffer_bytes(&from), buffer_bytes(&to)};
    if (partition->found.size > 0)
        r = apply(settler, caller, place, &of_partition);
    if (r == 0 && row->found.size > 0)
        r = apply(settler, caller, place, &of_row);
    return r;
}

static void note_shown(const struct settler *settler, const struct part *part)
{
    long_names_put(settler->names, buffer_bytes(&part->name), part->kind,
                   buffer_bytes(&part->found));
}

static int settle(const struct settler *settler, struct caller *caller, struct address address,
                  struct place *place, const struct key_source *source)
{
    _cleanup_(parts_finish) struct parts parts;
    int r = parts_init(settler, caller, address, &parts);
    if (r == 0 && source)
        r = take_keys(caller, source, &parts);
    if (r < 0)
        return r;
    note_shown(settler, &parts.partition);
    note_shown(settler, &parts.row);
    return apply_parts(settler, caller, place, address.table, &parts);
}

int settler_settle(const struct settler *settler, struct caller *caller, struct address address,
                   const struct key_source *source)
{
    return settle(settler, caller, address, NULL, source);
}

int settler_settle_place(const struct settler *settler, struct caller *caller, struct place *place,
                         const struct key_source *source)
{
    return place_is_unsettled(place) ? settle(settler, caller, place_address(place), place, source)
                                     : 0;
}
