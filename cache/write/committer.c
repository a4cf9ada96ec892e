#include "cache/write/committer.h"
#include "cache/read/table_page.h"

struct committer {
    struct committer_source source;
};

int committer_create(const struct committer_source *source, struct committer **ret)
{
    struct committer *committer = calloc(1, sizeof(*committer));
    if (!committer)
        return -ENOMEM;
    committer->source = *source;
    *ret = committer;
    return 0;
}

void committer_destroy(struct committer *committer)
{
    free(committer);
}

struct change {
    enum { CHANGE_ROW, CHANGE_CREATE_TABLE, CHANGE_DELETE_TABLE } what;
    const char *table;
    const struct write *write; /* of CHANGE_ROW */
    struct write_result result;
};

/* What the change is of, in the range cache: a row of the table, or the table's name among all. */
static const char *table_of(const struct change *change)
{
    return change->what == CHANGE_ROW ? change->table : NULL;
}

static struct bytes position_of(const struct change *change)
{
    return change->what == CHANGE_ROW ? change->write->position : bytes_of(change->table);
}

static int send(struct committer *committer, struct change *change, struct call *call)
{
    struct table_store *store = committer->source.store;
    switch (change->what) {
    case CHANGE_ROW:
        return table_store_write(store, change->table, change->write, 1, call, &change->result);
    case CHANGE_CREATE_TABLE:
        return table_store_create_table(store, change->table, call);
    case CHANGE_DELETE_TABLE:
        return table_store_delete_table(store, change->table, call);
    }
    return -EINVAL;
}

static int send_uncancelled(struct committer *committer, struct change *change, struct call *call)
{
    if (call_is_cancelled(call))
        return call_fail(call, -EINTR, "interrupted");
    bool (*is_cancelled)(void *) = call->is_cancelled;
    call->is_cancelled = NULL;
    int r = send(committer, change, call);
    call->is_cancelled = is_cancelled;
    return r;
}

/* Everything that is cached of the table, or of all tables' names, may be wrong. */
static void drop(struct committer *committer, const char *table)
{
    const struct committer_source *source = &committer->source;
    struct stamp stamp = stamp_take(source->orders, clock_now_ms(source->clock));
    range_cache_drop_table(source->cache, table, stamp);
}

/* Puts the page, or that the position is gone, as known at that time. Without memory the range
 * cache drops what it has of the table, which is right, too. */
static void put(struct committer *committer, const struct change *change, struct page *page,
                int64_t known_ms)
{
    const struct committer_source *source = &committer->source;
    struct bytes position = position_of(change);
    if (page)
        (void)range_cache_put_change(source->cache, table_of(change), page, source->orders,
                                     known_ms);
    else
        (void)range_cache_put_gone(source->cache, table_of(change), &position, 1, source->orders,
                                   known_ms);
}

/* Brings what is there now into the range cache: as a change, because the change may have been
 * made. A query that was sent before does not bring the old row back. The reason of the failure
 * before stays. */
static void read_again(struct committer *committer, struct caller *caller,
                       const struct change *change, struct page **ret)
{
    const struct committer_source *source = &committer->source;
    const char *table = table_of(change);
    struct caller again = *caller;
    again.call.failure = (struct failure){0};
    struct stamp since = stamp_from_now(source->orders, clock_now_ms(source->clock));
    bool is_own;
    _cleanup_(buffer_finish) struct buffer behind;
    buffer_init(&behind, POSITION_MAX_BYTES);
    int r = position_append_behind(&behind, position_of(change));
    struct fetch fetch = {.table = table,
                          .range = {position_of(change), buffer_bytes(&behind)},
                          .top = 1,
                          .is_alone = true};
    if (r == 0)
        r = fetcher_fetch(source->fetcher, &again, &fetch, since, ret, &is_own);
    if (r == 0)
        put(committer, change, page_rows(*ret) > 0 ? *ret : NULL, since.asked_ms);
    else if (r != -ENOENT) /* -ENOENT: there is no such table, and the cache knows */
        drop(committer, table);
    caller->call.repeats = again.call.repeats;
}

static bool is_in_doubt(int error, const struct failure *failure)
{
    return error == -ESTALE || error == -EEXIST || error == -ENOENT || failure->is_ambiguous;
}

/* Sends the change. After a failure that leaves in doubt what is there, it is in *ret_now. */
static int perform(struct committer *committer, struct caller *caller, struct change *change,
                   struct page **ret_now)
{
    int r = send_uncancelled(committer, change, &caller->call);
    if (r < 0 && is_in_doubt(r, &caller->call.failure))
        read_again(committer, caller, change, ret_now);
    return r;
}

static int make_row(const struct write *write, const struct write_result *result, struct page **ret)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    _cleanup_(buffer_finish) struct buffer behind;
    buffer_init(&behind, POSITION_MAX_BYTES);
    int r = page_builder_create(PAGE_MAX_BYTES, &builder);
    if (r == 0)
        r = buffer_append(page_builder_text(builder), write->text);
    if (r == 0)
        r = page_builder_end_row(builder, write->position, bytes_of(result->etag),
                                 result->timestamp);
    if (r == 0)
        r = position_append_behind(&behind, write->position);
    struct range covered = {write->position, buffer_bytes(&behind)};
    return r < 0 ? r : page_builder_finish(builder, covered, false, ret);
}

static int keep_row(struct committer *committer, struct caller *caller, const struct change *change,
                    struct entity *ret)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    int r =
        change->write->kind == WRITE_DELETE ? 0 : make_row(change->write, &change->result, &page);
    if (r < 0) {
        drop(committer, change->table);
        (void)call_fail(&caller->call, r, "stored, but there is no memory for its text");
        caller->call.failure.is_ambiguous = true;
        return r;
    }
    put(committer, change, page, clock_now_ms(committer->source.clock));
    ret->page = TAKE_PTR(page);
    return 0;
}

int committer_write(struct committer *committer, struct caller *caller, const char *table,
                    const struct write *write, struct entity *ret)
{
    _cleanup_(page_unrefp) struct page *now = NULL;
    struct change change = {.what = CHANGE_ROW, .table = table, .write = write};
    *ret = (struct entity){0};
    int r = perform(committer, caller, &change, &now);
    if (r == 0)
        return keep_row(committer, caller, &change, ret);
    if (now && page_rows(now) > 0)
        ret->page = TAKE_PTR(now);
    return r;
}

/* A table has no row at the time when its creation was asked for. */
static void put_empty(struct committer *committer, const char *table, int64_t asked_ms)
{
    const struct committer_source *source = &committer->source;
    _cleanup_(page_unrefp) struct page *page = NULL;
    if (page_create_empty(RANGE_ALL, &page) == 0)
        (void)range_cache_put(source->cache, table, page, stamp_take(source->orders, asked_ms));
}

/* What was cached of the table was of another one of this name, or is gone. */
static int change_table(struct committer *committer, struct caller *caller, struct change *change)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    int64_t asked_ms = clock_now_ms(committer->source.clock);
    int repeats = caller->call.repeats;
    int r = perform(committer, caller, change, &page);
    if (r < 0)
        return r;
    drop(committer, change->table);
    /* where an attempt was repeated, another client may have created it */
    if (change->what == CHANGE_CREATE_TABLE && caller->call.repeats == repeats)
        put_empty(committer, change->table, asked_ms);
    if (change->what == CHANGE_CREATE_TABLE && table_page_of_one(change->table, true, &page) < 0)
        drop(committer, NULL);
    else
        put(committer, change, page, clock_now_ms(committer->source.clock));
    return 0;
}

int committer_create_table(struct committer *committer, struct caller *caller, const char *table)
{
    return change_table(committer, caller,
                        &(struct change){.what = CHANGE_CREATE_TABLE, .table = table});
}

int committer_delete_table(struct committer *committer, struct caller *caller, const char *table)
{
    return change_table(committer, caller,
                        &(struct change){.what = CHANGE_DELETE_TABLE, .table = table});
}
