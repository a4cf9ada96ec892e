/* SPDX-License-Identifier: MIT */
#include "client/identity/credential_lines.h"
#include "client/base/bytes.h"

#define NAME_MAX_BYTES 40 /* less than a key has */

const char *const credential_lines_names[CREDENTIAL_LINES_NAMES] = {
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_STORAGE_ACCOUNT",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_SAS_URL",
    "AZURE_TENANT_ID",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_AUTHORITY_HOST",
    "AZURE_FEDERATED_TOKEN_FILE",
};

static const char advice_lines[] =
    "write lines such as AZURE_STORAGE_KEY=..., without `export` and quotation marks";

/* The index of the name; CREDENTIAL_LINES_NAMES: it is unknown. */
static size_t find(struct bytes name)
{
    size_t i = 0;
    while (i < CREDENTIAL_LINES_NAMES && !bytes_equal(name, bytes_of(credential_lines_names[i])))
        i++;
    return i;
}

/* May it be repeated in a message? A part of a key or a SAS may not. */
static bool is_name(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!(c >= 'A' && c <= 'Z') && c != '_' && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return text.size > 0 && text.size <= NAME_MAX_BYTES && memchr(text.data, '_', text.size);
}

/* `line` ends with NUL. */
static int take_line(struct credential_lines *lines, char *line, int number, struct call *call)
{
    struct bytes rest = bytes_trim(bytes_of(line));
    if (number == 1 && bytes_start_with(rest, BYTES_LITERAL("\xEF\xBB\xBF")))
        rest = bytes_trim(bytes_skip(rest, 3));
    if (rest.size == 0 || rest.data[0] == '#')
        return 0;
    bool has_value = memchr(rest.data, '=', rest.size);
    struct bytes name = bytes_trim(bytes_take_until(&rest, '='));
    if (!has_value || !is_name(name))
        return call_fail_with(call, -EINVAL, advice_lines,
                              "line %d is not NAME=value with the name of a variable", number);
    size_t i = find(name);
    if (i == CREDENTIAL_LINES_NAMES)
        return call_fail_with(call, -EINVAL, advice_lines, "line %d has the unknown name %.*s",
                              number, (int)name.size, name.data);
    if (lines->values[i])
        return call_fail_with(call, -EINVAL, "remove one of the two lines", "%s stands in it twice",
                              credential_lines_names[i]);
    lines->values[i] = rest.data; /* to the end of the line */
    return 0;
}

int credential_lines_parse(char *text, struct call *call, struct credential_lines *ret)
{
    struct credential_lines lines = {.text = text, .size = strlen(text)};
    int r = 0, number = 1;
    for (char *line; r == 0 && (line = strsep(&text, "\n")); number++)
        r = take_line(&lines, line, number, call);
    if (r < 0)
        credential_lines_finish(&lines);
    else
        *ret = lines;
    return r;
}

void credential_lines_finish(struct credential_lines *lines)
{
    if (lines->text)
        explicit_bzero(lines->text, lines->size);
    free(lines->text);
    *lines = (struct credential_lines){0};
}

const char *credential_lines_get(const struct credential_lines *lines, const char *name)
{
    size_t i = find(bytes_of(name));
    return i < CREDENTIAL_LINES_NAMES ? lines->values[i] : NULL;
}

bool credential_lines_has_credential(const struct credential_lines *lines)
{
    static const char *const credentials[] = {"AZURE_STORAGE_CONNECTION_STRING",
                                              "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN",
                                              "AZURE_STORAGE_SAS_URL"};
    for (size_t i = 0; i < ARRAY_SIZE(credentials); i++) {
        const char *value = credential_lines_get(lines, credentials[i]);
        if (value && bytes_trim(bytes_of(value)).size > 0)
            return true;
    }
    return false;
}
