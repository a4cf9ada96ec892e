#ifndef FS_FILES_DIRECTORY_HANDLE_H
#define FS_FILES_DIRECTORY_HANDLE_H
/* An open directory: packs the kernel's buffers from a listing. Opening sends nothing; the first
 * read does. The kernel lets one reader in at a time; no lock. Cookies: 1 and 2 stand behind `.`
 * and `..`, 2 + n behind the listing's n-th. */
#include "fs/request.h"

struct directory_handle;
int directory_handle_create(struct file_system *fs, const struct inode *directory,
                            struct directory_handle **ret);
void directory_handle_destroy(struct directory_handle *handle); /* takes NULL */
/* Answers the request with the entries behind `cookie` that fit into `size`, as many as are there
 * without waiting, but one at least, or with the error if there is none before it: an error after
 * some entries shows at the next read. `is_plus`: with attributes, each entry a lookup. */
void directory_handle_read(struct directory_handle *handle, struct request *request, size_t size,
                           off_t cookie, bool is_plus);

#endif
