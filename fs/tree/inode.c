/* SPDX-License-Identifier: MIT */
#include "fs/tree/inode.h"
#include "fs/tree/node.h"
#include "fs/tree/node_index.h"
#include "fs/tree/numbers.h"

#include <pthread.h>

/* Nodes that are forgotten before their memory is given back: some 20 MB. */
#define MANY_NODES 65536
/* The nodes that inode_table_choose visits while it has the lock. */
#define CHOICE_NODES 1000

LIST_HEAD(unsettled_list, node);

struct inode_table {
    pthread_mutex_t lock;
    /* guarded by lock */
    struct node_index index;
    struct unsettled_list unsettled;
    struct numbers numbers;
    uint64_t last_id;
    uint64_t chosen_id;        /* inode_table_choose continues after it */
    size_t entered, forgotten; /* nodes, since inode_table_wait answered them last */
    bool is_waiting_ended;
    pthread_cond_t has_upkeep;
    size_t max_nodes; /* fixed */
};

static bool has_left_name(const struct node *node)
{
    return node->left != LEFT_NOT;
}

/* Below the limit, because nodes are made while the kernel forgets, and memory that is freed
 * between nodes that stay is not returned. The kernel may be using all of them, so it is not
 * requested again before some more were made. */
static bool has_excess_locked(const struct inode_table *table)
{
    size_t max = table->max_nodes;
    return table->index.count > max - max / 4 && table->entered > max / 16;
}

static bool has_freed_many_locked(const struct inode_table *table)
{
    return table->forgotten >= MANY_NODES;
}

static void report_upkeep_locked(struct inode_table *table)
{
    if (has_excess_locked(table) || has_freed_many_locked(table))
        (void)pthread_cond_signal(&table->has_upkeep);
}

static void add_locked(struct inode_table *table, struct node *node)
{
    node->inode.id = ++table->last_id;
    node_index_add(&table->index, node);
    table->entered++;
    report_upkeep_locked(table);
    node->is_unsettled = place_is_unsettled(&node->inode.place);
    if (node->is_unsettled)
        LIST_INSERT_HEAD(&table->unsettled, node, of_unsettled);
}

static void remove_locked(struct inode_table *table, struct node *node)
{
    node_index_remove(&table->index, node);
    if (node->is_unsettled)
        LIST_REMOVE(node, of_unsettled);
}

int inode_table_settle(struct inode_table *table, const struct settlement *settlement)
{
    int r = 0;
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = LIST_FIRST(&table->unsettled), *next;
    for (; node && r == 0; node = next) {
        next = LIST_NEXT(node, of_unsettled);
        r = place_settle(&node->inode.place, settlement);
        node->is_unsettled = place_is_unsettled(&node->inode.place);
        if (!node->is_unsettled)
            LIST_REMOVE(node, of_unsettled);
    }
    (void)pthread_mutex_unlock(&table->lock);
    return r;
}

int inode_table_create(struct place *root, size_t max_nodes, struct inode_table **ret)
{
    _cleanup_(inode_table_destroyp) struct inode_table *table = calloc(1, sizeof(*table));
    if (!table)
        return -ENOMEM;
    table->max_nodes = max_nodes;
    (void)pthread_mutex_init(&table->lock, NULL);
    (void)pthread_cond_init(&table->has_upkeep, NULL);
    if (numbers_init(&table->numbers) < 0)
        return -ENOMEM;
    struct node *node = node_create(0, BYTES_LITERAL(""), root, &(struct version){0}, INODE_ROOT);
    if (!node)
        return -ENOMEM;
    node->lookups = 1; /* never forgotten */
    add_locked(table, node);
    *ret = TAKE_PTR(table);
    return 0;
}

void inode_table_destroy(struct inode_table *table)
{
    if (!table)
        return;
    for (struct node *node; (node = node_index_after(&table->index, 0)) != NULL;) {
        remove_locked(table, node);
        node_destroy(node);
    }
    numbers_finish(&table->numbers);
    (void)pthread_cond_destroy(&table->has_upkeep);
    (void)pthread_mutex_destroy(&table->lock);
    free(table);
}

/* The first node of the name that has not lost it by a rename. NULL: there is none. */
static const struct node *find_of_file_locked(struct inode_table *table, uint64_t parent,
                                              struct bytes name)
{
    struct node *node = node_index_find_name(&table->index, parent, name);
    while (node && node->left >= LEFT_REPLACED)
        node = node_index_next_of_name(node);
    return node;
}

/* Adds `made`. If the name's newest node is of the same version and still has the name, returns
 * that node instead. */
static struct node *enter_locked(struct inode_table *table, const struct version *version,
                                 struct node *made)
{
    struct node *known =
        node_index_find_version(&table->index, made->inode.parent, node_name(made));
    if (known && !has_left_name(known) && inode_is_version(&known->inode, version))
        return known;
    add_locked(table, made);
    return made;
}

/* The same for the node of a file. */
static struct node *enter_own_locked(struct inode_table *table, struct node *made)
{
    struct node *known = NULL;
    if (made->file)
        known = node_index_find_own(&table->index, made->inode.parent, node_name(made));
    for (; known; known = node_index_next_of_name(known))
        if (known->file == made->file && !has_left_name(known))
            return known;
    add_locked(table, made);
    return made;
}

const struct inode *inode_table_enter(struct inode_table *table, uint64_t parent, struct bytes name,
                                      struct place *place, const struct version *version)
{
    uint64_t number = place->kind == PLACE_ENTITY ? 0 : place_number(place);
    struct node *made = node_create(parent, name, place, version, number);
    if (!made)
        return NULL;
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = enter_locked(table, version, made);
    node->lookups++;
    node->is_used = node != made;
    (void)pthread_mutex_unlock(&table->lock);

    if (node != made)
        node_destroy(made);
    return &node->inode;
}

const struct inode *inode_table_enter_own(struct inode_table *table, uint64_t parent,
                                          struct bytes name, struct place *place,
                                          const struct version *version, uint64_t number,
                                          enum node_kind kind, struct node_file *file)
{
    struct node *made = node_create(parent, name, place, version, number);
    if (!made)
        return NULL;
    made->kind = (uint8_t)kind;
    made->file = file;
    if (file)
        file->ops->ref(file);
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = enter_own_locked(table, made);
    node->lookups++;
    node->is_used = true; /* a node without a file waits for its OPEN */
    (void)pthread_mutex_unlock(&table->lock);

    if (node != made)
        node_destroy(made);
    return &node->inode;
}

const struct inode *inode_table_enter_again(struct inode_table *table, uint64_t id, uint64_t parent,
                                            struct bytes name)
{
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = node_index_find(&table->index, id);
    bool is_found = node && node_has_name(node, parent, name);
    if (is_found) {
        node->lookups++;
        node->is_used = true;
    }
    (void)pthread_mutex_unlock(&table->lock);
    return is_found ? &node->inode : NULL;
}

const struct inode *inode_table_find(struct inode_table *table, uint64_t id)
{
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = node_index_find(&table->index, id);
    if (node)
        node->is_used = true;
    (void)pthread_mutex_unlock(&table->lock);
    return node ? &node->inode : NULL;
}

void inode_table_forget(struct inode_table *table, uint64_t id, uint64_t lookups)
{
    if (id == INODE_ROOT)
        return;
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = node_index_find(&table->index, id);
    if (node)
        node->lookups -= MIN(lookups, node->lookups);
    bool is_gone = node && node->lookups == 0;
    if (is_gone) {
        remove_locked(table, node);
        table->forgotten++;
        report_upkeep_locked(table);
    }
    (void)pthread_mutex_unlock(&table->lock);
    if (is_gone)
        node_destroy(node);
}

uint64_t inode_table_number(struct inode_table *table, const struct inode *inode)
{
    const struct node *node = (const struct node *)inode;
    if (inode->place.kind != PLACE_ENTITY)
        return inode->number;
    uint64_t own = numbers_hash(place_address(&inode->place));
    (void)pthread_mutex_lock(&table->lock);
    uint64_t number = has_left_name(node) ? inode->number : numbers_shown(&table->numbers, own);
    (void)pthread_mutex_unlock(&table->lock);
    return number;
}

uint64_t inode_table_count_number(struct inode_table *table)
{
    (void)pthread_mutex_lock(&table->lock);
    uint64_t number = numbers_count(&table->numbers);
    (void)pthread_mutex_unlock(&table->lock);
    return number;
}

bool inode_table_has(struct inode_table *table, uint64_t parent, struct bytes name)
{
    (void)pthread_mutex_lock(&table->lock);
    bool has = find_of_file_locked(table, parent, name) != NULL;
    (void)pthread_mutex_unlock(&table->lock);
    return has;
}

int inode_table_named(struct inode_table *table, uint64_t parent, struct bytes name,
                      struct buffer *ret_position, struct buffer *ret_etag)
{
    (void)pthread_mutex_lock(&table->lock);
    const struct node *node = node_index_find_version(&table->index, parent, name);
    int r = node && !has_left_name(node) ? 1 : 0;
    if (r == 1) { /* it may be forgotten as soon as the lock is free */
        int error = node_append_etag(node, ret_etag);
        if (error == 0)
            error = buffer_append(ret_position, place_address(&node->inode.place).position);
        r = error < 0 ? error : r;
    }
    (void)pthread_mutex_unlock(&table->lock);
    return r;
}

bool inode_table_has_own(struct inode_table *table, uint64_t parent, struct bytes name)
{
    (void)pthread_mutex_lock(&table->lock);
    bool has_own = node_index_find_own(&table->index, parent, name) != NULL;
    (void)pthread_mutex_unlock(&table->lock);
    return has_own;
}

/* A file that has no name any more gets a number of its own: the next file of the name has the
 * address's. number: the st_ino of a renamed one. */
static void leave_name_locked(struct inode_table *table, uint64_t parent, struct bytes name,
                              enum left left, uint64_t number)
{
    struct node *node = node_index_find_name(&table->index, parent, name);
    for (; node; node = node_index_next_of_name(node)) {
        const struct place *place = &node->inode.place;
        if (!has_left_name(node) && place->kind == PLACE_ENTITY)
            node->inode.number = left == LEFT_RENAMED ? number : numbers_count(&table->numbers);
        if (!has_left_name(node) || (left == LEFT_REPLACED && node->left == LEFT_REMOVED))
            atomic_store(&node->left, (unsigned char)left);
    }
}

void inode_table_remove_name(struct inode_table *table, uint64_t parent, struct bytes name)
{
    (void)pthread_mutex_lock(&table->lock);
    leave_name_locked(table, parent, name, LEFT_REMOVED, 0);
    (void)pthread_mutex_unlock(&table->lock);
}

static uint64_t rename_name_locked(struct inode_table *table, uint64_t parent, struct bytes name,
                                   uint64_t new_parent, struct bytes new_name, uint64_t number)
{
    const struct node *kept = find_of_file_locked(table, parent, name);
    leave_name_locked(table, new_parent, new_name, LEFT_REPLACED, 0);
    leave_name_locked(table, parent, name, LEFT_RENAMED, number);
    return kept ? kept->inode.id : 0;
}

uint64_t inode_table_rename_name(struct inode_table *table, uint64_t parent, struct bytes name,
                                 uint64_t new_parent, struct bytes new_name, uint64_t number)
{
    (void)pthread_mutex_lock(&table->lock);
    uint64_t kept = rename_name_locked(table, parent, name, new_parent, new_name, number);
    (void)pthread_mutex_unlock(&table->lock);
    return kept;
}

uint64_t inode_table_rename_entity(struct inode_table *table, uint64_t parent, struct bytes name,
                                   struct address address, uint64_t new_parent,
                                   struct bytes new_name, struct address new_address)
{
    uint64_t own = numbers_hash(address), new_own = numbers_hash(new_address);
    (void)pthread_mutex_lock(&table->lock);
    uint64_t number = numbers_shown(&table->numbers, own);
    uint64_t kept = rename_name_locked(table, parent, name, new_parent, new_name, number);
    numbers_swap(&table->numbers, own, new_own);
    (void)pthread_mutex_unlock(&table->lock);
    return kept;
}

size_t inode_table_count(struct inode_table *table)
{
    (void)pthread_mutex_lock(&table->lock);
    size_t count = table->index.count;
    (void)pthread_mutex_unlock(&table->lock);
    return count;
}

bool inode_table_is_half_full(struct inode_table *table)
{
    return inode_table_count(table) > table->max_nodes / 2;
}

bool inode_table_wait(struct inode_table *table, struct node_upkeep *ret)
{
    (void)pthread_mutex_lock(&table->lock);
    while (!table->is_waiting_ended && !has_excess_locked(table) && !has_freed_many_locked(table))
        (void)pthread_cond_wait(&table->has_upkeep, &table->lock);
    *ret = (struct node_upkeep){.has_freed_many = has_freed_many_locked(table)};
    if (ret->has_freed_many)
        table->forgotten = 0;
    if (has_excess_locked(table)) {
        ret->excess = table->index.count - table->max_nodes / 2;
        table->entered = 0;
    }
    bool is_ended = table->is_waiting_ended;
    (void)pthread_mutex_unlock(&table->lock);
    return !is_ended;
}

void inode_table_end_waiting(struct inode_table *table)
{
    (void)pthread_mutex_lock(&table->lock);
    table->is_waiting_ended = true;
    (void)pthread_cond_signal(&table->has_upkeep);
    (void)pthread_mutex_unlock(&table->lock);
}

/* Is a handle of it open, or has it a file? */
static bool has_text(const struct node *node)
{
    return node->kind == NODE_VERSION ? node->open != NULL : node->file != NULL;
}

/* May it be chosen? A node that was used gets a second chance. */
static bool is_idle_locked(struct node *node)
{
    bool was_used = node->is_used;
    node->is_used = false;
    return !was_used && !has_text(node) && node->inode.id != INODE_ROOT;
}

static size_t choose_some_locked(struct inode_table *table, uint64_t *ret_ids, size_t max)
{
    size_t chosen = 0;
    struct node *node = node_index_after(&table->index, table->chosen_id);
    for (size_t visited = 0; visited < CHOICE_NODES && chosen < max && node; visited++) {
        if (is_idle_locked(node))
            ret_ids[chosen++] = node->inode.id;
        table->chosen_id = node->inode.id;
        node = node_index_next(node);
    }
    if (!node)
        table->chosen_id = 0; /* begins anew */
    return chosen;
}

size_t inode_table_choose(struct inode_table *table, uint64_t *ret_ids, size_t max)
{
    size_t chosen = 0, visited = 0, count = 1;
    /* twice round the table, so that a node that was used is seen again */
    for (; chosen < max && visited < 2 * count + CHOICE_NODES; visited += CHOICE_NODES) {
        (void)pthread_mutex_lock(&table->lock);
        count = table->index.count;
        chosen += choose_some_locked(table, ret_ids + chosen, max - chosen);
        (void)pthread_mutex_unlock(&table->lock);
    }
    return chosen;
}

struct node_file *inode_table_file(struct inode_table *table, uint64_t id)
{
    (void)pthread_mutex_lock(&table->lock);
    const struct node *node = node_index_find(&table->index, id);
    struct node_file *file = node && node->kind != NODE_VERSION ? node->file : NULL;
    if (file)
        file->ops->ref(file);
    (void)pthread_mutex_unlock(&table->lock);
    return file;
}

bool inode_table_set_file(struct inode_table *table, uint64_t id, struct node_file *file)
{
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = node_index_find(&table->index, id);
    bool is_first = node && node->kind != NODE_VERSION && !node->file;
    if (is_first) {
        file->ops->ref(file);
        node->file = file;
    }
    (void)pthread_mutex_unlock(&table->lock);
    return is_first;
}

void inode_table_drop_file(struct inode_table *table, uint64_t id, struct node_file *file)
{
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = node_index_find(&table->index, id);
    bool is_its = node && node->kind != NODE_VERSION && node->file == file;
    if (is_its)
        node->file = NULL;
    (void)pthread_mutex_unlock(&table->lock);
    if (is_its)
        file->ops->unref(file);
}

/* NULL: unknown, or of another kind */
static struct node *find_id_of_version_locked(struct inode_table *table, uint64_t id)
{
    struct node *node = node_index_find(&table->index, id);
    return node && node->kind == NODE_VERSION ? node : NULL;
}

int inode_table_opened(struct inode_table *table, uint64_t id, const struct entity *entity)
{
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = find_id_of_version_locked(table, id);
    int r = node ? node_open(node, entity) : 0;
    (void)pthread_mutex_unlock(&table->lock);
    return r;
}

void inode_table_closed(struct inode_table *table, uint64_t id)
{
    struct open_text *last = NULL;
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = find_id_of_version_locked(table, id);
    if (node)
        last = node_close(node);
    (void)pthread_mutex_unlock(&table->lock);
    open_text_destroy(last);
}

bool inode_table_is_open(struct inode_table *table, uint64_t id)
{
    (void)pthread_mutex_lock(&table->lock);
    const struct node *node = node_index_find(&table->index, id);
    bool is_open = node && has_text(node);
    (void)pthread_mutex_unlock(&table->lock);
    return is_open;
}

bool inode_table_open_text(struct inode_table *table, uint64_t id, struct entity *ret)
{
    (void)pthread_mutex_lock(&table->lock);
    struct node *node = find_id_of_version_locked(table, id);
    const struct entity *open = node ? node_open_entity(node) : NULL;
    if (open)
        *ret = (struct entity){page_ref(open->page), open->row};
    (void)pthread_mutex_unlock(&table->lock);
    return open;
}
