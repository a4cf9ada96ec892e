/* SPDX-License-Identifier: MIT */
#include "tests/schedule/schedule.h"
#include "client/base/bytes.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>

#define MAX_MUTEXES 64
#define NS_PER_MS   INT64_C(1000000)
#define NS_PER_SEC  (1000 * NS_PER_MS)
#define START_NS    (1000 * NS_PER_SEC)
#define NEVER       INT64_MAX
#define SEEDS       10000

enum thread_state {
    RUNNABLE,
    WAITS_FOR_MUTEX,
    WAITS_FOR_CONDITION,
    WAITS_FOR_THREAD,
    SLEEPS,
    ENDED,
};

struct thread {
    enum thread_state state;
    const void *object; /* what it waits for */
    int64_t wake_ns;    /* end of its wait; or NEVER */
    bool is_late;       /* its wait has ended by time */
    bool is_joined;
    sem_t turn;
    pthread_t handle;
    void *(*routine)(void *);
    void *argument;
};

struct mutex { /* that was locked in this run */
    const void *address;
    struct thread *owner; /* NULL: none */
};

/* One run. Only the thread whose turn it is touches it. */
static struct {
    struct schedule_options options;
    uint64_t random;
    uint64_t stay; /* a step of a thread ends its turn once in stay + 1 times */
    struct thread threads[SCHEDULE_MAX_THREADS];
    size_t count;
    struct mutex mutexes[MAX_MUTEXES];
    size_t mutex_count;
    int64_t now_ns;
    size_t steps;
} schedule;

static _Thread_local struct thread *self; /* NULL: not scheduled */

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __real_pthread_join(pthread_t, void **);
int __real_pthread_mutex_lock(pthread_mutex_t *);
int __real_pthread_mutex_unlock(pthread_mutex_t *);
int __real_pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
int __real_pthread_cond_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
int __real_pthread_cond_signal(pthread_cond_t *);
int __real_pthread_cond_broadcast(pthread_cond_t *);
int __real_clock_gettime(clockid_t, struct timespec *);
int __real_nanosleep(const struct timespec *, struct timespec *);

int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_join(pthread_t, void **);
int __wrap_pthread_mutex_lock(pthread_mutex_t *);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *);
int __wrap_pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
int __wrap_pthread_cond_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
int __wrap_pthread_cond_signal(pthread_cond_t *);
int __wrap_pthread_cond_broadcast(pthread_cond_t *);
int __wrap_clock_gettime(clockid_t, struct timespec *);
int __wrap_nanosleep(const struct timespec *, struct timespec *);

/* SplitMix64. */
static uint64_t next_random(void)
{
    uint64_t z = schedule.random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint64_t schedule_random(uint64_t bound)
{
    return next_random() % bound;
}

static int number_of(const struct thread *thread)
{
    return (int)(thread - schedule.threads);
}

static struct mutex *find_mutex(const void *address)
{
    for (size_t i = 0; i < schedule.mutex_count; i++)
        if (schedule.mutexes[i].address == address)
            return &schedule.mutexes[i];
    if (schedule.mutex_count == MAX_MUTEXES)
        schedule_fail("more than %d mutexes", MAX_MUTEXES);
    struct mutex *mutex = &schedule.mutexes[schedule.mutex_count++];
    *mutex = (struct mutex){.address = address};
    return mutex;
}

static void describe(const struct thread *thread)
{
    int number = number_of(thread);
    switch (thread->state) {
    case WAITS_FOR_MUTEX:
        (void)fprintf(stderr, "thread %d waits for the mutex %p of thread %d\n", number,
                      thread->object, number_of(find_mutex(thread->object)->owner));
        break;
    case WAITS_FOR_CONDITION:
        (void)fprintf(stderr, "thread %d waits for the condition %p\n", number, thread->object);
        break;
    case WAITS_FOR_THREAD:
        (void)fprintf(stderr, "thread %d waits for the end of thread %d\n", number,
                      number_of(thread->object));
        break;
    case SLEEPS:
        (void)fprintf(stderr, "thread %d sleeps\n", number);
        break;
    case ENDED:
        (void)fprintf(stderr, "thread %d has ended\n", number);
        break;
    case RUNNABLE:
    default:
        (void)fprintf(stderr, "thread %d %s\n", number, thread == self ? "runs" : "could run");
        break;
    }
}

void schedule_fail(const char *format, ...)
{
    va_list list;
    (void)fprintf(stderr, "seed %llu, step %zu: ", (unsigned long long)schedule.options.seed,
                  schedule.steps);
    va_start(list, format);
    (void)vfprintf(stderr, format, list);
    va_end(list);
    (void)fputc('\n', stderr);
    for (size_t i = 0; i < schedule.count; i++)
        describe(&schedule.threads[i]);
    _Exit(SCHEDULE_FAILED);
}

static void make_runnable(struct thread *thread)
{
    thread->state = RUNNABLE;
    thread->object = NULL;
    thread->wake_ns = NEVER;
}

/* Wakes the waits that end next. False: none ends by time. */
static bool pass_time(void)
{
    int64_t next_ns = NEVER;
    for (size_t i = 0; i < schedule.count; i++)
        next_ns = MIN(next_ns, schedule.threads[i].wake_ns);
    if (next_ns == NEVER)
        return false;
    schedule.now_ns = MAX(schedule.now_ns, next_ns);
    for (size_t i = 0; i < schedule.count; i++) {
        struct thread *thread = &schedule.threads[i];
        if (thread->wake_ns <= schedule.now_ns) {
            make_runnable(thread);
            thread->is_late = true;
        }
    }
    return true;
}

static size_t count_runnable(void)
{
    size_t n = 0;
    for (size_t i = 0; i < schedule.count; i++)
        n += schedule.threads[i].state == RUNNABLE;
    return n;
}

static struct thread *nth_runnable(size_t n)
{
    for (size_t i = 0; i < schedule.count; i++)
        if (schedule.threads[i].state == RUNNABLE && n-- == 0)
            return &schedule.threads[i];
    schedule_fail("no such thread");
}

/* The thread that goes on. */
static struct thread *pick(void)
{
    if (schedule.options.is_time_free && schedule_random(16) == 0)
        (void)pass_time();
    size_t runnable;
    while ((runnable = count_runnable()) == 0)
        if (!pass_time())
            schedule_fail("deadlock");
    if (self->state == RUNNABLE && schedule_random(schedule.stay + 1) != 0)
        return self;
    return nth_runnable(schedule_random(runnable));
}

static void wait_for_turn(struct thread *thread)
{
    while (sem_wait(&thread->turn) != 0)
        ; /* a signal came */
}

static void step(void)
{
    if (++schedule.steps > SCHEDULE_MAX_STEPS)
        schedule_fail("more than %d steps", SCHEDULE_MAX_STEPS);
    struct thread *own = self, *next = pick();
    if (next == own)
        return;
    bool has_ended = own->state == ENDED; /* then a joiner may go on as soon as it has its turn */
    (void)sem_post(&next->turn);
    if (!has_ended)
        wait_for_turn(own);
}

void schedule_step(void)
{
    if (self)
        step();
}

/* Waits until another thread makes it runnable, or time does. */
static void block(enum thread_state state, const void *object, int64_t wake_ns)
{
    self->state = state;
    self->object = object;
    self->wake_ns = wake_ns;
    self->is_late = false;
    step();
}

static void wake_all(enum thread_state state, const void *object)
{
    for (size_t i = 0; i < schedule.count; i++) {
        struct thread *thread = &schedule.threads[i];
        if (thread->state == state && thread->object == object)
            make_runnable(thread);
    }
}

static void lock(const void *address)
{
    struct mutex *mutex = find_mutex(address);
    if (mutex->owner == self)
        schedule_fail("a thread locks its own mutex %p", address);
    while (mutex->owner)
        block(WAITS_FOR_MUTEX, address, NEVER);
    mutex->owner = self;
}

static void unlock(const void *address)
{
    struct mutex *mutex = find_mutex(address);
    if (mutex->owner != self)
        schedule_fail("a thread unlocks a mutex that it has not locked: %p", address);
    mutex->owner = NULL;
    wake_all(WAITS_FOR_MUTEX, address);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (!self)
        return __real_pthread_mutex_lock(mutex);
    step();
    lock(mutex);
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    if (!self)
        return __real_pthread_mutex_unlock(mutex);
    unlock(mutex);
    step();
    return 0;
}

static int64_t ns_of(const struct timespec *time)
{
    return time->tv_sec * NS_PER_SEC + time->tv_nsec;
}

static int wait_for_condition(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t wake_ns)
{
    unlock(mutex);
    block(WAITS_FOR_CONDITION, condition, wake_ns);
    bool is_late = self->is_late;
    lock(mutex);
    return is_late ? ETIMEDOUT : 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    if (!self)
        return __real_pthread_cond_wait(condition, mutex);
    return wait_for_condition(condition, mutex, NEVER);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    if (!self)
        return __real_pthread_cond_timedwait(condition, mutex, until);
    return wait_for_condition(condition, mutex, ns_of(until));
}

/* One of those that wait, whichever the seed picks. */
int __wrap_pthread_cond_signal(pthread_cond_t *condition)
{
    if (!self)
        return __real_pthread_cond_signal(condition);
    struct thread *waiting[SCHEDULE_MAX_THREADS];
    size_t n = 0;
    for (size_t i = 0; i < schedule.count; i++)
        if (schedule.threads[i].state == WAITS_FOR_CONDITION &&
            schedule.threads[i].object == condition)
            waiting[n++] = &schedule.threads[i];
    if (n > 0)
        make_runnable(waiting[schedule_random(n)]);
    step();
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition)
{
    if (!self)
        return __real_pthread_cond_broadcast(condition);
    wake_all(WAITS_FOR_CONDITION, condition);
    step();
    return 0;
}

static void *begin_thread(void *argument)
{
    self = argument;
    wait_for_turn(self);
    void *result = self->routine(self->argument);
    self->state = ENDED;
    wake_all(WAITS_FOR_THREAD, self);
    step();
    return result;
}

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attributes,
                          void *(*routine)(void *), void *argument)
{
    if (!self)
        return __real_pthread_create(ret, attributes, routine, argument);
    if (schedule.count == SCHEDULE_MAX_THREADS)
        schedule_fail("more than %d threads", SCHEDULE_MAX_THREADS);
    struct thread *thread = &schedule.threads[schedule.count];
    *thread = (struct thread){.routine = routine, .argument = argument, .wake_ns = NEVER};
    (void)sem_init(&thread->turn, 0, 0);
    int r = __real_pthread_create(&thread->handle, attributes, begin_thread, thread);
    if (r != 0)
        return r;
    *ret = thread->handle;
    schedule.count++;
    step();
    return 0;
}

int __wrap_pthread_join(pthread_t handle, void **ret)
{
    if (!self)
        return __real_pthread_join(handle, ret);
    for (size_t i = 1; i < schedule.count; i++) {
        struct thread *thread = &schedule.threads[i];
        if (thread->is_joined || !pthread_equal(thread->handle, handle))
            continue;
        thread->is_joined = true;
        step();
        if (thread->state != ENDED)
            block(WAITS_FOR_THREAD, thread, NEVER);
        return __real_pthread_join(handle, ret);
    }
    schedule_fail("no such thread is scheduled");
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (!self)
        return __real_clock_gettime(clock, ret);
    *ret = (struct timespec){.tv_sec = schedule.now_ns / NS_PER_SEC,
                             .tv_nsec = schedule.now_ns % NS_PER_SEC};
    return 0;
}

int __wrap_nanosleep(const struct timespec *duration, struct timespec *rest)
{
    if (!self)
        return __real_nanosleep(duration, rest);
    block(SLEEPS, NULL, schedule.now_ns + ns_of(duration));
    return 0;
}

void schedule_run(const struct schedule_options *options, void (*body)(void *context),
                  void *context, struct schedule_outcome *ret)
{
    static const uint64_t stays[] = {0, 1, 7}; /* rarely picked: long stretches of one thread */
    schedule.options = *options;
    schedule.random = options->seed;
    schedule.stay = stays[schedule_random(ARRAY_SIZE(stays))];
    schedule.threads[0] = (struct thread){.wake_ns = NEVER};
    schedule.count = 1;
    schedule.mutex_count = 0;
    schedule.now_ns = START_NS;
    schedule.steps = 0;
    (void)sem_init(&schedule.threads[0].turn, 0, 0);
    self = &schedule.threads[0];
    body(context);
    for (size_t i = 1; i < schedule.count; i++)
        if (!schedule.threads[i].is_joined)
            schedule_fail("not all threads were joined");
    self = NULL;
    for (size_t i = 0; i < schedule.count; i++)
        (void)sem_destroy(&schedule.threads[i].turn);
    *ret = (struct schedule_outcome){schedule.steps, (schedule.now_ns - START_NS) / NS_PER_MS};
}

static uint64_t take_number(const char *text)
{
    uint64_t number;
    if (bytes_parse_unsigned(bytes_of(text), UINT64_MAX / 2, &number))
        return number;
    (void)fprintf(stderr, "not a number: %s\n", text);
    exit(2);
}

/* Turns pass quicker on one processor. */
static void use_one_processor(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    (void)sched_setaffinity(0, sizeof(one), &one);
}

int schedule_main(int argc, char **argv, void (*run)(uint64_t seed))
{
    uint64_t first = argc > 1 ? take_number(argv[1]) : 0;
    uint64_t count = argc > 2 ? take_number(argv[2]) : argc > 1 ? 1 : SEEDS;
    use_one_processor();
    for (uint64_t seed = first; seed < first + count; seed++)
        run(seed);
    (void)printf("%llu seeds from %llu on\n", (unsigned long long)count, (unsigned long long)first);
    return 0;
}
