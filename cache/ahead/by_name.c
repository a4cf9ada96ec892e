/* SPDX-License-Identifier: MIT */
#include "cache/ahead/by_name.h"
#include "cache/ahead/access_pattern.h"
#include "client/base/locked.h"

#include <pthread.h>
#include <stdatomic.h>

/* Tables whose patterns are kept, each in 3 KiB. With 16, 17 tables that are read by turns cost
 * 4,250 requests in place of 64. */
#define TABLES     64
#define TABLE_NAME 64 /* a table's name has at most 63 characters */
#define AGAIN_PART 8  /* of what is read ahead: rows that may be fetched twice */

struct by_name {
    struct by_name_source source;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct pattern {
        char table[TABLE_NAME]; /* empty: none */
        uint64_t used;          /* of by_name->uses */
        struct access_pattern pattern;
    } tables[TABLES];
    uint64_t uses;
    _Atomic uint64_t numbers; /* of rows: the next one */
};

int by_name_create(const struct by_name_source *source, struct by_name **ret)
{
    struct by_name *by_name = calloc(1, sizeof(*by_name));
    if (!by_name)
        return -ENOMEM;
    (void)pthread_mutex_init(&by_name->lock, NULL);
    by_name->source = *source;
    atomic_init(&by_name->numbers, 1);
    *ret = by_name;
    return 0;
}

void by_name_destroy(struct by_name *by_name)
{
    if (!by_name)
        return;
    (void)pthread_mutex_destroy(&by_name->lock);
    free(by_name);
}

/* The table's pattern; a new one in place of the least recently used. */
static struct access_pattern *find_locked(struct by_name *by_name, const char *table)
{
    struct pattern *found = by_name->tables;
    for (size_t i = 0; i < TABLES; i++) {
        struct pattern *pattern = &by_name->tables[i];
        bool is_it = strcmp(pattern->table, table) == 0;
        if (is_it || pattern->used < found->used)
            found = pattern;
        if (is_it)
            break;
    }
    if (strcmp(found->table, table) != 0) {
        *found = (struct pattern){0};
        (void)snprintf(found->table, sizeof(found->table), "%s", table);
    }
    found->used = ++by_name->uses;
    return &found->pattern;
}

static size_t rows_ahead(struct by_name *by_name, const struct question *question)
{
    int64_t now_ms = clock_now_ms(by_name->source.clock);
    LOCKED(&by_name->lock);
    return access_pattern_ahead(find_locked(by_name, question->table), question->range.lo,
                                by_name->source.max_bytes, now_ms);
}

/* `needed`: rows at the page's begin. */
static void note_fetched(struct by_name *by_name, const struct question *question,
                         struct page *page, size_t needed)
{
    size_t rows = page_rows(page);
    int64_t now_ms = clock_now_ms(by_name->source.clock);
    if (rows == 0)
        return;
    uint64_t first = page_number(page, 0, &by_name->numbers);
    LOCKED(&by_name->lock);
    access_pattern_fetched(find_locked(by_name, question->table), question->range.lo, first, needed,
                           rows, page_bytes(page), now_ms);
}

void by_name_used(struct by_name *by_name, const char *table, const struct run *run)
{
    uint64_t number = page_number(run->page, run->begin, &by_name->numbers);
    LOCKED(&by_name->lock);
    access_pattern_used(find_locked(by_name, table), number);
}

void by_name_absent(struct by_name *by_name, const char *table, struct bytes position)
{
    int64_t now_ms = clock_now_ms(by_name->source.clock);
    LOCKED(&by_name->lock);
    access_pattern_absent(find_locked(by_name, table), position, now_ms);
}

static bool was_absent(struct by_name *by_name, const struct question *question)
{
    int64_t now_ms = clock_now_ms(by_name->source.clock);
    LOCKED(&by_name->lock);
    return access_pattern_is_absent(find_locked(by_name, question->table), question->range.lo,
                                    by_name->source.ttl_ms, now_ms);
}

static bool was_used(struct by_name *by_name, const char *table, struct page *page, size_t row)
{
    uint64_t number = page_number(page, row, &by_name->numbers);
    LOCKED(&by_name->lock);
    return access_pattern_was_used(find_locked(by_name, table), number);
}

/* Does the row seem to follow the rows that are known at the partition's begin, `most` at the most?
 * Nothing is known of what lies between the last row of a page and the next row; but if the last
 * one was read by name, the next is likely to be read now. ret_before: how many are known (0
 * before). */
static bool follows_begin(struct by_name *by_name, const struct question *question,
                          struct bytes begin, size_t most, size_t *ret_before)
{
    struct question before = *question;
    struct seen seen;
    before.range = (struct range){begin, question->range.lo};
    /* any age is good enough for a hint; the rows themselves are fetched again */
    before.since = stamp_since(INT64_MIN);
    if (range_is_empty(before.range))
        return true;
    enum knowledge known = overlay_find(by_name->source.overlay, &before, &seen, NULL);
    if (known != KNOWN_ROWS)
        return known == KNOWN_EMPTY;
    struct run *run = &seen.run;
    size_t rows = run->end - run->begin;
    bool follows = bytes_compare(page_range(run->page).hi, question->range.lo) >= 0 ||
                   was_used(by_name, question->table, run->page, run->end - 1);
    run_finish(run);
    if (!follows || rows > most)
        return false;
    *ret_before = rows;
    return true;
}

/* Sends the request, or joins a flight. If the page of that flight lacks the row, sends its own. */
static int fetch(struct by_name *by_name, struct caller *caller, const struct question *question,
                 struct range range, size_t rows, struct page **ret_page, bool *ret_is_own)
{
    struct fetch fetch = {.table = question->table,
                          .range = range,
                          .top = (int)MIN(rows, (size_t)TABLE_STORE_PAGE_ROWS),
                          .is_ahead = true};
    int r = fetcher_fetch(by_name->source.fetcher, caller, &fetch, question->since, ret_page,
                          ret_is_own);
    if (r < 0 || *ret_is_own || range_holds(page_range(*ret_page), question->range.lo))
        return r;
    page_unref(TAKE_PTR(*ret_page));
    fetch.is_alone = true;
    return fetcher_fetch(by_name->source.fetcher, caller, &fetch, question->since, ret_page,
                         ret_is_own);
}

/* The failure may be due to rows that were only read ahead. Then the request is sent again for the
 * needed rows alone. */
static int forgive(struct by_name *by_name, struct caller *caller, const struct question *question,
                   int r)
{
    if (r >= 0 || r == -ENOENT)
        return r;
    (void)pthread_mutex_lock(&by_name->lock);
    access_pattern_failed(find_locked(by_name, question->table), question->range.lo,
                          clock_now_ms(by_name->source.clock));
    (void)pthread_mutex_unlock(&by_name->lock);
    return caller_forgive(caller, r);
}

int by_name_fetch_partition(struct by_name *by_name, struct caller *caller,
                            const struct question *question, struct page **ret_page)
{
    struct range range = {question->range.lo, BYTES_LITERAL(POSITION_END)};
    size_t rows = rows_ahead(by_name, question);
    bool is_own = false;
    if (rows == 0)
        return 0;
    int r = fetch(by_name, caller, question, range, BY_NAME_FIRST_ROWS + rows, ret_page, &is_own);
    if (r < 0)
        return forgive(by_name, caller, question, r);
    if (is_own && page_rows(*ret_page) > 0) {
        size_t own = page_next_partition(*ret_page, 0, page_rows(*ret_page));
        note_fetched(by_name, question, *ret_page, MIN(own, (size_t)BY_NAME_FIRST_ROWS));
    }
    return 0;
}

/* Fetches the first row from the name on. */
static int fetch_gap(struct by_name *by_name, struct caller *caller,
                     const struct question *question, struct page **ret_page)
{
    bool is_own = false;
    struct position end;
    struct range range = question->range;
    range.hi = position_behind(position_partition_key(range.lo), &end);
    int r = fetch(by_name, caller, question, range, 1, ret_page, &is_own);
    return r == -ENOENT ? r : caller_forgive(caller, r); /* the table is gone */
}

int by_name_fetch_entity(struct by_name *by_name, struct caller *caller,
                         const struct question *question, struct page **ret_page)
{
    struct bytes key = position_partition_key(question->range.lo);
    struct range range = {bytes_first(question->range.lo, key.size + 1),
                          BYTES_LITERAL(POSITION_END)};
    size_t rows = rows_ahead(by_name, question), before = 0;
    bool is_own = false;
    struct position end;
    if (rows == 0)
        return was_absent(by_name, question) ? fetch_gap(by_name, caller, question, ret_page) : 0;
    size_t most_again = MAX(MIN(rows, (size_t)TABLE_STORE_PAGE_ROWS) / AGAIN_PART, 1);
    if (!follows_begin(by_name, question, range.lo, most_again, &before)) {
        range.lo = question->range.lo; /* the row, and those after it in its partition */
        range.hi = position_behind(key, &end);
    }
    int r = fetch(by_name, caller, question, range, before + 1 + rows, ret_page, &is_own);
    r = forgive(by_name, caller, question, r);
    if (r == 0 && *ret_page && is_own)
        note_fetched(by_name, question, *ret_page, before + 1);
    return r;
}
