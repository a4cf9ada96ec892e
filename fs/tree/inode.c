#include "fs/tree/inode.h"

#include <bsd/sys/tree.h>
#include <pthread.h>

struct node {
    struct inode inode; /* the face; name and ETag are views into this block */
    /* guarded by the table's lock */
    uint64_t lookups;
    size_t open_count;
    struct entity open_text; /* while open_count > 0 */
    RB_ENTRY(node) by_id, by_name;
    char text[]; /* name, ETag */
};

static int compare_ids(const struct node *a, const struct node *b)
{
    return (a->inode.id > b->inode.id) - (a->inode.id < b->inode.id);
}

/* the versions of a name stand together, the youngest first */
static int compare_names(const struct node *a, const struct node *b)
{
    if (a->inode.parent != b->inode.parent)
        return a->inode.parent < b->inode.parent ? -1 : 1;
    int order = bytes_compare(a->inode.name, b->inode.name);
    return order != 0 ? order : compare_ids(b, a);
}

RB_HEAD(id_tree, node);
RB_HEAD(name_tree, node);
RB_GENERATE_INTERNAL(id_tree, node, by_id, compare_ids, static __attribute__((unused)))
RB_GENERATE_INTERNAL(name_tree, node, by_name, compare_names, static __attribute__((unused)))

struct inode_table {
    pthread_mutex_t lock;
    /* guarded by lock */
    struct id_tree ids;
    struct name_tree names;
    size_t count;
    uint64_t last_id;
};

static struct node *node_create(uint64_t parent, struct bytes name, const struct version *version)
{
    struct node *node = calloc(1, sizeof(*node) + name.size + version->etag.size);
    if (!node)
        return NULL;
    if (name.size > 0)
        memcpy(node->text, name.data, name.size);
    if (version->etag.size > 0)
        memcpy(node->text + name.size, version->etag.data, version->etag.size);
    node->inode.parent = parent;
    node->inode.name = (struct bytes){node->text, name.size};
    node->inode.version = *version;
    node->inode.version.etag.data = node->text + name.size;
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
    struct node probe = {.inode.id = id};
    return RB_FIND(id_tree, &table->ids, &probe);
}

/* The youngest version of the name that the kernel knows. */
static struct node *find_name_locked(struct inode_table *table, uint64_t parent, struct bytes name)
{
    struct node probe = {.inode = {.id = UINT64_MAX, .parent = parent, .name = name}};
    struct node *node = RB_NFIND(name_tree, &table->names, &probe);
    bool is_found = node && node->inode.parent == parent && bytes_equal(node->inode.name, name);
    return is_found ? node : NULL;
}

static void add_locked(struct inode_table *table, struct node *node)
{
    node->inode.id = ++table->last_id;
    (void)RB_INSERT(id_tree, &table->ids, node);
    (void)RB_INSERT(name_tree, &table->names, node);
    table->count++;
}

static void remove_locked(struct inode_table *table, struct node *node)
{
    (void)RB_REMOVE(name_tree, &table->names, node);
    (void)RB_REMOVE(id_tree, &table->ids, node);
    table->count--;
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
    add_locked(table, node);
    node->inode.place = *root;
    *root = (struct place){0};
    *ret = TAKE_PTR(table);
    return 0;
}

void inode_table_destroy(struct inode_table *table)
{
    if (!table)
        return;
    for (struct node *node; (node = RB_ROOT(&table->ids)) != NULL;) {
        remove_locked(table, node);
        node_destroy(node);
    }
    (void)pthread_mutex_destroy(&table->lock);
    free(table);
}

struct version version_of_entity(const struct entity *entity)
{
    return (struct version){.etag = page_etag(entity->page, entity->row),
                            .size = page_text(entity->page, entity->row).size,
                            .timestamp = page_timestamp(entity->page, entity->row)};
}

bool version_equal(const struct version *a, const struct version *b)
{
    return bytes_equal(a->etag, b->etag) && a->timestamp == b->timestamp && a->size == b->size;
}

/* Puts `made` in the place of the node that has its name, unless that one is the same version: then
 * that one. */
static struct node *enter_locked(struct inode_table *table, struct node *made)
{
    struct node *known = find_name_locked(table, made->inode.parent, made->inode.name);
    if (known && version_equal(&known->inode.version, &made->inode.version))
        return known;
    if (known)
        made->inode.number = known->inode.number;
    add_locked(table, made);
    return made;
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
    node->lookups++;
    (void)pthread_mutex_unlock(&table->lock);

    if (node != made)
        node_destroy(made);
    return &node->inode;
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
    if (is_gone)
        remove_locked(table, node);
    (void)pthread_mutex_unlock(&table->lock);
    if (is_gone)
        node_destroy(node);
}

uint64_t inode_table_number(struct inode_table *table, uint64_t parent, struct bytes name)
{
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = find_name_locked(table, parent, name);
    uint64_t number = node ? node->inode.number : 0;
    (void)pthread_mutex_unlock(&table->lock);
    return number;
}

size_t inode_table_count(struct inode_table *table)
{
    (void)pthread_mutex_lock(&table->lock);
    size_t count = table->count;
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
