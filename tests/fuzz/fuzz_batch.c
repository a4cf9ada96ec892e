/* Whatever answers a batch: either there is a result for each write, or a failure that says what is
 * known. The first byte chooses how many writes there were, the rest of the first line is the
 * Content-Type. */
#include "client/azure/batch.h"
#include "tests/fuzz/fuzz.h"

static void check_results(const struct write *writes, size_t n, const struct write_result *results)
{
    for (size_t i = 0; i < n; i++) {
        size_t size = strnlen(results[i].etag, sizeof(results[i].etag));
        INVARIANT(size < sizeof(results[i].etag));
        INVARIANT((size == 0) == (writes[i].kind == WRITE_DELETE));
    }
}

static void check_failure(const struct failure *failure, size_t n)
{
    INVARIANT(failure->operation >= -1 && failure->operation < (int)n);
    INVARIANT(failure->error != -EPROTO || failure->is_ambiguous);
    INVARIANT(!failure->is_retryable || failure->operation == -1);
    INVARIANT(failure->http_status == 202 || failure->http_status >= 400);
    INVARIANT(strnlen(failure->message, sizeof(failure->message)) < sizeof(failure->message));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct write writes[BATCH_MAX_WRITES];
    struct write_result results[BATCH_MAX_WRITES];
    struct call call = {0};
    if (size == 0)
        return 0;
    size_t n = data[0] % BATCH_MAX_WRITES + 1;
    for (size_t i = 0; i < n; i++)
        writes[i].kind = i % 3 == 1 ? WRITE_DELETE : WRITE_INSERT;
    struct bytes type = {(const char *)data + 1, size - 1};
    const char *end = type.size > 0 ? memchr(type.data, '\n', type.size) : NULL;
    struct bytes body = bytes_skip(type, end ? (size_t)(end - type.data) + 1 : type.size);
    type.size = end ? (size_t)(end - type.data) : type.size;
    const struct service_answer answer = {.status = 202, .is_of_change = true, .body = body};
    const struct batch batch = {"http://x", "tab", writes, n, "7"};
    int r = batch_read_answer(&answer, type, &batch, 0, &call, results);
    INVARIANT(r == call.failure.error);
    if (r == 0)
        check_results(writes, n, results);
    else
        check_failure(&call.failure, n);
    return 0;
}
