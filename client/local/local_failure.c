/* SPDX-License-Identifier: MIT */
#include "client/local/local_failure.h"
#include "client/base/position.h"
#include "client/base/unicode.h"
#include "client/text/table_name.h"

#include <sqlite3.h>
#include <stdarg.h>

struct refusal {
    int http_status;
    int error;
    const char *code, *message;
};

static const struct refusal refusals[] = {
    [REFUSED_TABLE_NOT_FOUND] = {404, -ENOENT, "TableNotFound",
                                 "The table specified does not exist."},
    [REFUSED_RESOURCE_NOT_FOUND] = {404, -ENOENT, "ResourceNotFound",
                                    "The specified resource does not exist."},
    [REFUSED_ENTITY_EXISTS] = {409, -EEXIST, "EntityAlreadyExists",
                               "The specified entity already exists."},
    [REFUSED_TABLE_EXISTS] = {409, -EEXIST, "TableAlreadyExists",
                              "The table specified already exists."},
    [REFUSED_CONDITION] = {412, -ESTALE, "UpdateConditionNotSatisfied",
                           "The update condition specified in the request was not satisfied."},
    [REFUSED_ETAG] = {400, -EINVAL, "InvalidInput",
                      "The etag value specified in one of the request headers is not valid."},
    [REFUSED_TOKEN] = {400, -EINVAL, "InvalidInput", "The continuation token is not valid."},
    [REFUSED_TABLE_CHARACTERS] = {400, -EINVAL, "InvalidResourceName",
                                  "The specified resource name contains invalid characters."},
    [REFUSED_TABLE_LENGTH] = {400, -EINVAL, "OutOfRangeInput",
                              "The specified resource name length is not within the permissible "
                              "limits."},
    [REFUSED_TABLE_RESERVED] = {400, -EINVAL, "InvalidInput",
                                "The specified resource name is reserved."},
};

int local_refuse(struct call *call, enum local_refusal refusal)
{
    const struct refusal *reason = &refusals[refusal];
    (void)call_fail(call, reason->error, "%s", reason->message);
    call->failure.http_status = reason->http_status;
    (void)snprintf(call->failure.code, sizeof(call->failure.code), "%s", reason->code);
    return reason->error;
}

int local_refuse_input(struct call *call, int error, const char *code, const char *format, ...)
{
    struct failure failure = {.error = error, .http_status = 400, .operation = -1};
    if (strcmp(code, "NotImplemented") == 0)
        failure.http_status = 501;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(failure.message, sizeof(failure.message), format, list);
    va_end(list);
    (void)snprintf(failure.code, sizeof(failure.code), "%s", code);
    call->failure = failure;
    return error;
}

static const char advice_busy[] =
    "another program writes to it, or many read: try again, or give a longer -o timeout=SECONDS";

int local_check_call(struct call *call, const struct clock *clock)
{
    int r = call_check(call, clock, "the account's file was busy for too long");
    if (r == -ETIMEDOUT)
        call->failure.advice = advice_busy;
    return r;
}

struct rule {
    int code; /* an extended code, or a primary one for all of its extended ones */
    int error;
    const char *advice;
};

static const char advice_full[] = "make room on the file system that holds the account's file";
static const char advice_damaged[] = "the account's file is damaged: copy it with its -wal file, "
                                     "see what `tablefuse check` says, and "
                                     "restore a backup";
static const char advice_moved[] = "the account's file was moved or removed while in use";
static const char advice_writable[] =
    "the account's file or its file system is read-only; next to a read-only file SQLite needs a "
    "folder that it may write to";

static const struct rule rules[] = {
    {SQLITE_CONSTRAINT_PRIMARYKEY, -EEXIST, NULL},
    {SQLITE_READONLY_DBMOVED, -EIO, advice_moved},
    {SQLITE_IOERR_SHMSIZE, -ENOSPC, advice_full}, /* a full disk is its only reason in practice */
    {SQLITE_FULL, -ENOSPC, advice_full},
    {SQLITE_IOERR_NOMEM, -ENOMEM, NULL},
    {SQLITE_NOMEM, -ENOMEM, NULL},
    {SQLITE_CORRUPT, -EIO, advice_damaged},
    {SQLITE_NOTADB, -EIO, advice_damaged},
    {SQLITE_READONLY, -EROFS, advice_writable},
    {SQLITE_BUSY, -ETIMEDOUT, advice_busy},
    {SQLITE_PERM, -EACCES, NULL},
    {SQLITE_TOOBIG, -EIO, advice_damaged}, /* not a write, which was checked before */
};

static const struct rule *find_rule(int code)
{
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        if (rules[i].code == code || rules[i].code == (code & 0xFF))
            return &rules[i];
    }
    return NULL;
}

/* A quota and a limit on the size of files are reported as a full disk. An errno that would be
 * an answer to the caller, such as ENOENT, is not passed on. */
static int error_of_system(int system_error)
{
    switch (system_error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return -ENOSPC;
    case EACCES:
    case EPERM:
        return -EACCES;
    case EMFILE:
    case ENFILE:
        return -ENFILE;
    case ENOMEM:
        return -ENOMEM;
    default:
        return -EIO;
    }
}

int local_fail(struct call *call, int code, int system_error, const char *words)
{
    const struct rule *rule = find_rule(code);
    bool is_of_system =
        !rule && ((code & 0xFF) == SQLITE_IOERR || (code & 0xFF) == SQLITE_CANTOPEN);
    const char *description = is_of_system ? strerrordesc_np(system_error) : NULL;
    int error = rule ? rule->error : is_of_system ? error_of_system(system_error) : -EIO;
    if (error == -ENFILE)
        return call_fail_no_descriptor(call);
    if (system_error != 0 && description)
        (void)call_fail(call, error, "%s: %s", words, description);
    else
        (void)call_fail(call, error, "%s", words);
    call->failure.advice = rule ? rule->advice : error == -ENOSPC ? advice_full : NULL;
    return error;
}

#define SHOWN_KEY_BYTES 48 /* so that a table, two keys and what is wrong fit into a message */

/* A key in UTF-8, cut where it is long. */
static void show_key(struct bytes key, char ret[SHOWN_KEY_BYTES + sizeof("...")])
{
    size_t size = 0, n;
    uint32_t character;
    for (; (n = cesu8_next(key, &character)) > 0; key = bytes_skip(key, n)) {
        if (size + UTF8_MAX_BYTES > SHOWN_KEY_BYTES)
            break;
        size += utf8_encode(UNICODE_IS_SURROGATE(character) ? '?' : character, ret + size);
    }
    memcpy(ret + size, key.size > 0 ? "..." : "", key.size > 0 ? sizeof("...") : 1);
}

int local_fail_damaged(struct call *call, const char *table, struct bytes position,
                       const char *what)
{
    char partition_key[SHOWN_KEY_BYTES + sizeof("...")];
    char row_key[SHOWN_KEY_BYTES + sizeof("...")];
    show_key(position_partition_key(position), partition_key);
    show_key(position_row_key(position), row_key);
    if (position.data)
        (void)call_fail(call, -EIO, "table %s, PartitionKey \"%s\", RowKey \"%s\": %s", table,
                        partition_key, row_key, what);
    else
        (void)call_fail(call, -EIO, "%s%s%s%s", table ? "table " : "", table ? table : "",
                        table ? ": " : "", what);
    call->failure.advice = advice_damaged;
    return -EIO;
}

void local_failure_name_table(struct call *call, const char *table)
{
    struct failure *failure = &call->failure;
    char message[sizeof(failure->message)];
    if (failure->advice != advice_damaged)
        return;
    memcpy(message, failure->message, sizeof(message));
    (void)snprintf(failure->message, sizeof(failure->message), "table %s: %.*s", table,
                   (int)sizeof(message) - TABLE_NAME_SIZE - 10, message);
}
