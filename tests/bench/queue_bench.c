/* SPDX-License-Identifier: MIT */
/* Write-back over a local account, on the account, below fs/: THREADS threads store new entities in
 * many partitions by turns, then all is drained: queue_bench DIRECTORY [CHANGES [PARTITIONS]].
 * Prints how many changes a second were stored. There are more partitions than the queue has places
 * for; at least 10,000 a second are wanted. */
#include "cache/account.h"
#include "client/base/clock.h"
#include "client/local/local_store.h"

#include <pthread.h>
#include <unistd.h>

#define THREADS 8
#define ROUNDS  3

struct bench {
    struct account *account;
    uint64_t changes, partitions;
};

struct loader {
    struct bench *bench;
    uint64_t first;
    pthread_t thread;
};

static void fail(const char *what)
{
    (void)fprintf(stderr, "queue_bench: %s\n", what);
    exit(1);
}

static void store(struct bench *bench, uint64_t number)
{
    char partition_key[32], row_key[32], text[256];
    struct buffer position;
    struct entity now = {0};
    struct caller caller = {.call = {.deadline_ms = INT64_MAX}, .process = 1};
    buffer_init(&position, POSITION_MAX_BYTES);
    (void)snprintf(partition_key, sizeof(partition_key), "p%08llu",
                   (unsigned long long)(number % bench->partitions));
    (void)snprintf(row_key, sizeof(row_key), "r%08llu",
                   (unsigned long long)(number / bench->partitions));
    (void)snprintf(text, sizeof(text), "{\"PartitionKey\": \"%s\", \"RowKey\": \"%s\", \"A\": 1}",
                   partition_key, row_key);
    (void)position_append(&position, bytes_of(partition_key), bytes_of(row_key));
    const struct edit edit = {
        .address = {"load", buffer_bytes(&position)}, .begin = EDIT_NEW, .text = bytes_of(text)};
    if (account_store(bench->account, &caller, &edit, &now) < 0)
        fail(caller.call.failure.message);
    entity_finish(&now);
    buffer_finish(&position);
}

static void *load(void *context)
{
    struct loader *loader = context;
    for (uint64_t i = loader->first; i < loader->bench->changes; i += THREADS)
        store(loader->bench, i);
    return NULL;
}

static void ignore(void *context, const struct failure_record *record)
{
    (void)context;
    fail(record->failure.message);
}

static struct account *open_account(const char *path)
{
    static const struct account_options options = {.ttl_ms = 1000,
                                                   .cache_bytes = (size_t)64 << 20,
                                                   .parallelism = 8,
                                                   .is_write_back = true,
                                                   .pending_bytes = (size_t)64 << 20,
                                                   .timeout_ms = 60000};
    struct call call = {.deadline_ms = INT64_MAX};
    struct table_store *local;
    struct account *account;
    if (local_store_create(path, true, &clock_system, &call, &local) < 0 ||
        table_store_create_table(local, "load", &call) < 0)
        fail(call.failure.message);
    if (account_create(local, &clock_system, &options, ignore, NULL, &account) < 0)
        fail("no account");
    return account;
}

static double run(const char *path, struct bench *bench)
{
    struct loader loaders[THREADS];
    struct caller caller = {.call = {.deadline_ms = INT64_MAX}};
    bench->account = open_account(path);
    int64_t began_ms = clock_now_ms(&clock_system);
    for (uint64_t i = 0; i < THREADS; i++) {
        loaders[i] = (struct loader){.bench = bench, .first = i};
        if (pthread_create(&loaders[i].thread, NULL, load, &loaders[i]) != 0)
            fail("no thread");
    }
    for (size_t i = 0; i < THREADS; i++)
        (void)pthread_join(loaders[i].thread, NULL);
    if (account_sync(bench->account, &caller, NULL, RANGE_ALL) < 0)
        fail(caller.call.failure.message);
    int64_t took_ms = MAX(clock_now_ms(&clock_system) - began_ms, 1);
    account_destroy(bench->account);
    return (double)bench->changes * 1000 / (double)took_ms;
}

int main(int argc, char **argv)
{
    struct bench bench = {.changes = 40000, .partitions = 20000};
    char path[4000];
    if (argc < 2 ||
        (argc > 2 && !bytes_parse_unsigned(bytes_of(argv[2]), UINT32_MAX, &bench.changes)) ||
        (argc > 3 && !bytes_parse_unsigned(bytes_of(argv[3]), UINT32_MAX, &bench.partitions)) ||
        bench.partitions == 0)
        fail("usage: queue_bench DIRECTORY [CHANGES [PARTITIONS]]");
    for (int round = 0; round < ROUNDS; round++) {
        static const char *const endings[] = {"", "-wal", "-shm"};
        (void)snprintf(path, sizeof(path), "%s/queue_bench.tablefuse", argv[1]);
        double rate = run(path, &bench);
        (void)printf("%llu changes over %llu partitions: %.0f a second\n",
                     (unsigned long long)bench.changes, (unsigned long long)bench.partitions, rate);
        for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
            (void)snprintf(path, sizeof(path), "%s/queue_bench.tablefuse%s", argv[1], endings[i]);
            (void)unlink(path);
        }
    }
    return 0;
}
