/* SPDX-License-Identifier: MIT */
#include "cache/bulk/sync.h"
#include "cache/core.h"

#define WAIT_MS       50
#define ROUNDS        5                 /* of reading changed rows again; a row may always change */
#define AGAIN_BYTES   ((size_t)1 << 20) /* some 20,000 rows, read one after the other */
#define CHECK_BYTES   ((size_t)8 << 20)
#define ROW_MAX_BYTES (2 * POSITION_MAX_BYTES)

struct sync {
    struct compared_table tables[COMPARE_SIDES];
    struct sync_options options;
    struct judge *judge;
    struct import *import;
    /* positions of rows that changed meanwhile, each with its size before it */
    struct buffer again;
    bool is_last_round;
    uint64_t conflicts, refused;
    enum compare_side failed;
    struct failure failure;
};

/* Failures */

static int fail(struct sync *sync, enum compare_side side, int error, const struct failure *failure)
{
    if (sync->failure.error == 0) {
        sync->failure = *failure;
        sync->failed = side;
    }
    return error;
}

static int fail_memory(struct sync *sync)
{
    struct call call = {0};
    (void)call_fail(&call, -ENOMEM, "out of memory");
    return fail(sync, COMPARE_TO, -ENOMEM, &call.failure);
}

const struct failure *sync_failure(const struct sync *sync, enum compare_side *ret_side)
{
    *ret_side = sync->failed;
    return &sync->failure;
}

static void refuse(struct sync *sync, struct bytes position, const struct failure *failure)
{
    sync->refused++;
    sync->options.events.refused(sync->options.events.context, position, failure);
}

static int keep_for_again(struct sync *sync, struct bytes position)
{
    size_t begin = sync->again.size;
    uint32_t size = (uint32_t)position.size;
    (void)buffer_append(&sync->again, (struct bytes){(const char *)&size, sizeof(size)});
    int r = buffer_append(&sync->again, position);
    if (r < 0)
        sync->again.size = begin;
    sync->again.error = 0;
    return r;
}

/* The import refused a row. A write whose row another client has changed is read again. A delete of
 * such a row is not: it would delete a version that was not compared. */
static void note_refused(void *context, const struct grouped *change, const struct failure *failure)
{
    struct sync *sync = context;
    bool is_conflict =
        failure->error == -EEXIST || failure->error == -ESTALE || failure->error == -ENOENT;
    sync->conflicts += is_conflict;
    if (!is_conflict || change->write.kind == WRITE_DELETE || sync->is_last_round ||
        keep_for_again(sync, change->write.position) < 0)
        refuse(sync, change->write.position, failure);
}

/* Begin and end */

int sync_create(const struct compared_table tables[COMPARE_SIDES],
                const struct sync_options *options, struct sync **ret)
{
    const struct judge_options judged = {.mode = IMPORT_REPLACE};
    _cleanup_(sync_destroyp) struct sync *sync = calloc(1, sizeof(*sync));
    if (!sync)
        return -ENOMEM;
    memcpy(sync->tables, tables, sizeof(sync->tables));
    sync->options = *options;
    buffer_init(&sync->again, AGAIN_BYTES);
    int r = judge_create(&judged, &sync->judge);
    if (r == 0)
        r = account_import(tables[COMPARE_TO].account, tables[COMPARE_TO].directory.table,
                           note_refused, sync, &sync->import);
    if (r == 0)
        *ret = TAKE_PTR(sync);
    return r;
}

void sync_destroy(struct sync *sync)
{
    if (!sync)
        return;
    import_destroy(sync->import);
    judge_destroy(sync->judge);
    buffer_finish(&sync->again);
    free(sync);
}

struct sync_counts sync_counts(const struct sync *sync)
{
    struct import_counts counts = import_counts(sync->import);
    return (struct sync_counts){.inserted = counts.made[WRITE_INSERT],
                                .replaced = counts.made[WRITE_REPLACE],
                                .deleted = counts.made[WRITE_DELETE],
                                .conflicts = sync->conflicts,
                                .refused = sync->refused};
}

bool sync_is_throttled(const struct sync *sync)
{
    return import_is_throttled(sync->import);
}

/* Sending */

static bool is_given_up(const struct sync *sync)
{
    return sync->options.events.waits(sync->options.events.context);
}

/* Returns 0 or the error of the import. */
static int check_import(struct sync *sync)
{
    const struct failure *failure = import_failure(sync->import);
    return failure ? fail(sync, COMPARE_TO, failure->error, failure) : 0;
}

static int send(struct sync *sync, const struct write *write)
{
    int r;
    while ((r = import_add(sync->import, write, 0)) == -EAGAIN && !import_failure(sync->import)) {
        (void)import_step(sync->import, IMPORT_ROOM, WAIT_MS);
        if (is_given_up(sync))
            return -ECANCELED;
    }
    return r == -ENOMEM ? fail_memory(sync) : r < 0 ? check_import(sync) : 0;
}

/* Sends all and waits for the answers. */
static int drain(struct sync *sync)
{
    bool has_ended = false, is_ended_early = false;
    while (!has_ended) {
        is_ended_early = is_ended_early || is_given_up(sync);
        has_ended =
            !import_step(sync->import, is_ended_early ? IMPORT_NOTHING : IMPORT_ALL, WAIT_MS);
    }
    return is_ended_early ? -ECANCELED : check_import(sync);
}

void sync_wait(struct sync *sync)
{
    while (import_step(sync->import, IMPORT_NOTHING, WAIT_MS))
        (void)is_given_up(sync);
}

/* Makes a write of FROM's text. 1; 0: the text is refused, which is reported; -ENOMEM. */
static int make_write(struct sync *sync, const struct pair *pair, struct write *ret)
{
    const struct pair_row *from = &pair->sides[COMPARE_FROM], *to = &pair->sides[COMPARE_TO];
    struct entity_input_refusal ignored = {0}, refusal = {0};
    struct call call = {0};
    const struct stream_object given = {.text = page_text(from->page, from->row)};
    int r = judge_object(sync->judge, &given, ret, &ignored, &refusal);
    if (r == -ENOMEM)
        return fail_memory(sync);
    if (r < 0) {
        refusal.line = 0; /* the text comes from FROM, not from a file with lines */
        (void)account_refuse_text(&call, r, &refusal);
        refuse(sync, pair->position, &call.failure);
        return 0;
    }
    ret->kind = to->page ? WRITE_REPLACE : WRITE_INSERT;
    ret->if_match = to->page ? page_etag(to->page, to->row) : BYTES_LITERAL("");
    return 1;
}

int sync_take(struct sync *sync, const struct pair *pair)
{
    const struct pair_row *to = &pair->sides[COMPARE_TO];
    struct write write;
    int r = 0;
    switch (pair->kind) {
    case PAIR_ONLY_FROM:
    case PAIR_DIFFERENT:
        r = make_write(sync, pair, &write);
        return r > 0 ? send(sync, &write) : r;
    case PAIR_ONLY_TO:
        if (sync->options.deletes)
            r = version_file_add(sync->options.deletes, pair->position,
                                 page_etag(to->page, to->row));
        return r;
    case PAIR_EQUAL:
    case PAIR_UNREADABLE:
        break;
    }
    return 0;
}

/* What was changed meanwhile */

/* Reads the row as it is now. *ret NULL: it does not exist. */
static int read_now(struct sync *sync, enum compare_side side, struct bytes position,
                    struct run *ret)
{
    const struct compared_table *table = &sync->tables[side];
    _cleanup_(row_stream_closep) struct row_stream *stream = NULL;
    struct position end;
    const struct directory row = {.kind = DIRECTORY_ENTITIES,
                                  .table = table->directory.table,
                                  .range = range_of_one(position, &end)};
    int r =
        account_stream_rows(table->account, table->caller, &row, &(struct row_choice){0}, &stream);
    if (r == 0)
        r = row_stream_next(stream, table->caller, ret);
    return r < 0 ? fail(sync, side, r, &table->caller->call.failure) : 0;
}

static struct pair_row row_of(const struct run *run)
{
    return (struct pair_row){run->page, run->begin};
}

static int take_again(struct sync *sync, struct bytes position)
{
    _cleanup_(run_finish) struct run from = {0}, to = {0};
    int r = read_now(sync, COMPARE_FROM, position, &from);
    if (r == 0)
        r = read_now(sync, COMPARE_TO, position, &to);
    if (r < 0 || (!from.page && !to.page))
        return r;
    const struct pair pair = {.kind = compare_rows(row_of(&from), row_of(&to)),
                              .position = position,
                              .sides = {row_of(&from), row_of(&to)}};
    bool is_late_delete = pair.kind == PAIR_ONLY_TO && sync->options.deletes;
    struct call call = {0};
    if (pair.kind == PAIR_UNREADABLE)
        (void)call_fail(&call, -EIO, "it has changed meanwhile, and cannot be understood");
    else if (is_late_delete) /* deletes are collected in key order, and all keys have passed */
        (void)call_fail(&call, -EAGAIN, "FROM has lost it meanwhile -- run it again");
    if (call.failure.error < 0)
        refuse(sync, position, &call.failure);
    return is_given_up(sync) ? -ECANCELED : is_late_delete ? 0 : sync_take(sync, &pair);
}

static int compare_again(struct sync *sync)
{
    _cleanup_(buffer_finish) struct buffer positions;
    buffer_init(&positions, AGAIN_BYTES);
    buffer_swap(&positions, &sync->again);
    int r = 0;
    for (struct bytes rest = buffer_bytes(&positions); r == 0 && rest.size > 0;) {
        uint32_t size;
        memcpy(&size, rest.data, sizeof(size));
        rest = bytes_skip(rest, sizeof(size));
        r = take_again(sync, bytes_first(rest, size));
        rest = bytes_skip(rest, size);
    }
    return r < 0 ? r : drain(sync);
}

int sync_finish(struct sync *sync)
{
    int r = drain(sync);
    for (int round = 1; r == 0 && sync->again.size > 0; round++) {
        sync->is_last_round = round == ROUNDS;
        r = compare_again(sync);
    }
    return r;
}

/* Deletes */

struct check { /* keys of TO that are looked up in FROM, of one page */
    struct buffer text;
    size_t n;
    struct checked {
        size_t begin, position_size, end; /* of position and ETag in the text */
        bool is_there;
    } rows[TABLE_STORE_PAGE_ROWS];
};

static struct bytes position_of(const struct check *check, size_t i)
{
    const struct checked *row = &check->rows[i];
    return (struct bytes){check->text.data + row->begin, row->position_size};
}

/* 0: there are no more. */
static int fill(struct sync *sync, struct check *check)
{
    int r = 1;
    buffer_clear(&check->text);
    for (check->n = 0; check->n < TABLE_STORE_PAGE_ROWS && check->text.size < CHECK_BYTES;
         check->n++) {
        struct checked *row = &check->rows[check->n];
        *row = (struct checked){.begin = check->text.size};
        r = version_file_next(sync->options.deletes, &check->text, &row->position_size);
        if (r <= 0)
            break;
        row->end = check->text.size;
    }
    return r < 0 ? r : check->n > 0;
}

static void mark(struct check *check, const struct run *rows)
{
    for (size_t i = 0; i < check->n; i++) {
        size_t row = page_seek(rows->page, position_of(check, i));
        if (row >= rows->begin && row < rows->end &&
            bytes_equal(page_position(rows->page, row), position_of(check, i)))
            check->rows[i].is_there = true;
    }
}

/* Queries FROM for all keys from the first to the last one. */
static int query_from(struct sync *sync, struct check *check)
{
    const struct compared_table *from = &sync->tables[COMPARE_FROM];
    _cleanup_(row_stream_closep) struct row_stream *stream = NULL;
    struct position end;
    struct run rows;
    struct bytes last = position_of(check, check->n - 1);
    const struct directory range = {.kind = DIRECTORY_FLAT,
                                    .table = from->directory.table,
                                    .range = {position_of(check, 0), position_behind(last, &end)}};
    int r = account_stream_rows(from->account, from->caller, &range,
                                &(struct row_choice){.keys_only = true}, &stream);
    while (r == 0 && (r = row_stream_next(stream, from->caller, &rows)) > 0) {
        mark(check, &rows);
        run_finish(&rows);
        r = is_given_up(sync) ? -ECANCELED : 0;
    }
    return r < 0 && r != -ECANCELED ? fail(sync, COMPARE_FROM, r, &from->caller->call.failure) : r;
}

static int delete_checked(struct sync *sync, const struct check *check)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < check->n; i++) {
        const struct checked *row = &check->rows[i];
        struct bytes whole = {check->text.data + row->begin, row->end - row->begin};
        const struct write write = {.kind = WRITE_DELETE,
                                    .position = position_of(check, i),
                                    .if_match = bytes_skip(whole, row->position_size)};
        if (!row->is_there)
            r = send(sync, &write);
    }
    return r;
}

int sync_delete(struct sync *sync)
{
    _cleanup_(freep) struct check *check = calloc(1, sizeof(*check));
    if (!check)
        return fail_memory(sync);
    buffer_init(&check->text, CHECK_BYTES + ROW_MAX_BYTES);
    int r = version_file_rewind(sync->options.deletes);
    while (r == 0 && (r = fill(sync, check)) > 0) {
        r = query_from(sync, check);
        if (r == 0)
            r = delete_checked(sync, check);
        if (r == 0) /* shortly after the query of FROM */
            r = drain(sync);
    }
    buffer_finish(&check->text);
    return r;
}
