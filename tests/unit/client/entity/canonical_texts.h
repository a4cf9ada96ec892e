/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CLIENT_ENTITY_CANONICAL_TEXTS_H
#define TESTS_UNIT_CLIENT_ENTITY_CANONICAL_TEXTS_H
/* Canonical texts of the entity p/r, for tests: TEXT(PLAIN("a", "1") TYPED("b", "Int64", "\"2\"")).
 */
#include "tests/unit/unit.h"

#define POSITION B("p\0r")
#define KEYS     "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\""

#define PLAIN(name, value) ",\n  \"" name "\": " value
#define TYPED(name, type, value)                                                                   \
    ",\n  \"" name "@odata.type\": \"Edm." type "\",\n  \"" name "\": " value
#define TEXT(members) B(KEYS members "\n}\n")

#endif
