/* SPDX-License-Identifier: MIT */
#include "fs/text/lost_and_found.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/own_mounts.h"
#include "tests/unit/threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY  65534
#define AT      (INT64_C(1795341600) * TICKS_PER_SEC + 123 * TICKS_PER_MS) /* 2026-11-22T10:00 */
#define WHY_MAX ((size_t)2 * PATH_MAX)
#define LOST    "/tablefuse/lost+found"

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

static char top[PATH_MAX]; /* a new directory for each test */

static int make_top(void **state)
{
    char name[] = "/tmp/tablefuse-lost-XXXXXX";
    (void)state;
    return mkdtemp(name) && realpath(name, top) ? chdir(top) : -1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static int remove_top(void **state)
{
    (void)state;
    return chdir("/") < 0 ? -1 : nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Valid until the fourth call after it. */
static const char *path_of(const char *name)
{
    static char paths[4][PATH_MAX + 256];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
    return path;
}

static struct lost_and_found *new_lost(void)
{
    struct lost_and_found *lost = NULL;
    _cleanup_(buffer_finish) struct buffer why = {.max = WHY_MAX};
    struct state_places places = {path_of("state"), NULL, NULL, "/proc/nowhere"};
    assert_int_equal(lost_and_found_create(&places, path_of("mnt"), "acc", &why, &lost), 0);
    assert_int_equal(why.size, 0);
    return lost;
}

/* why: a part of the sentence */
static void assert_refused(struct state_places places, int error, const char *why_part)
{
    struct lost_and_found *lost = NULL;
    _cleanup_(buffer_finish) struct buffer why = {.max = WHY_MAX};
    assert_int_equal(lost_and_found_create(&places, path_of("mnt"), "acc", &why, &lost), error);
    assert_null(lost);
    assert_non_null(buffer_string(&why));
    if (!strstr(buffer_string(&why), why_part) || !strstr(why.data, "XDG_STATE_HOME"))
        fail_msg("%s", why.data);
}

static void assert_made_in(struct state_places places, const char *place)
{
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = NULL;
    _cleanup_(buffer_finish) struct buffer why = {.max = WHY_MAX};
    struct stat status;
    char path[PATH_MAX + 256];
    assert_int_equal(lost_and_found_create(&places, path_of("mnt"), "acc", &why, &lost), 0);
    (void)snprintf(path, sizeof(path), "%s/%s%s", top, place, LOST);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode, S_IFDIR | 0700);
}

static struct failure_record record_of(const char *table, struct bytes position)
{
    struct failure_record record = {.at_100ns = AT,
                                    .operation = "close",
                                    .command = "cp",
                                    .table = table,
                                    .position = position,
                                    .failure = {.error = -EINVAL}};
    (void)snprintf(record.failure.message, sizeof(record.failure.message), "line 1: no object");
    return record;
}

static void assert_file(const char *path, struct bytes expected)
{
    char text[4096];
    struct stat status;
    int file = open(path, O_RDONLY | O_NOFOLLOW);
    if (file < 0)
        fail_msg("%s: %s", path, strerror(errno));
    assert_int_equal(fstat(file, &status), 0);
    assert_int_equal(status.st_mode, S_IFREG | 0600);
    ssize_t n = read(file, text, sizeof(text));
    (void)close(file);
    struct bytes found = {text, (size_t)n};
    assert_bytes(found, expected);
}

static size_t count_files(const char *directory)
{
    size_t n = 0;
    DIR *stream = opendir(directory);
    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        n += entry->d_name[0] != '.';
    (void)closedir(stream);
    return n;
}

/* Puts the text and asserts the file's name, which stands in the directory. */
static void assert_put(struct lost_and_found *lost, const char *table, struct bytes position,
                       struct bytes text, const char *name)
{
    struct failure_record record = record_of(table, position);
    _cleanup_(buffer_finish) struct buffer path = {.max = PATH_MAX};
    char expected[PATH_MAX + 512];
    assert_int_equal(lost_and_found_put(lost, &record, text, true, &path), 0);
    (void)snprintf(expected, sizeof(expected), "%s/state" LOST "/%s", top, name);
    assert_bytes(buffer_bytes(&path), bytes_of(expected));
    assert_file(expected, text);
}

static void a_text_is_kept_with_its_reason(void **state)
{
    (void)state;
    struct lost_and_found *lost = new_lost();
    assert_put(lost, "orders", B("p\0r"), B("{\"a\": "),
               "20261122T100000.123Z-acc-orders-p-r.json");
    assert_file(path_of("state" LOST "/20261122T100000.123Z-acc-orders-p-r.json.reason"),
                B("2026-11-22T10:00:00.123Z close /orders/p/r.json: EINVAL: line 1: no object "
                  "[cp]\n"));
    assert_put(lost, "orders", B("p\0r"), B(""), "20261122T100000.124Z-acc-orders-p-r.json");
    assert_put(lost, "orders", B("p"), B("x"), "20261122T100000.123Z-acc-orders-p-#00.json");
    assert_put(lost, "orders", B(""), B("x"), "20261122T100000.123Z-acc-orders.json");
    assert_put(lost, NULL, B(""), B("x"), "20261122T100000.123Z-acc.json");
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
        (void)snprintf(expected, sizeof(expected), "20261122T100000.%dZ-acc-t-p-r.json", 123 + i);
        assert_put(i % 2 == 0 ? lost : other, "t", B("p\0r"), text, expected);
    }
    assert_int_equal(lost_and_found_put(lost, &record, B("{99"), true, &path), LOST_AND_FOUND_FULL);
    assert_int_equal(path.size, 0);
    assert_put(lost, "t", B("p\0r"), B("{7"), "20261122T100000.130Z-acc-t-p-r.json"); /* again */
    /* its store was acknowledged: it is kept all the same */
    assert_int_equal(lost_and_found_put(lost, &record, B("{99"), false, &path), 0);
    assert_int_equal(count_files("state" LOST), 2 * LOST_AND_FOUND_MAX_OF_ENTITY + 2);
    /* others, whose names look alike */
    assert_put(lost, "t", B("p-q\0r"), B("{7"), "20261122T100000.123Z-acc-t-p-q#-r.json");
    assert_put(lost, "t", B("p\0q-r"), B("{7"), "20261122T100000.123Z-acc-t-p-q-r.json");
    assert_put(lost, "t", B("p\0rr"), B("{7"), "20261122T100000.123Z-acc-t-p-rr.json");
    assert_put(lost, "t", B("pp\0r"), B("{7"), "20261122T100000.123Z-acc-t-pp-r.json");
    assert_put(lost, "tt", B("p\0r"), B("{7"), "20261122T100000.123Z-acc-tt-p-r.json");
    assert_int_equal(lost_and_found_count(lost), 15);
    /* a text without a reason may be incomplete */
    assert_put(lost, "t", B("q\0r"), B("{7"), "20261122T100000.123Z-acc-t-q-r.json");
    assert_int_equal(unlink("state" LOST "/20261122T100000.123Z-acc-t-q-r.json.reason"), 0);
    assert_put(lost, "t", B("q\0r"), B("{7"), "20261122T100000.124Z-acc-t-q-r.json");
    assert_put(lost, "t", B("q\0r"), B("{7"), "20261122T100000.124Z-acc-t-q-r.json");
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
    assert_put(lost, "t", B("p\0r"), B("x"), "20261122T100000.123Z-acc-t-p-r.json");
    assert_put(lost, "t", B("p\0s"), B("x"), "20261122T100000.123Z-acc-t-p-s.json");
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
    (void)snprintf(path, sizeof(path), "state" LOST "/20261122T100000.%s", expected);
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
    assert_put(lost, "t", B("../../etc\0passwd"), B("x"),
               "20261122T100000.123Z-acc-t-#2E.#2F..#2Fetc-passwd.json");
    assert_put(lost, "t", B("\0"), B("x"), "20261122T100000.123Z-acc-t-#00-#00.json");
    assert_put(lost, "t", B("a\nb\x1b[2J\0.r+"), B("x"),
               "20261122T100000.123Z-acc-t-a#0Ab#1B[2J-#2Er#2B.json");
    /* not CESU-8: no service sends that, and the text is kept all the same */
    assert_put(lost, "t", B("\xff\0r"), B("x"), "20261122T100000.123Z-acc-t--r.json");
    static char position[2002], name[400];
    for (int i = 0; i < 2000; i++)
        position[i] = i % 2 == 0 ? '\xC3' : '\xA9';
    position[1000] = '\0';
    position[1001] = '/'; /* the RowKey begins with an escape */
    int n = snprintf(name, sizeof(name), "20261122T100000.123Z-acc-t-");
    for (int i = 0; i < 23; i++) /* whole characters, and the digits of the whole key */
        n += snprintf(name + n, sizeof(name) - (size_t)n, "\xC3\xA9");
    n += snprintf(name + n, sizeof(name) - (size_t)n, "#~8b671e21c36a4d79-#2F");
    for (int i = 0; i < 21; i++)
        n += snprintf(name + n, sizeof(name) - (size_t)n, "\xC3\xA9");
    (void)snprintf(name + n, sizeof(name) - (size_t)n, "#~48d4b20f8fbbe019.json");
    assert_put(lost, "t", (struct bytes){position, 2000}, B("x"), name);
    assert_int_equal(count_files(path_of("state" LOST)), 10);
}

static void the_first_place_that_can_be_used_is(void **state)
{
    (void)state;
    assert_int_equal(mkdir("home", 0755), 0);
    assert_int_equal(mkdir("system", 0755), 0);
    assert_int_equal(symlink("home", "link"), 0);
    char system[PATH_MAX + 256];
    (void)snprintf(system, sizeof(system), "%s/system", top);
    assert_made_in((struct state_places){NULL, NULL, NULL, system}, "system");
    assert_made_in((struct state_places){"", "", NULL, system}, "system");
    assert_made_in((struct state_places){"relative", "home", NULL, system}, "system");
    assert_made_in((struct state_places){NULL, path_of("absent"), NULL, system}, "system");
    assert_int_equal(access("absent", F_OK), -1);
    assert_made_in((struct state_places){NULL, path_of("link"), NULL, system}, "home/.local/state");
    assert_made_in((struct state_places){path_of("xdg/a//b/"), path_of("home"), NULL, system},
                   "xdg/a/b");
    assert_made_in((struct state_places){"/dev/null/a", path_of("home"), NULL, system},
                   "home/.local/state");
    assert_refused((struct state_places){"/dev/null/a", "/dev/null", NULL, "/proc/nowhere"},
                   -ENOTDIR, "/dev/null/a/tablefuse/lost+found: Not a directory");
    assert_refused((struct state_places){NULL, NULL, NULL, "/proc/nowhere"}, -ENOENT,
                   "/proc/nowhere/tablefuse");
}

/* Without any file made, and without another place tried. */
static void a_place_in_the_mount_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir("mnt", 0755), 0);
    assert_int_equal(mkdir("mnt2", 0755), 0);
    assert_int_equal(symlink("mnt", "link"), 0);
    const char *const inside[] = {"mnt", "mnt/a/b", "link/a", "new/../mnt/a", "mnt2/../link"};
    for (size_t i = 0; i < ARRAY_SIZE(inside); i++)
        assert_refused((struct state_places){path_of(inside[i]), top, NULL, top}, -ELOOP,
                       "it lies in the mount");
    assert_int_equal(count_files("mnt"), 0);
    assert_int_equal(access("tablefuse", F_OK), -1);
    assert_made_in((struct state_places){path_of("mnt2"), NULL, NULL, "/proc/nowhere"}, "mnt2");

    /* the mount covers the directory itself */
    struct lost_and_found *lost = NULL;
    _cleanup_(buffer_finish) struct buffer why = {.max = WHY_MAX};
    struct state_places places = {path_of("mnt2"), NULL, NULL, "/proc/nowhere"};
    assert_int_equal(lost_and_found_create(&places, path_of("mnt2/tablefuse"), "acc", &why, &lost),
                     -ELOOP);
    assert_int_equal(lost_and_found_create(&places, "/", "acc", &why, &lost), -ELOOP);
}

static unsigned asked;

static char *ask_home(void)
{
    asked++;
    return strdup(path_of("asked"));
}

static char *ask_in_vain(void)
{
    return NULL;
}

static void the_system_is_asked_for_a_home_if_the_environment_has_none(void **state)
{
    (void)state;
    assert_int_equal(mkdir("home", 0755), 0);
    assert_int_equal(mkdir("asked", 0755), 0);
    assert_int_equal(mkdir("system", 0755), 0);
    char home[PATH_MAX + 256];
    (void)snprintf(home, sizeof(home), "%s/home", top);
    asked = 0;
    assert_made_in((struct state_places){NULL, home, ask_home, "/proc/nowhere"},
                   "home/.local/state");
    assert_int_equal(asked, 0);
    assert_made_in((struct state_places){NULL, NULL, ask_home, "/proc/nowhere"},
                   "asked/.local/state");
    assert_int_equal(asked, 1);
    assert_made_in((struct state_places){NULL, NULL, ask_in_vain, path_of("system")}, "system");
}

/* HOME is root's where mount(8) mounts for a user, and a user's after sudo. */
static void a_directory_of_another_user_does_not_count(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(mkdir("home", 0777), 0);
    assert_int_equal(chmod("home", 0777), 0);
    assert_int_equal(mkdir("state", 0777), 0);
    assert_int_equal(chmod("state", 0777), 0);
    assert_int_equal(mkdir("asked", 0755), 0);
    assert_int_equal(chown("asked", NOBODY, NOBODY), 0);
    char home[PATH_MAX + 256], xdg[PATH_MAX + 256];
    (void)snprintf(home, sizeof(home), "%s/home", top);
    (void)snprintf(xdg, sizeof(xdg), "%s/state", top);
    assert_int_equal(seteuid(NOBODY), 0);
    assert_made_in((struct state_places){xdg, home, ask_home, "/proc/nowhere"},
                   "asked/.local/state");
    assert_refused((struct state_places){xdg, NULL, NULL, "/proc/nowhere"}, -EPERM,
                   "another user's");
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(count_files("home"), 0);
    assert_int_equal(count_files("state"), 0);
    /* the other way round; what is absent counts below a directory of one's own or of root */
    const char *const of_nobody[] = {"asked", "asked/absent", "asked/absent/too"};
    for (size_t i = 0; i < ARRAY_SIZE(of_nobody); i++)
        assert_made_in((struct state_places){path_of(of_nobody[i]), home, NULL, "/proc/nowhere"},
                       "home/.local/state");
    assert_int_equal(access("asked/absent", F_OK), -1);
    assert_int_equal(seteuid(NOBODY), 0);
    assert_made_in((struct state_places){path_of("state/mine/too"), NULL, NULL, "/proc/nowhere"},
                   "state/mine/too");
    assert_int_equal(seteuid(0), 0);
}

static void a_link_of_another_user_is_not_followed(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir("home", 0755), 0);
    assert_int_equal(mkdir("state", 0755), 0);
    assert_int_equal(symlink("state", "link"), 0);
    assert_int_equal(symlink("link", "second"), 0);
    assert_made_in((struct state_places){path_of("second/a"), NULL, NULL, "/proc/nowhere"},
                   "state/a");
    char home[PATH_MAX + 256];
    (void)snprintf(home, sizeof(home), "%s/home", top);
    assert_int_equal(lchown("second", NOBODY, NOBODY), 0);
    const char *const behind[] = {"second", "second/a", "second/absent", "second/"};
    for (size_t i = 0; i < ARRAY_SIZE(behind); i++)
        assert_made_in((struct state_places){path_of(behind[i]), home, NULL, "/proc/nowhere"},
                       "home/.local/state");
    assert_refused((struct state_places){path_of("second"), NULL, NULL, "/proc/nowhere"}, -EPERM,
                   "another user's");
    assert_int_equal(count_files("state"), 1);
    assert_int_equal(unlink("second"), 0);
}

/* In a state directory that others may write to. */
static void no_other_user_redirects_a_text(void **state)
{
    (void)state;
    struct state_places places = {path_of("state"), NULL, NULL, "/proc/nowhere"};
    assert_int_equal(mkdir("elsewhere", 0777), 0);
    assert_int_equal(mkdir("state", 0777), 0);
    assert_int_equal(symlink("../elsewhere", "state/tablefuse"), 0);
    assert_refused(places, -EPERM, "a symbolic link");
    assert_int_equal(unlink("state/tablefuse"), 0);
    assert_int_equal(mkdir("state/tablefuse", 0700), 0);
    assert_int_equal(symlink("../../elsewhere", "state" LOST), 0);
    assert_refused(places, -EPERM, "another user's");
    assert_int_equal(unlink("state" LOST), 0);
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = new_lost();
    /* later on */
    assert_int_equal(rmdir("state" LOST), 0);
    assert_int_equal(symlink("../../elsewhere", "state" LOST), 0);
    struct failure_record record = record_of("t", B("p\0r"));
    _cleanup_(buffer_finish) struct buffer path = {.max = PATH_MAX};
    assert_int_equal(lost_and_found_put(lost, &record, B("x"), true, &path), -EPERM);
    assert_int_equal(unlink("state" LOST), 0);
    if (geteuid() == 0) {
        assert_int_equal(mkdir("state" LOST, 0777), 0);
        assert_int_equal(chown("state" LOST, NOBODY, NOBODY), 0);
        assert_int_equal(lost_and_found_put(lost, &record, B("x"), true, &path), -EPERM);
        assert_int_equal(rmdir("state" LOST), 0);
    }
    assert_int_equal(path.size, 0);
    assert_int_equal(count_files("elsewhere"), 0);
    assert_int_equal(lost_and_found_count(lost), 0);
    /* a file of the name, or a link to one, is not written to */
    assert_put(lost, "t", B("p\0r"), B("x"), "20261122T100000.123Z-acc-t-p-r.json");
    assert_int_equal(
        symlink("../../../elsewhere/x", "state" LOST "/20261122T100000.124Z-acc-t-p-r.json"), 0);
    assert_put(lost, "t", B("p\0r"), B("y"), "20261122T100000.125Z-acc-t-p-r.json");
    assert_int_equal(count_files("elsewhere"), 0);
}

static void a_home_that_cannot_be_written_to_is_passed_over(void **state)
{
    (void)state;
    bool is_root = geteuid() == 0;
    assert_int_equal(mkdir("home", 0555), 0);
    assert_int_equal(mkdir("system", 0777), 0);
    assert_int_equal(chmod("system", 0777), 0);
    assert_int_equal(chmod(".", 0755), 0);
    struct state_places places = {NULL, path_of("home"), NULL, path_of("system")};
    if (is_root) {
        assert_int_equal(chown("home", NOBODY, NOBODY), 0);
        assert_int_equal(seteuid(NOBODY), 0);
    }
    assert_made_in(places, "system");
    places.system = "/proc/nowhere";
    assert_refused(places, -EACCES, "home/.local/state/tablefuse/lost+found: Permission denied");
    if (is_root)
        assert_int_equal(seteuid(0), 0);
}

static void a_directory_with_other_permissions_is_refused(void **state)
{
    (void)state;
    static const mode_t modes[] = {0755, 0777, 0710, 0701, 0500, 0600, 01777, 0770};
    lost_and_found_destroy(new_lost());
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        assert_int_equal(chmod(path_of("state" LOST), modes[i]), 0);
        assert_refused((struct state_places){path_of("state"), NULL, NULL, "/proc/nowhere"},
                       -ENOTSUP, LOST ": its permissions are not 0700");
    }
    assert_int_equal(mkdir("system", 0755), 0);
    assert_made_in((struct state_places){path_of("state"), NULL, NULL, path_of("system")},
                   "system");
    assert_int_equal(chmod(path_of("state" LOST), 02700), 0); /* below one that sets the group */
    lost_and_found_destroy(new_lost());
}

/* Runs in a child. */
static int find_on_a_read_only_file_system(void)
{
    struct lost_and_found *lost = NULL;
    struct buffer why;
    const struct state_places places = {path_of("state"), NULL, NULL, path_of("system")};
    int r = enter_own_mounts();
    if (r != 0)
        return r;
    if (mount("state", "state", NULL, MS_BIND, NULL) < 0 ||
        mount(NULL, "state", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
        return 77;
    buffer_init(&why, WHY_MAX);
    if (lost_and_found_create(&places, path_of("mnt"), "acc", &why, &lost) != 0)
        return 1;
    return access("system" LOST, F_OK) == 0 ? 0 : 2;
}

static void what_cannot_be_written_to_counts_as_none(void **state)
{
    (void)state;
    int status;
    lost_and_found_destroy(new_lost());
    assert_int_equal(mkdir("system", 0755), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(find_on_a_read_only_file_system());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* this user may not mount */
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void what_was_removed_is_made_again(void **state)
{
    (void)state;
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = new_lost();
    assert_int_equal(rmdir("state" LOST), 0);
    assert_int_equal(rmdir("state/tablefuse"), 0);
    assert_put(lost, "t", B("p\0r"), B("x"), "20261122T100000.123Z-acc-t-p-r.json");
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
    assert_file("state" LOST "/20261122T100000.123Z-acc-t-p-r.json", B("{}"));
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

/* A new name is on the disk, or the text counts as not kept. */
static void names_are_synced(void **state)
{
    (void)state;
    synced_directories = 0;
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = new_lost();
    assert_int_equal(synced_directories, 3); /* of state, tablefuse and lost+found */
    assert_put(lost, "t", B("p\0r"), B("x"), "20261122T100000.123Z-acc-t-p-r.json");
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_top, remove_top)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_text_is_kept_with_its_reason),
        TEST(of_an_entity_there_are_few_texts),
        TEST(what_is_new_of_an_account_is_told_once),
        TEST(a_scratch_file_is_kept_under_its_name),
        TEST(odd_keys_become_harmless_names),
        TEST(the_first_place_that_can_be_used_is),
        TEST(a_place_in_the_mount_is_refused),
        TEST(the_system_is_asked_for_a_home_if_the_environment_has_none),
        TEST(a_directory_of_another_user_does_not_count),
        TEST(a_link_of_another_user_is_not_followed),
        TEST(no_other_user_redirects_a_text),
        TEST(a_home_that_cannot_be_written_to_is_passed_over),
        TEST(a_directory_with_other_permissions_is_refused),
        TEST(what_cannot_be_written_to_counts_as_none),
        TEST(what_was_removed_is_made_again),
        TEST(no_part_of_a_text_is_left_on_a_full_disk),
        TEST(without_memory_there_is_a_file_or_an_error),
        TEST(names_are_synced),
        TEST(threads_never_share_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
