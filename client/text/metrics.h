/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_METRICS_H
#define CLIENT_TEXT_METRICS_H
/* Counters as text, in Prometheus's exposition format. Pure. */
#include "client/base/bytes.h"

int metrics_append_head(struct buffer *ret, const char *metric, const char *type, const char *help);
/* Appends name="value", escaped. A value that is not UTF-8 would make the whole text unreadable, so
 * the caller makes it printable (client/text/printable.h), before it groups by values. */
int metrics_append_label(struct buffer *ret, const char *name, const char *value);
/* A metric without labels, with its head. */
int metrics_append_number(struct buffer *ret, const char *metric, const char *type,
                          const char *help, uint64_t value);
/* The same for a time, which is printed in seconds. */
int metrics_append_seconds(struct buffer *ret, const char *metric, const char *type,
                           const char *help, int64_t ms);

#endif
