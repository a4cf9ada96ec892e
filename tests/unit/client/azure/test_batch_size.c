/* SPDX-License-Identifier: MIT */
/* What table_store_write_size says of writes, against the body that they become. */
#include "client/azure/batch.h"
#include "client/base/unicode.h"
#include "tests/unit/unit.h"

#define URL       "https://account.table.core.windows.net"
#define ID        "01234567-89ab-cdef-0123-456789abcdef"
#define MAX_BYTES ((size_t)16 << 20)
/* The bytes by which the bound may exceed the size of a write without keys in its text. */
#define SPARE 200

static const struct bytes if_match = B("W/\"datetime'2017-01-05T03%3A25%3A25.9422152Z'\"");

/* Keys in CESU-8, some of which take more bytes in a URL, or in JSON. */
static const struct bytes keys[] = {
    B(""),
    B("a"),
    B("-._~"),
    B("it''s"),
    B("100%"),
    B("\"quoted\""),
    B("\xC3\xA9"),
    B("\xE6\x97\xA5\xE6\x9C\xAC"),
    B("\xED\xA0\xBD\xED\xB8\x80"), /* U+1F600 */
    B("\xE2\x80\xA8\xE2\x80\xA9"), /* line ends */
};

static const struct bytes texts[] = {
    B("{\n}\n"),
    B("{\n  \"n\": 1\n}\n"),
    B("{\n  \"n@odata.type\": \"Edm.Int64\",\n  \"n\": \"1\"\n}\n"),
    B("{\n  \"s\": \"\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA\"\n}\n"),
    B("{\n  \"s\": \"\xE2\x80\xA8\xE2\x80\xA8\xE2\x80\xA8\xE2\x80\xA8\xE2\x80\xA8\"\n}\n"),
};

static size_t body_size(const struct write *writes, size_t n)
{
    const struct batch batch = {URL, "tab", writes, n, ID};
    struct buffer body;
    struct call call = {0};
    buffer_init(&body, MAX_BYTES);
    assert_int_equal(batch_append_body(&body, &batch, &call), 0);
    size_t size = body.size;
    buffer_finish(&body);
    return size;
}

static struct write make(enum write_kind kind, struct bytes position, struct bytes text)
{
    bool is_conditional = kind == WRITE_REPLACE || kind == WRITE_MERGE || kind == WRITE_DELETE;
    return (struct write){.kind = kind,
                          .position = position,
                          .if_match = is_conditional ? if_match : B(""),
                          .text = kind == WRITE_DELETE ? B("") : text};
}

static void check_part(enum write_kind kind, struct bytes position, struct bytes text)
{
    const struct write write = make(kind, position, text);
    size_t size = batch_part_size(URL, "tab", &write);
    size_t part = body_size(&write, 1) - body_size(&write, 0);
    assert_in_range(size, part, part + SPARE);
}

static void a_part_is_no_longer_and_hardly_shorter(void **state)
{
    (void)state;
    for (size_t key = 0; key < ARRAY_SIZE(keys) * ARRAY_SIZE(keys); key++) {
        _cleanup_(buffer_finish) struct buffer position;
        buffer_init(&position, 1000);
        assert_int_equal(
            position_append(&position, keys[key % ARRAY_SIZE(keys)], keys[key / ARRAY_SIZE(keys)]),
            0);
        for (enum write_kind kind = WRITE_INSERT; kind <= WRITE_DELETE; kind++)
            for (size_t text = 0; text < ARRAY_SIZE(texts); text++)
                check_part(kind, buffer_bytes(&position), texts[text]);
    }
}

static void a_batch_is_no_longer_than_its_parts_and_the_frame(void **state)
{
    (void)state;
    assert_in_range(body_size(NULL, 0), 1, BATCH_FRAME_BYTES);
    struct write writes[BATCH_MAX_WRITES];
    size_t size = BATCH_FRAME_BYTES;
    for (size_t i = 0; i < BATCH_MAX_WRITES; i++) {
        writes[i] = make((enum write_kind)(i % 6), B("p\0r"), texts[i % ARRAY_SIZE(texts)]);
        size += batch_part_size(URL, "tab", &writes[i]);
        size_t body = body_size(writes, i + 1);
        assert_in_range(size, body, body + BATCH_FRAME_BYTES + SPARE * (i + 1));
    }
}

/* Text that names its keys counts them twice. */
static void keys_in_the_text_count_twice_at_most(void **state)
{
    (void)state;
    const struct write write =
        make(WRITE_UPSERT_REPLACE, B("p\0it's"),
             B("{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"it's\",\n  \"n\": 1\n}\n"));
    const struct write without = make(WRITE_UPSERT_REPLACE, B("p\0it's"), texts[1]);
    assert_int_equal(body_size(&write, 1), body_size(&without, 1));
    assert_int_equal(batch_part_size(URL, "tab", &write) - batch_part_size(URL, "tab", &without),
                     strlen("  \"PartitionKey\": \"p\",\n  \"RowKey\": \"it's\",\n"));
}

/* The names of long keys and of a table against the rules, each byte of which is encoded. */
static void what_is_encoded_counts_as_it_is_sent(void **state)
{
    (void)state;
    static const char table[] = "\xC3\xA9\xF0\x9F\x98\x80";
    _cleanup_(buffer_finish) struct buffer position;
    buffer_init(&position, 10000);
    for (int i = 0; i < 512; i++)
        (void)buffer_append(&position, B("\xE6\x97\xA5"));
    (void)buffer_append_char(&position, '\0');
    for (int i = 0; i < 512; i++)
        (void)buffer_append(&position, B("'"));
    const struct write write = make(WRITE_DELETE, buffer_bytes(&position), B(""));
    const struct batch batch = {URL, table, &write, 1, ID};
    _cleanup_(buffer_finish) struct buffer body;
    struct call call = {0};
    buffer_init(&body, MAX_BYTES);
    assert_int_equal(batch_append_body(&body, &batch, &call), 0);
    size_t part = body.size - body_size(NULL, 0);
    assert_true(part > (size_t)512 * (9 + 6));
    assert_in_range(batch_part_size(URL, table, &write), part, part + SPARE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_is_no_longer_and_hardly_shorter),
        cmocka_unit_test(a_batch_is_no_longer_than_its_parts_and_the_frame),
        cmocka_unit_test(keys_in_the_text_count_twice_at_most),
        cmocka_unit_test(what_is_encoded_counts_as_it_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
