#include "fs/request.h"

#include <stdatomic.h>

static bool is_cancelled(void *context)
{
    struct request *request = context;
    if (fuse_session_exited(request->fs->session))
        return true;
    /* the kernel says once that some signal came; which, and whether a later one ends the caller,
     * /proc tells */
    return fuse_req_interrupted(request->req) && process_is_being_ended(request->context->pid);
}

bool request_begin(struct request *request, fuse_req_t req, const char *operation)
{
    struct file_system *fs = request_fs(req);
    *request = (struct request){
        .req = req, .fs = fs, .operation = operation, .context = fuse_req_ctx(req)};
    process_ids_command(fs->processes, request->context->pid, request->command);
    request->caller =
        (struct caller){.call = {.deadline_ms = clock_now_ms(fs->clock) + REQUEST_PATIENCE_MS,
                                 .is_cancelled = is_cancelled,
                                 .context = request,
                                 .command = request->command},
                        .patience_ms = REQUEST_PATIENCE_MS};
    if (atomic_fetch_add(&fs->waiting, 1) < REQUEST_MAX_WAITING)
        return true;
    request_fail(request,
                 call_fail(&request->caller.call, -EBUSY, "%d callers are waiting already",
                           REQUEST_MAX_WAITING),
                 NULL);
    request_end(request);
    return false;
}

void request_end(struct request *request)
{
    atomic_fetch_sub(&request->fs->waiting, 1);
}

static bool is_ordinary(int error)
{
    return error == -ENOENT || error == -EINTR || error == -ENAMETOOLONG || error == -ENOTDIR;
}

void request_note(struct request *request, int error, const struct place *place)
{
    if (is_ordinary(error))
        return;
    struct failure_record record = {.at_100ns = clock_utc_100ns(request->fs->clock),
                                    .operation = request->operation,
                                    .command = request->command,
                                    .failure = request->caller.call.failure};
    record.failure.error = error;
    if (place && place->kind == PLACE_ENTITY) {
        struct address address = place_address(place);
        record.table = address.table;
        record.position = address.position;
    } else if (place && place->kind == PLACE_DIRECTORY) {
        struct directory directory = place_directory(place);
        record.table = directory.table;
        if (directory.kind == DIRECTORY_ENTITIES)
            record.position = position_partition_key(directory.range.lo);
    }
    failure_log_add(account_failures(request->fs->account), &record);
}

void request_fail(struct request *request, int error, const struct place *place)
{
    request_note(request, error, place);
    reply_error(request->req, error);
}
