/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_QUEUE_BATCHES_FIXTURE_H
#define TESTS_UNIT_CACHE_QUEUE_BATCHES_FIXTURE_H
/* What the tests of the batch committer share: a committer over a store in memory, batches of rows
 * of partition p, what they tell, and each request as a word. */
#include "cache/queue/batch_committer.h"
#include "tests/stores/hooked_store.h"
#include "tests/unit/fetching.h"

struct setup {
    struct fetching fetching;
    struct committer *committer;
    struct batch_committer source;
    struct write_batch batch;
    char positions[PENDING_BATCH_MAX][16];
    struct buffer told;
    _Atomic bool is_cancelled;
};

/* The number of a row. */
static inline int row_number(struct bytes position)
{
    struct bytes key = position_row_key(position);
    char digits[16];
    (void)snprintf(digits, sizeof(digits), "%.*s", (int)key.size, key.data);
    return (int)strtoull(digits, NULL, 10);
}

static inline void note_stored(void *context, struct address address, const struct batched *change,
                               const struct entity *now)
{
    struct setup *setup = context;
    assert_string_equal(address.table, "t");
    assert_int_equal(change->end, BATCH_MADE);
    (void)buffer_append_format(&setup->told, "%d stored%s;", row_number(address.position),
                               now && now->page ? "" : " unseen");
}

static inline void note_failed(void *context, struct address address, const struct batched *change)
{
    struct setup *setup = context;
    assert_string_equal(address.table, "t");
    assert_int_equal(change->end, BATCH_FAILED);
    (void)buffer_append_format(&setup->told, "%d %s;", row_number(address.position),
                               strerrorname_np(-change->failure.error));
}

/* The hooks are around what the committer writes; NULL: none. */
static inline void set_up_with(struct setup *setup, struct fetching_options options,
                               const struct store_hooks *hooks)
{
    struct fetching *fetching = &setup->fetching;
    *setup = (struct setup){.told = {.max = 1 << 20}};
    fetching_set_up(fetching, options);
    if (hooks)
        assert_int_equal(hooked_store_create(fetching->store, hooks, &fetching->store), 0);
    struct committer_source source = {.store = fetching->store,
                                      .cache = fetching->cache,
                                      .fetcher = fetching->fetcher,
                                      .clock = &fetching->clock,
                                      .orders = &fetching->orders};
    assert_int_equal(committer_create(&source, &setup->committer), 0);
    setup->source = (struct batch_committer){.committer = setup->committer,
                                             .clock = &fetching->clock,
                                             .patience_ms = PATIENCE_MS,
                                             .stored = note_stored,
                                             .failed = note_failed,
                                             .context = setup};
    setup->batch.table = "t";
}

static inline void set_up(struct setup *setup, struct fetching_options options)
{
    set_up_with(setup, options, NULL);
}

static inline void forget_batch(struct setup *setup)
{
    for (size_t i = 0; i < setup->batch.n; i++)
        page_unref(setup->batch.changes[i].text.page);
    setup->batch.n = 0;
}

static inline void tear_down(struct setup *setup)
{
    forget_batch(setup);
    buffer_finish(&setup->told);
    committer_destroy(setup->committer);
    fetching_tear_down(&setup->fetching);
}

/* Adds a write of the row to the batch; rows ascend. */
static inline void add_write(struct setup *setup, int row, enum write_kind kind, const char *text)
{
    struct write_batch *batch = &setup->batch;
    char *position = setup->positions[batch->n];
    int size = snprintf(position, sizeof(setup->positions[0]), "p%c%05d", '\0', row);
    bool has_precondition = kind == WRITE_DELETE || kind == WRITE_REPLACE;
    struct write *write = &batch->writes[batch->n];
    *write = (struct write){.kind = kind,
                            .position = {position, (size_t)size},
                            .if_match = has_precondition ? B("etag") : B("")};
    struct batched *change = &batch->changes[batch->n++];
    *change = (struct batched){.process = 7};
    if (kind == WRITE_DELETE)
        return;
    assert_int_equal(page_create_row(write->position, bytes_of(text), B(""), 1, &change->text.page),
                     0);
    write->text = page_text(change->text.page, 0);
}

static inline void add_deletes(struct setup *setup, int first, int n)
{
    for (int row = first; row < first + n; row++)
        add_write(setup, row, WRITE_DELETE, NULL);
}

static inline bool is_setup_cancelled(void *context)
{
    return ((struct setup *)context)->is_cancelled;
}

static inline void commit(struct setup *setup)
{
    setup->batch.again = (struct failure){0};
    struct call call = {.is_cancelled = is_setup_cancelled, .context = setup};
    batch_commit(&setup->source, &setup->batch, &call);
}

/* As pending does with what is put back. */
static inline void commit_again(struct setup *setup)
{
    struct write_batch *batch = &setup->batch;
    size_t n = 0;
    for (size_t i = 0; i < batch->n; i++) {
        if (batch->changes[i].end != BATCH_AGAIN) {
            page_unref(batch->changes[i].text.page);
            continue;
        }
        batch->changes[i].is_doubtful |= batch->again.is_ambiguous;
        batch->writes[n] = batch->writes[i];
        batch->changes[n++] = batch->changes[i];
    }
    batch->n = n;
    commit(setup);
}

/* How many changes have this end. */
static inline size_t count_ends(const struct setup *setup, int end)
{
    size_t n = 0;
    for (size_t i = 0; i < setup->batch.n; i++)
        n += (int)setup->batch.changes[i].end == end;
    return n;
}

/* All changes are made except those that are named; "": all. */
static inline void assert_told(struct setup *setup, const char *expected)
{
    assert_string_equal(buffer_string(&setup->told), expected);
    buffer_clear(&setup->told);
}

/* "W100 Q W99": a write of 100 rows, a query, a write of 99 rows. */
static inline void assert_requests(struct setup *setup, const char *expected)
{
    struct memory_store *memory = setup->fetching.memory;
    _cleanup_(buffer_finish) struct buffer line = {.max = 1 << 16};
    for (size_t i = 0; i < memory->asked; i++) {
        const struct memory_store_entry *entry = &memory->diary[i];
        (void)buffer_append_string(&line, i > 0 ? " " : "");
        if (entry->what == ASKED_WRITE)
            (void)buffer_append_format(&line, "W%zu", entry->writes);
        else
            (void)buffer_append_string(&line, entry->what == ASKED_QUERY ? "Q"
                                              : entry->what == ASKED_GET ? "G"
                                                                         : "?");
    }
    assert_string_equal(buffer_string(&line), expected);
    memory_store_forget_diary(memory);
}

static inline void another_client(struct setup *setup, enum write_kind kind, int row,
                                  const char *text)
{
    char position[16];
    int size = snprintf(position, sizeof(position), "p%c%05d", '\0', row);
    struct write write = {
        .kind = kind, .position = {position, (size_t)size}, .text = bytes_of(text ? text : "")};
    memory_store_write(setup->fetching.memory, &write);
}

/* What the range cache knows of the row, without a request: its text, "" for none, NULL: nothing.
 * Returns when it was asked for. */
static inline int64_t assert_known(struct setup *setup, int row, const char *expected)
{
    char position[16], behind[16];
    int size = snprintf(position, sizeof(position), "p%c%05d", '\0', row);
    (void)snprintf(behind, sizeof(behind), "p%c%05d" POSITION_AFTER, '\0', row);
    return fetching_assert_known(
        &setup->fetching, (struct range){{position, (size_t)size}, {behind, (size_t)size + 1}},
        expected);
}

#endif
