/* SPDX-License-Identifier: MIT */
#include "client/local/local_writer.h"
#include "client/local/local_open.h"
#include "tests/unit/local_account.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#define WRITERS 8

/* What each thread does to the writer: adds a table, and is asked about by others. */
struct adder {
    struct local_change change; /* first */
    struct local_writer *writer;
    struct call call;
    pthread_t thread, maker; /* the caller, and the thread that made its change */
    const char *table;
    int made;        /* times */
    int error;       /* what make answers after the table was added */
    bool is_waiting; /* for `go`, inside the transaction */
    bool breaks;     /* ends the transaction when others are in it, as SQLite does at its worst */
    _Atomic bool go, is_inside, is_cancelled,
        waits; /* waits: it was asked whether it is cancelled */
    int result;
};

static int execute(struct local_connection *connection, enum local_statement which,
                   const char *table)
{
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(connection, which);
    (void)sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    return local_connection_step(connection, statement);
}

static int add(struct local_change *change, struct local_transaction *transaction)
{
    struct adder *adder = (struct adder *)change;
    adder->made++;
    adder->maker = pthread_self();
    atomic_store(&adder->is_inside, true);
    while (adder->is_waiting && !atomic_load(&adder->go))
        (void)usleep(1000);
    int r = execute(transaction->connection, LOCAL_CREATE_TABLE, adder->table);
    if (adder->breaks && adder->made == 1) {
        (void)execute(transaction->connection, LOCAL_ROLLBACK, "");
        return call_fail(change->call, -EIO, "broken");
    }
    return r == 0 && adder->error < 0 ? call_fail(change->call, adder->error, "refused") : r;
}

/* Asked of a change that waits for the one inside. */
static bool adder_is_cancelled(void *context)
{
    struct adder *adder = context;
    atomic_store(&adder->waits, true);
    return atomic_load(&adder->is_cancelled);
}

static void *run_adder(void *context)
{
    struct adder *adder = context;
    adder->result = local_writer_make(adder->writer, &adder->change);
    return NULL;
}

static void start_adder(struct adder *adder, struct local_writer *writer, const char *table)
{
    adder->call = some_call();
    adder->call.is_cancelled = adder_is_cancelled;
    adder->call.context = adder;
    adder->change = (struct local_change){.make = add, .call = &adder->call};
    adder->writer = writer;
    adder->table = table;
    assert_int_equal(pthread_create(&adder->thread, NULL, run_adder, adder), 0);
}

static struct local_writer *open_writer(const char *path)
{
    struct call call = some_call();
    struct local_connection *connection;
    struct local_writer *writer;
    table_store_destroy(open_account(path));
    assert_int_equal(local_open(path, LOCAL_ACCESS_EXISTING, &clock_system, &call, &connection), 0);
    assert_int_equal(local_writer_create(connection, &clock_system, &writer), 0);
    return writer;
}

static const char *const names[WRITERS] = {"aaa", "bbb", "ccc", "ddd", "eee", "fff", "ggg", "hhh"};

/* The first is inside its transaction while the others come to wait for it. */
static void run_together(struct local_writer *writer, struct adder adders[WRITERS])
{
    adders[0].is_waiting = true;
    start_adder(&adders[0], writer, names[0]);
    while (!atomic_load(&adders[0].is_inside))
        (void)usleep(1000);
    for (size_t i = 1; i < WRITERS; i++)
        start_adder(&adders[i], writer, names[i]);
    for (size_t i = 1; i < WRITERS; i++)
        while (!atomic_load(&adders[i].waits))
            (void)usleep(1000);
    atomic_store(&adders[0].go, true);
    for (size_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_join(adders[i].thread, NULL), 0);
}

static int64_t count_tables(const char *path)
{
    return run_sql(path, "SELECT count(*) FROM tables");
}

static void changes_that_wait_are_made_by_one(void **state)
{
    _cleanup_(local_writer_destroyp) struct local_writer *writer = open_writer(*state);
    struct adder adders[WRITERS] = {0};
    run_together(writer, adders);
    assert_true(pthread_equal(adders[0].maker, adders[0].thread));
    for (size_t i = 0; i < WRITERS; i++) {
        assert_int_equal(adders[i].result, 0);
        assert_int_equal(adders[i].made, 1);
        assert_true(i == 0 || pthread_equal(adders[i].maker, adders[1].maker));
    }
    assert_int_equal(count_tables(*state), WRITERS);
}

static void one_that_fails_is_undone_alone(void **state)
{
    _cleanup_(local_writer_destroyp) struct local_writer *writer = open_writer(*state);
    struct adder adders[WRITERS] = {0};
    adders[3].error = -EINVAL;
    adders[5].error = -ESTALE;
    run_together(writer, adders);
    for (size_t i = 0; i < WRITERS; i++) {
        assert_int_equal(adders[i].result, adders[i].error);
        assert_int_equal(adders[i].made, 1);
        assert_int_equal(adders[i].call.failure.error, adders[i].error);
    }
    assert_int_equal(count_tables(*state), WRITERS - 2);
}

static void a_commit_that_breaks_is_made_again_one_by_one(void **state)
{
    _cleanup_(local_writer_destroyp) struct local_writer *writer = open_writer(*state);
    struct adder adders[WRITERS] = {0};
    adders[4].breaks = true;
    run_together(writer, adders);
    for (size_t i = 0; i < WRITERS; i++)
        assert_int_equal(adders[i].result, 0);
    assert_int_equal(adders[4].made, 2);
    assert_int_equal(count_tables(*state), WRITERS);
}

static void one_that_breaks_by_itself_fails(void **state)
{
    _cleanup_(local_writer_destroyp) struct local_writer *writer = open_writer(*state);
    struct adder adder = {.breaks = true}, next = {0};
    start_adder(&adder, writer, "aaa");
    assert_int_equal(pthread_join(adder.thread, NULL), 0);
    assert_int_equal(adder.result, -EIO);
    assert_string_equal(adder.call.failure.message, "broken");
    start_adder(&next, writer, "bbb");
    assert_int_equal(pthread_join(next.thread, NULL), 0);
    assert_int_equal(next.result, 0);
    assert_int_equal(count_tables(*state), 1);
}

static void a_change_that_waits_may_leave_and_one_that_was_taken_may_not(void **state)
{
    _cleanup_(local_writer_destroyp) struct local_writer *writer = open_writer(*state);
    struct adder first = {.is_waiting = true}, second = {0}, third = {0};
    start_adder(&first, writer, "aaa");
    while (!atomic_load(&first.is_inside))
        (void)usleep(1000);
    start_adder(&second, writer, "bbb");
    start_adder(&third, writer, "ccc");
    atomic_store(&first.is_cancelled, true);
    atomic_store(&second.is_cancelled, true);
    assert_int_equal(pthread_join(second.thread, NULL), 0);
    assert_int_equal(second.result, -EINTR);
    assert_int_equal(second.call.failure.error, -EINTR);
    assert_int_equal(second.made, 0);
    atomic_store(&first.go, true);
    assert_int_equal(pthread_join(first.thread, NULL), 0);
    assert_int_equal(pthread_join(third.thread, NULL), 0);
    assert_int_equal(first.result, 0);
    assert_int_equal(third.result, 0);
    assert_int_equal(count_tables(*state), 2);
}

static void another_program_s_lock_is_waited_for(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct write_result result;
    _cleanup_(row_write_finish) struct row_write row = make_write(WRITE_INSERT, "p", "r", "", "");
    sqlite3 *other;
    insert_row(store, "0", "");
    assert_int_equal(sqlite3_open(*state, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    struct call call = call_for_ms(100);
    assert_int_equal(table_store_write(store, "items", &row.write, 1, &call, &result), -ETIMEDOUT);
    assert_true(call.failure.message[0] != '\0');
    assert_int_equal(count_all(store), 1); /* readers do not wait */
    struct adder cancel = {.is_cancelled = true};
    call = some_call();
    call.is_cancelled = adder_is_cancelled;
    call.context = &cancel;
    assert_int_equal(table_store_write(store, "items", &row.write, 1, &call, &result), -EINTR);
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(other);
    call = call_for_ms(10000);
    assert_int_equal(table_store_write(store, "items", &row.write, 1, &call, &result), 0);
}

/* The clock stands, goes back, and stands in two stores; each version is a new one all the same. */
static void timestamps_grow_whatever_the_clock_does(void **state)
{
    int64_t now_ms[2] = {1704164645123, 1704164645123};
    struct clock clocks[2] = {fake_clock(&now_ms[0]), fake_clock(&now_ms[1])};
    struct table_store *stores[2];
    _cleanup_(row_write_finish) struct row_write row =
        make_write(WRITE_UPSERT_REPLACE, "p", "r", "", "");
    _cleanup_(row_write_finish) struct row_write gone = make_write(WRITE_DELETE, "p", "r", "", "*");
    int64_t last = 0;
    table_store_destroy(open_with_table(*state));
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 2; i++)
            stores[i] = open_account_at(*state, &clocks[i]);
        for (int i = 0; i < 40; i++) {
            struct call call = {.deadline_ms = INT64_MAX};
            struct write_result result;
            assert_int_equal(
                table_store_write(stores[i % 2], "items", &row.write, 1, &call, &result), 0);
            assert_true(result.timestamp > last);
            last = result.timestamp;
            if (i % 5 == 0)
                assert_int_equal(
                    table_store_write(stores[0], "items", &gone.write, 1, &call, &result), 0);
            if (i % 7 == 0)
                now_ms[1] -= 1000000;
        }
        for (int i = 0; i < 2; i++)
            table_store_destroy(stores[i]);
    }
    now_ms[0] = last / TICKS_PER_MS + 5;
    stores[0] = open_account_at(*state, &clocks[0]);
    struct call call = {.deadline_ms = INT64_MAX};
    struct write_result result;
    assert_int_equal(table_store_write(stores[0], "items", &row.write, 1, &call, &result), 0);
    assert_int_equal(result.timestamp, now_ms[0] * TICKS_PER_MS);
    table_store_destroy(stores[0]);
}

struct worker {
    pthread_t thread;
    struct table_store *store;
    int number, failures, conflicts;
};

#define ROUNDS 25

/* Adds one to a number that others change as well, and rows of its own. */
static void *count_up(void *context)
{
    struct worker *worker = context;
    for (int i = 0; i < ROUNDS; i++) {
        char key[32];
        struct call call;
        (void)snprintf(key, sizeof(key), "%d-%d", worker->number, i);
        worker->failures += write_row(worker->store, WRITE_INSERT, key, "", "", &call, NULL) < 0;
        for (int r = -ESTALE; r == -ESTALE;) {
            char lines[64], etag[64];
            struct page *page = get_row(worker->store, "counter");
            int64_t value = 0;
            struct bytes text = page_text(page, 0);
            const char *begin = bytes_find(text, B("\"N\": "));
            (void)sscanf(begin, "\"N\": %" SCNd64, &value);
            (void)snprintf(lines, sizeof(lines), "\"N\": %" PRId64, value + 1);
            (void)snprintf(etag, sizeof(etag), "%.*s", (int)page_etag(page, 0).size,
                           page_etag(page, 0).data);
            page_unref(page);
            r = write_row(worker->store, WRITE_REPLACE, "counter", lines, etag, &call, NULL);
            worker->conflicts += r == -ESTALE;
            worker->failures += r < 0 && r != -ESTALE;
        }
    }
    return NULL;
}

static void no_change_is_lost_among_threads(void **state)
{
    struct table_store *stores[2] = {open_with_table(*state), open_account(*state)};
    struct worker workers[12] = {0};
    insert_row(stores[0], "counter", "\"N\": 0");
    for (int i = 0; i < (int)ARRAY_SIZE(workers); i++) {
        workers[i].store = stores[i % 2];
        workers[i].number = i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, count_up, &workers[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(workers); i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].failures, 0);
    }
    assert_row(stores[1], "counter", "\"N\": 300");
    assert_int_equal(count_all(stores[0]), 301);
    assert_int_equal(run_sql(*state, "SELECT count(DISTINCT timestamp) FROM entities"), 301);
    table_store_destroy(stores[0]);
    table_store_destroy(stores[1]);
}

static _Atomic bool is_over;

static void *read_all_the_time(void *context)
{
    struct worker *worker = context;
    do {                                     /* at least once, however busy the machine is */
        int rows = count_all(worker->store); /* batches of 100 are seen whole */
        worker->failures += rows < 0 || rows % 100 != 0;
        worker->conflicts++;
    } while (!atomic_load(&is_over));
    return NULL;
}

/* More threads than connections. */
static void readers_see_whole_batches(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct worker readers[20] = {0};
    atomic_store(&is_over, false);
    for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
        readers[i].store = store;
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_all_the_time, &readers[i]),
                         0);
    }
    insert_rows(store, "", 900, "\"A\": 1"); /* one page, so one version */
    atomic_store(&is_over, true);
    for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
        assert_int_equal(readers[i].failures, 0);
        assert_true(readers[i].conflicts > 0);
    }
    assert_int_equal(count_all(store), 900);
}

static int acknowledged_to; /* of the child: where it tells what was acknowledged */

/* Batches of 50, by four threads, until it is killed. */
static void *load(void *context)
{
    struct worker *worker = context;
    for (int batch = 0;; batch++) {
        struct row_write rows[50];
        struct write writes[50];
        struct write_result results[50];
        for (int i = 0; i < 50; i++) {
            char key[48];
            (void)snprintf(key, sizeof(key), "%d-%d-%08d-%d", (int)getpid(), worker->number, batch,
                           i);
            rows[i] = make_write(WRITE_INSERT, "p", key, "\"A\": \"some text\"", "");
            writes[i] = rows[i].write;
        }
        struct call call = some_call();
        if (table_store_write(worker->store, "items", writes, 50, &call, results) < 0)
            _exit(1);
        int acknowledged[2] = {worker->number, batch};
        if (write(acknowledged_to, acknowledged, sizeof(acknowledged)) != sizeof(acknowledged))
            _exit(2);
        for (int i = 0; i < 50; i++)
            row_write_finish(&rows[i]);
    }
    return NULL;
}

static int load_until_killed(const char *path)
{
    struct worker workers[4] = {0};
    struct call call = some_call();
    struct table_store *store;
    if (local_store_create(path, true, &clock_system, &call, &store) < 0)
        return 1;
    for (int i = 0; i < 4; i++) {
        workers[i].store = store;
        workers[i].number = i;
        (void)pthread_create(&workers[i].thread, NULL, load, &workers[i]);
    }
    for (;;)
        (void)pause();
}

/* All rows of one child's thread and batch: 0 or 50. */
static int count_batch(const char *path, pid_t child, int number, int batch)
{
    char sql[256];
    (void)snprintf(sql, sizeof(sql),
                   "SELECT count(*) FROM entities"
                   " WHERE position > CAST('p' || x'00' || '%d-%d-%08d-' AS BLOB)"
                   " AND position < CAST('p' || x'00' || '%d-%d-%08d.' AS BLOB)",
                   (int)child, number, batch, (int)child, number, batch);
    return (int)run_sql(path, sql);
}

static void check_after_kill(const char *path, pid_t child, int pipe_end)
{
    int acknowledged[2], last[4] = {-1, -1, -1, -1};
    while (read(pipe_end, acknowledged, sizeof(acknowledged)) == sizeof(acknowledged))
        last[acknowledged[0]] = acknowledged[1];
    for (int number = 0; number < 4; number++) {
        for (int batch = 0; batch <= last[number]; batch++)
            assert_int_equal(count_batch(path, child, number, batch), 50);
        int next = count_batch(path, child, number, last[number] + 1);
        assert_true(next == 0 || next == 50); /* made, and killed before it could tell */
        assert_int_equal(count_batch(path, child, number, last[number] + 2), 0);
    }
}

static void what_was_acknowledged_survives_a_kill(void **state)
{
    const char *path = *state;
    unsigned chance = 12345;
    table_store_destroy(open_with_table(path));
    for (int round = 0; round < 8; round++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        acknowledged_to = ends[1];
        pid_t child = start_child(load_until_killed, path);
        assert_int_equal(close(ends[1]), 0);
        /* a busy machine may let it commit nothing in a short time */
        struct pollfd told = {.fd = ends[0], .events = POLLIN};
        if (round % 2)
            assert_int_equal(poll(&told, 1, 60000), 1);
        chance = chance * 1103515245 + 12345;
        (void)usleep(20000 + chance / 65536 % 200000);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(wait_for_child(child), -1);
        struct table_store *store = open_account(path);
        insert_row(store, "after", "");
        assert_row(store, "after", "");
        struct call call;
        assert_int_equal(write_row(store, WRITE_DELETE, "after", "", "*", &call, NULL), 0);
        table_store_destroy(store);
        check_after_kill(path, child, ends[0]);
        assert_int_equal(close(ends[0]), 0);
    }
    assert_int_equal(run_sql(path, "SELECT count(*) % 50 FROM entities"), 0);
    assert_true(run_sql(path, "SELECT count(*) > 100 FROM entities") == 1);
    assert_int_equal(run_sql(path, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(changes_that_wait_are_made_by_one),
        WITH_FOLDER(one_that_fails_is_undone_alone),
        WITH_FOLDER(a_commit_that_breaks_is_made_again_one_by_one),
        WITH_FOLDER(one_that_breaks_by_itself_fails),
        WITH_FOLDER(a_change_that_waits_may_leave_and_one_that_was_taken_may_not),
        WITH_FOLDER(another_program_s_lock_is_waited_for),
        WITH_FOLDER(timestamps_grow_whatever_the_clock_does),
        WITH_FOLDER(no_change_is_lost_among_threads),
        WITH_FOLDER(readers_see_whole_batches),
        WITH_FOLDER(what_was_acknowledged_survives_a_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
