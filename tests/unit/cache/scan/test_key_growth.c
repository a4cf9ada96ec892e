/* SPDX-License-Identifier: MIT */
/* Keys that grow, and keys that look like it. */
#include "cache/scan/key_growth.h"
#include "tests/unit/unit.h"

enum { MANY = 2 * KEY_GROWTH_MIN_NUMBERS };

typedef void make_key(unsigned i, char *ret, size_t size);

static struct key_growth_finding finding_of(struct key_growth *growth, unsigned count,
                                            make_key *make)
{
    char key[128];
    key_growth_init(growth);
    for (unsigned i = 0; i < count; i++) {
        make(i, key, sizeof(key));
        assert_int_equal(key_growth_add(growth, bytes_of(key)), 0);
    }
    return key_growth_find(growth);
}

static enum key_growth_kind kind_of(unsigned count, make_key *make)
{
    struct key_growth growth;
    enum key_growth_kind kind = finding_of(&growth, count, make).kind;
    key_growth_finish(&growth);
    return kind;
}

static unsigned mix(unsigned i)
{
    return i * 2654435761U ^ (i * 2654435761U) >> 15;
}

#define MAKE(name, ...)                                                                            \
    static void name(unsigned i, char *ret, size_t size)                                           \
    {                                                                                              \
        (void)snprintf(ret, size, __VA_ARGS__);                                                    \
    }

MAKE(months, "%04u-%02u", 1900 + i / 12, i % 12 + 1)
MAKE(days, "log-%04u-%02u-%02u", 2000 + i / 336, i / 28 % 12 + 1, i % 28 + 1)
MAKE(underlines, "%04u_%02u_%02uT00", 2000 + i / 336, i / 28 % 12 + 1, i % 28 + 1)
MAKE(plain_days, "%04u%02u%02u", 2000 + i / 336, i / 28 % 12 + 1, i % 28 + 1)
MAKE(minutes, "%04u%02u%02u%02u%02u", 2000 + i / 336, i / 28 % 12 + 1, i % 28 + 1, i % 24, i % 60)
MAKE(seconds, "%u", 1700000000 + i * 977)
MAKE(milliseconds, "t%u%03u", 1700000000 + i, i % 1000)
MAKE(ticks, "0%llu", 638000000000000000ULL + i * 10000000ULL)
MAKE(ticks_down, "%019llu", 3155378975999999999ULL - 638000000000000000ULL - (MANY - i))
MAKE(log_tail, "%llu", 2519999999999999999ULL - (MANY - i))
MAKE(counter, "customer_%06u", i)
MAKE(counter_with_end, "factory-07-%u.dat", i)
MAKE(few_missing, "%08u", i + i / 2)
MAKE(through_dates, "c%06u", 189000 + i)
MAKE(nine_of_ten, i % 10 == 3 ? "other%04x" : "customer_%06u", i)

MAKE(two_of_three, i % 3 == 1 ? "other%04xz" : "customer_%06u", i)
MAKE(sparse, "user%06u", mix(i) % 1000000)
MAKE(guids, "%08x-%04x", mix(i), mix(i + 7) & 0xFFFF)
MAKE(devices_and_days, "device%05u-%04u-%02u-%02u", mix(i) % 99999, 2020 + i % 5, i % 12 + 1,
     i % 28 + 1)
MAKE(names_and_days, "%c%c%c-2024-05-%02u", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676 % 26,
     i % 28 + 1)
MAKE(no_months, "%04u-%02u", 2000 + i % 90, i % 80 + 13)
MAKE(words, "%c%c%c", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676 % 26)

static void test_keys_that_grow(void **state)
{
    (void)state;
    make_key *const times[] = {months,  days,    underlines,   plain_days,
                               minutes, seconds, milliseconds, ticks};
    for (size_t i = 0; i < ARRAY_SIZE(times); i++)
        assert_int_equal(kind_of(MANY, times[i]), KEY_GROWTH_TIMES);
    assert_int_equal(kind_of(MANY, ticks_down), KEY_GROWTH_REVERSED_TIMES);
    assert_int_equal(kind_of(MANY, log_tail), KEY_GROWTH_REVERSED_TIMES);
    make_key *const counters[] = {counter, counter_with_end, few_missing, nine_of_ten};
    for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
        assert_int_equal(kind_of(MANY, counters[i]), KEY_GROWTH_COUNTER);
}

static void test_keys_that_do_not(void **state)
{
    (void)state;
    make_key *const others[] = {two_of_three,   sparse,    guids, devices_and_days,
                                names_and_days, no_months, words};
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_int_equal(kind_of(MANY, others[i]), KEY_GROWTH_NONE);
    assert_int_equal(kind_of(0, words), KEY_GROWTH_NONE);
}

static void test_few_keys_tell_nothing(void **state)
{
    (void)state;
    assert_int_equal(kind_of(KEY_GROWTH_MIN_TIMES - 1, months), KEY_GROWTH_NONE);
    assert_int_equal(kind_of(KEY_GROWTH_MIN_TIMES, months), KEY_GROWTH_TIMES);
    assert_int_equal(kind_of(KEY_GROWTH_MIN_NUMBERS - 1, counter), KEY_GROWTH_NONE);
    assert_int_equal(kind_of(KEY_GROWTH_MIN_NUMBERS, counter), KEY_GROWTH_COUNTER);
}

static void test_what_is_found(void **state)
{
    (void)state;
    struct key_growth growth;
    struct key_growth_finding finding = finding_of(&growth, MANY, days);
    assert_int_equal(finding.members, MANY);
    assert_bytes(finding.first, B("log-2000-01-01"));
    assert_bytes(finding.last, B("log-2005-12-12"));
    key_growth_finish(&growth);
    finding = finding_of(&growth, MANY, log_tail);
    assert_bytes(finding.first, B("2519999999999997999"));
    assert_bytes(finding.last, B("2519999999999999998"));
    key_growth_finish(&growth);
    finding = finding_of(&growth, MANY, through_dates);
    assert_int_equal(finding.kind, KEY_GROWTH_COUNTER);
    assert_int_equal(finding.members, MANY);
    key_growth_finish(&growth);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* 0, 1, 10, 100, 1000, 1001, ...: in key order, the numbers are in none. */
static void test_a_counter_without_padding(void **state)
{
    (void)state;
    static char keys[MANY][8];
    struct key_growth growth;
    for (unsigned i = 0; i < MANY; i++)
        (void)snprintf(keys[i], sizeof(keys[i]), "n%u", i + 5);
    qsort(keys, MANY, sizeof(keys[0]), compare_keys);
    key_growth_init(&growth);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(key_growth_add(&growth, bytes_of(keys[i])), 0);
    struct key_growth_finding finding = key_growth_find(&growth);
    assert_int_equal(finding.kind, KEY_GROWTH_COUNTER);
    assert_int_equal(finding.members, MANY);
    assert_bytes(finding.first, B("n5"));
    assert_bytes(finding.last, B("n2004"));
    key_growth_finish(&growth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_that_grow),
        cmocka_unit_test(test_keys_that_do_not),
        cmocka_unit_test(test_few_keys_tell_nothing),
        cmocka_unit_test(test_what_is_found),
        cmocka_unit_test(test_a_counter_without_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
