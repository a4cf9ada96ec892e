/* SPDX-License-Identifier: MIT */
/* Threads change a few names, or many, directly and through writers, while every third answer to a
 * write is lost. Over a store in memory and over a file. At the end each entity must be the result
 * of a change that no acknowledged change followed, and the account's cache must agree. */
#include "fs/text/writer.h"
#include "tests/stores/hooked_store.h"
#include "tests/unit/fetching.h"
#include "tests/unit/local_account.h"

#define MOST_THREADS 8
#define MOST_NAMES   50
#define MOST_OPS     10000

struct shape {
    int threads, names, turns; /* of each thread */
    bool is_retrying;
    size_t cache_bytes;
    unsigned seed;
};

/* An operation, and its result as its thread got it. Times are counted, not measured. */
struct op {
    int name, value; /* value 0: a delete */
    unsigned begun, ended;
    bool is_acknowledged, is_ambiguous;
};

struct world {
    struct shape shape;
    struct clock clock;
    _Atomic int64_t now_ms;
    struct table_store *store; /* the account's */
    struct account *account;
    struct writers *writers;
    _Atomic unsigned time, writes;
    char positions[MOST_NAMES][4];
    _Atomic int64_t acknowledged[MOST_NAMES]; /* the greatest Timestamp that was reported */
    _Atomic bool is_over;
    struct op ops[MOST_OPS];
    size_t count;
};

struct worker {
    struct world *world;
    unsigned random;
    int number; /* from 0 */
};

static int lose_every_third(void *context, bool is_change, int r, struct call *call)
{
    struct world *world = context;
    return is_change && ++world->writes % 3 == 0 ? hooked_store_lose(call, world->shape.is_retrying)
                                                 : r;
}

static int chance(struct worker *worker, int n)
{
    worker->random = worker->random * 1664525 + 1013904223;
    return (int)((worker->random >> 8) % (unsigned)n);
}

static void name_all(struct world *world)
{
    for (int i = 0; i < MOST_NAMES; i++) {
        char *position = world->positions[i];
        position[0] = i % 4 == 3 ? 'q' : 'p';
        position[2] = (char)('a' + i / 10);
        position[3] = (char)('0' + i % 10);
    }
}

static struct address name_of(const struct world *world, int name)
{
    return (struct address){.table = "tab", .position = {world->positions[name], 4}};
}

static struct caller caller_in(struct world *world, uint64_t process)
{
    return (struct caller){.call = {.deadline_ms = world->now_ms + 1000000000},
                           .process = process,
                           .patience_ms = 1000000000};
}

static void acknowledge(struct world *world, int name, const struct entity *entity)
{
    int64_t timestamp = page_timestamp(entity->page, entity->row);
    int64_t before = world->acknowledged[name];
    while (before < timestamp &&
           !atomic_compare_exchange_weak(&world->acknowledged[name], &before, timestamp))
        ;
}

static int store_value(struct worker *worker, const struct op *op, struct caller *caller)
{
    struct world *world = worker->world;
    char text[32];
    struct entity entity = {0};
    (void)snprintf(text, sizeof(text), "{\"value\": %d}", op->value);
    struct edit edit = {.address = name_of(world, op->name),
                        .begin = (enum edit_begin)chance(worker, EDIT_OVER + 1),
                        .text = bytes_of(text)};
    int r = account_store(world->account, caller, &edit, &entity);
    if (r == 0)
        acknowledge(world, op->name, &entity);
    entity_finish(&entity);
    return r;
}

/* What writers store through. */
static int store_text(void *context, struct caller *caller, const struct writer_text *text,
                      struct entity *ret)
{
    struct world *world = context;
    struct edit edit = {.address = text->address,
                        .begin = text->begin,
                        .text = text->text,
                        .last_stored = text->last_stored};
    return account_store(world->account, caller, &edit, ret);
}

static void give_up(void *context, struct caller *caller, const struct writer_loss *loss)
{
    (void)context;
    (void)caller;
    assert_true(loss->error < 0);
}

/* As a program: opens the file, writes it, once more if the result is ambiguous, and closes it. 1:
 * another thread is creating the entity. */
static int write_value(struct worker *worker, struct op *op, struct caller *caller)
{
    struct world *world = worker->world;
    char text[32];
    struct writer_handle *handle;
    struct writer_begin begin = {.address = name_of(world, op->name), .is_truncated = true};
    begin.is_new = account_find(world->account, caller, begin.address, &begin.snapshot) == -ENOENT;
    begin.begin = begin.is_new ? EDIT_NEW : EDIT_OVER;
    int r = writers_open(world->writers, &begin, caller, &handle);
    entity_finish(&begin.snapshot);
    if (r < 0) {
        assert_int_equal(r, -EEXIST);
        return 1;
    }
    caller->call.failure = (struct failure){0};
    (void)snprintf(text, sizeof(text), "{\"value\": %d}", op->value);
    r = writer_write(handle, caller, bytes_of(text), 0);
    if (r < 0 && caller->call.failure.is_ambiguous) {
        op->is_ambiguous = true;
        caller->call.failure = (struct failure){0};
        r = writer_write(handle, caller, bytes_of(text), 0);
    }
    struct caller closer = caller_in(world, caller->process);
    writer_close_handle(handle, &closer);
    return r;
}

/* Deletes what it finds; 1: there is nothing. */
static int delete_found(struct worker *worker, const struct op *op, struct caller *caller)
{
    struct account *account = worker->world->account;
    struct address address = name_of(worker->world, op->name);
    struct range p = {B("p\0"), B("p\x01")}, q = {B("q\0"), B("q\x01")};
    const struct directory steps[] = {{.kind = DIRECTORY_ENTITIES,
                                       .table = "tab",
                                       .range = address.position.data[0] == 'p' ? p : q},
                                      {.kind = DIRECTORY_FLAT, .table = "tab", .range = RANGE_ALL}};
    const struct directory_path path = {.steps = steps, .n = ARRAY_SIZE(steps)};
    struct entity entity = {0};
    int r = account_find(account, caller, address, &entity);
    if (r == -ENOENT)
        return 1;
    assert_int_equal(r, 0);
    if (chance(worker, 2) == 0)
        account_opened(account, caller, address, &entity);
    r = account_unlink(account, caller, address, page_etag(entity.page, entity.row), &path);
    entity_finish(&entity);
    return r;
}

static int perform(struct worker *worker, struct op *op, struct caller *caller)
{
    if (op->value == 0)
        return delete_found(worker, op, caller);
    return chance(worker, 2) ? write_value(worker, op, caller) : store_value(worker, op, caller);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct world *world = worker->world;
    const struct shape *shape = &world->shape;
    for (int i = 0; i < shape->turns; i++) {
        int number = worker->number * shape->turns + i;
        struct op *op = &world->ops[number];
        struct caller caller = caller_in(world, (uint64_t)worker->number + 1);
        *op = (struct op){.name = chance(worker, shape->names),
                          .value = chance(worker, 3) == 0 ? 0 : number + 1,
                          .begun = ++world->time};
        int r = perform(worker, op, &caller);
        op->ended = ++world->time;
        op->is_acknowledged = r == 0;
        op->is_ambiguous |= r < 0 && caller.call.failure.is_ambiguous;
        assert_true(r >= 0 || r == -EEXIST || r == -ESTALE || r == -EBUSY || op->is_ambiguous);
    }
    return NULL;
}

/* What was acknowledged before a lookup began is not older than what the lookup finds. */
static void *look_up(void *argument)
{
    struct world *world = argument;
    for (int i = 0; !world->is_over; i = (i + 1) % world->shape.names) {
        struct caller caller = caller_in(world, MOST_THREADS + 1);
        struct entity entity = {0};
        int64_t acknowledged = world->acknowledged[i];
        int r = account_find(world->account, &caller, name_of(world, i), &entity);
        assert_true(r == 0 || r == -ENOENT);
        if (r == 0)
            assert_true(page_timestamp(entity.page, entity.row) >= acknowledged);
        entity_finish(&entity);
    }
    return NULL;
}

/* Could the op be the last one that changed its name? */
static bool is_last(const struct world *world, const struct op *op)
{
    if (!op->is_acknowledged && !op->is_ambiguous)
        return false;
    for (size_t i = 0; i < world->count; i++) {
        const struct op *other = &world->ops[i];
        if (other->name == op->name && other->is_acknowledged && other->begun > op->ended)
            return false;
    }
    return true;
}

static void check_name(struct world *world, int name)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct caller caller = caller_in(world, 0);
    struct address address = name_of(world, name);
    _cleanup_(entity_finish) struct entity found = {0};
    int known = account_find(world->account, &caller, address, &found);
    int r = table_store_get(world->store, "tab", address.position, &caller.call, &page);
    assert_true(r == 0 || r == -ENOENT);
    assert_int_equal(known, r);
    bool is_explained = false;
    for (size_t i = 0; i < world->count && !is_explained; i++) {
        const struct op *op = &world->ops[i];
        char value[32];
        (void)snprintf(value, sizeof(value), "\"value\": %d\n", op->value);
        bool fits =
            r == 0 ? op->value && bytes_find(page_text(page, 0), bytes_of(value)) : op->value == 0;
        is_explained = op->name == name && fits && is_last(world, op);
    }
    assert_true(is_explained);
    if (r == 0) {
        assert_bytes(page_text(found.page, found.row), page_text(page, 0));
        assert_bytes(page_etag(found.page, found.row), page_etag(page, 0));
    }
}

static void set_up(struct world *world, struct table_store *store, const struct shape *shape)
{
    const struct store_hooks hooks = {.after = lose_every_third, .context = world};
    const struct writer_store texts = {.store = store_text, .give_up = give_up, .context = world};
    const struct retrying_store_options retrying = {.timeout_ms = 1000000000};
    struct account_options options = {
        .parallelism = 2, .fanout = 512, .ttl_ms = 1 << 30, .cache_bytes = shape->cache_bytes};
    memset(world, 0, sizeof(*world));
    world->shape = *shape;
    world->count = (size_t)shape->threads * (size_t)shape->turns;
    world->now_ms = 100000;
    world->clock = turned_clock(&world->now_ms);
    name_all(world);
    assert_int_equal(hooked_store_create(store, &hooks, &world->store), 0);
    if (shape->is_retrying)
        assert_int_equal(
            retrying_store_create(world->store, &world->clock, &retrying, &world->store), 0);
    struct call call = {.deadline_ms = world->now_ms + 1000000000};
    assert_int_equal(table_store_create_table(world->store, "tab", &call), 0);
    assert_int_equal(
        account_create(world->store, &world->clock, &options, NULL, NULL, &world->account), 0);
    assert_int_equal(writers_create(&world->clock, &texts, &world->writers), 0);
}

/* Takes the store. */
static void run(struct table_store *store, const struct shape *shape)
{
    static struct world world;
    pthread_t threads[MOST_THREADS], reader;
    struct worker workers[MOST_THREADS];
    set_up(&world, store, shape);
    assert_int_equal(pthread_create(&reader, NULL, look_up, &world), 0);
    for (int i = 0; i < shape->threads; i++) {
        workers[i] = (struct worker){&world, shape->seed * 1000 + (unsigned)i, i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < shape->threads; i++)
        (void)pthread_join(threads[i], NULL);
    world.is_over = true;
    (void)pthread_join(reader, NULL);
    for (int i = 0; i < shape->names; i++)
        check_name(&world, i);
    writers_destroy(world.writers);
    account_destroy(world.account);
}

static struct table_store *gated_memory(void)
{
    struct table_store *gate;
    assert_int_equal(gate_store_create(&memory_store_create()->store, &clock_system, &gate), 0);
    return gate;
}

static void few_names_in_memory(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 12; seed++) {
        struct shape shape = {.threads = 8, .names = 4, .turns = 150, .seed = seed};
        shape.is_retrying = seed % 4 > 1;
        shape.cache_bytes = seed % 2 ? 1 : (size_t)1 << 20;
        run(gated_memory(), &shape);
    }
}

static void many_names_in_memory(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 4; seed++) {
        struct shape shape = {.threads = 4, .names = 50, .turns = 2500, .seed = seed};
        shape.is_retrying = seed > 1;
        shape.cache_bytes = seed % 2 ? 10000 : (size_t)1 << 20;
        run(gated_memory(), &shape);
    }
}

static void in_a_file(void **state)
{
    struct shape shape = {
        .threads = 8, .names = 4, .turns = 150, .cache_bytes = (size_t)1 << 20, .seed = 1};
    run(open_account_at(*state, &clock_system), &shape);
}

static void in_a_file_with_retries(void **state)
{
    struct shape shape = {.threads = 4,
                          .names = 50,
                          .turns = 300,
                          .is_retrying = true,
                          .cache_bytes = (size_t)1 << 20,
                          .seed = 2};
    run(open_account_at(*state, &clock_system), &shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_names_in_memory),
        cmocka_unit_test(many_names_in_memory),
        WITH_FOLDER(in_a_file),
        WITH_FOLDER(in_a_file_with_retries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
