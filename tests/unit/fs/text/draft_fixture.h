/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_FS_TEXT_DRAFT_FIXTURE_H
#define TESTS_UNIT_FS_TEXT_DRAFT_FIXTURE_H
/* What the tests of drafts share: events that check that -EINVAL comes with a problem, and nothing
 * else does. */
#include "fs/text/draft.h"
#include "tests/unit/unit.h"

#define APPENDED_TO 50 /* bytes of the stored text */

static inline int write_bytes(struct draft *draft, struct bytes bytes, uint64_t offset)
{
    struct draft_problem problem = {0};
    int r = draft_write(draft, bytes, offset, &problem);
    assert_int_equal(r == -EINVAL, problem.reason != NULL);
    return r;
}

static inline int write_at(struct draft *draft, const char *text, uint64_t offset)
{
    return write_bytes(draft, bytes_of(text), offset);
}

static inline int write_text(struct draft *draft, const char *text)
{
    return write_at(draft, text, draft_size(draft));
}

static inline int resize(struct draft *draft, uint64_t size)
{
    struct draft_problem problem = {0};
    int r = draft_resize(draft, size, &problem);
    assert_int_equal(r == -EINVAL, problem.reason != NULL);
    return r;
}

/* The write is stored. */
static inline void store_text(struct draft *draft, const char *text)
{
    assert_int_equal(write_text(draft, text), DRAFT_STORE);
    draft_was_stored(draft);
}

static inline void init_draft(struct draft *draft, bool is_new, bool is_appended, const char *text)
{
    uint64_t base_size = is_appended && !is_new ? APPENDED_TO : 0;
    assert_int_equal(draft_init(draft, is_new, is_appended, base_size, bytes_of(text)), 0);
}

#endif
