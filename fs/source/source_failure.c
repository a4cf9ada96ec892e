/* SPDX-License-Identifier: MIT */
#include "fs/source/source_failure.h"
#include "fs/base/say.h"
#include "fs/source/local_source.h"

int source_fail_call(const char *what, const struct failure *failure, enum command_exit code)
{
    say("tablefuse: %s%s%s%s%s\n", what, what[0] ? ": " : "", failure->message,
        failure->advice ? " -- " : "", failure->advice ? failure->advice : "");
    return (int)code;
}

int source_fail(const char *what, const char *reason, enum command_exit code)
{
    say("tablefuse: %s%s%s\n", what, what[0] ? ": " : "", reason);
    return (int)code;
}

int source_fail_memory(void)
{
    return source_fail("", "out of memory -- free some memory and try again", EXIT_MOUNTING);
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

int source_fail_opening(const char *name, const struct failure *failure)
{
    return source_fail_call(name, failure, exit_code_of_local(failure));
}

/* A file speaks no HTTP, although its store answers with the service's codes. */
int source_fail_local(const char *path, const char *table, const struct failure *failure)
{
    bool is_no_table = failure->error == -ENOENT && table[0];
    say("tablefuse: %s%s%s%s%s%s%s\n", LOCAL_SOURCE, path, is_no_table ? " has no table " : ": ",
        is_no_table ? table : failure->message,
        is_no_table ? " -- `tablefuse tables SOURCE` shows those that it has" : "",
        !is_no_table && failure->advice ? " -- " : "",
        !is_no_table && failure->advice ? failure->advice : "");
    return (int)exit_code_of_local(failure);
}

static enum command_exit exit_code_of(const struct failure *failure)
{
    if (failure->error == -EACCES)
        return EXIT_CREDENTIALS;
    if (failure->error == -ENOENT && failure->code[0]) /* a table service answered */
        return EXIT_NOT_FOUND;
    return failure->http_status == 0 || failure->is_retryable ? EXIT_NETWORK : EXIT_CONFIGURATION;
}

/* Prints what to do, with a command that shows more where there is one. */
static void say_advice(const struct service_settings *settings, const struct failure *failure)
{
    const struct endpoint *endpoint = &settings->connection.endpoint;
    const char *host = strstr(endpoint->url, "://") + 3;
    const char *meant = failure->is_unresolved ? service_settings_meant(settings->source) : NULL;
    bool is_unanswered = failure->http_status == 0;
    bool is_network = is_unanswered && exit_code_of(failure) == EXIT_NETWORK;
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
    else if (failure->error == -ENOENT && failure_is_no_table(failure))
        say(" -- check the table's name: `tablefuse tables SOURCE`");
    else if (failure->error == -ENOENT && failure->code[0])
        say(" -- check the account's name: `az storage account list --output table`");
    else if (!is_unanswered && !failure->code[0])
        say(" -- check that this is the endpoint of a table service: `curl -v %s`", endpoint->url);
}

int source_fail_service(const struct service_settings *settings, const char *table,
                        const struct failure *failure)
{
    const struct endpoint *endpoint = &settings->connection.endpoint;
    say("tablefuse: account %s at %s", endpoint->account, endpoint->url);
    if (table[0])
        say(", table %s", table);
    if (failure->http_status > 0)
        say(": HTTP %d", failure->http_status);
    if (failure->code[0])
        say(" %s", failure->code);
    if (failure->message[0])
        say(": %s", failure->message);
    say_advice(settings, failure);
    say("\n");
    return (int)exit_code_of(failure);
}
