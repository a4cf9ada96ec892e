/* SPDX-License-Identifier: MIT */
/* Lines: SOURCE, connection string, account, key, SAS token, SAS URL, "1" if http is allowed. What
 * is accepted is a sane endpoint; what is refused is one line. */
#include "client/identity/connection.h"
#include "client/text/table_name.h"
#include "tests/fuzz/fuzz.h"

static void check_connection(const struct connection *connection, bool allows_http)
{
    const struct endpoint *endpoint = &connection->endpoint;
    bool is_https = strncmp(endpoint->url, "https://", 8) == 0;
    INVARIANT(connection->credential);
    INVARIANT(is_https || strncmp(endpoint->url, "http://", 7) == 0);
    INVARIANT(is_https == endpoint->is_https);
    INVARIANT(is_https || endpoint->is_loopback || connection->is_published || allows_http);
    INVARIANT(!connection->is_published || strcmp(endpoint->account, "devstoreaccount1") == 0);
    INVARIANT(!strchr(endpoint->url + strlen("https://"), '/') ||
              endpoint->url[endpoint->origin_size] == '/');
    INVARIANT(!strpbrk(endpoint->url, "?#@ \t\r\n\"'\\%"));
    INVARIANT(endpoint->url[strlen(endpoint->url) - 1] != '/');
    INVARIANT(endpoint_is_account_name(bytes_of(endpoint->account)));
    INVARIANT(endpoint->table[0] == '\0' || table_name_is_readable(bytes_of(endpoint->table)));
}

static void check_refusal(const struct call *call)
{
    size_t n = strlen(call->failure.message);
    INVARIANT(call->failure.error == -EINVAL && n > 0);
    for (size_t i = 0; i < n; i++)
        INVARIANT(call->failure.message[i] >= ' ' && call->failure.message[i] < 0x7F);
}

/* What messages say of SOURCE is none of the rest of it. */
static void check_source(const char *source, const struct connection_environment *environment)
{
    char account[ENDPOINT_ACCOUNT_SIZE];
    connection_find_lacking(source, environment, account);
    INVARIANT(account[0] == '\0' || endpoint_is_account_name(bytes_of(account)));
    if (!connection_is_emulator(source))
        return;
    const struct connection_environment none = {.key = NULL};
    struct connection connection = {0};
    struct call call = {0};
    if (connection_init(&connection, source, &none, &call) == 0)
        INVARIANT(connection.is_published && connection.endpoint.is_loopback);
    else
        check_refusal(&call); /* of its table */
    connection_finish(&connection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer text;
    const char *lines[7] = {NULL};
    buffer_init(&text, (size_t)1 << 20);
    (void)buffer_append(&text, (struct bytes){(const char *)data, size});
    if (!buffer_string(&text))
        return 0;
    char *line = text.data;
    for (size_t i = 0; line && i < ARRAY_SIZE(lines); i++)
        lines[i] = strsep(&line, "\n");
    const struct connection_environment environment = {.connection_string = lines[1],
                                                       .account = lines[2],
                                                       .key = lines[3],
                                                       .sas_token = lines[4],
                                                       .sas_url = lines[5],
                                                       .allows_http =
                                                           lines[6] && strcmp(lines[6], "1") == 0};
    struct connection connection = {0};
    struct call call = {0};
    int r = connection_init(&connection, lines[0], &environment, &call);
    if (r == 0)
        check_connection(&connection, environment.allows_http);
    else
        check_refusal(&call);
    connection_finish(&connection);
    check_source(lines[0], &environment);
    buffer_finish(&text);
    return 0;
}
