#ifndef CACHE_LEVEL_NAMES_H
#define CACHE_LEVEL_NAMES_H
/* The names that a level shows, in key order: partitions, and prefixes that several share. Who
 * fills it has it alone; once it is shared, it does not change any more. References may be taken
 * and dropped by any thread. */
#include "client/bytes.h"

struct level_names;
struct level_name {
    bool is_prefix;
    struct bytes key; /* a view, until the next append */
};

int level_names_create(struct level_names **ret);
struct level_names *level_names_ref(struct level_names *names);
void level_names_unref(struct level_names *names); /* takes NULL */

int level_names_append(struct level_names *names, struct level_name name); /* -ENOMEM */
size_t level_names_count(const struct level_names *names);
struct level_name level_names_at(const struct level_names *names, size_t i);
size_t level_names_bytes(const struct level_names *names);

DEFINE_CLEANUP(struct level_names *, level_names_unref);

#endif
