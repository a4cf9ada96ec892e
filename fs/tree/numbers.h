/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_NUMBERS_H
#define FS_TREE_NUMBERS_H
/* The st_ino of files. That of an entity is a hash of its address: 62 bits of the SHA-256 of table,
 * NUL, position, reduced to [NUMBERS_MIN, NUMBERS_END). So it is the same in every mount, and
 * programs that store it (borg, restic) recognise the file. Two of n entities have the same number
 * with probability n^2 / 2^63: for ten million entities 1 in 92,000. An attacker needs 2^62 hashes
 * to find a key with the number of a given file, and 2^31 to find two keys with the same number.
 * Scratch files are counted from 2: 1 is the root's. Directories are above (fs/tree/place.h).
 *
 * A renamed file keeps its number as long as the mount lives: a rename swaps the numbers of the two
 * addresses. Example: after `mv a b`, b has the number of a, and a new file a has that of b. So no
 * two addresses ever have the same number. At most NUMBERS_MAX addresses have another number than
 * their own hash: before there would be more, all get their own again. The kernel may still show
 * the old numbers of names that it caches, until its timeouts end.
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
    uint64_t last; /* number of a scratch file */
};

int numbers_init(struct numbers *numbers); /* 0 or -ENOMEM */
void numbers_finish(struct numbers *numbers);
uint64_t numbers_hash(struct address address); /* the address's own number */
/* The number that the mount shows for the address with this own number. */
uint64_t numbers_shown(const struct numbers *numbers, uint64_t own);
/* A rename: swaps the shown numbers of the addresses with these own numbers. */
void numbers_swap(struct numbers *numbers, uint64_t a, uint64_t b);
uint64_t numbers_count(struct numbers *numbers); /* the next one, of a scratch file */

#endif
