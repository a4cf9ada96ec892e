/* SPDX-License-Identifier: MIT */
#include "fs/text/queued_texts.h"
#include "client/entity/entity_line.h"
#include "fs/base/file_io.h"

#include <stdatomic.h>
#include <limits.h>
#include <unistd.h>

#define CHUNK_BYTES    ((size_t)1 << 20)
#define LINE_MAX_BYTES ((size_t)16 << 20) /* a text of 1 MiB, with escapes */

struct queued_file {
    SLIST_ENTRY(queued_file) entry;
    bool has_reason;
    char table[TABLE_NAME_SIZE];
    char name[NAME_MAX + 1];
};

/* Of the files that are being written. The last of `files` is open. */
struct keeping {
    struct queued_texts *texts;
    struct queued_files files;
    int opened;          /* -1: none */
    struct buffer lines; /* that are to be written to it */
    size_t count;
};

static void forget(struct queued_files *files)
{
    while (!SLIST_EMPTY(files)) {
        struct queued_file *file = SLIST_FIRST(files);
        SLIST_REMOVE_HEAD(files, entry);
        free(file);
    }
}

static void remove_files(struct lost_and_found *lost, struct queued_files *files)
{
    for (const struct queued_file *file = SLIST_FIRST(files); file; file = SLIST_NEXT(file, entry))
        lost_and_found_remove(lost, file->name);
    forget(files);
}

void queued_texts_finish(struct queued_texts *texts)
{
    forget(&texts->files);
    forget(&texts->open_files);
}

void queued_texts_hold(struct queued_texts *texts)
{
    atomic_store(&texts->is_held, true);
}

/* Files whose texts are all in other files, or stored. */
static void end_files(const struct queued_texts *texts, struct queued_files *files)
{
    if (atomic_load(&texts->is_held))
        forget(files);
    else
        remove_files(texts->lost, files);
}

void queued_texts_remove(struct queued_texts *texts)
{
    end_files(texts, &texts->files);
}

int queued_texts_keep_open(struct queued_texts *texts, struct address address, struct bytes text)
{
    struct queued_file *file = calloc(1, sizeof(*file));
    if (!file)
        return -ENOMEM;
    int opened =
        lost_and_found_begin(texts->lost, clock_utc_100ns(texts->clock), address, file->name);
    int r = opened < 0 ? opened : file_write_all(opened, text);
    int ended = opened < 0 ? 0 : lost_and_found_end(texts->lost, opened);
    if (r == 0)
        r = ended;
    if (r < 0 && opened >= 0)
        lost_and_found_remove(texts->lost, file->name);
    if (r < 0)
        free(file);
    else
        SLIST_INSERT_HEAD(&texts->open_files, file, entry);
    return r;
}

void queued_texts_remove_open(struct queued_texts *texts)
{
    end_files(texts, &texts->open_files);
}

static int begin_file(struct keeping *keeping, const char *table)
{
    const struct queued_texts *texts = keeping->texts;
    struct queued_file *file = calloc(1, sizeof(*file));
    if (!file)
        return -ENOMEM;
    int opened = lost_and_found_begin(texts->lost, clock_utc_100ns(texts->clock),
                                      (struct address){table, {0}}, file->name);
    if (opened < 0) {
        free(file);
        return opened;
    }
    (void)snprintf(file->table, sizeof(file->table), "%s", table);
    SLIST_INSERT_HEAD(&keeping->files, file, entry);
    keeping->opened = opened;
    return 0;
}

static int write_lines(struct keeping *keeping)
{
    int r = file_write_all(keeping->opened, buffer_bytes(&keeping->lines));
    buffer_clear(&keeping->lines);
    return r;
}

static int end_file(struct keeping *keeping)
{
    if (keeping->opened < 0)
        return 0;
    int r = write_lines(keeping);
    int ended = lost_and_found_end(keeping->texts->lost, keeping->opened);
    keeping->opened = -1;
    return r < 0 ? r : ended;
}

static int add(struct keeping *keeping, const struct queued_text *at)
{
    int r = 0;
    bool is_open = keeping->opened >= 0;
    if (!is_open || strcmp(SLIST_FIRST(&keeping->files)->table, at->table) != 0) {
        r = end_file(keeping);
        if (r == 0)
            r = begin_file(keeping, at->table);
    }
    const struct entity_line line = {.text = page_text(at->text.page, at->text.row),
                                     .etag = etag_bytes(&at->if_match)};
    if (r == 0)
        r = entity_line_append(&keeping->lines, &line);
    keeping->count++;
    return r == 0 && keeping->lines.size >= CHUNK_BYTES ? write_lines(keeping) : r;
}

static int write_files(struct keeping *keeping, struct account *account)
{
    _cleanup_(queued_text_finish) struct queued_text at = {0};
    int r = 0;
    while (r == 0 && account_next_queued(account, &at))
        r = add(keeping, &at);
    int ended = end_file(keeping);
    return r < 0 ? r : ended;
}

int queued_texts_keep(struct queued_texts *texts, struct account *account, size_t *ret)
{
    struct keeping keeping = {.texts = texts, .opened = -1};
    buffer_init(&keeping.lines, CHUNK_BYTES + LINE_MAX_BYTES);
    int r = write_files(&keeping, account);
    buffer_finish(&keeping.lines);
    texts->is_complete = r == 0;
    if (r < 0) {
        remove_files(texts->lost, &keeping.files);
        return r;
    }
    end_files(texts, &texts->files);
    texts->files = keeping.files;
    *ret = keeping.count;
    return 0;
}

static void put_reason(struct queued_texts *texts, struct queued_file *file,
                       const struct failure_record *record)
{
    struct failure_record of_all = *record;
    of_all.position = (struct bytes){0};
    if (!file->has_reason)
        lost_and_found_put_reason(texts->lost, file->name, &of_all);
    file->has_reason = true;
}

int queued_texts_append_path(struct queued_texts *texts, const struct failure_record *record,
                             struct buffer *ret)
{
    struct queued_file *file = SLIST_FIRST(&texts->files);
    while (file && strcmp(file->table, record->table) != 0)
        file = SLIST_NEXT(file, entry);
    if (!file || !texts->is_complete)
        return 0;
    put_reason(texts, file, record);
    (void)lost_and_found_append_path(texts->lost, ret);
    int r = buffer_append_format(ret, "/%s", file->name);
    return r < 0 ? r : 1;
}
