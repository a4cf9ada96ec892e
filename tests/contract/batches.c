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

static void awkward_keys_go_in_a_batch(void **state)
{
    const char *table = *state;
    /* not with Azurite: `',` and U+2028 in a RowKey (azurite.md 3.2: it changes another row) */
    static const char *const keys[] = {"",
                                       " ",
                                       "it's",
                                       "100%",
                                       "a%2Fb",
                                       "a+b",
                                       "\xE6\x97\xA5",
                                       "\xF0\x9F\x98\x80",
                                       "a',b",
                                       "line\xE2\x80\xA8separator"};
    size_t n = ARRAY_SIZE(keys) - (IS_AZURITE ? 2 : 0);
    struct write writes[ARRAY_SIZE(keys)];
    struct write_result results[ARRAY_SIZE(keys)];
    struct call call;
    for (size_t i = 0; i < n; i++)
        writes[i] = make(WRITE_INSERT, keys[i], "", LINES("\"A\": 1"));
    assert_int_equal(write_all(table, writes, n, &call, results), 0);
    for (size_t i = 0; i < n; i++) {
        contract_assert_stored(table, "p", keys[i], LINES("\"A\": 1"));
        writes[i] = make(WRITE_DELETE, keys[i], "*", NULL);
    }
    assert_int_equal(write_all(table, writes, n, &call, results), 0);
    for (size_t i = 0; i < n; i++)
        contract_assert_absent(table, "p", keys[i]);
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, contract_set_up, contract_tear_down)

const struct CMUnitTest contract_batches[] = {
    WITH_TABLE(every_kind_goes_in_one_batch),      WITH_TABLE(a_batch_is_whole_or_not_at_all),
    WITH_TABLE(each_refusal_is_that_of_the_write), WITH_TABLE(what_is_no_batch_is_not_sent),
    WITH_TABLE(a_batch_is_at_most_four_megabytes), WITH_TABLE(awkward_keys_go_in_a_batch),
};
const size_t contract_batches_count = ARRAY_SIZE(contract_batches);
