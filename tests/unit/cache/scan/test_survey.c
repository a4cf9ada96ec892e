/* SPDX-License-Identifier: MIT */
/* The tree of prefixes, of random tables against a model that looks at all keys. */
#include "cache/scan/survey.h"
#include "client/base/position.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/unit.h"

#define MAX_KEYS 400
#define KEY_SIZE 64
#define WORLDS   1000

struct world {
    unsigned random;
    size_t count;
    char texts[MAX_KEYS][KEY_SIZE];
    struct bytes keys[MAX_KEYS]; /* sorted, without equal ones */
    struct survey_counts counts[MAX_KEYS];
    size_t largest_node;
};

static unsigned below(struct world *world, unsigned n)
{
    world->random = world->random * 1664525 + 1013904223;
    return (world->random >> 8) % n;
}

static int compare(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

/* Few letters, so that keys share beginnings; some need several bytes, some are in no name. */
static void make_key(struct world *world, size_t i, const char *beginning)
{
    static const char *const letters[] = {
        "a", "b", "b", "c", "\xc3\xa9", "\xed\xa0\xbd\xed\xb8\x80", "\xed\xa0\xbd", "/", "\x01"};
    _cleanup_(buffer_finish) struct buffer key = {.max = KEY_SIZE};
    (void)buffer_append_string(&key, beginning);
    for (unsigned size = below(world, 9); size > 0; size--)
        (void)buffer_append_string(&key, letters[below(world, ARRAY_SIZE(letters))]);
    memcpy(world->texts[i], key.data ? key.data : "", key.size);
    world->keys[i] = (struct bytes){world->texts[i], key.size};
}

static void make_keys(struct world *world)
{
    size_t made = 1 + below(world, below(world, 2) ? MAX_KEYS : 20);
    const char *beginning = (const char *[]){"", "ab", "/"}[below(world, 3)]; /* of all */
    for (size_t i = 0; i < made; i++)
        make_key(world, i, beginning);
    qsort(world->keys, made, sizeof(world->keys[0]), compare);
    for (size_t i = 0; i < made; i++)
        if (world->count == 0 || !bytes_equal(world->keys[i], world->keys[world->count - 1]))
            world->keys[world->count++] = world->keys[i];
    for (size_t i = 0; i < world->count; i++)
        world->counts[i] =
            (struct survey_counts){.entities = 1 + (below(world, 8) == 0 ? below(world, 1000) : 0),
                                   .partitions = 1,
                                   .bytes = 1 + below(world, 100000)};
}

static struct survey *survey_of(struct world *world, size_t max_bytes, bool by_bytes,
                                const struct survey_node **ret)
{
    struct survey *survey;
    assert_int_equal(survey_create(max_bytes, by_bytes, &survey), 0);
    for (size_t i = 0; i < world->count; i++) { /* in two parts, as pages end anywhere */
        uint64_t first = below(world, 2) ? world->counts[i].entities / 2 : 0;
        struct survey_counts all = world->counts[i];
        if (first > 0)
            assert_int_equal(survey_add(survey, world->keys[i], first, all.bytes / 2), 0);
        assert_int_equal(survey_add(survey, world->keys[i], all.entities - first,
                                    first > 0 ? all.bytes - all.bytes / 2 : all.bytes),
                         0);
    }
    assert_int_equal(survey_finish(survey, ret), 0);
    return survey;
}

static struct survey_counts sum_of(const struct world *world, struct bytes prefix)
{
    struct survey_counts sum = {0};
    for (size_t i = 0; i < world->count; i++)
        if (bytes_start_with(world->keys[i], prefix)) {
            sum.entities += world->counts[i].entities;
            sum.partitions++;
            sum.bytes += world->counts[i].bytes;
        }
    return sum;
}

static void assert_counts(struct survey_counts actual, struct survey_counts expected)
{
    assert_int_equal(actual.entities, expected.entities);
    assert_int_equal(actual.partitions, expected.partitions);
    assert_int_equal(actual.bytes, expected.bytes);
}

static struct bytes name_of(const struct survey_node *node)
{
    return (struct bytes){node->name, node->name_size};
}

/* Each number is exact, and what is left of its parent fits. */
static void check_node(const struct world *world, const struct survey_node *node)
{
    struct bytes name = name_of(node), previous = {0};
    struct survey_counts rest = survey_rest(node), all = sum_of(world, name);
    if (node->is_partition) {
        assert_int_equal(node->counts.partitions, 1);
        assert_null(node->children);
        for (size_t i = 0; i < world->count; i++)
            if (bytes_equal(world->keys[i], name))
                assert_counts(node->counts, world->counts[i]);
    } else
        assert_counts(node->counts, all);
    assert_true(rest.entities <= node->counts.entities && rest.bytes <= node->counts.bytes);
    for (const struct survey_node *child = node->children; child; child = child->next) {
        assert_true(bytes_start_with(name_of(child), name));
        assert_true(child == node->children || bytes_compare(previous, name_of(child)) < 0);
        previous = name_of(child);
        check_node(world, child);
    }
}

/* The model of a level: cache/scan/scan_level says what it shows. */

/* Is it a prefix's name, or empty: whole letters that are in names? */
static bool is_boundary(struct bytes key, size_t size)
{
    static const char *const in_names[] = {"a", "b", "c", "\xc3\xa9", "\xed\xa0\xbd\xed\xb8\x80"};
    struct bytes prefix = bytes_first(key, size);
    for (size_t i = 0; prefix.size > 0 && i < ARRAY_SIZE(in_names);)
        if (bytes_start_with(prefix, bytes_of(in_names[i]))) {
            prefix = bytes_skip(prefix, strlen(in_names[i]));
            i = 0;
        } else
            i++;
    return prefix.size == 0;
}

static size_t shared_by(const struct world *world, size_t begin, size_t end)
{
    size_t size = world->keys[begin].size;
    for (size_t i = begin; i < end; i++)
        while (size > world->keys[i].size || !bytes_equal(bytes_first(world->keys[i], size),
                                                          bytes_first(world->keys[begin], size)))
            size--;
    for (size_t at = 0, whole = 0;; at++) {
        if (is_boundary(world->keys[begin], at))
            whole = at;
        if (at == size)
            return whole;
    }
}

/* The size of the child's prefix of this key; 0: its partitions are shown. */
static size_t child_size(struct bytes key, size_t shared)
{
    for (size_t size = shared + 1; size <= MIN(key.size, shared + 6); size++)
        if (is_boundary(key, size))
            return size;
    return 0;
}

static const struct survey_node *check_level(const struct world *world, size_t begin, size_t end,
                                             const struct survey_node *child)
{
    size_t shared = shared_by(world, begin, end);
    for (size_t i = begin, next; i < end; i = next, child = child->next) {
        size_t size = child_size(world->keys[i], shared);
        next = i + 1;
        while (size > 0 && next < end && world->keys[next].size >= size &&
               bytes_equal(bytes_first(world->keys[next], size), bytes_first(world->keys[i], size)))
            next++;
        assert_non_null(child);
        assert_int_equal(child->is_partition, next == i + 1);
        assert_bytes(name_of(child),
                     child->is_partition ? world->keys[i] : bytes_first(world->keys[i], size));
        if (!child->is_partition)
            assert_null(check_level(world, i, next, child->children));
    }
    return child;
}

static void test_the_tree_is_what_directories_show(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < TRIALS(WORLDS); seed++) {
        struct world world = {.random = seed};
        const struct survey_node *root;
        make_keys(&world);
        struct survey *survey = survey_of(&world, SIZE_MAX, seed % 2, &root);
        check_node(&world, root);
        assert_null(check_level(&world, 0, world.count, root->children));
        survey_destroy(survey);
    }
}

static size_t largest_node(const struct world *world)
{
    size_t size = 0;
    for (size_t i = 0; i < world->count; i++)
        size = MAX(size, survey_node_bytes(world->keys[i].size));
    return size;
}

/* The greatest measure of a node that begins with the prefix. */
static uint64_t greatest_in(const struct survey_node *node, struct bytes prefix, bool by_bytes)
{
    uint64_t greatest = 0;
    if (bytes_start_with(name_of(node), prefix))
        greatest = survey_measure(&node->counts, by_bytes);
    for (const struct survey_node *child = node->children; child; child = child->next)
        greatest = MAX(greatest, greatest_in(child, prefix, by_bytes));
    return greatest;
}

static bool has_partition(const struct survey_node *node, struct bytes key)
{
    bool has = node->is_partition && bytes_equal(name_of(node), key);
    for (const struct survey_node *child = node->children; child && !has; child = child->next)
        has = has_partition(child, key);
    return has;
}

static size_t bytes_of_tree(const struct survey_node *node)
{
    size_t size = survey_node_bytes(node->name_size);
    for (const struct survey_node *child = node->children; child; child = child->next)
        size += bytes_of_tree(child);
    return size;
}

/* node: of the whole tree; root: of the folded one. */
static void check_large_ones(const struct survey_node *node, const struct survey_node *root,
                             uint64_t bound, bool by_bytes)
{
    uint64_t measure = survey_measure(&node->counts, by_bytes);
    if (measure < bound)
        return;
    if (node->is_partition)
        assert_true(has_partition(root, name_of(node)));
    else
        assert_true(greatest_in(root, name_of(node), by_bytes) + 2 * bound > measure);
    for (const struct survey_node *child = node->children; child; child = child->next)
        check_large_ones(child, root, bound, by_bytes);
}

static void test_the_smallest_are_folded(void **state)
{
    (void)state;
    size_t folded = 0, kept = 0;
    for (unsigned seed = 0; seed < TRIALS(WORLDS); seed++) {
        struct world world = {.random = seed * 7 + 1};
        const struct survey_node *root, *whole_root;
        make_keys(&world);
        bool by_bytes = seed % 2;
        size_t max_bytes = 256 + below(&world, 16384);
        struct survey *survey = survey_of(&world, max_bytes, by_bytes, &root);
        check_node(&world, root);
        assert_true(bytes_of_tree(root) <= max_bytes + survey_node_bytes(0));
        uint64_t bound =
            8 * survey_measure(&root->counts, by_bytes) * largest_node(&world) / max_bytes + 1;
        struct survey *whole = survey_of(&world, SIZE_MAX, by_bytes, &whole_root);
        check_large_ones(whole_root, root, bound, by_bytes);
        survey_destroy(whole);
        for (size_t i = 0; i < world.count; i++)
            *(has_partition(root, world.keys[i]) ? &kept : &folded) += 1;
        survey_destroy(survey);
    }
    assert_true(folded > 1000 / TRIAL_SHARE && kept > 1000 / TRIAL_SHARE);
}

static void test_an_empty_table(void **state)
{
    (void)state;
    const struct survey_node *root;
    _cleanup_(survey_destroyp) struct survey *survey = NULL;
    assert_int_equal(survey_create(1000, false, &survey), 0);
    assert_int_equal(survey_finish(survey, &root), 0);
    assert_counts(root->counts, (struct survey_counts){0});
    assert_null(root->children);
}

/* Prefixes end where no directory has a name for a longer one. */
static void test_keys_that_share_more_than_a_name_holds(void **state)
{
    (void)state;
    char key[400];
    memset(key, 'k', sizeof(key));
    const struct survey_node *root;
    _cleanup_(survey_destroyp) struct survey *survey = NULL;
    assert_int_equal(survey_create(SIZE_MAX, false, &survey), 0);
    for (size_t size = 1; size <= sizeof(key); size++)
        assert_int_equal(survey_add(survey, (struct bytes){key, size}, 1, 0), 0);
    assert_int_equal(survey_finish(survey, &root), 0);
    size_t levels = 1, last = 0;
    const struct survey_node *node = root;
    for (; node->children->next && !node->children->next->is_partition; levels++)
        node = node->children->next; /* beside the partition that is as long as the prefix */
    for (const struct survey_node *child = node->children; child; child = child->next)
        last++;
    assert_int_equal(levels, PREFIX_MAX_BYTES);
    assert_int_equal(node->name_size, PREFIX_MAX_BYTES);
    assert_int_equal(last, sizeof(key) - PREFIX_MAX_BYTES + 1);
}

/* A million keys, in little memory: the sums are exact, and the one large partition is there. */
static void test_memory_is_bounded(void **state)
{
    (void)state;
    enum { KEYS = 1000000 / TRIAL_SHARE, MAX_BYTES = 16384 };
    const struct survey_node *root;
    _cleanup_(survey_destroyp) struct survey *survey = NULL;
    char key[32];
    assert_int_equal(survey_create(MAX_BYTES, false, &survey), 0);
    for (unsigned i = 0; i < KEYS; i++) {
        int size = snprintf(key, sizeof(key), "user%08x", i * (UINT32_MAX / KEYS));
        struct bytes partition = {key, (size_t)size};
        assert_int_equal(survey_add(survey, partition, i == KEYS / 3 ? KEYS : 1, 0), 0);
    }
    assert_int_equal(survey_finish(survey, &root), 0);
    assert_int_equal(root->counts.entities, 2 * KEYS - 1);
    assert_int_equal(root->counts.partitions, KEYS);
    assert_true(bytes_of_tree(root) <= MAX_BYTES + survey_node_bytes(0));
    (void)snprintf(key, sizeof(key), "user%08x", KEYS / 3 * (UINT32_MAX / KEYS));
    assert_true(has_partition(root, bytes_of(key)));
}

static void test_no_memory(void **state)
{
    (void)state;
    for (int allowed = 1, done = 0; !done; allowed++) {
        struct survey *survey = NULL;
        const struct survey_node *root;
        allocations_until_failure = allowed;
        int r = survey_create(SIZE_MAX, false, &survey);
        for (int i = 0; r == 0 && i < 27; i++) {
            char key[3] = {(char)('a' + i / 9), (char)('a' + i / 3 % 3), (char)('a' + i % 3)};
            r = survey_add(survey, (struct bytes){key, sizeof(key)}, 1, 1);
        }
        if (r == 0)
            r = survey_finish(survey, &root);
        allocations_until_failure = 0;
        assert_true(r == 0 || r == -ENOMEM);
        done = r == 0;
        survey_destroy(survey);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_tree_is_what_directories_show),
        cmocka_unit_test(test_the_smallest_are_folded),
        cmocka_unit_test(test_an_empty_table),
        cmocka_unit_test(test_keys_that_share_more_than_a_name_holds),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
