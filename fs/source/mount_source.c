/* SPDX-License-Identifier: MIT */
#include "fs/source/mount_source.h"
#include "client/local/local_store.h"
#include "client/store/counting_store.h"
#include "client/store/retrying_store.h"
#include "client/text/table_name.h"
#include "fs/base/local_path.h"
#include "fs/base/say.h"
#include "fs/source/service_source.h"
#include "fs/text/control_dir.h"

#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MS     2500  /* the maximum after the host's name was not found */
#define QUESTION_MS 10000 /* the maximum for the first request with its retries */
#define CLI_MS      25000 /* the same with `az`, which takes seconds; `mount` waits 30 s in all */

/* Of the answers in flight: half of the cache. Less would make large answers wait for each other in
 * a small cache: a page of the service has up to 4 MiB. */
#define ANSWERS_PART      2
#define ANSWERS_MIN_BYTES ((size_t)16 << 20)

struct mount_source {
    struct service_source service;   /* an account of one */
    char *local_path;                /* of an account in a file; NULL: it is a service */
    char table[ENDPOINT_TABLE_SIZE]; /* "": none */
    char *name;                      /* for findmnt and df */
    struct table_store *store;       /* the outermost; NULL: taken */
    struct table_store *retrying, *counting;
    struct log *log;
    int64_t timeout_ms;
    int64_t service_utc_100ns,
        asked_utc_100ns;              /* at the first request, by both clocks; 0: not told */
    bool has_checksums, is_read_only; /* of an account in a file */
};

static int complain_failure(const char *what, const struct failure *failure, enum command_exit code)
{
    say("tablefuse: %s%s%s%s%s\n", what, what[0] ? ": " : "", failure->message,
        failure->advice ? " -- " : "", failure->advice ? failure->advice : "");
    return (int)code;
}

/* `reason` with the next step, after " -- " */
static int complain(const char *what, const char *reason, enum command_exit code)
{
    say("tablefuse: %s%s%s\n", what, what[0] ? ": " : "", reason);
    return (int)code;
}

/* Sets the table of -o table=. SOURCE or a SAS URL may name the same one; this one's case counts.
 */
static int set_table(struct mount_source *source, const char *table, struct call *call)
{
    if (!table)
        return 0;
    bool is_of_source = source->local_path || source->service.settings.connection.source_has_table;
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

static int complain_hidden(const char *name)
{
    return complain(name,
                    "the file lies inside its own mount point -- choose another file or another "
                    "directory",
                    EXIT_CONFIGURATION);
}

/* It is there, so it is no secret. */
static int complain_file(const char *name)
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
        return complain_file(options->name);
    if (r < 0)
        return complain_failure("", &call.failure, EXIT_CONFIGURATION);
    if (lacks_table(source, options))
        return EXIT_USAGE;
    if (is_hidden(source->service.settings.file, options))
        return complain_hidden(source->service.settings.file);
    source->service.log = options->log;
    return service_source_start(&source->service, options->ca_cert,
                                MAX(options->cache_bytes / ANSWERS_PART, ANSWERS_MIN_BYTES),
                                &source->store);
}

static int complain_path(const char *name, int error)
{
    say("tablefuse: %s: %s -- `namei -l FILE` shows where its path ends\n", name, strerror(error));
    return EXIT_CONFIGURATION;
}

/* Sets the path, and the table that follows it in FILE/TABLE. */
static int resolve_local(struct mount_source *source, const struct mount_source_options *options)
{
    _cleanup_(freep) char *table = NULL;
    const char *name = options->name, *given = name + strlen(LOCAL_SOURCE);
    bool has_table = options->needs_table && !options->table;
    int r = has_table ? local_path_resolve_new(given, &source->local_path, &table)
                      : local_path_resolve(given, &source->local_path, &table);
    if (r == -ENOTDIR)
        return complain(name, "a file is followed by more than /TABLE -- write local:FILE/TABLE",
                        EXIT_CONFIGURATION);
    if (r == -ENOENT)
        return complain(name,
                        "the directory of the file does not exist -- check the name, or create the "
                        "directory first: `mkdir -p DIRECTORY`",
                        EXIT_NOT_FOUND);
    if (r < 0)
        return complain_path(name, -r);
    if (table[0] && !table_name_is_readable(bytes_of(table)))
        return complain(name,
                        "what follows the file is not the name of a table, which has 3 to 63 "
                        "letters and digits, a letter first -- `tablefuse tables local:FILE` shows "
                        "the tables",
                        EXIT_CONFIGURATION);
    memcpy(source->table, table, strlen(table) + 1);
    return 0;
}

static enum command_exit exit_code_of_local(const struct failure *failure)
{
    switch (-failure->error) {
    case ENOENT:
        return EXIT_NOT_FOUND;
    case EIO:
        return EXIT_DAMAGED;
    case ENOSPC:
    case EDQUOT:
        return EXIT_MOUNTING;
    default:
        return EXIT_CONFIGURATION;
    }
}

/* What a local store could not be created for. */
static int complain_opening(const char *name, const struct failure *failure)
{
    return complain_failure(name, failure, exit_code_of_local(failure));
}

static int open_local(struct mount_source *source, const struct mount_source_options *options)
{
    struct call call = {.deadline_ms = clock_now_ms(&clock_system) + QUESTION_MS};
    if (options->auth || options->credentials)
        return complain(options->name,
                        options->auth ? "-o auth= is not for an account in a file: leave it out"
                                      : "-o credentials= is not for an account in a file: leave it "
                                        "out",
                        EXIT_CONFIGURATION);
    int code = resolve_local(source, options);
    if (code != 0)
        return code;
    int r = set_table(source, options->table, &call);
    if (r < 0)
        return complain_failure("", &call.failure, EXIT_CONFIGURATION);
    if (lacks_table(source, options))
        return EXIT_USAGE;
    if (is_hidden(source->local_path, options))
        return complain_hidden(options->name);
    r = options->is_as_is
            ? local_store_open_as_is(source->local_path, &clock_system, &call, &source->store)
            : local_store_create(source->local_path, options->may_create, &clock_system, &call,
                                 &source->store);
    if (r < 0)
        return complain_opening(options->name, &call.failure);
    source->has_checksums = local_store_has_checksums(source->store);
    source->is_read_only = !local_store_is_writable(source->store);
    return 0;
}

/* One line when the service goes down, and one when it is back. Not before the mount serves: what
 * mount_source_query meets it tells by itself. */
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
    return r < 0 ? complain("", strerror(-r), EXIT_MOUNTING) : 0;
}

bool mount_source_is_local(const char *name)
{
    return name && strncmp(name, LOCAL_SOURCE, strlen(LOCAL_SOURCE)) == 0;
}

bool mount_source_holds_sas(const char *argument)
{
    for (const char *sig = argument; (sig = strstr(sig, "sig=")); sig++)
        if (sig == argument || strchr("?&=", sig[-1]))
            return true;
    return endpoint_is_url(bytes_trim(bytes_of(argument))) && strchr(argument, '?');
}

static void say_as_is(const char *name, const char *why, const char *reason)
{
    say("tablefuse: %s: %s%s, so the file stays as it is: without checksums, damage in it "
        "is not noticed\n",
        name, why, reason);
}

int mount_source_prepare(const char *name, bool is_read_only, bool *ret_is_as_is)
{
    _cleanup_(table_store_destroyp) struct table_store *store = NULL;
    _cleanup_(freep) char *path = NULL;
    _cleanup_(freep) char *table = NULL;
    struct call call = {.deadline_ms = INT64_MAX};
    if (!mount_source_is_local(name))
        return 0;
    if (!local_path_answers(name + strlen(LOCAL_SOURCE), LOCAL_SOURCE_MS))
        return complain(name, LOCAL_SOURCE_HANGS, EXIT_MOUNTING);
    if (local_path_resolve(name + strlen(LOCAL_SOURCE), &path, &table) < 0 ||
        !local_store_is_older(path))
        return 0;
    if (is_read_only) {
        *ret_is_as_is = true;
        say_as_is(name, "it is in an older format, and only read", "");
        return 0;
    }
    say("tablefuse: %s: upgrading the file to the format with checksums; 10,000,000 "
        "entities take a few minutes\n",
        name);
    int r = local_store_create(path, false, &clock_system, &call, &store);
    *ret_is_as_is = r == -EIO || r == -ENOSPC; /* what can be read of it is served */
    if (*ret_is_as_is)
        say_as_is(name, "it cannot be upgraded: ", call.failure.message);
    else if (r < 0)
        return complain_opening(name, &call.failure);
    else if (!local_store_has_checksums(store))
        say_as_is(name, "it cannot be written to", "");
    return 0;
}

/* What the user would write as SOURCE, in any directory. Names of services hold no secret: a URL
 * with a query or a user is refused. 0 or -ENOMEM. */
static int set_name(struct mount_source *source, const char *given)
{
    const struct endpoint *endpoint = &source->service.settings.connection.endpoint;
    struct bytes name = bytes_of(source->local_path ? source->local_path : endpoint->account);
    if (!source->local_path && given)
        name = bytes_trim(bytes_of(given));
    while (name.size > 1 && name.data[name.size - 1] == '/')
        name.size--;
    bool adds_table = source->table[0] && !source->service.settings.connection.source_has_table;
    if (asprintf(&source->name, "%s%.*s%s%s", source->local_path ? LOCAL_SOURCE : "",
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
        return complain("", "out of memory -- free some memory and try again", EXIT_MOUNTING);
    source->log = options->log;
    source->timeout_ms = options->timeout_ms;
    int code = mount_source_is_local(options->name) ? open_local(source, options)
                                                    : open_service(source, options);
    if (code == 0)
        code = decorate_store(source, options, decorate);
    if (code == 0 && set_name(source, options->name) < 0)
        code = complain("", "out of memory -- free some memory and try again", EXIT_MOUNTING);
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
    free(source->local_path);
    free(source->name);
    free(source);
}

const char *mount_source_table(const struct mount_source *source)
{
    return source->table[0] ? source->table : NULL;
}

bool mount_source_is_read_only(const struct mount_source *source)
{
    return source->is_read_only;
}

const char *mount_source_name(const struct mount_source *source)
{
    return source->name;
}

const char *mount_source_account(const struct mount_source *source)
{
    const char *path = source->local_path;
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : source->service.settings.connection.endpoint.account;
}

const char *mount_source_part(const struct mount_source *source)
{
    return source->local_path ? NULL : service_source_part(&source->service);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

bool mount_source_is_same_table(const struct mount_source *a, const struct mount_source *b)
{
    if (!a->local_path != !b->local_path || strcasecmp(a->table, b->table) != 0)
        return false;
    return a->local_path ? is_same_file(a->local_path, b->local_path)
                         : endpoint_is_same_account(&a->service.settings.connection.endpoint,
                                                    &b->service.settings.connection.endpoint);
}

struct table_store *mount_source_take_store(struct mount_source *source)
{
    return TAKE_PTR(source->store);
}

static enum command_exit exit_code_of(const struct failure *failure)
{
    if (failure->error == -EACCES)
        return EXIT_CREDENTIALS;
    if (failure->error == -ENOENT && failure->code[0]) /* a table service answered */
        return EXIT_NOT_FOUND;
    return failure->http_status == 0 || failure->is_retryable ? EXIT_NETWORK : EXIT_CONFIGURATION;
}

/* A file speaks no HTTP, although its store answers with the service's codes. */
static int complain_local(const struct mount_source *source, const struct failure *failure)
{
    bool is_no_table = failure->error == -ENOENT && source->table[0];
    say("tablefuse: %s%s%s%s%s%s%s\n", LOCAL_SOURCE, source->local_path,
        is_no_table ? " has no table " : ": ", is_no_table ? source->table : failure->message,
        is_no_table ? " -- `tablefuse tables SOURCE` shows those that it has" : "",
        !is_no_table && failure->advice ? " -- " : "",
        !is_no_table && failure->advice ? failure->advice : "");
    return (int)exit_code_of_local(failure);
}

/* Tells what to do, with a command that shows more where there is one. */
static void say_advice(const struct mount_source *source, const struct failure *failure)
{
    const struct service_settings *settings = &source->service.settings;
    const struct endpoint *endpoint = &settings->connection.endpoint;
    const char *host = strstr(endpoint->url, "://") + 3;
    const char *meant = failure->is_unresolved ? service_settings_meant(settings->source) : NULL;
    bool is_nothing = failure->http_status == 0; /* that came */
    bool is_network = is_nothing && exit_code_of(failure) == EXIT_NETWORK;
    if (meant)
        say(" -- %s", meant);
    else if (failure->error == -ECONNREFUSED && settings->connection.is_published &&
             endpoint->is_loopback)
        say(" -- start it: `azurite-table --skipApiVersionCheck`; where it has another port, name "
            "it: http://127.0.0.1:PORT/%s",
            endpoint->account);
    else if (failure->advice && failure->is_unresolved)
        say(" -- %s: `getent hosts %.*s`", failure->advice, (int)strcspn(host, ":/"), host);
    else if (failure->advice)
        say(" -- %s%s%s%s", failure->advice, is_network ? ": `curl -v " : "",
            is_network ? endpoint->url : "", is_network ? "`" : "");
    else if (failure->error == -ENOENT && strcmp(failure->code, "TableNotFound") == 0)
        say(" -- check the table's name: `tablefuse tables SOURCE`");
    else if (failure->error == -ENOENT && failure->code[0])
        say(" -- check the account's name: `az storage account list --output table`");
    else if (!is_nothing && !failure->code[0])
        say(" -- check that this is the endpoint of a table service: `curl -v %s`", endpoint->url);
}

static int complain_service(const struct mount_source *source, const struct failure *failure)
{
    const struct endpoint *endpoint = &source->service.settings.connection.endpoint;
    say("tablefuse: account %s at %s", endpoint->account, endpoint->url);
    if (source->table[0])
        say(", table %s", source->table);
    if (failure->http_status > 0)
        say(": HTTP %d", failure->http_status);
    if (failure->code[0])
        say(" %s", failure->code);
    if (failure->message[0])
        say(": %s", failure->message);
    say_advice(source, failure);
    say("\n");
    return (int)exit_code_of(failure);
}

/* A name that has no address is mistyped more often than the network is not there yet. */
struct naming {
    struct call_observer observer; /* first */
    struct call *call;
    struct failure failure; /* error 0: the name has an address */
};

static void waits_for_name(struct call_observer *observer, const struct failure *reason)
{
    struct naming *naming = (struct naming *)observer;
    if (!reason->is_unresolved)
        return;
    if (naming->failure.error == 0)
        naming->call->deadline_ms =
            MIN(naming->call->deadline_ms, clock_now_ms(&clock_system) + NAME_MS);
    naming->failure = *reason;
}

static int ask(struct mount_source *source, struct call *call)
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

int mount_source_query(struct mount_source *source, bool (*is_cancelled)(void *context),
                       void *context)
{
    const char *auth = source->service.settings.auth;
    bool is_cli = auth && strcmp(auth, "azcli") == 0;
    int64_t wait_ms = MIN(source->timeout_ms, is_cli ? CLI_MS : QUESTION_MS);
    struct naming naming = {.observer.waits = waits_for_name};
    struct call call = {.deadline_ms = clock_now_ms(&clock_system) + wait_ms,
                        .is_cancelled = is_cancelled,
                        .context = context,
                        .observer = &naming.observer,
                        .command = "mount"};
    naming.call = &call;
    int r = ask(source, &call);
    source->service_utc_100ns = call.service_utc_100ns;
    source->asked_utc_100ns = clock_utc_100ns(&clock_system);
    if (r >= 0)
        return 0;
    if (source->local_path)
        return complain_local(source, &call.failure);
    bool is_late = call.failure.error == -ETIMEDOUT && naming.failure.error < 0;
    return complain_service(source, is_late ? &naming.failure : &call.failure);
}

int mount_source_complain(const struct mount_source *source, const struct failure *failure)
{
    return source->local_path ? complain_local(source, failure) : complain_service(source, failure);
}

uint64_t mount_source_requests(const struct mount_source *source)
{
    return counting_store_requests(source->counting);
}

int mount_source_append_metrics(const struct mount_source *source, struct buffer *ret)
{
    if (!source->local_path)
        (void)service_source_append_metrics(&source->service, ret);
    int r = counting_store_append_metrics(source->counting, ret);
    return r < 0 ? r : retrying_store_append_metrics(source->retrying, ret);
}

bool mount_source_clock_ahead(const struct mount_source *source, int64_t *ret_sec)
{
    *ret_sec = (source->asked_utc_100ns - source->service_utc_100ns) / TICKS_PER_SEC;
    return source->service_utc_100ns != 0;
}

bool mount_source_append_end(const struct mount_source *source, struct buffer *ret)
{
    return !source->local_path && service_source_append_end(&source->service, ret);
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
    if (!source->local_path)
        return service_source_append_description(&source->service, table, ret);
    (void)control_append_setting(ret, "account " LOCAL_SOURCE, source->local_path);
    (void)control_append_setting(ret, "checksums ", source->has_checksums ? "yes" : "no");
    (void)control_append_setting(ret, "table ", table);
    return control_append_setting(ret, "ca_cert ", NULL);
}
