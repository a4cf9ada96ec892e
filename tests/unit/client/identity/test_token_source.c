/* SPDX-License-Identifier: MIT */
/* When tokens are asked for, by a clock that the tests turn, and of an issuer that they hold up.
 * What the source's thread waits for is counted, so that a test that no token is asked for yet
 * knows that the thread has looked at the clock. */
#include "client/identity/token_source.h"
#include "client/base/monitor.h"
#include "client/base/thread.h"
#include "tests/unit/unit.h"

#include <stdatomic.h>
#include <unistd.h>

#define LIFE_MS 3600000
#define CALLERS 1000
#define NAME    "login.example.com"
#define WAIT_MS 60000 /* guards against hanging alone */

#define LOOK_MS 2 /* how long the thread sleeps in place of hours */

static _Atomic int64_t boottime_now_ms;
static atomic_int looks;
static _Atomic int64_t last_wait_ms; /* what the thread has found at its last look */

/* Of the source's thread, between two looks at the clock. */
void __real_monitor_wait_for(struct monitor *monitor, int64_t max_ms);
void __wrap_monitor_wait_for(struct monitor *monitor, int64_t max_ms);
void __wrap_monitor_wait_for(struct monitor *monitor, int64_t max_ms)
{
    atomic_store(&last_wait_ms, max_ms);
    (void)atomic_fetch_add(&looks, 1);
    __real_monitor_wait_for(monitor, MIN(max_ms, (int64_t)LOOK_MS));
}

static int64_t boottime_ms(void *context)
{
    (void)context;
    return atomic_load(&boottime_now_ms);
}

static int64_t no_utc_100ns(void *context)
{
    (void)context;
    return 0; /* no wait is shortened */
}

struct fixture {
    struct clock clock, boottime;
    struct token_source *source;
    atomic_int asked, running;
    atomic_bool is_held, is_same, fails;
    int64_t life_ms, refresh_ms;
};

static int ask(void *context, struct call *call, struct token_answer *ret)
{
    struct fixture *f = context;
    char text[32];
    int number = atomic_fetch_add(&f->asked, 1) + 1;
    assert_int_equal(atomic_fetch_add(&f->running, 1), 0); /* one at a time */
    while (atomic_load(&f->is_held) && !call_is_cancelled(call))
        (void)usleep(1000);
    (void)atomic_fetch_sub(&f->running, 1);
    if (atomic_load(&f->fails)) {
        (void)call_fail(call, -EHOSTUNREACH, "no route");
        call->failure.is_retryable = call->failure.is_unanswered = true;
        return -EHOSTUNREACH;
    }
    (void)snprintf(text, sizeof(text), "token%d", atomic_load(&f->is_same) ? 1 : number);
    *ret = (struct token_answer){.life_ms = f->life_ms, .refresh_ms = f->refresh_ms};
    buffer_init(&ret->text, sizeof(text));
    return buffer_append_string(&ret->text, text);
}

static void begin(struct fixture *f)
{
    *f = (struct fixture){.life_ms = LIFE_MS};
    f->clock = f->boottime = clock_system;
    f->clock.utc_100ns = no_utc_100ns;
    f->boottime.monotonic_ms = boottime_ms;
    atomic_store(&boottime_now_ms, 1000000);
}

static void start(struct fixture *f)
{
    const struct token_issuer issuer = {
        .request = ask, .context = f, .name = NAME, .advice_late = "patience"};
    assert_int_equal(token_source_create(&issuer, &f->clock, &f->boottime, &f->source), 0);
}

static void end(struct fixture *f)
{
    token_source_destroy(f->source);
}

static void pass(int64_t ms)
{
    (void)atomic_fetch_add(&boottime_now_ms, ms);
}

static struct call new_call(void)
{
    return (struct call){.deadline_ms = clock_now_ms(&clock_system) + WAIT_MS};
}

/* Writes the token's text, or "" after a failure. */
static int get(struct fixture *f, struct call *call, char ret[32])
{
    _cleanup_(token_unrefp) struct token *token = NULL;
    _cleanup_(buffer_finish) struct buffer text;
    const struct signed_request request = {.verb = "GET"};
    buffer_init(&text, 100);
    *call = new_call();
    int r = token_source_get(f->source, call, &token);
    if (r == 0)
        assert_int_equal(credential_append_authorization(token_credential(token), &request, &text),
                         0);
    (void)snprintf(ret, 32, "%.*s", (int)text.size, text.data ? text.data : "");
    return r;
}

static void expect(struct fixture *f, const char *expected, int asked)
{
    struct call call;
    char text[32];
    assert_int_equal(get(f, &call, text), 0);
    assert_string_equal(text, expected);
    assert_int_equal(atomic_load(&f->asked), asked);
}

/* The thread does not request a token before wait_ms have passed. It has to read the clock twice
 * first, because one reading may have begun before the test set the clock. */
static void expect_not_yet(struct fixture *f, const char *expected, int asked, int64_t wait_ms)
{
    int before = atomic_load(&looks);
    while (atomic_load(&looks) < before + 2)
        (void)usleep(1000);
    assert_int_equal(atomic_load(&last_wait_ms), wait_ms);
    expect(f, expected, asked);
}

/* Each look wakes the thread. */
static void wait_for(struct fixture *f, int asked)
{
    struct call call;
    char text[32];
    while (atomic_load(&f->asked) < asked || atomic_load(&f->running) > 0) {
        (void)get(f, &call, text);
        (void)usleep(1000);
    }
}

static void wait_for_token(struct fixture *f, const char *expected)
{
    struct call call;
    char text[32] = "";
    while (strcmp(text, expected) != 0) {
        (void)get(f, &call, text);
        (void)usleep(1000);
    }
}

static void the_first_token_is_used_by_all(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    begin(&f);
    start(&f);
    for (int i = 0; i < 5; i++)
        expect(&f, "Bearer token1", 1);
    pass(LIFE_MS / 2 - 1);
    expect_not_yet(&f, "Bearer token1", 1, 1);
}

static void from_half_of_its_life_on_it_is_refreshed_beside_the_callers(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    begin(&f);
    start(&f);
    expect(&f, "Bearer token1", 1);
    atomic_store(&f.is_held, true);
    pass(LIFE_MS / 2);
    while (atomic_load(&f.asked) < 2) {
        struct call call;
        char text[32];
        assert_int_equal(get(&f, &call, text), 0);
        assert_string_equal(text, "Bearer token1");
    }
    expect(&f, "Bearer token1", 2);
    pass(LIFE_MS / 2 - 1);
    expect(&f, "Bearer token1", 2);
    atomic_store(&f.is_held, false);
    wait_for_token(&f, "Bearer token2");
    assert_int_equal(atomic_load(&f.asked), 2);
}

static void an_answer_may_say_when_it_is_to_be_refreshed(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    begin(&f);
    f.refresh_ms = LIFE_MS / 4;
    start(&f);
    expect(&f, "Bearer token1", 1);
    pass(LIFE_MS / 4 - 1);
    expect_not_yet(&f, "Bearer token1", 1, 1);
    pass(1);
    wait_for_token(&f, "Bearer token2");
}

struct caller {
    pthread_t thread;
    struct fixture *f;
    char text[32];
    int r;
};

static void *run_caller(void *context)
{
    struct caller *caller = context;
    struct call call;
    caller->r = get(caller->f, &call, caller->text);
    return NULL;
}

/* After a suspend: nothing was refreshed in time. */
static void many_callers_at_the_end_cause_one_request(void **state)
{
    (void)state;
    struct fixture f;
    struct caller *callers = calloc(CALLERS, sizeof(*callers));
    assert_non_null(callers);
    begin(&f);
    start(&f);
    expect(&f, "Bearer token1", 1);
    atomic_store(&f.is_held, true);
    pass(10 * (int64_t)LIFE_MS);
    for (int i = 0; i < CALLERS; i++) {
        callers[i].f = &f;
        assert_int_equal(thread_create(&callers[i].thread, run_caller, &callers[i]), 0);
    }
    while (atomic_load(&f.asked) < 2)
        (void)usleep(1000);
    atomic_store(&f.is_held, false);
    for (int i = 0; i < CALLERS; i++) {
        (void)pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].r, 0);
        assert_string_equal(callers[i].text, "Bearer token2");
    }
    assert_int_equal(atomic_load(&f.asked), 2);
    end(&f);
    free(callers);
}

static void after_a_failure_the_old_one_is_used_to_its_end(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    struct call call;
    char text[32];
    begin(&f);
    start(&f);
    expect(&f, "Bearer token1", 1);
    atomic_store(&f.fails, true);
    pass(LIFE_MS / 2);
    wait_for(&f, 2);
    expect(&f, "Bearer token1", 2);
    static const int pauses_ms[] = {3000, 6000, 12000, 24000, 48000, 60000, 60000};
    int64_t passed_ms = 0;
    for (size_t i = 0; i < ARRAY_SIZE(pauses_ms); i++) {
        pass(pauses_ms[i] - 1);
        expect_not_yet(&f, "Bearer token1", (int)i + 2, 1);
        pass(1);
        wait_for(&f, (int)i + 3);
        passed_ms += pauses_ms[i];
    }
    pass(LIFE_MS / 2 - passed_ms);
    wait_for(&f, (int)ARRAY_SIZE(pauses_ms) + 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(get(&f, &call, text), -EACCES);
        assert_string_equal(call.failure.message, "no token from " NAME ": no route");
        assert_false(call.failure.is_retryable || call.failure.is_unanswered);
    }
    assert_int_equal(atomic_load(&f.asked), (int)ARRAY_SIZE(pauses_ms) + 3);
    atomic_store(&f.fails, false);
    pass(60000);
    wait_for_token(&f, "Bearer token11");
}

static void the_first_failure_keeps_its_error(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    struct call call;
    char text[32];
    begin(&f);
    atomic_store(&f.fails, true);
    start(&f);
    assert_int_equal(get(&f, &call, text), -EHOSTUNREACH);
    assert_true(call.failure.is_retryable);
    assert_false(call.failure.is_unanswered);
    atomic_store(&f.fails, false);
    pass(3000);
    wait_for_token(&f, "Bearer token2");
}

static void the_same_token_again_is_not_asked_for_within_a_while(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    begin(&f);
    atomic_store(&f.is_same, true);
    f.life_ms = 40000;
    start(&f);
    expect(&f, "Bearer token1", 1);
    pass(20000);
    wait_for(&f, 2);
    pass(29999);
    expect_not_yet(&f, "Bearer token1", 2, 1);
    pass(1);
    wait_for(&f, 3);
    expect(&f, "Bearer token1", 3);
}

/* Its life is over when it comes: that is a failure, and it is not asked for at once again. */
static void a_token_that_has_ended_when_it_comes(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    struct call call;
    char text[32];
    begin(&f);
    f.life_ms = 500;
    atomic_store(&f.is_held, true);
    start(&f);
    while (atomic_load(&f.running) == 0)
        (void)usleep(1000);
    pass(500);
    atomic_store(&f.is_held, false);
    assert_int_equal(get(&f, &call, text), -EPROTO);
    assert_string_equal(call.failure.message,
                        "no token from " NAME ": its token had ended when it arrived");
    pass(TOKEN_SOURCE_PAUSE_MS - 1);
    int before = atomic_load(&looks);
    while (atomic_load(&looks) < before + 2)
        assert_int_equal(get(&f, &call, text), -EPROTO);
    assert_int_equal(atomic_load(&last_wait_ms), 1);
    assert_int_equal(atomic_load(&f.asked), 1);
}

static void short_and_long_lives_are_bounded(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    f.life_ms = 1;
    start(&f);
    struct call call;
    char text[32];
    assert_int_equal(get(&f, &call, text), 0);
    end(&f);
    begin(&f);
    f.life_ms = INT64_C(3650) * 24 * 3600 * 1000;
    start(&f);
    expect(&f, "Bearer token1", 1);
    pass(TOKEN_SOURCE_REFRESH_MS - 1);
    expect_not_yet(&f, "Bearer token1", 1, 1);
    pass(1);
    wait_for_token(&f, "Bearer token2");
    end(&f);
}

static bool is_cancelled(void *context)
{
    (void)context;
    return true;
}

static void a_caller_can_be_cancelled_and_be_late(void **state)
{
    (void)state;
    struct fixture f;
    struct token *token = NULL;
    begin(&f);
    atomic_store(&f.is_held, true);
    start(&f);
    struct call call = {.deadline_ms = clock_now_ms(&clock_system) + WAIT_MS,
                        .is_cancelled = is_cancelled};
    assert_int_equal(token_source_get(f.source, &call, &token), -EINTR);
    call = (struct call){.deadline_ms = clock_now_ms(&clock_system) + 1};
    assert_int_equal(token_source_get(f.source, &call, &token), -ETIMEDOUT);
    assert_string_equal(call.failure.message, "no token from " NAME " in time");
    assert_string_equal(call.failure.advice, "patience");
    end(&f); /* ends the request */
}

static struct token *take(struct fixture *f)
{
    struct token *token = NULL;
    struct call call = new_call();
    assert_int_equal(token_source_get(f->source, &call, &token), 0);
    return token;
}

static void a_refused_token_is_replaced_once_in_a_while(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    begin(&f);
    start(&f);
    struct token *first = take(&f), *second = NULL, *third = NULL;
    struct call call = new_call();
    assert_true(token_source_replace(f.source, first, &call, &second));
    assert_int_equal(atomic_load(&f.asked), 2);
    assert_ptr_not_equal(second, first);
    assert_true(token_source_replace(f.source, first, &call, &third)); /* it is there already */
    assert_ptr_equal(third, second);
    token_unref(third);
    assert_int_equal(atomic_load(&f.asked), 2);
    pass(TOKEN_SOURCE_RENEW_MS - 1);
    assert_false(token_source_replace(f.source, second, &call, &third));
    assert_int_equal(atomic_load(&f.asked), 2);
    pass(1);
    assert_true(token_source_replace(f.source, second, &call, &third));
    assert_int_equal(atomic_load(&f.asked), 3);
    token_unref(first);
    token_unref(second);
    token_unref(third);
}

static void a_refused_token_that_comes_again_or_not_at_all_stands(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    begin(&f);
    atomic_store(&f.is_same, true);
    start(&f);
    struct token *token = take(&f), *other = NULL;
    struct call call = new_call();
    assert_false(token_source_replace(f.source, token, &call, &other));
    assert_int_equal(atomic_load(&f.asked), 2);
    atomic_store(&f.fails, true);
    pass(TOKEN_SOURCE_RENEW_MS);
    assert_false(token_source_replace(f.source, token, &call, &other));
    assert_int_equal(atomic_load(&f.asked), 3);
    expect(&f, "Bearer token1", 3); /* its end has not come */
    token_unref(token);
}

struct replacer {
    pthread_t thread;
    struct fixture *f;
    struct token *refused, *other;
};

static void *run_replacer(void *context)
{
    struct replacer *replacer = context;
    struct call call = new_call();
    (void)token_source_replace(replacer->f->source, replacer->refused, &call, &replacer->other);
    return NULL;
}

static void many_refusals_cause_one_request(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    struct replacer replacers[64];
    begin(&f);
    start(&f);
    _cleanup_(token_unrefp) struct token *token = take(&f);
    atomic_store(&f.is_held, true);
    for (size_t i = 0; i < ARRAY_SIZE(replacers); i++) {
        replacers[i] = (struct replacer){.f = &f, .refused = token};
        assert_int_equal(thread_create(&replacers[i].thread, run_replacer, &replacers[i]), 0);
    }
    while (atomic_load(&f.asked) < 2)
        (void)usleep(1000);
    atomic_store(&f.is_held, false);
    for (size_t i = 0; i < ARRAY_SIZE(replacers); i++) {
        (void)pthread_join(replacers[i].thread, NULL);
        assert_non_null(replacers[i].other);
        assert_ptr_equal(replacers[i].other, replacers[0].other);
    }
    assert_int_equal(atomic_load(&f.asked), 2);
    for (size_t i = 0; i < ARRAY_SIZE(replacers); i++)
        token_unref(replacers[i].other);
}

static void its_state_is_told(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, 10000);
    begin(&f);
    atomic_store(&f.is_held, true);
    start(&f);
    while (atomic_load(&f.asked) < 1)
        (void)usleep(1000);
    assert_int_equal(token_source_append_description(f.source, &text), 0);
    assert_bytes(buffer_bytes(&text), B("none"));
    atomic_store(&f.is_held, false);
    expect(&f, "Bearer token1", 1);
    pass(5000);
    buffer_clear(&text);
    assert_int_equal(token_source_append_description(f.source, &text), 0);
    assert_bytes(buffer_bytes(&text),
                 B("an identity that its token does not name, until 1970-01-01T00:59:55Z"));
    buffer_clear(&text);
    assert_int_equal(token_source_append_metrics(f.source, &text), 0);
    assert_non_null(strstr(buffer_string(&text), "\ntablefuse_token_requests_total 1\n"));
    assert_non_null(strstr(buffer_string(&text), "\ntablefuse_token_age_seconds 5.000\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_token_is_used_by_all),
        cmocka_unit_test(from_half_of_its_life_on_it_is_refreshed_beside_the_callers),
        cmocka_unit_test(an_answer_may_say_when_it_is_to_be_refreshed),
        cmocka_unit_test(many_callers_at_the_end_cause_one_request),
        cmocka_unit_test(after_a_failure_the_old_one_is_used_to_its_end),
        cmocka_unit_test(the_first_failure_keeps_its_error),
        cmocka_unit_test(the_same_token_again_is_not_asked_for_within_a_while),
        cmocka_unit_test(a_token_that_has_ended_when_it_comes),
        cmocka_unit_test(short_and_long_lives_are_bounded),
        cmocka_unit_test(a_caller_can_be_cancelled_and_be_late),
        cmocka_unit_test(a_refused_token_is_replaced_once_in_a_while),
        cmocka_unit_test(a_refused_token_that_comes_again_or_not_at_all_stands),
        cmocka_unit_test(many_refusals_cause_one_request),
        cmocka_unit_test(its_state_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
