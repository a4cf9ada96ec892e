/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_METRICS_H
#define CLIENT_TEXT_METRICS_H
/* Counters as text, in Prometheus's exposition format. Pure. */
#include "client/base/bytes.h"

int metrics_append_head(struct buffer *ret, const char *metric, const char *type, const char *help);
/* name="value", escaped. One value that is no UTF-8 makes the whole text unreadable: it must be
 * made printable (client/text/printable.h), before it is compared with others. */
int metrics_append_label(struct buffer *ret, const char *name, const char *value);
/* A metric without labels, with its head. */
int metrics_append_number(struct buffer *ret, const char *metric, const char *type,
                          const char *help, uint64_t value);
/* The same of seconds. */
int metrics_append_seconds(struct buffer *ret, const char *metric, const char *type,
                           const char *help, int64_t ms);

#endif
