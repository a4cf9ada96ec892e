/* SPDX-License-Identifier: MIT */
#include "tests/stores/faulty_store.h"
#include "tests/stores/memory_store.h"
#include "tests/unit/unit.h"

static struct memory_store *filled(int rows)
{
    struct memory_store *memory = memory_store_create();
    for (int i = 0; i < rows; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "r%03d", i);
        memory_store_add_strings(memory, "p", key);
    }
    return memory;
}

static struct query whole_partition(int top)
{
    return (struct query){.table = "t", .range = {B("p\0"), B("p\x01")}, .top = top};
}

static void coverage_ends_behind_the_last_row_or_at_the_end(void **state)
{
    (void)state;
    struct memory_store *memory = filled(5);
    struct query query = whole_partition(3);
    struct call call = {0};
    struct answer first, second;
    assert_int_equal(table_store_query(&memory->store, &query, &call, &first), 0);
    assert_int_equal(page_rows(first.page), 3);
    assert_non_null(first.next);
    assert_bytes(page_range(first.page).lo, B("p\0"));
    assert_bytes(page_range(first.page).hi, B("p\0r002\x01"));
    assert_bytes(continuation_position(first.next), B("p\0r002\x01"));
    query.after = first.next;
    assert_int_equal(table_store_query(&memory->store, &query, &call, &second), 0);
    assert_int_equal(page_rows(second.page), 2);
    assert_null(second.next);
    assert_bytes(page_range(second.page).lo, B("p\0r002\x01"));
    assert_bytes(page_range(second.page).hi, B("p\x01"));
    answer_finish(&first);
    answer_finish(&second);
    table_store_destroy(&memory->store);
}

/* It does not have all rows of its range, or not all of their properties. */
static void a_page_of_a_filter_or_a_selection_covers_nothing(void **state)
{
    (void)state;
    struct memory_store *memory = filled(3);
    struct query queries[] = {whole_partition(1000), whole_partition(1000)};
    queries[0].filter = "RowKey ge 'r001'";
    queries[1].select = "A";
    for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
        struct call call = {0};
        _cleanup_(answer_finish) struct answer answer;
        assert_int_equal(table_store_query(&memory->store, &queries[i], &call, &answer), 0);
        assert_int_equal(page_rows(answer.page), i == 0 ? 2 : 3);
        assert_true(range_is_empty(page_range(answer.page)));
    }
    table_store_destroy(&memory->store);
}

/* Also in the stores of tests: rows come and go between two pages. */
static void a_page_goes_on_behind_the_last_whatever_was_changed(void **state)
{
    (void)state;
    struct memory_store *memory = filled(6);
    struct query query = whole_partition(3);
    struct call call = {0};
    struct answer first, second;
    assert_int_equal(table_store_query(&memory->store, &query, &call, &first), 0);
    memory_store_write(memory, &(struct write){.kind = WRITE_DELETE, .position = B("p\0r000")});
    memory_store_write(memory, &(struct write){.kind = WRITE_DELETE, .position = B("p\0r003")});
    query.after = first.next;
    assert_int_equal(table_store_query(&memory->store, &query, &call, &second), 0);
    assert_int_equal(page_rows(second.page), 2);
    assert_bytes(page_position(second.page, 0), B("p\0r004"));
    assert_null(second.next);
    answer_finish(&first);
    answer_finish(&second);
    table_store_destroy(&memory->store);
}

struct spy { /* a store that tells where the last query went on */
    struct table_store store;
    struct memory_store *memory;
    struct buffer position;
};

static int spy_query(struct table_store *store, const struct query *query, struct call *call,
                     struct page_builder *builder, struct continuation **ret_next)
{
    struct spy *spy = (struct spy *)store;
    buffer_clear(&spy->position);
    if (query->after)
        (void)buffer_append(&spy->position, continuation_position(query->after));
    return spy->memory->store.ops->query(&spy->memory->store, query, call, builder, ret_next);
}

static void spy_destroy(struct table_store *store)
{
    struct spy *spy = (struct spy *)store;
    buffer_finish(&spy->position);
    table_store_destroy(&spy->memory->store);
}

static void a_decorator_with_tokens_of_its_own_passes_the_position_on(void **state)
{
    (void)state;
    static const struct table_store_ops ops = {.query = spy_query, .destroy = spy_destroy};
    struct spy spy = {.store = {&ops}, .memory = filled(3)};
    struct table_store *faulty;
    buffer_init(&spy.position, 100);
    assert_int_equal(faulty_store_create(&spy.store, &clock_system, "short=2,empty=1", &faulty), 0);
    struct query query = whole_partition(1000);
    struct call call = {0};
    struct answer answer = {0};
    size_t rows = 0;
    for (int i = 0; i < 4; i++) { /* an empty page comes before each */
        _cleanup_(answer_finish) struct answer last = answer;
        query.after = last.next;
        answer = (struct answer){0};
        assert_int_equal(table_store_query(faulty, &query, &call, &answer), 0);
        rows += page_rows(answer.page);
    }
    assert_int_equal(rows, 3);
    assert_null(answer.next);
    assert_bytes(buffer_bytes(&spy.position), B("p\0r001\x01"));
    answer_finish(&answer);
    table_store_destroy(faulty);
}

static void an_empty_page_with_a_token_proves_nothing_and_carries_the_position(void **state)
{
    (void)state;
    struct memory_store *memory = filled(2);
    struct clock clock = clock_system;
    struct table_store *faulty;
    assert_int_equal(faulty_store_create(&memory->store, &clock, "empty=5", &faulty), 0);
    struct query query = whole_partition(1000);
    struct call call = {0};
    struct answer answer = {0};
    for (int i = 0; i < 6; i++) {
        struct answer last = answer;
        query.after = last.next;
        answer = (struct answer){0};
        assert_int_equal(table_store_query(faulty, &query, &call, &answer), 0);
        answer_finish(&last);
        if (i < 5) {
            assert_int_equal(page_rows(answer.page), 0);
            assert_true(range_is_empty(page_range(answer.page)));
            assert_bytes(continuation_position(answer.next), B("p\0"));
        }
    }
    assert_int_equal(page_rows(answer.page), 2);
    assert_null(answer.next);
    answer_finish(&answer);
    table_store_destroy(faulty);
}

static void tokens_in_a_circle_are_found(void **state)
{
    (void)state;
    struct memory_store *memory = filled(2);
    struct clock clock = clock_system;
    struct table_store *faulty;
    assert_int_equal(faulty_store_create(&memory->store, &clock, "circle=1", &faulty), 0);
    struct query query = whole_partition(1000);
    struct call call = {0};
    struct answer answer = {0};
    int r = 0, asked = 0;
    for (; r == 0 && asked < 100; asked++) {
        _cleanup_(answer_finish) struct answer last = answer;
        query.after = last.next;
        answer = (struct answer){0};
        r = table_store_query(faulty, &query, &call, &answer);
    }
    assert_int_equal(r, -EPROTO);
    assert_true(asked < 15);
    assert_string_equal(call.failure.message, "the service's continuation tokens repeat");
    answer_finish(&answer);
    table_store_destroy(faulty);
}

/* A service that answers the same names with the same token for ever. */
static int repeat_tables(struct table_store *store, const char *only,
                         const struct continuation *after, struct call *call,
                         struct table_names *ret, struct continuation **ret_next)
{
    (void)store;
    (void)only;
    (void)after;
    (void)call;
    (void)buffer_append(&ret->names, B("table\0"));
    return continuation_create(B("again"), BYTES_LITERAL(""), ret_next);
}

static void tables_in_a_circle_are_found(void **state)
{
    (void)state;
    static const struct table_store_ops ops = {.list_tables = repeat_tables};
    struct table_store store = {&ops};
    struct table_names names;
    struct call call = {0};
    struct continuation *first = NULL, *second = NULL;
    buffer_init(&names.names, 1000);
    assert_int_equal(table_store_list_tables(&store, NULL, NULL, &call, &names, &first), 0);
    assert_int_equal(table_store_list_tables(&store, NULL, first, &call, &names, &second), -EPROTO);
    continuation_destroy(first);
    buffer_finish(&names.names);
}

static void rows_out_of_order_are_refused(void **state)
{
    (void)state;
    struct memory_store *memory = filled(3);
    memory->swaps_rows = true;
    struct query query = whole_partition(1000);
    struct call call = {0};
    struct answer answer;
    assert_int_equal(table_store_query(&memory->store, &query, &call, &answer), -EPROTO);
    table_store_destroy(&memory->store);
}

static void a_range_that_needs_an_or_is_refused(void **state)
{
    (void)state;
    struct memory_store *memory = filled(1);
    struct query query = {.table = "t", .range = {B("p\0r"), B("q\0")}, .top = 1000};
    struct call call = {0};
    struct answer answer;
    assert_int_equal(table_store_query(&memory->store, &query, &call, &answer), -EINVAL);
    assert_int_equal(memory->asked, 0);
    table_store_destroy(&memory->store);
}

static void get_is_a_page_of_one_row_that_covers_it(void **state)
{
    (void)state;
    struct memory_store *memory = filled(3);
    struct call call = {0};
    struct page *page;
    assert_int_equal(table_store_get(&memory->store, "t", B("p\0r001"), &call, &page), 0);
    assert_int_equal(page_rows(page), 1);
    assert_bytes(page_range(page).lo, B("p\0r001"));
    assert_bytes(page_range(page).hi, B("p\0r001\x01"));
    page_unref(page);
    assert_int_equal(table_store_get(&memory->store, "t", B("p\0r0011"), &call, &page), -ENOENT);
    table_store_destroy(&memory->store);
}

static void odd_keys_go_alone(void **state)
{
    (void)state;
    static const struct {
        struct bytes position;
        bool is_alone;
    } cases[] = {
        {B("p\0r"), false},
        {B("p\0"), false},
        {B("\0"), false},
        {B("a',b\0it's"), false},
        {B("p\0RowKey='"), false},
        {B("p\0\xE2\x80\xA7"), false},
        {B("p\0\xED\xA0\xBD\xED\xB8\x80"), false}, /* a pair */
        {B("p\0a',b"), true},
        {B("xRowKey='\0r"), true},
        {B("x\xC3\xA9rowkEY='y\0r"), true},
        {B("RowKey=\0r"), false},
        {B("p\0\xE2\x80\xA8"), true},
        {B("p\xE2\x80\xA9\0r"), true},
        {B("p\0x\xED\xA0\x80"), true}, /* lone surrogates */
        {B("\xED\xB0\x80\0r"), true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct write write = {.position = cases[i].position};
        assert_int_equal(table_store_goes_alone(&write), cases[i].is_alone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coverage_ends_behind_the_last_row_or_at_the_end),
        cmocka_unit_test(a_page_of_a_filter_or_a_selection_covers_nothing),
        cmocka_unit_test(a_page_goes_on_behind_the_last_whatever_was_changed),
        cmocka_unit_test(a_decorator_with_tokens_of_its_own_passes_the_position_on),
        cmocka_unit_test(an_empty_page_with_a_token_proves_nothing_and_carries_the_position),
        cmocka_unit_test(tokens_in_a_circle_are_found),
        cmocka_unit_test(tables_in_a_circle_are_found),
        cmocka_unit_test(rows_out_of_order_are_refused),
        cmocka_unit_test(a_range_that_needs_an_or_is_refused),
        cmocka_unit_test(get_is_a_page_of_one_row_that_covers_it),
        cmocka_unit_test(odd_keys_go_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
