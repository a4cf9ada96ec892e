/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_FILTER_FILTER_TREE_H
#define CLIENT_FILTER_FILTER_TREE_H
/* The parse tree of a $filter, for filter.c; filter.h has the grammar. Pure. */
#include "client/filter/filter.h"
#include "client/filter/filter_constant.h"

enum filter_relation {
    RELATION_EQ,
    RELATION_NE,
    RELATION_GT,
    RELATION_GE,
    RELATION_LT,
    RELATION_LE,
    RELATIONS,
};

enum filter_subject { /* what is compared; in the order of an entity's text */
                      SUBJECT_PARTITION_KEY,
                      SUBJECT_ROW_KEY,
                      SUBJECT_TIMESTAMP,
                      SUBJECT_PROPERTY,
};

enum filter_node_kind { NODE_OR, NODE_AND, NODE_NOT, NODE_COMPARISON };

struct filter_node {
    enum filter_node_kind kind;
    struct filter_node *first; /* child; `or` and `and` have more, linked by `next` */
    struct filter_node *next;
    /* NODE_COMPARISON: subject, relation, constant; a property alone is `eq true` */
    enum filter_relation relation;
    enum filter_subject subject;
    struct bytes name;
    struct filter_constant constant;
    size_t index; /* in tree->comparisons */
};

struct filter_tree {
    char *text; /* ends in a NUL; names are views of it */
    struct filter_node *root;
    struct filter_node *comparisons[FILTER_MAX_COMPARISONS]; /* sorted by subject, then name */
    size_t count;
};

/* The caller zeroes `tree` before; finishes it also after a failure. Errors as filter_create. */
int filter_tree_init(struct filter_tree *tree, struct bytes text, struct filter_error *ret_error);
void filter_tree_finish(struct filter_tree *tree);

#endif
