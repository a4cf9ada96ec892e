/* SPDX-License-Identifier: MIT */
#include "cache/known/local_directories.h"
#include "cache/known/table_page.h"
#include "fs/tree/place.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/threads.h"

static _Atomic uint64_t orders;

static struct local_directories *new_local(void)
{
    struct local_directories *local;
    assert_int_equal(local_directories_create(&orders, &local), 0);
    return local;
}

/* What a path below the root stands for. */
static struct place place_at(const char *path)
{
    struct place place, child;
    struct bytes rest = bytes_of(path);
    assert_int_equal(place_root(NULL, DIRECTORY_AUTO, &place), 0);
    while (rest.size > 0) {
        assert_int_equal(place_child(&place, bytes_take_until(&rest, '/'), &child), 0);
        place_finish(&place);
        place = child;
    }
    return place;
}

/* The path without its last name. */
static struct place parent_of(const char *path)
{
    char parent[200];
    (void)snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(path, '/') - path), path);
    return place_at(parent);
}

static int add(struct local_directories *local, const char *path)
{
    struct place place = place_at(path), above = parent_of(path);
    struct directory directory = place_directory(&place), parent = place_directory(&above);
    int r = local_directories_add(local, &directory, &parent, true);
    place_finish(&place);
    place_finish(&above);
    return r;
}

static bool has(struct local_directories *local, const char *path)
{
    struct place place = place_at(path);
    struct directory directory = place_directory(&place);
    bool is_local = local_directories_has(local, &directory);
    place_finish(&place);
    return is_local;
}

static bool has_below(struct local_directories *local, const char *path)
{
    struct place place = place_at(path);
    struct directory directory = place_directory(&place);
    bool has_below = local_directories_has_below(local, &directory);
    place_finish(&place);
    return has_below;
}

static void remove_at(struct local_directories *local, const char *path)
{
    struct place place = place_at(path);
    struct directory directory = place_directory(&place);
    local_directories_remove(local, &directory);
    place_finish(&place);
}

/* Appends the listing of the path: a prefix with +, a ! if it may hold entities, a blank after
 * each. Returns how many. */
static int list(struct local_directories *local, const char *path, struct buffer *ret)
{
    struct place place = place_at(path);
    struct directory parent = place_directory(&place);
    struct position lo = {0};
    int count = 0;
    bool is_empty;
    while (local_directories_next(local, &parent, position_bytes(&lo), &lo, &is_empty)) {
        struct bytes key = position_partition_key(position_bytes(&lo));
        (void)buffer_append(ret, key);
        (void)buffer_append_string(ret, lo.size == key.size ? "+" : "");
        (void)buffer_append_string(ret, is_empty ? " " : "! ");
        count++;
    }
    place_finish(&place);
    return count;
}

static void assert_listed(struct local_directories *local, const char *path, const char *expected)
{
    _cleanup_(buffer_finish) struct buffer listed;
    buffer_init(&listed, 1000);
    (void)list(local, path, &listed);
    assert_string_equal(buffer_string(&listed), expected);
}

static void a_directory_is_local_until_it_is_removed(void **state)
{
    (void)state;
    struct local_directories *local = new_local();
    assert_false(has(local, "Tab/New"));
    assert_int_equal(add(local, "Tab/New"), 0);
    assert_true(has(local, "Tab/New"));
    assert_false(has(local, "Tab/Ne"));
    assert_false(has(local, "Tab/New+"));
    assert_false(has(local, "Tab/New1"));
    assert_false(has(local, "Uab/New"));
    assert_false(has(local, "Tab"));
    assert_false(has(local, ""));
    remove_at(local, "Tab/New");
    assert_false(has(local, "Tab/New"));
    remove_at(local, "Tab/New");
    local_directories_destroy(local);
    local_directories_destroy(NULL);
}

static void assert_one_directory(const char *const *paths, size_t n)
{
    _cleanup_(local_directories_destroyp) struct local_directories *local = new_local();
    for (size_t made = 0; made < n; made++) {
        for (size_t asked = 0; asked < n; asked++) {
            assert_int_equal(add(local, paths[made]), 0);
            assert_true(has(local, paths[asked]));
            remove_at(local, paths[asked]);
            assert_false(has(local, paths[made]));
        }
    }
}

/* By whichever path it was made, and by whichever it is asked for and removed. */
static void every_path_of_a_directory_is_the_same_directory(void **state)
{
    (void)state;
    static const char *const partitions[] = {"Tab/New",      "Tab/N+/New",    "Tab/N+/Ne+/New",
                                             "Tab/New+/New", "Tab/.flat/New", "Tab/N+/.flat/New"};
    static const char *const prefixes[] = {"Tab/Ne+", "Tab/N+/Ne+"};
    assert_one_directory(partitions, ARRAY_SIZE(partitions));
    assert_one_directory(prefixes, ARRAY_SIZE(prefixes));
}

DEFINE_OBJECT_FIXTURE(local, new_local(), local_directories_destroy)

static void a_level_shows_what_was_made_in_it(void **state)
{
    struct local_directories *local = *state;
    static const char *const paths[] = {"Tab/b",      "Tab/N+",          "Tab/a", "Tab/N+/New",
                                        "Tab/N+/Ne+", "Tab/N+/Ne+/News", "Uab/a", "Tab/N+/N",
                                        "Tab/N",      "Tab/#00"};
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_int_equal(add(local, paths[i]), strcmp(paths[i], "Tab/N") == 0);
    assert_listed(local, "Tab", " N+ a b "); /* first the empty key; N is in N+ already */
    assert_listed(local, "Tab/N+", "N Ne+ New ");
    assert_listed(local, "Tab/N+/Ne+", "News ");
    assert_listed(local, "Tab/Ne+", "News "); /* the same directory */
    assert_listed(local, "Tab/New+", "");
    assert_listed(local, "Uab", "a ");
    assert_listed(local, "Vab", "");
    assert_listed(local, "", "");
    remove_at(local, "Tab/N+");
    assert_listed(local, "Tab", " a b ");
    assert_true(has(local, "Tab/N"));
}

/* However they were made. There are no prefixes in it. */
static void a_flat_listing_shows_all_partitions_of_its_range(void **state)
{
    struct local_directories *local = *state;
    static const char *const paths[] = {"Tab/b",       "Tab/N+", "Tab/N+/New", "Tab/N+/Ne+/News",
                                        "Tab/.flat/c", "Tab/O+", "Tab/#00",    "Uab/a"};
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_int_equal(add(local, paths[i]), 0);
    assert_listed(local, "Tab/.flat", " New News b c ");
    assert_listed(local, "Tab/N+/.flat", "New News ");
    assert_listed(local, "Tab/O+/.flat", "");
    assert_listed(local, "Tab", " N+ O+ b c ");
}

/* rm -r of such a directory looks it up before its rmdir, but it is in no listing. */
static void a_prefix_of_row_keys_is_local_and_never_listed(void **state)
{
    struct local_directories *local = *state;
    assert_int_equal(add(local, "Tab/p/2024+"), 0);
    assert_true(has(local, "Tab/p/2024+"));
    assert_true(has(local, "Tab/.flat/p/2024+"));
    assert_false(has(local, "Tab/p"));
    assert_listed(local, "Tab/p", "");
    assert_listed(local, "Tab", "");
    assert_listed(local, "Tab/.flat", "");
    assert_true(has_below(local, "Tab/p")); /* which the way to it goes through */
    assert_false(has_below(local, "Tab/p/2024+"));
    assert_false(has_below(local, "Tab/p/2025+"));
}

static void what_is_above_a_local_directory_knows_it(void **state)
{
    struct local_directories *local = *state;
    assert_int_equal(add(local, "Tab/Ne+"), 0);
    assert_true(has_below(local, "Tab"));
    assert_true(has_below(local, "Tab/N+"));
    assert_false(has_below(local, "Tab/Ne+"));
    assert_int_equal(add(local, "Tab/New"), 0); /* by another path */
    assert_true(has_below(local, "Tab/Ne+"));
    assert_true(has_below(local, "Tab/N+/Ne+"));
    assert_true(has_below(local, "Tab/New+"));
    assert_false(has_below(local, "Tab/New"));
    assert_false(has_below(local, "Tab/Newt+"));
    assert_false(has_below(local, "Tab/Nd+"));
    assert_false(has_below(local, "Uab"));
    assert_false(has_below(local, ""));
    remove_at(local, "Tab/Ne+");
    remove_at(local, "Tab/New");
    assert_false(has_below(local, "Tab"));
}

static void made_again_it_stays_where_it_is(void **state)
{
    struct local_directories *local = *state;
    assert_int_equal(add(local, "Tab/N+/New"), 0);
    assert_int_equal(add(local, "Tab/New"), 1);
    assert_listed(local, "Tab/N+", "New ");
    assert_listed(local, "Tab", "");
    remove_at(local, "Tab/New");
    assert_listed(local, "Tab/N+", "");
    assert_int_equal(add(local, "Tab/New"), 0);
    assert_listed(local, "Tab", "New ");
}

static void all_of_a_table_go_with_it(void **state)
{
    struct local_directories *local = *state;
    static const char *const paths[] = {"Saa/a",   "Tab/a",  "Tab/N+", "Tab/N+/New",
                                        "Tab/#00", "Tabb/a", "Uab/a"};
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_int_equal(add(local, paths[i]), 0);
    local_directories_remove_table(local, "Tab");
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_int_equal(has(local, paths[i]), strncmp(paths[i], "Tab/", 4) != 0);
    local_directories_remove_table(local, "Tab");
    assert_listed(local, "Tab", "");
    assert_listed(local, "Tab/N+", "");
}

/* The answer to a question that is asked now. name NULL: it has no table at all. */
static void keep_one(struct local_directories *local, const char *name, bool is_there,
                     struct stamp asked)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    int r = name ? table_page_of_one(name, is_there, &page)
                 : table_page_of_all((struct bytes){0}, &page);
    assert_int_equal(r, 0);
    local_directories_keep_tables(local, page, asked);
}

static void those_of_a_table_that_is_gone_end(void **state)
{
    struct local_directories *local = *state;
    assert_int_equal(add(local, "Saa/a"), 0);
    assert_int_equal(add(local, "Tab/a"), 0);
    assert_int_equal(add(local, "Tab/b"), 0);
    assert_int_equal(add(local, "Tabb/a"), 0);
    keep_one(local, "Tab", true, stamp_take(&orders, 0));
    assert_true(has(local, "Tab/a"));
    keep_one(local, "Tab", false, stamp_take(&orders, 0));
    assert_listed(local, "Tab", "");
    assert_true(has(local, "Saa/a") && has(local, "Tabb/a"));
    keep_one(local, NULL, false, stamp_take(&orders, 0));
    assert_false(has(local, "Saa/a") || has(local, "Tabb/a"));
}

static void an_answer_to_an_older_question_ends_none(void **state)
{
    struct local_directories *local = *state;
    assert_int_equal(add(local, "Tab/a"), 0);
    assert_int_equal(add(local, "Tab/b"), 0);
    struct stamp asked = stamp_take(&orders, 0);
    assert_int_equal(add(local, "Tab/b"), 1); /* it was local already, and counts as new */
    assert_int_equal(add(local, "Tab/c"), 0);
    keep_one(local, "Tab", false, asked);
    assert_false(has(local, "Tab/a"));
    assert_true(has(local, "Tab/b") && has(local, "Tab/c"));
    keep_one(local, "Tab", false, stamp_take(&orders, 0));
    assert_listed(local, "Tab", "");
}

static void fill(struct local_directories *local, const char *path)
{
    struct place place = place_at(path);
    local_directories_filled(local, place_address(&place));
    place_finish(&place);
}

static void those_that_hold_an_entity_are_not_empty(void **state)
{
    struct local_directories *local = *state;
    static const char *const paths[] = {"Tab/N+",  "Tab/N+/Ne+",    "Tab/N+/Ne+/New", "Tab/M+",
                                        "Tab/Na+", "Tab/Ne",        "Tab/New1",       "Tab/New+",
                                        "Tab/O+",  "Tab/New/2024+", "Tab/New1+"};
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_int_equal(add(local, paths[i]), 0);
    assert_int_equal(add(local, "Uab/New"), 0);
    fill(local, "Tab/Kim/2024-05.json");
    assert_listed(local, "Tab", "M+ N+ Na+ Ne New+ New1+ New1 O+ ");
    fill(local, "Tab/New/2024-05.json");
    assert_listed(local, "Tab", "M+ N+! Na+ Ne New+! New1+ New1 O+ ");
    assert_listed(local, "Tab/N+", "Ne+! ");
    assert_listed(local, "Tab/N+/Ne+", "New! ");
    assert_listed(local, "Uab", "New ");
    assert_int_equal(add(local, "Tab/N+/Ne+/New"), 1);
    assert_listed(local, "Tab/N+/Ne+", "New! ");
    assert_int_equal(add(local, "Vab/N+/Ne+"), 0);
    assert_int_equal(add(local, "Vab/New1"), 0); /* between Ne+ and what it holds */
    fill(local, "Vab/Nez/r.json");
    assert_listed(local, "Vab/N+", "Ne+! ");
    assert_listed(local, "Vab", "New1 ");
}

static const char *numbered(int i, int size)
{
    static char path[240];
    (void)snprintf(path, sizeof(path), "Tab/%05d%0*d", i, size, 0);
    return path;
}

static void beyond_the_maximum_the_longest_unused_ends(void **state)
{
    struct local_directories *local = *state;
    _cleanup_(buffer_finish) struct buffer listed = {.max = 1 << 20};
    for (int i = 0; i < LOCAL_DIRECTORIES_MAX; i++)
        assert_int_equal(add(local, numbered(i, 1)), 0);
    assert_int_equal(add(local, numbered(0, 1)), 1); /* again: used last */
    assert_true(has(local, numbered(1, 1)));
    assert_int_equal(add(local, numbered(LOCAL_DIRECTORIES_MAX, 1)), 0);
    assert_int_equal(list(local, "Tab", &listed), LOCAL_DIRECTORIES_MAX);
    for (int i = 0; i <= LOCAL_DIRECTORIES_MAX; i++)
        assert_int_equal(has(local, numbered(i, 1)), i != 2);
}

/* Keys may be far longer than names. */
static void memory_is_bounded(void **state)
{
    struct local_directories *local = *state;
    bool is_empty;
    static char key[8000];
    struct directory parent = {.kind = DIRECTORY_AUTO, .table = "Tab", .range = RANGE_ALL};
    struct directory directory = {.kind = DIRECTORY_ENTITIES, .table = "Tab"};
    int kept = 0;
    for (int i = 0; i < LOCAL_DIRECTORIES_MAX; i++) {
        memset(key, 'k', sizeof(key));
        (void)snprintf(key, sizeof(key), "%05d", i);
        key[5] = 'k';
        key[sizeof(key) - 1] = '\0';
        directory.range.lo = (struct bytes){key, sizeof(key)};
        assert_int_equal(local_directories_add(local, &directory, &parent, true), 0);
        assert_true(local_directories_has(local, &directory));
    }
    struct position lo = {0};
    while (local_directories_next(local, &parent, position_bytes(&lo), &lo, &is_empty))
        kept++;
    assert_in_range(kept, LOCAL_DIRECTORIES_MAX_BYTES / 8500, LOCAL_DIRECTORIES_MAX_BYTES / 8000);
}

static void without_memory_nothing_changes(void **state)
{
    (void)state;
    bool is_empty;
    _cleanup_(local_directories_destroyp) struct local_directories *local = NULL;
    allocations_until_failure = 1;
    assert_int_equal(local_directories_create(&orders, &local), -ENOMEM);
    assert_null(local);
    local = new_local();
    struct directory parent = {.kind = DIRECTORY_AUTO, .table = "Tab", .range = RANGE_ALL};
    struct directory directory = {.kind = DIRECTORY_ENTITIES, .table = "Tab"};
    directory.range.lo = B("p\0");
    allocations_until_failure = 1;
    assert_int_equal(local_directories_add(local, &directory, &parent, true), -ENOMEM);
    assert_false(local_directories_has(local, &directory));
    assert_int_equal(local_directories_add(local, &directory, &parent, true), 0);
    struct position lo;
    assert_true(local_directories_next(local, &parent, B(""), &lo, &is_empty));
    assert_bytes(position_bytes(&lo), B("p\0"));
}

struct thread {
    struct local_directories *local;
    int id;
};

static void *make_and_remove(void *argument)
{
    struct thread *self = argument;
    char own[40];
    (void)snprintf(own, sizeof(own), "Tab/N+/Nown%d", self->id);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(add(self->local, own), 0);
        assert_in_range(add(self->local, "Tab/shared"), 0, 1);
        assert_true(has(self->local, own));
        _cleanup_(buffer_finish) struct buffer listed = {.max = 1000};
        assert_in_range(list(self->local, "Tab/N+", &listed), 1, 4);
        remove_at(self->local, own);
        remove_at(self->local, "Tab/shared");
        assert_false(has(self->local, own));
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    _cleanup_(local_directories_destroyp) struct local_directories *local = new_local();
    struct thread threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = (struct thread){.local = local, .id = i};
    run_in_threads(ARRAY_SIZE(threads), make_and_remove, threads, sizeof(threads[0]));
    assert_listed(local, "Tab", "");
    assert_listed(local, "Tab/N+", "");
}

static void a_settled_directory_is_that_of_the_key(void **state)
{
    struct local_directories *local = *state;
    struct place table = place_at("Tab");
    struct directory parent = place_directory(&table), unsettled = {.kind = DIRECTORY_ENTITIES,
                                                                    .table = "Tab",
                                                                    .range = {B("N\xfe"
                                                                                "0\0"),
                                                                              B("N\xfe"
                                                                                "0\1")}};
    const struct settlement settlement = {"Tab",
                                          B("N\xfe"
                                            "0"),
                                          B("Newton")};
    assert_int_equal(local_directories_settle(local, &settlement), 0); /* none */
    assert_int_equal(local_directories_add(local, &unsettled, &parent, true), 0);
    allocations_until_failure = 1;
    assert_int_equal(local_directories_settle(local, &settlement), -ENOMEM);
    assert_true(local_directories_has(local, &unsettled));
    assert_int_equal(local_directories_settle(local, &settlement), 0);
    assert_false(local_directories_has(local, &unsettled));
    assert_true(has(local, "Tab/Newton"));
    assert_listed(local, "Tab", "Newton ");
    assert_int_equal(local_directories_add(local, &unsettled, &parent, true), 0);
    assert_int_equal(local_directories_settle(local, &settlement), 0); /* that is local already */
    assert_false(local_directories_has(local, &unsettled));
    assert_listed(local, "Tab", "Newton ");
    place_finish(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_is_local_until_it_is_removed),
        cmocka_unit_test(every_path_of_a_directory_is_the_same_directory),
        TEST_WITH(local, a_level_shows_what_was_made_in_it),
        TEST_WITH(local, a_flat_listing_shows_all_partitions_of_its_range),
        TEST_WITH(local, a_prefix_of_row_keys_is_local_and_never_listed),
        TEST_WITH(local, what_is_above_a_local_directory_knows_it),
        TEST_WITH(local, made_again_it_stays_where_it_is),
        TEST_WITH(local, all_of_a_table_go_with_it),
        TEST_WITH(local, those_of_a_table_that_is_gone_end),
        TEST_WITH(local, an_answer_to_an_older_question_ends_none),
        TEST_WITH(local, those_that_hold_an_entity_are_not_empty),
        TEST_WITH(local, beyond_the_maximum_the_longest_unused_ends),
        TEST_WITH(local, memory_is_bounded),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        TEST_WITH(local, a_settled_directory_is_that_of_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
