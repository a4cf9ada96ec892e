/* Loading a local account in batches of 100, beside bare SQLite inserting the same bytes in the
 * same transactions, in one run: load_bench DIRECTORY [ROWS]. Prints both rates and their ratio;
 * the first is to be at least half of the second. */
#include "client/clock.h"
#include "client/local/local_store.h"

#include <sqlite3.h>
#include <unistd.h>

#define BATCH  100
#define ROUNDS 3

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
        remove_file(path);
        double bare = load_bare(path, count, &rows);
        remove_file(path);
        (void)printf("local account %.0f rows/s, bare SQLite %.0f rows/s, ratio %.2f\n", account,
                     bare, account / bare);
    }
    buffer_finish(&rows.positions);
    buffer_finish(&rows.texts);
    return 0;
}
