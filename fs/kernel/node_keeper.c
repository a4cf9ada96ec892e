/* SPDX-License-Identifier: MIT */
#include "fs/kernel/node_keeper.h"
#include "client/base/thread.h"
#include "fs/kernel/channel.h"

#include <malloc.h>
#include <stdatomic.h>

struct node_keeper {
    struct file_system *fs;
    pthread_t thread;
};

/* Prunes `excess` nodes, in messages of at most CHANNEL_PRUNE_MAX. */
static void prune(const struct file_system *fs, size_t excess)
{
    uint64_t ids[CHANNEL_PRUNE_MAX];
    int fd = fuse_session_fd(fs->session);
    size_t wanted = MIN(excess, CHANNEL_PRUNE_MAX), chosen = wanted;
    while (wanted > 0 && chosen == wanted) {
        chosen = inode_table_choose(fs->inodes, ids, wanted);
        if (chosen == 0 || channel_prune(fd, ids, chosen) < 0)
            return;
        excess -= chosen;
        wanted = MIN(excess, CHANNEL_PRUNE_MAX);
    }
}

static void *keep(void *context)
{
    const struct file_system *fs = context;
    struct node_upkeep upkeep;
    while (inode_table_wait(fs->inodes, &upkeep)) {
        if (upkeep.has_freed_many)
            (void)malloc_trim(0);
        if (upkeep.excess > 0 && atomic_load(&fs->prunes_nodes))
            prune(fs, upkeep.excess);
    }
    return NULL;
}

int node_keeper_create(struct file_system *fs, struct node_keeper **ret)
{
    struct node_keeper *keeper = calloc(1, sizeof(*keeper));
    if (!keeper)
        return -ENOMEM;
    keeper->fs = fs;
    int r = thread_create(&keeper->thread, keep, fs);
    if (r != 0) {
        free(keeper);
        return -r;
    }
    *ret = keeper;
    return 0;
}

void node_keeper_destroy(struct node_keeper *keeper)
{
    if (!keeper)
        return;
    inode_table_end_waiting(keeper->fs->inodes);
    (void)pthread_join(keeper->thread, NULL);
    free(keeper);
}
