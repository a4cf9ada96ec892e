#include "fs/ops/cut_name.h"

int cut_name_settle(struct request *request, const struct inode *parent, struct bytes name,
                    struct place *place, struct entity *ret)
{
    enum name_kind kind =
        place->directory_kind == DIRECTORY_ENTITIES ? NAME_ENTITY : NAME_PARTITION;
    struct directory candidates = place_directory(place);
    _cleanup_(listing_closep) struct listing *listing = NULL;
    int r = account_list(request->fs->account, &candidates, &listing);
    if (r < 0)
        return call_fail(&request->caller.call, r, "out of memory");
    struct listing_entry entry = {0};
    int is_found = 0;
    while (is_found == 0) {
        r = listing_next(listing, &request->caller, entry.cookie, false, true, &entry);
        if (r == 0 || r == -ESTALE)
            return -ENOENT; /* no key, or no table any more */
        if (r < 0)
            return r;
        is_found = names_is_of(name, kind, entry.key);
    }
    if (is_found < 0)
        return call_fail(&request->caller.call, is_found, "out of memory");
    if (entry.entity.page)
        *ret = (struct entity){page_ref(entry.entity.page), entry.entity.row};
    place_finish(place);
    r = place_of_key(&parent->place, entry.key, place);
    return r == -ENOMEM ? call_fail(&request->caller.call, r, "out of memory") : r;
}
