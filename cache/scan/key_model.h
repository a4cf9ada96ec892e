/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_KEY_MODEL_H
#define CACHE_SCAN_KEY_MODEL_H
/* Key model: estimates where keys lie. It learns from sorted keys which byte follows which bytes,
 * and maps every key, also an unseen one, to a place from 0 to 1, so that keys are spread about
 * evenly over the places. To cut a range of keys, a place is chosen and mapped back to a key. Works
 * on the bytes of CESU-8. Pure; one thread.
 *
 * Example: after "0001", "0500", "1000", ... "9000" each digit is equally likely as the first byte,
 * so "5" has the place 0.5, and a cut at 0.5 is the key "5". Without the model, a cut halfway
 * between the bytes 0 and 255 would be "\x7f", and all keys would lie before it. */
#include "client/base/bytes.h"

struct key_model;

int key_model_create(struct key_model **ret);
void key_model_destroy(struct key_model *model); /* takes NULL */

/* Learns `key`. `previous`: the greatest learned key before it; empty: none. Only the bytes after
 * the beginning that both share are learned. */
int key_model_learn(struct key_model *model, struct bytes previous, struct bytes key);

/* The place of `key` among the keys that share its first `common` bytes: the estimated part of
 * them, 0 to 1, that lies before it. */
double key_model_place(const struct key_model *model, struct bytes key, size_t common);

/* Appends the shortest legal key that starts with `common` and whose place differs from `place` by
 * at most `tolerance`; places count only keys that start with `common`. The key may have a greater
 * place, because some bytes are not legal in a key. */
int key_model_append_key(const struct key_model *model, struct bytes common, double place,
                         double tolerance, struct buffer *ret);

/* Is the byte at `index` expected after the bytes before it: does it have over 80 % of the weight
 * of all bytes that may be there? Then keys seldom differ there. */
bool key_model_expects(const struct key_model *model, struct bytes key, size_t index);
/* For how many bytes of [begin, end) key_model_expects is false. */
size_t key_model_surprises(const struct key_model *model, struct bytes key, size_t begin,
                           size_t end);

size_t key_shared_size(struct bytes a, struct bytes b); /* size of their common beginning */

#endif
