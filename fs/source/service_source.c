/* SPDX-License-Identifier: MIT */
#include "fs/source/service_source.h"
#include "client/azure/azure_store.h"
#include "client/http/http.h"
#include "client/identity/token_request.h"
#include "client/text/edm_datetime.h"
#include "fs/base/exit_codes.h"
#include "fs/base/say.h"
#include "fs/text/control_dir.h"

#include <stdatomic.h>

#define SKEW_LINES 20 /* more only with room: servers of one service may have different clocks */

/* Finds the file of trusted certificates, which only https needs: the option's, or else that of
 * SSL_CERT_FILE. An exit code. */
static int find_certificates(struct service_source *source, const char *option)
{
    bool is_https = source->settings.connection.endpoint.is_https;
    const char *file = option ? option : is_https ? getenv("SSL_CERT_FILE") : NULL;
    if (!file || file[0] == '\0')
        return 0;
    source->ca_file = realpath(file, NULL);
    if (source->ca_file)
        return 0;
    say("tablefuse: cannot use the certificates in %s: %s -- check -o ca_cert or SSL_CERT_FILE: "
        "`ls -lL FILE`\n",
        file, strerror(errno));
    return EXIT_CONFIGURATION;
}

/* Begins to request tokens. 0 or -errno. */
static int create_tokens(struct service_source *source)
{
    int r = token_request_create(&source->settings.tokens, source->ca_file, &clock_system,
                                 &source->token_request);
    if (r < 0)
        return r;
    const struct token_issuer issuer = token_request_issuer(source->token_request);
    return token_source_create(&issuer, &clock_system, &clock_boottime, &source->tokens);
}

static bool has_same(const struct service_source *source, const struct credential *credential)
{
    _cleanup_(credential_unrefp) struct credential *present =
        credential_source_get(source->credentials);
    return credential_is_same(present, credential);
}

/* Of struct credential_reader: after the service has refused the key or the SAS. */
static int read_again(void *context, struct credential **ret)
{
    const struct service_source *source = context;
    struct call call = {0};
    int r = service_settings_read_again(&source->settings, &call, ret);
    if (r < 0 && log_has_room(source->log, clock_now_ms(&clock_system)))
        log_message(source->log,
                    "the service refuses the credential, and there is no other one: %s",
                    call.failure.message);
    else if (r == 0 && !has_same(source, *ret))
        log_message(source->log,
                    "the service refuses the credential; %s has another one, which is used now",
                    source->settings.file);
    return r;
}

/* Of clock_skew.h. */
static void log_skew(void *context, int64_t skew_100ns)
{
    struct service_source *source = context;
    int64_t seconds = skew_100ns / TICKS_PER_SEC;
    if (atomic_fetch_add(&source->skew_lines, 1) >= SKEW_LINES &&
        !log_has_room(source->log, clock_now_ms(&clock_system)))
        return;
    if (seconds == 0)
        log_message(source->log, "this machine's clock is right again");
    else
        log_message(source->log,
                    "this machine's clock is %lld s %s the service's: requests are signed with the "
                    "service's time -- set the clock",
                    (long long)(seconds > 0 ? seconds : -seconds),
                    seconds > 0 ? "behind" : "ahead of");
}

/* 0 or -ENOMEM. */
static int create_credentials(struct service_source *source)
{
    int r = clock_skew_create(&clock_system, log_skew, source, &source->skew);
    if (r < 0)
        return r;
    const struct credential_reader reader = {read_again, source};
    return credential_source_create(TAKE_PTR(source->settings.connection.credential),
                                    source->settings.file ? &reader : NULL, &clock_system,
                                    &source->credentials);
}

int service_source_start(struct service_source *source, const char *ca_cert,
                         size_t answers_max_bytes, struct table_store **ret)
{
    int code = find_certificates(source, ca_cert);
    if (code != 0)
        return code;
    int r = http_global_init();
    if (r == 0)
        r = source->settings.auth ? create_tokens(source) : create_credentials(source);
    const struct service_options options = {.connection = &source->settings.connection,
                                            .tokens = source->tokens,
                                            .credentials = source->credentials,
                                            .skew = source->skew,
                                            .ca_file = source->ca_file,
                                            .answers_max_bytes = answers_max_bytes};
    if (r == 0)
        r = azure_store_create(&options, &clock_system, ret);
    if (r < 0)
        say("tablefuse: %s\n", strerror(-r));
    return r < 0 ? EXIT_MOUNTING : 0;
}

void service_source_finish(struct service_source *source)
{
    token_source_destroy(source->tokens);
    token_request_destroy(source->token_request);
    credential_source_destroy(source->credentials);
    clock_skew_destroy(source->skew);
    service_settings_finish(&source->settings);
    free(source->ca_file);
    *source = (struct service_source){0};
}

const char *service_source_part(const struct service_source *source)
{
    static const char *const limits[] = {"spk", "srk", "epk", "erk"};
    struct bytes value;
    if (endpoint_is_secondary(&source->settings.connection.endpoint))
        return "it is the secondary location, which follows the primary one later";
    if (source->tokens)
        return NULL;
    _cleanup_(credential_unrefp) struct credential *credential =
        credential_source_get(source->credentials);
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
        if (credential_parameter(credential, limits[i], &value))
            return "its SAS is for a range of keys (spk, srk, epk, erk)";
    return NULL;
}

bool service_source_append_end(const struct service_source *source, struct buffer *ret)
{
    int64_t end, now = clock_utc_100ns(&clock_system);
    if (!source->credentials)
        return false;
    _cleanup_(credential_unrefp) struct credential *credential =
        credential_source_get(source->credentials);
    if (!credential_time(credential, "se", &end) || end - now > CREDENTIAL_SOURCE_WARN_100NS)
        return false;
    (void)buffer_append_string(ret,
                               end > now ? "the SAS ends soon, at " : "the SAS has ended, at ");
    return edm_datetime_append(ret, end) == 0;
}

const char *service_source_advice_end(const struct service_source *source)
{
    return source->settings.file
               ? "put a new one into its file: it is read when the service refuses this one"
               : "make a new one, unmount, and mount with it";
}

/* Appends what the requests are sent with. */
static int append_credential(const struct service_source *source, struct buffer *ret)
{
    if (source->tokens) {
        (void)buffer_append_format(ret, "auth=%s, ", source->settings.auth);
        return token_source_append_description(source->tokens, ret);
    }
    _cleanup_(credential_unrefp) struct credential *credential =
        credential_source_get(source->credentials);
    return credential_append_description(credential, ret);
}

int service_source_append_metrics(const struct service_source *source, struct buffer *ret)
{
    return source->tokens ? token_source_append_metrics(source->tokens, ret)
                          : clock_skew_append_metrics(source->skew, ret);
}

int service_source_append_description(const struct service_source *source, const char *table,
                                      struct buffer *ret)
{
    const struct endpoint *endpoint = &source->settings.connection.endpoint;
    (void)buffer_append_format(ret, "account %s\nendpoint %s\ncredential ", endpoint->account,
                               endpoint->url);
    (void)append_credential(source, ret);
    (void)buffer_append_char(ret, '\n');
    (void)control_append_setting(ret, "table ", table);
    (void)control_append_setting(ret, "ca_cert ", source->ca_file);
    (void)buffer_append_string(ret, "credential_from ");
    (void)service_settings_append_origin(&source->settings, ret);
    return buffer_append_char(ret, '\n');
}
