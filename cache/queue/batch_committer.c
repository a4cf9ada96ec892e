/* SPDX-License-Identifier: MIT */
#include "cache/queue/batch_committer.h"
#include "cache/queue/reconcile.h"

/* of one batch, that made no progress: other clients keep changing its rows */
#define REPAIRS_MAX 20

struct commit { /* of one batch */
    const struct batch_committer *source;
    struct write_batch *batch;
    struct caller caller;
    int64_t requested_ms; /* when the last request was sent: what its answer shows may be as old */
    int repairs;
    size_t ended; /* changes */
    size_t gets;  /* of the next repair; 0: it reads a page */
};

struct part { /* indices of changes of the batch that are to be sent, in ascending order */
    size_t n;
    size_t index[PENDING_BATCH_MAX];
};

static void end_made(struct commit *commit, size_t i, const struct entity *now)
{
    const struct batch_committer *source = commit->source;
    struct write_batch *batch = commit->batch;
    struct batched *change = &batch->changes[i];
    change->end = BATCH_MADE;
    commit->ended++;
    if (change->text.page && source->stored)
        source->stored(source->context, (struct address){batch->table, batch->writes[i].position},
                       change, now);
}

static void end_failed(struct commit *commit, size_t i, const struct failure *failure)
{
    const struct batch_committer *source = commit->source;
    struct write_batch *batch = commit->batch;
    struct batched *change = &batch->changes[i];
    change->end = BATCH_FAILED;
    change->failure = *failure;
    commit->ended++;
    if (source->failed)
        source->failed(source->context, (struct address){batch->table, batch->writes[i].position},
                       change);
}

static void begin_call(struct commit *commit)
{
    const struct batch_committer *source = commit->source;
    commit->caller.call.failure = (struct failure){0};
    commit->caller.patience_ms = source->patience_ms;
    commit->requested_ms = clock_now_ms(source->clock);
    commit->caller.call.deadline_ms = commit->requested_ms + source->patience_ms;
}

static int send(struct commit *commit, const struct part *part)
{
    struct write_batch *batch = commit->batch;
    struct write writes[PENDING_BATCH_MAX];
    struct entity now[PENDING_BATCH_MAX];
    for (size_t i = 0; i < part->n; i++)
        writes[i] = batch->writes[part->index[i]];
    begin_call(commit);
    int r = committer_write_batch(commit->source->committer, &commit->caller.call, batch->table,
                                  writes, part->n, now);
    for (size_t i = 0; r == 0 && i < part->n; i++) {
        end_made(commit, part->index[i], &now[i]);
        entity_finish(&now[i]);
    }
    return r;
}

/* Removes the changes that have ended from the part. */
static void drop_ended(const struct write_batch *batch, struct part *part)
{
    size_t n = 0;
    for (size_t i = 0; i < part->n; i++)
        if (batch->changes[part->index[i]].end == BATCH_AGAIN)
            part->index[n++] = part->index[i];
    part->n = n;
}

/* The table does not exist, so its deletes are done. */
static void end_without_table(struct commit *commit, const struct part *part,
                              const struct failure *failure)
{
    struct write_batch *batch = commit->batch;
    struct bytes gone[PENDING_BATCH_MAX];
    size_t gone_count = 0;
    for (size_t i = 0; i < part->n; i++) {
        const struct write *write = &batch->writes[part->index[i]];
        if (write->kind == WRITE_DELETE) {
            gone[gone_count++] = write->position;
            end_made(commit, part->index[i], NULL);
        } else {
            end_failed(commit, part->index[i], failure);
        }
    }
    committer_note_gone(commit->source->committer, batch->table, gone, gone_count,
                        commit->requested_ms);
}

static void end_all_failed(struct commit *commit, const struct part *part,
                           const struct failure *failure)
{
    for (size_t i = 0; i < part->n; i++)
        end_failed(commit, part->index[i], failure);
}

/* May it succeed later? Then the changes stay queued. */
static bool is_unavailable(const struct failure *failure)
{
    return failure->is_retryable || failure->is_unanswered || failure->is_ambiguous ||
           failure->lacks_token || failure->outage > 0 || failure->error == -EINTR ||
           failure->error == -ETIMEDOUT || failure->error == -ENOMEM;
}

static void lose(struct commit *commit, size_t i, enum reconciled reconciled)
{
    struct call call = {0};
    bool is_delete = commit->batch->writes[i].kind == WRITE_DELETE;
    if (reconciled == RECONCILED_EXISTS)
        (void)call_fail(&call, -EEXIST, "another client has stored an entity of this name");
    else if (reconciled == RECONCILED_GONE)
        (void)call_fail(&call, -ESTALE, "another client has deleted the entity");
    else
        (void)call_fail(&call, -ESTALE,
                        is_delete ? "another client has changed the entity since it was shown: it "
                                    "is not deleted"
                                  : "another client has changed the entity since it was read");
    end_failed(commit, i, &call.failure);
}

/* `found` is what the change has stored. */
static void end_stored(struct commit *commit, size_t i, const struct entity *found)
{
    struct write_batch *batch = commit->batch;
    _cleanup_(entity_finish) struct entity now;
    committer_note_stored(commit->source->committer, batch->table, found, commit->requested_ms,
                          &now);
    end_made(commit, i, &now);
}

/* Ends the changes of the part that the page covers, the last one requested. Those that the rows
 * allow stay. Returns the first one that the page does not cover. */
static size_t reconcile_part(struct commit *commit, const struct part *part, size_t first,
                             struct page *page)
{
    struct write_batch *batch = commit->batch;
    struct bytes gone[PENDING_BATCH_MAX];
    size_t gone_count = 0, k = first;
    for (; k < part->n; k++) {
        size_t i = part->index[k];
        const struct write *write = &batch->writes[i];
        if (!range_holds(page_range(page), write->position))
            break;
        size_t row = page_seek(page, write->position);
        bool is_there =
            row < page_rows(page) && bytes_equal(page_position(page, row), write->position);
        struct entity found = {is_there ? page : NULL, row};
        enum reconciled reconciled = reconcile(write, batch->changes[i].is_doubtful, &found);
        if (reconciled == RECONCILED_SEND)
            continue;
        if (reconciled != RECONCILED_MADE) {
            lose(commit, i, reconciled);
            continue;
        }
        if (found.page) {
            end_stored(commit, i, &found);
            continue;
        }
        gone[gone_count++] = write->position;
        end_made(commit, i, NULL);
    }
    committer_note_gone(commit->source->committer, batch->table, gone, gone_count,
                        commit->requested_ms);
    return k;
}

/* Is change k a delete of a row that does not exist? Then no read is needed. */
static bool end_gone(struct commit *commit, const struct part *part, size_t k,
                     const struct failure *failure)
{
    const struct write_batch *batch = commit->batch;
    const struct write *write = &batch->writes[part->index[k]];
    if (write->kind != WRITE_DELETE || failure->error != -ENOENT ||
        committer_is_table_gone(failure))
        return false;
    committer_note_gone(commit->source->committer, batch->table, &write->position, 1,
                        commit->requested_ms);
    end_made(commit, part->index[k], NULL);
    return true;
}

/* Reads the rows from change k to change `last`, as many as one page has, and ends the changes that
 * they decide. ret_next: the first change that the page does not cover. */
static int read_rows(struct commit *commit, struct part *part, size_t k, size_t last,
                     size_t *ret_next)
{
    const struct write_batch *batch = commit->batch;
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct position end;
    struct range range = {batch->writes[part->index[k]].position,
                          position_behind(batch->writes[part->index[last]].position, &end)};
    begin_call(commit);
    int r = committer_read(commit->source->committer, &commit->caller, batch->table, range,
                           k == last ? 1 : TABLE_STORE_PAGE_ROWS, &page);
    if (r == 0)
        *ret_next = reconcile_part(commit, part, k, page);
    return r;
}

/* Reads the refused row, k, and those after it. 0: the rest is to be sent again. -errno as the
 * failure of the part, of which no change has ended: k is still to be sent. */
static int repair(struct commit *commit, struct part *part, size_t k)
{
    size_t ended = commit->ended, next = k;
    int r = 0;
    if (commit->gets == 0) {
        r = read_rows(commit, part, k, part->n - 1, &next);
        commit->gets = r == 0 && 2 * (next - k) < part->n - k;
    } else {
        size_t end = MIN(k + commit->gets, part->n);
        for (size_t i = k; r == 0 && i < end; i++)
            r = read_rows(commit, part, i, i, &next);
        commit->gets *= 2;
    }
    commit->repairs += commit->ended == ended;
    /* a get that fails after others have ended changes: the next refusal starts another repair */
    return commit->ended > ended ? 0 : r;
}

/* Ends some changes of the part. True: the rest can be sent again as it is. False: it is to be
 * halved, or sent again later. */
static bool handle_refusal(struct commit *commit, struct part *part)
{
    struct failure failure = commit->caller.call.failure;
    bool names_row = failure.operation >= 0 && (size_t)failure.operation < part->n;
    size_t k = names_row ? (size_t)failure.operation : 0;
    bool is_of_row =
        failure.error == -ENOENT || failure.error == -ESTALE || failure.error == -EEXIST;
    bool is_repaired =
        is_of_row && !committer_is_table_gone(&failure) && commit->repairs < REPAIRS_MAX;
    /* one row alone, and where no read helps because the rows keep changing */
    if ((part->n == 1 || (names_row && !is_repaired)) && end_gone(commit, part, k, &failure))
        return true;
    if (is_repaired) {
        if (repair(commit, part, k) == 0)
            return true;
        failure = commit->caller.call.failure;
    }
    if (is_unavailable(&failure)) {
        commit->batch->again = failure;
        return false;
    }
    if (committer_is_table_gone(&failure))
        end_without_table(commit, part, &failure);
    else if (names_row || part->n == 1)
        end_failed(commit, part->index[k], &failure);
    else if (failure.error == -EINVAL || failure.error == -EFBIG)
        return false;
    else
        end_all_failed(commit, part, &failure);
    return true;
}

/* The first half of the part, which keeps the other one. */
static struct part take_half(struct part *part)
{
    struct part half = {.n = part->n / 2};
    memcpy(half.index, part->index, half.n * sizeof(half.index[0]));
    part->n -= half.n;
    memmove(part->index, part->index + half.n, part->n * sizeof(part->index[0]));
    return half;
}

static void commit_part(struct commit *commit, struct part *part)
{
    while (part->n > 0 && send(commit, part) < 0) {
        bool tries_again = handle_refusal(commit, part);
        drop_ended(commit->batch, part);
        if (tries_again)
            continue;
        if (commit->batch->again.error < 0)
            return;
        struct part half = take_half(part);
        commit_part(commit, &half); /* at most 7 levels deep */
        if (commit->batch->again.error < 0)
            return;
    }
}

void batch_commit(const struct batch_committer *committer, struct write_batch *batch,
                  struct call *call)
{
    struct commit commit = {.source = committer, .batch = batch, .caller = {.call = *call}};
    struct part part = {.n = batch->n};
    for (size_t i = 0; i < part.n; i++)
        part.index[i] = i;
    commit_part(&commit, &part);
    *call = commit.caller.call;
}
