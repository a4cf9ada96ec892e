/* SPDX-License-Identifier: MIT */
/* The comparisons, which are the leaves of the tree, are also in an array, in the order in which an
 * entity has their subjects: keys, Timestamp, then properties by name. So one pass over an entity's
 * text evaluates all of them and ends after the last name in the filter. If the keys alone decide,
 * the text is not read. */
#include "client/filter/filter.h"
#include "client/entity/entity_lines.h"
#include "client/filter/filter_tree.h"
#include "client/text/json_string.h"

struct filter {
    struct filter_tree tree;
};

int filter_create(struct bytes text, struct filter **ret, struct filter_error *ret_error)
{
    _cleanup_(filter_destroyp) struct filter *filter = calloc(1, sizeof(*filter));
    if (!filter)
        return -ENOMEM;
    int r = filter_tree_init(&filter->tree, text, ret_error);
    if (r == 0)
        *ret = TAKE_PTR(filter);
    return r;
}

void filter_destroy(struct filter *filter)
{
    if (!filter)
        return;
    filter_tree_finish(&filter->tree);
    free(filter);
}

const char *filter_text(const struct filter *filter)
{
    return filter->tree.text;
}

/* For each relation to a key, the text to append to the key to get the start and the end of the
 * matching positions; data NULL: no bound. */
static const struct {
    struct bytes lo, hi;
} ends[RELATIONS] = {
    [RELATION_EQ] = {BYTES_LITERAL(""), BYTES_LITERAL(POSITION_AFTER)},
    [RELATION_GT] = {BYTES_LITERAL(POSITION_AFTER), {NULL, 0}},
    [RELATION_GE] = {BYTES_LITERAL(""), {NULL, 0}},
    [RELATION_LT] = {{NULL, 0}, BYTES_LITERAL("")},
    [RELATION_LE] = {{NULL, 0}, BYTES_LITERAL(POSITION_AFTER)},
};

struct bounds {
    const struct filter_node *partition; /* the comparison that sets PartitionKey; NULL: none */
    struct buffer *lo, *hi;
    struct buffer key; /* the start of the position that the comparison gives */
};

/* Moves an end of the bounds to the key and `behind`, if that makes them narrower. */
static int move_end(struct bounds *bounds, struct buffer *end, struct bytes behind)
{
    struct buffer *key = &bounds->key;
    size_t size = key->size;
    (void)buffer_append(key, behind);
    int order = bytes_compare(buffer_bytes(key), buffer_bytes(end));
    if (key->error == 0 && (end == bounds->lo ? order > 0 : order < 0)) {
        buffer_clear(end);
        (void)buffer_append(end, buffer_bytes(key));
    }
    key->size = size;
    return key->error < 0 ? key->error : end->error;
}

static bool bounds_keys(const struct filter_node *comparison)
{
    return comparison->subject <= SUBJECT_ROW_KEY && comparison->constant.type == EDM_STRING &&
           comparison->relation != RELATION_NE;
}

static int narrow(struct bounds *bounds, const struct filter_node *comparison)
{
    bool is_row = comparison->subject == SUBJECT_ROW_KEY;
    if (!bounds_keys(comparison) || (is_row && !bounds->partition))
        return 0;
    buffer_clear(&bounds->key);
    if (is_row) {
        (void)buffer_append(&bounds->key, buffer_bytes(&bounds->partition->constant.bytes));
        (void)buffer_append_char(&bounds->key, '\0');
    }
    (void)buffer_append(&bounds->key, buffer_bytes(&comparison->constant.bytes));
    struct bytes lo = ends[comparison->relation].lo, hi = ends[comparison->relation].hi;
    if (comparison->relation == RELATION_EQ && !is_row)
        lo = BYTES_LITERAL("\0"); /* inside the partition, not before it */
    int r = lo.data ? move_end(bounds, bounds->lo, lo) : 0;
    return r == 0 && hi.data ? move_end(bounds, bounds->hi, hi) : r;
}

static int find_partition(struct bounds *bounds, const struct filter_node *comparison)
{
    if (comparison->subject == SUBJECT_PARTITION_KEY && bounds_keys(comparison) &&
        comparison->relation == RELATION_EQ)
        bounds->partition = comparison;
    return 0;
}

/* Visits every comparison that must be true. */
static int visit_required(struct bounds *bounds, const struct filter_node *node,
                          int (*visit)(struct bounds *bounds, const struct filter_node *comparison))
{
    int r = 0;
    if (node->kind == NODE_COMPARISON)
        return visit(bounds, node);
    if (node->kind == NODE_AND)
        for (const struct filter_node *child = node->first; child && r == 0; child = child->next)
            r = visit_required(bounds, child, visit);
    return r;
}

int filter_bounds(const struct filter *filter, struct buffer *lo, struct buffer *hi,
                  struct range *ret)
{
    struct bounds bounds = {.lo = lo, .hi = hi};
    buffer_init(&bounds.key, lo->max);
    buffer_clear(lo);
    buffer_clear(hi);
    int r = buffer_append_string(hi, POSITION_END);
    if (r == 0)
        r = visit_required(&bounds, filter->tree.root, find_partition);
    if (r == 0)
        r = visit_required(&bounds, filter->tree.root, narrow);
    buffer_finish(&bounds.key);
    if (r == 0)
        *ret = (struct range){buffer_bytes(lo), buffer_bytes(hi)};
    return r;
}

/* TRUTH_UNKNOWN: the text is not read yet. `and` is the minimum, `or` the maximum, `not` the
 * inverse. */
enum truth { TRUTH_FALSE, TRUTH_UNKNOWN, TRUTH_TRUE };

static unsigned evaluate(const struct filter_node *node, const unsigned char *truths)
{
    if (node->kind == NODE_COMPARISON)
        return truths[node->index];
    unsigned truth = evaluate(node->first, truths);
    for (const struct filter_node *child = node->first->next; child; child = child->next) {
        unsigned other = evaluate(child, truths);
        truth = node->kind == NODE_AND ? MIN(truth, other) : MAX(truth, other);
    }
    return node->kind == NODE_NOT ? TRUTH_TRUE - truth : truth;
}

static unsigned char truth_of(const struct filter_node *comparison, enum filter_order order)
{
    static const bool holds[RELATIONS][FILTER_OTHER_TYPE + 1] = {
        [RELATION_EQ] = {[FILTER_EQUAL] = true},
        [RELATION_NE] = {[FILTER_LESS] = true,
                         [FILTER_GREATER] = true,
                         [FILTER_UNORDERED] = true,
                         [FILTER_OTHER_TYPE] = true},
        [RELATION_GT] = {[FILTER_GREATER] = true},
        [RELATION_GE] = {[FILTER_GREATER] = true, [FILTER_EQUAL] = true},
        [RELATION_LT] = {[FILTER_LESS] = true, [FILTER_OTHER_TYPE] = true},
        [RELATION_LE] = {[FILTER_LESS] = true, [FILTER_EQUAL] = true, [FILTER_OTHER_TYPE] = true},
    };
    return holds[comparison->relation][order] ? TRUTH_TRUE : TRUTH_FALSE;
}

/* Evaluates the comparisons that need no text. Returns their number. */
static size_t compare_keys(const struct filter_tree *tree, struct bytes position, int64_t timestamp,
                           unsigned char *truths)
{
    struct bytes keys[] = {[SUBJECT_PARTITION_KEY] = position_partition_key(position),
                           [SUBJECT_ROW_KEY] = position_row_key(position)};
    size_t i = 0;
    for (; i < tree->count && tree->comparisons[i]->subject != SUBJECT_PROPERTY; i++) {
        const struct filter_node *comparison = tree->comparisons[i];
        enum filter_subject subject = comparison->subject;
        truths[i] = truth_of(comparison,
                             subject == SUBJECT_TIMESTAMP
                                 ? filter_constant_order_time(&comparison->constant, timestamp)
                                 : filter_constant_order_key(&comparison->constant, keys[subject]));
    }
    return i;
}

static int compare_name(const struct filter_node *comparison,
                        const struct entity_property *property)
{
    if (property->has_escapes)
        return json_string_compare(comparison->name, property->name);
    return bytes_compare(comparison->name, property->name);
}

/* Evaluates the comparisons from i on, in the order of the text. Those of absent properties keep
 * their value. */
static int compare_properties(const struct filter_tree *tree, size_t i, struct bytes text,
                              unsigned char *truths)
{
    struct entity_lines lines;
    struct entity_property property;
    int r = 1;
    entity_lines_init(&lines, text);
    while (i < tree->count && (r = entity_lines_next(&lines, &property)) > 0) {
        int order = -1;
        for (; property.role == ENTITY_PROPERTY && i < tree->count; i++) {
            const struct filter_node *comparison = tree->comparisons[i];
            order = compare_name(comparison, &property);
            if (order > 0)
                break;
            if (order == 0)
                truths[i] = truth_of(comparison,
                                     filter_constant_order(&comparison->constant, &property.value));
        }
    }
    return MIN(r, 0);
}

int filter_matches(const struct filter *filter, struct bytes position, struct bytes text,
                   int64_t timestamp)
{
    const struct filter_tree *tree = &filter->tree;
    unsigned char truths[FILTER_MAX_COMPARISONS];
    size_t known = compare_keys(tree, position, timestamp, truths);
    memset(truths + known, TRUTH_UNKNOWN, tree->count - known);
    unsigned truth = evaluate(tree->root, truths);
    if (truth != TRUTH_UNKNOWN)
        return truth == TRUTH_TRUE;
    memset(truths + known, TRUTH_FALSE, tree->count - known); /* of absent properties */
    int r = compare_properties(tree, known, text, truths);
    return r < 0 ? r : evaluate(tree->root, truths) == TRUTH_TRUE;
}
