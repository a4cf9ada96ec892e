/* SPDX-License-Identifier: MIT */
#include "tests/stores/faulty_store.h"
#include "client/azure/service_error.h"
#include "tests/stores/kill_switch.h"
#include "tests/stores/rival.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define MAX_FAULTS  16
#define MAX_INTAKES 64 /* partitions with the same place are throttled together */

enum operation {
    QUERY,
    GET,
    LIST_TABLES,
    WRITE, /* this and those after it are changes */
    BATCH,
    DELETE,
    CREATE_TABLE,
    DELETE_TABLE,
    OPERATIONS
};

static const char *const operation_names[OPERATIONS] = {
    "query", "get", "list_tables", "write", "batch", "delete", "create_table", "delete_table"};

struct fault {
    bool hits[OPERATIONS];
    uint64_t first, last; /* requests, from 1; of a refusal: first is the row */
    uint64_t every;       /* only each request whose number it divides; 0: all */
    bool is_lost;         /* passed on, but not answered */
    bool is_hung;         /* not answered, and not passed on */
    enum rival_deed deed; /* before it is passed on */
    size_t row;           /* of the request, from 1, that the deed is done to */
    int status;
    char code[64];
};

/* What a throttled partition has taken since then. */
struct intake {
    int64_t since_ms;
    uint64_t rows;
};

struct faulty_store {
    struct table_store store;
    struct table_store *inner;
    const struct clock *clock;
    int64_t latency_ms, page_ms;
    int short_rows, empty_pages; /* 0: not asked for */
    uint64_t circle_from;        /* 0: never */
    uint64_t endless_from;       /* 0: never */
    char down_file[256];         /* "": none */
    struct fault held;           /* which operations */
    char hold_file[256];         /* "": none */
    char only[64];               /* "": every table */
    char partition[64];          /* "": every partition */
    uint64_t throttled_rows;     /* 0: never */
    int64_t throttled_ms;
    struct fault faults[MAX_FAULTS];
    size_t fault_count;
    struct fault refusal; /* first 0: none */
    _Atomic uint64_t requests[OPERATIONS];
    pthread_mutex_t lock;
    struct intake intakes[MAX_INTAKES]; /* guarded by lock */
};

/* What a request is about, as far as rules look at it. */
struct subject {
    const char *table;          /* NULL: the tables of the account */
    struct bytes partition;     /* without data: no single one */
    const struct write *writes; /* NULL: none */
    size_t n;
};

static bool parse_operation(const char *name, struct fault *fault)
{
    bool is_known = false;
    for (size_t i = 0; i < OPERATIONS; i++) {
        bool is_named = strcmp(name, "*") == 0 || strcmp(name, operation_names[i]) == 0;
        fault->hits[i] |= is_named;
        is_known |= is_named;
    }
    return is_known;
}

/* "3", "3+", "*", "/3" */
static bool parse_which(const char *which, struct fault *fault)
{
    fault->first = 1;
    fault->last = UINT64_MAX;
    if (strcmp(which, "*") == 0)
        return true;
    if (which[0] == '/')
        return bytes_parse_unsigned(bytes_of(which + 1), UINT32_MAX, &fault->every) &&
               fault->every > 0;
    size_t digits = strspn(which, "0123456789");
    bool is_open = strcmp(which + digits, "+") == 0;
    if (!is_open && which[digits] != '\0')
        return false;
    if (!bytes_parse_unsigned((struct bytes){which, digits}, UINT32_MAX, &fault->first))
        return false;
    if (!is_open)
        fault->last = fault->first;
    return true;
}

static bool add_fault(struct faulty_store *self, const struct fault *fault)
{
    if (self->fault_count == MAX_FAULTS)
        return false;
    self->faults[self->fault_count++] = *fault;
    return true;
}

static bool parse_fail(struct faulty_store *self, const char *rule)
{
    char operation[16], which[24];
    struct fault fault = {0};
    return sscanf(rule, "%15[^:]:%23[^:]:%d:%63s", operation, which, &fault.status, fault.code) >=
               3 &&
           parse_operation(operation, &fault) && parse_which(which, &fault) &&
           add_fault(self, &fault);
}

/* OP:N. `fault`: what happens to these requests. */
static bool parse_which_requests(struct faulty_store *self, const char *rule, struct fault fault)
{
    char operation[16], which[24];
    return sscanf(rule, "%15[^:]:%23s", operation, which) == 2 &&
           parse_operation(operation, &fault) && parse_which(which, &fault) &&
           add_fault(self, &fault);
}

/* OP:N:ROW */
static bool parse_deed(struct faulty_store *self, const char *rule, enum rival_deed deed)
{
    char operation[16], which[24];
    struct fault fault = {.deed = deed};
    return sscanf(rule, "%15[^:]:%23[^:]:%zu", operation, which, &fault.row) == 3 &&
           fault.row > 0 && parse_operation(operation, &fault) && parse_which(which, &fault) &&
           add_fault(self, &fault);
}

/* ROWS:MS */
static bool parse_throttle(struct faulty_store *self, const char *rule)
{
    return sscanf(rule, "%lu:%ld", &self->throttled_rows, &self->throttled_ms) == 2 &&
           self->throttled_rows > 0;
}

static bool parse_refuse(struct faulty_store *self, const char *rule)
{
    struct fault *fault = &self->refusal;
    return sscanf(rule, "%lu:%d:%63s", &fault->first, &fault->status, fault->code) >= 2 &&
           fault->first > 0;
}

static bool parse_down(struct faulty_store *self, const char *file)
{
    (void)snprintf(self->down_file, sizeof(self->down_file), "%s", file);
    return strcmp(self->down_file, file) == 0;
}

static bool parse_hold(struct faulty_store *self, const char *rule)
{
    char operation[16];
    return sscanf(rule, "%15[^:]:%255s", operation, self->hold_file) == 2 &&
           parse_operation(operation, &self->held);
}

static bool copy_name(const char *name, char ret[64])
{
    return snprintf(ret, 64, "%s", name) < 64;
}

static bool parse_number_rule(struct faulty_store *self, const char *rule)
{
    uint64_t number;
    const char *equals = strchr(rule, '=');
    if (!equals || !bytes_parse_unsigned(bytes_of(equals + 1), INT32_MAX, &number))
        return false;
    if (strncmp(rule, "latency=", 8) == 0)
        self->latency_ms = (int64_t)number;
    else if (strncmp(rule, "page=", 5) == 0)
        self->page_ms = (int64_t)number;
    else if (strncmp(rule, "short=", 6) == 0)
        self->short_rows = (int)number;
    else if (strncmp(rule, "empty=", 6) == 0)
        self->empty_pages = (int)number;
    else if (strncmp(rule, "circle=", 7) == 0)
        self->circle_from = number;
    else if (strncmp(rule, "endless=", 8) == 0)
        self->endless_from = number;
    else
        return false;
    return true;
}

static bool parse_rule(struct faulty_store *self, const char *rule)
{
    if (strncmp(rule, "fail=", 5) == 0)
        return parse_fail(self, rule + 5);
    if (strncmp(rule, "lost=", 5) == 0)
        return parse_which_requests(self, rule + 5, (struct fault){.is_lost = true});
    if (strncmp(rule, "hang=", 5) == 0)
        return parse_which_requests(self, rule + 5, (struct fault){.is_hung = true});
    if (strncmp(rule, "gone=", 5) == 0)
        return parse_deed(self, rule + 5, RIVAL_DELETES);
    if (strncmp(rule, "changed=", 8) == 0)
        return parse_deed(self, rule + 8, RIVAL_CHANGES);
    if (strncmp(rule, "dropped=", 8) == 0)
        return parse_which_requests(self, rule + 8, (struct fault){.deed = RIVAL_DROPS});
    if (strncmp(rule, "throttle=", 9) == 0)
        return parse_throttle(self, rule + 9);
    if (strncmp(rule, "only=", 5) == 0)
        return copy_name(rule + 5, self->only);
    if (strncmp(rule, "partition=", 10) == 0)
        return copy_name(rule + 10, self->partition);
    if (strncmp(rule, "refuse=", 7) == 0)
        return parse_refuse(self, rule + 7);
    if (strncmp(rule, "hold=", 5) == 0)
        return parse_hold(self, rule + 5);
    if (strncmp(rule, "down=", 5) == 0)
        return parse_down(self, rule + 5);
    return parse_number_rule(self, rule);
}

static bool is_hit_by(const struct fault *fault, enum operation operation, uint64_t number)
{
    return fault->hits[operation] && number >= fault->first && number <= fault->last &&
           (fault->every == 0 || number % fault->every == 0);
}

static int wait_for(struct faulty_store *self, int64_t ms, struct call *call)
{
    int64_t end = clock_now_ms(self->clock) + ms;
    for (;;) {
        if (call_is_cancelled(call))
            return call_fail(call, -EINTR, "interrupted");
        int64_t left = MIN(end - clock_now_ms(self->clock), call_remaining_ms(call, self->clock));
        if (left <= 0)
            break;
        self->clock->sleep_ms(self->clock->context, MIN(left, 20));
    }
    if (clock_now_ms(self->clock) >= end)
        return 0;
    (void)call_fail(call, -ETIMEDOUT, "no answer in time");
    call->failure.is_unanswered = true;
    return -ETIMEDOUT;
}

static int fail_as_reset(bool is_change, struct call *call)
{
    (void)call_fail(call, -EIO, "the connection was reset");
    call->failure.is_retryable = true;
    call->failure.is_ambiguous = is_change;
    call->failure.is_unanswered = true;
    return -EIO;
}

/* As client/http/http does. */
static int fail_as_refused(struct call *call)
{
    (void)call_fail(call, -ECONNREFUSED, "the connection was refused");
    call->failure.is_retryable = true;
    call->failure.is_unanswered = true;
    return -ECONNREFUSED;
}

static int fail_as(const struct faulty_store *self, const struct fault *fault, bool is_change,
                   struct call *call)
{
    if (fault->status == 0)
        return fail_as_reset(is_change, call);
    struct service_answer answer = {
        .status = fault->status, .is_of_change = is_change, .error_code = bytes_of(fault->code)};
    (void)service_error_read(&answer, clock_utc_100ns(self->clock), &call->failure);
    return call->failure.error;
}

static int note_held(const struct faulty_store *self, struct call *call)
{
    char path[sizeof(self->hold_file) + sizeof(".held")];
    (void)snprintf(path, sizeof(path), "%s.held", self->hold_file);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    bool is_noted = file >= 0 && write(file, "x", 1) == 1;
    if (file >= 0)
        (void)close(file);
    return is_noted ? 0 : call_fail(call, -EIO, "cannot write %s", path);
}

/* Waits while the file exists. */
static int hold(const struct faulty_store *self, struct call *call)
{
    bool is_held = false;
    int r = 0;
    while (r == 0 && access(self->hold_file, F_OK) == 0) {
        r = is_held ? call_check(call, self->clock, "no answer in time") : note_held(self, call);
        is_held = true;
        self->clock->sleep_ms(self->clock->context, 5);
    }
    return r;
}

static bool is_down(const struct faulty_store *self)
{
    return self->down_file[0] && access(self->down_file, F_OK) == 0;
}

static bool is_meant(const struct faulty_store *self, const struct subject *subject)
{
    return (self->only[0] == '\0' || (subject->table && strcmp(subject->table, self->only) == 0)) &&
           (self->partition[0] == '\0' ||
            (subject->partition.data &&
             bytes_equal(subject->partition, bytes_of(self->partition))));
}

static int do_deed(struct faulty_store *self, const struct fault *fault,
                   const struct subject *subject, struct call *call)
{
    bool is_of_row = fault->deed != RIVAL_DROPS;
    if (!subject->table || (is_of_row && fault->row > subject->n))
        return 0;
    struct bytes position =
        is_of_row ? subject->writes[fault->row - 1].position : (struct bytes){0};
    return rival_act(self->inner, self->clock, fault->deed, subject->table, position, call);
}

/* 0, or the failure of a fault that hits the request. */
static int suffer(struct faulty_store *self, const struct fault *fault, enum operation operation,
                  const struct subject *subject, struct call *call, bool *ret_is_lost)
{
    if (fault->is_lost) {
        *ret_is_lost = true;
        return 0;
    }
    if (fault->deed != RIVAL_NONE)
        return do_deed(self, fault, subject, call);
    if (fault->is_hung)
        return wait_for(self, INT32_MAX, call); /* the call ends first */
    return fail_as(self, fault, operation >= WRITE, call);
}

/* A partition that takes no more rows now answers so. */
static int throttle(struct faulty_store *self, const struct subject *subject, struct call *call)
{
    static const struct fault busy = {.status = 503, .code = "ServerBusy"};
    if (self->throttled_rows == 0 || !subject->writes)
        return 0;
    uint64_t partition = bytes_hash(BYTES_HASH_START, subject->partition);
    int64_t now_ms = clock_now_ms(self->clock);
    (void)pthread_mutex_lock(&self->lock);
    struct intake *intake = &self->intakes[partition % MAX_INTAKES];
    if (intake->rows == 0 || now_ms - intake->since_ms >= self->throttled_ms)
        *intake = (struct intake){now_ms, 0};
    bool is_busy = intake->rows > 0 && intake->rows + subject->n > self->throttled_rows;
    intake->rows += is_busy ? 0 : subject->n;
    (void)pthread_mutex_unlock(&self->lock);
    return is_busy ? fail_as(self, &busy, true, call) : 0;
}

/* Applies the rules to a request before it is sent; answered() follows if it is. *ret_is_lost: its
 * answer is to be dropped; NULL for reads. 0, or -errno: it is not sent. */
static int apply_rules(struct faulty_store *self, enum operation operation,
                       const struct subject *subject, struct call *call, bool *ret_is_lost)
{
    bool is_hit = is_meant(self, subject);
    uint64_t number = is_hit ? atomic_fetch_add(&self->requests[operation], 1) + 1 : 0;
    int r = self->held.hits[operation] ? hold(self, call) : 0;
    bool is_lost = false;
    if (r == 0 && is_down(self))
        r = fail_as_refused(call);
    if (r == 0 && self->latency_ms > 0)
        r = wait_for(self, self->latency_ms, call);
    if (r == 0)
        r = throttle(self, subject, call);
    for (size_t i = 0; r == 0 && is_hit && i < self->fault_count; i++)
        if (is_hit_by(&self->faults[i], operation, number))
            r = suffer(self, &self->faults[i], operation, subject, call, &is_lost);
    if (ret_is_lost)
        *ret_is_lost = is_lost;
    if (r == 0)
        kill_switch_pass(KILL_REQUEST, operation);
    return r;
}

/* Passes on what the inner store has answered. */
static int answered(enum operation operation, int r)
{
    kill_switch_pass(KILL_ANSWER, operation);
    return r;
}

/* Our token: the number of empty pages answered so far (one character), then the inner store's
 * token, if there is one. */
static int wrap_token(int empty_pages, const struct continuation *inner, struct call *call,
                      struct continuation **ret)
{
    _cleanup_(buffer_finish) struct buffer token;
    buffer_init(&token, (size_t)8 << 10);
    int r = buffer_append_char(&token, (char)('0' + empty_pages));
    if (r == 0 && inner)
        r = buffer_append(&token, continuation_token(inner));
    if (r == 0)
        r = continuation_create(buffer_bytes(&token), BYTES_LITERAL(""), ret);
    return r < 0 ? call_fail(call, r, "no memory for a token") : 0;
}

static int unwrap_token(const struct continuation *after, struct call *call, int *ret_empty_pages,
                        struct continuation **ret)
{
    *ret_empty_pages = 0;
    if (!after)
        return 0;
    struct bytes token = continuation_token(after);
    *ret_empty_pages = token.data[0] - '0';
    int r = token.size > 1
                ? continuation_create(bytes_skip(token, 1), continuation_position(after), ret)
                : 0;
    return r < 0 ? call_fail(call, r, "no memory for a token") : 0;
}

/* A page without rows, and a token that was not there before. */
static int answer_endlessly(uint64_t number, struct call *call, struct continuation **ret_next)
{
    char token[32];
    (void)snprintf(token, sizeof(token), "0%llu", (unsigned long long)number);
    int r = continuation_create(bytes_of(token), BYTES_LITERAL(""), ret_next);
    return r < 0 ? call_fail(call, r, "no memory for a token") : 0;
}

static int faulty_query(struct table_store *store, const struct query *query, struct call *call,
                        struct page_builder *builder, struct continuation **ret_next)
{
    struct faulty_store *self = (struct faulty_store *)store;
    _cleanup_(continuation_destroyp) struct continuation *after = NULL;
    _cleanup_(continuation_destroyp) struct continuation *next = NULL;
    int empty_pages = 0;
    struct subject subject = {.table = query->table};
    if (range_is_in_partition(query->range))
        subject.partition = position_partition_key(query->range.lo);
    int r = apply_rules(self, QUERY, &subject, call, NULL);
    if (r == 0 && self->page_ms > 0 && query->top > 1)
        r = wait_for(self, self->page_ms, call);
    if (r == 0)
        r = unwrap_token(query->after, call, &empty_pages, &after);
    if (r < 0)
        return r;
    uint64_t number = atomic_load(&self->requests[QUERY]);
    if (self->endless_from > 0 && number >= self->endless_from)
        return answer_endlessly(number, call, ret_next);
    if (self->circle_from > 0 && number >= self->circle_from)
        return wrap_token((empty_pages + 1) % 3, NULL, call, ret_next);
    if (empty_pages < self->empty_pages)
        return wrap_token(empty_pages + 1, after, call, ret_next);

    struct query inner_query = *query;
    inner_query.after = after;
    if (self->short_rows > 0)
        inner_query.top = MIN(query->top, self->short_rows);
    r = answered(QUERY, self->inner->ops->query(self->inner, &inner_query, call, builder, &next));
    return r == 0 && next ? wrap_token(0, next, call, ret_next) : r;
}

static int faulty_get(struct table_store *store, const char *table, struct bytes position,
                      struct call *call, struct page_builder *builder)
{
    struct faulty_store *self = (struct faulty_store *)store;
    const struct subject subject = {.table = table, .partition = position_partition_key(position)};
    int r = apply_rules(self, GET, &subject, call, NULL);
    if (r < 0)
        return r;
    return answered(GET, self->inner->ops->get(self->inner, table, position, call, builder));
}

static int faulty_list_tables(struct table_store *store, const char *only,
                              const struct continuation *after, struct call *call,
                              struct table_names *ret, struct continuation **ret_next)
{
    struct faulty_store *self = (struct faulty_store *)store;
    int r = apply_rules(self, LIST_TABLES, &(struct subject){0}, call, NULL);
    uint64_t number = atomic_load(&self->requests[LIST_TABLES]);
    if (r == 0 && self->endless_from > 0 && number >= self->endless_from)
        return answer_endlessly(number, call, ret_next);
    if (r < 0)
        return r;
    return answered(LIST_TABLES,
                    self->inner->ops->list_tables(self->inner, only, after, call, ret, ret_next));
}

static enum operation operation_of(const struct write *writes, size_t n)
{
    if (n > 1)
        return BATCH;
    return writes[0].kind == WRITE_DELETE ? DELETE : WRITE;
}

static int refuse(struct faulty_store *self, struct call *call)
{
    int r = fail_as(self, &self->refusal, true, call);
    call->failure.operation = (int)self->refusal.first - 1;
    return r;
}

static int faulty_write(struct table_store *store, const char *table, const struct write *writes,
                        size_t n, struct call *call, struct write_result *ret)
{
    struct faulty_store *self = (struct faulty_store *)store;
    bool is_lost;
    enum operation operation = operation_of(writes, n);
    const struct subject subject = {.table = table,
                                    .partition = position_partition_key(writes[0].position),
                                    .writes = writes,
                                    .n = n};
    int r = apply_rules(self, operation, &subject, call, &is_lost);
    if (r < 0)
        return r;
    if (n > 1 && self->refusal.first > 0 && self->refusal.first <= n)
        return refuse(self, call);
    r = answered(operation, self->inner->ops->write(self->inner, table, writes, n, call, ret));
    if (is_lost)
        memset(ret, 0, n * sizeof(*ret)); /* so are its results */
    return is_lost ? fail_as_reset(true, call) : r;
}

static int faulty_create_table(struct table_store *store, const char *table, struct call *call)
{
    struct faulty_store *self = (struct faulty_store *)store;
    bool is_lost;
    int r = apply_rules(self, CREATE_TABLE, &(struct subject){.table = table}, call, &is_lost);
    if (r == 0)
        r = answered(CREATE_TABLE, self->inner->ops->create_table(self->inner, table, call));
    return is_lost ? fail_as_reset(true, call) : r;
}

static int faulty_delete_table(struct table_store *store, const char *table, struct call *call)
{
    struct faulty_store *self = (struct faulty_store *)store;
    bool is_lost;
    int r = apply_rules(self, DELETE_TABLE, &(struct subject){.table = table}, call, &is_lost);
    if (r == 0)
        r = answered(DELETE_TABLE, self->inner->ops->delete_table(self->inner, table, call));
    return is_lost ? fail_as_reset(true, call) : r;
}

static size_t faulty_write_size(struct table_store *store, const char *table,
                                const struct write *write)
{
    return table_store_write_size(((struct faulty_store *)store)->inner, table, write);
}

static const struct table_store_limits *faulty_limits(struct table_store *store)
{
    return table_store_limits(((struct faulty_store *)store)->inner);
}

static void faulty_destroy(struct table_store *store)
{
    struct faulty_store *self = (struct faulty_store *)store;
    table_store_destroy(self->inner);
    (void)pthread_mutex_destroy(&self->lock);
    free(self);
}

static const struct table_store_ops faulty_ops = {.query = faulty_query,
                                                  .get = faulty_get,
                                                  .list_tables = faulty_list_tables,
                                                  .write = faulty_write,
                                                  .write_size = faulty_write_size,
                                                  .create_table = faulty_create_table,
                                                  .delete_table = faulty_delete_table,
                                                  .limits = faulty_limits,
                                                  .destroy = faulty_destroy};

int faulty_store_create(struct table_store *inner, const struct clock *clock, const char *rules,
                        struct table_store **ret)
{
    struct faulty_store *self = calloc(1, sizeof(*self));
    _cleanup_(freep) char *copy = strdup(rules);
    if (!self || !copy || pthread_mutex_init(&self->lock, NULL) != 0) {
        free(self);
        return -ENOMEM;
    }
    self->store.ops = &faulty_ops;
    self->inner = inner;
    self->clock = clock;
    char *rest = copy;
    for (char *rule; (rule = strsep(&rest, ",")) != NULL;) {
        if (rule[0] != '\0' && !parse_rule(self, rule)) {
            (void)pthread_mutex_destroy(&self->lock);
            free(self);
            return -EINVAL;
        }
    }
    *ret = &self->store;
    return 0;
}
