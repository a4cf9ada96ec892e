/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_DROPPING_H
#define TESTS_UNIT_CACHE_DROPPING_H
/* What the tests of a process that deletes a whole table share: partitions p and q of table t, with
 * ROWS rows each, which the process RM deletes. */
#include "cache/core.h"
#include "cache/queue/pending_queue.h"
#include "tests/unit/cache/account_queueing.h"

#define FIND 8 /* a process */
#define ROWS 6 /* of each partition */

static const char *const partitions[] = {"p", "q"};

static inline void set_up_rows(struct setup *setup, struct setup_options options)
{
    set_up_queue(setup, options);
    setup->memory->checks_tables = true;
    memory_store_add_table(setup->memory, "t");
    for (size_t i = 0; i < ARRAY_SIZE(partitions); i++)
        add_rows(setup, partitions[i], ROWS);
}

static inline void begin_rm_of_table(struct setup *setup, size_t n)
{
    setup->process = RM;
    assert_int_equal(list(setup, PARTITIONS_OF("t"), false), n);
}

static inline void set_up_table(struct setup *setup, struct setup_options options)
{
    set_up_rows(setup, options);
    begin_rm_of_table(setup, ARRAY_SIZE(partitions));
}

static inline struct directory rows_of(const char *partition)
{
    if (strcmp(partition, "p") == 0)
        return *ROWS_OF("p");
    if (strcmp(partition, "x") == 0)
        return *ROWS_OF("x");
    return strcmp(partition, "q") == 0 ? *ROWS_OF("q") : *ROWS_OF("r");
}

static inline void remove_row(struct setup *setup, const char *partition, int row)
{
    char position[16];
    int size = snprintf(position, sizeof(position), "%s%c%05d", partition, '\0', row);
    assert_int_equal(account_unlink(setup->account, caller_of(setup),
                                    address_of((struct bytes){position, (size_t)size}), B("etag"),
                                    PATH_OF(rows_of(partition), *PARTITIONS_OF("t"))),
                     0);
}

/* As rm does it, up to the rmdir of the partition. */
static inline void remove_rows(struct setup *setup, const char *partition, int n)
{
    const struct directory rows = rows_of(partition);
    assert_int_equal(list(setup, &rows, false), ROWS);
    for (int row = 0; row < n; row++)
        remove_row(setup, partition, row);
}

static inline void remove_partition(struct setup *setup, const char *partition)
{
    remove_rows(setup, partition, ROWS);
    assert_int_equal(remove_at(setup, PATH_OF(rows_of(partition), *PARTITIONS_OF("t"))), 0);
}

static inline void remove_partitions(struct setup *setup)
{
    for (size_t i = 0; i < ARRAY_SIZE(partitions); i++)
        remove_partition(setup, partitions[i]);
    assert_int_equal(metric(setup, "tablefuse_queued"), 2 * ROWS - 1);
    memory_store_forget_diary(setup->memory);
}

#endif
