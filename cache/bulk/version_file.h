/* SPDX-License-Identifier: MIT */
#ifndef CACHE_BULK_VERSION_FILE_H
#define CACHE_BULK_VERSION_FILE_H
/* A list of versions (positions with ETags) in a file: first all are added, in ascending order,
 * then all are read, in the same order. One thread. */
#include "client/base/position.h"

struct version_file;
int version_file_create(int fd, struct version_file **ret); /* takes fd, also on failure */
void version_file_destroy(struct version_file *file);       /* takes NULL */

/* 0 or -errno. */
int version_file_add(struct version_file *file, struct bytes position, struct bytes etag);
uint64_t version_file_count(const struct version_file *file); /* added */
/* Ends the adding, and moves to the first version. 0; -errno: not all of them were written. */
int version_file_rewind(struct version_file *file);
/* 1: appends position and ETag to ret; 0: there are no more; -errno. */
int version_file_next(struct version_file *file, struct buffer *ret, size_t *ret_position_size);

DEFINE_CLEANUP(struct version_file *, version_file_destroy);

#endif
