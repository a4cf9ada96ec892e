/* SPDX-License-Identifier: MIT */
/* Whatever stands after -o: it is refused with one message, or each setting is within its limits,
 * FUSE gets what is its own, and the options that are left are parsed to nothing of ours again. */
#define FUSE_USE_VERSION 312
#include "fs/cli/options.h"
#include "fs/cli/verb.h"
#include "tests/fuzz/fuzz.h"

#include <fuse_opt.h>
#include <stdarg.h>

static int refusals;

/* In place of those of fs/verbs/command.c, which write. */
int verb_refuse(const struct verb *verb, const char *cause, ...)
{
    char message[512];
    va_list list;
    (void)verb;
    va_start(list, cause);
    INVARIANT(vsnprintf(message, sizeof(message), cause, list) > 0);
    va_end(list);
    refusals++;
    return EXIT_USAGE;
}

const char *verb_printable(const char *word)
{
    return word;
}

static void check_limits(const struct options *options)
{
    const int64_t day_ms = INT64_C(24) * 3600 * 1000;
    INVARIANT(options->ttl_ms >= 0 && options->ttl_ms <= day_ms);
    INVARIANT(options->timeout_ms >= 1000 && options->timeout_ms <= day_ms / 24);
    INVARIANT(options->cache_bytes <= (size_t)64 << 30);
    INVARIANT(options->pending_bytes >= OPTIONS_MIN_PENDING_BYTES);
    INVARIANT(options->pending_bytes <= (size_t)64 << 30);
    INVARIANT(options->parallelism >= 1 && options->parallelism <= 64);
    INVARIANT(options->max_nodes >= 1000 && options->max_nodes <= 1000000000);
    INVARIANT(options->fanout >= 0 && options->fanout <= 1000000);
    INVARIANT(options->layout == DIRECTORY_AUTO || options->layout == DIRECTORY_FLAT);
    INVARIANT(options->umask <= 0777);
    INVARIANT(options->uid != (uid_t)-1 && options->gid != (gid_t)-1);
    INVARIANT(!options->table || options->table[0]);
    INVARIANT(!options->ca_cert || options->ca_cert[0]);
    INVARIANT(!options->credentials || options->credentials[0]);
    INVARIANT(!(options->may_create && options->is_read_only));
}

/* The kernel does not check the permissions of other users without default_permissions. */
static bool has_permissions(const struct fuse_args *args)
{
    for (int i = 1; i < args->argc; i++)
        if (strstr(args->argv[i], "default_permissions"))
            return true;
    return false;
}

static void check_text(const char *text)
{
    static const struct verb verb = {.name = "mount"};
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
    struct options options = {0}, again = {0};
    refusals = 0;
    INVARIANT(fuse_opt_add_arg(&args, "tablefuse") == 0);
    INVARIANT(fuse_opt_add_arg(&args, "-o") == 0 && fuse_opt_add_arg(&args, text) == 0);
    int r = options_parse(&verb, &args, 1, 2, 022, &options);
    INVARIANT(r == 0 ? refusals == 0 : r == -EINVAL && refusals == 1);
    if (r == 0) {
        check_limits(&options);
        INVARIANT(!options.allow_other || has_permissions(&args));
        INVARIANT(options_parse(&verb, &args, 1, 2, 022, &again) == 0);
        INVARIANT(!again.table && !again.ca_cert && !again.auth && !again.credentials);
        options_finish(&again);
        options_finish(&options);
    }
    fuse_opt_free_args(&args);
}

/* Of a table of two sources (`sync -o from.NAME=...`), and of what was mistyped. */
static void check_names(const char *text)
{
    struct option_name near;
    struct bytes name = bytes_of(text);
    if (options_find_near(name, &near))
        INVARIANT(near.name.size > 0);
    (void)options_is_of_commands(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer text;
    buffer_init(&text, (size_t)1 << 16);
    (void)buffer_append(&text, (struct bytes){(const char *)data, size});
    if (buffer_string(&text)) {
        check_text(text.data);
        check_names(text.data);
    }
    buffer_finish(&text);
    return 0;
}
