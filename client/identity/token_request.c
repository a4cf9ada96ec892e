/* SPDX-License-Identifier: MIT */
#include "client/identity/token_request.h"
#include "client/http/http.h"
#include "client/http/request_url.h"
#include "client/identity/azure_cli.h"

#include <fcntl.h>
#include <unistd.h>

#define CONNECT_MS         10000
#define MACHINE_CONNECT_MS 2000 /* to a fixed address of the same machine */
#define ATTEMPT_MS         30000
#define FORM_MAX_BYTES     (4 * CREDENTIAL_BEARER_MAX_BYTES) /* an assertion is a token, too */

struct token_request {
    struct token_settings settings;
    const struct clock *clock;
    struct http *http; /* NULL: `az` is run */
};

static const char advice_machine[] =
    "this is no Azure virtual machine, or its identity service is not reachable: auth=msi works "
    "there, in Container Apps and in Functions";
static const char advice_authority[] =
    "check the network, the proxy that https_proxy names, and AZURE_AUTHORITY_HOST";
static const char advice_refused[] =
    "check AZURE_TENANT_ID, AZURE_CLIENT_ID, and the secret or the file of the token";
static const char advice_identity[] =
    "check that the machine or app has this identity; AZURE_CLIENT_ID names one of several";

static const char advice_cli[] = "see how long `az account get-access-token` takes in a shell, and "
                                 "whether it asks for something";

static bool is_of_authority(const struct token_request *request)
{
    return request->settings.mode == TOKEN_WORKLOAD || request->settings.mode == TOKEN_SPN;
}

static int fail_file(struct call *call, const char *why)
{
    return call_fail(call, -EACCES, "the file that AZURE_FEDERATED_TOKEN_FILE names %s", why);
}

/* The whole file, which is replaced when its token is renewed. */
static int read_file(const char *path, struct call *call, struct buffer *ret)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t n = file < 0 ? -1 : 1;
    while (n > 0) {
        char *room = buffer_reserve(ret, 1);
        size_t size = room ? ret->capacity - ret->size - 1 : 0;
        n = room ? read(file, room, MAX(size, (size_t)1)) : 0;
        ret->size += (size_t)MAX(n, 0);
    }
    int error = errno;
    if (file >= 0)
        (void)close(file);
    if (n < 0) {
        (void)fail_file(call, "cannot be read: ");
        size_t size = strlen(call->failure.message);
        (void)snprintf(call->failure.message + size, sizeof(call->failure.message) - size, "%s",
                       strerrordesc_np(error));
        return -EACCES;
    }
    if (ret->error == -ENOMEM)
        return call_fail(call, -ENOMEM, "out of memory");
    return ret->error < 0 ? fail_file(call, "is too large for a token") : 0;
}

static int append_assertion(const struct token_request *request, struct call *call,
                            struct buffer *ret)
{
    _cleanup_(buffer_wipe) struct buffer text;
    buffer_init(&text, CREDENTIAL_BEARER_MAX_BYTES);
    if (buffer_ensure(&text, CREDENTIAL_BEARER_MAX_BYTES) < 0)
        return call_fail(call, -ENOMEM, "out of memory");
    int r = read_file(request->settings.file, call, &text);
    if (r < 0)
        return r;
    struct bytes assertion = bytes_trim(buffer_bytes(&text));
    if (assertion.size == 0)
        return fail_file(call, "is empty");
    (void)buffer_append_string(ret, "&client_assertion=");
    r = request_url_append_encoded(ret, assertion);
    return r < 0 ? call_fail(call, -ENOMEM, "out of memory") : 0;
}

static int append_form(const struct token_request *request, struct call *call, struct buffer *ret)
{
    if (buffer_ensure(ret, FORM_MAX_BYTES) < 0 ||
        buffer_append(ret, buffer_bytes(&request->settings.form)) < 0)
        return call_fail(call, -ENOMEM, "out of memory");
    return request->settings.mode == TOKEN_WORKLOAD ? append_assertion(request, call, ret) : 0;
}

/* The failure is not one of the account's service. */
static int fail_sending(const struct token_request *request, struct call *call)
{
    struct failure *failure = &call->failure;
    bool is_of_network = failure->error == -EHOSTUNREACH || failure->error == -ECONNREFUSED ||
                         failure->error == -ETIMEDOUT;
    failure->is_unanswered = failure->is_unresolved = failure->is_ambiguous = false;
    failure->has_begun_answer = false;
    if (is_of_network)
        failure->advice = is_of_authority(request) ? advice_authority : advice_machine;
    return failure->error;
}

static int send_by_http(struct token_request *request, struct call *call, struct http_answer *ret)
{
    _cleanup_(buffer_wipe) struct buffer form;
    struct http_request http_request = {.method = is_of_authority(request) ? "POST" : "GET",
                                        .url = buffer_string(&request->settings.url),
                                        .headers = buffer_bytes(&request->settings.headers)};
    buffer_init(&form, FORM_MAX_BYTES);
    int r = http_request.url ? 0 : call_fail(call, -ENOMEM, "out of memory");
    if (r == 0 && is_of_authority(request)) {
        r = append_form(request, call, &form);
        http_request.body = buffer_bytes(&form);
    }
    if (r < 0)
        return r;
    r = http_send(request->http, &http_request, call, ret);
    return r < 0 ? fail_sending(request, call) : 0;
}

static int read_answer(const struct token_request *request, const struct http_answer *answer,
                       struct call *call, struct token_answer *ret)
{
    struct bytes body = buffer_bytes(&answer->body);
    if (answer->status == 200)
        return token_answer_read(body, clock_utc_100ns(request->clock), call, ret);
    int r = token_answer_refusal(body, answer->status, call);
    if (r == -EACCES)
        call->failure.advice = is_of_authority(request) ? advice_refused : advice_identity;
    return r;
}

static int run_cli(const struct token_request *request, struct call *call, struct token_answer *ret)
{
    _cleanup_(buffer_wipe) struct buffer text;
    buffer_init(&text, TOKEN_ANSWER_MAX_BYTES);
    if (buffer_ensure(&text, TOKEN_ANSWER_MAX_BYTES) < 0)
        return call_fail(call, -ENOMEM, "out of memory");
    int r = azure_cli_request(request->settings.tenant, request->clock, call, &text);
    return r < 0
               ? r
               : token_answer_read(buffer_bytes(&text), clock_utc_100ns(request->clock), call, ret);
}

static int request_token(void *context, struct call *call, struct token_answer *ret)
{
    struct token_request *request = context;
    struct http_answer answer = {0};
    if (!request->http)
        return run_cli(request, call, ret);
    int r = send_by_http(request, call, &answer);
    if (r < 0)
        return r;
    r = read_answer(request, &answer, call, ret);
    if (answer.body.data)
        explicit_bzero(answer.body.data, answer.body.capacity);
    http_answer_finish(&answer);
    return r;
}

struct token_issuer token_request_issuer(struct token_request *request)
{
    const char *advice = is_of_authority(request) ? advice_authority : advice_machine;
    return (struct token_issuer){.request = request_token,
                                 .context = request,
                                 .name = request->settings.name,
                                 .advice_late = request->http ? advice : advice_cli};
}

int token_request_create(struct token_settings *settings, const char *ca_file,
                         const struct clock *clock, struct token_request **ret)
{
    _cleanup_(token_request_destroyp) struct token_request *request = calloc(1, sizeof(*request));
    if (!request) {
        token_settings_finish(settings);
        return -ENOMEM;
    }
    request->settings = *settings;
    *settings = (struct token_settings){0};
    request->clock = clock;
    const struct http_options options = {
        .ca_file = ca_file,
        .use_proxy = is_of_authority(request),
        .connect_ms = is_of_authority(request) ? CONNECT_MS : MACHINE_CONNECT_MS,
        .attempt_ms = ATTEMPT_MS,
        .body_max_bytes = TOKEN_ANSWER_MAX_BYTES,
        .answers_max_bytes = TOKEN_ANSWER_MAX_BYTES,
    };
    int r =
        request->settings.mode == TOKEN_AZCLI ? 0 : http_create(&options, clock, &request->http);
    if (r == 0)
        *ret = TAKE_PTR(request);
    return r;
}

void token_request_destroy(struct token_request *request)
{
    if (!request)
        return;
    http_destroy(request->http);
    token_settings_finish(&request->settings);
    free(request);
}
