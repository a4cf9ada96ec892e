/* SPDX-License-Identifier: MIT */
#include "client/store/page.h"
#include "tests/unit/unit.h"

#include <pthread.h>

static struct page *make_page(size_t rows)
{
    struct page_builder *builder;
    struct page *page;
    assert_int_equal(page_builder_create(1 << 20, &builder), 0);
    for (size_t i = 0; i < rows; i++) {
        char position[16];
        (void)snprintf(position, sizeof(position), "p_r%04zu", i * 2);
        position[1] = '\0';
        (void)buffer_append_format(page_builder_text(builder), "text %zu", i);
        assert_int_equal(
            page_builder_end_row(builder, (struct bytes){position, 7}, B("e"), (int64_t)i), 0);
    }
    assert_int_equal(
        page_builder_finish(builder, (struct range){B("p\0"), B("p\x01")}, false, &page), 0);
    assert_int_equal(page_builder_rows(builder), 0);
    page_builder_destroy(builder);
    return page;
}

static void rows_come_out_as_they_went_in(void **state)
{
    (void)state;
    struct page *page = make_page(3);
    assert_int_equal(page_rows(page), 3);
    assert_bytes(page_position(page, 1), B("p\0r0002"));
    assert_bytes(page_text(page, 2), B("text 2"));
    assert_bytes(page_etag(page, 0), B("e"));
    assert_int_equal(page_timestamp(page, 2), 2);
    assert_bytes(page_range(page).lo, B("p\0"));
    assert_bytes(page_range(page).hi, B("p\x01"));
    assert_true(page_bytes(page) > (size_t)72); /* an index of 24 bytes a row, and data */
    page_unref(page);
    page = make_page(0);
    assert_int_equal(page_rows(page), 0);
    assert_int_equal(page_seek(page, B("p\0")), 0);
    page_unref(page);
}

static void seek_finds_the_first_row_at_or_behind(void **state)
{
    (void)state;
    _cleanup_(page_unrefp) struct page *page = make_page(100);
    assert_int_equal(page_seek(page, B("p\0")), 0);
    assert_int_equal(page_seek(page, B("p\0r0004")), 2);
    assert_int_equal(page_seek(page, B("p\0r0005")), 3);
    assert_int_equal(page_seek(page, B("q")), 100);
}

static void a_dropped_row_leaves_nothing(void **state)
{
    (void)state;
    struct page_builder *builder;
    struct page *page;
    assert_int_equal(page_builder_create(64, &builder), 0);
    (void)buffer_append(page_builder_text(builder), B("dropped"));
    page_builder_drop_row(builder);
    (void)buffer_append(page_builder_text(builder), B("kept"));
    assert_int_equal(page_builder_end_row(builder, B("p\0r"), B(""), 1), 0);
    (void)buffer_append_format(page_builder_text(builder), "%60d", 1);
    assert_int_equal(page_builder_end_row(builder, B("p\0s"), B(""), 1), -EFBIG);
    assert_int_equal(page_builder_rows(builder), 1);
    assert_int_equal(page_builder_finish(builder, RANGE_ALL, false, &page), 0);
    assert_bytes(page_text(page, 0), B("kept"));
    page_unref(page);
    page_builder_destroy(builder);
}

static _Atomic uint64_t counter = 10;

static void *take_number(void *page)
{
    return (void *)page_number(page, 7, &counter);
}

static void threads_that_ask_at_once_get_one_block_of_numbers(void **state)
{
    (void)state;
    _cleanup_(page_unrefp) struct page *page = make_page(10), *other = make_page(5);
    pthread_t threads[8];
    void *numbers[8];
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_number, page), 0);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_join(threads[i], &numbers[i]), 0);
    for (size_t i = 1; i < 8; i++)
        assert_ptr_equal(numbers[i], numbers[0]);
    uint64_t first = page_number(page, 0, &counter);
    assert_int_equal((uintptr_t)numbers[0], first + 7);
    assert_true(page_number(other, 0, &counter) >= first + 10);
}

static void a_copy_holds_one_entity_and_nothing_else(void **state)
{
    (void)state;
    _cleanup_(page_unrefp) struct page *page = make_page(10);
    struct entity entity = {page, 7}, copy = {0};
    assert_int_equal(entity_copy(&entity, &copy), 0);
    assert_true(copy.page != page);
    assert_int_equal(page_rows(copy.page), 1);
    assert_int_equal(copy.row, 0);
    assert_bytes(page_position(copy.page, 0), page_position(page, 7));
    assert_bytes(page_text(copy.page, 0), page_text(page, 7));
    assert_bytes(page_etag(copy.page, 0), page_etag(page, 7));
    assert_int_equal(page_timestamp(copy.page, 0), page_timestamp(page, 7));
    assert_true(range_is_empty(page_range(copy.page)));
    assert_false(page_is_shared(page));
    page_unref(page_ref(page));
    struct run run = {page_ref(page), 0, 10};
    assert_true(page_is_shared(page));
    run_finish(&run);
    assert_null(run.page);
    assert_false(page_is_shared(page));
    entity_finish(&copy);
}

static void the_next_partition_is_found(void **state)
{
    (void)state;
    static const char *const keys[] = {"a", "a", "b", "ba", "ba", "ba"};
    static const size_t next[] = {2, 2, 3, 6, 6, 6};
    struct page_builder *builder;
    struct page *page;
    assert_int_equal(page_builder_create(1 << 20, &builder), 0);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        _cleanup_(buffer_finish) struct buffer position;
        char row[] = {(char)('0' + i)};
        buffer_init(&position, 100);
        assert_int_equal(position_append(&position, bytes_of(keys[i]), (struct bytes){row, 1}), 0);
        assert_int_equal(page_builder_end_row(builder, buffer_bytes(&position), B(""), 1), 0);
    }
    assert_int_equal(page_builder_finish(builder, RANGE_ALL, false, &page), 0);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        assert_int_equal(page_next_partition(page, i, ARRAY_SIZE(keys)), next[i]);
    assert_int_equal(page_next_partition(page, 3, 5), 5);
    page_unref(page);
    page_builder_destroy(builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_out_as_they_went_in),
        cmocka_unit_test(seek_finds_the_first_row_at_or_behind),
        cmocka_unit_test(a_dropped_row_leaves_nothing),
        cmocka_unit_test(threads_that_ask_at_once_get_one_block_of_numbers),
        cmocka_unit_test(a_copy_holds_one_entity_and_nothing_else),
        cmocka_unit_test(the_next_partition_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
