#include "fs/mount_end.h"
#include "fs/verb.h"

#include <limits.h>
#include <stdarg.h>

struct ending {
    struct file_system *fs;
    char *words;
    const char *place;   /* of lost+found */
    uint64_t kept, lost; /* scratch files */
    int error;           /* of one that was lost */
};

/* Logs a sentence, and appends it to the words. */
__attribute__((format(printf, 2, 3))) static void say(struct ending *ending, const char *format,
                                                      ...)
{
    size_t size = strlen(ending->words);
    const char *separator = size > 0 && size + 2 < EXIT_REPORT_MAX_BYTES ? "; " : "";
    size_t begin = size + strlen(separator);
    va_list arguments;
    (void)snprintf(ending->words + size, EXIT_REPORT_MAX_BYTES - size, "%s", separator);
    va_start(arguments, format);
    (void)vsnprintf(ending->words + begin, EXIT_REPORT_MAX_BYTES - begin, format, arguments);
    va_end(arguments);
    log_message(&ending->fs->log, "%s", ending->words + begin);
}

/* The kernel drops RELEASEs at the end of a mount: what is still open is released now. */
static int release_all(struct ending *ending)
{
    struct file_system *fs = ending->fs;
    struct caller caller = {.call = {.deadline_ms = clock_now_ms(fs->clock) + fs->timeout_ms},
                            .patience_ms = fs->timeout_ms};
    writers_release_all(fs->writers, &caller);
    uint64_t count = fs->texts.lost_at_end;
    if (count == 0)
        return 0;
    say(ending, "%llu %s open at the end of the mount could not be stored -- see %s",
        (unsigned long long)count, count == 1 ? "file that was" : "files that were", ending->place);
    return EXIT_ABANDONED;
}

static void keep(void *context, struct address directory, struct bytes name, struct bytes text)
{
    struct ending *ending = context;
    struct file_system *fs = ending->fs;
    int r = lost_and_found_keep(fs->lost, clock_utc_100ns(fs->clock), directory, name, text);
    if (r < 0)
        ending->error = r;
    *(r < 0 ? &ending->lost : &ending->kept) += 1;
}

static const char *scratch_files(uint64_t count)
{
    return count == 1 ? "file with a temporary name" : "files with temporary names";
}

static int keep_scratch_files(struct ending *ending)
{
    scratch_for_each_kept(ending->fs->scratch, keep, ending);
    if (ending->kept > 0)
        log_message(&ending->fs->log, "%llu %s kept in %s", (unsigned long long)ending->kept,
                    scratch_files(ending->kept), ending->place);
    if (ending->lost == 0)
        return 0;
    say(ending, "%llu %s could not be kept in %s: %s", (unsigned long long)ending->lost,
        scratch_files(ending->lost), ending->place, strerrordesc_np(-ending->error));
    return EXIT_ABANDONED;
}

int mount_end(struct file_system *fs, char words[EXIT_REPORT_MAX_BYTES])
{
    if (!fs->writers)
        return 0;
    _cleanup_(buffer_finish) struct buffer place;
    buffer_init(&place, PATH_MAX);
    (void)lost_and_found_append_path(fs->lost, &place);
    const char *path = buffer_string(&place);
    struct ending ending = {.fs = fs, .words = words, .place = path ? path : "lost+found"};
    int released = release_all(&ending), kept = keep_scratch_files(&ending);
    return MAX(released, kept);
}
