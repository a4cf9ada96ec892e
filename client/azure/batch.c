/* SPDX-License-Identifier: MIT */
#include "client/azure/batch.h"
#include "client/azure/etag.h"
#include "client/azure/write_request.h"
#include "client/http/http_header.h"
#include "client/http/request_url.h"

#include <assert.h>
#include <limits.h>

/* Of a part, at most, without the account's URL and its request. */
#define PART_BYTES ((size_t)256)

size_t batch_part_size(const char *url, const char *table, const struct write *write)
{
    return PART_BYTES + strlen(url) + write_request_size(table, write);
}

int batch_append_path(struct buffer *ret)
{
    return buffer_append_string(ret, "/$batch");
}

/* The boundaries begin with batch_ and changeset_ because Azurite searches for these words. */
int batch_append_content_type(struct buffer *ret, const char *id)
{
    return buffer_append_format(ret, "multipart/mixed; boundary=batch_%s", id);
}

/* A part has no signature and no version: the batch request has them. */
static int append_part(struct buffer *ret, const struct batch *batch, size_t i)
{
    const struct write *write = &batch->writes[i];
    (void)buffer_append_format(ret,
                               "--changeset_%s\r\n"
                               "Content-Type: application/http\r\n"
                               "Content-Transfer-Encoding: binary\r\n\r\n",
                               batch->id);
    (void)buffer_append_format(ret, "%s %s", write_request_method(write->kind), batch->url);
    int r = write_request_append_path(ret, batch->table, write);
    if (r < 0)
        return r;
    (void)buffer_append_format(ret,
                               " HTTP/1.1\r\n"
                               "Content-ID: %zu\r\n"
                               "Accept: application/json;odata=minimalmetadata\r\n"
                               "DataServiceVersion: 3.0\r\n",
                               i + 1);
    r = write_request_append_headers(ret, write);
    if (r < 0)
        return r;
    (void)buffer_append_string(ret, "\r\n");
    r = write_request_append_body(ret, write);
    return r < 0 ? r : buffer_append_string(ret, "\r\n");
}

static int append_parts(struct buffer *ret, const struct batch *batch, struct call *call)
{
    for (size_t i = 0; i < batch->n; i++) {
        int r = append_part(ret, batch, i);
        if (r == 0)
            continue;
        if (ret->error < 0)
            return r; /* this error is about the whole body */
        r = request_url_fail(call, r);
        call->failure.operation = (int)i;
        return r;
    }
    return 0;
}

int batch_append_body(struct buffer *ret, const struct batch *batch, struct call *call)
{
    (void)buffer_append_format(ret,
                               "--batch_%s\r\n"
                               "Content-Type: multipart/mixed; boundary=changeset_%s\r\n\r\n",
                               batch->id, batch->id);
    int r = append_parts(ret, batch, call);
    if (r < 0 && ret->error == 0)
        return r;
    r = buffer_append_format(ret, "--changeset_%s--\r\n--batch_%s--\r\n", batch->id, batch->id);
    if (r == -EFBIG)
        return call_fail(call, r, "a batch of %zu writes is larger than the %zu bytes of a request",
                         batch->n, ret->max);
    return r < 0 ? call_fail(call, r, "out of memory") : 0;
}

/* The text after a delimiter: parts, each up to the next delimiter. */
struct multipart {
    struct bytes rest, boundary;
};

enum delimiter { NO_DELIMITER, PART_BEGINS, PARTS_END };

static enum delimiter delimiter_of(struct bytes line, struct bytes boundary)
{
    if (!bytes_start_with(line, BYTES_LITERAL("--")) ||
        !bytes_start_with(bytes_skip(line, 2), boundary))
        return NO_DELIMITER;
    line = bytes_trim(bytes_skip(line, 2 + boundary.size));
    if (line.size == 0)
        return PART_BEGINS;
    return bytes_equal(line, BYTES_LITERAL("--")) ? PARTS_END : NO_DELIMITER;
}

/* Goes to the text after the next delimiter. The text before it is a whole part or the preamble. */
static enum delimiter take_delimiter(struct multipart *multipart, struct bytes *ret_before)
{
    struct bytes rest = multipart->rest;
    while (rest.size > 0) {
        size_t begin = multipart->rest.size - rest.size;
        struct bytes line = http_header_take_line(&rest);
        enum delimiter delimiter = delimiter_of(line, multipart->boundary);
        if (delimiter == NO_DELIMITER)
            continue;
        *ret_before = bytes_first(multipart->rest, begin);
        if (delimiter == PARTS_END)
            rest.size = 0;
        multipart->rest = rest;
        return delimiter;
    }
    return NO_DELIMITER;
}

/* Takes the lines before the first empty line, and the empty line. */
static struct bytes take_head(struct bytes *text)
{
    struct bytes whole = *text;
    while (text->size > 0) {
        size_t size = whole.size - text->size;
        if (http_header_take_line(text).size == 0)
            return bytes_first(whole, size);
    }
    return whole;
}

static bool open_multipart(struct multipart *multipart, struct bytes text,
                           struct bytes content_type)
{
    struct bytes preamble;
    *multipart = (struct multipart){.rest = text};
    return http_header_parameter(content_type, "boundary", &multipart->boundary) &&
           multipart->boundary.size > 0 && take_delimiter(multipart, &preamble) == PART_BEGINS;
}

/* Finds the parts: those of the changeset in the answer, or those of the answer itself if it
 * has no changeset. */
static bool open_answer(struct multipart *multipart, struct bytes body, struct bytes content_type)
{
    if (!open_multipart(multipart, body, content_type))
        return false;
    struct bytes type = {0}, boundary, content = multipart->rest;
    (void)http_header_find(take_head(&content), "Content-Type", &type);
    if (http_header_parameter(type, "boundary", &boundary))
        return open_multipart(multipart, content, type);
    return true;
}

struct inner_answer {
    int status;
    struct bytes headers, body;
};

/* "HTTP/1.1 204 No Content" */
static bool read_status(struct bytes line, int *ret)
{
    uint64_t status;
    struct bytes version = bytes_take_until(&line, ' ');
    if (!bytes_start_with(version, BYTES_LITERAL("HTTP/")) || line.size < 3 ||
        !bytes_parse_unsigned(bytes_first(line, 3), 999, &status))
        return false;
    *ret = (int)status;
    return true;
}

/* Azurite may put a line before the status: the changeset's boundary. */
static bool read_inner(struct bytes part, struct inner_answer *ret)
{
    bool is_found = false;
    (void)take_head(&part);
    while (!is_found && part.size > 0)
        is_found = read_status(http_header_take_line(&part), &ret->status);
    ret->headers = take_head(&part);
    ret->body = part;
    return is_found;
}

static struct bytes inner_header(const struct inner_answer *inner, const char *name)
{
    struct bytes value = {0};
    (void)http_header_find(inner->headers, name, &value);
    return value;
}

/* "57:The specified entity already exists." is about the write with index 57, from 0; -1: the
 * message has no index. Removes the index. */
static int take_index(char *message)
{
    uint64_t index;
    size_t digits = strspn(message, "0123456789");
    if (message[digits] != ':' ||
        !bytes_parse_unsigned((struct bytes){message, digits}, INT_MAX, &index))
        return -1;
    memmove(message, message + digits + 1, strlen(message + digits + 1) + 1);
    return (int)index;
}

/* The index that goes with the Content-ID that we sent; -1: the part has none. */
static int index_of(const struct inner_answer *inner)
{
    uint64_t id;
    bool has_id = bytes_parse_unsigned(inner_header(inner, "Content-ID"), INT_MAX, &id);
    return has_id ? (int)id - 1 : -1;
}

/* The index of the refused write: that of the message or of the Content-ID; 0 if the message has
 * none. -1: there is no message, the two differ, the index was not sent, or the failure is
 * temporary and no write was refused. */
static int refused_operation(const struct inner_answer *inner, bool has_message,
                             struct failure *failure, size_t n)
{
    int by_message = take_index(failure->message), by_id = index_of(inner);
    int operation = MAX(MAX(by_message, by_id), has_message ? 0 : -1);
    bool is_contradiction = by_message >= 0 && by_id >= 0 && by_message != by_id;
    return failure->is_retryable || is_contradiction || (size_t)operation >= n ? -1 : operation;
}

static int fail_by_inner(const struct service_answer *outer, const struct inner_answer *inner,
                         size_t n, int64_t now_utc_100ns, struct call *call)
{
    struct service_answer answer = *outer;
    answer.status = inner->status;
    answer.is_of_change = true;
    answer.body = inner->body;
    answer.error_code = inner_header(inner, "x-ms-error-code");
    (void)http_header_find(inner->headers, "Retry-After", &answer.retry_after);
    (void)http_header_find(inner->headers, "retry-after-ms", &answer.retry_after_ms);
    (void)http_header_find(inner->headers, "x-ms-retry-after-ms", &answer.retry_after_ms);
    bool has_message = service_error_read(&answer, now_utc_100ns, &call->failure);
    call->failure.operation = refused_operation(inner, has_message, &call->failure, n);
    return call->failure.error;
}

static int read_result(const struct inner_answer *inner, const struct write *write,
                       struct write_result *ret)
{
    if (inner->status < 200 || inner->status > 299)
        return -EPROTO;
    if (write->kind != WRITE_DELETE)
        return etag_read(inner_header(inner, "ETag"), ret);
    *ret = (struct write_result){0};
    return 0;
}

/* Is it the start of a multipart answer, which must end with a delimiter and "--"? Then the rest
 * was lost. */
static bool breaks_off(struct bytes body)
{
    struct bytes dashes = BYTES_LITERAL("--"), text = bytes_trim(body);
    return bytes_start_with(text, dashes) &&
           !bytes_equal(bytes_skip(text, text.size - dashes.size), dashes);
}

/* It is not known whether the writes were made. */
static int fail_unknown(const struct service_answer *answer, struct call *call, const char *problem)
{
    (void)call_fail(call, -EPROTO, "the answer to a batch cannot be read: %s", problem);
    call->failure.http_status = answer->status;
    call->failure.is_ambiguous = true;
    call->failure.is_retryable = breaks_off(answer->body);
    return -EPROTO;
}

/* The answer to a refused batch has one part, with the reason; any other has one part for each
 * write. */
static int read_parts(struct multipart *multipart, const struct service_answer *answer,
                      const struct batch *batch, int64_t now_utc_100ns, struct call *call,
                      struct write_result *ret)
{
    struct bytes part, after;
    struct inner_answer inner;
    size_t count = 0;
    for (; take_delimiter(multipart, &part) != NO_DELIMITER; count++) {
        if (!read_inner(part, &inner))
            return fail_unknown(answer, call, "a part without a status");
        if (count == 0 && inner.status >= 400 && take_delimiter(multipart, &after) == NO_DELIMITER)
            return fail_by_inner(answer, &inner, batch->n, now_utc_100ns, call);
        if (count == batch->n)
            return fail_unknown(answer, call, "more parts than writes");
        if (index_of(&inner) >= 0 && index_of(&inner) != (int)count)
            return fail_unknown(answer, call, "a part of another write");
        if (read_result(&inner, &batch->writes[count], &ret[count]) < 0)
            return fail_unknown(answer, call, "a failure that is not the only part");
    }
    return count == batch->n ? 0 : fail_unknown(answer, call, "fewer parts than writes");
}

int batch_read_answer(const struct service_answer *answer, struct bytes content_type,
                      const struct batch *batch, int64_t now_utc_100ns, struct call *call,
                      struct write_result *ret)
{
    struct multipart multipart;
    struct write_result results[BATCH_MAX_WRITES];
    assert(batch->n <= BATCH_MAX_WRITES);
    if (!open_answer(&multipart, answer->body, content_type))
        return fail_unknown(answer, call, "it is not multipart");
    int r = read_parts(&multipart, answer, batch, now_utc_100ns, call, results);
    if (r == 0)
        memcpy(ret, results, batch->n * sizeof(*ret));
    return r;
}
