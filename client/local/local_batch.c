/* SPDX-License-Identifier: MIT */
#include "client/local/local_batch.h"
#include "client/entity/entity_check.h"
#include "client/entity/entity_merge.h"
#include "client/local/local_failure.h"
#include "client/local/local_rows.h"
#include "client/local/local_text.h"
#include "client/text/timestamp_etag.h"

#define TEXT_MAX_BYTES ((size_t)8 << 20) /* the text of an entity of 1 MiB is shorter */

const struct table_store_limits local_batch_limits = {.batch_writes = 100,
                                                      .batch_bytes = (size_t)4 << 20};

struct batch {
    struct local_change change; /* first: make gets a pointer to it */
    const char *table;
    const struct write *writes;
    size_t n;
    struct write_result *results;
};

/* One write in progress. */
struct step {
    struct local_transaction *transaction;
    struct call *call;
    struct local_table table;
    const struct write *write;
    struct write_result *result;
};

static int check_entity(struct bytes position, struct bytes text, struct call *call)
{
    struct entity_refusal refusal;
    int r = entity_check(position, text, &refusal);
    if (r == 0)
        return 0;
    if (refusal.name.size == 0)
        return local_refuse_input(call, r, refusal.code, "%s", refusal.reason);
    return local_refuse_input(call, r, refusal.code, "%.*s: %s", (int)MIN(refusal.name.size, 64),
                              refusal.name.data, refusal.reason);
}

static bool is_merge(enum write_kind kind)
{
    return kind == WRITE_MERGE || kind == WRITE_UPSERT_MERGE;
}

static bool is_any(struct bytes if_match)
{
    return bytes_equal(if_match, BYTES_LITERAL("*"));
}

/* Checks that do not need the file. */
static int check_write(const struct write *write, struct call *call)
{
    int64_t timestamp;
    if (write->if_match.size > 0 && !is_any(write->if_match) &&
        !timestamp_etag_parse(write->if_match, &timestamp))
        return local_refuse(call, REFUSED_ETAG);
    return write->kind == WRITE_DELETE ? 0 : check_entity(write->position, write->text, call);
}

static int check_condition(const struct write *write, int64_t timestamp, struct call *call)
{
    int64_t wanted;
    if (write->if_match.size == 0 || is_any(write->if_match) ||
        (timestamp_etag_parse(write->if_match, &wanted) && wanted == timestamp))
        return 0;
    return local_refuse(call, REFUSED_CONDITION);
}

static int put(const struct step *step, enum local_statement which, struct bytes text)
{
    struct local_connection *connection = step->transaction->connection;
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(connection, which);
    int64_t timestamp;
    int r = local_transaction_stamp(step->transaction, &timestamp);
    if (r < 0)
        return r;
    (void)sqlite3_bind_int64(statement, 1, step->table.id);
    local_bind_bytes(statement, 2, step->write->position);
    (void)sqlite3_bind_int64(statement, 3, timestamp);
    local_bind_bytes(statement, 4, text);
    r = local_connection_step(connection, statement);
    if (r < 0)
        return r;
    *step->result = (struct write_result){.timestamp = timestamp};
    timestamp_etag_write(timestamp, step->result->etag);
    return 0;
}

/* Stores the write's text. */
static int put_own(const struct step *step, enum local_statement which)
{
    _cleanup_(buffer_finish) struct buffer whole = {.max = TEXT_MAX_BYTES};
    struct bytes text;
    int r = local_text_complete(step->write->position, step->write->text, &whole, &text);
    return r < 0 ? call_fail(step->call, r, "the entity could not be kept")
                 : put(step, which, text);
}

static int remove_row(const struct step *step)
{
    struct local_connection *connection = step->transaction->connection;
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(connection, LOCAL_DELETE_ENTITY);
    (void)sqlite3_bind_int64(statement, 1, step->table.id);
    local_bind_bytes(statement, 2, step->write->position);
    *step->result = (struct write_result){0};
    return local_connection_step(connection, statement);
}

static int merge(const struct step *step, struct local_rows *stored, struct local_row *row)
{
    _cleanup_(buffer_finish) struct buffer merged = {.max = TEXT_MAX_BYTES};
    int r = local_rows_read_text(stored, row);
    if (r < 0)
        return r;
    r = entity_merge_append(row->text, step->write->text, &merged);
    if (r == -EPROTO)
        return local_connection_fail_damaged(step->transaction->connection, step->table.name,
                                             row->position, "not an entity");
    if (r < 0)
        return call_fail(step->call, r, "the merged entity could not be kept");
    r = check_entity(step->write->position, buffer_bytes(&merged), step->call);
    return r < 0 ? r : put(step, LOCAL_PUT_ENTITY, buffer_bytes(&merged));
}

/* Kinds whose result depends on what is stored. */
static int make_upon_stored(const struct step *step)
{
    const struct write *write = step->write;
    _cleanup_(local_rows_finish) struct local_rows stored = {0};
    struct local_row row;
    local_rows_begin_one(step->transaction->connection, &step->table, write->position, &stored);
    int r = local_rows_next(&stored, &row);
    if (r < 0)
        return r;
    if (r == 0)
        return write->kind == WRITE_UPSERT_MERGE
                   ? put_own(step, LOCAL_INSERT_ENTITY)
                   : local_refuse(step->call, REFUSED_RESOURCE_NOT_FOUND);
    r = check_condition(write, row.timestamp, step->call);
    if (r < 0)
        return r;
    if (is_merge(write->kind))
        return merge(step, &stored, &row);
    return write->kind == WRITE_DELETE ? remove_row(step) : put_own(step, LOCAL_PUT_ENTITY);
}

static int make_write(const struct step *step)
{
    if (step->write->kind == WRITE_UPSERT_REPLACE)
        return put_own(step, LOCAL_PUT_ENTITY);
    if (step->write->kind != WRITE_INSERT)
        return make_upon_stored(step);
    int r = put_own(step, LOCAL_INSERT_ENTITY);
    return r == -EEXIST ? local_refuse(step->call, REFUSED_ENTITY_EXISTS) : r;
}

/* Records which write was refused. A failure of the file is not about one write. */
static void name_operation(const struct batch *batch, size_t operation)
{
    struct failure *failure = &batch->change.call->failure;
    if (failure->http_status > 0)
        failure->operation = (int)operation;
}

static int make_batch(struct local_change *change, struct local_transaction *transaction)
{
    struct batch *batch = (struct batch *)change;
    struct step step = {.transaction = transaction, .call = change->call};
    size_t i = 0;
    int r = local_rows_require_table(transaction->connection, batch->table, &step.table);
    for (; r == 0 && i < batch->n; i++) {
        step.write = &batch->writes[i];
        step.result = &batch->results[i];
        r = make_write(&step);
    }
    if (r < 0)
        name_operation(batch, i > 0 ? i - 1 : 0);
    return r;
}

static int check_batch(const struct batch *batch)
{
    int r = 0;
    for (size_t i = 0; i < batch->n && r == 0; i++) {
        r = check_write(&batch->writes[i], batch->change.call);
        if (r < 0)
            name_operation(batch, i);
    }
    return r;
}

size_t local_batch_write_size(const struct write *write)
{
    return write->position.size + write->if_match.size + write->text.size;
}

int local_batch_write(struct local_writer *writer, const char *table, const struct write *writes,
                      size_t n, struct call *call, struct write_result *ret)
{
    struct batch batch = {{.make = make_batch, .call = call}, table, writes, n, NULL};
    _cleanup_(freep) struct write_result *results = calloc(n, sizeof(*results));
    if (!results)
        return call_fail(call, -ENOMEM, "out of memory");
    batch.results = results;
    int r = check_batch(&batch);
    if (r == 0)
        r = local_writer_make(writer, &batch.change);
    if (r == 0)
        memcpy(ret, results, n * sizeof(*results));
    return r;
}
