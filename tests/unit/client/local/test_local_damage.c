/* SPDX-License-Identifier: MIT */
/* An account's file is damaged at random: bytes are changed, sectors zeroed, pages swapped or
 * written to a wrong place. Every answer is then either exactly right or -EIO: no text is changed,
 * no listing is short, nothing is absent. It stays so when tables are created, written to and
 * dropped in the damaged file. test_local_damage [HOW_OFTEN [SEED]] prints what it saw. */
#include "client/local/local_schema.h"
#include "tests/unit/local_account.h"

#include <fcntl.h>

#define PAGE_BYTES   LOCAL_SCHEMA_PAGE_BYTES
#define SECTOR_BYTES 512
#define TABLES       3
#define FILE_MAX     ((size_t)4 << 20)

static int how_often = TRIALS(100); /* for each of the three ways below */
static uint64_t seed = 1;

static uint64_t next_random(void) /* splitmix64 */
{
    uint64_t z = seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static size_t random_below(size_t n)
{
    return (size_t)(next_random() % n);
}

static const char *const table_names[TABLES] = {"alpha", "beta", "gamma"};

struct truth { /* what the account holds */
    struct page *pages[TABLES];
};

struct tally {
    int right, refused, wrong;
};

static struct row_write make_row(const char *partition_key, int number, size_t long_text)
{
    struct buffer lines;
    char key[32];
    buffer_init(&lines, TEXT_MAX_BYTES);
    (void)snprintf(key, sizeof(key), "row%05d", number);
    (void)buffer_append_format(&lines, "\"N\": %d", number);
    if (long_text > 0 && number % 7 == 0)
        (void)buffer_append_format(&lines, ",\n  \"Text\": \"%0*d\"", (int)long_text + number,
                                   number);
    struct row_write row =
        make_write(WRITE_UPSERT_REPLACE, partition_key, key, buffer_string(&lines), "");
    buffer_finish(&lines);
    return row;
}

/* At most 100 rows, in one batch; each seventh has a long text. */
static void write_rows(struct table_store *store, const char *table, const char *partition_key,
                       int first, int n, size_t long_text)
{
    struct row_write rows[100];
    struct write writes[100];
    struct write_result results[100];
    struct call call = some_call();
    for (int i = 0; i < n; i++) {
        rows[i] = make_row(partition_key, first + i, long_text);
        writes[i] = rows[i].write;
    }
    assert_int_equal(table_store_write(store, table, writes, (size_t)n, &call, results), 0);
    for (int i = 0; i < n; i++)
        row_write_finish(&rows[i]);
}

static void fill(struct table_store *store)
{
    for (size_t i = 0; i < TABLES; i++) {
        struct call call = some_call();
        int r = table_store_create_table(store, table_names[i], &call);
        assert_true(r == 0 || r == -EEXIST);
    }
    write_rows(store, "alpha", "p", 0, 70, 9000);
    write_rows(store, "alpha", "q", 0, 30, 300);
    write_rows(store, "alpha", "r", 0, 1, 0);
    for (int first = 0; first < 300; first += 100)
        write_rows(store, "beta", "only", first, 100, 0);
    write_rows(store, "gamma", "z", 0, 2, 30000);
}

static void read_truth(struct table_store *store, struct truth *ret)
{
    for (size_t i = 0; i < TABLES; i++) {
        struct query query = {.table = table_names[i], .range = RANGE_ALL, .top = 1000};
        struct answer answer;
        struct call call = some_call();
        assert_int_equal(table_store_query(store, &query, &call, &answer), 0);
        assert_null(answer.next);
        ret->pages[i] = answer.page;
    }
}

static void truth_finish(struct truth *truth)
{
    for (size_t i = 0; i < TABLES; i++)
        page_unref(truth->pages[i]);
}

static void count(struct tally *tally, int r, bool is_right, const char *what)
{
    if (is_right) {
        tally->right++;
    } else if (r == -EIO) {
        tally->refused++;
    } else {
        tally->wrong++;
        print_error("%s: %d\n", what, r);
    }
}

static bool is_row(const struct page *page, size_t row, const struct page *expected, size_t at,
                   bool keys_only)
{
    return at < page_rows(expected) &&
           bytes_equal(page_position(page, row), page_position(expected, at)) &&
           bytes_equal(page_etag(page, row), page_etag(expected, at)) &&
           (keys_only || bytes_equal(page_text(page, row), page_text(expected, at)));
}

/* All pages of a table. Each row must be the one that is expected, up to an error. */
static void ask_all(struct table_store *store, size_t table, const struct page *expected, int top,
                    bool keys_only, struct tally *tally)
{
    struct query query = {
        .table = table_names[table], .range = RANGE_ALL, .top = top, .keys_only = keys_only};
    struct answer answer = {0};
    size_t at = 0;
    bool is_right = true;
    int r;
    do {
        struct answer last = answer;
        struct call call = some_call();
        answer = (struct answer){0};
        query.after = last.next;
        r = table_store_query(store, &query, &call, &answer);
        for (size_t row = 0; r == 0 && row < page_rows(answer.page); row++, at++)
            is_right = is_right && is_row(answer.page, row, expected, at, keys_only);
        answer_finish(&last);
    } while (r == 0 && answer.next);
    answer_finish(&answer);
    if (!is_right)
        r = 0; /* wrong, even if an error follows */
    count(tally, r, is_right && r == 0 && at == page_rows(expected), "listing");
}

static void ask_each(struct table_store *store, size_t table, const struct page *expected,
                     struct tally *tally)
{
    for (size_t row = 0; row < page_rows(expected); row++) {
        struct call call = some_call();
        _cleanup_(page_unrefp) struct page *page = NULL;
        int r =
            table_store_get(store, table_names[table], page_position(expected, row), &call, &page);
        count(tally, r, r == 0 && is_row(page, 0, expected, row, false), "get");
    }
}

static void ask_absent(struct table_store *store, struct tally *tally)
{
    static const char *const absent[] = {"p\0row00000x", "only\0row00150x", "zz\0row00000x"};
    for (size_t i = 0; i < ARRAY_SIZE(absent); i++) {
        struct call call = some_call();
        _cleanup_(page_unrefp) struct page *page = NULL;
        struct bytes position = {absent[i], strlen(absent[i]) + sizeof("row00000x")};
        int r = table_store_get(store, table_names[i], position, &call, &page);
        count(tally, r, r == -ENOENT, "get of what is absent");
    }
}

static void ask_tables(struct table_store *store, struct tally *tally)
{
    struct table_names names;
    _cleanup_(continuation_destroyp) struct continuation *next = NULL;
    struct call call = some_call();
    buffer_init(&names.names, 1000);
    int r = table_store_list_tables(store, NULL, NULL, &call, &names, &next);
    count(tally, r, r == 0 && bytes_equal(buffer_bytes(&names.names), B("alpha\0beta\0gamma\0")),
          "tables");
    buffer_finish(&names.names);
}

static void ask_everything(struct table_store *store, const struct truth *truth,
                           struct tally *tally)
{
    ask_tables(store, tally);
    for (size_t table = 0; table < TABLES; table++) {
        ask_all(store, table, truth->pages[table], 1000, false, tally);
        ask_all(store, table, truth->pages[table], 17, false, tally);
        ask_all(store, table, truth->pages[table], 100, true, tally);
        ask_each(store, table, truth->pages[table], tally);
    }
    ask_absent(store, tally);
}

static void ask_new(struct table_store *store, int rows, struct tally *tally)
{
    struct query query = {.table = "delta", .range = RANGE_ALL, .top = 1000};
    struct call call = some_call();
    int r = count_rows(store, query, NULL, &call);
    count(tally, r, r == rows, "listing of a new table");
}

static void write_new(struct table_store *store, struct tally *tally)
{
    _cleanup_(row_write_finish) struct row_write row =
        make_write(WRITE_UPSERT_REPLACE, "p", "r", "", "");
    struct write_result result;
    bool is_there = false;
    for (int i = 0; i < 3; i++) { /* each sweeps rows of the dropped table away */
        struct call call = some_call();
        int r = table_store_write(store, "delta", &row.write, 1, &call, &result);
        count(tally, r, r == 0, "write");
        is_there |= r == 0;
    }
    ask_new(store, is_there ? 1 : 0, tally);
}

/* A table is dropped, and a new one is written to. The others keep what they have. */
static void change_something(struct table_store *store, const struct truth *truth,
                             struct tally *tally)
{
    struct call call = some_call();
    int r = table_store_delete_table(store, "gamma", &call);
    count(tally, r, r == 0, "drop");
    call = some_call();
    r = table_store_create_table(store, "delta", &call);
    count(tally, r, r == 0, "create");
    if (r == 0) {
        ask_new(store, 0, tally);
        write_new(store, tally);
    }
    for (size_t table = 0; table < TABLES - 1; table++)
        ask_all(store, table, truth->pages[table], 1000, false, tally);
}

/* One damage of `size` bytes of content. */
static void damage(char *content, size_t size)
{
    size_t pages = size / PAGE_BYTES, at = random_below(size);
    char *page = content + random_below(pages) * PAGE_BYTES;
    char *other = content + random_below(pages) * PAGE_BYTES;
    char swapped[PAGE_BYTES];
    switch (random_below(5)) {
    case 0: /* a bit */
        content[at] = (char)(content[at] ^ (1 << random_below(8)));
        break;
    case 1: /* bytes that are no bits apart */
        for (size_t i = at; i < MIN(at + 1 + random_below(16), size); i++)
            content[i] = (char)next_random();
        break;
    case 2: /* a sector */
        memset(content + at / SECTOR_BYTES * SECTOR_BYTES, 0,
               MIN((size_t)SECTOR_BYTES, size - at / SECTOR_BYTES * SECTOR_BYTES));
        break;
    case 3:
        memcpy(swapped, page, PAGE_BYTES);
        memcpy(page, other, PAGE_BYTES);
        memcpy(other, swapped, PAGE_BYTES);
        break;
    default: /* a page in a wrong place */
        memmove(page, other, PAGE_BYTES);
        break;
    }
}

static size_t read_content(const char *path, char *ret)
{
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    ssize_t size = read(fd, ret, FILE_MAX);
    assert_true(size > PAGE_BYTES && (size_t)size < FILE_MAX);
    assert_int_equal(close(fd), 0);
    return (size_t)size;
}

/* In place, so that a store that has the file open goes on with it. In a process of its own: here,
 * closing the file would release SQLite's locks. */
static void write_content(const char *path, const char *content, size_t size)
{
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        _exit(fd >= 0 && pwrite(fd, content, size, 0) == (ssize_t)size &&
                      ftruncate(fd, (off_t)size) == 0
                  ? 0
                  : 1);
    }
    assert_true(child > 0);
    assert_int_equal(wait_for_child(child), 0);
}

static void remove_beside(const char *path)
{
    static const char *const ends[] = {"-wal", "-shm"};
    char beside[4200];
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        (void)snprintf(beside, sizeof(beside), "%s%s", path, ends[i]);
        (void)unlink(beside);
    }
}

/* The content of an account's file, and what it holds. */
static size_t make_account(const char *path, char *ret_content, struct truth *ret_truth)
{
    struct table_store *store = open_account(path);
    fill(store);
    read_truth(store, ret_truth);
    table_store_destroy(store);
    return read_content(path, ret_content);
}

static void finish(const struct tally *tally, const char *how)
{
    print_message("damages %s: %d answers right, %d EIO, %d wrong\n", how, tally->right,
                  tally->refused, tally->wrong);
    assert_int_equal(tally->wrong, 0);
    assert_true(tally->right > 0 && tally->refused > 0);
}

static void damage_is_noticed_when_the_file_is_opened(void **state)
{
    const char *path = *state;
    static char content[FILE_MAX], damaged[FILE_MAX];
    struct truth truth;
    struct tally tally = {0};
    size_t size = make_account(path, content, &truth);
    for (int i = 0; i < how_often; i++) {
        struct call call = some_call();
        struct table_store *store;
        memcpy(damaged, content, size);
        damage(damaged, size);
        write_content(path, damaged, size);
        int r = local_store_create(path, true, &clock_system, &call, &store);
        if (r == 0) {
            ask_everything(store, &truth, &tally);
            change_something(store, &truth, &tally);
            table_store_destroy(store);
        } else {
            /* its header: not a database, of another program, of a newer format */
            count(&tally, r == -EINVAL || r == -EPROTONOSUPPORT ? -EIO : r, false, "open");
        }
        remove_beside(path);
    }
    truth_finish(&truth);
    finish(&tally, "before opening");
}

static void damage_is_noticed_while_the_file_is_open(void **state)
{
    const char *path = *state;
    static char content[FILE_MAX], damaged[FILE_MAX];
    struct truth truth;
    struct tally tally = {0};
    size_t size = make_account(path, content, &truth);
    for (int i = 0; i < how_often; i++) {
        struct tally before = {0};
        write_content(path, content, size);
        struct table_store *store = open_account(path);
        if (random_below(2) == 0) /* some pages are in SQLite's cache then */
            ask_everything(store, &truth, &before);
        memcpy(damaged, content, size);
        damage(damaged, size);
        write_content(path, damaged, size);
        ask_everything(store, &truth, &tally);
        change_something(store, &truth, &tally);
        table_store_destroy(store);
        remove_beside(path);
    }
    truth_finish(&truth);
    finish(&tally, "under an open account");
}

static void damage_of_the_wal_is_noticed(void **state)
{
    const char *path = *state;
    static char wal_content[FILE_MAX];
    struct tally tally = {0};
    char wal[4200];
    (void)snprintf(wal, sizeof(wal), "%s-wal", path);
    for (int i = 0; i < how_often; i++) {
        struct truth truth;
        struct table_store *writer = open_account(path);
        fill(writer); /* it is in the WAL alone */
        read_truth(writer, &truth);
        struct table_store *store = open_account(path); /* with nothing in its cache */
        size_t size = read_content(wal, wal_content);
        damage(wal_content, size);
        write_content(wal, wal_content, size);
        ask_everything(store, &truth, &tally);
        truth_finish(&truth);
        table_store_destroy(store);
        table_store_destroy(writer);
        assert_int_equal(unlink(path), 0);
        remove_beside(path);
    }
    table_store_destroy(open_account(path));
    finish(&tally, "in the WAL");
}

/* A write to the disk that never reached it: one page is as it was before the last changes. */
static void outdated_pages_are_noticed(void **state)
{
    const char *path = *state;
    static char old[FILE_MAX], content[FILE_MAX], outdated[FILE_MAX];
    struct truth truth;
    struct tally tally = {0};
    int pages = 0;
    struct table_store *store = open_account(path);
    fill(store);
    table_store_destroy(store);
    size_t old_size = read_content(path, old);
    size_t size = make_account(path, content, &truth); /* the same rows, in new versions */
    for (size_t at = 0; at < MIN(size, old_size) && pages < how_often; at += PAGE_BYTES) {
        if (memcmp(old + at, content + at, PAGE_BYTES) == 0)
            continue;
        pages++;
        memcpy(outdated, content, size);
        memcpy(outdated + at, old + at, PAGE_BYTES);
        write_content(path, outdated, size);
        store = open_account(path);
        ask_everything(store, &truth, &tally);
        change_something(store, &truth, &tally);
        table_store_destroy(store);
        remove_beside(path);
    }
    truth_finish(&truth);
    print_message("%d pages\n", pages);
    assert_true(pages > 10 || pages == how_often);
    finish(&tally, "by outdated pages");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(damage_is_noticed_when_the_file_is_opened),
        WITH_FOLDER(damage_is_noticed_while_the_file_is_open),
        WITH_FOLDER(damage_of_the_wal_is_noticed),
        WITH_FOLDER(outdated_pages_are_noticed),
    };
    uint64_t number;
    if (argc > 1 && bytes_parse_unsigned(bytes_of(argv[1]), INT32_MAX, &number))
        how_often = (int)number;
    if (argc > 2 && bytes_parse_unsigned(bytes_of(argv[2]), UINT64_MAX, &number))
        seed = number;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
