/* SPDX-License-Identifier: MIT */
/* Whatever answers a batch: either there is a result for each write, or a failure that says what is
 * known. The first byte chooses how many writes there were. If it is below 128, the rest of the
 * first line is the Content-Type, and the body follows. Else the body is put together: each byte
 * but the last chooses a piece of an answer in many parts, and the last says how many of its bytes
 * are cut off. */
#include "client/azure/batch.h"
#include "tests/fuzz/fuzz.h"

#define PUT_TOGETHER   128
#define PIECES_MAX     1024
#define BODY_MAX_BYTES ((size_t)1 << 20)

#define PART "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
#define REASON(message)                                                                            \
    "{\"odata.error\":{\"code\":\"X\",\"message\":{\"value\":\"" message "\"}}}\r\n"

static const char part_begin[] = PART;
static const char part_stored[] = PART "HTTP/1.1 204 No Content\r\nETag: \"e\"\r\n\r\n\r\n";
static const char part_deleted[] = PART "HTTP/1.1 204 No Content\r\n\r\n\r\n";
static const char part_refused[] = PART "HTTP/1.1 404 Not Found\r\n\r\n" REASON("0:x");
static const char part_busy[] = PART "HTTP/1.1 503 Busy\r\nRetry-After: 5\r\n\r\n" REASON("99:x");
static const char reason_1[] = REASON("1:x");

static const char *const pieces[] = {
    "--b\r\n",
    "--b--\r\n",
    "--c\r\n",
    "--c--\r\n",
    "\r\n",
    "Content-Type: multipart/mixed; boundary=c\r\n\r\n",
    part_begin,
    part_stored,
    part_deleted,
    part_refused,
    part_busy,
    "HTTP/1.1 201 Created\r\n",
    "HTTP/1.1 412 Precondition Failed\r\n",
    "HTTP/1.1 999 \r\n",
    "HTTP/1.1 ",
    "ETag: \"e\"\r\n",
    "ETag:\r\n",
    "Content-ID: 1\r\n",
    "Content-ID: 2\r\n",
    "Content-ID: 100\r\n",
    "Content-ID: 18446744073709551616\r\n",
    "x-ms-error-code: TableNotFound\r\n",
    "retry-after-ms: 99999999999\r\n",
    reason_1,
    "<m:error><m:code>X</m:code>",
    "junk",
};

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
    INVARIANT(failure->http_status != 202 || failure->is_ambiguous);
    INVARIANT(strnlen(failure->message, sizeof(failure->message)) < sizeof(failure->message));
}

static int read_answer(struct bytes type, struct bytes body, size_t n, struct failure *ret)
{
    static struct write writes[BATCH_MAX_WRITES];
    struct write_result results[BATCH_MAX_WRITES];
    struct call call = {0};
    for (size_t i = 0; i < n; i++)
        writes[i].kind = i % 3 == 1 ? WRITE_DELETE : WRITE_INSERT;
    const struct service_answer answer = {.status = 202, .is_of_change = true, .body = body};
    const struct batch batch = {"http://x", "tab", writes, n, "7"};
    int r = batch_read_answer(&answer, type, &batch, 0, &call, results);
    INVARIANT(r == call.failure.error);
    if (r == 0)
        check_results(writes, n, results);
    else
        check_failure(&call.failure, n);
    *ret = call.failure;
    return r;
}

static size_t count(struct bytes body, const char *text)
{
    size_t n = 0;
    const char *found;
    while (body.size > 0 && (found = bytes_find(body, bytes_of(text)))) {
        body = bytes_skip(body, (size_t)(found - body.data) + 1);
        n++;
    }
    return n;
}

/* In a copy of its own, so that a read after it is seen. */
static void read_pieces(const uint8_t *data, size_t size, size_t n)
{
    _cleanup_(buffer_finish) struct buffer body;
    struct failure failure;
    buffer_init(&body, BODY_MAX_BYTES);
    for (size_t i = 0; i + 1 < MIN(size, PIECES_MAX); i++)
        (void)buffer_append_string(&body, pieces[data[i] % ARRAY_SIZE(pieces)]);
    size_t cut = size > 0 ? MIN(data[size - 1], body.size) : 0;
    size_t whole = body.size - cut;
    char *copy = malloc(MAX(whole, 1));
    if (!copy)
        return;
    if (whole > 0)
        memcpy(copy, body.data, whole);
    const struct bytes text = {copy, whole};
    int r = read_answer(BYTES_LITERAL("multipart/mixed; boundary=b"), text, n, &failure);
    INVARIANT(r < 0 || count(text, "HTTP/1.1 20") >= n); /* a part for each */
    INVARIANT(r == 0 || failure.http_status != 404 || count(text, "HTTP/1.1 404") > 0);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct failure failure;
    if (size == 0)
        return 0;
    size_t n = data[0] % PUT_TOGETHER % BATCH_MAX_WRITES + 1;
    if (data[0] >= PUT_TOGETHER) {
        read_pieces(data + 1, size - 1, n);
        return 0;
    }
    struct bytes type = {(const char *)data + 1, size - 1};
    const char *end = type.size > 0 ? memchr(type.data, '\n', type.size) : NULL;
    struct bytes body = bytes_skip(type, end ? (size_t)(end - type.data) + 1 : type.size);
    type.size = end ? (size_t)(end - type.data) : type.size;
    (void)read_answer(type, body, n, &failure);
    return 0;
}
