/* SPDX-License-Identifier: MIT */
#include "tests/stores/memory_store.h"
#include "client/entity/entity_merge.h"
#include "client/filter/filter.h"

#include <assert.h>

#define MAX_BYTES ((size_t)32 << 20)

static struct page *rows_of(struct memory_store *self)
{
    if (!self->rows) {
        int r = page_builder_finish(self->rows_in, RANGE_ALL, false, &self->rows);
        assert(r == 0);
        (void)r;
    }
    return self->rows;
}

static int fail(struct memory_store *self, bool is_late, struct call *call)
{
    int (*fault)(struct memory_store *, size_t, struct call *) = self->fault;
    return fault && self->is_fault_late == is_late ? fault(self, self->asked, call) : 0;
}

static int ask(struct memory_store *self, struct memory_store_entry entry, struct range range,
               struct call *call)
{
    self->asked++;
    if (self->asked <= MEMORY_STORE_DIARY) {
        buffer_init(&entry.lo, MAX_BYTES);
        buffer_init(&entry.hi, MAX_BYTES);
        (void)buffer_append(&entry.lo, range.lo);
        (void)buffer_append(&entry.hi, range.hi);
        self->diary[self->asked - 1] = entry;
    }
    return fail(self, false, call);
}

/* Where the name stands among the names; their size: nowhere. */
static size_t find_name(const struct buffer *names, const char *name)
{
    size_t offset = 0;
    while (offset < names->size && strcmp(names->data + offset, name) != 0)
        offset += strlen(names->data + offset) + 1;
    return offset;
}

static bool has_name(const struct buffer *names, const char *name)
{
    return find_name(names, name) < names->size;
}

static void add_name(struct buffer *names, const char *name)
{
    (void)buffer_append(names, (struct bytes){name, strlen(name) + 1});
}

static int check_table(const struct memory_store *self, const char *table, struct call *call)
{
    if (!self->checks_tables || has_name(&self->tables, table))
        return 0;
    (void)call_fail(call, -ENOENT, "no such table");
    (void)snprintf(call->failure.code, sizeof(call->failure.code), "TableNotFound");
    return -ENOENT;
}

static int answer_token(struct bytes token, struct call *call, struct continuation **ret)
{
    int r = continuation_create(token, BYTES_LITERAL(""), ret);
    return r < 0 ? call_fail(call, r, "no memory for a token") : 0;
}

static int copy_row(const struct page *rows, size_t row, bool keys_only,
                    struct page_builder *builder)
{
    if (!keys_only)
        (void)buffer_append(page_builder_text(builder), page_text(rows, row));
    int r = page_builder_end_row(builder, page_position(rows, row), page_etag(rows, row),
                                 page_timestamp(rows, row));
    if (r == 0 && !keys_only && page_is_bad(rows, row))
        page_builder_set_bad(builder);
    return r;
}

/* 1, 0, -errno; without a filter 1. */
static int matches(const struct filter *filter, const struct page *rows, size_t row)
{
    return filter ? filter_matches(filter, page_position(rows, row), page_text(rows, row),
                                   page_timestamp(rows, row))
                  : 1;
}

/* 0, or the refusal; NULL: there is no filter. */
static int parse(const struct query *query, struct call *call, struct filter **ret)
{
    struct filter_error error;
    if (!query->filter)
        return 0;
    int r = filter_create(bytes_of(query->filter), ret, &error);
    return r < 0 ? call_fail(call, r, "%s", error.problem) : 0;
}

static int memory_query(struct table_store *store, const struct query *query, struct call *call,
                        struct page_builder *builder, struct continuation **ret_next)
{
    struct memory_store *self = (struct memory_store *)store;
    struct memory_store_entry entry = {.what = ASKED_QUERY,
                                       .is_continued = query->after != NULL,
                                       .keys_only = query->keys_only,
                                       .top = query->top};
    int r = ask(self, entry, query->range, call);
    _cleanup_(filter_destroyp) struct filter *filter = NULL;
    if (r == 0)
        r = check_table(self, query->table, call);
    if (r == 0)
        r = parse(query, call, &filter);
    if (r < 0)
        return r;
    const struct page *rows = rows_of(self);
    size_t row = page_seek(rows, query->range.lo), end = page_seek(rows, query->range.hi);
    if (query->after) /* the token is the next row's position: rows may come and go meanwhile */
        row = page_seek(rows, continuation_token(query->after));
    size_t top = (size_t)(self->max_rows > 0 ? MIN(query->top, self->max_rows) : query->top);
    size_t last = MIN(end, row + top);
    for (; row < last && r == 0; row++) {
        size_t at = self->swaps_rows ? last - 1 - row : row;
        r = matches(filter, rows, at);
        if (r > 0)
            r = copy_row(rows, at, query->keys_only, builder);
    }
    if (r < 0)
        return call_fail(call, r, "no room for the rows");
    r = fail(self, true, call);
    return r == 0 && row < end ? answer_token(page_position(rows, row), call, ret_next) : r;
}

static int memory_get(struct table_store *store, const char *table, struct bytes position,
                      struct call *call, struct page_builder *builder)
{
    struct memory_store *self = (struct memory_store *)store;
    int r = ask(self, (struct memory_store_entry){.what = ASKED_GET},
                (struct range){position, position}, call);
    if (r == 0)
        r = check_table(self, table, call);
    if (r < 0)
        return r;
    const struct page *rows = rows_of(self);
    size_t row = page_seek(rows, position);
    if (row == page_rows(rows) || !bytes_equal(page_position(rows, row), position))
        return call_fail(call, -ENOENT, "no such entity");
    r = copy_row(rows, row, false, builder);
    return r < 0 ? call_fail(call, r, "no room for the row") : fail(self, true, call);
}

static int memory_list_tables(struct table_store *store, const char *only,
                              const struct continuation *after, struct call *call,
                              struct table_names *ret, struct continuation **ret_next)
{
    struct memory_store *self = (struct memory_store *)store;
    int r = ask(
        self, (struct memory_store_entry){.what = ASKED_LIST_TABLES, .is_continued = after != NULL},
        (struct range){BYTES_LITERAL(""), BYTES_LITERAL("")}, call);
    if (r < 0)
        return r;
    size_t offset = 0;
    if (after)
        memcpy(&offset, continuation_token(after).data, sizeof(offset));
    for (int n = 0; offset < self->tables.size; n++) {
        if (self->max_rows > 0 && n == self->max_rows)
            return answer_token((struct bytes){(const char *)&offset, sizeof(offset)}, call,
                                ret_next);
        struct bytes name = bytes_of(self->tables.data + offset);
        if (!only || bytes_equal(name, bytes_of(only)))
            (void)buffer_append(&ret->names, (struct bytes){name.data, name.size + 1});
        offset += name.size + 1;
    }
    for (size_t i = 0; i < self->leaving.size; i += strlen(self->leaving.data + i) + 1)
        if (!only || strcmp(self->leaving.data + i, only) == 0)
            add_name(&ret->names, self->leaving.data + i);
    return fail(self, true, call);
}

static bool row_is(const struct page *rows, size_t row, struct bytes position)
{
    return row < page_rows(rows) && bytes_equal(page_position(rows, row), position);
}

static int judge(const struct page *rows, const struct write *write, struct call *call)
{
    size_t row = page_seek(rows, write->position);
    bool is_there = row_is(rows, row, write->position);
    if (write->kind == WRITE_INSERT)
        return is_there ? call_fail(call, -EEXIST, "there is one") : 0;
    if (write->if_match.size == 0)
        return 0;
    if (!is_there)
        return call_fail(call, -ENOENT, "no such entity");
    if (bytes_equal(write->if_match, BYTES_LITERAL("*")) ||
        bytes_equal(write->if_match, page_etag(rows, row)))
        return 0;
    return call_fail(call, -ESTALE, "another version");
}

/* `row`: the one that is written, or whose place it takes. */
static int end_written_row(const struct page *rows, size_t row, const struct write *write,
                           const struct write_result *result, struct page_builder *builder)
{
    bool is_merge = write->kind == WRITE_MERGE || write->kind == WRITE_UPSERT_MERGE;
    struct buffer text;
    buffer_init(&text, MAX_BYTES);
    int r = is_merge && row_is(rows, row, write->position)
                ? entity_merge_append(page_text(rows, row), write->text, &text)
                : buffer_append(&text, write->text);
    if (r == 0)
        r = buffer_append(page_builder_text(builder), buffer_bytes(&text));
    buffer_finish(&text);
    return r < 0 ? r
                 : page_builder_end_row(builder, write->position, bytes_of(result->etag),
                                        result->timestamp);
}

static int append_rows(const struct page *rows, size_t begin, size_t end,
                       struct page_builder *builder)
{
    int r = 0;
    for (size_t row = begin; row < end && r == 0; row++)
        r = copy_row(rows, row, false, builder);
    return r;
}

static int apply(struct memory_store *self, const struct write *write, struct write_result *ret)
{
    const struct page *rows = rows_of(self);
    struct page *changed = NULL;
    size_t row = page_seek(rows, write->position);
    *ret = (struct write_result){0};
    int r = append_rows(rows, 0, row, self->rows_in);
    if (r == 0 && write->kind != WRITE_DELETE) {
        ret->timestamp = ++self->versions;
        (void)snprintf(ret->etag, sizeof(ret->etag), "version-%d", self->versions);
        r = end_written_row(rows, row, write, ret, self->rows_in);
    }
    row += row_is(rows, row, write->position);
    if (r == 0)
        r = append_rows(rows, row, page_rows(rows), self->rows_in);
    if (r == 0)
        r = page_builder_finish(self->rows_in, RANGE_ALL, false, &changed);
    if (r < 0)
        return r;
    page_unref(self->rows);
    self->rows = changed;
    return 0;
}

static int memory_write(struct table_store *store, const char *table, const struct write *writes,
                        size_t n, struct call *call, struct write_result *ret)
{
    struct memory_store *self = (struct memory_store *)store;
    int r = ask(self, (struct memory_store_entry){.what = ASKED_WRITE, .writes = n},
                (struct range){writes[0].position, writes[n - 1].position}, call);
    if (r == 0)
        r = check_table(self, table, call);
    for (size_t i = 0; i < n && r == 0; i++) {
        r = judge(rows_of(self), &writes[i], call);
        if (r < 0 && n > 1)
            call->failure.operation = (int)i;
    }
    for (size_t i = 0; i < n && r == 0; i++)
        r = apply(self, &writes[i], &ret[i]);
    return r;
}

static int ask_for_change_of_tables(struct memory_store *self, struct call *call)
{
    return ask(self, (struct memory_store_entry){.what = ASKED_TABLE_CHANGE},
               (struct range){BYTES_LITERAL(""), BYTES_LITERAL("")}, call);
}

static int memory_create_table(struct table_store *store, const char *table, struct call *call)
{
    struct memory_store *self = (struct memory_store *)store;
    int r = ask_for_change_of_tables(self, call);
    if (r < 0)
        return r;
    if (has_name(&self->tables, table))
        return call_fail(call, -EEXIST, "there is one");
    if (has_name(&self->leaving, table))
        return call_fail(call, -EBUSY, "it is being deleted");
    memory_store_add_table(self, table);
    return 0;
}

static int memory_delete_table(struct table_store *store, const char *table, struct call *call)
{
    struct memory_store *self = (struct memory_store *)store;
    int r = ask_for_change_of_tables(self, call);
    if (r < 0)
        return r;
    if (!has_name(&self->tables, table))
        return call_fail(call, -ENOENT, "no such table");
    memory_store_remove_table(self, table);
    if (self->drops_slowly)
        add_name(&self->leaving, table);
    return 0;
}

static size_t memory_write_size(struct table_store *store, const char *table,
                                const struct write *write)
{
    (void)store;
    (void)table;
    return write->position.size + write->if_match.size + write->text.size;
}

static const struct table_store_limits *memory_limits(struct table_store *store)
{
    static const struct table_store_limits limits = {100, (size_t)4 << 20};
    (void)store;
    return &limits;
}

void memory_store_forget_diary(struct memory_store *self)
{
    for (size_t i = 0; i < MIN(self->asked, MEMORY_STORE_DIARY); i++) {
        buffer_finish(&self->diary[i].lo);
        buffer_finish(&self->diary[i].hi);
    }
    self->asked = 0;
}

static void memory_destroy(struct table_store *store)
{
    struct memory_store *self = (struct memory_store *)store;
    memory_store_forget_diary(self);
    buffer_finish(&self->tables);
    buffer_finish(&self->leaving);
    page_builder_destroy(self->rows_in);
    page_unref(self->rows);
    free(self);
}

static const struct table_store_ops memory_ops = {.query = memory_query,
                                                  .get = memory_get,
                                                  .list_tables = memory_list_tables,
                                                  .write = memory_write,
                                                  .write_size = memory_write_size,
                                                  .create_table = memory_create_table,
                                                  .delete_table = memory_delete_table,
                                                  .limits = memory_limits,
                                                  .destroy = memory_destroy};

struct memory_store *memory_store_create(void)
{
    struct memory_store *self = calloc(1, sizeof(*self));
    assert(self);
    self->store.ops = &memory_ops;
    buffer_init(&self->tables, MAX_BYTES);
    buffer_init(&self->leaving, MAX_BYTES);
    int r = page_builder_create(PAGE_MAX_BYTES, &self->rows_in);
    assert(r == 0);
    (void)r;
    return self;
}

void memory_store_add_table(struct memory_store *self, const char *table)
{
    add_name(&self->tables, table);
}

void memory_store_end_drops(struct memory_store *self)
{
    buffer_clear(&self->leaving);
}

void memory_store_add(struct memory_store *self, struct bytes partition_key, struct bytes row_key,
                      const char *etag)
{
    struct buffer position;
    buffer_init(&position, MAX_BYTES);
    int r = position_append(&position, partition_key, row_key);
    struct buffer *text = page_builder_text(self->rows_in);
    (void)buffer_append(text, partition_key);
    (void)buffer_append_char(text, '|');
    (void)buffer_append(text, row_key);
    if (r == 0)
        r = page_builder_end_row(self->rows_in, buffer_bytes(&position), bytes_of(etag), 1000);
    assert(r == 0);
    buffer_finish(&position);
}

void memory_store_add_strings(struct memory_store *self, const char *partition_key,
                              const char *row_key)
{
    memory_store_add(self, bytes_of(partition_key), bytes_of(row_key), "etag");
}

void memory_store_write(struct memory_store *self, const struct write *write)
{
    struct write_result result;
    int r = apply(self, write, &result);
    assert(r == 0);
    (void)r;
}

void memory_store_write_bad(struct memory_store *self, struct bytes position, const char *json)
{
    struct write write = {
        .kind = WRITE_UPSERT_REPLACE, .position = position, .text = bytes_of(json)};
    size_t row;
    memory_store_write(self, &write);
    row = page_seek(self->rows, position);
    int r = append_rows(self->rows, 0, row + 1, self->rows_in);
    assert(r == 0);
    page_builder_set_bad(self->rows_in);
    r = append_rows(self->rows, row + 1, page_rows(self->rows), self->rows_in);
    assert(r == 0);
    page_unref(self->rows);
    r = page_builder_finish(self->rows_in, RANGE_ALL, false, &self->rows);
    assert(r == 0);
    (void)r;
}

void memory_store_remove_table(struct memory_store *self, const char *table)
{
    size_t begin = find_name(&self->tables, table), end = begin + strlen(table) + 1;
    assert(begin < self->tables.size);
    memmove(self->tables.data + begin, self->tables.data + end, self->tables.size - end);
    self->tables.size -= end - begin;
}
