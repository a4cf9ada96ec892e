#include "client/azure/azure_store.h"
#include "client/azure/entity_answer.h"
#include "client/azure/http.h"
#include "client/azure/http_date.h"
#include "client/azure/request_url.h"
#include "client/azure/service_error.h"
#include "client/text/table_name.h"

#include <cjson/cJSON.h>
#include <openssl/rand.h>

#define SERVICE_VERSION "2020-12-06"

#define CONNECT_MS 10000
#define ATTEMPT_MS 35000
#define SERVER_TIMEOUT_SEC                                                                         \
    30 /* the service's most; below ATTEMPT_MS, so that its own answer comes first */
#define BODY_MAX_BYTES PAGE_MAX_BYTES
#define URL_MAX_BYTES  ((size_t)64 << 10)

struct azure_store {
    struct table_store store;
    const struct clock *clock;
    const struct credential *credential;
    struct http *http;
    char origin[ENDPOINT_URL_SIZE];    /* scheme://host[:port] */
    char base_path[ENDPOINT_URL_SIZE]; /* "" or "/account" */
};

/* What an operation asks for, percent-encoded as it is signed and sent. */
struct request {
    struct buffer path; /* from the slash behind the host on */
    struct buffer query;
};

static void request_init(struct request *request, const struct azure_store *store)
{
    buffer_init(&request->path, URL_MAX_BYTES);
    buffer_init(&request->query, URL_MAX_BYTES);
    (void)buffer_append_string(&request->path, store->base_path);
}

static void request_finish(struct request *request)
{
    buffer_finish(&request->path);
    buffer_finish(&request->query);
}

static struct azure_store *azure_store_of(struct table_store *store)
{
    return (struct azure_store *)((char *)store - offsetof(struct azure_store, store));
}

static int fail_request(struct call *call, int error)
{
    if (error == -EFBIG)
        return call_fail(call, -ENAMETOOLONG, "the request's URL is too long");
    if (error == -EILSEQ)
        return call_fail(call, -EINVAL, "a key that no URL can hold");
    return call_fail(call, error, "the request could not be made");
}

/* The service gives up before the call does, so that its own reason arrives. */
static int append_timeout(struct buffer *query, int64_t remaining_ms)
{
    int64_t sec = MAX(MIN(remaining_ms / 1000 - 1, SERVER_TIMEOUT_SEC), 1);
    return buffer_append_format(query, query->size > 0 ? "&timeout=%d" : "timeout=%d", (int)sec);
}

static int append_url(const struct azure_store *store, const struct request *request,
                      struct buffer *ret)
{
    (void)buffer_append_string(ret, store->origin);
    (void)buffer_append(ret, buffer_bytes(&request->path));
    (void)buffer_append_char(ret, '?');
    (void)buffer_append(ret, buffer_bytes(&request->query));
    size_t size = ret->size;
    (void)buffer_append_char(ret, '&');
    int r = credential_append_query(store->credential, ret);
    if (r == 0 && ret->size == size + 1)
        ret->size = size; /* a key: in the headers */
    return r;
}

static int append_header(struct buffer *ret, const char *name, struct bytes value)
{
    (void)buffer_append_string(ret, name);
    (void)buffer_append_string(ret, ": ");
    (void)buffer_append(ret, value);
    return buffer_append_char(ret, '\0');
}

/* A random UUID (version 4), for the service's logs. */
static int append_request_id(struct buffer *ret)
{
    unsigned char b[16];
    if (RAND_bytes(b, sizeof(b)) != 1)
        return -EIO;
    b[6] = (unsigned char)(0x40 | (b[6] & 0x0F));
    b[8] = (unsigned char)(0x80 | (b[8] & 0x3F));
    (void)buffer_append_string(ret, "x-ms-client-request-id: ");
    for (size_t i = 0; i < sizeof(b); i++)
        (void)buffer_append_format(ret, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                                   b[i]);
    return buffer_append_char(ret, '\0');
}

static int append_authorization(const struct azure_store *store, const struct request *request,
                                struct bytes date, struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer value;
    buffer_init(&value, 256);
    const struct signed_request signed_request = {.verb = "GET",
                                                  .date = date,
                                                  .path = buffer_bytes(&request->path),
                                                  .query = buffer_bytes(&request->query)};
    int r = credential_append_authorization(store->credential, &signed_request, &value);
    if (r < 0 || value.size == 0)
        return r;
    return append_header(ret, "Authorization", buffer_bytes(&value));
}

/* Signed as of now. x-ms-date alone, no Date: Azurite would sign over the latter. */
static int append_headers(const struct azure_store *store, const struct request *request,
                          struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer date;
    buffer_init(&date, HTTP_DATE_SIZE);
    int r = http_date_append(&date, clock_utc_100ns(store->clock));
    if (r < 0)
        return r;
    (void)append_header(ret, "x-ms-version", BYTES_LITERAL(SERVICE_VERSION));
    (void)append_header(ret, "Accept", BYTES_LITERAL("application/json;odata=minimalmetadata"));
    (void)append_header(ret, "DataServiceVersion", BYTES_LITERAL("3.0"));
    (void)append_header(ret, "x-ms-date", buffer_bytes(&date));
    r = append_request_id(ret);
    return r < 0 ? r : append_authorization(store, request, buffer_bytes(&date), ret);
}

static struct bytes header_of(const struct http_answer *answer, const char *name)
{
    struct bytes value = {0};
    (void)http_answer_header(answer, name, &value);
    return value;
}

static int fail_by_answer(const struct azure_store *store, const struct http_answer *answer,
                          struct call *call)
{
    struct service_answer service_answer = {
        .status = answer->status,
        .body = buffer_bytes(&answer->body),
        .error_code = header_of(answer, "x-ms-error-code"),
        .request_id = header_of(answer, "x-ms-request-id"),
        .date = header_of(answer, "Date"),
        .retry_after_ms = header_of(answer, "x-ms-retry-after-ms"),
        .retry_after = header_of(answer, "Retry-After"),
    };
    if (service_answer.retry_after_ms.size == 0)
        service_answer.retry_after_ms = header_of(answer, "retry-after-ms");
    service_error_read(&service_answer, clock_utc_100ns(store->clock), &call->failure);
    return call->failure.error;
}

/* A body that was not understood: the failure says which answer it was. */
static int fail_by_body(const struct http_answer *answer, int error, struct call *call)
{
    struct bytes request_id = header_of(answer, "x-ms-request-id");
    call->failure.http_status = answer->status;
    (void)snprintf(call->failure.request_id, sizeof(call->failure.request_id), "%.*s",
                   (int)request_id.size, request_id.data ? request_id.data : "");
    return error;
}

static int send_request(const struct azure_store *store, struct request *request, struct call *call,
                        struct http_answer *ret)
{
    _cleanup_(buffer_finish) struct buffer url;
    _cleanup_(buffer_finish) struct buffer headers;
    buffer_init(&url, 2 * URL_MAX_BYTES);
    buffer_init(&headers, URL_MAX_BYTES);
    int r = append_timeout(&request->query,
                           MIN(call_remaining_ms(call, store->clock), (int64_t)ATTEMPT_MS));
    if (r == 0)
        r = append_url(store, request, &url);
    if (r == 0)
        r = append_headers(store, request, &headers);
    const char *text = buffer_string(&url);
    if (r < 0 || !text)
        return fail_request(call, r < 0 ? r : url.error);
    const struct http_request http_request = {text, buffer_bytes(&headers)};
    return http_get(store->http, &http_request, call, ret);
}

/* Sends what the path and query say; `r` is the answer of those who wrote them. Any answer but 200
 * is a failure. */
static int ask(const struct azure_store *store, struct request *request, int r, struct call *call,
               struct http_answer *ret)
{
    struct http_answer answer = {0};
    call->failure = (struct failure){0};
    if (r < 0)
        return fail_request(call, r);
    r = send_request(store, request, call, &answer);
    if (r < 0)
        return r;
    if (answer.status != 200) {
        r = fail_by_answer(store, &answer, call);
        http_answer_finish(&answer);
        return r;
    }
    *ret = answer;
    return 0;
}

/* More follows when one of the headers is there, even empty. */
static int take_continuation(const struct http_answer *answer, struct call *call,
                             struct continuation **ret)
{
    _cleanup_(buffer_finish) struct buffer token;
    buffer_init(&token, URL_MAX_BYTES);
    for (enum token_part part = 0; part < TOKEN_PARTS; part++) {
        struct bytes value;
        if (http_answer_header(answer, token_header(part), &value))
            (void)token_append_part(&token, part, value);
    }
    int r = token.error;
    if (r == 0 && token.size > 0)
        r = continuation_create(buffer_bytes(&token), ret);
    return r < 0 ? call_fail(call, r, "a continuation token that could not be kept") : 0;
}

static int azure_query(struct table_store *table_store, const struct query *query,
                       struct call *call, struct page_builder *builder,
                       struct continuation **ret_next)
{
    const struct azure_store *store = azure_store_of(table_store);
    _cleanup_(request_finish) struct request request;
    _cleanup_(http_answer_finish) struct http_answer answer = {0};
    bool is_widened = false;
    request_init(&request, store);
    int r = request_url_append_rows(&request.path, query->table);
    if (r == 0)
        r = request_url_append_row_query(&request.query, query, &is_widened);
    r = ask(store, &request, r, call, &answer);
    if (r < 0)
        return r;
    /* rows outside a range that was asked for as it is are not dropped: they are an error, which
     * the wrapper finds */
    r = entity_answer_page(buffer_bytes(&answer.body), is_widened ? query->range : RANGE_ALL,
                           query->keys_only, call, builder);
    if (r == 0)
        r = take_continuation(&answer, call, ret_next);
    return r < 0 ? fail_by_body(&answer, r, call) : 0;
}

/* A key that no URL can hold: the rows around it are asked for, until the page that has it. */
static int get_by_query(struct table_store *table_store, const char *table, struct bytes position,
                        struct call *call, struct page_builder *builder)
{
    _cleanup_(buffer_finish) struct buffer end;
    _cleanup_(continuation_destroyp) struct continuation *after = NULL;
    buffer_init(&end, position.size + 1);
    (void)buffer_append(&end, position);
    if (buffer_append_string(&end, POSITION_AFTER) < 0)
        return fail_request(call, end.error);
    struct query query = {
        .table = table, .range = {position, buffer_bytes(&end)}, .top = TABLE_STORE_PAGE_ROWS};
    do {
        struct continuation *next = NULL;
        query.after = after;
        int r = azure_query(table_store, &query, call, builder, &next);
        if (r < 0 || page_builder_rows(builder) > 0) {
            continuation_destroy(next);
            return r;
        }
        bool is_same =
            next && after && bytes_equal(continuation_token(next), continuation_token(after));
        continuation_destroy(after);
        after = next;
        if (is_same)
            return call_fail(call, -EPROTO, "the service's continuation tokens go in a circle");
    } while (after);
    return call_fail(call, -ENOENT, "no entity has this key");
}

static int azure_get(struct table_store *table_store, const char *table, struct bytes position,
                     struct call *call, struct page_builder *builder)
{
    const struct azure_store *store = azure_store_of(table_store);
    _cleanup_(request_finish) struct request request;
    _cleanup_(http_answer_finish) struct http_answer answer = {0};
    request_init(&request, store);
    int r = request_url_append_entity(&request.path, table, position);
    if (r == -EILSEQ)
        return get_by_query(table_store, table, position, call, builder);
    r = ask(store, &request, r, call, &answer);
    if (r < 0)
        return r;
    r = entity_answer_single(buffer_bytes(&answer.body), header_of(&answer, "ETag"), call, builder);
    return r < 0 ? fail_by_body(&answer, r, call) : 0;
}

static int append_table_name(const cJSON *entry, const char *only, struct table_names *ret)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "TableName"));
    if (!name || !table_name_is_legal(bytes_of(name)))
        return -EPROTO;
    if (only && strcmp(name, only) != 0)
        return 0; /* the service compares without regard to case */
    return buffer_append(&ret->names, (struct bytes){name, strlen(name) + 1});
}

/* {"value":[{"TableName":"..."}, ...]} */
static int append_table_names(struct bytes body, const char *only, struct table_names *ret)
{
    cJSON *root = cJSON_ParseWithLength(body.data, body.size);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "value");
    const cJSON *entry = list ? list->child : NULL;
    int r = cJSON_IsArray(list) ? 0 : -EPROTO;
    for (; r == 0 && entry; entry = entry->next)
        r = append_table_name(entry, only, ret);
    cJSON_Delete(root);
    return r;
}

static int azure_list_tables(struct table_store *table_store, const char *only,
                             const struct continuation *after, struct call *call,
                             struct table_names *ret, struct continuation **ret_next)
{
    const struct azure_store *store = azure_store_of(table_store);
    _cleanup_(request_finish) struct request request;
    _cleanup_(http_answer_finish) struct http_answer answer = {0};
    size_t size = ret->names.size;
    request_init(&request, store);
    int r = request_url_append_tables(&request.path);
    if (r == 0)
        r = request_url_append_table_query(&request.query, only, after);
    r = ask(store, &request, r, call, &answer);
    if (r < 0)
        return r;
    r = append_table_names(buffer_bytes(&answer.body), only, ret);
    if (r < 0)
        (void)call_fail(call, r, "the answer is no list of tables that can be used");
    if (r == 0)
        r = take_continuation(&answer, call, ret_next);
    if (r == 0)
        return 0;
    ret->names.size = size;
    return fail_by_body(&answer, r, call);
}

static void azure_destroy(struct table_store *table_store)
{
    struct azure_store *store = azure_store_of(table_store);
    http_destroy(store->http);
    free(store);
}

static const struct table_store_ops azure_ops = {
    .query = azure_query,
    .get = azure_get,
    .list_tables = azure_list_tables,
    .destroy = azure_destroy,
};

/* Where the path of scheme://host[:port][/account] begins. */
static size_t origin_size(const char *url)
{
    const char *host = strstr(url, "://");
    return host ? strcspn(host + 3, "/") + (size_t)(host + 3 - url) : 0;
}

int azure_store_create(const struct azure_store_options *options, const struct clock *clock,
                       struct table_store **ret)
{
    const struct endpoint *endpoint = &options->connection->endpoint;
    const struct http_options http_options = {
        .ca_file = options->ca_file,
        .use_proxy = !endpoint->is_loopback,
        .connect_ms = CONNECT_MS,
        .attempt_ms = ATTEMPT_MS,
        .body_max_bytes = BODY_MAX_BYTES,
    };
    _cleanup_(freep) struct azure_store *store = calloc(1, sizeof(*store));
    if (!store)
        return -ENOMEM;
    store->store.ops = &azure_ops;
    store->clock = clock;
    store->credential = options->connection->credential;
    size_t n = origin_size(endpoint->url);
    (void)snprintf(store->origin, sizeof(store->origin), "%.*s", (int)n, endpoint->url);
    (void)snprintf(store->base_path, sizeof(store->base_path), "%s", endpoint->url + n);
    int r = http_create(&http_options, clock, &store->http);
    if (r < 0)
        return r;
    *ret = &TAKE_PTR(store)->store;
    return 0;
}
