/* SPDX-License-Identifier: MIT */
/* Lines of the log, and what becomes of them while nobody reads it. */
#include "fs/base/log.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINES     5000
#define PIPE_SIZE 4096 /* the least */

struct output { /* a pipe in the place of standard error */
    int stderr_before, reading;
};

static struct output begin_output(void)
{
    int ends[2];
    struct output output = {.stderr_before = dup(STDERR_FILENO)};
    assert_int_equal(pipe(ends), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE) >= PIPE_SIZE);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    (void)close(ends[1]);
    output.reading = ends[0];
    return output;
}

/* The next line without its time. */
static void read_line(const struct output *output, char *ret, size_t max)
{
    size_t size = 0;
    char c;
    while (read(output->reading, &c, 1) == 1 && c != '\n' && size + 1 < max)
        ret[size++] = c;
    ret[size] = '\0';
    assert_true(size > 24 && ret[4] == '-' && ret[10] == 'T' && ret[23] == 'Z' && ret[24] == ' ');
    memmove(ret, ret + 25, size - 24);
}

static void end_output(const struct output *output)
{
    (void)dup2(output->stderr_before, STDERR_FILENO);
    (void)close(output->stderr_before);
    (void)close(output->reading);
}

static void test_lines_before_the_thread(void **state)
{
    (void)state;
    struct log *log;
    char line[200];
    struct output output = begin_output();
    assert_int_equal(log_create("/mnt/a\nb", &log), 0);
    log_message(log, "the %s line", "first");
    log_destroy(log);
    read_line(&output, line, sizeof(line));
    end_output(&output);
    assert_string_equal(line, "tablefuse: /mnt/a?b: the first line");
}

static void test_the_end_writes_what_waits(void **state)
{
    (void)state;
    struct log *log;
    char line[200], expected[200];
    struct output output = begin_output();
    assert_int_equal(log_create("/m", &log), 0);
    assert_int_equal(log_start(log), 0);
    for (int i = 0; i < 20; i++)
        log_message(log, "line %d", i);
    log_destroy(log);
    for (int i = 0; i < 20; i++) {
        read_line(&output, line, sizeof(line));
        (void)snprintf(expected, sizeof(expected), "tablefuse: /m: line %d", i);
        assert_string_equal(line, expected);
    }
    end_output(&output);
}

/* Nobody reads, and no line waits for that. Afterwards the lines are there in their order, and the
 * number of those that had no room. */
static void test_lines_without_room_are_counted(void **state)
{
    (void)state;
    struct log *log;
    char line[200], expected[200];
    int left_out, all_left_out = 0;
    struct output output = begin_output();
    assert_int_equal(log_create("/m", &log), 0);
    assert_int_equal(log_start(log), 0);
    for (int i = 0; i < LINES; i++)
        log_message(log, "line %d", i);
    for (int next = 0; next < LINES;) {
        read_line(&output, line, sizeof(line));
        (void)snprintf(expected, sizeof(expected), "tablefuse: /m: line %d", next);
        if (strcmp(line, expected) == 0) {
            next++;
            continue;
        }
        assert_int_equal(sscanf(line, "tablefuse: /m: %d lines were left out here", &left_out), 1);
        all_left_out += left_out;
        next += left_out;
    }
    assert_true(all_left_out > 0);
    log_message(log, "and on");
    read_line(&output, line, sizeof(line));
    assert_string_equal(line, "tablefuse: /m: and on");
    log_destroy(log);
    end_output(&output);
}

/* The thread never comes back from its write, and the end of the process does not wait for that. */
static void test_the_end_does_not_wait_for_a_reader(void **state)
{
    (void)state;
    struct log *log;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)begin_output();
        if (log_create("/m", &log) < 0 || log_start(log) < 0)
            _exit(1);
        for (int i = 0; i < LINES; i++)
            log_message(log, "line %d", i);
        log_destroy(log);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_before_the_thread),
        cmocka_unit_test(test_the_end_writes_what_waits),
        cmocka_unit_test(test_lines_without_room_are_counted),
        cmocka_unit_test(test_the_end_does_not_wait_for_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
