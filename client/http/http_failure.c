/* SPDX-License-Identifier: MIT */
#include "client/http/http_failure.h"
#include "client/http/url.h"

#include <fcntl.h>
#include <unistd.h>

#define LINE_MAX_BYTES ((size_t)256 << 10) /* more than libcurl keeps of a line */
#define AUTHORITY_SIZE 280                 /* a host of 253 characters, and a port */

static const char advice_connect[] =
    "check that the service runs there and that no firewall is between";
static const char advice_proxy[] = "check the proxy that https_proxy names";
static const char advice_broken[] =
    "the connection broke: check the network, and the proxy, VPN or firewall on the way";

/* Another attempt may succeed. */
static int retryable(struct call *call)
{
    call->failure.is_retryable = true;
    return call->failure.error;
}

/* Of a URL: HOST or HOST:PORT. */
static void print_authority(const char *url, char ret[AUTHORITY_SIZE])
{
    _cleanup_(url_finish) struct url parts;
    bool is_split = url_split(bytes_of(url), &parts) == CURLUE_OK;
    (void)snprintf(ret, AUTHORITY_SIZE, "%s%s%s", is_split ? parts.host : "the service",
                   is_split && parts.port ? ":" : "", is_split && parts.port ? parts.port : "");
}

int http_fail_late(struct call *call, const char *url, bool is_retryable)
{
    char authority[AUTHORITY_SIZE];
    print_authority(url, authority);
    (void)call_fail_with(call, -ETIMEDOUT, call_advice_late, "no answer from %s in time",
                         authority);
    return is_retryable ? retryable(call) : -ETIMEDOUT;
}

int http_fail_unconnected(struct call *call, const char *url)
{
    char authority[AUTHORITY_SIZE];
    print_authority(url, authority);
    (void)call_fail_with(call, -EHOSTUNREACH, advice_connect, "no connection to %s in time",
                         authority);
    return retryable(call);
}

int http_fail_broken(struct call *call)
{
    (void)call_fail_with(call, -EIO, advice_broken,
                         "the connection broke within the answer's headers");
    return retryable(call);
}

static const struct reason {
    CURLcode code;
    int error;
    bool is_retryable;
    const char *advice;
} reasons[] = {
    {CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH, true,
     "no storage account has this name, or this machine cannot resolve names: check both"},
    {CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH, true, advice_proxy},
    {CURLE_COULDNT_CONNECT, -EHOSTUNREACH, true, advice_connect},
    /* libcurl has no time limit for the exchange, so this is the limit for connecting */
    {CURLE_OPERATION_TIMEDOUT, -EHOSTUNREACH, true, advice_connect},
    {CURLE_PEER_FAILED_VERIFICATION, -EPROTO, false,
     "the server's certificate is not trusted for this host: if it is the right server, name the "
     "authority that signed it with ca_cert=FILE or SSL_CERT_FILE"},
    {CURLE_SSL_CACERT_BADFILE, -EPROTO, false,
     "the file that ca_cert= or SSL_CERT_FILE names cannot be read as certificates in PEM"},
    {CURLE_SSL_CONNECT_ERROR, -EPROTO, true,
     "check that the endpoint speaks TLS 1.2 or newer at this port"},
    {CURLE_GOT_NOTHING, -EIO, true, advice_broken},
    {CURLE_SEND_ERROR, -EIO, true, advice_broken},
    {CURLE_RECV_ERROR, -EIO, true, advice_broken},
    {CURLE_PARTIAL_FILE, -EIO, true, advice_broken},
    {CURLE_URL_MALFORMAT, -EIO, false, NULL},
    {CURLE_UNSUPPORTED_PROTOCOL, -EIO, false, "check the endpoint: its server does not speak HTTP"},
    {CURLE_OUT_OF_MEMORY, -ENOMEM, false, NULL},
};

/* libcurl's limit for one line is 100 KiB. Before version 8.6 it calls a longer one a lack of
 * memory; it is one only if there is no memory now either. */
static bool is_line_too_long(const struct http_transfer *transfer)
{
    CURLcode code = transfer->code;
    const int too_large = 100; /* CURLE_TOO_LARGE */
    if (transfer->sends == 0 || transfer->is_head_complete)
        return false;
    if ((int)code == too_large)
        return true;
    _cleanup_(freep) void *memory = code == CURLE_OUT_OF_MEMORY ? malloc(LINE_MAX_BYTES) : NULL;
    return memory != NULL;
}

/* libcurl reports a lack of descriptors in many ways: no address, no route, no certificates. So
 * this tries whether there is one now. */
static bool lacks_descriptor(void)
{
    int fd = open("/", O_PATH | O_CLOEXEC);
    bool is_lacking = fd < 0 && (errno == EMFILE || errno == ENFILE);
    if (fd >= 0)
        (void)close(fd);
    return is_lacking;
}

/* libcurl's message then quotes the address, in which a password may be. */
static bool is_proxy_malformed(const char *message)
{
    static const char beginning[] = "Unsupported proxy ";
    return strncmp(message, beginning, strlen(beginning)) == 0;
}

static int fail_malformed_proxy(struct call *call)
{
    return call_fail_with(call, -EHOSTUNREACH, advice_proxy,
                          "proxy: its address is malformed, or has a scheme that libcurl does not "
                          "know");
}

/* Did libcurl fail to connect to another host or port than the URL's? Then it was a proxy: libcurl
 * has that only in its message. */
static bool is_connect_to_proxy(const char *message, const char *url)
{
    char expected[AUTHORITY_SIZE + 20];
    _cleanup_(url_finish) struct url parts;
    if (url_split(bytes_of(url), &parts) != CURLUE_OK ||
        strncmp(message, "Failed to connect to ", 21) != 0)
        return false;
    bool is_literal = parts.host[0] == '[';
    const char *port = strcmp(parts.scheme, "https") == 0 ? "443" : "80";
    (void)snprintf(expected, sizeof(expected), " to %.*s port %s ",
                   (int)strlen(parts.host) - 2 * is_literal, parts.host + is_literal,
                   parts.port ? parts.port : port);
    return strcasestr(message, expected) == NULL;
}

/* A proxy that was not reached, or that answered to CONNECT that it does not connect. */
static bool is_of_proxy(const struct http_transfer *transfer, long *ret_status)
{
    CURLcode code = transfer->code;
    *ret_status = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_HTTP_CONNECTCODE, ret_status);
    return *ret_status >= 300 || code == CURLE_COULDNT_RESOLVE_PROXY ||
           (code == CURLE_COULDNT_CONNECT && is_connect_to_proxy(transfer->message, transfer->url));
}

/* What is no HTTP on a connection that has served another exchange is the rest of that answer. */
static bool is_rest_of_answer(const struct http_transfer *transfer)
{
    long connects = 1;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_NUM_CONNECTS, &connects);
    return transfer->code == CURLE_UNSUPPORTED_PROTOCOL && transfer->sends > 0 && connects == 0;
}

static struct reason reason_of(const struct http_transfer *transfer)
{
    CURLcode code = is_rest_of_answer(transfer) ? CURLE_RECV_ERROR : transfer->code;
    struct reason reason = {code, -EIO, true, NULL};
    long os_error = 0;
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
        if (reasons[i].code == code)
            reason = reasons[i];
    }
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &os_error);
    if (code == CURLE_COULDNT_CONNECT && os_error == ECONNREFUSED)
        reason.error = -ECONNREFUSED;
    return reason;
}

int http_fail_transfer(struct call *call, const struct http_transfer *transfer)
{
    CURLcode code = transfer->code;
    long proxy_status;
    if (transfer->headers_error == -ENOMEM || transfer->body_error == -ENOMEM)
        return call_fail(call, -ENOMEM, "out of memory");
    if (transfer->headers_error < 0 || is_line_too_long(transfer))
        return call_fail(call, -EPROTO, "the headers of the answer are too long");
    if (transfer->body_error < 0)
        return call_fail(call, transfer->body_error, "the answer is longer than the limit");
    if (transfer->sends == 0 && lacks_descriptor()) {
        (void)call_fail_no_descriptor(call);
        return retryable(call);
    }
    if (is_proxy_malformed(transfer->message))
        return fail_malformed_proxy(call);
    struct reason reason = reason_of(transfer);
    bool is_proxys = is_of_proxy(transfer, &proxy_status);
    if (proxy_status >= 300) {
        reason.error = -EHOSTUNREACH;
        reason.is_retryable = proxy_status >= 500 || proxy_status == 408 || proxy_status == 429;
    }
    (void)call_fail_with(call, reason.error, is_proxys ? advice_proxy : reason.advice, "%s%s",
                         is_proxys ? "proxy: " : "",
                         transfer->message[0] ? transfer->message : curl_easy_strerror(code));
    call->failure.is_retryable = reason.is_retryable;
    call->failure.is_unresolved = code == CURLE_COULDNT_RESOLVE_HOST;
    return reason.error;
}
