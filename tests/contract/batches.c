/* SPDX-License-Identifier: MIT */
#include "tests/contract/contract.h"

#define MAX_WRITES 101

static struct write make(enum write_kind kind, const char *row_key, const char *if_match,
                         const char *const *lines)
{
    struct write write = {
        .kind = kind, .position = contract_position("p", row_key), .if_match = bytes_of(if_match)};
    if (kind != WRITE_DELETE)
        write.text = contract_text("p", row_key, lines);
    return write;
}

static int write_all(const char *table, const struct write *writes, size_t n, struct call *call,
                     struct write_result *results)
{
    *call = contract_call();
    return table_store_write(contract.store, table, writes, n, call, results);
}

static void every_kind_goes_in_one_batch(void **state)
{
    const char *table = *state;
    struct call call;
    char etag[128];
    static const char *const there[] = {"merge", "replace", "delete", "upsert", "version"};
    for (size_t i = 0; i < ARRAY_SIZE(there); i++)
        assert_int_equal(
            contract_write(table, WRITE_INSERT, "p", there[i], "", LINES("\"A\": 1"), etag, &call),
            0);
    struct write writes[] = {make(WRITE_INSERT, "insert", "", LINES("\"B\": 2")),
                             make(WRITE_MERGE, "merge", "*", LINES("\"B\": 2")),
                             make(WRITE_REPLACE, "replace", "*", LINES("\"B\": 2")),
                             make(WRITE_DELETE, "delete", "*", NULL),
                             make(WRITE_UPSERT_REPLACE, "upsert", "", LINES("\"B\": 2")),
                             make(WRITE_UPSERT_MERGE, "new", "", LINES("\"B\": 2")),
                             make(WRITE_REPLACE, "version", etag, LINES("\"B\": 2"))};
    struct write_result results[ARRAY_SIZE(writes)];
    assert_int_equal(write_all(table, writes, ARRAY_SIZE(writes), &call, results), 0);
    contract_assert_stored(table, "p", "insert", LINES("\"B\": 2"));
    contract_assert_stored(table, "p", "merge", LINES("\"A\": 1", "\"B\": 2"));
    contract_assert_stored(table, "p", "replace", LINES("\"B\": 2"));
    contract_assert_absent(table, "p", "delete");
    contract_assert_stored(table, "p", "upsert", LINES("\"B\": 2"));
    contract_assert_stored(table, "p", "new", LINES("\"B\": 2"));
    contract_assert_stored(table, "p", "version", LINES("\"B\": 2"));
    assert_string_equal(results[3].etag, "");
    for (size_t i = 0; i < ARRAY_SIZE(writes); i++) { /* results are in the order of the writes */
        struct page *page;
        if (writes[i].kind == WRITE_DELETE)
            continue;
        assert_int_equal(table_store_get(contract.store, table, writes[i].position, &call, &page),
                         0);
        assert_bytes(page_etag(page, 0), bytes_of(results[i].etag));
        page_unref(page);
    }
}

/* Hundred inserts, of which number `bad` finds its place taken. */
static void assert_whole_or_nothing(const char *table, size_t bad)
{
    struct write writes[100];
    struct write_result results[100];
    struct call call;
    char row[16];
    for (size_t i = 0; i < 100; i++) {
        (void)snprintf(row, sizeof(row), "%zu-%03zu", bad, i);
        writes[i] = make(WRITE_INSERT, row, "", LINES("\"A\": 1"));
    }
    (void)snprintf(row, sizeof(row), "%zu-%03zu", bad, bad);
    assert_int_equal(
        contract_write(table, WRITE_INSERT, "p", row, "", LINES("\"A\": 0"), NULL, &call), 0);
    int r = write_all(table, writes, 100, &call, results);
    assert_int_equal(r, -EEXIST);
    assert_string_equal(call.failure.code, "EntityAlreadyExists");
    assert_int_equal(call.failure.operation, bad);
    contract_assert_stored(table, "p", row, LINES("\"A\": 0"));
    (void)snprintf(row, sizeof(row), "%zu-%03d", bad, bad == 0 ? 99 : 0);
    contract_assert_absent(table, "p", row);
}

static void a_batch_is_whole_or_not_at_all(void **state)
{
    assert_whole_or_nothing(*state, 0);
    assert_whole_or_nothing(*state, 57);
    assert_whole_or_nothing(*state, 99);
}

static void each_refusal_is_that_of_the_write(void **state)
{
    const char *table = *state;
    struct call call;
    struct write_result results[2];
    char stale[128];
    assert_int_equal(contract_write(table, WRITE_INSERT, "p", "there", "", NO_LINES, stale, &call),
                     0);
    assert_int_equal(
        contract_write(table, WRITE_MERGE, "p", "there", "*", LINES("\"A\": 1"), NULL, &call), 0);
    struct write absent[] = {make(WRITE_INSERT, "a", "", NO_LINES),
                             make(WRITE_DELETE, "absent", "*", NULL)};
    int r = write_all(table, absent, 2, &call, results);
    assert_int_equal(r, -ENOENT);
    assert_string_equal(call.failure.code, "ResourceNotFound");
    assert_int_equal(call.failure.operation, 1);
    struct write changed[] = {make(WRITE_REPLACE, "there", stale, NO_LINES),
                              make(WRITE_INSERT, "b", "", NO_LINES)};
    r = write_all(table, changed, 2, &call, results);
    assert_int_equal(r, -ESTALE);
    assert_string_equal(call.failure.code, "UpdateConditionNotSatisfied");
    assert_int_equal(call.failure.operation, 0);
    contract_assert_absent(table, "p", "a");
    contract_assert_absent(table, "p", "b");
}

static void what_is_no_batch_is_not_sent(void **state)
{
    const char *table = *state;
    struct call call;
    struct write_result results[MAX_WRITES];
    struct write writes[MAX_WRITES];
    for (size_t i = 0; i < MAX_WRITES; i++) {
        char row[8];
        (void)snprintf(row, sizeof(row), "%zu", i);
        writes[i] = make(WRITE_INSERT, row, "", NO_LINES);
    }
    assert_int_equal(write_all(table, writes, MAX_WRITES, &call, results), -EINVAL);
    assert_int_equal(call.failure.http_status, 0);
    writes[5] = writes[3];
    assert_int_equal(write_all(table, writes, 10, &call, results), -EINVAL);
    assert_int_equal(call.failure.operation, 5);
    writes[5].position = contract_position("other", "5");
    assert_int_equal(write_all(table, writes, 10, &call, results), -EINVAL);
    assert_int_equal(call.failure.operation, 5);
    writes[0].if_match = B("*");
    assert_int_equal(write_all(table, writes, 2, &call, results), -EINVAL);
    assert_int_equal(write_all(table, writes, 0, &call, results), -EINVAL);
    contract_assert_absent(table, "p", "1");
}

static void a_batch_is_at_most_four_megabytes(void **state)
{
    const char *table = *state;
    struct write writes[100];
    struct write_result results[100];
    struct call call;
    char *line = malloc(32768 + 32);
    size_t begin = (size_t)snprintf(line, 32, "\"A\": \"");
    memset(line + begin, 'x', 32768);
    (void)snprintf(line + begin + 32768, 8, "\"");
    for (size_t i = 0; i < 100; i++) { /* 120 x 33 KB would be too much; 100 x 33 KB is not */
        char row[8];
        (void)snprintf(row, sizeof(row), "%zu", i);
        writes[i] = make(WRITE_INSERT, row, "", LINES(line));
    }
    assert_int_equal(write_all(table, writes, 100, &call, results), 0);
    for (size_t i = 0; i < 100; i++) {
        char row[8], other[32768 + 10000 + 64];
        (void)snprintf(row, sizeof(row), "b%zu", i);
        (void)snprintf(other, sizeof(other), "%s,\n  \"B\": \"%.10000s\"", line, line + begin);
        writes[i] = make(WRITE_INSERT, row, "", LINES(other));
    }
    assert_int_equal(write_all(table, writes, 100, &call, results), -EFBIG);
    contract_assert_absent(table, "p", "b0");
    free(line);
}

/* The longest batch that its sizes allow, with keys that are three times as long in a URL. */
static void a_batch_that_fits_by_its_sizes_is_accepted(void **state)
{
    const char *table = *state;
    struct write writes[100];
    struct write_result results[100];
    struct call call;
    size_t left = table_store_limits(contract.store)->batch_bytes;
    char row[700] = "", half[16 + 15000], line[16 + 32768];
    (void)snprintf(half, sizeof(half), "\"A\": \"%015000d\"", 0);
    for (size_t i = 0; i < 200; i++)
        (void)snprintf(row + 3 * i, 4, "\xE6\x97\xA5");
    for (size_t i = 0; i < 100; i++) {
        (void)snprintf(row + 600, 8, "%03zu", i);
        writes[i] = make(WRITE_UPSERT_REPLACE, row, "", LINES(half, "\"B\": \"\""));
        size_t size = table_store_write_size(contract.store, table, &writes[i]);
        const int fill = (int)(left / (100 - i) - size);
        assert_in_range(fill, 10000, 32767);
        (void)snprintf(line, sizeof(line), "\"B\": \"%0*d\"", fill, 0);
        writes[i] = make(WRITE_UPSERT_REPLACE, row, "", LINES(half, line));
        left -= size + (size_t)fill;
    }
    assert_int_equal(left, 0);
    assert_int_equal(write_all(table, writes, 100, &call, results), 0);
    contract_assert_stored(table, "p", row, LINES(half, line));
    (void)snprintf(line + strlen(line) - 1, 3, "0\""); /* one byte more */
    writes[99] = make(WRITE_UPSERT_REPLACE, row, "", LINES(half, line));
    assert_int_equal(write_all(table, writes, 100, &call, results), -EFBIG);
    assert_int_equal(call.failure.operation, -1);
    assert_int_equal(call.failure.http_status, 0);
}

/* Writes all that may stand together, in one batch, and the others alone. */
static void write_together(const char *table, const struct write *writes, size_t n)
{
    struct write together[100];
    struct write_result results[100];
    struct call call;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (table_store_goes_alone(&writes[i]))
            assert_int_equal(write_all(table, &writes[i], 1, &call, results), 0);
        else
            together[count++] = writes[i];
    }
    assert_true(count > 1);
    assert_int_equal(write_all(table, together, count, &call, results), 0);
}

static void awkward_keys_go_in_a_batch(void **state)
{
    const char *table = *state;
    static const char *const keys[] = {"",
                                       " ",
                                       "it's",
                                       "')",
                                       "''",
                                       "RowKey='r'",
                                       "100%",
                                       "a%2Fb",
                                       "a+b",
                                       "\xE6\x97\xA5",
                                       "\xF0\x9F\x98\x80",
                                       "a',b",
                                       "line\xE2\x80\xA8separator",
                                       "paragraph\xE2\x80\xA9separator"};
    struct write writes[ARRAY_SIZE(keys)];
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        writes[i] = make(WRITE_INSERT, keys[i], "", LINES("\"A\": 1"));
    write_together(table, writes, ARRAY_SIZE(keys));
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        contract_assert_stored(table, "p", keys[i], LINES("\"A\": 1"));
        writes[i] = make(WRITE_UPSERT_MERGE, keys[i], "", LINES("\"B\": 2"));
    }
    write_together(table, writes, ARRAY_SIZE(keys));
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        contract_assert_stored(table, "p", keys[i], LINES("\"A\": 1", "\"B\": 2"));
        writes[i] = make(WRITE_DELETE, keys[i], "*", NULL);
    }
    write_together(table, writes, ARRAY_SIZE(keys));
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        contract_assert_absent(table, "p", keys[i]);
}

/* The same of partitions; and a write that goes alone leaves the others' batches as they are. */
static void awkward_partitions_take_batches(void **state)
{
    const char *table = *state;
    static const char *const partitions[] = {
        "", "it's", "a',b", "')", "PartitionKey='p',", "100%", "\xE6\x97\xA5"};
    struct write_result results[2];
    struct call call;
    for (size_t i = 0; i < ARRAY_SIZE(partitions); i++) {
        struct write writes[2];
        for (size_t row = 0; row < 2; row++)
            writes[row] = (struct write){
                .kind = WRITE_UPSERT_REPLACE,
                .position = contract_position(partitions[i], row == 0 ? "a" : "b"),
                .text = contract_text(partitions[i], row == 0 ? "a" : "b", LINES("\"A\": 1"))};
        assert_false(table_store_goes_alone(&writes[0]));
        assert_int_equal(write_all(table, writes, 2, &call, results), 0);
        contract_assert_stored(table, partitions[i], "a", LINES("\"A\": 1"));
        for (size_t row = 0; row < 2; row++) {
            writes[row].kind = WRITE_DELETE;
            writes[row].if_match = bytes_of(row == 0 ? results[0].etag : "*");
            writes[row].text = B("");
        }
        char etag[128];
        memcpy(etag, results[0].etag, sizeof(etag));
        writes[0].if_match = bytes_of(etag);
        assert_int_equal(write_all(table, writes, 2, &call, results), 0);
        contract_assert_absent(table, partitions[i], "a");
        contract_assert_absent(table, partitions[i], "b");
    }
}

/* Whatever is refused, the next batch is made: Azurite fails them all after some failures. */
static void refused_batches_leave_the_next_alone(void **state)
{
    const char *table = *state;
    static const struct {
        enum write_kind kind;
        int error;
        const char *row_key, *if_match, *code;
    } cases[] = {
        {WRITE_INSERT, -EEXIST, "there", "", "EntityAlreadyExists"},
        {WRITE_DELETE, -ENOENT, "absent", "*", "ResourceNotFound"},
        {WRITE_REPLACE, -ENOENT, "absent", "*", "ResourceNotFound"},
        {WRITE_MERGE, -ESTALE, "there", "W/\"datetime'2024-01-02T03%3A04%3A05.1234567Z'\"",
         "UpdateConditionNotSatisfied"},
        {WRITE_DELETE, -EINVAL, "there", "nonsense", "InvalidInput"},
    };
    struct call call;
    char missing[64];
    contract_name(missing, "missing");
    for (size_t n = 2; n <= 100; n += 49) {
        struct write writes[100];
        struct write_result results[100];
        for (size_t i = 0; i < n; i++) {
            char row[16];
            (void)snprintf(row, sizeof(row), i == 0 ? "there" : "%zu-%zu", n, i);
            writes[i] = make(WRITE_UPSERT_REPLACE, row, "", LINES("\"A\": 1"));
        }
        assert_int_equal(write_all(table, writes, n, &call, results), 0);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
            size_t at = i % 2 == 0 ? n - 1 : n / 2;
            struct write kept = writes[at], first = writes[0];
            writes[at] = make(cases[i].kind, cases[i].row_key, cases[i].if_match, NO_LINES);
            writes[0] = kept;
            assert_int_equal(write_all(table, writes, n, &call, results), cases[i].error);
            assert_string_equal(call.failure.code, cases[i].code);
            assert_int_equal(call.failure.operation, at);
            assert_false(call.failure.is_ambiguous || call.failure.is_retryable);
            writes[at] = kept;
            writes[0] = first;
            assert_int_equal(write_all(table, writes, n, &call, results), 0);
            assert_int_equal(write_all(missing, writes, n, &call, results), -ENOENT);
            assert_string_equal(call.failure.code, "TableNotFound");
            assert_int_equal(write_all(table, writes, n, &call, results), 0);
        }
    }
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, contract_set_up, contract_tear_down)

const struct CMUnitTest contract_batches[] = {
    WITH_TABLE(every_kind_goes_in_one_batch),
    WITH_TABLE(a_batch_is_whole_or_not_at_all),
    WITH_TABLE(each_refusal_is_that_of_the_write),
    WITH_TABLE(what_is_no_batch_is_not_sent),
    WITH_TABLE(a_batch_is_at_most_four_megabytes),
    WITH_TABLE(a_batch_that_fits_by_its_sizes_is_accepted),
    WITH_TABLE(awkward_keys_go_in_a_batch),
    WITH_TABLE(awkward_partitions_take_batches),
    WITH_TABLE(refused_batches_leave_the_next_alone),
};
const size_t contract_batches_count = ARRAY_SIZE(contract_batches);
