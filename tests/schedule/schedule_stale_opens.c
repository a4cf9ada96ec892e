/* SPDX-License-Identifier: MIT */
/* Repeated opens in every order: schedule_stale_opens [SEED [COUNT]].
 *
 * Each thread is answered ESTALE, looks the name up once or twice, and opens it: it finds the text
 * of its own last lookup. Between them each opens a name as a caller of another pid namespace,
 * whose text may be any caller's. Some open for writing: from its ESTALE to its OPEN each of them
 * wants a writer, and all its lookups answer one node, which is shared only by callers of another
 * pid namespace. */
#include "fs/tree/stale_opens.h"
#include "tests/schedule/schedule.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS  4
#define NODE    44
#define MOST    UINT64_C(16) /* THREADS * ROUNDS */

struct test;

struct opening {
    struct test *test;
    pthread_t thread;
    pid_t id;
};

struct test {
    struct stale_opens *stale;
    struct opening openings[THREADS];
};

static struct entity entity_of(int number)
{
    char text[16];
    int size = snprintf(text, sizeof(text), "%d", number);
    struct page_builder *builder;
    struct page *page;
    SCHEDULE_CHECK(page_builder_create(100, &builder) == 0);
    (void)buffer_append(page_builder_text(builder), (struct bytes){text, (size_t)size});
    SCHEDULE_CHECK(page_builder_end_row(builder, BYTES_LITERAL("p\0r"), BYTES_LITERAL("e"), 1) ==
                   0);
    SCHEDULE_CHECK(page_builder_finish(builder, RANGE_ALL, false, &page) == 0);
    page_builder_destroy(builder);
    return (struct entity){page, 0};
}

static uint64_t number_of(const struct entity *entity)
{
    uint64_t number = 0;
    SCHEDULE_CHECK(bytes_parse_unsigned(page_text(entity->page, entity->row), INT32_MAX, &number));
    return number;
}

static void look_up(struct stale_opens *stale, const struct opener *opener, int number)
{
    struct entity entity = entity_of(number);
    SCHEDULE_CHECK(stale_opens_looked_up(stale, opener, NODE, &entity, 0) == 0);
    entity_finish(&entity);
}

static void open_as(struct opening *opening, const struct opener *opener, int number)
{
    struct stale_opens *stale = opening->test->stale;
    struct entity found = {0};
    bool is_own = opener->thread != 0;
    SCHEDULE_CHECK(stale_opens_begin(stale, opener, 0) == 0);
    SCHEDULE_CHECK(stale_opens_has_begun(stale, opener, 0) == is_own);
    if (schedule_random(2) == 0)
        look_up(stale, opener, 0);
    look_up(stale, opener, number);
    bool is_found = stale_opens_take_text(stale, opener, NODE, 0, &found);
    SCHEDULE_CHECK(is_found || !is_own);
    SCHEDULE_CHECK(!is_own || number_of(&found) == (uint64_t)number);
    SCHEDULE_CHECK(!is_found || number_of(&found) <= MOST);
    entity_finish(&found);
    stale_opens_end(stale, opener);
}

static uint64_t minted_for(struct stale_opens *stale, const struct opener *opener)
{
    uint64_t minted = 0;
    SCHEDULE_CHECK(stale_opens_is_writer(stale, opener, 0, &minted));
    return minted;
}

static void write_as(struct opening *opening, const struct opener *opener, uint64_t node)
{
    struct stale_opens *stale = opening->test->stale;
    bool is_own = opener->thread != 0;
    SCHEDULE_CHECK(stale_opens_wants_writer(stale, opener, 0) == 0);
    uint64_t before = minted_for(stale, opener);
    SCHEDULE_CHECK(before == 0 || !is_own);
    uint64_t minted = before != 0 ? before : stale_opens_minted(stale, opener, 0, node, 0);
    SCHEDULE_CHECK(minted == node || !is_own);
    SCHEDULE_CHECK(minted_for(stale, opener) == minted);
    stale_opens_end_writer(stale, opener);
    uint64_t left;
    SCHEDULE_CHECK(!is_own || !stale_opens_is_writer(stale, opener, 0, &left));
}

static void *open_again_and_again(void *context)
{
    struct opening *opening = context;
    struct opener own = {opening->id, 1, BYTES_LITERAL("f.json")};
    struct opener shared = {0, 1, BYTES_LITERAL("f.json")};
    for (int i = 1; i <= ROUNDS; i++) {
        const struct opener *opener = schedule_random(3) == 0 ? &shared : &own;
        if (schedule_random(2) == 0)
            open_as(opening, opener, i * opening->id);
        else
            write_as(opening, opener, (uint64_t)opening->id * 100 + (uint64_t)i);
    }
    return NULL;
}

static void body(void *context)
{
    struct test *test = context;
    SCHEDULE_CHECK(stale_opens_create(&test->stale) == 0);
    for (int i = 0; i < THREADS; i++) {
        struct opening *opening = &test->openings[i];
        *opening = (struct opening){.test = test, .id = i + 1};
        SCHEDULE_CHECK(pthread_create(&opening->thread, NULL, open_again_and_again, opening) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        SCHEDULE_CHECK(pthread_join(test->openings[i].thread, NULL) == 0);
    stale_opens_destroy(test->stale);
}

static void run(uint64_t seed)
{
    struct test test = {0};
    struct schedule_outcome outcome;
    schedule_run(&(struct schedule_options){.seed = seed}, body, &test, &outcome);
}

int main(int argc, char **argv)
{
    return schedule_main(argc, argv, run);
}
