/* SPDX-License-Identifier: MIT */
#include "cache/who/read_versions.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/threads.h"

#define VIM  7 /* a process */
#define GREP 8

static struct read_versions *new_versions(void)
{
    struct read_versions *versions;
    assert_int_equal(read_versions_create(&clock_system, &versions), 0);
    return versions;
}

static struct address entity(const char *row_key)
{
    static char position[64];
    int size = snprintf(position, sizeof(position), "p%c%s", '\0', row_key);
    return (struct address){"Table", {position, (size_t)size}};
}

static struct address numbered(int i)
{
    char row_key[16];
    (void)snprintf(row_key, sizeof(row_key), "%d", i);
    return entity(row_key);
}

static void note(struct read_versions *versions, uint64_t process, const char *row_key,
                 const char *etag)
{
    read_versions_note(versions, process, entity(row_key), bytes_of(etag));
}

/* expected "": none is known */
static void assert_version_at(struct read_versions *versions, uint64_t process,
                              struct address address, const char *expected)
{
    struct etag etag;
    etag_set(&etag, B("what was there before"));
    assert_int_equal(read_versions_find(versions, process, address, &etag), 0);
    assert_bytes(etag_bytes(&etag), bytes_of(expected));
}

static void assert_version(struct read_versions *versions, uint64_t process, const char *row_key,
                           const char *expected)
{
    assert_version_at(versions, process, entity(row_key), expected);
}

static void a_process_knows_what_it_read_last(void **state)
{
    (void)state;
    struct read_versions *versions = new_versions();
    assert_version(versions, VIM, "f", "");
    note(versions, VIM, "f", "one");
    note(versions, VIM, "g", "other");
    assert_version(versions, VIM, "f", "one");
    assert_version(versions, VIM, "f", "one");
    assert_version(versions, GREP, "f", "");
    note(versions, VIM, "f", "two");
    assert_version(versions, VIM, "f", "two");
    assert_version(versions, VIM, "g", "other");
    read_versions_destroy(versions);
    read_versions_destroy(NULL);
}

DEFINE_OBJECT_FIXTURE(versions, new_versions(), read_versions_destroy)

static void entities_of_other_tables_and_partitions_are_others(void **state)
{
    struct read_versions *versions = *state;
    static const struct address others[] = {
        {"Table", BYTES_LITERAL("p\0ff")},  {"Table", BYTES_LITERAL("p\0")},
        {"Table", BYTES_LITERAL("pf\0")},   {"Table", BYTES_LITERAL("q\0f")},
        {"Table2", BYTES_LITERAL("p\0f")},  {"Tabl", BYTES_LITERAL("p\0f")},
        {"Tablep", BYTES_LITERAL("\0f\0")},
    };
    note(versions, VIM, "f", "one");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_version_at(versions, VIM, others[i], "");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        read_versions_note(versions, VIM, others[i], B("another"));
    assert_version(versions, VIM, "f", "one");
}

static void a_version_is_forgotten_for_its_process_alone(void **state)
{
    struct read_versions *versions = *state;
    for (uint64_t process = VIM; process <= GREP; process++) {
        note(versions, process, "f", "one");
        note(versions, process, "g", "two");
    }
    read_versions_forget(versions, VIM, entity("f"));
    read_versions_forget(versions, VIM, entity("f"));
    read_versions_forget(versions, VIM + 100, entity("f"));
    note(versions, GREP, "g", ""); /* as good as forgotten */
    assert_version(versions, VIM, "f", "");
    assert_version(versions, VIM, "g", "two");
    assert_version(versions, GREP, "f", "one");
    assert_version(versions, GREP, "g", "");
    read_versions_forget(versions, VIM, entity("g"));
    assert_version(versions, VIM, "g", "");
    note(versions, VIM, "g", "three");
    assert_version(versions, VIM, "g", "three");
}

/* Process 0 is all processes that cannot be seen. */
static void of_unseen_processes_the_oldest_version_counts(void **state)
{
    (void)state;
    int64_t now_ms = 5000;
    struct clock clock = fake_clock(&now_ms);
    _cleanup_(read_versions_destroyp) struct read_versions *versions = NULL;
    assert_int_equal(read_versions_create(&clock, &versions), 0);
    note(versions, 0, "f", "one");
    note(versions, 0, "f", "two");
    note(versions, 0, "f", "");
    assert_version(versions, 0, "f", "one");
    assert_version(versions, VIM, "f", "");
    read_versions_forget(versions, 0, entity("f")); /* a conflict was reported */
    assert_version(versions, 0, "f", "");
    note(versions, 0, "f", "two");
    read_versions_note_stored(versions, entity("f"), B("own"));
    assert_version(versions, 0, "f", "");
    for (int i = 0; i < 1000; i++) /* its limit are bytes */
        note(versions, 0, i % 2 ? "g" : "f", i < 2 ? "first" : "later");
    for (int i = 0; i < 1000; i++)
        read_versions_note(versions, 0, numbered(i), B("etag"));
    assert_version(versions, 0, "f", "first");
    assert_version(versions, 0, "g", "first");
    now_ms += READ_VERSIONS_UNSEEN_MS - 1;
    assert_version(versions, 0, "g", "first");
    now_ms++;
    assert_version(versions, 0, "g", "");
    note(versions, 0, "g", "later");
    assert_version(versions, 0, "g", "later");
}

/* By a process, or by one that cannot be seen. */
static void a_queued_text_has_its_version_later(void **state)
{
    (void)state;
    for (uint64_t process = 0; process <= VIM; process += VIM) {
        struct read_versions *versions = new_versions();
        struct later_etag *later = later_etag_create(), *refused = later_etag_create();
        struct etag etag;
        read_versions_note_later(versions, process, entity("f"), later);
        read_versions_note_later(versions, process, entity("g"), refused);
        assert_version(versions, process, "f", "");
        read_versions_note_stored(versions, entity("f"), B("own"));
        later_etag_learn(later, B("own"));
        later_etag_lose(refused);
        later_etag_unref(later);
        later_etag_unref(refused);
        assert_version(versions, process, "f", "own");
        assert_int_equal(read_versions_find(versions, process, entity("g"), &etag), -ESTALE);
        read_versions_forget(versions, process, entity("g"));
        assert_version(versions, process, "g", "");
        read_versions_note_stored(versions, entity("f"), B("next"));
        assert_version(versions, process, "f", process == 0 ? "" : "own");
        read_versions_destroy(versions);
    }
}

/* Stored without memory for its version, or refused; what this mount stores then ends it. */
static void a_lost_version_is_told_or_replaced(void **state)
{
    (void)state;
    for (int is_stored = 0; is_stored <= 1; is_stored++) {
        struct read_versions *versions = new_versions();
        struct later_etag *later = later_etag_create();
        struct etag etag;
        read_versions_note_later(versions, 0, entity("f"), later);
        later_etag_learn(later, B(""));
        later_etag_unref(later);
        assert_int_equal(read_versions_find(versions, 0, entity("f"), &etag), -ESTALE);
        if (is_stored)
            read_versions_note_stored(versions, entity("f"), B("next"));
        else
            read_versions_forget(versions, 0, entity("f"));
        assert_version(versions, 0, "f", "");
        note(versions, 0, "f", "next");
        assert_version(versions, 0, "f", "next");
        read_versions_destroy(versions);
    }
}

static void a_process_evicts_its_own_longest_unused_entity(void **state)
{
    struct read_versions *versions = *state;
    note(versions, VIM, "f", "one");
    for (int i = 0; i < READ_VERSIONS_EACH; i++)
        read_versions_note(versions, GREP, numbered(i), B("etag"));
    assert_version(versions, GREP, "0", "etag"); /* used: 1 is the longest unused now */
    for (int i = 100; i < 110; i++)
        read_versions_note(versions, GREP, numbered(i), B("etag"));
    read_versions_note(versions, GREP, numbered(109), B("new")); /* again: evicts nothing */
    for (int i = 0; i < READ_VERSIONS_EACH; i++)
        assert_version_at(versions, GREP, numbered(i), i == 0 || i > 10 ? "etag" : "");
    for (int i = 0; i < 10000; i++)
        read_versions_note(versions, GREP, numbered(i), B("etag"));
    assert_version(versions, VIM, "f", "one");
}

static void the_longest_unused_process_is_evicted(void **state)
{
    struct read_versions *versions = *state;
    for (uint64_t process = 1; process <= READ_VERSIONS_PROCESSES; process++)
        note(versions, process, "f", "one");
    assert_version(versions, 1, "f", "one");
    note(versions, READ_VERSIONS_PROCESSES + 1, "f", "one");
    for (uint64_t process = 1; process <= READ_VERSIONS_PROCESSES + 1; process++)
        assert_version(versions, process, "f", process == 2 ? "" : "one");
}

/* The longest keys: whole processes are evicted before the maximum is exceeded. */
static void memory_is_bounded(void **state)
{
    struct read_versions *versions = *state;
    static char position[60000];
    struct address address = {"Table", {position, sizeof(position)}};
    size_t most = READ_VERSIONS_MAX_BYTES / sizeof(position), kept = 0;
    for (uint64_t process = 1; process <= 1000; process++)
        read_versions_note(versions, process, address, B("etag"));
    for (uint64_t process = 1; process <= 1000; process++) {
        struct etag etag;
        assert_int_equal(read_versions_find(versions, process, address, &etag), 0);
        bool is_known = etag.size > 0;
        assert_true(!is_known || process > 1000 - most);
        kept += is_known;
    }
    assert_in_range(kept, most - 2, most);
}

/* Else other processes would be evicted for it. */
static void what_is_forgotten_does_not_count(void **state)
{
    struct read_versions *versions = *state;
    note(versions, GREP, "f", "one");
    note(versions, VIM, "f", "one");
    for (size_t i = 0; i < READ_VERSIONS_MAX_BYTES / 64; i++) { /* a record takes more */
        note(versions, VIM, "g", "two");
        read_versions_forget(versions, VIM, entity("g"));
    }
    assert_version(versions, GREP, "f", "one");
}

/* What there is no memory for is not known. */
static void without_memory_a_version_is_unknown(void **state)
{
    (void)state;
    _cleanup_(read_versions_destroyp) struct read_versions *versions = NULL;
    allocations_until_failure = 1;
    assert_int_equal(read_versions_create(&clock_system, &versions), -ENOMEM);
    assert_null(versions);
    versions = new_versions();
    for (int failing = 1; failing <= 2; failing++) {
        allocations_until_failure = failing; /* the version, the process */
        note(versions, VIM, "f", "one");
        assert_int_equal(allocations_until_failure, 0);
        assert_version(versions, VIM, "f", "");
    }
    note(versions, VIM, "f", "one");
    allocations_until_failure = 1;
    note(versions, VIM, "f", "two"); /* and not the old one */
    assert_version(versions, VIM, "f", "");
    note(versions, VIM, "f", "two");
    assert_version(versions, VIM, "f", "two");
}

struct thread {
    struct read_versions *versions;
    uint64_t process;
};

static void *read_and_write(void *argument)
{
    struct thread *self = argument;
    for (int i = 0; i < 3000; i++) {
        char etag[16], position[16];
        int size = snprintf(position, sizeof(position), "p%c%d", '\0', i % 50);
        struct address address = {"Table", {position, (size_t)size}};
        (void)snprintf(etag, sizeof(etag), "%d", i);
        read_versions_note(self->versions, self->process, address, bytes_of(etag));
        read_versions_note(self->versions, 100 + i % 500, address, bytes_of(etag));
        assert_version_at(self->versions, self->process, address, etag);
        if (i % 3 == 0)
            read_versions_forget(self->versions, self->process, address);
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct thread threads[4];
    _cleanup_(read_versions_destroyp) struct read_versions *versions = new_versions();
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        threads[i] = (struct thread){.versions = versions, .process = 1 + i};
    run_in_threads(ARRAY_SIZE(threads), read_and_write, threads, sizeof(threads[0]));
}

static void assert_stored(struct read_versions *versions, struct address address,
                          const char *expected)
{
    struct etag etag;
    read_versions_find_stored(versions, address, &etag);
    assert_bytes(etag_bytes(&etag), bytes_of(expected));
}

static void what_the_mount_stored_last_is_known(void **state)
{
    struct read_versions *versions = *state;
    assert_stored(versions, entity("f"), "");
    read_versions_note_stored(versions, entity("f"), B("one"));
    read_versions_note_stored(versions, entity("f"), B("two"));
    note(versions, VIM, "f", "three");
    assert_stored(versions, entity("f"), "two");
    assert_version(versions, VIM, "f", "three");
    for (int i = 0; i < 100000; i++)
        read_versions_note_stored(versions, numbered(i), B("etag"));
    assert_stored(versions, entity("f"), "");
    assert_stored(versions, numbered(80000), "etag");
}

/* So a store that depends on it is refused, and does not overwrite without a precondition. */
static void a_version_with_a_long_etag_is_another_one_and_not_unknown(void **state)
{
    struct read_versions *versions = *state;
    char longest[ETAG_SIZE_MAX + 2];
    memset(longest, 'x', sizeof(longest));
    for (size_t size = ETAG_SIZE_MAX; size <= sizeof(longest); size++) {
        struct etag read, stored;
        struct bytes etag = {longest, size};
        read_versions_note(versions, VIM, entity("f"), etag);
        read_versions_note_stored(versions, entity("f"), etag);
        assert_int_equal(read_versions_find(versions, VIM, entity("f"), &read), 0);
        read_versions_find_stored(versions, entity("f"), &stored);
        assert_bytes(etag_bytes(&read), bytes_first(etag, ETAG_SIZE_MAX));
        assert_bytes(etag_bytes(&stored), bytes_first(etag, ETAG_SIZE_MAX));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(versions, what_the_mount_stored_last_is_known),
        cmocka_unit_test(a_process_knows_what_it_read_last),
        TEST_WITH(versions, entities_of_other_tables_and_partitions_are_others),
        TEST_WITH(versions, a_version_is_forgotten_for_its_process_alone),
        cmocka_unit_test(of_unseen_processes_the_oldest_version_counts),
        cmocka_unit_test(a_queued_text_has_its_version_later),
        cmocka_unit_test(a_lost_version_is_told_or_replaced),
        TEST_WITH(versions, a_process_evicts_its_own_longest_unused_entity),
        TEST_WITH(versions, the_longest_unused_process_is_evicted),
        TEST_WITH(versions, memory_is_bounded),
        TEST_WITH(versions, a_version_with_a_long_etag_is_another_one_and_not_unknown),
        TEST_WITH(versions, what_is_forgotten_does_not_count),
        cmocka_unit_test(without_memory_a_version_is_unknown),
        cmocka_unit_test(threads_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
