/* SPDX-License-Identifier: MIT */
#include "tests/unit/fs/tree/inode_fixture.h"
#include "tests/unit/page_of.h"
#include "tests/unit/threads.h"

#include <stdatomic.h>

#define MAX_NODES 1000000

DEFINE_OBJECT_FIXTURE(table, new_table(MAX_NODES), inode_table_destroy)

static void a_node_is_one_version(void **state)
{
    struct inode_table *table = *state;
    const struct inode *first = enter(table, INODE_ROOT, "a", "v1");
    assert_ptr_equal(enter(table, INODE_ROOT, "a", "v1"), first);
    assert_number(table, first, "a");
    assert_bytes(inode_name(first), B("a"));
    const struct inode *second = enter(table, INODE_ROOT, "a", "v2");
    assert_true(second->id != first->id);
    assert_number(table, second, "a"); /* the same file to tools that compare st_ino */
    assert_true(inode_is_version(first, &(struct version){.etag = B("v1"), .size = 2}));
    assert_ptr_equal(inode_table_find(table, first->id), first);
    assert_true(inode_table_has(table, INODE_ROOT, B("a")));
    /* the old version comes back (a lost race of two lookups): a node of its own again */
    const struct inode *third = enter(table, INODE_ROOT, "a", "v1");
    assert_true(third->id != first->id && third->id != second->id);
    inode_table_forget(table, second->id, 1);
    assert_ptr_equal(enter(table, INODE_ROOT, "a", "v1"), third);
    const struct inode *elsewhere = enter(table, third->id, "a", "v1");
    assert_true(elsewhere != third);
    assert_int_equal(elsewhere->parent, third->id);
}

/* An ETag that is made of the Timestamp is not kept, and yet tells versions apart. */
static void a_regular_etag_is_a_version_like_any_other(void **state)
{
    struct inode_table *table = *state;
    static const char one[] = "W/\"datetime'1970-01-01T00%3A00%3A00.0000001Z'\"",
                      two[] = "W/\"datetime'1970-01-01T00%3A00%3A00.0000002Z'\"",
                      short_one[] = "W/\"datetime'1970-01-01T00%3A00%3A00.000001Z'\"";
    const struct version versions[] = {{B(one), 9, 1}, {B(two), 9, 2},        {B(one), 9, 2},
                                       {B(two), 9, 1}, {B(short_one), 9, 10}, {B(""), 9, 1},
                                       {B(one), 8, 1}};
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        struct place place = place_of("a");
        const struct inode *node =
            inode_table_enter(table, INODE_ROOT, B("a"), &place, &versions[i]);
        for (size_t j = 0; j < ARRAY_SIZE(versions); j++)
            assert_int_equal(inode_is_version(node, &versions[j]), i == j);
        place_finish(&place);
    }
    assert_int_equal(inode_table_count(table), 1 + ARRAY_SIZE(versions));
}

static void what_is_forgotten_is_gone_and_ids_are_never_used_again(void **state)
{
    struct inode_table *table = *state;
    uint64_t id = enter(table, INODE_ROOT, "a", "v1")->id;
    (void)enter(table, INODE_ROOT, "a", "v1");
    inode_table_forget(table, id, 1);
    assert_non_null(inode_table_find(table, id));
    inode_table_forget(table, id, 1);
    assert_null(inode_table_find(table, id));
    assert_false(inode_table_has(table, INODE_ROOT, B("a")));
    assert_true(enter(table, INODE_ROOT, "a", "v1")->id > id);
    assert_int_equal(inode_table_count(table), 2);
    inode_table_forget(table, INODE_ROOT, 1000);
    assert_non_null(inode_table_find(table, INODE_ROOT));
    inode_table_forget(table, 999, 1);
}

static void the_text_stays_while_it_is_open(void **state)
{
    struct inode_table *table = *state;
    struct entity entity = {page_of("", "\xff", "r", "text"), 0}, found = {0};
    uint64_t id = enter(table, 1, "a", "v1")->id;
    assert_false(inode_table_open_text(table, id, &found));
    assert_int_equal(inode_table_opened(table, id, &entity), 0);
    assert_int_equal(inode_table_opened(table, id, &entity), 0);
    entity_finish(&entity);
    inode_table_closed(table, id);
    assert_true(inode_table_open_text(table, id, &found));
    assert_bytes(page_text(found.page, 0), B("text"));
    entity_finish(&found);
    inode_table_closed(table, id);
    assert_false(inode_table_open_text(table, id, &found));
}

struct counted_file {
    struct node_file file;
    atomic_int references;
};

static void ref_counted(struct node_file *file)
{
    ((struct counted_file *)file)->references++;
}

static void unref_counted(struct node_file *file)
{
    ((struct counted_file *)file)->references--;
}

static const struct node_file_ops counted_ops = {ref_counted, unref_counted};
static const struct version nothing;

static const struct inode *enter_own(struct inode_table *table, const char *name,
                                     struct counted_file *file)
{
    struct place place = place_of(name);
    const struct inode *inode =
        inode_table_enter_own(table, INODE_ROOT, bytes_of(name), &place, &nothing, 0, NODE_WRITER,
                              file ? &file->file : NULL);
    assert_non_null(inode);
    return inode;
}

static void a_writer_has_a_node_of_its_own(void **state)
{
    (void)state;
    struct inode_table *table = new_table(MAX_NODES);
    struct counted_file file = {{&counted_ops}, 1}, other = {{&counted_ops}, 1};
    const struct inode *version = enter(table, INODE_ROOT, "a", "v1");
    const struct inode *writer = enter_own(table, "a", &file);
    assert_int_equal(file.references, 2);
    assert_true(writer->id != version->id);
    assert_int_equal(inode_kind(version), NODE_VERSION);
    assert_int_equal(inode_kind(writer), NODE_WRITER);
    assert_bytes(inode_name(writer), B("a"));
    assert_number(table, writer, "a"); /* fstat of the writer and stat of the name agree */
    assert_int_equal(writer->size, 0);
    /* others still find their version, and new ones */
    assert_ptr_equal(enter(table, INODE_ROOT, "a", "v1"), version);
    const struct inode *next = enter(table, INODE_ROOT, "a", "v2");
    assert_number(table, next, "a");
    assert_ptr_equal(enter(table, INODE_ROOT, "a", "v2"), next);
    const struct inode *second = enter_own(table, "a", &other);
    assert_true(second->id != writer->id);
    assert_ptr_equal(enter(table, INODE_ROOT, "a", "v2"), next);
    assert_int_equal(file.references, 2);
    inode_table_forget(table, writer->id, 1);
    assert_int_equal(file.references, 1);
    inode_table_destroy(table);
    assert_int_equal(other.references, 1);
}

/* Else each LOOKUP of a new file would make the kernel drop the node that it has. */
static void a_name_has_one_node_of_a_file(void **state)
{
    (void)state;
    struct inode_table *table = new_table(MAX_NODES);
    struct counted_file file = {{&counted_ops}, 1}, other = {{&counted_ops}, 1};
    const struct inode *writer = enter_own(table, "new", &file);
    (void)enter(table, INODE_ROOT, "new", "v1");
    (void)enter_own(table, "new", NULL);
    (void)enter_own(table, "new", &other);
    (void)enter_own(table, "newer", &file);
    assert_int_equal(file.references, 3);
    assert_ptr_equal(enter_own(table, "new", &file), writer);
    assert_int_equal(file.references, 3);
    uint64_t id = writer->id;
    inode_table_forget(table, id, 1);
    assert_ptr_equal(inode_table_find(table, id), writer);
    inode_table_forget(table, id, 1);
    assert_true(enter_own(table, "new", &file)->id != id);
    inode_table_destroy(table);
    assert_int_equal(file.references, 1);
}

static void a_new_file_has_no_version(void **state)
{
    (void)state;
    struct inode_table *table = new_table(MAX_NODES);
    struct counted_file file = {{&counted_ops}, 1};
    const struct inode *writer = enter_own(table, "new", &file);
    assert_number(table, writer, "new");
    /* a version that is all zero is not taken for the writer's node */
    const struct inode *stored = enter(table, INODE_ROOT, "new", "");
    assert_true(stored->id != writer->id);
    assert_number(table, stored, "new");
    inode_table_forget(table, stored->id, 1);
    assert_true(inode_table_has(table, INODE_ROOT, B("new")));
    inode_table_forget(table, writer->id, 1);
    assert_false(inode_table_has(table, INODE_ROOT, B("new")));
    inode_table_destroy(table);
    assert_int_equal(file.references, 1);
}

static void two_lookups_answer_one_minted_node(void **state)
{
    struct inode_table *table = *state;
    const struct inode *minted = enter_own(table, "a", NULL);
    assert_ptr_equal(inode_table_enter_again(table, minted->id, INODE_ROOT, B("a")), minted);
    assert_null(inode_table_enter_again(table, minted->id, INODE_ROOT, B("b")));
    assert_null(inode_table_enter_again(table, minted->id, 7, B("a")));
    assert_null(inode_table_enter_again(table, 999, INODE_ROOT, B("a")));
    uint64_t id = minted->id;
    inode_table_forget(table, id, 1);
    assert_ptr_equal(inode_table_find(table, id), minted);
    inode_table_forget(table, id, 1);
    assert_null(inode_table_enter_again(table, id, INODE_ROOT, B("a")));
}

static void an_ended_file_leaves_its_node(void **state)
{
    (void)state;
    struct counted_file file = {{&counted_ops}, 1}, other = {{&counted_ops}, 1};
    _cleanup_(inode_table_destroyp) struct inode_table *table = new_table(MAX_NODES);
    assert_false(inode_table_has_own(table, INODE_ROOT, B("a")));
    (void)enter(table, INODE_ROOT, "a", "v1");
    (void)enter_own(table, "b", &other);
    assert_false(inode_table_has_own(table, INODE_ROOT, B("a")));
    uint64_t id = enter_own(table, "a", &file)->id;
    assert_true(inode_table_has_own(table, INODE_ROOT, B("a")));
    inode_table_drop_file(table, id, &other.file);
    assert_int_equal(file.references, 2);
    inode_table_drop_file(table, id, &file.file);
    inode_table_drop_file(table, id, &file.file);
    assert_int_equal(file.references, 1);
    assert_null(inode_table_file(table, id));
    assert_true(inode_table_has_own(table, INODE_ROOT, B("a")));
    uint64_t first = enter_own(table, "a", NULL)->id; /* two threads each mint one */
    assert_int_not_equal(enter_own(table, "a", NULL)->id, first);
}

static void the_first_open_gives_a_minted_node_its_writer(void **state)
{
    (void)state;
    _cleanup_(inode_table_destroyp) struct inode_table *table = new_table(MAX_NODES);
    struct counted_file first = {{&counted_ops}, 1}, second = {{&counted_ops}, 1};
    uint64_t version = enter(table, INODE_ROOT, "a", "v1")->id;
    uint64_t id = enter_own(table, "a", NULL)->id;
    assert_null(inode_table_file(table, id));
    assert_true(inode_table_set_file(table, id, &first.file));
    assert_false(inode_table_set_file(table, id, &second.file));
    assert_ptr_equal(inode_table_file(table, id), &first.file);
    assert_int_equal(first.references, 3);
    assert_int_equal(second.references, 1);
    /* never a version's node, nor one that is gone */
    assert_false(inode_table_set_file(table, version, &second.file));
    assert_null(inode_table_file(table, version));
    inode_table_forget(table, id, 1);
    assert_int_equal(first.references, 2);
    assert_false(inode_table_set_file(table, id, &second.file));
    assert_null(inode_table_file(table, id));
    assert_int_equal(second.references, 1);
}

/* The text that is open and the writer have one place in the node. */
static void a_writers_node_keeps_no_open_text(void **state)
{
    (void)state;
    struct inode_table *table = new_table(MAX_NODES);
    struct counted_file file = {{&counted_ops}, 1};
    struct entity entity = {page_of("", "\xff", "r", "text"), 0}, found = {0};
    uint64_t id = enter_own(table, "a", &file)->id;
    assert_int_equal(inode_table_opened(table, id, &entity), 0);
    assert_false(inode_table_open_text(table, id, &found));
    inode_table_closed(table, id);
    assert_int_equal(file.references, 2);
    entity_finish(&entity);
    inode_table_destroy(table);
    assert_int_equal(file.references, 1);
}

static int named(struct inode_table *table, const char *name, struct bytes position,
                 struct bytes etag)
{
    _cleanup_(buffer_finish) struct buffer found = {.max = 100}, found_etag = {.max = 100};
    int r = inode_table_named(table, INODE_ROOT, bytes_of(name), &found, &found_etag);
    if (r == 1) {
        assert_bytes(buffer_bytes(&found), position);
        assert_bytes(buffer_bytes(&found_etag), etag);
    }
    return r;
}

static void a_name_tells_the_position_and_the_etag_that_was_shown(void **state)
{
    struct inode_table *table = *state;
    static const char regular[] = "W/\"datetime'1970-01-01T00%3A00%3A00.0000001Z'\"";
    struct place partition, place;
    assert_int_equal(place_root("table", DIRECTORY_FLAT, &partition), 0);
    assert_int_equal(place_child(&partition, B("p"), &place), 0);
    place_finish(&partition);
    partition = place;
    assert_int_equal(named(table, "r.json", B(""), B("")), 0);
    static const struct version versions[] = {{B("odd"), 1, 1}, {B(regular), 1, 1}};
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        assert_int_equal(place_child(&partition, B("r.json"), &place), 0);
        assert_non_null(inode_table_enter(table, INODE_ROOT, B("r.json"), &place, &versions[i]));
        assert_int_equal(named(table, "r.json", B("p\0r"), versions[i].etag), 1);
    }
    /* a writer's node was shown to no other process */
    (void)enter_own(table, "r.json", NULL);
    assert_int_equal(named(table, "r.json", B("p\0r"), B(regular)), 1);
    (void)enter_own(table, "new.json", NULL);
    assert_int_equal(named(table, "new.json", B(""), B("")), 0);
    _cleanup_(buffer_finish) struct buffer small = {.max = 2}, etag = {.max = 100};
    assert_int_equal(inode_table_named(table, INODE_ROOT, B("r.json"), &small, &etag), -EFBIG);
    place_finish(&partition);
}

/* Runs `work` in four threads. Each must forget all nodes that it has looked up. */
static void share_a_table(void *(*work)(void *table))
{
    _cleanup_(inode_table_destroyp) struct inode_table *table = new_table(MAX_NODES);
    run_in_threads(4, work, table, 0);
    assert_int_equal(inode_table_count(table), 1);
}

static void *open_writers(void *context)
{
    struct inode_table *table = context;
    struct counted_file file = {{&counted_ops}, 1};
    for (int i = 0; i < 2000; i++) {
        const struct inode *minted = enter_own(table, "a", NULL);
        assert_ptr_equal(inode_table_enter_again(table, minted->id, INODE_ROOT, B("a")), minted);
        assert_true(inode_table_set_file(table, minted->id, &file.file));
        assert_ptr_equal(inode_table_file(table, minted->id), &file.file);
        file.references--;
        (void)named(table, "a", B("p\0a"), B("v1"));
        inode_table_forget(table, minted->id, 2);
        const struct inode *version = enter(table, INODE_ROOT, "a", "v1");
        assert_int_equal(inode_kind(version), NODE_VERSION);
        inode_table_forget(table, version->id, 1);
    }
    assert_int_equal(file.references, 1);
    return NULL;
}

static void threads_mint_nodes_of_one_name(void **state)
{
    (void)state;
    share_a_table(open_writers);
}

static void *enter_and_forget(void *table)
{
    for (int i = 0; i < 5000; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "%d", i % 50);
        const struct inode *inode = enter(table, 1, name, i % 3 ? "v1" : "v2");
        assert_non_null(inode_table_find(table, inode->id));
        inode_table_forget(table, inode->id, 1);
    }
    return NULL;
}

static void threads_share_the_table(void **state)
{
    (void)state;
    share_a_table(enter_and_forget);
}

static const struct inode *enter_in(struct inode_table *table, const struct inode *parent,
                                    const char *name, struct place *place)
{
    const struct version none = {0};
    return inode_table_enter(table, parent->id, bytes_of(name), place, &none);
}

/* A directory's node, and that of a file in it: the pointers that handlers have stay. */
static void places_are_settled(void **state)
{
    struct inode_table *table = *state;
    char name[NAME_MAX_BYTES + 1];
    struct place of_table, cut, place;
    const struct inode *root = inode_table_find(table, INODE_ROOT);
    memset(name, 'k', sizeof(name));
    memcpy(name + 237, "#~17b16d8ef494060f", sizeof("#~17b16d8ef494060f"));
    assert_int_equal(place_child(&root->place, B("table"), &of_table), 0);
    assert_int_equal(place_child(&of_table, bytes_of(name), &cut), 0);
    assert_int_equal(place_of_unsettled(&of_table, bytes_of(name), &cut, &place), 0);
    const struct inode *directory = enter_in(table, root, name, &place);
    assert_int_equal(place_child(&directory->place, B("r.json"), &place), 0);
    const struct inode *file = enter_in(table, directory, "r.json", &place);
    assert_int_equal(place_child(&directory->place, B("s.json"), &place), 0);
    const struct inode *forgotten = enter_in(table, directory, "s.json", &place);
    inode_table_forget(table, forgotten->id, 1);
    const struct settlement settlement = {
        "table", position_partition_key(place_address(&directory->place).position), B("key")};
    assert_int_equal(inode_table_settle(table, &settlement), 0);
    assert_bytes(place_directory(&directory->place).range.lo, B("key\0"));
    assert_bytes(place_address(&file->place).position, B("key\0r"));
    assert_int_equal(inode_table_settle(table, &settlement), 0); /* nothing is left */
    inode_table_forget(table, file->id, 1);
    place_finish(&cut);
    place_finish(&of_table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(table, a_node_is_one_version),
        TEST_WITH(table, a_regular_etag_is_a_version_like_any_other),
        TEST_WITH(table, what_is_forgotten_is_gone_and_ids_are_never_used_again),
        TEST_WITH(table, the_text_stays_while_it_is_open),
        cmocka_unit_test(a_writer_has_a_node_of_its_own),
        cmocka_unit_test(a_name_has_one_node_of_a_file),
        cmocka_unit_test(a_new_file_has_no_version),
        TEST_WITH(table, two_lookups_answer_one_minted_node),
        cmocka_unit_test(an_ended_file_leaves_its_node),
        cmocka_unit_test(the_first_open_gives_a_minted_node_its_writer),
        cmocka_unit_test(a_writers_node_keeps_no_open_text),
        TEST_WITH(table, a_name_tells_the_position_and_the_etag_that_was_shown),
        cmocka_unit_test(threads_share_the_table),
        cmocka_unit_test(threads_mint_nodes_of_one_name),
        TEST_WITH(table, places_are_settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
