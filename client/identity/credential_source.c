/* SPDX-License-Identifier: MIT */
#include "client/identity/credential_source.h"
#include "client/base/monitor.h"

#define NEVER_MS (INT64_MIN / 2)

struct credential_source {
    const struct clock *clock;
    struct credential_reader reader; /* its function: NULL: there is no file */
    struct monitor monitor;
    /* guarded by the monitor: */
    struct credential *credential;
    int64_t warn_utc_100ns; /* when to warn that the SAS ends; INT64_MAX: never, or already done */
    int64_t read_ms;        /* when the file was read last */
    bool is_reading;
    credential_ends *ends; /* NULL: no watcher */
    void *context;
};

/* Takes the reference. */
static void set(struct credential_source *source, struct credential *credential)
{
    int64_t end;
    bool has_end = credential_time(credential, "se", &end);
    source->credential = credential;
    source->warn_utc_100ns = has_end ? end - CREDENTIAL_SOURCE_WARN_100NS : INT64_MAX;
}

int credential_source_create(struct credential *credential, const struct credential_reader *reader,
                             const struct clock *clock, struct credential_source **ret)
{
    struct credential_source *source = calloc(1, sizeof(*source));
    if (!source) {
        credential_unref(credential);
        return -ENOMEM;
    }
    monitor_init(&source->monitor);
    source->clock = clock;
    source->read_ms = NEVER_MS;
    if (reader)
        source->reader = *reader;
    set(source, credential);
    *ret = source;
    return 0;
}

void credential_source_destroy(struct credential_source *source)
{
    if (!source)
        return;
    credential_unref(source->credential);
    monitor_finish(&source->monitor);
    free(source);
}

void credential_source_watch(struct credential_source *source, credential_ends *ends, void *context)
{
    INSIDE(&source->monitor);
    source->ends = ends;
    source->context = context;
}

/* True once for each SAS: when it is time to warn of its end. */
static bool take_warning(struct credential_source *source)
{
    bool is_time = source->ends && clock_utc_100ns(source->clock) >= source->warn_utc_100ns;
    if (is_time)
        source->warn_utc_100ns = INT64_MAX;
    return is_time;
}

struct credential *credential_source_get(struct credential_source *source)
{
    monitor_enter(&source->monitor);
    struct credential *credential = credential_ref(source->credential);
    bool is_reported = take_warning(source);
    monitor_leave(&source->monitor);
    if (is_reported)
        source->ends(source->context);
    return credential;
}

/* Inside the monitor, which is left while the file is read. */
static void read_again(struct credential_source *source)
{
    struct credential *credential = NULL;
    source->is_reading = true;
    source->read_ms = clock_now_ms(source->clock);
    monitor_leave(&source->monitor);
    int r = source->reader.read(source->reader.context, &credential);
    monitor_enter(&source->monitor);
    source->is_reading = false;
    if (r == 0 && !credential_is_same(credential, source->credential)) {
        credential_unref(source->credential);
        set(source, TAKE_PTR(credential));
    }
    credential_unref(credential);
    monitor_notify(&source->monitor);
}

bool credential_source_replace(struct credential_source *source, const struct credential *refused,
                               struct call *call, struct credential **ret)
{
    if (!source->reader.read)
        return false;
    INSIDE(&source->monitor);
    bool is_due = clock_now_ms(source->clock) - source->read_ms >= CREDENTIAL_SOURCE_REREAD_MS;
    if (source->credential == refused && !source->is_reading && is_due)
        read_again(source);
    while (source->credential == refused && source->is_reading && !call_is_cancelled(call) &&
           call_remaining_ms(call, source->clock) > 0)
        monitor_wait(&source->monitor);
    bool is_other = source->credential != refused;
    if (is_other)
        *ret = credential_ref(source->credential);
    return is_other;
}
