/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_FS_TREE_PLACE_FIXTURE_H
#define TESTS_UNIT_FS_TREE_PLACE_FIXTURE_H
/* What the tests of places share: paths that are resolved as the kernel does. */
#include "fs/tree/place.h"
#include "tests/unit/unit.h"

/* Looks up each component of the path in the one before, from the root of all tables. */
static inline int follow(enum directory_kind layout, const char *path, struct place *ret)
{
    int r = place_root(NULL, layout, ret);
    while (r == 0 && *path) {
        struct place next;
        size_t size = strcspn(path, "/");
        r = place_child(ret, (struct bytes){path, size}, &next);
        place_finish(ret);
        if (r == 0)
            *ret = next;
        path += size + (path[size] == '/');
    }
    return r;
}

/* The same for a path that has a place. */
static inline void follow_to(enum directory_kind layout, const char *path, struct place *ret)
{
    int r = follow(layout, path, ret);
    if (r < 0)
        fail_msg("%s: %d", path, r);
}

static inline void assert_no_place(enum directory_kind layout, int expected,
                                   const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct place place;
        int r = follow(layout, paths[i], &place);
        if (r != expected)
            fail_msg("%s: %d, not %d", paths[i], r, expected);
    }
}

#endif
