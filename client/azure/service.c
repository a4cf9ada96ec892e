/* SPDX-License-Identifier: MIT */
#include "client/azure/service.h"
#include "client/azure/refusal.h"
#include "client/http/http_date.h"
#include "client/http/http_header.h"
#include "client/http/request_url.h"
#include "client/http/uuid.h"

#define HEADERS_MAX_BYTES ((size_t)2 << 10) /* without the request's own and Authorization */
#define SERVICE_VERSION   "2020-12-06"

#define CONNECT_MS 10000
#define ATTEMPT_MS 35000
#define SERVER_TIMEOUT_SEC                                                                         \
    30 /* the service's maximum; less than ATTEMPT_MS, so that its answer arrives first */
#define ANSWER_MAX_BYTES PAGE_MAX_BYTES
#define URL_MAX_BYTES    ((size_t)64 << 10)

struct service {
    const struct clock *clock;
    const struct connection *connection;
    struct token_source *tokens;           /* NULL: a key or a SAS is used */
    struct credential_source *credentials; /* NULL: then it is the connection's */
    struct clock_skew *skew;               /* NULL: requests are signed with this machine's time */
    struct http *http;
    const char *base_path; /* "" or "/account": the end of the endpoint's URL */
    struct bytes origin;   /* scheme://host[:port]: the start of the endpoint's URL */
};

void service_request_init(struct service_request *request, const struct service *service,
                          const char *method, int success)
{
    *request = (struct service_request){.method = method,
                                        .success = success,
                                        .accept = "application/json;odata=minimalmetadata",
                                        .needs = ""};
    buffer_init(&request->path, URL_MAX_BYTES);
    buffer_init(&request->query, URL_MAX_BYTES);
    buffer_init(&request->headers, URL_MAX_BYTES);
    buffer_init(&request->body, SERVICE_REQUEST_MAX_BYTES);
    (void)buffer_append_string(&request->path, service->base_path);
}

void service_request_finish(struct service_request *request)
{
    buffer_finish(&request->path);
    buffer_finish(&request->query);
    buffer_finish(&request->headers);
    buffer_finish(&request->body);
    token_unref(TAKE_PTR(request->token));
    credential_unref(TAKE_PTR(request->credential));
}

static bool is_change(const struct service_request *request)
{
    return strcmp(request->method, "GET") != 0;
}

/* The error of the buffers that the request was built in. */
static int request_error(const struct service_request *request)
{
    const int errors[] = {request->path.error, request->query.error, request->headers.error,
                          request->body.error};
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        if (errors[i] < 0)
            return errors[i];
    }
    return 0;
}

static int fail_request(const struct service_request *request, int error, struct call *call)
{
    if (request->body.error == -EFBIG)
        return call_fail(call, -EFBIG, "the entity is larger than the %zu bytes of a request",
                         request->body.max);
    return request_url_fail(call, error);
}

/* The service gets less time than the call has left, so that its reason arrives. */
static int append_timeout(struct buffer *query, int64_t remaining_ms)
{
    int64_t sec = MAX(MIN(remaining_ms / 1000 - 1, SERVER_TIMEOUT_SEC), 1);
    return buffer_append_format(query, query->size > 0 ? "&timeout=%d" : "timeout=%d", (int)sec);
}

static int append_url(const struct service *service, const struct service_request *request,
                      const struct credential *credential, struct buffer *ret)
{
    (void)buffer_append(ret, service->origin);
    (void)buffer_append(ret, buffer_bytes(&request->path));
    (void)buffer_append_char(ret, '?');
    (void)buffer_append(ret, buffer_bytes(&request->query));
    size_t size = ret->size;
    (void)buffer_append_char(ret, '&');
    int r = credential_append_query(credential, ret);
    if (r == 0 && ret->size == size + 1)
        ret->size = size; /* a key or a token is sent in the headers */
    return r;
}

static int append_authorization(const struct service_request *request,
                                const struct credential *credential, struct bytes date,
                                struct buffer *ret)
{
    _cleanup_(buffer_wipe) struct buffer value;
    buffer_init(&value, 256 + CREDENTIAL_BEARER_MAX_BYTES);
    struct signed_request signed_request = {.verb = request->method,
                                            .date = date,
                                            .path = buffer_bytes(&request->path),
                                            .query = buffer_bytes(&request->query)};
    (void)http_header_find(buffer_bytes(&request->headers), "Content-Type",
                           &signed_request.content_type);
    int r = credential_append_authorization(credential, &signed_request, &value);
    if (r < 0 || value.size == 0)
        return r;
    return http_header_append(ret, "Authorization", buffer_bytes(&value));
}

/* Signed with the time in x-ms-date alone: with a Date header Azurite would expect that one in the
 * signature. */
static int append_headers(const struct service_request *request,
                          const struct credential *credential, struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer date;
    _cleanup_(buffer_finish) struct buffer uuid;
    buffer_init(&date, HTTP_DATE_SIZE);
    buffer_init(&uuid, UUID_SIZE);
    int r = http_date_append(&date, request->dated_utc_100ns);
    if (r == 0)
        r = uuid_append(&uuid);
    if (r < 0)
        return r;
    (void)http_header_append(ret, "x-ms-version", BYTES_LITERAL(SERVICE_VERSION));
    (void)http_header_append(ret, "Accept", bytes_of(request->accept));
    (void)http_header_append(ret, "DataServiceVersion", BYTES_LITERAL("3.0"));
    (void)http_header_append(ret, "x-ms-date", buffer_bytes(&date));
    (void)http_header_append(ret, "x-ms-client-request-id", buffer_bytes(&uuid));
    (void)buffer_append(ret, buffer_bytes(&request->headers));
    r = append_authorization(request, credential, buffer_bytes(&date), ret);
    return r < 0 ? r : ret->error;
}

/* Is it signed with a key, and may the service's time be used for that? */
static bool signs_with_skew(const struct service *service, const struct service_request *request)
{
    return service->skew && !request->token && !credential_is_sas(request->credential);
}

static int send_request(const struct service *service, struct service_request *request,
                        struct call *call, struct http_answer *ret)
{
    _cleanup_(buffer_wipe) struct buffer url; /* a SAS is in it */
    _cleanup_(buffer_wipe) struct buffer headers;
    size_t query_size = request->query.size;
    buffer_init(&url, 2 * URL_MAX_BYTES);
    buffer_init(&headers, 2 * URL_MAX_BYTES);
    request->dated_utc_100ns = signs_with_skew(service, request)
                                   ? clock_skew_utc_100ns(service->skew)
                                   : service_utc_100ns(service);
    int r = append_timeout(&request->query,
                           MIN(call_remaining_ms(call, service->clock), (int64_t)ATTEMPT_MS));
    if (r == 0)
        r = append_url(service, request, request->credential, &url);
    if (r == 0 && service->tokens) /* so that it leaves no copies of a token */
        r = buffer_ensure(&headers,
                          request->headers.size + HEADERS_MAX_BYTES + CREDENTIAL_BEARER_MAX_BYTES);
    if (r == 0)
        r = append_headers(request, request->credential, &headers);
    request->query.size = query_size; /* it may be sent once more */
    const char *text = buffer_string(&url);
    if (r < 0 || !text)
        return fail_request(request, r < 0 ? r : url.error, call);
    const struct http_request http_request = {.method = request->method,
                                              .url = text,
                                              .lane = lane_of_table(request->table),
                                              .headers = buffer_bytes(&headers),
                                              .body = buffer_bytes(&request->body)};
    return http_send(service->http, &http_request, call, ret);
}

/* Reads the reason of a failure from the answer. Returns its errno. */
static int fail_by_answer(const struct service *service, const struct service_request *request,
                          const struct http_answer *answer, struct call *call)
{
    struct failure *failure = &call->failure;
    struct service_answer service_answer = service_answer_of(answer, is_change(request));
    (void)service_error_read(&service_answer, service_utc_100ns(service), failure);
    failure->is_ambiguous |= answer->was_resent && is_change(request);
    service_advise(request, answer, call);
    return failure->error;
}

void service_advise(const struct service_request *request, const struct http_answer *answer,
                    struct call *call)
{
    struct failure *failure = &call->failure;
    if (failure->error != -EACCES)
        return;
    const struct refused_request refused = {.credential =
                                                request->token ? NULL : request->credential,
                                            .table = request->is_of_account ? NULL : request->table,
                                            .needs = request->needs,
                                            .date = service_header(answer, "Date"),
                                            .dated_utc_100ns = request->dated_utc_100ns};
    const char *advice = refusal_advice(&refused, failure);
    if (advice)
        failure->advice = advice;
    if (request->token)
        refusal_name_identity(token_claims(request->token),
                              service_header(answer, "WWW-Authenticate"), failure);
}

/* Is the token, the key or the SAS itself refused? A permission that is missing is no reason for
 * another one. */
static bool is_refused(const struct service *service, const struct service_request *request,
                       const struct http_answer *answer)
{
    struct failure failure;
    if (answer->status != 401 && answer->status != 403)
        return false;
    const struct service_answer service_answer = service_answer_of(answer, false);
    (void)service_error_read(&service_answer, service_utc_100ns(service), &failure);
    if (answer->status == 401)
        return request->token;
    return strcmp(failure.code, "AuthenticationFailed") == 0 ||
           /* Azurite's word for a wrong signature; else the firewall's, and then the file is read
            */
           (!request->token && strcmp(failure.code, "AuthorizationFailure") == 0);
}

/* Fills in the credential that is current when the request is sent. */
static int take_credential(const struct service *service, struct service_request *request,
                           struct call *call)
{
    if (service->tokens) {
        int r = token_source_get(service->tokens, call, &request->token);
        if (r == 0)
            request->credential = credential_ref(token_credential(request->token));
        return r;
    }
    request->credential = service->credentials ? credential_source_get(service->credentials)
                                               : credential_ref(service->connection->credential);
    return 0;
}

/* The request's credential was refused. False: there is no other one. */
static bool replace_credential(const struct service *service, struct service_request *request,
                               struct call *call)
{
    struct token *token = NULL;
    struct credential *credential = NULL;
    bool is_replaced = service->tokens
                           ? token_source_replace(service->tokens, request->token, call, &token)
                           : service->credentials &&
                                 credential_source_replace(service->credentials,
                                                           request->credential, call, &credential);
    if (!is_replaced)
        return false;
    if (token)
        credential = credential_ref(token_credential(token));
    token_unref(request->token);
    credential_unref(request->credential);
    request->token = token;
    request->credential = credential;
    return true;
}

/* Reads the service's time from the answer. True: the request was refused because its date was
 * wrong, and there is a better one. */
static bool correct_date(const struct service *service, const struct service_request *request,
                         const struct http_answer *answer)
{
    int64_t answer_utc_100ns;
    if (!signs_with_skew(service, request) ||
        !http_date_parse(service_header(answer, "Date"), &answer_utc_100ns))
        return false;
    if (answer->status == 403)
        return clock_skew_correct(service->skew, request->dated_utc_100ns, answer_utc_100ns);
    clock_skew_note(service->skew, answer_utc_100ns);
    return false;
}

/* After a refusal, which changed nothing. Replaces the answer. */
static int send_again(const struct service *service, struct service_request *request,
                      struct call *call, struct http_answer *ret)
{
    bool was_resent = ret->was_resent; /* the change may have been made by an earlier one */
    http_answer_finish(ret);
    *ret = (struct http_answer){0};
    int r = send_request(service, request, call, ret);
    ret->was_resent |= was_resent;
    call->failure.is_ambiguous |= r < 0 && was_resent && is_change(request);
    return r;
}

/* Sends it; once more with the service's time if its date is refused, and once more with another
 * credential if that is refused. */
static int send_with_credential(const struct service *service, struct service_request *request,
                                struct call *call, struct http_answer *ret)
{
    int r = take_credential(service, request, call);
    if (r == 0)
        r = send_request(service, request, call, ret);
    if (r == 0 && correct_date(service, request, ret))
        r = send_again(service, request, call, ret);
    if (r == 0 && is_refused(service, request, ret) && replace_credential(service, request, call))
        r = send_again(service, request, call, ret);
    return r;
}

int service_send(const struct service *service, struct service_request *request, int r,
                 struct call *call, struct http_answer *ret)
{
    _cleanup_(http_answer_finish) struct http_answer answer = {0};
    call->failure = (struct failure){0};
    if (r == 0)
        r = request_error(request);
    if (r < 0)
        return fail_request(request, r, call);
    r = send_with_credential(service, request, call, &answer);
    if (r < 0)
        return r;
    (void)http_date_parse(service_header(&answer, "Date"), &call->service_utc_100ns);
    if (answer.status != request->success && !(answer.status == 201 && request->success == 204))
        return fail_by_answer(service, request, &answer, call);
    *ret = answer;
    answer = (struct http_answer){0};
    return 0;
}

struct bytes service_header(const struct http_answer *answer, const char *name)
{
    struct bytes value = {0};
    (void)http_answer_header(answer, name, &value);
    return value;
}

struct service_answer service_answer_of(const struct http_answer *answer, bool is_of_change)
{
    struct service_answer service_answer = {
        .status = answer->status,
        .is_of_change = is_of_change,
        .body = buffer_bytes(&answer->body),
        .error_code = service_header(answer, "x-ms-error-code"),
        .request_id = service_header(answer, "x-ms-request-id"),
        .retry_after_ms = service_header(answer, "x-ms-retry-after-ms"),
        .retry_after = service_header(answer, "Retry-After"),
    };
    if (service_answer.retry_after_ms.size == 0)
        service_answer.retry_after_ms = service_header(answer, "retry-after-ms");
    return service_answer;
}

int service_fail_by_body(const struct http_answer *answer, int error, struct call *call)
{
    struct bytes request_id = service_header(answer, "x-ms-request-id");
    call->failure.http_status = answer->status;
    (void)snprintf(call->failure.request_id, sizeof(call->failure.request_id), "%.*s",
                   (int)request_id.size, request_id.data ? request_id.data : "");
    return error;
}

const char *service_url(const struct service *service)
{
    return service->connection->endpoint.url;
}

int64_t service_utc_100ns(const struct service *service)
{
    return clock_utc_100ns(service->clock);
}

int service_create(const struct service_options *options, const struct clock *clock,
                   struct service **ret)
{
    const struct endpoint *endpoint = &options->connection->endpoint;
    const struct http_options http = {
        .ca_file = options->ca_file,
        .use_proxy = !endpoint->is_loopback,
        .connect_ms = CONNECT_MS,
        .attempt_ms = ATTEMPT_MS,
        .body_max_bytes = ANSWER_MAX_BYTES,
        .answers_max_bytes = options->answers_max_bytes,
    };
    _cleanup_(freep) struct service *service = calloc(1, sizeof(*service));
    if (!service)
        return -ENOMEM;
    service->clock = clock;
    service->connection = options->connection;
    service->tokens = options->tokens;
    service->credentials = options->credentials;
    if (endpoint->is_https || endpoint->is_loopback) /* elsewhere another host could set the time */
        service->skew = options->skew;
    service->origin = (struct bytes){endpoint->url, endpoint->origin_size};
    service->base_path = endpoint->url + service->origin.size;
    int r = http_create(&http, clock, &service->http);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(service);
    return 0;
}

void service_destroy(struct service *service)
{
    if (!service)
        return;
    http_destroy(service->http);
    free(service);
}
