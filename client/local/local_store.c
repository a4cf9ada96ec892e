/* SPDX-License-Identifier: MIT */
#include "client/local/local_store.h"
#include "client/local/local_batch.h"
#include "client/local/local_failure.h"
#include "client/local/local_file.h"
#include "client/local/local_files.h"
#include "client/local/local_open.h"
#include "client/local/local_query.h"
#include "client/local/local_readers.h"
#include "client/local/local_tables.h"
#include "client/local/local_writer.h"

struct local_store {
    struct table_store store;
    const struct clock *clock;
    char *real_path;
    struct local_files *files;
    bool has_checksums;
    struct local_readers *readers;
    struct local_writer *writer; /* NULL: the file is read-only */
};

static struct local_store *local_store_of(struct table_store *store)
{
    return (struct local_store *)((char *)store - offsetof(struct local_store, store));
}

static int take_reader(const struct local_store *self, struct call *call,
                       struct local_connection **ret)
{
    int r = local_files_check(self->files, call);
    return r < 0 ? r : local_readers_take(self->readers, call, ret);
}

static int local_query(struct table_store *store, const struct query *query, struct call *call,
                       struct page_builder *builder, struct continuation **ret_next)
{
    struct local_store *self = local_store_of(store);
    struct local_connection *connection;
    int r = take_reader(self, call, &connection);
    if (r < 0)
        return r;
    r = local_query_rows(connection, self->clock, query, builder, ret_next);
    local_readers_give(self->readers, connection);
    return r;
}

static int local_get(struct table_store *store, const char *table, struct bytes position,
                     struct call *call, struct page_builder *builder)
{
    struct local_store *self = local_store_of(store);
    struct local_connection *connection;
    int r = take_reader(self, call, &connection);
    if (r < 0)
        return r;
    r = local_query_row(connection, table, position, builder);
    local_readers_give(self->readers, connection);
    return r;
}

static int local_list_tables(struct table_store *store, const char *only,
                             const struct continuation *after, struct call *call,
                             struct table_names *ret, struct continuation **ret_next)
{
    struct local_store *self = local_store_of(store);
    struct local_connection *connection;
    size_t size = ret->names.size;
    int r = take_reader(self, call, &connection);
    if (r < 0)
        return r;
    r = local_tables_list(connection, only, after, ret, ret_next);
    local_readers_give(self->readers, connection);
    if (r < 0)
        ret->names.size = size;
    return r;
}

static int check_writable(const struct local_store *self, struct call *call)
{
    call->failure = (struct failure){0};
    return self->writer ? local_files_check(self->files, call)
                        : call_fail(call, -EROFS, "the account's file is read-only");
}

static int local_write(struct table_store *store, const char *table, const struct write *writes,
                       size_t n, struct call *call, struct write_result *ret)
{
    struct local_store *self = local_store_of(store);
    int r = check_writable(self, call);
    return r < 0 ? r : local_batch_write(self->writer, table, writes, n, call, ret);
}

static int local_create_table(struct table_store *store, const char *table, struct call *call)
{
    struct local_store *self = local_store_of(store);
    int r = check_writable(self, call);
    return r < 0 ? r : local_tables_create(self->writer, table, call);
}

static int local_delete_table(struct table_store *store, const char *table, struct call *call)
{
    struct local_store *self = local_store_of(store);
    int r = check_writable(self, call);
    return r < 0 ? r : local_tables_delete(self->writer, table, call);
}

static size_t local_write_size(struct table_store *store, const char *table,
                               const struct write *write)
{
    (void)store;
    (void)table;
    return local_batch_write_size(write);
}

static const struct table_store_limits *local_limits(struct table_store *store)
{
    (void)store;
    return &local_batch_limits;
}

static void local_store_free(struct local_store *self)
{
    if (!self)
        return;
    local_readers_destroy(self->readers);
    local_writer_destroy(self->writer);
    local_files_destroy(self->files);
    free(self->real_path);
    free(self);
}

DEFINE_CLEANUP(struct local_store *, local_store_free);

static void local_destroy(struct table_store *store)
{
    local_store_free(local_store_of(store));
}

static const struct table_store_ops local_ops = {
    .query = local_query,
    .get = local_get,
    .list_tables = local_list_tables,
    .write = local_write,
    .write_size = local_write_size,
    .create_table = local_create_table,
    .delete_table = local_delete_table,
    .limits = local_limits,
    .destroy = local_destroy,
};

static int open_writer(struct local_store *self, enum local_access access, struct call *call)
{
    _cleanup_(local_connection_closep) struct local_connection *connection = NULL;
    int r = local_open(self->real_path, access, self->clock, call, &connection);
    if (r < 0)
        return r;
    self->has_checksums = local_connection_has_checksums(connection);
    if (access == LOCAL_ACCESS_AS_IS || local_connection_is_read_only(connection))
        return 0;
    r = local_writer_create(connection, self->clock, &self->writer);
    if (r < 0)
        return call_fail(call, r, "out of memory");
    connection = NULL;
    return 0;
}

static int open_file(const char *real_path, enum local_access access, const struct clock *clock,
                     struct call *call, struct table_store **ret)
{
    /* the writer has made the file an account before the readers open it */
    enum local_access readers = access == LOCAL_ACCESS_AS_IS ? access : LOCAL_ACCESS_EXISTING;
    _cleanup_(local_store_freep) struct local_store *self = calloc(1, sizeof(*self));
    if (!self || !(self->real_path = strdup(real_path)))
        return call_fail(call, -ENOMEM, "out of memory");
    self->store.ops = &local_ops;
    self->clock = clock;
    int r = open_writer(self, access, call);
    if (r == 0)
        r = local_readers_create(real_path, readers, clock, call, &self->readers);
    if (r == 0)
        r = local_files_create(real_path, call, &self->files);
    if (r < 0)
        return r;
    *ret = &TAKE_PTR(self)->store;
    return 0;
}

static int open_store(const char *path, enum local_access access, const struct clock *clock,
                      struct call *call, struct table_store **ret)
{
    _cleanup_(freep) char *real_path = NULL;
    bool is_created;
    int r = local_file_find(path, access == LOCAL_ACCESS_CREATE, call, &real_path, &is_created);
    if (r < 0)
        return r;
    r = open_file(real_path, access, clock, call, ret);
    if (r < 0 && is_created)
        local_file_remove_created(real_path);
    return r;
}

int local_store_create(const char *path, bool may_create, const struct clock *clock,
                       struct call *call, struct table_store **ret)
{
    return open_store(path, may_create ? LOCAL_ACCESS_CREATE : LOCAL_ACCESS_EXISTING, clock, call,
                      ret);
}

int local_store_open_as_is(const char *path, const struct clock *clock, struct call *call,
                           struct table_store **ret)
{
    return open_store(path, LOCAL_ACCESS_AS_IS, clock, call, ret);
}

bool local_store_is_older(const char *path)
{
    int format = local_file_peek_format(path);
    return format > 0 && format < LOCAL_SCHEMA_FORMAT;
}

bool local_store_is_writable(struct table_store *store)
{
    return local_store_of(store)->writer != NULL;
}

bool local_store_has_checksums(struct table_store *store)
{
    return local_store_of(store)->has_checksums;
}
