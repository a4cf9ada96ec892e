#include "client/retrying_store.h"
#include "tests/stores/faulty_store.h"
#include "tests/stores/memory_store.h"
#include "tests/unit/unit.h"

struct setup {
    int64_t now_ms;
    struct clock clock;
    struct memory_store *memory;
    struct table_store *store; /* retrying over faulty over memory */
};

static void set_up(struct setup *setup, const char *rules)
{
    struct table_store *faulty;
    *setup = (struct setup){.memory = memory_store_create()};
    setup->clock = fake_clock(&setup->now_ms);
    memory_store_add_table(setup->memory, "one");
    memory_store_add_strings(setup->memory, "p", "r");
    assert_int_equal(faulty_store_create(&setup->memory->store, &setup->clock, rules, &faulty), 0);
    assert_int_equal(retrying_store_create(faulty, &setup->clock, &setup->store), 0);
}

static int get(struct setup *setup, struct call *call)
{
    struct page *page = NULL;
    int r = table_store_get(setup->store, "one", B("p\0r"), call, &page);
    page_unref(page);
    return r;
}

static void assert_metric(struct setup *setup, const char *line)
{
    struct buffer text;
    buffer_init(&text, 4096);
    assert_int_equal(retrying_store_append_metrics(setup->store, &text), 0);
    assert_non_null(strstr(buffer_string(&text), line));
    buffer_finish(&text);
}

static void passing_failures_are_tried_again_after_the_backoff(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, "fail=get:1:503:ServerBusy,fail=get:2:500:InternalError,fail=get:3:0");
    struct call call = {.deadline_ms = 60000};
    assert_int_equal(get(&setup, &call), 0);
    /* 50 + c * 200, 50 + c * 600, 50 + c * 1400 */
    assert_true(setup.now_ms >= 150 + 1760 && setup.now_ms <= 150 + 2640);
    assert_int_equal(setup.memory->asked, 1);
    assert_metric(&setup, "\ntablefuse_retries_total 3\n");
    assert_metric(&setup, "\ntablefuse_given_up_total 0\n");
    table_store_destroy(setup.store);
}

static void nothing_else_is_tried_again(void **state)
{
    (void)state;
    static const struct {
        const char *rules;
        int error;
    } cases[] = {{"fail=get:1:404:ResourceNotFound", -ENOENT},
                 {"fail=get:1:403:AuthenticationFailed", -EACCES},
                 {"fail=get:1:400:InvalidInput", -EINVAL},
                 {"fail=get:1:501:NotImplemented", -EIO},
                 {"fail=get:1:505:", -EIO}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        set_up(&setup, cases[i].rules);
        struct call call = {.deadline_ms = 60000};
        assert_int_equal(get(&setup, &call), cases[i].error);
        assert_int_equal(setup.now_ms, 0);
        assert_metric(&setup, "\ntablefuse_retries_total 0\n");
        table_store_destroy(setup.store);
    }
}

static void what_does_not_pass_is_given_up_before_the_deadline(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, "fail=*:1+:503:ServerBusy");
    struct call call = {.deadline_ms = 60000};
    assert_int_equal(get(&setup, &call), -EBUSY);
    assert_int_equal(call.failure.http_status, 503);
    assert_string_equal(call.failure.code, "ServerBusy");
    assert_true(setup.now_ms > 50000 && setup.now_ms < 60000);
    assert_metric(&setup, "\ntablefuse_given_up_total 1\n");
    table_store_destroy(setup.store);
}

static bool is_cancelled_after_a_second(void *context)
{
    return *(int64_t *)context >= 1000;
}

static void a_backoff_ends_when_the_caller_goes(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, "fail=*:1+:503:ServerBusy");
    struct call call = {.deadline_ms = 60000,
                        .is_cancelled = is_cancelled_after_a_second,
                        .context = &setup.now_ms};
    assert_int_equal(get(&setup, &call), -EINTR);
    assert_true(setup.now_ms >= 1000 && setup.now_ms <= 1050);
    table_store_destroy(setup.store);
}

static int fail_once(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    if (number > 1)
        return 0;
    (void)call_fail(call, -EIO, "reset");
    call->failure.is_retryable = true;
    return -EIO;
}

static void what_a_failed_attempt_left_is_forgotten(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, "");
    setup.memory->fault = fail_once;
    setup.memory->is_fault_late = true;
    struct call call = {.deadline_ms = 60000};
    struct table_names names;
    struct continuation *next = NULL;
    buffer_init(&names.names, 100);
    (void)buffer_append(&names.names, B("before\0"));
    assert_int_equal(table_store_list_tables(setup.store, NULL, NULL, &call, &names, &next), 0);
    assert_bytes(buffer_bytes(&names.names), B("before\0one\0"));
    buffer_finish(&names.names);
    struct query query = {.table = "one", .range = RANGE_ALL, .top = 1000};
    struct answer answer;
    memory_store_forget_diary(setup.memory);
    call.deadline_ms += 60000;
    assert_int_equal(table_store_query(setup.store, &query, &call, &answer), 0);
    assert_int_equal(page_rows(answer.page), 1);
    answer_finish(&answer);
    table_store_destroy(setup.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passing_failures_are_tried_again_after_the_backoff),
        cmocka_unit_test(nothing_else_is_tried_again),
        cmocka_unit_test(what_does_not_pass_is_given_up_before_the_deadline),
        cmocka_unit_test(a_backoff_ends_when_the_caller_goes),
        cmocka_unit_test(what_a_failed_attempt_left_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
