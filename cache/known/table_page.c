/* SPDX-License-Identifier: MIT */
#include "cache/known/table_page.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b); /* memcmp's order */
}

static size_t count_names(struct bytes names)
{
    size_t n = 0;
    for (size_t i = 0; i < names.size; i++)
        n += names.data[i] == '\0';
    return n;
}

/* Where each of n names begins, in the order of the names. */
static int sort_names(struct bytes names, size_t n, const char ***ret)
{
    const char **sorted = calloc(MAX(n, 1), sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    const char *name = names.data;
    for (size_t i = 0; i < n; i++) {
        sorted[i] = name;
        name += strlen(name) + 1;
    }
    qsort(sorted, n, sizeof(*sorted), compare_names);
    *ret = sorted;
    return 0;
}

static int add_table(struct page_builder *builder, const char *name)
{
    return page_builder_end_row(builder, bytes_of(name), BYTES_LITERAL(""), 0);
}

int table_page_of_all(struct bytes names, struct page **ret)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    _cleanup_(freep) const char **sorted = NULL;
    size_t n = count_names(names);
    int r = sort_names(names, n, &sorted);
    if (r == 0)
        r = page_builder_create(PAGE_MAX_BYTES, &builder);
    for (size_t i = 0; i < n && r == 0; i++) {
        if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0)
            r = add_table(builder, sorted[i]);
    }
    return r < 0 ? r : page_builder_finish(builder, RANGE_ALL, false, ret);
}

int table_page_of_one(const char *name, bool is_there, struct page **ret)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    struct position end;
    int r = page_builder_create(PAGE_MAX_BYTES, &builder);
    if (r == 0 && is_there)
        r = add_table(builder, name);
    return r < 0 ? r : page_builder_finish(builder, range_of_one(bytes_of(name), &end), false, ret);
}
