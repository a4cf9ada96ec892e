#ifndef CACHE_SCAN_KEY_MODEL_H
#define CACHE_SCAN_KEY_MODEL_H
/* Where to split a range of keys: learns from keys how keys go on, and so places every key, also
 * ones never seen, on a line from 0 to 1 on which keys are about evenly spread. Bytes of CESU-8 are
 * its letters. Pure; one thread. */
#include "client/bytes.h"

struct key_model;

int key_model_create(struct key_model **ret);
void key_model_destroy(struct key_model *model); /* takes NULL */

/* `previous`: the greatest key before it that was learned, empty: none; what they share is no news.
 */
int key_model_learn(struct key_model *model, struct bytes previous, struct bytes key);

/* Of the keys that share the first `common` bytes of `key`, how many lie before `key`, 0 to 1. */
double key_model_place(const struct key_model *model, struct bytes key, size_t common);

/* Appends the shortest legal key that starts with `common` and lies about at `place` among those
 * that do. A key may not hold everything, so it may lie behind `place + tolerance`. */
int key_model_append_key(const struct key_model *model, struct bytes common, double place,
                         double tolerance, struct buffer *ret);

/* Does the byte at `index` nearly always stand where it does? Then keys part elsewhere. */
bool key_model_expects(const struct key_model *model, struct bytes key, size_t index);
/* How many bytes of [begin, end) do not. */
size_t key_model_surprises(const struct key_model *model, struct bytes key, size_t begin,
                           size_t end);

size_t key_shared_size(struct bytes a, struct bytes b); /* bytes that both begin with */

DEFINE_CLEANUP(struct key_model *, key_model_destroy);

#endif
