/* SPDX-License-Identifier: MIT */
/* What an import groups, against a model in plain arrays. */
#include "cache/bulk/groups.h"
#include "tests/unit/unit.h"

#define PARTITIONS 4
#define ROWS       6
#define WORLDS     300
#define ADDS       400

struct model_change {
    int row;
    uint64_t line, objects;
    enum write_kind kind;
    size_t request_bytes;
};

struct model_group {
    int n;
    struct model_change changes[ROWS];
};

struct model_partition {
    int first, end; /* of its groups, those that wait */
    bool is_out;
    struct model_group groups[ADDS];
    uint64_t made[ROWS]; /* the line of the change that was made last */
};

struct world {
    unsigned random;
    struct groups *groups;
    struct groups_limits limits;
    struct model_partition partitions[PARTITIONS];
    struct groups_batch out[PARTITIONS];
    size_t waiting;
    uint64_t lines, objects; /* that were added, that were made */
    uint64_t last[PARTITIONS][ROWS];
};

static int chance(struct world *world, int n)
{
    world->random = world->random * 1664525 + 1013904223;
    return (int)((world->random >> 8) % (unsigned)n);
}

static struct bytes position_of(int partition, int row, char ret[8])
{
    ret[0] = (char)('a' + partition);
    ret[1] = '\0';
    ret[2] = (char)('0' + row);
    return (struct bytes){ret, 3};
}

static size_t bytes_of_group(const struct model_group *group)
{
    size_t bytes = 0;
    for (int i = 0; i < group->n; i++)
        bytes += group->changes[i].request_bytes;
    return bytes;
}

static bool is_ready(const struct world *world, const struct model_partition *partition)
{
    const struct model_group *group = &partition->groups[partition->first];
    return partition->end > partition->first + 1 || group->n == (int)world->limits.batch_rows ||
           bytes_of_group(group) >= world->limits.batch_bytes;
}

static void model_add(struct world *world, int p, struct model_change change)
{
    struct model_partition *partition = &world->partitions[p];
    struct model_group *last =
        partition->end > partition->first ? &partition->groups[partition->end - 1] : NULL;
    struct model_change *same = NULL;
    for (int i = 0; last && i < last->n; i++)
        if (last->changes[i].row == change.row)
            same = &last->changes[i];
    size_t bytes = last ? bytes_of_group(last) - (same ? same->request_bytes : 0) : 0;
    int others = last ? last->n - !!same : 0;
    bool fits = others == 0 || bytes + change.request_bytes <= world->limits.batch_bytes;
    if (same && same->kind == WRITE_UPSERT_REPLACE && change.kind == WRITE_UPSERT_REPLACE && fits) {
        change.objects += same->objects;
        *same = change;
        return;
    }
    world->waiting++;
    if (!last || same || !fits || last->n == (int)world->limits.batch_rows)
        last = &partition->groups[partition->end++];
    last->changes[last->n++] = change;
}

static const struct model_change *find_change(const struct model_group *group, int row)
{
    for (int i = 0; i < group->n; i++)
        if (group->changes[i].row == row)
            return &group->changes[i];
    return NULL;
}

/* The taken batch is the first group of a partition that has nothing out, and a right one. */
static void check_batch(struct world *world, const struct groups_batch *batch, bool takes_any)
{
    int p = batch->changes[0]->write.position.data[0] - 'a';
    struct model_partition *partition = &world->partitions[p];
    assert_false(partition->is_out);
    assert_true(partition->end > partition->first);
    const struct model_group *group = &partition->groups[partition->first];
    assert_int_equal(batch->n, group->n);
    bool has_ready = false;
    int largest = 0;
    for (int i = 0; i < PARTITIONS; i++) {
        const struct model_partition *other = &world->partitions[i];
        if (other->is_out || other->end == other->first)
            continue;
        has_ready = has_ready || is_ready(world, other);
        largest = MAX(largest, other->groups[other->first].n);
    }
    assert_int_equal(has_ready, is_ready(world, partition));
    assert_true(has_ready || (takes_any && group->n == largest));
    for (size_t i = 0; i < batch->n; i++) {
        const struct grouped *change = batch->changes[i];
        const struct model_change *expected =
            find_change(group, change->write.position.data[2] - '0');
        assert_non_null(expected);
        assert_true(i == 0 || bytes_compare(batch->changes[i - 1]->write.position,
                                            change->write.position) < 0);
        assert_int_equal(change->line, expected->line);
        assert_int_equal(change->objects, expected->objects);
        assert_int_equal(change->write.kind, expected->kind);
        assert_bytes(change->write.text, B("text"));
        assert_bytes(change->write.if_match, B("W/1"));
    }
    partition->first++;
    partition->is_out = true;
    world->waiting -= batch->n;
    world->out[p] = *batch;
}

static bool take(struct world *world, bool takes_any)
{
    struct groups_batch batch;
    bool is_taken = groups_take(world->groups, takes_any, &batch);
    for (int p = 0; !is_taken && p < PARTITIONS; p++) {
        const struct model_partition *partition = &world->partitions[p];
        bool has_group = !partition->is_out && partition->end > partition->first;
        assert_false(has_group && (takes_any || is_ready(world, partition)));
    }
    if (is_taken)
        check_batch(world, &batch, takes_any);
    return is_taken;
}

static void end(struct world *world, int p)
{
    struct model_partition *partition = &world->partitions[p];
    if (!partition->is_out)
        return;
    for (size_t i = 0; i < world->out[p].n; i++) {
        const struct grouped *change = world->out[p].changes[i];
        uint64_t *made = &partition->made[change->write.position.data[2] - '0'];
        assert_true(change->line > *made);
        *made = change->line;
        world->objects += change->objects;
    }
    groups_end(world->groups, &world->out[p]);
    partition->is_out = false;
}

static void add(struct world *world)
{
    char data[8];
    int p = chance(world, PARTITIONS), row = chance(world, ROWS);
    struct model_change change = {.row = row,
                                  .line = world->lines + 1,
                                  .objects = 1,
                                  .kind = chance(world, 3) ? WRITE_UPSERT_REPLACE : WRITE_MERGE,
                                  .request_bytes = (size_t)chance(world, 10)};
    struct write write = {.kind = change.kind,
                          .position = position_of(p, row, data),
                          .if_match = B("W/1"),
                          .text = B("text")};
    int r = groups_add(world->groups, &write, change.request_bytes, change.line);
    if (r == -EAGAIN) {
        assert_true(world->waiting > 0);
        (void)take(world, true);
        return;
    }
    assert_int_equal(r, 0);
    world->lines++;
    world->last[p][row] = change.line;
    model_add(world, p, change);
}

static void run_world(unsigned seed)
{
    static struct world world;
    world = (struct world){.random = seed};
    world.limits = (struct groups_limits){.batch_rows = (size_t)chance(&world, 4) + 1,
                                          .batch_bytes = (size_t)chance(&world, 20) + 5,
                                          .max_bytes = (size_t)chance(&world, 8000),
                                          .max_out_bytes = SIZE_MAX / 2};
    assert_int_equal(groups_create(&world.limits, &world.groups), 0);
    for (int i = 0; i < ADDS; i++) {
        add(&world);
        if (chance(&world, 3) == 0)
            (void)take(&world, chance(&world, 8) == 0);
        if (chance(&world, 3) == 0)
            end(&world, chance(&world, PARTITIONS));
        assert_int_equal(groups_waiting(world.groups), world.waiting);
    }
    while (world.waiting > 0)
        if (!take(&world, true))
            end(&world, chance(&world, PARTITIONS));
    for (int p = 0; p < PARTITIONS; p++) {
        end(&world, p);
        assert_memory_equal(world.partitions[p].made, world.last[p], sizeof(world.last[p]));
    }
    assert_int_equal(world.objects, world.lines);
    groups_destroy(world.groups);
}

static void random_input(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= WORLDS; seed++)
        run_world(seed);
}

static int add_number(struct groups *groups, int partition, int row, const char *text)
{
    char position[32];
    int n = snprintf(position, sizeof(position), "%d", partition);
    n += 1 + snprintf(position + n + 1, sizeof(position) - (size_t)n - 1, "%d", row);
    struct write write = {
        .kind = WRITE_UPSERT_REPLACE, .position = {position, (size_t)n}, .text = bytes_of(text)};
    return groups_add(groups, &write, 1, 1);
}

/* Rows of 1,000 bytes in random order over 20,000 partitions: four a batch, in the room of an
 * import. */
static void random_order_fills_batches(void **state)
{
    (void)state;
    static char text[1000];
    memset(text, 'x', sizeof(text) - 1);
    const struct groups_limits limits = {100, 4 << 20, GROUPS_BYTES, GROUPS_BYTES};
    _cleanup_(groups_destroyp) struct groups *groups = NULL;
    struct groups_batch batch;
    struct world random = {.random = 1};
    int rows = 300000, batches = 0;
    assert_int_equal(groups_create(&limits, &groups), 0);
    for (int i = 0; i < rows;) {
        if (add_number(groups, chance(&random, 20000), i, text) == 0) {
            i++;
            continue;
        }
        assert_true(groups_take(groups, true, &batch));
        groups_end(groups, &batch);
        batches++;
    }
    size_t left = groups_waiting(groups);
    assert_in_range(left, 28000, GROUPS_BYTES / sizeof(text));
    assert_in_range(batches, 1, (rows - (int)left) / 4);
    for (; groups_take(groups, true, &batch); left -= batch.n, groups_end(groups, &batch))
        assert_in_range(batch.n, 1, GROUPS_BATCH_MAX);
}

/* What is out has a limit, too; one batch may always go. */
static void what_is_out_is_limited(void **state)
{
    (void)state;
    const struct groups_limits limits = {1, 100, 100000, 100};
    _cleanup_(groups_destroyp) struct groups *groups = NULL;
    struct groups_batch first, second;
    assert_int_equal(groups_create(&limits, &groups), 0);
    assert_int_equal(add_number(groups, 1, 1, "text"), 0);
    assert_int_equal(add_number(groups, 2, 1, "text"), 0);
    assert_true(groups_take(groups, false, &first));
    assert_false(groups_take(groups, true, &second));
    groups_end(groups, &first);
    assert_true(groups_take(groups, false, &second));
    groups_end(groups, &second);
}

/* Of what waits at the end of an import that failed. */
static void what_waits_is_destroyed(void **state)
{
    (void)state;
    const struct groups_limits limits = {3, 100, 100000, 100};
    struct groups *groups;
    assert_int_equal(groups_create(&limits, &groups), 0);
    for (int i = 0; i < 50; i++)
        assert_int_equal(add_number(groups, i % 7, i, "text"), 0);
    groups_destroy(groups);
    groups_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_input),
        cmocka_unit_test(random_order_fills_batches),
        cmocka_unit_test(what_is_out_is_limited),
        cmocka_unit_test(what_waits_is_destroyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
