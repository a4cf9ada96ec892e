/* SPDX-License-Identifier: MIT */
#include "fs/base/exit_codes.h"
#include "client/base/base.h"

static const struct exit_meaning meanings[] = {
    {0, "success"},
    {EXIT_USAGE, "wrong usage"},
    {EXIT_CONFIGURATION, "wrong configuration"},
    {EXIT_CREDENTIALS, "credentials refused"},
    {EXIT_NETWORK, "network or TLS failed"},
    {EXIT_NOT_FOUND, "not found"},
    {EXIT_ABANDONED, "an entity was not stored or not understood"},
    {EXIT_DAMAGED, "the account's file is damaged"},
    {EXIT_MOUNTING, "another failure"},
    {EXIT_INTERRUPTED, "interrupted"},
};

bool exit_codes_get(size_t number, const struct exit_meaning own[EXIT_OWN_MEANINGS],
                    struct exit_meaning *ret)
{
    if (number >= ARRAY_SIZE(meanings))
        return false;
    *ret = meanings[number];
    for (size_t i = 0; i < EXIT_OWN_MEANINGS && own[i].means; i++)
        if (own[i].code == ret->code)
            *ret = own[i];
    return true;
}
