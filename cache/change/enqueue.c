/* SPDX-License-Identifier: MIT */
#include "cache/core.h"
#include "cache/queue/pending_hold.h"
#include "cache/queue/pending_room.h"

size_t account_request_bytes(struct account *account, const char *table, const struct write *write)
{
    struct table_store *store = account->store;
    return table_store_goes_alone(write) ? table_store_limits(store)->batch_bytes
                                         : table_store_write_size(store, table, write);
}

bool account_may_queue(struct account *account)
{
    return account->options.pending_bytes > 0 && !table_store_is_down(account->store) &&
           !pending_is_stalled(account->write.pending);
}

static int queue(struct account *account, struct caller *caller, const char *table,
                 const struct write *write, const struct entity *text, bool is_held)
{
    struct write_side *side = &account->write;
    struct queued_change change = {.write = *write,
                                   .text = *text,
                                   .request_bytes = account_request_bytes(account, table, write),
                                   .process = caller->process,
                                   .is_held = is_held};
    int r = commit_threads_wake(side->threads);
    if (r < 0)
        return call_fail(&caller->call, r, "no thread can be created that sends changes");
    return pending_queue(side->pending, table, &change, &caller->call);
}

int account_queue_delete(struct account *account, struct caller *caller, struct address address,
                         struct bytes etag, bool is_held)
{
    struct write write = {.kind = WRITE_DELETE, .position = address.position, .if_match = etag};
    return queue(account, caller, address.table, &write, &(struct entity){0}, is_held);
}

int account_queue_text(struct account *account, struct caller *caller, const char *table,
                       const struct write *write, struct entity *ret)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    /* readers see it until the text is stored, and may keep it longer */
    int r = page_create_queued(write->position, write->text, clock_utc_100ns(account->read.clock),
                               &page);
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    r = queue(account, caller, table, write, &(struct entity){page, 0}, false);
    if (r == 0)
        *ret = (struct entity){TAKE_PTR(page), 0};
    return r;
}

int account_reserve(struct account *account, struct caller *caller, size_t own, size_t more)
{
    return pending_reserve(account->write.pending, own, more, &caller->call);
}

void account_set_reserved(struct account *account, size_t before, size_t after)
{
    pending_set_reserved(account->write.pending, before, after);
}

/* A failure was reported: the process's next delete is sent at once. */
static void note_reported(struct account *account, const struct caller *caller)
{
    delete_policy_answered(account->write.policy, caller->process, false,
                           clock_now_ms(account->read.clock));
}

static bool report(struct account *account, struct caller *caller, enum reported_changes which,
                   const char *table, struct range range)
{
    bool is_reported =
        pending_report(account->write.pending, which, table, range, &caller->call) > 0;
    if (is_reported)
        note_reported(account, caller);
    return is_reported;
}

bool account_report_delete(struct account *account, struct caller *caller,
                           const struct directory *directory)
{
    return report(account, caller, REPORT_DELETES, directory->table, directory->range);
}

int account_drain(struct account *account, struct caller *caller, const char *table,
                  struct range range)
{
    int64_t patience_ms = caller->end_ms > 0 ? 0 : caller->patience_ms;
    return pending_drain(account->write.pending, table, range, patience_ms, &caller->call);
}

int account_send_texts(struct account *account, struct caller *caller,
                       const struct directory *directory)
{
    if (!account->options.is_write_back) /* else deletes alone are queued */
        return 0;
    return account_drain(account, caller, directory->table, directory->range);
}

int account_sync(struct account *account, struct caller *caller, const char *table,
                 struct range range)
{
    int r = account_drain(account, caller, table, range);
    if (r == 0 && report(account, caller, REPORT_ALL, table, range))
        r = caller->call.failure.error;
    return r;
}

int account_sync_entity(struct account *account, struct caller *caller, struct address address)
{
    struct position end;
    return account_sync(account, caller, address.table, range_of_one(address.position, &end));
}

/* These are called by the threads of the queue. */

/* What has read the text, or has written it, learns its version. The process that has written it,
 * and had read the entity, has read this version, as after a store at once. */
void account_note_stored(void *context, struct address address, const struct batched *change,
                         const struct entity *now)
{
    struct account *account = context;
    struct read_versions *versions = account->write.versions;
    struct etag before;
    later_etag_learn(page_later_etag(change->text.page),
                     now->page ? page_etag(now->page, now->row) : (struct bytes){0});
    (void)read_versions_find(versions, change->process, address, &before);
    if (before.size == 0)
        return;
    if (now->page)
        read_versions_note(versions, change->process, address, page_etag(now->page, now->row));
    else
        read_versions_forget(versions, change->process, address);
}

static void report_lost(struct account *account, struct address address,
                        const struct batched *change, bool is_abandoned)
{
    const struct lost_change lost = {.address = address,
                                     .is_delete = !change->text.page,
                                     .is_abandoned = is_abandoned,
                                     .text = change->text.page
                                                 ? page_text(change->text.page, change->text.row)
                                                 : (struct bytes){0},
                                     .failure = &change->failure};
    if (change->text.page)
        later_etag_lose(page_later_etag(change->text.page));
    if (change->failure.error == -ESTALE) /* the next store of the process overwrites */
        read_versions_forget(account->write.versions, change->process, address);
    if (account->options.lost)
        account->options.lost(account->options.lost_context, &lost);
}

void account_note_failed(void *context, struct address address, const struct batched *change)
{
    struct account *account = context;
    if (!change->text.page) /* its next delete is sent at once, and gets its answer */
        delete_policy_answered(account->write.policy, change->process, false,
                               clock_now_ms(account->read.clock));
    report_lost(account, address, change, false);
}

static void abandon(void *context, struct address address, const struct batched *change)
{
    report_lost(context, address, change, true);
}

bool account_send_queued(struct account *account, int64_t deadline_ms)
{
    struct call call = {.deadline_ms = deadline_ms};
    return pending_drain(account->write.pending, NULL, RANGE_ALL, 0, &call) == 0;
}

bool account_next_queued(struct account *account, struct queued_text *at)
{
    return pending_next_text(account->write.pending, at);
}

size_t account_queued(struct account *account)
{
    struct pending_stats stats;
    pending_stats(account->write.pending, &stats);
    return stats.queued;
}

size_t account_end_changes(struct account *account, int64_t deadline_ms)
{
    commit_threads_end(account->write.threads, deadline_ms);
    return account_queued(account);
}

void account_abandon_changes(struct account *account)
{
    pending_abandon(account->write.pending, abandon, account);
}

size_t account_unreported_failures(struct account *account)
{
    return pending_unreported(account->write.pending);
}
