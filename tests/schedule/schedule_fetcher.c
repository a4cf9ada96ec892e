/* SPDX-License-Identifier: MIT */
/* Flights in every order: schedule_fetcher [SEED [COUNT]].
 *
 * Threads fetch ranges of one partition from a service that is slow, fails now and then, and whose
 * rows change meanwhile; some callers are cancelled. A caller that accepts only answers to requests
 * sent from now on never gets an older version, whichever flight brings it, and sends one request
 * at most. In a third of the runs time may pass at any moment. In another third no operation takes
 * time and no caller is cancelled, and time must not pass: a thread that misses its wakeup is
 * found. */
#include "cache/known/fetcher.h"
#include "tests/schedule/schedule.h"
#include "tests/stores/memory_store.h"

#include <pthread.h>

#define THREADS   4
#define ROUNDS    3
#define ROWS      4
#define WRITES    6
#define CACHE_MAX ((size_t)1 << 20)

struct test;

struct asker {
    struct test *test;
    pthread_t thread;
    bool is_cancelled;
};

static struct test { /* the store's hook has no context */
    struct memory_store *memory;
    _Atomic uint64_t orders;
    struct range_cache *cache;
    struct fetcher *fetcher;
    struct asker askers[THREADS];
    int64_t versions[ROWS]; /* as the service has them: a row's text is its version */
    int64_t last_version;
    size_t fetches;
    bool takes_time;
} test;

static const struct range ranges[] = {
    {BYTES_LITERAL("p\0"), BYTES_LITERAL("p\x01")},
    {BYTES_LITERAL("p\0"), BYTES_LITERAL("p\0r2")},
    {BYTES_LITERAL("p\0r1"), BYTES_LITERAL("p\x01")},
    {BYTES_LITERAL("p\0r1"), BYTES_LITERAL("p\0r1\x01")}, /* one row */
};

static void wait_some_time(uint64_t most_ms)
{
    if (test.takes_time)
        clock_system.sleep_ms(NULL, (int64_t)schedule_random(most_ms + 1));
    else
        for (uint64_t steps = schedule_random(8); steps > 0; steps--)
            schedule_step();
}

/* Before the service answers. */
static int be_slow(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    wait_some_time(100);
    if (call_is_cancelled(call))
        return call_fail(call, -EINTR, "interrupted");
    return schedule_random(8) == 0 ? call_fail(call, -EIO, "the service fails") : 0;
}

static void write_row(size_t row)
{
    char position[] = "p\0r0", text[24];
    position[3] = (char)('0' + row);
    int size = snprintf(text, sizeof(text), "%lld", (long long)++test.last_version);
    memory_store_write(test.memory, &(struct write){.kind = WRITE_UPSERT_REPLACE,
                                                    .position = {position, 4},
                                                    .text = {text, (size_t)size}});
    test.versions[row] = test.last_version;
}

static bool is_cancelled(void *context)
{
    return ((struct asker *)context)->is_cancelled;
}

/* No row is older than `oldest`, and none is missing. */
static void check_page(const struct page *page, const int64_t oldest[ROWS])
{
    struct range range = page_range(page);
    size_t found = 0, expected = 0;
    for (size_t row = 0; row < ROWS; row++) {
        char position[] = "p\0r0";
        position[3] = (char)('0' + row);
        expected += range_holds(range, (struct bytes){position, 4});
    }
    for (size_t i = 0; i < page_rows(page); i++) {
        uint64_t version;
        size_t row = (size_t)(page_position(page, i).data[3] - '0');
        SCHEDULE_CHECK(bytes_parse_unsigned(page_text(page, i), INT32_MAX, &version));
        SCHEDULE_CHECK((int64_t)version >= oldest[row] && version <= INT32_MAX);
        found++;
    }
    SCHEDULE_CHECK(found == expected);
}

static void fetch_once(struct asker *asker)
{
    static const int64_t any[ROWS];
    int64_t now_ms = clock_now_ms(&clock_system), oldest[ROWS];
    bool is_fresh = schedule_random(2) == 0, is_own = false;
    struct stamp since =
        is_fresh ? stamp_from_now(&test.orders, now_ms) : stamp_since(now_ms - 1000000);
    memcpy(oldest, test.versions, sizeof(oldest));
    struct fetch fetch = {.table = "t", .range = ranges[schedule_random(ARRAY_SIZE(ranges))]};
    fetch.top = 1 + (int)schedule_random(ROWS);
    fetch.is_alone = schedule_random(8) == 0;
    fetch.is_ahead = schedule_random(4) == 0;
    struct caller caller = {
        .call = {.deadline_ms = now_ms + 1000000, .is_cancelled = is_cancelled, .context = asker},
        .process = schedule_random(3),
        .patience_ms = 1000000};
    struct page *page = NULL;
    test.fetches++;
    int r = fetcher_fetch(test.fetcher, &caller, &fetch, since, &page, &is_own);
    SCHEDULE_CHECK(r == caller.call.failure.error);
    SCHEDULE_CHECK(r == 0 || r == -EIO || (r == -EINTR && asker->is_cancelled));
    SCHEDULE_CHECK((r == 0) == (page != NULL));
    if (page) {
        SCHEDULE_CHECK(bytes_compare(page_range(page).lo, fetch.range.lo) <= 0);
        check_page(page, is_fresh ? oldest : any);
    }
    asker->is_cancelled = false;
    page_unref(page);
}

static void *fetch_again_and_again(void *context)
{
    struct asker *asker = context;
    for (int i = 0; i < ROUNDS; i++) {
        if (schedule_random(3) == 0)
            wait_some_time(60);
        fetch_once(asker);
    }
    return NULL;
}

static void body(void *context)
{
    (void)context;
    struct fetcher_source source = {.store = &test.memory->store,
                                    .cache = test.cache,
                                    .clock = &clock_system,
                                    .orders = &test.orders,
                                    .ttl_ms = 1000000};
    SCHEDULE_CHECK(fetcher_create(&source, &test.fetcher) == 0);
    for (size_t i = 0; i < THREADS; i++)
        SCHEDULE_CHECK(pthread_create(&test.askers[i].thread, NULL, fetch_again_and_again,
                                      &test.askers[i]) == 0);
    for (int i = 0; i < WRITES; i++) {
        wait_some_time(60);
        write_row(schedule_random(ROWS));
        if (test.takes_time && schedule_random(2) == 0)
            test.askers[schedule_random(THREADS)].is_cancelled = true;
    }
    for (size_t i = 0; i < THREADS; i++)
        SCHEDULE_CHECK(pthread_join(test.askers[i].thread, NULL) == 0);
    SCHEDULE_CHECK(test.memory->asked <= test.fetches);
    fetcher_destroy(test.fetcher);
}

static void run(uint64_t seed)
{
    struct schedule_outcome outcome;
    test = (struct test){.memory = memory_store_create(), .takes_time = seed % 3 != 0};
    memory_store_add_table(test.memory, "t");
    for (size_t row = 0; row < ROWS; row++)
        write_row(row);
    test.memory->fault = be_slow;
    if (range_cache_create(CACHE_MAX, &test.cache) < 0)
        exit(1);
    struct schedule_options options = {.seed = seed, .is_time_free = seed % 3 == 1};
    schedule_run(&options, body, NULL, &outcome);
    if (!test.takes_time && outcome.elapsed_ms > 0)
        schedule_fail("a thread waited until time passed");
    range_cache_destroy(test.cache);
    table_store_destroy(&test.memory->store);
}

int main(int argc, char **argv)
{
    return schedule_main(argc, argv, run);
}
