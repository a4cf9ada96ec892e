/* SPDX-License-Identifier: MIT */
#include "client/store/later_etag.h"

#include <stdatomic.h>

struct later_etag {
    _Atomic size_t references;
    _Atomic bool is_lost;
    _Atomic(char *) text; /* NULL: not known */
    size_t size;          /* fixed before the text is */
};

struct later_etag *later_etag_create(void)
{
    struct later_etag *later = calloc(1, sizeof(*later));
    if (later)
        later->references = 1;
    return later;
}

struct later_etag *later_etag_ref(struct later_etag *later)
{
    atomic_fetch_add_explicit(&later->references, 1, memory_order_relaxed);
    return later;
}

void later_etag_unref(struct later_etag *later)
{
    if (!later || atomic_fetch_sub_explicit(&later->references, 1, memory_order_acq_rel) > 1)
        return;
    free(later->text);
    free(later);
}

void later_etag_learn(struct later_etag *later, struct bytes etag)
{
    char *text = etag.size > 0 ? malloc(etag.size) : NULL;
    if (!text) {
        later_etag_lose(later);
        return;
    }
    memcpy(text, etag.data, etag.size);
    later->size = etag.size;
    later->text = text;
}

void later_etag_lose(struct later_etag *later)
{
    later->is_lost = true;
}

struct bytes later_etag_get(const struct later_etag *later)
{
    const char *text = later->text;
    return text ? (struct bytes){text, later->size} : (struct bytes){0};
}

bool later_etag_is_lost(const struct later_etag *later)
{
    return later->is_lost;
}
