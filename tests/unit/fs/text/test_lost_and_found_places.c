/* SPDX-License-Identifier: MIT */
/* Where lost+found is made, and which directories of other users it refuses. */
#include "tests/unit/fs/text/lost_fixture.h"
#include "tests/unit/own_mounts.h"

#include <sys/mount.h>
#include <sys/wait.h>

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
    assert_int_equal(why.size, 0); /* also if other places were refused before */
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

static char *find_home(void)
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
    assert_made_in((struct state_places){NULL, home, find_home, "/proc/nowhere"},
                   "home/.local/state");
    assert_int_equal(asked, 0);
    assert_made_in((struct state_places){NULL, NULL, find_home, "/proc/nowhere"},
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
    assert_made_in((struct state_places){xdg, home, find_home, "/proc/nowhere"},
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
    assert_put(lost, "t", B("p\0r"), B("x"), "123Z-acc-t-p-r.json");
    assert_int_equal(
        symlink("../../../elsewhere/x", "state" LOST "/" AT_NAME "124Z-acc-t-p-r.json"), 0);
    assert_put(lost, "t", B("p\0r"), B("y"), "125Z-acc-t-p-r.json");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_place_that_can_be_used_is),
        TEST(a_place_in_the_mount_is_refused),
        TEST(the_system_is_asked_for_a_home_if_the_environment_has_none),
        TEST(a_directory_of_another_user_does_not_count),
        TEST(a_link_of_another_user_is_not_followed),
        TEST(no_other_user_redirects_a_text),
        TEST(a_home_that_cannot_be_written_to_is_passed_over),
        TEST(a_directory_with_other_permissions_is_refused),
        TEST(what_cannot_be_written_to_counts_as_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
