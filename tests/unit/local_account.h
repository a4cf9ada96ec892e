/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_LOCAL_ACCOUNT_H
#define TESTS_UNIT_LOCAL_ACCOUNT_H
/* What the tests of client/local share: an account's file in a folder of its own, and short ways to
 * write and read entities whose keys need no escapes. */
#include "client/local/local_checksum.h"
#include "client/local/local_store.h"
#include "tests/unit/unit.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY         65534
#define TEXT_MAX_BYTES ((size_t)8 << 20)

static inline struct call call_for_ms(int64_t ms)
{
    return (struct call){.deadline_ms = clock_now_ms(&clock_system) + ms};
}

static inline struct call some_call(void)
{
    return call_for_ms(30000);
}

/* cmocka's setup: *state is the path of a file that does not exist yet. */
static inline int make_folder(void **state)
{
    const char *parent = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char *path = malloc(4096);
    (void)snprintf(path, 4000, "%s/local-XXXXXX", parent);
    if (!mkdtemp(path))
        return -1;
    (void)snprintf(path + strlen(path), 90, "/account");
    *state = path;
    return 0;
}

static inline int remove_folder(void **state)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal", ".other", ".other-wal"};
    char path[4200];
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", (char *)*state, ends[i]);
        (void)unlink(path);
    }
    *strrchr(*state, '/') = '\0';
    int r = rmdir(*state);
    free(*state);
    return r;
}

/* Sets the mode of the file. As root it also gives the file and its folder to the user `nobody`:
 * permissions do not apply to root, so the test then runs as that user. */
static inline void give_to_nobody(const char *path, mode_t mode)
{
    char folder[4200];
    (void)snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    assert_non_null(slash);
    if (slash)
        *slash = '\0';
    assert_int_equal(chmod(path, mode), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, NOBODY, NOBODY), 0);
        assert_int_equal(chown(folder, NOBODY, NOBODY), 0);
    }
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

static inline struct table_store *open_account_at(const char *path, const struct clock *clock)
{
    struct call call = some_call();
    struct table_store *store;
    call.deadline_ms = clock_now_ms(clock) + 30000;
    int r = local_store_create(path, true, clock, &call, &store);
    if (r < 0)
        fail_msg("%s: %d %s", path, r, call.failure.message);
    return store;
}

static inline struct table_store *open_account(const char *path)
{
    return open_account_at(path, &clock_system);
}

/* An account with a table. */
static inline struct table_store *open_with_table(const char *path)
{
    struct table_store *store = open_account(path);
    struct call call = some_call();
    assert_int_equal(table_store_create_table(store, "items", &call), 0);
    return store;
}

struct row_write { /* a write with what it points to */
    struct write write;
    struct buffer position, text;
};

static inline void row_write_finish(struct row_write *row)
{
    buffer_finish(&row->position);
    buffer_finish(&row->text);
}

/* lines: the text's lines of properties; "": none. */
static inline void append_text(struct buffer *ret, const char *partition_key, const char *row_key,
                               const char *lines)
{
    (void)buffer_append_format(ret, "{\n  \"PartitionKey\": \"%s\",\n  \"RowKey\": \"%s\"",
                               partition_key, row_key);
    if (lines[0])
        (void)buffer_append_format(ret, ",\n  %s", lines);
    (void)buffer_append_string(ret, "\n}\n");
}

static inline struct row_write make_write(enum write_kind kind, const char *partition_key,
                                          const char *row_key, const char *lines,
                                          const char *if_match)
{
    struct row_write row = {.write = {.kind = kind, .if_match = bytes_of(if_match)}};
    buffer_init(&row.position, TEXT_MAX_BYTES);
    buffer_init(&row.text, TEXT_MAX_BYTES);
    assert_int_equal(position_append(&row.position, bytes_of(partition_key), bytes_of(row_key)), 0);
    if (kind != WRITE_DELETE)
        append_text(&row.text, partition_key, row_key, lines);
    row.write.position = buffer_bytes(&row.position);
    row.write.text = buffer_bytes(&row.text);
    return row;
}

/* One write in partition p; ret may be NULL. */
static inline int write_row(struct table_store *store, enum write_kind kind, const char *row_key,
                            const char *lines, const char *if_match, struct call *call,
                            struct write_result *ret)
{
    struct write_result result;
    struct row_write row = make_write(kind, "p", row_key, lines, if_match);
    *call = some_call();
    int r = table_store_write(store, "items", &row.write, 1, call, ret ? ret : &result);
    row_write_finish(&row);
    return r;
}

static inline void insert_row(struct table_store *store, const char *row_key, const char *lines)
{
    struct call call;
    int r = write_row(store, WRITE_INSERT, row_key, lines, "", &call, NULL);
    if (r < 0)
        fail_msg("%d %s", r, call.failure.message);
}

/* `n` rows PREFIX000000, PREFIX000001... of partition p, in batches, each with these lines. */
static inline void insert_rows(struct table_store *store, const char *prefix, int n,
                               const char *lines)
{
    struct row_write rows[100];
    struct write writes[100];
    struct write_result results[100];
    for (int done = 0, batch; done < n; done += batch) {
        batch = MIN(n - done, 100);
        for (int i = 0; i < batch; i++) {
            char key[64];
            (void)snprintf(key, sizeof(key), "%s%06d", prefix, done + i);
            rows[i] = make_write(WRITE_INSERT, "p", key, lines, "");
            writes[i] = rows[i].write;
        }
        struct call call = some_call();
        assert_int_equal(table_store_write(store, "items", writes, (size_t)batch, &call, results),
                         0);
        for (int i = 0; i < batch; i++)
            row_write_finish(&rows[i]);
    }
}

/* A page with a row of partition p. NULL: the row does not exist. */
static inline struct page *get_row(struct table_store *store, const char *row_key)
{
    struct call call = some_call();
    struct page *page = NULL;
    struct row_write row = make_write(WRITE_DELETE, "p", row_key, "", "*");
    int r = table_store_get(store, "items", row.write.position, &call, &page);
    row_write_finish(&row);
    if (r < 0 && r != -ENOENT)
        fail_msg("%d %s", r, call.failure.message);
    return page;
}

static inline void assert_row(struct table_store *store, const char *row_key, const char *lines)
{
    struct buffer text;
    struct page *page = get_row(store, row_key);
    assert_non_null(page);
    buffer_init(&text, TEXT_MAX_BYTES);
    append_text(&text, "p", row_key, lines);
    assert_bytes(page_text(page, 0), buffer_bytes(&text));
    buffer_finish(&text);
    page_unref(page);
}

static inline void assert_no_row(struct table_store *store, const char *row_key)
{
    struct page *page = get_row(store, row_key);
    assert_null(page);
    page_unref(page);
}

static inline struct query whole_table(void)
{
    return (struct query){.table = "items", .range = RANGE_ALL, .top = 1000};
}

/* Reads one page. Answers the number of its rows, or -errno. */
static inline int query_page(struct table_store *store, const struct query *query,
                             struct call *call, struct continuation **ret_next)
{
    struct answer answer;
    int r = table_store_query(store, query, call, &answer);
    if (r < 0)
        return r;
    r = (int)page_rows(answer.page);
    *ret_next = answer.next;
    page_unref(answer.page);
    return r;
}

/* Reads all pages. Answers the number of rows, or -errno. ret_pages may be NULL. */
static inline int count_rows(struct table_store *store, struct query query, size_t *ret_pages,
                             struct call *call)
{
    struct continuation *next = NULL, *after;
    int rows = 0, r;
    size_t pages = 0;
    do {
        after = next;
        next = NULL;
        query.after = after;
        r = query_page(store, &query, call, &next);
        continuation_destroy(after);
        rows += MAX(r, 0);
        pages++;
    } while (next);
    if (ret_pages)
        *ret_pages = pages;
    return r < 0 ? r : rows;
}

static inline int count_all(struct table_store *store)
{
    struct call call = some_call();
    return count_rows(store, whole_table(), NULL, &call);
}

static inline void assert_refused(int r, const struct call *call, int error, int http_status,
                                  const char *code)
{
    assert_int_equal(r, error);
    assert_int_equal(call->failure.error, error);
    assert_int_equal(call->failure.http_status, http_status);
    assert_string_equal(call->failure.code, code);
    assert_true(call->failure.message[0] != '\0');
    assert_null(strchr(call->failure.message, '\n'));
}

/* SQL on the file, beside the store, with the function checksum(). */
static inline int64_t run_sql(const char *path, const char *sql)
{
    sqlite3 *database;
    sqlite3_stmt *statement;
    int64_t ret = 0;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(local_checksum_register(database), SQLITE_OK);
    (void)sqlite3_busy_timeout(database, 10000);
    for (const char *rest = sql; *rest;) {
        assert_int_equal(sqlite3_prepare_v2(database, rest, -1, &statement, &rest), SQLITE_OK);
        int code = sqlite3_step(statement);
        assert_true(code == SQLITE_ROW || code == SQLITE_DONE);
        if (code == SQLITE_ROW)
            ret = sqlite3_column_int64(statement, 0);
        (void)sqlite3_finalize(statement);
    }
    (void)sqlite3_close(database);
    return ret;
}

/* Runs the function in a process of its own, without this one's open accounts; cmocka's asserts do
 * not work there. */
static inline pid_t start_child(int (*run)(const char *path), const char *path)
{
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(run(path));
    assert_true(child > 0);
    return child;
}

static inline int wait_for_child(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
