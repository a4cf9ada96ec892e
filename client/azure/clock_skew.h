/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_CLOCK_SKEW_H
#define CLIENT_AZURE_CLOCK_SKEW_H
/* The time for the signatures of a Shared Key. The service refuses a request whose date is 15
 * minutes off, with a 403 that has its own time as `Date`. From that answer on, requests are signed
 * with this machine's time plus the difference, until this machine's clock fits again. Used for
 * nothing else: deadlines, and the lives of tokens and SAS, are by this machine's clock.
 *
 * The caller passes only dates that no third party can change: over https, or from a loopback
 * address. With a chosen date, an attacker could get signatures that are valid later.
 *
 * Any thread; no lock. Nothing blocks but the sink. */
#include "client/base/bytes.h"
#include "client/base/clock.h"

/* Two clocks fit if they differ by no more than this. */
#define CLOCK_SKEW_MAX_100NS (300 * TICKS_PER_SEC)
bool clock_skew_fits(int64_t a_100ns, int64_t b_100ns);

/* Called when the difference changes, by the thread of the answer. skew_100ns: the service's time
 * minus this machine's; 0: this machine's clock fits again. */
typedef void clock_skew_sink(void *context, int64_t skew_100ns);

struct clock_skew;
/* sink: may be NULL. 0 or -ENOMEM. */
int clock_skew_create(const struct clock *clock, clock_skew_sink *sink, void *context,
                      struct clock_skew **ret);
void clock_skew_destroy(struct clock_skew *skew); /* takes NULL */

/* The service's time as far as it is known: to date and sign a request with. */
int64_t clock_skew_utc_100ns(struct clock_skew *skew);
/* An answer has the service's time. Drops the difference if this machine's clock fits. */
void clock_skew_note(struct clock_skew *skew, int64_t service_utc_100ns);
/* The answer to a request with the date dated_100ns was a 403. True: that date does not fit the
 * service's time; the difference was measured anew, and the request is worth sending again. */
bool clock_skew_correct(struct clock_skew *skew, int64_t dated_100ns, int64_t service_utc_100ns);

int clock_skew_append_metrics(struct clock_skew *skew, struct buffer *ret);

DEFINE_CLEANUP(struct clock_skew *, clock_skew_destroy);

#endif
