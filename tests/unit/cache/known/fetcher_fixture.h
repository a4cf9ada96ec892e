/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_KNOWN_FETCHER_FIXTURE_H
#define TESTS_UNIT_CACHE_KNOWN_FETCHER_FIXTURE_H
/* What the tests of the reader share: what they fetch, what is known afterwards, and threads that
 * fetch. */
#include "tests/unit/fetching.h"

#define PARTITION ((struct range){B("p\0"), B("p\x01")})
#define ROW(key)  ((struct range){B("p\0" key), B("p\0" key "\x01")})
#define TABLE_T   ((struct range){B("t"), B("t\x01")}) /* in the list of tables */

static inline struct fetch fetch_of(struct range range, int top)
{
    return (struct fetch){.table = "t", .range = range, .top = top};
}

/* A fetch by a caller that sends the request itself: it joins no flight. */
static inline int fetch_page(struct fetching *fetching, const struct fetch *fetch,
                             struct page **ret)
{
    struct caller caller = fetching_caller(fetching);
    bool is_own = false;
    int r = fetcher_fetch(fetching->fetcher, &caller, fetch, fetching_since_ttl(fetching), ret,
                          &is_own);
    assert_true(r < 0 || is_own);
    assert_int_equal(caller.call.failure.error, r);
    assert_null(caller.call.observer);
    return r;
}

static inline size_t fetch_rows(struct fetching *fetching, const struct fetch *fetch)
{
    struct page *page;
    assert_int_equal(fetch_page(fetching, fetch, &page), 0);
    size_t rows = page_rows(page);
    assert_true(range_holds(page_range(page), fetch->range.lo));
    page_unref(page);
    return rows;
}

static inline void assert_known(struct fetching *fetching, const char *table, struct range range,
                                bool keys_suffice, int known)
{
    struct question question = {table, range, fetching_since_ttl(fetching), keys_suffice};
    _cleanup_(buffer_finish) struct buffer position = {.max = 1000};
    int64_t requested_ms;
    assert_int_equal(fetching_known(fetching, &question, &position, &requested_ms), known);
}

/* A thread that fetches. */
struct asker {
    struct fetching *fetching;
    struct fetch fetch;
    struct stamp since;
    struct caller caller;
    pthread_t thread;
    struct page *page;
    _Atomic size_t looks; /* how often it has looked whether it is cancelled */
    int result;
    _Atomic bool is_cancelled, is_back;
    bool is_own;
};

static inline bool asker_is_cancelled(void *context)
{
    struct asker *asker = context;
    atomic_fetch_add(&asker->looks, 1);
    return atomic_load(&asker->is_cancelled);
}

static inline void *asker_run(void *context)
{
    struct asker *asker = context;
    asker->result = fetcher_fetch(asker->fetching->fetcher, &asker->caller, &asker->fetch,
                                  asker->since, &asker->page, &asker->is_own);
    atomic_store(&asker->is_back, true);
    return NULL;
}

static inline void asker_start_of(struct asker *asker, struct fetching *fetching,
                                  struct fetch fetch, struct stamp since, uint64_t process)
{
    *asker = (struct asker){.fetching = fetching, .fetch = fetch, .since = since};
    asker->caller = fetching_caller(fetching);
    asker->caller.process = process;
    asker->caller.call.is_cancelled = asker_is_cancelled;
    asker->caller.call.context = asker;
    assert_int_equal(pthread_create(&asker->thread, NULL, asker_run, asker), 0);
}

/* Of no process. */
static inline void asker_start(struct asker *asker, struct fetching *fetching, struct fetch fetch,
                               struct stamp since)
{
    asker_start_of(asker, fetching, fetch, since, 0);
}

/* Until the asker has seen what there is now, and goes on waiting: it looks again and again. */
static inline void wait_for_looks(struct asker *asker)
{
    size_t looks = atomic_load(&asker->looks);
    while (atomic_load(&asker->looks) < looks + 2)
        (void)usleep(500);
}

static inline int asker_end(struct asker *asker)
{
    assert_int_equal(pthread_join(asker->thread, NULL), 0);
    if (asker->result == 0)
        assert_int_equal(asker->caller.call.failure.error, 0);
    page_unref(asker->page);
    return asker->result;
}

#endif
