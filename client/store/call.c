/* SPDX-License-Identifier: MIT */
#include "client/store/call.h"

#include <stdarg.h>

const char call_advice_late[] =
    "check the network, and whether the service works; where answers take "
    "longer, give a longer -o timeout=SECONDS";

__attribute__((format(printf, 4, 0))) static int
fail(struct call *call, int error, const char *advice, const char *format, va_list list)
{
    call->failure = (struct failure){.error = error, .operation = -1, .advice = advice};
    (void)vsnprintf(call->failure.message, sizeof(call->failure.message), format, list);
    return error;
}

int call_fail(struct call *call, int error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fail(call, error, NULL, format, list);
    va_end(list);
    return error;
}

int call_fail_with(struct call *call, int error, const char *advice, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fail(call, error, advice, format, list);
    va_end(list);
    return error;
}

int call_fail_no_descriptor(struct call *call)
{
    return call_fail_with(call, -ENFILE, "start it with a higher limit of open files",
                          "the process has no file descriptor left");
}

void call_waits(const struct call *call)
{
    for (struct call_observer *it = call->observer; it; it = it->outer)
        it->waits(it, &call->failure);
}

bool call_is_cancelled(const struct call *call)
{
    return call->is_cancelled && call->is_cancelled(call->context);
}

int64_t call_remaining_ms(const struct call *call, const struct clock *clock)
{
    return MAX(call->deadline_ms - clock_now_ms(clock), 0);
}

int call_check(struct call *call, const struct clock *clock, const char *late)
{
    if (call_is_cancelled(call))
        return call_fail(call, -EINTR, "interrupted");
    if (call_remaining_ms(call, clock) > 0)
        return 0;
    return call_fail_with(call, -ETIMEDOUT, call_advice_late, "%s", late);
}

bool failure_is_no_table(const struct failure *failure)
{
    return strcmp(failure->code, "TableNotFound") == 0;
}

bool failure_is_throttled(const struct failure *failure)
{
    return failure->http_status == 503 || failure->http_status == 429;
}
