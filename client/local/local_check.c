/* SPDX-License-Identifier: MIT */
#include "client/local/local_check.h"
#include "client/local/local_checksum.h"
#include "client/local/local_failure.h"
#include "client/local/local_file.h"
#include "client/local/local_open.h"
#include "client/local/local_rows.h"
#include "client/local/local_text.h"

#define ROWS_AT_ONCE  1000 /* in one transaction */
#define MESSAGE_BYTES 200

struct check {
    struct local_connection *connection;
    const struct clock *clock;
    struct call *call;
    local_check_fault *on_fault;
    void *context;
    struct local_check_report report;
    bool has_names;           /* the index of names can be used */
    struct local_table table; /* that is being checked */
    struct buffer from,
        next; /* where this transaction's rows begin, and those after the last row */
};

static void check_finish(struct check *check)
{
    local_connection_close(check->connection);
    buffer_finish(&check->from);
    buffer_finish(&check->next);
}

/* Damage is reported, and the check continues: 0. Another failure ends it: -errno. */
static int report_damage(struct check *check, int r)
{
    if (r != -EIO)
        return MIN(r, 0);
    check->report.faults++;
    check->on_fault(check->context, check->call->failure.message);
    return 0;
}

/* SQLite cannot read more: the rest of the table, or `what`, is not checked. */
static int report_rest(struct check *check, const char *what)
{
    struct failure *failure = &check->call->failure;
    size_t size = strlen(failure->message);
    if (failure->error == -EIO)
        (void)snprintf(failure->message + size, sizeof(failure->message) - size,
                       "; the rest of the %s was not checked", what);
    return report_damage(check, failure->error);
}

static int fault(struct check *check, struct bytes position, const char *what)
{
    return report_damage(check, local_fail_damaged(check->call, check->table.name, position, what));
}

/* Checks one entity, as reading it does, and that its text is one. */
static int check_entity(struct check *check, struct bytes position)
{
    _cleanup_(local_rows_finish) struct local_rows rows = {0};
    struct local_row row;
    local_rows_begin_one(check->connection, &check->table, position, &rows);
    int r = local_rows_next(&rows, &row);
    if (r == 1)
        r = local_rows_read_text(&rows, &row);
    if (r == 0 && !local_text_is_of(row.position, row.text))
        return fault(check, position, "its text is not that of this entity");
    return report_damage(check, r);
}

/* Does the index have the row that was just read? Then check_entity has already checked it. */
static int check_is_indexed(struct check *check, struct bytes position)
{
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(check->connection, LOCAL_READ_VERSION);
    (void)sqlite3_bind_int64(statement, 1, check->table.id);
    local_bind_bytes(statement, 2, position);
    int r = local_connection_step(check->connection, statement);
    return r == 0 ? fault(check, position, "the index of versions lacks it")
                  : report_damage(check, r);
}

typedef int check_row(struct check *check, struct bytes position);

#define REST "; the rest of the table was not checked"

/* Each row lies after the one before it: else a page of the file is there twice, or in a wrong
 * place. 1: it does; 0: it does not, which is reported. */
static int check_order(struct check *check, struct bytes position)
{
    if (bytes_compare(position, buffer_bytes(&check->next)) < 0)
        return fault(check, position, "it is not in order" REST);
    int r = buffer_set(&check->next, position);
    if (r == 0)
        r = buffer_append_string(&check->next, POSITION_AFTER);
    if (r == -EFBIG)
        return fault(check, position, "its keys are too long" REST);
    return r < 0 ? call_fail(check->call, r, "out of memory") : 1;
}

/* Calls `each` for the next rows of the statement's source. 1: there may be more. */
static int check_some(struct check *check, enum local_statement which, check_row *each)
{
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(check->connection, which);
    int r, n = 0;
    (void)sqlite3_bind_int64(statement, 1, check->table.id);
    r = buffer_set(&check->from, buffer_bytes(&check->next));
    if (r < 0)
        return call_fail(check->call, r, "out of memory");
    local_bind_bytes(statement, 2, buffer_bytes(&check->from));
    local_bind_bytes(statement, 3, BYTES_LITERAL(POSITION_END));
    while ((r = local_connection_step(check->connection, statement)) == 1) {
        struct bytes position = local_column_bytes(statement, 0);
        r = check_order(check, position);
        if (r <= 0)
            return r;
        r = each(check, position);
        if (r < 0)
            return r;
        if (++n == ROWS_AT_ONCE)
            return 1;
    }
    if (r == 0)
        return 0;
    local_failure_name_table(check->call, check->table.name);
    return report_rest(check, "table");
}

/* All rows of a source, in transactions that are short. */
static int check_all(struct check *check, enum local_statement which, check_row *each)
{
    int r;
    buffer_clear(&check->next);
    do {
        r = local_check_call(check->call, check->clock);
        if (r == 0)
            r = local_connection_run(check->connection, LOCAL_BEGIN_READ);
        if (r == 0)
            r = check_some(check, which, each);
        if (local_connection_is_in_transaction(check->connection))
            (void)local_connection_run(check->connection, LOCAL_COMMIT);
    } while (r == 1);
    return report_damage(check, r);
}

static int count_entity(struct check *check, struct bytes position)
{
    check->report.entities++;
    return check->report.has_checksums ? check_is_indexed(check, position)
                                       : check_entity(check, position);
}

/* The next table after the last one, without the index of names, which may be damaged. One whose
 * name is damaged is called by its number. 1: there is one; 0: there is none. */
static int next_table(struct check *check)
{
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(check->connection, LOCAL_SCAN_TABLES);
    (void)sqlite3_bind_int64(statement, 1, check->table.id);
    int r = local_connection_step(check->connection, statement);
    if (r < 1)
        return r < 0 ? report_rest(check, "tables") : 0;
    int64_t id = sqlite3_column_int64(statement, 0);
    r = local_rows_read_table(check->connection, statement, &check->table);
    if (r < 0) {
        check->table.id = id;
        (void)snprintf(check->table.name, sizeof(check->table.name), "%" PRId64, id);
        r = report_damage(check, r);
    }
    return r < 0 ? r : 1;
}

/* Is the table found by its name? */
static int check_name(struct check *check)
{
    struct local_table found;
    int r = local_rows_find_table(check->connection, check->table.name, &found);
    if (r == 0 || (r == 1 && found.id != check->table.id))
        r = local_fail_damaged(check->call, check->table.name, (struct bytes){0},
                               "the index of names has another one, or none, in its place");
    return report_damage(check, r);
}

/* 1: the next table, whose name was checked; 0: there is none. */
static int begin_table(struct check *check)
{
    uint64_t faults = check->report.faults;
    int r = local_connection_run(check->connection, LOCAL_BEGIN_READ);
    if (r == 0)
        r = next_table(check);
    if (r == 1 && check->has_names && check->report.faults == faults) {
        r = check_name(check);
        r = r < 0 ? r : 1;
    }
    if (local_connection_is_in_transaction(check->connection))
        (void)local_connection_run(check->connection, LOCAL_COMMIT);
    return r < 0 ? report_damage(check, r) : r;
}

static int check_table(struct check *check)
{
    int r = 0;
    check->report.tables++;
    if (check->report.has_checksums)
        r = check_all(check, LOCAL_READ_VERSIONS, check_entity);
    return r < 0 ? r : check_all(check, LOCAL_READ_ROWS, count_entity);
}

/* Counts by the index of names, which alone shows tables that are lost. */
static int count_tables(struct check *check)
{
    int r = local_connection_run(check->connection, LOCAL_BEGIN_READ);
    if (r == 0)
        r = local_rows_count_tables(check->connection);
    check->has_names = r == 0;
    if (local_connection_is_in_transaction(check->connection))
        (void)local_connection_run(check->connection, LOCAL_COMMIT);
    return report_damage(check, r);
}

static int check_tables(struct check *check)
{
    int r = count_tables(check);
    check->table.id = INT64_MIN;
    while (r == 0 && (r = begin_table(check)) == 1)
        r = check_table(check);
    return r;
}

/* Checks the pages and their order, which are SQLite's own. */
static int check_structure(struct check *check)
{
    _cleanup_(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    int r = local_connection_query(check->connection, "PRAGMA quick_check", &statement);
    for (r = r == 0 ? 1 : r; r == 1; r = local_connection_step(check->connection, statement)) {
        struct bytes line = local_column_bytes(statement, 0);
        if (bytes_equal(line, BYTES_LITERAL("ok")))
            continue;
        (void)call_fail(check->call, -EIO, "SQLite: %.*s", (int)MIN(line.size, MESSAGE_BYTES),
                        line.size > 0 ? line.data : "");
        for (char *end; (end = strchr(check->call->failure.message, '\n')) != NULL;)
            *end = ' ';
        (void)report_damage(check, -EIO);
    }
    return report_damage(check, r);
}

static int check_last_timestamp(struct check *check)
{
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(check->connection, LOCAL_READ_LAST_TIMESTAMP);
    int r = local_connection_step(check->connection, statement);
    if (r == 1 && sqlite3_column_int64(statement, 1) ==
                      local_checksum_account(sqlite3_column_int64(statement, 0)))
        return 0;
    if (r < 0)
        return report_damage(check, r);
    return report_damage(check, local_fail_damaged(check->call, NULL, (struct bytes){0},
                                                   "the account's last Timestamp is lost"));
}

int local_check_run(const char *path, const struct clock *clock, struct call *call,
                    local_check_fault *on_fault, void *context, struct local_check_report *ret)
{
    _cleanup_(freep) char *real_path = NULL;
    _cleanup_(check_finish) struct check check = {.clock = clock,
                                                  .call = call,
                                                  .on_fault = on_fault,
                                                  .context = context,
                                                  .report.has_checksums = true};
    buffer_init(&check.from, 2 * POSITION_MAX_BYTES);
    buffer_init(&check.next, 2 * POSITION_MAX_BYTES);
    bool is_created;
    int r = local_file_find(path, false, call, &real_path, &is_created);
    if (r == 0)
        r = local_open(real_path, LOCAL_ACCESS_AS_IS, clock, call, &check.connection);
    if (r == 0) {
        local_connection_serve(check.connection, call);
        check.report.has_checksums = local_connection_has_checksums(check.connection);
        r = check_structure(&check);
        if (r == 0 && check.report.has_checksums)
            r = check_last_timestamp(&check);
        if (r == 0)
            r = check_tables(&check);
    } else {
        r = report_damage(&check, r);
    }
    if (r == 0)
        *ret = check.report;
    return r;
}
