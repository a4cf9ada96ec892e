/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_KEY_MODEL_H
#define CACHE_SCAN_KEY_MODEL_H
/* Key model: learns from sorted keys how keys go on, and maps every key, also an unseen one, to a
 * place from 0 to 1, so that keys are spread about evenly over the places. The place of a cut is
 * chosen on that line and mapped back to a key. Pure; one thread.
 *
 * Example: after "0001", "0500", "1000", ... "9000" each digit is as likely as the others at the
 * first byte, so "5" has the place 0.5, and a cut at 0.5 is the key "5". A cut halfway between the
 * bytes 0 and 255 would be "\x7f", with all keys before it. The letters are the bytes of CESU-8. */
#include "client/base/bytes.h"

struct key_model;

int key_model_create(struct key_model **ret);
void key_model_destroy(struct key_model *model); /* takes NULL */

/* `previous`: the greatest learned key before `key`; empty: none. Only the bytes behind the
 * beginning that both share are learned. */
int key_model_learn(struct key_model *model, struct bytes previous, struct bytes key);

/* The expected share, 0 to 1, of the keys with the same first `common` bytes that lie before `key`.
 */
double key_model_place(const struct key_model *model, struct bytes key, size_t common);

/* Appends the shortest legal key that starts with `common` and lies within `tolerance` of `place`
 * among the keys that do. As a key cannot hold every byte, it may lie behind that. */
int key_model_append_key(const struct key_model *model, struct bytes common, double place,
                         double tolerance, struct buffer *ret);

/* Is the byte at `index` nearly always the one that follows there? Then keys part elsewhere. */
bool key_model_expects(const struct key_model *model, struct bytes key, size_t index);
/* How many bytes of [begin, end) are not expected. */
size_t key_model_surprises(const struct key_model *model, struct bytes key, size_t begin,
                           size_t end);

size_t key_shared_size(struct bytes a, struct bytes b); /* bytes that both begin with */

#endif
