/* SPDX-License-Identifier: MIT */
/* Repeated opens of scratch files that other processes remove and replace. */
#include "fs/scratch/scratch_opens.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/threads.h"

#define SEVEN 7

static const struct address p = {"t", {"p", 2}};

struct setup {
    struct scratch *scratch;
    struct scratch_opens *opens;
};

static struct setup set_up(void)
{
    struct setup setup;
    assert_int_equal(scratch_create(100000, &setup.scratch), 0);
    assert_int_equal(scratch_opens_create(&setup.opens), 0);
    return setup;
}

static void tear_down(struct setup *setup)
{
    scratch_opens_destroy(setup->opens);
    assert_int_equal(scratch_bytes(setup->scratch), 0);
    scratch_destroy(setup->scratch);
}

/* A file that is closed, as a node has it: referenced. */
static struct scratch_file *make(struct setup *setup, uint64_t number)
{
    struct scratch_attributes attributes = {.number = number};
    struct scratch_file *file = NULL;
    char name[16];
    (void)snprintf(name, sizeof(name), "%d~", (int)number);
    assert_int_equal(scratch_make(setup->scratch, p, bytes_of(name), &attributes, &file), 0);
    return file;
}

/* Opened by a thread after it was removed. */
static void begin(struct setup *setup, pid_t thread, int64_t now_ms)
{
    _cleanup_(scratch_file_unrefp) struct scratch_file *file = make(setup, 99);
    assert_int_equal(scratch_unlink(file), 0);
    assert_int_equal(scratch_opens_open(setup->opens, thread, file, now_ms), -ESTALE);
}

static void remove_and_open(struct setup *setup, pid_t thread, struct scratch_file *file,
                            int64_t now_ms, int expected)
{
    assert_int_equal(scratch_unlink(file), 0);
    int r = scratch_opens_open(setup->opens, thread, file, now_ms);
    assert_int_equal(r, expected);
    if (r == 0)
        scratch_file_close(file);
    scratch_file_unref(file);
}

static void an_open_that_is_repeated_succeeds(void **state)
{
    (void)state;
    struct setup setup = set_up();
    struct scratch_file *file = make(&setup, 1);
    begin(&setup, SEVEN, 0);
    assert_int_equal(scratch_opens_looked_up(setup.opens, SEVEN, file, 1), 0);
    remove_and_open(&setup, SEVEN, file, 2, 0);
    assert_int_equal(scratch_bytes(setup.scratch), 0);
    file = make(&setup, 2); /* the open has ended */
    assert_int_equal(scratch_opens_looked_up(setup.opens, SEVEN, file, 3), 0);
    remove_and_open(&setup, SEVEN, file, 4, -ESTALE);
    tear_down(&setup);
    scratch_opens_destroy(NULL);
}

DEFINE_FIXTURE(opens, struct setup, *test = set_up(), tear_down(test))

static void a_first_open_keeps_nothing(void **state)
{
    struct setup *setup = *state;
    struct scratch_file *file = make(setup, 1), *other = make(setup, 2);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN, file, 0), 0);
    begin(setup, SEVEN + 1, 0);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN, file, 1), 0);
    remove_and_open(setup, SEVEN, file, 2, -ESTALE);
    remove_and_open(setup, SEVEN + 1, other, 2, -ESTALE);
}

/* The name is another file's by the second LOOKUP, and that one is opened. */
static void the_file_of_the_last_lookup_is_kept(void **state)
{
    struct setup *setup = *state;
    struct scratch_file *first = make(setup, 1), *second = make(setup, 2);
    begin(setup, SEVEN, 0);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN, first, 1), 0);
    assert_int_equal(scratch_unlink(first), 0);
    assert_int_equal(scratch_bytes(setup->scratch), 2 * SCRATCH_FILE_BYTES);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN, second, 2), 0);
    assert_int_equal(scratch_bytes(setup->scratch), SCRATCH_FILE_BYTES);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN, first, 3), -ESTALE);
    remove_and_open(setup, SEVEN, second, 4, 0);
    scratch_file_unref(first);
}

/* The second LOOKUP found none, so the kernel creates a file. */
static void a_name_that_is_gone_keeps_nothing(void **state)
{
    struct setup *setup = *state;
    struct scratch_file *file = make(setup, 1), *next = make(setup, 2), *last = make(setup, 3);
    begin(setup, SEVEN, 0);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN, file, 1), 0);
    assert_int_equal(scratch_unlink(file), 0);
    assert_int_equal(scratch_bytes(setup->scratch), 3 * SCRATCH_FILE_BYTES);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN, NULL, 2), 0);
    assert_int_equal(scratch_bytes(setup->scratch), 2 * SCRATCH_FILE_BYTES);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN, next, 3),
                     0); /* it is there again */
    assert_int_equal(scratch_unlink(next), 0);
    scratch_opens_end(setup->opens, SEVEN);
    scratch_opens_end(setup->opens, SEVEN);
    assert_int_equal(scratch_bytes(setup->scratch), SCRATCH_FILE_BYTES);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN, last, 4), 0);
    remove_and_open(setup, SEVEN, last, 5, -ESTALE);
    scratch_file_unref(file);
    scratch_file_unref(next);
}

static void another_file_that_is_opened_gives_the_kept_one_back(void **state)
{
    struct setup *setup = *state;
    struct scratch_file *kept = make(setup, 1), *other = make(setup, 2);
    begin(setup, SEVEN, 0);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN, kept, 1), 0);
    assert_int_equal(scratch_unlink(kept), 0);
    assert_int_equal(scratch_opens_open(setup->opens, SEVEN, other, 2), 0);
    scratch_file_close(other);
    assert_int_equal(scratch_unlink(other), 0);
    assert_int_equal(scratch_bytes(setup->scratch), 0);
    scratch_file_unref(kept);
    scratch_file_unref(other);
}

static void callers_of_another_pid_namespace_have_no_slot(void **state)
{
    struct setup *setup = *state;
    struct scratch_file *file = make(setup, 1);
    begin(setup, 0, 0);
    assert_int_equal(scratch_opens_looked_up(setup->opens, 0, file, 1), 0);
    remove_and_open(setup, 0, file, 2, -ESTALE);
}

static void of_two_threads_with_one_slot_the_later_one_has_it(void **state)
{
    struct setup *setup = *state;
    struct scratch_file *one = make(setup, 1), *two = make(setup, 2);
    begin(setup, SEVEN, 0);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN, one, 1), 0);
    begin(setup, SEVEN + SCRATCH_OPENS_SLOTS, 1);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN + SCRATCH_OPENS_SLOTS, two, 2), 0);
    assert_int_equal(scratch_unlink(one), 0);
    assert_int_equal(scratch_bytes(setup->scratch), SCRATCH_FILE_BYTES);
    remove_and_open(setup, SEVEN + SCRATCH_OPENS_SLOTS, two, 3, 0);
    scratch_file_unref(one);
}

static void an_open_that_was_abandoned_keeps_its_file_for_a_while(void **state)
{
    struct setup *setup = *state;
    struct scratch_file *file = make(setup, 1), *late = make(setup, 2), *last = make(setup, 3);
    begin(setup, SEVEN, 1000);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN, file, 1001), 0);
    assert_int_equal(scratch_unlink(file), 0);
    begin(setup, SEVEN + 1, 1000 + SCRATCH_OPENS_KEPT_MS - 1);
    assert_int_equal(scratch_bytes(setup->scratch), 3 * SCRATCH_FILE_BYTES);
    begin(setup, SEVEN + 2, 1000 + SCRATCH_OPENS_KEPT_MS);
    assert_int_equal(scratch_bytes(setup->scratch), 2 * SCRATCH_FILE_BYTES);
    int64_t end_ms = 1000 + 2 * SCRATCH_OPENS_KEPT_MS;
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN + 2, late, end_ms), 0);
    remove_and_open(setup, SEVEN + 2, late, end_ms, -ESTALE);
    assert_int_equal(scratch_opens_looked_up(setup->opens, SEVEN + 2, last, end_ms), 0);
    assert_int_equal(scratch_unlink(last), 0); /* the mount ends */
    assert_int_equal(scratch_bytes(setup->scratch), SCRATCH_FILE_BYTES);
    scratch_file_unref(file);
    scratch_file_unref(last);
}

static void without_memory_there_are_none(void **state)
{
    (void)state;
    struct scratch_opens *opens = NULL;
    allocations_until_failure = 1;
    assert_int_equal(scratch_opens_create(&opens), -ENOMEM);
    assert_null(opens);
}

struct thread {
    struct setup *setup;
    pid_t id;
};

/* Threads of one slot and of others remove the same few files, and open them. */
static void *open_again_and_again(void *argument)
{
    struct thread *self = argument;
    struct setup *setup = self->setup;
    for (int i = 0; i < 3000; i++) {
        struct scratch_attributes attributes = {.number = 1};
        struct scratch_file *file = NULL;
        if (scratch_make(setup->scratch, p, B("f~"), &attributes, &file) < 0)
            file = scratch_find(setup->scratch, p, B("f~"));
        if (!file)
            continue;
        (void)scratch_opens_looked_up(setup->opens, self->id, file, i);
        if (i % 2 == 0)
            (void)scratch_unlink(file);
        if (scratch_opens_open(setup->opens, self->id, file, i) == 0)
            scratch_file_close(file);
        scratch_file_unref(file);
    }
    return NULL;
}

static void threads_beside_each_other(void **state)
{
    struct setup *setup = *state;
    struct thread threads[] = {
        {setup, 1}, {setup, 2}, {setup, 1 + SCRATCH_OPENS_SLOTS}, {setup, 0}};
    run_in_threads(ARRAY_SIZE(threads), open_again_and_again, threads, sizeof(threads[0]));
    struct scratch_file *left = scratch_find(setup->scratch, p, B("f~"));
    if (left)
        assert_int_equal(scratch_unlink(left), 0);
    scratch_file_unref(left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_that_is_repeated_succeeds),
        TEST_WITH(opens, a_first_open_keeps_nothing),
        TEST_WITH(opens, the_file_of_the_last_lookup_is_kept),
        TEST_WITH(opens, a_name_that_is_gone_keeps_nothing),
        TEST_WITH(opens, another_file_that_is_opened_gives_the_kept_one_back),
        TEST_WITH(opens, callers_of_another_pid_namespace_have_no_slot),
        TEST_WITH(opens, of_two_threads_with_one_slot_the_later_one_has_it),
        TEST_WITH(opens, an_open_that_was_abandoned_keeps_its_file_for_a_while),
        cmocka_unit_test(without_memory_there_are_none),
        TEST_WITH(opens, threads_beside_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
