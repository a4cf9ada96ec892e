/* SPDX-License-Identifier: MIT */
#include "fs/tree/scratch_name.h"
#include "fs/tree/names.h"

#include <fnmatch.h>

static bool is_dotted(struct bytes name)
{
    return name.size > 0 && name.data[0] == '.';
}

/* Copies a name or a pattern, for fnmatch. False: no name is so long, or has a NUL in it. */
static bool copy(struct bytes name, char ret[NAME_MAX_BYTES + 1])
{
    if (name.size == 0 || name.size > NAME_MAX_BYTES || memchr(name.data, '\0', name.size))
        return false;
    memcpy(ret, name.data, name.size);
    ret[name.size] = '\0';
    return true;
}

static bool matches_any(const char *name, const char *const *patterns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    }
    return false;
}

static bool matches_globs(const char *name, const char *globs)
{
    char glob[NAME_MAX_BYTES + 1];
    struct bytes rest = bytes_of(globs ? globs : "");
    while (rest.size > 0) {
        if (copy(bytes_take_until(&rest, ':'), glob) && fnmatch(glob, name, 0) == 0)
            return true;
    }
    return false;
}

bool scratch_name_is_possible(struct bytes name)
{
    char text[NAME_MAX_BYTES + 1];
    return copy(name, text) && (is_dotted(name) || !(bytes_end_with(name, BYTES_LITERAL(".json")) ||
                                                     names_is_prefix(name)));
}

bool scratch_name_is(struct bytes name, const char *globs)
{
    static const char *const patterns[] = {
        "*~",           "*.bak",         "*.tmp",         "*.orig",       "*.rej",
        "sed??????",    "tmp??????",     "tmp????????",   "tmp.*",        "XX??????",
        "*.[or]??????", "*.json.[0-9]*", "*.json.??????", "*.json.tmp*",  "*.json.new",
        "*.json.lock",  "#*#",           "*___jb_tmp___", "*___jb_old___"};
    char text[NAME_MAX_BYTES + 1];
    if (!scratch_name_is_possible(name) || !copy(name, text))
        return false;
    return is_dotted(name) || text[strspn(text, "0123456789")] == '\0' ||
           matches_any(text, patterns, ARRAY_SIZE(patterns)) || matches_globs(text, globs);
}

bool scratch_name_is_passing(struct bytes name)
{
    static const char *const patterns[] = {
        ".*.sw?",    ".*.swpx", /* also that of a name without a suffix */
        ".DS_Store", "._*",
        ".nfs*",     ".fuse_hidden*",
        ".#*",       ".~lock.*#",
        "4913",      ".*.json.[0-9A-Za-z][0-9A-Za-z][0-9A-Za-z][0-9A-Za-z][0-9A-Za-z][0-9A-Za-z]"};
    char text[NAME_MAX_BYTES + 1];
    return copy(name, text) && matches_any(text, patterns, ARRAY_SIZE(patterns));
}

/* Is each [ closed, and is there something after each backslash? */
static bool is_whole(const char *glob)
{
    for (; *glob; glob++) {
        if (*glob == '[') {
            glob += 1 + (glob[1] == '!' || glob[1] == '^');
            glob += *glob == ']'; /* the first one is a member */
            while (*glob && *glob != ']')
                glob += 1 + (glob[0] == '\\' && glob[1]);
            if (!*glob)
                return false;
        }
        if (*glob == '\\' && !*++glob)
            return false;
    }
    return true;
}

bool scratch_name_globs_are_valid(const char *globs)
{
    char glob[NAME_MAX_BYTES + 1];
    struct bytes rest = bytes_of(globs);
    bool ends_early = bytes_end_with(rest, BYTES_LITERAL(":"));
    while (copy(bytes_take_until(&rest, ':'), glob)) {
        if (strchr(glob, '/') || !is_whole(glob))
            return false;
        if (rest.size == 0)
            return !ends_early;
    }
    return false;
}
