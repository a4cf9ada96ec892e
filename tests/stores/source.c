/* SPDX-License-Identifier: MIT */
#include "tests/stores/source.h"
#include "client/azure/azure_store.h"
#include "client/http/http.h"
#include "client/local/local_store.h"
#include "client/store/retrying_store.h"

#define LOCAL_PREFIX "local:"

struct source {
    struct connection connection;
    struct table_store *store;
};

static int open_service(struct source *source, const char *name, struct call *call)
{
    struct connection_environment environment = {.connection_string =
                                                     getenv("AZURE_STORAGE_CONNECTION_STRING"),
                                                 .account = getenv("AZURE_STORAGE_ACCOUNT"),
                                                 .key = getenv("AZURE_STORAGE_KEY"),
                                                 .sas_token = getenv("AZURE_STORAGE_SAS_TOKEN"),
                                                 .sas_url = getenv("AZURE_STORAGE_SAS_URL")};
    struct table_store *azure;
    int r = http_global_init();
    if (r == 0)
        r = connection_init(&source->connection, name, &environment, call);
    if (r < 0)
        return r;
    struct service_options options = {.connection = &source->connection,
                                      .answers_max_bytes = (size_t)64 << 20};
    r = azure_store_create(&options, &clock_system, &azure);
    if (r == 0) {
        const struct retrying_store_options retrying = {.timeout_ms = 60000};
        r = retrying_store_create(azure, &clock_system, &retrying, &source->store);
        if (r < 0)
            table_store_destroy(azure);
    }
    return r;
}

int source_open(const char *name, struct source **ret)
{
    _cleanup_(source_closep) struct source *source = calloc(1, sizeof(*source));
    struct call call = {.deadline_ms = clock_now_ms(&clock_system) + 10000};
    if (!source)
        return -ENOMEM;
    int r = strncmp(name, LOCAL_PREFIX, strlen(LOCAL_PREFIX)) == 0
                ? local_store_create(name + strlen(LOCAL_PREFIX), true, &clock_system, &call,
                                     &source->store)
                : open_service(source, name, &call);
    if (r < 0) {
        (void)fprintf(stderr, "SOURCE: %s\n",
                      call.failure.message[0] ? call.failure.message : strerror(-r));
        return r;
    }
    *ret = TAKE_PTR(source);
    return 0;
}

struct table_store *source_store(struct source *source)
{
    return source->store;
}

void source_close(struct source *source)
{
    if (!source)
        return;
    table_store_destroy(source->store);
    connection_finish(&source->connection);
    free(source);
}
