/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SCHEDULE_SCHEDULE_H
#define TESTS_SCHEDULE_SCHEDULE_H
/* Runs threads one at a time, in an order that a seed picks. The same seed gives the same order, so
 * a failure can be repeated. For programs whose calls of pthreads and of the clock are wrapped
 * (meson.build): such a call is a step, and at each step the seed picks the thread that goes on.
 * Between two steps nothing else runs. What threads do with atomics alone is no step: schedule_step
 * makes one.
 *
 * Time is virtual. It passes when every thread waits, and then at once, up to the next end of a
 * wait. So a test that waits for hours takes no time, and one that needs no time shows that no
 * thread was left waiting for a wakeup that was lost.
 *
 * Where no thread can ever go on, that is reported with what each one waits for, and the program
 * ends with SCHEDULE_FAILED. So it does where a check fails, and after SCHEDULE_MAX_STEPS.
 *
 * Outside schedule_run, and in threads that began outside it, the wrapped calls are the real ones.
 */
#include "client/base/base.h"

#define SCHEDULE_FAILED      3 /* exit code */
#define SCHEDULE_MAX_STEPS   1000000
#define SCHEDULE_MAX_THREADS 32

struct schedule_options {
    uint64_t seed;
    bool is_time_free; /* time may also pass while threads could go on, up to the next end of a
                          wait: so timeouts come at the worst moments */
};

struct schedule_outcome {
    size_t steps;
    int64_t elapsed_ms; /* virtual */
};

/* Runs the body in this thread, and the threads that it creates. It joins them all. */
void schedule_run(const struct schedule_options *options, void (*body)(void *context),
                  void *context, struct schedule_outcome *ret);

void schedule_step(void);
uint64_t schedule_random(uint64_t bound); /* below `bound`, from the seed */
/* Says why, the seed, and what each thread does. */
_Noreturn void schedule_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define SCHEDULE_CHECK(claim)                                                                      \
    ((claim) ? (void)0 : schedule_fail("%s:%d: not so: %s", __FILE__, __LINE__, #claim))

/* The main function of a test: runs the seeds FIRST to FIRST + COUNT - 1, which are its arguments,
 * or 0 and 10,000. Returns the exit code. */
int schedule_main(int argc, char **argv, void (*run)(uint64_t seed));

#endif
