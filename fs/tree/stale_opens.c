/* SPDX-License-Identifier: MIT */
#include "fs/tree/stale_opens.h"
#include "client/base/locked.h"
#include "client/base/map.h"

#include <limits.h>

struct entry { /* of an opener. The oldest is the least recently used */
    struct map_item item;
    bool is_of_thread;
    int64_t begun_ms;
    uint64_t node; /* of the text */
    int64_t looked_up_ms;
    struct entity entity;   /* the text; no page: none yet */
    size_t writers;         /* openers that want a writer: at most 1 unless the thread id is 0 */
    uint64_t minted;        /* the node; 0: none yet */
    uint64_t wanted_parent; /* what is to be written: the last name that was opened */
    size_t wanted_size;
    char wanted_name[NAME_MAX];
};

struct stale_opens {
    pthread_mutex_t lock;
    /* guarded by lock */
    struct map openers;
};

int stale_opens_create(struct stale_opens **ret)
{
    struct stale_opens *stale = calloc(1, sizeof(*stale));
    if (!stale)
        return -ENOMEM;
    (void)pthread_mutex_init(&stale->lock, NULL);
    map_init(&stale->openers);
    *ret = stale;
    return 0;
}

static void remove_locked(struct stale_opens *stale, struct entry *entry)
{
    map_remove(&stale->openers, entry);
    entity_finish(&entry->entity);
    free(entry);
}

void stale_opens_destroy(struct stale_opens *stale)
{
    if (!stale)
        return;
    while (stale->openers.count > 0)
        remove_locked(stale, map_oldest(&stale->openers));
    (void)pthread_mutex_destroy(&stale->lock);
    free(stale);
}

/* The key of an opener is its thread; without one, what it opens. It views the opener and ids. */
static struct map_key key_of(const struct opener *opener, uint64_t ids[2])
{
    bool has_thread = opener->thread != 0;
    struct map_key key = {.head = {(const char *)ids, 2 * sizeof(*ids)}};
    ids[0] = (uint64_t)opener->thread;
    ids[1] = has_thread ? 0 : opener->parent;
    if (!has_thread)
        key.tail = opener->name;
    return key;
}

static struct entry *find_kept_locked(struct stale_opens *stale, const struct opener *opener)
{
    uint64_t ids[2];
    return map_find(&stale->openers, key_of(opener, ids));
}

static struct entry *find_locked(struct stale_opens *stale, const struct opener *opener,
                                 int64_t now_ms)
{
    struct entry *oldest;
    while ((oldest = map_oldest(&stale->openers)) &&
           now_ms - oldest->begun_ms >= STALE_OPENS_KEPT_MS)
        remove_locked(stale, oldest);
    return find_kept_locked(stale, opener);
}

static struct entry *enter_locked(struct stale_opens *stale, const struct opener *opener)
{
    uint64_t ids[2];
    struct entry *entry = map_create(sizeof(*entry), key_of(opener, ids), 0);
    if (!entry)
        return NULL;
    entry->is_of_thread = opener->thread != 0;
    if (stale->openers.count == STALE_OPENS_MAX)
        remove_locked(stale, map_oldest(&stale->openers));
    map_add(&stale->openers, entry);
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
    map_touch(&stale->openers, entry);
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

/* Is this the name that the opener will write to? */
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
    return entry->is_of_thread || now_ms - entry->looked_up_ms < STALE_OPENS_SHARED_TEXT_MS;
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
    LOCKED(&stale->lock);
    struct entry *entry = find_kept_locked(stale, opener);
    if (entry && (opener->thread != 0 || entry->writers == 0))
        remove_locked(stale, entry);
    else if (entry)
        entity_finish(&entry->entity);
}

void stale_opens_end_writer(struct stale_opens *stale, const struct opener *opener)
{
    LOCKED(&stale->lock);
    struct entry *entry = find_kept_locked(stale, opener);
    if (entry && entry->writers > 0)
        entry->writers--;
    if (entry && entry->writers == 0)
        remove_locked(stale, entry);
}
