/* Lines: SOURCE, connection string, account, key, SAS token. What is accepted is a sane endpoint;
 * what is refused is one line. */
#include "client/azure/connection.h"
#include "client/text/table_name.h"
#include "tests/fuzz/fuzz.h"

static void check_endpoint(const struct endpoint *endpoint)
{
    bool is_https = strncmp(endpoint->url, "https://", 8) == 0;
    INVARIANT(is_https || (strncmp(endpoint->url, "http://", 7) == 0 && endpoint->is_loopback));
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer text;
    const char *lines[5] = {NULL};
    buffer_init(&text, (size_t)1 << 20);
    (void)buffer_append(&text, (struct bytes){(const char *)data, size});
    if (!buffer_string(&text))
        return 0;
    char *line = text.data;
    for (size_t i = 0; line && i < ARRAY_SIZE(lines); i++)
        lines[i] = strsep(&line, "\n");
    const struct connection_environment environment = {lines[1], lines[2], lines[3], lines[4]};
    struct connection connection = {0};
    struct call call = {0};
    int r = connection_init(&connection, lines[0], &environment, &call);
    if (r == 0) {
        INVARIANT(connection.credential);
        check_endpoint(&connection.endpoint);
    } else {
        check_refusal(&call);
    }
    connection_finish(&connection);
    buffer_finish(&text);
    return 0;
}
