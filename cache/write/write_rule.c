/* SPDX-License-Identifier: MIT */
#include "cache/write/write_rule.h"

static struct write_rule replace(const struct write_facts *facts, struct bytes etag)
{
    if (facts->overwrites_conflicts)
        return (struct write_rule){.kind = WRITE_UPSERT_REPLACE};
    return (struct write_rule){.kind = WRITE_REPLACE, .if_match = etag};
}

static struct write_rule merge(struct bytes etag)
{
    return (struct write_rule){.kind = WRITE_MERGE, .if_match = etag, .is_repeated = true};
}

/* The version that the text replaces, if it is known; else empty. */
static struct bytes replaced_version(const struct write_facts *facts)
{
    if (facts->last_stored.size > 0)
        return facts->last_stored;
    if (facts->begin == EDIT_CHANGED)
        return facts->snapshot.size > 0 ? facts->snapshot : BYTES_LITERAL("*");
    if (facts->masked.size > 0)
        return facts->masked;
    return facts->begin == EDIT_OVER ? facts->read : (struct bytes){0};
}

static struct write_rule choose_appended(const struct write_facts *facts)
{
    if (facts->last_stored.size > 0)
        return merge(facts->last_stored);
    if (facts->masked.size > 0)
        return replace(facts, facts->masked);
    if (facts->snapshot.size > 0)
        return merge(facts->snapshot);
    return (struct write_rule){.kind = WRITE_INSERT, .is_repeated = true};
}

struct write_rule write_rule_choose(const struct write_facts *facts)
{
    if (facts->begin == EDIT_APPENDED)
        return choose_appended(facts);
    struct bytes etag = replaced_version(facts);
    if (etag.size > 0)
        return replace(facts, etag);
    return (struct write_rule){.kind = facts->begin == EDIT_EXCLUSIVE ? WRITE_INSERT
                                                                      : WRITE_UPSERT_REPLACE};
}
