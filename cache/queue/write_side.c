/* SPDX-License-Identifier: MIT */
#include "cache/queue/write_side.h"

static int create_queue(struct write_side *side, const struct committer_source *source,
                        const struct batch_committer *queued, size_t pending_bytes)
{
    const struct table_store_limits *store = table_store_limits(source->store);
    struct pending_limits limits = {.max_bytes = pending_bytes,
                                    .batch_writes = store->batch_writes,
                                    .batch_bytes = store->batch_bytes};
    struct batch_committer committer = *queued;
    struct committer_source with_versions = *source;
    with_versions.versions = side->versions;
    int r = pending_create(&limits, source->clock, &side->pending);
    if (r == 0)
        r = committer_create(&with_versions, &side->committer);
    committer.committer = side->committer;
    return r < 0 ? r : commit_threads_create(side->pending, &committer, &side->threads);
}

int write_side_init(struct write_side *side, const struct committer_source *source,
                    const struct batch_committer *queued, size_t pending_bytes)
{
    *side = (struct write_side){0};
    int r = delete_policy_create(&side->policy);
    if (r == 0)
        r = read_versions_create(source->clock, &side->versions);
    if (r == 0)
        r = create_queue(side, source, queued, pending_bytes);
    if (r == 0)
        r = local_directories_create(source->orders, &side->local);
    if (r == 0)
        r = path_aliases_create(source->clock, &side->aliases);
    return r;
}

void write_side_finish(struct write_side *side)
{
    path_aliases_destroy(side->aliases);
    local_directories_destroy(side->local);
    commit_threads_destroy(side->threads);
    committer_destroy(side->committer);
    pending_destroy(side->pending);
    read_versions_destroy(side->versions);
    delete_policy_destroy(side->policy);
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

static int claim_rows(struct write_side *side, const struct address *rows, size_t n,
                      struct call *call)
{
    for (size_t i = 0; i < n; i++) {
        int r = pending_claim(side->pending, rows[i].table, &rows[i].position, 1, call);
        while (r < 0 && i-- > 0)
            write_side_release(side, rows[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The first of their tables that is claimed; NULL: none. */
static const char *find_claimed_table(struct write_side *side, const struct address *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pending_is_changing(side->pending, NULL, bytes_of(rows[i].table)))
            return rows[i].table;
    return NULL;
}

/* A thread that claims an entity then checks its table. A thread that claims a table then checks
 * its entities. So at least one of the two sees the other. A thread that has claimed a position
 * does not wait for a table. */
static int claim(struct write_side *side, const struct address *rows, size_t n, struct call *call)
{
    for (;;) {
        int r = claim_rows(side, rows, n, call);
        const char *table = r < 0 ? NULL : find_claimed_table(side, rows, n);
        if (!table)
            return r;
        for (size_t i = 0; i < n; i++)
            write_side_release(side, rows[i]);
        r = write_side_claim_table(side, table, call); /* waits until it is free */
        if (r < 0)
            return r;
        write_side_release_table(side, table);
    }
}

int write_side_claim(struct write_side *side, struct address address, struct call *call)
{
    return claim(side, &address, 1, call);
}

int write_side_claim_both(struct write_side *side, struct address a, struct address b,
                          struct call *call)
{
    bool is_ordered = address_compare(a, b) < 0;
    const struct address rows[] = {is_ordered ? a : b, is_ordered ? b : a};
    return claim(side, rows, ARRAY_SIZE(rows), call);
}

void write_side_release(struct write_side *side, struct address address)
{
    pending_release(side->pending, address.table, &address.position, 1);
}
