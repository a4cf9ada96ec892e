/* SPDX-License-Identifier: MIT */
/* Whatever a body holds, the failure is made of terminated lines without signatures. What is not
 * printable in them is replaced where they leave the program. The first byte chooses the status,
 * the rest of the first line is x-ms-error-code. */
#include "client/azure/service_error.h"
#include "tests/fuzz/fuzz.h"

static void check_line(const char *text, size_t size)
{
    size_t n = strnlen(text, size);
    INVARIANT(n < size);
    for (size_t i = 0; i < n; i++)
        INVARIANT(text[i] != '\n' && text[i] != '\r');
}

static void check_struck_out(const char *message, const char *mark)
{
    for (const char *found = strstr(message, mark); found; found = strstr(found + 1, mark))
        INVARIANT(found[strlen(mark)] == '\0' || strchr(" &\"'<>*", found[strlen(mark)]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {400, 403, 404, 409, 500, 503};
    if (size == 0)
        return 0;
    struct bytes code = {(const char *)data + 1, size - 1};
    const char *end = code.size > 0 ? memchr(code.data, '\n', code.size) : NULL;
    struct bytes body = bytes_skip(code, end ? (size_t)(end - code.data) + 1 : code.size);
    code.size = end ? (size_t)(end - code.data) : code.size;
    const struct service_answer answer = {
        .status = statuses[data[0] % ARRAY_SIZE(statuses)],
        .body = body,
        .error_code = code,
        .request_id = code,
        .retry_after = code,
    };
    struct failure failure;
    service_error_read(&answer, 0, &failure);
    INVARIANT(failure.error < 0);
    INVARIANT(failure.retry_after_ms >= 0);
    INVARIANT(failure.message[0] != '\0');
    check_line(failure.code, sizeof(failure.code));
    check_line(failure.message, sizeof(failure.message));
    check_line(failure.request_id, sizeof(failure.request_id));
    check_struck_out(failure.message, "sig=");
    check_struck_out(failure.message, "SharedKey ");
    return 0;
}
