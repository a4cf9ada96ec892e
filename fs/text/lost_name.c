/* SPDX-License-Identifier: MIT */
#include "fs/text/lost_name.h"
#include "client/base/unicode.h"
#include "fs/tree/names.h"

#include <limits.h>

#define KEY_ROOM ((size_t)64) /* bytes of a key, or of a scratch file's name */
_Static_assert(LOST_NAME_TIME_SIZE + LOST_NAME_ACCOUNT_SIZE + 1 + 63 + 2 * (1 + KEY_ROOM) +
                       sizeof(".json" LOST_NAME_REASON) <=
                   NAME_MAX,
               "every name fits");

/* A `-` would end the account's part of the name. */
void lost_name_set_account(const char *account, char ret[LOST_NAME_ACCOUNT_SIZE])
{
    struct bytes shown = utf8_first(bytes_of(account), LOST_NAME_ACCOUNT_SIZE - 1);
    for (size_t i = 0; i < shown.size; i++) {
        char c = shown.data[i];
        bool is_odd = (unsigned char)c < 0x20 || c == 0x7F || c == '-' || c == '/';
        if (is_odd)
            c = '_';
        ret[i] = c;
    }
    ret[shown.size] = '\0';
}

int lost_name_append_time(struct buffer *name, struct timespec time)
{
    struct tm utc;
    char text[32];
    if (gmtime_r(&time.tv_sec, &utc) && strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &utc) > 0)
        (void)buffer_append_format(name, "%s.%03dZ", text, (int)(time.tv_nsec / 1000 / 1000));
    return name->error;
}

static void append_key(struct buffer *tail, struct bytes key)
{
    (void)buffer_append_char(tail, '-');
    (void)names_append_short(key, KEY_ROOM, tail);
}

int lost_name_append_entity(struct buffer *tail, const char *account, struct address address)
{
    (void)buffer_append_format(tail, "-%s", account);
    if (address.table)
        (void)buffer_append_format(tail, "-%s", address.table);
    if (address.table && address.position.size > 0) {
        struct bytes partition_key = position_partition_key(address.position);
        append_key(tail, partition_key);
        if (partition_key.size > 0 && memchr(partition_key.data, '-', partition_key.size))
            (void)buffer_append_char(tail, '#');
        append_key(tail, position_row_key(address.position));
    }
    return buffer_append_string(tail, ".json");
}

int lost_name_append_scratch(struct buffer *tail, const char *account, struct address directory,
                             struct bytes name)
{
    (void)buffer_append_format(tail, "-%s", account);
    if (directory.table) {
        (void)buffer_append_format(tail, "-%s", directory.table);
        append_key(tail, position_partition_key(directory.position));
    }
    (void)buffer_append_char(tail, '-');
    return buffer_append(tail, utf8_first(name, KEY_ROOM));
}

bool lost_name_is_text(struct bytes name, const char *account)
{
    if (name.size <= LOST_NAME_TIME_SIZE || bytes_end_with(name, BYTES_LITERAL(LOST_NAME_REASON)))
        return false;
    struct bytes tail = bytes_skip(name, LOST_NAME_TIME_SIZE + 1);
    struct bytes shown = bytes_of(account);
    return name.data[LOST_NAME_TIME_SIZE] == '-' && bytes_start_with(tail, shown) &&
           tail.size > shown.size && tail.data[shown.size] == '-';
}
