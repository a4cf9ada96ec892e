#include "client/backoff.h"
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
    const struct retrying_store_options options = {.timeout_ms = 60000};
    assert_int_equal(retrying_store_create(faulty, &setup->clock, &options, &setup->store), 0);
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

/* The rule of a service that is down; `file` is created. */
static const char *down_by(char file[32], char rule[64])
{
    (void)snprintf(file, 32, "/tmp/tablefuse-down-XXXXXX");
    int fd = mkstemp(file);
    FILE *empty = fd < 0 ? NULL : fdopen(fd, "w");
    assert_non_null(empty);
    (void)fclose(empty);
    (void)snprintf(rule, 64, "down=%s", file);
    return rule;
}

static void a_thousand_files_of_a_dead_service_take_one_timeout(void **state)
{
    (void)state;
    char file[32], rule[64];
    struct setup setup;
    set_up(&setup, down_by(file, rule));
    struct call call = {.deadline_ms = 60000};
    assert_int_equal(get(&setup, &call), -ECONNREFUSED);
    assert_int_equal(call.failure.outage, 0);
    assert_true(setup.now_ms > 50000 && setup.now_ms < 60000);
    int64_t down_ms = setup.now_ms;
    for (int i = 1; i < 1000; i++) {
        call = (struct call){.deadline_ms = setup.now_ms + 60000};
        assert_int_equal(get(&setup, &call), -ECONNREFUSED);
        assert_int_equal(call.failure.outage, 1);
        assert_string_equal(call.failure.message,
                            "the service is down: the connection was refused");
    }
    assert_int_equal(setup.now_ms, down_ms);
    assert_metric(&setup, "\ntablefuse_failed_at_once_total 999\n");
    assert_metric(&setup, "\ntablefuse_given_up_total 1\n");

    setup.now_ms += 1000; /* a probe, which does not wait either */
    call = (struct call){.deadline_ms = setup.now_ms + 60000};
    assert_int_equal(get(&setup, &call), -ECONNREFUSED);
    assert_int_equal(setup.now_ms, down_ms + 1000);
    assert_int_equal(remove(file), 0);
    assert_int_equal(get(&setup, &call), -ECONNREFUSED); /* not due */
    assert_int_equal(setup.memory->asked, 0);
    setup.now_ms += 2000;
    assert_int_equal(get(&setup, &call), 0); /* the probe is the operation itself */
    assert_int_equal(get(&setup, &call), 0);
    assert_int_equal(setup.memory->asked, 2);
    assert_int_equal(setup.now_ms, down_ms + 3000);
    table_store_destroy(setup.store);
}

/* Another operation gives up while this one sleeps for the first time. */
struct nested {
    struct setup setup; /* first: its time is the clock's context */
    int error;          /* of the other one */
    bool is_done;
};

static void give_up_meanwhile(void *context, int64_t ms)
{
    struct nested *nested = context;
    struct call call = {.deadline_ms = nested->setup.now_ms};
    fake_sleep_ms(context, ms);
    if (nested->is_done)
        return;
    nested->is_done = true;
    assert_int_equal(get(&nested->setup, &call), nested->error);
    assert_int_equal(call.failure.outage, 0);
}

static void a_backoff_ends_when_the_service_goes_down(void **state)
{
    (void)state;
    char file[32], rule[64];
    struct nested nested = {.error = -ECONNREFUSED};
    struct setup *setup = &nested.setup;
    set_up(setup, down_by(file, rule));
    setup->clock.sleep_ms = give_up_meanwhile;
    struct call call = {.deadline_ms = 60000};
    assert_int_equal(get(setup, &call), -ECONNREFUSED);
    assert_int_equal(call.failure.outage, 1);
    assert_true(setup->now_ms <= 50);
    assert_int_equal(remove(file), 0);
    table_store_destroy(setup->store);
}

static void a_service_that_throttles_is_not_down(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, "fail=get:1+:503:ServerBusy");
    for (int i = 0; i < 3; i++) {
        struct call call = {.deadline_ms = setup.now_ms + 60000};
        int64_t begin_ms = setup.now_ms;
        assert_int_equal(get(&setup, &call), -EBUSY);
        assert_true(setup.now_ms > begin_ms + 50000);
    }
    assert_metric(&setup, "\ntablefuse_service_up 1\n");
    assert_metric(&setup, "\ntablefuse_given_up_total 3\n");
    table_store_destroy(setup.store);
}

/* The lost answer came before the service went down. */
static void a_change_that_is_refused_in_an_outage_may_have_been_made(void **state)
{
    (void)state;
    const struct write insert = {.position = B("p\0new"), .text = B("x")};
    struct nested nested = {.error = -EIO};
    struct setup *setup = &nested.setup;
    struct call call = {.deadline_ms = 60000};
    struct write_result result;
    set_up(setup, "lost=write:1,fail=get:1:0");
    setup->clock.sleep_ms = give_up_meanwhile;
    assert_int_equal(table_store_write(setup->store, "one", &insert, 1, &call, &result), -EIO);
    assert_int_equal(call.failure.outage, 1);
    assert_true(call.failure.is_ambiguous);
    table_store_destroy(setup->store);
}

/* Follows the tokens. Returns the result of the last query; `*ret_pages` were asked for. */
static int follow(struct setup *setup, const char *filter, int *ret_pages)
{
    struct query query = {.table = "one", .range = RANGE_ALL, .filter = filter, .top = 1000};
    struct continuation *after = NULL;
    int r;
    *ret_pages = 0;
    do {
        struct answer answer = {0};
        struct call call = {.deadline_ms = setup->now_ms + 60000};
        query.after = after;
        r = table_store_query(setup->store, &query, &call, &answer);
        continuation_destroy(after);
        after = TAKE_PTR(answer.next);
        answer_finish(&answer);
        *ret_pages += 1;
        if (r < 0) {
            assert_non_null(strstr(call.failure.message, "pages in a row without a row"));
            assert_false(call.failure.is_retryable); /* for all who wait for this page */
        }
    } while (after);
    return r;
}

static void a_few_empty_pages_are_followed_at_once(void **state)
{
    (void)state;
    struct setup setup;
    int pages;
    set_up(&setup, "empty=4");
    assert_int_equal(follow(&setup, NULL, &pages), 0);
    assert_int_equal(pages, 5);
    assert_int_equal(setup.now_ms, 0);
    table_store_destroy(setup.store);
    set_up(&setup, "empty=6"); /* 50 + c * 200, 50 + c * 600 */
    assert_int_equal(follow(&setup, NULL, &pages), 0);
    assert_int_equal(pages, 7);
    assert_in_range(setup.now_ms, 100 + 640, 100 + 960);
    table_store_destroy(setup.store);
}

static void endless_empty_pages_are_paced_and_given_up(void **state)
{
    (void)state;
    struct setup setup;
    int pages;
    set_up(&setup, "endless=1");
    assert_int_equal(follow(&setup, NULL, &pages), -EPROTO);
    assert_in_range(setup.now_ms, 60000 - BACKOFF_MAX_MS, 60000);
    assert_in_range(pages, 12, 18);
    assert_metric(&setup, "\ntablefuse_given_up_total 1\n");
    table_store_destroy(setup.store);
}

/* Pauses are for a service that answers quickly. */
static void what_the_service_took_is_part_of_the_pause(void **state)
{
    (void)state;
    struct setup setup;
    int pages;
    set_up(&setup, "empty=6,latency=2000");
    assert_int_equal(follow(&setup, NULL, &pages), 0);
    assert_int_equal(setup.now_ms, 7 * 2000);
    table_store_destroy(setup.store);
    set_up(&setup, "endless=1,latency=10000");
    assert_int_equal(follow(&setup, NULL, &pages), -EPROTO);
    assert_int_equal(setup.now_ms, 60000);
    assert_int_equal(pages, 6);
    table_store_destroy(setup.store);
}

/* The service looks for 5 s, finds nothing, and says where to go on. */
static void a_filter_may_take_its_time(void **state)
{
    (void)state;
    struct setup setup;
    int pages;
    set_up(&setup, "empty=60,latency=5000");
    assert_int_equal(follow(&setup, "n eq 1", &pages), 0);
    assert_int_equal(pages, 61);
    assert_int_equal(setup.now_ms, 61 * 5000);
    table_store_destroy(setup.store);
    set_up(&setup, "endless=1,latency=10");
    assert_int_equal(follow(&setup, "n eq 1", &pages), -EPROTO);
    assert_in_range(pages, 12, 18);
    table_store_destroy(setup.store);
}

/* Each page is without rows, but has looked at some. */
struct dropping_store {
    struct table_store store;
    int left;
};

static int dropping_query(struct table_store *store, const struct query *query, struct call *call,
                          struct page_builder *builder, struct continuation **ret_next)
{
    struct dropping_store *self = (struct dropping_store *)store;
    struct bytes token = {(const char *)&self->left, sizeof(self->left)};
    (void)query;
    (void)call;
    (void)builder;
    if (--self->left == 0)
        return 0;
    assert_int_equal(continuation_create(token, ret_next), 0);
    continuation_set_progress(*ret_next);
    return 0;
}

static void nothing_to_destroy(struct table_store *store)
{
    (void)store;
}

static void pages_whose_rows_were_dropped_are_not_paced(void **state)
{
    (void)state;
    static const struct table_store_ops ops = {.query = dropping_query,
                                               .destroy = nothing_to_destroy};
    const struct retrying_store_options options = {.timeout_ms = 60000};
    struct setup setup = {.now_ms = 0};
    struct dropping_store dropping = {{&ops}, .left = 1000};
    int pages;
    setup.clock = fake_clock(&setup.now_ms);
    assert_int_equal(retrying_store_create(&dropping.store, &setup.clock, &options, &setup.store),
                     0);
    assert_int_equal(follow(&setup, NULL, &pages), 0);
    assert_int_equal(pages, 1000);
    assert_int_equal(setup.now_ms, 0);
    table_store_destroy(setup.store);
}

/* A service behind a slow link: each answer begins at once and is whole after SLOW_MS. */
#define SLOW_MS 11000

struct slow_store {
    struct table_store store;
    int64_t *now_ms;
    bool is_down;
};

static int slow_get(struct table_store *store, const char *table, struct bytes position,
                    struct call *call, struct page_builder *builder)
{
    const struct slow_store *self = (const struct slow_store *)store;
    (void)table;
    (void)position;
    (void)builder;
    int64_t took_ms = MIN(call->deadline_ms - *self->now_ms, SLOW_MS);
    *self->now_ms += self->is_down ? 0 : took_ms;
    int r = self->is_down ? -ECONNREFUSED : took_ms < SLOW_MS ? -ETIMEDOUT : -ENOENT;
    (void)call_fail(call, r, "slow");
    call->failure.is_unanswered = call->failure.is_retryable = self->is_down;
    call->failure.has_begun_answer = !self->is_down;
    return r;
}

static void after_an_outage_a_slow_answer_has_its_time(void **state)
{
    (void)state;
    static const struct table_store_ops ops = {.get = slow_get, .destroy = nothing_to_destroy};
    const struct retrying_store_options options = {.timeout_ms = 60000};
    struct setup setup = {.now_ms = 0};
    struct slow_store slow = {{&ops}, &setup.now_ms, .is_down = true};
    setup.clock = fake_clock(&setup.now_ms);
    assert_int_equal(retrying_store_create(&slow.store, &setup.clock, &options, &setup.store), 0);
    struct call call = {.deadline_ms = 60000};
    assert_int_equal(get(&setup, &call), -ECONNREFUSED);
    assert_metric(&setup, "\ntablefuse_service_up 0\n");
    slow.is_down = false;
    setup.now_ms += 10000;
    for (int i = 0; i < 2; i++) { /* the first begins as a probe, and is sent again */
        call = (struct call){.deadline_ms = setup.now_ms + 60000};
        assert_int_equal(get(&setup, &call), -ENOENT);
        assert_int_equal(call.repeats, i == 0);
        assert_metric(&setup, "\ntablefuse_service_up 1\n");
    }
    assert_metric(&setup, "\ntablefuse_service_outages_total 1\n");
    table_store_destroy(setup.store);
}

static void an_interrupt_ends_the_pause_after_an_empty_page(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, "endless=1");
    struct call call = {.deadline_ms = 60000,
                        .is_cancelled = is_cancelled_after_a_second,
                        .context = &setup.now_ms};
    struct query query = {.table = "one", .range = RANGE_ALL, .top = 1000};
    struct continuation *after = NULL;
    int r;
    do {
        struct answer answer = {0};
        query.after = after;
        r = table_store_query(setup.store, &query, &call, &answer);
        continuation_destroy(after);
        after = TAKE_PTR(answer.next);
        answer_finish(&answer);
    } while (r == 0);
    assert_int_equal(r, -EINTR);
    assert_in_range(setup.now_ms, 1000, 1050);
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

/* The doubt about lost answers. */

#define TEXT(row_key, n)                                                                           \
    "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"" row_key "\",\n  \"n\": " n "\n}\n"

static int write(struct setup *setup, const struct write *writes, size_t n, struct call *call,
                 struct write_result *ret)
{
    *call = (struct call){.deadline_ms = setup->now_ms + 60000};
    return table_store_write(setup->store, "one", writes, n, call, ret);
}

/* Past the decorators: another client. */
static void write_elsewhere(struct setup *setup, const struct write *write,
                            struct write_result *ret)
{
    struct call call = {.deadline_ms = 60000};
    assert_int_equal(table_store_write(&setup->memory->store, "one", write, 1, &call, ret), 0);
}

static void expect_row(struct setup *setup, struct bytes position, const char *etag,
                       struct bytes text)
{
    struct call call = {.deadline_ms = 60000};
    struct page *page = NULL;
    assert_int_equal(table_store_get(&setup->memory->store, "one", position, &call, &page), 0);
    assert_bytes(page_etag(page, 0), bytes_of(etag));
    assert_bytes(page_text(page, 0), text);
    page_unref(page);
}

static void an_insert_whose_answer_was_lost_was_made(void **state)
{
    (void)state;
    const struct write insert = {.position = B("p\0new"), .text = B(TEXT("new", "1"))};
    struct setup setup;
    struct call call;
    struct write_result result;
    set_up(&setup, "lost=write:1");
    assert_int_equal(write(&setup, &insert, 1, &call, &result), 0);
    assert_string_equal(result.etag, "version-1");
    assert_int_equal(result.timestamp, 1);
    assert_int_equal(call.failure.error, 0);
    expect_row(&setup, insert.position, "version-1", insert.text);
    assert_int_equal(setup.memory->diary[0].what, ASKED_WRITE);
    assert_int_equal(setup.memory->diary[1].what, ASKED_WRITE);
    assert_int_equal(setup.memory->diary[2].what, ASKED_GET);
    table_store_destroy(setup.store);
}

static void an_insert_that_was_not_sent_is_sent_again(void **state)
{
    (void)state;
    const struct write insert = {.position = B("p\0new"), .text = B(TEXT("new", "1"))};
    struct setup setup;
    struct call call;
    struct write_result result;
    set_up(&setup, "fail=write:1:500:InternalError,fail=write:2:0");
    assert_int_equal(write(&setup, &insert, 1, &call, &result), 0);
    assert_string_equal(result.etag, "version-1");
    assert_int_equal(setup.memory->asked, 1);
    table_store_destroy(setup.store);
}

static void changes_whose_answers_were_lost_were_made(void **state)
{
    (void)state;
    static const struct {
        enum write_kind kind;
        struct bytes text;
    } cases[] = {
        {WRITE_REPLACE, B(TEXT("x", "2"))},
        {WRITE_MERGE, B("{\n  \"m\": 2\n}\n")},
        {WRITE_UPSERT_REPLACE, B(TEXT("x", "2"))},
        {WRITE_UPSERT_MERGE, B("{\n  \"m\": 2\n}\n")},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct write insert = {.position = B("p\0x"), .text = B(TEXT("x", "1"))};
        struct setup setup;
        struct call call;
        struct write_result first, result;
        set_up(&setup, "lost=write:1");
        write_elsewhere(&setup, &insert, &first);
        bool is_upsert = cases[i].kind >= WRITE_UPSERT_REPLACE;
        const struct write change = {.kind = cases[i].kind,
                                     .position = insert.position,
                                     .if_match = bytes_of(is_upsert ? "" : first.etag),
                                     .text = cases[i].text};
        assert_int_equal(write(&setup, &change, 1, &call, &result), 0);
        /* an upsert is simply made again */
        assert_string_equal(result.etag, is_upsert ? "version-3" : "version-2");
        assert_int_equal(result.timestamp, is_upsert ? 3 : 2);
        table_store_destroy(setup.store);
    }
}

static void a_delete_whose_answer_was_lost_was_made(void **state)
{
    (void)state;
    const struct write delete = {
        .kind = WRITE_DELETE, .position = B("p\0r"), .if_match = B("etag"), .text = B("")};
    struct setup setup;
    struct call call;
    struct write_result result;
    set_up(&setup, "lost=delete:1");
    assert_int_equal(write(&setup, &delete, 1, &call, &result), 0);
    assert_string_equal(result.etag, "");
    assert_int_equal(write(&setup, &delete, 1, &call, &result), -ENOENT);
    assert_false(call.failure.is_ambiguous);
    table_store_destroy(setup.store);
}

/* The answer was lost, but of a change that had been refused. */
static void a_real_conflict_stays_one(void **state)
{
    (void)state;
    static const struct {
        enum write_kind kind;
        int error;
        const char *if_match, *rules;
    } cases[] = {
        {WRITE_INSERT, -EEXIST, "", "lost=write:1"},
        {WRITE_REPLACE, -ESTALE, "stale", "lost=write:1"},
        {WRITE_MERGE, -ESTALE, "stale", "lost=write:1"},
        {WRITE_DELETE, -ESTALE, "stale", "lost=delete:1"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct write theirs = {.position = B("p\0x"), .text = B(TEXT("x", "1"))};
        struct setup setup;
        struct call call;
        struct write_result result;
        set_up(&setup, cases[i].rules);
        write_elsewhere(&setup, &theirs, &result);
        const struct write ours = {.kind = cases[i].kind,
                                   .position = theirs.position,
                                   .if_match = bytes_of(cases[i].if_match),
                                   .text =
                                       cases[i].kind == WRITE_DELETE ? B("") : B(TEXT("x", "2"))};
        assert_int_equal(write(&setup, &ours, 1, &call, &result), cases[i].error);
        assert_int_equal(call.failure.error, cases[i].error);
        assert_true(call.failure.is_ambiguous); /* it may have been made, and changed again */
        expect_row(&setup, theirs.position, "version-1", theirs.text);
        table_store_destroy(setup.store);
    }
}

static void a_first_refusal_is_believed(void **state)
{
    (void)state;
    const struct write insert = {.position = B("p\0r"), .text = B("p|r")};
    struct setup setup;
    struct call call;
    struct write_result result;
    set_up(&setup, ""); /* the very same text is there: it is another client's all the same */
    assert_int_equal(write(&setup, &insert, 1, &call, &result), -EEXIST);
    assert_int_equal(setup.memory->asked, 1);
    table_store_destroy(setup.store);
}

static void what_cannot_be_read_stays_ambiguous(void **state)
{
    (void)state;
    const struct write insert = {.position = B("p\0new"), .text = B(TEXT("new", "1"))};
    struct setup setup;
    struct call call;
    struct write_result result;
    set_up(&setup, "lost=write:1,fail=get:1:503:ServerBusy,fail=get:2:403:AuthorizationFailure");
    assert_int_equal(write(&setup, &insert, 1, &call, &result), -EACCES);
    assert_true(call.failure.is_ambiguous);
    table_store_destroy(setup.store);
}

static bool is_cancelled_at_once(void *context)
{
    (void)context;
    return true;
}

static void an_end_after_a_lost_answer_is_ambiguous(void **state)
{
    (void)state;
    const struct write insert = {.position = B("p\0new"), .text = B(TEXT("new", "1"))};
    struct setup setup;
    struct call call = {.deadline_ms = 60000, .is_cancelled = is_cancelled_at_once};
    struct write_result result;
    set_up(&setup, "lost=write:1,fail=write:2+:403:AuthorizationFailure");
    assert_int_equal(table_store_write(setup.store, "one", &insert, 1, &call, &result), -EINTR);
    assert_true(call.failure.is_ambiguous);
    table_store_destroy(setup.store);
    set_up(&setup, "lost=write:1,fail=write:2+:403:AuthorizationFailure");
    assert_int_equal(write(&setup, &insert, 1, &call, &result), -EACCES);
    assert_true(call.failure.is_ambiguous);
    table_store_destroy(setup.store);
    set_up(&setup, "lost=write:1,fail=write:2+:429:TooManyRequests"); /* until time is over */
    assert_int_equal(write(&setup, &insert, 1, &call, &result), -EBUSY);
    assert_true(call.failure.is_ambiguous);
    table_store_destroy(setup.store);
    set_up(&setup, "fail=write:1+:429:TooManyRequests");
    assert_int_equal(write(&setup, &insert, 1, &call, &result), -EBUSY);
    assert_false(call.failure.is_ambiguous);
    table_store_destroy(setup.store);
}

#define BATCH                                                                                      \
    {                                                                                              \
        {.position = B("p\0a"), .text = B(TEXT("a", "1"))},                                        \
            {.kind = WRITE_UPSERT_REPLACE, .position = B("p\0b"), .text = B(TEXT("b", "2"))},      \
            {.kind = WRITE_DELETE, .position = B("p\0r"), .if_match = B("etag"), .text = B("")},   \
    }

static void a_batch_whose_answer_was_lost_was_made(void **state)
{
    (void)state;
    const struct write writes[] = BATCH;
    struct setup setup;
    struct call call;
    struct write_result results[3];
    set_up(&setup, "lost=batch:1");
    assert_int_equal(write(&setup, writes, 3, &call, results), 0);
    assert_string_equal(results[0].etag, "version-1");
    assert_string_equal(results[1].etag, "version-2");
    assert_string_equal(results[2].etag, "");
    assert_int_equal(setup.memory->diary[1].writes, 3);
    assert_int_equal(setup.memory->asked, 2 + 3); /* each row was read */
    table_store_destroy(setup.store);
}

static void a_batch_that_was_refused_names_its_write(void **state)
{
    (void)state;
    const struct write writes[] = BATCH;
    const struct write theirs = {.position = B("p\0a"), .text = B(TEXT("a", "7"))};
    struct setup setup;
    struct call call;
    struct write_result results[3];
    set_up(&setup, "lost=batch:1");
    write_elsewhere(&setup, &theirs, results);
    assert_int_equal(write(&setup, writes, 3, &call, results), -EEXIST);
    assert_int_equal(call.failure.operation, 0);
    assert_true(call.failure.is_ambiguous);
    table_store_destroy(setup.store);

    set_up(&setup, "refuse=2:412:UpdateConditionNotSatisfied");
    assert_int_equal(write(&setup, writes, 3, &call, results), -ESTALE);
    assert_int_equal(call.failure.operation, 1);
    assert_string_equal(call.failure.code, "UpdateConditionNotSatisfied");
    assert_int_equal(setup.memory->asked, 0);
    assert_int_equal(write(&setup, writes, 1, &call, results), 0); /* no batch */
    table_store_destroy(setup.store);
}

static void tables_whose_answers_were_lost_were_changed(void **state)
{
    (void)state;
    struct setup setup;
    struct call call = {.deadline_ms = 60000};
    set_up(&setup, "lost=create_table:1,lost=delete_table:1");
    assert_int_equal(table_store_create_table(setup.store, "two", &call), 0);
    assert_int_equal(call.failure.error, 0);
    assert_int_equal(table_store_create_table(setup.store, "two", &call), -EEXIST);
    assert_int_equal(table_store_delete_table(setup.store, "one", &call), 0);
    assert_int_equal(call.failure.error, 0);
    assert_int_equal(table_store_delete_table(setup.store, "one", &call), -ENOENT);
    table_store_destroy(setup.store);
    set_up(&setup, "lost=create_table:1,fail=create_table:2:409:TableBeingDeleted");
    assert_int_equal(table_store_create_table(setup.store, "two", &call), -EBUSY);
    assert_true(call.failure.is_ambiguous);
    table_store_destroy(setup.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passing_failures_are_tried_again_after_the_backoff),
        cmocka_unit_test(nothing_else_is_tried_again),
        cmocka_unit_test(what_does_not_pass_is_given_up_before_the_deadline),
        cmocka_unit_test(a_backoff_ends_when_the_caller_goes),
        cmocka_unit_test(a_thousand_files_of_a_dead_service_take_one_timeout),
        cmocka_unit_test(a_backoff_ends_when_the_service_goes_down),
        cmocka_unit_test(a_service_that_throttles_is_not_down),
        cmocka_unit_test(a_change_that_is_refused_in_an_outage_may_have_been_made),
        cmocka_unit_test(a_few_empty_pages_are_followed_at_once),
        cmocka_unit_test(endless_empty_pages_are_paced_and_given_up),
        cmocka_unit_test(what_the_service_took_is_part_of_the_pause),
        cmocka_unit_test(a_filter_may_take_its_time),
        cmocka_unit_test(pages_whose_rows_were_dropped_are_not_paced),
        cmocka_unit_test(after_an_outage_a_slow_answer_has_its_time),
        cmocka_unit_test(an_interrupt_ends_the_pause_after_an_empty_page),
        cmocka_unit_test(what_a_failed_attempt_left_is_forgotten),
        cmocka_unit_test(an_insert_whose_answer_was_lost_was_made),
        cmocka_unit_test(an_insert_that_was_not_sent_is_sent_again),
        cmocka_unit_test(changes_whose_answers_were_lost_were_made),
        cmocka_unit_test(a_delete_whose_answer_was_lost_was_made),
        cmocka_unit_test(a_real_conflict_stays_one),
        cmocka_unit_test(a_first_refusal_is_believed),
        cmocka_unit_test(what_cannot_be_read_stays_ambiguous),
        cmocka_unit_test(an_end_after_a_lost_answer_is_ambiguous),
        cmocka_unit_test(a_batch_whose_answer_was_lost_was_made),
        cmocka_unit_test(a_batch_that_was_refused_names_its_write),
        cmocka_unit_test(tables_whose_answers_were_lost_were_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
