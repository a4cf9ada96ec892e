#include "client/written.h"
#include "client/text/entity_compare.h"

static bool is_as_written(const struct write *write, struct bytes text)
{
    switch (write->kind) {
    case WRITE_INSERT:
    case WRITE_REPLACE:
    case WRITE_UPSERT_REPLACE:
        return entity_text_equal(text, write->text);
    case WRITE_MERGE:
    case WRITE_UPSERT_MERGE:
        return entity_text_includes(text, write->text);
    case WRITE_DELETE:
        return false; /* the entity still exists */
    }
    return false;
}

static int check_one(struct table_store *store, const char *table, const struct write *write,
                     struct call *call, struct write_result *ret)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    int r = table_store_get(store, table, write->position, call, &page);
    *ret = (struct write_result){0};
    if (r == -ENOENT)
        return write->kind == WRITE_DELETE;
    if (r < 0)
        return r;
    struct bytes etag = page_etag(page, 0);
    (void)snprintf(ret->etag, sizeof(ret->etag), "%.*s", (int)etag.size, etag.data);
    ret->timestamp = page_timestamp(page, 0);
    return is_as_written(write, page_text(page, 0));
}

int written_check(struct table_store *store, const char *table, const struct write *writes,
                  size_t n, struct call *call, struct write_result *ret)
{
    for (size_t i = 0; i < n; i++) {
        int r = check_one(store, table, &writes[i], call, &ret[i]);
        if (r <= 0)
            return r;
    }
    return 1;
}
