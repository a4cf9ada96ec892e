/* SPDX-License-Identifier: MIT */
#include "cache/known/table_page.h"
#include "tests/unit/unit.h"

static void assert_names(struct page *page, const char *const *names, size_t n)
{
    assert_int_equal(page_rows(page), n);
    assert_false(page_is_keys_only(page));
    for (size_t i = 0; i < n; i++) {
        assert_bytes(page_position(page, i), bytes_of(names[i]));
        assert_bytes(page_text(page, i), B(""));
        assert_bytes(page_etag(page, i), B(""));
        assert_int_equal(page_timestamp(page, i), 0);
    }
}

static void all_are_sorted_as_bytes_and_stand_once(void **state)
{
    (void)state;
    static const char names[] = "b\0"
                                "B\0"
                                "a10\0"
                                "a\0"
                                "b\0"
                                "a1\0"
                                "b";
    static const char *const expected[] = {"B", "a", "a1", "a10", "b"};
    _cleanup_(page_unrefp) struct page *page = NULL;
    assert_int_equal(table_page_of_all((struct bytes){names, sizeof(names)}, &page), 0);
    assert_names(page, expected, ARRAY_SIZE(expected));
    assert_bytes(page_range(page).lo, RANGE_ALL.lo);
    assert_bytes(page_range(page).hi, RANGE_ALL.hi);
}

static void an_account_may_have_none(void **state)
{
    (void)state;
    _cleanup_(page_unrefp) struct page *page = NULL;
    assert_int_equal(table_page_of_all((struct bytes){NULL, 0}, &page), 0);
    assert_names(page, NULL, 0);
    assert_true(range_holds(page_range(page), B("any")));
}

static void one_covers_its_name_alone(void **state)
{
    (void)state;
    static const char *const expected[] = {"ab"};
    for (size_t n = 0; n < 2; n++) {
        struct page *page;
        assert_int_equal(table_page_of_one("ab", n > 0, &page), 0);
        assert_names(page, expected, n);
        assert_true(range_holds(page_range(page), B("ab")));
        assert_false(range_holds(page_range(page), B("a")));
        assert_false(range_holds(page_range(page), B("ab0")));
        page_unref(page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_sorted_as_bytes_and_stand_once),
        cmocka_unit_test(an_account_may_have_none),
        cmocka_unit_test(one_covers_its_name_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
