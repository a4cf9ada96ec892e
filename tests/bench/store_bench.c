/* SPDX-License-Identifier: MIT */
/* Reads or changes a table of a local account through the stores of tablefuse-faulty (latency as
 * TABLEFUSE_FAULTS says): store_bench FILE TABLE serial|published|upsert|delete
 *
 * serial: page after page, as every SDK does. published: the published prefix scan, its steps a
 * queue for 8 workers. upsert, delete: page after page, and each entity by a request of its own,
 * one after the other. Prints the requests' counters as .tablefuse/stats does, the time, and what
 * serial paging saw of the table's partitions. */
#include "cache/ahead/fanout.h"
#include "client/local/local_store.h"
#include "client/store/counting_store.h"
#include "client/store/retrying_store.h"
#include "client/text/metrics.h"
#include "tests/scan/published_scan.h"
#include "tests/stores/faulty_store.h"

#include <pthread.h>

#define WORKERS    8
#define MAX_SCANS  100000 /* that wait for a worker */
#define OUTPUT_MAX ((size_t)1 << 20)

struct chain { /* of stores; each is within the next */
    struct table_store *counting, *outermost;
};

struct tally { /* what a reading saw */
    uint64_t rows;
    uint64_t partitions;
    uint64_t fanout;
    uint64_t jumps; /* pages that show fanout + 1 partitions, each asked after the last's one */
};

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "store_bench: %s\n", what);
    exit(1);
}

static struct chain open_chain(const char *file)
{
    const char *rules = getenv("TABLEFUSE_FAULTS");
    struct call call = {.deadline_ms = INT64_MAX};
    const struct retrying_store_options retrying = {.timeout_ms = 60000};
    struct chain chain;
    struct table_store *local, *faulty;
    if (local_store_create(file, false, &clock_system, &call, &local) < 0)
        fail(call.failure.message);
    if (faulty_store_create(local, &clock_system, rules ? rules : "", &faulty) < 0)
        fail("TABLEFUSE_FAULTS");
    if (counting_store_create(faulty, &clock_system, &chain.counting) < 0 ||
        retrying_store_create(chain.counting, &clock_system, &retrying, &chain.outermost) < 0)
        fail("out of memory");
    return chain;
}

static void ask(struct table_store *store, const struct query *query, struct answer *ret)
{
    struct call call = {.deadline_ms = INT64_MAX, .command = "store_bench"};
    if (table_store_query(store, query, &call, ret) < 0)
        fail(call.failure.message);
}

/* Counting partitions by jumps: of this many rows from the first of a partition on, the next jump
 * goes after the partition of the last. */
struct jumping {
    struct tally *tally;
    struct buffer partition; /* of the row before */
    size_t rows;             /* of the jump's page */
};

static void count_row(void *context, const struct page *page, size_t row)
{
    struct jumping *jumping = context;
    struct tally *tally = jumping->tally;
    struct bytes key = position_partition_key(page_position(page, row));
    bool is_new = tally->rows++ == 0 || !bytes_equal(key, buffer_bytes(&jumping->partition));
    jumping->rows++;
    if (!is_new)
        return;
    if (tally->rows <= TABLE_STORE_PAGE_ROWS)
        tally->fanout = tally->partitions + 1 >= FANOUT_MANY_PARTITIONS ? FANOUT_MANY : FANOUT_FEW;
    if (tally->partitions++ <= tally->fanout &&
        (tally->jumps == 0 || jumping->rows > TABLE_STORE_PAGE_ROWS)) {
        tally->jumps++;
        jumping->rows = 1;
    }
    buffer_clear(&jumping->partition);
    if (buffer_append(&jumping->partition, key) < 0)
        fail("a key that is too long");
}

/* Gives each row to `take`, page after page. */
static void page_through(struct table_store *store, const char *table,
                         void (*take)(void *context, const struct page *page, size_t row),
                         void *context)
{
    struct query query = {.table = table, .range = RANGE_ALL, .top = TABLE_STORE_PAGE_ROWS};
    struct continuation *after = NULL;
    do {
        struct answer answer;
        query.after = after;
        ask(store, &query, &answer);
        for (size_t row = 0; row < page_rows(answer.page); row++)
            take(context, answer.page, row);
        continuation_destroy(after);
        after = TAKE_PTR(answer.next);
        answer_finish(&answer);
    } while (after);
}

static void read_serially(struct table_store *store, const char *table, struct tally *tally)
{
    struct jumping jumping = {.tally = tally};
    buffer_init(&jumping.partition, 4096);
    page_through(store, table, count_row, &jumping);
    buffer_finish(&jumping.partition);
}

struct writing {
    struct table_store *store;
    const char *table;
    enum write_kind kind;
    struct tally *tally;
};

static void write_row(void *context, const struct page *page, size_t row)
{
    struct writing *writing = context;
    struct call call = {.deadline_ms = INT64_MAX, .command = "store_bench"};
    struct write write = {.kind = writing->kind, .position = page_position(page, row)};
    struct write_result result;
    if (write.kind == WRITE_DELETE)
        write.if_match = page_etag(page, row);
    else
        write.text = page_text(page, row);
    if (table_store_write(writing->store, writing->table, &write, 1, &call, &result) < 0)
        fail(call.failure.message);
    writing->tally->rows++;
}

static void upsert_each(struct table_store *store, const char *table, struct tally *tally)
{
    struct writing writing = {store, table, WRITE_UPSERT_REPLACE, tally};
    page_through(store, table, write_row, &writing);
}

static void delete_each(struct table_store *store, const char *table, struct tally *tally)
{
    struct writing writing = {store, table, WRITE_DELETE, tally};
    page_through(store, table, write_row, &writing);
}

struct queue {
    struct table_store *store;
    const char *table;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock */
    struct scan *scans[MAX_SCANS];
    size_t first, count; /* a ring */
    size_t busy;         /* workers that have a scan */
    uint64_t rows;
};

static void put_scan(struct queue *queue, struct scan *scan)
{
    (void)pthread_mutex_lock(&queue->lock);
    if (queue->count == MAX_SCANS)
        fail("too many steps wait");
    queue->scans[(queue->first + queue->count++) % MAX_SCANS] = scan;
    (void)pthread_cond_signal(&queue->changed);
    (void)pthread_mutex_unlock(&queue->lock);
}

/* NULL: all is read. */
static struct scan *take_scan(struct queue *queue)
{
    struct scan *scan = NULL;
    (void)pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && queue->busy > 0)
        (void)pthread_cond_wait(&queue->changed, &queue->lock);
    if (queue->count > 0) {
        scan = queue->scans[queue->first];
        queue->first = (queue->first + 1) % MAX_SCANS;
        queue->count--;
        queue->busy++;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return scan;
}

static void end_scan(struct queue *queue, struct scan *scan, uint64_t rows)
{
    scan_destroy(scan);
    (void)pthread_mutex_lock(&queue->lock);
    queue->busy--;
    queue->rows += rows;
    (void)pthread_cond_broadcast(&queue->changed);
    (void)pthread_mutex_unlock(&queue->lock);
}

/* One request of the scan; what it now has to do besides goes to the queue. */
static void advance(struct queue *queue, struct scan *scan)
{
    struct scan_request request;
    struct answer answer;
    if (!scan_next_request(scan, 1, &request))
        fail("the scan waits and asks nothing");
    struct query query = {
        .table = queue->table, .range = request.range, .after = request.after, .top = request.top};
    ask(queue->store, &query, &answer);
    if (scan_add_answer(scan, request.id, &answer) < 0)
        fail("out of memory");
    for (;;) {
        struct scan *other;
        if (published_scan_split(scan, &other) < 0)
            fail("out of memory");
        if (!other)
            return;
        put_scan(queue, other);
    }
}

/* To its end; the rows it found. */
static uint64_t drive(struct queue *queue, struct scan *scan)
{
    uint64_t rows = 0;
    struct scan_item item;
    for (enum scan_state state; (state = scan_take(scan, &item)) != SCAN_END;) {
        if (state == SCAN_WAIT) {
            advance(queue, scan);
            continue;
        }
        rows += item.rows.end - item.rows.begin;
        run_finish(&item.rows);
    }
    return rows;
}

static void *run_worker(void *context)
{
    struct queue *queue = context;
    for (struct scan *scan; (scan = take_scan(queue)) != NULL;)
        end_scan(queue, scan, drive(queue, scan));
    return NULL;
}

static void read_by_prefixes(struct table_store *store, const char *table, struct tally *tally)
{
    static const struct published_options options = {.prefix = "",
                                                     .take = TABLE_STORE_PAGE_ROWS,
                                                     .partition_take = TABLE_STORE_PAGE_ROWS,
                                                     .segments_first = 1,
                                                     .segments_later = 1};
    struct queue *queue = calloc(1, sizeof(*queue));
    pthread_t workers[WORKERS];
    struct scan *scan;
    if (!queue || published_scan_create(&options, &scan) < 0)
        fail("out of memory");
    queue->store = store;
    queue->table = table;
    (void)pthread_mutex_init(&queue->lock, NULL);
    (void)pthread_cond_init(&queue->changed, NULL);
    put_scan(queue, scan);
    for (size_t i = 0; i < WORKERS; i++)
        if (pthread_create(&workers[i], NULL, run_worker, queue) != 0)
            fail("no thread could be made");
    for (size_t i = 0; i < WORKERS; i++)
        (void)pthread_join(workers[i], NULL);
    tally->rows = queue->rows;
    (void)pthread_cond_destroy(&queue->changed);
    (void)pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static void print_figures(const struct chain *chain, const struct tally *tally, int64_t ms)
{
    struct buffer text;
    buffer_init(&text, OUTPUT_MAX);
    (void)counting_store_append_metrics(chain->counting, &text);
    (void)metrics_append_number(&text, "bench_milliseconds", "gauge", "Time.", (uint64_t)ms);
    (void)metrics_append_number(&text, "bench_rows", "gauge", "Entities read, and written.",
                                tally->rows);
    (void)metrics_append_number(&text, "bench_partitions", "gauge", "Of serial paging.",
                                tally->partitions);
    (void)metrics_append_number(&text, "bench_jumps", "gauge",
                                "Pages that count the partitions up to the usual fanout.",
                                tally->jumps);
    const char *string = buffer_string(&text);
    if (!string || fputs(string, stdout) < 0)
        fail("no output");
    buffer_finish(&text);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(struct table_store *store, const char *table, struct tally *tally);
    } ways[] = {{"serial", read_serially},
                {"published", read_by_prefixes},
                {"upsert", upsert_each},
                {"delete", delete_each}};
    for (size_t i = 0; argc == 4 && i < ARRAY_SIZE(ways); i++) {
        if (strcmp(argv[3], ways[i].name) != 0)
            continue;
        struct tally tally = {0};
        struct chain chain = open_chain(argv[1]);
        int64_t begin_ms = clock_now_ms(&clock_system);
        ways[i].run(chain.outermost, argv[2], &tally);
        print_figures(&chain, &tally, clock_now_ms(&clock_system) - begin_ms);
        table_store_destroy(chain.outermost);
        return 0;
    }
    fail("usage: store_bench FILE TABLE serial|published|upsert|delete");
}
