/* SPDX-License-Identifier: MIT */
#include "client/local/local_checksum.h"
#include "client/local/local_text.h"
#include "client/text/timestamp_etag.h"

#include <endian.h>
#include <libdeflate.h>

/* libdeflate is several times as fast as zlib, but not with a few bytes, nor with those before the
 * first border of 64 bytes. So all of a usual entity is gathered first. */
#define BORDER         64
#define GATHERED_BYTES 1024

struct checksum {
    uint32_t value; /* of what is before the gathered bytes */
    size_t size;
    _Alignas(BORDER) char gathered[GATHERED_BYTES];
};

static void begin(struct checksum *checksum) /* what is gathered is not cleared first */
{
    checksum->value = 0;
    checksum->size = 0;
}

static uint32_t value_of(struct checksum *checksum)
{
    if (checksum->size > 0)
        checksum->value = libdeflate_crc32(checksum->value, checksum->gathered, checksum->size);
    checksum->size = 0;
    return checksum->value;
}

static void add(struct checksum *checksum, struct bytes bytes)
{
    if (bytes.size > GATHERED_BYTES - checksum->size)
        (void)value_of(checksum);
    if (bytes.size > GATHERED_BYTES) {
        checksum->value = libdeflate_crc32(checksum->value, bytes.data, bytes.size);
    } else if (bytes.size > 0) {
        memcpy(checksum->gathered + checksum->size, bytes.data, bytes.size);
        checksum->size += bytes.size;
    }
}

static void add_integer(struct checksum *checksum, int64_t integer)
{
    uint64_t data = htole64((uint64_t)integer);
    add(checksum, (struct bytes){(const char *)&data, sizeof(data)});
}

static void add_bytes(struct checksum *checksum, struct bytes bytes)
{
    add_integer(checksum, (int64_t)bytes.size);
    add(checksum, bytes);
}

int64_t local_checksum_entity(int64_t table_id, struct bytes position, int64_t timestamp,
                              struct bytes text)
{
    struct checksum checksum;
    begin(&checksum);
    add_integer(&checksum, table_id);
    add_bytes(&checksum, position);
    add_integer(&checksum, timestamp);
    add_bytes(&checksum, text);
    return value_of(&checksum);
}

int64_t local_checksum_table(int64_t id, struct bytes name)
{
    struct checksum checksum;
    begin(&checksum);
    add_integer(&checksum, id);
    add_bytes(&checksum, name);
    return value_of(&checksum);
}

int64_t local_checksum_account(int64_t last_timestamp)
{
    struct checksum checksum;
    begin(&checksum);
    add_integer(&checksum, last_timestamp);
    return value_of(&checksum);
}

static struct bytes bytes_of_value(sqlite3_value *value)
{
    /* before sqlite3_value_bytes: it may convert the value */
    const char *data = sqlite3_value_blob(value);
    return (struct bytes){data, data ? (size_t)sqlite3_value_bytes(value) : 0};
}

static void checksum_of_values(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct checksum checksum;
    begin(&checksum);
    for (int i = 0; i < count; i++) {
        int type = sqlite3_value_type(values[i]);
        if (type == SQLITE_INTEGER)
            add_integer(&checksum, sqlite3_value_int64(values[i]));
        else if (type != SQLITE_NULL)
            add_bytes(&checksum, bytes_of_value(values[i]));
    }
    sqlite3_result_int64(context, value_of(&checksum));
}

static void checksum_of_entity(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct bytes position = bytes_of_value(values[1]);
    struct bytes text = bytes_of_value(values[3]);
    if (timestamp_is_valid(sqlite3_value_int64(values[2])) && local_text_is_of(position, text))
        checksum_of_values(context, count, values);
    else
        sqlite3_result_int64(context, -1);
}

static int create_function(sqlite3 *database, const char *name, int count,
                           void (*function)(sqlite3_context *, int, sqlite3_value **))
{
    return sqlite3_create_function_v2(database, name, count,
                                      SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
                                      function, NULL, NULL, NULL);
}

int local_checksum_register(sqlite3 *database)
{
    int code = create_function(database, "checksum", -1, checksum_of_values);
    return code == SQLITE_OK
               ? create_function(database, "checksum_of_entity", 4, checksum_of_entity)
               : code;
}
