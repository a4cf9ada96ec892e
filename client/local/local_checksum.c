#include "client/local/local_checksum.h"
#include "client/local/local_text.h"
#include "client/text/timestamp_etag.h"

#include <zlib.h>

static unsigned long add_integer(unsigned long checksum, int64_t integer)
{
    unsigned char data[sizeof(integer)];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)((uint64_t)integer >> (8 * i));
    return crc32_z(checksum, data, sizeof(data));
}

static unsigned long add_bytes(unsigned long checksum, struct bytes bytes)
{
    checksum = add_integer(checksum, (int64_t)bytes.size);
    return bytes.size > 0 ? crc32_z(checksum, (const unsigned char *)bytes.data, bytes.size)
                          : checksum;
}

int64_t local_checksum_entity(int64_t table_id, struct bytes position, int64_t timestamp,
                              struct bytes text)
{
    unsigned long checksum = add_bytes(add_integer(0, table_id), position);
    return (int64_t)add_bytes(add_integer(checksum, timestamp), text);
}

int64_t local_checksum_table(int64_t id, struct bytes name)
{
    return (int64_t)add_bytes(add_integer(0, id), name);
}

int64_t local_checksum_account(int64_t last_timestamp)
{
    return (int64_t)add_integer(0, last_timestamp);
}

static struct bytes bytes_of_value(sqlite3_value *value)
{
    /* before sqlite3_value_bytes: it may convert the value */
    const char *data = sqlite3_value_blob(value);
    return (struct bytes){data, data ? (size_t)sqlite3_value_bytes(value) : 0};
}

static void checksum(sqlite3_context *context, int count, sqlite3_value **values)
{
    unsigned long result = 0;
    for (int i = 0; i < count; i++) {
        int type = sqlite3_value_type(values[i]);
        if (type == SQLITE_INTEGER)
            result = add_integer(result, sqlite3_value_int64(values[i]));
        else if (type != SQLITE_NULL)
            result = add_bytes(result, bytes_of_value(values[i]));
    }
    sqlite3_result_int64(context, (int64_t)result);
}

static void checksum_of_entity(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct bytes position = bytes_of_value(values[1]);
    struct bytes text = bytes_of_value(values[3]);
    if (timestamp_is_valid(sqlite3_value_int64(values[2])) && local_text_is_of(position, text))
        checksum(context, count, values);
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
    int code = create_function(database, "checksum", -1, checksum);
    return code == SQLITE_OK
               ? create_function(database, "checksum_of_entity", 4, checksum_of_entity)
               : code;
}
