/* SPDX-License-Identifier: MIT */
#include "client/filter/filter_tree.h"

struct parser {
    struct filter_tree *tree;
    struct bytes rest;
    size_t depth;
    struct filter_error *error;
};

static void node_destroy(struct filter_node *node)
{
    while (node) {
        struct filter_node *next = node->next;
        node_destroy(node->first);
        filter_constant_finish(&node->constant);
        free(node);
        node = next;
    }
}

DEFINE_CLEANUP(struct filter_node *, node_destroy);

static int node_create(enum filter_node_kind kind, struct filter_node **ret)
{
    struct filter_node *node = calloc(1, sizeof(*node));
    if (!node)
        return -ENOMEM;
    node->kind = kind;
    *ret = node;
    return 0;
}

static int refuse(struct parser *parser, const char *code, const char *problem)
{
    size_t at = (size_t)(parser->rest.data - parser->tree->text);
    *parser->error = (struct filter_error){code, problem, at};
    return -EINVAL;
}

static int refuse_input(struct parser *parser, const char *problem)
{
    return refuse(parser, "InvalidInput", problem);
}

static void skip_blanks(struct parser *parser)
{
    while (bytes_start_with(parser->rest, BYTES_LITERAL(" ")))
        parser->rest = bytes_skip(parser->rest, 1);
}

/* The next word, without taking it; empty: there is none. */
static struct bytes peek_word(struct parser *parser)
{
    skip_blanks(parser);
    return bytes_first(parser->rest, edm_name_size(parser->rest));
}

/* Checks for the end of a word or constant. */
static int end_word(struct parser *parser)
{
    if (parser->rest.size == 0 || strchr(" ()", parser->rest.data[0]))
        return 0;
    return refuse_input(parser, "a blank is missing here");
}

/* 1: the next word was this one, and is taken. */
static int take_word(struct parser *parser, struct bytes word)
{
    if (!bytes_equal(peek_word(parser), word))
        return 0;
    parser->rest = bytes_skip(parser->rest, word.size);
    int r = end_word(parser);
    return r < 0 ? r : 1;
}

/* 1: the next word was an operator, and is taken. */
static int take_relation(struct parser *parser, enum filter_relation *ret)
{
    static const struct bytes words[RELATIONS] = {
        [RELATION_EQ] = BYTES_LITERAL("eq"), [RELATION_NE] = BYTES_LITERAL("ne"),
        [RELATION_GT] = BYTES_LITERAL("gt"), [RELATION_GE] = BYTES_LITERAL("ge"),
        [RELATION_LT] = BYTES_LITERAL("lt"), [RELATION_LE] = BYTES_LITERAL("le"),
    };
    for (size_t i = 0; i < RELATIONS; i++) {
        int r = take_word(parser, words[i]);
        if (r != 0) {
            *ret = (enum filter_relation)i;
            return r;
        }
    }
    return 0;
}

static bool is_reserved(struct bytes word)
{
    static const struct bytes words[] = {
        BYTES_LITERAL("or"), BYTES_LITERAL("and"),  BYTES_LITERAL("not"), BYTES_LITERAL("eq"),
        BYTES_LITERAL("ne"), BYTES_LITERAL("gt"),   BYTES_LITERAL("ge"),  BYTES_LITERAL("lt"),
        BYTES_LITERAL("le"), BYTES_LITERAL("null"),
    };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (bytes_equal(word, words[i]))
            return true;
    return false;
}

static int take_name(struct parser *parser, struct bytes *ret)
{
    struct bytes name = peek_word(parser);
    if (bytes_equal(name, BYTES_LITERAL("null")))
        return refuse_input(parser,
                            "null is not supported: no comparison is true for an absent property");
    if (name.size == 0 || is_reserved(name))
        return refuse_input(parser, "a property or a constant is expected here");
    if (edm_name_is_too_long(name))
        return refuse_input(parser, "a name that is longer than any property's");
    if (bytes_start_with(bytes_skip(parser->rest, name.size), BYTES_LITERAL("(")))
        return refuse(parser, "NotImplemented", "the service has no functions");
    parser->rest = bytes_skip(parser->rest, name.size);
    *ret = name;
    return end_word(parser);
}

/* 1: took a constant, 0: took a name. */
static int take_operand(struct parser *parser, struct bytes *ret_name,
                        struct filter_constant *ret_constant)
{
    const char *problem;
    skip_blanks(parser);
    int r = filter_constant_read(&parser->rest, ret_constant, &problem);
    if (r == 0)
        return take_name(parser, ret_name);
    if (r == -EINVAL)
        return refuse_input(parser, problem);
    if (r < 0)
        return r;
    r = end_word(parser);
    if (r < 0)
        filter_constant_finish(ret_constant);
    return r < 0 ? r : 1;
}

static enum filter_subject subject_of(struct bytes name)
{
    if (bytes_equal(name, BYTES_LITERAL("PartitionKey")))
        return SUBJECT_PARTITION_KEY;
    if (bytes_equal(name, BYTES_LITERAL("RowKey")))
        return SUBJECT_ROW_KEY;
    return bytes_equal(name, BYTES_LITERAL("Timestamp")) ? SUBJECT_TIMESTAMP : SUBJECT_PROPERTY;
}

/* After `CONSTANT OPERATOR`. `1 lt x` becomes `x gt 1`. */
static int parse_mirrored(struct parser *parser, struct filter_node *node)
{
    static const enum filter_relation mirrored[RELATIONS] = {
        [RELATION_EQ] = RELATION_EQ, [RELATION_NE] = RELATION_NE, [RELATION_GT] = RELATION_LT,
        [RELATION_GE] = RELATION_LE, [RELATION_LT] = RELATION_GT, [RELATION_LE] = RELATION_GE,
    };
    struct parser before = *parser;
    struct filter_constant second;
    int r = take_operand(parser, &node->name, &second);
    if (r == 1) {
        filter_constant_finish(&second);
        skip_blanks(&before);
        return refuse(&before, "NotImplemented", "a constant compared with a constant");
    }
    node->relation = mirrored[node->relation];
    return r;
}

/* After `PROPERTY OPERATOR`. */
static int parse_constant(struct parser *parser, struct filter_node *node)
{
    struct parser before = *parser;
    struct bytes second;
    int r = take_operand(parser, &second, &node->constant);
    if (r == 0) {
        skip_blanks(&before);
        return refuse(&before, "NotImplemented", "a property compared with a property");
    }
    return r < 0 ? r : 0;
}

static int parse_operands(struct parser *parser, struct filter_node *node)
{
    int is_constant = take_operand(parser, &node->name, &node->constant);
    if (is_constant < 0)
        return is_constant;
    int r = take_relation(parser, &node->relation);
    if (r < 0)
        return r;
    if (r > 0)
        return is_constant ? parse_mirrored(parser, node) : parse_constant(parser, node);
    if (is_constant)
        return refuse_input(parser, "an operator is expected here: eq, ne, gt, ge, lt, le");
    node->relation = RELATION_EQ;
    node->constant = (struct filter_constant){.type = EDM_BOOLEAN, .integer = true};
    return 0;
}

static int parse_comparison(struct parser *parser, struct filter_node **ret)
{
    _cleanup_(node_destroyp) struct filter_node *node = NULL;
    struct filter_tree *tree = parser->tree;
    if (tree->count == FILTER_MAX_COMPARISONS)
        return refuse_input(parser, "too many comparisons");
    int r = node_create(NODE_COMPARISON, &node);
    if (r == 0)
        r = parse_operands(parser, node);
    if (r < 0)
        return r;
    node->subject = subject_of(node->name);
    tree->comparisons[tree->count++] = node;
    *ret = TAKE_PTR(node);
    return 0;
}

static int parse_unary(struct parser *parser, struct filter_node **ret);

/* The operands of `and` or of `or`; one operand alone makes no node. */
static int parse_joined(struct parser *parser, enum filter_node_kind kind, struct filter_node **ret)
{
    _cleanup_(node_destroyp) struct filter_node *joined = NULL;
    struct bytes word = kind == NODE_OR ? BYTES_LITERAL("or") : BYTES_LITERAL("and");
    int r = node_create(kind, &joined);
    if (r < 0)
        return r;
    struct filter_node **next = &joined->first;
    do {
        r = kind == NODE_OR ? parse_joined(parser, NODE_AND, next) : parse_unary(parser, next);
        if (r < 0)
            return r;
        next = &(*next)->next;
        r = take_word(parser, word);
    } while (r > 0);
    if (r < 0)
        return r;
    struct filter_node *only = joined->first;
    bool is_alone = only && !only->next;
    if (is_alone)
        joined->first = NULL;
    *ret = is_alone ? only : TAKE_PTR(joined);
    return 0;
}

static int parse_negation(struct parser *parser, struct filter_node **ret)
{
    _cleanup_(node_destroyp) struct filter_node *node = NULL;
    int r = node_create(NODE_NOT, &node);
    if (r == 0)
        r = parse_unary(parser, &node->first);
    if (r == 0)
        *ret = TAKE_PTR(node);
    return r;
}

static int parse_parentheses(struct parser *parser, struct filter_node **ret)
{
    _cleanup_(node_destroyp) struct filter_node *node = NULL;
    parser->rest = bytes_skip(parser->rest, 1);
    int r = parse_joined(parser, NODE_OR, &node);
    if (r < 0)
        return r;
    skip_blanks(parser);
    if (!bytes_start_with(parser->rest, BYTES_LITERAL(")")))
        return refuse_input(parser, "a closing parenthesis, `and` or `or` is expected here");
    parser->rest = bytes_skip(parser->rest, 1);
    *ret = TAKE_PTR(node);
    return 0;
}

static int parse_unary(struct parser *parser, struct filter_node **ret)
{
    if (parser->depth == FILTER_MAX_DEPTH)
        return refuse_input(parser, "nested too deep");
    int r = take_word(parser, BYTES_LITERAL("not"));
    if (r < 0)
        return r;
    parser->depth++;
    if (r > 0)
        r = parse_negation(parser, ret);
    else if (bytes_start_with(parser->rest, BYTES_LITERAL("(")))
        r = parse_parentheses(parser, ret);
    else
        r = parse_comparison(parser, ret);
    parser->depth--;
    return r;
}

static int parse_whole(struct parser *parser, struct filter_node **ret)
{
    _cleanup_(node_destroyp) struct filter_node *node = NULL;
    int r = parse_joined(parser, NODE_OR, &node);
    if (r < 0)
        return r;
    skip_blanks(parser);
    if (parser->rest.size > 0)
        return refuse_input(parser, "`and`, `or` or the end is expected here");
    *ret = TAKE_PTR(node);
    return 0;
}

static int compare_comparisons(const void *left, const void *right)
{
    const struct filter_node *a = *(struct filter_node *const *)left,
                             *b = *(struct filter_node *const *)right;
    if (a->subject != b->subject)
        return a->subject < b->subject ? -1 : 1;
    return bytes_compare(a->name, b->name);
}

static void order_comparisons(struct filter_tree *tree)
{
    qsort(tree->comparisons, tree->count, sizeof(struct filter_node *), compare_comparisons);
    for (size_t i = 0; i < tree->count; i++)
        tree->comparisons[i]->index = i;
}

/* Checks the text before it is parsed. */
static int check_bytes(struct bytes text, struct filter_error *ret_error)
{
    const char *nul = text.size > 0 ? memchr(text.data, '\0', text.size) : NULL;
    if (text.size > FILTER_MAX_BYTES)
        *ret_error = (struct filter_error){"InvalidInput", "too long", FILTER_MAX_BYTES};
    else if (nul)
        *ret_error = (struct filter_error){"InvalidInput", "U+0000", (size_t)(nul - text.data)};
    else
        return 0;
    return -EINVAL;
}

int filter_tree_init(struct filter_tree *tree, struct bytes text, struct filter_error *ret_error)
{
    int r = check_bytes(text, ret_error);
    if (r < 0)
        return r;
    tree->text = calloc(1, text.size + 1);
    if (!tree->text)
        return -ENOMEM;
    if (text.size > 0)
        memcpy(tree->text, text.data, text.size);
    struct parser parser = {.tree = tree, .rest = {tree->text, text.size}, .error = ret_error};
    r = parse_whole(&parser, &tree->root);
    if (r == 0)
        order_comparisons(tree);
    return r;
}

void filter_tree_finish(struct filter_tree *tree)
{
    node_destroy(tree->root);
    free(tree->text);
}
