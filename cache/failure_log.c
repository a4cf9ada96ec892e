#include "cache/failure_log.h"

#include <pthread.h>

#define RECORD_MAX_BYTES ((size_t)16 << 10)
#define STRINGS          3 /* of a slot before the position */

struct slot {
    struct failure_record record; /* its strings are not valid; they are in `text` */
    struct buffer text;           /* command NUL table NUL kept_in NUL position */
    bool has_table;
};

struct failure_log {
    failure_sink *sink;
    void *context;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct slot slots[FAILURE_LOG_SIZE]; /* record number n lies in slot n % SIZE */
    uint64_t records, failures;          /* ever added */
    uint64_t outage_record;              /* of the last outage: its number; 0: none */
    uint64_t alike_record;               /* of the last that is one of many; 0: none */
    int alike;                           /* how many records are like it, with itself */
};

int failure_log_create(failure_sink *sink, void *context, struct failure_log **ret)
{
    struct failure_log *log = calloc(1, sizeof(*log));
    if (!log)
        return -ENOMEM;
    int r = pthread_mutex_init(&log->lock, NULL);
    if (r != 0) {
        free(log);
        return -r;
    }
    for (size_t i = 0; i < FAILURE_LOG_SIZE; i++)
        buffer_init(&log->slots[i].text, RECORD_MAX_BYTES);
    log->sink = sink;
    log->context = context;
    *ret = log;
    return 0;
}

void failure_log_destroy(struct failure_log *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < FAILURE_LOG_SIZE; i++)
        buffer_finish(&log->slots[i].text);
    (void)pthread_mutex_destroy(&log->lock);
    free(log);
}

static void append_c_string(struct buffer *text, const char *string)
{
    (void)buffer_append_string(text, string ? string : "");
    (void)buffer_append_char(text, '\0');
}

/* If the strings are too long, the record is kept without them. */
static void fill_text(struct slot *slot, const struct failure_record *record)
{
    buffer_clear(&slot->text);
    append_c_string(&slot->text, record->command);
    append_c_string(&slot->text, record->table);
    append_c_string(&slot->text, record->kept_in);
    if (buffer_append(&slot->text, record->position) == 0)
        return;
    slot->has_table = false;
    buffer_clear(&slot->text);
    for (int i = 0; i < STRINGS; i++)
        append_c_string(&slot->text, NULL);
}

/* The number of the oldest record that is kept. */
static uint64_t oldest_locked(const struct failure_log *log)
{
    return log->records > FAILURE_LOG_SIZE ? log->records - FAILURE_LOG_SIZE + 1 : 1;
}

static void count(struct failure_record *in, const struct failure_record *record)
{
    in->repeats++;
    in->last_100ns = record->at_100ns;
}

/* Counts the failure in the record of its outage. False: there is none. */
static bool count_outage_locked(struct failure_log *log, const struct failure_record *record)
{
    struct failure_record *first = &log->slots[log->outage_record % FAILURE_LOG_SIZE].record;
    if (record->failure.outage == 0 || log->outage_record < oldest_locked(log) ||
        first->failure.outage != record->failure.outage)
        return false;
    count(first, record);
    return true;
}

/* The service's message differs each time, so its code counts. */
static bool is_alike(const struct failure *a, const struct failure *b)
{
    return a->error == b->error && strcmp(a->code, b->code) == 0 &&
           (a->code[0] || strcmp(a->message, b->message) == 0);
}

/* Does one of many fail as the last one, and soon after it? */
static bool is_next_locked(const struct failure_log *log, const struct failure_record *record)
{
    const struct slot *slot = &log->slots[log->alike_record % FAILURE_LOG_SIZE];
    const struct failure_record *last = &slot->record;
    int64_t last_100ns = last->repeats > 0 ? last->last_100ns : last->at_100ns;
    if (log->alike_record < oldest_locked(log) || !slot->has_table || slot->text.error < 0 ||
        record->at_100ns - last_100ns >= FAILURE_LOG_REST_MS * TICKS_PER_MS)
        return false;
    struct bytes text = buffer_bytes(&slot->text);
    const char *table = text.data + strlen(text.data) + 1; /* behind the command */
    return strcmp(table, record->table) == 0 && is_alike(&last->failure, &record->failure);
}

/* Counts the failure of one of many, if enough are kept that are like it. */
static bool count_alike_locked(struct failure_log *log, const struct failure_record *record)
{
    if (!record->is_one_of_many)
        return false;
    bool is_next = is_next_locked(log, record);
    if (is_next && log->alike >= FAILURE_LOG_ALIKE) {
        count(&log->slots[log->alike_record % FAILURE_LOG_SIZE].record, record);
        return true;
    }
    log->alike = is_next ? log->alike + 1 : 1;
    return false;
}

static void keep_locked(struct failure_log *log, const struct failure_record *record)
{
    struct slot *slot = &log->slots[++log->records % FAILURE_LOG_SIZE];
    slot->record = *record;
    slot->record.repeats = 0;
    slot->has_table = record->table != NULL;
    fill_text(slot, record);
    if (record->failure.outage > 0)
        log->outage_record = log->records;
    if (record->is_one_of_many)
        log->alike_record = log->records;
}

void failure_log_add(struct failure_log *log, const struct failure_record *record)
{
    (void)pthread_mutex_lock(&log->lock);
    log->failures++;
    bool is_of_outage = count_outage_locked(log, record);
    if (!is_of_outage && !count_alike_locked(log, record))
        keep_locked(log, record);
    (void)pthread_mutex_unlock(&log->lock);

    if (!is_of_outage && log->sink)
        log->sink(log->context, record);
}

uint64_t failure_log_count(struct failure_log *log)
{
    (void)pthread_mutex_lock(&log->lock);
    uint64_t count = log->failures;
    (void)pthread_mutex_unlock(&log->lock);
    return count;
}

/* Sets the record's strings to views into `text`, which fill_text has made. */
static void point_into(struct failure_record *record, struct bytes text, bool has_table)
{
    record->command = text.data;
    text = bytes_skip(text, strlen(text.data) + 1);
    record->table = has_table ? text.data : NULL;
    text = bytes_skip(text, strlen(text.data) + 1);
    record->kept_in = text.data[0] ? text.data : NULL;
    record->position = bytes_skip(text, strlen(text.data) + 1);
}

uint64_t failure_log_next(struct failure_log *log, uint64_t after, struct failure_record *ret,
                          struct buffer *ret_text)
{
    buffer_clear(ret_text);
    (void)pthread_mutex_lock(&log->lock);
    uint64_t number = MAX(after + 1, oldest_locked(log));
    bool is_there = number <= log->records;
    bool has_table = false;
    static const struct bytes no_text = BYTES_LITERAL("\0\0\0"); /* empty strings, as fill_text */
    if (is_there) {
        const struct slot *slot = &log->slots[number % FAILURE_LOG_SIZE];
        *ret = slot->record;
        has_table = slot->has_table;
        bool has_text = slot->text.error == 0; /* false: there was no memory for the strings */
        is_there = buffer_append(ret_text, has_text ? buffer_bytes(&slot->text) : no_text) == 0;
    }
    (void)pthread_mutex_unlock(&log->lock);
    if (!is_there)
        return 0;
    point_into(ret, buffer_bytes(ret_text), has_table);
    return number;
}
