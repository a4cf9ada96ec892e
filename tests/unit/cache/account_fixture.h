/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_ACCOUNT_FIXTURE_H
#define TESTS_UNIT_CACHE_ACCOUNT_FIXTURE_H
/* What the tests of the account and its listings share: an account over a store in memory, a clock
 * that stands still until the test turns it, and each request as a line of text. Scans ask from
 * threads of their own: a gate stands before the store. */
#include "cache/account.h"
#include "cache/known/freshness.h"
#include "tests/stores/hooked_store.h"
#include "tests/unit/fetching.h"

#define KEPT_MS    FRESHNESS_KEPT_MS
#define START_MS   100000
#define NO_PROCESS 0 /* the process is not known */

struct setup {
    _Atomic int64_t now_ms;
    struct clock clock;
    struct memory_store *memory;
    struct table_store *gate;
    struct account *account;
    uint64_t process;     /* of the next question */
    struct caller caller; /* of the last question */
    int64_t shown_ms;     /* valid_ms of the last row that was listed */
};

struct setup_options {
    const char *faults;              /* of a faulty store; NULL: none */
    const struct store_hooks *hooks; /* NULL: none */
    size_t cache_bytes;              /* 0: large */
    int parallelism;                 /* 0: 1, nothing runs ahead of a listing: requests are exact */
    int fanout;                      /* 0: by the first rows */
    int max_rows;                    /* of an answer; 0: as many as were asked for */
    bool is_ttl_0, is_read_only, overwrites_conflicts, is_write_back, never_drops_rows;
    size_t pending_bytes;   /* 0: nothing is queued */
    lost_change_sink *lost; /* may be NULL */
    no_room_sink *no_room;  /* may be NULL; gets the setup */
};

static inline void set_up(struct setup *setup, struct setup_options options)
{
    struct table_store *store;
    struct account_options account = {.parallelism = MAX(options.parallelism, 1),
                                      .fanout = options.fanout,
                                      .ttl_ms = options.is_ttl_0 ? 0 : TTL_MS,
                                      .is_read_only = options.is_read_only,
                                      .overwrites_conflicts = options.overwrites_conflicts,
                                      .is_write_back = options.is_write_back,
                                      .never_drops_rows = options.never_drops_rows,
                                      .pending_bytes = options.pending_bytes,
                                      .timeout_ms = PATIENCE_MS,
                                      .lost = options.lost,
                                      .no_room = options.no_room,
                                      .no_room_context = setup,
                                      .cache_bytes = options.cache_bytes > 0 ? options.cache_bytes
                                                                             : (size_t)64 << 20};
    *setup = (struct setup){.now_ms = START_MS, .memory = memory_store_create()};
    setup->memory->max_rows = options.max_rows;
    setup->clock = turned_clock(&setup->now_ms);
    assert_int_equal(faulty_store_create(&setup->memory->store, &setup->clock,
                                         options.faults ? options.faults : "", &store),
                     0);
    if (options.hooks)
        assert_int_equal(hooked_store_create(store, options.hooks, &store), 0);
    assert_int_equal(gate_store_create(store, &setup->clock, &setup->gate), 0);
    assert_int_equal(
        account_create(setup->gate, &setup->clock, &account, NULL, NULL, &setup->account), 0);
}

static inline void tear_down(struct setup *setup)
{
    account_destroy(setup->account);
}

/* Rows 00000 to n - 1; a long ETag makes them large. */
static inline void add_rows_with(struct setup *setup, const char *partition, int n,
                                 const char *etag)
{
    for (int i = 0; i < n; i++) {
        char row[16];
        (void)snprintf(row, sizeof(row), "%05d", i);
        memory_store_add(setup->memory, bytes_of(partition), bytes_of(row), etag);
    }
}

static inline void add_rows(struct setup *setup, const char *partition, int n)
{
    add_rows_with(setup, partition, n, "etag");
}

static inline void another_client_writes(struct setup *setup, enum write_kind kind,
                                         struct bytes position, const char *text)
{
    struct write write = {.kind = kind, .position = position, .text = bytes_of(text)};
    memory_store_write(setup->memory, &write);
}

/* The caller of the next question. */
static inline struct caller *caller_of(struct setup *setup)
{
    setup->caller = (struct caller){.call = {.deadline_ms = setup->now_ms + PATIENCE_MS},
                                    .process = setup->process,
                                    .patience_ms = PATIENCE_MS,
                                    .valid_ms = -1};
    return &setup->caller;
}

static inline char shown(char c)
{
    if (c == POSITION_AFTER[0])
        return '+';
    if (c == POSITION_END[0])
        return '~';
    if (c == '\0')
        return '/';
    return c;
}

/* "p/r" is a row, "p/" where a partition begins, "p+" what is after it or after a row, "~" the
 * end of all. */
static inline void append_position(struct buffer *line, const struct buffer *position)
{
    for (size_t i = 0; i < position->size; i++)
        (void)buffer_append_char(line, shown(position->data[i]));
}

static inline void append_request(struct buffer *line, const struct memory_store_entry *entry,
                                  bool begins_alone)
{
    static const char *const words[] = {[ASKED_QUERY] = "rows [",
                                        [ASKED_GET] = "get ",
                                        [ASKED_LIST_TABLES] = "tables",
                                        [ASKED_WRITE] = "write ",
                                        [ASKED_TABLE_CHANGE] = "change of tables"};
    (void)buffer_append_string(line, line->size > 0 ? ", " : "");
    if (!begins_alone || entry->what == ASKED_LIST_TABLES)
        (void)buffer_append_string(line, entry->keys_only ? "keys [" : words[entry->what]);
    append_position(line, &entry->lo);
    if (entry->writes > 1) {
        (void)buffer_append_string(line, " and ");
        append_position(line, &entry->hi);
    }
    if (begins_alone || entry->what != ASKED_QUERY)
        return;
    (void)buffer_append_string(line, " ");
    append_position(line, &entry->hi);
    (void)buffer_append_format(line, ") %d", entry->top);
}

static inline void assert_line(struct setup *setup, bool begins_alone, const char *expected)
{
    _cleanup_(buffer_finish) struct buffer line = {.max = 1 << 16};
    assert_true(setup->memory->asked <= MEMORY_STORE_DIARY);
    for (size_t i = 0; i < setup->memory->asked; i++)
        append_request(&line, &setup->memory->diary[i], begins_alone);
    assert_string_equal(buffer_string(&line), expected);
    memory_store_forget_diary(setup->memory);
}

/* All requests since the last assertion: "get p/r", "rows [p/ p+) 1000", "keys [ ~) 16", "tables",
 * "write p/r", "write p/r and p/s" (of a batch the first and the last), with a comma between. */
static inline void assert_requests(struct setup *setup, const char *expected)
{
    assert_line(setup, false, expected);
}

/* The same where read-ahead decides how much more than the first row a request asks for: "p/r",
 * "p/", "tables". */
static inline void assert_requests_at(struct setup *setup, const char *expected)
{
    assert_line(setup, true, expected);
}

/* The same where it also decides where a request begins. */
static inline void assert_request_count(struct setup *setup, size_t expected)
{
    assert_int_equal(setup->memory->asked, expected);
    memory_store_forget_diary(setup->memory);
}

/* Looks the row of table t up: its text is `expected`, NULL: there is none. */
static inline void assert_found(struct setup *setup, struct bytes position, const char *expected)
{
    struct address address = {.table = "t", .position = position};
    _cleanup_(entity_finish) struct entity entity = {0};
    int r = account_find(setup->account, caller_of(setup), address, &entity);
    assert_int_equal(r, expected ? 0 : -ENOENT);
    assert_int_equal(setup->caller.call.failure.error, r);
    if (expected)
        assert_bytes(page_text(entity.page, entity.row), bytes_of(expected));
}

/* Row 00000 + number of the partition, which is there. */
static inline void assert_row_found(struct setup *setup, const char *partition, int number)
{
    char position[32], text[32];
    int size = snprintf(position, sizeof(position), "%s%c%05d", partition, '\0', number);
    (void)snprintf(text, sizeof(text), "%s|%05d", partition, number);
    assert_found(setup, (struct bytes){position, (size_t)size}, text);
}

static inline void assert_directory_found(struct setup *setup, const struct directory *directory,
                                          int expected)
{
    int r = account_find_directory(setup->account, caller_of(setup), directory);
    assert_int_equal(r, expected);
    assert_int_equal(setup->caller.call.failure.error, expected);
}

/* A partition of one-letter key, or a table: 0 or -ENOENT. */
static inline void assert_partition_found(struct setup *setup, const char *key, int expected)
{
    char lo[] = {key[0], '\0'}, hi[] = {key[0], POSITION_AFTER[0]};
    struct directory directory = {
        .kind = DIRECTORY_ENTITIES, .table = "t", .range = {{lo, sizeof(lo)}, {hi, sizeof(hi)}}};
    assert_directory_found(setup, &directory, expected);
}

static inline void assert_table_found(struct setup *setup, const char *table, int expected)
{
    struct directory directory = {.kind = DIRECTORY_FLAT, .table = table, .range = RANGE_ALL};
    assert_directory_found(setup, &directory, expected);
}

#define P_ROW(key) B("p\0" key) /* a row's position */
#define ROWS_OF(key)                                                                               \
    (&(struct directory){                                                                          \
        .kind = DIRECTORY_ENTITIES, .table = "t", .range = {B(key "\0"), B(key POSITION_AFTER)}})
#define PARTITIONS_OF(name)                                                                        \
    (&(struct directory){.kind = DIRECTORY_FLAT, .table = (name), .range = RANGE_ALL})
#define TABLES (&(struct directory){.kind = DIRECTORY_TABLES, .range = RANGE_ALL})
/* The path of the first, by the directories that contain it. */
#define PATH_OF(...)                                                                               \
    (&(struct directory_path){.steps = (const struct directory[]){__VA_ARGS__},                    \
                              .n = ARRAY_SIZE(((const struct directory[]){__VA_ARGS__}))})

static inline struct listing *open_listing(struct setup *setup, const struct directory *directory)
{
    struct listing *listing = NULL;
    assert_int_equal(account_list(setup->account, directory, &listing), 0);
    return listing;
}

static inline int next_entry(struct setup *setup, struct listing *listing, uint64_t cookie,
                             bool names_suffice, struct listing_entry *ret)
{
    int r = listing_next(listing, caller_of(setup), cookie, names_suffice, true, ret);
    assert_int_equal(setup->caller.call.failure.error, MIN(r, 0));
    return r;
}

static inline void assert_end(struct setup *setup, struct listing *listing, uint64_t cookie)
{
    struct listing_entry entry;
    assert_int_equal(next_entry(setup, listing, cookie, false, &entry), 0);
}

/* The entry after `cookie` is the row of that number, with its text. */
static inline void assert_row(struct setup *setup, struct listing *listing, uint64_t cookie)
{
    struct listing_entry entry;
    char expected[8];
    (void)snprintf(expected, sizeof(expected), "%05d", (int)cookie);
    assert_int_equal(next_entry(setup, listing, cookie, false, &entry), 1);
    assert_int_equal(entry.kind, LISTING_ENTITY);
    assert_bytes(entry.key, bytes_of(expected));
    assert_int_equal(entry.cookie, cookie + 1);
    setup->shown_ms = entry.valid_ms;
    assert_non_null(entry.entity.page);
    assert_bytes(position_row_key(page_position(entry.entity.page, entry.entity.row)),
                 bytes_of(expected));
}

/* Reads a directory from begin to end; how many entries it has. */
static inline size_t list(struct setup *setup, const struct directory *directory,
                          bool names_suffice)
{
    struct listing *listing = open_listing(setup, directory);
    struct listing_entry entry = {0};
    size_t n = 0;
    int r;
    while ((r = next_entry(setup, listing, entry.cookie, names_suffice, &entry)) == 1)
        n++;
    assert_int_equal(r, 0);
    listing_close(listing);
    return n;
}

/* The value of a counter. */
static inline size_t metric(struct setup *setup, const char *name)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = 1 << 16};
    assert_int_equal(account_append_metrics(setup->account, &text), 0);
    char line[128];
    (void)snprintf(line, sizeof(line), "\n%s ", name);
    const char *value = strstr(buffer_string(&text), line);
    assert_non_null(value);
    size_t number = strtoull(value + strlen(line), NULL, 10);
    return number;
}

DEFINE_FIXTURE(account, struct setup, set_up(test, (struct setup_options){0}), tear_down(test))

#endif
