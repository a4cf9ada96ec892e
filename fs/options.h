#ifndef FS_OPTIONS_H
#define FS_OPTIONS_H
/* The options of `tablefuse mount -o`. Parsing is pure but for messages on standard error. One
 * thread. */
#include "cache/address.h"
#include "client/base.h"
#include "fs/tree/attributes.h"

struct fuse_args;

#define OPTIONS_DEFAULT_TTL_MS      1000
#define OPTIONS_DEFAULT_CACHE_BYTES ((size_t)64 << 20)
#define OPTIONS_DEFAULT_PARALLELISM 8
#define OPTIONS_DEFAULT_FANOUT      512

struct options {
    char *table;   /* its directory is the root; NULL: none */
    char *ca_cert; /* a file; NULL: the system's certificates */
    int64_t ttl_ms;
    size_t cache_bytes;         /* of what was read */
    int parallelism;            /* requests of scans at once */
    int fanout;                 /* so many partitions are listed themselves */
    enum directory_kind layout; /* DIRECTORY_AUTO or DIRECTORY_FLAT */
    uid_t uid;
    gid_t gid;
    mode_t umask;
    bool allow_other;
};

/* Takes our own options out of args ("-o a,b=c" pairs) and leaves those of FUSE. `defaults` come
 * from the process that mounts: uid, gid, umask. -EINVAL after a message on standard error. */
int options_parse(struct fuse_args *args, uid_t uid, gid_t gid, mode_t umask, struct options *ret);
void options_finish(struct options *options);
/* Seconds with an optional fraction, "0.25", to milliseconds; false: no number, or over a day. */
bool options_parse_seconds(const char *text, int64_t *ret_ms);
/* A number of bytes, with K, M or G behind it of 1024, 1024^2, 1024^3 bytes; false: no number, or
 * over 64G. */
bool options_parse_bytes(const char *text, size_t *ret);

#endif
