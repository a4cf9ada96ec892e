/* SPDX-License-Identifier: MIT */
/* Loading a local account in batches of 100, and reading it in pages of 1,000 rows, beside bare
 * SQLite writing the same bytes in the same transactions and copying the same pages, in one run:
 * load_bench DIRECTORY [ROWS]. Prints both rates and their ratio; the first is to be at least half
 * of the second. Prints the median time of a page, which is to be less than 0.5 ms. */
#include "client/base/clock.h"
#include "client/local/local_store.h"

#include <sqlite3.h>
#include <unistd.h>

#define BATCH  100
#define ROUNDS 3
#define WALKS  20 /* readings of all pages in a round */
#define PAGES  65536

struct rows { /* a batch */
    struct buffer positions, texts;
    struct write writes[BATCH];
};

static void fail(const char *what)
{
    (void)fprintf(stderr, "load_bench: %s\n", what);
    exit(1);
}

static void make_batch(uint64_t first, struct rows *rows)
{
    size_t ends[BATCH + 1][2] = {{0, 0}};
    buffer_clear(&rows->positions);
    buffer_clear(&rows->texts);
    for (size_t i = 0; i < BATCH; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "evt-%08llu", (unsigned long long)first + i);
        (void)position_append(&rows->positions, BYTES_LITERAL("all"), bytes_of(key));
        (void)buffer_append_format(&rows->texts,
                                   "{\n  \"PartitionKey\": \"all\",\n  \"RowKey\": \"%s\",\n"
                                   "  \"Name\": \"%0300llu\",\n  \"Row\": %llu\n}\n",
                                   key, (unsigned long long)first + i,
                                   ((unsigned long long)first + i) % 2147483648U);
        ends[i + 1][0] = rows->positions.size;
        ends[i + 1][1] = rows->texts.size;
    }
    if (rows->positions.error < 0 || rows->texts.error < 0)
        fail("out of memory");
    for (size_t i = 0; i < BATCH; i++)
        rows->writes[i] = (struct write){
            .kind = WRITE_INSERT,
            .position = {rows->positions.data + ends[i][0], ends[i + 1][0] - ends[i][0]},
            .text = {rows->texts.data + ends[i][1], ends[i + 1][1] - ends[i][1]}};
}

static double rate(uint64_t count, int64_t begin_ms)
{
    return (double)count * 1000 / (double)MAX(clock_now_ms(&clock_system) - begin_ms, 1);
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct times { /* of pages */
    double ms[PAGES];
    size_t count;
};

static void note_page(struct times *times, int64_t begin_ns)
{
    if (times->count < PAGES)
        times->ms[times->count++] = (double)(now_ns() - begin_ns) / 1e6;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(struct times *times)
{
    if (times->count == 0)
        fail("no page was read");
    qsort(times->ms, times->count, sizeof(times->ms[0]), compare_doubles);
    return times->ms[times->count / 2];
}

static double load_account(const char *path, uint64_t count, struct rows *rows)
{
    struct call call = {.deadline_ms = INT64_MAX};
    struct write_result results[BATCH];
    struct table_store *store;
    if (local_store_create(path, true, &clock_system, &call, &store) < 0 ||
        table_store_create_table(store, "load", &call) < 0)
        fail(call.failure.message);
    int64_t begin_ms = clock_now_ms(&clock_system);
    for (uint64_t first = 0; first < count; first += BATCH) {
        make_batch(first, rows);
        if (table_store_write(store, "load", rows->writes, BATCH, &call, results) < 0)
            fail(call.failure.message);
    }
    double result = rate(count, begin_ms);
    table_store_destroy(store);
    return result;
}

static void read_account(struct table_store *store, uint64_t count, struct times *times)
{
    struct call call = {.deadline_ms = INT64_MAX};
    struct query query = {.table = "load", .range = RANGE_ALL, .top = TABLE_STORE_PAGE_ROWS};
    struct continuation *after = NULL;
    uint64_t rows = 0;
    do {
        struct answer answer;
        int64_t begin_ns = now_ns();
        query.after = after;
        if (table_store_query(store, &query, &call, &answer) < 0)
            fail(call.failure.message);
        if (page_rows(answer.page) == TABLE_STORE_PAGE_ROWS)
            note_page(times, begin_ns);
        rows += page_rows(answer.page);
        continuation_destroy(after);
        after = TAKE_PTR(answer.next);
        answer_finish(&answer);
    } while (after);
    if (rows != count)
        fail("rows are missing");
}

static double page_ms_of_account(const char *path, uint64_t count)
{
    static struct times times;
    struct call call = {.deadline_ms = INT64_MAX};
    struct table_store *store;
    if (local_store_create(path, false, &clock_system, &call, &store) < 0)
        fail(call.failure.message);
    times.count = 0;
    for (int walk = 0; walk < WALKS; walk++)
        read_account(store, count, &times);
    table_store_destroy(store);
    return median(&times);
}

static void insert_batch(sqlite3 *database, sqlite3_stmt *insert, const struct rows *rows)
{
    int r = sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (size_t i = 0; i < BATCH && r == SQLITE_OK; i++) {
        const struct write *write = &rows->writes[i];
        (void)sqlite3_bind_blob64(insert, 1, write->position.data, write->position.size,
                                  SQLITE_STATIC);
        (void)sqlite3_bind_blob64(insert, 2, write->text.data, write->text.size, SQLITE_STATIC);
        r = sqlite3_step(insert) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
        (void)sqlite3_reset(insert);
    }
    if (r != SQLITE_OK || sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        fail(sqlite3_errmsg(database));
}

static double load_bare(const char *path, uint64_t count, struct rows *rows)
{
    sqlite3 *database;
    sqlite3_stmt *insert;
    if (sqlite3_open(path, &database) != SQLITE_OK ||
        sqlite3_exec(database,
                     "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                     "CREATE TABLE rows (position BLOB PRIMARY KEY, text BLOB) WITHOUT ROWID",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(database, "INSERT INTO rows VALUES (?, ?)", -1, &insert, NULL) !=
            SQLITE_OK)
        fail(sqlite3_errmsg(database));
    int64_t begin_ms = clock_now_ms(&clock_system);
    for (uint64_t first = 0; first < count; first += BATCH) {
        make_batch(first, rows);
        insert_batch(database, insert, rows);
    }
    double result = rate(count, begin_ms);
    (void)sqlite3_finalize(insert);
    (void)sqlite3_close(database);
    return result;
}

/* Copies positions and texts, as a page does. */
static void read_bare(sqlite3_stmt *select, struct buffer *page, struct times *times)
{
    int64_t begin_ns = now_ns();
    for (size_t row = 1; sqlite3_step(select) == SQLITE_ROW; row++) {
        for (int column = 0; column < 2; column++) {
            const char *data = sqlite3_column_blob(select, column);
            size_t size = (size_t)sqlite3_column_bytes(select, column);
            (void)buffer_append(page, (struct bytes){data, size});
        }
        if (row % TABLE_STORE_PAGE_ROWS != 0)
            continue;
        note_page(times, begin_ns);
        begin_ns = now_ns();
        buffer_clear(page);
    }
    (void)sqlite3_reset(select);
}

static double page_ms_of_bare(const char *path)
{
    static struct times times;
    sqlite3 *database;
    sqlite3_stmt *select;
    struct buffer page;
    buffer_init(&page, (size_t)4 << 20);
    times.count = 0;
    if (sqlite3_open(path, &database) != SQLITE_OK ||
        sqlite3_prepare_v2(database, "SELECT position, text FROM rows ORDER BY position", -1,
                           &select, NULL) != SQLITE_OK)
        fail(sqlite3_errmsg(database));
    for (int walk = 0; walk < WALKS; walk++)
        read_bare(select, &page, &times);
    buffer_finish(&page);
    (void)sqlite3_finalize(select);
    (void)sqlite3_close(database);
    return median(&times);
}

static void remove_file(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
        char name[4096];
        (void)snprintf(name, sizeof(name), "%s%s", path, endings[i]);
        (void)unlink(name);
    }
}

int main(int argc, char **argv)
{
    uint64_t count = 100000;
    char path[4000];
    struct rows rows;
    if (argc < 2 || (argc > 2 && !bytes_parse_unsigned(bytes_of(argv[2]), UINT32_MAX, &count)))
        fail("usage: load_bench DIRECTORY [ROWS]");
    buffer_init(&rows.positions, (size_t)1 << 20);
    buffer_init(&rows.texts, (size_t)1 << 20);
    for (int round = 0; round < ROUNDS; round++) {
        (void)snprintf(path, sizeof(path), "%s/load_bench.tablefuse", argv[1]);
        remove_file(path);
        double account = load_account(path, count, &rows);
        double account_page_ms = page_ms_of_account(path, count);
        remove_file(path);
        double bare = load_bare(path, count, &rows);
        double bare_page_ms = page_ms_of_bare(path);
        remove_file(path);
        (void)printf("local account %.0f rows/s, bare SQLite %.0f rows/s, ratio %.2f\n", account,
                     bare, account / bare);
        (void)printf("a page of 1,000 rows: local account %.3f ms, bare SQLite %.3f ms\n",
                     account_page_ms, bare_page_ms);
    }
    buffer_finish(&rows.positions);
    buffer_finish(&rows.texts);
    return 0;
}
