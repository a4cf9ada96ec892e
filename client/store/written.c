/* SPDX-License-Identifier: MIT */
#include "client/store/written.h"
#include "client/entity/entity_compare.h"

struct check {
    struct table_store *store;
    const char *table;
    const struct write *writes;
    const struct write **ordered; /* the same by position */
    size_t n, next;               /* next: of ordered, the first whose row is not known yet */
    struct call *call;
    struct write_result *results;
    bool deletes_only;
    enum written verdict; /* of the rows that are known */
};

static bool is_as_written(const struct write *write, struct bytes text)
{
    switch (write->kind) {
    case WRITE_INSERT:
    case WRITE_REPLACE:
    case WRITE_UPSERT_REPLACE:
        return entity_text_equal(text, write->text);
    case WRITE_MERGE:
    case WRITE_UPSERT_MERGE:
        return entity_text_includes(text, write->text);
    case WRITE_DELETE:
        return false; /* the entity still exists */
    }
    return false;
}

static void note_next(struct check *check, enum written verdict)
{
    check->verdict = MIN(check->verdict, verdict);
    check->next++;
}

static void note_absent(struct check *check)
{
    const struct write *write = check->ordered[check->next];
    check->results[write - check->writes] = (struct write_result){0};
    note_next(check, write->kind == WRITE_DELETE ? WRITTEN_WHOLE : WRITTEN_PERHAPS);
}

static void note_stored(struct check *check, const struct page *page, size_t row)
{
    const struct write *write = check->ordered[check->next];
    struct write_result *result = &check->results[write - check->writes];
    struct bytes etag = page_etag(page, row);
    (void)snprintf(result->etag, sizeof(result->etag), "%.*s", (int)etag.size, etag.data);
    result->timestamp = page_timestamp(page, row);
    bool is_unchanged = etag.size > 0 && bytes_equal(etag, write->if_match);
    note_next(check, is_unchanged                                 ? WRITTEN_NOT
                     : is_as_written(write, page_text(page, row)) ? WRITTEN_WHOLE
                                                                  : WRITTEN_PERHAPS);
}

static int read_one(struct check *check)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    int r = table_store_get(check->store, check->table, check->ordered[check->next]->position,
                            check->call, &page);
    if (r == -ENOENT)
        note_absent(check);
    else if (r == 0)
        note_stored(check, page, 0);
    return r == -ENOENT ? 0 : r;
}

/* Compares the rows that the page covers. */
static void compare_page(struct check *check, const struct page *page)
{
    struct bytes end = page_range(page).hi;
    while (check->next < check->n &&
           bytes_compare(check->ordered[check->next]->position, end) < 0) {
        struct bytes position = check->ordered[check->next]->position;
        size_t row = page_seek(page, position);
        if (row < page_rows(page) && bytes_equal(page_position(page, row), position))
            note_stored(check, page, row);
        else
            note_absent(check);
    }
}

/* Reads from the next row up to the last one, as far as the service answers with rows. */
static int read_range(struct check *check)
{
    struct position end;
    struct bytes begin = check->ordered[check->next]->position;
    struct bytes last = check->ordered[check->n - 1]->position;
    struct query query = {.table = check->table,
                          .range = {begin, position_behind(last, &end)},
                          .top = check->deletes_only ? TABLE_STORE_PAGE_ROWS
                                                     : (int)(check->n - check->next),
                          .keys_only = check->deletes_only};
    struct answer answer = {0};
    bool has_rows = false;
    int r;
    do {
        struct answer before = answer;
        query.after = before.next;
        answer = (struct answer){0};
        r = table_store_query(check->store, &query, check->call, &answer);
        answer_finish(&before);
        if (r < 0)
            break;
        has_rows = page_rows(answer.page) > 0;
        compare_page(check, answer.page);
    } while (!has_rows && answer.next);
    answer_finish(&answer);
    while (r == -ENOENT && check->next < check->n) /* there is no such table */
        note_absent(check);
    return r == -ENOENT ? 0 : r;
}

static int read_all(struct check *check)
{
    bool is_dense = check->n > 1;
    int r = 0;
    while (r == 0 && check->next < check->n && check->verdict == WRITTEN_WHOLE) {
        size_t first = check->next;
        r = is_dense ? read_range(check) : read_one(check);
        is_dense &= check->next - first > 1;
    }
    return r < 0 ? r : (int)check->verdict;
}

static int compare_positions(const void *a, const void *b)
{
    const struct write *const *x = a, *const *y = b;
    return bytes_compare((*x)->position, (*y)->position);
}

int written_check(struct table_store *store, const char *table, const struct write *writes,
                  size_t n, struct call *call, struct write_result *ret)
{
    _cleanup_(freep) const struct write **ordered = calloc(n, sizeof(struct write *));
    if (!ordered)
        return call_fail(call, -ENOMEM, "out of memory");
    struct check check = {.store = store,
                          .table = table,
                          .writes = writes,
                          .ordered = ordered,
                          .n = n,
                          .call = call,
                          .results = ret,
                          .deletes_only = true,
                          .verdict = WRITTEN_WHOLE};
    for (size_t i = 0; i < n; i++) {
        ordered[i] = &writes[i];
        check.deletes_only &= writes[i].kind == WRITE_DELETE;
    }
    qsort(ordered, n, sizeof(struct write *), compare_positions);
    return read_all(&check);
}
