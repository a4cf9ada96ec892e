/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_DIRECTORY_HANDLE_H
#define FS_OPS_DIRECTORY_HANDLE_H
/* An open directory: fills the kernel's buffers from a listing. Opening sends no request; the first
 * read may.
 *
 * A cookie is the point after an entry: 1 is after `.`, 2 after `..`, and 2 + n after the listing's
 * entry with cookie n. After the entries of the listing follow the names that only this mount has
 * (own_names.h), with cookies of their own.
 *
 * The kernel sends one read of a handle at a time, so there is no lock. */
#include "fs/kernel/request.h"

struct directory_handle;
/* 0 or -errno. `directory` must outlive the handle: the kernel keeps its node while it is open. */
int directory_handle_create(struct file_system *fs, const struct inode *directory,
                            struct directory_handle **ret);
void directory_handle_destroy(struct directory_handle *handle); /* takes NULL */
/* Replies to the request with entries after `cookie`, at most `size` bytes of them. Waits for the
 * service only for the first entry. Then it packs the entries that are available at once.
 *
 * If an error occurs before the first entry, it is the reply. If it occurs after some entries, the
 * reply has these entries, and the next read gets the error. EINTR is always the reply.
 *
 * is_plus: READDIRPLUS; entries have attributes, and each counts as a lookup of its node. */
void directory_handle_read(struct directory_handle *handle, struct request *request, size_t size,
                           off_t cookie, bool is_plus);

#endif
