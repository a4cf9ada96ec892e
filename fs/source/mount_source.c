/* SPDX-License-Identifier: MIT */
#include "fs/source/mount_source.h"
#include "client/store/counting_store.h"
#include "client/store/retrying_store.h"
#include "client/text/table_name.h"
#include "fs/base/say.h"
#include "fs/source/local_source.h"
#include "fs/source/service_source.h"
#include "fs/source/source_failure.h"
#include "fs/text/control_dir.h"

#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MS  2500  /* the maximum after the host's name was not found */
#define QUERY_MS 10000 /* the maximum for the first request with its retries */
#define CLI_MS   25000 /* the same with `az`, which takes seconds; `mount` waits 30 s in all */

/* Of the answers in flight: half of the cache. Less would make large answers wait for each other in
 * a small cache: a page of the service has up to 4 MiB. */
#define ANSWERS_PART      2
#define ANSWERS_MIN_BYTES ((size_t)16 << 20)

struct mount_source {
    struct service_source service;   /* an account of one */
    struct local_source local;       /* path NULL: it is a service */
    char table[ENDPOINT_TABLE_SIZE]; /* "": none */
    char *name;                      /* for findmnt and df */
    struct table_store *store;       /* the outermost; NULL: taken */
    struct table_store *retrying, *counting;
    struct log *log;
    int64_t timeout_ms;
    int64_t service_utc_100ns,
        answered_utc_100ns; /* at the first request, by both clocks; 0: not known */
};

/* Sets the table of -o table=. SOURCE or a SAS URL may name the same one; this one's case counts.
 */
static int set_table(struct mount_source *source, const char *table, struct call *call)
{
    if (!table)
        return 0;
    bool is_of_source = source->local.path || source->service.settings.connection.source_has_table;
    if (source->table[0] && strcasecmp(source->table, table) != 0)
        return call_fail_with(call, -EINVAL, "leave -o table= out",
                              "%s names the table %s, but -o table= names another one",
                              is_of_source ? "SOURCE" : "the SAS URL", source->table);
    if (!table_name_is_readable(bytes_of(table)))
        return call_fail_with(call, -EINVAL, "`tablefuse tables SOURCE` shows the tables",
                              "-o table=: the name of a table has 3 to 63 letters and digits and "
                              "starts with a letter");
    memcpy(source->table, table, strlen(table) + 1);
    return 0;
}

static bool lacks_table(const struct mount_source *source,
                        const struct mount_source_options *options)
{
    return options->needs_table && !source->table[0];
}

static int connect_service(struct mount_source *source, const struct mount_source_options *options,
                           struct call *call)
{
    const struct service_settings_options settings = {.source = options->name,
                                                      .auth = options->auth,
                                                      .credentials = options->credentials,
                                                      .variables = options->variables,
                                                      .environment = options->environment,
                                                      .allows_http = options->allows_http};
    int r = service_settings_init(&source->service.settings, &settings, call);
    if (r == 0)
        memcpy(source->table, source->service.settings.connection.endpoint.table,
               sizeof(source->table));
    return r == 0 ? set_table(source, options->table, call) : r;
}

/* The mount would hide a file below its mount point, and wait for itself when it opens it. */
static bool is_hidden(const char *path, const struct mount_source_options *options)
{
    size_t size = options->mountpoint ? strlen(options->mountpoint) : 0;
    return options->mountpoint && path && strncmp(path, options->mountpoint, size) == 0 &&
           (path[size] == '/' || path[size] == '\0');
}

static int fail_hidden(const char *name)
{
    return source_fail(name,
                       "the file lies inside its own mount point -- choose another file or another "
                       "directory",
                       EXIT_CONFIGURATION);
}

/* It is there, so it is no secret. */
static int fail_file(const char *name)
{
    say("tablefuse: %s: an account in a file is written as local:FILE -- try local:%s\n", name,
        name);
    return EXIT_CONFIGURATION;
}

static int open_service(struct mount_source *source, const struct mount_source_options *options)
{
    struct call call = {0};
    int r = connect_service(source, options, &call);
    if (r < 0 && options->name && access(options->name, F_OK) == 0)
        return fail_file(options->name);
    if (r < 0)
        return source_fail_call("", &call.failure, EXIT_CONFIGURATION);
    if (lacks_table(source, options))
        return EXIT_USAGE;
    if (is_hidden(source->service.settings.file, options))
        return fail_hidden(source->service.settings.file);
    source->service.log = options->log;
    return service_source_start(&source->service, options->ca_cert,
                                MAX(options->cache_bytes / ANSWERS_PART, ANSWERS_MIN_BYTES),
                                &source->store);
}

static int open_local(struct mount_source *source, const struct mount_source_options *options)
{
    struct call call = {.deadline_ms = clock_now_ms(&clock_system) + QUERY_MS};
    const struct local_source_use use = {
        .name = options->name, .may_create = options->may_create, .is_as_is = options->is_as_is};
    _cleanup_(freep) char *table = NULL;
    if (options->auth || options->credentials)
        return source_fail(options->name,
                           options->auth ? "-o auth= is not for an account in a file: leave it out"
                                         : "-o credentials= is not for an account in a file: leave "
                                           "it out",
                           EXIT_CONFIGURATION);
    int code = local_source_resolve(&source->local, options->name,
                                    options->needs_table && !options->table, &table);
    if (code != 0)
        return code;
    memcpy(source->table, table, strlen(table) + 1);
    if (set_table(source, options->table, &call) < 0)
        return source_fail_call("", &call.failure, EXIT_CONFIGURATION);
    if (lacks_table(source, options))
        return EXIT_USAGE;
    if (is_hidden(source->local.path, options))
        return fail_hidden(options->name);
    return local_source_open(&source->local, &use, &call, &source->store);
}

/* One line when the service goes down, and one when it is back. Not before the mount serves:
 * mount_source_query reports its own failures. */
static void log_change(void *context, const struct service_change *change)
{
    const struct mount_source *source = context;
    const struct failure *failure = change->failure;
    if (source->store)
        return;
    if (change->is_up)
        log_message(source->log, "the service answers again, after %lld s",
                    (long long)change->lasted_ms / 1000);
    else
        log_message(source->log, "the service is down, operations fail at once: %s%s%s",
                    failure->message, failure->advice ? " -- " : "",
                    failure->advice ? failure->advice : "");
}

/* One line when the service begins to throttle, and one when it has stopped. */
static void log_throttling(void *context, const struct service_throttling_change *change)
{
    const struct mount_source *source = context;
    if (change->is_throttling && !source->store)
        log_message(source->log,
                    "the service throttles: it refused %u of %u requests for %s within 10 s (HTTP "
                    "503 or 429); they are sent again later",
                    change->throttled, change->requests, change->table);
    else if (!source->store)
        log_message(source->log, "the service has stopped throttling, after %lld s (%s)",
                    (long long)change->lasted_ms / 1000, change->table);
}

/* Around the service's store: the tests' decorator, then the counter, then the retries. So the
 * counter counts every attempt. */
static int decorate_store(struct mount_source *source, const struct mount_source_options *options,
                          store_decorator *decorate)
{
    const struct retrying_store_options retrying = {.timeout_ms = options->timeout_ms,
                                                    .sink = log_change,
                                                    .throttling_sink = log_throttling,
                                                    .sink_context = source};
    struct table_store *outer;
    int r = 0;
    if (decorate) {
        r = decorate(source->store, &outer);
        if (r == 0)
            source->store = outer;
    }
    if (r == 0)
        r = counting_store_create(source->store, &clock_system, &source->counting);
    if (r == 0)
        source->store = source->counting;
    if (r == 0)
        r = retrying_store_create(source->store, &clock_system, &retrying, &source->retrying);
    if (r == 0)
        source->store = source->retrying;
    return r < 0 ? source_fail("", strerror(-r), EXIT_MOUNTING) : 0;
}

bool mount_source_holds_sas(const char *argument)
{
    for (const char *sig = argument; (sig = strstr(sig, "sig=")); sig++)
        if (sig == argument || strchr("?&=", sig[-1]))
            return true;
    return endpoint_is_url(bytes_trim(bytes_of(argument))) && strchr(argument, '?');
}

/* What the user would write as SOURCE, in any directory. Names of services hold no secret: a URL
 * with a query or a user is refused. 0 or -ENOMEM. */
static int set_name(struct mount_source *source, const char *given)
{
    const struct endpoint *endpoint = &source->service.settings.connection.endpoint;
    struct bytes name = bytes_of(source->local.path ? source->local.path : endpoint->account);
    if (!source->local.path && given)
        name = bytes_trim(bytes_of(given));
    while (name.size > 1 && name.data[name.size - 1] == '/')
        name.size--;
    bool adds_table = source->table[0] && !source->service.settings.connection.source_has_table;
    if (asprintf(&source->name, "%s%.*s%s%s", source->local.path ? LOCAL_SOURCE : "",
                 (int)name.size, name.data, adds_table ? "/" : "",
                 adds_table ? source->table : "") >= 0)
        return 0;
    source->name = NULL;
    return -ENOMEM;
}

int mount_source_open(const struct mount_source_options *options, store_decorator *decorate,
                      struct mount_source **ret)
{
    _cleanup_(mount_source_closep) struct mount_source *source = calloc(1, sizeof(*source));
    if (!source)
        return source_fail_memory();
    source->log = options->log;
    source->timeout_ms = options->timeout_ms;
    int code = local_source_is_named(options->name) ? open_local(source, options)
                                                    : open_service(source, options);
    if (code == 0)
        code = decorate_store(source, options, decorate);
    if (code == 0 && set_name(source, options->name) < 0)
        code = source_fail_memory();
    if (code == 0)
        *ret = TAKE_PTR(source);
    return code;
}

void mount_source_close(struct mount_source *source)
{
    if (!source)
        return;
    table_store_destroy(source->store);
    service_source_finish(&source->service);
    local_source_finish(&source->local);
    free(source->name);
    free(source);
}

const char *mount_source_table(const struct mount_source *source)
{
    return source->table[0] ? source->table : NULL;
}

bool mount_source_is_read_only(const struct mount_source *source)
{
    return source->local.is_read_only;
}

const char *mount_source_name(const struct mount_source *source)
{
    return source->name;
}

const char *mount_source_account(const struct mount_source *source)
{
    const char *path = source->local.path;
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : source->service.settings.connection.endpoint.account;
}

const char *mount_source_part(const struct mount_source *source)
{
    return source->local.path ? NULL : service_source_part(&source->service);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

bool mount_source_is_same_table(const struct mount_source *a, const struct mount_source *b)
{
    if (!a->local.path != !b->local.path || strcasecmp(a->table, b->table) != 0)
        return false;
    return a->local.path ? is_same_file(a->local.path, b->local.path)
                         : endpoint_is_same_account(&a->service.settings.connection.endpoint,
                                                    &b->service.settings.connection.endpoint);
}

struct table_store *mount_source_take_store(struct mount_source *source)
{
    return TAKE_PTR(source->store);
}

int mount_source_complain(const struct mount_source *source, const struct failure *failure)
{
    return source->local.path
               ? source_fail_local(source->local.path, source->table, failure)
               : source_fail_service(&source->service.settings, source->table, failure);
}

/* The first request. */
struct checking {
    struct call_observer observer; /* first */
    struct call *call;
    bool (*is_cancelled)(void *context); /* may be NULL */
    void *context;
    bool ends_when_busy, is_busy;
    struct failure unnamed; /* error 0: the host's name has an address */
};

/* Without a code it may be another server's answer. */
static bool is_busy(const struct failure *failure)
{
    return failure_is_throttled(failure) && failure->code[0];
}

/* A name that has no address is mistyped more often than the network is not there yet. */
static void checking_waits(struct call_observer *observer, const struct failure *reason)
{
    struct checking *checking = (struct checking *)observer;
    checking->is_busy = checking->ends_when_busy && is_busy(reason);
    if (!reason->is_unresolved)
        return;
    if (checking->unnamed.error == 0)
        checking->call->deadline_ms =
            MIN(checking->call->deadline_ms, clock_now_ms(&clock_system) + NAME_MS);
    checking->unnamed = *reason;
}

static bool checking_is_over(void *context)
{
    const struct checking *checking = context;
    return checking->is_busy ||
           (checking->is_cancelled && checking->is_cancelled(checking->context));
}

static int query_once(struct mount_source *source, struct call *call)
{
    if (source->table[0]) {
        struct query query = {
            .table = source->table, .range = RANGE_ALL, .top = 1, .keys_only = true};
        struct answer answer = {0};
        int r = table_store_query(source->store, &query, call, &answer);
        answer_finish(&answer);
        return r;
    }
    struct table_names names;
    struct continuation *next = NULL;
    buffer_init(&names.names, (size_t)1 << 20);
    int r = table_store_list_tables(source->store, NULL, NULL, call, &names, &next);
    continuation_destroy(next);
    buffer_finish(&names.names);
    return r;
}

int mount_source_query(struct mount_source *source, bool ends_when_busy,
                       bool (*is_cancelled)(void *context), void *context)
{
    const char *auth = source->service.settings.auth;
    bool is_cli = auth && strcmp(auth, "azcli") == 0;
    int64_t wait_ms = MIN(source->timeout_ms, is_cli ? CLI_MS : QUERY_MS);
    struct checking checking = {.observer.waits = checking_waits,
                                .is_cancelled = is_cancelled,
                                .context = context,
                                .ends_when_busy = ends_when_busy};
    struct call call = {.deadline_ms = clock_now_ms(&clock_system) + wait_ms,
                        .is_cancelled = checking_is_over,
                        .context = &checking,
                        .observer = &checking.observer,
                        .command = "mount"};
    checking.call = &call;
    int r = query_once(source, &call);
    source->service_utc_100ns = call.service_utc_100ns;
    source->answered_utc_100ns = clock_utc_100ns(&clock_system);
    if (r >= 0 || checking.is_busy || (ends_when_busy && is_busy(&call.failure)))
        return 0;
    bool is_late = call.failure.error == -ETIMEDOUT && checking.unnamed.error < 0;
    return mount_source_complain(source, is_late ? &checking.unnamed : &call.failure);
}

uint64_t mount_source_requests(const struct mount_source *source)
{
    return counting_store_requests(source->counting);
}

int mount_source_append_metrics(const struct mount_source *source, struct buffer *ret)
{
    if (!source->local.path)
        (void)service_source_append_metrics(&source->service, ret);
    int r = counting_store_append_metrics(source->counting, ret);
    return r < 0 ? r : retrying_store_append_metrics(source->retrying, ret);
}

bool mount_source_clock_ahead(const struct mount_source *source, int64_t *ret_sec)
{
    *ret_sec = (source->answered_utc_100ns - source->service_utc_100ns) / TICKS_PER_SEC;
    return source->service_utc_100ns != 0;
}

bool mount_source_append_end(const struct mount_source *source, struct buffer *ret)
{
    return !source->local.path && service_source_append_end(&source->service, ret);
}

const char *mount_source_advice_end(const struct mount_source *source)
{
    return service_source_advice_end(&source->service);
}

void mount_source_watch_end(struct mount_source *source, mount_source_ends *ends, void *context)
{
    if (source->service.credentials)
        credential_source_watch(source->service.credentials, ends, context);
}

int mount_source_append_description(const struct mount_source *source, struct buffer *ret)
{
    const char *table = source->table[0] ? source->table : NULL;
    if (!source->local.path)
        return service_source_append_description(&source->service, table, ret);
    (void)control_append_setting(ret, "account " LOCAL_SOURCE, source->local.path);
    (void)control_append_setting(ret, "checksums ", source->local.has_checksums ? "yes" : "no");
    (void)control_append_setting(ret, "table ", table);
    return control_append_setting(ret, "ca_cert ", NULL);
}
