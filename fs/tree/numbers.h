/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_NUMBERS_H
#define FS_TREE_NUMBERS_H
/* The st_ino of files. That of an entity is made of its address: 62 bits of the SHA-256 of table,
 * NUL, position, reduced to [NUMBERS_MIN, NUMBERS_END). So it is the same in every mount, and
 * programs that keep it (borg, restic) find it again. By chance two of n entities have one number
 * with probability n^2 / 2^63: of ten million 1 in 92,000. Keys that have the number of a given
 * file take 2^62 hashes to find, and two keys of one number 2^31.
 * Scratch files are counted from 2: 1 is the root's. Directories are above (fs/tree/place.h).
 *
 * A file that is renamed keeps its number as long as the mount lives: a rename swaps the numbers of
 * its two addresses. Example: after `mv a b`, b has that of a, and what is made as a next has that
 * of b. So no two addresses ever have one number. At most NUMBERS_MAX addresses have another number
 * than their own: before there would be more, all get their own again. The kernel may show the old
 * ones of names that it keeps, until its timeouts end.
 *
 * Not thread-safe: the inode table's lock guards it; numbers_hash is pure. */
#include "cache/address.h"

#define NUMBERS_MIN ((uint64_t)1 << 32)
#define NUMBERS_END ((uint64_t)1 << 62)
#define NUMBERS_MAX 65536 /* 1 MiB */

struct swapped_number {
    uint64_t own, shown;
};

struct numbers {
    struct swapped_number *swapped; /* room for NUMBERS_MAX, ordered by `own` */
    size_t count;
    uint64_t last; /* that was counted */
};

int numbers_init(struct numbers *numbers); /* 0 or -ENOMEM */
void numbers_finish(struct numbers *numbers);
uint64_t numbers_hash(struct address address); /* the address's own number */
/* The number that is shown of the address with this own number. */
uint64_t numbers_shown(const struct numbers *numbers, uint64_t own);
/* A rename: the addresses with these own numbers. */
void numbers_swap(struct numbers *numbers, uint64_t a, uint64_t b);
uint64_t numbers_count(struct numbers *numbers); /* the next one, of a scratch file */

#endif
