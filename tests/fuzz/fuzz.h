/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H
/* What a fuzz target defines: libFuzzer calls it, or run_files.c. A broken invariant aborts. */
#include "client/base/bytes.h"

#define INVARIANT(claim) ((claim) ? (void)0 : broken_invariant(#claim, __FILE__, __LINE__))

static inline void broken_invariant(const char *claim, const char *file, int line)
{
    (void)fprintf(stderr, "%s:%d: not so: %s\n", file, line, claim);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
