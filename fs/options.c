#define FUSE_USE_VERSION 312
#include "fs/options.h"
#include "client/bytes.h"

#include <fuse_lowlevel.h>

#define MAX_PARALLELISM 64
#define MAX_FANOUT      1000000
#define MAX_TTL_MS      ((uint64_t)24 * 3600 * 1000)
#define MAX_CACHE_BYTES ((uint64_t)64 << 30)

/* The values as text. They are checked afterwards: fuse_opt would accept a number with trailing
 * garbage. */
struct raw_options {
    char *table, *ca_cert, *ttl, *cache_size, *parallelism, *fanout, *layout, *uid, *gid, *umask;
    int allow_other, rw;
};

#define TEXT_OPTION(name)                                                                          \
    {                                                                                              \
#name "=%s", offsetof(struct raw_options, name), 0                                         \
    }

static const struct fuse_opt option_table[] = {
    TEXT_OPTION(table),
    TEXT_OPTION(ca_cert),
    TEXT_OPTION(ttl),
    TEXT_OPTION(cache_size),
    TEXT_OPTION(parallelism),
    TEXT_OPTION(fanout),
    TEXT_OPTION(layout),
    TEXT_OPTION(uid),
    TEXT_OPTION(gid),
    TEXT_OPTION(umask),
    {"allow_other", offsetof(struct raw_options, allow_other), 1},
    {"rw", offsetof(struct raw_options, rw), 1},
    {"ro", (unsigned long)~0U, FUSE_OPT_KEY_DISCARD}, /* every mount is read-only */
    FUSE_OPT_END,
};

static void raw_options_finish(struct raw_options *raw)
{
    free(raw->table);
    free(raw->ca_cert);
    free(raw->ttl);
    free(raw->cache_size);
    free(raw->parallelism);
    free(raw->fanout);
    free(raw->layout);
    free(raw->uid);
    free(raw->gid);
    free(raw->umask);
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

static bool parse_layout(const char *text, enum directory_kind *ret)
{
    *ret = strcmp(text, "flat") == 0 ? DIRECTORY_FLAT : DIRECTORY_AUTO;
    return strcmp(text, "flat") == 0 || strcmp(text, "auto") == 0;
}

static int refuse(const char *option, const char *value, const char *expected)
{
    (void)fprintf(stderr, "tablefuse: option %s=%s: expected %s\n", option, value, expected);
    return -EINVAL;
}

/* Checks the options that say how tables are read and shown. */
static int check_reading(const struct raw_options *raw, struct options *ret)
{
    if (raw->ttl && !options_parse_seconds(raw->ttl, &ret->ttl_ms))
        return refuse("ttl", raw->ttl, "seconds, at most 86400, for example 0.5");
    if (raw->cache_size && !options_parse_bytes(raw->cache_size, &ret->cache_bytes))
        return refuse("cache_size", raw->cache_size, "bytes, at most 64G, for example 64M");
    if (raw->parallelism && !parse_count(raw->parallelism, MAX_PARALLELISM, &ret->parallelism))
        return refuse("parallelism", raw->parallelism, "a number from 1 to 64");
    if (raw->fanout && !parse_count(raw->fanout, MAX_FANOUT, &ret->fanout))
        return refuse("fanout", raw->fanout, "a number from 1 to 1000000");
    if (raw->layout && !parse_layout(raw->layout, &ret->layout))
        return refuse("layout", raw->layout, "auto or flat");
    return 0;
}

static int check(const struct raw_options *raw, struct options *ret)
{
    if (raw->rw) {
        (void)fprintf(stderr,
                      "tablefuse: option rw is not supported -- this version mounts read-only\n");
        return -EINVAL;
    }
    int r = check_reading(raw, ret);
    if (r < 0)
        return r;
    if (raw->uid && !parse_id(raw->uid, &ret->uid))
        return refuse("uid", raw->uid, "a number");
    if (raw->gid && !parse_id(raw->gid, &ret->gid))
        return refuse("gid", raw->gid, "a number");
    if (raw->umask && !parse_octal(raw->umask, &ret->umask))
        return refuse("umask", raw->umask, "an octal number, for example 022");
    if (raw->table && raw->table[0] == '\0')
        return refuse("table", "", "the name of a table");
    if (raw->ca_cert && raw->ca_cert[0] == '\0')
        return refuse("ca_cert", "", "a file");
    return 0;
}

/* Adds the options for FUSE that every mount has. */
static int add_fixed_options(struct fuse_args *args, const struct options *options)
{
    int r = fuse_opt_add_arg(args, "-osubtype=tablefuse,ro");
    /* without default_permissions the kernel would let other users do anything */
    if (r == 0 && options->allow_other)
        r = fuse_opt_add_arg(args, "-oallow_other,default_permissions");
    return r == 0 ? 0 : -ENOMEM;
}

int options_parse(struct fuse_args *args, uid_t uid, gid_t gid, mode_t umask, struct options *ret)
{
    struct raw_options raw = {0};
    struct options options = {.ttl_ms = OPTIONS_DEFAULT_TTL_MS,
                              .parallelism = OPTIONS_DEFAULT_PARALLELISM,
                              .fanout = OPTIONS_DEFAULT_FANOUT,
                              .layout = DIRECTORY_AUTO,
                              .cache_bytes = OPTIONS_DEFAULT_CACHE_BYTES,
                              .uid = uid,
                              .gid = gid,
                              .umask = umask};
    int r = fuse_opt_parse(args, &raw, option_table, NULL) == 0 ? 0 : -EINVAL;
    if (r == 0)
        r = check(&raw, &options);
    if (r == 0) {
        options.allow_other = raw.allow_other;
        options.table = TAKE_PTR(raw.table);
        options.ca_cert = TAKE_PTR(raw.ca_cert);
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
}
