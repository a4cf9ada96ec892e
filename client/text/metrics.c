/* SPDX-License-Identifier: MIT */
#include "client/text/metrics.h"

int metrics_append_head(struct buffer *ret, const char *metric, const char *type, const char *help)
{
    return buffer_append_format(ret, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric, type);
}

int metrics_append_label(struct buffer *ret, const char *name, const char *value)
{
    (void)buffer_append_format(ret, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '\n') {
            (void)buffer_append_string(ret, "\\n");
            continue;
        }
        if (*value == '"' || *value == '\\')
            (void)buffer_append_char(ret, '\\');
        (void)buffer_append_char(ret, *value);
    }
    return buffer_append_char(ret, '"');
}

int metrics_append_number(struct buffer *ret, const char *metric, const char *type,
                          const char *help, uint64_t value)
{
    (void)metrics_append_head(ret, metric, type, help);
    return buffer_append_format(ret, "%s %llu\n", metric, (unsigned long long)value);
}

int metrics_append_seconds(struct buffer *ret, const char *metric, const char *type,
                           const char *help, int64_t ms)
{
    (void)metrics_append_head(ret, metric, type, help);
    int64_t size_ms = ms < 0 ? -ms : ms;
    return buffer_append_format(ret, "%s %s%lld.%03lld\n", metric, ms < 0 ? "-" : "",
                                (long long)size_ms / 1000, (long long)size_ms % 1000);
}
