/* SPDX-License-Identifier: MIT */
#include "tests/scan/published_scan.h"
#include "client/base/unicode.h"

#define MAX_BYTES ((size_t)16 << 20)
#define LARGEST   "\xEF\xBF\xBF" /* U+FFFF, "the largest character" */

enum step_kind { STEP_PREFIX, STEP_PARTITION, STEP_ROWS };

struct step {
    enum step_kind kind;
    struct buffer key;          /* the prefix or PartitionKey */
    struct buffer lower, upper; /* of a prefix query, both exclusive */
    struct buffer row_key;      /* of a partition key query: only what is after it */
    bool has_row_key;
    struct page *page; /* of STEP_ROWS */
    bool begins_segment;
};

struct steps {
    struct step *items;
    size_t count, capacity;
};

struct published_scan {
    struct scan scan;
    struct published_options options;
    struct steps stack;    /* the next on top */
    struct steps children; /* of the current step, in order */
    struct step current;
    bool is_current, is_asked, took_begin;
    int rounds, pages;  /* of the current prefix query; pages with rows, of the round */
    struct buffer last; /* position of the round's last row */
    struct continuation *next;
    struct buffer lo, hi; /* what is asked */
};

static void step_init(struct step *step, enum step_kind kind)
{
    *step = (struct step){.kind = kind};
    buffer_init(&step->key, MAX_BYTES);
    buffer_init(&step->lower, MAX_BYTES);
    buffer_init(&step->upper, MAX_BYTES);
    buffer_init(&step->row_key, MAX_BYTES);
}

static void step_finish(struct step *step)
{
    buffer_finish(&step->key);
    buffer_finish(&step->lower);
    buffer_finish(&step->upper);
    buffer_finish(&step->row_key);
    page_unref(TAKE_PTR(step->page));
}

/* Takes the step, also on -ENOMEM. */
static int push(struct steps *steps, struct step *step)
{
    int error =
        MIN(MIN(step->key.error, step->row_key.error), MIN(step->lower.error, step->upper.error));
    if (error == 0 && steps->count == steps->capacity) {
        size_t capacity = MAX(16, steps->capacity * 2);
        struct step *items = reallocarray(steps->items, capacity, sizeof(*items));
        if (items) {
            steps->items = items;
            steps->capacity = capacity;
        } else {
            error = -ENOMEM;
        }
    }
    if (error == 0)
        steps->items[steps->count++] = *step;
    else
        step_finish(step);
    return error;
}

static int push_rows(struct steps *steps, struct page *page, bool begins_segment)
{
    struct step step;
    step_init(&step, STEP_ROWS);
    step.page = page_ref(page);
    step.begins_segment = begins_segment;
    return push(steps, &step);
}

static int push_partition(struct steps *steps, struct bytes key, const struct bytes *row_key)
{
    struct step step;
    step_init(&step, STEP_PARTITION);
    (void)buffer_append(&step.key, key);
    step.has_row_key = row_key != NULL;
    if (row_key)
        (void)buffer_append(&step.row_key, *row_key);
    return push(steps, &step);
}

static int append_least(struct buffer *ret, struct bytes a, struct bytes b)
{
    return buffer_append(ret, bytes_compare(a, b) <= 0 ? a : b);
}

static int append_greatest(struct buffer *ret, struct bytes a, struct bytes b)
{
    return buffer_append(ret, bytes_compare(a, b) >= 0 ? a : b);
}

/* upper NULL: none but the prefix's own */
static int push_prefix(struct steps *steps, struct bytes prefix, struct bytes lower,
                       const struct bytes *upper)
{
    _cleanup_(buffer_finish) struct buffer own;
    struct step step;
    step_init(&step, STEP_PREFIX);
    buffer_init(&own, MAX_BYTES);
    (void)buffer_append(&own, prefix);
    step.upper.error = buffer_append_string(&own, LARGEST);
    (void)buffer_append(&step.key, prefix);
    (void)append_greatest(&step.lower, prefix, lower);
    (void)append_least(&step.upper, buffer_bytes(&own), upper ? *upper : buffer_bytes(&own));
    return push(steps, &step);
}

/* The prefix and the next character of the key, a surrogate pair being one. */
static struct bytes child_of(struct bytes prefix, struct bytes key)
{
    uint32_t character;
    return bytes_first(key, prefix.size + cesu8_next(bytes_skip(key, prefix.size), &character));
}

/* Where the next question begins and ends. */
static void set_range(struct published_scan *self)
{
    const struct step *step = &self->current;
    buffer_clear(&self->lo);
    buffer_clear(&self->hi);
    if (step->kind == STEP_PREFIX) {
        (void)buffer_append(&self->lo, buffer_bytes(&step->lower));
        (void)buffer_append_string(&self->lo, POSITION_AFTER);
        (void)buffer_append(&self->hi, buffer_bytes(&step->upper));
        return;
    }
    (void)position_append(&self->lo, buffer_bytes(&step->key), buffer_bytes(&step->row_key));
    if (step->has_row_key)
        (void)buffer_append_string(&self->lo, POSITION_AFTER);
    (void)buffer_append(&self->hi, buffer_bytes(&step->key));
    (void)buffer_append_string(&self->hi, POSITION_AFTER);
}

static bool published_next_request(struct scan *scan, int idle, struct scan_request *ret)
{
    struct published_scan *self = (struct published_scan *)scan;
    (void)idle; /* one after the other */
    if (!self->is_current || self->is_asked)
        return false;
    self->is_asked = true;
    *ret = (struct scan_request){.range = {buffer_bytes(&self->lo), buffer_bytes(&self->hi)},
                                 .after = self->next,
                                 .top = self->current.kind == STEP_PREFIX
                                            ? self->options.take
                                            : self->options.partition_take};
    return true;
}

/* The next step to ask; what is above it on the stack was handed out. */
static void begin_step(struct published_scan *self)
{
    self->current = self->stack.items[--self->stack.count];
    self->is_current = true;
    self->rounds = self->pages = 0;
    set_range(self);
}

static int end_step(struct published_scan *self)
{
    int r = 0;
    step_finish(&self->current);
    self->is_current = false;
    while (self->children.count > 0 && r == 0)
        r = push(&self->stack, &self->children.items[--self->children.count]);
    return r;
}

/* What the round's last page left: the rest of its partition, the rest of its prefix; and the
 * layer goes on after that prefix. */
static int end_round(struct published_scan *self)
{
    struct step *step = &self->current;
    struct bytes last = buffer_bytes(&self->last);
    struct bytes key = position_partition_key(last), row_key = position_row_key(last);
    struct bytes child = child_of(buffer_bytes(&step->key), key);
    struct bytes upper = buffer_bytes(&step->upper);
    int r = 0;
    if (!self->options.is_without_partition_keys)
        r = push_partition(&self->children, key, &row_key);
    if (r == 0)
        r = push_prefix(&self->children, child, key, &upper);
    continuation_destroy(TAKE_PTR(self->next));
    buffer_clear(&step->lower);
    (void)buffer_append(&step->lower, child);
    (void)buffer_append_string(&step->lower, LARGEST);
    self->rounds++;
    self->pages = 0;
    set_range(self);
    return r;
}

static int report_prefix(struct published_scan *self, const struct answer *answer)
{
    int wanted = self->rounds == 0 ? self->options.segments_first : self->options.segments_later;
    size_t rows = page_rows(answer->page);
    int r = 0;
    if (rows > 0) {
        r = push_rows(&self->children, answer->page, self->pages++ == 0);
        buffer_clear(&self->last);
        (void)buffer_append(&self->last, page_position(answer->page, rows - 1));
    }
    if (r < 0 || (self->next && self->pages < wanted))
        return r;
    return self->next ? end_round(self) : end_step(self);
}

static int report_partition(struct published_scan *self, const struct answer *answer)
{
    int r = 0;
    if (page_rows(answer->page) > 0)
        r = push_rows(&self->children, answer->page, true);
    return r < 0 || self->next ? r : end_step(self);
}

static int published_add_answer(struct scan *scan, uint64_t id, struct answer *answer)
{
    struct published_scan *self = (struct published_scan *)scan;
    (void)id; /* there is only one */
    self->is_asked = false;
    continuation_destroy(TAKE_PTR(self->next));
    self->next = TAKE_PTR(answer->next);
    int r = self->current.kind == STEP_PREFIX ? report_prefix(self, answer)
                                              : report_partition(self, answer);
    answer_finish(answer);
    return r;
}

static void published_give_back(struct scan *scan, uint64_t id)
{
    (void)id;
    ((struct published_scan *)scan)->is_asked = false;
}

static enum scan_state published_take(struct scan *scan, struct scan_item *ret)
{
    struct published_scan *self = (struct published_scan *)scan;
    if (self->is_current)
        return SCAN_WAIT;
    if (self->stack.count == 0)
        return SCAN_END;
    struct step *top = &self->stack.items[self->stack.count - 1];
    if (top->kind != STEP_ROWS) {
        begin_step(self);
        return SCAN_WAIT;
    }
    *ret = (struct scan_item){.kind = SCAN_ROWS, .rows = {.end = page_rows(top->page)}, .pages = 1};
    ret->rows.page = TAKE_PTR(top->page);
    self->took_begin = top->begins_segment;
    step_finish(top);
    self->stack.count--;
    return SCAN_ITEM;
}

bool published_scan_begins_segment(const struct scan *scan)
{
    return ((const struct published_scan *)scan)->took_begin;
}

static double published_waiting(const struct scan *scan)
{
    const struct steps *steps = &((const struct published_scan *)scan)->stack;
    size_t pages = 0;
    for (size_t i = 0; i < steps->count; i++)
        pages += steps->items[i].kind == STEP_ROWS;
    return (double)pages;
}

static void steps_finish(struct steps *steps)
{
    while (steps->count > 0)
        step_finish(&steps->items[--steps->count]);
    free(steps->items);
}

static void published_destroy(struct scan *scan)
{
    struct published_scan *self = (struct published_scan *)scan;
    steps_finish(&self->stack);
    steps_finish(&self->children);
    if (self->is_current)
        step_finish(&self->current);
    continuation_destroy(self->next);
    buffer_finish(&self->last);
    buffer_finish(&self->lo);
    buffer_finish(&self->hi);
    free(self);
}

static const struct scan_ops published_ops = {.next_request = published_next_request,
                                              .add_answer = published_add_answer,
                                              .give_back = published_give_back,
                                              .take = published_take,
                                              .waiting = published_waiting,
                                              .destroy = published_destroy};

static bool is_listed(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += size) {
        if ((at == list || at[-1] == ',') && (at[size] == '\0' || at[size] == ','))
            return true;
    }
    return false;
}

static bool are_valid(const struct published_options *options)
{
    const char *select = options->select;
    return options->take >= 1 && options->partition_take >= 1 && options->segments_first >= 1 &&
           options->segments_later >= 1 &&
           (!select || (is_listed(select, "PartitionKey") && is_listed(select, "RowKey")));
}

/* The query for the partition that equals the prefix, and the first layer. */
static int push_start(struct published_scan *self)
{
    const struct published_options *options = &self->options;
    struct bytes prefix = bytes_of(options->prefix);
    struct bytes lower = bytes_of(options->lower ? options->lower : "");
    struct bytes upper = bytes_of(options->upper ? options->upper : "");
    int r = push_prefix(&self->stack, prefix, lower, options->upper ? &upper : NULL);
    bool is_inside = (!options->lower || bytes_compare(prefix, lower) > 0) &&
                     (!options->upper || bytes_compare(prefix, upper) < 0) &&
                     !(options->is_without_empty_key && prefix.size == 0);
    if (r == 0 && is_inside && !options->is_without_partition_keys)
        r = push_partition(&self->stack, prefix, NULL);
    return r;
}

static struct published_scan *new_scan(const struct published_options *options)
{
    struct published_scan *self = calloc(1, sizeof(*self));
    if (!self)
        return NULL;
    self->scan.ops = &published_ops;
    self->options = *options;
    buffer_init(&self->last, MAX_BYTES);
    buffer_init(&self->lo, MAX_BYTES);
    buffer_init(&self->hi, MAX_BYTES);
    return self;
}

int published_scan_create(const struct published_options *options, struct scan **ret)
{
    if (!are_valid(options))
        return -EINVAL;
    struct published_scan *self = new_scan(options);
    if (!self)
        return -ENOMEM;
    _cleanup_(scan_destroyp) struct scan *scan = &self->scan;
    int r = push_start(self);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(scan);
    return 0;
}

int published_scan_split(struct scan *scan, struct scan **ret)
{
    struct published_scan *self = (struct published_scan *)scan;
    struct steps *stack = &self->stack;
    size_t at = 0;
    while (at < stack->count && stack->items[at].kind == STEP_ROWS)
        at++;
    *ret = NULL;
    if (at == stack->count)
        return 0;
    struct published_scan *other = new_scan(&self->options);
    if (!other)
        return -ENOMEM;
    struct step step = stack->items[at];
    stack->count--;
    memmove(&stack->items[at], &stack->items[at + 1], (stack->count - at) * sizeof(step));
    int r = push(&other->stack, &step);
    if (r < 0)
        scan_destroy(&other->scan);
    else
        *ret = &other->scan;
    return r;
}
