/* SPDX-License-Identifier: MIT */
#ifndef FS_CLI_OPTIONS_H
#define FS_CLI_OPTIONS_H
/* The options of `tablefuse mount -o`. Parsing has no effect but messages on standard error. One
 * thread. README.md ("Options") says what each option means. */
#include "cache/address.h"
#include "client/base/base.h"
#include "fs/tree/attributes.h"

struct fuse_args;
struct verb;

#define OPTIONS_DEFAULT_TIMEOUT_MS 60000
#define OPTIONS_MIN_PENDING_BYTES  ((size_t)64 << 10)

struct options {
    char *table;                /* its directory is the root; NULL: not given */
    char *ca_cert;              /* a file; NULL: the system's certificates */
    char *auth;                 /* the source of tokens; NULL: a key or a SAS is used */
    char *credentials;          /* a file that has the credential; NULL: not given */
    char *scratch_globs;        /* patterns of fs/tree/scratch_name.h; NULL: none */
    int64_t ttl_ms;             /* the maximum age of an answer */
    int64_t timeout_ms;         /* an operation fails after this time without progress */
    size_t cache_bytes;         /* the maximum of the cache */
    int parallelism;            /* the maximum of scan requests in flight */
    int fanout;                 /* a level with more partitions shows prefixes; 0: auto */
    int max_nodes;              /* see inode_table_create */
    enum directory_kind layout; /* DIRECTORY_AUTO or DIRECTORY_FLAT */
    uid_t uid;
    gid_t gid;
    mode_t umask;
    bool allow_other;
    bool allows_http;          /* allow_http: HTTP also to other hosts than loopback */
    bool is_read_only;         /* `ro` was given */
    bool may_create;           /* create, without ro: a local account's missing file is created */
    bool overwrites_conflicts; /* conflict=overwrite */
    bool is_write_back;
    bool never_drops_rows; /* no_table_drop */
    bool allows_updatedb;  /* allow_updatedb: updatedb may read directories */
    size_t pending_bytes;
};

/* Parses and removes tablefuse's own options from args ("-o", "a,b=c"), also removes those that
 * fstab, mount(8) and systemd write for themselves, and leaves FUSE's. If an option is given twice,
 * the last one is used, as for mount(8), which appends its options to those of fstab. uid, gid and
 * umask are the defaults: those of the process that mounts. 0, -ENOMEM, or -EINVAL after a usage
 * error of the verb. */
int options_parse(const struct verb *verb, struct fuse_args *args, uid_t uid, gid_t gid,
                  mode_t umask, struct options *ret);
void options_finish(struct options *options);
/* Do commands without a mount have this option, too? False for an unknown one. */
bool options_is_of_commands(struct bytes name);

struct option_help { /* static text */
    const char *name;
    const char *value;   /* the word for its value; NULL: it has none */
    const char *means;   /* a sentence without a full stop */
    const char *initial; /* the default; NULL: none, or it is in `means` */
};
/* The help of the option with this index, from 0 on. False: there is none. */
bool options_help(size_t number, struct option_help *ret);

struct option_name {
    struct bytes name; /* static text */
    bool takes_value;
};
/* Finds the option of tablefuse whose name is most similar to the word (near_name.h). False: none
 * is.
 */
bool options_find_near(struct bytes word, struct option_name *ret);
/* Parses the seconds of a timeout, from 1 to 3600, with an optional fraction: "2.5" is 2500 ms.
 * False: the text is something else. */
bool options_parse_timeout(const char *text, int64_t *ret_ms);

#endif
