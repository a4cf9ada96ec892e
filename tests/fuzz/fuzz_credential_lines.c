/* SPDX-License-Identifier: MIT */
/* The text of a file of credentials. Values are parts of it, and a refusal is one line that repeats
 * a name at most. */
#include "client/base/bytes.h"
#include "client/identity/credential_lines.h"
#include "tests/fuzz/fuzz.h"

static void check_lines(const struct credential_lines *lines)
{
    for (size_t i = 0; i < CREDENTIAL_LINES_NAMES; i++) {
        const char *value = credential_lines_get(lines, credential_lines_names[i]);
        if (!value)
            continue;
        INVARIANT(value > lines->text && value <= lines->text + lines->size);
        INVARIANT(value + strlen(value) <= lines->text + lines->size);
        INVARIANT(!strchr(value, '\n'));
    }
}

static void check_refusal(const struct call *call)
{
    size_t n = strlen(call->failure.message);
    INVARIANT(call->failure.error == -EINVAL && n > 0 && n < 100);
    for (size_t i = 0; i < n; i++)
        INVARIANT(call->failure.message[i] >= ' ' && call->failure.message[i] < 0x7F);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct credential_lines lines = {0};
    struct call call = {0};
    char *text = strndup((const char *)data, size);
    if (!text)
        return 0;
    if (credential_lines_parse(text, &call, &lines) == 0)
        check_lines(&lines);
    else
        check_refusal(&call);
    credential_lines_finish(&lines);
    return 0;
}
