/* The exit code and message that a mount's process sends to the connections that wait for it. */
#include "fs/exit_report.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void all_connections_get_the_report(void **state)
{
    (void)state;
    char message[EXIT_REPORT_MAX_BYTES];
    int offer = exit_report_offer(), reports[3];
    assert_true(offer >= 0);
    for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
        reports[i] = exit_report_await(getpid());
        assert_true(reports[i] >= 0);
    }
    assert_int_equal(exit_report_read(reports[0], 0, message), -ETIMEDOUT);
    exit_report_tell(offer, 6, "1 file is lost");
    for (size_t i = 1; i < ARRAY_SIZE(reports); i++) {
        assert_int_equal(exit_report_read(reports[i], 0, message), 6);
        assert_string_equal(message, "1 file is lost");
    }
    assert_true(exit_report_await(getpid()) < 0);
}

static void a_long_message_is_cut(void **state)
{
    (void)state;
    char message[EXIT_REPORT_MAX_BYTES], text[2 * EXIT_REPORT_MAX_BYTES];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    int offer = exit_report_offer(), report = exit_report_await(getpid());
    exit_report_tell(offer, 1, text);
    assert_int_equal(exit_report_read(report, 0, message), 1);
    assert_int_equal(strlen(message), EXIT_REPORT_MAX_BYTES - 1);
}

static void without_an_offer_there_is_no_report(void **state)
{
    (void)state;
    assert_true(exit_report_await(getpid()) < 0);
    exit_report_tell(-1, 0, "");
}

static void those_who_have_gone_do_no_harm(void **state)
{
    (void)state;
    char message[EXIT_REPORT_MAX_BYTES];
    int offer = exit_report_offer();
    for (int i = 0; i < 50; i++)
        (void)close(exit_report_await(getpid()));
    int report = exit_report_await(getpid());
    exit_report_tell(offer, 0, "");
    assert_int_equal(exit_report_read(report, 0, message), 0);
    assert_string_equal(message, "");
}

/* Offers a report, and ends without sending it. */
static pid_t begin_silent_process(void)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        int offer = exit_report_offer();
        if (offer < 0 || write(ends[1], "", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    (void)close(ends[0]);
    return child;
}

static void a_process_that_is_killed_reports_nothing(void **state)
{
    (void)state;
    char message[EXIT_REPORT_MAX_BYTES];
    pid_t child = begin_silent_process();
    int report = exit_report_await(child);
    assert_true(report >= 0);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(exit_report_read(report, 1000, message) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_connections_get_the_report),
        cmocka_unit_test(a_long_message_is_cut),
        cmocka_unit_test(without_an_offer_there_is_no_report),
        cmocka_unit_test(those_who_have_gone_do_no_harm),
        cmocka_unit_test(a_process_that_is_killed_reports_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
