/* SPDX-License-Identifier: MIT */
#include "client/azure/service_error.h"
#include "client/base/clock.h"
#include "client/http/http_date.h"
#include "client/text/small_json.h"

#include <limits.h>

#define BODY_MAX_BYTES     ((size_t)64 << 10) /* the reason is far shorter */
#define RETRY_AFTER_MAX_MS ((int64_t)3600 * 1000)

static const char advice_credential[] =
    "check the account key or the SAS token, in the environment or in the connection string";
static const char advice_no_code[] = "check the account key or the SAS token, that the endpoint is "
                                     "a Table endpoint of Azure Storage, "
                                     "and that no proxy answers in its place";
static const char advice_permission[] =
    "the credential does not allow this: a SAS token needs r in sp= to read entities, l to list "
    "tables, a to add, u to change, d to delete, c to create a table";
static const char advice_throttled[] =
    "the service asks for fewer requests: wait, or reduce other use of the account";
static const char advice_version[] =
    "the emulator does not know this API version: start Azurite with --skipApiVersionCheck";
static const char advice_long[] = "the request is too long: a key is longer than the service takes";
static const char advice_fault[] =
    "the service itself failed: look at its status page or its log, and try again later";
static const char advice_gateway[] = "a proxy or gateway before the service answered that it does "
                                     "not reach it: check that one, or try again later";
static const char advice_slow[] = "the service, or a gateway before it, took too long: try again "
                                  "later";

const char service_error_advice_endpoint[] =
    "check that the endpoint is a Table endpoint of Azure Storage, and that no proxy answers in "
    "its place";

struct rule {         /* the first that fits */
    int status;       /* 0: any */
    const char *code; /* NULL: any; "": the answer has none */
    int error;
    bool is_retryable;
    const char *advice;
};

static const struct rule rules[] = {
    {400, "InvalidAuthenticationInfo", -EACCES, false, advice_credential},
    {400, "InvalidHeaderValue", -EINVAL, false, advice_version},
    {400, "KeyValueTooLarge", -ENAMETOOLONG, false, advice_long},
    {400, "EntityTooLarge", -EFBIG, false, NULL},
    {400, "RequestBodyTooLarge", -EFBIG, false, NULL},
    {400, "ContentLengthExceeded", -EFBIG, false, NULL},
    {400, NULL, -EINVAL, false, NULL},
    {401, NULL, -EACCES, false, advice_credential},
    {403, "AuthorizationPermissionMismatch", -EACCES, false, advice_permission},
    {403, "AuthorizationProtocolMismatch", -EACCES, false,
     "the SAS token's spr= allows another protocol than the endpoint's"},
    {403, "AuthorizationSourceIPMismatch", -EACCES, false,
     "the SAS token's sip= does not hold the address that this machine is seen with"},
    {403, "InsufficientAccountPermissions", -EACCES, false,
     "the account or its subscription does not allow this operation"},
    {403, "AccountIsDisabled", -EACCES, false,
     "the account is disabled: look at its subscription in the Azure portal"},
    {403, "KeyBasedAuthenticationNotPermitted", -EACCES, false,
     "the account forbids access by key and by SAS tokens: use a token of Microsoft Entra ID, -o "
     "auth=msi, workload, spn or azcli"},
    {403, "", -EACCES, false, advice_no_code},
    {403, NULL, -EACCES, false, advice_credential},
    {404, "", -EPROTO, false, service_error_advice_endpoint}, /* a proxy's: not the service's own */
    {404, NULL, -ENOENT, false, NULL},
    {408, NULL, -ETIMEDOUT, true, advice_slow},
    {409, "EntityAlreadyExists", -EEXIST, false, NULL},
    {409, "TableAlreadyExists", -EEXIST, false, NULL},
    {409, "TableBeingDeleted", -EBUSY, false, "a dropped table's name is free after a minute"},
    {409, "AccountBeingCreated", -EBUSY, false, "the account is not ready yet"},
    {412, NULL, -ESTALE, false, NULL},
    {413, NULL, -EFBIG, false, NULL},
    {414, NULL, -ENAMETOOLONG, false, advice_long},
    {429, NULL, -EBUSY, true, advice_throttled},
    {431, NULL, -ENAMETOOLONG, false, advice_long},
    {500, "OperationTimedOut", -ETIMEDOUT, true, advice_slow},
    {500, NULL, -EIO, true, advice_fault},
    {502, NULL, -EIO, true, advice_gateway},
    {503, NULL, -EBUSY, true, advice_throttled},
    {504, NULL, -ETIMEDOUT, true, advice_slow},
    {0, NULL, -EIO, false, service_error_advice_endpoint},
};

static const struct rule *find_rule(int status, const char *code)
{
    const struct rule *rule = rules;
    while ((rule->status != 0 && rule->status != status) ||
           (rule->code && strcmp(rule->code, code) != 0))
        rule++; /* the last fits all */
    return rule;
}

/* Copies the first line of a text of the service, cut between characters of UTF-8. */
static void copy_line(char *ret, size_t size, struct bytes text)
{
    size_t n = 0;
    while (n < text.size && n < size - 1 && text.data[n] != '\n' && text.data[n] != '\r')
        n++;
    while (n < text.size && n > 0 && ((unsigned char)text.data[n] & 0xC0) == 0x80)
        n--;
    if (n > 0)
        memcpy(ret, text.data, n);
    ret[n] = '\0';
}

/* A service or proxy may repeat the URL or a header: a signature must not get into messages. */
static void strike_out(char *text, const char *mark)
{
    char *found = strstr(text, mark);
    while (found) {
        found += strlen(mark);
        for (; *found && !strchr(" &\"'<>", *found); found++)
            *found = '*';
        found = strstr(found, mark);
    }
}

/* {"odata.error":{"code":"...","message":{"lang":"...","value":"..."}}} */
static int read_json(struct bytes body, struct failure *failure)
{
    _cleanup_(cJSON_Deletep) cJSON *tree = NULL;
    int r = small_json_parse(body, &tree);
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(tree, "odata.error");
    const cJSON *message = cJSON_GetObjectItemCaseSensitive(error, "message");
    copy_line(failure->code, sizeof(failure->code), small_json_string(error, "code"));
    copy_line(failure->message, sizeof(failure->message), small_json_string(message, "value"));
    return r;
}

/* The text between <NAME ...> and the next tag; empty: there is no such element. */
static struct bytes xml_text(struct bytes body, const char *name)
{
    char open[16];
    (void)snprintf(open, sizeof(open), "<%s", name);
    const char *begin = bytes_find(body, bytes_of(open));
    if (!begin)
        return (struct bytes){0};
    const char *end = body.data + body.size;
    if (begin + strlen(open) == end || !strchr("> ", begin[strlen(open)]))
        return (struct bytes){0};
    begin = memchr(begin, '>', (size_t)(end - begin));
    if (!begin)
        return (struct bytes){0};
    begin++;
    const char *close = memchr(begin, '<', (size_t)(end - begin));
    return (struct bytes){begin, (size_t)((close ? close : begin) - begin)};
}

/* <m:error><m:code>... or <Error><Code>... */
static void read_xml(struct bytes body, struct failure *failure)
{
    struct bytes code = xml_text(body, "m:code");
    struct bytes message = xml_text(body, "m:message");
    copy_line(failure->code, sizeof(failure->code), code.size > 0 ? code : xml_text(body, "Code"));
    copy_line(failure->message, sizeof(failure->message),
              message.size > 0 ? message : xml_text(body, "Message"));
}

/* Trusted in this order: the code of a JSON body, the header, the code of an XML body. -ENOMEM: a
 * JSON body could not be read. */
static int read_body(const struct service_answer *answer, struct failure *failure)
{
    struct bytes body = bytes_first(answer->body, MIN(answer->body.size, BODY_MAX_BYTES));
    bool is_json = bytes_start_with(bytes_trim(body), BYTES_LITERAL("{"));
    int r = is_json ? read_json(body, failure) : 0;
    if (!is_json)
        read_xml(body, failure);
    if (answer->error_code.size > 0 && !(is_json && failure->code[0]))
        copy_line(failure->code, sizeof(failure->code), answer->error_code);
    strike_out(failure->message, "sig=");
    strike_out(failure->message, "SharedKey ");
    strike_out(failure->message, "Bearer ");
    return r;
}

static int retry_after_ms(const struct service_answer *answer, int64_t now_utc_100ns)
{
    uint64_t value;
    int64_t then, wait_ms = 0;
    if (bytes_parse_unsigned(answer->retry_after_ms, INT_MAX, &value))
        wait_ms = (int64_t)value;
    else if (bytes_parse_unsigned(answer->retry_after, INT_MAX, &value))
        wait_ms = (int64_t)value * 1000;
    else if (http_date_parse(answer->retry_after, &then))
        wait_ms = (then - now_utc_100ns) / TICKS_PER_MS;
    return (int)MAX(MIN(wait_ms, RETRY_AFTER_MAX_MS), 0);
}

/* May the change have been made despite this status? The service may have failed or been slow
 * after it made the change, a proxy may have timed out, and a status below 400 is unexpected. */
static bool leaves_open(int status)
{
    return status < 400 || status == 408 || (status >= 500 && status != 501 && status != 505);
}

/* The code is not known, so the rule that it would choose is not either. */
static void set_out_of_memory(struct failure *failure)
{
    failure->error = -ENOMEM;
    failure->advice = NULL;
    (void)snprintf(failure->message, sizeof(failure->message), "out of memory");
}

bool service_error_read(const struct service_answer *answer, int64_t now_utc_100ns,
                        struct failure *ret)
{
    struct failure failure = {.http_status = answer->status, .operation = -1};
    int r = read_body(answer, &failure);
    bool has_message = failure.message[0] != '\0';
    if (!has_message)
        (void)snprintf(failure.message, sizeof(failure.message),
                       "the service answered HTTP %d without a reason", answer->status);
    copy_line(failure.request_id, sizeof(failure.request_id), answer->request_id);
    const struct rule *rule = find_rule(answer->status, failure.code);
    failure.error = rule->error;
    failure.is_retryable = rule->is_retryable;
    /* an answer that is not the service's (a 404 without a code) does not show whether the change
     * was made */
    bool is_open = leaves_open(answer->status) || failure.error == -EPROTO;
    failure.is_ambiguous = answer->is_of_change && is_open;
    failure.advice = rule->advice;
    failure.retry_after_ms = retry_after_ms(answer, now_utc_100ns);
    if (r == -ENOMEM && failure.code[0] == '\0')
        set_out_of_memory(&failure);
    *ret = failure;
    return has_message;
}
