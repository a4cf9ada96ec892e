/* SPDX-License-Identifier: MIT */
/* Without memory no name is said to be absent. */
#include "fs/tree/place.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/unit.h"

/* The child resolves; with any of its allocations failing it is -ENOMEM. */
static void assert_child_needs_memory(const struct place *parent, struct bytes name,
                                      struct place *ret)
{
    bool is_reached = true;
    long n = 0;
    while (is_reached) {
        allocations_until_failure = ++n;
        int r = place_child(parent, name, ret);
        is_reached = allocations_until_failure == 0;
        allocations_until_failure = 0;
        assert_int_equal(r, is_reached ? -ENOMEM : 0);
    }
    assert_true(n > 3);
}

static void without_memory_no_child_is_absent(void **state)
{
    (void)state;
    char long_name[255];
    memset(long_name, 'k', sizeof(long_name));
    struct bytes cut = B("#~17b16d8ef494060f");
    memcpy(long_name + sizeof(long_name) - cut.size, cut.data, cut.size);
    struct place table, partition, level, child;
    assert_int_equal(place_root("table", DIRECTORY_AUTO, &table), 0);
    assert_child_needs_memory(&table, (struct bytes){long_name, sizeof(long_name)}, &child);
    assert_true(child.is_cut);
    place_finish(&child);
    assert_child_needs_memory(&table, B("N+"), &level);
    assert_child_needs_memory(&level, B("Ne+"), &child);
    place_finish(&child);
    assert_child_needs_memory(&level, B("Newton"), &partition);
    assert_child_needs_memory(&partition, B("r#2F.json"), &child);
    place_finish(&child);
    assert_child_needs_memory(&partition, B("r+"), &child);
    place_finish(&child);
    place_finish(&partition);
    place_finish(&level);
    place_finish(&table);
}

static void without_memory_a_place_stays_unsettled(void **state)
{
    (void)state;
    const struct settlement settlement = {"table", B("u\xfe\x01"), B("key")};
    struct place table, partition;
    bool is_reached = true;
    assert_int_equal(place_root("table", DIRECTORY_AUTO, &table), 0);
    assert_int_equal(place_of_key(&table, settlement.from, &partition), 0);
    for (long n = 1; is_reached; n++) {
        allocations_until_failure = n;
        int r = place_settle(&partition, &settlement);
        is_reached = allocations_until_failure == 0;
        allocations_until_failure = 0;
        assert_int_equal(r, is_reached ? -ENOMEM : 0);
        assert_bytes(position_partition_key(place_address(&partition).position),
                     is_reached ? settlement.from : settlement.to);
    }
    place_finish(&partition);
    place_finish(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_no_child_is_absent),
        cmocka_unit_test(without_memory_a_place_stays_unsettled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
