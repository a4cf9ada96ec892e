/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_REFUSED_THREADS_H
#define TESTS_UNIT_REFUSED_THREADS_H
/* For tests that run while no thread can be created. A test that fails before allow_threads leaves
 * the following tests without threads, too. */
#include "tests/unit/unit.h"

#include <sys/resource.h>
#include <unistd.h>

#define NOBODY_UID 65534

/* Makes the kernel refuse further threads. It never refuses them to root, so root becomes another
 * user until allow_threads. */
static inline bool refuse_threads(struct rlimit *ret_before)
{
    if (getuid() == 0 && setresuid(NOBODY_UID, NOBODY_UID, 0) < 0)
        return false;
    return getrlimit(RLIMIT_NPROC, ret_before) == 0 &&
           setrlimit(RLIMIT_NPROC, &(struct rlimit){0, ret_before->rlim_max}) == 0;
}

static inline void allow_threads(const struct rlimit *before)
{
    uid_t real, effective, saved;
    assert_int_equal(setrlimit(RLIMIT_NPROC, before), 0);
    assert_int_equal(getresuid(&real, &effective, &saved), 0);
    if (saved != effective)
        assert_int_equal(setresuid(saved, saved, saved), 0);
}

#endif
