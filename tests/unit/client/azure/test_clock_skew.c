/* SPDX-License-Identifier: MIT */
/* This machine's clock against the service's: by themselves, and in requests to a loopback server
 * whose `Date` is 20 minutes ahead. */
#include "client/azure/clock_skew.h"
#include "client/http/http_date.h"
#include "tests/unit/client/azure/azure_fixture.h"

#define SECOND TICKS_PER_SEC
#define NOW    (1735787045 * SECOND) /* the time of azure_fixture.h: 03:04:05 */

#define RIGHT "Date: Thu, 02 Jan 2025 03:04:06 GMT\r\n"
#define AHEAD "Date: Thu, 02 Jan 2025 03:24:05 GMT\r\n"
#define REFUSED(date)                                                                              \
    {                                                                                              \
        .status = "403 Forbidden", .headers = (date),                                              \
        .body = "{\"odata.error\":{\"code\":\"AuthenticationFailed\"}}"                            \
    }
#define NO_TABLES(date)                                                                            \
    {                                                                                              \
        .status = "200 OK", .headers = (date), .body = "{\"value\":[]}"                            \
    }

struct skewed {
    int64_t utc_100ns; /* first: the clock's context */
    struct clock clock;
    struct clock_skew *skew;
    int told;
    int64_t told_100ns;
};

static int64_t turned_utc_100ns(void *context)
{
    return *(int64_t *)context;
}

static void take(void *context, int64_t skew_100ns)
{
    struct skewed *skewed = context;
    skewed->told++;
    skewed->told_100ns = skew_100ns;
}

static void set_up(struct skewed *skewed)
{
    *skewed = (struct skewed){.utc_100ns = NOW};
    skewed->clock = (struct clock){.utc_100ns = turned_utc_100ns, .context = skewed};
    assert_int_equal(clock_skew_create(&skewed->clock, take, skewed, &skewed->skew), 0);
}

static void tear_down(struct skewed *skewed)
{
    clock_skew_destroy(skewed->skew);
}

static void expect(struct skewed *skewed, int64_t skew_sec, int told)
{
    assert_int_equal(clock_skew_utc_100ns(skewed->skew), skewed->utc_100ns + skew_sec * SECOND);
    assert_int_equal(skewed->told, told);
    assert_int_equal(skewed->told_100ns, skew_sec * SECOND);
}

static void only_more_than_five_minutes_count(void **state)
{
    (void)state;
    static const int64_t differences[] = {0, 1, -1, 300, -300};
    struct skewed skewed;
    set_up(&skewed);
    for (size_t i = 0; i < ARRAY_SIZE(differences); i++)
        assert_false(clock_skew_correct(skewed.skew, NOW, NOW + differences[i] * SECOND));
    expect(&skewed, 0, 0);
    assert_true(clock_skew_correct(skewed.skew, NOW, NOW + 301 * SECOND));
    expect(&skewed, 301, 1);
    clock_skew_destroy(skewed.skew);
    set_up(&skewed);
    assert_true(clock_skew_correct(skewed.skew, NOW, NOW - 301 * SECOND));
    expect(&skewed, -301, 1);
    clock_skew_destroy(skewed.skew);
}

/* A request that was dated with the difference, and refused all the same, is not sent again. */
static void a_date_that_fits_is_not_corrected(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct skewed skewed;
    set_up(&skewed);
    assert_true(clock_skew_correct(skewed.skew, NOW, NOW + 1200 * SECOND));
    assert_false(clock_skew_correct(skewed.skew, NOW + 1200 * SECOND, NOW + 1201 * SECOND));
    expect(&skewed, 1200, 1);
}

/* Of threads whose requests were refused at once, one tells it. */
static void a_difference_is_replaced_and_told_once(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct skewed skewed;
    set_up(&skewed);
    for (int i = 0; i < 8; i++)
        assert_true(clock_skew_correct(skewed.skew, NOW, NOW + (1200 + i) * SECOND));
    assert_int_equal(clock_skew_utc_100ns(skewed.skew), NOW + 1207 * SECOND);
    assert_int_equal(skewed.told, 1);
    skewed.utc_100ns -= 3600 * SECOND; /* the machine has slept */
    assert_true(clock_skew_correct(skewed.skew, NOW - 2393 * SECOND, NOW + 1200 * SECOND));
    expect(&skewed, 4800, 2);
}

static void the_difference_ends_when_this_clock_fits(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct skewed skewed;
    set_up(&skewed);
    clock_skew_note(skewed.skew, NOW + 1200 * SECOND); /* not refused: nothing to correct */
    expect(&skewed, 0, 0);
    assert_true(clock_skew_correct(skewed.skew, NOW, NOW + 1200 * SECOND));
    clock_skew_note(skewed.skew, NOW + 1201 * SECOND);
    clock_skew_note(skewed.skew, NOW + 301 * SECOND);
    expect(&skewed, 1200, 1);
    clock_skew_note(skewed.skew, NOW + 300 * SECOND);
    expect(&skewed, 0, 2);
    clock_skew_note(skewed.skew, NOW);
    expect(&skewed, 0, 2);
    /* the clock was set, and the next answer is a refusal of the date that is now too late */
    assert_true(clock_skew_correct(skewed.skew, NOW, NOW + 1200 * SECOND));
    skewed.utc_100ns += 1200 * SECOND;
    assert_true(clock_skew_correct(skewed.skew, NOW + 2400 * SECOND, NOW + 1200 * SECOND));
    expect(&skewed, 0, 4);
}

/* A date after the year 9999 cannot be written: no request could be sent, and none corrected. */
static void a_service_in_the_last_year_can_be_corrected(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct skewed skewed;
    struct buffer date;
    set_up(&skewed);
    assert_true(clock_skew_correct(skewed.skew, NOW, HTTP_DATE_MAX_100NS));
    skewed.utc_100ns += 10 * SECOND;
    buffer_init(&date, HTTP_DATE_SIZE);
    assert_int_equal(http_date_append(&date, clock_skew_utc_100ns(skewed.skew)), 0);
    assert_bytes(buffer_bytes(&date), B("Fri, 31 Dec 9999 23:59:59 GMT"));
    buffer_finish(&date);
    assert_true(clock_skew_correct(skewed.skew, HTTP_DATE_MAX_100NS, NOW));
    assert_int_equal(clock_skew_utc_100ns(skewed.skew), skewed.utc_100ns);
}

static void the_metric_has_a_sign(void **state)
{
    (void)state;
    static const struct {
        int64_t ticks;
        const char *line;
    } cases[] = {{NOW, "\ntablefuse_clock_skew_seconds 0.000\n"},
                 {NOW + 12005 * SECOND / 10, "\ntablefuse_clock_skew_seconds 1200.500\n"},
                 {NOW - 12005 * SECOND / 10, "\ntablefuse_clock_skew_seconds -1200.500\n"}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(tear_down) struct skewed skewed;
        struct buffer text;
        set_up(&skewed);
        (void)clock_skew_correct(skewed.skew, NOW, cases[i].ticks);
        buffer_init(&text, 1024);
        assert_int_equal(clock_skew_append_metrics(skewed.skew, &text), 0);
        assert_non_null(strstr(buffer_string(&text), cases[i].line));
        buffer_finish(&text);
    }
}

static int list(struct fixture *f)
{
    _cleanup_(buffer_finish) struct buffer names;
    return list_tables(f, NULL, &names);
}

/* The last request has this date, and a signature of it. */
static void expect_signed(struct fixture *f, const char *method, const char *content_type,
                          const char *path, const char *date)
{
    _cleanup_(buffer_finish) struct buffer value;
    const struct signed_request request = {.verb = method,
                                           .content_type = bytes_of(content_type),
                                           .date = bytes_of(date),
                                           .path = bytes_of(path)};
    buffer_init(&value, 256);
    assert_int_equal(credential_append_authorization(f->connection.credential, &request, &value),
                     0);
    expect_header(f, "x-ms-date", date);
    expect_header(f, "Authorization", buffer_string(&value));
}

static void a_refused_date_is_replaced_by_the_services(void **state)
{
    (void)state;
    static const struct canned answers[] = {REFUSED(AHEAD), NO_TABLES(AHEAD), NO_TABLES(AHEAD),
                                            NO_TABLES(RIGHT), NO_TABLES(RIGHT)};
    static const char ahead[] = "Thu, 02 Jan 2025 03:24:05 GMT";
    _cleanup_(end) struct fixture f;
    begin(&f, answers, ARRAY_SIZE(answers));
    assert_int_equal(list(&f), 0);
    assert_int_equal(f.server.requests, 2);
    expect_signed(&f, "GET", "", "/devstoreaccount1/Tables", ahead);
    assert_int_equal(f.call.failure.error, 0);
    assert_int_equal(list(&f), 0); /* at once with the service's time */
    expect_signed(&f, "GET", "", "/devstoreaccount1/Tables", ahead);
    assert_int_equal(list(&f), 0); /* its answer shows that this clock is right */
    expect_header(&f, "x-ms-date", ahead);
    assert_int_equal(list(&f), 0);
    expect_signed(&f, "GET", "", "/devstoreaccount1/Tables", "Thu, 02 Jan 2025 03:04:05 GMT");
    assert_int_equal(f.server.requests, 5);
}

/* A refusal has changed nothing: the same body goes out once more, and its outcome is known. */
static void changes_are_sent_once_more_whole(void **state)
{
    (void)state;
    static const struct canned answers[] = {REFUSED(AHEAD), {.status = "204 No Content"}};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, ARRAY_SIZE(answers));
    assert_int_equal(table_store_create_table(f.store, "mytable", &f.call), 0);
    assert_int_equal(f.server.requests, 2);
    expect_signed(&f, "POST", "application/json", "/devstoreaccount1/Tables",
                  "Thu, 02 Jan 2025 03:24:05 GMT");
    expect_body(&f, "{\"TableName\":\"mytable\"}");
}

static void batches_are_sent_once_more(void **state)
{
    (void)state;
    static const struct canned answers[] = {REFUSED(AHEAD)};
    _cleanup_(end) struct fixture f;
    struct write_result results[2];
    const struct write writes[] = {
        {.kind = WRITE_DELETE, .position = B("p\0r"), .if_match = B("*"), .text = B("")},
        {.kind = WRITE_DELETE, .position = B("p\0s"), .if_match = B("*"), .text = B("")}};
    begin(&f, answers, 1);
    assert_int_equal(table_store_write(f.store, "tab", writes, 2, &f.call, results), -EACCES);
    assert_int_equal(f.server.requests, 2);
    expect_header(&f, "x-ms-date", "Thu, 02 Jan 2025 03:24:05 GMT");
    assert_false(f.call.failure.is_ambiguous);
}

/* The request was dated right in the end, so the key is wrong, not the clock. */
static void a_wrong_key_is_found_behind_a_wrong_clock(void **state)
{
    (void)state;
    static const struct canned answers[] = {REFUSED(AHEAD)};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 1);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(list(&f), -EACCES);
        assert_int_equal(f.server.requests, i + 1); /* once more for the first alone */
        assert_non_null(strstr(f.call.failure.advice, "the account key is wrong"));
    }
}

static void expect_no_correction(struct fixture *f, const char *advice)
{
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(list(f), -EACCES);
        assert_int_equal(f->server.requests, i);
        expect_header(f, "x-ms-date", "Thu, 02 Jan 2025 03:04:05 GMT");
        assert_non_null(strstr(f->call.failure.advice, advice));
    }
}

static void without_a_date_nothing_is_corrected(void **state)
{
    (void)state;
    static const struct canned answers[] = {REFUSED(""), REFUSED("Date: yesterday\r\n")};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 2);
    expect_no_correction(&f, "the account key is wrong");
}

/* The service compares the times of a SAS with its own clock. */
static void a_sas_is_not_corrected(void **state)
{
    (void)state;
    static const struct canned answers[] = {REFUSED(AHEAD)};
    const struct connection_environment environment = {
        .sas_token = "sv=2020-12-06&ss=t&srt=sco&sp=l&se=2025-01-02T03%3A14%3A05Z&sig=SECRET%3D"};
    _cleanup_(end) struct fixture f;
    begin_as(&f, answers, 1, &environment);
    expect_no_correction(&f, "the SAS token has expired");
}

/* Over http an attacker could choose the time. The fixture's host is called another one's. */
static void no_time_is_taken_over_plain_http(void **state)
{
    (void)state;
    static const struct canned answers[] = {REFUSED(AHEAD)};
    const struct connection_environment environment = {.key = KEY};
    _cleanup_(end) struct fixture f;
    assert_int_equal(setenv("no_proxy", "*", 1), 0);
    connect_as(&f, answers, 1, &environment);
    f.connection.endpoint.is_loopback = false;
    open_store(&f);
    expect_no_correction(&f, "clock differs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_more_than_five_minutes_count),
        cmocka_unit_test(a_date_that_fits_is_not_corrected),
        cmocka_unit_test(a_difference_is_replaced_and_told_once),
        cmocka_unit_test(the_difference_ends_when_this_clock_fits),
        cmocka_unit_test(a_service_in_the_last_year_can_be_corrected),
        cmocka_unit_test(the_metric_has_a_sign),
        cmocka_unit_test(a_refused_date_is_replaced_by_the_services),
        cmocka_unit_test(changes_are_sent_once_more_whole),
        cmocka_unit_test(batches_are_sent_once_more),
        cmocka_unit_test(a_wrong_key_is_found_behind_a_wrong_clock),
        cmocka_unit_test(without_a_date_nothing_is_corrected),
        cmocka_unit_test(a_sas_is_not_corrected),
        cmocka_unit_test(no_time_is_taken_over_plain_http),
    };
    return cmocka_run_group_tests(tests, init_libcurl, NULL);
}
