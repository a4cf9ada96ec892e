#ifndef CLIENT_TEXT_ENTITY_CHECK_H
#define CLIENT_TEXT_ENTITY_CHECK_H
/* Would the service store this entity? Its limits and its names for what breaks them. Pure.
 * https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model
 * and table-service-error-codes. */
#include "client/bytes.h"

#define ENTITY_MAX_KEY_UNITS    512 /* of UTF-16 */
#define ENTITY_MAX_PROPERTIES   252 /* beside the keys and Timestamp */
#define ENTITY_MAX_STRING_UNITS ((size_t)32 << 10)
#define ENTITY_MAX_BINARY_BYTES ((size_t)64 << 10)
#define ENTITY_MAX_BYTES        ((size_t)1 << 20) /* as the service counts them, not of the text */

struct entity_refusal {
    int error;          /* -EINVAL, -ENAMETOOLONG, -EFBIG */
    const char *code;   /* the service's */
    const char *reason; /* static text: "a string of more than 32,768 UTF-16 units" */
    struct bytes name;  /* the property, as it stands in the text; empty: none in particular */
};

/* A key by itself, in CESU-8. 0, or the error of ret_refusal. */
int entity_check_key(struct bytes key, struct entity_refusal *ret_refusal);

/* A canonical text at a position. Keys may be missing in the text; those in it must be the
 * position's. 0, or the error of ret_refusal, which is written then only, with views of `text`. */
int entity_check(struct bytes position, struct bytes text, struct entity_refusal *ret_refusal);

#endif
