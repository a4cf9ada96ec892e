/* SPDX-License-Identifier: MIT */
/* The tree is built along its right edge. The open prefixes are beginnings of the last key, the
 * shortest first: each is what the keys below it share so far. A key that follows shares a
 * beginning with the last one. Longer open prefixes get no more keys: they are closed, and become
 * children.
 *
 * A prefix gets its name when it is closed: what the one above it shares, and one character more.
 * Only what is closed is folded.
 *
 * Functions that call themselves go down the tree: at most PREFIX_MAX_BYTES levels. */
#include "cache/scan/survey.h"
#include "cache/scan/key_model.h"
#include "client/base/position.h"
#include "client/base/unicode.h"

#define ALLOCATION_BYTES 16       /* what malloc adds to a block, about */
#define WHOLE_KEY        SIZE_MAX /* in place of the size of a prefix: the last key itself */

struct open_prefix {
    size_t size; /* of what its keys share */
    struct survey_counts counts;
    struct survey_node *children, **end; /* end: where the next child goes */
};

struct survey {
    size_t bytes, max_bytes; /* of closed nodes */
    bool by_bytes;
    uint64_t least; /* what measures less was folded */
    bool has_key;
    struct buffer key; /* of the last partition */
    struct survey_counts of_key;
    size_t open; /* from 1 on: the first is what all keys share */
    struct open_prefix prefixes[PREFIX_MAX_BYTES + 2];
    struct survey_node *root; /* when it is finished */
};

size_t survey_node_bytes(size_t name_size)
{
    return sizeof(struct survey_node) + name_size + ALLOCATION_BYTES;
}

uint64_t survey_measure(const struct survey_counts *counts, bool by_bytes)
{
    return by_bytes ? counts->bytes : counts->entities;
}

static void add_counts(struct survey_counts *to, const struct survey_counts *counts)
{
    to->entities += counts->entities;
    to->partitions += counts->partitions;
    to->bytes += counts->bytes;
}

struct survey_counts survey_rest(const struct survey_node *node)
{
    struct survey_counts rest = node->counts;
    if (node->is_partition)
        return (struct survey_counts){0};
    for (const struct survey_node *child = node->children; child; child = child->next) {
        rest.entities -= child->counts.entities;
        rest.partitions -= child->counts.partitions;
        rest.bytes -= child->counts.bytes;
    }
    return rest;
}

static void open_prefix(struct survey *survey, size_t size)
{
    struct open_prefix *prefix = &survey->prefixes[survey->open++];
    *prefix = (struct open_prefix){.size = size};
    prefix->end = &prefix->children;
}

int survey_create(size_t max_bytes, bool by_bytes, struct survey **ret)
{
    struct survey *survey = calloc(1, sizeof(*survey));
    if (!survey)
        return -ENOMEM;
    survey->max_bytes = max_bytes;
    survey->by_bytes = by_bytes;
    survey->least = 1;
    buffer_init(&survey->key, POSITION_MAX_BYTES);
    open_prefix(survey, 0);
    *ret = survey;
    return 0;
}

static void free_node(struct survey *survey, struct survey_node *node)
{
    survey->bytes -= survey_node_bytes(node->name_size);
    free(node);
}

static void free_all(struct survey *survey, struct survey_node *first)
{
    for (struct survey_node *next; first; first = next) {
        next = first->next;
        free_all(survey, first->children);
        free_node(survey, first);
    }
}

void survey_destroy(struct survey *survey)
{
    if (!survey)
        return;
    for (size_t i = 0; i < survey->open; i++)
        free_all(survey, survey->prefixes[i].children);
    free_all(survey, survey->root);
    buffer_finish(&survey->key);
    free(survey);
}

static int create_node(struct survey *survey, struct bytes name, struct survey_node **ret)
{
    struct survey_node *node = calloc(1, sizeof(*node) + name.size);
    if (!node)
        return -ENOMEM;
    node->name_size = name.size;
    if (name.size > 0)
        memcpy(node->name, name.data, name.size);
    survey->bytes += survey_node_bytes(name.size);
    *ret = node;
    return 0;
}

static uint64_t measure(const struct survey *survey, const struct survey_counts *counts)
{
    return survey_measure(counts, survey->by_bytes);
}

/* Is it a prefix with one child and little else? */
static bool is_needless(const struct survey *survey, const struct survey_node *node)
{
    if (!node->children || node->children->next)
        return false;
    struct survey_counts rest = survey_rest(node);
    return measure(survey, &rest) < survey->least;
}

/* Folds what measures less than survey->least. The children of such a node measure less, too. */
static void fold(struct survey *survey, struct survey_node **list)
{
    while (*list) {
        struct survey_node *node = *list;
        fold(survey, &node->children);
        if (measure(survey, &node->counts) < survey->least) {
            *list = node->next;
            free_node(survey, node);
        } else if (is_needless(survey, node)) {
            *list = node->children;
            (*list)->next = node->next;
            list = &(*list)->next;
            free_node(survey, node);
        } else
            list = &node->next;
    }
}

static void fold_closed(struct survey *survey)
{
    for (size_t i = 0; i < survey->open; i++) {
        struct open_prefix *prefix = &survey->prefixes[i];
        fold(survey, &prefix->children);
        prefix->end = &prefix->children;
        while (*prefix->end)
            prefix->end = &(*prefix->end)->next;
    }
}

/* A fold leaves half of the maximum free, so each node is visited a few times only. */
static void keep_within_maximum(struct survey *survey)
{
    if (survey->bytes <= survey->max_bytes)
        return;
    for (fold_closed(survey); survey->bytes > survey->max_bytes / 2; fold_closed(survey))
        survey->least *= 2;
}

/* The first `size` bytes and one character more, which is there and well-formed. */
static struct bytes beginning(const struct survey *survey, size_t size)
{
    uint32_t character;
    struct bytes key = buffer_bytes(&survey->key);
    return bytes_first(key, size + cesu8_next(bytes_skip(key, size), &character));
}

/* Makes what gets no more keys a child of the prefix: the last key, or one of its prefixes. What
 * measures too little is folded at once. On failure it is freed. */
static int add_closed(struct survey *survey, struct open_prefix *to, struct open_prefix *closed)
{
    bool is_partition = closed->size == WHOLE_KEY;
    struct bytes name = is_partition ? buffer_bytes(&survey->key) : beginning(survey, to->size);
    struct survey_node *node = NULL;
    add_counts(&to->counts, &closed->counts);
    bool is_kept = measure(survey, &closed->counts) >= survey->least;
    int r = is_kept ? create_node(survey, name, &node) : 0;
    if (!node) {
        free_all(survey, closed->children);
        return r;
    }
    node->is_partition = is_partition;
    node->counts = closed->counts;
    node->children = closed->children;
    *to->end = node;
    to->end = &node->next;
    return 0;
}

/* Closes the last key, and the prefixes that the next key does not share. */
static int close_behind(struct survey *survey, size_t shared)
{
    struct open_prefix closed = {.size = WHOLE_KEY, .counts = survey->of_key};
    struct open_prefix *last = &survey->prefixes[survey->open - 1];
    for (; last->size > shared; last--) {
        if (add_closed(survey, last, &closed) < 0)
            return -ENOMEM;
        closed = *last;
        *last = (struct open_prefix){0};
        survey->open--;
    }
    if (last->size < shared) {
        open_prefix(survey, shared);
        last++;
    }
    if (add_closed(survey, last, &closed) < 0)
        return -ENOMEM;
    keep_within_maximum(survey);
    return 0;
}

/* Can a directory's name have it? Half a surrogate pair would also begin the pairs. */
static bool may_be_shared(uint32_t character)
{
    return position_is_legal_in_key(character) && !UNICODE_IS_SURROGATE(character);
}

/* The size of what both keys begin with, in whole characters, as far as it is a prefix's name. */
static size_t shared_size(struct bytes a, struct bytes b)
{
    size_t size = 0, utf8 = 0, n;
    char encoded[UTF8_MAX_BYTES];
    struct bytes shared = bytes_first(a, key_shared_size(a, b));
    for (uint32_t character; size < shared.size; size += n) {
        n = cesu8_next(bytes_skip(shared, size), &character);
        if (n == 0 || !may_be_shared(character))
            break;
        utf8 += utf8_encode(character, encoded);
        if (utf8 > PREFIX_MAX_BYTES)
            break;
    }
    return size;
}

int survey_add(struct survey *survey, struct bytes partition_key, uint64_t entities, uint64_t bytes)
{
    struct bytes key = buffer_bytes(&survey->key);
    bool is_next = survey->has_key && !bytes_equal(key, partition_key);
    if (is_next && close_behind(survey, shared_size(key, partition_key)) < 0)
        return -ENOMEM;
    if (is_next || !survey->has_key) {
        if (buffer_set(&survey->key, partition_key) < 0)
            return -ENOMEM;
        survey->of_key = (struct survey_counts){.partitions = 1};
        survey->has_key = true;
    }
    survey->of_key.entities += entities;
    survey->of_key.bytes += bytes;
    return 0;
}

int survey_finish(struct survey *survey, const struct survey_node **ret)
{
    if (survey->has_key && close_behind(survey, 0) < 0)
        return -ENOMEM;
    survey->has_key = false;
    if (create_node(survey, (struct bytes){0}, &survey->root) < 0)
        return -ENOMEM;
    struct open_prefix *all = &survey->prefixes[0];
    survey->root->counts = all->counts;
    survey->root->children = all->children;
    *all = (struct open_prefix){0};
    struct survey_node *only = survey->root->children;
    if (only && !only->next && !only->is_partition &&
        only->counts.partitions == survey->root->counts.partitions) {
        survey->root->children = only->children;
        free_node(survey, only);
    }
    *ret = survey->root;
    return 0;
}
