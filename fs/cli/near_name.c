/* SPDX-License-Identifier: MIT */
#include "fs/cli/near_name.h"

#define NAME_SIZE 32 /* a longer word counts as near to no name */

/* The edit distance: how many letters to insert, remove or replace. Both are shorter than
 * NAME_SIZE. */
static size_t distance(struct bytes a, struct bytes b)
{
    size_t row[NAME_SIZE];
    for (size_t j = 0; j <= b.size; j++)
        row[j] = j;
    for (size_t i = 0; i < a.size; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b.size; j++) {
            size_t replaced = diagonal + (a.data[i] != b.data[j]);
            diagonal = row[j + 1];
            row[j + 1] = MIN(replaced, MIN(row[j], diagonal) + 1);
        }
    }
    return row[b.size];
}

struct near_name near_name_of(struct bytes word)
{
    return (struct near_name){
        .word = word, .nearest = BYTES_LITERAL(""), .distance = NEAR_NAME_DISTANCE + 1};
}

void near_name_try(struct near_name *near, struct bytes name)
{
    if (near->word.size >= NAME_SIZE || name.size >= NAME_SIZE)
        return;
    size_t found = distance(near->word, name);
    if (found < near->distance && found < name.size) {
        near->distance = found;
        near->nearest = name;
    }
}
