/* SPDX-License-Identifier: MIT */
#include "fs/tree/stale_opens.h"
#include "client/locked.h"

#include <bsd/sys/tree.h>
#include <limits.h>
#include <pthread.h>
#include <sys/queue.h>

struct entry {
    pid_t thread;
    uint64_t parent; /* 0 and no name: the key is the thread */
    struct bytes name;
    int64_t begun_ms;
    uint64_t node; /* of the text */
    int64_t looked_up_ms;
    struct entity entity;   /* the text; no page: none yet */
    size_t writers;         /* openers that want a writer: at most 1 unless the thread id is 0 */
    uint64_t minted;        /* the node; 0: none yet */
    uint64_t wanted_parent; /* what is to be written: the last name that was opened */
    size_t wanted_size;
    char wanted_name[NAME_MAX];
    RB_ENTRY(entry) by_opener;
    TAILQ_ENTRY(entry) by_age;
    char name_bytes[];
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_openers(const struct entry *a, const struct entry *b)
{
    int order = compare_numbers((uint64_t)a->thread, (uint64_t)b->thread);
    if (order == 0)
        order = compare_numbers(a->parent, b->parent);
    return order != 0 ? order : bytes_compare(a->name, b->name);
}

RB_HEAD(entry_tree, entry);
RB_GENERATE_INTERNAL(entry_tree, entry, by_opener, compare_openers, static __attribute__((unused)));
TAILQ_HEAD(entry_queue, entry);

struct stale_opens {
    pthread_mutex_t lock;
    /* guarded by lock */
    struct entry_tree openers;
    struct entry_queue ages; /* the oldest first */
    size_t count;
};

int stale_opens_create(struct stale_opens **ret)
{
    struct stale_opens *stale = calloc(1, sizeof(*stale));
    if (!stale)
        return -ENOMEM;
    (void)pthread_mutex_init(&stale->lock, NULL);
    TAILQ_INIT(&stale->ages);
    *ret = stale;
    return 0;
}

static void remove_locked(struct stale_opens *stale, struct entry *entry)
{
    (void)RB_REMOVE(entry_tree, &stale->openers, entry);
    TAILQ_REMOVE(&stale->ages, entry, by_age);
    stale->count--;
    entity_finish(&entry->entity);
    free(entry);
}

void stale_opens_destroy(struct stale_opens *stale)
{
    if (!stale)
        return;
    for (struct entry *entry; (entry = TAILQ_FIRST(&stale->ages)) != NULL;)
        remove_locked(stale, entry);
    (void)pthread_mutex_destroy(&stale->lock);
    free(stale);
}

/* The parts of an opener that its entry is keyed by. */
static struct entry key_of(const struct opener *opener)
{
    if (opener->thread != 0)
        return (struct entry){.thread = opener->thread};
    return (struct entry){.parent = opener->parent, .name = opener->name};
}

static void remove_old_locked(struct stale_opens *stale, int64_t now_ms)
{
    struct entry *oldest;
    while ((oldest = TAILQ_FIRST(&stale->ages)) && now_ms - oldest->begun_ms >= STALE_OPENS_KEPT_MS)
        remove_locked(stale, oldest);
}

static struct entry *find_locked(struct stale_opens *stale, const struct opener *opener,
                                 int64_t now_ms)
{
    struct entry key = key_of(opener);
    remove_old_locked(stale, now_ms);
    return RB_FIND(entry_tree, &stale->openers, &key);
}

/* An entry that is in no map yet. NULL: out of memory. */
static struct entry *entry_create(const struct opener *opener)
{
    struct entry key = key_of(opener);
    struct entry *entry = calloc(1, sizeof(*entry) + key.name.size);
    if (!entry)
        return NULL;
    *entry = key;
    if (key.name.size > 0)
        memcpy(entry->name_bytes, key.name.data, key.name.size);
    entry->name.data = entry->name_bytes;
    return entry;
}

static struct entry *enter_locked(struct stale_opens *stale, const struct opener *opener)
{
    struct entry *entry = entry_create(opener);
    if (!entry)
        return NULL;
    if (stale->count == STALE_OPENS_MAX)
        remove_locked(stale, TAILQ_FIRST(&stale->ages));
    (void)RB_INSERT(entry_tree, &stale->openers, entry);
    TAILQ_INSERT_TAIL(&stale->ages, entry, by_age);
    stale->count++;
    return entry;
}

/* The opener's entry, which begins now. NULL: out of memory. */
static struct entry *begin_locked(struct stale_opens *stale, const struct opener *opener,
                                  int64_t now_ms)
{
    struct entry *entry = find_locked(stale, opener, now_ms);
    if (!entry)
        entry = enter_locked(stale, opener);
    if (!entry)
        return NULL;
    TAILQ_REMOVE(&stale->ages, entry, by_age);
    TAILQ_INSERT_TAIL(&stale->ages, entry, by_age);
    entry->begun_ms = now_ms;
    if (opener->thread != 0) { /* a thread opens one file at a time */
        entry->writers = 0;
        entry->minted = 0;
    }
    return entry;
}

int stale_opens_begin(struct stale_opens *stale, const struct opener *opener, int64_t now_ms)
{
    LOCKED(&stale->lock);
    const struct entry *entry = begin_locked(stale, opener, now_ms);
    return entry ? 0 : -ENOMEM;
}

static void keep_wanted(struct entry *entry, const struct opener *opener)
{
    entry->wanted_parent = opener->parent;
    entry->wanted_size = MIN(opener->name.size, sizeof(entry->wanted_name));
    if (entry->wanted_size > 0)
        memcpy(entry->wanted_name, opener->name.data, entry->wanted_size);
}

/* Is it this name that is to be written? */
static bool is_wanted(const struct entry *entry, const struct opener *opener)
{
    if (entry->writers == 0 || entry->wanted_size == 0)
        return entry->writers > 0; /* of a renamed file: the first name that is looked up */
    return entry->wanted_parent == opener->parent &&
           bytes_equal(opener->name, (struct bytes){entry->wanted_name, entry->wanted_size});
}

int stale_opens_wants_writer(struct stale_opens *stale, const struct opener *opener, int64_t now_ms)
{
    LOCKED(&stale->lock);
    struct entry *entry = begin_locked(stale, opener, now_ms);
    if (entry) {
        entry->writers++;
        keep_wanted(entry, opener);
    }
    return entry ? 0 : -ENOMEM;
}

bool stale_opens_is_writer(struct stale_opens *stale, const struct opener *opener, int64_t now_ms,
                           uint64_t *ret_minted)
{
    LOCKED(&stale->lock);
    const struct entry *entry = find_locked(stale, opener, now_ms);
    bool is_writer = entry && is_wanted(entry, opener);
    if (is_writer)
        *ret_minted = entry->minted;
    return is_writer;
}

uint64_t stale_opens_minted(struct stale_opens *stale, const struct opener *opener, uint64_t before,
                            uint64_t node, int64_t now_ms)
{
    uint64_t minted = node;
    LOCKED(&stale->lock);
    struct entry *entry = find_locked(stale, opener, now_ms);
    if (entry && is_wanted(entry, opener)) {
        if (entry->minted == before)
            entry->minted = node;
        keep_wanted(entry, opener);
        minted = entry->minted;
    }
    return minted;
}

static bool has_entry(struct stale_opens *stale, const struct opener *opener, int64_t now_ms)
{
    LOCKED(&stale->lock);
    return find_locked(stale, opener, now_ms) != NULL;
}

bool stale_opens_has_begun(struct stale_opens *stale, const struct opener *opener, int64_t now_ms)
{
    return opener->thread != 0 && has_entry(stale, opener, now_ms);
}

/* Called at every LOOKUP of an entity: without an entry nothing is copied. A text may be large, so
 * it is copied and freed without the lock. */
int stale_opens_looked_up(struct stale_opens *stale, const struct opener *opener, uint64_t node,
                          const struct entity *entity, int64_t now_ms)
{
    _cleanup_(entity_finish) struct entity copy = {0};
    int r = has_entry(stale, opener, now_ms) ? entity_copy(entity, &copy) : 0;
    if (r < 0 || !copy.page)
        return r;
    LOCKED(&stale->lock);
    struct entry *entry = find_locked(stale, opener, now_ms);
    if (entry) {
        struct entity before = entry->entity;
        entry->entity = copy;
        entry->node = node;
        entry->looked_up_ms = now_ms;
        copy = before;
    }
    return 0;
}

/* Is the text still the opener's own? */
static bool is_in_time(const struct entry *entry, int64_t now_ms)
{
    return entry->thread != 0 || now_ms - entry->looked_up_ms < STALE_OPENS_SHARED_TEXT_MS;
}

bool stale_opens_take_text(struct stale_opens *stale, const struct opener *opener, uint64_t node,
                           int64_t now_ms, struct entity *ret)
{
    LOCKED(&stale->lock);
    struct entry *entry = find_locked(stale, opener, now_ms);
    bool is_there = entry && entry->entity.page && entry->node == node && is_in_time(entry, now_ms);
    if (is_there) {
        *ret = entry->entity;
        entry->entity = (struct entity){0};
    }
    return is_there;
}

void stale_opens_end(struct stale_opens *stale, const struct opener *opener)
{
    struct entry key = key_of(opener);
    LOCKED(&stale->lock);
    struct entry *entry = RB_FIND(entry_tree, &stale->openers, &key);
    if (entry && (opener->thread != 0 || entry->writers == 0))
        remove_locked(stale, entry);
    else if (entry)
        entity_finish(&entry->entity);
}

void stale_opens_end_writer(struct stale_opens *stale, const struct opener *opener)
{
    struct entry key = key_of(opener);
    LOCKED(&stale->lock);
    struct entry *entry = RB_FIND(entry_tree, &stale->openers, &key);
    if (entry && entry->writers > 0)
        entry->writers--;
    if (entry && entry->writers == 0)
        remove_locked(stale, entry);
}
