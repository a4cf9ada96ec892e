/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_CHECK_H
#define CLIENT_ENTITY_ENTITY_CHECK_H
/* Checks an entity against the service's limits, with the service's error codes. Pure.
 * https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model
 * and table-service-error-codes. */
#include "client/text/edm_value.h"

#define ENTITY_MAX_KEY_UNITS    512 /* UTF-16 units */
#define ENTITY_MAX_PROPERTIES   252 /* without the keys and Timestamp */
#define ENTITY_MAX_STRING_UNITS ((size_t)32 << 10)
#define ENTITY_MAX_BINARY_BYTES ((size_t)64 << 10)
#define ENTITY_MAX_BYTES        ((size_t)1 << 20) /* as the service counts, not of the text */

struct entity_refusal {
    int error;          /* -EINVAL, -ENAMETOOLONG, -EFBIG */
    const char *code;   /* the service's error code */
    const char *reason; /* static text: "a string of more than 32,768 UTF-16 units" */
    struct bytes name;  /* the refused property, as spelled in the text; empty: the whole entity */
};

/* Checks one key, in CESU-8. 0, or the error of ret_refusal. */
int entity_check_key(struct bytes key, struct entity_refusal *ret_refusal);

/* Checks a canonical text that is to be stored at `position`. The text may lack keys; keys in it
 * must be the position's. 0, or the error in ret_refusal, which is set only then and has views of
 * `text`. */
int entity_check(struct bytes position, struct bytes text, struct entity_refusal *ret_refusal);

/* The same in steps, for a text that is being built: the keys, each property, the total. Each
 * function returns 0, or the error in ret_refusal. */
struct entity_total {
    size_t properties, bytes; /* as the service counts them */
};

int entity_check_keys(struct bytes position, struct entity_total *ret_total,
                      struct entity_refusal *ret_refusal);
/* The name and the value are as in the canonical text. If the whole entity is refused, not just
 * this property, ret_refusal has no name. */
int entity_check_property(struct bytes name, const struct edm_value *value,
                          struct entity_total *total, struct entity_refusal *ret_refusal);
int entity_check_total(const struct entity_total *total, struct entity_refusal *ret_refusal);

#endif
