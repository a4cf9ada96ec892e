#include "fs/files/lost_and_found.h"
#include "fs/files/control_dir.h"
#include "fs/tree/names.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM_DIRECTORY "tablefuse"
#define LOST_DIRECTORY    "lost+found"
#define BELOW_PLACE       "/" PROGRAM_DIRECTORY "/" LOST_DIRECTORY

#define REASON_SUFFIX    ".reason"
#define KEY_ROOM         72  /* bytes of a key, or of a scratch file's name, in a file's name */
#define MAX_SAME_NAMES   999 /* files of one millisecond and one name; tells them apart */
#define REASON_MAX_BYTES ((size_t)64 << 10)
/* time, table, keys, the number of the same name, suffixes */
_Static_assert(20 + 1 + 63 + 2 * (1 + KEY_ROOM) + 4 + sizeof(".json.reason") <= NAME_MAX,
               "every name fits");

struct lost_and_found {
    char *place; /* absolute, without symbolic links */
    _Atomic size_t count;
};

static void closep(const int *descriptor)
{
    if (*descriptor >= 0)
        (void)close(*descriptor);
}

/* Without it a power cut may take the name of a new file, though its content is on the disk. A
 * directory that cannot be read, or whose file system has no such call, is not synced. */
static int sync_directory(int directory)
{
    _cleanup_(closep) int opened = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0)
        return errno == EACCES ? 0 : -errno;
    return fsync(opened) == 0 || errno == EINVAL ? 0 : -errno;
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
    int r = mkdirat(above, name, 0700) == 0 ? sync_directory(above) : -errno;
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

static int open_directory(const char *place)
{
    _cleanup_(closep) int above = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (above < 0)
        return -errno;
    _cleanup_(closep) int program = open_own_directory(above, PROGRAM_DIRECTORY);
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
    return above < 0 ? -errno : sync_directory(above);
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

/* 0 or -errno; -ENOTSUP: others may enter it, or its owner may not write. A set-group-id bit comes
 * from the directory above. */
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
 * behind sudo and mount(8). What is absent will be this user's, below a directory of this user or
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
    enum { XDG, HOME, ASKED_HOME, SYSTEM, CANDIDATES };
    struct candidate candidates[CANDIDATES] = {
        [XDG] = {places->xdg_state_home, "", 0, false},
        [HOME] = in_home(places->home),
        [SYSTEM] = {places->system, "", strlen(places->system), true},
    };
    _cleanup_(freep) char *asked = NULL;
    int first = 0;
    for (size_t i = 0; i < CANDIDATES; i++) {
        if (i == ASKED_HOME && places->ask_home) {
            asked = places->ask_home();
            candidates[i] = in_home(asked);
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
                          struct buffer *ret_why, struct lost_and_found **ret)
{
    _cleanup_(lost_and_found_destroyp) struct lost_and_found *lost = calloc(1, sizeof(*lost));
    if (!lost)
        return -ENOMEM;
    int r = find_place(places, mountpoint, ret_why, &lost->place);
    if (r < 0)
        return r;
    buffer_clear(ret_why);
    *ret = TAKE_PTR(lost);
    return 0;
}

void lost_and_found_destroy(struct lost_and_found *lost)
{
    if (!lost)
        return;
    free(lost->place);
    free(lost);
}

static void append_time(struct buffer *name, int64_t at_100ns)
{
    time_t sec = (time_t)(at_100ns / TICKS_PER_SEC);
    struct tm utc;
    char text[32];
    if (gmtime_r(&sec, &utc) && strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &utc) > 0)
        (void)buffer_append_format(name, "%s.%03dZ", text,
                                   (int)(at_100ns % TICKS_PER_SEC / TICKS_PER_MS));
}

static void append_key(struct buffer *name, struct bytes key)
{
    (void)buffer_append_char(name, '-');
    (void)names_append_beginning(key, KEY_ROOM, name); /* a key without a name: nothing */
}

/* The file's name without a suffix: TIME-TABLE-PARTITION-ROW. */
static int append_stem(struct buffer *name, const struct failure_record *record)
{
    append_time(name, record->at_100ns);
    if (record->table)
        (void)buffer_append_format(name, "-%s", record->table);
    if (record->table && record->position.size > 0) {
        append_key(name, position_partition_key(record->position));
        append_key(name, position_row_key(record->position));
    }
    return name->error;
}

/* TIME-TABLE-PARTITION-NAME */
static int append_scratch_stem(struct buffer *stem, int64_t at_100ns, struct address directory,
                               struct bytes name)
{
    struct bytes shown = bytes_first(name, MIN(name.size, KEY_ROOM));
    while (shown.size < name.size && ((unsigned char)name.data[shown.size] & 0xC0) == 0x80)
        shown.size--; /* whole characters */
    append_time(stem, at_100ns);
    if (directory.table) {
        (void)buffer_append_format(stem, "-%s", directory.table);
        append_key(stem, position_partition_key(directory.position));
    }
    (void)buffer_append_char(stem, '-');
    return buffer_append(stem, shown);
}

/* Creates NAME.json, or NAME-2.json if that exists, and so on. The descriptor or -errno; the name
 * is complete then. */
static int create_file(int directory, struct buffer *name, const char *suffix)
{
    size_t stem = name->size;
    int r = -EEXIST;
    for (int n = 1; r == -EEXIST && n <= MAX_SAME_NAMES; n++) {
        name->size = stem;
        if (n > 1)
            (void)buffer_append_format(name, "-%d", n);
        (void)buffer_append_string(name, suffix);
        const char *text = buffer_string(name);
        if (!text)
            return name->error;
        r = openat(directory, text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (r < 0)
            r = -errno;
    }
    return r;
}

/* Writes the text to the disk and closes the file. */
static int write_and_close(int file, struct bytes text)
{
    int r = 0;
    while (r == 0 && text.size > 0) {
        ssize_t n = write(file, text.data, text.size);
        if (n >= 0)
            text = bytes_skip(text, (size_t)n);
        else if (errno != EINTR)
            r = -errno;
    }
    if (r == 0 && fsync(file) < 0)
        r = -errno;
    if (close(file) < 0 && r == 0)
        r = -errno;
    return r;
}

/* Without its reason a text is still worth keeping: its failure is in .tablefuse/errors. */
static void put_reason(int directory, struct buffer *name, const struct failure_record *record)
{
    _cleanup_(buffer_finish) struct buffer reason;
    buffer_init(&reason, REASON_MAX_BYTES);
    if (control_append_failure(&reason, record) < 0 || buffer_append_char(&reason, '\n') < 0)
        return;
    (void)buffer_append_string(name, REASON_SUFFIX);
    const char *text = buffer_string(name);
    int file =
        text ? openat(directory, text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
             : -1;
    if (file >= 0 && write_and_close(file, buffer_bytes(&reason)) < 0)
        (void)unlinkat(directory, text, 0);
}

/* name: without the suffix; complete afterwards. */
static int put_text_in(int directory, struct buffer *name, const char *suffix, struct bytes text)
{
    int file = create_file(directory, name, suffix);
    if (file < 0)
        return file;
    int r = write_and_close(file, text);
    if (r == 0)
        r = sync_directory(directory);
    if (r < 0)
        (void)unlinkat(directory, name->data, 0);
    return r;
}

/* The same in lost+found. The directory in which the text is, or -errno. */
static int put_text(struct lost_and_found *lost, struct buffer *name, const char *suffix,
                    struct bytes text)
{
    int directory = name->error < 0 ? name->error : open_directory(lost->place);
    if (directory < 0)
        return directory;
    int r = put_text_in(directory, name, suffix, text);
    if (r < 0)
        closep(&directory);
    return r < 0 ? r : directory;
}

int lost_and_found_put(struct lost_and_found *lost, const struct failure_record *record,
                       struct bytes text, struct buffer *ret_path)
{
    _cleanup_(buffer_finish) struct buffer name;
    buffer_init(&name, NAME_MAX + 1);
    (void)append_stem(&name, record);
    _cleanup_(closep) int directory = put_text(lost, &name, ".json", text);
    if (directory < 0)
        return directory;
    size_t before = ret_path->size;
    (void)buffer_append_format(ret_path, "%s" BELOW_PLACE "/", lost->place);
    int r = buffer_append(ret_path, buffer_bytes(&name));
    if (r < 0) {
        (void)unlinkat(directory, name.data, 0);
        ret_path->size = before;
        return r;
    }
    put_reason(directory, &name, record);
    lost->count++;
    return 0;
}

int lost_and_found_keep(struct lost_and_found *lost, int64_t at_100ns, struct address directory,
                        struct bytes name, struct bytes text)
{
    _cleanup_(buffer_finish) struct buffer stem;
    buffer_init(&stem, NAME_MAX + 1);
    (void)append_scratch_stem(&stem, at_100ns, directory, name);
    _cleanup_(closep) int opened = put_text(lost, &stem, "", text);
    return MIN(opened, 0);
}

int lost_and_found_append_path(const struct lost_and_found *lost, struct buffer *ret)
{
    return buffer_append_format(ret, "%s" BELOW_PLACE, lost->place);
}

size_t lost_and_found_count(struct lost_and_found *lost)
{
    return lost->count;
}

/* A file that is no reason of another one. */
static bool is_text(const char *name)
{
    size_t size = strlen(name), suffix_size = strlen(REASON_SUFFIX);
    bool is_reason = size > suffix_size && strcmp(name + size - suffix_size, REASON_SUFFIX) == 0;
    return name[0] != '.' && !is_reason;
}

int lost_and_found_survey(const struct lost_and_found *lost, size_t *ret)
{
    int opened = open_directory(lost->place);
    DIR *directory = opened < 0 ? NULL : fdopendir(opened);
    if (!directory) {
        int error = opened < 0 ? opened : -errno;
        closep(&opened);
        return error;
    }
    size_t count = 0;
    errno = 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += is_text(entry->d_name);
    int r = -errno;
    (void)closedir(directory);
    if (r == 0)
        *ret = count;
    return r;
}
