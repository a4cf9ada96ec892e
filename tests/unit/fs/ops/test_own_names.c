/* SPDX-License-Identifier: MIT */
/* New files in a listing: each name once, also if the file is stored while the listing runs. */
#include "fs/ops/own_names.h"
#include "tests/unit/cache/account_writing.h"

#define ROWS      4 /* 00000 to 00003 */
#define DIRECTORY ROWS_OF("p")

struct world {
    struct setup setup;
    struct writers *writers;
    struct scratch *scratch;
    struct listing *listing;
    struct own_names own;
    struct buffer shown; /* "key ", and after "| " what only this mount has */
    uint64_t cookie;     /* of the listing's entry that was shown last */
};

static int store_text_of(void *context, struct caller *caller, const struct writer_text *text,
                         struct entity *ret)
{
    struct world *world = context;
    struct edit edit = {.address = text->address, .begin = text->begin, .text = text->text};
    return account_store(world->setup.account, caller, &edit, ret);
}

static void give_up(void *context, struct caller *caller, const struct writer_loss *loss)
{
    (void)context, (void)caller;
    assert_int_equal(loss->error, 0); /* nothing is given up */
}

static void begin(struct world *world)
{
    struct writer_store store = {.store = store_text_of, .give_up = give_up, .context = world};
    set_up(&world->setup, (struct setup_options){0});
    memory_store_add_table(world->setup.memory, "t");
    add_rows(&world->setup, "p", ROWS);
    assert_int_equal(writers_create(&world->setup.clock, &store, &world->writers), 0);
    assert_int_equal(scratch_create(100000, &world->scratch), 0);
    world->listing = open_listing(&world->setup, DIRECTORY);
    own_names_init(&world->own, DIRECTORY, scratch_directory(DIRECTORY), world->listing,
                   world->writers, world->scratch);
    buffer_init(&world->shown, 1 << 20);
    world->cookie = 0;
}

static void end(struct world *world)
{
    buffer_finish(&world->shown);
    own_names_finish(&world->own);
    listing_close(world->listing);
    writers_destroy(world->writers);
    scratch_destroy(world->scratch);
    tear_down(&world->setup);
}

static struct writer_handle *open_new(struct world *world, struct bytes position)
{
    struct writer_begin new_file = {
        .address = address_of(position), .begin = EDIT_NEW, .is_new = true};
    struct writer_handle *handle;
    struct caller *caller = caller_of(&world->setup);
    assert_int_equal(writers_open(world->writers, &new_file, caller, &handle), 0);
    return handle;
}

static void write_whole(struct world *world, struct writer_handle *handle)
{
    assert_int_equal(writer_write(handle, caller_of(&world->setup), B("{}"), 0), 0);
    assert_false(writer_is_new(handle->writer));
}

static void close_file(struct world *world, struct writer_handle *handle)
{
    writer_close_handle(handle, caller_of(&world->setup));
}

static void remove_stored(struct world *world, struct bytes position)
{
    assert_int_equal(account_unlink(world->setup.account, caller_of(&world->setup),
                                    address_of(position), B("etag"),
                                    PATH_OF(*DIRECTORY, *PARTITIONS_OF("t"))),
                     0);
}

/* As an open directory: at most `count` entries of the listing. */
static void list_some(struct world *world, int count)
{
    struct listing_entry entry;
    if (world->cookie == 0)
        assert_int_equal(own_names_begin(&world->own), 0);
    while (count-- > 0 &&
           next_entry(&world->setup, world->listing, world->cookie, true, &entry) == 1) {
        own_names_listed(&world->own, entry.key);
        (void)buffer_append(&world->shown, entry.key);
        (void)buffer_append_char(&world->shown, ' ');
        world->cookie = entry.cookie;
    }
}

static size_t list_own(struct world *world)
{
    struct own_name own = {.cookie = OWN_NAMES_BEGIN};
    size_t n = 0;
    int r;
    for (; (r = own_names_next(&world->own, own.cookie, &own)) == 1; n++) {
        (void)buffer_append(&world->shown, own.name.size > 0 ? own.name : own.key);
        (void)buffer_append_char(&world->shown, ' ');
    }
    assert_int_equal(r, 0);
    return n;
}

/* The rest of the directory; `expected`: what was shown of it in all. Then it is rewound. */
static void assert_shown(struct world *world, const char *expected)
{
    list_some(world, INT_MAX);
    (void)buffer_append_string(&world->shown, "| ");
    (void)list_own(world);
    assert_string_equal(buffer_string(&world->shown), expected);
    buffer_clear(&world->shown);
    world->cookie = 0;
}

DEFINE_FIXTURE(world, struct world, begin(test), end(test))

static void a_file_that_is_stored_behind_the_listing_is_shown_at_its_end(void **state)
{
    struct world *world = *state;
    struct writer_handle *passed = open_new(world, P_ROW("00000a"));
    struct writer_handle *ahead = open_new(world, P_ROW("00002a"));
    struct writer_handle *waiting = open_new(world, P_ROW("00001a"));
    list_some(world, 2);
    write_whole(world, passed);
    write_whole(world, ahead);
    assert_shown(world, "00000 00001 00002 00003 | 00000a 00001a 00002a ");
    assert_shown(world, "00000 00000a 00001 00002 00002a 00003 | 00001a ");
    close_file(world, passed);
    close_file(world, ahead);
    close_file(world, waiting);
    assert_shown(world, "00000 00000a 00001 00001a 00002 00002a 00003 | ");
}

static void a_file_that_is_stored_before_the_listing_has_come_there_is_shown_by_it(void **state)
{
    struct world *world = *state;
    struct writer_handle *handle = open_new(world, P_ROW("00002a"));
    list_some(world, 0); /* the first read failed */
    write_whole(world, handle);
    assert_shown(world, "00000 00001 00002 00002a 00003 | ");
    close_file(world, handle);
}

/* The listing has asked before the store, and nothing of it was shown. It goes on as it began. */
static void a_listing_that_failed_first_knows_the_files_that_were_new_then(void **state)
{
    struct world *world = *state;
    struct listing_entry entry;
    struct writer_handle *handle = open_new(world, P_ROW("00000a"));
    assert_shown(world, "00000 00001 00002 00003 | 00000a "); /* one that did not fail */
    list_some(world, 0);
    assert_int_equal(next_entry(&world->setup, world->listing, 0, true, &entry), 1);
    write_whole(world, handle);
    list_some(world, 0);
    world->cookie = entry.cookie;
    assert_shown(world, "00001 00002 00003 | 00000a ");
    close_file(world, handle);
}

static void a_removed_file_is_not_shown(void **state)
{
    struct world *world = *state;
    struct writer_handle *stored = open_new(world, P_ROW("00000a"));
    struct writer_handle *unstored = open_new(world, P_ROW("00000b"));
    struct held_writers *held;
    list_some(world, 2);
    write_whole(world, stored);
    remove_stored(world, P_ROW("00000a"));
    assert_int_equal(writers_hold(world->writers, address_of(P_ROW("00000b")),
                                  &caller_of(&world->setup)->call, &held),
                     0);
    writers_let_go(held, true);
    assert_shown(world, "00000 00001 00002 00003 | ");
    close_file(world, stored);
    close_file(world, unstored);
}

/* Another client has stored it, and the listing has shown that. */
static void a_new_file_that_the_listing_has_shown_is_not_shown_again(void **state)
{
    struct world *world = *state;
    struct writer_handle *handle = open_new(world, P_ROW("00000a"));
    another_stores(&world->setup, P_ROW("00000a"), "other");
    assert_shown(world, "00000 00000a 00001 00002 00003 | ");
    list_some(world, 1);
    struct writer_handle *later = open_new(world, P_ROW("00002")); /* as if it were not there */
    assert_shown(world, "00000 00000a 00001 00002 00003 | ");
    close_file(world, handle);
    close_file(world, later);
}

static void of_very_many_new_files_the_first_are_kept(void **state)
{
    struct world *world = *state;
    static struct writer_handle *handles[OWN_NAMES_MAX + 1];
    for (size_t i = 0; i < ARRAY_SIZE(handles); i++) {
        char position[16] = "p";
        int size = 2 + snprintf(position + 2, sizeof(position) - 2, "a%05zu", i);
        handles[i] = open_new(world, (struct bytes){position, (size_t)size});
    }
    list_some(world, INT_MAX);
    assert_int_equal(list_own(world), OWN_NAMES_MAX + 1);
    world->cookie = 0;
    list_some(world, INT_MAX); /* the whole answer is there, and its end */
    for (size_t i = 0; i < ARRAY_SIZE(handles); i++)
        write_whole(world, handles[i]);
    assert_int_equal(list_own(world), OWN_NAMES_MAX);
    for (size_t i = 0; i < ARRAY_SIZE(handles); i++)
        close_file(world, handles[i]);
}

/* A view: its name keeps it. */
static struct scratch_file *make_scratch(struct world *world, const char *name, uint64_t number)
{
    struct address directory = scratch_directory(DIRECTORY);
    struct scratch_file *file;
    struct scratch_attributes attributes = {.number = number};
    assert_int_equal(scratch_make(world->scratch, directory, bytes_of(name), &attributes, &file),
                     0);
    scratch_file_unref(file);
    return file;
}

static void scratch_files_are_shown_behind_all_others(void **state)
{
    struct world *world = *state;
    (void)make_scratch(world, "00000~", 7);
    struct writer_handle *handle = open_new(world, P_ROW("00009"));
    (void)make_scratch(world, ".a", 8);
    assert_shown(world, "00000 00001 00002 00003 | 00009 .a 00000~ ");
    close_file(world, handle);
    assert_shown(world, "00000 00001 00002 00003 00009 | .a 00000~ ");
}

/* By any cookie, and when the name of the cookie is gone. */
static void a_listing_of_scratch_files_goes_on_where_it_was(void **state)
{
    struct world *world = *state;
    struct own_name own;
    uint64_t cookies[4] = {OWN_NAMES_BEGIN};
    static const char *const names[] = {"new", ".a", ".b"};
    struct writer_handle *handle = open_new(world, P_ROW("new"));
    (void)make_scratch(world, ".a", 1);
    struct scratch_file *b = make_scratch(world, ".b", 2);
    (void)make_scratch(world, ".c", 3);
    list_some(world, INT_MAX);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_int_equal(own_names_next(&world->own, cookies[i], &own), 1);
        assert_bytes(i > 0 ? own.name : own.key, bytes_of(names[i]));
        assert_int_equal(own.number, i);
        cookies[i + 1] = own.cookie;
    }
    assert_int_equal(own_names_next(&world->own, cookies[1], &own), 1); /* seekdir */
    assert_bytes(own.name, B(".a"));
    assert_int_equal(own_names_next(&world->own, cookies[2], &own), 1);
    assert_bytes(own.name, B(".b"));
    assert_int_equal(scratch_unlink(b), 0);
    assert_int_equal(own_names_next(&world->own, cookies[3], &own), 1);
    assert_bytes(own.name, B(".c"));
    assert_int_equal(own_names_next(&world->own, own.cookie, &own), 0);
    close_file(world, handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(world, a_file_that_is_stored_behind_the_listing_is_shown_at_its_end),
        TEST_WITH(world, a_file_that_is_stored_before_the_listing_has_come_there_is_shown_by_it),
        TEST_WITH(world, a_listing_that_failed_first_knows_the_files_that_were_new_then),
        TEST_WITH(world, a_removed_file_is_not_shown),
        TEST_WITH(world, a_new_file_that_the_listing_has_shown_is_not_shown_again),
        TEST_WITH(world, of_very_many_new_files_the_first_are_kept),
        TEST_WITH(world, scratch_files_are_shown_behind_all_others),
        TEST_WITH(world, a_listing_of_scratch_files_goes_on_where_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
