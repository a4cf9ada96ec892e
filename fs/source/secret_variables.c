/* SPDX-License-Identifier: MIT */
#include "fs/source/secret_variables.h"
#include "fs/base/secret_file.h"

#define FILE_END      "_FILE"
#define VARIABLE_SIZE 64

/* Those of enum secret_variable. */
static const char *const names[] = {
    "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_KEY",   "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_SAS_URL",           "AZURE_CLIENT_SECRET", "IDENTITY_HEADER",
};
_Static_assert(ARRAY_SIZE(names) == SECRET_VARIABLES, "a name for each");
#define IN_FILES SECRET_CLIENT_SECRET /* the variables before it may be in files */

static void blank(const char *name)
{
    char *value = getenv(name);
    if (value)
        explicit_bzero(value, strlen(value));
}

void secret_variables_wipe(struct secret_variables *secrets)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        secret_file_wipe(TAKE_PTR(secrets->values[i]));
}

/* What NAME_FILE has; NULL: it is not set. */
static const char *get_file_variable(const char *name, char ret_variable[VARIABLE_SIZE])
{
    (void)snprintf(ret_variable, VARIABLE_SIZE, "%s" FILE_END, name);
    return getenv(ret_variable);
}

bool secret_variables_is_in_file(const char *name)
{
    char variable[VARIABLE_SIZE];
    const char *path = NULL;
    for (size_t i = 0; !path && i < IN_FILES; i++)
        if (strcmp(names[i], name) == 0)
            path = get_file_variable(name, variable);
    return path && path[0];
}

void secret_variables_name_files(struct failure *failure)
{
    char variable[VARIABLE_SIZE], rest[sizeof(failure->message)];
    for (size_t i = 0; i < IN_FILES; i++) {
        const char *path = get_file_variable(names[i], variable);
        char *found = path && path[0] ? strstr(failure->message, names[i]) : NULL;
        if (!found)
            continue;
        char *end = found + strlen(names[i]);
        (void)snprintf(rest, sizeof(rest), "%s", end);
        (void)snprintf(end, sizeof(failure->message) - (size_t)(end - failure->message),
                       FILE_END "%s", rest);
    }
}

static int copy(const char *value, struct call *call, char **ret)
{
    *ret = value ? strdup(value) : NULL;
    return !value || *ret ? 0 : call_fail(call, -ENOMEM, "out of memory");
}

static int take(const char *name, struct call *call, char **ret)
{
    char file_variable[VARIABLE_SIZE], what[2 * VARIABLE_SIZE];
    const char *value = getenv(name), *path = get_file_variable(name, file_variable);
    if (!path || !path[0])
        return copy(value, call, ret);
    if (value && value[0])
        return call_fail(call, -EINVAL, "%s and %s are both set: unset one of them", name,
                         file_variable);
    (void)snprintf(what, sizeof(what), "the file that %s names", file_variable);
    return secret_file_read(what, path, SECRET_FILE_ANY, call, ret);
}

void secret_variables_take(struct secret_variables *ret, bool are_used)
{
    struct call call = {0};
    int r = 0;
    for (size_t i = 0; are_used && i < SECRET_VARIABLES; i++) {
        if (i >= IN_FILES)
            r = copy(getenv(names[i]), &call, &ret->values[i]);
        else if (r == 0)
            r = take(names[i], &call, &ret->values[i]);
    }
    ret->failure = call.failure;
    for (size_t i = 0; i < SECRET_VARIABLES; i++)
        blank(names[i]);
}

const char *secret_variables_get(const struct secret_variables *secrets, const char *name)
{
    for (size_t i = 0; i < SECRET_VARIABLES; i++)
        if (strcmp(names[i], name) == 0)
            return secrets->values[i];
    return getenv(name);
}
