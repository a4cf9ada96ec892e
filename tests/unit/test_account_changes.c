/* Threads that change few names at once, while every third answer to a write is lost. Over a store
 * in memory and over a file. At the end each entity is what a change left that nothing acknowledged
 * came after, and the account knows it. */
#include "cache/account.h"
#include "tests/unit/fetching.h"
#include "tests/unit/local_account.h"

#define THREADS 8
#define NAMES   4
#define TURNS   150 /* of each thread */
#define OPS     ((size_t)THREADS * TURNS)

/* A decorator that loses every third answer to a write. */
struct losing_store {
    struct table_store store;
    struct table_store *inner;
    bool is_retryable;
    _Atomic unsigned writes;
};

static int losing_query(struct table_store *store, const struct query *query, struct call *call,
                        struct page_builder *builder, struct continuation **ret_next)
{
    struct table_store *inner = ((struct losing_store *)store)->inner;
    return inner->ops->query(inner, query, call, builder, ret_next);
}

static int losing_get(struct table_store *store, const char *table, struct bytes position,
                      struct call *call, struct page_builder *builder)
{
    struct table_store *inner = ((struct losing_store *)store)->inner;
    return inner->ops->get(inner, table, position, call, builder);
}

static int losing_list_tables(struct table_store *store, const char *only,
                              const struct continuation *after, struct call *call,
                              struct table_names *ret, struct continuation **ret_next)
{
    struct table_store *inner = ((struct losing_store *)store)->inner;
    return inner->ops->list_tables(inner, only, after, call, ret, ret_next);
}

static int losing_write(struct table_store *store, const char *table, const struct write *writes,
                        size_t n, struct call *call, struct write_result *ret)
{
    struct losing_store *self = (struct losing_store *)store;
    int r = self->inner->ops->write(self->inner, table, writes, n, call, ret);
    if (++self->writes % 3 != 0)
        return r;
    (void)call_fail(call, -EIO, "the answer was lost");
    call->failure.is_ambiguous = true;
    call->failure.is_retryable = self->is_retryable;
    return -EIO;
}

static int losing_create_table(struct table_store *store, const char *table, struct call *call)
{
    struct table_store *inner = ((struct losing_store *)store)->inner;
    return inner->ops->create_table(inner, table, call);
}

static int losing_delete_table(struct table_store *store, const char *table, struct call *call)
{
    struct table_store *inner = ((struct losing_store *)store)->inner;
    return inner->ops->delete_table(inner, table, call);
}

static const struct table_store_limits *losing_limits(struct table_store *store)
{
    return table_store_limits(((struct losing_store *)store)->inner);
}

static void losing_destroy(struct table_store *store)
{
    table_store_destroy(((struct losing_store *)store)->inner);
    free(store);
}

static struct table_store *losing_store_create(struct table_store *inner, bool is_retryable)
{
    static const struct table_store_ops ops = {.query = losing_query,
                                               .get = losing_get,
                                               .list_tables = losing_list_tables,
                                               .write = losing_write,
                                               .create_table = losing_create_table,
                                               .delete_table = losing_delete_table,
                                               .limits = losing_limits,
                                               .destroy = losing_destroy};
    struct losing_store *self = calloc(1, sizeof(*self));
    assert_non_null(self);
    if (self)
        *self =
            (struct losing_store){.store.ops = &ops, .inner = inner, .is_retryable = is_retryable};
    return &self->store;
}

/* What one thread was told. Times are counted, not measured. */
struct op {
    int name, value; /* value 0: a delete */
    unsigned begun, ended;
    bool is_acknowledged, is_ambiguous;
};

struct world {
    struct clock clock;
    _Atomic int64_t now_ms;
    struct table_store *store; /* the account's */
    struct account *account;
    _Atomic unsigned time;
    _Atomic int64_t acknowledged[NAMES]; /* the greatest Timestamp that was told */
    _Atomic bool is_over;
    struct op ops[OPS];
};

struct worker {
    struct world *world;
    unsigned random;
    int number; /* from 0 */
};

static int chance(struct worker *worker, int n)
{
    worker->random = worker->random * 1664525 + 1013904223;
    return (int)((worker->random >> 8) % (unsigned)n);
}

static struct address name_of(int name)
{
    static const char *const positions[NAMES] = {"p\0a", "p\0b", "p\0c", "q\0a"};
    return (struct address){.table = "tab", .position = {positions[name], 3}};
}

static struct caller caller_in(struct world *world, uint64_t process)
{
    return (struct caller){.call = {.deadline_ms = world->now_ms + 1000000000},
                           .process = process,
                           .patience_ms = 1000000000};
}

static int store_value(struct worker *worker, const struct op *op, struct caller *caller)
{
    struct world *world = worker->world;
    char text[32];
    struct entity entity = {0};
    (void)snprintf(text, sizeof(text), "{\"value\": %d}", op->value);
    struct edit edit = {.address = name_of(op->name),
                        .begin = (enum edit_begin)chance(worker, EDIT_OVER + 1),
                        .text = bytes_of(text)};
    int r = account_store(world->account, caller, &edit, &entity);
    int64_t timestamp = r == 0 ? page_timestamp(entity.page, entity.row) : 0;
    int64_t before = world->acknowledged[op->name];
    while (before < timestamp &&
           !atomic_compare_exchange_weak(&world->acknowledged[op->name], &before, timestamp))
        ;
    entity_finish(&entity);
    return r;
}

/* Deletes what it finds; 1: there is nothing. */
static int delete_found(struct worker *worker, const struct op *op, struct caller *caller)
{
    struct account *account = worker->world->account;
    struct address address = name_of(op->name);
    struct range p = {B("p\0"), B("p\x01")}, q = {B("q\0"), B("q\x01")};
    const struct directory steps[] = {{.kind = DIRECTORY_ENTITIES,
                                       .table = "tab",
                                       .range = address.position.data[0] == 'p' ? p : q},
                                      {.kind = DIRECTORY_FLAT, .table = "tab", .range = RANGE_ALL}};
    const struct directory_path path = {steps, ARRAY_SIZE(steps)};
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

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct world *world = worker->world;
    for (int i = 0; i < TURNS; i++) {
        int number = worker->number * TURNS + i;
        struct op *op = &world->ops[number];
        struct caller caller = caller_in(world, (uint64_t)worker->number + 1);
        *op = (struct op){.name = chance(worker, NAMES),
                          .value = chance(worker, 3) == 0 ? 0 : number + 1,
                          .begun = ++world->time};
        int r = op->value ? store_value(worker, op, &caller) : delete_found(worker, op, &caller);
        op->ended = ++world->time;
        op->is_acknowledged = r == 0;
        op->is_ambiguous = r < 0 && caller.call.failure.is_ambiguous;
        assert_true(r >= 0 || r == -EEXIST || r == -ESTALE || r == -EBUSY || op->is_ambiguous);
    }
    return NULL;
}

/* What was acknowledged before a lookup began is not older than what the lookup finds. */
static void *look_up(void *argument)
{
    struct world *world = argument;
    for (int i = 0; !world->is_over; i = (i + 1) % NAMES) {
        struct caller caller = caller_in(world, THREADS + 1);
        struct entity entity = {0};
        int64_t acknowledged = world->acknowledged[i];
        int r = account_find(world->account, &caller, name_of(i), &entity);
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
    for (size_t i = 0; i < OPS; i++) {
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
    struct address address = name_of(name);
    struct entity found = {0};
    int known = account_find(world->account, &caller, address, &found);
    int r = table_store_get(world->store, "tab", address.position, &caller.call, &page);
    assert_true(r == 0 || r == -ENOENT);
    assert_int_equal(known, r);
    bool is_explained = false;
    for (size_t i = 0; i < OPS && !is_explained; i++) {
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
    entity_finish(&found);
}

/* Takes the store. */
static void run(struct table_store *store, bool is_retrying, size_t cache_bytes, unsigned seed)
{
    static struct world world;
    pthread_t threads[THREADS], reader;
    struct worker workers[THREADS];
    struct account_options options = {
        .parallelism = 2, .fanout = 512, .ttl_ms = 1 << 30, .cache_bytes = cache_bytes};
    const struct retrying_store_options retrying = {.timeout_ms = 1000000000};
    memset(&world, 0, sizeof(world));
    world.now_ms = 100000;
    world.clock = turned_clock(&world.now_ms);
    world.store = losing_store_create(store, is_retrying);
    if (is_retrying)
        assert_int_equal(retrying_store_create(world.store, &world.clock, &retrying, &world.store),
                         0);
    struct call call = {.deadline_ms = world.now_ms + 1000000000};
    assert_int_equal(table_store_create_table(world.store, "tab", &call), 0);
    assert_int_equal(
        account_create(world.store, &world.clock, &options, NULL, NULL, &world.account), 0);
    assert_int_equal(pthread_create(&reader, NULL, look_up, &world), 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){&world, seed * 1000 + (unsigned)i, i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    world.is_over = true;
    (void)pthread_join(reader, NULL);
    for (int i = 0; i < NAMES; i++)
        check_name(&world, i);
    account_destroy(world.account);
}

static struct table_store *gated_memory(void)
{
    struct table_store *gate;
    assert_int_equal(gate_store_create(&memory_store_create()->store, &clock_system, &gate), 0);
    return gate;
}

static void in_memory(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 6; seed++)
        run(gated_memory(), false, seed % 2 ? 1 : (size_t)1 << 20, seed);
}

static void in_memory_with_retries(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 6; seed++)
        run(gated_memory(), true, seed % 2 ? 1 : (size_t)1 << 20, seed);
}

static void in_a_file(void **state)
{
    run(open_account_at(*state, &clock_system), false, (size_t)1 << 20, 1);
}

static void in_a_file_with_retries(void **state)
{
    run(open_account_at(*state, &clock_system), true, (size_t)1 << 20, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_memory),
        cmocka_unit_test(in_memory_with_retries),
        WITH_FOLDER(in_a_file),
        WITH_FOLDER(in_a_file_with_retries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
