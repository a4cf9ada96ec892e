#ifndef CLIENT_FILTER_TREE_H
#define CLIENT_FILTER_TREE_H
/* The text of a $filter as a tree, for filter.c, whose header has the grammar. Pure. */
#include "client/filter.h"
#include "client/filter_constant.h"

enum filter_relation {
    RELATION_EQ,
    RELATION_NE,
    RELATION_GT,
    RELATION_GE,
    RELATION_LT,
    RELATION_LE,
    RELATIONS,
};

enum filter_subject { /* in the order in which an entity tells them */
                      SUBJECT_PARTITION_KEY,
                      SUBJECT_ROW_KEY,
                      SUBJECT_TIMESTAMP,
                      SUBJECT_PROPERTY,
};

enum filter_node_kind { NODE_OR, NODE_AND, NODE_NOT, NODE_COMPARISON };

struct filter_node {
    enum filter_node_kind kind;
    struct filter_node *first; /* child; of `or` and `and` others are behind it, in `next` */
    struct filter_node *next;
    /* of a comparison, PROPERTY RELATION CONSTANT; a Boolean alone is `eq true` */
    enum filter_relation relation;
    enum filter_subject subject;
    struct bytes name;
    struct filter_constant constant;
    size_t index; /* in tree->comparisons */
};

struct filter_tree {
    char *text; /* a NUL behind it; names are views of it */
    struct filter_node *root;
    struct filter_node *comparisons[FILTER_MAX_COMPARISONS]; /* by subject, then name */
    size_t count;
};

/* Zeroed before; finished in any case. Errors as filter_create's. */
int filter_tree_init(struct filter_tree *tree, struct bytes text, struct filter_error *ret_error);
void filter_tree_finish(struct filter_tree *tree);

#endif
