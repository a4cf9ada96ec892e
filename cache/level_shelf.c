#include "cache/level_shelf.h"
#include "cache/read/region.h"

#include <pthread.h>

struct place {
    struct region where;
    struct stamp asked;
    struct level_names *names; /* NULL: free */
};

struct level_shelf {
    pthread_mutex_t lock;
    /* guarded by lock */
    struct place places[LEVEL_SHELF_SIZE];
    size_t next; /* to be taken: in a ring */
};

int level_shelf_create(struct level_shelf **ret)
{
    struct level_shelf *shelf = calloc(1, sizeof(*shelf));
    if (!shelf || pthread_mutex_init(&shelf->lock, NULL) != 0) {
        free(shelf);
        return -ENOMEM;
    }
    for (size_t i = 0; i < LEVEL_SHELF_SIZE; i++)
        region_init(&shelf->places[i].where);
    *ret = shelf;
    return 0;
}

void level_shelf_destroy(struct level_shelf *shelf)
{
    if (!shelf)
        return;
    for (size_t i = 0; i < LEVEL_SHELF_SIZE; i++) {
        region_finish(&shelf->places[i].where);
        level_names_unref(shelf->places[i].names);
    }
    (void)pthread_mutex_destroy(&shelf->lock);
    free(shelf);
}

/* NULL: none. */
static struct place *find_locked(struct level_shelf *shelf, const struct directory *directory)
{
    for (size_t i = 0; i < LEVEL_SHELF_SIZE; i++) {
        struct place *place = &shelf->places[i];
        if (place->names && strcmp(place->where.table, directory->table) == 0 &&
            bytes_equal(place->where.range.lo, directory->range.lo) &&
            bytes_equal(place->where.range.hi, directory->range.hi))
            return place;
    }
    return NULL;
}

static struct place *choose_locked(struct level_shelf *shelf, const struct directory *directory)
{
    struct place *place = find_locked(shelf, directory);
    if (!place) {
        place = &shelf->places[shelf->next];
        shelf->next = (shelf->next + 1) % LEVEL_SHELF_SIZE;
    }
    return place;
}

void level_shelf_put(struct level_shelf *shelf, const struct directory *directory,
                     struct stamp asked, struct level_names *names)
{
    if (level_names_bytes(names) > LEVEL_SHELF_MAX_BYTES)
        return;
    (void)pthread_mutex_lock(&shelf->lock);
    struct place *place = choose_locked(shelf, directory);
    struct level_names *old = place->names;
    bool is_set = region_set(&place->where, directory->table, directory->range);
    place->names = is_set ? level_names_ref(names) : NULL;
    place->asked = asked;
    (void)pthread_mutex_unlock(&shelf->lock);
    level_names_unref(old);
}

struct level_names *level_shelf_find(struct level_shelf *shelf, const struct directory *directory,
                                     struct stamp since, int64_t *ret_asked_ms)
{
    struct level_names *names = NULL;
    (void)pthread_mutex_lock(&shelf->lock);
    const struct place *place = find_locked(shelf, directory);
    if (place && stamp_satisfies(place->asked, since)) {
        names = level_names_ref(place->names);
        *ret_asked_ms = place->asked.asked_ms;
    }
    (void)pthread_mutex_unlock(&shelf->lock);
    return names;
}
