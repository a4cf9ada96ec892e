/* SPDX-License-Identifier: MIT */
#include "fs/ops/cut_name.h"

/* Is the place that of a new file, or of a local directory, whose key is not known yet? */
static bool is_made(struct request *request, const struct place *place)
{
    struct file_system *fs = request->fs;
    if (place->kind == PLACE_ENTITY)
        return fs->writers && writers_has_new(fs->writers, place_address(place));
    struct directory directory = place_directory(place);
    return account_has_local(fs->account, &directory);
}

int cut_name_find_known(struct request *request, const struct inode *parent, struct bytes name,
                        struct place *place)
{
    _cleanup_(place_finish) struct place known = {0};
    int r = place_of_unsettled(&parent->place, name, place, &known);
    if (r < 0)
        return r;
    bool is_there = is_made(request, &known);
    r = settler_settle_place(&request->fs->settler, &request->caller, &known, NULL);
    if (r < 0)
        return r;
    if (place_is_unsettled(&known) && !is_there)
        return 0;
    place_finish(place);
    *place = known;
    known = (struct place){0};
    return 1;
}

int cut_name_find_new(struct request *request, struct place *place, struct writer **ret)
{
    struct file_system *fs = request->fs;
    *ret = fs->writers ? writers_find_new(fs->writers, place_address(place)) : NULL;
    if (*ret || !place_is_unsettled(place))
        return 0;
    int r = settler_settle_place(&fs->settler, &request->caller, place, NULL);
    if (r == 0 && fs->writers && !place_is_unsettled(place))
        *ret = writers_find_new(fs->writers, place_address(place));
    return r;
}

void cut_name_settle_node(struct request *request, const struct inode *made)
{
    if (made && place_is_unsettled(&made->place))
        (void)settler_settle(&request->fs->settler, &request->caller, place_address(&made->place),
                             NULL);
}

/* An emptied partition is a local directory, which the listing shows after its entries. Finds its
 * key: 1. 0: there is none. -ENOMEM. *ret_key is a view of *lo. */
static int find_local(struct listing *listing, struct bytes name, struct buffer *lo,
                      struct bytes *ret_key)
{
    _cleanup_(buffer_finish) struct buffer before = {.max = POSITION_MAX_BYTES};
    int r;
    while ((r = listing_next_local(listing, buffer_bytes(&before), lo)) > 0) {
        *ret_key = position_partition_key(buffer_bytes(lo));
        r = names_is_of(name, NAME_PARTITION, *ret_key);
        if (r != 0)
            return r;
        buffer_swap(&before, lo);
    }
    return r;
}

/* The entry with this name: 1. 0: there is none. -errno. */
static int find_listed(struct listing *listing, struct request *request, struct bytes name,
                       enum name_kind kind, struct listing_entry *ret)
{
    int r, is_found = 0;
    *ret = (struct listing_entry){0};
    while (is_found == 0) {
        r = listing_next(listing, &request->caller, ret->cookie, false, true, ret);
        if (r <= 0)
            return r;
        is_found = names_is_of(name, kind, ret->key);
    }
    return is_found;
}

int cut_name_settle(struct request *request, const struct inode *parent, struct bytes name,
                    struct place *place, struct entity *ret)
{
    enum name_kind kind =
        place->directory_kind == DIRECTORY_ENTITIES ? NAME_ENTITY : NAME_PARTITION;
    struct directory candidates = place_directory(place);
    _cleanup_(listing_closep) struct listing *listing = NULL;
    _cleanup_(buffer_finish) struct buffer local = {.max = POSITION_MAX_BYTES};
    int r = account_list(request->fs->account, &candidates, &listing);
    if (r < 0)
        return r;
    struct listing_entry entry;
    r = find_listed(listing, request, name, kind, &entry);
    if (r == 0 && kind == NAME_PARTITION)
        r = find_local(listing, name, &local, &entry.key);
    if (r == 0 || r == -ESTALE)
        return -ENOENT; /* no key, or no table any more */
    if (r < 0)
        return r;
    long_names_put(request->fs->long_names, name, kind, entry.key);
    if (entry.entity.page)
        *ret = (struct entity){page_ref(entry.entity.page), entry.entity.row};
    place_finish(place);
    return place_of_key(&parent->place, entry.key, place);
}
