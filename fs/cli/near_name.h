/* SPDX-License-Identifier: MIT */
#ifndef FS_CLI_NEAR_NAME_H
#define FS_CLI_NEAR_NAME_H
/* Finds the name that is most similar to a mistyped word, for the hint "do you mean ...?". Pure.
 * Keeps views of the words. */
#include "client/base/bytes.h"

/* The maximum distance: how many letters must be inserted, removed or replaced. A name that is
 * further away is probably no typing error. */
#define NEAR_NAME_DISTANCE 2

struct near_name {
    struct bytes word;    /* what was typed */
    struct bytes nearest; /* the most similar of the names that were tried; empty: none is near */
    size_t distance;      /* of `nearest` */
};

struct near_name near_name_of(struct bytes word);
/* Keeps `name` if it is nearer than those before. A name that shares no letter with the word is
 * never near. */
void near_name_try(struct near_name *near, struct bytes name);

/* For printf, after the word: the hint, or nothing. */
#define NEAR_NAME_FORMAT "%s%.*s%s"
#define NEAR_NAME_ARGUMENTS(near)                                                                  \
    (near).nearest.size > 0 ? " -- do you mean " : "", (int)(near).nearest.size,                   \
        (near).nearest.data, (near).nearest.size > 0 ? "?" : ""

#endif
