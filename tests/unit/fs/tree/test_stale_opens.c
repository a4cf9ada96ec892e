/* SPDX-License-Identifier: MIT */
#include "fs/tree/stale_opens.h"

#include "tests/unit/failing_memory.h"
#include "tests/unit/threads.h"

static struct stale_opens *new_stale(void)
{
    struct stale_opens *stale;
    assert_int_equal(stale_opens_create(&stale), 0);
    return stale;
}

static struct opener opener(pid_t thread)
{
    return (struct opener){thread, 1, B("f.json")};
}

static struct opener foreign(uint64_t parent, const char *name)
{
    return (struct opener){0, parent, bytes_of(name)};
}

static struct entity entity_of(const char *text)
{
    struct page *page;
    assert_int_equal(page_create_row(B("p\0r"), bytes_of(text), B("e"), 1, &page), 0);
    return (struct entity){page, 0};
}

static void look_up(struct stale_opens *stale, struct opener opener, uint64_t node,
                    const char *text, int64_t now_ms)
{
    _cleanup_(entity_finish) struct entity entity = entity_of(text);
    (void)stale_opens_looked_up(stale, &opener, node, &entity, now_ms);
}

static void begin(struct stale_opens *stale, struct opener opener, int64_t now_ms)
{
    (void)stale_opens_begin(stale, &opener, now_ms);
}

static bool has_begun(struct stale_opens *stale, struct opener opener, int64_t now_ms)
{
    return stale_opens_has_begun(stale, &opener, now_ms);
}

/* expected NULL: none */
static void assert_text(struct stale_opens *stale, struct opener opener, uint64_t node,
                        int64_t now_ms, const char *expected)
{
    _cleanup_(entity_finish) struct entity found = {0};
    bool is_there = stale_opens_take_text(stale, &opener, node, now_ms, &found);
    assert_int_equal(is_there, expected != NULL);
    if (is_there && expected)
        assert_bytes(page_text(found.page, found.row), bytes_of(expected));
    else
        assert_null(found.page);
}

static void what_was_looked_up_after_an_estale_is_opened_once(void **state)
{
    (void)state;
    struct stale_opens *stale = new_stale();
    struct opener seven = opener(7);
    look_up(stale, seven, 42, "early", 0);
    assert_text(stale, seven, 42, 0, NULL); /* an ordinary open asks the account */
    assert_false(has_begun(stale, seven, 0));
    begin(stale, seven, 0);
    assert_true(has_begun(stale, seven, 0));
    assert_text(stale, seven, 44, 1, NULL);
    look_up(stale, seven, 44, "first", 1);
    look_up(stale, seven, 44, "second", 2); /* the kernel may look up twice */
    assert_text(stale, opener(8), 44, 3, NULL);
    assert_text(stale, seven, 43, 3, NULL);
    assert_text(stale, seven, 44, 3, "second");
    assert_text(stale, seven, 44, 3, NULL);
    assert_true(has_begun(stale, seven, 3));
    stale_opens_end(stale, &seven);
    assert_false(has_begun(stale, seven, 3));
    stale_opens_end(stale, &seven);
    stale_opens_destroy(stale);
    stale_opens_destroy(NULL);
}

DEFINE_OBJECT_FIXTURE(stale_opens, new_stale(), stale_opens_destroy)

/* The name may be another one by now: a thread has one entry. */
static void a_thread_is_known_by_its_id_alone(void **state)
{
    struct stale_opens *stale = *state;
    begin(stale, (struct opener){7, 1, B("old.json")}, 0);
    look_up(stale, (struct opener){7, 2, B("new.json")}, 44, "text", 1);
    assert_text(stale, (struct opener){7, 2, B("new.json")}, 44, 2, "text");
}

/* Neither to a thread whose id is equal modulo 1,024. */
static void no_thread_loses_its_text_to_another(void **state)
{
    struct stale_opens *stale = *state;
    for (pid_t i = 1; i <= 1000; i++) {
        begin(stale, opener(i), 0);
        begin(stale, opener(i + 1024), 0);
    }
    for (pid_t i = 1; i <= 1000; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", i);
        look_up(stale, opener(i), 44, text, 1);
        look_up(stale, opener(i + 1024), 44, "high", 1);
    }
    for (pid_t i = 1; i <= 1000; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", i);
        assert_text(stale, opener(i), 44, 2, text);
        assert_text(stale, opener(i + 1024), 44, 2, "high");
    }
}

static void beyond_the_maximum_the_oldest_entry_ends(void **state)
{
    struct stale_opens *stale = *state;
    for (pid_t thread = 1; thread <= STALE_OPENS_MAX; thread++)
        begin(stale, opener(thread), 0);
    begin(stale, opener(1), 1); /* again: it is the youngest now */
    begin(stale, opener(STALE_OPENS_MAX + 1), 1);
    for (pid_t thread = 1; thread <= STALE_OPENS_MAX + 1; thread++)
        assert_int_equal(has_begun(stale, opener(thread), 1), thread != 2);
}

static void an_entry_that_is_not_used_ends(void **state)
{
    struct stale_opens *stale = *state;
    begin(stale, opener(7), 1000);
    begin(stale, opener(8), 2000);
    look_up(stale, opener(7), 44, "text", 1001);
    look_up(stale, opener(8), 45, "text", 2001);
    assert_true(has_begun(stale, opener(7), 1000 + STALE_OPENS_KEPT_MS - 1));
    assert_text(stale, opener(7), 44, 1000 + STALE_OPENS_KEPT_MS, NULL);
    assert_false(has_begun(stale, opener(7), 1000 + STALE_OPENS_KEPT_MS));
    assert_text(stale, opener(8), 45, 2000 + STALE_OPENS_KEPT_MS - 1, "text");
    begin(stale, opener(7), 50000); /* as if it had never been there */
    assert_text(stale, opener(7), 44, 50000, NULL);
}

/* Their thread id is 0. They are told apart by what they open. */
static void callers_of_another_pid_namespace_are_told_apart_by_name(void **state)
{
    struct stale_opens *stale = *state;
    struct opener a = foreign(1, "a.json");
    begin(stale, a, 0);
    begin(stale, foreign(1, "b.json"), 0);
    look_up(stale, a, 44, "text of a", 1);
    look_up(stale, foreign(2, "a.json"), 45, "another directory", 1);
    look_up(stale, foreign(1, "b.json"), 46, "text of b", 1);
    assert_text(stale, foreign(2, "a.json"), 45, 2, NULL);
    assert_text(stale, a, 44, 2, "text of a");
    assert_text(stale, foreign(1, "b.json"), 46, 2, "text of b");
    look_up(stale, a, 44, "again", 2);
    stale_opens_end(stale, &a);
    assert_text(stale, a, 44, 3, NULL);
}

/* The entry may be another caller's. A later open reads what is stored then. */
static void a_shared_text_serves_for_a_moment(void **state)
{
    struct stale_opens *stale = *state;
    struct opener a = foreign(1, "a.json");
    begin(stale, a, 0);
    assert_false(has_begun(stale, a, 0)); /* so the next outdated open is answered ESTALE, too */
    look_up(stale, a, 44, "text", 5000);
    assert_text(stale, a, 44, 5000 + STALE_OPENS_SHARED_TEXT_MS, NULL);
    assert_text(stale, a, 44, 5000 + STALE_OPENS_SHARED_TEXT_MS - 1, "text");
}

/* 0: none is minted yet; UINT64_MAX: it wants no writer */
static uint64_t minted_for(struct stale_opens *stale, struct opener opener, int64_t now_ms)
{
    uint64_t minted;
    return stale_opens_is_writer(stale, &opener, now_ms, &minted) ? minted : UINT64_MAX;
}

static void wants_writer(struct stale_opens *stale, struct opener opener, int64_t now_ms)
{
    assert_int_equal(stale_opens_wants_writer(stale, &opener, now_ms), 0);
}

/* A LOOKUP: returns the node that it answers. */
static uint64_t mint(struct stale_opens *stale, struct opener opener, uint64_t node, int64_t now_ms)
{
    uint64_t before = minted_for(stale, opener, now_ms);
    assert_true(before != UINT64_MAX);
    return stale_opens_minted(stale, &opener, before, node, now_ms);
}

static void end_writer(struct stale_opens *stale, struct opener opener)
{
    stale_opens_end_writer(stale, &opener);
}

static void two_lookups_answer_the_node_that_the_first_minted(void **state)
{
    struct stale_opens *stale = *state;
    struct opener seven = opener(7);
    assert_true(minted_for(stale, seven, 0) == UINT64_MAX);
    wants_writer(stale, seven, 0);
    assert_true(minted_for(stale, opener(8), 1) == UINT64_MAX);
    assert_true(minted_for(stale, foreign(1, "f.json"), 1) == UINT64_MAX);
    assert_int_equal(minted_for(stale, seven, 1), 0);
    assert_int_equal(mint(stale, seven, 90, 1), 90);
    look_up(stale, seven, 90, "text", 1);
    assert_int_equal(minted_for(stale, seven, 2), 90);
    assert_text(stale, seven, 90, 3, "text");
    end_writer(stale, seven);
    assert_true(minted_for(stale, seven, 3) == UINT64_MAX);
    assert_false(has_begun(stale, seven, 3));
    end_writer(stale, seven);
}

/* The kernel has abandoned the open. Else two files would have one st_ino. */
static void another_name_gets_no_writer(void **state)
{
    struct stale_opens *stale = *state;
    struct opener seven = opener(7), other = {7, 1, B("g.json")}, elsewhere = {7, 2, B("f.json")};
    uint64_t minted;
    wants_writer(stale, seven, 0);
    assert_true(minted_for(stale, other, 1) == UINT64_MAX);
    assert_true(minted_for(stale, elsewhere, 1) == UINT64_MAX);
    assert_true(minted_for(stale, (struct opener){7, 1, B("f.jso")}, 1) == UINT64_MAX);
    assert_int_equal(stale_opens_minted(stale, &other, 0, 91, 1), 91);
    assert_int_equal(mint(stale, seven, 90, 2), 90); /* directories are looked up in between */
    assert_int_equal(minted_for(stale, seven, 2), 90);
    assert_int_equal(stale_opens_wants_writer(stale, &other, 3), 0);
    assert_true(minted_for(stale, seven, 3) == UINT64_MAX);
    assert_true(stale_opens_is_writer(stale, &other, 3, &minted));
    assert_int_equal(minted, 0);
    end_writer(stale, other);
}

/* The name under which the kernel has the file is not known before it is looked up. */
static void of_a_renamed_file_the_first_name_gets_a_writer(void **state)
{
    struct stale_opens *stale = *state;
    uint64_t minted;
    struct opener nameless = {7, 1, {0}}, other = {7, 2, B("g.json")};
    wants_writer(stale, nameless, 0);
    assert_true(stale_opens_is_writer(stale, &other, 0, &minted));
    assert_int_equal(minted, 0);
    assert_int_equal(stale_opens_minted(stale, &other, 0, 90, 0), 90);
    struct opener first = opener(7);
    assert_false(stale_opens_is_writer(stale, &first, 0, &minted));
    assert_true(stale_opens_is_writer(stale, &other, 0, &minted));
    assert_int_equal(minted, 90);
    end_writer(stale, other);
    assert_false(stale_opens_is_writer(stale, &other, 0, &minted));
}

static void threads_of_equal_ids_modulo_1024_get_their_writers(void **state)
{
    struct stale_opens *stale = *state;
    struct opener low = opener(7), high = opener(7 + 1024);
    wants_writer(stale, low, 0);
    wants_writer(stale, high, 0);
    assert_int_equal(mint(stale, low, 90, 1), 90);
    assert_int_equal(mint(stale, high, 91, 1), 91);
    assert_int_equal(minted_for(stale, low, 2), 90);
    end_writer(stale, low);
    assert_int_equal(minted_for(stale, high, 2), 91);
    end_writer(stale, high);
}

/* What a thread was answered last counts: a killed thread's id may be another thread's now. */
static void a_later_estale_begins_anew(void **state)
{
    struct stale_opens *stale = *state;
    struct opener seven = opener(7);
    wants_writer(stale, seven, 0);
    assert_int_equal(mint(stale, seven, 90, 1), 90);
    wants_writer(stale, seven, 2);
    assert_int_equal(minted_for(stale, seven, 2), 0);
    assert_int_equal(mint(stale, seven, 91, 3), 91);
    begin(stale, seven, 4);
    assert_true(minted_for(stale, seven, 4) == UINT64_MAX);
    assert_true(has_begun(stale, seven, 4));
    wants_writer(stale, seven, 5);
    stale_opens_end(stale, &seven); /* it opened something for reading */
    assert_true(minted_for(stale, seven, 5) == UINT64_MAX);
    wants_writer(stale, seven, 6);
    assert_true(minted_for(stale, seven, 6 + STALE_OPENS_KEPT_MS) == UINT64_MAX);
}

/* The kernel has forgotten the node that was minted first. */
static void a_node_that_is_gone_is_minted_again(void **state)
{
    struct stale_opens *stale = *state;
    struct opener seven = opener(7);
    uint64_t minted = 0;
    wants_writer(stale, seven, 0);
    assert_int_equal(mint(stale, seven, 90, 1), 90);
    assert_int_equal(stale_opens_minted(stale, &seven, 90, 91, 2), 91);
    assert_true(stale_opens_is_writer(stale, &seven, 2, &minted));
    assert_int_equal(minted_for(stale, seven, 2), 91);
    end_writer(stale, seven);
    assert_int_equal(stale_opens_minted(stale, &seven, 91, 92, 3), 92); /* it ended meanwhile */
}

/* Each of them keeps its writer until its own OPEN, and readers between them end nothing. */
static void callers_of_another_pid_namespace_share_a_writer(void **state)
{
    struct stale_opens *stale = *state;
    struct opener a = foreign(1, "a.json");
    wants_writer(stale, a, 0);
    wants_writer(stale, a, 0);
    uint64_t first = minted_for(stale, a, 1), second = minted_for(stale, a, 1);
    assert_int_equal(stale_opens_minted(stale, &a, first, 90, 1), 90);
    assert_int_equal(stale_opens_minted(stale, &a, second, 91, 1), 90); /* the first one stays */
    assert_true(minted_for(stale, foreign(1, "b.json"), 1) == UINT64_MAX);
    look_up(stale, a, 90, "text", 1);
    begin(stale, a, 2);
    stale_opens_end(stale, &a); /* a reader's */
    assert_text(stale, a, 90, 2, NULL);
    assert_int_equal(minted_for(stale, a, 2), 90);
    end_writer(stale, a);
    assert_int_equal(minted_for(stale, a, 3), 90);
    end_writer(stale, a);
    assert_true(minted_for(stale, a, 3) == UINT64_MAX);
}

static void without_memory_there_is_no_entry_or_no_text(void **state)
{
    (void)state;
    _cleanup_(stale_opens_destroyp) struct stale_opens *stale = NULL;
    allocations_until_failure = 1;
    assert_int_equal(stale_opens_create(&stale), -ENOMEM);
    assert_null(stale);
    stale = new_stale();
    allocations_until_failure = 1;
    begin(stale, opener(7), 0);
    assert_false(has_begun(stale, opener(7), 0));
    allocations_until_failure = 1;
    assert_int_equal(stale_opens_wants_writer(stale, &(struct opener){.thread = 8}, 0), -ENOMEM);
    assert_true(minted_for(stale, opener(8), 0) == UINT64_MAX);
    begin(stale, opener(7), 0);
    _cleanup_(entity_finish) struct entity entity = entity_of("text");
    struct opener seven = opener(7);
    allocations_until_failure = 1;
    (void)stale_opens_looked_up(stale, &seven, 44, &entity, 1);
    assert_int_equal(allocations_until_failure, 0);
    assert_text(stale, seven, 44, 2, NULL);
}

struct thread {
    struct stale_opens *stale;
    pid_t id;
};

static void *open_again_and_again(void *argument)
{
    struct thread *self = argument;
    struct opener own = opener(self->id), shared = foreign(1, "shared.json");
    for (int i = 0; i < 3000; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d %d", (int)self->id, i);
        begin(self->stale, own, i);
        begin(self->stale, shared, i);
        look_up(self->stale, own, 44, text, i);
        look_up(self->stale, shared, 45, "shared", i);
        assert_text(self->stale, own, 44, i, text);
        stale_opens_end(self->stale, &own);
        stale_opens_end(self->stale, &shared);
    }
    return NULL;
}

/* Two threads whose ids are equal modulo 1,024, and callers with thread id 0 between them. */
static void *open_for_writing_again_and_again(void *argument)
{
    struct thread *self = argument;
    struct opener own = opener(self->id), shared = foreign(1, "shared.json");
    for (int i = 0; i < 3000; i++) {
        uint64_t node = (uint64_t)self->id << 32 | (unsigned)i;
        wants_writer(self->stale, own, i);
        wants_writer(self->stale, shared, i);
        assert_int_equal(minted_for(self->stale, own, i), 0);
        assert_true(mint(self->stale, own, node, i) == node);
        assert_true(minted_for(self->stale, own, i) == node);
        assert_true(mint(self->stale, shared, node, i) != 0);
        assert_true(minted_for(self->stale, shared, i) != UINT64_MAX);
        end_writer(self->stale, shared);
        end_writer(self->stale, own);
        assert_true(minted_for(self->stale, own, i) == UINT64_MAX);
    }
    return NULL;
}

static void share_it(void *(*body)(void *argument))
{
    struct thread threads[4];
    _cleanup_(stale_opens_destroyp) struct stale_opens *stale = new_stale();
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        threads[i] = (struct thread){.stale = stale, .id = (pid_t)(7 + 1024 * i)};
    run_in_threads(ARRAY_SIZE(threads), body, threads, sizeof(threads[0]));
    assert_true(minted_for(stale, foreign(1, "shared.json"), 0) == UINT64_MAX);
}

static void threads_that_write_do_not_disturb_each_other(void **state)
{
    (void)state;
    share_it(open_for_writing_again_and_again);
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    share_it(open_again_and_again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_looked_up_after_an_estale_is_opened_once),
        TEST_WITH(stale_opens, a_thread_is_known_by_its_id_alone),
        TEST_WITH(stale_opens, no_thread_loses_its_text_to_another),
        TEST_WITH(stale_opens, beyond_the_maximum_the_oldest_entry_ends),
        TEST_WITH(stale_opens, an_entry_that_is_not_used_ends),
        TEST_WITH(stale_opens, callers_of_another_pid_namespace_are_told_apart_by_name),
        TEST_WITH(stale_opens, a_shared_text_serves_for_a_moment),
        TEST_WITH(stale_opens, two_lookups_answer_the_node_that_the_first_minted),
        TEST_WITH(stale_opens, another_name_gets_no_writer),
        TEST_WITH(stale_opens, of_a_renamed_file_the_first_name_gets_a_writer),
        TEST_WITH(stale_opens, threads_of_equal_ids_modulo_1024_get_their_writers),
        TEST_WITH(stale_opens, a_later_estale_begins_anew),
        TEST_WITH(stale_opens, a_node_that_is_gone_is_minted_again),
        TEST_WITH(stale_opens, callers_of_another_pid_namespace_share_a_writer),
        cmocka_unit_test(without_memory_there_is_no_entry_or_no_text),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(threads_that_write_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
