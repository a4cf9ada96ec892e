/* SPDX-License-Identifier: MIT */
#include "cache/queue/committer.h"
#include "cache/known/table_page.h"

#include <assert.h>

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

bool committer_is_table_gone(const struct failure *failure)
{
    return (failure->error == -ENOENT && failure_is_no_table(failure)) ||
           (failure->error == -EBUSY && strcmp(failure->code, "TableBeingDeleted") == 0);
}

struct change {
    enum { CHANGE_ROWS, CHANGE_CREATE_TABLE, CHANGE_DELETE_TABLE } what;
    const char *table;
    /* of CHANGE_ROWS */
    const struct write *writes;
    size_t n;
    struct write_result *results;
};

/* What a change is about, in the range cache: a row of the table; table NULL: a table's name. */
struct place {
    const char *table;
    struct bytes position;
};

static size_t count_places(const struct change *change)
{
    return change->what == CHANGE_ROWS ? change->n : 1;
}

static struct place place_of(const struct change *change, size_t i)
{
    return change->what == CHANGE_ROWS ? (struct place){change->table, change->writes[i].position}
                                       : (struct place){NULL, bytes_of(change->table)};
}

static int send(struct committer *committer, struct change *change, struct call *call)
{
    struct table_store *store = committer->source.store;
    switch (change->what) {
    case CHANGE_ROWS:
        return table_store_write(store, change->table, change->writes, change->n, call,
                                 change->results);
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

/* Everything that the cache has of the table, or all names of tables, may be wrong. */
static void drop(struct committer *committer, const char *table)
{
    const struct committer_source *source = &committer->source;
    struct stamp stamp = stamp_take(source->orders, clock_now_ms(source->clock));
    range_cache_drop_table(source->cache, table, stamp);
}

/* Puts the page, or the absence of the position, as known at that time. Out of memory: the range
 * cache drops what it has of the table, which is also correct. */
static void put(struct committer *committer, struct place place, struct page *page,
                int64_t known_ms)
{
    const struct committer_source *source = &committer->source;
    if (page)
        (void)range_cache_put_change(source->cache, place.table, page, source->orders, known_ms);
    else
        (void)range_cache_put_gone(source->cache, place.table, &place.position, 1, source->orders,
                                   known_ms);
}

int committer_read(struct committer *committer, struct caller *caller, const char *table,
                   struct range range, int top, struct page **ret)
{
    const struct committer_source *source = &committer->source;
    struct stamp since = stamp_from_now(source->orders, clock_now_ms(source->clock));
    struct fetch fetch = {.table = table, .range = range, .top = top, .is_alone = true};
    bool is_own;
    return fetcher_fetch(source->fetcher, caller, &fetch, since, ret, &is_own);
}

void committer_note_gone(struct committer *committer, const char *table,
                         const struct bytes *positions, size_t n, int64_t known_ms)
{
    const struct committer_source *source = &committer->source;
    if (n > 0 && source->cache)
        (void)range_cache_put_gone(source->cache, table, positions, n, source->orders, known_ms);
}

/* Reads what is stored now into the range cache, as a change, because the change may have been
 * made. So a query that was sent earlier cannot put the old row there again. The failure of the
 * change stays in the call. */
static void read_again(struct committer *committer, struct caller *caller, struct place place,
                       struct page **ret)
{
    const struct committer_source *source = &committer->source;
    struct caller again = *caller;
    again.call.failure = (struct failure){0};
    struct stamp since = stamp_from_now(source->orders, clock_now_ms(source->clock));
    bool is_own;
    struct position end;
    struct fetch fetch = {.table = place.table,
                          .range = range_of_one(place.position, &end),
                          .top = 1,
                          .is_alone = true};
    int r = fetcher_fetch(source->fetcher, &again, &fetch, since, ret, &is_own);
    if (r == 0)
        put(committer, place, page_rows(*ret) > 0 ? *ret : NULL, since.requested_ms);
    else if (r != -ENOENT) /* -ENOENT: there is no such table, and the cache knows */
        drop(committer, place.table);
    caller->call.repeats = again.call.repeats;
}

/* Did the service refuse the change for another row than this one? Then this row is unchanged. */
static bool is_as_before(const struct change *change, size_t i, const struct failure *failure)
{
    return count_places(change) > 1 && !failure->is_ambiguous && failure->operation >= 0 &&
           (size_t)failure->operation != i;
}

/* Sends the change. After an ambiguous failure ret_now has what is stored. */
static int perform(struct committer *committer, struct caller *caller, struct change *change,
                   struct page **ret_now)
{
    int r = send_uncancelled(committer, change, &caller->call);
    const struct failure *failure = &caller->call.failure;
    if (r >= 0 || !table_store_is_in_doubt(r, failure))
        return r;
    for (size_t i = 0; i < count_places(change); i++)
        if (!is_as_before(change, i, failure))
            read_again(committer, caller, place_of(change, i), &ret_now[i]);
    return r;
}

static void note_stored(struct committer *committer, struct place place, struct bytes etag)
{
    if (committer->source.versions)
        read_versions_note_stored(committer->source.versions,
                                  (struct address){place.table, place.position}, etag);
}

static int keep_row(struct committer *committer, const char *table, const struct write *write,
                    const struct write_result *result, struct entity *ret)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct place place = {table, write->position};
    bool is_delete = write->kind == WRITE_DELETE;
    if (!is_delete)
        note_stored(committer, place, bytes_of(result->etag));
    int r = is_delete ? 0
                      : page_create_row(write->position, write->text, bytes_of(result->etag),
                                        result->timestamp, &page);
    if (r < 0) {
        drop(committer, table);
        return r;
    }
    put(committer, place, page, clock_now_ms(committer->source.clock));
    ret->page = TAKE_PTR(page);
    return 0;
}

void committer_note_stored(struct committer *committer, const char *table,
                           const struct entity *found, int64_t requested_ms, struct entity *ret)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct bytes position = page_position(found->page, found->row);
    *ret = (struct entity){0};
    if (!committer->source.cache)
        return;
    note_stored(committer, (struct place){table, position}, page_etag(found->page, found->row));
    if (page_create_row(position, page_text(found->page, found->row),
                        page_etag(found->page, found->row), page_timestamp(found->page, found->row),
                        &page) < 0) {
        drop(committer, table);
        return;
    }
    put(committer, (struct place){table, position}, page, requested_ms);
    ret->page = TAKE_PTR(page);
}

static int keep_rows(struct committer *committer, struct caller *caller,
                     const struct change *change, struct entity *ret)
{
    int r = 0;
    for (size_t i = 0; i < change->n; i++) {
        int kept =
            keep_row(committer, change->table, &change->writes[i], &change->results[i], &ret[i]);
        r = MIN(r, kept); /* MIN evaluates its arguments twice */
    }
    if (r == 0)
        return 0;
    (void)call_fail(&caller->call, r, "stored, but there is no memory for its text");
    caller->call.failure.is_ambiguous = true;
    return r;
}

/* Is the change a delete that was refused because its table is being deleted? */
static bool is_delete_in_deleted_table(int error, const struct change *change,
                                       const struct failure *failure)
{
    return error == -EBUSY && change->n == 1 && change->writes[0].kind == WRITE_DELETE &&
           committer_is_table_gone(failure);
}

int committer_write(struct committer *committer, struct caller *caller, const char *table,
                    const struct write *writes, size_t n, struct entity *ret)
{
    struct page *now[COMMITTER_MAX_WRITES] = {0};
    struct write_result results[COMMITTER_MAX_WRITES] = {0};
    struct change change = {
        .what = CHANGE_ROWS, .table = table, .writes = writes, .n = n, .results = results};
    assert(n <= COMMITTER_MAX_WRITES);
    for (size_t i = 0; i < n; i++)
        ret[i] = (struct entity){0};
    int64_t requested_ms = clock_now_ms(committer->source.clock);
    int r = perform(committer, caller, &change, now);
    if (r == 0)
        return keep_rows(committer, caller, &change, ret);
    if (is_delete_in_deleted_table(r, &change, &caller->call.failure)) {
        put(committer, place_of(&change, 0), NULL, requested_ms);
        r = caller->call.failure.error = -ENOENT;
    }
    for (size_t i = 0; i < n; i++) {
        if (now[i] && page_rows(now[i]) > 0)
            ret[i].page = TAKE_PTR(now[i]);
        page_unref(now[i]);
    }
    return r;
}

/* Puts the deleted rows into the range cache together, so that they become one page. */
static void keep_batch(struct committer *committer, const char *table, const struct write *writes,
                       size_t n, const struct write_result *results, struct entity *ret)
{
    struct bytes gone[PENDING_BATCH_MAX];
    size_t gone_count = 0;
    for (size_t i = 0; i < n; i++) {
        if (writes[i].kind == WRITE_DELETE)
            gone[gone_count++] = writes[i].position;
        else
            (void)keep_row(committer, table, &writes[i], &results[i], &ret[i]);
    }
    committer_note_gone(committer, table, gone, gone_count, clock_now_ms(committer->source.clock));
}

int committer_write_batch(struct committer *committer, struct call *call, const char *table,
                          const struct write *writes, size_t n, struct entity *ret)
{
    struct write_result results[PENDING_BATCH_MAX] = {0};
    assert(n <= PENDING_BATCH_MAX);
    for (size_t i = 0; i < n; i++)
        ret[i] = (struct entity){0};
    int r = table_store_write(committer->source.store, table, writes, n, call, results);
    if (r == 0 && committer->source.cache)
        keep_batch(committer, table, writes, n, results, ret);
    return r;
}

/* A new table had no rows when its creation was requested. */
static void put_empty(struct committer *committer, const char *table, int64_t requested_ms)
{
    const struct committer_source *source = &committer->source;
    _cleanup_(page_unrefp) struct page *page = NULL;
    if (page_create_empty(RANGE_ALL, &page) == 0)
        (void)range_cache_put(source->cache, table, page, stamp_take(source->orders, requested_ms));
}

/* The cached rows are of an earlier table of this name, or of one that is gone. */
static int change_table(struct committer *committer, struct caller *caller, struct change *change)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    int64_t requested_ms = clock_now_ms(committer->source.clock);
    int repeats = caller->call.repeats;
    int r = perform(committer, caller, change, &page);
    if (r < 0)
        return r;
    drop(committer, change->table);
    /* where an attempt was repeated, another client may have created it */
    if (change->what == CHANGE_CREATE_TABLE && caller->call.repeats == repeats)
        put_empty(committer, change->table, requested_ms);
    if (change->what == CHANGE_CREATE_TABLE && table_page_of_one(change->table, true, &page) < 0)
        drop(committer, NULL);
    else
        put(committer, place_of(change, 0), page, clock_now_ms(committer->source.clock));
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
