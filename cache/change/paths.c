/* SPDX-License-Identifier: MIT */
#include "cache/core.h"

void account_use_path(struct account *account, const struct caller *caller,
                      const struct directory_path *path)
{
    path_aliases_note(account->write.aliases, caller, path);
}

int account_check_path(struct account *account, struct caller *caller,
                       const struct directory_path *path)
{
    if (!path_aliases_differ(account->write.aliases, caller, path))
        return 0;
    (void)call_fail(&caller->call, -EBUSY,
                    "the process has used this partition by another path, too, as a mirror does "
                    "when a table that grows changes its names");
    caller->call.failure.advice =
        "mirror and delete through TABLE/.flat, where names never change, or use one path alone";
    return -EBUSY;
}
