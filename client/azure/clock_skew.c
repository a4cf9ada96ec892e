/* SPDX-License-Identifier: MIT */
#include "client/azure/clock_skew.h"
#include "client/http/http_date.h"
#include "client/text/metrics.h"

#include <stdatomic.h>

struct clock_skew {
    const struct clock *clock;
    clock_skew_sink *sink;
    void *context;
    _Atomic int64_t skew_100ns; /* 0: this machine's clock fits */
};

int clock_skew_create(const struct clock *clock, clock_skew_sink *sink, void *context,
                      struct clock_skew **ret)
{
    struct clock_skew *skew = calloc(1, sizeof(*skew));
    if (!skew)
        return -ENOMEM;
    skew->clock = clock;
    skew->sink = sink;
    skew->context = context;
    *ret = skew;
    return 0;
}

void clock_skew_destroy(struct clock_skew *skew)
{
    free(skew);
}

bool clock_skew_fits(int64_t a_100ns, int64_t b_100ns)
{
    int64_t ahead = a_100ns - b_100ns;
    return ahead >= -CLOCK_SKEW_MAX_100NS && ahead <= CLOCK_SKEW_MAX_100NS;
}

int64_t clock_skew_utc_100ns(struct clock_skew *skew)
{
    int64_t utc_100ns = clock_utc_100ns(skew->clock) + atomic_load(&skew->skew_100ns);
    /* others have no date: nothing would be sent */
    return MAX(0, MIN(utc_100ns, HTTP_DATE_MAX_100NS));
}

/* Threads that measure the same difference at once report it once. */
static void replace(struct clock_skew *skew, int64_t skew_100ns)
{
    int64_t old_100ns = atomic_exchange(&skew->skew_100ns, skew_100ns);
    bool is_reported = clock_skew_fits(old_100ns, skew_100ns) && !old_100ns == !skew_100ns;
    if (!is_reported && skew->sink)
        skew->sink(skew->context, skew_100ns);
}

void clock_skew_note(struct clock_skew *skew, int64_t service_utc_100ns)
{
    if (atomic_load(&skew->skew_100ns) != 0 &&
        clock_skew_fits(clock_utc_100ns(skew->clock), service_utc_100ns))
        replace(skew, 0);
}

bool clock_skew_correct(struct clock_skew *skew, int64_t dated_100ns, int64_t service_utc_100ns)
{
    if (clock_skew_fits(dated_100ns, service_utc_100ns))
        return false;
    int64_t now_100ns = clock_utc_100ns(skew->clock);
    bool is_right = clock_skew_fits(now_100ns, service_utc_100ns);
    replace(skew, is_right ? 0 : service_utc_100ns - now_100ns);
    return true;
}

int clock_skew_append_metrics(struct clock_skew *skew, struct buffer *ret)
{
    return metrics_append_seconds(ret, "tablefuse_clock_skew_seconds", "gauge",
                                  "How far the service's clock is ahead of this machine's, as "
                                  "requests are signed; 0: they are signed with this machine's.",
                                  atomic_load(&skew->skew_100ns) / TICKS_PER_MS);
}
