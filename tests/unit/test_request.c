#include "fs/request.h"
#include "tests/unit/unit.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_callers_of_one_table_leave_room_to_others),
        cmocka_unit_test(a_request_that_did_not_wait_is_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
