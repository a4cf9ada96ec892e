/* SPDX-License-Identifier: MIT */
#include "cache/failure_log.h"
#include "client/base/locked.h"

#include <pthread.h>

#define RECORD_MAX_BYTES ((size_t)16 << 10)
#define STRINGS          3 /* of a slot before the position */

struct slot {
    uint64_t number;              /* 0: the slot is empty */
    struct failure_record record; /* its strings are not valid; they are in `text` */
    struct buffer text;           /* command NUL table NUL kept_in NUL position */
    bool has_table;
};

struct failure_log {
    failure_sink *sink;
    void *context;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct slot slots[FAILURE_LOG_SIZE]; /* by number; the empty ones first */
    uint64_t failures;                   /* ever added, with the notes */
    uint64_t notes;
};

int failure_log_create(failure_sink *sink, void *context, struct failure_log **ret)
{
    struct failure_log *log = calloc(1, sizeof(*log));
    if (!log)
        return -ENOMEM;
    (void)pthread_mutex_init(&log->lock, NULL);
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
    slot->has_table = record->table != NULL;
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

/* Takes the string and its NUL from `text`, which begins with it. */
static const char *take_c_string(struct bytes *text)
{
    const char *string = text->data;
    *text = bytes_skip(*text, strlen(string) + 1);
    return string;
}

/* Sets the record's strings to views into `text`, which fill_text has made. */
static void point_into(struct failure_record *record, struct bytes text, bool has_table)
{
    record->command = take_c_string(&text);
    const char *table = take_c_string(&text);
    record->table = has_table ? table : NULL;
    const char *kept_in = take_c_string(&text);
    record->kept_in = kept_in[0] ? kept_in : NULL;
    record->position = text;
}

/* The record with its strings; false: the slot is empty, or there was no memory for them. */
static bool read_slot(const struct slot *slot, struct failure_record *ret)
{
    *ret = slot->record;
    if (slot->number == 0 || slot->text.error < 0)
        return false;
    point_into(ret, buffer_bytes(&slot->text), slot->has_table);
    return true;
}

static bool is_same(const char *a, const char *b) /* NULL: as an empty one */
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_equal(const struct failure_record *a, const struct failure_record *b)
{
    return is_same(a->operation, b->operation) && is_same(a->command, b->command) &&
           !a->table == !b->table && is_same(a->table, b->table) &&
           bytes_equal(a->position, b->position) && a->is_prefix == b->is_prefix &&
           is_same(a->kept_in, b->kept_in) && a->failure.error == b->failure.error &&
           a->failure.http_status == b->failure.http_status &&
           is_same(a->failure.code, b->failure.code) &&
           is_same(a->failure.message, b->failure.message);
}

/* The service's message differs each time, so only the code is compared. */
static bool is_alike(const struct failure_record *a, const struct failure_record *b)
{
    const struct failure *x = &a->failure, *y = &b->failure;
    return a->is_one_of_many && b->is_one_of_many && is_same(a->table, b->table) &&
           x->error == y->error && is_same(x->code, y->code) &&
           (x->code[0] || is_same(x->message, y->message));
}

static struct slot *last_locked(struct failure_log *log)
{
    return &log->slots[FAILURE_LOG_SIZE - 1];
}

/* Makes it the last one. */
static void move_to_end_locked(struct failure_log *log, struct slot *slot)
{
    struct slot moved = *slot;
    memmove(slot, slot + 1, (size_t)(last_locked(log) - slot) * sizeof(*slot));
    *last_locked(log) = moved;
    last_locked(log)->number = log->failures;
}

static void count_other(struct slot *slot, const struct failure_record *record)
{
    slot->record.others++;
    slot->record.last_100ns = record->at_100ns;
}

/* Counts the failure in the record of its outage. False: there is none. */
static bool count_outage_locked(struct failure_log *log, const struct failure_record *record)
{
    uint32_t outage = record->failure.outage;
    for (int i = 0; outage != 0 && i < FAILURE_LOG_SIZE; i++) {
        if (log->slots[i].number == 0 || log->slots[i].record.failure.outage != outage)
            continue;
        count_other(&log->slots[i], record);
        return true;
    }
    return false;
}

/* Counts the failure in the record of an equal one. */
static bool count_equal_locked(struct failure_log *log, const struct failure_record *record)
{
    for (int i = FAILURE_LOG_SIZE - 1; i >= 0; i--) {
        struct slot *slot = &log->slots[i];
        struct failure_record each;
        if (!read_slot(slot, &each) || !is_equal(&each, record))
            continue;
        slot->record.times++;
        slot->record.at_100ns = MAX(each.at_100ns, record->at_100ns); /* of other threads */
        slot->record.first_100ns = MIN(each.first_100ns, record->at_100ns);
        slot->record.failure = record->failure; /* another request id */
        move_to_end_locked(log, slot);
        return true;
    }
    return false;
}

/* Counts the failure in the last record like it, if enough such records are kept and that one is
 * recent. */
static bool count_alike_locked(struct failure_log *log, const struct failure_record *record)
{
    struct slot *last = NULL;
    int alike = 0;
    for (int i = 0; record->is_one_of_many && i < FAILURE_LOG_SIZE; i++) {
        struct failure_record each;
        if (!read_slot(&log->slots[i], &each) || !is_alike(&each, record))
            continue;
        last = &log->slots[i];
        alike++;
    }
    if (alike < FAILURE_LOG_ALIKE)
        return false;
    int64_t last_100ns = MAX(last->record.at_100ns, last->record.last_100ns);
    if (record->at_100ns - last_100ns >= FAILURE_LOG_REST_MS * TICKS_PER_MS)
        return false;
    count_other(last, record);
    return true;
}

/* In the place of the oldest record. */
static void keep_locked(struct failure_log *log, const struct failure_record *record)
{
    move_to_end_locked(log, &log->slots[0]);
    struct slot *slot = last_locked(log);
    slot->record = *record;
    slot->record.times = 1;
    slot->record.first_100ns = record->at_100ns;
    slot->record.others = 0;
    slot->record.last_100ns = 0;
    fill_text(slot, record);
}

void failure_log_add(struct failure_log *log, const struct failure_record *record)
{
    (void)pthread_mutex_lock(&log->lock);
    log->failures++;
    log->notes += record->failure.error == 0;
    bool is_of_outage = count_outage_locked(log, record);
    if (!is_of_outage && !count_equal_locked(log, record) && !count_alike_locked(log, record))
        keep_locked(log, record);
    (void)pthread_mutex_unlock(&log->lock);

    if (!is_of_outage && log->sink)
        log->sink(log->context, record);
}

uint64_t failure_log_count(struct failure_log *log)
{
    LOCKED(&log->lock);
    return log->failures - log->notes;
}

uint64_t failure_log_next(struct failure_log *log, uint64_t after, struct failure_record *ret,
                          struct buffer *ret_text)
{
    static const struct bytes no_text = BYTES_LITERAL("\0\0\0"); /* empty strings, as fill_text */
    uint64_t number = 0;
    bool has_table = false;
    buffer_clear(ret_text);
    (void)pthread_mutex_lock(&log->lock);
    for (int i = 0; number == 0 && i < FAILURE_LOG_SIZE; i++) {
        const struct slot *slot = &log->slots[i];
        if (slot->number <= after)
            continue;
        *ret = slot->record;
        has_table = slot->has_table;
        bool has_text = slot->text.error == 0; /* false: there was no memory for the strings */
        struct bytes text = has_text ? buffer_bytes(&slot->text) : no_text;
        if (buffer_append(ret_text, text) < 0)
            break;
        number = slot->number;
    }
    (void)pthread_mutex_unlock(&log->lock);
    if (number > 0)
        point_into(ret, buffer_bytes(ret_text), has_table);
    return number;
}
