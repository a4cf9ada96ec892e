#include "fs/tree/stale_opens.h"
#include "tests/unit/unit.h"

#include "tests/unit/failing_memory.h"

#include <pthread.h>

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
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    struct page *page;
    assert_int_equal(page_builder_create(1000, &builder), 0);
    (void)buffer_append_string(page_builder_text(builder), text);
    assert_int_equal(page_builder_end_row(builder, B("p\0r"), B("e"), 1), 0);
    assert_int_equal(page_builder_finish(builder, RANGE_ALL, false, &page), 0);
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

/* The name may be another one by now: a thread has one entry. */
static void a_thread_is_known_by_its_id_alone(void **state)
{
    (void)state;
    struct stale_opens *stale = new_stale();
    begin(stale, (struct opener){7, 1, B("old.json")}, 0);
    look_up(stale, (struct opener){7, 2, B("new.json")}, 44, "text", 1);
    assert_text(stale, (struct opener){7, 2, B("new.json")}, 44, 2, "text");
    stale_opens_destroy(stale);
}

/* Neither to a thread whose id is equal modulo 1,024. */
static void no_thread_loses_its_text_to_another(void **state)
{
    (void)state;
    struct stale_opens *stale = new_stale();
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
    stale_opens_destroy(stale);
}

static void beyond_the_maximum_the_oldest_entry_ends(void **state)
{
    (void)state;
    struct stale_opens *stale = new_stale();
    for (pid_t thread = 1; thread <= STALE_OPENS_MAX; thread++)
        begin(stale, opener(thread), 0);
    begin(stale, opener(1), 1); /* again: it is the youngest now */
    begin(stale, opener(STALE_OPENS_MAX + 1), 1);
    for (pid_t thread = 1; thread <= STALE_OPENS_MAX + 1; thread++)
        assert_int_equal(has_begun(stale, opener(thread), 1), thread != 2);
    stale_opens_destroy(stale);
}

static void an_entry_that_is_not_used_ends(void **state)
{
    (void)state;
    struct stale_opens *stale = new_stale();
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
    stale_opens_destroy(stale);
}

/* Their thread id is 0. They are told apart by what they open. */
static void callers_of_another_pid_namespace_are_told_apart_by_name(void **state)
{
    (void)state;
    struct stale_opens *stale = new_stale();
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
    stale_opens_destroy(stale);
}

/* The entry may be another caller's. A later open reads what is stored then. */
static void a_shared_text_serves_for_a_moment(void **state)
{
    (void)state;
    struct stale_opens *stale = new_stale();
    struct opener a = foreign(1, "a.json");
    begin(stale, a, 0);
    assert_false(has_begun(stale, a, 0)); /* so the next outdated open is answered ESTALE, too */
    look_up(stale, a, 44, "text", 5000);
    assert_text(stale, a, 44, 5000 + STALE_OPENS_SHARED_TEXT_MS, NULL);
    assert_text(stale, a, 44, 5000 + STALE_OPENS_SHARED_TEXT_MS - 1, "text");
    stale_opens_destroy(stale);
}

static void without_memory_there_is_no_entry_or_no_text(void **state)
{
    (void)state;
    struct stale_opens *stale = NULL;
    allocations_until_failure = 1;
    assert_int_equal(stale_opens_create(&stale), -ENOMEM);
    assert_null(stale);
    stale = new_stale();
    allocations_until_failure = 1;
    begin(stale, opener(7), 0);
    assert_false(has_begun(stale, opener(7), 0));
    begin(stale, opener(7), 0);
    _cleanup_(entity_finish) struct entity entity = entity_of("text");
    struct opener seven = opener(7);
    allocations_until_failure = 1;
    (void)stale_opens_looked_up(stale, &seven, 44, &entity, 1);
    assert_int_equal(allocations_until_failure, 0);
    assert_text(stale, seven, 44, 2, NULL);
    stale_opens_destroy(stale);
}

struct thread {
    pthread_t thread;
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

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct thread threads[4];
    struct stale_opens *stale = new_stale();
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        threads[i] = (struct thread){.stale = stale, .id = (pid_t)(7 + 1024 * i)};
        assert_int_equal(
            pthread_create(&threads[i].thread, NULL, open_again_and_again, &threads[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
    stale_opens_destroy(stale);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_looked_up_after_an_estale_is_opened_once),
        cmocka_unit_test(a_thread_is_known_by_its_id_alone),
        cmocka_unit_test(no_thread_loses_its_text_to_another),
        cmocka_unit_test(beyond_the_maximum_the_oldest_entry_ends),
        cmocka_unit_test(an_entry_that_is_not_used_ends),
        cmocka_unit_test(callers_of_another_pid_namespace_are_told_apart_by_name),
        cmocka_unit_test(a_shared_text_serves_for_a_moment),
        cmocka_unit_test(without_memory_there_is_no_entry_or_no_text),
        cmocka_unit_test(threads_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
