/* SPDX-License-Identifier: MIT */
#include "tests/stores/hooked_store.h"

struct hooked_store {
    struct table_store store;
    struct table_store *inner;
    struct store_hooks hooks;
};

static struct table_store *enter(struct table_store *store)
{
    struct hooked_store *self = (struct hooked_store *)store;
    if (self->hooks.before)
        self->hooks.before(self->hooks.context);
    return self->inner;
}

static int leave(struct table_store *store, bool is_change, int r, struct call *call)
{
    const struct store_hooks *hooks = &((struct hooked_store *)store)->hooks;
    return hooks->after ? hooks->after(hooks->context, is_change, r, call) : r;
}

static int hooked_query(struct table_store *store, const struct query *query, struct call *call,
                        struct page_builder *builder, struct continuation **ret_next)
{
    struct table_store *inner = enter(store);
    return leave(store, false, inner->ops->query(inner, query, call, builder, ret_next), call);
}

static int hooked_get(struct table_store *store, const char *table, struct bytes position,
                      struct call *call, struct page_builder *builder)
{
    struct table_store *inner = enter(store);
    return leave(store, false, inner->ops->get(inner, table, position, call, builder), call);
}

static int hooked_list_tables(struct table_store *store, const char *only,
                              const struct continuation *after, struct call *call,
                              struct table_names *ret, struct continuation **ret_next)
{
    struct table_store *inner = enter(store);
    return leave(store, false, inner->ops->list_tables(inner, only, after, call, ret, ret_next),
                 call);
}

static int hooked_write(struct table_store *store, const char *table, const struct write *writes,
                        size_t n, struct call *call, struct write_result *ret)
{
    struct table_store *inner = enter(store);
    return leave(store, true, inner->ops->write(inner, table, writes, n, call, ret), call);
}

static int hooked_create_table(struct table_store *store, const char *table, struct call *call)
{
    struct table_store *inner = enter(store);
    return leave(store, true, inner->ops->create_table(inner, table, call), call);
}

static int hooked_delete_table(struct table_store *store, const char *table, struct call *call)
{
    struct table_store *inner = enter(store);
    return leave(store, true, inner->ops->delete_table(inner, table, call), call);
}

static size_t hooked_write_size(struct table_store *store, const char *table,
                                const struct write *write)
{
    return table_store_write_size(((struct hooked_store *)store)->inner, table, write);
}

static const struct table_store_limits *hooked_limits(struct table_store *store)
{
    return table_store_limits(((struct hooked_store *)store)->inner);
}

static void hooked_destroy(struct table_store *store)
{
    table_store_destroy(((struct hooked_store *)store)->inner);
    free(store);
}

int hooked_store_create(struct table_store *inner, const struct store_hooks *hooks,
                        struct table_store **ret)
{
    static const struct table_store_ops ops = {.query = hooked_query,
                                               .get = hooked_get,
                                               .list_tables = hooked_list_tables,
                                               .write = hooked_write,
                                               .write_size = hooked_write_size,
                                               .create_table = hooked_create_table,
                                               .delete_table = hooked_delete_table,
                                               .limits = hooked_limits,
                                               .destroy = hooked_destroy};
    struct hooked_store *self = calloc(1, sizeof(*self));
    if (!self)
        return -ENOMEM;
    *self = (struct hooked_store){.store.ops = &ops, .inner = inner, .hooks = *hooks};
    *ret = &self->store;
    return 0;
}

int hooked_store_lose(struct call *call, bool is_retryable)
{
    (void)call_fail(call, -EIO, "the answer was lost");
    call->failure.is_ambiguous = true;
    call->failure.is_retryable = is_retryable;
    return -EIO;
}
