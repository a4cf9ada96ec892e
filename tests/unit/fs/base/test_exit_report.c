/* SPDX-License-Identifier: MIT */
/* The exit code and message that a mount's process sends to the connections that wait for it. */
#include "fs/base/exit_report.h"
#include "tests/unit/unit.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY   65534
#define LIMIT_MS 60000

static struct exit_report *offer(void)
{
    struct exit_report *report = NULL;
    assert_int_equal(exit_report_offer(&report), 0);
    return report;
}

static int await(const struct exit_report *report)
{
    int fd = exit_report_await(exit_report_socket(report), getpid(), LIMIT_MS);
    assert_true(fd >= 0);
    return fd;
}

static void all_connections_get_the_report(void **state)
{
    (void)state;
    char message[EXIT_REPORT_MAX_BYTES], name[64];
    struct exit_report *report = offer();
    int connected[3];
    (void)snprintf(name, sizeof(name), "%s", exit_report_socket(report));
    for (size_t i = 0; i < ARRAY_SIZE(connected); i++)
        connected[i] = await(report);
    assert_int_equal(exit_report_read(connected[0], 0, message), -ETIMEDOUT);
    exit_report_send(report, 6, "1 file is lost");
    for (size_t i = 1; i < ARRAY_SIZE(connected); i++) {
        assert_int_equal(exit_report_read(connected[i], 0, message), 6);
        assert_string_equal(message, "1 file is lost");
    }
    assert_int_equal(exit_report_await(name, getpid(), LIMIT_MS), -ECONNREFUSED);
}

static void a_long_message_is_cut(void **state)
{
    (void)state;
    char message[EXIT_REPORT_MAX_BYTES], text[2 * EXIT_REPORT_MAX_BYTES];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    struct exit_report *report = offer();
    int connected = await(report);
    exit_report_send(report, 1, text);
    assert_int_equal(exit_report_read(connected, 0, message), 1);
    assert_int_equal(strlen(message), EXIT_REPORT_MAX_BYTES - 1);
}

static void without_an_offer_there_is_no_report(void **state)
{
    (void)state;
    char name[2 * sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    assert_string_equal(exit_report_socket(NULL), "");
    assert_int_equal(exit_report_await("", getpid(), LIMIT_MS), -ENOENT);
    assert_int_equal(exit_report_await(name, getpid(), LIMIT_MS), -ENOENT);
    assert_int_equal(exit_report_await("tablefuse-exit-none", getpid(), LIMIT_MS), -ECONNREFUSED);
    exit_report_send(NULL, 0, "");
}

static void no_two_offers_have_one_name(void **state)
{
    (void)state;
    struct exit_report *one = offer(), *other = offer();
    assert_int_equal(strlen(exit_report_socket(one)), strlen("tablefuse-exit-") + 32);
    assert_string_not_equal(exit_report_socket(one), exit_report_socket(other));
    exit_report_send(one, 0, "");
    exit_report_send(other, 0, "");
}

/* The name is not enough: another process may have taken it. */
static void the_report_is_of_the_process_alone(void **state)
{
    (void)state;
    struct exit_report *report = offer();
    assert_int_equal(exit_report_await(exit_report_socket(report), getppid(), LIMIT_MS), -EPERM);
    exit_report_send(report, 0, "");
}

static void an_exit_code_that_is_none_is_no_report(void **state)
{
    (void)state;
    static const int codes[] = {-1, 256, INT_MIN, INT_MAX};
    char message[EXIT_REPORT_MAX_BYTES];
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        struct exit_report *report = offer();
        int connected = await(report);
        exit_report_send(report, codes[i], "");
        assert_int_equal(exit_report_read(connected, 0, message), -EPROTO);
    }
}

/* Many at once are its own user's: the last ones are turned away. */
static void those_that_have_gone_make_room(void **state)
{
    (void)state;
    char message[EXIT_REPORT_MAX_BYTES];
    struct exit_report *report = offer();
    for (int i = 0; i < 300; i++)
        (void)close(await(report));
    int connected = await(report);
    exit_report_send(report, 0, "");
    assert_int_equal(exit_report_read(connected, 0, message), 0);
    assert_string_equal(message, "");
}

/* Connects as another user, again and again; answers whether one got a report. */
static int fill(const struct exit_report *report, pid_t process)
{
    enum { CONNECTIONS = 900 }; /* under the usual limit of descriptors */
    static int connected[CONNECTIONS];
    char byte, message[EXIT_REPORT_MAX_BYTES];
    if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
        return 2;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < CONNECTIONS; i++) {
            if (round > 0)
                (void)close(connected[i]);
            connected[i] = exit_report_await(exit_report_socket(report), process, LIMIT_MS);
            if (connected[i] < 0)
                return 3;
        }
    }
    if (write(STDOUT_FILENO, "", 1) != 1 || read(STDIN_FILENO, &byte, 1) < 0)
        return 4;
    for (int i = 0; i < CONNECTIONS; i++) {
        if (exit_report_read(connected[i], LIMIT_MS, message) >= 0)
            return 5;
    }
    return 0;
}

static void another_user_neither_learns_the_report_nor_fills_the_socket(void **state)
{
    (void)state;
    char byte, message[EXIT_REPORT_MAX_BYTES];
    int begun[2], go_on[2], status;
    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(begun) + pipe(go_on), 0);
    struct exit_report *report = offer();
    pid_t child = fork(), parent = getpid();
    if (child == 0) {
        (void)dup2(go_on[0], STDIN_FILENO);
        (void)dup2(begun[1], STDOUT_FILENO);
        (void)close(go_on[1]);
        _exit(fill(report, getppid()));
    }
    (void)close(go_on[0]);
    (void)close(begun[1]);
    assert_int_equal(read(begun[0], &byte, 1), 1);
    int connected = exit_report_await(exit_report_socket(report), parent, LIMIT_MS);
    assert_true(connected >= 0);
    exit_report_send(report, 6, "lost");
    (void)close(go_on[1]);
    assert_int_equal(exit_report_read(connected, 0, message), 6);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    (void)close(begun[0]);
}

/* Root asks, and the process is another user's. */
static void root_learns_the_report_of_another_user(void **state)
{
    (void)state;
    char message[EXIT_REPORT_MAX_BYTES], name[64] = "", byte;
    int told[2], go_on[2];
    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(told) + pipe(go_on), 0);
    pid_t child = fork();
    if (child == 0) {
        struct exit_report *report;
        (void)close(go_on[1]);
        if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0 || exit_report_offer(&report) < 0)
            _exit(1);
        const char *socket_name = exit_report_socket(report);
        if (write(told[1], socket_name, strlen(socket_name)) < 0 || read(go_on[0], &byte, 1) < 0)
            _exit(2);
        exit_report_send(report, 6, "lost");
        _exit(0);
    }
    (void)close(go_on[0]);
    assert_true(read(told[0], name, sizeof(name) - 1) > 0);
    int connected = exit_report_await(name, child, LIMIT_MS);
    assert_true(connected >= 0);
    (void)close(go_on[1]);
    assert_int_equal(exit_report_read(connected, LIMIT_MS, message), 6);
    assert_int_equal(waitpid(child, NULL, 0), child);
    (void)close(told[0]);
    (void)close(told[1]);
}

static void a_process_that_is_killed_reports_nothing(void **state)
{
    (void)state;
    char message[EXIT_REPORT_MAX_BYTES], name[64] = "";
    int told[2];
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        struct exit_report *report;
        if (exit_report_offer(&report) < 0 || write(told[1], exit_report_socket(report), 47) != 47)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(told[0], name, 47), 47);
    int connected = exit_report_await(name, child, LIMIT_MS);
    assert_true(connected >= 0);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    /* -ENODATA; -ECONNRESET if it was not accepted yet */
    assert_true(exit_report_read(connected, LIMIT_MS, message) < 0);
    (void)close(told[0]);
    (void)close(told[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_connections_get_the_report),
        cmocka_unit_test(a_long_message_is_cut),
        cmocka_unit_test(without_an_offer_there_is_no_report),
        cmocka_unit_test(no_two_offers_have_one_name),
        cmocka_unit_test(the_report_is_of_the_process_alone),
        cmocka_unit_test(an_exit_code_that_is_none_is_no_report),
        cmocka_unit_test(those_that_have_gone_make_room),
        cmocka_unit_test(another_user_neither_learns_the_report_nor_fills_the_socket),
        cmocka_unit_test(root_learns_the_report_of_another_user),
        cmocka_unit_test(a_process_that_is_killed_reports_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
