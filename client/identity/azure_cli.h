/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_AZURE_CLI_H
#define CLIENT_IDENTITY_AZURE_CLI_H
/* Runs `az account get-access-token`: `az`, Azure's command line, is searched in PATH; no shell is
 * used. The process has its own process group, the directory /, default signals, and none of this
 * process's descriptors. It is killed with its children after AZURE_CLI_MS, or when the call ends.
 * Any thread.
 * https://learn.microsoft.com/cli/azure/account#az-account-get-access-token */
#include "client/base/bytes.h"
#include "client/store/call.h"

#define AZURE_CLI_MS ((int64_t)30000)

/* Appends its output, JSON for token_answer_read, up to the maximum of ret. tenant NULL: the
 * user's. Errors, with the reason in call->failure: -EACCES: there is no `az`, or it has failed
 * (the reason is the first line of its error message); -ETIMEDOUT; -EINTR: cancelled; -EFBIG;
 * another errno of the system. */
int azure_cli_request(const char *tenant, const struct clock *clock, struct call *call,
                      struct buffer *ret);

#endif
