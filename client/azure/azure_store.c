/* SPDX-License-Identifier: MIT */
#include "client/azure/azure_store.h"
#include "client/azure/batch.h"
#include "client/azure/entity_answer.h"
#include "client/azure/etag.h"
#include "client/azure/service.h"
#include "client/azure/table_answer.h"
#include "client/azure/write_request.h"
#include "client/base/unicode.h"
#include "client/http/http_header.h"
#include "client/http/request_url.h"
#include "client/http/uuid.h"
#include "client/text/json_reader.h"
#include "client/text/table_name.h"

#define TOKEN_MAX_BYTES ((size_t)64 << 10)
#define GET_MAX_PAGES                                                                              \
    5 /* empty, in a row: one row lies on one server, so it follows a page or two */

struct azure_store {
    struct table_store store;
    struct service *service;
};

static const struct service *service_of(struct table_store *store)
{
    return ((struct azure_store *)store)->service;
}

/* More pages follow if the answer has a token. */
static int take_continuation(const struct http_answer *answer, struct call *call,
                             struct continuation **ret)
{
    _cleanup_(buffer_finish) struct buffer token;
    buffer_init(&token, TOKEN_MAX_BYTES);
    int r = token_append_headers(&token, buffer_bytes(&answer->headers));
    if (r == 0 && token.size > 0)
        r = continuation_create(buffer_bytes(&token), BYTES_LITERAL(""), ret);
    return r < 0 ? call_fail(call, r, "a continuation token that could not be kept") : 0;
}

/* The failure of an answer that is none of the service's: names the table. */
static int fail_by_answer(const struct http_answer *answer, const char *table, int error,
                          struct call *call)
{
    char reason[sizeof(call->failure.message)];
    memcpy(reason, call->failure.message, sizeof(reason));
    (void)snprintf(call->failure.message, sizeof(reason), "table %.63s: %.180s", table, reason);
    return service_fail_by_body(answer, error, call);
}

static int azure_query(struct table_store *store, const struct query *query, struct call *call,
                       struct page_builder *builder, struct continuation **ret_next)
{
    const struct service *service = service_of(store);
    _cleanup_(service_request_finish) struct service_request request;
    _cleanup_(http_answer_finish) struct http_answer answer = {0};
    bool is_widened = false;
    size_t dropped = 0;
    service_request_init(&request, service, "GET", 200);
    request.table = query->table;
    request.needs = "r";
    int r = request_url_append_rows(&request.path, query->table);
    if (r == 0)
        r = request_url_append_row_query(&request.query, query, &is_widened);
    r = service_send(service, &request, r, call, &answer);
    if (r < 0)
        return r;
    /* rows outside the range are dropped only if the filter was widened; otherwise
     * table_store_query reports them as an error */
    r = entity_answer_page(buffer_bytes(&answer.body), is_widened ? query->range : RANGE_ALL,
                           query->keys_only, call, builder, &dropped);
    if (r == 0)
        r = take_continuation(&answer, call, ret_next);
    if (r == 0 && dropped > 0 && *ret_next)
        continuation_set_progress(*ret_next);
    return r < 0 ? fail_by_answer(&answer, query->table, r, call) : 0;
}

static bool is_legal(struct bytes key)
{
    uint32_t character;
    size_t n;
    for (; (n = cesu8_next(key, &character)) > 0; key = bytes_skip(key, n))
        if (!position_is_legal_in_key(character))
            return false;
    return true;
}

/* Can a path name the entity? The service allows no key with / \\ # ? or a control character, and
 * may refuse such a path whether the entity exists or not. Azurite answers 500 to each path with a
 * `/`, however it is encoded. */
static bool has_path(struct bytes position)
{
    return is_legal(position_partition_key(position)) && is_legal(position_row_key(position));
}

/* For a key that no path can name: queries a range of this row alone, until a page has it. */
static int get_by_query(struct table_store *store, const char *table, struct bytes position,
                        struct call *call, struct page_builder *builder)
{
    _cleanup_(continuation_destroyp) struct continuation *after = NULL;
    struct position end;
    struct query query = {
        .table = table, .range = range_of_one(position, &end), .top = TABLE_STORE_PAGE_ROWS};
    for (int empty = 0; empty < GET_MAX_PAGES;) {
        struct continuation *next = NULL;
        query.after = after;
        int r = azure_query(store, &query, call, builder, &next);
        continuation_destroy(after);
        after = next;
        if (r < 0 || page_builder_rows(builder) > 0)
            return r;
        if (!after)
            return call_fail(call, -ENOENT, "no entity has this key");
        empty = continuation_is_progress(after) ? 0 : empty + 1;
    }
    (void)call_fail(call, -EPROTO, "the service answered %d pages in a row without a row",
                    GET_MAX_PAGES);
    call->failure.is_retryable = true; /* after a pause, a limited number of times */
    return -EPROTO;
}

static int azure_get(struct table_store *store, const char *table, struct bytes position,
                     struct call *call, struct page_builder *builder)
{
    const struct service *service = service_of(store);
    _cleanup_(service_request_finish) struct service_request request;
    _cleanup_(http_answer_finish) struct http_answer answer = {0};
    service_request_init(&request, service, "GET", 200);
    request.table = table;
    request.needs = "r";
    int r =
        has_path(position) ? request_url_append_entity(&request.path, table, position) : -EILSEQ;
    if (r == -EILSEQ)
        return get_by_query(store, table, position, call, builder);
    r = service_send(service, &request, r, call, &answer);
    if (r < 0)
        return r;
    r = entity_answer_single(buffer_bytes(&answer.body), service_header(&answer, "ETag"), call,
                             builder);
    return r < 0 ? fail_by_answer(&answer, table, r, call) : 0;
}

static int azure_list_tables(struct table_store *store, const char *only,
                             const struct continuation *after, struct call *call,
                             struct table_names *ret, struct continuation **ret_next)
{
    const struct service *service = service_of(store);
    _cleanup_(service_request_finish) struct service_request request;
    _cleanup_(http_answer_finish) struct http_answer answer = {0};
    size_t size = ret->names.size;
    service_request_init(&request, service, "GET", 200);
    request.table = only;
    request.is_of_account = true;
    request.needs = "l";
    int r = request_url_append_tables(&request.path);
    if (r == 0)
        r = request_url_append_table_query(&request.query, only, after);
    r = service_send(service, &request, r, call, &answer);
    if (r < 0)
        return r;
    r = table_answer_append(buffer_bytes(&answer.body), only, ret);
    if (r == -EPROTO) {
        (void)call_fail(call, r, "the answer is not a valid list of tables");
        call->failure.is_retryable = json_breaks_off(buffer_bytes(&answer.body));
        call->failure.advice = service_error_advice_endpoint;
    } else if (r < 0) {
        (void)call_fail(call, r, "out of memory");
    }
    if (r == 0)
        r = take_continuation(&answer, call, ret_next);
    if (r == 0)
        return 0;
    ret->names.size = size;
    return service_fail_by_body(&answer, r, call);
}

/* Reads the ETag of the new version. */
static int take_result(const struct http_answer *answer, const struct write *write,
                       struct call *call, struct write_result *ret)
{
    *ret = (struct write_result){0};
    if (write->kind == WRITE_DELETE || etag_read(service_header(answer, "ETag"), ret) == 0)
        return 0;
    (void)call_fail(call, -EPROTO, "the answer to a write has no usable ETag");
    call->failure.is_ambiguous = true;
    return service_fail_by_body(answer, -EPROTO, call);
}

static int write_one(const struct service *service, const char *table, const struct write *write,
                     struct call *call, struct write_result *ret)
{
    _cleanup_(service_request_finish) struct service_request request;
    _cleanup_(http_answer_finish) struct http_answer answer = {0};
    service_request_init(&request, service, write_request_method(write->kind), 204);
    request.table = table;
    request.needs = write_request_permissions(write->kind);
    int r = write_request_append_path(&request.path, table, write);
    if (r == 0)
        r = write_request_append_headers(&request.headers, write);
    if (r == 0)
        r = write_request_append_body(&request.body, write);
    r = service_send(service, &request, r, call, &answer);
    return r < 0 ? r : take_result(&answer, write, call, ret);
}

static int append_batch(struct service_request *request, const struct batch *batch,
                        struct call *call)
{
    _cleanup_(buffer_finish) struct buffer content_type;
    buffer_init(&content_type, 100);
    (void)batch_append_path(&request->path);
    (void)batch_append_content_type(&content_type, batch->id);
    int r = http_header_append(&request->headers, "Content-Type", buffer_bytes(&content_type));
    if (r < 0)
        return request_url_fail(call, r);
    return batch_append_body(&request->body, batch, call);
}

/* The letters of a SAS token's sp= that its writes need. */
static void find_needs(const struct batch *batch, char ret[sizeof("aud")])
{
    for (const char *letter = "aud"; *letter; letter++) {
        size_t i = 0;
        while (i < batch->n && !strchr(write_request_permissions(batch->writes[i].kind), *letter))
            i++;
        if (i < batch->n)
            *ret++ = *letter;
    }
    *ret = '\0';
}

static int write_batch(const struct service *service, const struct batch *batch, struct call *call,
                       struct write_result *ret)
{
    char needs[sizeof("aud")];
    _cleanup_(service_request_finish) struct service_request request;
    _cleanup_(http_answer_finish) struct http_answer answer = {0};
    service_request_init(&request, service, "POST", 202);
    request.table = batch->table;
    find_needs(batch, needs);
    request.needs = needs;
    request.accept = "application/json"; /* each part has an Accept header of its own */
    int r = append_batch(&request, batch, call);
    if (r == 0)
        r = service_send(service, &request, 0, call, &answer);
    if (r < 0)
        return r;
    const struct service_answer service_answer = service_answer_of(&answer, true);
    r = batch_read_answer(&service_answer, service_header(&answer, "Content-Type"), batch,
                          service_utc_100ns(service), call, ret);
    if (r == 0)
        return 0;
    call->failure.is_ambiguous |= answer.was_resent;
    service_advise(&request, &answer, call);
    return r;
}

/* The paths in a batch are a part of its body: Azurite reads them right. */
static int azure_write(struct table_store *store, const char *table, const struct write *writes,
                       size_t n, struct call *call, struct write_result *ret)
{
    const struct service *service = service_of(store);
    _cleanup_(buffer_finish) struct buffer id;
    buffer_init(&id, UUID_SIZE + 1);
    if (n == 1 && (writes->kind == WRITE_INSERT || has_path(writes->position)))
        return write_one(service, table, writes, call, ret);
    int r = uuid_append(&id);
    const char *text = buffer_string(&id);
    if (r < 0 || !text)
        return request_url_fail(call, r < 0 ? r : id.error);
    const struct batch batch = {service_url(service), table, writes, n, text};
    return write_batch(service, &batch, call, ret);
}

/* Creates or deletes a table; the body of the answer is not used. */
static int change_tables(const struct service *service, struct service_request *request, int r,
                         struct call *call)
{
    _cleanup_(http_answer_finish) struct http_answer answer = {0};
    return service_send(service, request, r, call, &answer);
}

static int azure_create_table(struct table_store *store, const char *table, struct call *call)
{
    const struct service *service = service_of(store);
    _cleanup_(service_request_finish) struct service_request request;
    service_request_init(&request, service, "POST", 204);
    request.table = table;
    request.is_of_account = true;
    if (!table_name_is_legal(bytes_of(table)))
        return call_fail(call, -EINVAL,
                         "not a table name, which has 3 to 63 letters and digits, a letter first");
    (void)request_url_append_tables(&request.path);
    (void)http_header_append(&request.headers, "Content-Type", BYTES_LITERAL("application/json"));
    (void)http_header_append(&request.headers, "Prefer", BYTES_LITERAL("return-no-content"));
    int r = buffer_append_format(&request.body, "{\"TableName\":\"%s\"}", table);
    return change_tables(service, &request, r, call);
}

static int azure_delete_table(struct table_store *store, const char *table, struct call *call)
{
    const struct service *service = service_of(store);
    _cleanup_(service_request_finish) struct service_request request;
    service_request_init(&request, service, "DELETE", 204);
    request.table = table;
    request.is_of_account = true;
    request.needs = "d";
    int r = request_url_append_table(&request.path, table);
    return change_tables(service, &request, r, call);
}

static size_t azure_write_size(struct table_store *store, const char *table,
                               const struct write *write)
{
    return batch_part_size(service_url(service_of(store)), table, write);
}

static const struct table_store_limits *azure_limits(struct table_store *store)
{
    static const struct table_store_limits limits = {BATCH_MAX_WRITES,
                                                     SERVICE_REQUEST_MAX_BYTES - BATCH_FRAME_BYTES};
    (void)store;
    return &limits;
}

static void azure_destroy(struct table_store *store)
{
    struct azure_store *self = (struct azure_store *)store;
    service_destroy(self->service);
    free(self);
}

static const struct table_store_ops azure_ops = {
    .query = azure_query,
    .get = azure_get,
    .list_tables = azure_list_tables,
    .write = azure_write,
    .write_size = azure_write_size,
    .create_table = azure_create_table,
    .delete_table = azure_delete_table,
    .limits = azure_limits,
    .destroy = azure_destroy,
};

int azure_store_create(const struct service_options *options, const struct clock *clock,
                       struct table_store **ret)
{
    _cleanup_(freep) struct azure_store *store = calloc(1, sizeof(*store));
    if (!store)
        return -ENOMEM;
    store->store.ops = &azure_ops;
    int r = service_create(options, clock, &store->service);
    if (r < 0)
        return r;
    *ret = &TAKE_PTR(store)->store;
    return 0;
}
