/* SPDX-License-Identifier: MIT */
#include "fs/base/process_id.h"
#include "client/base/base.h"
#include "client/base/locked.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* The slot of a thread is its id modulo SLOTS. A collision only costs another read of /proc. */
#define SLOTS   256
#define KEPT_MS 1000

struct slot {
    pid_t thread; /* 0: free */
    int64_t read_ms;
    struct process process;
};

struct process_ids {
    const struct clock *clock;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct slot slots[SLOTS];
};

int process_ids_create(const struct clock *clock, struct process_ids **ret)
{
    struct process_ids *ids = calloc(1, sizeof(*ids));
    if (!ids)
        return -ENOMEM;
    (void)pthread_mutex_init(&ids->lock, NULL);
    ids->clock = clock;
    *ret = ids;
    return 0;
}

void process_ids_destroy(struct process_ids *ids)
{
    if (!ids)
        return;
    (void)pthread_mutex_destroy(&ids->lock);
    free(ids);
}

static int open_proc(pid_t pid, const char *file)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* For a thread about which /proc has nothing. A system call finds the thread, too, if it is another
 * user's and the option hidepid hides it. */
static bool has_ended(pid_t thread)
{
    return kill(thread, 0) < 0 && errno == ESRCH;
}

/* Reads the beginning of a file of /proc as a string: `stat` and `comm` are shorter than 4 KB, and
 * `status` has `Tgid:` before the first line that may be long. 1; 0: there is no such file, or it
 * is not shown; -EMFILE, -ENFILE or -ENOMEM. */
static int read_proc(pid_t pid, const char *file, char *text, size_t size)
{
    int fd = open_proc(pid, file);
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
    ssize_t n = read(fd, text, size - 1);
    (void)close(fd);
    text[MAX(n, 0)] = '\0';
    return n > 0;
}

/* The number after `name` in a status file. base: 10 or 16. */
static uint64_t status_number(const char *status, const char *name, int base)
{
    const char *found = strstr(status, name);
    return found ? strtoull(found + strlen(name), NULL, base) : 0;
}

/* The blank before a field of a stat file. after_command: of field 2. NULL: there is none. */
static const char *find_field(const char *after_command, int field)
{
    for (int number = 2; after_command && number < field; number++)
        after_command = strchr(after_command + 1, ' ');
    return after_command;
}

/* Parses a stat file: "ID (command) S ...". The start time is field 22.
 * A command may hold any characters, for example ") 1 2 3", so the last parenthesis is its end. */
static bool parse_stat(char *stat, struct process *ret)
{
    const char *command = strchr(stat, '(');
    char *end = strrchr(stat, ')');
    const char *started = find_field(end, 22);
    if (!command || !started)
        return false;
    *end = '\0';
    (void)snprintf(ret->command, sizeof(ret->command), "%.*s", PROCESS_COMMAND_SIZE - 1,
                   command + 1);
    ret->number = strtoull(started, NULL, 10) << PROCESS_GROUP_BITS;
    return true;
}

/* 0 or -errno, here and below. */
static int read_process(pid_t thread, struct process *ret)
{
    char text[4096];
    *ret = (struct process){0};
    int r = read_proc(thread, "status", text, sizeof(text));
    uint64_t group = r > 0 ? status_number(text, "\nTgid:", 10) : 0;
    if (r > 0)
        r = read_proc((pid_t)group, "stat", text, sizeof(text));
    if (r > 0 && parse_stat(text, ret))
        ret->number |= group;
    ret->is_unseen = r == 0 && !has_ended(thread);
    return MIN(r, 0);
}

/* Without `stat`. */
static int read_flusher(pid_t thread, uint64_t opener, struct process *ret)
{
    char text[4096];
    *ret = (struct process){0};
    int r = read_proc(thread, "status", text, sizeof(text));
    ret->is_unseen = r == 0 && !has_ended(thread);
    if (r <= 0)
        return r;
    uint64_t group = status_number(text, "\nTgid:", 10);
    uint64_t group_of_opener = opener & (((uint64_t)1 << PROCESS_GROUP_BITS) - 1);
    ret->number = group == group_of_opener ? opener : group;
    r = read_proc((pid_t)group, "comm", text, sizeof(text));
    if (r > 0)
        (void)snprintf(ret->command, sizeof(ret->command), "%.*s", (int)strlen(text) - 1, text);
    return MIN(r, 0);
}

/* Finds the record of a thread id. True: it was read less than KEPT_MS before now_ms. */
static bool find_kept(struct process_ids *ids, pid_t thread, int64_t now_ms, struct process *ret)
{
    const struct slot *slot = &ids->slots[thread % SLOTS];
    LOCKED(&ids->lock);
    bool is_kept = slot->thread == thread && now_ms - slot->read_ms < KEPT_MS;
    if (is_kept)
        *ret = slot->process;
    return is_kept;
}

int process_ids_find(struct process_ids *ids, pid_t thread, struct process *ret)
{
    *ret = (struct process){.is_unseen = true};
    int64_t now_ms = clock_now_ms(ids->clock);
    if (thread <= 0 || find_kept(ids, thread, now_ms, ret))
        return 0;
    int r = read_process(thread, ret);
    if (r < 0)
        return r;
    LOCKED(&ids->lock);
    ids->slots[thread % SLOTS] =
        (struct slot){.thread = thread, .read_ms = now_ms, .process = *ret};
    return 0;
}

int process_ids_find_flusher(struct process_ids *ids, pid_t thread, uint64_t opener,
                             struct process *ret)
{
    *ret = (struct process){.is_unseen = true};
    if (thread <= 0 || find_kept(ids, thread, clock_now_ms(ids->clock), ret))
        return 0;
    return read_flusher(thread, opener, ret);
}

/* Reads a status file to its end. Its line `Groups:` stands before the signals and may be 700 KB
 * long. A line that is longer than the buffer is skipped. -errno: the thread has ended. */
static int read_pending_signals(int status, uint64_t *ret)
{
    char text[4096];
    uint64_t pending = 0;
    size_t size = 0;
    ssize_t n;
    while ((n = read(status, text + size, sizeof(text) - 1 - size)) > 0) {
        size += (size_t)n;
        text[size] = '\0';
        char *end = strrchr(text, '\n');
        if (end) {
            *end = '\0';
            pending |= status_number(text, "\nSigPnd:", 16) | status_number(text, "\nShdPnd:", 16);
            *end = '\n';
            size -= (size_t)(end - text);
            memmove(text, end, size); /* the end of a line, and what was read of the next one */
        }
        if (!end || size == sizeof(text) - 1)
            size = 0;
    }
    *ret = pending;
    return n < 0 ? -errno : 0;
}

enum process_end process_end_of(pid_t thread)
{
    static const int ending[] = {SIGKILL, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    int status = thread > 0 ? open_proc(thread, "status") : -1;
    if (status < 0)
        return thread > 0 && has_ended(thread) ? PROCESS_ENDS : PROCESS_UNSEEN;
    uint64_t pending = 0;
    int r = read_pending_signals(status, &pending);
    (void)close(status);
    if (r < 0)
        return PROCESS_ENDS;
    for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
        if (pending & (uint64_t)1 << (ending[i] - 1))
            return PROCESS_ENDS;
    return PROCESS_GOES_ON;
}

uint64_t process_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}
