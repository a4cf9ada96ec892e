/* SPDX-License-Identifier: MIT */
#include "fs/tree/numbers.h"
#include "tests/unit/unit.h"

static int compare(const void *a, const void *b)
{
    uint64_t first, second;
    memcpy(&first, a, sizeof(first));
    memcpy(&second, b, sizeof(second));
    return (first > second) - (first < second);
}

/* Backups keep these numbers for years. */
static void numbers_never_change(void **state)
{
    (void)state;
    /* n = int(sha256(b"table\0p\0r").hexdigest()[:16], 16) >> 2; 2**32 + n % (2**62 - 2**32) */
    assert_int_equal(numbers_hash((struct address){"table", B("p\0r")}), 3079906585435196111);
    assert_int_equal(numbers_hash((struct address){"table", B("\0")}), 2788073551156419217);
}

static void no_two_addresses_share_their_bytes(void **state)
{
    (void)state;
    const struct address addresses[] = {{"table", B("p\0r")}, {"tablep", B("\0r")},
                                        {"table", B("p\0")},  {"table", B("\0pr")},
                                        {"table", B("pr\0")}, {"tables", B("p\0r")}};
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
        for (size_t k = 0; k < i; k++)
            assert_true(numbers_hash(addresses[i]) != numbers_hash(addresses[k]));
}

static void many_keys_that_look_alike_have_numbers_of_their_own(void **state)
{
    (void)state;
    enum { KEYS = 200000 };
    static uint64_t all[KEYS];
    for (int i = 0; i < KEYS; i++) {
        char position[32] = "p";
        int size = snprintf(position + 2, sizeof(position) - 2, "row_%06d", i) + 2;
        all[i] = numbers_hash((struct address){"table", {position, (size_t)size}});
        assert_true(all[i] >= NUMBERS_MIN && all[i] < NUMBERS_END);
    }
    qsort(all, KEYS, sizeof(all[0]), compare);
    for (int i = 1; i < KEYS; i++)
        assert_true(all[i - 1] < all[i]);
}

static void renames_are_a_permutation(void **state)
{
    (void)state;
    enum { FILES = 50, RENAMES = 5000 };
    struct numbers numbers;
    uint64_t seed = 1;
    assert_int_equal(numbers_init(&numbers), 0);
    for (int i = 0; i < RENAMES; i++) {
        uint64_t shown[FILES], a, b;
        seed = seed * 6364136223846793005U + 1442695040888963407;
        a = seed >> 33, b = seed >> 13;
        numbers_swap(&numbers, NUMBERS_MIN + a % FILES, NUMBERS_MIN + b % FILES);
        assert_true(numbers.count <= FILES);
        for (size_t k = 0; k < FILES; k++)
            shown[k] = numbers_shown(&numbers, NUMBERS_MIN + k);
        qsort(shown, FILES, sizeof(shown[0]), compare);
        for (size_t k = 0; k < FILES; k++)
            assert_int_equal(shown[k], NUMBERS_MIN + k);
    }
    numbers_finish(&numbers);
}

static void a_rename_and_back_leaves_nothing(void **state)
{
    (void)state;
    struct numbers numbers;
    assert_int_equal(numbers_init(&numbers), 0);
    numbers_swap(&numbers, 100, 200);
    assert_int_equal(numbers_shown(&numbers, 200), 100);
    assert_int_equal(numbers_shown(&numbers, 100), 200);
    assert_int_equal(numbers_shown(&numbers, 150), 150);
    numbers_swap(&numbers, 200, 100);
    assert_int_equal(numbers.count, 0);
    numbers_swap(&numbers, 300, 300);
    assert_int_equal(numbers.count, 0);
    numbers_finish(&numbers);
}

static void a_full_memory_forgets_all_at_once(void **state)
{
    (void)state;
    struct numbers numbers;
    assert_int_equal(numbers_init(&numbers), 0);
    for (uint64_t i = 0; i < NUMBERS_MAX; i += 2)
        numbers_swap(&numbers, NUMBERS_MIN + i, NUMBERS_MIN + i + 1);
    assert_int_equal(numbers.count, NUMBERS_MAX);
    assert_int_equal(numbers_shown(&numbers, NUMBERS_MIN), NUMBERS_MIN + 1);
    numbers_swap(&numbers, NUMBERS_MIN, 7);
    assert_int_equal(numbers.count, 2);
    assert_int_equal(numbers_shown(&numbers, NUMBERS_MIN), 7);
    assert_int_equal(numbers_shown(&numbers, 7), NUMBERS_MIN);
    assert_int_equal(numbers_shown(&numbers, NUMBERS_MIN + 1), NUMBERS_MIN + 1);
    numbers_finish(&numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_never_change),
        cmocka_unit_test(no_two_addresses_share_their_bytes),
        cmocka_unit_test(many_keys_that_look_alike_have_numbers_of_their_own),
        cmocka_unit_test(renames_are_a_permutation),
        cmocka_unit_test(a_rename_and_back_leaves_nothing),
        cmocka_unit_test(a_full_memory_forgets_all_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
