/* SPDX-License-Identifier: MIT */
#include "fs/text/locks.h"
#include "tests/unit/unit.h"

#include <fcntl.h>

#define WAITERS 8
#define BYTES   24 /* of the model */
#define OWNERS  4

struct waiter {
    bool is_interrupted;
    int answers, error;
};

static bool is_interrupted(void *waiter)
{
    return ((struct waiter *)waiter)->is_interrupted;
}

static void answer(void *waiter, int error)
{
    struct waiter *its = waiter;
    its->answers++;
    its->error = error;
}

static struct locks *new_locks(void)
{
    static const struct lock_waiters waiters = {is_interrupted, answer};
    struct locks *locks;
    assert_int_equal(locks_create(&waiters, &locks), 0);
    return locks;
}

static struct address address_of(const char *row)
{
    return (struct address){"t", bytes_of(row)};
}

static struct locked_file *open_file(struct locks *locks, const char *row)
{
    struct locked_file *file;
    assert_int_equal(locks_open(locks, address_of(row), &file), 0);
    return file;
}

static struct lock range(int type, uint64_t owner, uint64_t first, uint64_t last)
{
    return (struct lock){
        .type = type, .owner = owner, .first = first, .last = last, .pid = (pid_t)(owner + 100)};
}

/* The owner's handle has the owner's number. */
static int set(struct locks *locks, struct locked_file *file, int type, uint64_t owner,
               uint64_t first, uint64_t last)
{
    struct lock lock = range(type, owner, first, last);
    return locks_set(locks, file, owner, &lock, NULL);
}

static int set_flock(struct locks *locks, struct locked_file *file, int type, uint64_t handle,
                     struct waiter *waiter)
{
    struct lock lock = range(type, handle, 0, UINT64_MAX);
    lock.is_flock = true;
    return locks_set(locks, file, handle, &lock, waiter);
}

DEFINE_OBJECT_FIXTURE(locks, new_locks(), locks_destroy)

static void a_lock_excludes_others(void **state)
{
    struct locks *locks = *state;
    struct locked_file *one = open_file(locks, "a"), *two = open_file(locks, "a"),
                       *other = open_file(locks, "b");
    assert_ptr_equal(one, two);
    assert_ptr_not_equal(one, other);
    assert_int_equal(set(locks, one, F_WRLCK, 1, 10, 19), 0);
    assert_int_equal(set(locks, two, F_RDLCK, 2, 19, 30), -EAGAIN);
    assert_int_equal(set(locks, two, F_RDLCK, 2, 20, UINT64_MAX), 0);
    assert_int_equal(set(locks, other, F_WRLCK, 2, 0, UINT64_MAX), 0);
    assert_int_equal(set(locks, one, F_RDLCK, 1, 25, 25), 0);
    assert_int_equal(set_flock(locks, one, F_WRLCK, 3, NULL), 0); /* knows nothing of fcntl's */
    assert_int_equal(set_flock(locks, two, F_RDLCK, 4, NULL), -EAGAIN);

    struct lock wanted = range(F_WRLCK, 2, 15, 15);
    struct lock found = locks_test(locks, two, &wanted);
    assert_true(found.type == F_WRLCK && found.first == 10 && found.last == 19);
    assert_int_equal(found.pid, 101);
    wanted.first = wanted.last = 5;
    assert_int_equal(locks_test(locks, two, &wanted).type, F_UNLCK);

    locks_close(locks, one, 1);
    assert_int_equal(set(locks, two, F_WRLCK, 2, 0, UINT64_MAX), 0);
    locks_flush(locks, two, 2);
    assert_int_equal(set(locks, two, F_WRLCK, 5, 0, UINT64_MAX), 0);
    locks_close(locks, two, 2);
    locks_close(locks, other, 2);
}

static void what_waits_is_answered(void **state)
{
    struct locks *locks = *state;
    struct locked_file *file = open_file(locks, "a");
    struct waiter waiters[WAITERS] = {{0}};
    assert_int_equal(set_flock(locks, file, F_WRLCK, 100, NULL), 0);
    for (uint64_t i = 0; i < WAITERS; i++)
        assert_int_equal(set_flock(locks, file, i < 3 ? F_RDLCK : F_WRLCK, i, &waiters[i]), 1);
    locks_interrupt(locks, &waiters[1]);
    locks_interrupt(locks, &waiters[1]);
    assert_true(waiters[1].answers == 1 && waiters[1].error == -EINTR);
    assert_int_equal(set_flock(locks, file, F_UNLCK, 100, NULL), 0);
    assert_true(waiters[0].answers == 1 && waiters[0].error == 0);
    assert_true(waiters[2].answers == 1 && waiters[3].answers == 0);
    assert_int_equal(set_flock(locks, file, F_UNLCK, 0, NULL), 0);
    assert_int_equal(waiters[3].answers, 0);
    locks_close(locks, open_file(locks, "a"), 2); /* the handle of the second reader */
    assert_true(waiters[3].answers == 1 && waiters[4].answers == 0);
    waiters[0] = (struct waiter){.is_interrupted = true};
    assert_int_equal(set_flock(locks, file, F_WRLCK, 0, &waiters[0]), -EINTR);
    locks_end(locks);
    assert_true(waiters[4].answers == 1 && waiters[4].error == -ENOTCONN);
    assert_true(waiters[7].answers == 1 && waiters[0].answers == 0);
}

/* As flock(2) says: the old lock is gone, also if the new one is refused. */
static void a_conversion_of_flock_is_not_atomic(void **state)
{
    struct locks *locks = *state;
    struct locked_file *file = open_file(locks, "a");
    struct waiter waiter = {0};
    assert_int_equal(set_flock(locks, file, F_RDLCK, 1, NULL), 0);
    assert_int_equal(set_flock(locks, file, F_RDLCK, 2, NULL), 0);
    assert_int_equal(set_flock(locks, file, F_RDLCK, 3, NULL), 0);
    assert_int_equal(set_flock(locks, file, F_WRLCK, 1, &waiter), 1);
    assert_int_equal(set_flock(locks, file, F_WRLCK, 2, NULL), -EAGAIN);
    assert_int_equal(waiter.answers, 0);
    assert_int_equal(set_flock(locks, file, F_UNLCK, 3, NULL), 0);
    assert_true(waiter.answers == 1 && waiter.error == 0);
}

/* What waits for a part of its own range gives up the rest of it when it is granted. */
static void a_granted_lock_lets_others_in(void **state)
{
    struct locks *locks = *state;
    struct locked_file *file = open_file(locks, "a");
    struct waiter first = {0}, second = {0};
    assert_int_equal(set(locks, file, F_WRLCK, 1, 0, 10), 0);
    assert_int_equal(set(locks, file, F_WRLCK, 2, 20, 30), 0);
    struct lock wanted = range(F_RDLCK, 3, 5, 5);
    assert_int_equal(locks_set(locks, file, 3, &wanted, &first), 1);
    wanted = range(F_RDLCK, 1, 0, 25);
    assert_int_equal(locks_set(locks, file, 1, &wanted, &second), 1);
    assert_int_equal(set(locks, file, F_UNLCK, 2, 0, UINT64_MAX), 0);
    assert_true(first.answers == 1 && second.answers == 1);
}

static void a_rename_moves_the_locks(void **state)
{
    struct locks *locks = *state;
    struct locked_file *a = open_file(locks, "a"), *b = open_file(locks, "b");
    struct waiter waiter = {0};
    assert_int_equal(set_flock(locks, a, F_WRLCK, 1, NULL), 0);
    assert_int_equal(set_flock(locks, b, F_WRLCK, 2, NULL), 0);
    assert_int_equal(set_flock(locks, b, F_WRLCK, 3, &waiter), 1);
    locks_move(locks, address_of("a"), address_of("b"));
    struct locked_file *new_a = open_file(locks, "a"), *new_b = open_file(locks, "b");
    assert_ptr_equal(new_b, a);
    assert_true(new_a != a && new_a != b);
    assert_int_equal(set_flock(locks, new_b, F_WRLCK, 4, NULL), -EAGAIN);
    assert_int_equal(set_flock(locks, new_a, F_WRLCK, 4, NULL), 0);
    locks_close(locks, b, 2); /* its locks are those of the text that was replaced */
    assert_int_equal(waiter.answers, 1);
    locks_move(locks, address_of("b"), (struct address){0});
    struct locked_file *newest = open_file(locks, "b");
    assert_int_equal(set_flock(locks, newest, F_WRLCK, 5, NULL), 0);
    locks_move(locks, address_of("b"), address_of("b"));
    assert_ptr_equal(open_file(locks, "b"), newest);
    locks_move(locks, address_of("none"), address_of("c"));
}

static void there_is_a_maximum(void **state)
{
    struct locks *locks = *state;
    struct locked_file *file = open_file(locks, "a");
    struct waiter waiter = {0};
    const struct lock wanted = range(F_WRLCK, 2, 0, 0);
    for (uint64_t i = 1; i <= LOCKS_MAX; i++) { /* what touches becomes one lock */
        assert_int_equal(set(locks, file, F_RDLCK, 1, LOCKS_MAX + i, LOCKS_MAX + i), 0);
        assert_int_equal(set(locks, file, F_RDLCK, 1, LOCKS_MAX - i, LOCKS_MAX - i), 0);
    }
    assert_int_equal(locks_set(locks, file, 2, &wanted, &waiter), 1);
    locks_interrupt(locks, &waiter);
    assert_int_equal(set(locks, file, F_UNLCK, 1, 0, UINT64_MAX), 0);
    for (uint64_t owner = 0; owner < LOCKS_MAX; owner++)
        assert_int_equal(set(locks, file, F_RDLCK, owner, 0, 0), 0);
    assert_int_equal(set(locks, file, F_RDLCK, 1, 2, 2), -ENOLCK);
    assert_int_equal(set(locks, file, F_UNLCK, 1, 0, 0), 0);
    assert_int_equal(set(locks, file, F_RDLCK, 1, 2, 2), 0);
}

/* Each byte has its lock; the model knows no ranges. */
struct model {
    int types[OWNERS][BYTES];
};

static bool model_conflicts(const struct model *model, const struct lock *lock)
{
    for (uint64_t owner = 0; owner < OWNERS; owner++)
        for (uint64_t i = lock->first; i <= lock->last && owner != lock->owner; i++) {
            int type = model->types[owner][i];
            if (type == F_WRLCK || (type == F_RDLCK && lock->type == F_WRLCK))
                return true;
        }
    return false;
}

static void assert_model(struct locks *locks, struct locked_file *file, const struct model *model)
{
    for (uint64_t i = 0; i < BYTES; i++)
        for (uint64_t owner = 0; owner < OWNERS; owner++) {
            struct lock wanted = range(F_WRLCK, owner, i, i), reader = range(F_RDLCK, owner, i, i);
            assert_int_equal(locks_test(locks, file, &wanted).type != F_UNLCK,
                             model_conflicts(model, &wanted));
            assert_int_equal(locks_test(locks, file, &reader).type != F_UNLCK,
                             model_conflicts(model, &reader));
        }
}

static void random_ranges_are_those_of_a_model(void **state)
{
    struct locks *locks = *state;
    static const int types[] = {F_RDLCK, F_WRLCK, F_UNLCK};
    struct locked_file *file = open_file(locks, "a");
    struct model model = {0};
    uint64_t seed = 7;
    for (size_t i = 0; i < sizeof(model.types) / sizeof(int); i++)
        ((int *)model.types)[i] = F_UNLCK;
    for (int step = 0; step < 20000; step++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t first = (seed >> 33) % BYTES, last = first + (seed >> 40) % (BYTES - first);
        struct lock lock = range(types[(seed >> 48) % 3], (seed >> 52) % OWNERS, first, last);
        bool conflicts = lock.type != F_UNLCK && model_conflicts(&model, &lock);
        assert_int_equal(locks_set(locks, file, lock.owner, &lock, NULL), conflicts ? -EAGAIN : 0);
        for (uint64_t i = first; i <= last && !conflicts; i++)
            model.types[lock.owner][i] = lock.type;
        assert_model(locks, file, &model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(locks, a_lock_excludes_others),
        TEST_WITH(locks, what_waits_is_answered),
        TEST_WITH(locks, a_conversion_of_flock_is_not_atomic),
        TEST_WITH(locks, a_granted_lock_lets_others_in),
        TEST_WITH(locks, a_rename_moves_the_locks),
        TEST_WITH(locks, there_is_a_maximum),
        TEST_WITH(locks, random_ranges_are_those_of_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
