/* SPDX-License-Identifier: MIT */
/* An import over a store in memory, with its threads. */
#include "tests/unit/cache/account_fixture.h"

#define TEXT  "{\n}\n"
#define OTHER "{\n  \"A\": 1\n}\n"

static struct setup setup; /* large */
static struct buffer told;

static void note_refused(void *context, const struct grouped *change, const struct failure *failure)
{
    assert_ptr_equal(context, &setup);
    (void)buffer_append_format(&told, "%d %s;", (int)change->line,
                               strerrorname_np(-failure->error));
}

static struct import *begin(struct setup_options options)
{
    struct import *import;
    told = (struct buffer){.max = 1 << 16};
    set_up(&setup, options);
    assert_int_equal(account_import(setup.account, "t", note_refused, &setup, &import), 0);
    return import;
}

static void end(struct import *import)
{
    import_destroy(import);
    tear_down(&setup);
    buffer_finish(&told);
}

static void add(struct import *import, enum write_kind kind, int partition, int row, uint64_t line)
{
    char position[16];
    int size = snprintf(position, sizeof(position), "p%03d%c%05d", partition, '\0', row);
    struct write write = {.kind = kind, .position = {position, (size_t)size}, .text = B(TEXT)};
    assert_int_equal(import_add(import, &write, line), 0);
}

static void add_partitions(struct import *import, int partitions, int rows)
{
    for (int p = 0; p < partitions; p++)
        for (int row = 0; row < rows; row++)
            add(import, WRITE_UPSERT_REPLACE, p, row, 1);
}

static void finish(struct import *import)
{
    while (import_step(import, IMPORT_ALL, 50))
        ;
}

static void assert_counts(struct import *import, uint64_t stored, uint64_t refused, size_t left)
{
    struct import_counts counts = import_counts(import);
    assert_int_equal(counts.stored, stored);
    assert_int_equal(counts.refused, refused);
    assert_int_equal(counts.waiting + counts.out, left);
}

static void a_hundred_rows_are_a_request(void **state)
{
    (void)state;
    struct import *import = begin((struct setup_options){0});
    add_partitions(import, 20, 250);
    finish(import);
    assert_counts(import, 5000, 0, 0);
    assert_int_equal(setup.memory->asked, 60);
    assert_int_equal(page_rows(setup.memory->rows), 5000);
    assert_null(import_failure(import));
    end(import);
}

/* Two at first; a partition has one batch out. */
static void requests_are_limited(void **state)
{
    (void)state;
    struct import *import = begin((struct setup_options){0});
    gate_store_let(setup.gate, 0);
    add_partitions(import, 30, 100);
    assert_int_equal(gate_store_settle(setup.gate), 2);
    assert_counts(import, 0, 0, 3000);
    gate_store_let(setup.gate, GATE_OPEN);
    finish(import);
    assert_counts(import, 3000, 0, 0);
    gate_store_let(setup.gate, gate_store_arrived(setup.gate));
    add_partitions(import, 1, 1000);
    assert_int_equal(gate_store_settle(setup.gate), 31);
    add_partitions(import, 60, 100);
    assert_int_equal(gate_store_settle(setup.gate), 30 + IMPORT_REQUESTS_MAX);
    gate_store_let(setup.gate, GATE_OPEN);
    finish(import);
    assert_counts(import, 10000, 0, 0);
    end(import);
}

static void what_is_there_counts_as_stored(void **state)
{
    (void)state;
    struct import *import = begin((struct setup_options){0});
    another_client_writes(&setup, WRITE_INSERT, ROW_AT("p000", "00001"), TEXT);
    another_client_writes(&setup, WRITE_INSERT, ROW_AT("p000", "00002"), OTHER);
    for (int row = 0; row < 4; row++)
        add(import, WRITE_INSERT, 0, row, 10 + row);
    finish(import);
    assert_counts(import, 3, 1, 0);
    assert_string_equal(buffer_string(&told), "12 EEXIST;");
    end(import);
}

/* The objects of one row in their order, and each counts. */
static void the_later_object_counts(void **state)
{
    (void)state;
    struct import *import = begin((struct setup_options){0});
    for (uint64_t line = 1; line <= 50; line++)
        add(import, WRITE_UPSERT_REPLACE, 0, 7, line);
    finish(import);
    assert_counts(import, 50, 0, 0);
    assert_int_equal(setup.memory->asked, 1);
    for (uint64_t line = 1; line <= 5; line++)
        add(import, WRITE_INSERT, 0, 8, line);
    finish(import);
    assert_counts(import, 55, 0, 0);
    end(import);
}

static void what_is_of_the_table_ends_it(void **state)
{
    (void)state;
    static const struct {
        const char *faults;
        int error;
    } cases[] = {
        {"fail=batch:3+:403:AuthorizationFailure", -EACCES},
        {"fail=batch:3+:404:TableNotFound", -ENOENT},
        {"fail=batch:3+:503:ServerBusy", -EBUSY},
        {"fail=batch:3+:0:", -EIO},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct import *import = begin((struct setup_options){.faults = cases[i].faults});
        add_partitions(import, 2, 100);
        finish(import);
        for (int p = 2; p < 9; p++)
            add(import, WRITE_UPSERT_REPLACE, p, 0, 1);
        for (int p = 2; p < 9; p++)
            add(import, WRITE_UPSERT_REPLACE, p, 1, 1);
        finish(import);
        assert_int_equal(import_failure(import)->error, cases[i].error);
        struct import_counts counts = import_counts(import);
        assert_int_equal(counts.stored, 200);
        assert_int_equal(counts.refused, 0);
        assert_int_equal(counts.out, 0);
        assert_int_equal(import_add(import, &(struct write){.position = B("p\0r")}, 1),
                         cases[i].error);
        assert_int_equal(told.size, 0);
        end(import);
    }
}

/* Waiting and out. */
static void an_import_is_given_up(void **state)
{
    (void)state;
    struct import *import = begin((struct setup_options){0});
    gate_store_let(setup.gate, 0);
    add_partitions(import, 5, 150);
    assert_int_equal(gate_store_settle(setup.gate), 2);
    assert_true(import_step(import, IMPORT_NOTHING, 0));
    end(import);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_rows_are_a_request),   cmocka_unit_test(requests_are_limited),
        cmocka_unit_test(what_is_there_counts_as_stored), cmocka_unit_test(the_later_object_counts),
        cmocka_unit_test(what_is_of_the_table_ends_it),   cmocka_unit_test(an_import_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
