/* SPDX-License-Identifier: MIT */
/* A rename in one partition: one transaction, whatever other clients do and whichever answer is
 * lost. */
#include "tests/unit/cache/change/account_renaming.h"

#define B_  P_ROW("b")
#define B_1 TEXT_OF("b", "1")
#define B_2 TEXT_OF("b", "2")
#define B_9 TEXT_OF("b", "9")

/* b is 9 if there is one. */
static void set_up_names(struct setup *setup, struct setup_options options, bool has_b)
{
    set_up_both(setup, options, B_, has_b ? B_9 : NULL);
}

static void a_rename_is_one_request(void **state)
{
    (void)state;
    static const struct {
        enum edit_begin begin;
        bool has_b;
    } cases[] = {{EDIT_NEW, false}, {EDIT_EXCLUSIVE, false}, {EDIT_OVER, true}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        set_up_names(&setup, (struct setup_options){0}, cases[i].has_b);
        assert_int_equal(rename_to(&setup, A, B_, cases[i].begin, B_1), 0);
        assert_requests(&setup, "write p/b and p/a");
        assert_both(&setup, NULL, B_, B_1);
        tear_down(&setup);
    }
}

DEFINE_FIXTURE(stored_names, struct setup, set_up_names(test, (struct setup_options){0}, true),
               tear_down(test))

static void the_other_way_round_too(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(rename_to(setup, B_, A, EDIT_OVER, TEXT_OF("a", "9")), 0);
    assert_requests(setup, "write p/a and p/b");
    assert_both(setup, TEXT_OF("a", "9"), B_, NULL);
}

DEFINE_FIXTURE(names, struct setup, set_up_names(test, (struct setup_options){0}, false),
               tear_down(test))

static void a_listing_shows_it(void **state)
{
    struct setup *setup = *state;
    struct listing_entry entry;
    assert_int_equal(list(setup, ROWS_OF("p"), false), 1);
    assert_int_equal(rename_to(setup, A, B_, EDIT_NEW, B_1), 0);
    memory_store_forget_diary(setup->memory);
    struct listing *listing = open_listing(setup, ROWS_OF("p"));
    assert_int_equal(next_entry(setup, listing, 0, false, &entry), 1);
    assert_bytes(entry.key, B("b"));
    assert_end(setup, listing, 1);
    listing_close(listing);
    assert_request_count(setup, 0);
}

static void two_spellings_of_one_name_send_nothing(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(rename_to(setup, A, A, EDIT_OVER, NULL), 0);
    assert_int_equal(rename_to(setup, A, A, EDIT_EXCLUSIVE, NULL), -EEXIST);
    assert_requests(setup, "");
}

static void without_an_entity_nothing_is_sent(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(rename_to(setup, B_, A, EDIT_OVER, NULL), -ENOENT);
    assert_requests(setup, "");
}

static void read_only_comes_first(void **state)
{
    (void)state;
    struct setup setup;
    set_up_names(&setup, (struct setup_options){.is_read_only = true}, false);
    assert_int_equal(rename_to(&setup, A, A, EDIT_NEW, NULL), -EROFS);
    assert_requests(&setup, "");
    tear_down(&setup);
}

static void an_emptied_partition_stays(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(rename_to(setup, A, B("q\0a"), EDIT_NEW,
                               "{\n  \"PartitionKey\": \"q\",\n  \"RowKey\": \"a\",\n"
                               "  \"a\": 1\n}\n"),
                     0);
    assert_requests(setup, "write q/a, write p/a");
    assert_partition_found(setup, "p", 0);
}

static void another_is_faster(void **state)
{
    (void)state;
    static const struct {
        enum edit_begin begin;
        bool has_b, has_read_b;
        bool changes_b; /* else a */
        const char *text;
        int expected;
        const char *requests, *a, *b;
    } cases[] = {
        /* what is renamed is the version that is there */
        {EDIT_NEW, false, false, false, A_2, 0, "write p/b and p/a, get p/a, write p/b and p/a",
         NULL, B_2},
        {EDIT_EXCLUSIVE, false, false, false, A_2, 0,
         "write p/b and p/a, get p/a, write p/b and p/a", NULL, B_2},
        {EDIT_OVER, true, false, false, A_2, 0, "write p/b and p/a, get p/a, write p/b and p/a",
         NULL, B_2},
        {EDIT_OVER, true, true, false, A_2, 0, "write p/b and p/a, get p/a, write p/b and p/a",
         NULL, B_2},
        {EDIT_OVER, true, false, false, NULL, -ENOENT, "write p/b and p/a, get p/a", NULL, B_9},
        /* what is replaced: the last wins, unless the process has read it */
        {EDIT_EXCLUSIVE, false, false, true, B_2, -EEXIST, "write p/b and p/a, get p/b", A_1, B_2},
        {EDIT_NEW, false, false, true, B_2, 0, "write p/b and p/a", NULL, B_1},
        {EDIT_OVER, true, false, true, B_2, 0, "write p/b and p/a", NULL, B_1},
        {EDIT_OVER, true, false, true, NULL, 0, "write p/b and p/a", NULL, B_1},
        {EDIT_OVER, true, true, true, B_2, -ESTALE, "write p/b and p/a, get p/b", A_1, B_2},
        {EDIT_OVER, true, true, true, NULL, -ESTALE, "write p/b and p/a, get p/b", A_1, NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        set_up_names(&setup, (struct setup_options){0}, cases[i].has_b);
        setup.process = 7;
        if (cases[i].has_read_b)
            open_row(&setup, B_);
        other.position = cases[i].changes_b ? B_ : A;
        other.text = cases[i].text;
        other.number = 1;
        setup.memory->fault = change_before;
        assert_int_equal(
            rename_to(&setup, A, B_, cases[i].begin, cases[i].expected < 0 ? NULL : cases[i].b),
            cases[i].expected);
        assert_requests(&setup, cases[i].requests);
        setup.memory->fault = NULL;
        assert_both(&setup, cases[i].a, B_, cases[i].b);
        /* a second time it would be done: the process has been told */
        if (cases[i].expected == -ESTALE)
            assert_int_equal(rename_to(&setup, A, B_, EDIT_OVER, B_1), 0);
        tear_down(&setup);
    }
}

static int change_again(struct memory_store *memory, size_t number, struct call *call)
{
    (void)call;
    if (memory->diary[number - 1].what == ASKED_WRITE)
        another_stores(other.setup, A, A_2);
    other.setup->now_ms += PATIENCE_MS / 10;
    return 0;
}

static void an_entity_that_changes_all_the_time_is_given_up(void **state)
{
    struct setup *setup = *state;
    other.setup = setup;
    setup->memory->fault = change_again;
    assert_int_equal(rename_to(setup, A, B_, EDIT_OVER, NULL), -ETIMEDOUT);
    assert_string_equal(setup->caller.call.failure.message, "other clients keep changing it");
    setup->memory->fault = NULL;
    assert_found(setup, A, A_2);
    assert_found(setup, B_, B_9);
}

static void a_refusal_changes_nothing(void **state)
{
    (void)state;
    struct setup setup;
    set_up_names(&setup, (struct setup_options){.faults = "fail=batch:1:403:AuthorizationFailure"},
                 true);
    assert_int_equal(rename_to(&setup, A, B_, EDIT_OVER, NULL), -EACCES);
    assert_requests(&setup, "");
    assert_both(&setup, A_1, B_, B_9);
    tear_down(&setup);
}

static void a_lost_answer_is_found_out(void **state)
{
    (void)state;
    for (int has_b = 0; has_b <= 1; has_b++) {
        struct setup setup;
        set_up_names(&setup, (struct setup_options){.faults = "lost=batch:1"}, has_b);
        assert_int_equal(rename_to(&setup, A, B_, has_b ? EDIT_OVER : EDIT_EXCLUSIVE, B_1), 0);
        assert_requests(&setup, "write p/b and p/a, get p/b, get p/a");
        assert_both(&setup, NULL, B_, B_1);
        tear_down(&setup);
    }
}

/* The request did not arrive. It may yet: so it is told. */
static void a_lost_request_is_reported(void **state)
{
    (void)state;
    struct setup setup;
    set_up_names(&setup, (struct setup_options){.faults = "fail=batch:1:0:"}, true);
    assert_true(rename_to(&setup, A, B_, EDIT_OVER, NULL) < 0);
    assert_true(setup.caller.call.failure.is_ambiguous);
    assert_requests(&setup, "get p/b, get p/a");
    assert_both(&setup, A_1, B_, B_9);
    tear_down(&setup);
}

/* The rename was made, its answer is lost, and then another client changes a name. */
static int change_after(struct memory_store *memory, size_t number, struct call *call)
{
    (void)call;
    if (memory->diary[number - 1].what == ASKED_GET && number == other.number)
        another_stores(other.setup, other.position, other.text);
    return 0;
}

static void after_a_lost_answer_others_lose_nothing(void **state)
{
    (void)state;
    /* a new a is not renamed over b, which is the old one */
    struct setup setup;
    set_up_names(&setup, (struct setup_options){.faults = "lost=batch:1"}, true);
    other.setup = &setup;
    other.position = A;
    other.text = A_2;
    other.number = 2;
    setup.memory->fault = change_after;
    assert_int_equal(rename_to(&setup, A, B_, EDIT_OVER, B_1), 0);
    assert_requests(&setup, "write p/b and p/a, get p/b, get p/a");
    setup.memory->fault = NULL;
    assert_both(&setup, A_2, B_, B_1);
    tear_down(&setup);

    set_up_names(&setup, (struct setup_options){.faults = "lost=batch:1"}, true);
    other.position = B_;
    other.text = B_2;
    setup.memory->fault = change_after;
    assert_true(rename_to(&setup, A, B_, EDIT_OVER, NULL) < 0);
    assert_true(setup.caller.call.failure.is_ambiguous);
    setup.memory->fault = NULL;
    assert_both(&setup, NULL, B_, B_2);
    tear_down(&setup);
}

static void what_the_process_knew_goes_along(void **state)
{
    (void)state;
    for (int has_read = 0; has_read <= 1; has_read++) {
        struct setup setup;
        set_up_names(&setup, (struct setup_options){0}, true);
        setup.process = 7;
        if (has_read)
            open_row(&setup, A);
        assert_int_equal(rename_to(&setup, A, B_, EDIT_OVER, B_1), 0);
        another_stores(&setup, B_, B_2);
        another_stores(&setup, A, A_2);
        assert_int_equal(store_text(&setup, EDIT_OVER, B_, "{}"), has_read ? -ESTALE : 0);
        assert_int_equal(store_text(&setup, EDIT_OVER, A, "{}"), 0);
        tear_down(&setup);
    }
}

static void what_the_service_has_keeps_its_types(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    another_stores(&setup, A,
                   "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"a\",\n"
                   "  \"long@odata.type\": \"Edm.Int64\",\n  \"long\": \"1\"\n}\n");
    assert_int_equal(rename_to(&setup, A, B_, EDIT_NEW,
                               "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"b\",\n"
                               "  \"long@odata.type\": \"Edm.Int64\",\n  \"long\": \"1\"\n}\n"),
                     0);
    tear_down(&setup);
}

#define NONE_IN(row)                                                                               \
    "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"" row                                          \
    "\",\n  \"a@odata.type\": \"Edm.Guid\",\n"                                                     \
    "  \"a\": \"none\"\n}\n"
#define BAD_ROW "{\"PartitionKey\":\"p\",\"RowKey\":\"a\",\"a\":[]}"

static void what_cannot_be_stored_is_not_renamed(void **state)
{
    struct setup *setup = *state;
    another_stores(setup, A, NONE_IN("a"));
    setup->now_ms += TTL_MS + 1;
    assert_int_equal(rename_to(setup, A, B_, EDIT_OVER, NULL), -EINVAL);
    assert_string_equal(setup->caller.call.failure.message,
                        "line 5, column 8: a: no Edm.Guid: \"none\"");
    assert_requests_at(setup, "p/a");
    assert_both(setup, NONE_IN("a"), B_, B_9);

    memory_store_write_bad(setup->memory, A, BAD_ROW);
    setup->now_ms += TTL_MS + 1;
    memory_store_forget_diary(setup->memory);
    assert_int_equal(rename_to(setup, A, B_, EDIT_OVER, NULL), -EIO);
    assert_string_equal(setup->caller.call.failure.message,
                        "what the service has cannot be understood: an object or array as a "
                        "property's value: a");
    assert_requests_at(setup, "p/a");
    assert_both(setup, BAD_ROW, B_, B_9);
}

static void a_bad_row_is_replaced_by_a_rename(void **state)
{
    struct setup *setup = *state;
    memory_store_write_bad(setup->memory, A, BAD_ROW);
    setup->now_ms += TTL_MS + 1;
    assert_int_equal(rename_to(setup, B_, A, EDIT_OVER, TEXT_OF("a", "9")), 0);
    assert_both(setup, TEXT_OF("a", "9"), B_, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rename_is_one_request),
        TEST_WITH(stored_names, the_other_way_round_too),
        TEST_WITH(names, a_listing_shows_it),
        TEST_WITH(names, two_spellings_of_one_name_send_nothing),
        TEST_WITH(names, without_an_entity_nothing_is_sent),
        cmocka_unit_test(read_only_comes_first),
        TEST_WITH(names, an_emptied_partition_stays),
        cmocka_unit_test(another_is_faster),
        TEST_WITH(stored_names, an_entity_that_changes_all_the_time_is_given_up),
        cmocka_unit_test(a_refusal_changes_nothing),
        cmocka_unit_test(a_lost_answer_is_found_out),
        cmocka_unit_test(a_lost_request_is_reported),
        cmocka_unit_test(after_a_lost_answer_others_lose_nothing),
        cmocka_unit_test(what_the_process_knew_goes_along),
        cmocka_unit_test(what_the_service_has_keeps_its_types),
        TEST_WITH(stored_names, what_cannot_be_stored_is_not_renamed),
        TEST_WITH(stored_names, a_bad_row_is_replaced_by_a_rename),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
