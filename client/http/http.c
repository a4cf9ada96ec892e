/* SPDX-License-Identifier: MIT */
#include "client/http/http.h"
#include "client/base/condition.h"
#include "client/base/monitor.h"
#include "client/http/http_failure.h"
#include "client/http/http_header.h"

#define HEADERS_MAX_BYTES ((size_t)64 << 10)

/* A handle and the state of its exchange; between exchanges it stays in the pool, with its
 * connection. Each easy handle has a multi handle of its own, because only a multi handle can wait
 * with a timeout and continue. DNS answers and TLS sessions are not shared between handles: kept
 * connections make both rare. */
struct exchange {
    CURL *easy;
    CURLM *multi;
    struct http_answer answer;
    struct answer_wait wait; /* for room in the budget */
    bool is_paused;          /* until there is room */
    bool is_head_complete;   /* the empty line after the headers was received */
    int sends;
    char error[CURL_ERROR_SIZE];
    struct exchange *next;
};

struct http {
    struct http_options options;
    const struct clock *clock;
    struct answer_budget budget;
    struct monitor monitor;
    /* guarded by the monitor: */
    struct exchange *idle;    /* a stack: the most recently used connection first */
    int in_use, lanes[LANES]; /* exchanges, and of them each lane's */
    /* not guarded: */
    char ca_file[]; /* options.ca_file */
};

static void exchange_destroy(struct exchange *exchange)
{
    if (!exchange)
        return;
    curl_easy_cleanup(exchange->easy);
    (void)curl_multi_cleanup(exchange->multi);
    free(exchange);
}

DEFINE_CLEANUP(struct exchange *, exchange_destroy);
/* A token or a signature is in it. */
static void wipe_list(struct curl_slist *list)
{
    for (struct curl_slist *it = list; it; it = it->next)
        explicit_bzero(it->data, strlen(it->data));
    curl_slist_free_all(list);
}
DEFINE_CLEANUP(struct curl_slist *, wipe_list);

static size_t take_body(char *data, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    struct http_answer *answer = &exchange->answer;
    size_t n = size * count;
    exchange->is_paused = !answer_budget_take(answer->budget, &exchange->wait, n);
    if (exchange->is_paused)
        return CURL_WRITEFUNC_PAUSE;
    answer->charged += n;
    return buffer_append(&answer->body, (struct bytes){data, n}) < 0 ? 0 : n;
}

/* A status line begins a new answer: "100 Continue" precedes the real one. */
static size_t take_header(char *data, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    struct bytes line = {data, size * count};
    if (bytes_start_with(line, BYTES_LITERAL("HTTP/"))) {
        buffer_clear(&exchange->answer.headers);
        exchange->is_head_complete = false;
    } else if (line.data[0] == '\r' || line.data[0] == '\n') {
        exchange->is_head_complete = true;
    }
    return buffer_append(&exchange->answer.headers, line) < 0 ? 0 : line.size;
}

static int count_send(void *context, char *remote, char *local, int remote_port, int local_port)
{
    struct exchange *exchange = context;
    (void)remote;
    (void)local;
    (void)remote_port;
    (void)local_port;
    exchange->sends++;
    return CURL_PREREQFUNC_OK;
}

static bool set_transport(CURL *easy, const struct http *http)
{
    unsigned failed = 0;
    failed |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    failed |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    failed |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    failed |= curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    failed |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    failed |= curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    failed |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)http->options.connect_ms);
    /* a cancelled exchange does not wait for the resolver's thread */
    failed |= curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    failed |= curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    failed |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    failed |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (http->options.ca_file) { /* no other certificates are trusted */
        failed |= curl_easy_setopt(easy, CURLOPT_CAINFO, http->options.ca_file);
        failed |= curl_easy_setopt(easy, CURLOPT_CAPATH, (char *)NULL);
    }
    if (!http->options.use_proxy)
        failed |= curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* ignores the environment */
    return failed == 0;
}

static bool set_callbacks(struct exchange *exchange)
{
    unsigned failed = 0;
    CURL *easy = exchange->easy;
    failed |= curl_easy_setopt(easy, CURLOPT_USERAGENT, "tablefuse/" TABLEFUSE_VERSION);
    failed |= curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    failed |= curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->error);
    failed |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    failed |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
    failed |= curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    failed |= curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
    failed |= curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, count_send);
    failed |= curl_easy_setopt(easy, CURLOPT_PREREQDATA, exchange);
    return failed == 0;
}

/* Resets it for the next exchange; the answer was moved out before. */
static void exchange_reset(struct exchange *exchange, struct http *http)
{
    answer_budget_stop(&http->budget, &exchange->wait);
    exchange->is_paused = false;
    exchange->answer = (struct http_answer){.budget = &http->budget};
    buffer_init(&exchange->answer.headers, HEADERS_MAX_BYTES);
    buffer_init(&exchange->answer.body, http->options.body_max_bytes);
    exchange->is_head_complete = false;
    exchange->sends = 0;
    exchange->error[0] = '\0';
}

static int exchange_create(struct http *http, struct exchange **ret)
{
    _cleanup_(exchange_destroyp) struct exchange *exchange = calloc(1, sizeof(*exchange));
    if (!exchange)
        return -ENOMEM;
    exchange_reset(exchange, http);
    exchange->easy = curl_easy_init();
    exchange->multi = curl_multi_init();
    if (!exchange->easy || !exchange->multi || !set_transport(exchange->easy, http) ||
        !set_callbacks(exchange))
        return -ENOMEM;
    *ret = TAKE_PTR(exchange);
    return 0;
}

/* Before anything is sent. */
static int check_call(const struct http *http, const char *url, struct call *call)
{
    int r = call_check(call, http->clock, "");
    return r == -ETIMEDOUT ? http_fail_late(call, url, false) : r;
}

static bool has_room(const struct http *http, unsigned lane)
{
    int left = HTTP_EXCHANGES_MAX - (http->in_use - http->lanes[lane]);
    return http->in_use < HTTP_EXCHANGES_MAX && http->lanes[lane] < MAX(left * 4 / 5, 1);
}

/* Takes an idle one, or gets permission to create one (NULL, true). False: neither within
 * CONDITION_WAIT_MS. */
static bool take_from_pool(struct http *http, unsigned lane, struct exchange **ret)
{
    monitor_enter(&http->monitor);
    if (!has_room(http, lane))
        monitor_wait(&http->monitor);
    bool is_taken = has_room(http, lane);
    struct exchange *exchange = is_taken ? http->idle : NULL;
    if (exchange)
        http->idle = exchange->next;
    http->in_use += is_taken;
    http->lanes[lane] += is_taken;
    monitor_leave(&http->monitor);
    *ret = exchange;
    return is_taken;
}

/* `exchange` NULL: it could not be created. */
static void put_into_pool(struct http *http, unsigned lane, struct exchange *exchange)
{
    monitor_enter(&http->monitor);
    http->in_use--;
    http->lanes[lane]--;
    if (exchange) {
        exchange->next = http->idle;
        http->idle = exchange;
    }
    monitor_notify(&http->monitor);
    monitor_leave(&http->monitor);
}

static int take_exchange(struct http *http, const struct http_request *request, struct call *call,
                         struct exchange **ret)
{
    unsigned lane = request->lane;
    while (!take_from_pool(http, lane, ret)) {
        int r = check_call(http, request->url, call);
        if (r < 0)
            return r;
    }
    if (*ret)
        return 0;
    int r = exchange_create(http, ret);
    if (r == 0)
        return 0;
    put_into_pool(http, lane, NULL);
    return call_fail(call, r, "out of memory");
}

static int check_time(const struct http *http, const struct exchange *exchange, const char *url,
                      struct call *call, int64_t end_ms)
{
    if (call_is_cancelled(call))
        return call_fail(call, -EINTR, "interrupted");
    if (clock_now_ms(http->clock) < end_ms)
        return 0;
    if (exchange->sends > 0)
        return http_fail_late(call, url, call_remaining_ms(call, http->clock) > 0);
    return http_fail_unconnected(call, url);
}

/* Waits for the next event. A pause for want of room is not the service's: that time does not count
 * for the attempt. */
static void wait_for_event(const struct http *http, const struct exchange *exchange,
                           int64_t *end_ms)
{
    int64_t began_ms = clock_now_ms(http->clock);
    bool was_paused = exchange->is_paused;
    (void)curl_multi_poll(exchange->multi, NULL, 0, CONDITION_WAIT_MS, NULL);
    if (was_paused)
        *end_ms += clock_now_ms(http->clock) - began_ms;
    if (was_paused)
        (void)curl_easy_pause(exchange->easy, CURLPAUSE_CONT); /* calls the callback again */
}

/* Runs until the transfer ends, the call is cancelled, or the time is over. */
static int drive(const struct http *http, const struct exchange *exchange, const char *url,
                 struct call *call, CURLcode *ret_code)
{
    CURLM *multi = exchange->multi;
    int64_t attempt_end_ms = clock_now_ms(http->clock) + http->options.attempt_ms;
    int running = 1, left;
    for (;;) {
        CURLMcode code = curl_multi_perform(multi, &running);
        if (code == CURLM_OUT_OF_MEMORY)
            return call_fail(call, -ENOMEM, "out of memory");
        if (code != CURLM_OK)
            return call_fail(call, -EIO, "libcurl failed to run the request");
        if (running == 0)
            break;
        int r = check_time(http, exchange, url, call, MIN(call->deadline_ms, attempt_end_ms));
        if (r < 0)
            return r;
        wait_for_event(http, exchange, &attempt_end_ms);
    }
    const CURLMsg *message = curl_multi_info_read(multi, &left);
    *ret_code = message ? message->data.result : CURLE_FAILED_INIT;
    return 0;
}

static int fail_transfer(const struct exchange *exchange, CURLcode code, const char *url,
                         struct call *call)
{
    const struct http_transfer transfer = {.easy = exchange->easy,
                                           .code = code,
                                           .message = exchange->error,
                                           .url = url,
                                           .sends = exchange->sends,
                                           .is_head_complete = exchange->is_head_complete,
                                           .headers_error = exchange->answer.headers.error,
                                           .body_error = exchange->answer.body.error};
    return http_fail_transfer(call, &transfer);
}

static int transfer(const struct http *http, struct exchange *exchange, const char *url,
                    struct call *call)
{
    CURLcode code = CURLE_OK;
    long status = 0;
    if (curl_multi_add_handle(exchange->multi, exchange->easy) != CURLM_OK)
        return call_fail(call, -ENOMEM, "out of memory");
    int r = drive(http, exchange, url, call, &code);
    (void)curl_multi_remove_handle(exchange->multi, exchange->easy);
    if (r < 0)
        return r;
    if (code != CURLE_OK)
        return fail_transfer(exchange, code, url, call);
    /* libcurl accepts the end of the connection as the end of the headers */
    if (!exchange->is_head_complete)
        return http_fail_broken(call);
    (void)curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    exchange->answer.status = (int)status;
    exchange->answer.was_resent = exchange->sends > 1;
    return 0;
}

static int append_to_list(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = line ? curl_slist_append(*list, line) : NULL;
    if (!longer)
        return -ENOMEM;
    *list = longer;
    return 0;
}

/* "Expect:" without a value: libcurl must not wait for a "100 Continue". */
static int make_headers(struct bytes headers, struct curl_slist **ret)
{
    _cleanup_(wipe_listp) struct curl_slist *list = NULL;
    int r = append_to_list(&list, "Expect:");
    while (r == 0 && headers.size > 0) {
        struct bytes line = http_header_take_line(&headers);
        char *string = strndup(line.data, line.size);
        r = append_to_list(&list, string);
        if (string)
            explicit_bzero(string, line.size);
        free(string);
    }
    if (r == 0)
        *ret = TAKE_PTR(list);
    return r;
}

static bool set_request(CURL *easy, const struct http_request *request, struct curl_slist *headers)
{
    unsigned failed = 0;
    failed |= curl_easy_setopt(easy, CURLOPT_URL, request->url);
    failed |= curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    if (request->body.data) {
        failed |=
            curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
        failed |= curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.data);
    }
    failed |= curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    return failed == 0;
}

/* Removes the pointers to the request's data from the handle. */
static void clear_request(CURL *easy)
{
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, (struct curl_slist *)NULL);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, (char *)NULL);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, (char *)NULL);
}

static int perform(const struct http *http, struct exchange *exchange,
                   const struct http_request *request, struct call *call)
{
    _cleanup_(wipe_listp) struct curl_slist *headers = NULL;
    int r = make_headers(request->headers, &headers);
    if (r == 0 && !set_request(exchange->easy, request, headers))
        r = -ENOMEM;
    r = r < 0 ? call_fail(call, r, "out of memory") : transfer(http, exchange, request->url, call);
    clear_request(exchange->easy);
    if (r < 0) {
        /* not this machine's or the caller's */
        bool is_services = r != -EINTR && r != -ENOMEM && r != -ENFILE;
        call->failure.is_ambiguous = exchange->sends > 0 && strcmp(request->method, "GET") != 0;
        call->failure.has_begun_answer = exchange->answer.headers.size > 0;
        call->failure.is_unanswered = is_services && !call->failure.has_begun_answer;
    }
    return r;
}

int http_send(struct http *http, const struct http_request *request, struct call *call,
              struct http_answer *ret)
{
    struct exchange *exchange = NULL;
    int r = check_call(http, request->url, call);
    if (r == 0)
        r = take_exchange(http, request, call, &exchange);
    if (r != 0)
        return r;
    r = perform(http, exchange, request, call);
    if (r == 0)
        *ret = exchange->answer;
    else
        http_answer_finish(&exchange->answer);
    exchange_reset(exchange, http);
    put_into_pool(http, request->lane, exchange);
    return r;
}

bool http_answer_header(const struct http_answer *answer, const char *name, struct bytes *ret)
{
    return http_header_find(buffer_bytes(&answer->headers), name, ret);
}

void http_answer_finish(struct http_answer *answer)
{
    buffer_finish(&answer->headers);
    buffer_finish(&answer->body);
    if (answer->budget)
        answer_budget_give_back(answer->budget, answer->charged);
    answer->charged = 0;
}

int http_global_init(void)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : -ENOMEM;
}

int http_create(const struct http_options *options, const struct clock *clock, struct http **ret)
{
    size_t ca_size = options->ca_file ? strlen(options->ca_file) + 1 : 0;
    struct http *http = calloc(1, sizeof(*http) + ca_size);
    if (!http)
        return -ENOMEM;
    answer_budget_init(&http->budget, options->answers_max_bytes);
    monitor_init(&http->monitor);
    http->options = *options;
    if (options->ca_file) {
        memcpy(http->ca_file, options->ca_file, ca_size);
        http->options.ca_file = http->ca_file;
    }
    http->clock = clock;
    *ret = http;
    return 0;
}

void http_destroy(struct http *http)
{
    if (!http)
        return;
    while (http->idle) {
        struct exchange *exchange = http->idle;
        http->idle = exchange->next;
        exchange_destroy(exchange);
    }
    monitor_finish(&http->monitor);
    answer_budget_finish(&http->budget);
    free(http);
}
