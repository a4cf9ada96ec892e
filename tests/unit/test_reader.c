#include "cache/read/table_page.h"
#include "tests/unit/fetching.h"

#define PARTITION ((struct range){B("p\0"), B("p\x01")})
#define ASKERS    8

static struct fetch fetch_of(struct range range, int top)
{
    return (struct fetch){.table = "t", .range = range, .top = top};
}

/* One fetch for which the caller waits for nobody. */
static int fetch_page(struct fetching *fetching, const struct fetch *fetch, struct page **ret)
{
    struct caller caller = fetching_caller(fetching);
    bool is_own = false;
    int r =
        reader_fetch(fetching->reader, &caller, fetch, fetching_since_ttl(fetching), ret, &is_own);
    assert_true(r < 0 || is_own);
    assert_int_equal(caller.call.failure.error, r);
    return r;
}

static size_t fetch_rows(struct fetching *fetching, const struct fetch *fetch)
{
    struct page *page;
    assert_int_equal(fetch_page(fetching, fetch, &page), 0);
    size_t rows = page_rows(page);
    assert_true(range_holds(page_range(page), fetch->range.lo));
    page_unref(page);
    return rows;
}

static void assert_known(struct fetching *fetching, const char *table, struct range range,
                         bool keys_suffice, int known)
{
    struct question question = {table, range, fetching_since_ttl(fetching), keys_suffice};
    struct buffer position;
    int64_t asked_ms;
    buffer_init(&position, 1000);
    assert_int_equal(fetching_known(fetching, &question, &position, &asked_ms), known);
    buffer_finish(&position);
}

/* As of when the cache answers what begins at lo. */
static int64_t asked_ms_at(struct fetching *fetching, struct bytes lo)
{
    struct question question = {"t", {lo, B("p\x01")}, stamp_since(0), false};
    struct buffer position;
    int64_t asked_ms = -1;
    buffer_init(&position, 1000);
    assert_int_equal(fetching_known(fetching, &question, &position, &asked_ms), KNOWN_ROWS);
    buffer_finish(&position);
    return asked_ms;
}

static const struct range table_t = {B("t"), B("t\x01")};

static void a_page_is_asked_for_once_and_kept(void **state)
{
    (void)state;
    struct fetching fetching;
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 2500);
    struct fetch fetch = fetch_of(PARTITION, 1000);
    assert_known(&fetching, "t", PARTITION, true, KNOWN_NOT);
    assert_known(&fetching, NULL, table_t, true, KNOWN_NOT);
    assert_int_equal(fetch_rows(&fetching, &fetch), 1000);
    assert_int_equal(fetching.memory->asked, 1);
    assert_request(&fetching, 1, ASKED_QUERY, PARTITION, 1000);
    assert_false(fetching.memory->diary[0].keys_only);
    assert_known(&fetching, "t", PARTITION, false, KNOWN_ROWS);
    assert_known(&fetching, NULL, table_t, false, KNOWN_ROWS); /* it answered: so it is there */
    assert_known(&fetching, "u", PARTITION, true, KNOWN_NOT);
    struct reader_stats stats;
    reader_stats(fetching.reader, &stats);
    assert_int_equal(stats.flights, 1);
    assert_int_equal(stats.joined, 0);
    fetching_tear_down(&fetching);
}

static void keys_are_asked_for_alone(void **state)
{
    (void)state;
    struct fetching fetching;
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 3);
    struct fetch fetch = fetch_of(PARTITION, 1000);
    fetch.keys_only = true;
    assert_int_equal(fetch_rows(&fetching, &fetch), 3);
    assert_true(fetching.memory->diary[0].keys_only);
    assert_known(&fetching, "t", PARTITION, true, KNOWN_ROWS);
    assert_known(&fetching, "t", PARTITION, false, KNOWN_NOT);
    fetching_tear_down(&fetching);
}

#define ROW(key) ((struct range){B("p\0" key), B("p\0" key "\x01")})

static void one_row_is_got_by_itself(void **state)
{
    (void)state;
    struct fetching fetching;
    fetching_set_up(&fetching, (struct fetching_options){0});
    memory_store_add_strings(fetching.memory, "p", "");
    fetching_add_rows(&fetching, "p", 3);
    struct fetch fetch = fetch_of(ROW("00001"), 1);
    assert_int_equal(fetch_rows(&fetching, &fetch), 1);
    assert_request(&fetching, 1, ASKED_GET, (struct range){fetch.range.lo, fetch.range.lo}, 0);
    assert_known(&fetching, "t", ROW("00001"), false, KNOWN_ROWS);
    assert_known(&fetching, "t", ROW("00002"), false, KNOWN_NOT);
    fetch.range = ROW(""); /* the empty RowKey's begins where its partition does */
    assert_int_equal(fetch_rows(&fetching, &fetch), 1);
    assert_request(&fetching, 2, ASKED_GET, (struct range){B("p\0"), B("p\0")}, 0);
    fetching_tear_down(&fetching);
}

static void one_row_that_is_not_there_is_known(void **state)
{
    (void)state;
    struct fetching fetching;
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 1);
    struct fetch fetch = fetch_of(ROW("00001"), 1);
    assert_int_equal(fetch_rows(&fetching, &fetch), 0);
    assert_int_equal(fetching.memory->asked, 1);
    assert_known(&fetching, "t", ROW("00001"), false, KNOWN_EMPTY);
    assert_known(&fetching, NULL, table_t, false, KNOWN_ROWS);
    fetching_tear_down(&fetching);
}

static void what_is_no_single_text_is_queried(void **state)
{
    (void)state;
    static const struct range partitions = {B("p"), B("p\x01")};
    struct fetching fetching;
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 3);
    struct fetch fetches[] = {fetch_of(partitions, 1), fetch_of(ROW("00001"), 2),
                              fetch_of(ROW("00001"), 1)};
    fetches[2].keys_only = true;
    for (size_t i = 0; i < ARRAY_SIZE(fetches); i++) {
        assert_int_equal(fetch_rows(&fetching, &fetches[i]), 1);
        assert_request(&fetching, i + 1, ASKED_QUERY, fetches[i].range, fetches[i].top);
    }
    fetching_tear_down(&fetching);
}

static void a_table_that_is_gone_is_forgotten(void **state)
{
    (void)state;
    static const char *const faults[] = {"fail=query:2:404:TableNotFound",
                                         "fail=get:1:404:TableNotFound"};
    struct fetch fetches[] = {fetch_of(PARTITION, 1000), fetch_of(ROW("00001"), 1)};
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        struct fetching fetching;
        fetching_set_up(&fetching, (struct fetching_options){.faults = faults[i]});
        fetching_add_rows(&fetching, "p", 3);
        assert_int_equal(fetch_rows(&fetching, &fetches[0]), 3);
        struct page *page = NULL;
        assert_int_equal(fetch_page(&fetching, &fetches[i], &page), -ENOENT);
        assert_null(page);
        assert_known(&fetching, "t", PARTITION, true, KNOWN_NOT);
        assert_known(&fetching, NULL, table_t, true, KNOWN_EMPTY);
        assert_int_equal(fetch_rows(&fetching, &fetches[0]), 3); /* it was made again */
        assert_known(&fetching, "t", PARTITION, true, KNOWN_ROWS);
        assert_known(&fetching, NULL, table_t, true, KNOWN_ROWS);
        fetching_tear_down(&fetching);
    }
}

static void a_refusal_changes_nothing_that_is_known(void **state)
{
    (void)state;
    struct fetching fetching;
    fetching_set_up(&fetching,
                    (struct fetching_options){.faults = "fail=query:2:403:AuthorizationFailure"});
    fetching_add_rows(&fetching, "p", 3);
    struct fetch fetch = fetch_of(PARTITION, 1000);
    struct caller caller = fetching_caller(&fetching);
    struct page *page;
    bool is_own;
    assert_int_equal(fetch_rows(&fetching, &fetch), 3);
    assert_int_equal(reader_fetch(fetching.reader, &caller, &fetch,
                                  stamp_from_now(&fetching.orders, fetching.now_ms), &page,
                                  &is_own),
                     -EACCES);
    assert_string_equal(caller.call.failure.code, "AuthorizationFailure");
    assert_known(&fetching, "t", PARTITION, false, KNOWN_ROWS);
    fetching_tear_down(&fetching);
}

static void empty_pages_are_followed(void **state)
{
    (void)state;
    struct fetching fetching;
    fetching_set_up(&fetching, (struct fetching_options){.faults = "latency=20000,empty=9"});
    fetching_add_rows(&fetching, "p", 3);
    struct fetch fetch = fetch_of(PARTITION, 1000);
    int64_t began_ms = fetching.now_ms;
    assert_int_equal(fetch_rows(&fetching, &fetch), 3); /* each of them is progress */
    assert_int_equal(fetching.now_ms - began_ms, 200000);
    assert_int_equal(fetching.memory->asked, 1); /* the others were the faulty store's */
    assert_int_equal(gate_store_arrived(fetching.store), 10);
    fetching_tear_down(&fetching);
}

static void tokens_in_a_circle_are_an_error(void **state)
{
    (void)state;
    struct fetching fetching;
    fetching_set_up(&fetching, (struct fetching_options){.faults = "circle=1"});
    struct fetch fetch = fetch_of(PARTITION, 1000);
    struct page *page;
    assert_int_equal(fetch_page(&fetching, &fetch, &page), -EPROTO);
    fetching_tear_down(&fetching);
}

static int refuse_large_pages(struct memory_store *self, size_t number, struct call *call)
{
    return self->diary[number - 1].top > 20 ? call_fail(call, -EFBIG, "too large") : 0;
}

static int refuse_all_pages(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    return call_fail(call, -EFBIG, "too large");
}

static void pages_that_are_too_large_are_asked_for_in_pieces(void **state)
{
    (void)state;
    static const int tops[] = {1000, 125, 15, 1};
    struct fetching fetching;
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 40);
    struct fetch fetch = fetch_of(PARTITION, 1000);
    fetching.memory->fault = refuse_large_pages;
    assert_int_equal(fetch_rows(&fetching, &fetch), 15);
    assert_int_equal(fetching.memory->asked, 3);
    memory_store_forget_diary(fetching.memory);
    fetching.memory->fault = refuse_all_pages;
    struct page *page;
    assert_int_equal(fetch_page(&fetching, &fetch, &page), -EFBIG);
    assert_int_equal(fetching.memory->asked, ARRAY_SIZE(tops));
    for (size_t i = 0; i < ARRAY_SIZE(tops); i++)
        assert_request(&fetching, i + 1, ASKED_QUERY, PARTITION, tops[i]);
    fetching_tear_down(&fetching);
}

static void add_tables(struct fetching *fetching)
{
    static const char *const tables[] = {"two", "One", "three", "two", "a", "One"};
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        memory_store_add_table(fetching->memory, tables[i]);
}

static void tables_are_listed_to_the_end_in_order(void **state)
{
    (void)state;
    static const char *const expected[] = {"One", "a", "three", "two"};
    static const struct range ranges[] = {
        {B(""), B(POSITION_END)}, {B("b"), B("zz")}, {B("t\0x"), B("t\0x\x01")}};
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        struct fetching fetching;
        fetching_set_up(&fetching, (struct fetching_options){.faults = "latency=50000"});
        fetching.memory->max_rows = 2;
        add_tables(&fetching);
        struct fetch fetch = {.range = ranges[i], .top = 1000, .keys_only = true};
        struct page *page;
        assert_int_equal(fetch_page(&fetching, &fetch, &page), 0); /* after 150 s */
        assert_int_equal(fetching.memory->asked, 3);
        assert_int_equal(page_rows(page), ARRAY_SIZE(expected));
        for (size_t row = 0; row < ARRAY_SIZE(expected); row++)
            assert_bytes(page_position(page, row), bytes_of(expected[row]));
        page_unref(page);
        assert_known(&fetching, NULL, RANGE_ALL, false, KNOWN_ROWS);
        assert_known(&fetching, NULL, (struct range){B("a\x01"), B("th")}, false, KNOWN_EMPTY);
        fetching_tear_down(&fetching);
    }
}

static void one_table_is_asked_for_by_its_name(void **state)
{
    (void)state;
    static const struct {
        struct range range;
        int known;
    } cases[] = {{{B("three"), B("three\x01")}, KNOWN_ROWS},
                 {{B("thre"), B("thre\x01")}, KNOWN_EMPTY},
                 {{B("Three"), B("Three\x01")}, KNOWN_EMPTY}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fetching fetching;
        fetching_set_up(&fetching, (struct fetching_options){0});
        add_tables(&fetching);
        struct fetch fetch = {.range = cases[i].range, .top = 1};
        assert_int_equal(fetch_rows(&fetching, &fetch), cases[i].known == KNOWN_ROWS);
        assert_int_equal(fetching.memory->asked, 1);
        assert_known(&fetching, NULL, cases[i].range, false, cases[i].known);
        assert_known(&fetching, NULL, RANGE_ALL, false, KNOWN_NOT);
        fetching_tear_down(&fetching);
    }
}

static void a_list_of_tables_that_fails_half_way_is_none(void **state)
{
    (void)state;
    struct fetching fetching;
    fetching_set_up(&fetching, (struct fetching_options){.faults = "fail=list_tables:2:404:x"});
    fetching.memory->max_rows = 2;
    add_tables(&fetching);
    struct fetch fetch = {.range = RANGE_ALL, .top = 1000};
    struct page *page;
    assert_int_equal(fetch_page(&fetching, &fetch, &page), -ENOENT);
    assert_known(&fetching, NULL, RANGE_ALL, false, KNOWN_NOT);
    fetching_tear_down(&fetching);
}

static void an_answer_is_as_old_as_its_question(void **state)
{
    (void)state;
    static const struct {
        const char *faults;
        int64_t age; /* at arrival */
    } cases[] = {{"latency=400", 400},
                 {"latency=5000", TTL_MS / 2}, /* and as old as half a ttl at most */
                 {"latency=100,empty=3", 400},
                 {"latency=100,fail=query:1:503:ServerBusy", 100}, /* of the second attempt */
                 {"latency=100,empty=1,fail=query:1:500:x", 200}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fetching fetching;
        fetching_set_up(&fetching,
                        (struct fetching_options){.faults = cases[i].faults, .retries = true});
        fetching_add_rows(&fetching, "p", 3);
        struct fetch fetch = fetch_of(PARTITION, 1000);
        assert_int_equal(fetch_rows(&fetching, &fetch), 3);
        assert_int_equal(fetching.now_ms - asked_ms_at(&fetching, B("p\0")), cases[i].age);
        fetching_tear_down(&fetching);
    }
}

/* A thread that fetches. */
struct asker {
    struct fetching *fetching;
    struct fetch fetch;
    struct stamp since;
    struct caller caller;
    pthread_t thread;
    struct page *page;
    int result;
    _Atomic bool is_cancelled, is_back;
    bool is_own;
};

static bool asker_is_cancelled(void *context)
{
    return atomic_load(&((struct asker *)context)->is_cancelled);
}

static void *ask(void *context)
{
    struct asker *asker = context;
    asker->result = reader_fetch(asker->fetching->reader, &asker->caller, &asker->fetch,
                                 asker->since, &asker->page, &asker->is_own);
    atomic_store(&asker->is_back, true);
    return NULL;
}

static void asker_start(struct asker *asker, struct fetching *fetching, struct fetch fetch,
                        struct stamp since)
{
    *asker = (struct asker){.fetching = fetching, .fetch = fetch, .since = since};
    asker->caller = fetching_caller(fetching);
    asker->caller.call.is_cancelled = asker_is_cancelled;
    asker->caller.call.context = asker;
    assert_int_equal(pthread_create(&asker->thread, NULL, ask, asker), 0);
}

static int asker_end(struct asker *asker)
{
    assert_int_equal(pthread_join(asker->thread, NULL), 0);
    if (asker->result == 0)
        assert_int_equal(asker->caller.call.failure.error, 0);
    page_unref(asker->page);
    return asker->result;
}

static void wait_for_requests(struct fetching *fetching, size_t n)
{
    while (gate_store_arrived(fetching->store) < n)
        (void)usleep(500);
}

static void wait_for_joined(struct fetching *fetching, uint64_t n)
{
    struct reader_stats stats = {0};
    for (; stats.joined < n; reader_stats(fetching->reader, &stats))
        (void)usleep(500);
}

/* The first leads, the others have joined; the gate is closed. */
static void start_together(struct asker *askers, size_t n, struct fetching *fetching)
{
    struct fetch fetch = fetch_of(PARTITION, 1000);
    gate_store_let(fetching->store, 0);
    asker_start(&askers[0], fetching, fetch, fetching_since_ttl(fetching));
    wait_for_requests(fetching, 1);
    for (size_t i = 1; i < n; i++)
        asker_start(&askers[i], fetching, fetch, fetching_since_ttl(fetching));
    wait_for_joined(fetching, n - 1);
}

static void many_who_miss_the_same_ask_once(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[ASKERS];
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 3);
    start_together(askers, ASKERS, &fetching);
    gate_store_let(fetching.store, GATE_OPEN);
    for (size_t i = 0; i < ASKERS; i++)
        assert_int_equal(asker_end(&askers[i]), 0);
    for (size_t i = 0; i < ASKERS; i++) {
        assert_ptr_equal(askers[i].page, askers[0].page);
        assert_int_equal(askers[i].is_own, i == 0);
    }
    assert_int_equal(fetching.memory->asked, 1);
    struct reader_stats stats;
    reader_stats(fetching.reader, &stats);
    assert_int_equal(stats.flights, 1);
    assert_int_equal(stats.joined, ASKERS - 1);
    fetching_tear_down(&fetching);
}

static void only_what_serves_is_joined(void **state)
{
    (void)state;
    static const struct {
        const char *table;
        struct range range;
        int64_t older_ms; /* than the flight: how old an answer may be */
        int top;
        bool keys_only, is_joined;
    } cases[] = {
        {"t", {B("p\0"), B("p\x01")}, 0, 1000, false, true},
        {"t", {B("p\0"), B("p\x01")}, 0, 1000, true, true},    /* texts do for keys */
        {"t", {B("p\0"), B("p\0x")}, 5, 7, false, true},       /* it begins where this does */
        {"t", {B("p\0"), B("p\x01")}, -1, 1000, false, false}, /* asked before it should be */
        {"t",
         {B("p\0"
            "a"),
          B("p\x01")},
         0,
         1000,
         false,
         false}, /* its page may end before "a" */
        {"u", {B("p\0"), B("p\x01")}, 0, 1000, false, false},
        {NULL, {B("p\0"), B("p\x01")}, 0, 1000, false, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fetching fetching;
        struct asker askers[2];
        fetching_set_up(&fetching, (struct fetching_options){0});
        fetching_add_rows(&fetching, "p", 3);
        start_together(askers, 1, &fetching);
        struct fetch fetch = {.table = cases[i].table,
                              .range = cases[i].range,
                              .top = cases[i].top,
                              .keys_only = cases[i].keys_only};
        asker_start(&askers[1], &fetching, fetch, stamp_since(fetching.now_ms - cases[i].older_ms));
        if (cases[i].is_joined)
            wait_for_joined(&fetching, 1);
        else
            wait_for_requests(&fetching, 2);
        gate_store_let(fetching.store, GATE_OPEN);
        assert_int_equal(asker_end(&askers[0]), 0);
        assert_int_equal(asker_end(&askers[1]), 0);
        assert_int_equal(askers[1].is_own, !cases[i].is_joined);
        assert_int_equal(fetching.memory->asked, cases[i].is_joined ? 1 : 2);
        fetching_tear_down(&fetching);
    }
}

static void texts_are_not_expected_of_keys(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[3];
    struct fetch fetch = fetch_of(PARTITION, 1000), keys = fetch;
    keys.keys_only = true;
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 3);
    gate_store_let(fetching.store, 0);
    asker_start(&askers[0], &fetching, keys, fetching_since_ttl(&fetching));
    wait_for_requests(&fetching, 1);
    asker_start(&askers[1], &fetching, keys, fetching_since_ttl(&fetching));
    wait_for_joined(&fetching, 1);
    asker_start(&askers[2], &fetching, fetch, fetching_since_ttl(&fetching));
    wait_for_requests(&fetching, 2);
    gate_store_let(fetching.store, GATE_OPEN);
    for (size_t i = 0; i < ARRAY_SIZE(askers); i++)
        assert_int_equal(asker_end(&askers[i]), 0);
    assert_ptr_equal(askers[0].page, askers[1].page);
    assert_int_equal(fetching.memory->asked, 2);
    fetching_tear_down(&fetching);
}

static void who_wants_to_be_alone_joins_nobody(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[3];
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 3);
    start_together(askers, 1, &fetching);
    struct fetch fetch = fetch_of(PARTITION, 1000);
    fetch.is_alone = true;
    asker_start(&askers[1], &fetching, fetch, fetching_since_ttl(&fetching));
    wait_for_requests(&fetching, 2);
    fetch.is_alone = false;
    asker_start(&askers[2], &fetching, fetch, fetching_since_ttl(&fetching));
    wait_for_joined(&fetching, 1);
    gate_store_let(fetching.store, GATE_OPEN);
    for (size_t i = 0; i < ARRAY_SIZE(askers); i++)
        assert_int_equal(asker_end(&askers[i]), 0);
    assert_ptr_equal(askers[2].page, askers[1].page); /* the youngest that flies */
    assert_int_equal(fetching.memory->asked, 2);
    fetching_tear_down(&fetching);
}

static void all_tables_are_one_flight_wherever_they_begin(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[2];
    fetching_set_up(&fetching, (struct fetching_options){0});
    add_tables(&fetching);
    gate_store_let(fetching.store, 0);
    struct fetch fetch = {.range = RANGE_ALL, .top = 1000};
    asker_start(&askers[0], &fetching, fetch, fetching_since_ttl(&fetching));
    wait_for_requests(&fetching, 1);
    fetch.range.lo = B("m");
    asker_start(&askers[1], &fetching, fetch, fetching_since_ttl(&fetching));
    wait_for_joined(&fetching, 1);
    gate_store_let(fetching.store, GATE_OPEN);
    assert_int_equal(asker_end(&askers[0]), 0);
    assert_int_equal(asker_end(&askers[1]), 0);
    assert_int_equal(fetching.memory->asked, 1);
    fetching_tear_down(&fetching);
}

static void who_wants_it_from_now_on_asks(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[3];
    fetching_set_up(&fetching, (struct fetching_options){.is_ttl_0 = true});
    fetching_add_rows(&fetching, "p", 3);
    gate_store_let(fetching.store, 0);
    for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
        struct stamp since = stamp_from_now(&fetching.orders, fetching.now_ms);
        asker_start(&askers[i], &fetching, fetch_of(PARTITION, 1000), since);
        wait_for_requests(&fetching, i + 1);
    }
    gate_store_let(fetching.store, GATE_OPEN);
    for (size_t i = 0; i < ARRAY_SIZE(askers); i++)
        assert_int_equal(asker_end(&askers[i]), 0);
    assert_int_equal(fetching.memory->asked, ARRAY_SIZE(askers));
    fetching_tear_down(&fetching);
}

static void a_leader_that_is_interrupted_hands_over(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[ASKERS];
    size_t own = 0;
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 3);
    start_together(askers, ASKERS, &fetching);
    atomic_store(&askers[0].is_cancelled, true);
    wait_for_requests(&fetching, 2);
    wait_for_joined(&fetching, 2 * ASKERS - 3); /* all but the two leaders, once more */
    assert_int_equal(asker_end(&askers[0]), -EINTR);
    assert_int_equal(askers[0].caller.call.failure.error, -EINTR);
    gate_store_let(fetching.store, GATE_OPEN);
    for (size_t i = 1; i < ASKERS; i++) {
        assert_int_equal(asker_end(&askers[i]), 0);
        own += askers[i].is_own;
    }
    assert_int_equal(own, 1);
    assert_int_equal(fetching.memory->asked, 1);
    assert_int_equal(gate_store_arrived(fetching.store), 2);
    fetching_tear_down(&fetching);
}

static void a_leader_without_patience_hands_over(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[2];
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 3);
    start_together(askers, 1, &fetching);
    atomic_fetch_add(&fetching.now_ms, TTL_MS);
    asker_start(&askers[1], &fetching, askers[0].fetch, fetching_since_ttl(&fetching));
    wait_for_joined(&fetching, 1);
    atomic_fetch_add(&fetching.now_ms, PATIENCE_MS - TTL_MS);
    assert_int_equal(asker_end(&askers[0]), -ETIMEDOUT);
    wait_for_requests(&fetching, 2);
    gate_store_let(fetching.store, GATE_OPEN);
    assert_int_equal(asker_end(&askers[1]), 0);
    assert_true(askers[1].is_own);
    fetching_tear_down(&fetching);
}

static void what_another_time_might_succeed_is_tried_by_the_next(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[3];
    int failed = 0;
    fetching_set_up(&fetching, (struct fetching_options){
                                   .faults = "fail=query:1:503:ServerBusy,fail=query:2:0:"});
    fetching_add_rows(&fetching, "p", 3);
    start_together(askers, 3, &fetching);
    gate_store_let(fetching.store, GATE_OPEN);
    for (size_t i = 0; i < 3; i++)
        failed += asker_end(&askers[i]) < 0;
    assert_int_equal(askers[0].result, -EBUSY);
    assert_int_equal(failed, 2);
    assert_int_equal(gate_store_arrived(fetching.store), 3);
    assert_int_equal(fetching.memory->asked, 1);
    fetching_tear_down(&fetching);
}

static void a_refusal_is_everybodys_with_its_reason(void **state)
{
    (void)state;
    static const struct {
        const char *faults, *code;
        int error;
    } cases[] = {
        {"fail=query:1:403:AuthorizationFailure", "AuthorizationFailure", -EACCES},
        {"fail=query:1:404:TableNotFound", "TableNotFound", -ENOENT},
        {"fail=query:1:400:InvalidInput", "InvalidInput", -EINVAL},
    };
    for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
        struct fetching fetching;
        struct asker askers[ASKERS];
        fetching_set_up(&fetching, (struct fetching_options){.faults = cases[c].faults});
        start_together(askers, ASKERS, &fetching);
        gate_store_let(fetching.store, GATE_OPEN);
        for (size_t i = 0; i < ASKERS; i++) {
            assert_int_equal(asker_end(&askers[i]), cases[c].error);
            assert_int_equal(askers[i].caller.call.failure.error, cases[c].error);
            assert_string_equal(askers[i].caller.call.failure.code, cases[c].code);
            assert_null(askers[i].page);
        }
        assert_int_equal(gate_store_arrived(fetching.store), 1);
        fetching_tear_down(&fetching);
    }
}

static void who_waits_may_be_interrupted(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[3];
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 3);
    start_together(askers, 3, &fetching);
    atomic_store(&askers[1].is_cancelled, true);
    assert_int_equal(asker_end(&askers[1]), -EINTR);
    assert_int_equal(askers[1].caller.call.failure.error, -EINTR);
    gate_store_let(fetching.store, GATE_OPEN);
    assert_int_equal(asker_end(&askers[0]), 0);
    assert_int_equal(asker_end(&askers[2]), 0);
    assert_int_equal(fetching.memory->asked, 1);
    fetching_tear_down(&fetching);
}

static void who_waits_has_a_deadline(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[2];
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 3);
    start_together(askers, 1, &fetching);
    atomic_fetch_sub(&fetching.now_ms, 10); /* so the other's patience ends before the leader's */
    asker_start(&askers[1], &fetching, askers[0].fetch, fetching_since_ttl(&fetching));
    wait_for_joined(&fetching, 1);
    atomic_fetch_add(&fetching.now_ms, PATIENCE_MS - 1);
    (void)usleep(120000); /* it looks some 20 times a second */
    assert_false(atomic_load(&askers[1].is_back));
    atomic_fetch_add(&fetching.now_ms, 1);
    assert_int_equal(asker_end(&askers[1]), -ETIMEDOUT);
    assert_int_equal(askers[1].caller.call.failure.error, -ETIMEDOUT);
    gate_store_let(fetching.store, GATE_OPEN);
    assert_int_equal(asker_end(&askers[0]), 0);
    assert_int_equal(fetching.memory->asked, 1);
    fetching_tear_down(&fetching);
}

static void each_page_is_progress_for_all(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[2];
    fetching_set_up(&fetching, (struct fetching_options){.faults = "empty=3"});
    fetching_add_rows(&fetching, "p", 3);
    start_together(askers, 2, &fetching);
    for (size_t page = 1; page <= 3; page++) {
        atomic_fetch_add(&fetching.now_ms, PATIENCE_MS - 1);
        gate_store_let(fetching.store, page);
        wait_for_requests(&fetching, page + 1);
        (void)usleep(120000); /* who waits sees the page */
    }
    assert_false(atomic_load(&askers[1].is_back));
    gate_store_let(fetching.store, GATE_OPEN);
    assert_int_equal(asker_end(&askers[0]), 0);
    assert_int_equal(asker_end(&askers[1]), 0);
    assert_int_equal(askers[1].caller.call.deadline_ms, fetching.now_ms + PATIENCE_MS);
    fetching_tear_down(&fetching);
}

/* Its order is from before it was sent: so it loses to what was put while it was under way. */
static void a_page_is_older_than_what_happened_meanwhile(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker asker;
    struct page *table;
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 3);
    start_together(&asker, 1, &fetching);
    struct stamp stamp = stamp_take(&fetching.orders, fetching.now_ms);
    range_cache_drop_table(fetching.cache, "t", stamp);
    assert_int_equal(table_page_of_one("t", false, &table), 0);
    assert_int_equal(range_cache_put(fetching.cache, NULL, table, stamp), 0);
    page_unref(table);
    gate_store_let(fetching.store, GATE_OPEN);
    assert_int_equal(asker_end(&asker), 0);
    assert_known(&fetching, "t", PARTITION, true, KNOWN_NOT);
    assert_known(&fetching, NULL, table_t, true, KNOWN_EMPTY);
    fetching_tear_down(&fetching);
}

struct crowd {
    struct fetching *fetching;
    unsigned number;
};

static void *fetch_much(void *context)
{
    struct crowd *crowd = context;
    unsigned seed = crowd->number;
    for (int i = 0; i < 300; i++) {
        struct caller caller = fetching_caller(crowd->fetching);
        bool is_row = rand_r(&seed) % 2 == 0, is_own;
        struct fetch fetch = fetch_of(is_row ? ROW("00002") : PARTITION, is_row ? 1 : 1000);
        struct page *page;
        int r = reader_fetch(crowd->fetching->reader, &caller, &fetch,
                             fetching_since_ttl(crowd->fetching), &page, &is_own);
        if (r < 0)
            return (void *)fetch.table;
        page_unref(page);
    }
    return NULL;
}

static void a_crowd_gets_what_it_asks_for(void **state)
{
    (void)state;
    struct fetching fetching;
    struct crowd crowd[ASKERS];
    pthread_t threads[ASKERS];
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 5);
    for (unsigned i = 0; i < ASKERS; i++) {
        crowd[i] = (struct crowd){&fetching, i};
        assert_int_equal(pthread_create(&threads[i], NULL, fetch_much, &crowd[i]), 0);
    }
    for (size_t i = 0; i < ASKERS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    struct reader_stats stats;
    reader_stats(fetching.reader, &stats);
    assert_int_equal(stats.flights, gate_store_arrived(fetching.store));
    assert_int_equal(stats.flights + stats.joined, ASKERS * 300);
    fetching_tear_down(&fetching);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_asked_for_once_and_kept),
        cmocka_unit_test(keys_are_asked_for_alone),
        cmocka_unit_test(one_row_is_got_by_itself),
        cmocka_unit_test(one_row_that_is_not_there_is_known),
        cmocka_unit_test(what_is_no_single_text_is_queried),
        cmocka_unit_test(a_table_that_is_gone_is_forgotten),
        cmocka_unit_test(a_refusal_changes_nothing_that_is_known),
        cmocka_unit_test(empty_pages_are_followed),
        cmocka_unit_test(tokens_in_a_circle_are_an_error),
        cmocka_unit_test(pages_that_are_too_large_are_asked_for_in_pieces),
        cmocka_unit_test(tables_are_listed_to_the_end_in_order),
        cmocka_unit_test(one_table_is_asked_for_by_its_name),
        cmocka_unit_test(a_list_of_tables_that_fails_half_way_is_none),
        cmocka_unit_test(an_answer_is_as_old_as_its_question),
        cmocka_unit_test(many_who_miss_the_same_ask_once),
        cmocka_unit_test(only_what_serves_is_joined),
        cmocka_unit_test(texts_are_not_expected_of_keys),
        cmocka_unit_test(who_wants_to_be_alone_joins_nobody),
        cmocka_unit_test(all_tables_are_one_flight_wherever_they_begin),
        cmocka_unit_test(who_wants_it_from_now_on_asks),
        cmocka_unit_test(a_leader_that_is_interrupted_hands_over),
        cmocka_unit_test(a_leader_without_patience_hands_over),
        cmocka_unit_test(what_another_time_might_succeed_is_tried_by_the_next),
        cmocka_unit_test(a_refusal_is_everybodys_with_its_reason),
        cmocka_unit_test(who_waits_may_be_interrupted),
        cmocka_unit_test(who_waits_has_a_deadline),
        cmocka_unit_test(each_page_is_progress_for_all),
        cmocka_unit_test(a_page_is_older_than_what_happened_meanwhile),
        cmocka_unit_test(a_crowd_gets_what_it_asks_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
