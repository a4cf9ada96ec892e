/* SPDX-License-Identifier: MIT */
#include "fs/text/lost_and_found.h"
#include "fs/base/file_io.h"
#include "fs/text/control_dir.h"
#include "fs/text/lost_name.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM_DIRECTORY "tablefuse"
#define LOST_DIRECTORY    "lost+found"
#define BELOW_PLACE       "/" PROGRAM_DIRECTORY "/" LOST_DIRECTORY

#define MARK_SUFFIX      ".told"
#define MAX_SAME_NAMES   999
#define REASON_MAX_BYTES ((size_t)64 << 10)

struct lost_and_found {
    char *place; /* absolute, without symbolic links */
    char account[LOST_NAME_ACCOUNT_SIZE];
    /* held from the comparison with an entity's texts until the file of the next one exists */
    pthread_mutex_t lock;
    _Atomic size_t count;
};

/* A text to be kept. Its file's name is the time and the tail. */
struct item {
    int64_t at_100ns;
    struct bytes tail, text;
    bool is_of_entity; /* it gets a reason; else it is a scratch file's */
    bool is_limited;   /* to LOST_AND_FOUND_MAX_OF_ENTITY texts */
};

static void closep(const int *descriptor)
{
    if (*descriptor >= 0)
        (void)close(*descriptor);
}

/* 0 or -errno; -EPERM: it is another user's. */
static int check_owner(int directory)
{
    struct stat status;
    if (fstat(directory, &status) < 0)
        return -errno;
    return status.st_uid == geteuid() ? 0 : -EPERM;
}

/* Opens a directory of this process in another, and makes it if it is absent. -EPERM: it is another
 * user's, or no directory. */
static int open_own_directory(int above, const char *name)
{
    int r = mkdirat(above, name, 0700) == 0 ? file_sync_directory(above) : -errno;
    if (r < 0 && r != -EEXIST)
        return r;
    int directory = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return errno == ENOTDIR || errno == ELOOP ? -EPERM : -errno;
    r = check_owner(directory);
    if (r < 0)
        (void)close(directory);
    return r < 0 ? r : directory;
}

static int open_program_directory(const char *place)
{
    _cleanup_(closep) int above = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return above < 0 ? -errno : open_own_directory(above, PROGRAM_DIRECTORY);
}

static int open_directory(const char *place)
{
    _cleanup_(closep) int program = open_program_directory(place);
    return program < 0 ? program : open_own_directory(program, LOST_DIRECTORY);
}

/* Is the path, as far as it exists, the directory or below it? 1, 0 or -errno. */
static int is_inside(const char *path, const char *directory)
{
    _cleanup_(freep) char *text = strdup(path);
    _cleanup_(freep) char *found = NULL;
    while (text && !(found = realpath(text, NULL)) && errno == ENOENT) {
        char *slash = strrchr(text, '/');
        if (!slash || slash == text)
            return 0; /* nothing but the root exists */
        *slash = '\0';
    }
    if (!found)
        return text ? -errno : -ENOMEM;
    size_t size = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
    return strncmp(found, directory, size) == 0 && (found[size] == '/' || found[size] == '\0');
}

/* Makes one directory; its name is on the disk then. 0 or -errno; one that exists is fine. */
static int make_directory(const char *path)
{
    if (mkdir(path, 0700) < 0)
        return errno == EEXIST ? 0 : -errno;
    _cleanup_(closep) int made = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(closep) int above = made < 0 ? made : openat(made, "..", O_PATH | O_CLOEXEC);
    return above < 0 ? -errno : file_sync_directory(above);
}

/* Makes the directories of the path that are absent, but for its first `given` bytes. -ELOOP: one
 * of them would lie in the mount, as with NEW/../MOUNTPOINT/NEW. */
static int make_directories(char *path, size_t given, const char *mountpoint)
{
    for (size_t i = given + 1;; i++) {
        char end = path[i];
        if (end != '/' && end != '\0')
            continue;
        path[i] = '\0';
        int r = is_inside(path, mountpoint);
        if (r == 0)
            r = make_directory(path);
        path[i] = end;
        if (r != 0 || end == '\0')
            return r > 0 ? -ELOOP : r;
    }
}

/* 0 or -errno; -ENOTSUP: others may enter it, or its owner may not write. A set-group-id bit is
 * inherited from the directory above. */
static int check_permissions(int directory)
{
    struct stat status;
    if (fstat(directory, &status) < 0)
        return -errno;
    if ((status.st_mode & 0777) != 0700)
        return -ENOTSUP;
    return faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/* 0 or -errno; *ret_place is a copy without symbolic links. */
static int use_place(char *place, size_t given, const char *mountpoint, char **ret_place)
{
    _cleanup_(freep) char *directory = NULL;
    if (asprintf(&directory, "%s" BELOW_PLACE, place) < 0)
        return -ENOMEM;
    int r = is_inside(directory, mountpoint);
    if (r == 0 && strlen(place) > given)
        r = make_directories(place, given, mountpoint);
    if (r == 0) /* again, with the parts that were absent */
        r = is_inside(directory, mountpoint);
    if (r != 0)
        return r < 0 ? r : -ELOOP;
    _cleanup_(freep) char *found = realpath(place, NULL);
    if (!found)
        return -errno;
    _cleanup_(closep) int opened = open_directory(found);
    r = opened < 0 ? opened : check_permissions(opened);
    if (r == 0)
        *ret_place = TAKE_PTR(found);
    return r;
}

static bool is_trusted(uid_t owner)
{
    return owner == geteuid() || owner == 0;
}

/* A directory of the environment counts if its owner is this process's user. HOME is another one's
 * under sudo and mount(8). What is absent will be this user's, below a directory of this user or
 * root. A symbolic link on the way has to be one of theirs, too. 0 or -errno; -EPERM: it does not
 * count. */
static int check_place(const char *place)
{
    _cleanup_(freep) char *path = strdup(place);
    uid_t owner = 0;
    for (size_t i = 1; path && i <= strlen(place); i++) {
        struct stat status;
        if (place[i] != '/' && place[i] != '\0')
            continue;
        path[i] = '\0';
        if (lstat(path, &status) < 0)
            return errno != ENOENT ? -errno : is_trusted(owner) ? 0 : -EPERM;
        if (S_ISLNK(status.st_mode) && !is_trusted(status.st_uid))
            return -EPERM;
        if (S_ISLNK(status.st_mode) && stat(path, &status) < 0)
            return -errno;
        owner = status.st_uid;
        path[i] = place[i];
    }
    return !path ? -ENOMEM : owner == geteuid() ? 0 : -EPERM;
}

static void explain(struct buffer *ret, const char *place, int error)
{
    (void)buffer_append_format(
        ret, "texts that the service refuses cannot be kept in %s" BELOW_PLACE ": %s", place,
        error == -ELOOP     ? "it lies in the mount"
        : error == -ENOTSUP ? "its permissions are not 0700"
        : error == -EPERM   ? "it, or a directory above it, is another user's or a symbolic link"
                            : strerrordesc_np(-error));
    (void)buffer_append_string(
        ret, "; set XDG_STATE_HOME to a directory of yours outside the mount, or mount with -o ro");
}

struct candidate {
    const char *home, *below; /* what follows it */
    size_t given;             /* bytes of `home` that must exist */
    bool is_system;           /* it need not be this user's */
};

static int try_candidate(const struct candidate *candidate, const char *mountpoint,
                         struct buffer *why, char **ret_place)
{
    _cleanup_(freep) char *place = NULL;
    if (asprintf(&place, "%s%s", candidate->home, candidate->below) < 0)
        return -ENOMEM;
    int r = candidate->is_system ? 0 : check_place(candidate->home);
    if (r == 0)
        r = use_place(place, candidate->given, mountpoint, ret_place);
    if (r < 0)
        explain(why, place, r);
    return r;
}

static struct candidate in_home(const char *home)
{
    return (struct candidate){home, "/.local/state", home ? strlen(home) : 0, false};
}

/* If several places fail, the error of the first is returned; -ELOOP ends the search at once. */
static int find_place(const struct state_places *places, const char *mountpoint,
                      struct buffer *ret_why, char **ret_place)
{
    enum { XDG, HOME, SYSTEM_HOME, SYSTEM, CANDIDATES };
    struct candidate candidates[CANDIDATES] = {
        [XDG] = {places->xdg_state_home, "", 0, false},
        [HOME] = in_home(places->home),
        [SYSTEM] = {places->system, "", strlen(places->system), true},
    };
    _cleanup_(freep) char *system_home = NULL;
    int first = 0;
    for (size_t i = 0; i < CANDIDATES; i++) {
        if (i == SYSTEM_HOME && places->find_home) {
            system_home = places->find_home();
            candidates[i] = in_home(system_home);
        }
        if (!candidates[i].home || candidates[i].home[0] != '/')
            continue;
        _cleanup_(buffer_finish) struct buffer why;
        buffer_init(&why, ret_why->max);
        int r = try_candidate(&candidates[i], mountpoint, &why, ret_place);
        if (r == 0)
            return 0;
        if (first == 0 || r == -ELOOP) {
            first = r;
            buffer_swap(ret_why, &why);
        }
        if (r == -ELOOP)
            break;
    }
    return first;
}

int lost_and_found_create(const struct state_places *places, const char *mountpoint,
                          const char *account, struct buffer *ret_why, struct lost_and_found **ret)
{
    struct lost_and_found *lost = calloc(1, sizeof(*lost));
    if (!lost)
        return -ENOMEM;
    (void)pthread_mutex_init(&lost->lock, NULL);
    lost_name_set_account(account, lost->account);
    int r = find_place(places, mountpoint, ret_why, &lost->place);
    if (r < 0) {
        lost_and_found_destroy(lost);
        return r;
    }
    buffer_clear(ret_why);
    *ret = lost;
    return 0;
}

void lost_and_found_destroy(struct lost_and_found *lost)
{
    if (!lost)
        return;
    free(lost->place);
    (void)pthread_mutex_destroy(&lost->lock);
    free(lost);
}

/* A second stream of the directory. NULL: errno says why. */
static DIR *open_stream(int directory)
{
    int opened = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = opened < 0 ? NULL : fdopendir(opened);
    if (!stream)
        closep(&opened);
    return stream;
}

static bool has_text(int directory, const char *name, struct bytes text)
{
    _cleanup_(closep) int file =
        openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) < 0 || !S_ISREG(status.st_mode) ||
        (size_t)status.st_size != text.size)
        return false;
    while (text.size > 0) {
        char part[4096];
        ssize_t n = read(file, part, MIN(sizeof(part), text.size));
        if (n <= 0 || memcmp(part, text.data, (size_t)n) != 0)
            return false;
        text = bytes_skip(text, (size_t)n);
    }
    return true;
}

/* The reason is written last: a text that has none may be incomplete. */
static bool has_reason(int directory, const char *name)
{
    char reason[NAME_MAX + 1];
    int size = snprintf(reason, sizeof(reason), "%s" LOST_NAME_REASON, name);
    return (size_t)size < sizeof(reason) &&
           faccessat(directory, reason, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Compares the text with those of the same tail. 1: one is equal, and `name` is its file's; 0: none
 * is, or the comparison failed; LOST_AND_FOUND_FULL; -ENOMEM. */
static int find_equal(int directory, const struct item *item, struct buffer *name)
{
    int found = 0, others = 0;
    DIR *stream = open_stream(directory);
    for (const struct dirent *entry; stream && found == 0 && (entry = readdir(stream));) {
        struct bytes each = bytes_of(entry->d_name);
        if (each.size != LOST_NAME_TIME_SIZE + item->tail.size || !bytes_end_with(each, item->tail))
            continue;
        bool is_equal = has_text(directory, entry->d_name, item->text) &&
                        (!item->is_of_entity || has_reason(directory, entry->d_name));
        if (is_equal)
            found = buffer_append(name, each) < 0 ? name->error : 1;
        others++;
    }
    if (stream)
        (void)closedir(stream);
    bool is_full = item->is_limited && others >= LOST_AND_FOUND_MAX_OF_ENTITY;
    return found == 0 && is_full ? LOST_AND_FOUND_FULL : found;
}

static struct timespec time_of(int64_t at_100ns)
{
    return (struct timespec){.tv_sec = at_100ns / TICKS_PER_SEC,
                             .tv_nsec = at_100ns % TICKS_PER_SEC * 100};
}

/* If there is a file of that time, the next millisecond is taken. The descriptor or -errno. */
static int create_file(int directory, const struct item *item, struct buffer *name)
{
    int r = -EEXIST;
    for (int n = 0; r == -EEXIST && n < MAX_SAME_NAMES; n++) {
        buffer_clear(name);
        (void)lost_name_append_time(name, time_of(item->at_100ns + n * TICKS_PER_MS));
        (void)buffer_append(name, item->tail);
        const char *text = buffer_string(name);
        if (!text)
            return name->error;
        r = openat(directory, text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (r < 0)
            r = -errno;
    }
    return r;
}

static int sync_and_close(int file)
{
    int r = fsync(file) < 0 ? -errno : 0;
    if (close(file) < 0 && r == 0)
        r = -errno;
    return r;
}

/* Writes the text to the disk and closes the file. */
static int write_and_close(int file, struct bytes text)
{
    int r = file_write_all(file, text);
    int ended = sync_and_close(file);
    return r < 0 ? r : ended;
}

/* Without its reason a text is still worth keeping: its failure is in .tablefuse/errors. */
static void put_reason(int directory, struct buffer *name, const struct failure_record *record)
{
    _cleanup_(buffer_finish) struct buffer reason = {.max = REASON_MAX_BYTES};
    if (control_append_failure(&reason, record) < 0 || buffer_append_char(&reason, '\n') < 0)
        return;
    (void)buffer_append_string(name, LOST_NAME_REASON);
    const char *text = buffer_string(name);
    int file =
        text ? openat(directory, text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
             : -1;
    if (file >= 0 && write_and_close(file, buffer_bytes(&reason)) < 0)
        (void)unlinkat(directory, text, 0);
}

/* 0: the text is on the disk; else as find_equal, or -errno. name: of the file. */
static int put_text(struct lost_and_found *lost, int directory, const struct item *item,
                    struct buffer *name)
{
    int file = -1;
    (void)pthread_mutex_lock(&lost->lock);
    int r = find_equal(directory, item, name);
    if (r == 0)
        file = create_file(directory, item, name);
    (void)pthread_mutex_unlock(&lost->lock);
    if (r != 0 || file < 0)
        return r != 0 ? r : file;
    r = write_and_close(file, item->text);
    if (r == 0)
        r = file_sync_directory(directory);
    if (r < 0)
        (void)unlinkat(directory, name->data, 0);
    return r;
}

int lost_and_found_put(struct lost_and_found *lost, const struct failure_record *record,
                       struct bytes text, bool is_limited, struct buffer *ret_path)
{
    _cleanup_(buffer_finish) struct buffer tail = {.max = NAME_MAX};
    _cleanup_(buffer_finish) struct buffer name = {.max = NAME_MAX + 1};
    int r = lost_name_append_entity(&tail, lost->account,
                                    (struct address){record->table, record->position});
    if (r < 0)
        return r;
    const struct item item = {record->at_100ns, buffer_bytes(&tail), text, true, is_limited};
    _cleanup_(closep) int directory = open_directory(lost->place);
    r = directory < 0 ? directory : put_text(lost, directory, &item, &name);
    if (r < 0 || r == LOST_AND_FOUND_FULL)
        return r;
    bool is_new = r == 0;
    size_t before = ret_path->size;
    (void)buffer_append_format(ret_path, "%s" BELOW_PLACE "/", lost->place);
    r = buffer_append(ret_path, buffer_bytes(&name));
    if (r < 0) {
        if (is_new)
            (void)unlinkat(directory, name.data, 0);
        ret_path->size = before;
        return r;
    }
    if (is_new)
        put_reason(directory, &name, record);
    lost->count++;
    return 0;
}

int lost_and_found_keep(struct lost_and_found *lost, int64_t at_100ns, struct address directory,
                        struct bytes name, struct bytes text)
{
    _cleanup_(buffer_finish) struct buffer tail = {.max = NAME_MAX};
    _cleanup_(buffer_finish) struct buffer file = {.max = NAME_MAX + 1};
    int r = lost_name_append_scratch(&tail, lost->account, directory, name);
    if (r < 0)
        return r;
    const struct item item = {at_100ns, buffer_bytes(&tail), text, false, false};
    _cleanup_(closep) int opened = open_directory(lost->place);
    r = opened < 0 ? opened : put_text(lost, opened, &item, &file);
    return MIN(r, 0);
}

int lost_and_found_begin(struct lost_and_found *lost, int64_t at_100ns, struct address address,
                         char ret_name[NAME_MAX + 1])
{
    _cleanup_(buffer_finish) struct buffer tail = {.max = NAME_MAX};
    _cleanup_(buffer_finish) struct buffer name = {.max = NAME_MAX + 1};
    int r = address.position.data
                ? lost_name_append_entity(&tail, lost->account, address)
                : buffer_append_format(&tail, "-%s-%s-queued.ndjson", lost->account, address.table);
    if (r < 0)
        return r;
    const struct item item = {.at_100ns = at_100ns, .tail = buffer_bytes(&tail)};
    _cleanup_(closep) int directory = open_directory(lost->place);
    int file = directory < 0 ? directory : create_file(directory, &item, &name);
    if (file >= 0)
        (void)snprintf(ret_name, NAME_MAX + 1, "%s", name.data);
    return file;
}

int lost_and_found_end(struct lost_and_found *lost, int file)
{
    int r = sync_and_close(file);
    _cleanup_(closep) int directory = open_directory(lost->place);
    int synced = directory < 0 ? directory : file_sync_directory(directory);
    return r < 0 ? r : synced;
}

void lost_and_found_remove(struct lost_and_found *lost, const char *name)
{
    _cleanup_(closep) int directory = open_directory(lost->place);
    if (directory >= 0)
        (void)unlinkat(directory, name, 0);
}

void lost_and_found_put_reason(struct lost_and_found *lost, const char *name,
                               const struct failure_record *record)
{
    _cleanup_(buffer_finish) struct buffer of = {.max = NAME_MAX + 1};
    _cleanup_(closep) int directory = open_directory(lost->place);
    if (directory >= 0 && buffer_append_string(&of, name) == 0)
        put_reason(directory, &of, record);
}

int lost_and_found_append_path(const struct lost_and_found *lost, struct buffer *ret)
{
    return buffer_append_format(ret, "%s" BELOW_PLACE, lost->place);
}

size_t lost_and_found_count(struct lost_and_found *lost)
{
    return lost->count;
}

/* Appends the time of the mark, as names of files have it; nothing, if there is no mark. */
static void append_reported(int program, const char *mark, struct buffer *ret)
{
    struct stat status;
    if (fstatat(program, mark, &status, AT_SYMLINK_NOFOLLOW) == 0)
        (void)lost_name_append_time(ret, status.st_mtim);
}

/* If this fails, the texts are reported again. */
static void set_reported(int program, const char *mark, int64_t at_100ns)
{
    const struct timespec time = time_of(at_100ns);
    _cleanup_(closep) int file =
        openat(program, mark, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (file >= 0)
        (void)futimens(file, (const struct timespec[]){time, time});
}

/* since: a time as in names, or empty. */
static int count_since(const struct lost_and_found *lost, int directory, struct bytes since,
                       size_t *ret)
{
    DIR *stream = open_stream(directory);
    if (!stream)
        return -errno;
    *ret = 0;
    errno = 0;
    for (const struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        struct bytes name = bytes_of(entry->d_name);
        *ret += lost_name_is_text(name, lost->account) &&
                bytes_compare(bytes_first(name, LOST_NAME_TIME_SIZE), since) >= 0;
    }
    int r = -errno;
    (void)closedir(stream);
    return r;
}

int lost_and_found_count_new(struct lost_and_found *lost, int64_t now_100ns, size_t *ret)
{
    char mark[LOST_NAME_ACCOUNT_SIZE + sizeof(MARK_SUFFIX)];
    (void)snprintf(mark, sizeof(mark), "%s" MARK_SUFFIX, lost->account);
    _cleanup_(closep) int program = open_program_directory(lost->place);
    _cleanup_(closep) int directory =
        program < 0 ? program : open_own_directory(program, LOST_DIRECTORY);
    if (directory < 0)
        return directory;
    _cleanup_(buffer_finish) struct buffer since = {.max = NAME_MAX};
    append_reported(program, mark, &since);
    int r = count_since(lost, directory, buffer_bytes(&since), ret);
    if (r == 0 && *ret > 0)
        set_reported(program, mark, now_100ns);
    return r;
}
