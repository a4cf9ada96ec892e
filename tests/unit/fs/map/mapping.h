/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_FS_MAP_MAPPING_H
#define TESTS_UNIT_FS_MAP_MAPPING_H
/* Maps of tables that are given in a few lines, for tests of what draws them. */
#include "fs/map/drawing.h"
#include "tests/unit/unit.h"

struct mapped { /* a partition; name NULL: the end */
    const char *name;
    uint64_t entities, bytes;
};

/* Facts of the tree alone. The caller destroys the survey. In key order. */
static inline struct survey *mapped_facts(const struct mapped *list, bool by_bytes,
                                          struct table_facts *ret)
{
    struct survey *survey;
    *ret = (struct table_facts){0};
    assert_int_equal(survey_create(SIZE_MAX, by_bytes, &survey), 0);
    for (; list->name; list++)
        assert_int_equal(survey_add(survey, bytes_of(list->name), list->entities, list->bytes), 0);
    assert_int_equal(survey_finish(survey, &ret->all), 0);
    return survey;
}

/* What `append` draws of table T is this. */
static inline void assert_drawn_by(int (*append)(const struct map_drawing *, struct buffer *),
                                   struct map_drawing drawing, const char *expected)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = MAP_TEXT_MAX_BYTES};
    drawing.table = "T";
    drawing.directory = drawing.directory ? drawing.directory : "";
    drawing.root = drawing.root ? drawing.root : drawing.facts->all;
    assert_int_equal(append(&drawing, &text), 0);
    assert_bytes(buffer_bytes(&text), bytes_of(expected));
}

#define HOSTILE_KEYS                                                                               \
    {"\x01\x1b[31m", 30, 0}, {"<&\"'>", 20, 0}, {"a+", 10, 0}, {"a+b", 10, 0},                     \
        {"x\xe2\x80\xae\xe2\x81\xa6", 10, 0}, {"\xe6\x97\xa5\xe6\x9c\xac", 10, 0},                 \
        {"\xed\xa0\xbd", 5, 0}, {"\xed\xa0\xbd\xed\xb8\x80", 5, 0},                                \
    {                                                                                              \
        "\xef\xbf\xbe", 20, 0                                                                      \
    }

#endif
