/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_SERVICE_SOURCE_H
#define FS_SOURCE_SERVICE_SOURCE_H
/* An account of a service as a source: its settings, and the tokens, the key or the SAS of its
 * requests. One thread, unless a comment says otherwise. */
#include "client/azure/clock_skew.h"
#include "client/identity/credential_source.h"
#include "client/identity/token_source.h"
#include "client/store/table_store.h"
#include "fs/base/log.h"
#include "fs/source/service_settings.h"

struct service_source {
    struct service_settings settings; /* set by the caller: service_settings_init */
    struct log *log;                  /* the caller's; outlives it */
    char *ca_file; /* absolute; NULL: the system's certificates, or none needed */
    struct token_request *token_request;
    struct token_source *tokens;           /* NULL: none are used */
    struct credential_source *credentials; /* NULL: tokens are used */
    struct clock_skew *skew;               /* of the signatures with a key; NULL: tokens are used */
    _Atomic unsigned skew_lines;           /* lines about the clock so far, logged or not */
};

/* Begins to request tokens, if they are used, and creates the store, which the caller destroys
 * before it finishes the source. ca_cert: a file; NULL: SSL_CERT_FILE names it, or the system's
 * certificates. Returns 0; or an exit code, and then one line was written to standard error. */
int service_source_start(struct service_source *source, const char *ca_cert,
                         size_t answers_max_bytes, struct table_store **ret);
void service_source_finish(struct service_source *source);

/* Why the source may show only a part of a table, for example by a SAS for some keys; NULL: it
 * shows all. Any thread. */
const char *service_source_part(const struct service_source *source);
/* If its SAS ends within a day, or has ended: appends when, in words, and returns true. Any thread.
 */
bool service_source_append_end(const struct service_source *source, struct buffer *ret);
/* What to do then: static text. */
const char *service_source_advice_end(const struct service_source *source);
/* Appends the metrics of what the requests are sent with. Any thread. */
int service_source_append_metrics(const struct service_source *source, struct buffer *ret);
/* Appends the source's lines of .tablefuse/config, with one for the table, without secrets. Any
 * thread. */
int service_source_append_description(const struct service_source *source, const char *table,
                                      struct buffer *ret);

#endif
