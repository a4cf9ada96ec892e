/* SPDX-License-Identifier: MIT */
#include "fs/output/line_output.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARTIAL "file.partial"

static bool never(void *context)
{
    (void)context;
    return false;
}

static void put(const char *file, struct bytes text)
{
    FILE *stream = fopen(file, "w");
    assert_non_null(stream);
    assert_int_equal(fwrite(text.data, 1, text.size, stream), text.size);
    assert_int_equal(fclose(stream), 0);
}

/* The caller frees the text. */
static struct bytes get(const char *file)
{
    struct stat status;
    assert_int_equal(stat(file, &status), 0);
    size_t size = (size_t)status.st_size;
    char *text = malloc(size + 1);
    FILE *stream = fopen(file, "r");
    assert_non_null(stream);
    assert_int_equal(fread(text, 1, size, stream), size);
    assert_int_equal(fclose(stream), 0);
    return (struct bytes){text, size};
}

/* Goes on with a file of `before` bytes without a line's end, a line of `line` bytes, and `after`
 * bytes that have no end. */
static void check_resume(size_t before, size_t line, size_t after)
{
    struct line_output *output = NULL;
    size_t whole = (before > 0 ? before + 1 : 0) + (line > 0 ? line + 1 : 0);
    char *text = malloc(whole + after + 4);
    memset(text, 'b', before);
    if (before > 0)
        text[before] = '\n';
    memset(text + whole - (line > 0 ? line + 1 : 0), 'l', line);
    if (line > 0)
        text[whole - 1] = '\n';
    memset(text + whole, 'a', after);
    put(PARTIAL, (struct bytes){text, whole + after});
    assert_int_equal(line_output_open("file", true, never, NULL, &output), 0);
    size_t last = line > 0 ? line : before;
    assert_bytes(line_output_last(output),
                 (struct bytes){text + (whole > last ? whole - last - 1 : 0), last});
    assert_int_equal(buffer_append_string(line_output_buffer(output), "new\n"), 0);
    assert_int_equal(line_output_written(output), 0);
    assert_int_equal(line_output_finish(output), 0);
    line_output_close(output);
    for (size_t i = 0; i < 4; i++)
        text[whole + i] = "new\n"[i];
    struct bytes now = get("file");
    assert_bytes(now, (struct bytes){text, whole + 4});
    free((char *)now.data);
    free(text);
    assert_int_equal(access(PARTIAL, F_OK), -1);
}

static void it_goes_on_behind_the_last_whole_line(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 65535, 65536, 200000};
    for (size_t b = 0; b < ARRAY_SIZE(sizes); b++)
        for (size_t l = 0; l < ARRAY_SIZE(sizes); l++)
            for (size_t a = 0; a < ARRAY_SIZE(sizes); a++)
                check_resume(sizes[b], sizes[l], sizes[a]);
}

static void a_file_that_is_full_leaves_the_rest(void **state)
{
    (void)state;
    struct line_output *output = NULL;
    struct rlimit before, few;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    few = before;
    few.rlim_cur = 10;
    assert_int_equal(line_output_open("file", false, never, NULL, &output), 0);
    assert_int_equal(buffer_append_string(line_output_buffer(output), "one\ntwo\nthree\n"), 0);
    assert_int_equal(line_output_written(output), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    int r = line_output_finish(output);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(r, -EFBIG);
    assert_bytes(line_output_rest(output), BYTES_LITERAL("ree\n"));
    line_output_close(output);
    assert_int_equal(unlink(PARTIAL), 0);
    (void)signal(SIGXFSZ, handler);
}

static void without_it_a_file_begins_anew(void **state)
{
    (void)state;
    struct line_output *output = NULL, *other = NULL;
    put(PARTIAL, B("old\n"));
    put("file", B("earlier\n"));
    assert_int_equal(line_output_open("file", false, never, NULL, &output), 0);
    assert_bytes(line_output_last(output), B(""));
    assert_int_equal(line_output_open("file", false, never, NULL, &other), -EBUSY);
    struct bytes now = get("file");
    assert_bytes(now, B("earlier\n"));
    free((char *)now.data);
    assert_int_equal(line_output_finish(output), 0);
    line_output_close(output);
    now = get("file");
    assert_bytes(now, B(""));
    free((char *)now.data);
}

static int enter_directory(void **state)
{
    static char directory[] = "/tmp/tablefuse-XXXXXX";
    *state = directory;
    return mkdtemp(directory) ? chdir(directory) : -1;
}

static int leave_directory(void **state)
{
    (void)unlink("file");
    (void)unlink(PARTIAL);
    return chdir("/") < 0 ? -1 : rmdir(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_full_leaves_the_rest),
        cmocka_unit_test(it_goes_on_behind_the_last_whole_line),
        cmocka_unit_test(without_it_a_file_begins_anew),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
