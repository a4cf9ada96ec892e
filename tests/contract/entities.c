/* SPDX-License-Identifier: MIT */
#include "tests/contract/contract.h"

#define ANY "*"

static const char *const all_types[] = {
    "\"Binary@odata.type\": \"Edm.Binary\"",
    "\"Binary\": \"AAEC/w==\"",
    "\"Boolean\": false",
    "\"DateTime@odata.type\": \"Edm.DateTime\"",
    "\"DateTime\": \"2024-05-06T07:08:09.1234567Z\"",
    "\"Double@odata.type\": \"Edm.Double\"",
    "\"Double\": 0.1",
    "\"Guid@odata.type\": \"Edm.Guid\"",
    "\"Guid\": \"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"",
    "\"Int32\": -2147483648",
    "\"Int64@odata.type\": \"Edm.Int64\"",
    "\"Int64\": \"9223372036854775807\"",
    "\"Nan@odata.type\": \"Edm.Double\"",
    "\"Nan\": \"NaN\"",
    "\"String\": \"a \\\"quoted\\\" \\\\ line\\nand \xE6\x97\xA5 \xF0\x9F\x98\x80\"",
    "\"Whole@odata.type\": \"Edm.Double\"",
    "\"Whole\": 3.0",
    NULL};

static void the_eight_types_come_back_as_they_went(void **state)
{
    const char *table = *state;
    struct call call;
    assert_int_equal(contract_write(table, WRITE_INSERT, "p", "r", "", all_types, NULL, &call), 0);
    contract_assert_stored(table, "p", "r", all_types);
}

/* In the order of their code points; one has a line end, one is outside of the first plane. */
static const char *const names_beyond_ascii[] = {"\"e\xCC\x81\": 1",
                                                 "\"\xC3\xA9@odata.type\": \"Edm.Int64\"",
                                                 "\"\xC3\xA9\": \"9007199254740993\"",
                                                 "\"\xE2\x80\xA8\": true",
                                                 "\"\xE5\x90\x8D\xE5\x89\x8D\": \"\xC3\xA9\"",
                                                 "\"\xEF\xBF\xBD\": 2",
                                                 "\"\xF0\x9F\x98\x80\": 3",
                                                 NULL};

static void names_may_go_beyond_ascii(void **state)
{
    const char *table = *state;
    struct call call;
    assert_int_equal(
        contract_write(table, WRITE_INSERT, "p", "r", "", names_beyond_ascii, NULL, &call), 0);
    contract_assert_stored(table, "p", "r", names_beyond_ascii);
    assert_int_equal(contract_write(table, WRITE_MERGE, "p", "r", ANY,
                                    LINES("\"\xE5\x90\x8D\xE5\x89\x8D\": \"other\""), NULL, &call),
                     0);
    assert_int_equal(contract_write(table, WRITE_MERGE, "p", "r", ANY,
                                    LINES("\"\xE5\x90\x8D\xE5\x89\x8D\": \"\xC3\xA9\""), NULL,
                                    &call),
                     0);
    contract_assert_stored(table, "p", "r", names_beyond_ascii);
    struct write_result results[2];
    const struct write writes[] = {
        {.kind = WRITE_UPSERT_REPLACE,
         .position = contract_position("p", "s"),
         .text = contract_text("p", "s", names_beyond_ascii)},
        {.kind = WRITE_INSERT,
         .position = contract_position("p", "t"),
         .text = contract_text("p", "t", names_beyond_ascii)},
    };
    call = contract_call();
    assert_int_equal(table_store_write(contract.store, table, writes, 2, &call, results), 0);
    contract_assert_stored(table, "p", "s", names_beyond_ascii);
    contract_assert_stored(table, "p", "t", names_beyond_ascii);
}

static void an_insert_finds_its_place_free(void **state)
{
    const char *table = *state;
    struct call call;
    char etag[128];
    assert_int_equal(
        contract_write(table, WRITE_INSERT, "p", "r", "", LINES("\"A\": 1"), etag, &call), 0);
    assert_true(etag[0] != '\0');
    int r = contract_write(table, WRITE_INSERT, "p", "r", "", LINES("\"A\": 2"), NULL, &call);
    contract_assert_refused(r, &call, -EEXIST, 409, "EntityAlreadyExists");
    contract_assert_stored(table, "p", "r", LINES("\"A\": 1"));
}

static void replace_and_merge_want_the_version_they_know(void **state)
{
    const char *table = *state;
    struct call call;
    char first[128], second[128], third[128];
    assert_int_equal(contract_write(table, WRITE_INSERT, "p", "r", "",
                                    LINES("\"A\": 1", "\"B\": 2"), first, &call),
                     0);
    assert_int_equal(contract_write(table, WRITE_MERGE, "p", "r", first,
                                    LINES("\"B\": 3", "\"C\": 4"), second, &call),
                     0);
    contract_assert_stored(table, "p", "r", LINES("\"A\": 1", "\"B\": 3", "\"C\": 4"));
    assert_string_not_equal(first, second);
    static const enum write_kind kinds[] = {WRITE_REPLACE, WRITE_MERGE, WRITE_DELETE};
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        int r = contract_write(table, kinds[i], "p", "r", first, LINES("\"X\": 9"), NULL, &call);
        contract_assert_refused(r, &call, -ESTALE, 412, "UpdateConditionNotSatisfied");
    }
    assert_int_equal(
        contract_write(table, WRITE_REPLACE, "p", "r", second, LINES("\"D\": 5"), third, &call), 0);
    contract_assert_stored(table, "p", "r", LINES("\"D\": 5"));
    assert_int_equal(contract_write(table, WRITE_DELETE, "p", "r", third, NULL, NULL, &call), 0);
    contract_assert_absent(table, "p", "r");
}

static void any_version_will_do_with_a_star(void **state)
{
    const char *table = *state;
    struct call call;
    assert_int_equal(contract_write(table, WRITE_INSERT, "p", "r", "", NO_LINES, NULL, &call), 0);
    assert_int_equal(
        contract_write(table, WRITE_MERGE, "p", "r", ANY, LINES("\"A\": 1"), NULL, &call), 0);
    assert_int_equal(
        contract_write(table, WRITE_REPLACE, "p", "r", ANY, LINES("\"B\": 1"), NULL, &call), 0);
    contract_assert_stored(table, "p", "r", LINES("\"B\": 1"));
    assert_int_equal(contract_write(table, WRITE_DELETE, "p", "r", ANY, NULL, NULL, &call), 0);
}

static void what_is_not_there_cannot_be_changed(void **state)
{
    const char *table = *state;
    static const enum write_kind kinds[] = {WRITE_REPLACE, WRITE_MERGE, WRITE_DELETE};
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        struct call call;
        int r = contract_write(table, kinds[i], "p", "r", ANY, LINES("\"A\": 1"), NULL, &call);
        contract_assert_refused(r, &call, -ENOENT, 404, "ResourceNotFound");
    }
    contract_assert_absent(table, "p", "r");
}

static void upserts_take_what_is_there(void **state)
{
    const char *table = *state;
    struct call call;
    char first[128], second[128];
    assert_int_equal(
        contract_write(table, WRITE_UPSERT_MERGE, "p", "r", "", LINES("\"A\": 1"), first, &call),
        0);
    assert_int_equal(
        contract_write(table, WRITE_UPSERT_MERGE, "p", "r", "", LINES("\"B\": 2"), second, &call),
        0);
    contract_assert_stored(table, "p", "r", LINES("\"A\": 1", "\"B\": 2"));
    assert_string_not_equal(first, second);
    assert_int_equal(
        contract_write(table, WRITE_UPSERT_REPLACE, "p", "r", "", LINES("\"C\": 3"), NULL, &call),
        0);
    contract_assert_stored(table, "p", "r", LINES("\"C\": 3"));
    assert_int_equal(
        contract_write(table, WRITE_UPSERT_REPLACE, "p", "new", "", NO_LINES, NULL, &call), 0);
    contract_assert_stored(table, "p", "new", NO_LINES);
}

static void a_merge_changes_a_type_with_its_value(void **state)
{
    const char *table = *state;
    struct call call;
    assert_int_equal(contract_write(table, WRITE_INSERT, "p", "r", "",
                                    LINES("\"A@odata.type\": \"Edm.Int64\"", "\"A\": \"1\""), NULL,
                                    &call),
                     0);
    assert_int_equal(
        contract_write(table, WRITE_MERGE, "p", "r", ANY, LINES("\"A\": \"text\""), NULL, &call),
        0);
    contract_assert_stored(table, "p", "r", LINES("\"A\": \"text\""));
}

static void every_write_makes_a_new_version(void **state)
{
    const char *table = *state;
    struct call call;
    char etags[20][128];
    int64_t timestamp = 0;
    for (size_t i = 0; i < ARRAY_SIZE(etags); i++) {
        assert_int_equal(contract_write(table, WRITE_UPSERT_REPLACE, "p", "r", "",
                                        LINES("\"A\": 1"), etags[i], &call),
                         0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(etags[i], etags[j]);
        struct page *page;
        assert_int_equal(
            table_store_get(contract.store, table, contract_position("p", "r"), &call, &page), 0);
        assert_bytes(page_etag(page, 0), bytes_of(etags[i]));
        assert_true(page_timestamp(page, 0) > timestamp);
        timestamp = page_timestamp(page, 0);
        page_unref(page);
    }
}

static void keys_of_any_kind_are_found_again(void **state)
{
    const char *table = *state;
    static const char *const keys[] = {"",
                                       " ",
                                       "a b",
                                       "it's",
                                       "100%",
                                       "a%2Fb",
                                       "a+b",
                                       "a&b=c;d",
                                       "(x),y",
                                       "[z]{|}~^`",
                                       "..",
                                       "\xC3\xA9",
                                       "e\xCC\x81",
                                       "\xE6\x97\xA5\xE6\x9C\xAC",
                                       "\xF0\x9F\x98\x80",
                                       "\xEF\xBF\xBD"};
    struct call call;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        assert_int_equal(contract_write(table, WRITE_INSERT, keys[i], keys[i], "",
                                        LINES("\"A\": 1"), NULL, &call),
                         0);
        contract_assert_stored(table, keys[i], keys[i], LINES("\"A\": 1"));
    }
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        assert_int_equal(contract_write(table, WRITE_REPLACE, keys[i], keys[i], ANY,
                                        LINES("\"A\": 2"), NULL, &call),
                         0);
        assert_int_equal(
            contract_write(table, WRITE_DELETE, keys[i], keys[i], ANY, NULL, NULL, &call), 0);
        contract_assert_absent(table, keys[i], keys[i]);
    }
}

static void a_key_is_at_most_512_units(void **state)
{
    const char *table = *state;
    char key[514];
    struct call call;
    memset(key, 'k', sizeof(key));
    key[512] = '\0';
    assert_int_equal(contract_write(table, WRITE_INSERT, key, key, "", NO_LINES, NULL, &call), 0);
    contract_assert_stored(table, key, key, NO_LINES);
    key[512] = 'k';
    key[513] = '\0';
    int r = contract_write(table, WRITE_INSERT, "p", key, "", NO_LINES, NULL, &call);
    assert_true(r == -EINVAL || r == -ENAMETOOLONG);
    assert_int_equal(call.failure.http_status, 400);
}

static void values_that_are_too_large_are_refused(void **state)
{
    const char *table = *state;
    struct call call;
    size_t units = 32768;
    char *line = malloc(units + 32);
    size_t begin = (size_t)snprintf(line, 32, "\"A\": \"");
    memset(line + begin, 'x', units + 1);
    (void)snprintf(line + begin + units, 8, "\"");
    assert_int_equal(contract_write(table, WRITE_INSERT, "p", "fits", "", LINES(line), NULL, &call),
                     0);
    contract_assert_stored(table, "p", "fits", LINES(line));
    line[begin + units] = 'x';
    (void)snprintf(line + begin + units + 1, 8, "\"");
    int r = contract_write(table, WRITE_INSERT, "p", "r", "", LINES(line), NULL, &call);
    assert_true(r == -EINVAL || r == -EFBIG);
    assert_string_equal(call.failure.code, "PropertyValueTooLarge");
    contract_assert_absent(table, "p", "r");
    free(line);
}

static void what_the_service_would_not_store_is_refused(void **state)
{
    const char *table = *state;
    static const char *const lines[] = {
        "\"9lives\": 1",
        "\"\xC3\xA9-\": 1",
        "\"A@odata.type\": \"Edm.Guid\",\n  \"A\": \"no\"",
        "\"A@odata.type\": \"Edm.Int64\",\n  \"A\": \"x\"",
        "\"A@odata.type\": \"Edm.DateTime\",\n  \"A\": \"1600-01-01T00:00:00Z\"",
        "\"A\": 2147483648"};
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        struct call call;
        int r = contract_write(table, WRITE_INSERT, "p", "r", "", LINES(lines[i]), NULL, &call);
        assert_int_equal(r, -EINVAL);
        assert_int_equal(call.failure.http_status, 400);
        contract_assert_absent(table, "p", "r");
    }
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, contract_set_up, contract_tear_down)

const struct CMUnitTest contract_entities[] = {
    WITH_TABLE(the_eight_types_come_back_as_they_went),
    WITH_TABLE(names_may_go_beyond_ascii),
    WITH_TABLE(an_insert_finds_its_place_free),
    WITH_TABLE(replace_and_merge_want_the_version_they_know),
    WITH_TABLE(any_version_will_do_with_a_star),
    WITH_TABLE(what_is_not_there_cannot_be_changed),
    WITH_TABLE(upserts_take_what_is_there),
    WITH_TABLE(a_merge_changes_a_type_with_its_value),
    WITH_TABLE(every_write_makes_a_new_version),
    WITH_TABLE(keys_of_any_kind_are_found_again),
    WITH_TABLE(a_key_is_at_most_512_units),
    WITH_TABLE(values_that_are_too_large_are_refused),
    WITH_TABLE(what_the_service_would_not_store_is_refused),
};
const size_t contract_entities_count = ARRAY_SIZE(contract_entities);
