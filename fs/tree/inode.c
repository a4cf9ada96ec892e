#include "fs/tree/inode.h"

#include <pthread.h>

/* uthash ends the process when it is out of memory; told not to, it leaves the element out and says so here. */
#define HASH_NONFATAL_OOM            1
#define uthash_nonfatal_oom(element) ((element)->is_left_out = true)
#include <uthash.h>

struct child_key { /* hashed as bytes: the parent's id, then the name */
    uint64_t parent;
    char name[];
};

struct node {
    struct inode inode; /* the face; name and ETag are views into this block */
    /* guarded by the table's lock */
    uint64_t lookups;
    size_t open_count;
    struct entity open_text; /* while open_count > 0 */
    bool is_named;           /* it is the one that has its name now */
    bool is_left_out;
    UT_hash_handle by_id, by_name;
    size_t key_size;
    struct child_key key; /* then the ETag */
};

struct inode_table {
    pthread_mutex_t lock;
    /* guarded by lock */
    struct node *ids, *names;
    uint64_t last_id;
};

static struct node *node_create(uint64_t parent, struct bytes name, const struct version *version)
{
    struct node *node = calloc(1, sizeof(*node) + name.size + version->etag.size);
    if (!node)
        return NULL;
    node->key.parent = parent;
    node->key_size = sizeof(node->key) + name.size;
    char *etag = node->key.name + name.size;
    if (name.size > 0)
        memcpy(node->key.name, name.data, name.size);
    if (version->etag.size > 0)
        memcpy(etag, version->etag.data, version->etag.size);
    node->inode.parent = parent;
    node->inode.name = (struct bytes){node->key.name, name.size};
    node->inode.version = *version;
    node->inode.version.etag.data = etag;
    return node;
}

static void node_destroy(struct node *node)
{
    place_finish(&node->inode.place);
    entity_finish(&node->open_text);
    free(node);
}

static struct node *find_id_locked(struct inode_table *table, uint64_t id)
{
    struct node *node;
    HASH_FIND(by_id, table->ids, &id, sizeof(id), node);
    return node;
}

static struct node *find_name_locked(struct inode_table *table, const struct child_key *key,
                                     size_t key_size)
{
    struct node *node;
    HASH_FIND(by_name, table->names, key, key_size, node);
    return node;
}

static void unname_locked(struct inode_table *table, struct node *node)
{
    if (node->is_named)
        HASH_DELETE(by_name, table->names, node);
    node->is_named = false;
}

/* In both indexes, with an id; false without memory, and in neither. */
static bool add_locked(struct inode_table *table, struct node *node)
{
    node->inode.id = table->last_id + 1;
    HASH_ADD(by_id, table->ids, inode.id, sizeof(node->inode.id), node);
    if (node->is_left_out)
        return false;
    HASH_ADD_KEYPTR(by_name, table->names, &node->key, node->key_size, node);
    if (node->is_left_out) {
        HASH_DELETE(by_id, table->ids, node);
        return false;
    }
    node->is_named = true;
    table->last_id++;
    return true;
}

int inode_table_create(struct place *root, struct inode_table **ret)
{
    _cleanup_(inode_table_destroyp) struct inode_table *table = calloc(1, sizeof(*table));
    if (!table)
        return -ENOMEM;
    int r = pthread_mutex_init(&table->lock, NULL);
    if (r != 0) {
        free(TAKE_PTR(table));
        return -r;
    }
    struct node *node = node_create(0, BYTES_LITERAL(""), &(struct version){0});
    if (!node)
        return -ENOMEM;
    node->inode.number = INODE_ROOT;
    node->lookups = 1; /* never forgotten */
    if (!add_locked(table, node)) {
        node_destroy(node);
        return -ENOMEM;
    }
    node->inode.place = *root;
    *root = (struct place){0};
    *ret = TAKE_PTR(table);
    return 0;
}

void inode_table_destroy(struct inode_table *table)
{
    if (!table)
        return;
    struct node *node, *next;
    HASH_ITER (by_id, table->ids, node, next) {
        unname_locked(table, node);
        HASH_DELETE(by_id, table->ids, node);
        node_destroy(node);
    }
    (void)pthread_mutex_destroy(&table->lock);
    free(table);
}

static bool is_same_version(const struct version *a, const struct version *b)
{
    return bytes_equal(a->etag, b->etag) && a->timestamp == b->timestamp && a->size == b->size;
}

/* Puts `made` in the place of the node that has its name, unless that one is the same version: then that one. */
static struct node *enter_locked(struct inode_table *table, struct node *made)
{
    struct node *known = find_name_locked(table, &made->key, made->key_size);
    if (known && is_same_version(&known->inode.version, &made->inode.version))
        return known;
    if (known) {
        made->inode.number = known->inode.number;
        unname_locked(table, known);
    }
    return add_locked(table, made) ? made : NULL;
}

const struct inode *inode_table_enter(struct inode_table *table, uint64_t parent, struct bytes name,
                                      struct place *place, const struct version *version,
                                      uint64_t number)
{
    struct node *made = node_create(parent, name, version);
    if (!made)
        return NULL;
    made->inode.number = number;
    made->inode.place = *place;
    *place = (struct place){0};

    (void)pthread_mutex_lock(&table->lock);
    struct node *node = enter_locked(table, made);
    if (node)
        node->lookups++;
    (void)pthread_mutex_unlock(&table->lock);

    if (node != made)
        node_destroy(made);
    return node ? &node->inode : NULL;
}

const struct inode *inode_table_find(struct inode_table *table, uint64_t id)
{
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = find_id_locked(table, id);
    (void)pthread_mutex_unlock(&table->lock);
    return node ? &node->inode : NULL;
}

void inode_table_forget(struct inode_table *table, uint64_t id, uint64_t lookups)
{
    if (id == INODE_ROOT)
        return;
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = find_id_locked(table, id);
    if (node)
        node->lookups -= MIN(lookups, node->lookups);
    bool is_gone = node && node->lookups == 0;
    if (is_gone) {
        unname_locked(table, node);
        HASH_DELETE(by_id, table->ids, node);
    }
    (void)pthread_mutex_unlock(&table->lock);
    if (is_gone)
        node_destroy(node);
}

uint64_t inode_table_number(struct inode_table *table, uint64_t parent, struct bytes name)
{
    struct node *probe = node_create(parent, name, &(struct version){0});
    if (!probe)
        return 0;
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = find_name_locked(table, &probe->key, probe->key_size);
    uint64_t number = node ? node->inode.number : 0;
    (void)pthread_mutex_unlock(&table->lock);
    node_destroy(probe);
    return number;
}

size_t inode_table_count(struct inode_table *table)
{
    (void)pthread_mutex_lock(&table->lock);
    size_t count = HASH_CNT(by_id, table->ids);
    (void)pthread_mutex_unlock(&table->lock);
    return count;
}

void inode_table_opened(struct inode_table *table, uint64_t id, const struct entity *entity)
{
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = find_id_locked(table, id);
    if (node && node->open_count++ == 0)
        node->open_text = (struct entity){page_ref(entity->page), entity->row};
    (void)pthread_mutex_unlock(&table->lock);
}

void inode_table_closed(struct inode_table *table, uint64_t id)
{
    struct entity text = {0};
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = find_id_locked(table, id);
    if (node && node->open_count > 0 && --node->open_count == 0) {
        text = node->open_text;
        node->open_text = (struct entity){0};
    }
    (void)pthread_mutex_unlock(&table->lock);
    entity_finish(&text);
}

bool inode_table_open_text(struct inode_table *table, uint64_t id, struct entity *ret)
{
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = find_id_locked(table, id);
    bool is_open = node && node->open_count > 0;
    if (is_open)
        *ret = (struct entity){page_ref(node->open_text.page), node->open_text.row};
    (void)pthread_mutex_unlock(&table->lock);
    return is_open;
}
