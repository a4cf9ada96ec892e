/* SPDX-License-Identifier: MIT */
#include "fs/text/locks.h"
#include "client/base/locked.h"

#include <bsd/sys/tree.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/queue.h>

struct held_lock {
    TAILQ_ENTRY(held_lock) of_file;
    struct lock lock;
    uint64_t handle;
};
TAILQ_HEAD(held_list, held_lock);

struct waiting {
    TAILQ_ENTRY(waiting) of_all;
    struct locked_file *file;
    struct lock lock;
    uint64_t handle;
    void *waiter;
    int error; /* the answer */
};
TAILQ_HEAD(waiting_list, waiting);

struct locked_file {
    LIST_ENTRY(locked_file) of_all;
    RB_ENTRY(locked_file) by_address;
    bool is_named; /* it is in the map */
    struct address address;
    char *address_text;
    size_t handles;
    struct held_list held;
};
RB_HEAD(file_map, locked_file);
LIST_HEAD(file_list, locked_file);

struct locks {
    struct lock_waiters waiters;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct file_map files;
    struct file_list all;        /* also those without an address */
    struct waiting_list waiting; /* in the order of arrival */
    size_t count;                /* held or waiting */
};

static int compare_files(const struct locked_file *a, const struct locked_file *b)
{
    return address_compare(a->address, b->address);
}

RB_GENERATE_INTERNAL(file_map, locked_file, by_address, compare_files,
                     static __attribute__((unused)));

/* Replies to those that no longer wait. */
static void leave(struct locks *locks, struct waiting_list *answered)
{
    (void)pthread_mutex_unlock(&locks->lock);
    for (struct waiting *waiting; (waiting = TAILQ_FIRST(answered)) != NULL;) {
        TAILQ_REMOVE(answered, waiting, of_all);
        locks->waiters.answer(waiting->waiter, waiting->error);
        free(waiting);
    }
}

int locks_create(const struct lock_waiters *waiters, struct locks **ret)
{
    struct locks *locks = calloc(1, sizeof(*locks));
    if (!locks)
        return -ENOMEM;
    (void)pthread_mutex_init(&locks->lock, NULL);
    locks->waiters = *waiters;
    TAILQ_INIT(&locks->waiting);
    *ret = locks;
    return 0;
}

static void drop_held_locked(struct locks *locks, struct locked_file *file, struct held_lock *held)
{
    TAILQ_REMOVE(&file->held, held, of_file);
    locks->count--;
    free(held);
}

/* From now on the file has no address. */
static void detach_locked(struct locks *locks, struct locked_file *file)
{
    if (file->is_named)
        (void)RB_REMOVE(file_map, &locks->files, file);
    file->is_named = false;
    free(TAKE_PTR(file->address_text));
}

static void file_free_locked(struct locks *locks, struct locked_file *file)
{
    for (struct held_lock *held; (held = TAILQ_FIRST(&file->held)) != NULL;)
        drop_held_locked(locks, file, held);
    detach_locked(locks, file);
    LIST_REMOVE(file, of_all);
    free(file);
}

void locks_destroy(struct locks *locks)
{
    if (!locks)
        return;
    for (struct locked_file *file; (file = LIST_FIRST(&locks->all)) != NULL;)
        file_free_locked(locks, file);
    (void)pthread_mutex_destroy(&locks->lock);
    free(locks);
}

static struct locked_file *find_locked(struct locks *locks, struct address address)
{
    return RB_FIND(file_map, &locks->files, &(struct locked_file){.address = address});
}

/* Takes the copy in `text`, which `address` views. */
static void name_locked(struct locks *locks, struct locked_file *file, struct address address,
                        char **text)
{
    file->address = address;
    file->address_text = TAKE_PTR(*text);
    file->is_named = true;
    (void)RB_INSERT(file_map, &locks->files, file);
}

int locks_open(struct locks *locks, struct address address, struct locked_file **ret)
{
    _cleanup_(freep) char *text = malloc(address_size(address));
    _cleanup_(freep) struct locked_file *made = calloc(1, sizeof(*made));
    if (!text || !made)
        return -ENOMEM;
    address = address_copy(address, text);
    LOCKED(&locks->lock);
    *ret = find_locked(locks, address);
    if (!*ret) {
        TAILQ_INIT(&made->held);
        LIST_INSERT_HEAD(&locks->all, made, of_all);
        name_locked(locks, made, address, &text);
        *ret = TAKE_PTR(made);
    }
    (*ret)->handles++;
    return 0;
}

void locks_move(struct locks *locks, struct address from, struct address to)
{
    _cleanup_(freep) char *text = to.table ? malloc(address_size(to)) : NULL;
    if (text)
        to = address_copy(to, text);
    LOCKED(&locks->lock);
    struct locked_file *file = find_locked(locks, from);
    struct locked_file *replaced = to.table ? find_locked(locks, to) : NULL;
    if (replaced && replaced != file)
        detach_locked(locks, replaced);
    if (file && file != replaced) {
        detach_locked(locks, file);
        if (text)
            name_locked(locks, file, to, &text);
    }
}

static bool is_unlock(const struct lock *lock)
{
    return lock->type == F_UNLCK;
}

static bool has_owner(const struct held_lock *held, const struct lock *lock)
{
    return held->lock.is_flock == lock->is_flock && held->lock.owner == lock->owner;
}

static const struct lock *find_conflict_locked(const struct locked_file *file,
                                               const struct lock *lock)
{
    const struct held_lock *held;
    TAILQ_FOREACH(held, &file->held, of_file)
    if (held->lock.is_flock == lock->is_flock && held->lock.owner != lock->owner &&
        held->lock.first <= lock->last && lock->first <= held->lock.last &&
        (held->lock.type == F_WRLCK || lock->type == F_WRLCK))
        return &held->lock;
    return NULL;
}

/* Do they touch each other, and are of one type? Then they become one. */
static bool are_one(const struct lock *a, const struct lock *b)
{
    return a->type == b->type && (a->first == 0 || a->first - 1 <= b->last) &&
           (b->first == 0 || b->first - 1 <= a->last);
}

/* Takes the range of `lock` from a lock of the same owner. `rest`: for what is after the range.
 * True: the rest is used. */
static bool cut_locked(struct locks *locks, struct locked_file *file, struct held_lock *held,
                       const struct lock *lock, struct held_lock *rest)
{
    struct lock *old = &held->lock;
    if (old->last < lock->first || lock->last < old->first)
        return false;
    bool has_rest = old->first < lock->first && lock->last < old->last;
    if (has_rest) {
        *rest = *held;
        rest->lock.first = lock->last + 1;
    }
    if (old->first < lock->first)
        old->last = lock->first - 1;
    else if (lock->last < old->last)
        old->first = lock->last + 1;
    else
        drop_held_locked(locks, file, held);
    return has_rest;
}

static void add_locked(struct locks *locks, struct locked_file *file, struct held_lock *held)
{
    TAILQ_INSERT_TAIL(&file->held, held, of_file);
    locks->count++;
}

/* No other lock conflicts. 0 or -ENOMEM: then nothing has changed. */
static int apply_locked(struct locks *locks, struct locked_file *file, uint64_t handle,
                        const struct lock *lock)
{
    struct held_lock *made = malloc(sizeof(*made)), *rest = malloc(sizeof(*rest)), *held, *next;
    if (!made || !rest) {
        free(made);
        free(rest);
        return -ENOMEM;
    }
    *made = (struct held_lock){.lock = *lock, .handle = handle};
    bool has_rest = false;
    for (held = TAILQ_FIRST(&file->held); held; held = next) {
        next = TAILQ_NEXT(held, of_file);
        if (!has_owner(held, lock))
            continue;
        if (are_one(&held->lock, lock)) {
            made->lock.first = MIN(made->lock.first, held->lock.first);
            made->lock.last = MAX(made->lock.last, held->lock.last);
            drop_held_locked(locks, file, held);
        } else if (cut_locked(locks, file, held, lock, rest)) {
            has_rest = true;
        }
    }
    if (is_unlock(lock))
        free(made);
    else
        add_locked(locks, file, made);
    if (has_rest)
        add_locked(locks, file, rest);
    else
        free(rest);
    return 0;
}

static struct lock unlock_all(bool is_flock, uint64_t owner)
{
    return (struct lock){.is_flock = is_flock, .type = F_UNLCK, .owner = owner, .last = UINT64_MAX};
}

/* Takes the waiter out of the queue. It is in `answered`, to be answered without the mutex. */
static void end_waiting_locked(struct locks *locks, struct waiting *waiting, int error,
                               struct waiting_list *answered)
{
    TAILQ_REMOVE(&locks->waiting, waiting, of_all);
    locks->count--;
    waiting->error = error;
    TAILQ_INSERT_TAIL(answered, waiting, of_all);
}

/* Some locks of the file have ended. */
static void grant_locked(struct locks *locks, struct locked_file *file,
                         struct waiting_list *answered)
{
    struct waiting *waiting = TAILQ_FIRST(&locks->waiting), *next;
    for (; waiting; waiting = next) {
        next = TAILQ_NEXT(waiting, of_all);
        if (waiting->file != file || find_conflict_locked(file, &waiting->lock))
            continue;
        int r = apply_locked(locks, file, waiting->handle, &waiting->lock);
        end_waiting_locked(locks, waiting, r, answered);
        next = TAILQ_FIRST(&locks->waiting); /* it may have given up a part that it held */
    }
}

/* 1 or -errno */
static int wait_locked(struct locks *locks, struct locked_file *file, uint64_t handle,
                       const struct lock *lock, void *waiter)
{
    if (locks->waiters.is_interrupted(waiter))
        return -EINTR;
    struct waiting *waiting = malloc(sizeof(*waiting));
    if (!waiting)
        return -ENOMEM;
    *waiting = (struct waiting){.file = file, .lock = *lock, .handle = handle, .waiter = waiter};
    TAILQ_INSERT_TAIL(&locks->waiting, waiting, of_all);
    locks->count++;
    return 1;
}

static int set_locked(struct locks *locks, struct locked_file *file, uint64_t handle,
                      const struct lock *lock, void *waiter)
{
    const struct lock unlock = unlock_all(true, lock->owner);
    if (!is_unlock(lock) && locks->count >= LOCKS_MAX)
        return -ENOLCK;
    if (is_unlock(lock) || !find_conflict_locked(file, lock))
        return apply_locked(locks, file, handle, lock);
    int r = lock->is_flock ? apply_locked(locks, file, handle, &unlock) : 0; /* as flock(2) says */
    if (r < 0 || !waiter)
        return r < 0 ? r : -EAGAIN;
    return wait_locked(locks, file, handle, lock, waiter);
}

int locks_set(struct locks *locks, struct locked_file *file, uint64_t handle,
              const struct lock *lock, void *waiter)
{
    struct waiting_list answered = TAILQ_HEAD_INITIALIZER(answered);
    (void)pthread_mutex_lock(&locks->lock);
    int r = set_locked(locks, file, handle, lock, waiter);
    grant_locked(locks, file, &answered);
    leave(locks, &answered);
    return r;
}

struct lock locks_test(struct locks *locks, struct locked_file *file, const struct lock *lock)
{
    LOCKED(&locks->lock);
    const struct lock *conflict = find_conflict_locked(file, lock);
    return conflict ? *conflict : (struct lock){.type = F_UNLCK};
}

void locks_flush(struct locks *locks, struct locked_file *file, uint64_t owner)
{
    const struct lock unlock = unlock_all(false, owner);
    (void)locks_set(locks, file, 0, &unlock, NULL);
}

void locks_close(struct locks *locks, struct locked_file *file, uint64_t handle)
{
    struct waiting_list answered = TAILQ_HEAD_INITIALIZER(answered);
    struct held_lock *held, *next;
    (void)pthread_mutex_lock(&locks->lock);
    for (held = TAILQ_FIRST(&file->held); held; held = next) {
        next = TAILQ_NEXT(held, of_file);
        if (held->handle == handle)
            drop_held_locked(locks, file, held);
    }
    grant_locked(locks, file, &answered);
    if (--file->handles == 0)
        file_free_locked(locks, file);
    leave(locks, &answered);
}

void locks_interrupt(struct locks *locks, void *waiter)
{
    struct waiting_list answered = TAILQ_HEAD_INITIALIZER(answered);
    (void)pthread_mutex_lock(&locks->lock);
    struct waiting *waiting = TAILQ_FIRST(&locks->waiting);
    while (waiting && waiting->waiter != waiter)
        waiting = TAILQ_NEXT(waiting, of_all);
    if (waiting)
        end_waiting_locked(locks, waiting, -EINTR, &answered);
    leave(locks, &answered);
}

void locks_end(struct locks *locks)
{
    struct waiting_list answered = TAILQ_HEAD_INITIALIZER(answered);
    (void)pthread_mutex_lock(&locks->lock);
    for (struct waiting *waiting; (waiting = TAILQ_FIRST(&locks->waiting)) != NULL;)
        end_waiting_locked(locks, waiting, -ENOTCONN, &answered);
    leave(locks, &answered);
}
