/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_SURVEY_H
#define CACHE_SCAN_SURVEY_H
/* What is in a table, by the prefixes of its PartitionKeys, in bounded memory. Partitions are added
 * in key order. Pure; one thread.
 *
 * The result is a tree. Its prefixes are those that a directory of a mount shows if it has more
 * partitions than its fanout (cache/scan/scan_level): what all keys below share, and one more
 * character. A prefix has at least two partitions. Below one that is no directory's name its
 * partitions follow.
 *
 * If the tree takes more than its maximum, the smallest parts of it are left out ("folded"), so a
 * prefix may have more than its children: survey_rest. Each number that is there stays exact. A
 * prefix that is left with one child and little else is left out, too; its child takes its place.
 *
 * The bound: let B be 8 times the sum of all, times the bytes of the largest node, by the maximum
 * of bytes; in entities or bytes, as by_bytes says. Each partition of at least B is there. Each
 * prefix of at least B is there, or a prefix or partition in it that has all of it but less than
 * twice B.
 */
#include "client/base/bytes.h"

struct survey_counts {
    uint64_t entities, partitions, bytes;
};

struct survey_node {                     /* a partition, or all that starts with a prefix */
    struct survey_node *next, *children; /* in key order */
    struct survey_counts counts;
    bool is_partition;
    size_t name_size;
    char name[]; /* the key, or the prefix; CESU-8 */
};

struct survey;
/* max_bytes: of the tree, but for what the last key has just added. by_bytes: the smallest in bytes
 * are folded, else in entities. */
int survey_create(size_t max_bytes, bool by_bytes, struct survey **ret);
void survey_destroy(struct survey *survey); /* takes NULL */
/* More entities of this partition, which is the last one that was added, or after it. 0, or
 * -ENOMEM: then the survey is of no use. */
int survey_add(struct survey *survey, struct bytes partition_key, uint64_t entities,
               uint64_t bytes);
/* No more is added. *ret: the root, with an empty name and all counts; the survey's. 0, -ENOMEM. */
int survey_finish(struct survey *survey, const struct survey_node **ret);

/* In entities, or in bytes. */
uint64_t survey_measure(const struct survey_counts *counts, bool by_bytes);
/* What is in the node and in none of its children. Nothing of a partition. */
struct survey_counts survey_rest(const struct survey_node *node);
/* What a node takes whose name has this size. */
size_t survey_node_bytes(size_t name_size);

DEFINE_CLEANUP(struct survey *, survey_destroy);

#endif
