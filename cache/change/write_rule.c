/* SPDX-License-Identifier: MIT */
#include "cache/change/write_rule.h"

static struct write_rule replace(const struct write_facts *facts, struct bytes etag)
{
    if (facts->overwrites_conflicts)
        return (struct write_rule){.kind = WRITE_UPSERT_REPLACE};
    return (struct write_rule){.kind = WRITE_REPLACE, .if_match = etag};
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

struct write_rule write_rule_choose(const struct write_facts *facts)
{
    struct bytes etag = replaced_version(facts);
    if (etag.size > 0)
        return replace(facts, etag);
    bool may_replace = facts->begin == EDIT_NEW || facts->begin == EDIT_OVER;
    return (struct write_rule){.kind = may_replace ? WRITE_UPSERT_REPLACE : WRITE_INSERT};
}
