/* SPDX-License-Identifier: MIT */
/* Directories with a filter: what their listings show and cost, what can be looked up below them
 * afterwards, and what a process deletes that has listed one. */
#include "tests/unit/cache/account_queueing.h"

#define OPEN "Status eq 'open'"
#define MATCHES(key)                                                                               \
    (&(struct directory){.kind = DIRECTORY_ENTITIES,                                               \
                         .table = "t",                                                             \
                         .range = {B(key "\0"), B(key POSITION_AFTER)},                            \
                         .filter = OPEN})
#define ALL_MATCHES                                                                                \
    (&(struct directory){.kind = DIRECTORY_FLAT, .table = "t", .range = RANGE_ALL, .filter = OPEN})

static void write_row(struct setup *setup, const char *partition, int number, const char *status)
{
    char position[16], text[128];
    int size = snprintf(position, sizeof(position), "%s%c%05d", partition, '\0', number);
    (void)snprintf(
        text, sizeof(text),
        "{\n  \"PartitionKey\": \"%s\",\n  \"RowKey\": \"%05d\",\n  \"Status\": \"%s\"\n}\n",
        partition, number, status);
    another_client_writes(setup, WRITE_UPSERT_REPLACE, (struct bytes){position, (size_t)size},
                          text);
}

/* Each third one is open. */
static void write_rows(struct setup *setup, const char *partition, int n)
{
    for (int i = 0; i < n; i++)
        write_row(setup, partition, i, i % 3 == 0 ? "open" : "done");
}

/* Lists it: the keys, with a blank after each. */
static void assert_listed(struct setup *setup, const struct directory *directory,
                          const char *expected)
{
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, directory);
    struct listing_entry entry = {0};
    _cleanup_(buffer_finish) struct buffer keys = {.max = 1 << 16};
    while (next_entry(setup, listing, entry.cookie, false, &entry) == 1) {
        (void)buffer_append(&keys, entry.key);
        (void)buffer_append_char(&keys, ' ');
    }
    assert_string_equal(buffer_string(&keys), expected);
}

static void it_shows_what_matches_and_asks_for_all_of_it(void **state)
{
    struct setup *setup = *state;
    write_rows(setup, "p", 8);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 8); /* all is in the cache */
    memory_store_forget_diary(setup->memory);
    assert_listed(setup, MATCHES("p"), "00000 00003 00006 ");
    assert_requests(setup, "rows [p/ p+) 1000");
    another_client_writes(setup, WRITE_DELETE, P_ROW("00003"), "");
    write_row(setup, "p", 1, "open");
    assert_listed(setup, MATCHES("p"), "00000 00001 00006 ");
    assert_requests(setup, "rows [p/ p+) 1000");
}

/* The kernel asks once more after the dots. */
static void that_nothing_matches_is_asked_once(void **state)
{
    struct setup *setup = *state;
    write_row(setup, "p", 1, "done");
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, MATCHES("p"));
    assert_end(setup, listing, 0);
    assert_end(setup, listing, 0);
    assert_requests(setup, "rows [p/ p+) 1000");
}

static void of_a_table_it_shows_partitions_with_a_match(void **state)
{
    struct setup *setup = *state;
    write_rows(setup, "a", 5);
    write_row(setup, "b", 1, "done");
    write_rows(setup, "c", 1);
    assert_listed(setup, ALL_MATCHES, "a c ");
    assert_requests(setup, "keys [ ~) 1000");
}

static void pages_may_be_short_or_empty(void **state)
{
    (void)state;
    for (int max_rows = 1; max_rows <= 4; max_rows++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){.max_rows = max_rows});
        write_rows(&setup, "p", 5);
        write_row(&setup, "q", 0, "done");
        write_row(&setup, "q", 1, "done");
        write_row(&setup, "r", 2, "open");
        assert_listed(&setup, MATCHES("p"), "00000 00003 ");
        assert_listed(&setup, ALL_MATCHES, "p r ");
        tear_down(&setup);
    }
}

/* stat and open of it, by the process that has listed: no request for 30 s. */
static void what_it_has_shown_is_known_and_nothing_else(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    write_rows(setup, "p", 8);
    setup->process = RM;
    assert_listed(setup, MATCHES("p"), "00000 00003 00006 ");
    setup->now_ms += KEPT_MS - 1;
    memory_store_forget_diary(setup->memory);
    for (int i = 0; i < 8; i += 3) {
        struct entity entity = {0};
        char position[] = "p\00000000";
        position[6] = (char)('0' + i);
        assert_int_equal(account_find(setup->account, caller_of(setup),
                                      address_of((struct bytes){position, 7}), &entity),
                         0);
        entity_finish(&entity);
    }
    assert_requests(setup, "");
    struct entity entity = {0};
    assert_int_equal(
        account_find(setup->account, caller_of(setup), address_of(P_ROW("00001")), &entity), 0);
    entity_finish(&entity);
    assert_int_equal(
        account_find(setup->account, caller_of(setup), address_of(P_ROW("00001x")), &entity),
        -ENOENT);
    assert_true(setup->memory->asked > 0);
}

/* By a row in it, although nothing is known of the rows before that. Without the filter it is asked
 * for. */
static void a_partition_that_it_has_shown_is_there(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    write_row(setup, "p", 5, "open");
    setup->process = RM;
    assert_listed(setup, ALL_MATCHES, "p ");
    memory_store_forget_diary(setup->memory);
    setup->now_ms += KEPT_MS - 1;
    assert_int_equal(account_find_directory(setup->account, caller_of(setup), MATCHES("p")), 0);
    assert_requests(setup, "");
    assert_int_equal(account_find_directory(setup->account, caller_of(setup), MATCHES("q")),
                     -ENOENT);
    assert_int_equal(account_find_directory(setup->account, caller_of(setup), ROWS_OF("p")), 0);
    assert_int_equal(setup->memory->asked, 2);
}

/* It is no beginning of a walk over the table: nothing is read ahead for what was left out. */
static void a_listing_through_a_filter_is_no_traversal(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.parallelism = 4});
    memory_store_add_table(setup.memory, "t");
    for (char key[] = "a"; key[0] <= 'j'; key[0]++)
        write_rows(&setup, key, 3);
    setup.process = RM;
    assert_listed(&setup, ALL_MATCHES, "a b c d e f g h i j ");
    memory_store_forget_diary(setup.memory);
    for (char key[] = "a"; key[0] <= 'j'; key[0]++) {
        char lo[] = {key[0], '\0'}, hi[] = {key[0], POSITION_AFTER[0]};
        struct directory directory = {
            .kind = DIRECTORY_ENTITIES, .table = "t", .range = {{lo, 2}, {hi, 2}}, .filter = OPEN};
        assert_int_equal(account_find_directory(setup.account, caller_of(&setup), &directory), 0);
        assert_listed(&setup, &directory, "00000 ");
    }
    assert_request_count(&setup, 10);
    tear_down(&setup);
}

static void what_this_mount_has_changed_is_shown_as_it_is(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    write_rows(setup, "p", 20);
    setup->process = RM;
    assert_listed(setup, MATCHES("p"), "00000 00003 00006 00009 00012 00015 00018 ");
    struct listing *listing = open_listing(setup, MATCHES("p"));
    struct listing_entry entry = {0};
    for (int i = 0; i < 2; i++) /* the first is deleted at once, the second is queued */
        assert_int_equal(next_entry(setup, listing, entry.cookie, false, &entry), 1);
    const struct directory_path path = {
        .steps = (const struct directory[]){*ROWS_OF("p"), *PARTITIONS_OF("t")},
        .n = 2,
        .filter = OPEN};
    for (int i = 0; i < 2; i++) {
        struct bytes position = i == 0 ? P_ROW("00000") : P_ROW("00003");
        struct entity found = {0};
        assert_int_equal(
            account_find(setup->account, caller_of(setup), address_of(position), &found), 0);
        assert_int_equal(account_unlink(setup->account, caller_of(setup), address_of(position),
                                        page_etag(found.page, found.row), &path),
                         0);
        entity_finish(&found);
    }
    assert_int_equal(metric(setup, "tablefuse_queued"), 1);
    listing_close(listing);
    assert_listed(setup, MATCHES("p"), "00006 00009 00012 00015 00018 ");
    assert_int_equal(sync_all(setup), 0);
    assert_listed(setup, MATCHES("p"), "00006 00009 00012 00015 00018 ");
}

/* Deletes row `number` of p through the filter, in the version that is found. */
static int unlink_match(struct setup *setup, int number, struct bytes etag)
{
    char position[16];
    int size = snprintf(position, sizeof(position), "p%c%05d", '\0', number);
    struct address address = address_of((struct bytes){position, (size_t)size});
    struct entity found = {0};
    const struct directory_path path = {
        .steps = (const struct directory[]){*ROWS_OF("p"), *PARTITIONS_OF("t")},
        .n = 2,
        .filter = OPEN};
    if (etag.size == 0) {
        int r = account_find(setup->account, caller_of(setup), address, &found);
        assert_int_equal(r, 0);
        etag = page_etag(found.page, found.row);
    }
    int r = account_unlink(setup->account, caller_of(setup), address, etag, &path);
    entity_finish(&found);
    return r;
}

/* What this mount has deleted, another client stores again. */
static void what_it_has_deleted_before_may_be_there_again(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    write_rows(setup, "p", 5);
    write_rows(setup, "q", 1);
    assert_listed(setup, MATCHES("p"), "00000 00003 ");
    assert_int_equal(unlink_match(setup, 0, (struct bytes){0}), 0);
    assert_int_equal(unlink_match(setup, 3, (struct bytes){0}), 0);
    assert_listed(setup, MATCHES("p"), "");
    assert_listed(setup, ALL_MATCHES, "q ");
    write_rows(setup, "p", 5);
    setup->now_ms++;
    assert_listed(setup, ALL_MATCHES, "p q ");
    assert_listed(setup, MATCHES("p"), "00000 00003 ");
}

static int remove_filtered(struct setup *setup)
{
    return account_remove_filtered(setup->account, caller_of(setup), MATCHES("p"), NULL);
}

/* Even in a process that has listed the table, and may drop it. */
static void its_deletes_are_sent_and_never_held(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    write_rows(setup, "p", 9);
    setup->process = RM;
    assert_int_equal(list(setup, PARTITIONS_OF("t"), false), 1);
    assert_listed(setup, MATCHES("p"), "00000 00003 00006 ");
    memory_store_forget_diary(setup->memory);
    for (int i = 0; i < 9; i += 3)
        assert_int_equal(unlink_match(setup, i, (struct bytes){0}), 0);
    assert_int_equal(
        account_remove_filtered(setup->account, caller_of(setup), MATCHES("p"), ALL_MATCHES),
        0); /* it has not listed that one: so it sends */
    assert_requests(setup, "write p/00000, write p/00003 and p/00006");
    assert_int_equal(list(setup, ROWS_OF("p"), false), 6);
    assert_int_equal(account_remove_filtered(setup->account, caller_of(setup), ALL_MATCHES, NULL),
                     0);
    assert_partition_found(setup, "p", 0);
}

static void rmdir_leaves_the_sending_to_that_of_the_directory_above(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    write_rows(setup, "p", 6);
    setup->process = RM;
    assert_listed(setup, ALL_MATCHES, "p ");
    assert_listed(setup, MATCHES("p"), "00000 00003 ");
    assert_int_equal(unlink_match(setup, 0, (struct bytes){0}), 0);
    assert_int_equal(unlink_match(setup, 3, (struct bytes){0}), 0);
    assert_int_equal(
        account_remove_filtered(setup->account, caller_of(setup), MATCHES("p"), ALL_MATCHES), 0);
    assert_int_equal(metric(setup, "tablefuse_queued"), 1);
    assert_int_equal(account_remove_filtered(setup->account, caller_of(setup), ALL_MATCHES, NULL),
                     0);
    assert_int_equal(metric(setup, "tablefuse_queued"), 0);
}

/* The first is sent at once, the others are queued. */
static void a_version_that_was_not_listed_stays(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    write_rows(setup, "p", 12);
    setup->process = RM;
    assert_listed(setup, MATCHES("p"), "00000 00003 00006 00009 ");
    write_row(setup, "p", 0, "done");
    write_row(setup, "p", 6, "done");
    another_client_writes(setup, WRITE_DELETE, P_ROW("00009"), "");
    assert_int_equal(unlink_match(setup, 0, (struct bytes){0}), -EBUSY);
    assert_string_equal(
        setup->caller.call.failure.advice,
        "another program or client has changed the entity since the filter has shown it");
    assert_int_equal(unlink_match(setup, 3, (struct bytes){0}), 0);
    assert_int_equal(unlink_match(setup, 6, (struct bytes){0}), 0);
    assert_int_equal(unlink_match(setup, 9, (struct bytes){0}), 0);
    assert_int_equal(remove_filtered(setup), -ENOTEMPTY);
    assert_int_equal(remove_filtered(setup), 0); /* it was reported */
    assert_lost("unlink t p/00006 ESTALE;");
    assert_int_equal(list(setup, ROWS_OF("p"), false), 10);
}

/* After 30 s a name is looked up anew, and the version that is found may be one that no listing has
 * shown. */
static void a_version_that_does_not_match_stays(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    write_rows(setup, "p", 9);
    setup->process = RM;
    assert_listed(setup, MATCHES("p"), "00000 00003 00006 ");
    write_row(setup, "p", 0, "done");
    write_row(setup, "p", 3, "open"); /* another version that matches, too */
    setup->now_ms += KEPT_MS + 1;
    assert_int_equal(unlink_match(setup, 0, (struct bytes){0}), -EBUSY);
    assert_int_equal(unlink_match(setup, 3, (struct bytes){0}), 0);
    setup->process = RM + 1; /* has listed nothing: deletes what it names */
    assert_int_equal(unlink_match(setup, 0, (struct bytes){0}), 0);
    assert_int_equal(remove_filtered(setup), 0);
}

/* Of which another process has stored a version that does not match, and a program that cannot be
 * seen. */
static void a_version_of_this_mount_that_does_not_match_stays(void **state)
{
    (void)state;
    const uint64_t processes[] = {RM, 0};
    for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){0});
        memory_store_add_table(setup.memory, "t");
        write_rows(&setup, "p", 6);
        setup.process = processes[i];
        assert_listed(&setup, MATCHES("p"), "00000 00003 ");
        setup.process = RM + 1;
        assert_int_equal(store_text(&setup, EDIT_OVER, P_ROW("00003"), "{\"Status\": \"done\"}"),
                         0);
        setup.process = processes[i];
        assert_int_equal(unlink_match(&setup, 3, (struct bytes){0}), -EBUSY);
        assert_int_equal(unlink_match(&setup, 0, (struct bytes){0}), 0);
        assert_int_equal(list(&setup, ROWS_OF("p"), false), 5);
        tear_down(&setup);
    }
}

/* The kernel of a program that cannot be seen has looked it up, and then it was changed. */
static void an_unseen_program_deletes_what_it_was_shown(void **state)
{
    struct setup *setup = *state;
    struct etag shown;
    struct entity found = {0};
    memory_store_add_table(setup->memory, "t");
    write_rows(setup, "p", 3);
    setup->process = 0;
    assert_int_equal(
        account_find(setup->account, caller_of(setup), address_of(P_ROW("00000")), &found), 0);
    etag_set(&shown, page_etag(found.page, found.row));
    entity_finish(&found);
    write_row(setup, "p", 0, "open");
    assert_int_equal(unlink_match(setup, 0, etag_bytes(&shown)), -EBUSY);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 3);
}

static void texts_that_are_queued_are_compared_by_the_service(void **state)
{
    (void)state;
    struct setup setup;
    set_up_queue(&setup, (struct setup_options){.is_write_back = true});
    memory_store_add_table(setup.memory, "t");
    write_rows(&setup, "p", 3);
    assert_int_equal(store_text(&setup, EDIT_OVER, P_ROW("00002"), "{\"Status\": \"open\"}"), 0);
    assert_int_equal(account_send_texts(setup.account, caller_of(&setup), MATCHES("p")), 0);
    assert_listed(&setup, MATCHES("p"), "00000 00002 ");
    tear_down_queue(&setup);
}

static void a_listing_goes_back_and_fails_as_others_do(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.max_rows = 2});
    memory_store_add_table(setup.memory, "t");
    write_rows(&setup, "p", 9);
    struct listing *listing = open_listing(&setup, MATCHES("p"));
    struct listing_entry entry = {0};
    for (uint64_t cookie = 0; cookie < 3; cookie++)
        assert_int_equal(next_entry(&setup, listing, cookie, false, &entry), 1);
    assert_end(&setup, listing, 3);
    assert_int_equal(next_entry(&setup, listing, 1, false, &entry), 1);
    assert_bytes(entry.key, B("00003"));
    assert_int_equal(next_entry(&setup, listing, 0, false, &entry), 1);
    assert_bytes(entry.key, B("00000"));
    for (uint64_t cookie = 1; cookie < 3; cookie++)
        assert_int_equal(next_entry(&setup, listing, cookie, false, &entry), 1);
    assert_end(&setup, listing, 3); /* nothing is read ahead any more */
    setup.memory->checks_tables = true;
    memory_store_remove_table(setup.memory, "t");
    assert_int_equal(next_entry(&setup, listing, 0, false, &entry), -ESTALE);
    listing_close(listing);
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(account, it_shows_what_matches_and_asks_for_all_of_it),
        TEST_WITH(account, that_nothing_matches_is_asked_once),
        TEST_WITH(account, of_a_table_it_shows_partitions_with_a_match),
        cmocka_unit_test(pages_may_be_short_or_empty),
        TEST_WITH(account, what_it_has_deleted_before_may_be_there_again),
        TEST_WITH(account, what_it_has_shown_is_known_and_nothing_else),
        TEST_WITH(account, a_partition_that_it_has_shown_is_there),
        cmocka_unit_test(a_listing_through_a_filter_is_no_traversal),
        TEST_WITH(account_queue, what_this_mount_has_changed_is_shown_as_it_is),
        TEST_WITH(account_queue, its_deletes_are_sent_and_never_held),
        TEST_WITH(account_queue, rmdir_leaves_the_sending_to_that_of_the_directory_above),
        TEST_WITH(account_queue, a_version_that_was_not_listed_stays),
        TEST_WITH(account_queue, a_version_that_does_not_match_stays),
        cmocka_unit_test(a_version_of_this_mount_that_does_not_match_stays),
        TEST_WITH(account, an_unseen_program_deletes_what_it_was_shown),
        cmocka_unit_test(texts_that_are_queued_are_compared_by_the_service),
        cmocka_unit_test(a_listing_goes_back_and_fails_as_others_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
