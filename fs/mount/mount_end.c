/* SPDX-License-Identifier: MIT */
#include "fs/mount/mount_end.h"
#include "fs/cli/verb.h"

#include <limits.h>
#include <stdarg.h>

#define QUEUE_REST_MS 500 /* enough for what was queued last, if the service answers */

struct ending {
    struct file_system *fs;
    char *words;
    const char *place;   /* of lost+found */
    uint64_t open;       /* texts of open files that were kept in lost+found */
    uint64_t kept, lost; /* scratch files */
    int error;           /* of one that was lost */
    bool waits;          /* for the service; that was logged */
};

/* Logs a sentence, and appends it to the words. */
__attribute__((format(printf, 2, 3))) static void report(struct ending *ending, const char *format,
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
    log_message(ending->fs->log, "%s", ending->words + begin);
}

static void report_deletes(struct ending *ending, uint64_t count)
{
    struct file_system *fs = ending->fs;
    int r =
        lost_and_found_keep(fs->lost, clock_utc_100ns(fs->clock), (struct address){0},
                            BYTES_LITERAL("queued-deletes"), buffer_bytes(&fs->texts.abandoned));
    const char *what = count == 1 ? "queued delete was" : "queued deletes were";
    if (r < 0)
        report(ending, "%llu %s perhaps not made, and their names could not be kept: %s",
               (unsigned long long)count, what, strerrordesc_np(-r));
    else
        report(ending, "%llu %s perhaps not made -- see *-queued-deletes in %s",
               (unsigned long long)count, what, ending->place);
}

/* The service may not answer, and the process may be killed before the time is over. So the queued
 * texts are kept in lost+found until they are sent. */
static void keep_queued(struct ending *ending)
{
    struct file_system *fs = ending->fs;
    size_t texts = 0;
    if (account_send_queued(fs->account, clock_now_ms(fs->clock) + QUEUE_REST_MS))
        return;
    int r = queued_texts_keep(&fs->texts.queued, fs->account, &texts);
    size_t count = account_queued(fs->account);
    if (ending->waits || count == 0)
        return;
    ending->waits = true;
    log_message(fs->log, "%zu queued %s for the service, for at most %lld s", count,
                count == 1 ? "change waits" : "changes wait", (long long)fs->timeout_ms / 1000);
    if (r < 0)
        log_message(fs->log, "the queued texts could not be kept in %s meanwhile: %s",
                    ending->place, strerrordesc_np(-r));
    else if (texts > 0)
        log_message(fs->log, "until then %zu %s in *-queued.ndjson in %s", texts,
                    texts == 1 ? "text is" : "texts are", ending->place);
}

/* Nothing is sent any more. */
static void abandon(struct ending *ending)
{
    struct file_system *fs = ending->fs;
    size_t texts;
    (void)queued_texts_keep(&fs->texts.queued, fs->account, &texts);
    account_abandon_changes(fs->account);
}

/* What is queued is sent. */
static int send_queued(struct ending *ending)
{
    struct file_system *fs = ending->fs;
    keep_queued(ending);
    size_t left = account_end_changes(fs->account, clock_now_ms(fs->clock) + fs->timeout_ms);
    if (left > 0)
        abandon(ending);
    else
        queued_texts_remove(&fs->texts.queued);
    size_t unreported = account_unreported_failures(fs->account);
    uint64_t texts = fs->texts.abandoned_texts, deletes = fs->texts.abandoned_deletes;
    if (ending->waits && left + unreported == 0)
        log_message(fs->log, "all queued changes were made");
    if (unreported > 0)
        report(ending, "%zu queued %s failed -- see the log, and %s", unreported,
               unreported == 1 ? "change has" : "changes have", ending->place);
    if (texts > 0)
        report(ending, "%llu queued %s perhaps not stored -- see %s", (unsigned long long)texts,
               texts == 1 ? "text was" : "texts were", ending->place);
    if (deletes > 0)
        report_deletes(ending, deletes);
    return left + unreported > 0 ? EXIT_ABANDONED : 0;
}

static void keep_open(void *context, struct address address, struct bytes text)
{
    struct ending *ending = context;
    struct file_system *fs = ending->fs;
    int r = queued_texts_keep_open(&fs->texts.queued, address, text);
    if (r < 0)
        log_message(fs->log, "the text of an open file could not be kept in %s meanwhile: %s",
                    ending->place, strerrordesc_np(-r));
    else
        ending->open++;
}

/* A disk may be slow, so the time for the service starts after this. */
static void keep_all_open(struct ending *ending)
{
    writers_for_each_unstored(ending->fs->writers, keep_open, ending);
    if (ending->open > 0)
        log_message(ending->fs->log, "until %s stored, %llu %s in %s",
                    ending->open == 1 ? "it is" : "they are", (unsigned long long)ending->open,
                    ending->open == 1 ? "text of an open file is" : "texts of open files are",
                    ending->place);
}

/* The kernel drops RELEASEs at the end of a mount, so files that are still open are released here.
 * Until its text is stored or given up, lost+found has it: the process may be killed meanwhile. */
static int release_all(struct ending *ending)
{
    struct file_system *fs = ending->fs;
    keep_all_open(ending);
    struct caller caller = {.call = {.deadline_ms = clock_now_ms(fs->clock) + fs->timeout_ms},
                            .patience_ms = fs->timeout_ms};
    writers_release_all(fs->writers, &caller);
    int sent = send_queued(ending);
    queued_texts_remove_open(&fs->texts.queued);
    uint64_t count = fs->texts.reported_losses;
    if (count == 0)
        return sent;
    report(ending, "%llu %s could not be stored when %s closed -- see the log, and %s",
           (unsigned long long)count, count == 1 ? "file" : "files",
           count == 1 ? "it was" : "they were", ending->place);
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
        log_message(ending->fs->log, "%llu %s kept in %s", (unsigned long long)ending->kept,
                    scratch_files(ending->kept), ending->place);
    if (ending->lost == 0)
        return 0;
    report(ending, "%llu %s could not be kept in %s: %s", (unsigned long long)ending->lost,
           scratch_files(ending->lost), ending->place, strerrordesc_np(-ending->error));
    return EXIT_ABANDONED;
}

int mount_end(struct file_system *fs, char words[EXIT_REPORT_MAX_BYTES])
{
    if (!fs->writers)
        return 0;
    _cleanup_(buffer_finish) struct buffer place = {.max = PATH_MAX};
    (void)lost_and_found_append_path(fs->lost, &place);
    const char *path = buffer_string(&place);
    struct ending ending = {.fs = fs, .words = words, .place = path ? path : "lost+found"};
    keep_queued(&ending); /* before anything that may wait for the service */
    int kept = keep_scratch_files(&ending), released = release_all(&ending);
    return MAX(released, kept);
}
