/* SPDX-License-Identifier: MIT */
/* A key is read byte by byte, and each byte gets its share of the interval of the bytes before it,
 * as in arithmetic coding. The shares come from counts by context:
 * - keys of one length (ids, counters, times): the context is the index of the byte;
 * - other keys: the three bytes before, or the two before where three were seen too rarely.
 *
 * A context counts the different beginnings that a byte followed, not the keys: a thousand keys
 * that start with "a" say once that keys may start with "a". Bytes that were not seen, but belong
 * to an alphabet of seen bytes (digits, hexadecimal digits, letters, a script), share a weight. At
 * one index, an unseen byte between two seen ones weighs as much as a byte seen once, since keys
 * come in order and most of the range between was not read yet. Example: after "10", "11" and "30",
 * the first byte "2" weighs as much as "1" or "3". */
#include "cache/scan/key_model.h"
#include "client/base/position.h"
#include "client/base/unicode.h"

#define PLACES    64   /* contexts by index; bytes after them use the other contexts */
#define TAILS     4096 /* contexts by hash; collisions only add noise */
#define CONTEXTS  (PLACES + TAILS)
#define LENGTHS   256
#define DEPTH_MAX 24    /* bytes of a key that decide its place */
#define WIDTH_MIN 1e-13 /* of an interval; below, double has no more digits */
#define ESCAPE    0.5   /* weight of the unseen bytes, for each different byte seen */
#define BETWEEN   1.0   /* weight of an unseen byte between two seen ones */
#define FEW       4     /* fewer beginnings than that say too little */
#define EXPECTED  0.8   /* more than this share of the weight: the byte is expected */

struct follower {        /* the bytes that followed in one context */
    uint8_t counts[256]; /* halved together when one is full */
};

struct key_model {
    struct follower *contexts[CONTEXTS]; /* made when first seen */
    struct follower anywhere;
    uint32_t lengths[LENGTHS], keys;
    size_t usual_length; /* of nearly all keys; 0: there is none */
};

struct weights { /* up to byte b: sums[b]; all: sums[256] */
    double sums[257];
};

int key_model_create(struct key_model **ret)
{
    struct key_model *model = calloc(1, sizeof(*model));
    if (!model)
        return -ENOMEM;
    *ret = model;
    return 0;
}

void key_model_destroy(struct key_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < CONTEXTS; i++)
        free(model->contexts[i]);
    free(model);
}

static unsigned byte_at(struct bytes key, size_t index)
{
    return (unsigned char)key.data[index];
}

static size_t place_context(size_t index)
{
    return index < PLACES ? index : CONTEXTS;
}

/* By the `length` bytes before; CONTEXTS: there are fewer. */
static size_t tail_context(struct bytes key, size_t index, size_t length)
{
    if (index < length)
        return CONTEXTS;
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (size_t i = index - length; i < index; i++)
        hash = (hash ^ byte_at(key, i)) * 16777619U;
    return PLACES + (hash ^ hash >> 16) % TAILS;
}

static void count_byte(struct follower *follower, unsigned byte)
{
    if (follower->counts[byte] == UINT8_MAX) {
        for (size_t i = 0; i < 256; i++)
            follower->counts[i] = (uint8_t)((follower->counts[i] + 1) / 2);
    }
    follower->counts[byte]++;
}

static int learn_byte(struct key_model *model, size_t context, unsigned byte)
{
    if (context == CONTEXTS)
        return 0;
    if (!model->contexts[context])
        model->contexts[context] = calloc(1, sizeof(*model->contexts[context]));
    if (!model->contexts[context])
        return -ENOMEM;
    count_byte(model->contexts[context], byte);
    return 0;
}

static void learn_length(struct key_model *model, size_t size)
{
    size_t length = MIN(size, LENGTHS - 1);
    uint32_t count = ++model->lengths[length];
    model->keys++;
    if ((double)count >= 0.95 * model->keys)
        model->usual_length = length;
    else if ((double)model->lengths[model->usual_length] < 0.95 * model->keys)
        model->usual_length = 0;
}

size_t key_shared_size(struct bytes a, struct bytes b)
{
    size_t n = 0;
    while (n < a.size && n < b.size && a.data[n] == b.data[n])
        n++;
    return n;
}

int key_model_learn(struct key_model *model, struct bytes previous, struct bytes key)
{
    learn_length(model, key.size);
    int r = 0;
    for (size_t i = key_shared_size(previous, key); i < key.size && r == 0; i++) {
        unsigned byte = byte_at(key, i);
        count_byte(&model->anywhere, byte);
        r = learn_byte(model, place_context(i), byte);
        if (r == 0)
            r = learn_byte(model, tail_context(key, i, 2), byte);
        if (r == 0)
            r = learn_byte(model, tail_context(key, i, 3), byte);
    }
    return r;
}

static bool has_seen_enough(const struct follower *follower)
{
    unsigned sum = 0;
    for (size_t i = 0; follower && i < 256; i++)
        sum += follower->counts[i];
    return sum >= FEW;
}

/* The counts to use for the byte at `index`. */
static const struct follower *find_follower(const struct key_model *model, struct bytes key,
                                            size_t index)
{
    if (model->usual_length > 0 && index < PLACES && model->contexts[index])
        return model->contexts[index];
    for (size_t length = 3; length >= 2; length--) {
        size_t context = tail_context(key, index, length);
        if (context < CONTEXTS && has_seen_enough(model->contexts[context]))
            return model->contexts[context];
    }
    return &model->anywhere;
}

static bool holds_any(const bool set[256], unsigned first, unsigned last)
{
    return memchr(set + first, 1, last - first + 1) != NULL;
}

static void add_all(bool set[256], unsigned first, unsigned last)
{
    memset(set + first, true, last - first + 1);
}

static void complete_letters(bool set[256], unsigned first)
{
    if (holds_any(set, first + 6, first + 25))
        add_all(set, first, first + 25);
    else if (holds_any(set, first, first + 5))
        add_all(set, first, first + 5);
}

/* From the first to the last that was seen: a script is an interval of lead bytes. */
static void complete_leads(bool set[256])
{
    unsigned first = 0xC2, last = 0xEF;
    while (first <= last && !set[first])
        first++;
    while (last > first && !set[last])
        last--;
    if (first <= last)
        add_all(set, first, last);
}

/* The alphabets that the bytes belong to. */
static void complete(const struct key_model *model, bool set[256])
{
    bool anywhere[256];
    for (size_t i = 0; i < 256; i++)
        anywhere[i] = model->anywhere.counts[i] > 0;
    if (holds_any(set, '0', '9')) {
        add_all(set, '0', '9');
        bool is_hexadecimal = !holds_any(anywhere, 'g', 'z') && holds_any(anywhere, 'a', 'f');
        if (is_hexadecimal)
            add_all(set, 'a', 'f');
    }
    complete_letters(set, 'a');
    complete_letters(set, 'A');
    if (holds_any(set, 0x80, 0xBF))
        add_all(set, 0x80, 0xBF);
    if (holds_any(set, 0xC2, 0xEF)) {
        for (size_t i = 0xC2; i <= 0xEF; i++)
            set[i] |= anywhere[i];
        complete_leads(set);
    }
}

/* The bytes that may follow: those that were seen in the context (of keys of many lengths:
 * anywhere), and their alphabets. */
static void find_alphabet(const struct key_model *model, const struct follower *follower,
                          bool set[256])
{
    for (size_t i = 0; i < 256; i++)
        set[i] =
            follower->counts[i] > 0 || (model->usual_length == 0 && model->anywhere.counts[i] > 0);
    complete(model, set);
}

struct span { /* of the bytes that were seen in a context */
    unsigned first, last, seen;
};

static struct span find_span(const struct follower *follower)
{
    struct span span = {.first = 256};
    for (unsigned i = 0; i < 256; i++) {
        if (follower->counts[i] == 0)
            continue;
        span.first = MIN(span.first, i);
        span.last = i;
        span.seen++;
    }
    return span;
}

static void weigh(const struct key_model *model, struct bytes key, size_t index,
                  struct weights *ret)
{
    const struct follower *follower = find_follower(model, key, index);
    struct span span = find_span(follower);
    bool set[256];
    unsigned unseen = 0;
    find_alphabet(model, follower, set);
    for (unsigned i = 0; i < 256; i++)
        unseen += set[i] && follower->counts[i] == 0;
    double rest = unseen > 0 ? MIN(ESCAPE, (span.seen + 1) * ESCAPE / unseen) : 0, sum = 0;
    for (unsigned i = 0; i < 256; i++) {
        bool is_between = model->usual_length > 0 && span.first < i && i < span.last;
        ret->sums[i] = sum;
        if (follower->counts[i] > 0)
            sum += follower->counts[i];
        else if (set[i])
            sum += is_between ? BETWEEN : rest;
    }
    ret->sums[256] = sum;
}

double key_model_place(const struct key_model *model, struct bytes key, size_t common)
{
    double place = 0, width = 1;
    size_t end = MIN(key.size, common + DEPTH_MAX);
    for (size_t i = common; i < end && width > WIDTH_MIN; i++) {
        struct weights weights;
        weigh(model, key, i, &weights);
        unsigned byte = byte_at(key, i);
        double all = weights.sums[256];
        if (all <= 0)
            break;
        place += width * weights.sums[byte] / all;
        width *= (weights.sums[byte + 1] - weights.sums[byte]) / all;
    }
    return place;
}

bool key_model_expects(const struct key_model *model, struct bytes key, size_t index)
{
    struct weights weights;
    weigh(model, key, index, &weights);
    unsigned byte = byte_at(key, index);
    return weights.sums[byte + 1] - weights.sums[byte] > EXPECTED * weights.sums[256];
}

size_t key_model_surprises(const struct key_model *model, struct bytes key, size_t begin,
                           size_t end)
{
    size_t count = 0;
    for (size_t i = begin; i < end; i++)
        count += !key_model_expects(model, key, i);
    return count;
}

/* `begun`: the first bytes of a character. Appends the least legal character that starts so. */
static int append_begun(struct buffer *ret, struct bytes begun)
{
    unsigned lead = byte_at(begun, 0);
    unsigned second = begun.size > 1 ? byte_at(begun, 1) & 0x3F : 0;
    if (lead < 0xC2 || lead > 0xEF)
        return 0;
    if (lead < 0xE0)
        return cesu8_append(ret, MAX((lead & 0x1F) << 6, 0xA0U));
    uint32_t unit = MAX((lead & 0xF) << 12 | second << 6, 0x800U);
    if (UNICODE_IS_SURROGATE(unit)) /* a pair is not split */
        unit = unit < 0xDC00 ? 0x10000 + ((unit - 0xD800) << 10) : 0xE000;
    return cesu8_append(ret, unit);
}

/* Of bytes that the model has put together, appends the whole characters that a key can have, up to
 * the first that is none. */
static int append_legal(struct buffer *ret, struct bytes bytes)
{
    while (bytes.size > 0) {
        uint32_t character;
        size_t size = cesu8_next(bytes, &character);
        if (size == 0 || UNICODE_IS_SURROGATE(character))
            return append_begun(ret, bytes);
        if (!position_is_legal_in_key(character))
            return 0;
        int r = buffer_append(ret, bytes_first(bytes, size));
        if (r < 0)
            return r;
        bytes = bytes_skip(bytes, size);
    }
    return 0;
}

/* The last byte whose interval begins at or before `place`. */
static unsigned find_byte(const struct weights *weights, double place)
{
    unsigned found = 0;
    for (unsigned i = 0; i < 256; i++) {
        if (weights->sums[i + 1] > weights->sums[i] && (weights->sums[i] <= place || found == 0))
            found = i;
    }
    return found;
}

static unsigned next_byte(const struct weights *weights, unsigned byte)
{
    unsigned next = byte + 1;
    while (next < 256 && weights->sums[next + 1] <= weights->sums[next])
        next++;
    return next;
}

int key_model_append_key(const struct key_model *model, struct bytes common, double place,
                         double tolerance, struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer key = {.max = common.size + DEPTH_MAX + 1};
    int r = buffer_append(&key, common);
    double begin = 0, width = 1;
    bool is_near = false;
    for (size_t i = 0; i < DEPTH_MAX && r == 0 && !is_near; i++) {
        struct weights weights;
        weigh(model, buffer_bytes(&key), key.size, &weights);
        double all = weights.sums[256];
        if (all <= 0)
            break;
        unsigned byte = find_byte(&weights, (place - begin) / width * all);
        unsigned next = next_byte(&weights, byte);
        double from = begin + width * weights.sums[byte] / all;
        double to = begin + width * weights.sums[byte + 1] / all;
        is_near = place - from <= tolerance || (to - place <= tolerance && next < 256);
        if (place - from > tolerance && is_near)
            byte = next;
        r = buffer_append_char(&key, (char)byte);
        begin = from;
        width = MAX(to - from, WIDTH_MIN);
    }
    return r < 0 ? r : append_legal(ret, buffer_bytes(&key));
}
