#include "cache/account.h"
#include "tests/stores/faulty_store.h"
#include "tests/stores/memory_store.h"
#include "tests/unit/unit.h"

#define TTL_MS 1000

struct setup {
    int64_t now_ms;
    struct clock clock;
    struct memory_store *memory;
    struct account *account;
};

static void set_up_cached(struct setup *setup, const char *faults, size_t cache_bytes)
{
    struct table_store *faulty;
    struct account_options options = {.ttl_ms = TTL_MS, .cache_bytes = cache_bytes};
    *setup = (struct setup){.memory = memory_store_create()};
    setup->clock = fake_clock(&setup->now_ms);
    assert_int_equal(faulty_store_create(&setup->memory->store, &setup->clock, faults, &faulty), 0);
    assert_int_equal(account_create(faulty, &setup->clock, &options, NULL, NULL, &setup->account),
                     0);
}

static void set_up_with(struct setup *setup, const char *faults)
{
    set_up_cached(setup, faults, (size_t)1 << 20);
}

static void add_rows(struct setup *setup, const char *partition, int n)
{
    for (int i = 0; i < n; i++) {
        char row[8];
        (void)snprintf(row, sizeof(row), "%05d", i);
        memory_store_add_strings(setup->memory, partition, row);
    }
}

static struct caller new_caller(struct setup *setup)
{
    return (struct caller){.call = {.deadline_ms = setup->now_ms + 60000}, .patience_ms = 60000};
}

static struct listing *open_rows(struct setup *setup)
{
    struct directory directory = {
        .kind = DIRECTORY_ENTITIES, .table = "t", .range = {B("p\0"), B("p\x01")}};
    struct listing *listing;
    assert_int_equal(account_list(setup->account, &directory, &listing), 0);
    return listing;
}

static void assert_row(struct setup *setup, struct listing *listing, uint64_t cookie)
{
    struct caller caller = new_caller(setup);
    struct listing_entry entry;
    char expected[8];
    (void)snprintf(expected, sizeof(expected), "%05d", (int)cookie);
    assert_int_equal(listing_next(listing, &caller, cookie, false, &entry), 1);
    assert_int_equal(entry.kind, LISTING_ENTITY);
    assert_bytes(entry.key, bytes_of(expected));
    assert_int_equal(entry.cookie, cookie + 1);
    assert_bytes(position_row_key(page_position(entry.entity.page, entry.entity.row)),
                 bytes_of(expected));
}

static void assert_end(struct setup *setup, struct listing *listing, uint64_t cookie)
{
    struct caller caller = new_caller(setup);
    struct listing_entry entry;
    assert_int_equal(listing_next(listing, &caller, cookie, false, &entry), 0);
}

static void rows_come_a_page_a_request_and_opening_is_free(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, "");
    add_rows(&setup, "p", 2500);
    memory_store_add_strings(setup.memory, "p!", "not ours");
    struct listing *listing = open_rows(&setup);
    assert_int_equal(setup.memory->asked, 0);
    uint64_t number = 0;
    for (uint64_t cookie = 0; cookie < 2500; cookie++) {
        struct caller caller = new_caller(&setup);
        struct listing_entry entry;
        assert_row(&setup, listing, cookie);
        if (cookie > 0) { /* asking again costs nothing */
            assert_int_equal(listing_next(listing, &caller, cookie, false, &entry), 1);
            assert_true(entry.number > number);
            number = entry.number;
        }
        assert_int_equal(setup.memory->asked, cookie / 1000 + 1);
    }
    assert_end(&setup, listing, 2500);
    assert_int_equal(setup.memory->asked, 3);
    assert_bytes(buffer_bytes(&setup.memory->diary[1].lo), B("p\0"
                                                             "00999\x01"));
    assert_false(setup.memory->diary[1].is_continued); /* no token is kept over a pause */
    listing_close(listing);
    account_destroy(setup.account);
}

static void seeking_back_reads_from_a_bookmark(void **state)
{
    (void)state;
    struct setup setup;
    set_up_cached(&setup, "", 0); /* of the cache only what was put last */
    add_rows(&setup, "p", 5000);
    struct listing *listing = open_rows(&setup);
    for (uint64_t cookie = 0; cookie < 5000; cookie += 250)
        assert_row(&setup, listing, cookie);
    memory_store_forget_diary(setup.memory);
    assert_row(&setup, listing, 2345);
    assert_int_equal(setup.memory->asked, 1);
    assert_bytes(buffer_bytes(&setup.memory->diary[0].lo), B("p\0"
                                                             "01999\x01"));
    assert_row(&setup, listing, 2344);
    assert_int_equal(setup.memory->asked, 1);
    for (uint64_t cookie = 2345; cookie < 5000; cookie++)
        assert_row(&setup, listing, cookie);
    assert_end(&setup, listing, 5000);
    assert_row(&setup, listing, 1);
    listing_close(listing);
    account_destroy(setup.account);
}

static void rewinding_asks_anew_after_a_ttl(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, "");
    add_rows(&setup, "p", 3);
    struct listing *listing = open_rows(&setup);
    assert_row(&setup, listing, 0);
    assert_row(&setup, listing, 1);
    assert_int_equal(setup.memory->asked, 1);
    setup.now_ms += TTL_MS;
    assert_row(&setup, listing, 0);
    assert_int_equal(setup.memory->asked, 1);
    setup.now_ms += 1;
    assert_row(&setup, listing, 1); /* goes on with what it has */
    assert_int_equal(setup.memory->asked, 1);
    assert_row(&setup, listing, 0);
    assert_int_equal(setup.memory->asked, 2);
    setup.now_ms += 30001; /* nothing is shown that is older than 30 s */
    assert_row(&setup, listing, 1);
    assert_int_equal(setup.memory->asked, 3);
    assert_row(&setup, listing, 2);
    assert_end(&setup, listing, 3);
    assert_int_equal(setup.memory->asked, 3);
    listing_close(listing);
    account_destroy(setup.account);
}

static void short_and_empty_pages_change_nothing(void **state)
{
    (void)state;
    static const char *const faults[] = {"short=1", "short=7", "empty=1", "empty=9",
                                         "short=3,empty=2"};
    for (size_t f = 0; f < ARRAY_SIZE(faults); f++) {
        struct setup setup;
        set_up_with(&setup, faults[f]);
        add_rows(&setup, "p", 20);
        struct listing *listing = open_rows(&setup);
        for (uint64_t cookie = 0; cookie < 20; cookie++)
            assert_row(&setup, listing, cookie);
        assert_end(&setup, listing, 20);
        listing_close(listing);
        account_destroy(setup.account);
    }
}

static void a_failure_is_no_end_and_can_be_repeated(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup,
                "short=10,fail=query:2:403:AuthorizationFailure,fail=query:4:404:TableNotFound");
    add_rows(&setup, "p", 30);
    struct listing *listing = open_rows(&setup);
    struct listing_entry entry;
    for (uint64_t cookie = 0; cookie < 10; cookie++)
        assert_row(&setup, listing, cookie);
    struct caller caller = new_caller(&setup);
    assert_int_equal(listing_next(listing, &caller, 10, false, &entry), -EACCES);
    assert_string_equal(caller.call.failure.code, "AuthorizationFailure");
    assert_row(&setup, listing, 10);
    /* a table that is dropped meanwhile: never ENOENT, which readers take for the end */
    caller = new_caller(&setup);
    assert_int_equal(listing_next(listing, &caller, 20, false, &entry), -ESTALE);
    assert_int_equal(caller.call.failure.error, -ESTALE);
    assert_row(&setup, listing, 20);
    listing_close(listing);
    account_destroy(setup.account);
}

#define LARGE_ROW_BYTES ((size_t)1 << 20)

static int refuse_large_pages(struct memory_store *self, size_t number, struct call *call)
{
    return self->diary[number - 1].top > 31 ? call_fail(call, -EFBIG, "too large") : 0;
}

static void pages_that_are_too_large_are_asked_for_in_pieces(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, "");
    _cleanup_(freep) char *large = calloc(1, LARGE_ROW_BYTES + 1);
    memset(large, 'e', LARGE_ROW_BYTES);
    for (int i = 0; i < 40; i++) {
        char row[8];
        (void)snprintf(row, sizeof(row), "%05d", i);
        memory_store_add(setup.memory, B("p"), bytes_of(row), large);
    }
    setup.memory->fault = refuse_large_pages;
    struct listing *listing = open_rows(&setup);
    for (uint64_t cookie = 0; cookie < 40; cookie++)
        assert_row(&setup, listing, cookie);
    assert_end(&setup, listing, 40);
    assert_int_equal(setup.memory->asked,
                     4); /* 1000, 125, 15 rows, then as many as fit in 32 MiB */
    listing_close(listing);
    account_destroy(setup.account);
}

static void each_page_is_progress(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, "latency=20000,empty=9");
    add_rows(&setup, "p", 3);
    struct listing *listing = open_rows(&setup);
    struct caller caller = new_caller(&setup);
    struct listing_entry entry;
    assert_int_equal(listing_next(listing, &caller, 0, false, &entry), 1); /* after 200 s */
    assert_int_equal(setup.now_ms, 200000);
    assert_int_equal(caller.valid_ms, TTL_MS / 2);
    listing_close(listing);
    account_destroy(setup.account);
}

static void what_a_slow_service_answers_holds_for_half_a_ttl(void **state)
{
    (void)state;
    static const struct {
        const char *faults;
        int64_t expected;
    } cases[] = {{"latency=400", 600}, {"latency=600", 500}, {"latency=5000", 500}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        set_up_with(&setup, cases[i].faults);
        add_rows(&setup, "p", 3);
        struct listing *listing = open_rows(&setup);
        struct caller caller = new_caller(&setup);
        struct listing_entry entry;
        struct entity entity;
        assert_int_equal(listing_next(listing, &caller, 0, false, &entry), 1);
        assert_int_equal(caller.valid_ms, cases[i].expected);
        setup.now_ms += 300;
        assert_int_equal(listing_next(listing, &caller, 1, false, &entry), 1);
        assert_int_equal(caller.valid_ms, cases[i].expected - 300);
        struct address address = {.table = "t",
                                  .position = B("p\0"
                                                "00001")};
        assert_int_equal(account_find(setup.account, &caller, address, &entity), 0);
        assert_int_equal(caller.valid_ms, cases[i].expected - 300); /* known from the listing */
        entity_finish(&entity);
        address.table = "u";
        assert_int_equal(account_find(setup.account, &caller, address, &entity), 0);
        assert_int_equal(caller.valid_ms, cases[i].expected);
        entity_finish(&entity);
        listing_close(listing);
        account_destroy(setup.account);
    }
}

static void entries_hold_as_long_as_their_page_is_young(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, "latency=300");
    add_rows(&setup, "p", 3);
    struct listing *listing = open_rows(&setup);
    struct caller caller = new_caller(&setup);
    struct listing_entry entry;
    assert_int_equal(listing_next(listing, &caller, 0, false, &entry), 1);
    assert_int_equal(caller.valid_ms, 700);
    setup.now_ms += 500;
    assert_int_equal(listing_next(listing, &caller, 1, false, &entry), 1);
    assert_int_equal(caller.valid_ms, 200);
    setup.now_ms += 500;
    assert_int_equal(listing_next(listing, &caller, 2, false, &entry), 1);
    assert_int_equal(caller.valid_ms, 0);
    listing_close(listing);
    account_destroy(setup.account);
}

static void assert_names(struct setup *setup, struct listing *listing, const char *const *names,
                         size_t n)
{
    struct caller caller = new_caller(setup);
    struct listing_entry entry = {0};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(listing_next(listing, &caller, i, false, &entry), 1);
        assert_bytes(entry.key, bytes_of(names[i]));
        assert_null(entry.entity.page);
    }
    assert_int_equal(listing_next(listing, &caller, n, false, &entry), 0);
}

static void partitions_and_tables_are_listed_and_sought(void **state)
{
    (void)state;
    static const char *const partitions[] = {"", "a", "b", "c", "d"};
    static const char *const tables[] = {"one", "three", "two"};
    static const char *const faults[] = {"", "short=1", "empty=2"};
    for (size_t f = 0; f < ARRAY_SIZE(faults); f++) {
        struct setup setup;
        struct listing *listing;
        set_up_with(&setup, faults[f]);
        setup.memory->max_rows = 2; /* of table names too */
        for (size_t i = 0; i < ARRAY_SIZE(partitions); i++)
            add_rows(&setup, partitions[i], 5);
        for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
            memory_store_add_table(setup.memory, tables[i]);
        struct directory directory = {.kind = DIRECTORY_FLAT, .table = "t", .range = RANGE_ALL};
        assert_int_equal(account_list(setup.account, &directory, &listing), 0);
        assert_names(&setup, listing, partitions, ARRAY_SIZE(partitions));
        assert_names(&setup, listing, partitions,
                     ARRAY_SIZE(partitions)); /* from the begin again */
        listing_close(listing);
        directory = (struct directory){.kind = DIRECTORY_TABLES, .range = RANGE_ALL};
        assert_int_equal(account_list(setup.account, &directory, &listing), 0);
        assert_names(&setup, listing, tables, ARRAY_SIZE(tables));
        struct caller caller = new_caller(&setup);
        struct listing_entry entry;
        assert_int_equal(listing_next(listing, &caller, 1, false, &entry), 1);
        assert_bytes(entry.key, B("three"));
        listing_close(listing);
        account_destroy(setup.account);
    }
}

static void finding_asks_once_and_says_how_long_it_holds(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, "latency=100");
    add_rows(&setup, "p", 3);
    memory_store_add_table(setup.memory, "Table");
    struct caller caller = new_caller(&setup);
    struct entity entity;
    struct address address = {.table = "t",
                              .position = B("p\0"
                                            "00001")};
    assert_int_equal(account_find(setup.account, &caller, address, &entity), 0);
    assert_bytes(page_text(entity.page, entity.row), B("p|00001"));
    assert_int_equal(caller.valid_ms, 900);
    entity_finish(&entity);
    address.position = B("p\0"
                         "00009");
    assert_int_equal(account_find(setup.account, &caller, address, &entity), -ENOENT);
    assert_int_equal(caller.valid_ms, 900);

    uint64_t number;
    struct directory directory = {.kind = DIRECTORY_FLAT, .table = "Table", .range = RANGE_ALL};
    assert_int_equal(account_find_directory(setup.account, &caller, &directory, &number), 0);
    directory.table = "table"; /* the listed spelling alone */
    assert_int_equal(account_find_directory(setup.account, &caller, &directory, &number), -ENOENT);
    directory = (struct directory){
        .kind = DIRECTORY_ENTITIES, .table = "t", .range = {B("p\0"), B("p\x01")}};
    assert_int_equal(account_find_directory(setup.account, &caller, &directory, &number), 0);
    directory.range = (struct range){B("P\0"), B("P\x01")};
    assert_int_equal(account_find_directory(setup.account, &caller, &directory, &number), -ENOENT);
    assert_int_equal(setup.memory->asked, 6);
    account_destroy(setup.account);
}

static void a_partition_is_found_behind_empty_pages(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, "empty=9");
    add_rows(&setup, "p", 3);
    struct caller caller = new_caller(&setup);
    struct directory directory = {
        .kind = DIRECTORY_ENTITIES, .table = "t", .range = {B("p\0"), B("p\x01")}};
    uint64_t number;
    assert_int_equal(account_find_directory(setup.account, &caller, &directory, &number), 0);
    assert_int_equal(setup.memory->asked, 1);
    account_destroy(setup.account);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_a_page_a_request_and_opening_is_free),
        cmocka_unit_test(seeking_back_reads_from_a_bookmark),
        cmocka_unit_test(rewinding_asks_anew_after_a_ttl),
        cmocka_unit_test(short_and_empty_pages_change_nothing),
        cmocka_unit_test(a_failure_is_no_end_and_can_be_repeated),
        cmocka_unit_test(pages_that_are_too_large_are_asked_for_in_pieces),
        cmocka_unit_test(each_page_is_progress),
        cmocka_unit_test(what_a_slow_service_answers_holds_for_half_a_ttl),
        cmocka_unit_test(entries_hold_as_long_as_their_page_is_young),
        cmocka_unit_test(partitions_and_tables_are_listed_and_sought),
        cmocka_unit_test(finding_asks_once_and_says_how_long_it_holds),
        cmocka_unit_test(a_partition_is_found_behind_empty_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
