/* SPDX-License-Identifier: MIT */
#include "client/azure/table_answer.h"
#include "client/text/small_json.h"

int table_answer_append(struct bytes body, const char *only, struct table_names *ret)
{
    _cleanup_(cJSON_Deletep) cJSON *tree = NULL;
    const cJSON *tables, *table;
    int r = small_json_parse(body, &tree);
    if (r < 0)
        return r;
    tables = cJSON_GetObjectItemCaseSensitive(tree, "value");
    if (!cJSON_IsArray(tables))
        return -EPROTO;
    cJSON_ArrayForEach(table, tables)
    {
        struct bytes name = small_json_string(table, "TableName");
        if (name.size == 0)
            return -EPROTO;
        if (only && !bytes_equal(name, bytes_of(only)))
            continue;
        r = buffer_append(&ret->names, (struct bytes){name.data, name.size + 1}); /* and NUL */
        if (r < 0)
            return r;
    }
    return 0;
}
