#include "fs/process_id.h"
#include "client/base.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define SLOTS                                                                                      \
    256 /* a thread's slot is its id modulo this: a collision costs a read, nothing else */
#define KEPT_MS 1000

struct slot {
    pid_t thread; /* 0: free */
    int64_t read_ms;
    char command[PROCESS_COMMAND_SIZE];
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
    int r = pthread_mutex_init(&ids->lock, NULL);
    if (r != 0) {
        free(ids);
        return -r;
    }
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

/* The file's beginning as a string; false when it cannot be read. */
static bool read_proc(pid_t pid, const char *file, char *text, size_t size)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, size - 1);
    (void)close(fd);
    text[MAX(n, 0)] = '\0';
    return n > 0;
}

/* The number behind `name` in a status file: decimal or hexadecimal as base says. */
static uint64_t status_number(const char *status, const char *name, int base)
{
    const char *found = strstr(status, name);
    return found ? strtoull(found + strlen(name), NULL, base) : 0;
}

static void read_command(pid_t thread, char ret[PROCESS_COMMAND_SIZE])
{
    char status[4096], command[64];
    ret[0] = '\0';
    if (!read_proc(thread, "status", status, sizeof(status)))
        return;
    pid_t group = (pid_t)status_number(status, "\nTgid:", 10);
    if (!read_proc(group, "comm", command, sizeof(command)))
        return;
    command[strcspn(command, "\n")] = '\0';
    (void)snprintf(ret, PROCESS_COMMAND_SIZE, "%.*s", PROCESS_COMMAND_SIZE - 1, command);
}

void process_ids_command(struct process_ids *ids, pid_t thread, char ret[PROCESS_COMMAND_SIZE])
{
    ret[0] = '\0';
    if (thread <= 0)
        return;
    struct slot *slot = &ids->slots[thread % SLOTS];
    int64_t now_ms = clock_now_ms(ids->clock);

    (void)pthread_mutex_lock(&ids->lock);
    bool is_known = slot->thread == thread && now_ms - slot->read_ms < KEPT_MS;
    if (is_known)
        memcpy(ret, slot->command, PROCESS_COMMAND_SIZE);
    (void)pthread_mutex_unlock(&ids->lock);
    if (is_known)
        return;

    struct slot fresh = {.thread = thread, .read_ms = now_ms};
    read_command(thread, fresh.command);
    memcpy(ret, fresh.command, PROCESS_COMMAND_SIZE);
    (void)pthread_mutex_lock(&ids->lock);
    *slot = fresh;
    (void)pthread_mutex_unlock(&ids->lock);
}

bool process_is_being_ended(pid_t thread)
{
    static const int ending[] = {SIGKILL, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    char status[4096];
    if (thread <= 0 || !read_proc(thread, "status", status, sizeof(status)))
        return true;
    uint64_t pending =
        status_number(status, "\nSigPnd:", 16) | status_number(status, "\nShdPnd:", 16);
    for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
        if (pending & (uint64_t)1 << (ending[i] - 1))
            return true;
    return false;
}
