/* SPDX-License-Identifier: MIT */
#include "tests/bench/memory_tree.h"
#include "fs/tree/names.h"

#define MAX_NODES   ((uint32_t)1 << 30)
#define NAMES_BYTES ((size_t)16 << 30) /* of all names, at most */

struct memory_tree {
    struct memory_node *nodes;
    uint32_t count, capacity;
    struct page **pages; /* of all tables */
    size_t page_count, page_capacity;
    struct buffer names; /* NUL after each */
    uint32_t *slots;     /* by parent and name; open addressing; 0, the root, is a free slot */
    size_t slot_mask;
};

static int add_node(struct memory_tree *tree, struct memory_node node, struct bytes name)
{
    if (tree->count == tree->capacity) {
        uint32_t capacity = MAX(tree->capacity * 2, 1024);
        struct memory_node *nodes =
            capacity > MAX_NODES ? NULL : reallocarray(tree->nodes, capacity, sizeof(*nodes));
        if (!nodes)
            return -ENOMEM;
        tree->nodes = nodes;
        tree->capacity = capacity;
    }
    node.name = tree->names.size;
    tree->nodes[tree->count++] = node;
    (void)buffer_append(&tree->names, name);
    return buffer_append_char(&tree->names, '\0');
}

static int add_key(struct memory_tree *tree, struct memory_node node, struct bytes key,
                   enum name_kind kind)
{
    _cleanup_(buffer_finish) struct buffer name;
    buffer_init(&name, NAME_MAX_BYTES);
    int r = names_encode(key, kind, &name);
    return r < 0 ? r : add_node(tree, node, buffer_bytes(&name));
}

/* All that was added after `node` is below it. */
static void end_node(struct memory_tree *tree, uint32_t node)
{
    tree->nodes[node].end = tree->count;
}

static int keep_page(struct memory_tree *tree, struct page *page)
{
    if (tree->page_count == tree->page_capacity) {
        size_t capacity = MAX(tree->page_capacity * 2, 64);
        struct page **pages = reallocarray(tree->pages, capacity, sizeof(struct page *));
        if (!pages)
            return -ENOMEM;
        tree->pages = pages;
        tree->page_capacity = capacity;
    }
    tree->pages[tree->page_count++] = page_ref(page);
    return 0;
}

/* Where the rows of a table go. */
struct filling {
    struct memory_tree *tree;
    uint32_t table, partition; /* partition == table: none was begun */
    struct bytes key;          /* of the partition; a view into a page that is kept */
};

static int add_row(struct filling *filling, struct page *page, size_t row)
{
    struct memory_tree *tree = filling->tree;
    struct bytes position = page_position(page, row), key = position_partition_key(position);
    if (filling->partition == filling->table || !bytes_equal(key, filling->key)) {
        end_node(tree, filling->partition);
        filling->partition = tree->count;
        filling->key = key;
        int r = add_key(tree, (struct memory_node){.parent = filling->table}, key, NAME_PARTITION);
        if (r < 0)
            return r;
    }
    struct memory_node entity = {
        .parent = filling->partition, .end = tree->count + 1, .page = page, .row = (uint32_t)row};
    return add_key(tree, entity, position_row_key(position), NAME_ENTITY);
}

static int add_page(struct filling *filling, struct page *page)
{
    int r = keep_page(filling->tree, page);
    for (size_t row = 0; r == 0 && row < page_rows(page); row++)
        r = add_row(filling, page, row);
    return r;
}

static int add_table(struct memory_tree *tree, struct table_store *store, const char *name,
                     struct call *call)
{
    struct filling filling = {.tree = tree, .table = tree->count, .partition = tree->count};
    struct query query = {.table = name, .range = RANGE_ALL, .top = TABLE_STORE_PAGE_ROWS};
    _cleanup_(continuation_destroyp) struct continuation *after = NULL;
    int r = add_node(tree, (struct memory_node){.parent = MEMORY_TREE_ROOT}, bytes_of(name));
    do {
        struct answer answer = {0};
        query.after = after;
        if (r == 0)
            r = table_store_query(store, &query, call, &answer);
        if (r < 0)
            return r;
        r = add_page(&filling, answer.page);
        continuation_destroy(TAKE_PTR(after));
        after = TAKE_PTR(answer.next);
        answer_finish(&answer);
    } while (after);
    end_node(tree, filling.partition);
    end_node(tree, filling.table);
    return r;
}

static int add_tables(struct memory_tree *tree, struct table_store *store,
                      const struct buffer *names, struct call *call)
{
    int r = add_node(tree, (struct memory_node){.parent = MEMORY_TREE_ROOT}, BYTES_LITERAL(""));
    const char *end = names->data + names->size;
    for (const char *name = names->data; r == 0 && name < end; name += strlen(name) + 1)
        r = add_table(tree, store, name, call);
    if (r == 0)
        end_node(tree, MEMORY_TREE_ROOT);
    return r;
}

static int read_account(struct memory_tree *tree, struct table_store *store, struct call *call)
{
    struct table_names tables;
    _cleanup_(continuation_destroyp) struct continuation *after = NULL;
    buffer_init(&tables.names, (size_t)16 << 20);
    int r;
    do {
        struct continuation *next = NULL;
        r = table_store_list_tables(store, NULL, after, call, &tables, &next);
        continuation_destroy(after);
        after = next;
    } while (r == 0 && after);
    if (r == 0)
        r = add_tables(tree, store, &tables.names, call);
    buffer_finish(&tables.names);
    return r;
}

/* FNV-1a */
static uint64_t hash(uint32_t parent, struct bytes name)
{
    uint64_t result = 0xCBF29CE484222325U ^ parent;
    for (size_t i = 0; i < name.size; i++)
        result = (result ^ (unsigned char)name.data[i]) * 0x100000001B3U;
    return result ^ (result >> 32);
}

static int index_names(struct memory_tree *tree)
{
    size_t size = 1024;
    while (size < (size_t)tree->count * 2)
        size *= 2;
    tree->slots = calloc(size, sizeof(*tree->slots));
    if (!tree->slots)
        return -ENOMEM;
    tree->slot_mask = size - 1;
    for (uint32_t node = MEMORY_TREE_ROOT + 1; node < tree->count; node++) {
        size_t slot = hash(tree->nodes[node].parent, bytes_of(memory_tree_name(tree, node)));
        while (tree->slots[slot & tree->slot_mask] != 0)
            slot++;
        tree->slots[slot & tree->slot_mask] = node;
    }
    return 0;
}

int memory_tree_create(struct table_store *store, struct call *call, struct memory_tree **ret)
{
    _cleanup_(memory_tree_destroyp) struct memory_tree *tree = calloc(1, sizeof(*tree));
    if (!tree)
        return call_fail(call, -ENOMEM, "out of memory");
    buffer_init(&tree->names, NAMES_BYTES);
    int r = read_account(tree, store, call);
    if (r == 0)
        r = index_names(tree);
    if (r < 0)
        return call->failure.error < 0 ? r : call_fail(call, r, "the account cannot be kept");
    *ret = TAKE_PTR(tree);
    return 0;
}

void memory_tree_destroy(struct memory_tree *tree)
{
    if (!tree)
        return;
    for (size_t i = 0; i < tree->page_count; i++)
        page_unref(tree->pages[i]);
    free(tree->pages);
    free(tree->nodes);
    free(tree->slots);
    buffer_finish(&tree->names);
    free(tree);
}

const struct memory_node *memory_tree_node(const struct memory_tree *tree, uint32_t node)
{
    return &tree->nodes[node];
}

const char *memory_tree_name(const struct memory_tree *tree, uint32_t node)
{
    return tree->names.data + tree->nodes[node].name;
}

bool memory_tree_find(const struct memory_tree *tree, uint32_t parent, struct bytes name,
                      uint32_t *ret)
{
    for (size_t slot = hash(parent, name);; slot++) {
        uint32_t node = tree->slots[slot & tree->slot_mask];
        if (node == MEMORY_TREE_ROOT)
            return false;
        if (tree->nodes[node].parent == parent &&
            bytes_equal(bytes_of(memory_tree_name(tree, node)), name)) {
            *ret = node;
            return true;
        }
    }
}
