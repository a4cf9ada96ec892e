/* SPDX-License-Identifier: MIT */
#include "fs/kernel/request.h"
#include "client/base/unicode.h"
#include "client/text/table_name.h"

#include <stdatomic.h>

#define MAX_NAME_SHOWN 60 /* bytes: a longer name would leave no room for the reason */

/* The signal may be one that ends the caller, or a timer of a program that waits. The former's user
 * waits no longer than this for its end; the latter often has its answer by then. */
#define UNSEEN_INTERRUPT_MS 1000

static bool is_interrupted_for_long(struct request *request)
{
    int64_t now_ms = clock_now_ms(request->fs->clock);
    if (request->interrupted_ms == 0)
        request->interrupted_ms = now_ms;
    return now_ms - request->interrupted_ms >= UNSEEN_INTERRUPT_MS;
}

static bool is_cancelled(void *context)
{
    struct request *request = context;
    if (fuse_session_exited(request->fs->session))
        return true;
    /* FUSE reports the first signal only, and not which one it is. /proc has all pending signals,
     * also a later one that ends the caller. */
    if (!fuse_req_interrupted(request->req))
        return false;
    enum process_end end = process_end_of(request->context->pid);
    return end == PROCESS_ENDS || (end == PROCESS_UNSEEN && is_interrupted_for_long(request));
}

static void report_unseen(struct file_system *fs)
{
    if (!atomic_exchange(&fs->has_reported_unseen, true))
        log_message(
            fs->log,
            "programs that use the mount cannot be seen in /proc (another PID namespace, or "
            "hidepid): what they read counts for all of them together, and each of their "
            "deletes is a request -- see \"Containers\" in mounting.md");
}

/* Of request->process. */
static void begin_call(struct request *request)
{
    struct file_system *fs = request->fs;
    request->caller =
        (struct caller){.call = {.deadline_ms = clock_now_ms(fs->clock) + fs->timeout_ms,
                                 .is_cancelled = is_cancelled,
                                 .context = request,
                                 .command = request->process.command},
                        .process = request->process.number,
                        .patience_ms = fs->timeout_ms};
}

void request_begin(struct request *request, fuse_req_t req, const char *operation)
{
    struct file_system *fs = request_fs(req);
    *request = (struct request){
        .req = req, .fs = fs, .operation = operation, .context = fuse_req_ctx(req)};
    request->process_error =
        process_ids_find(fs->processes, request->context->pid, &request->process);
    if (request->process.is_unseen)
        report_unseen(fs);
    begin_call(request);
}

void request_begin_release(struct request *request, fuse_req_t req)
{
    *request = (struct request){
        .req = req, .fs = request_fs(req), .operation = "release", .context = fuse_req_ctx(req)};
    begin_call(request);
}

void request_begin_flush(struct request *request, fuse_req_t req, uint64_t opener)
{
    struct file_system *fs = request_fs(req);
    *request =
        (struct request){.req = req, .fs = fs, .operation = "flush", .context = fuse_req_ctx(req)};
    request->process_error =
        process_ids_find_flusher(fs->processes, request->context->pid, opener, &request->process);
    begin_call(request);
}

/* NULL: the list of tables. */
static const char *table_of(const struct place *place)
{
    return place->kind == PLACE_ENTITY ? place_address(place).table : place_directory(place).table;
}

/* table NULL: of all tables. */
static unsigned lane_of_user(uid_t user, const char *table)
{
    uint64_t hash = bytes_hash(BYTES_HASH_START, bytes_of(table ? table : ""));
    return (unsigned)(bytes_hash(hash, (struct bytes){(const char *)&user, sizeof(user)}) % LANES);
}

/* A caller that one limit refuses is not counted by the wider limits. */
static int count_caller(struct request *request, const char *table)
{
    struct waiting *waiting = &request->fs->waiting;
    uid_t user = request->context->uid;
    const struct {
        _Atomic int *count;
        int max;
        const char *whose;
    } limits[] = {
        {&waiting->of_both[lane_of_user(user, table)], REQUEST_MAX_WAITING_OF_USER_TABLE,
         " of this user are waiting for the service's answers about this table"},
        {&waiting->of_table[lane_of_table(table)], REQUEST_MAX_WAITING_OF_TABLE,
         " are waiting for the service's answers about this table"},
        {&waiting->of_user[lane_of_user(user, NULL)], REQUEST_MAX_WAITING_OF_USER,
         " of this user are waiting for the service"},
        {&waiting->all, REQUEST_MAX_WAITING, " are waiting for the service"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        request->counted[i] = limits[i].count;
        if (atomic_fetch_add(limits[i].count, 1) >= limits[i].max)
            return call_fail(&request->caller.call, -EBUSY, "%d callers%s already", limits[i].max,
                             limits[i].whose);
    }
    return 0;
}

int request_may_wait(struct request *request, const struct place *place)
{
    if (request->process_error == -ENOMEM)
        return -ENOMEM;
    if (request->process_error < 0)
        return call_fail_no_descriptor(&request->caller.call);
    return request->counted[0] ? 0 : count_caller(request, table_of(place));
}

void request_end(struct request *request)
{
    for (size_t i = 0; i < ARRAY_SIZE(request->counted) && request->counted[i]; i++)
        atomic_fetch_sub(request->counted[i], 1);
}

void request_lock_directory(struct request *request)
{
    struct caller *caller = &request->caller;
    caller->patience_ms = MIN(caller->patience_ms, REQUEST_DIRECTORY_MS);
    caller->end_ms = clock_now_ms(request->fs->clock) + REQUEST_DIRECTORY_MS;
    caller_made_progress(caller, request->fs->clock);
}

/* Does a file system on a disk return this error in normal use? Then it needs no reason. */
static bool is_ordinary(const struct request *request, int error)
{
    if (error == -EINTR || request->is_of_handle)
        return error == -EINTR;
    if (request->caller.call.failure.http_status > 0)
        return error == -ENOENT;
    /* Advice shows another way to do it, or that a queued change is the reason. */
    if (error == -ENOTEMPTY || error == -ENOENT)
        return !request->caller.call.failure.advice;
    return error == -EEXIST || error == -EXDEV;
}

#define DROPPED_NAME_SIZE (TABLE_NAME_SIZE + sizeof(DROPPED_SUFFIX) - 1)

/* Sets the parts of the record from which its path is made: views into the place and the name. */
static void locate(const struct place *place, char name[DROPPED_NAME_SIZE],
                   struct failure_record *record)
{
    if (place->kind == PLACE_ENTITY) {
        struct address address = place_address(place);
        record->table = address.table;
        record->position = address.position;
    } else if (place->kind == PLACE_SCRATCH || place->kind == PLACE_SCRATCH_DIRECTORY) {
        /* the path of its partition: the address itself has none */
        struct address address = place_address(place);
        record->table = address.table;
        record->position = position_partition_key(address.position);
    } else if (place->kind == PLACE_DIRECTORY || place->kind == PLACE_FILTERS) {
        struct directory directory = place_directory(place);
        struct bytes lo = directory.range.lo;
        bool is_partition = position_has_row(lo) && position_row_key(lo).size == 0;
        record->table = directory.table;
        record->position = is_partition ? position_partition_key(lo) : lo;
        record->is_prefix = !is_partition && lo.size > 0;
    } else if (place->kind == PLACE_CONTROL_DIRECTORY) { /* its path reads as that of a table */
        record->table = CONTROL_DIRECTORY_NAME;
    } else if (place->kind == PLACE_DROPPED_TABLE) { /* and as that of a partition */
        record->table = CONTROL_DIRECTORY_NAME "/drop";
        (void)snprintf(name, DROPPED_NAME_SIZE, "%s" DROPPED_SUFFIX, place_directory(place).table);
        record->position = bytes_of(name);
    } else {
        record->table = CONTROL_DIRECTORY_NAME;
        record->position = bytes_of(control_file_names[place->control_file]);
    }
}

void request_note(struct request *request, int error, const struct place *place)
{
    if (is_ordinary(request, error))
        return;
    char name[DROPPED_NAME_SIZE];
    struct failure_record record = {.at_100ns = clock_utc_100ns(request->fs->clock),
                                    .operation = request->operation,
                                    .command = request->process.command,
                                    .failure = request->caller.call.failure};
    if (error == -ENOMEM && record.failure.error != error) /* it needs no reason in the call */
        record.failure = (struct failure){.operation = -1, .message = "out of memory"};
    record.failure.error = error;
    if (!record.failure.message[0] && !record.failure.code[0])
        (void)snprintf(record.failure.message, sizeof(record.failure.message), "%s",
                       strerrordesc_np(-error));
    if (place)
        locate(place, name, &record);
    record.is_one_of_many = request->is_one_of_many && record.table;
    failure_log_add(account_failures(request->fs->account), &record);
}

void request_fail(struct request *request, int error, const struct place *place)
{
    request_note(request, error, place);
    reply_error(request->req, error);
}

int request_refuse_name(struct request *request, struct bytes name, int error, const char *reason)
{
    struct bytes shown = utf8_first(name, MAX_NAME_SHOWN);
    return call_fail(&request->caller.call, error, "%.*s%s: %s", (int)shown.size, shown.data,
                     shown.size < name.size ? "..." : "", reason);
}
