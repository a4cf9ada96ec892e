/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_LOOPBACK_SERVER_H
#define TESTS_UNIT_LOOPBACK_SERVER_H
/* A server on a free loopback port that gives canned answers, one after the other, the last for
 * ever. For tests. */
#include "client/base/base.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum canned_end { CANNED_KEEP, CANNED_CLOSE, CANNED_RESET, CANNED_HANG };

struct canned {
    const char *raw;    /* the whole answer; NULL: the fields below */
    const char *status; /* "200 OK"; NULL: nothing is sent */
    const char *headers, *body;
    size_t padding; /* bytes of 'x' after the body */
    int delay_ms;
    enum canned_end end;
};

#define LOOPBACK_CONNECTIONS_MAX 256

struct loopback_server {
    const struct canned *answers;
    size_t count;
    int listener, port;
    pthread_t acceptor, handlers[LOOPBACK_CONNECTIONS_MAX];
    atomic_int sockets[LOOPBACK_CONNECTIONS_MAX];
    atomic_int connections, requests;
    atomic_bool is_stopping;
    pthread_mutex_t lock;
    /* guarded by lock */
    char last_request[64 << 10]; /* its headers */
    char *last_body;             /* as a string; NULL: no request yet */
};

struct loopback_connection {
    struct loopback_server *server;
    int index;
};

static inline void loopback_send(int socket, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t n = send(socket, text, size, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        text += n;
        size -= (size_t)n;
    }
}

static inline void loopback_answer(int socket, const struct canned *canned)
{
    char head[4096];
    if (canned->raw)
        loopback_send(socket, canned->raw, strlen(canned->raw));
    if (!canned->status)
        return;
    const char *body = canned->body ? canned->body : "";
    (void)snprintf(head, sizeof(head), "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n",
                   canned->status, canned->headers ? canned->headers : "",
                   strlen(body) + canned->padding);
    loopback_send(socket, head, strlen(head));
    loopback_send(socket, body, strlen(body));
    char padding[1 << 14];
    memset(padding, 'x', sizeof(padding));
    for (size_t left = canned->padding; left > 0; left -= MIN(left, sizeof(padding)))
        loopback_send(socket, padding, MIN(left, sizeof(padding)));
}

/* The value of Content-Length, 0 without one. */
static inline size_t loopback_body_size(const char *request)
{
    static const char name[] = "\r\nContent-Length: ";
    const char *found = strstr(request, name);
    return found ? (size_t)strtoull(found + sizeof(name) - 1, NULL, 10) : 0;
}

static inline bool loopback_read_body(struct loopback_server *server, int socket, size_t size)
{
    char *body = malloc(size + 1);
    if (!body)
        abort();
    bool is_whole = size == 0 || recv(socket, body, size, MSG_WAITALL) == (ssize_t)size;
    body[size] = '\0';
    (void)pthread_mutex_lock(&server->lock);
    free(server->last_body);
    server->last_body = body;
    (void)pthread_mutex_unlock(&server->lock);
    return is_whole;
}

/* Reads the next request. False: the connection has ended. */
static inline bool loopback_read(struct loopback_server *server, int socket)
{
    static _Thread_local char request[64 << 10];
    size_t size = 0;
    while (size < 4 || memcmp(request + size - 4, "\r\n\r\n", 4) != 0) {
        ssize_t n = recv(socket, request + size, 1, 0);
        if (n <= 0 || ++size == sizeof(request))
            return false;
    }
    request[size - 1] = '\0';
    (void)pthread_mutex_lock(&server->lock);
    memcpy(server->last_request, request, size);
    (void)pthread_mutex_unlock(&server->lock);
    return loopback_read_body(server, socket, loopback_body_size(request));
}

static inline void *loopback_handle(void *context)
{
    struct loopback_connection connection = *(struct loopback_connection *)context;
    struct loopback_server *server = connection.server;
    int socket = atomic_load(&server->sockets[connection.index]);
    enum canned_end end = CANNED_KEEP;
    free(context);
    while (end == CANNED_KEEP && loopback_read(server, socket)) {
        size_t n = (size_t)atomic_fetch_add(&server->requests, 1);
        const struct canned *canned = &server->answers[MIN(n, server->count - 1)];
        (void)usleep((useconds_t)canned->delay_ms * 1000);
        loopback_answer(socket, canned);
        end = canned->end;
    }
    while (end == CANNED_HANG && !atomic_load(&server->is_stopping))
        (void)usleep(5000);
    struct linger linger = {.l_onoff = 1};
    if (end == CANNED_RESET)
        (void)setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    atomic_store(&server->sockets[connection.index], -1);
    (void)close(socket);
    return NULL;
}

static inline void *loopback_accept(void *context)
{
    struct loopback_server *server = context;
    for (;;) {
        int socket = accept(server->listener, NULL, NULL);
        if (socket < 0)
            return NULL;
        struct loopback_connection *connection = malloc(sizeof(*connection));
        int index = atomic_load(&server->connections);
        if (!connection || index == LOOPBACK_CONNECTIONS_MAX)
            abort();
        *connection = (struct loopback_connection){server, index};
        atomic_store(&server->sockets[index], socket);
        if (pthread_create(&server->handlers[index], NULL, loopback_handle, connection) != 0)
            abort();
        atomic_fetch_add(&server->connections, 1);
    }
}

static inline void loopback_start(struct loopback_server *server, const struct canned *answers,
                                  size_t count)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    memset(server, 0, sizeof(*server));
    server->answers = answers;
    server->count = count;
    (void)pthread_mutex_init(&server->lock, NULL);
    server->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (server->listener < 0 || bind(server->listener, (struct sockaddr *)&address, size) != 0 ||
        listen(server->listener, LOOPBACK_CONNECTIONS_MAX) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &size) != 0)
        abort();
    server->port = ntohs(address.sin_port);
    if (pthread_create(&server->acceptor, NULL, loopback_accept, server) != 0)
        abort();
}

static inline void loopback_stop(struct loopback_server *server)
{
    atomic_store(&server->is_stopping, true);
    (void)shutdown(server->listener, SHUT_RDWR);
    (void)pthread_join(server->acceptor, NULL);
    (void)close(server->listener);
    for (int i = 0; i < atomic_load(&server->connections); i++) {
        int socket = atomic_load(&server->sockets[i]);
        if (socket >= 0)
            (void)shutdown(socket, SHUT_RDWR);
        (void)pthread_join(server->handlers[i], NULL);
    }
    (void)pthread_mutex_destroy(&server->lock);
    free(server->last_body);
}

/* The value of a header of the last request, cut to its line; NULL: it had none. The caller frees
 * it. */
static inline char *loopback_header(struct loopback_server *server, const char *name)
{
    char *value = NULL;
    (void)pthread_mutex_lock(&server->lock);
    for (char *line = server->last_request; line; line = strstr(line, "\r\n")) {
        line += line == server->last_request ? 0 : 2;
        if (strncasecmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':') {
            const char *begin = line + strlen(name) + 1;
            begin += strspn(begin, " ");
            value = strndup(begin, strcspn(begin, "\r"));
            break;
        }
    }
    (void)pthread_mutex_unlock(&server->lock);
    return value;
}

/* The last request's body, as a string. The caller frees it. */
static inline char *loopback_body(struct loopback_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    char *body = strdup(server->last_body ? server->last_body : "");
    (void)pthread_mutex_unlock(&server->lock);
    return body;
}

/* "GET /path?query HTTP/1.1" of the last request. The caller frees it. */
static inline char *loopback_request_line(struct loopback_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    char *line = strndup(server->last_request, strcspn(server->last_request, "\r"));
    (void)pthread_mutex_unlock(&server->lock);
    return line;
}

#endif
