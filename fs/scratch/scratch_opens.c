/* SPDX-License-Identifier: MIT */
#include "fs/scratch/scratch_opens.h"
#include "client/base/locked.h"

#include <pthread.h>

struct slot {
    pid_t thread; /* 0: free, and without a file */
    int64_t begun_ms;
    struct scratch_file *file; /* a handle; NULL: none yet */
};

struct scratch_opens {
    pthread_mutex_t lock;
    /* guarded by lock */
    struct slot slots[SCRATCH_OPENS_SLOTS];
};

int scratch_opens_create(struct scratch_opens **ret)
{
    struct scratch_opens *opens = calloc(1, sizeof(*opens));
    if (!opens)
        return -ENOMEM;
    (void)pthread_mutex_init(&opens->lock, NULL);
    *ret = opens;
    return 0;
}

void scratch_opens_destroy(struct scratch_opens *opens)
{
    if (!opens)
        return;
    for (size_t i = 0; i < SCRATCH_OPENS_SLOTS; i++)
        scratch_file_close(opens->slots[i].file);
    (void)pthread_mutex_destroy(&opens->lock);
    free(opens);
}

/* NULL: the thread has no slot, or another one has it. */
static struct slot *find_locked(struct scratch_opens *opens, pid_t thread)
{
    struct slot *slot = thread > 0 ? &opens->slots[thread % SCRATCH_OPENS_SLOTS] : NULL;
    return slot && slot->thread == thread ? slot : NULL;
}

static bool is_old(const struct slot *slot, int64_t now_ms)
{
    return now_ms - slot->begun_ms >= SCRATCH_OPENS_KEPT_MS;
}

static bool has_begun(struct scratch_opens *opens, pid_t thread, int64_t now_ms)
{
    LOCKED(&opens->lock);
    const struct slot *slot = find_locked(opens, thread);
    return slot && !is_old(slot, now_ms);
}

/* Frees the slot. Its handle, which the caller closes without the lock; NULL: it had none. */
static struct scratch_file *end_locked(struct slot *slot)
{
    struct scratch_file *file = slot->file;
    *slot = (struct slot){0};
    return file;
}

static void begin(struct scratch_opens *opens, pid_t thread, int64_t now_ms)
{
    struct scratch_file *unused[SCRATCH_OPENS_SLOTS];
    size_t count = 0;
    if (thread <= 0)
        return;
    (void)pthread_mutex_lock(&opens->lock);
    struct slot *own = &opens->slots[thread % SCRATCH_OPENS_SLOTS];
    for (struct slot *slot = opens->slots; slot < opens->slots + SCRATCH_OPENS_SLOTS; slot++)
        if (slot == own || (slot->thread != 0 && is_old(slot, now_ms)))
            unused[count++] = end_locked(slot);
    *own = (struct slot){.thread = thread, .begun_ms = now_ms};
    (void)pthread_mutex_unlock(&opens->lock);
    while (count > 0)
        scratch_file_close(unused[--count]);
}

int scratch_opens_looked_up(struct scratch_opens *opens, pid_t thread, struct scratch_file *file,
                            int64_t now_ms)
{
    if (!has_begun(opens, thread, now_ms))
        return 0;
    int r = file ? scratch_file_open(file) : 0;
    if (r < 0)
        return r;
    (void)pthread_mutex_lock(&opens->lock);
    struct slot *slot = find_locked(opens, thread);
    struct scratch_file *unused = slot ? slot->file : file; /* the kernel may look up twice */
    if (slot)
        slot->file = file;
    (void)pthread_mutex_unlock(&opens->lock);
    scratch_file_close(unused);
    return 0;
}

/* Takes the handle that was kept for the thread. NULL: none was. */
static struct scratch_file *end(struct scratch_opens *opens, pid_t thread)
{
    LOCKED(&opens->lock);
    struct slot *slot = find_locked(opens, thread);
    return slot ? end_locked(slot) : NULL;
}

void scratch_opens_end(struct scratch_opens *opens, pid_t thread)
{
    scratch_file_close(end(opens, thread));
}

int scratch_opens_open(struct scratch_opens *opens, pid_t thread, struct scratch_file *file,
                       int64_t now_ms)
{
    struct scratch_file *kept = end(opens, thread);
    if (kept == file)
        return 0;
    scratch_file_close(kept);
    int r = scratch_file_open(file);
    if (r == -ESTALE)
        begin(opens, thread, now_ms);
    return r;
}
