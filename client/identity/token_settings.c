/* SPDX-License-Identifier: MIT */
#include "client/identity/token_settings.h"
#include "client/http/http_header.h"
#include "client/http/request_url.h"
#include "client/http/url.h"

#define AUTHORITY "https://login.microsoftonline.com"
#define MACHINE   "http://169.254.169.254"

#define TENANT          "AZURE_TENANT_ID"
#define CLIENT          "AZURE_CLIENT_ID"
#define SECRET          "AZURE_CLIENT_SECRET"
#define FEDERATED       "AZURE_FEDERATED_TOKEN_FILE"
#define AUTHORITY_HOST  "AZURE_AUTHORITY_HOST"
#define MACHINE_HOST    "AZURE_POD_IDENTITY_AUTHORITY_HOST"
#define ENDPOINT        "IDENTITY_ENDPOINT"
#define ENDPOINT_HEADER "IDENTITY_HEADER"

#define TEXT_MAX_BYTES ((size_t)16 << 10)

struct reader {
    struct token_settings *settings;
    const char *mode; /* as given */
    const struct token_variables *variables;
    struct call *call;
};

static const char advice_variable[] =
    "set it in the environment, or in a line of the file of -o credentials=";

static int fail_memory(struct call *call)
{
    return call_fail(call, -ENOMEM, "out of memory");
}

/* Without blanks and line ends around it; empty: not set. */
static struct bytes look_up(const struct reader *reader, const char *name)
{
    const char *value = reader->variables->get(reader->variables->context, name);
    return bytes_trim(bytes_of(value ? value : ""));
}

static int require(const struct reader *reader, const char *name, struct bytes *ret)
{
    *ret = look_up(reader, name);
    return ret->size > 0 ? 0
                         : call_fail_with(reader->call, -EINVAL, advice_variable,
                                          "-o auth=%s needs %s: it is not set", reader->mode, name);
}

/* Of a tenant or a client, which has a number or, as a tenant, a domain. */
static int check_id(const struct reader *reader, const char *name, struct bytes id)
{
    for (size_t i = 0; i < id.size; i++) {
        char c = id.data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && (i == 0 || (c != '-' && c != '.')))
            return call_fail_with(reader->call, -EINVAL,
                                  "`az account show` has the tenant's, `az ad sp list --show-mine` "
                                  "those of applications",
                                  "%s has characters that no id has", name);
    }
    return 0;
}

static int require_id(const struct reader *reader, const char *name, struct bytes *ret)
{
    int r = require(reader, name, ret);
    return r < 0 ? r : check_id(reader, name, *ret);
}

/* Appends scheme://host[:port] of a variable, or of what stands for it, and names it. A path is
 * refused, unless it is to be kept: then it is appended, too. */
static int append_url(const struct reader *reader, const char *name, const char *otherwise,
                      bool allows_http, bool keeps_path)
{
    struct token_settings *settings = reader->settings;
    struct bytes text = look_up(reader, name);
    _cleanup_(url_finish) struct url url;
    CURLUcode code = url_split(text.size > 0 ? text : bytes_of(otherwise), &url);
    if (code == CURLUE_OUT_OF_MEMORY)
        return fail_memory(reader->call);
    bool is_url = code == CURLUE_OK && (text.size == 0 || !memchr(text.data, '?', text.size));
    if (!is_url ||
        !(strcmp(url.scheme, "https") == 0 || (allows_http && strcmp(url.scheme, "http") == 0)))
        return call_fail_with(reader->call, -EINVAL,
                              "unset it, or write one such as https://login.microsoftonline.com",
                              "%s is not a URL that begins with %shttps://", name,
                              allows_http ? "http:// or " : "");
    if (!keeps_path && strcmp(url.path, "/") != 0)
        return call_fail(reader->call, -EINVAL, "%s has a path: leave it out", name);
    (void)snprintf(settings->name, sizeof(settings->name), "%s%s%s", url.host, url.port ? ":" : "",
                   url.port ? url.port : "");
    (void)buffer_append_format(&settings->url, "%s://%s%s%s", url.scheme, url.host,
                               url.port ? ":" : "", url.port ? url.port : "");
    return keeps_path ? buffer_append_string(&settings->url, url.path) : settings->url.error;
}

static int append_form(struct buffer *ret, const char *name, struct bytes value)
{
    (void)buffer_append_format(ret, ret->size > 0 ? "&%s=" : "%s=", name);
    return request_url_append_encoded(ret, value);
}

/* https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow */
static int read_authority(const struct reader *reader)
{
    struct token_settings *settings = reader->settings;
    struct bytes tenant = {0}, client = {0};
    int r = require_id(reader, TENANT, &tenant);
    if (r == 0)
        r = require_id(reader, CLIENT, &client);
    if (r == 0)
        r = append_url(reader, AUTHORITY_HOST, AUTHORITY, false, false);
    if (r < 0)
        return r;
    (void)buffer_append_format(&settings->url, "/%.*s/oauth2/v2.0/token", (int)tenant.size,
                               tenant.data);
    (void)append_form(&settings->form, "grant_type", BYTES_LITERAL("client_credentials"));
    (void)append_form(&settings->form, "client_id", client);
    (void)append_form(&settings->form, "scope", BYTES_LITERAL(TOKEN_RESOURCE "/.default"));
    return http_header_append(&settings->headers, "Content-Type",
                              BYTES_LITERAL("application/x-www-form-urlencoded"));
}

static int read_spn(const struct reader *reader)
{
    struct bytes secret = {0};
    int r = read_authority(reader);
    if (r == 0)
        r = require(reader, SECRET, &secret);
    reader->settings->mode = TOKEN_SPN;
    return r < 0 ? r : append_form(&reader->settings->form, "client_secret", secret);
}

static int read_workload(const struct reader *reader)
{
    struct token_settings *settings = reader->settings;
    struct bytes file = {0};
    int r = read_authority(reader);
    if (r == 0)
        r = require(reader, FEDERATED, &file);
    if (r < 0)
        return r;
    if (!bytes_start_with(
            file, BYTES_LITERAL("/"))) /* it is read again when the directory is another one */
        return call_fail_with(reader->call, -EINVAL, advice_variable,
                              FEDERATED " is not an absolute path");
    settings->mode = TOKEN_WORKLOAD;
    settings->file = strndup(file.data, file.size);
    return settings->file
               ? append_form(
                     &settings->form, "client_assertion_type",
                     BYTES_LITERAL("urn:ietf:params:oauth:client-assertion-type:jwt-bearer"))
               : fail_memory(reader->call);
}

/* Functions and Container Apps have both variables; Azure Arc has the first alone. */
static int read_endpoint(const struct reader *reader)
{
    struct token_settings *settings = reader->settings;
    struct bytes header = look_up(reader, ENDPOINT_HEADER);
    settings->mode = TOKEN_MSI_ENDPOINT;
    if (header.size == 0)
        return call_fail_with(reader->call, -EINVAL, "use -o auth=spn or azcli",
                              ENDPOINT " is set without " ENDPOINT_HEADER
                                       ": this is Azure Arc, whose tokens cannot be used yet");
    if (!http_header_is_value(header))
        return call_fail_with(reader->call, -EINVAL, advice_variable,
                              ENDPOINT_HEADER " has a line end in it");
    int r = append_url(reader, ENDPOINT, "", true, true);
    if (r < 0)
        return r;
    (void)buffer_append_string(&settings->url, "?api-version=2019-08-01&resource=");
    return http_header_append(&settings->headers, "X-IDENTITY-HEADER", header);
}

static int read_machine(const struct reader *reader)
{
    struct token_settings *settings = reader->settings;
    settings->mode = TOKEN_MSI_MACHINE;
    int r = append_url(reader, MACHINE_HOST, MACHINE, true, false);
    if (r < 0)
        return r;
    (void)buffer_append_string(&settings->url,
                               "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=");
    return http_header_append(&settings->headers, "Metadata", BYTES_LITERAL("true"));
}

static int read_msi(const struct reader *reader)
{
    struct token_settings *settings = reader->settings;
    struct bytes client = look_up(reader, CLIENT);
    int r = check_id(reader, CLIENT, client);
    if (r == 0)
        r = look_up(reader, ENDPOINT).size > 0 ? read_endpoint(reader) : read_machine(reader);
    if (r == 0)
        r = request_url_append_encoded(&settings->url, BYTES_LITERAL(TOKEN_RESOURCE));
    return r < 0 || client.size == 0 ? r : append_form(&settings->url, "client_id", client);
}

static int read_azcli(const struct reader *reader)
{
    struct token_settings *settings = reader->settings;
    struct bytes tenant = look_up(reader, TENANT);
    settings->mode = TOKEN_AZCLI;
    (void)snprintf(settings->name, sizeof(settings->name), "az");
    int r = check_id(reader, TENANT, tenant);
    if (r < 0 || tenant.size == 0)
        return r;
    settings->tenant = strndup(tenant.data, tenant.size);
    return settings->tenant ? 0 : fail_memory(reader->call);
}

static const struct {
    const char *name;
    int (*read)(const struct reader *reader);
} modes[] = {
    {"msi", read_msi}, {"workload", read_workload}, {"spn", read_spn}, {"azcli", read_azcli}};

int token_settings_init(struct token_settings *ret, const char *mode,
                        const struct token_variables *variables, struct call *call)
{
    struct token_settings settings = {0};
    const struct reader reader = {&settings, mode, variables, call};
    size_t i = 0;
    while (i < ARRAY_SIZE(modes) && strcmp(modes[i].name, mode) != 0)
        i++;
    if (i == ARRAY_SIZE(modes))
        return call_fail_with(call, -EINVAL, "`az login`, and -o auth=azcli, works for a user",
                              "-o auth=: expected msi, workload, spn or azcli");
    buffer_init(&settings.url, TEXT_MAX_BYTES);
    buffer_init(&settings.form, TEXT_MAX_BYTES);
    buffer_init(&settings.headers, TEXT_MAX_BYTES);
    int r = buffer_ensure(&settings.form, TEXT_MAX_BYTES); /* so that they leave no copies */
    if (r == 0)
        r = buffer_ensure(&settings.headers, TEXT_MAX_BYTES);
    if (r == 0)
        r = modes[i].read(&reader);
    if (r == -EFBIG)
        r = call_fail_with(call, -EINVAL, advice_variable, "-o auth=%s: a variable is too long",
                           mode);
    else if (r == -ENOMEM)
        r = fail_memory(call);
    if (r < 0)
        token_settings_finish(&settings);
    else
        *ret = settings;
    return r;
}

void token_settings_finish(struct token_settings *settings)
{
    free(settings->tenant);
    free(settings->file);
    buffer_finish(&settings->url);
    buffer_wipe(&settings->form);
    buffer_wipe(&settings->headers);
    *settings = (struct token_settings){0};
}
