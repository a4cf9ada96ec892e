/* SPDX-License-Identifier: MIT */
/* An allocator that fails at random, for LD_PRELOAD. TABLEFUSE_FAIL_ALLOC names a file of 8 bytes,
 * which is mapped: the first 4 say how many of 1,000,000 allocations fail (0: none, so a program
 * starts well, and is switched over while it runs), the other 4 count the failures. The sequence of
 * a thread depends on its place in the order of threads alone.
 *
 * Only allocations of the program's own text fail, of SQLite and of libcrypto. Not those of
 * libfuse: where it has no memory for a worker's buffer it ends the session's loop, and the program
 * has no say in that. Not those of the C library for itself either, as for a new thread. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT     __attribute__((visibility("default")))
#define CALLER     ((uintptr_t)__builtin_return_address(0))
#define RANGES_MAX 16
#define MILLION    1000000

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

struct control {
    _Atomic uint32_t failing_of_a_million, failures;
};

static struct control *control; /* NULL: nothing fails */
static struct range {
    uintptr_t begin, end;
} ranges[RANGES_MAX]; /* of text whose allocations fail */
static size_t range_count;
static _Atomic uint64_t threads;
static __thread uint64_t random_state __attribute__((tls_model("initial-exec")));

static int add_ranges(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    bool is_program = info->dlpi_name[0] == '\0';
    if (!is_program && !strstr(info->dlpi_name, "libsqlite3") &&
        !strstr(info->dlpi_name, "libcrypto"))
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum && range_count < RANGES_MAX; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && (header->p_flags & PF_X))
            ranges[range_count++] = (struct range){begin, begin + header->p_memsz};
    }
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("TABLEFUSE_FAIL_ALLOC");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *memory = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    (void)dl_iterate_phdr(add_ranges, NULL);
    if (memory != MAP_FAILED)
        control = memory;
}

/* splitmix64 */
static uint64_t next_random(void)
{
    if (random_state == 0)
        random_state = (atomic_fetch_add(&threads, 1) + 1) << 32;
    uint64_t x = random_state += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
}

static bool fails(uintptr_t caller)
{
    uint32_t failing = control ? atomic_load(&control->failing_of_a_million) : 0;
    if (failing == 0)
        return false;
    size_t i = 0;
    while (i < range_count && (caller < ranges[i].begin || caller >= ranges[i].end))
        i++;
    if (i == range_count || next_random() % MILLION >= failing)
        return false;
    atomic_fetch_add(&control->failures, 1);
    errno = ENOMEM;
    return true;
}

EXPORT void *malloc(size_t size)
{
    return fails(CALLER) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    return fails(CALLER) ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *memory, size_t size)
{
    return fails(CALLER) ? NULL : __libc_realloc(memory, size);
}

/* The C library's own would call malloc from its text. */

EXPORT void *reallocarray(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || fails(CALLER))
        return NULL;
    return __libc_realloc(memory, bytes);
}

static char *copy(const char *string, size_t size)
{
    char *memory = __libc_malloc(size + 1);
    if (!memory)
        return NULL;
    memcpy(memory, string, size);
    memory[size] = '\0';
    return memory;
}

EXPORT char *strdup(const char *string)
{
    return fails(CALLER) ? NULL : copy(string, strlen(string));
}

EXPORT char *strndup(const char *string, size_t size)
{
    return fails(CALLER) ? NULL : copy(string, strnlen(string, size));
}
