/* SPDX-License-Identifier: MIT */
/* A name that means a key or a prefix is the name of that one and of no other, and no name means
 * both; a key's name is a legal file name that leads back. */
#include "client/base/position.h"
#include "client/text/table_name.h"
#include "fs/tree/names.h"
#include "fs/tree/place.h"
#include "tests/fuzz/fuzz.h"

#define MAX_BYTES ((size_t)64 << 10)

static bool check_name(struct bytes name, enum name_kind kind)
{
    struct buffer key;
    enum name_meaning meaning;
    buffer_init(&key, MAX_BYTES);
    INVARIANT(names_decode(name, kind, &key, &meaning) == 0);
    if (meaning == NAME_MEANS_KEY)
        INVARIANT(names_is_of(name, kind, buffer_bytes(&key)) == 1);
    buffer_finish(&key);
    return meaning != NAME_MEANS_NOTHING;
}

static bool is_legal_file_name(struct bytes name)
{
    if (name.size == 0 || name.size > NAME_MAX_BYTES || name.data[0] == '.')
        return false;
    for (size_t i = 0; i < name.size; i++)
        if ((unsigned char)name.data[i] < 0x20 || name.data[i] == '/')
            return false;
    return true;
}

static void check_key(struct bytes key, enum name_kind kind)
{
    struct buffer name, again;
    enum name_meaning meaning;
    buffer_init(&name, NAME_MAX_BYTES);
    buffer_init(&again, MAX_BYTES);
    if (names_encode(key, kind, &name) == 0) {
        INVARIANT(is_legal_file_name(buffer_bytes(&name)));
        INVARIANT(names_decode(buffer_bytes(&name), kind, &again, &meaning) == 0);
        /* an unsettled key that was not made of a cut name may have a name that is too short */
        INVARIANT(meaning != NAME_MEANS_NOTHING || position_is_unsettled(key));
        if (meaning == NAME_MEANS_KEY)
            INVARIANT(bytes_equal(buffer_bytes(&again), key));
        else
            INVARIANT(kind != NAME_PREFIX && bytes_start_with(key, buffer_bytes(&again)));
        INVARIANT(names_is_prefix(buffer_bytes(&name)) == (kind == NAME_PREFIX));
    } else {
        INVARIANT(kind != NAME_PREFIX || !prefix_is_showable(key));
    }
    buffer_finish(&name);
    buffer_finish(&again);
}

/* What is listed below a directory is a part of it, and one query can ask for it. */
static void check_range(const struct place *parent, const struct place *child)
{
    if (child->kind != PLACE_DIRECTORY)
        return;
    struct range outer = place_directory(parent).range, inner = place_directory(child).range;
    INVARIANT(!range_is_empty(inner) && range_is_expressible(inner));
    if (parent->directory_kind != DIRECTORY_TABLES)
        INVARIANT(bytes_compare(outer.lo, inner.lo) <= 0 && bytes_compare(inner.hi, outer.hi) <= 0);
}

/* What a cut name would make has that name, if any key can have it, and lies in the directory. */
static void check_unsettled(const struct place *parent, const struct place *cut, struct bytes name)
{
    struct place child;
    bool is_row = parent->directory_kind == DIRECTORY_ENTITIES;
    INVARIANT(place_of_unsettled(parent, name, cut, &child) == 0);
    struct bytes position = place_address(&child).position;
    INVARIANT(place_is_unsettled(&child) && range_holds(place_directory(parent).range, position));
    int r = names_is_of(name, is_row ? NAME_ENTITY : NAME_PARTITION,
                        is_row ? position_row_key(position) : position_partition_key(position));
    INVARIANT(r == 0 || r == 1);
    place_finish(&child);
}

/* rmdir of it drops a table with all its rows: nothing but `TABLE!` in `.tablefuse/drop` leads
 * there, and what it drops is that table. */
static void check_drop(const struct place *parent, const struct place *child, struct bytes name)
{
    if (child->kind != PLACE_DROPPED_TABLE)
        return;
    struct directory directory = place_directory(child);
    size_t size = strlen(directory.table);
    INVARIANT(parent->kind == PLACE_DROP_DIRECTORY);
    INVARIANT(table_name_is_shown(bytes_of(directory.table)));
    INVARIANT(name.size == size + 1 && memcmp(name.data, directory.table, size) == 0 &&
              name.data[size] == '!');
    INVARIANT(directory.range.lo.size == 0 && bytes_equal(directory.range.hi, RANGE_ALL.hi));
    INVARIANT(!directory.filter);
}

/* A path, its parts after slashes: every place on it can be made or is refused. */
static void check_path(struct bytes path, enum directory_kind layout)
{
    struct place place;
    INVARIANT(place_root(NULL, layout, &place) == 0);
    while (path.size > 0) {
        const char *slash = memchr(path.data, '/', path.size);
        size_t size = slash ? (size_t)(slash - path.data) : path.size;
        struct place child;
        if (place_child(&place, bytes_first(path, size), &child) < 0)
            break;
        check_range(&place, &child);
        check_drop(&place, &child, bytes_first(path, size));
        INVARIANT(place.kind != PLACE_DROP_DIRECTORY || child.kind == PLACE_DROPPED_TABLE);
        if (child.is_cut)
            check_unsettled(&place, &child, bytes_first(path, size));
        place_finish(&place);
        place = child;
        if (child.is_cut)
            break;
        path = bytes_skip(path, MIN(size + 1, path.size));
    }
    place_finish(&place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = {(const char *)data, size};
    bool is_something[NAME_PREFIX + 1] = {false};
    for (int kind = NAME_PARTITION; kind <= NAME_PREFIX; kind++) {
        is_something[kind] = check_name(input, (enum name_kind)kind);
        check_key(input, (enum name_kind)kind);
    }
    INVARIANT(!is_something[NAME_PREFIX] ||
              !(is_something[NAME_PARTITION] || is_something[NAME_ENTITY]));
    check_path(input, DIRECTORY_AUTO);
    check_path(input, DIRECTORY_FLAT);
    return 0;
}
