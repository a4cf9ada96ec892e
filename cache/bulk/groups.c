/* SPDX-License-Identifier: MIT */
#include "cache/bulk/groups.h"

#include <assert.h>
#include <bsd/sys/tree.h>
#include <sys/queue.h>

#define MALLOC_BYTES 16 /* overhead of an allocation */

struct row {
    struct grouped grouped; /* first */
    TAILQ_ENTRY(row) next;
    uint64_t hash; /* of the position; only makes a search among the rows of a group faster */
    size_t request_bytes, memory_bytes;
    char data[]; /* position, ETag, text */
};

struct group {
    TAILQ_ENTRY(group) next;
    TAILQ_HEAD(row_queue, row) rows;
    size_t n, request_bytes, memory_bytes;
};

/* A partition is in the tree while it has a group, or a batch in flight. */
struct partition {
    RB_ENTRY(partition) by_key;
    TAILQ_ENTRY(partition) ranked;
    TAILQ_HEAD(group_queue, group) groups;
    size_t rank; /* of the list that it is in; 0: in none */
    bool is_out;
    struct bytes key; /* a view of data, or of the key that is searched for */
    char data[];
};

/* Not a hash: keys are hostile input, so a hash would need a secret. */
static int compare_keys(const struct partition *a, const struct partition *b)
{
    return bytes_compare(a->key, b->key);
}

RB_HEAD(partition_tree, partition);
RB_GENERATE_INTERNAL(partition_tree, partition, by_key, compare_keys,
                     static __attribute__((unused)));

#define RANK_READY (GROUPS_BATCH_MAX + 1)

struct groups {
    struct groups_limits limits;
    size_t rows, bytes, out_bytes;
    /* Partitions that have a group and no batch in flight: by the rows of their first group, or
     * RANK_READY. */
    TAILQ_HEAD(ranked, partition) ranks[RANK_READY + 1];
    struct partition_tree partitions;
};

int groups_create(const struct groups_limits *limits, struct groups **ret)
{
    struct groups *groups = calloc(1, sizeof(*groups));
    if (!groups)
        return -ENOMEM;
    assert(limits->batch_rows > 0 && limits->batch_rows <= GROUPS_BATCH_MAX);
    groups->limits = *limits;
    for (size_t i = 0; i <= RANK_READY; i++)
        TAILQ_INIT(&groups->ranks[i]);
    *ret = groups;
    return 0;
}

static size_t partition_bytes(const struct partition *partition)
{
    return sizeof(*partition) + partition->key.size + MALLOC_BYTES;
}

static void free_group(struct group *group)
{
    for (struct row *row; (row = TAILQ_FIRST(&group->rows));) {
        TAILQ_REMOVE(&group->rows, row, next);
        free(row);
    }
    free(group);
}

static void free_partition(struct partition *partition)
{
    assert(!partition->is_out);
    for (struct group *group; (group = TAILQ_FIRST(&partition->groups));) {
        TAILQ_REMOVE(&partition->groups, group, next);
        free_group(group);
    }
    free(partition);
}

void groups_destroy(struct groups *groups)
{
    if (!groups)
        return;
    for (struct partition *partition; (partition = RB_ROOT(&groups->partitions));) {
        (void)RB_REMOVE(partition_tree, &groups->partitions, partition);
        free_partition(partition);
    }
    free(groups);
}

size_t groups_waiting(const struct groups *groups)
{
    return groups->rows;
}

static bool is_ready(const struct groups *groups, const struct group *group)
{
    return TAILQ_NEXT(group, next) || group->n == groups->limits.batch_rows ||
           group->request_bytes >= groups->limits.batch_bytes;
}

static void update_rank(struct groups *groups, struct partition *partition)
{
    const struct group *first = partition->is_out ? NULL : TAILQ_FIRST(&partition->groups);
    size_t wanted = !first ? 0 : is_ready(groups, first) ? RANK_READY : first->n;
    if (wanted == partition->rank)
        return;
    if (partition->rank > 0)
        TAILQ_REMOVE(&groups->ranks[partition->rank], partition, ranked);
    partition->rank = wanted;
    if (wanted > 0)
        TAILQ_INSERT_TAIL(&groups->ranks[wanted], partition, ranked);
}

static struct partition *create_partition(struct groups *groups, struct bytes key)
{
    struct partition *partition = calloc(1, sizeof(*partition) + key.size);
    if (!partition)
        return NULL;
    TAILQ_INIT(&partition->groups);
    partition->key = (struct bytes){partition->data, key.size};
    if (key.size > 0)
        memcpy(partition->data, key.data, key.size);
    (void)RB_INSERT(partition_tree, &groups->partitions, partition);
    groups->bytes += partition_bytes(partition);
    return partition;
}

static void forget_idle(struct groups *groups, struct partition *partition)
{
    if (partition->is_out || !TAILQ_EMPTY(&partition->groups))
        return;
    (void)RB_REMOVE(partition_tree, &groups->partitions, partition);
    groups->bytes -= partition_bytes(partition);
    free(partition);
}

static struct bytes copy(char **at, struct bytes bytes)
{
    char *data = *at;
    if (bytes.size > 0)
        memcpy(data, bytes.data, bytes.size);
    *at += bytes.size;
    return (struct bytes){data, bytes.size};
}

static size_t row_bytes(const struct write *write)
{
    return sizeof(struct row) + write->position.size + write->if_match.size + write->text.size +
           MALLOC_BYTES;
}

static struct row *create_row(const struct write *write, size_t request_bytes, uint64_t line)
{
    size_t size = row_bytes(write);
    struct row *row = malloc(size - MALLOC_BYTES);
    if (!row)
        return NULL;
    char *at = row->data;
    *row = (struct row){.grouped = {.write = {.kind = write->kind}, .line = line, .objects = 1},
                        .hash = bytes_hash(BYTES_HASH_START, write->position),
                        .request_bytes = request_bytes,
                        .memory_bytes = size};
    row->grouped.write.position = copy(&at, write->position);
    row->grouped.write.if_match = copy(&at, write->if_match);
    row->grouped.write.text = copy(&at, write->text);
    return row;
}

static void insert(struct groups *groups, struct group *group, struct row *row)
{
    TAILQ_INSERT_TAIL(&group->rows, row, next);
    group->n++;
    group->request_bytes += row->request_bytes;
    group->memory_bytes += row->memory_bytes;
    groups->rows++;
    groups->bytes += row->memory_bytes;
}

static void remove_row(struct groups *groups, struct group *group, struct row *row)
{
    TAILQ_REMOVE(&group->rows, row, next);
    group->n--;
    group->request_bytes -= row->request_bytes;
    group->memory_bytes -= row->memory_bytes;
    groups->rows--;
    groups->bytes -= row->memory_bytes;
}

static struct row *find_row(const struct group *group, const struct row *like)
{
    struct bytes position = like->grouped.write.position;
    struct row *row = TAILQ_FIRST(&group->rows);
    while (row && (row->hash != like->hash || !bytes_equal(row->grouped.write.position, position)))
        row = TAILQ_NEXT(row, next);
    return row;
}

/* Does the row make the earlier one needless, whatever is stored? */
static bool supersedes(const struct row *row, const struct row *earlier)
{
    return row->grouped.write.kind == WRITE_UPSERT_REPLACE &&
           earlier->grouped.write.kind == WRITE_UPSERT_REPLACE;
}

/* Puts the row into the group if it belongs there. */
static bool join(struct groups *groups, struct group *group, struct row *row)
{
    struct row *same = find_row(group, row);
    size_t rows = group->n - !!same;
    size_t bytes = group->request_bytes - (same ? same->request_bytes : 0);
    if ((same && !supersedes(row, same)) || rows == groups->limits.batch_rows ||
        (rows > 0 && bytes + row->request_bytes > groups->limits.batch_bytes))
        return false;
    if (same) {
        row->grouped.objects += same->grouped.objects;
        remove_row(groups, group, same);
        free(same);
    }
    insert(groups, group, row);
    return true;
}

static int place(struct groups *groups, struct partition *partition, struct row *row)
{
    struct group *last = TAILQ_LAST(&partition->groups, group_queue);
    if (last && join(groups, last, row))
        return 0;
    struct group *group = calloc(1, sizeof(*group));
    if (!group)
        return -ENOMEM;
    TAILQ_INIT(&group->rows);
    group->memory_bytes = sizeof(*group) + MALLOC_BYTES;
    groups->bytes += group->memory_bytes;
    TAILQ_INSERT_TAIL(&partition->groups, group, next);
    insert(groups, group, row);
    return 0;
}

int groups_add(struct groups *groups, const struct write *write, size_t request_bytes,
               uint64_t line)
{
    if (groups->rows > 0 && groups->bytes + row_bytes(write) > groups->limits.max_bytes)
        return -EAGAIN;
    _cleanup_(freep) struct row *row = create_row(write, request_bytes, line);
    if (!row)
        return -ENOMEM;
    struct partition wanted = {.key = position_partition_key(row->grouped.write.position)};
    struct partition *partition = RB_FIND(partition_tree, &groups->partitions, &wanted);
    if (!partition)
        partition = create_partition(groups, wanted.key);
    if (!partition)
        return -ENOMEM;
    int r = place(groups, partition, row);
    if (r == 0) {
        row = NULL;
        update_rank(groups, partition);
    } else {
        forget_idle(groups, partition);
    }
    return r;
}

static int compare_rows(const void *a, const void *b)
{
    const struct grouped *const *left = a, *const *right = b;
    return bytes_compare((*left)->write.position, (*right)->write.position);
}

static struct partition *choose(struct groups *groups, bool takes_any)
{
    size_t least = takes_any ? 1 : RANK_READY;
    struct partition *partition = NULL;
    for (size_t i = RANK_READY; !partition && i >= least; i--)
        partition = TAILQ_FIRST(&groups->ranks[i]);
    return partition;
}

bool groups_take(struct groups *groups, bool takes_any, struct groups_batch *ret)
{
    struct partition *partition = choose(groups, takes_any);
    struct group *group = partition ? TAILQ_FIRST(&partition->groups) : NULL;
    if (!group || (groups->out_bytes > 0 &&
                   groups->out_bytes + group->memory_bytes > groups->limits.max_out_bytes))
        return false;
    TAILQ_REMOVE(&partition->groups, group, next);
    partition->is_out = true;
    update_rank(groups, partition);
    *ret = (struct groups_batch){.partition = partition, .bytes = group->memory_bytes};
    for (const struct row *row = TAILQ_FIRST(&group->rows); row; row = TAILQ_NEXT(row, next))
        ret->changes[ret->n++] = &row->grouped;
    qsort(ret->changes, ret->n, sizeof(struct grouped *), compare_rows);
    groups->rows -= ret->n;
    groups->bytes -= group->memory_bytes;
    groups->out_bytes += group->memory_bytes;
    free(group);
    return true;
}

void groups_end(struct groups *groups, struct groups_batch *batch)
{
    struct partition *partition = batch->partition;
    groups->out_bytes -= batch->bytes;
    for (size_t i = 0; i < batch->n; i++)
        free((void *)batch->changes[i]); /* the row, which begins with it */
    batch->n = 0;
    partition->is_out = false;
    update_rank(groups, partition);
    forget_idle(groups, partition);
}
