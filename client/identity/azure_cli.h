/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_AZURE_CLI_H
#define CLIENT_IDENTITY_AZURE_CLI_H
/* Runs `az account get-access-token`, Azure's command line, which is found in PATH. No shell. The
 * process has a group of its own, the directory /, none of this process's descriptors and default
 * signals, and it is killed with its children after AZURE_CLI_MS, or when the call ends. Any
 * thread.
 * https://learn.microsoft.com/cli/azure/account#az-account-get-access-token */
#include "client/base/bytes.h"
#include "client/store/call.h"

#define AZURE_CLI_MS ((int64_t)30000)

/* Appends what it prints, at most the room of ret: JSON, for token_answer_read. tenant: NULL: that
 * of the user. Errors, with the reason in call->failure: -EACCES: there is no `az`, or it has
 * failed, and its first line of complaint is the reason; -ETIMEDOUT; -EINTR: cancelled; -EFBIG;
 * another errno of the system. */
int azure_cli_request(const char *tenant, const struct clock *clock, struct call *call,
                      struct buffer *ret);

#endif
