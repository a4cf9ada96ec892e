/* SPDX-License-Identifier: MIT */
/* Tables and local directories of one account in every order: schedule_directories [SEED [COUNT]].
 *
 * Threads make and remove two tables, and a partition and a prefix directory of a third; others
 * look them up, and list the tables. The service may list a table for a while that it is deleting.
 * What is read may be seen by the rule of history.h. */
#include "tests/schedule/scheduled_account.h"

#define ROUNDS 4
#define ALL                                                                                        \
    {                                                                                              \
        BYTES_LITERAL(""), BYTES_LITERAL(POSITION_END)                                             \
    }
#define TABLES 2 /* the first of the names */
#define NAMES  4

static const struct directory root = {.kind = DIRECTORY_TABLES, .table = NULL, .range = ALL};
static const struct directory level = {.kind = DIRECTORY_AUTO, .table = "tab", .range = ALL};
static const struct { /* the value of a name: 1: it is there; 0: not */
    struct directory directory;
    const struct directory *parent;
} names[NAMES] = {
    {{.kind = DIRECTORY_FLAT, .table = "new", .range = ALL}, &root},
    {{.kind = DIRECTORY_FLAT, .table = "old", .range = ALL}, &root},
    {{.kind = DIRECTORY_ENTITIES,
      .table = "tab",
      .range = {BYTES_LITERAL("p\0"), BYTES_LITERAL("p\x01")}},
     &level},
    {{.kind = DIRECTORY_AUTO, .table = "tab", .range = {BYTES_LITERAL("P"), BYTES_LITERAL("Q")}},
     &level},
};

static void make_or_remove(size_t name)
{
    bool makes = schedule_random(2) == 0;
    struct caller caller = new_caller();
    caller.process = 0; /* has listed nothing */
    struct change *change = history_begin(&test.history, name, makes);
    const struct directory steps[] = {names[name].directory, *names[name].parent};
    const struct directory_path path = {.steps = steps, .n = name < TABLES ? 1 : 2};
    int r = makes ? account_make_directory(test.account, &caller, &path)
                  : account_remove_directory(test.account, &caller, &path);
    bool is_ambiguous = r < 0 && caller.call.failure.is_ambiguous;
    SCHEDULE_CHECK(r == caller.call.failure.error);
    bool is_leaving = makes && r == -EBUSY;
    SCHEDULE_CHECK(r == 0 || r == (makes ? -EEXIST : -ENOENT) || is_leaving || is_ambiguous);
    SCHEDULE_CHECK(!is_ambiguous || (test.loses && name < TABLES));
    /* that it was there already, or was gone, is true at some moment of the call */
    history_end(&test.history, change, is_leaving ? NOT_MADE : is_ambiguous ? IN_DOUBT : MADE);
}

static void look_up(size_t name)
{
    struct caller caller = new_caller();
    unsigned begun = history_now(&test.history);
    int r = account_find_directory(test.account, &caller, &names[name].directory);
    SCHEDULE_CHECK(r == 0 || r == -ENOENT);
    SCHEDULE_CHECK(
        history_may_be_seen(&test.history, name, r == 0, begun, history_now(&test.history)));
}

static void list_tables(void)
{
    struct listing *listing;
    struct listing_entry entry = {0};
    struct caller caller = new_caller();
    bool is_shown[TABLES] = {0};
    unsigned begun = history_now(&test.history);
    int r;
    SCHEDULE_CHECK(account_list(test.account, &root, &listing) == 0);
    while ((r = listing_next(listing, &caller, entry.cookie, false, true, &entry)) == 1)
        for (size_t i = 0; i < TABLES; i++)
            is_shown[i] |= bytes_equal(entry.key, bytes_of(names[i].directory.table));
    SCHEDULE_CHECK(r == 0);
    listing_close(listing);
    unsigned ended = history_now(&test.history);
    for (size_t i = 0; i < TABLES; i++)
        SCHEDULE_CHECK(history_may_be_seen(&test.history, i, is_shown[i], begun, ended));
}

static void *change_again_and_again(void *context)
{
    (void)context;
    for (int i = 0; i < ROUNDS; i++) {
        if (schedule_random(2) == 0)
            wait_some_time();
        make_or_remove(schedule_random(NAMES));
    }
    return NULL;
}

static void *read_again_and_again(void *context)
{
    (void)context;
    for (int i = 0; i < ROUNDS; i++) {
        if (schedule_random(2) == 0)
            wait_some_time();
        if (schedule_random(3) == 0)
            list_tables();
        else
            look_up(schedule_random(NAMES));
    }
    return NULL;
}

static void body(void *context)
{
    (void)context;
    test.account = new_account(1, 512);
    run_threads(change_again_and_again, read_again_and_again);
    list_tables();
    for (size_t name = 0; name < NAMES; name++)
        look_up(name);
    account_destroy(test.account);
}

static void run(uint64_t seed)
{
    begin_test(seed);
    test.memory->checks_tables = true;
    test.memory->drops_slowly = seed % 5 > 1;
    memory_store_add_table(test.memory, "tab");
    memory_store_add_table(test.memory, "old");
    for (size_t name = 0; name < NAMES; name++)
        history_add(&test.history, name, name == 1);
    schedule_test(seed, body);
}

int main(int argc, char **argv)
{
    return schedule_main(argc, argv, run);
}
