/* SPDX-License-Identifier: MIT */
#include "tests/stores/rival.h"

#define DEADLINE_MS 10000

static int change_row(struct table_store *store, enum rival_deed deed, const char *table,
                      struct bytes position, struct call *call)
{
    struct write_result result;
    bool is_delete = deed == RIVAL_DELETES;
    const struct write write = {.kind = is_delete ? WRITE_DELETE : WRITE_MERGE,
                                .position = position,
                                .if_match = BYTES_LITERAL("*"),
                                .text = is_delete ? BYTES_LITERAL("")
                                                  : BYTES_LITERAL("{\n  \"Rival\": true\n}\n")};
    return table_store_write(store, table, &write, 1, call, &result);
}

int rival_act(struct table_store *store, const struct clock *clock, enum rival_deed deed,
              const char *table, struct bytes position, struct call *call)
{
    struct call own = {.deadline_ms = clock_now_ms(clock) + DEADLINE_MS};
    int r = deed == RIVAL_NONE    ? 0
            : deed == RIVAL_DROPS ? table_store_delete_table(store, table, &own)
                                  : change_row(store, deed, table, position, &own);
    return r < 0 && r != -ENOENT
               ? call_fail(call, -EIO, "the other client failed: %.200s", own.failure.message)
               : 0;
}
