/* SPDX-License-Identifier: MIT */
/* The states of a chunk, and a chunk whose waiting pages were dropped: it goes on from their first
 * row like any other chunk. The invariants hold after each step. */
#include "cache/scan/chunk.h"
#include "tests/stores/memory_store.h"
#include "tests/unit/unit.h"

static void assert_runs_are_counted(const struct chunk *chunk)
{
    size_t pages = 0, rows = 0, bytes = 0;
    struct bytes last = B("");
    const struct waiting_run *waiting;
    TAILQ_FOREACH(waiting, &chunk->runs, link)
    {
        const struct run *run = &waiting->run;
        assert_true(run->begin < run->end);
        assert_true(bytes_compare(last, page_position(run->page, run->begin)) <= 0);
        last = page_position(run->page, run->end - 1);
        pages++;
        rows += run->end - run->begin;
        bytes += page_bytes(run->page);
    }
    assert_int_equal(pages, chunk->waiting_pages);
    assert_int_equal(rows, chunk->waiting_rows);
    assert_int_equal(bytes, chunk->waiting_bytes);
    assert_true(rows <= chunk->rows);
    assert_true(pages == 0 || bytes_compare(last, buffer_bytes(&chunk->cursor)) < 0);
}

/* What the table of states says holds, and the counts do. */
static void assert_is_sound(const struct chunk *chunk)
{
    int order = bytes_compare(buffer_bytes(&chunk->cursor), buffer_bytes(&chunk->end));
    if (chunk->state == CHUNK_DONE) {
        assert_int_equal(order, 0);
        assert_null(chunk->token);
    } else {
        assert_true(order < 0);
    }
    assert_runs_are_counted(chunk);
}

/* Rows 00 to 39 of partition "p", and a chunk of all that it may hold. */
static void set_up(struct memory_store **ret_memory, struct chunk **ret)
{
    *ret_memory = memory_store_create();
    for (int i = 0; i < 40; i++) {
        char row[8];
        (void)snprintf(row, sizeof(row), "%02d", i);
        memory_store_add_strings(*ret_memory, "p", row);
    }
    assert_int_equal(chunk_create((struct range){B("p\0"), B("p\1")}, ret), 0);
}

/* A page of ten. */
static struct run read_page(struct memory_store *memory, struct chunk *chunk)
{
    struct query query = {.table = "t", .top = 10};
    struct call call = {.deadline_ms = INT64_MAX};
    struct answer answer = {0};
    struct run run = {0};
    assert_int_equal(chunk_request(chunk, &query.range), 0);
    assert_is_sound(chunk);
    query.after = chunk->token;
    assert_int_equal(table_store_query(&memory->store, &query, &call, &answer), 0);
    assert_int_equal(chunk_add_answer(chunk, &answer, &run), 0);
    assert_is_sound(chunk);
    return run;
}

static void take_page(struct chunk *chunk, struct bytes first)
{
    struct run run = {0};
    assert_true(chunk_take(chunk, &run));
    assert_is_sound(chunk);
    assert_bytes(page_position(run.page, run.begin), first);
    assert_int_equal(run.end - run.begin, 10);
    run_finish(&run);
}

static void dropped_pages_are_read_again_from_their_first_row(void **state)
{
    (void)state;
    struct memory_store *memory;
    struct chunk *chunk;
    struct range range;
    set_up(&memory, &chunk);
    for (int i = 0; i < 3; i++)
        (void)read_page(memory, chunk);
    take_page(chunk, B("p\0"
                       "00"));
    assert_true(chunk_drop_waiting(chunk));
    assert_is_sound(chunk);
    assert_int_equal(chunk->waiting_rows, 0);
    assert_int_equal(chunk->waiting_bytes, 0);
    assert_int_equal(chunk_request(chunk, &range), 0);
    assert_bytes(range.lo, B("p\0"
                             "10"));
    assert_bytes(range.hi, B("p\1"));
    assert_null(chunk->token);
    chunk_give_back(chunk);
    (void)read_page(memory, chunk);
    take_page(chunk, B("p\0"
                       "10"));
    chunk_destroy(chunk);
    table_store_destroy(&memory->store);
}

static void nothing_is_dropped_where_nothing_waits(void **state)
{
    (void)state;
    struct memory_store *memory;
    struct chunk *chunk;
    set_up(&memory, &chunk);
    assert_false(chunk_drop_waiting(chunk));
    chunk_destroy(chunk);
    table_store_destroy(&memory->store);
}

/* Rows 00 to 39, split at 15: each part shows its own rows, and both join to one. */
static void parts_are_read_alone_and_joined(void **state)
{
    (void)state;
    struct memory_store *memory;
    struct chunk *chunk, *behind;
    set_up(&memory, &chunk);
    (void)read_page(memory, chunk);
    assert_int_equal(chunk_split(chunk,
                                 B("p\0"
                                   "15"),
                                 &behind),
                     0);
    assert_is_sound(chunk);
    assert_is_sound(behind);
    struct run run = read_page(memory, chunk);
    assert_int_equal(run.end - run.begin, 5);
    assert_int_equal(chunk->state, CHUNK_DONE);
    while (behind->state != CHUNK_DONE)
        (void)read_page(memory, behind);
    chunk_join(chunk, behind);
    assert_is_sound(chunk);
    assert_int_equal(chunk->waiting_rows, 40);
    assert_int_equal(chunk->rows, 40);
    chunk_destroy(behind);
    chunk_destroy(chunk);
    table_store_destroy(&memory->store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropped_pages_are_read_again_from_their_first_row),
        cmocka_unit_test(parts_are_read_alone_and_joined),
        cmocka_unit_test(nothing_is_dropped_where_nothing_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
