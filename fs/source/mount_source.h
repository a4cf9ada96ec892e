/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_MOUNT_SOURCE_H
#define FS_SOURCE_MOUNT_SOURCE_H
/* The account that is mounted. Turns SOURCE and the environment into a table store with its
 * decorators. It is the only module above client/ that creates stores.
 *
 * One thread. It starts curl and OpenSSL, so it runs after background_fork, in the child. Where "an
 * exit code" is returned, it is 0; or a code of fs/base/exit_codes.h, and then one line was written
 * to standard error. */
#include "client/base/bytes.h"
#include "client/store/call.h"
#include "fs/base/log.h"
#include "fs/cli/verb.h"
#include "fs/source/local_source.h"
#include "fs/source/service_settings.h"

struct mount_source_options {
    const char *name;    /* SOURCE; NULL: the environment names the account */
    const char *table;   /* -o table=; NULL: not given */
    const char *ca_cert; /* a file; NULL: SSL_CERT_FILE names it, or the system's certificates */
    const char *auth;    /* -o auth=, the source of tokens; outlives this; NULL: a key or a SAS */
    const char *credentials;                  /* -o credentials=, a file; NULL: not given */
    const struct secret_variables *variables; /* secrets from the environment, for a service */
    const char *mountpoint; /* absolute; neither the file of a local account nor that of the
                             * credential may be below it; NULL: none */
    int64_t timeout_ms;     /* of an operation */
    size_t cache_bytes;     /* of the cache; answers that are being received may use a part of it */
    struct log *log;        /* gets a line when the service goes down, and when it is back */
    enum mount_environment environment;
    bool allows_http; /* the option allow_http */
    bool may_create;  /* a missing file of a local account is created */
    bool needs_table; /* without a table: EXIT_USAGE, and the caller writes the message; FILE need
                         not exist */
    bool is_as_is;    /* of local_source_prepare */
};

struct mount_source;
/* May it hold a SAS token? It is a URL with a query, or has the parameter `sig`:
 * local:x?sv=..&sig=.. Such an argument is refused. */
bool mount_source_holds_sas(const char *argument);
/* Sends nothing to the service; with `auth` a thread requests the first token. An exit code. */
int mount_source_open(const struct mount_source_options *options, store_decorator *decorate,
                      struct mount_source **ret);
void mount_source_close(struct mount_source *source); /* takes NULL */

/* Sends one request to check the endpoint, the credential, and the table if one is given. Blocks up
 * to 10 s (with auth=azcli 25 s), or timeout_ms if that is less. ends_when_busy: a service that
 * throttles gets no second request; the result is 0, and the caller's own requests show what is
 * wrong. is_cancelled: as of struct call; NULL: the call cannot be cancelled. An exit code. */
int mount_source_query(struct mount_source *source, bool ends_when_busy,
                       bool (*is_cancelled)(void *context), void *context);

/* The table whose directory is the root. NULL: the root is the account. */
const char *mount_source_table(const struct mount_source *source);
/* Is the source an account in a file that cannot be changed? */
bool mount_source_is_read_only(const struct mount_source *source);
/* The name that findmnt and df show: SOURCE as it was given, or the account that the environment
 * names, and /TABLE if an option gives one; for a local account the file's absolute path. Never a
 * secret. */
const char *mount_source_name(const struct mount_source *source);
/* The name of the account without a table, or of a local account's file without its directories. */
const char *mount_source_account(const struct mount_source *source);
/* Why the source may show only a part of a table, for example by a SAS for some keys; NULL: it
 * shows all. */
const char *mount_source_part(const struct mount_source *source);
/* Do both have the same table of one account or file? Not detected if the host of the account has
 * two names. */
bool mount_source_is_same_table(const struct mount_source *a, const struct mount_source *b);
/* Gives the outermost store to the caller, which destroys it before it closes the source. */
struct table_store *mount_source_take_store(struct mount_source *source);
/* Writes the failure of a call on the store to standard error, in one line. An exit code. */
int mount_source_complain(const struct mount_source *source, const struct failure *failure);
/* How many requests were sent. Called only while the store exists, whether it was taken or not. */
uint64_t mount_source_requests(const struct mount_source *source);
/* Appends the counters of requests in Prometheus's text format. Called only while the store exists,
 * whether it was taken or not. 0 or -errno. */
int mount_source_append_metrics(const struct mount_source *source, struct buffer *ret);
/* For an account of a service, after mount_source_query: how far this machine's clock is ahead of
 * the service's, in seconds. False: no answer had the service's time. */
bool mount_source_clock_ahead(const struct mount_source *source, int64_t *ret_sec);
/* If the source has a SAS that ends within a day, or has ended: appends when, in words, and returns
 * true. Any thread. */
bool mount_source_append_end(const struct mount_source *source, struct buffer *ret);
/* What to do then: static text. */
const char *mount_source_advice_end(const struct mount_source *source);
/* From now on `ends` is called when the SAS ends soon, once for each SAS, on the thread of a
 * request: see credential_source_watch. */
typedef void mount_source_ends(void *context);
void mount_source_watch_end(struct mount_source *source, mount_source_ends *ends, void *context);
/* Appends the account's part of .tablefuse/config, without secrets. 0 or -errno. */
int mount_source_append_description(const struct mount_source *source, struct buffer *ret);

DEFINE_CLEANUP(struct mount_source *, mount_source_close);

#endif
