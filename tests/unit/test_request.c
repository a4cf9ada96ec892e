#include "fs/request.h"
#include "tests/unit/fetching.h"

#include <stdatomic.h>

/* One more caller that wants to ask about the table. */
static int wait_for(struct file_system *fs, const char *table, struct request *ret)
{
    struct place place;
    *ret = (struct request){.fs = fs};
    assert_int_equal(place_root(table, DIRECTORY_AUTO, &place), 0);
    int r = request_may_wait(ret, &place);
    place_finish(&place);
    assert_int_equal(ret->caller.call.failure.error, r);
    return r;
}

static void the_callers_of_one_table_leave_room_to_others(void **state)
{
    (void)state;
    static struct file_system fs;
    static struct request requests[REQUEST_MAX_WAITING];
    struct request turned_away;
    for (size_t i = 0; i < REQUEST_MAX_WAITING_OF_TABLE; i++)
        assert_int_equal(wait_for(&fs, "t", &requests[i]), 0);
    assert_int_equal(wait_for(&fs, "t", &turned_away), -EBUSY);
    assert_string_equal(
        turned_away.caller.call.failure.message,
        "960 callers are waiting for the service's answers about this table already");
    request_end(&turned_away);
    for (size_t i = REQUEST_MAX_WAITING_OF_TABLE; i < REQUEST_MAX_WAITING; i++)
        assert_int_equal(wait_for(&fs, i % 2 == 0 ? "other" : NULL, &requests[i]), 0);
    assert_int_equal(wait_for(&fs, "other", &turned_away), -EBUSY);
    assert_string_equal(turned_away.caller.call.failure.message,
                        "1000 callers are waiting for the service already");
    request_end(&turned_away);
    request_end(&requests[0]);
    assert_int_equal(wait_for(&fs, "other", &requests[0]), 0);
    for (size_t i = 0; i < REQUEST_MAX_WAITING; i++)
        request_end(&requests[i]);
    assert_int_equal(atomic_load(&fs.waiting), 0);
    for (size_t i = 0; i < LANES; i++)
        assert_int_equal(atomic_load(&fs.waiting_of[i]), 0);
}

static void a_request_that_did_not_wait_is_not_counted(void **state)
{
    (void)state;
    static struct file_system fs;
    struct request request = {.fs = &fs};
    request_end(&request);
    assert_int_equal(atomic_load(&fs.waiting), 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_callers_of_one_table_leave_room_to_others),
        cmocka_unit_test(a_request_that_did_not_wait_is_not_counted),
        cmocka_unit_test(a_directory_is_locked_for_30_s_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
