/* SPDX-License-Identifier: MIT */
/* How `az` is run: with a stand-in for it in PATH. */
#include "client/identity/azure_cli.h"
#include "client/identity/token_answer.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/test_azure_cli.XXXXXX";
static char path[sizeof(directory) + 20], az[sizeof(directory) + 10], seen[sizeof(directory) + 10];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    (void)snprintf(az, sizeof(az), "%s/az", directory);
    (void)snprintf(seen, sizeof(seen), "%s/seen", directory);
    (void)snprintf(path, sizeof(path), "%s:/usr/bin:/bin", directory);
    return setenv("PATH", path, 1);
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(az);
    (void)unlink(seen);
    return rmdir(directory);
}

static void install(const char *script)
{
    FILE *file = fopen(az, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "#!/bin/sh\ncd %s\n%s\n", directory, script) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(az, 0755), 0);
    (void)unlink(seen);
}

static struct call new_call(void)
{
    return (struct call){.deadline_ms = clock_now_ms(&clock_system) + 3600000};
}

static int ask(const char *tenant, struct call *call, struct buffer *ret)
{
    buffer_init(ret, TOKEN_ANSWER_MAX_BYTES);
    return azure_cli_request(tenant, &clock_system, call, ret);
}

static void expect_seen(const char *expected)
{
    char text[1000];
    FILE *file = fopen(seen, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[n] = '\0';
    assert_string_equal(text, expected);
}

static void what_it_prints_is_the_answer(void **state)
{
    (void)state;
    static const char *const tenants[] = {NULL, "tn.example"};
    static const char *const asked[] = {
        "account get-access-token --output json --resource https://storage.azure.com\n",
        "account get-access-token --output json --resource https://storage.azure.com --tenant "
        "tn.example\n"};
    for (size_t i = 0; i < ARRAY_SIZE(tenants); i++) {
        _cleanup_(buffer_finish) struct buffer text;
        struct call call = new_call();
        install("echo \"$@\" > seen; echo '{\"a\": 1}'; echo WARNING >&2");
        assert_int_equal(ask(tenants[i], &call, &text), 0);
        assert_bytes(buffer_bytes(&text), B("{\"a\": 1}\n"));
        expect_seen(asked[i]);
    }
}

/* The directory is /, and of this process's files it has none. */
static void what_it_inherits(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer text;
    struct call call = new_call();
    int file = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
    assert_true(file > 2);
    install("readlink /proc/$$/fd/0 > seen; echo $OLDPWD >> seen; test -e /proc/$$/fd/3 || "
            "echo none >> seen");
    assert_int_equal(ask(NULL, &call, &text), 0);
    (void)close(file);
    expect_seen("/dev/null\n/\nnone\n");
}

static const struct {
    const char *script;
    int error;
    const char *message;
} failures[] = {
    {"echo \"ERROR: Please run 'az login' to setup account.\" >&2; exit 1", -EACCES,
     "Please run 'az login' to setup account."},
    {"printf 'ERROR: a\\033[1mb\\nmore\\n' >&2; exit 1", -EACCES, "a?[1mb"},
    {"exit 3", -EACCES, "it has failed and gives no reason"},
    {"echo '{}'; exit 3", -EACCES, "it has failed and gives no reason"},
    {"kill -KILL $$", -EACCES, "it has failed and gives no reason"},
    {"head -c 70000 /dev/zero", -EFBIG, "it prints more than 65536 bytes"},
};

static void failures_have_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        _cleanup_(buffer_finish) struct buffer text;
        struct call call = new_call();
        install(failures[i].script);
        assert_int_equal(ask(NULL, &call, &text), failures[i].error);
        assert_string_equal(call.failure.message, failures[i].message);
    }
}

static void it_may_be_missing(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer text;
    struct call call = new_call();
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    assert_int_equal(ask(NULL, &call, &text), -EACCES);
    assert_string_equal(call.failure.message, "it is not in PATH");
    assert_int_equal(setenv("PATH", path, 1), 0);
}

/* It runs, when the file is there. */
static bool has_begun(void *context)
{
    (void)context;
    return access(seen, F_OK) == 0;
}

static void it_is_killed_with_its_children(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer text;
    struct call call = new_call();
    call.is_cancelled = has_begun;
    install("sleep 1000 & echo $! > next; mv next seen; sleep 1000");
    assert_int_equal(ask(NULL, &call, &text), -EINTR);
    FILE *file = fopen(seen, "r");
    int child = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &child), 1);
    (void)fclose(file);
    /* it is a zombie until its new parent has waited for it */
    for (bool is_there = true; is_there;) {
        char stat_path[64], name[100], status = 'Z';
        (void)snprintf(stat_path, sizeof(stat_path), "/proc/%d/stat", child);
        file = fopen(stat_path, "r");
        is_there = file && fscanf(file, "%*d %99s %c", name, &status) == 2 && status != 'Z';
        if (file)
            (void)fclose(file);
        (void)usleep(1000);
    }
}

static void it_has_a_deadline(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer text;
    struct call call = {.deadline_ms = clock_now_ms(&clock_system) + 1};
    install("sleep 1000");
    assert_int_equal(ask(NULL, &call, &text), -ETIMEDOUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_prints_is_the_answer),   cmocka_unit_test(what_it_inherits),
        cmocka_unit_test(failures_have_a_reason),         cmocka_unit_test(it_may_be_missing),
        cmocka_unit_test(it_is_killed_with_its_children), cmocka_unit_test(it_has_a_deadline),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
