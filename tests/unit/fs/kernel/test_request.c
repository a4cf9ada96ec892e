/* SPDX-License-Identifier: MIT */
#include "fs/kernel/request.h"
#include "fs/text/control_dir.h"
#include "tests/unit/cache/account_fixture.h"
#include "tests/unit/fs/tree/place_fixture.h"

#include <stdatomic.h>

static const struct fuse_ctx users[] = {{.uid = 0}, {.uid = 1000}, {.uid = 1001}};

/* One more caller that wants to ask about the table. */
static int wait_for(struct file_system *fs, unsigned user, const char *table, struct request *ret)
{
    struct place place;
    *ret = (struct request){.fs = fs, .context = &users[user]};
    assert_int_equal(place_root(table, DIRECTORY_AUTO, &place), 0);
    int r = request_may_wait(ret, &place);
    place_finish(&place);
    assert_int_equal(ret->caller.call.failure.error, r);
    return r;
}

/* `count` callers may wait, and one more may not. The next free request is returned. */
static struct request *fill(struct file_system *fs, unsigned user, const char *table, int count,
                            const char *reason, struct request *requests)
{
    struct request turned_away;
    for (int i = 0; i < count; i++)
        assert_int_equal(wait_for(fs, user, table, requests++), 0);
    for (int i = 0; i < 2 * REQUEST_MAX_WAITING; i++) { /* however many are turned away */
        assert_int_equal(wait_for(fs, user, table, &turned_away), -EBUSY);
        request_end(&turned_away);
    }
    assert_string_equal(turned_away.caller.call.failure.message, reason);
    return requests;
}

static void the_callers_of_one_table_or_user_leave_room_to_others(void **state)
{
    (void)state;
    static struct file_system fs;
    static struct request requests[REQUEST_MAX_WAITING];
    struct request *next = requests;
    next = fill(&fs, 0, "t", 860,
                "860 callers of this user are waiting for the service's answers about this table "
                "already",
                next);
    next = fill(&fs, 0, NULL, 40, "900 callers of this user are waiting for the service already",
                next);
    next = fill(&fs, 1, "t", 100,
                "960 callers are waiting for the service's answers about this table already", next);
    assert_ptr_equal(next, requests + REQUEST_MAX_WAITING);
    (void)fill(&fs, 1, "other", 0, "1000 callers are waiting for the service already", next);
    request_end(&requests[0]);
    (void)fill(&fs, 2, "other", 1, "1000 callers are waiting for the service already", requests);
    for (size_t i = 0; i < REQUEST_MAX_WAITING; i++)
        request_end(&requests[i]);
    assert_int_equal(atomic_load(&fs.waiting.all), 0);
    for (size_t i = 0; i < LANES; i++)
        assert_true(!fs.waiting.of_table[i] && !fs.waiting.of_user[i] && !fs.waiting.of_both[i]);
}

static void a_request_that_did_not_wait_is_not_counted(void **state)
{
    (void)state;
    static struct file_system fs;
    struct request request = {.fs = &fs};
    request_end(&request);
    assert_int_equal(atomic_load(&fs.waiting.all), 0);
}

/* Each answered page puts the deadline off, but not the end. */
static void a_directory_is_locked_for_30_s_at_most(void **state)
{
    (void)state;
    static const int64_t patiences_ms[] = {5000, 25000, 60000};
    for (size_t i = 0; i < ARRAY_SIZE(patiences_ms); i++) {
        _Atomic int64_t now_ms = 1000;
        const struct clock clock = turned_clock(&now_ms);
        struct file_system fs = {.clock = &clock};
        struct request request = {.fs = &fs, .caller = {.patience_ms = patiences_ms[i]}};
        const struct caller *caller = &request.caller;
        request_lock_directory(&request);
        assert_int_equal(caller->call.deadline_ms, 1000 + MIN(patiences_ms[i], 30000));
        for (int page = 1; page <= 10; page++) {
            now_ms += 2900;
            caller_made_progress(&request.caller, &clock);
            assert_int_equal(caller->call.deadline_ms,
                             MIN(now_ms + MIN(patiences_ms[i], 30000), 31000));
        }
    }
}

enum source { OF_A_PATH, OF_A_HANDLE, OF_THE_SERVICE, WITH_ADVICE };

/* Is there a line? With the message, or the system's words. */
static bool is_reported(struct setup *setup, int error, enum source source)
{
    struct failure_log *log = account_failures(setup->account);
    struct failure_record record;
    _cleanup_(buffer_finish) struct buffer text;
    struct file_system fs = {.account = setup->account, .clock = &setup->clock};
    struct request request = {
        .fs = &fs, .operation = "open", .is_of_handle = source == OF_A_HANDLE};
    buffer_init(&text, 1000);
    if (source == OF_THE_SERVICE)
        request.caller.call.failure.http_status = 400;
    if (source == WITH_ADVICE)
        request.caller.call.failure.advice = "try again";
    uint64_t before = failure_log_count(log);
    request_note(&request, error, NULL);
    if (failure_log_count(log) == before)
        return false;
    assert_int_not_equal(failure_log_next(log, before, &record, &text), 0);
    assert_int_equal(record.failure.error, error);
    assert_string_equal(record.failure.message,
                        error == -ENOMEM ? "out of memory" : strerrordesc_np(-error));
    return true;
}

/* Of each errno that the program answers. */
static void what_a_good_disk_answers_is_not_told(void **state)
{
    (void)state;
    static const int rules[] = {EPERM,   EIO,          EBADF,        ENOMEM,    EACCES,      EBUSY,
                                ENOTDIR, EINVAL,       EFBIG,        ENOSPC,    EROFS,       EPROTO,
                                ESTALE,  ENAMETOOLONG, ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH};
    static const struct {
        int error;
        bool is_reported[4]; /* by source */
    } ordinary[] = {
        {EINTR, {false, false, false, false}},  {ENOENT, {false, true, false, true}},
        {EEXIST, {false, true, true, false}},   {EXDEV, {false, true, true, false}},
        {ENOTEMPTY, {false, true, true, true}},
    };
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    for (enum source source = OF_A_PATH; source <= WITH_ADVICE; source++) {
        for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
            assert_true(is_reported(&setup, -rules[i], source));
        for (size_t i = 0; i < ARRAY_SIZE(ordinary); i++)
            assert_int_equal(is_reported(&setup, -ordinary[i].error, source),
                             ordinary[i].is_reported[source]);
    }
    tear_down(&setup);
}

static void assert_reported_at(struct setup *setup, const struct place *place, const char *expected)
{
    struct failure_log *log = account_failures(setup->account);
    struct failure_record record;
    _cleanup_(buffer_finish) struct buffer text = {.max = 1000}, line = {.max = 1000};
    struct file_system fs = {.account = setup->account, .clock = &setup->clock};
    struct request request = {.fs = &fs, .operation = "open"};
    uint64_t before = failure_log_count(log);
    request_note(&request, -EIO, place);
    assert_int_not_equal(failure_log_next(log, before, &record, &text), 0);
    assert_int_equal(control_append_failure(&line, &record), 0);
    if (!strstr(buffer_string(&line), expected))
        fail_msg("%s: not %s", line.data, expected);
}

static void a_failure_is_reported_with_its_path(void **state)
{
    static const char *const paths[][2] = {
        {"table/p/r.json", " /table/p/r.json: "},
        {"table/p", " /table/p: "},
        {"table/N+", " /table/N+: "},
        {"table/p/2024+", " /table/p/2024+: "},
        {"table", " /table: "},
        {"table/p/.filter", " /table/p: "},
        {".tablefuse", " /.tablefuse: "},
        {".tablefuse/stats", " /.tablefuse/stats: "},
        {".tablefuse/drop/table!", " /.tablefuse/drop/table!: "},
    };
    struct place place, scratch;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        follow_to(DIRECTORY_AUTO, paths[i][0], &place);
        assert_reported_at(*state, &place, paths[i][1]);
        place_finish(&place);
    }
    follow_to(DIRECTORY_AUTO, "table/p", &place);
    assert_int_equal(place_of_scratch(&place, &scratch), 0);
    assert_reported_at(*state, &scratch, " /table/p: "); /* the path of its partition */
    place_finish(&scratch);
    place_finish(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_callers_of_one_table_or_user_leave_room_to_others),
        cmocka_unit_test(a_request_that_did_not_wait_is_not_counted),
        cmocka_unit_test(a_directory_is_locked_for_30_s_at_most),
        cmocka_unit_test(what_a_good_disk_answers_is_not_told),
        TEST_WITH(account, a_failure_is_reported_with_its_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
