#include "cache/write/write_side.h"

int write_side_init(struct write_side *side, const struct committer_source *source)
{
    *side = (struct write_side){0};
    int r = pending_create(source->clock, &side->pending);
    if (r == 0)
        r = committer_create(source, &side->committer);
    if (r == 0)
        r = local_directories_create(&side->local);
    return r < 0 ? r : read_versions_create(&side->versions);
}

void write_side_finish(struct write_side *side)
{
    read_versions_destroy(side->versions);
    local_directories_destroy(side->local);
    committer_destroy(side->committer);
    pending_destroy(side->pending);
}

int write_side_claim_table(struct write_side *side, const char *table, struct call *call)
{
    struct bytes name = bytes_of(table);
    return pending_claim(side->pending, NULL, &name, 1, call);
}

void write_side_release_table(struct write_side *side, const char *table)
{
    struct bytes name = bytes_of(table);
    pending_release(side->pending, NULL, &name, 1);
}

/* A thread that claims an entity looks at its table afterwards. A thread that claims a table looks
 * at its entities afterwards. So at least one of the two sees the other. A thread that has claimed
 * a position does not wait for a table. */
int write_side_claim(struct write_side *side, struct address address, struct call *call)
{
    for (;;) {
        int r = pending_claim(side->pending, address.table, &address.position, 1, call);
        if (r < 0 || !pending_is_claimed(side->pending, NULL, bytes_of(address.table)))
            return r;
        write_side_release(side, address);
        r = write_side_claim_table(side, address.table, call); /* when it is free */
        if (r < 0)
            return r;
        write_side_release_table(side, address.table);
    }
}

void write_side_release(struct write_side *side, struct address address)
{
    pending_release(side->pending, address.table, &address.position, 1);
}

bool write_side_is_changing(struct write_side *side, const char *table)
{
    return pending_has_claim(side->pending, table);
}
