/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_CHANGE_ACCOUNT_RENAMING_H
#define TESTS_UNIT_CACHE_CHANGE_ACCOUNT_RENAMING_H
/* What the tests of renames and of masks share: row a, another row that a rename goes to, and
 * another client. */
#include "tests/unit/cache/account_writing.h"

#define A   P_ROW("a")
#define A_1 TEXT_OF("a", "1")
#define A_2 TEXT_OF("a", "2")
#define A_3 TEXT_OF("a", "3")

/* a is 1 and is known. What is at `to` is known: that text; NULL: nothing. */
static inline void set_up_both(struct setup *setup, struct setup_options options, struct bytes to,
                               const char *text)
{
    set_up(setup, options);
    memory_store_add_table(setup->memory, "t");
    another_stores(setup, A, A_1);
    if (text)
        another_stores(setup, to, text);
    assert_found(setup, A, A_1);
    assert_found(setup, to, text);
    memory_store_forget_diary(setup->memory);
}

/* What the service has, and what this mount finds, without a request. NULL: nothing. */
static inline void assert_both(struct setup *setup, const char *a, struct bytes to,
                               const char *text)
{
    memory_store_forget_diary(setup->memory);
    assert_found(setup, A, a);
    assert_found(setup, to, text);
    assert_request_count(setup, 0);
    setup->now_ms += TTL_MS + 1;
    assert_found(setup, A, a);
    assert_found(setup, to, text);
}

/* What another client does before a request. */
static struct {
    struct setup *setup;
    struct bytes position;
    const char *text; /* NULL: it deletes */
    size_t number;    /* of the request, from 1 */
} other;

/* The memory store's `fault`. */
static inline int change_before(struct memory_store *memory, size_t number, struct call *call)
{
    (void)call;
    if (number != other.number)
        return 0;
    struct write write = {.kind = other.text ? WRITE_UPSERT_REPLACE : WRITE_DELETE,
                          .position = other.position};
    if (other.text)
        write.text = bytes_of(other.text);
    memory_store_write(memory, &write);
    return 0;
}

#endif
