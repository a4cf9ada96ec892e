/* SPDX-License-Identifier: MIT */
#include "fs/source/local_source.h"
#include "client/local/local_store.h"
#include "client/text/table_name.h"
#include "fs/base/local_path.h"
#include "fs/base/say.h"
#include "fs/source/source_failure.h"

void local_source_finish(struct local_source *source)
{
    free(source->path);
}

bool local_source_is_named(const char *name)
{
    return name && strncmp(name, LOCAL_SOURCE, strlen(LOCAL_SOURCE)) == 0;
}

static void say_as_is(const char *name, const char *why, const char *reason)
{
    say("tablefuse: %s: %s%s, so the file stays as it is: without checksums, damage in it "
        "is not noticed\n",
        name, why, reason);
}

int local_source_prepare(const char *name, bool is_read_only, bool *ret_is_as_is)
{
    _cleanup_(table_store_destroyp) struct table_store *store = NULL;
    _cleanup_(freep) char *path = NULL;
    _cleanup_(freep) char *table = NULL;
    struct call call = {.deadline_ms = INT64_MAX};
    if (!local_source_is_named(name))
        return 0;
    if (!local_path_answers(name + strlen(LOCAL_SOURCE), LOCAL_SOURCE_MS))
        return source_fail(name, LOCAL_SOURCE_HANGS, EXIT_MOUNTING);
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
        return source_fail_opening(name, &call.failure);
    else if (!local_store_has_checksums(store))
        say_as_is(name, "it cannot be written to", "");
    return 0;
}

static int fail_path(const char *name, int error)
{
    say("tablefuse: %s: %s -- `namei -l FILE` shows where its path ends\n", name, strerror(error));
    return EXIT_CONFIGURATION;
}

int local_source_resolve(struct local_source *source, const char *name, bool is_new,
                         char **ret_table)
{
    _cleanup_(freep) char *table = NULL;
    const char *given = name + strlen(LOCAL_SOURCE);
    int r = is_new ? local_path_resolve_new(given, &source->path, &table)
                   : local_path_resolve(given, &source->path, &table);
    if (r == -ENOTDIR)
        return source_fail(name, "a file is followed by more than /TABLE -- write local:FILE/TABLE",
                           EXIT_CONFIGURATION);
    if (r == -ENOENT)
        return source_fail(name,
                           "the directory of the file does not exist -- check the name, or create "
                           "the directory first: `mkdir -p DIRECTORY`",
                           EXIT_NOT_FOUND);
    if (r < 0)
        return fail_path(name, -r);
    if (table[0] && !table_name_is_readable(bytes_of(table)))
        return source_fail(name,
                           "what follows the file is not the name of a table, which has 3 to 63 "
                           "letters and digits, a letter first -- `tablefuse tables local:FILE` "
                           "shows the tables",
                           EXIT_CONFIGURATION);
    *ret_table = TAKE_PTR(table);
    return 0;
}

int local_source_open(struct local_source *source, const struct local_source_use *use,
                      struct call *call, struct table_store **ret)
{
    int r = use->is_as_is
                ? local_store_open_as_is(source->path, &clock_system, call, ret)
                : local_store_create(source->path, use->may_create, &clock_system, call, ret);
    if (r < 0)
        return source_fail_opening(use->name, &call->failure);
    source->has_checksums = local_store_has_checksums(*ret);
    source->is_read_only = !local_store_is_writable(*ret);
    return 0;
}
