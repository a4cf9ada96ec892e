/* SPDX-License-Identifier: MIT */
/* Without memory an account in a file answers -ENOMEM: nothing is absent or damaged, no page is
 * short or begins at the wrong row. */
#include "tests/unit/failing_memory.h"
#include "tests/unit/local_account.h"

#define ROWS 7

/* What is asked, with the n-th allocation failing; true if it was reached. */
typedef bool question(struct table_store *store, long n);

static bool was_reached(void)
{
    bool is_reached = allocations_until_failure == 0;
    allocations_until_failure = 0;
    return is_reached;
}

static void assert_answer(int r, bool is_reached, const struct call *call)
{
    assert_int_equal(r, is_reached ? -ENOMEM : 0);
    assert_int_equal(call->failure.error, r);
    assert_int_equal(call->failure.http_status, 0);
    if (is_reached)
        assert_true(call->failure.message[0] != '\0');
}

/* Pages of two rows each: every page but the last ends before it must. */
static bool ask_rows(struct table_store *store, long n)
{
    struct query query = whole_table();
    struct answer answer = {0};
    size_t rows = 0;
    bool is_reached = false;
    query.top = 2;
    allocations_until_failure = n;
    do {
        struct answer last = answer;
        struct call call = some_call();
        answer = (struct answer){0};
        query.after = last.next;
        int r = table_store_query(store, &query, &call, &answer);
        is_reached = was_reached();
        assert_answer(r, is_reached, &call);
        if (!is_reached && n > 0)
            allocations_until_failure = n; /* in the next page, then */
        rows += r == 0 ? page_rows(answer.page) : 0;
        answer_finish(&last);
    } while (answer.next && !is_reached);
    allocations_until_failure = 0;
    assert_true(is_reached || rows == ROWS);
    answer_finish(&answer);
    return is_reached;
}

static bool ask_row(struct table_store *store, long n)
{
    struct page *page = NULL;
    struct call call = some_call();
    allocations_until_failure = n;
    int r = table_store_get(store, "items", B("p\0a000003"), &call, &page);
    bool is_reached = was_reached();
    assert_answer(r, is_reached, &call);
    page_unref(page);
    return is_reached;
}

static bool ask_tables(struct table_store *store, long n)
{
    struct table_names names;
    struct continuation *next = NULL;
    struct call call = some_call();
    buffer_init(&names.names, 1000);
    allocations_until_failure = n;
    int r = table_store_list_tables(store, NULL, NULL, &call, &names, &next);
    bool is_reached = was_reached();
    assert_answer(r, is_reached, &call);
    if (!is_reached)
        assert_bytes(buffer_bytes(&names.names), B("items\0"));
    buffer_finish(&names.names);
    return is_reached;
}

static bool ask_filtered(struct table_store *store, long n)
{
    struct query query = whole_table();
    struct answer answer = {0};
    struct call call = some_call();
    query.filter = "PartitionKey eq 'p' and (A eq 1 or B eq 'x')";
    query.select = "A";
    allocations_until_failure = n;
    int r = table_store_query(store, &query, &call, &answer);
    bool is_reached = was_reached();
    assert_answer(r, is_reached, &call);
    if (!is_reached)
        assert_int_equal(page_rows(answer.page), ROWS);
    answer_finish(&answer);
    return is_reached;
}

static void without_memory_nothing_is_answered(void **state)
{
    static question *const questions[] = {ask_rows, ask_row, ask_tables, ask_filtered};
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    insert_rows(store, "a", ROWS, "\"A\": 1");
    for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
        long n = 1;
        while (questions[i](store, n))
            n++;
        assert_true(n > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_FOLDER(without_memory_nothing_is_answered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
