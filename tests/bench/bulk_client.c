/* SPDX-License-Identifier: MIT */
/* What a plain program in C does, with libcurl and cJSON: reads a table page after page, or writes
 * it by transactions of 100, one after the other, over one connection. As bulk_sdk.js:
 *
 *     bulk_client list TABLE, or load TABLE NEW-TABLE
 *
 * Prints rows, requests and seconds as JSON; of load without the reading. */
#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCH_ROWS 100
#define URL_BYTES  8192

struct text {
    char *data;
    size_t size;
};

struct client {
    CURL *curl;
    const char *endpoint, *sas;
    useconds_t latency_us;
    struct curl_slist *json, *batch; /* headers */
    struct text answer;
    char next[2][4096]; /* of the last answer: NextPartitionKey, NextRowKey; "": none */
    size_t requests;
};

static void fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "bulk_client: %s: %s\n", what, why);
    exit(1);
}

static void append(struct text *text, const char *data, size_t size)
{
    text->data = realloc(text->data, text->size + size + 1);
    if (!text->data)
        fail("memory", "none");
    memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
}

static void append_string(struct text *text, const char *string)
{
    append(text, string, strlen(string));
}

static size_t take_body(char *data, size_t one, size_t size, void *context)
{
    (void)one;
    append(&((struct client *)context)->answer, data, size);
    return size;
}

static size_t take_header(char *data, size_t one, size_t size, void *context)
{
    static const char *const names[] = {"x-ms-continuation-nextpartitionkey: ",
                                        "x-ms-continuation-nextrowkey: "};
    struct client *client = context;
    (void)one;
    for (int i = 0; i < 2; i++) {
        size_t begin = strlen(names[i]);
        if (size > begin && size - begin < sizeof(client->next[i]) &&
            strncasecmp(data, names[i], begin) == 0)
            (void)snprintf(client->next[i], sizeof(client->next[i]), "%.*s",
                           (int)strcspn(data + begin, "\r\n"), data + begin);
    }
    return size;
}

/* body NULL: a GET. */
static void ask(struct client *client, const char *url, struct curl_slist *headers,
                const char *body)
{
    long status = 0;
    if (client->latency_us > 0)
        (void)usleep(client->latency_us);
    client->answer.size = 0;
    client->next[0][0] = client->next[1][0] = '\0';
    client->requests++;
    (void)curl_easy_setopt(client->curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers);
    if (body)
        (void)curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, body);
    else
        (void)curl_easy_setopt(client->curl, CURLOPT_HTTPGET, 1L);
    CURLcode code = curl_easy_perform(client->curl);
    (void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK || status >= 300)
        fail(url, code != CURLE_OK      ? curl_easy_strerror(code)
                  : client->answer.data ? client->answer.data
                                        : "refused");
}

static cJSON *list(struct client *client, const char *table)
{
    cJSON *rows = cJSON_CreateArray();
    char *keys[2] = {NULL, NULL}, url[URL_BYTES];
    do {
        (void)snprintf(url, sizeof(url), "%s/%s()?%s%s%s%s%s", client->endpoint, table, client->sas,
                       keys[0] ? "&NextPartitionKey=" : "", keys[0] ? keys[0] : "",
                       keys[1] ? "&NextRowKey=" : "", keys[1] ? keys[1] : "");
        ask(client, url, client->json, NULL);
        cJSON *page = cJSON_ParseWithLength(client->answer.data, client->answer.size), *row;
        cJSON *value = cJSON_GetObjectItemCaseSensitive(page, "value");
        if (!cJSON_IsArray(value))
            fail(url, "no rows");
        while ((row = cJSON_DetachItemFromArray(value, 0))) {
            cJSON_DeleteItemFromObjectCaseSensitive(row, "odata.etag");
            (void)cJSON_AddItemToArray(rows, row);
        }
        cJSON_Delete(page);
        for (int i = 0; i < 2; i++) {
            curl_free(keys[i]);
            keys[i] =
                client->next[i][0] ? curl_easy_escape(client->curl, client->next[i], 0) : NULL;
        }
    } while (keys[0]);
    curl_free(keys[1]);
    return rows;
}

static void append_change(struct client *client, struct text *body, const char *table,
                          const cJSON *row)
{
    char *text = cJSON_PrintUnformatted(row);
    append_string(body, "--changeset_1\r\nContent-Type: application/http\r\n"
                        "Content-Transfer-Encoding: binary\r\n\r\nPOST ");
    append_string(body, client->endpoint);
    append_string(body, "/");
    append_string(body, table);
    append_string(body, " HTTP/1.1\r\nContent-Type: application/json\r\n"
                        "Accept: application/json;odata=nometadata\r\n"
                        "Prefer: return-no-content\r\nDataServiceVersion: 3.0;\r\n\r\n");
    append_string(body, text);
    append_string(body, "\r\n");
    cJSON_free(text);
}

static void send_batch(struct client *client, struct text *body)
{
    char url[URL_BYTES];
    append_string(body, "--changeset_1--\r\n--batch_1--\r\n");
    (void)snprintf(url, sizeof(url), "%s/$batch?%s", client->endpoint, client->sas);
    ask(client, url, client->batch, body->data);
    if (!strstr(client->answer.data, " 204 "))
        fail("a transaction", client->answer.data);
    body->size = 0;
}

/* In the order of the keys: up to 100 rows of one partition. */
static void load(struct client *client, const cJSON *rows, const char *table)
{
    struct text body = {0};
    const char *partition = "";
    int n = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        const char *key =
            cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "PartitionKey"));
        if (n > 0 && (n == BATCH_ROWS || strcmp(key, partition) != 0)) {
            send_batch(client, &body);
            n = 0;
        }
        if (n++ == 0)
            append_string(&body, "--batch_1\r\n"
                                 "Content-Type: multipart/mixed; boundary=changeset_1\r\n\r\n");
        partition = key;
        append_change(client, &body, table, row);
    }
    if (n > 0)
        send_batch(client, &body);
    free(body.data);
}

static void create_table(struct client *client, const char *table)
{
    char url[URL_BYTES], body[200];
    (void)snprintf(url, sizeof(url), "%s/Tables?%s", client->endpoint, client->sas);
    (void)snprintf(body, sizeof(body), "{\"TableName\":\"%s\"}", table);
    ask(client, url, client->json, body);
}

static double now_sec(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct curl_slist *headers_of(const char *type)
{
    struct curl_slist *headers =
        curl_slist_append(NULL, "Accept: application/json;odata=minimalmetadata");
    headers = curl_slist_append(headers, "x-ms-version: 2019-02-02");
    headers = curl_slist_append(headers, "DataServiceVersion: 3.0;NetFx");
    return curl_slist_append(headers, type);
}

int main(int argc, char **argv)
{
    const char *latency_ms = getenv("SDK_LATENCY_MS");
    struct client client = {.endpoint = getenv("SDK_ENDPOINT"),
                            .sas = getenv("SDK_SAS"),
                            .latency_us = latency_ms ? (useconds_t)atoi(latency_ms) * 1000 : 0};
    bool loads = argc == 4 && strcmp(argv[1], "load") == 0;
    if ((!loads && (argc != 3 || strcmp(argv[1], "list") != 0)) || !client.endpoint || !client.sas)
        fail("usage", "bulk_client list TABLE, or load TABLE NEW-TABLE");
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    client.curl = curl_easy_init();
    if (!client.curl)
        fail("libcurl", "no memory");
    client.json = headers_of("Content-Type: application/json");
    client.batch = headers_of("Content-Type: multipart/mixed; boundary=batch_1");
    (void)curl_easy_setopt(client.curl, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(client.curl, CURLOPT_WRITEDATA, &client);
    (void)curl_easy_setopt(client.curl, CURLOPT_HEADERFUNCTION, take_header);
    (void)curl_easy_setopt(client.curl, CURLOPT_HEADERDATA, &client);
    double begin_sec = now_sec();
    cJSON *rows = list(&client, argv[2]);
    if (loads) {
        create_table(&client, argv[3]);
        client.requests = 0;
        begin_sec = now_sec();
        load(&client, rows, argv[3]);
    }
    (void)printf("{\"rows\":%d,\"requests\":%zu,\"seconds\":%.6f}\n", cJSON_GetArraySize(rows),
                 client.requests, now_sec() - begin_sec);
    cJSON_Delete(rows);
    curl_slist_free_all(client.json);
    curl_slist_free_all(client.batch);
    curl_easy_cleanup(client.curl);
    curl_global_cleanup();
    free(client.answer.data);
    return 0;
}
