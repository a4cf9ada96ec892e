/* SPDX-License-Identifier: MIT */
#include "fs/source/service_settings.h"
#include "client/text/printable.h"
#include "fs/cli/near_name.h"
#include "fs/source/credential_file.h"

#include <unistd.h>

#define OPTION_FILE "the file that " CREDENTIAL_FILE_OPTION " names"

/* Where a value is looked up: in the lines of a file, and, if they have none, in the environment.
 */
struct lookup {
    const struct credential_lines *lines;     /* NULL: there is no file */
    const struct secret_variables *variables; /* NULL: the file counts alone */
};

static const char *look_up(const void *context, const char *name)
{
    const struct lookup *lookup = context;
    const char *value = lookup->lines ? credential_lines_get(lookup->lines, name) : NULL;
    return value || !lookup->variables ? value : secret_variables_get(lookup->variables, name);
}

/* The credentials of the account. */
static struct connection_environment environment_of(const struct lookup *lookup)
{
    return (struct connection_environment){
        .connection_string = look_up(lookup, "AZURE_STORAGE_CONNECTION_STRING"),
        .account = look_up(lookup, "AZURE_STORAGE_ACCOUNT"),
        .key = look_up(lookup, "AZURE_STORAGE_KEY"),
        .sas_token = look_up(lookup, "AZURE_STORAGE_SAS_TOKEN"),
        .sas_url = look_up(lookup, "AZURE_STORAGE_SAS_URL"),
    };
}

/* The failure is about what stands in a file. */
static int name_file(struct call *call, const char *what)
{
    struct failure failure = call->failure;
    return call_fail_with(call, failure.error, failure.advice, "%s: %.200s", what, failure.message);
}

/* The path is read again when the directory is another one. Links in it stay: Kubernetes replaces
 * the directory that a link leads to. */
static int make_absolute(const char *path, struct call *call, char **ret)
{
    _cleanup_(freep) char *directory = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (path[0] != '/' && !directory)
        return call_fail(call, -errno, "the working directory is not known: %s",
                         strerrordesc_np(errno));
    if (asprintf(ret, "%s%s%s", directory ? directory : "", directory ? "/" : "", path) >= 0)
        return 0;
    *ret = NULL;
    return call_fail(call, -ENOMEM, "out of memory");
}

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

const char *service_settings_meant(const char *source)
{
    static const struct {
        const char *word, *advice;
    } words[] = {
        {"emulator", "do you mean `emulator`?"},
        {"azurite", "do you mean `emulator`?"},
        {"local", "do you mean local:FILE?"},
    };
    char word[ENDPOINT_ACCOUNT_SIZE];
    size_t size = source ? strcspn(source, ":/") : 0;
    if (size == 0 || size >= sizeof(word) || strncmp(source + size, "://", 3) == 0)
        return NULL;
    for (size_t i = 0; i < size; i++)
        word[i] = lower(source[i]);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        struct near_name near = near_name_of((struct bytes){word, size});
        near_name_try(&near, bytes_of(words[i].word));
        if (near.distance * 4 <= near.nearest.size) /* a name of an account may be short */
            return words[i].advice;
    }
    return NULL;
}

/* Is SOURCE given, and names no account? Then no file is the reason. */
static bool is_source_wrong(const char *source)
{
    const struct connection_environment none = {0};
    char account[ENDPOINT_ACCOUNT_SIZE];
    connection_find_lacking(source, &none, account);
    return source && !account[0];
}

/* Connects by the values of a file alone, except for the name of the account. */
static int connect_by_lines(const struct service_settings *settings,
                            const struct credential_lines *lines, const char *account,
                            struct call *call, struct connection *ret)
{
    const struct lookup lookup = {.lines = lines};
    struct connection_environment environment = environment_of(&lookup);
    const char *own = environment.account;
    if (!settings->source && (!own || !own[0]))
        environment.account = account;
    environment.allows_http = settings->allows_http;
    environment.uses_tokens = settings->auth;
    int r = connection_init(ret, settings->source, &environment, call);
    if (r < 0 && !settings->auth && !credential_lines_has_credential(lines))
        call->failure.advice = "write such a line into it, AZURE_STORAGE_KEY=... for example";
    return r < 0 && !is_source_wrong(settings->source)
               ? name_file(call, settings->is_of_option ? OPTION_FILE : settings->file)
               : r;
}

/* Connects by a file that was found by the account's name. One of two services must be at the host
 * that the file names, or at the account's own: accounts of two clouds may have the same name. */
static int connect_by_found(struct service_settings *settings, const struct credential_lines *lines,
                            const char *account, bool is_shared, struct call *call)
{
    const struct endpoint *endpoint = &settings->connection.endpoint;
    struct service_settings unnamed = *settings; /* as without SOURCE */
    _cleanup_(connection_finish) struct connection own = {0};
    struct call ignored = {0};
    int r = connect_by_lines(settings, lines, account, call, &settings->connection);
    if (r < 0 || !is_shared)
        return r;
    unnamed.source = NULL;
    if (connect_by_lines(&unnamed, lines, account, &ignored, &own) == 0 &&
        endpoint_is_same_account(&own.endpoint, endpoint))
        return 0;
    return call_fail_with(call, -EINVAL,
                          "with two services write a connection string or a SAS URL into it, or "
                          "name it by from.credentials= or to.credentials=",
                          "%s does not say that it is for %s", settings->file, endpoint->url);
}

/* No credential was found for SOURCE, or it is no account. unread: of a file that would have one.
 */
static void explain_lacking(const char *source, const struct failure *unread, struct call *call)
{
    const char *meant = service_settings_meant(source);
    struct failure failure = call->failure;
    if (meant)
        call->failure.advice = meant;
    else if (unread->error < 0)
        (void)call_fail_with(call, failure.error,
                             "mount as a user who may read it, or name a file of your own: "
                             "-o credentials=FILE",
                             "%.170s; %.80s", failure.message, unread->message);
}

/* Of the environment, or, if it has nothing for the account, of a file that is found. */
static int connect_by_environment(struct service_settings *settings,
                                  const struct service_settings_options *options,
                                  struct credential_lines *lines, struct call *call)
{
    bool is_foreign = options->environment == MOUNT_ENVIRONMENT_FOREIGN;
    const struct lookup lookup = {.variables = options->variables};
    struct connection_environment environment = {0};
    char account[ENDPOINT_ACCOUNT_SIZE];
    if (!is_foreign && options->variables->failure.error < 0) {
        call->failure = options->variables->failure;
        return call->failure.error;
    }
    if (!is_foreign)
        environment = environment_of(&lookup);
    environment.allows_http = options->allows_http;
    environment.is_shared = options->environment == MOUNT_ENVIRONMENT_SHARED;
    environment.uses_tokens = options->auth;
    connection_find_lacking(options->source, &environment, account);
    int r = account[0] ? credential_file_find(account, call, &settings->file, lines) : 0;
    if (r < 0)
        return r;
    if (settings->file)
        return connect_by_found(settings, lines, account, environment.is_shared, call);
    const struct failure unread = call->failure;
    r = connection_init(&settings->connection, options->source, &environment, call);
    if (r < 0 && !is_foreign)
        secret_variables_name_files(&call->failure);
    bool is_wrong = is_source_wrong(options->source) && !connection_is_emulator(options->source);
    if (r < 0 && (account[0] || is_wrong))
        explain_lacking(options->source, &unread, call);
    return r;
}

static int connect_by_option(struct service_settings *settings,
                             const struct service_settings_options *options,
                             struct credential_lines *lines, struct call *call)
{
    if (connection_is_emulator(options->source))
        return call_fail(call, -EINVAL,
                         "SOURCE `emulator` has a key: leave out " CREDENTIAL_FILE_OPTION);
    settings->is_of_option = true;
    int r = make_absolute(options->credentials, call, &settings->file);
    if (r == 0)
        r = credential_file_read(OPTION_FILE, settings->file, call, lines);
    return r < 0
               ? r
               : connect_by_lines(settings, lines,
                                  secret_variables_get(options->variables, "AZURE_STORAGE_ACCOUNT"),
                                  call, &settings->connection);
}

static int init(struct service_settings *settings, const struct service_settings_options *options,
                struct credential_lines *lines, struct call *call)
{
    settings->source = options->source ? strdup(options->source) : NULL;
    if (options->source && !settings->source)
        return call_fail(call, -ENOMEM, "out of memory");
    settings->allows_http = options->allows_http;
    settings->auth = options->auth;
    int r = options->credentials ? connect_by_option(settings, options, lines, call)
                                 : connect_by_environment(settings, options, lines, call);
    if (r < 0 || !options->auth)
        return r;
    const struct lookup lookup = {lines, options->variables};
    const struct token_variables variables = {look_up, &lookup};
    return token_settings_init(&settings->tokens, options->auth, &variables, call);
}

int service_settings_init(struct service_settings *ret,
                          const struct service_settings_options *options, struct call *call)
{
    struct service_settings settings = {0};
    struct credential_lines lines = {0};
    int r = init(&settings, options, &lines, call);
    credential_lines_finish(&lines);
    if (r < 0)
        service_settings_finish(&settings);
    else
        *ret = settings;
    return r;
}

void service_settings_finish(struct service_settings *settings)
{
    connection_finish(&settings->connection);
    token_settings_finish(&settings->tokens);
    free(TAKE_PTR(settings->file));
    free(TAKE_PTR(settings->source));
}

int service_settings_read_again(const struct service_settings *settings, struct call *call,
                                struct credential **ret)
{
    const struct endpoint *endpoint = &settings->connection.endpoint;
    struct credential_lines lines = {0};
    struct connection connection = {0};
    const char *what = settings->is_of_option ? OPTION_FILE : settings->file;
    int r = credential_file_read(what, settings->file, call, &lines);
    if (r == 0)
        r = connect_by_lines(settings, &lines, endpoint->account, call, &connection);
    credential_lines_finish(&lines);
    if (r == 0 && strcmp(connection.endpoint.url, endpoint->url) != 0)
        r = call_fail(call, -EINVAL, "%s: it is for %s now, and not for %s", what,
                      connection.endpoint.url, endpoint->url);
    if (r == 0)
        *ret = TAKE_PTR(connection.credential);
    connection_finish(&connection);
    return r;
}

int service_settings_append_origin(const struct service_settings *settings, struct buffer *ret)
{
    const char *by = settings->auth ? "-o auth=" : settings->connection.credential_by;
    size_t begin = ret->size;
    if (settings->file && settings->auth)
        (void)buffer_append_format(ret, "%s and %s", by, settings->file);
    else if (settings->file)
        (void)buffer_append_format(ret, "%s in %s", by, settings->file);
    else
        (void)buffer_append_format(ret, "%s%s", by, secret_variables_is_in_file(by) ? "_FILE" : "");
    printable_replace_from(ret, begin);
    return ret->error;
}
