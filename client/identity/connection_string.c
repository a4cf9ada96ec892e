/* SPDX-License-Identifier: MIT */
#include "client/identity/connection_string.h"
#include "client/identity/pasted.h"

#include <strings.h>

const char connection_string_advice[] =
    "`az storage account show-connection-string --name ACCOUNT` shows it";

static const struct {
    const char *name;
    size_t offset; /* in struct connection_string */
} names[] = {
    {"DefaultEndpointsProtocol", offsetof(struct connection_string, protocol)},
    {"AccountName", offsetof(struct connection_string, account)},
    {"AccountKey", offsetof(struct connection_string, key)},
    {"EndpointSuffix", offsetof(struct connection_string, suffix)},
    {"TableEndpoint", offsetof(struct connection_string, endpoint)},
    {"TableSecondaryEndpoint", offsetof(struct connection_string, secondary)},
    {"SharedAccessSignature", offsetof(struct connection_string, sas)},
    {"UseDevelopmentStorage", offsetof(struct connection_string, development)},
    {"DevelopmentStorageProxyUri", offsetof(struct connection_string, proxy)},
};

static int put(struct connection_string *ret, struct bytes name, struct bytes value,
               struct call *call)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct bytes *setting = (struct bytes *)((char *)ret + names[i].offset);
        if (name.size != strlen(names[i].name) ||
            strncasecmp(name.data, names[i].name, name.size) != 0)
            continue;
        if (setting->size > 0)
            return call_fail_with(call, -EINVAL, connection_string_advice,
                                  CONNECTION_STRING " names %s twice", names[i].name);
        return pasted_clean(names[i].name, value, call, setting);
    }
    return 0;
}

int connection_string_parse(struct bytes text, struct call *call, struct connection_string *ret)
{
    struct connection_string settings = {0};
    for (int n = 1; text.size > 0; n++) {
        struct bytes value = bytes_trim(bytes_take_until(&text, ';'));
        if (value.size == 0)
            continue;
        if (!memchr(value.data, '=', value.size))
            return call_fail_with(call, -EINVAL, connection_string_advice,
                                  "part %d of " CONNECTION_STRING " is not NAME=VALUE", n);
        struct bytes name = bytes_trim(bytes_take_until(&value, '='));
        int r = put(&settings, name, value, call);
        if (r < 0)
            return r;
    }
    *ret = settings;
    return 0;
}
