/* SPDX-License-Identifier: MIT */
#include "client/store/counting_store.h"
#include "client/base/locked.h"
#include "client/text/metrics.h"
#include "client/text/printable.h"

#include <pthread.h>

#define MAX_ROWS     512 /* of the table; further commands are counted as "other" */
#define OPERATIONS   8
#define COMMAND_SIZE 16 /* the kernel's limit for a command name, with its NUL */

struct row {
    const char *operation;
    char command[COMMAND_SIZE];
    int http_status;
    uint64_t requests, rows, bytes, duration_ms;
};

/* How long requests took. */
static const int bounds_ms[] = {5,    10,   25,   50,    100,   250,  500,
                                1000, 2500, 5000, 10000, 30000, 60000};
struct histogram {
    const char *operation;
    uint64_t requests[ARRAY_SIZE(bounds_ms) + 1]; /* the last: above all bounds */
    uint64_t duration_ms;
};

struct counting_store {
    struct table_store store;
    struct table_store *inner;
    const struct clock *clock;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct row rows[MAX_ROWS];
    size_t n;
    struct histogram histograms[OPERATIONS]; /* of those that were used */
};

static bool row_is(const struct row *row, const char *operation, int http_status,
                   const char *command)
{
    return row->http_status == http_status && strcmp(row->operation, operation) == 0 &&
           strcmp(row->command, command) == 0;
}

static struct row *find_row_locked(struct counting_store *self, const char *operation,
                                   int http_status, const char *command)
{
    for (size_t i = 0; i < self->n; i++)
        if (row_is(&self->rows[i], operation, http_status, command))
            return &self->rows[i];
    return NULL;
}

/* The row to count in. The last quarter of the table is kept for "other", so that every request is
 * counted. */
static struct row *take_row_locked(struct counting_store *self, const char *operation,
                                   int http_status, const char *command)
{
    struct row *row = find_row_locked(self, operation, http_status, command);
    if (!row && self->n >= MAX_ROWS - MAX_ROWS / 4) {
        command = "other";
        row = find_row_locked(self, operation, http_status, command);
    }
    if (row)
        return row;
    if (self->n == MAX_ROWS) /* more statuses than HTTP has: counted in the last row */
        return &self->rows[MAX_ROWS - 1];
    row = &self->rows[self->n++];
    row->operation = operation;
    row->http_status = http_status;
    (void)snprintf(row->command, sizeof(row->command), "%s", command);
    return row;
}

struct load { /* what a request read or wrote */
    size_t rows, bytes;
};

static void observe_locked(struct counting_store *self, const char *operation, int64_t ms)
{
    struct histogram *histogram = self->histograms;
    while (histogram->operation && strcmp(histogram->operation, operation) != 0)
        histogram++;
    size_t bucket = 0;
    while (bucket < ARRAY_SIZE(bounds_ms) && ms > bounds_ms[bucket])
        bucket++;
    histogram->operation = operation;
    histogram->requests[bucket]++;
    histogram->duration_ms += (uint64_t)ms;
}

static int count(struct counting_store *self, const char *operation, const struct call *call,
                 int64_t begin_ms, struct load load, int r)
{
    char command[COMMAND_SIZE];
    (void)snprintf(command, sizeof(command), "%s", call->command ? call->command : "");
    printable_replace_string(command); /* before it is a key: two labels must not be alike */
    int http_status = r < 0 ? call->failure.http_status : 200;
    int64_t duration_ms = MAX(clock_now_ms(self->clock) - begin_ms, 0);

    LOCKED(&self->lock);
    struct row *row = take_row_locked(self, operation, http_status, command);
    row->requests++;
    if (r >= 0) {
        row->rows += load.rows;
        row->bytes += load.bytes;
    }
    row->duration_ms += (uint64_t)duration_ms;
    observe_locked(self, operation, duration_ms);
    return r;
}

static struct load load_of_page(struct page_builder *builder)
{
    return (struct load){page_builder_rows(builder), page_builder_text(builder)->size};
}

static int counting_query(struct table_store *store, const struct query *query, struct call *call,
                          struct page_builder *builder, struct continuation **ret_next)
{
    struct counting_store *self = (struct counting_store *)store;
    int64_t begin_ms = clock_now_ms(self->clock);
    int r = self->inner->ops->query(self->inner, query, call, builder, ret_next);
    return count(self, "query", call, begin_ms, load_of_page(builder), r);
}

static int counting_get(struct table_store *store, const char *table, struct bytes position,
                        struct call *call, struct page_builder *builder)
{
    struct counting_store *self = (struct counting_store *)store;
    int64_t begin_ms = clock_now_ms(self->clock);
    int r = self->inner->ops->get(self->inner, table, position, call, builder);
    return count(self, "get", call, begin_ms, load_of_page(builder), r);
}

static int counting_list_tables(struct table_store *store, const char *only,
                                const struct continuation *after, struct call *call,
                                struct table_names *ret, struct continuation **ret_next)
{
    struct counting_store *self = (struct counting_store *)store;
    int64_t begin_ms = clock_now_ms(self->clock);
    int r = self->inner->ops->list_tables(self->inner, only, after, call, ret, ret_next);
    return count(self, "list_tables", call, begin_ms, (struct load){0}, r);
}

static int counting_write(struct table_store *store, const char *table, const struct write *writes,
                          size_t n, struct call *call, struct write_result *ret)
{
    struct counting_store *self = (struct counting_store *)store;
    int64_t begin_ms = clock_now_ms(self->clock);
    int r = self->inner->ops->write(self->inner, table, writes, n, call, ret);
    struct load load = {.rows = n};
    for (size_t i = 0; i < n; i++)
        load.bytes += writes[i].text.size;
    return count(self,
                 n > 1                            ? "batch"
                 : writes[0].kind == WRITE_DELETE ? "delete"
                                                  : "write",
                 call, begin_ms, load, r);
}

static int counting_create_table(struct table_store *store, const char *table, struct call *call)
{
    struct counting_store *self = (struct counting_store *)store;
    int64_t begin_ms = clock_now_ms(self->clock);
    int r = self->inner->ops->create_table(self->inner, table, call);
    return count(self, "create_table", call, begin_ms, (struct load){0}, r);
}

static int counting_delete_table(struct table_store *store, const char *table, struct call *call)
{
    struct counting_store *self = (struct counting_store *)store;
    int64_t begin_ms = clock_now_ms(self->clock);
    int r = self->inner->ops->delete_table(self->inner, table, call);
    return count(self, "delete_table", call, begin_ms, (struct load){0}, r);
}

static size_t counting_write_size(struct table_store *store, const char *table,
                                  const struct write *write)
{
    return table_store_write_size(((struct counting_store *)store)->inner, table, write);
}

static const struct table_store_limits *counting_limits(struct table_store *store)
{
    return table_store_limits(((struct counting_store *)store)->inner);
}

static void counting_destroy(struct table_store *store)
{
    struct counting_store *self = (struct counting_store *)store;
    table_store_destroy(self->inner);
    (void)pthread_mutex_destroy(&self->lock);
    free(self);
}

static const struct table_store_ops counting_ops = {.query = counting_query,
                                                    .get = counting_get,
                                                    .list_tables = counting_list_tables,
                                                    .write = counting_write,
                                                    .write_size = counting_write_size,
                                                    .create_table = counting_create_table,
                                                    .delete_table = counting_delete_table,
                                                    .limits = counting_limits,
                                                    .destroy = counting_destroy};

int counting_store_create(struct table_store *inner, const struct clock *clock,
                          struct table_store **ret)
{
    struct counting_store *self = calloc(1, sizeof(*self));
    if (!self)
        return -ENOMEM;
    (void)pthread_mutex_init(&self->lock, NULL);
    self->store.ops = &counting_ops;
    self->inner = inner;
    self->clock = clock;
    *ret = &self->store;
    return 0;
}

static const struct {
    const char *name, *help;
    size_t offset; /* of an uint64_t in struct row */
    bool is_ms;
} metrics[] = {
    {"tablefuse_requests_total",
     "Requests sent to the service, by HTTP status (0: no answer) and the command they were for.",
     offsetof(struct row, requests), false},
    {"tablefuse_request_rows_total", "Entities that they read or wrote.",
     offsetof(struct row, rows), false},
    {"tablefuse_request_bytes_total",
     "Bytes of keys, ETags and texts that were read, and of texts that were written.",
     offsetof(struct row, bytes), false},
    {"tablefuse_request_seconds_total", "Time that they took.", offsetof(struct row, duration_ms),
     true},
};

static void append_seconds(struct buffer *ret, uint64_t ms)
{
    (void)buffer_append_format(ret, "%llu.%03llu", (unsigned long long)ms / 1000,
                               (unsigned long long)ms % 1000);
}

static void append_sample(struct buffer *ret, size_t metric, const struct row *row)
{
    uint64_t value;
    memcpy(&value, (const char *)row + metrics[metric].offset, sizeof(value));
    (void)buffer_append_format(ret, "%s{", metrics[metric].name);
    (void)metrics_append_label(ret, "operation", row->operation);
    (void)buffer_append_format(ret, ",status=\"%d\",", row->http_status);
    (void)metrics_append_label(ret, "command", row->command);
    (void)buffer_append_string(ret, "} ");
    if (metrics[metric].is_ms)
        append_seconds(ret, value);
    else
        (void)buffer_append_format(ret, "%llu", (unsigned long long)value);
    (void)buffer_append_char(ret, '\n');
}

#define DURATION "tablefuse_request_duration_seconds"

static void append_histogram(struct buffer *ret, const struct histogram *histogram)
{
    uint64_t requests = 0;
    for (size_t i = 0; i <= ARRAY_SIZE(bounds_ms); i++) {
        requests += histogram->requests[i];
        (void)buffer_append_format(ret, DURATION "_bucket{operation=\"%s\",le=\"",
                                   histogram->operation);
        if (i < ARRAY_SIZE(bounds_ms))
            (void)buffer_append_format(ret, "%g", bounds_ms[i] / 1000.0);
        else
            (void)buffer_append_string(ret, "+Inf");
        (void)buffer_append_format(ret, "\"} %llu\n", (unsigned long long)requests);
    }
    (void)buffer_append_format(ret, DURATION "_sum{operation=\"%s\"} ", histogram->operation);
    append_seconds(ret, histogram->duration_ms);
    (void)buffer_append_format(ret, "\n" DURATION "_count{operation=\"%s\"} %llu\n",
                               histogram->operation, (unsigned long long)requests);
}

uint64_t counting_store_requests(struct table_store *store)
{
    struct counting_store *self = (struct counting_store *)store;
    uint64_t sum = 0;
    LOCKED(&self->lock);
    for (size_t i = 0; i < self->n; i++)
        sum += self->rows[i].requests;
    return sum;
}

int counting_store_append_metrics(struct table_store *store, struct buffer *ret)
{
    struct counting_store *self = (struct counting_store *)store;
    struct histogram histograms[OPERATIONS];
    struct row *rows = malloc(sizeof(self->rows));
    if (!rows)
        return -ENOMEM;
    (void)pthread_mutex_lock(&self->lock);
    size_t n = self->n;
    memcpy(rows, self->rows, n * sizeof(*rows));
    memcpy(histograms, self->histograms, sizeof(histograms));
    (void)pthread_mutex_unlock(&self->lock);

    for (size_t m = 0; m < ARRAY_SIZE(metrics); m++) {
        (void)metrics_append_head(ret, metrics[m].name, "counter", metrics[m].help);
        for (size_t i = 0; i < n; i++)
            append_sample(ret, m, &rows[i]);
    }
    free(rows);
    (void)metrics_append_head(ret, DURATION, "histogram", "Time that each request took.");
    for (size_t i = 0; i < OPERATIONS && histograms[i].operation; i++)
        append_histogram(ret, &histograms[i]);
    return ret->error;
}
