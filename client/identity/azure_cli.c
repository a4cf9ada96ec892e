/* SPDX-License-Identifier: MIT */
#include "client/identity/azure_cli.h"
#include "client/base/condition.h"
#include "client/text/printable.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMPLAINT_MAX_BYTES ((size_t)4 << 10) /* what is longer is not read */
#define READ_BYTES          4096

extern char **environ;

struct run { /* of the program */
    pid_t process;
    int output, complaint; /* ends of pipes to read from; -1: closed */
    struct buffer text;    /* of its complaint */
};

static const char advice_missing[] =
    "install the Azure CLI, or choose another auth= (contrib/docs/credentials.md)";

static void close_end(int *end)
{
    if (*end >= 0)
        (void)close(*end);
    *end = -1;
}

/* What the child has: two pipes, /dev/null, and nothing else of ours. */
static int set_files(posix_spawn_file_actions_t *files, int output, int complaint)
{
    int r = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(files, output, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(files, complaint, STDERR_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
    return r == 0 ? posix_spawn_file_actions_addchdir_np(files, "/") : r;
}

static int set_process(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                     POSIX_SPAWN_SETSIGDEF);
    if (r == 0)
        r = posix_spawnattr_setpgroup(attributes, 0);
    if (r == 0)
        r = posix_spawnattr_setsigmask(attributes, &none);
    return r == 0 ? posix_spawnattr_setsigdefault(attributes, &all) : r;
}

/* An errno. */
static int spawn(const char *tenant, int output, int complaint, pid_t *ret)
{
    const char *const arguments[] = {
        "az",   "account",    "get-access-token",          "--output",
        "json", "--resource", "https://storage.azure.com", tenant ? "--tenant" : NULL,
        tenant, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int r = posix_spawn_file_actions_init(&files);
    if (r != 0)
        return r;
    r = posix_spawnattr_init(&attributes);
    if (r == 0) {
        r = set_files(&files, output, complaint);
        if (r == 0)
            r = set_process(&attributes);
        if (r == 0)
            r = posix_spawnp(ret, arguments[0], &files, &attributes, (char *const *)arguments,
                             environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&files);
    return r;
}

/* A pipe whose ends are above standard error: else dup2 in the child would close one of them. */
static int open_pipe(int ret[2])
{
    int made[2];
    if (pipe2(made, O_CLOEXEC) < 0)
        return errno;
    for (int i = 0; i < 2; i++) {
        ret[i] = fcntl(made[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        (void)close(made[i]);
    }
    if (ret[0] >= 0 && ret[1] >= 0)
        return fcntl(ret[0], F_SETFL, O_NONBLOCK) < 0 ? errno : 0;
    return EMFILE;
}

static int start(struct run *run, const char *tenant, struct call *call)
{
    int output[2] = {-1, -1}, complaint[2] = {-1, -1};
    int r = open_pipe(output);
    if (r == 0)
        r = open_pipe(complaint);
    if (r == 0)
        r = spawn(tenant, output[1], complaint[1], &run->process);
    run->output = output[0];
    run->complaint = complaint[0];
    close_end(&output[1]);
    close_end(&complaint[1]);
    if (r == EMFILE || r == ENFILE)
        return call_fail_no_descriptor(call);
    if (r == ENOENT || r == EACCES) {
        (void)call_fail(call, -EACCES, "it is not in PATH");
        call->failure.advice = advice_missing;
        return -EACCES;
    }
    return r == 0 ? 0 : call_fail(call, -r, "it cannot be started: %s", strerrordesc_np(r));
}

/* Appends what there is. Closes the end when the other one is closed. -EFBIG, -ENOMEM. */
static int read_end(int *end, struct buffer *ret)
{
    char text[READ_BYTES];
    ssize_t n = read(*end, text, sizeof(text));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        close_end(end);
    int r = n > 0 ? buffer_append(ret, (struct bytes){text, (size_t)n}) : 0;
    explicit_bzero(text, sizeof(text));
    return r;
}

static bool has_ended(const struct run *run)
{
    siginfo_t ended = {0};
    return waitid(P_PID, (id_t)run->process, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 ||
           ended.si_pid != 0;
}

/* Waits for something to read, and reads it. 1; 0: there was nothing; -EFBIG, -ENOMEM. */
static int read_ends(struct run *run, int max_wait_ms, struct buffer *ret)
{
    struct pollfd ends[] = {{run->output, POLLIN, 0}, {run->complaint, POLLIN, 0}};
    if (poll(ends, ARRAY_SIZE(ends), max_wait_ms) <= 0)
        return 0;
    int r = ends[0].revents ? read_end(&run->output, ret) : 0;
    if (ends[1].revents && read_end(&run->complaint, &run->text) < 0)
        close_end(&run->complaint); /* the first lines were read */
    return r < 0 ? r : 1;
}

/* Until the process has ended. A child of it may live on, and hold its ends of the pipes. */
static int read_all(struct run *run, const struct clock *clock, struct call *call,
                    struct buffer *ret)
{
    int r = 1;
    for (bool is_last = false; r > 0 || !is_last;) {
        is_last = has_ended(run);
        r = read_ends(run, is_last ? 0 : CONDITION_WAIT_MS, ret);
        if (r == -EFBIG)
            return call_fail(call, r, "it prints more than %zu bytes", ret->max);
        if (r < 0)
            return call_fail(call, r, "out of memory");
        if ((r > 0 || !is_last) && call_check(call, clock, "it has not answered in time") < 0)
            return call->failure.error;
    }
    return 0;
}

/* The first line of an error, without "ERROR: "; else the first line. */
static struct bytes find_complaint(const struct run *run)
{
    static const struct bytes mark = BYTES_LITERAL("ERROR:");
    struct bytes first = {0};
    for (struct bytes rest = buffer_bytes(&run->text); rest.size > 0;) {
        struct bytes line = bytes_trim(bytes_take_until(&rest, '\n'));
        if (bytes_start_with(line, mark))
            return bytes_trim(bytes_skip(line, mark.size));
        first = first.size > 0 ? first : line;
    }
    return first;
}

static int fail(const struct run *run, struct call *call)
{
    struct bytes line = find_complaint(run);
    if (line.size == 0)
        line = BYTES_LITERAL("it has failed and gives no reason");
    (void)call_fail(call, -EACCES, "%.*s", (int)MIN(line.size, (size_t)200), line.data);
    printable_replace_string(call->failure.message);
    return -EACCES;
}

/* Ends the group, if it has not ended, and takes the process's status. */
static int finish(struct run *run)
{
    int status = 0;
    pid_t ended;
    (void)kill(-run->process, SIGKILL);
    while ((ended = waitpid(run->process, &status, 0)) < 0 && errno == EINTR)
        ;
    return ended < 0 ? -1 : status;
}

int azure_cli_request(const char *tenant, const struct clock *clock, struct call *call,
                      struct buffer *ret)
{
    struct run run = {.output = -1, .complaint = -1};
    int64_t deadline_ms = call->deadline_ms;
    buffer_init(&run.text, COMPLAINT_MAX_BYTES);
    int r = start(&run, tenant, call);
    if (r == 0) {
        call->deadline_ms = MIN(deadline_ms, clock_now_ms(clock) + AZURE_CLI_MS);
        r = read_all(&run, clock, call, ret);
        call->deadline_ms = deadline_ms;
        int status = finish(&run);
        if (r == 0 && status != 0)
            r = fail(&run, call);
    }
    close_end(&run.output);
    close_end(&run.complaint);
    buffer_finish(&run.text);
    return r;
}
