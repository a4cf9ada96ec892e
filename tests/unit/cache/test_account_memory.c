/* SPDX-License-Identifier: MIT */
/* Without memory a question fails with a reason, shows nothing wrong, and can be asked again. */
#include "tests/unit/cache/account_fixture.h"
#include "tests/unit/failing_memory.h"

#define ROWS    12 /* of p; their keys become longer and longer */
#define LONGEST ((ROWS - 1) * 40 + 1)

static char longest[2 + LONGEST]; /* a row's position; the other rows' are its begins */

static int write_longest(void **state)
{
    (void)state;
    memset(longest, 'r', sizeof(longest));
    longest[0] = 'p';
    longest[1] = '\0';
    return 0;
}

static struct bytes row_key(size_t row)
{
    return (struct bytes){longest + 2, row * 40 + 1};
}

static void set_up_rows(struct setup *setup)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    set_up(setup, (struct setup_options){.faults = "short=3"});
    setup->process = 7;
    memory_store_add_table(setup->memory, "t");
    memory_store_add_strings(setup->memory, "a", "r");
    for (size_t row = 0; row < ROWS; row++)
        memory_store_add(setup->memory, B("p"), row_key(row), "etag");
    memory_store_add_strings(setup->memory, "z", "r");
    /* the store makes its page of them now: it does not expect that to fail */
    assert_int_equal(
        table_store_get(&setup->memory->store, "t", P_ROW("r"), &caller_of(setup)->call, &page), 0);
    memory_store_forget_diary(setup->memory);
}

/* From now on the n-th allocation fails, and some that follow. */
struct shortage {
    long n, others;
};

static void begin_shortage(const struct shortage *shortage)
{
    allocations_until_failure = shortage->n;
    failures_in_a_row = shortage->others;
}

/* True if it was reached. */
static bool end_shortage(void)
{
    bool is_reached = allocations_until_failure == 0;
    allocations_until_failure = failures_in_a_row = 0;
    return is_reached;
}

static bool is_shortage(const struct setup *setup, int r)
{
    const struct failure *failure = &setup->caller.call.failure;
    if (r != -ENOMEM)
        return false;
    assert_int_equal(failure->error, -ENOMEM);
    assert_true(failure->message[0] != '\0');
    return true;
}

/* Runs the test with each allocation failing that it makes, alone and with one or two that follow;
 * under a sanitizer, which takes long, without the case between. */
static void run_short_of_memory(bool (*test)(const struct shortage *shortage))
{
    const long step = TRIAL_SHARE == 1 ? 1 : 2;
    for (long others = 0; others < 3; others += step) {
        struct shortage shortage = {.n = 1, .others = others};
        while (test(&shortage))
            shortage.n++;
        assert_true(shortage.n > 10);
    }
}

struct step {
    uint64_t cookie;
    bool names_suffice;
};

/* The step's answer, however often it has to be asked for. */
static int take_step(struct setup *setup, struct listing *listing, const struct step *step,
                     struct listing_entry *ret)
{
    int r, failures = 0;
    while (is_shortage(setup, r = listing_next(listing, caller_of(setup), step->cookie,
                                               step->names_suffice, true, ret)))
        assert_true(++failures < 10);
    return r;
}

static void assert_steps(struct setup *setup, struct listing *listing, const struct step *steps,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct listing_entry entry;
        uint64_t cookie = steps[i].cookie;
        int r = take_step(setup, listing, &steps[i], &entry);
        assert_int_equal(r, cookie < ROWS);
        if (r == 0)
            continue;
        assert_int_equal(entry.cookie, cookie + 1);
        assert_bytes(entry.key, row_key(cookie));
        assert_true(steps[i].names_suffice || entry.entity.page);
    }
}

/* There and back, with and without texts. */
static const struct step steps[] = {
    {0, true},   {1, true},  {2, true},  {3, true},   {4, true},  {4, false}, {5, false},
    {6, true},   {7, true},  {8, false}, {9, true},   {10, true}, {11, true}, {12, true},
    {12, false}, {7, true},  {8, false}, {9, false},  {2, false}, {3, false}, {11, false},
    {12, false}, {1, true},  {0, false}, {1, false},  {2, true},  {3, true},  {4, true},
    {5, true},   {6, false}, {7, false}, {11, false}, {12, true}, {3, false}, {4, false}};

static bool lists_rows(const struct shortage *shortage)
{
    struct setup setup;
    set_up_rows(&setup);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    begin_shortage(shortage);
    assert_steps(&setup, listing, steps, ARRAY_SIZE(steps));
    bool is_reached = end_shortage();
    assert_steps(&setup, listing, steps, ARRAY_SIZE(steps));
    listing_close(listing);
    tear_down(&setup);
    return is_reached;
}

static void listing_rows_goes_on_after_a_shortage(void **state)
{
    (void)state;
    run_short_of_memory(lists_rows);
}

/* The rows' names are known, their texts are not. */
static bool lists_rows_that_are_known_by_name(const struct shortage *shortage)
{
    struct setup setup;
    set_up_rows(&setup);
    assert_int_equal(list(&setup, PARTITIONS_OF("t"), true), 3);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    begin_shortage(shortage);
    assert_steps(&setup, listing, steps, ARRAY_SIZE(steps));
    bool is_reached = end_shortage();
    listing_close(listing);
    tear_down(&setup);
    return is_reached;
}

static void listing_names_goes_on_after_a_shortage(void **state)
{
    (void)state;
    run_short_of_memory(lists_rows_that_are_known_by_name);
}

static void assert_names(struct setup *setup, struct listing *listing, const char *const *names,
                         size_t n)
{
    struct listing_entry entry = {0};
    for (size_t i = 0; i <= n; i++) {
        const struct step step = {i, true};
        assert_int_equal(take_step(setup, listing, &step, &entry), i < n);
        if (i < n)
            assert_bytes(entry.key, bytes_of(names[i]));
    }
}

static bool lists_partitions_and_tables(const struct shortage *shortage)
{
    static const char *const partitions[] = {"a", "p", "z"};
    static const char *const tables[] = {"t", "uWithALongName"};
    struct setup setup;
    set_up_rows(&setup);
    memory_store_add_table(setup.memory, tables[1]);
    struct listing *all = open_listing(&setup, PARTITIONS_OF("t"));
    struct listing *account = open_listing(&setup, TABLES);
    begin_shortage(shortage);
    assert_names(&setup, all, partitions, ARRAY_SIZE(partitions));
    assert_names(&setup, account, tables, ARRAY_SIZE(tables));
    bool is_reached = end_shortage();
    assert_names(&setup, all, partitions, ARRAY_SIZE(partitions));
    assert_names(&setup, account, tables, ARRAY_SIZE(tables));
    listing_close(all);
    listing_close(account);
    tear_down(&setup);
    return is_reached;
}

static void listing_partitions_and_tables_goes_on_after_a_shortage(void **state)
{
    (void)state;
    run_short_of_memory(lists_partitions_and_tables);
}

static bool opens_listings(const struct shortage *shortage)
{
    struct setup setup;
    struct listing *listing;
    set_up_rows(&setup);
    begin_shortage(shortage);
    for (int i = 0; i < 4; i++) {
        int r = account_list(setup.account, ROWS_OF("p"), &listing);
        assert_true(r == 0 || r == -ENOMEM);
        if (r == 0)
            listing_close(listing);
    }
    bool is_reached = end_shortage();
    assert_int_equal(list(&setup, ROWS_OF("p"), false), ROWS);
    tear_down(&setup);
    return is_reached;
}

static void opening_a_listing_fails_without_memory(void **state)
{
    (void)state;
    run_short_of_memory(opens_listings);
}

static void find_row(struct setup *setup, struct bytes position, int expected)
{
    struct address address = {.table = "t", .position = position};
    _cleanup_(entity_finish) struct entity entity = {0};
    int r, failures = 0;
    while (is_shortage(setup, r = account_find(setup->account, caller_of(setup), address, &entity)))
        assert_true(++failures < 10);
    assert_int_equal(r, expected);
    if (r == 0)
        assert_bytes(page_position(entity.page, entity.row), position);
}

static void find_directory(struct setup *setup, const struct directory *directory, int expected)
{
    int r, failures = 0;
    while (
        is_shortage(setup, r = account_find_directory(setup->account, caller_of(setup), directory)))
        assert_true(++failures < 10);
    assert_int_equal(r, expected);
}

static void find_all(struct setup *setup)
{
    find_directory(setup, PARTITIONS_OF("t"), 0);
    find_directory(setup, PARTITIONS_OF("u"), -ENOENT);
    find_directory(setup, ROWS_OF("q"), -ENOENT);
    for (size_t size = 1; size <= LONGEST; size += 20) /* in order: it reads ahead */
        find_row(setup, (struct bytes){longest, 2 + size}, size % 40 == 1 ? 0 : -ENOENT);
    find_directory(setup, ROWS_OF("p"), 0);
}

static bool finds(const struct shortage *shortage)
{
    struct setup setup;
    set_up_rows(&setup);
    begin_shortage(shortage);
    find_all(&setup);
    bool is_reached = end_shortage();
    setup.now_ms += TTL_MS + 1;
    find_all(&setup);
    tear_down(&setup);
    return is_reached;
}

static void finding_goes_on_after_a_shortage(void **state)
{
    (void)state;
    run_short_of_memory(finds);
}

static bool creates_an_account(const struct shortage *shortage)
{
    int64_t now_ms = START_MS;
    struct clock clock = fake_clock(&now_ms);
    struct account_options options = {
        .ttl_ms = TTL_MS, .cache_bytes = 1 << 20, .parallelism = 1, .fanout = 512};
    struct memory_store *memory = memory_store_create();
    struct account *account = NULL;
    begin_shortage(shortage);
    int r = account_create(&memory->store, &clock, &options, NULL, NULL, &account);
    bool is_reached = end_shortage();
    assert_int_equal(r, is_reached ? -ENOMEM : 0);
    assert_int_equal(!account, is_reached);
    account_destroy(account); /* the store was taken, and is gone with it or before */
    return is_reached;
}

static void without_memory_there_is_no_account(void **state)
{
    (void)state;
    struct shortage shortage = {.n = 1};
    while (creates_an_account(&shortage))
        shortage.n++;
    assert_true(shortage.n > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listing_rows_goes_on_after_a_shortage),
        cmocka_unit_test(listing_names_goes_on_after_a_shortage),
        cmocka_unit_test(listing_partitions_and_tables_goes_on_after_a_shortage),
        cmocka_unit_test(opening_a_listing_fails_without_memory),
        cmocka_unit_test(finding_goes_on_after_a_shortage),
        cmocka_unit_test(without_memory_there_is_no_account),
    };
    return cmocka_run_group_tests(tests, write_longest, NULL);
}
