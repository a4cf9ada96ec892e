/* SPDX-License-Identifier: MIT */
#include "client/local/local_open.h"

int local_open(const char *path, enum local_access access, const struct clock *clock,
               struct call *call, struct local_connection **ret)
{
    _cleanup_(local_connection_closep) struct local_connection *connection = NULL;
    bool has_checksums = false;
    int r = local_connection_create(path, access == LOCAL_ACCESS_AS_IS, clock, call, &connection);
    if (r < 0)
        return r;
    r = local_schema_prepare(connection, access, &has_checksums);
    if (r == 0)
        r = local_connection_prepare(connection, has_checksums);
    if (r < 0)
        return local_connection_explain(connection, path, call, r);
    local_connection_serve(connection, NULL);
    *ret = TAKE_PTR(connection);
    return 0;
}
