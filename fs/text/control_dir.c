/* SPDX-License-Identifier: MIT */
#include "fs/text/control_dir.h"
#include "client/base/locked.h"
#include "client/text/printable.h"
#include "fs/base/process_id.h"
#include "fs/tree/names.h"

#include <pthread.h>
#include <unistd.h>

struct control_dir {
    struct failure_log *failures;
    const char *exit_socket;
    control_append *config, *stats;
    void *context;
    pthread_mutex_t lock;
    /* guarded by lock; NULL: none was made */
    struct control_text *last[CONTROL_FILES][2]; /* 1: for_owner */
};

int control_dir_create(struct failure_log *failures, const char *exit_socket,
                       control_append *config, control_append *stats, void *context,
                       struct control_dir **ret)
{
    struct control_dir *control = calloc(1, sizeof(*control));
    if (!control)
        return -ENOMEM;
    (void)pthread_mutex_init(&control->lock, NULL);
    control->failures = failures;
    control->exit_socket = exit_socket;
    control->config = config;
    control->stats = stats;
    control->context = context;
    *ret = control;
    return 0;
}

void control_dir_destroy(struct control_dir *control)
{
    if (!control)
        return;
    for (size_t i = 0; i < CONTROL_FILES; i++) {
        control_text_unref(control->last[i][false]);
        control_text_unref(control->last[i][true]);
    }
    (void)pthread_mutex_destroy(&control->lock);
    free(control);
}

int control_append_setting(struct buffer *ret, const char *name, const char *value)
{
    size_t begin = ret->size;
    (void)buffer_append_format(ret, "%s%s", name, value ? value : "-");
    printable_replace_from(ret, begin);
    return buffer_append_char(ret, '\n');
}

static int append_time(struct buffer *ret, int64_t at_100ns)
{
    time_t sec = (time_t)(at_100ns / TICKS_PER_SEC);
    struct tm utc;
    char text[32];
    if (!gmtime_r(&sec, &utc) || strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc) == 0)
        return buffer_append_char(ret, '-');
    return buffer_append_format(ret, "%s.%03dZ", text,
                                (int)(at_100ns % TICKS_PER_SEC / TICKS_PER_MS));
}

/* The path in the account, as far as the record has it: /TABLE/PARTITION/ROW.json. A prefix ends in
 * `+`. */
static int append_path(struct buffer *ret, const struct failure_record *record)
{
    (void)buffer_append_char(ret, '/');
    if (!record->table)
        return ret->error;
    (void)buffer_append_string(ret, record->table);
    struct bytes position = record->position;
    if (position.size == 0)
        return ret->error;
    (void)buffer_append_char(ret, '/');
    bool has_row = position_has_row(position);
    int r = names_encode(position_partition_key(position),
                         record->is_prefix && !has_row ? NAME_PREFIX : NAME_PARTITION, ret);
    if (r == 0 && has_row) {
        (void)buffer_append_char(ret, '/');
        r = names_encode(position_row_key(position), record->is_prefix ? NAME_PREFIX : NAME_ENTITY,
                         ret);
    }
    return r < 0 ? r : ret->error;
}

static void append_if_any(struct buffer *ret, const char *before, const char *text,
                          const char *after)
{
    if (text && text[0])
        (void)buffer_append_format(ret, "%s%s%s", before, text, after);
}

int control_append_failure_text(struct buffer *ret, const struct failure_record *record)
{
    const struct failure *failure = &record->failure;
    size_t begin = ret->size;
    (void)buffer_append_format(ret, "%s ", record->operation);
    if (append_path(ret, record) == -ENOMEM)
        return -ENOMEM;
    (void)buffer_append_format(ret, ": %s",
                               failure->error < 0 ? strerrorname_np(-failure->error) : "OK");
    if (failure->http_status > 0)
        (void)buffer_append_format(ret, ", HTTP %d", failure->http_status);
    append_if_any(ret, " ", failure->code, "");
    append_if_any(ret, ": ", failure->message, "");
    append_if_any(ret, " (request ", failure->request_id, ")");
    append_if_any(ret, " [", record->command, "]");
    if (record->times > 1) {
        (void)buffer_append_format(ret, " (%llu times since ", (unsigned long long)record->times);
        (void)append_time(ret, record->first_100ns);
        (void)buffer_append_char(ret, ')');
    }
    if (record->others > 0) {
        (void)buffer_append_format(ret, " (and %llu more until ",
                                   (unsigned long long)record->others);
        (void)append_time(ret, record->last_100ns);
        (void)buffer_append_char(ret, ')');
    }
    if (failure->advice)
        (void)buffer_append_format(ret, " -- %s", failure->advice);
    append_if_any(ret, " -- the text is in ", record->kept_in, "");
    printable_replace_from(ret, begin); /* the path, too: a key has marks of direction */
    return ret->error;
}

int control_append_failure(struct buffer *ret, const struct failure_record *record)
{
    (void)append_time(ret, record->at_100ns);
    (void)buffer_append_char(ret, ' ');
    return control_append_failure_text(ret, record);
}

static int append_errors(struct control_dir *control, struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer strings = {.max = (size_t)64 << 10};
    struct failure_record record;
    uint64_t number = 0;
    for (int i = 0; i < FAILURE_LOG_SIZE; i++) { /* they may change meanwhile, without end */
        number = failure_log_next(control->failures, number, &record, &strings);
        if (number == 0)
            break;
        int r = control_append_failure(ret, &record);
        if (r == 0)
            r = buffer_append_char(ret, '\n');
        if (r < 0)
            return r;
    }
    return strings.error;
}

static int append_stats(struct control_dir *control, struct buffer *ret)
{
    int r = control->stats(control->context, ret);
    if (r < 0)
        return r;
    return buffer_append_format(ret,
                                "# HELP tablefuse_failures_total Operations that ended in an "
                                "error; the errors file has the last ones.\n"
                                "# TYPE tablefuse_failures_total counter\n"
                                "tablefuse_failures_total %llu\n",
                                (unsigned long long)failure_log_count(control->failures));
}

static int append_version(const struct control_dir *control, bool for_owner, struct buffer *ret)
{
    (void)buffer_append_format(ret, "tablefuse %s\npid %d\npid_namespace %llu\n", TABLEFUSE_VERSION,
                               (int)getpid(), (unsigned long long)process_namespace());
    if (for_owner && control->exit_socket[0])
        (void)buffer_append_format(ret, "exit_socket %s\n", control->exit_socket);
    return ret->error;
}

static int append_text(struct control_dir *control, enum control_file file, bool for_owner,
                       struct buffer *ret)
{
    switch (file) {
    case CONTROL_STATS:
        return append_stats(control, ret);
    case CONTROL_ERRORS:
        return append_errors(control, ret);
    case CONTROL_VERSION:
        return append_version(control, for_owner, ret);
    case CONTROL_CONFIG:
        return control->config(control->context, ret);
    case CONTROL_DROP:
    case CONTROL_FILES:
        break;
    }
    return -ENOENT;
}

int control_dir_text(struct control_dir *control, enum control_file file, bool for_owner,
                     int64_t now_100ns, struct control_text **ret)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = CONTROL_MAX_BYTES};
    _cleanup_(control_text_unrefp) struct control_text *made = NULL;
    int r = append_text(control, file, for_owner, &text);
    if (r < 0)
        return r;
    r = control_text_create(&text, for_owner, now_100ns, &made);
    if (r < 0)
        return r;
    LOCKED(&control->lock);
    struct control_text **last = &control->last[file][for_owner], *before = *last;
    if (!before || !bytes_equal(buffer_bytes(&before->text), buffer_bytes(&made->text))) {
        *last = TAKE_PTR(made);
        made = before; /* to be freed without the lock */
    }
    *ret = control_text_ref(*last);
    return 0;
}
