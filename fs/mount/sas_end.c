/* SPDX-License-Identifier: MIT */
#include "fs/mount/sas_end.h"
#include "cache/account.h"
#include "cache/failure_log.h"
#include "fs/base/say.h"

#define TEXT_MAX_BYTES ((size_t)200)

void sas_end_warn(const struct mount_source *source)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = TEXT_MAX_BYTES};
    if (mount_source_append_end(source, &text))
        say("tablefuse: warning: %.*s -- %s\n", (int)text.size, text.data,
            mount_source_advice_end(source));
}

static void note_end(void *context)
{
    const struct sas_end *end = context;
    _cleanup_(buffer_finish) struct buffer text = {.max = TEXT_MAX_BYTES};
    struct call note = {0};
    if (!mount_source_append_end(end->source, &text))
        return;
    (void)call_fail(&note, 0, "%.*s", (int)text.size, text.data);
    note.failure.advice = mount_source_advice_end(end->source);
    const struct failure_record record = {.at_100ns = clock_utc_100ns(&clock_system),
                                          .operation = "credential",
                                          .failure = note.failure};
    failure_log_add(account_failures(end->account), &record);
}

void sas_end_watch(struct sas_end *end, struct mount_source *source, struct account *account)
{
    *end = (struct sas_end){source, account};
    mount_source_watch_end(source, note_end, end);
}
