#ifndef CLIENT_TEXT_METRICS_H
#define CLIENT_TEXT_METRICS_H
/* Counters as text, in Prometheus's exposition format. Pure. */
#include "client/bytes.h"

int metrics_append_head(struct buffer *ret, const char *metric, const char *type, const char *help);
/* name="value", escaped */
int metrics_append_label(struct buffer *ret, const char *name, const char *value);
/* A metric without labels, with its head. */
int metrics_append_number(struct buffer *ret, const char *metric, const char *type,
                          const char *help, uint64_t value);

#endif
