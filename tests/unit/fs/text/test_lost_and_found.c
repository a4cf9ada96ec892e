/* SPDX-License-Identifier: MIT */
#include "tests/unit/failing_memory.h"
#include "tests/unit/fs/text/lost_fixture.h"
#include "tests/unit/threads.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static _Atomic int synced_directories;
static int directory_error; /* of the next syncs of directories */

/* In place of libc's. */
int fsync(int file)
{
    struct stat status;
    if (fstat(file, &status) == 0 && S_ISDIR(status.st_mode)) {
        synced_directories++;
        if (directory_error != 0) {
            errno = directory_error;
            return -1;
        }
    }
    return (int)syscall(SYS_fsync, file);
}

static void a_text_is_kept_with_its_reason(void **state)
{
    (void)state;
    struct lost_and_found *lost = new_lost();
    assert_put(lost, "orders", B("p\0r"), B("{\"a\": "), "123Z-acc-orders-p-r.json");
    assert_file(path_of("state" LOST "/" AT_NAME "123Z-acc-orders-p-r.json.reason"),
                B("2026-11-22T10:00:00.123Z close /orders/p/r.json: EINVAL: line 1: no object "
                  "[cp]\n"));
    assert_put(lost, "orders", B("p\0r"), B(""), "124Z-acc-orders-p-r.json");
    assert_put(lost, "orders", B("p"), B("x"), "123Z-acc-orders-p-#00.json");
    assert_put(lost, "orders", B(""), B("x"), "123Z-acc-orders.json");
    assert_put(lost, NULL, B(""), B("x"), "123Z-acc.json");
    assert_int_equal(lost_and_found_count(lost), 5);
    lost_and_found_destroy(lost);
    lost_and_found_destroy(NULL);
}

/* An equal text of an entity has one file; of other texts there are no more than 16. */
static void of_an_entity_there_are_few_texts(void **state)
{
    (void)state;
    struct lost_and_found *lost = new_lost(), *other = new_lost(); /* another mount's */
    struct failure_record record = record_of("t", B("p\0r"));
    _cleanup_(buffer_finish) struct buffer path = {.max = PATH_MAX};
    char name[100] = "";
    for (int i = 0; i < LOST_AND_FOUND_MAX_OF_ENTITY; i++) {
        struct bytes text = {name, (size_t)snprintf(name, sizeof(name), "{%d", i)};
        char expected[100];
        (void)snprintf(expected, sizeof(expected), "%dZ-acc-t-p-r.json", 123 + i);
        assert_put(i % 2 == 0 ? lost : other, "t", B("p\0r"), text, expected);
    }
    assert_int_equal(lost_and_found_put(lost, &record, B("{99"), true, &path), LOST_AND_FOUND_FULL);
    assert_int_equal(path.size, 0);
    assert_put(lost, "t", B("p\0r"), B("{7"), "130Z-acc-t-p-r.json"); /* again */
    /* its store was acknowledged: it is kept all the same */
    assert_int_equal(lost_and_found_put(lost, &record, B("{99"), false, &path), 0);
    assert_int_equal(count_files("state" LOST), 2 * LOST_AND_FOUND_MAX_OF_ENTITY + 2);
    /* others, whose names look alike */
    assert_put(lost, "t", B("p-q\0r"), B("{7"), "123Z-acc-t-p-q#-r.json");
    assert_put(lost, "t", B("p\0q-r"), B("{7"), "123Z-acc-t-p-q-r.json");
    assert_put(lost, "t", B("p\0rr"), B("{7"), "123Z-acc-t-p-rr.json");
    assert_put(lost, "t", B("pp\0r"), B("{7"), "123Z-acc-t-pp-r.json");
    assert_put(lost, "tt", B("p\0r"), B("{7"), "123Z-acc-tt-p-r.json");
    assert_int_equal(lost_and_found_count(lost), 15);
    /* a text without a reason may be incomplete */
    assert_put(lost, "t", B("q\0r"), B("{7"), "123Z-acc-t-q-r.json");
    assert_int_equal(unlink("state" LOST "/" AT_NAME "123Z-acc-t-q-r.json.reason"), 0);
    assert_put(lost, "t", B("q\0r"), B("{7"), "124Z-acc-t-q-r.json");
    assert_put(lost, "t", B("q\0r"), B("{7"), "124Z-acc-t-q-r.json");
    lost_and_found_destroy(other);
    lost_and_found_destroy(lost);
}

/* Without the reasons, and those of other accounts. */
static void assert_told(struct lost_and_found *lost, int64_t at_100ns, size_t expected)
{
    size_t count = 1000;
    assert_int_equal(lost_and_found_count_new(lost, at_100ns, &count), 0);
    assert_int_equal(count, expected);
}

static void what_is_new_of_an_account_is_told_once(void **state)
{
    (void)state;
    struct lost_and_found *lost = new_lost(), *other = NULL;
    struct state_places places = {path_of("state"), NULL, NULL, "/proc/nowhere"};
    _cleanup_(buffer_finish) struct buffer why = {.max = WHY_MAX};
    struct failure_record record = record_of("t", B("p\0r"));
    assert_int_equal(lost_and_found_create(&places, path_of("mnt"), "ac", &why, &other), 0);
    assert_told(lost, AT, 0);
    assert_put(lost, "t", B("p\0r"), B("x"), "123Z-acc-t-p-r.json");
    assert_put(lost, "t", B("p\0s"), B("x"), "123Z-acc-t-p-s.json");
    assert_told(other, AT + TICKS_PER_SEC, 0);
    assert_told(lost, AT + TICKS_PER_SEC, 2);
    assert_told(lost, AT + 2 * TICKS_PER_SEC, 0);
    record.at_100ns = AT + 3 * TICKS_PER_SEC;
    assert_int_equal(lost_and_found_put(lost, &record, B("y"), true, &why), 0);
    record.at_100ns = AT + 3 * TICKS_PER_SEC;
    assert_int_equal(lost_and_found_put(other, &record, B("y"), true, &why), 0);
    assert_int_equal(
        lost_and_found_keep(lost, record.at_100ns, (struct address){0}, B("queued"), B("z")), 0);
    assert_told(lost, AT + 4 * TICKS_PER_SEC, 2);
    assert_told(lost, AT + 4 * TICKS_PER_SEC, 0);
    assert_told(other, AT + 4 * TICKS_PER_SEC, 1);
    assert_int_equal(count_files("state" LOST), 9);
    record.at_100ns = AT + 4 * TICKS_PER_SEC; /* in the millisecond of the last report */
    assert_int_equal(lost_and_found_put(lost, &record, B("z"), true, &why), 0);
    assert_told(lost, AT + 5 * TICKS_PER_SEC, 1);
    assert_int_equal(count_files("state/tablefuse"), 3);
    lost_and_found_destroy(other);
    lost_and_found_destroy(lost);
}

static void assert_keep(struct lost_and_found *lost, struct bytes name, struct bytes text,
                        const char *expected)
{
    static const struct address directory = {"t", {"a/b", 4}};
    char path[200];
    assert_int_equal(lost_and_found_keep(lost, AT, directory, name, text), 0);
    (void)snprintf(path, sizeof(path), "state" LOST "/" AT_NAME "%s", expected);
    assert_file(path_of(path), text);
}

static void a_scratch_file_is_kept_under_its_name(void **state)
{
    (void)state;
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = new_lost();
    char name[255], expected[100] = {0};
    assert_keep(lost, B("notes.tmp"), B("text"), "123Z-acc-t-a#2Fb-notes.tmp");
    assert_keep(lost, B("notes.tmp"), B("text"), "123Z-acc-t-a#2Fb-notes.tmp"); /* one file */
    assert_keep(lost, B("notes.tmp"), B("other"), "124Z-acc-t-a#2Fb-notes.tmp");
    assert_keep(lost, B(".f.json"), B("text"), "123Z-acc-t-a#2Fb-.f.json");
    assert_keep(lost, B("\xF0\x9F\x98\x80~"), B("text"), "123Z-acc-t-a#2Fb-\xF0\x9F\x98\x80~");
    memset(name, 'x', sizeof(name));
    int n = snprintf(expected, sizeof(expected), "123Z-acc-t-a#2Fb-");
    memset(expected + n, 'x', 63);
    name[63] = '\xC3';
    name[64] = '\xA9';
    assert_keep(lost, (struct bytes){name, sizeof(name)}, B("text"), expected);
    assert_int_equal(count_files(path_of("state" LOST)), 5); /* and no reason */
    assert_int_equal(lost_and_found_count(lost), 0);
}

/* Keys are hostile input: no key leaves the directory, hides a file or makes a name too long. */
static void odd_keys_become_harmless_names(void **state)
{
    (void)state;
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = new_lost();
    assert_put(lost, "t", B("../../etc\0passwd"), B("x"), "123Z-acc-t-#2E.#2F..#2Fetc-passwd.json");
    assert_put(lost, "t", B("\0"), B("x"), "123Z-acc-t-#00-#00.json");
    assert_put(lost, "t", B("a\nb\x1b[2J\0.r+"), B("x"), "123Z-acc-t-a#0Ab#1B[2J-#2Er#2B.json");
    /* not CESU-8: no service sends that, and the text is kept all the same */
    assert_put(lost, "t", B("\xff\0r"), B("x"), "123Z-acc-t--r.json");
    static char position[2002], name[400];
    for (int i = 0; i < 2000; i++)
        position[i] = i % 2 == 0 ? '\xC3' : '\xA9';
    position[1000] = '\0';
    position[1001] = '/'; /* the RowKey begins with an escape */
    int n = snprintf(name, sizeof(name), "123Z-acc-t-");
    for (int i = 0; i < 23; i++) /* whole characters, and the digits of the whole key */
        n += snprintf(name + n, sizeof(name) - (size_t)n, "\xC3\xA9");
    n += snprintf(name + n, sizeof(name) - (size_t)n, "#~8b671e21c36a4d79-#2F");
    for (int i = 0; i < 21; i++)
        n += snprintf(name + n, sizeof(name) - (size_t)n, "\xC3\xA9");
    (void)snprintf(name + n, sizeof(name) - (size_t)n, "#~48d4b20f8fbbe019.json");
    assert_put(lost, "t", (struct bytes){position, 2000}, B("x"), name);
    assert_int_equal(count_files(path_of("state" LOST)), 10);
}

static void what_was_removed_is_made_again(void **state)
{
    (void)state;
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = new_lost();
    assert_int_equal(rmdir("state" LOST), 0);
    assert_int_equal(rmdir("state/tablefuse"), 0);
    assert_put(lost, "t", B("p\0r"), B("x"), "123Z-acc-t-p-r.json");
}

/* The limit stands for a disk that becomes full in the middle of the text. */
static void no_part_of_a_text_is_left_on_a_full_disk(void **state)
{
    (void)state;
    static char text[10000];
    memset(text, 'x', sizeof(text));
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = new_lost();
    struct failure_record record = record_of("t", B("p\0r"));
    _cleanup_(buffer_finish) struct buffer path = {.max = PATH_MAX};
    struct rlimit before, limit = {4096, RLIM_INFINITY};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit.rlim_max = before.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int r = lost_and_found_put(lost, &record, (struct bytes){text, sizeof(text)}, true, &path);
    /* a text that still fits is kept, without the reason that does not */
    limit.rlim_cur = 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int small = lost_and_found_put(lost, &record, B("{}"), true, &path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(r, -EFBIG);
    assert_int_equal(small, 0);
    assert_int_equal(lost_and_found_count(lost), 1);
    assert_int_equal(count_files("state" LOST), 1);
    assert_file("state" LOST "/" AT_NAME "123Z-acc-t-p-r.json", B("{}"));
}

/* Without memory the text is kept whole, or not at all. */
static void without_memory_there_is_a_file_or_an_error(void **state)
{
    (void)state;
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = new_lost();
    struct failure_record record = record_of("t", B("p\0r"));
    struct buffer path;
    buffer_init(&path, PATH_MAX);
    size_t kept = 0;
    bool is_reached = true;
    for (long n = 1; is_reached; n++) {
        buffer_finish(&path);
        buffer_init(&path, PATH_MAX);
        allocations_until_failure = n;
        char name[20];
        struct bytes text = {name, (size_t)snprintf(name, sizeof(name), "{%ld", n)};
        int r = lost_and_found_put(lost, &record, text, true, &path);
        is_reached = allocations_until_failure == 0;
        allocations_until_failure = 0;
        assert_true(r == 0 || (r == -ENOMEM && is_reached));
        kept += r == 0;
        if (r == 0)
            assert_file(buffer_string(&path), text);
        else
            assert_int_equal(path.size, 0);
    }
    assert_true(kept > 1); /* names, path and reason are less than the text */
    assert_int_equal(lost_and_found_count(lost), kept);
    buffer_finish(&path);
}

/* As at the end of a mount, for queued and open texts. */
static void a_caller_writes_a_file_itself(void **state)
{
    (void)state;
    static const struct {
        struct address address;
        const char *name;
    } cases[] = {{{.table = "t"}, AT_NAME "123Z-acc-t-queued.ndjson"},
                 {{"t", B("p\0r")}, AT_NAME "123Z-acc-t-p-r.json"}};
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = new_lost();
    const struct failure_record record = record_of("t", B("p\0r"));
    _cleanup_(buffer_finish) struct buffer path = {.max = PATH_MAX};
    assert_int_equal(lost_and_found_append_path(lost, &path), 0);
    assert_string_equal(buffer_string(&path), path_of("state" LOST));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char name[NAME_MAX + 1];
        int file = lost_and_found_begin(lost, AT, cases[i].address, name);
        assert_string_equal(name, cases[i].name);
        assert_int_equal(write(file, "{}\n", 3), 3);
        synced_directories = 0;
        assert_int_equal(lost_and_found_end(lost, file), 0);
        assert_int_equal(synced_directories, 1);
        assert_int_equal(chdir("state" LOST), 0);
        assert_file(name, B("{}\n"));
        lost_and_found_put_reason(lost, name, &record);
        lost_and_found_remove(lost, name);
        assert_int_equal(access(name, F_OK), -1);
        assert_int_equal(chdir(top), 0);
        assert_int_equal(count_files("state" LOST), i + 1); /* the reason */
    }
}

/* The path of the file is the answer. */
static void without_room_for_its_path_no_text_is_kept(void **state)
{
    (void)state;
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = new_lost();
    const struct failure_record record = record_of("t", B("p\0r"));
    _cleanup_(buffer_finish) struct buffer path = {.max = 10};
    assert_int_equal(lost_and_found_put(lost, &record, B("x"), true, &path), -EFBIG);
    assert_int_equal(count_files("state" LOST), 0);
    assert_put(lost, "t", B("p\0r"), B("x"), "123Z-acc-t-p-r.json");
    buffer_clear(&path);
    assert_int_equal(lost_and_found_put(lost, &record, B("x"), true, &path), -EFBIG);
    assert_int_equal(path.size, 0);
    assert_int_equal(count_files("state" LOST), 2); /* an equal text that was kept before stays */
}

/* A new name is on the disk, or the text counts as not kept. */
static void names_are_synced(void **state)
{
    (void)state;
    synced_directories = 0;
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = new_lost();
    assert_int_equal(synced_directories, 3); /* of state, tablefuse and lost+found */
    assert_put(lost, "t", B("p\0r"), B("x"), "123Z-acc-t-p-r.json");
    assert_int_equal(synced_directories, 4);
    struct failure_record record = record_of("t", B("p\0r"));
    _cleanup_(buffer_finish) struct buffer path = {.max = PATH_MAX};
    directory_error = EIO;
    int r = lost_and_found_put(lost, &record, B("y"), true, &path);
    directory_error = EINVAL; /* a file system without it */
    int without = lost_and_found_put(lost, &record, B("y"), true, &path);
    directory_error = 0;
    assert_int_equal(r, -EIO);
    assert_int_equal(without, 0);
    assert_int_equal(lost_and_found_count(lost), 2);
    assert_int_equal(count_files("state" LOST), 4);
}

static _Atomic int turn;

static void *put_again_and_again(void *lost)
{
    for (int i = 0; i < 50; i++) {
        char text[40], position[40];
        int number = turn++;
        int n = snprintf(text, sizeof(text), "text %d", number);
        int size = 2 + snprintf(position + 2, sizeof(position) - 2, "%d", number % 10);
        memcpy(position, "p", 2);
        struct failure_record record = record_of("t", (struct bytes){position, (size_t)size});
        _cleanup_(buffer_finish) struct buffer path = {.max = PATH_MAX};
        int r = lost_and_found_put(lost, &record, (struct bytes){text, (size_t)n}, true, &path);
        assert_true(r == 0 || r == LOST_AND_FOUND_FULL);
        if (r == 0)
            assert_file(buffer_string(&path), (struct bytes){text, (size_t)n});
    }
    return NULL;
}

/* Of 20 texts each of 10 entities 16 are kept. */
static void threads_never_share_a_file(void **state)
{
    (void)state;
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = new_lost();
    turn = 0;
    run_in_threads(4, put_again_and_again, lost, 0);
    assert_int_equal(lost_and_found_count(lost), 160);
    assert_int_equal(count_files("state" LOST), 320);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_text_is_kept_with_its_reason),
        TEST(of_an_entity_there_are_few_texts),
        TEST(what_is_new_of_an_account_is_told_once),
        TEST(a_scratch_file_is_kept_under_its_name),
        TEST(odd_keys_become_harmless_names),
        TEST(what_was_removed_is_made_again),
        TEST(no_part_of_a_text_is_left_on_a_full_disk),
        TEST(without_memory_there_is_a_file_or_an_error),
        TEST(a_caller_writes_a_file_itself),
        TEST(without_room_for_its_path_no_text_is_kept),
        TEST(names_are_synced),
        TEST(threads_never_share_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
