/* SPDX-License-Identifier: MIT */
#define FUSE_USE_VERSION 312
#include "fs/cli/options.h"
#include "client/base/bytes.h"
#include "fs/base/exit_codes.h"
#include "fs/cli/near_name.h"
#include "fs/cli/verb.h"
#include "fs/tree/scratch_name.h"

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

static bool parse_seconds(const char *text, int64_t *ret_ms)
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

static bool parse_bytes(const char *text, size_t *ret)
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
    return parse_seconds(text, ret_ms) && *ret_ms >= MIN_TIMEOUT_MS && *ret_ms <= MAX_TIMEOUT_MS;
}

/* How an option's value becomes a setting. False: the value is refused. A function that keeps the
 * text takes ownership of *value. */
typedef bool value_taker(struct options *ret, char **value);

static bool take_ttl(struct options *ret, char **value)
{
    return parse_seconds(*value, &ret->ttl_ms);
}

static bool take_timeout(struct options *ret, char **value)
{
    return options_parse_timeout(*value, &ret->timeout_ms);
}

static bool take_cache_size(struct options *ret, char **value)
{
    return parse_bytes(*value, &ret->cache_bytes);
}

static bool take_pending_size(struct options *ret, char **value)
{
    return parse_bytes(*value, &ret->pending_bytes) &&
           ret->pending_bytes >= OPTIONS_MIN_PENDING_BYTES;
}

static bool take_parallelism(struct options *ret, char **value)
{
    return parse_count(*value, MAX_PARALLELISM, &ret->parallelism);
}

static bool take_max_nodes(struct options *ret, char **value)
{
    return parse_count(*value, MAX_NODES, &ret->max_nodes) && ret->max_nodes >= MIN_NODES;
}

static bool take_layout(struct options *ret, char **value)
{
    ret->layout = strcmp(*value, "flat") == 0 ? DIRECTORY_FLAT : DIRECTORY_AUTO;
    return strcmp(*value, "flat") == 0 || strcmp(*value, "auto") == 0;
}

static bool take_fanout(struct options *ret, char **value)
{
    ret->fanout = 0;
    return strcmp(*value, "auto") == 0 || parse_count(*value, MAX_FANOUT, &ret->fanout);
}

static bool take_uid(struct options *ret, char **value)
{
    return parse_id(*value, &ret->uid);
}

static bool take_gid(struct options *ret, char **value)
{
    return parse_id(*value, &ret->gid);
}

static bool take_umask(struct options *ret, char **value)
{
    return parse_octal(*value, &ret->umask);
}

static bool take_conflict(struct options *ret, char **value)
{
    ret->overwrites_conflicts = strcmp(*value, "overwrite") == 0;
    return ret->overwrites_conflicts || strcmp(*value, "refuse") == 0;
}

static bool take_scratch(struct options *ret, char **value)
{
    bool is_valid = scratch_name_globs_are_valid(*value);
    if (is_valid)
        ret->scratch_globs = TAKE_PTR(*value);
    return is_valid;
}

static bool take_table(struct options *ret, char **value)
{
    return **value && (ret->table = TAKE_PTR(*value));
}

static bool take_ca_cert(struct options *ret, char **value)
{
    return **value && (ret->ca_cert = TAKE_PTR(*value));
}

static bool take_auth(struct options *ret, char **value)
{
    ret->auth = TAKE_PTR(*value); /* checked with the variables that it needs */
    return true;
}

static bool take_credentials(struct options *ret, char **value)
{
    return **value && (ret->credentials = TAKE_PTR(*value));
}

struct row {
    const char *name;
    const char *means; /* the help; with the default the line has 100 columns at most */
    /* of an option with a value; else NULL: */
    const char *value;    /* the word for it in the help */
    const char *initial;  /* the value without the option; NULL: none, or that of the process */
    const char *expected; /* printed when a value is refused */
    value_taker *take;
    size_t flag;         /* without a value: its offset in struct options */
    bool is_of_commands; /* taken by export and the others without a mount, too */
};

#define VALUE(word, or_else, taker, wanted)                                                        \
    .value = (word), .initial = (or_else), .take = (taker), .expected = (wanted)
#define FLAG(member) .flag = offsetof(struct options, member)
#define OF_COMMANDS  .is_of_commands = true

/* Each option is one row with everything about it. A test compares the manual, README.md and the
 * completions with the help. */
static const struct row rows[] = {
    {"ttl", "maximum age of an answer that is shown; 0: always ask",
     VALUE("SECONDS", "1", take_ttl, "seconds, at most 86400, for example 0.5")},
    {"timeout", "how long an operation waits for the service before it fails",
     VALUE("SECONDS", "60", take_timeout, "seconds from 1 to 3600, for example 30"), OF_COMMANDS},
    {"cache_size", "maximum of the cache, in bytes or with K, M, G",
     VALUE("N", "64M", take_cache_size, "bytes, at most 64G, for example 64M")},
    {"pending_size", "maximum of queued changes and of texts that are being written",
     VALUE("N", "64M", take_pending_size, "bytes, from 64K to 64G, for example 64M")},
    {"parallelism", "maximum of listing requests of a table that are in flight",
     VALUE("N", "8", take_parallelism, "a number from 1 to 64"), OF_COMMANDS},
    {"max_nodes", "maximum of files and directories that the kernel remembers",
     VALUE("N", "1000000", take_max_nodes, "a number from 1000 to 1000000000")},
    {"layout", "auto: large tables list prefixes; flat: no table does",
     VALUE("LAYOUT", "auto", take_layout, "auto or flat")},
    {"fanout", "prefixes for over N partitions; auto: 512, or 4096 small ones",
     VALUE("N", "auto", take_fanout, "a number from 1 to 1000000, or auto")},
    {"uid", "owner of all files (the user's own)", VALUE("N", NULL, take_uid, "a number")},
    {"gid", "group of all files (the user's own)", VALUE("N", NULL, take_gid, "a number")},
    {"umask", "permission bits that all files lack (the user's own)",
     VALUE("OCTAL", NULL, take_umask, "an octal number, for example 022")},
    {"table", "the root is TABLE; the same as SOURCE/TABLE",
     VALUE("TABLE", NULL, take_table, "the name of a table"), OF_COMMANDS},
    {"auth", "a token of Entra ID: msi, workload, spn or azcli", VALUE("MODE", NULL, take_auth, ""),
     OF_COMMANDS},
    {"credentials", "the credential is in FILE, in lines NAME=value",
     VALUE("FILE", NULL, take_credentials, "a file"), OF_COMMANDS},
    {"ca_cert", "trust only the certificates in FILE (also: SSL_CERT_FILE)",
     VALUE("FILE", NULL, take_ca_cert, "a file"), OF_COMMANDS},
    {"allow_http", "accept http:// to another machine, where others can read it", FLAG(allows_http),
     OF_COMMANDS},
    {"allow_other", "give other users access; the kernel checks the permissions",
     FLAG(allow_other)},
    {"allow_updatedb", "let root's updatedb read the account, every night", FLAG(allows_updatedb)},
    {"ro", "read-only: nothing can be changed", FLAG(is_read_only)},
    {"create", "create a missing FILE of local:FILE", FLAG(may_create)},
    {"conflict", "overwrite: store also over what others have changed meanwhile",
     VALUE("MODE", "refuse", take_conflict, "refuse or overwrite")},
    {"scratch", "more names of temporary files, which are not stored; A:B for two",
     VALUE("GLOBS", NULL, take_scratch,
           "patterns of names with a colon between, for example *.part:*.lock")},
    {"writeback", "a write does not wait until it is stored", FLAG(is_write_back)},
    {"no_table_drop", "rm -r TABLE deletes each entity", FLAG(never_drops_rows)},
};

/* As fuse_opt wants them: a template with an offset into struct given. */
struct given {
    const struct verb *verb; /* for refusals */
    char *values[ARRAY_SIZE(rows)];
    int flags[ARRAY_SIZE(rows)];
    char templates[ARRAY_SIZE(rows)][24];
    struct fuse_opt parsed[ARRAY_SIZE(rows) + 2]; /* with `rw` and the end */
};

static void given_init(struct given *ret, const struct verb *verb)
{
    *ret = (struct given){.verb = verb};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        (void)snprintf(ret->templates[i], sizeof(ret->templates[i]), "%s%s", rows[i].name,
                       rows[i].value ? "=%s" : "");
        ret->parsed[i] = (struct fuse_opt){
            ret->templates[i],
            rows[i].value ? offsetof(struct given, values) + i * sizeof(ret->values[0])
                          : offsetof(struct given, flags) + i * sizeof(ret->flags[0]),
            !rows[i].value};
        if (strcmp(rows[i].name, "ro") == 0)
            ret->parsed[ARRAY_SIZE(rows)] = (struct fuse_opt){"rw", ret->parsed[i].offset, 0};
    }
    ret->parsed[ARRAY_SIZE(rows) + 1] = (struct fuse_opt)FUSE_OPT_END;
}

static void given_finish(struct given *given)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        free(given->values[i]);
}

static const struct row *find_row(struct bytes name)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (bytes_equal(name, bytes_of(rows[i].name)))
            return &rows[i];
    return NULL;
}

bool options_is_of_commands(struct bytes name)
{
    const struct row *row = find_row(name);
    return row && row->is_of_commands;
}

bool options_help(size_t number, struct option_help *ret)
{
    if (number >= ARRAY_SIZE(rows))
        return false;
    const struct row *row = &rows[number];
    *ret = (struct option_help){row->name, row->value, row->means, row->initial};
    return true;
}

bool options_find_near(struct bytes word, struct option_name *ret)
{
    struct near_name near = near_name_of(word);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        size_t before = near.distance;
        near_name_try(&near, bytes_of(rows[i].name));
        if (near.distance < before)
            *ret = (struct option_name){bytes_of(rows[i].name), rows[i].value};
    }
    return near.distance * 2 < near.nearest.size;
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

/* Refuses an option that is in no list. A value is not repeated: it may be a secret. */
static int refuse_unknown(const struct verb *verb, const char *option)
{
    struct bytes rest = bytes_of(option), name = bytes_take_until(&rest, '=');
    bool has_value = name.size < strlen(option);
    if (find_row(name)) /* it is here because of its form */
        return verb_refuse(verb, "option %.*s %s", (int)name.size, name.data,
                           has_value ? "takes no value" : "needs a value");
    struct near_name near = near_name_of(name);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        near_name_try(&near, bytes_of(rows[i].name));
    return verb_refuse(verb, "unknown option %.*s" NEAR_NAME_FORMAT, (int)name.size, name.data,
                       NEAR_NAME_ARGUMENTS(near));
}

/* Called by fuse_opt for each option that is not in our table. 1: it stays for FUSE; 0: it is
 * dropped; -1: refused. */
static int take_other(void *data, const char *option, int key, struct fuse_args *args)
{
    const struct given *given = data;
    (void)key;
    (void)args;
    if (option[0] == '\0' || strncasecmp(option, "x-", 2) == 0 ||
        is_listed(of_mount8, ARRAY_SIZE(of_mount8), option))
        return 0;
    if (is_listed(of_fuse, ARRAY_SIZE(of_fuse), option))
        return 1;
    (void)refuse_unknown(given->verb, option);
    return -1;
}

static int refuse(const struct verb *verb, const char *option, const char *value,
                  const char *expected)
{
    (void)verb_refuse(verb, "option %s=%s: expected %s", option, verb_printable(value), expected);
    return -EINVAL;
}

/* Each setting, from what was given or from its default. */
static int take_all(struct given *given, struct options *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *row = &rows[i];
        if (!row->value) {
            *(bool *)((char *)ret + row->flag) = given->flags[i];
            continue;
        }
        if (!given->values[i] && row->initial && !(given->values[i] = strdup(row->initial)))
            return -ENOMEM;
        if (given->values[i] && !row->take(ret, &given->values[i]))
            return refuse(given->verb, row->name, given->values[i], row->expected);
    }
    ret->may_create &= !ret->is_read_only;
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
    struct given given;
    given_init(&given, verb);
    struct options options = {.uid = uid, .gid = gid, .umask = umask};
    int r = fuse_opt_parse(args, &given, given.parsed, take_other) == 0 ? 0 : -EINVAL;
    if (r == 0)
        r = take_all(&given, &options);
    if (r == 0)
        r = add_fixed_options(args, &options);
    given_finish(&given);
    if (r < 0)
        options_finish(&options);
    else
        *ret = options;
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
