/* SPDX-License-Identifier: MIT */
#include "cache/core.h"

int account_fail_not_empty(struct caller *caller)
{
    return call_fail(&caller->call, -ENOTEMPTY, "a directory of this mount is in it");
}

int account_check_no_local(struct account *account, struct caller *caller,
                           const struct directory *directory)
{
    struct position found;
    bool is_empty;
    bool has_one = local_directories_next(account->write.local, directory, (struct bytes){0},
                                          &found, &is_empty);
    return has_one ? account_fail_not_empty(caller) : 0;
}

int account_drain_below(struct account *account, struct caller *caller,
                        const struct directory *directory)
{
    int r = account_drain(account, caller, directory->table, directory->range);
    if (r == -ETIMEDOUT && !caller->call.failure.is_unanswered) /* the service works */
        caller->call.failure.error = r = -EBUSY;
    return r;
}

int account_check_deletes(struct account *account, struct caller *caller,
                          const struct directory *directory)
{
    if (!account_report_delete(account, caller, directory))
        return 0;
    struct failure *failure = &caller->call.failure;
    const struct failure why = *failure;
    failure->error = -ENOTEMPTY;
    (void)snprintf(failure->message, sizeof(failure->message), "a file in it: %.240s", why.message);
    if (!why.advice)
        failure->advice = "a queued delete below failed: see the lines above";
    return -ENOTEMPTY;
}

int account_explain_not_empty(struct account *account, struct caller *caller,
                              const struct directory *directory, int r)
{
    if (r == -ENOTEMPTY)
        (void)account_check_deletes(account, caller, directory);
    return r;
}
