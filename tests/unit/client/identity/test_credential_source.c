/* SPDX-License-Identifier: MIT */
/* When the file of a key is read again, by a clock that the tests turn, and by a file that they
 * hold up. */
#include "client/identity/credential_source.h"
#include "client/base/thread.h"
#include "tests/unit/unit.h"

#include <stdatomic.h>
#include <unistd.h>

#define CALLERS  64
#define NOW_SEC  1735787045 /* 2025-01-02T03:04:05Z */
#define IN_A_DAY "se=2025-01-03T03%3A04%3A05Z&sig=x"

static _Atomic int64_t now_ms, utc_sec;

static int64_t monotonic_ms(void *context)
{
    (void)context;
    return atomic_load(&now_ms);
}

static int64_t utc_100ns(void *context)
{
    (void)context;
    return atomic_load(&utc_sec) * TICKS_PER_SEC;
}

struct fixture {
    struct clock clock;
    struct credential_source *source;
    atomic_int reads, running;
    atomic_bool is_held;
    const char *_Atomic text; /* of the file: a SAS; NULL: it cannot be read */
    int told;
};

static struct credential *make(const char *text)
{
    struct credential *credential = NULL;
    assert_int_equal(credential_create_sas(bytes_of(text), &credential), 0);
    return credential;
}

static int read_file(void *context, struct credential **ret)
{
    struct fixture *f = context;
    (void)atomic_fetch_add(&f->reads, 1);
    assert_int_equal(atomic_fetch_add(&f->running, 1), 0); /* one at a time */
    while (atomic_load(&f->is_held))
        (void)usleep(1000);
    (void)atomic_fetch_sub(&f->running, 1);
    const char *text = atomic_load(&f->text);
    return text ? credential_create_sas(bytes_of(text), ret) : -ENOENT;
}

static void start(struct fixture *f, const char *text, bool has_file)
{
    *f = (struct fixture){.clock = clock_system, .text = text};
    f->clock.monotonic_ms = monotonic_ms;
    f->clock.utc_100ns = utc_100ns;
    atomic_store(&now_ms, 1000000);
    atomic_store(&utc_sec, NOW_SEC);
    const struct credential_reader reader = {read_file, f};
    assert_int_equal(
        credential_source_create(make(text), has_file ? &reader : NULL, &f->clock, &f->source), 0);
}

static void end(struct fixture *f)
{
    credential_source_destroy(f->source);
}

static void pass(int64_t ms)
{
    (void)atomic_fetch_add(&now_ms, ms);
}

static void expect(struct fixture *f, const char *text)
{
    _cleanup_(credential_unrefp) struct credential *present = credential_source_get(f->source);
    _cleanup_(credential_unrefp) struct credential *expected = make(text);
    assert_true(credential_is_same(present, expected));
}

static struct call new_call(void)
{
    return (struct call){.deadline_ms = INT64_MAX};
}

/* Refuses what there is. Is there another one? */
static bool refuse(struct fixture *f)
{
    _cleanup_(credential_unrefp) struct credential *refused = credential_source_get(f->source);
    _cleanup_(credential_unrefp) struct credential *other = NULL;
    struct call call = new_call();
    bool is_replaced = credential_source_replace(f->source, refused, &call, &other);
    assert_int_equal(is_replaced, other != NULL);
    if (is_replaced)
        assert_false(credential_is_same(other, refused));
    return is_replaced;
}

static void without_a_file_a_refusal_stands(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    start(&f, "sig=a", false);
    assert_false(refuse(&f));
    expect(&f, "sig=a");
}

static void a_file_that_was_changed_is_read_again(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    start(&f, "sig=a", true);
    atomic_store(&f.text, "sig=b");
    expect(&f, "sig=a");
    assert_true(refuse(&f));
    expect(&f, "sig=b");
    assert_int_equal(atomic_load(&f.reads), 1);
}

static void it_is_read_once_in_a_while(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    start(&f, "sig=a", true);
    assert_false(refuse(&f)); /* the same */
    atomic_store(&f.text, "sig=b");
    pass(CREDENTIAL_SOURCE_REREAD_MS - 1);
    assert_false(refuse(&f));
    assert_int_equal(atomic_load(&f.reads), 1);
    pass(1);
    assert_true(refuse(&f));
    assert_int_equal(atomic_load(&f.reads), 2);
    assert_false(refuse(&f));
    atomic_store(&f.text, NULL);
    pass(CREDENTIAL_SOURCE_REREAD_MS);
    assert_false(refuse(&f)); /* it cannot be read */
    assert_int_equal(atomic_load(&f.reads), 3);
    expect(&f, "sig=b");
}

/* Of an old request: the new one is there already. */
static void what_was_replaced_meanwhile_is_not_read_again(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    start(&f, "sig=a", true);
    _cleanup_(credential_unrefp) struct credential *old = credential_source_get(f.source);
    _cleanup_(credential_unrefp) struct credential *other = NULL;
    struct call call = new_call();
    atomic_store(&f.text, "sig=b");
    assert_true(refuse(&f));
    pass(CREDENTIAL_SOURCE_REREAD_MS);
    assert_true(credential_source_replace(f.source, old, &call, &other));
    assert_int_equal(atomic_load(&f.reads), 1);
}

struct caller {
    pthread_t thread;
    struct fixture *f;
    struct credential *refused, *other;
};

static void *run_caller(void *context)
{
    struct caller *caller = context;
    struct call call = new_call();
    (void)credential_source_replace(caller->f->source, caller->refused, &call, &caller->other);
    return NULL;
}

static void many_refusals_cause_one_read(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    struct caller callers[CALLERS];
    start(&f, "sig=a", true);
    _cleanup_(credential_unrefp) struct credential *refused = credential_source_get(f.source);
    atomic_store(&f.text, "sig=b");
    atomic_store(&f.is_held, true);
    for (size_t i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.f = &f, .refused = refused};
        assert_int_equal(thread_create(&callers[i].thread, run_caller, &callers[i]), 0);
    }
    while (atomic_load(&f.reads) == 0)
        (void)usleep(1000);
    expect(&f, "sig=a"); /* nobody waits for the file who does not need it */
    atomic_store(&f.is_held, false);
    for (size_t i = 0; i < CALLERS; i++) {
        (void)pthread_join(callers[i].thread, NULL);
        assert_non_null(callers[i].other);
        assert_ptr_equal(callers[i].other, callers[0].other);
    }
    for (size_t i = 0; i < CALLERS; i++)
        credential_unref(callers[i].other);
    assert_int_equal(atomic_load(&f.reads), 1);
}

static bool is_cancelled(void *context)
{
    (void)context;
    return true;
}

static void a_caller_that_waits_can_be_cancelled(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    start(&f, "sig=a", true);
    struct caller caller = {.f = &f, .refused = credential_source_get(f.source)};
    _cleanup_(credential_unrefp) struct credential *other = NULL;
    struct call call = {.deadline_ms = INT64_MAX, .is_cancelled = is_cancelled};
    atomic_store(&f.text, "sig=b");
    atomic_store(&f.is_held, true);
    assert_int_equal(thread_create(&caller.thread, run_caller, &caller), 0);
    while (atomic_load(&f.reads) == 0)
        (void)usleep(1000);
    assert_false(credential_source_replace(f.source, caller.refused, &call, &other));
    call = (struct call){.deadline_ms = atomic_load(&now_ms)};
    assert_false(credential_source_replace(f.source, caller.refused, &call, &other));
    atomic_store(&f.is_held, false);
    (void)pthread_join(caller.thread, NULL);
    credential_unref(caller.other);
    credential_unref(caller.refused);
}

static void ends(void *context)
{
    struct fixture *f = context;
    f->told++;
}

static void expect_told(struct fixture *f, const char *text, int told)
{
    expect(f, text);
    assert_int_equal(f->told, told);
}

static void the_end_of_a_signature_is_told_a_day_before(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    start(&f, IN_A_DAY, true);
    atomic_store(&utc_sec, NOW_SEC - 1);
    credential_source_watch(f.source, ends, &f);
    expect_told(&f, IN_A_DAY, 0);
    atomic_store(&utc_sec, NOW_SEC);
    expect_told(&f, IN_A_DAY, 1);
    expect_told(&f, IN_A_DAY, 1);
    atomic_store(&f.text, "se=2025-01-01&sig=y"); /* another one, which has ended */
    assert_true(refuse(&f));
    expect_told(&f, "se=2025-01-01&sig=y", 2);
}

static void what_has_no_end_tells_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"si=policy&sig=x", "se=tomorrow&sig=x", "se=&sig=x"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_(end) struct fixture f;
        start(&f, texts[i], false);
        credential_source_watch(f.source, ends, &f);
        expect_told(&f, texts[i], 0);
    }
}

static void it_is_told_when_it_is_watched(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    start(&f, IN_A_DAY, false);
    expect_told(&f, IN_A_DAY, 0);
    credential_source_watch(f.source, ends, &f);
    expect_told(&f, IN_A_DAY, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_file_a_refusal_stands),
        cmocka_unit_test(a_file_that_was_changed_is_read_again),
        cmocka_unit_test(it_is_read_once_in_a_while),
        cmocka_unit_test(what_was_replaced_meanwhile_is_not_read_again),
        cmocka_unit_test(many_refusals_cause_one_read),
        cmocka_unit_test(a_caller_that_waits_can_be_cancelled),
        cmocka_unit_test(the_end_of_a_signature_is_told_a_day_before),
        cmocka_unit_test(what_has_no_end_tells_none),
        cmocka_unit_test(it_is_told_when_it_is_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
