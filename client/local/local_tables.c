/* SPDX-License-Identifier: MIT */
#include "client/local/local_tables.h"
#include "client/local/local_failure.h"
#include "client/local/local_query.h"
#include "client/local/local_rows.h"
#include "client/text/table_name.h"

#include <strings.h>

#define NAME_MIN_SIZE 3
#define PAGE_TABLES   1000
#define TOKEN_MARK    "tables1!"

struct table_change {
    struct local_change change; /* first: make gets a pointer to it */
    const char *table;
};

static int check_name(const char *table, struct call *call)
{
    size_t size = strlen(table);
    if (size < NAME_MIN_SIZE || size >= TABLE_NAME_SIZE)
        return local_refuse(call, REFUSED_TABLE_LENGTH);
    if (!table_name_is_legal(bytes_of(table)))
        return local_refuse(call, REFUSED_TABLE_CHARACTERS);
    return strcasecmp(table, "tables") == 0 ? local_refuse(call, REFUSED_TABLE_RESERVED) : 0;
}

static int append_name(struct local_connection *connection, const char *name,
                       struct table_names *ret)
{
    int r = buffer_append(&ret->names, (struct bytes){name, strlen(name) + 1});
    return r < 0 ? call_fail(local_connection_call(connection), r,
                             r == -EFBIG ? "too many tables" : "out of memory")
                 : 0;
}

static int list_only(struct local_connection *connection, const char *only, struct table_names *ret)
{
    struct local_table table;
    int r = local_rows_find_table(connection, only, &table);
    if (r < 1 || strcmp(table.name, only) != 0)
        return MIN(r, 0);
    return append_name(connection, only, ret);
}

/* Reads one name more than it lists, to know whether more follow. */
static int list_page(struct local_connection *connection, sqlite3_stmt *statement,
                     struct table_names *ret, struct continuation **ret_next)
{
    struct local_table table;
    int r = local_connection_step(connection, statement);
    for (int n = 0; r == 1 && n < PAGE_TABLES; n++) {
        r = local_rows_read_table(connection, statement, &table);
        if (r == 0)
            r = append_name(connection, table.name, ret);
        if (r == 0)
            r = local_connection_step(connection, statement);
    }
    if (r == 1)
        r = local_token_create(local_connection_call(connection), TOKEN_MARK, bytes_of(table.name),
                               ret_next);
    return r;
}

int local_tables_list(struct local_connection *connection, const char *only,
                      const struct continuation *after, struct table_names *ret,
                      struct continuation **ret_next)
{
    if (only)
        return list_only(connection, only, ret);
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(connection, LOCAL_LIST_TABLES);
    struct bytes from = {0};
    if (after && (!local_token_read(after, TOKEN_MARK, &from) || from.size >= TABLE_NAME_SIZE))
        return local_refuse(local_connection_call(connection), REFUSED_TOKEN);
    (void)sqlite3_bind_text(statement, 1, from.data ? from.data : "", (int)from.size,
                            SQLITE_STATIC);
    (void)sqlite3_bind_int(statement, 2, PAGE_TABLES + 1);
    int r = local_rows_count_tables(connection);
    return r < 0 ? r : list_page(connection, statement, ret, ret_next);
}

static int create(struct local_connection *connection, const char *table)
{
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(connection, LOCAL_CREATE_TABLE);
    (void)sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    int r = local_connection_step(connection, statement);
    if (r < 0 && local_connection_broke_constraint(connection)) /* not the caller's -EEXIST */
        return local_connection_fail_damaged(connection, table, (struct bytes){0},
                                             "its name or its number is there already");
    return r;
}

static int make_creation(struct local_change *change, struct local_transaction *transaction)
{
    const char *table = ((struct table_change *)change)->table;
    struct local_table existing;
    int r = local_rows_count_tables(transaction->connection);
    if (r == 0)
        r = local_rows_find_table(transaction->connection, table, &existing);
    if (r == 1)
        return local_refuse(change->call, REFUSED_TABLE_EXISTS);
    return r < 0 ? r : create(transaction->connection, table);
}

static int make_deletion(struct local_change *change, struct local_transaction *transaction)
{
    struct local_table existing; /* checked: a wrong entry of the index names another table */
    int r = local_rows_find_table(transaction->connection, ((struct table_change *)change)->table,
                                  &existing);
    if (r == 0)
        return local_refuse(change->call, REFUSED_RESOURCE_NOT_FOUND);
    if (r < 0)
        return r;
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(transaction->connection, LOCAL_DROP_TABLE);
    (void)sqlite3_bind_int64(statement, 1, existing.id);
    return local_connection_step(transaction->connection, statement);
}

int local_tables_create(struct local_writer *writer, const char *table, struct call *call)
{
    struct table_change change = {{.make = make_creation, .call = call}, table};
    int r = check_name(table, call);
    return r < 0 ? r : local_writer_make(writer, &change.change);
}

int local_tables_delete(struct local_writer *writer, const char *table, struct call *call)
{
    struct table_change change = {{.make = make_deletion, .call = call}, table};
    return local_writer_make(writer, &change.change);
}
