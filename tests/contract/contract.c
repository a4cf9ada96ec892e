/* SPDX-License-Identifier: MIT */
#include "tests/contract/contract.h"
#include "tests/stores/source.h"

#define MAX_BYTES ((size_t)8 << 20)
#define MAX_KEPT  16384

struct contract contract;

static char *kept[MAX_KEPT]; /* freed at the test's end */
static size_t kept_count;

static struct bytes keep(struct buffer *buffer)
{
    assert_int_equal(buffer->error, 0);
    assert_true(kept_count < MAX_KEPT);
    struct bytes bytes = {buffer->data, buffer->size};
    kept[kept_count++] = buffer->data;
    return bytes;
}

struct call contract_call(void)
{
    return (struct call){.deadline_ms = clock_now_ms(&clock_system) + 10000};
}

void contract_name(char ret[64], const char *prefix)
{
    static unsigned number;
    (void)snprintf(ret, 64, "%s%llux%u", prefix,
                   (unsigned long long)clock_utc_100ns(&clock_system) / TICKS_PER_MS % 100000000,
                   number++);
}

int contract_set_up(void **state)
{
    char *table = malloc(64);
    struct call call = contract_call();
    contract_name(table, "t");
    *state = table;
    return table_store_create_table(contract.store, table, &call);
}

int contract_tear_down(void **state)
{
    struct call call = contract_call();
    int r = table_store_delete_table(contract.store, *state, &call);
    free(*state);
    while (kept_count > 0)
        free(kept[--kept_count]);
    return r == -ENOENT ? 0 : r;
}

struct bytes contract_text(const char *partition_key, const char *row_key, const char *const *lines)
{
    struct buffer text;
    buffer_init(&text, MAX_BYTES);
    (void)buffer_append_format(&text, "{\n  \"PartitionKey\": \"%s\",\n  \"RowKey\": \"%s\"",
                               partition_key, row_key);
    for (; *lines; lines++)
        (void)buffer_append_format(&text, ",\n  %s", *lines);
    (void)buffer_append_string(&text, "\n}\n");
    return keep(&text);
}

struct bytes contract_position(const char *partition_key, const char *row_key)
{
    struct buffer position;
    buffer_init(&position, 65536);
    (void)cesu8_append_utf8(&position, bytes_of(partition_key));
    (void)buffer_append_char(&position, '\0');
    (void)cesu8_append_utf8(&position, bytes_of(row_key));
    return keep(&position);
}

int contract_write(const char *table, enum write_kind kind, const char *partition_key,
                   const char *row_key, const char *if_match, const char *const *lines,
                   char ret_etag[128], struct call *call)
{
    struct write_result result = {0};
    struct write write = {.kind = kind,
                          .position = contract_position(partition_key, row_key),
                          .if_match = bytes_of(if_match)};
    if (kind != WRITE_DELETE)
        write.text = contract_text(partition_key, row_key, lines);
    *call = contract_call();
    int r = table_store_write(contract.store, table, &write, 1, call, &result);
    if (r == 0 && ret_etag)
        memcpy(ret_etag, result.etag, sizeof(result.etag));
    return r;
}

struct bytes contract_stored(const char *table, const char *partition_key, const char *row_key)
{
    struct call call = contract_call();
    struct page *page;
    struct buffer text;
    buffer_init(&text, MAX_BYTES);
    int r = table_store_get(contract.store, table, contract_position(partition_key, row_key), &call,
                            &page);
    if (r == -ENOENT)
        return B("");
    if (r < 0)
        fail_msg("get: %d %s", r, call.failure.message);
    (void)buffer_append(&text, page_text(page, 0));
    page_unref(page);
    return keep(&text);
}

void contract_assert_stored(const char *table, const char *partition_key, const char *row_key,
                            const char *const *lines)
{
    assert_bytes(contract_stored(table, partition_key, row_key),
                 contract_text(partition_key, row_key, lines));
}

void contract_assert_absent(const char *table, const char *partition_key, const char *row_key)
{
    assert_bytes(contract_stored(table, partition_key, row_key), B(""));
}

void contract_assert_refused(int r, const struct call *call, int error, int http_status,
                             const char *code)
{
    if (r != error || call->failure.http_status != http_status ||
        strcmp(call->failure.code, code) != 0)
        fail_msg("%d, HTTP %d %s (%s), not %d, HTTP %d %s", r, call->failure.http_status,
                 call->failure.code, call->failure.message, error, http_status, code);
}

struct bytes contract_rows(const char *table, struct range range, const char *filter, int top,
                           size_t *ret_pages)
{
    struct buffer rows;
    struct answer answer = {0};
    struct query query = {.table = table, .range = range, .filter = filter, .top = top};
    buffer_init(&rows, MAX_BYTES);
    *ret_pages = 0;
    do {
        struct answer last = answer;
        struct call call = contract_call();
        query.after = last.next;
        answer = (struct answer){0};
        int r = table_store_query(contract.store, &query, &call, &answer);
        answer_finish(&last);
        if (r < 0)
            fail_msg("query: %d %s %s", r, call.failure.code, call.failure.message);
        for (size_t i = 0; i < page_rows(answer.page); i++) {
            struct bytes position = page_position(answer.page, i);
            (void)buffer_append(&rows, position_partition_key(position));
            (void)buffer_append_char(&rows, '/');
            (void)buffer_append(&rows, position_row_key(position));
            (void)buffer_append_char(&rows, ' ');
        }
        ++*ret_pages;
    } while (answer.next);
    answer_finish(&answer);
    return rows.size == 0 ? B("") : keep(&rows);
}

/* store_contract SOURCE */
int main(int argc, char **argv)
{
    _cleanup_(source_closep) struct source *source = NULL;
    if (argc < 2 || source_open(argv[1], &source) < 0)
        return 2;
    contract.store = source_store(source);
    int failed = 0;
    failed += _cmocka_run_group_tests("tables", contract_tables, contract_tables_count, NULL, NULL);
    failed +=
        _cmocka_run_group_tests("entities", contract_entities, contract_entities_count, NULL, NULL);
    failed +=
        _cmocka_run_group_tests("queries", contract_queries, contract_queries_count, NULL, NULL);
    failed +=
        _cmocka_run_group_tests("batches", contract_batches, contract_batches_count, NULL, NULL);
    return failed != 0;
}
