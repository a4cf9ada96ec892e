/* SPDX-License-Identifier: MIT */
#include "cache/who/path_aliases.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/threads.h"

#define RSYNC 7 /* a process */
#define FIND  8

struct setup {
    int64_t now_ms;
    struct clock clock;
    struct path_aliases *aliases;
};

static void set_up(struct setup *setup)
{
    *setup = (struct setup){.now_ms = 1000};
    setup->clock = fake_clock(&setup->now_ms);
    assert_int_equal(path_aliases_create(&setup->clock, &setup->aliases), 0);
}

static void tear_down(struct setup *setup)
{
    path_aliases_destroy(setup->aliases);
}

/* The directory of partition `key` of a table, by the prefixes above it: "N+Ne+" are two. */
struct path {
    char lo[64];
    struct directory steps[6];
    struct directory_path path;
};

static void add_step(struct path *path, enum directory_kind kind, const char *table,
                     struct bytes lo)
{
    path->steps[path->path.n++] =
        (struct directory){.kind = kind, .table = table, .range = {lo, B(POSITION_AFTER)}};
}

static struct directory_path *path_of(struct path *path, const char *table, const char *prefixes,
                                      const char *key)
{
    struct bytes rest = bytes_of(prefixes), parts[4];
    size_t n = 0;
    *path = (struct path){.path = {.steps = path->steps}};
    memcpy(path->lo, key, strlen(key)); /* a NUL is after it */
    add_step(path, DIRECTORY_ENTITIES, table, (struct bytes){path->lo, strlen(key) + 1});
    while (rest.size > 0)
        parts[n++] = bytes_take_until(&rest, '+');
    while (n > 0)
        add_step(path, DIRECTORY_AUTO, table, parts[--n]);
    add_step(path, DIRECTORY_AUTO, table, B(""));
    return &path->path;
}

static void use_as(struct setup *setup, uint64_t process, const char *prefixes, const char *key)
{
    struct path path;
    const struct caller caller = {.process = process};
    path_aliases_note(setup->aliases, &caller, path_of(&path, "t", prefixes, key));
}

static void use(struct setup *setup, const char *prefixes, const char *key)
{
    use_as(setup, RSYNC, prefixes, key);
}

static bool differs_as(struct setup *setup, uint64_t process, const char *table,
                       const char *prefixes, const char *key)
{
    struct path path;
    const struct caller caller = {.process = process};
    return path_aliases_differ(setup->aliases, &caller, path_of(&path, table, prefixes, key));
}

static bool differs(struct setup *setup, const char *prefixes, const char *key)
{
    return differs_as(setup, RSYNC, "t", prefixes, key);
}

DEFINE_FIXTURE(aliases, struct setup, set_up(test), tear_down(test))

static void another_path_differs(void **state)
{
    struct setup *setup = *state;
    assert_false(differs(setup, "N+", "Newt"));
    use(setup, "", "Newt");
    assert_false(differs(setup, "", "Newt"));
    assert_true(differs(setup, "N+", "Newt"));
    assert_true(differs(setup, "N+Ne+", "Newt"));
    use(setup, "N+", "Newt"); /* looked up before it is deleted */
    assert_true(differs(setup, "N+", "Newt"));
    assert_true(differs(setup, "", "Newt"));
    assert_false(differs(setup, "N+", "New"));
    assert_false(differs_as(setup, RSYNC, "s", "N+", "Newt"));
    use(setup, "Ne+", "News"); /* all directories above count */
    assert_true(differs(setup, "N+Ne+", "News"));
}

static void a_directory_above_partitions_is_not_recorded(void **state)
{
    struct setup *setup = *state;
    struct path path;
    const struct caller caller = {.process = RSYNC};
    const struct directory_path *all = path_of(&path, "t", "N+", "Newt"),
                                level = {.steps = path.steps + 1, .n = all->n - 1}, none = {0};
    path_aliases_note(setup->aliases, &caller, &level);
    path_aliases_note(setup->aliases, &caller, &none);
    assert_false(differs(setup, "", "N"));
    assert_false(path_aliases_differ(setup->aliases, &caller, &level));
    assert_false(path_aliases_differ(setup->aliases, &caller, &none));
}

static void the_two_last_paths_suffice(void **state)
{
    struct setup *setup = *state;
    use(setup, "", "Newt");
    use(setup, "N+", "Newt");
    use(setup, "Ne+", "Newt");
    use(setup, "N+Ne+", "Newt");
    assert_true(differs(setup, "", "Newt"));
    assert_true(differs(setup, "N+", "Newt"));
    assert_true(differs(setup, "N+Ne+", "Newt"));
}

static void processes_are_kept_apart(void **state)
{
    struct setup *setup = *state;
    use(setup, "", "Newt");
    use_as(setup, FIND, "N+", "Newt");
    assert_false(differs_as(setup, FIND, "t", "N+", "Newt"));
    assert_true(differs_as(setup, RSYNC, "t", "N+", "Newt"));
    use_as(setup, 0, "", "Newt");
    assert_false(differs_as(setup, 0, "t", "N+", "Newt"));
}

static void a_prefix_of_row_keys_is_in_its_partition(void **state)
{
    struct setup *setup = *state;
    const struct caller caller = {.process = RSYNC};
    const struct directory below[] = {
        {.kind = DIRECTORY_ENTITIES, .table = "t", .range = {B("Newt\0001"), B("Newt\0002")}},
        {.kind = DIRECTORY_ENTITIES,
         .table = "t",
         .range = {B("Newt\0"), B("Newt" POSITION_AFTER)}},
        {.kind = DIRECTORY_AUTO, .table = "t", .range = {B(""), B(POSITION_END)}},
    };
    path_aliases_note(setup->aliases, &caller, &(struct directory_path){.steps = below, .n = 3});
    assert_false(differs(setup, "", "Newt"));
    assert_true(differs(setup, "N+", "Newt"));
    use(setup, "N+", "Newt");
    assert_true(path_aliases_differ(setup->aliases, &caller,
                                    &(struct directory_path){.steps = below, .n = 3}));
}

static void below_flat_nothing_differs(void **state)
{
    struct setup *setup = *state;
    struct path path;
    const struct caller caller = {.process = RSYNC};
    use(setup, "N+", "Newt");
    struct directory_path *flat = path_of(&path, "t", "", "Newt");
    flat->is_flat = true;
    assert_false(path_aliases_differ(setup->aliases, &caller, flat));
    path_aliases_note(setup->aliases, &caller, flat); /* but it counts as a use */
    assert_true(differs(setup, "N+", "Newt"));
}

static void a_process_that_rests_is_forgotten(void **state)
{
    struct setup *setup = *state;
    use(setup, "", "Newt");
    setup->now_ms += PATH_ALIASES_REST_MS;
    assert_true(differs(setup, "N+", "Newt")); /* it has not rested, and goes on */
    setup->now_ms += PATH_ALIASES_REST_MS;
    use(setup, "", "else");
    setup->now_ms += PATH_ALIASES_REST_MS;
    assert_true(differs(setup, "N+", "Newt"));
    setup->now_ms += 1;
    use_as(setup, FIND, "", "else");
    setup->now_ms += PATH_ALIASES_REST_MS;
    assert_false(differs(setup, "N+", "Newt"));
    use(setup, "N+", "Newt");
    assert_false(differs(setup, "N+", "Newt"));
    assert_true(differs(setup, "", "Newt"));
}

static void use_many(struct setup *setup, uint64_t process, const char *prefixes, int count)
{
    char key[16];
    for (int i = 0; i < count; i++) {
        (void)snprintf(key, sizeof(key), "%06d", i);
        use_as(setup, process, prefixes, key);
    }
}

static int count_deletes(struct setup *setup, const char *prefixes, int count)
{
    char key[16];
    int deletes = 0;
    for (int i = 0; i < count; i++) {
        (void)snprintf(key, sizeof(key), "%06d", i);
        use_as(setup, RSYNC, prefixes, key);
        deletes += !differs(setup, prefixes, key);
    }
    return deletes;
}

static void all_pairs_are_remembered(void **state)
{
    struct setup *setup = *state;
    use_many(setup, FIND, "", PATH_ALIASES_SIZE); /* those that are lost */
    use_many(setup, RSYNC, "", PATH_ALIASES_SIZE);
    assert_int_equal(count_deletes(setup, "N+", PATH_ALIASES_SIZE), 0);
    assert_false(differs_as(setup, FIND, "t", "N+", "000000"));
}

/* Its first pairs are remembered. It deletes in the same order. */
static void too_many_are_noticed_at_once(void **state)
{
    struct setup *setup = *state;
    use_many(setup, RSYNC, "", 100000);
    assert_int_equal(count_deletes(setup, "N+", 100000), 0);
    assert_true(differs(setup, "N+", "never used"));
    assert_false(differs_as(setup, RSYNC, "s", "N+", "000000"));
    assert_false(differs_as(setup, FIND, "t", "N+", "000000"));
    setup->now_ms += PATH_ALIASES_REST_MS + 1;
    assert_false(differs(setup, "N+", "never used"));
}

static void of_two_processes_the_first_pairs_stay(void **state)
{
    struct setup *setup = *state;
    char key[16];
    for (int i = 0; i < 100000; i++) {
        (void)snprintf(key, sizeof(key), "%06d", i);
        use_as(setup, FIND, "", key);
        use(setup, "", key);
    }
    assert_true(differs_as(setup, FIND, "t", "N+", "000000"));
    assert_int_equal(count_deletes(setup, "N+", 100000), 0);
}

/* A process that ends is not told. Each has one pair. */
static void the_oldest_process_is_forgotten(void **state)
{
    struct setup *setup = *state;
    use(setup, "", "Newt");
    for (uint64_t other = 0; other < PATH_ALIASES_SIZE / 2 - 1; other++)
        use_as(setup, 1000 + other, "", "Newt");
    assert_true(differs(setup, "N+", "Newt"));
    use_as(setup, FIND, "", "Newt"); /* in place of the first other */
    assert_true(differs(setup, "N+", "Newt"));
    assert_false(differs_as(setup, 1000, "t", "N+", "Newt"));
    assert_true(differs_as(setup, 1001, "t", "N+", "Newt"));
}

static void a_process_is_refused_in_each_of_its_last_tables(void **state)
{
    struct setup *setup = *state;
    struct path path;
    const struct caller caller = {.process = RSYNC};
    static const char *const tables[] = {"t1", "t2", "t3"};
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        path_aliases_note(setup->aliases, &caller, path_of(&path, tables[i], "", "Newt"));
    use_many(setup, RSYNC, "", PATH_ALIASES_SIZE);
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        assert_true(differs_as(setup, RSYNC, tables[i], "N+", "Newt"));
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        assert_true(differs_as(setup, RSYNC, tables[i], "N+", "never used"));
    assert_false(differs(setup, "N+", "never used"));
}

/* `rm -r` of a large table. */
static void a_process_of_one_path_is_never_refused(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(count_deletes(setup, "N+", 2 * PATH_ALIASES_SIZE), 2 * PATH_ALIASES_SIZE);
}

static void *use_from_a_thread(void *argument)
{
    struct setup *setup = argument;
    use_many(setup, (uint64_t)(uintptr_t)pthread_self(), "", 2000);
    return NULL;
}

static void threads_use_it_at_once(void **state)
{
    struct setup *setup = *state;
    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_from_a_thread, setup), 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        uint64_t process = (uint64_t)(uintptr_t)threads[i];
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(differs_as(setup, process, "t", "0+", "000000"));
        assert_true(differs_as(setup, process, "t", "0+", "001999"));
    }
}

static void without_memory_there_is_none(void **state)
{
    (void)state;
    struct setup setup = {0};
    allocations_until_failure = 1;
    assert_int_equal(path_aliases_create(&setup.clock, &setup.aliases), -ENOMEM);
    path_aliases_destroy(NULL);
    set_up(&setup);
    for (int until = 1; until <= 2; until++) { /* that of the process, and that of its pair */
        allocations_until_failure = until;
        use(&setup, "", "Newt");
        assert_false(differs(&setup, "N+", "Newt"));
    }
    use(&setup, "", "Newt");
    assert_true(differs(&setup, "N+", "Newt"));
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(aliases, another_path_differs),
        TEST_WITH(aliases, a_directory_above_partitions_is_not_recorded),
        TEST_WITH(aliases, the_two_last_paths_suffice),
        TEST_WITH(aliases, processes_are_kept_apart),
        TEST_WITH(aliases, a_prefix_of_row_keys_is_in_its_partition),
        TEST_WITH(aliases, below_flat_nothing_differs),
        TEST_WITH(aliases, a_process_that_rests_is_forgotten),
        TEST_WITH(aliases, all_pairs_are_remembered),
        TEST_WITH(aliases, too_many_are_noticed_at_once),
        TEST_WITH(aliases, of_two_processes_the_first_pairs_stay),
        TEST_WITH(aliases, the_oldest_process_is_forgotten),
        TEST_WITH(aliases, a_process_is_refused_in_each_of_its_last_tables),
        TEST_WITH(aliases, a_process_of_one_path_is_never_refused),
        TEST_WITH(aliases, threads_use_it_at_once),
        cmocka_unit_test(without_memory_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
