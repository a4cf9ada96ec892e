/* SPDX-License-Identifier: MIT */
#define FUSE_USE_VERSION 312
#include "fs/options.h"
#include "client/bytes.h"
#include "fs/command.h"
#include "fs/near_name.h"
#include "fs/tree/scratch_name.h"
#include "fs/verb.h"

#include <fuse_lowlevel.h>
#include <strings.h>

#define MAX_PARALLELISM 64
#define MAX_FANOUT      1000000
#define MIN_NODES       1000
#define MAX_NODES       1000000000
#define MAX_TTL_MS      ((uint64_t)24 * 3600 * 1000)
#define MIN_TIMEOUT_MS  1000
#define MAX_TIMEOUT_MS  ((int64_t)3600 * 1000)
#define MAX_CACHE_BYTES ((uint64_t)64 << 30)

/* The values as text. They are checked afterwards: fuse_opt would accept a number with trailing
 * garbage. */
struct raw_options {
    const struct verb *verb; /* for refusals */
    char *table, *ca_cert, *auth, *credentials, *ttl, *timeout, *cache_size, *parallelism, *fanout,
        *max_nodes, *layout, *uid, *gid, *umask, *conflict, *scratch, *pending_size;
    int allow_other, allow_http, ro, create, writeback, no_table_drop, allow_updatedb;
};

#define TEXT_OPTION(name)                                                                          \
    {                                                                                              \
#name "=%s", offsetof(struct raw_options, name), 0                                         \
    }

static const struct fuse_opt option_table[] = {
    TEXT_OPTION(table),
    TEXT_OPTION(ca_cert),
    TEXT_OPTION(auth),
    TEXT_OPTION(credentials),
    TEXT_OPTION(ttl),
    TEXT_OPTION(timeout),
    TEXT_OPTION(cache_size),
    TEXT_OPTION(parallelism),
    TEXT_OPTION(fanout),
    TEXT_OPTION(max_nodes),
    TEXT_OPTION(layout),
    TEXT_OPTION(uid),
    TEXT_OPTION(gid),
    TEXT_OPTION(umask),
    TEXT_OPTION(conflict),
    TEXT_OPTION(scratch),
    TEXT_OPTION(pending_size),
    {"allow_other", offsetof(struct raw_options, allow_other), 1},
    {"allow_http", offsetof(struct raw_options, allow_http), 1},
    {"ro", offsetof(struct raw_options, ro), 1},
    {"rw", offsetof(struct raw_options, ro), 0},
    {"writeback", offsetof(struct raw_options, writeback), 1},
    {"create", offsetof(struct raw_options, create), 1},
    {"no_table_drop", offsetof(struct raw_options, no_table_drop), 1},
    {"allow_updatedb", offsetof(struct raw_options, allow_updatedb), 1},
    FUSE_OPT_END,
};

/* A name that ends in `=` has a value. */

/* Taken by libfuse, the kernel or fusermount3. Not max_read=: libfuse would refuse every value. */
static const char *const of_fuse[] = {"allow_root",   "auto_unmount", "default_permissions",
                                      "debug",        "fsname=",      "subtype=",
                                      "context=",     "fscontext=",   "defcontext=",
                                      "rootcontext=", "suid",         "nosuid",
                                      "dev",          "nodev",        "exec",
                                      "noexec",       "async",        "sync",
                                      "dirsync",      "atime",        "noatime"};

/* Written by fstab, mount(8) and systemd, for their own use. The last lines: without a meaning in a
 * mount that keeps no access times and no locks. libfuse 3.14 would refuse them. */
static const char *const of_mount8[] = {
    "defaults",  "auto",       "noauto",        "nofail",   "_netdev",    "user",
    "user=",     "nouser",     "users",         "nousers",  "owner",      "noowner",
    "group",     "nogroup",    "comment=",      "uhelper=", "helper=",    "silent",
    "loud",      "relatime",   "norelatime",    "diratime", "nodiratime", "strictatime",
    "lazytime",  "nolazytime", "nostrictatime", "mand",     "nomand",     "iversion",
    "noiversion"};

static void raw_options_finish(struct raw_options *raw)
{
    free(raw->table);
    free(raw->ca_cert);
    free(raw->auth);
    free(raw->credentials);
    free(raw->ttl);
    free(raw->timeout);
    free(raw->cache_size);
    free(raw->parallelism);
    free(raw->fanout);
    free(raw->max_nodes);
    free(raw->layout);
    free(raw->uid);
    free(raw->gid);
    free(raw->umask);
    free(raw->conflict);
    free(raw->scratch);
    free(raw->pending_size);
}

bool options_find_near(struct bytes word, struct option_name *ret)
{
    struct near_name near = near_name_of(word);
    for (size_t i = 0; option_table[i].templ; i++) {
        struct bytes rest = bytes_of(option_table[i].templ), name = bytes_take_until(&rest, '=');
        size_t before = near.distance;
        near_name_try(&near, name);
        if (near.distance < before)
            *ret = (struct option_name){name, rest.size > 0};
    }
    return near.distance * 2 < near.nearest.size;
}

bool options_parse_seconds(const char *text, int64_t *ret_ms)
{
    struct bytes all = bytes_of(text);
    const char *point = strchr(text, '.');
    struct bytes whole = point ? bytes_first(all, (size_t)(point - text)) : all;
    struct bytes fraction = point ? bytes_of(point + 1) : BYTES_LITERAL("");
    uint64_t seconds = 0, ms = 0, ignored;
    if (whole.size == 0 && fraction.size == 0)
        return false;
    if (whole.size > 0 && !bytes_parse_unsigned(whole, MAX_TTL_MS / 1000, &seconds))
        return false;
    for (size_t i = 0; i < 3; i++) {
        uint64_t digit = 0;
        if (i < fraction.size &&
            !bytes_parse_unsigned((struct bytes){fraction.data + i, 1}, 9, &digit))
            return false;
        ms = ms * 10 + digit;
    }
    if (fraction.size > 3 && !bytes_parse_unsigned(bytes_skip(fraction, 3), UINT64_MAX, &ignored))
        return false;
    *ret_ms = (int64_t)(seconds * 1000 + ms);
    return seconds * 1000 + ms <= MAX_TTL_MS;
}

bool options_parse_bytes(const char *text, size_t *ret)
{
    static const char units[] = "KMG";
    struct bytes digits = bytes_of(text);
    const char *unit = digits.size > 0 ? strchr(units, digits.data[digits.size - 1]) : NULL;
    int shift = 0;
    if (unit) {
        digits.size--;
        shift = 10 * (int)(unit - units + 1);
    }
    uint64_t count;
    if (!bytes_parse_unsigned(digits, MAX_CACHE_BYTES >> shift, &count))
        return false;
    *ret = (size_t)(count << shift);
    return true;
}

static bool parse_octal(const char *text, mode_t *ret)
{
    mode_t value = 0;
    size_t size = strlen(text);
    if (size == 0 || size > 4 || strspn(text, "01234567") != size)
        return false;
    for (; *text; text++)
        value = value * 8 + (mode_t)(*text - '0');
    *ret = value;
    return value <= 0777;
}

static bool parse_id(const char *text, uint32_t *ret)
{
    uint64_t value;
    if (!bytes_parse_unsigned(bytes_of(text), UINT32_MAX - 1, &value))
        return false;
    *ret = (uint32_t)value;
    return true;
}

static bool parse_count(const char *text, uint64_t max, int *ret)
{
    uint64_t value;
    if (!bytes_parse_unsigned(bytes_of(text), max, &value) || value == 0)
        return false;
    *ret = (int)value;
    return true;
}

bool options_parse_timeout(const char *text, int64_t *ret_ms)
{
    return options_parse_seconds(text, ret_ms) && *ret_ms >= MIN_TIMEOUT_MS &&
           *ret_ms <= MAX_TIMEOUT_MS;
}

static bool parse_layout(const char *text, enum directory_kind *ret)
{
    *ret = strcmp(text, "flat") == 0 ? DIRECTORY_FLAT : DIRECTORY_AUTO;
    return strcmp(text, "flat") == 0 || strcmp(text, "auto") == 0;
}

static bool parse_conflict(const char *text, bool *ret_overwrites)
{
    *ret_overwrites = strcmp(text, "overwrite") == 0;
    return *ret_overwrites || strcmp(text, "refuse") == 0;
}

static bool is_listed(const char *const *names, size_t n, const char *option)
{
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(names[i]);
        if (names[i][size - 1] == '=' ? strncmp(option, names[i], size) == 0
                                      : strcmp(option, names[i]) == 0)
            return true;
    }
    return false;
}

/* Refuses what is in no list. A value is not repeated: it may be a secret. */
static int refuse_unknown(const struct verb *verb, const char *option)
{
    struct bytes rest = bytes_of(option), name = bytes_take_until(&rest, '=');
    bool has_value = name.size < strlen(option);
    struct near_name near = near_name_of(name);
    for (size_t i = 0; option_table[i].templ; i++) {
        struct bytes ours = bytes_of(option_table[i].templ), known = bytes_take_until(&ours, '=');
        if (bytes_equal(name, known)) /* it is here because of its form */
            return verb_refuse(verb, "option %.*s %s", (int)name.size, name.data,
                               has_value ? "takes no value" : "needs a value");
        near_name_try(&near, known);
    }
    return verb_refuse(verb, "unknown option %.*s" NEAR_NAME_FORMAT, (int)name.size, name.data,
                       NEAR_NAME_ARGUMENTS(near));
}

/* Called by fuse_opt for each option that is not in our table. 1: it stays for FUSE; 0: it is
 * dropped; -1: refused. */
static int take_other(void *data, const char *option, int key, struct fuse_args *args)
{
    const struct raw_options *raw = data;
    (void)key;
    (void)args;
    if (option[0] == '\0' || strncasecmp(option, "x-", 2) == 0 ||
        is_listed(of_mount8, ARRAY_SIZE(of_mount8), option))
        return 0;
    if (is_listed(of_fuse, ARRAY_SIZE(of_fuse), option))
        return 1;
    (void)refuse_unknown(raw->verb, option);
    return -1;
}

static int refuse(const struct verb *verb, const char *option, const char *value,
                  const char *expected)
{
    (void)verb_refuse(verb, "option %s=%s: expected %s", option, verb_printable(value), expected);
    return -EINVAL;
}

/* Checks the options that say how tables are read and shown. */
static int check_reading(const struct raw_options *raw, struct options *ret)
{
    if (raw->ttl && !options_parse_seconds(raw->ttl, &ret->ttl_ms))
        return refuse(raw->verb, "ttl", raw->ttl, "seconds, at most 86400, for example 0.5");
    if (raw->timeout && !options_parse_timeout(raw->timeout, &ret->timeout_ms))
        return refuse(raw->verb, "timeout", raw->timeout, "seconds from 1 to 3600, for example 30");
    if (raw->cache_size && !options_parse_bytes(raw->cache_size, &ret->cache_bytes))
        return refuse(raw->verb, "cache_size", raw->cache_size,
                      "bytes, at most 64G, for example 64M");
    if (raw->parallelism && !parse_count(raw->parallelism, MAX_PARALLELISM, &ret->parallelism))
        return refuse(raw->verb, "parallelism", raw->parallelism, "a number from 1 to 64");
    if (raw->fanout && strcmp(raw->fanout, "auto") != 0 &&
        !parse_count(raw->fanout, MAX_FANOUT, &ret->fanout))
        return refuse(raw->verb, "fanout", raw->fanout, "a number from 1 to 1000000, or auto");
    if (raw->max_nodes &&
        (!parse_count(raw->max_nodes, MAX_NODES, &ret->max_nodes) || ret->max_nodes < MIN_NODES))
        return refuse(raw->verb, "max_nodes", raw->max_nodes, "a number from 1000 to 1000000000");
    if (raw->layout && !parse_layout(raw->layout, &ret->layout))
        return refuse(raw->verb, "layout", raw->layout, "auto or flat");
    return 0;
}

static int check(const struct raw_options *raw, struct options *ret)
{
    int r = check_reading(raw, ret);
    if (r < 0)
        return r;
    if (raw->uid && !parse_id(raw->uid, &ret->uid))
        return refuse(raw->verb, "uid", raw->uid, "a number");
    if (raw->gid && !parse_id(raw->gid, &ret->gid))
        return refuse(raw->verb, "gid", raw->gid, "a number");
    if (raw->umask && !parse_octal(raw->umask, &ret->umask))
        return refuse(raw->verb, "umask", raw->umask, "an octal number, for example 022");
    if (raw->conflict && !parse_conflict(raw->conflict, &ret->overwrites_conflicts))
        return refuse(raw->verb, "conflict", raw->conflict, "refuse or overwrite");
    if (raw->scratch && !scratch_name_globs_are_valid(raw->scratch))
        return refuse(raw->verb, "scratch", raw->scratch,
                      "patterns of names with a colon between, for example *.part:*.lock");
    if (raw->pending_size && (!options_parse_bytes(raw->pending_size, &ret->pending_bytes) ||
                              ret->pending_bytes < OPTIONS_MIN_PENDING_BYTES))
        return refuse(raw->verb, "pending_size", raw->pending_size,
                      "bytes, from 64K to 64G, for example 64M");
    if (raw->table && raw->table[0] == '\0')
        return refuse(raw->verb, "table", "", "the name of a table");
    if (raw->ca_cert && raw->ca_cert[0] == '\0')
        return refuse(raw->verb, "ca_cert", "", "a file");
    if (raw->credentials && raw->credentials[0] == '\0')
        return refuse(raw->verb, "credentials", "", "a file");
    return 0;
}

/* Adds the options for FUSE that every mount has. */
static int add_fixed_options(struct fuse_args *args, const struct options *options)
{
    int r = fuse_opt_add_arg(args, "-osubtype=tablefuse");
    /* without default_permissions the kernel would let other users do anything */
    if (r == 0 && options->allow_other)
        r = fuse_opt_add_arg(args, "-oallow_other,default_permissions");
    return r == 0 ? 0 : -ENOMEM;
}

int options_parse(const struct verb *verb, struct fuse_args *args, uid_t uid, gid_t gid,
                  mode_t umask, struct options *ret)
{
    struct raw_options raw = {.verb = verb};
    struct options options = {.ttl_ms = OPTIONS_DEFAULT_TTL_MS,
                              .timeout_ms = OPTIONS_DEFAULT_TIMEOUT_MS,
                              .parallelism = OPTIONS_DEFAULT_PARALLELISM,
                              .max_nodes = OPTIONS_DEFAULT_MAX_NODES,
                              .layout = DIRECTORY_AUTO,
                              .cache_bytes = OPTIONS_DEFAULT_CACHE_BYTES,
                              .pending_bytes = OPTIONS_DEFAULT_PENDING_BYTES,
                              .uid = uid,
                              .gid = gid,
                              .umask = umask};
    int r = fuse_opt_parse(args, &raw, option_table, take_other) == 0 ? 0 : -EINVAL;
    if (r == 0)
        r = check(&raw, &options);
    if (r == 0) {
        options.allow_other = raw.allow_other;
        options.allows_http = raw.allow_http;
        options.is_read_only = raw.ro;
        options.is_write_back = raw.writeback;
        options.never_drops_rows = raw.no_table_drop;
        options.allows_updatedb = raw.allow_updatedb;
        options.may_create = raw.create && !raw.ro;
        options.table = TAKE_PTR(raw.table);
        options.ca_cert = TAKE_PTR(raw.ca_cert);
        options.auth = TAKE_PTR(raw.auth);
        options.credentials = TAKE_PTR(raw.credentials);
        options.scratch_globs = TAKE_PTR(raw.scratch);
        r = add_fixed_options(args, &options);
        if (r < 0)
            options_finish(&options);
        else
            *ret = options;
    }
    raw_options_finish(&raw);
    return r;
}

void options_finish(struct options *options)
{
    free(TAKE_PTR(options->table));
    free(TAKE_PTR(options->ca_cert));
    free(TAKE_PTR(options->auth));
    free(TAKE_PTR(options->credentials));
    free(TAKE_PTR(options->scratch_globs));
}
