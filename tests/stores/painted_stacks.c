/* SPDX-License-Identifier: MIT */
/* Paints the stacks of the program's own threads, for LD_PRELOAD. When a thread ends, a line with
 * the bytes of its stack that it has never used is added to the file that TABLEFUSE_STACKS names.
 * Stacks of another size, such as those of libfuse's threads, are left alone. */
#include "client/base/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define PAINT  0xA5
#define GUARD  ((size_t)64 << 10)

typedef int creator(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *context),
                    void *context);

struct painted {
    void *(*run)(void *context);
    void *context;
    const unsigned char *stack; /* its lowest byte: the stack grows down to it */
};

static void report(const unsigned char *stack)
{
    const char *path = getenv("TABLEFUSE_STACKS");
    char line[32];
    size_t unused = 0;
    while (unused < THREAD_STACK_BYTES && stack[unused] == PAINT)
        unused++;
    int size = snprintf(line, sizeof(line), "%zu\n", unused);
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (fd < 0 || write(fd, line, (size_t)size) != size)
        abort(); /* otherwise the test would not see this stack */
    (void)close(fd);
}

static void *run_painted(void *context)
{
    struct painted painted = *(struct painted *)context;
    free(context);
    void *result = painted.run(painted.context);
    report(painted.stack);
    return result;
}

static int create_painted(creator *create, pthread_t *ret, struct painted painted)
{
    pthread_attr_t attributes;
    struct painted *copy = malloc(sizeof(*copy));
    char *memory = mmap(NULL, GUARD + THREAD_STACK_BYTES, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (!copy || memory == MAP_FAILED ||
        mprotect(memory + GUARD, THREAD_STACK_BYTES, PROT_READ | PROT_WRITE) < 0)
        return EAGAIN;
    memset(memory + GUARD, PAINT, THREAD_STACK_BYTES);
    *copy = painted;
    copy->stack = (unsigned char *)memory + GUARD;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstack(&attributes, memory + GUARD, THREAD_STACK_BYTES);
    int r = create(ret, &attributes, run_painted, copy);
    (void)pthread_attr_destroy(&attributes);
    return r;
}

EXPORT int pthread_create(pthread_t *ret, const pthread_attr_t *attributes,
                          void *(*run)(void *context), void *context)
{
    creator *create = (creator *)dlsym(RTLD_NEXT, "pthread_create");
    size_t bytes = 0;
    if (attributes)
        (void)pthread_attr_getstacksize(attributes, &bytes);
    if (bytes != THREAD_STACK_BYTES)
        return create(ret, attributes, run, context);
    return create_painted(create, ret, (struct painted){.run = run, .context = context});
}
