/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_check.h"
#include "client/base/position.h"
#include "client/base/unicode.h"
#include "client/entity/entity_lines.h"
#include "client/text/base64.h"
#include "client/text/edm_datetime.h"
#include "client/text/json_string.h"

/* An entity's size as the service counts it. Microsoft has documented the sum; users have measured
 * the fixed part at the limit. */
#define SIZE_FIXED       (4 + 160)
#define SIZE_OF_UNIT     2
#define SIZE_OF_PROPERTY 8
#define SIZE_OF_LENGTH   4
/* Printed exactly, a double has at most 767 digits. */
#define MAX_DOUBLE_BYTES 800

static int refuse(struct entity_refusal *ret, int error, const char *code, const char *reason)
{
    *ret = (struct entity_refusal){.error = error, .code = code, .reason = reason};
    return error;
}

static int refuse_input(struct entity_refusal *ret, const char *reason)
{
    return refuse(ret, -EINVAL, "InvalidInput", reason);
}

static int check_key_characters(struct bytes key, struct entity_refusal *ret)
{
    uint32_t character;
    while (key.size > 0) {
        size_t n = cesu8_next(key, &character);
        if (n == 0)
            return refuse_input(ret, "a key that is not CESU-8");
        if (!position_is_legal_in_key(character))
            return refuse(ret, -EINVAL, "OutOfRangeInput",
                          "a key with one of / \\ # ? or a control character");
        key = bytes_skip(key, n);
    }
    return 0;
}

int entity_check_key(struct bytes key, struct entity_refusal *ret_refusal)
{
    int r = check_key_characters(key, ret_refusal);
    if (r == 0 && cesu8_units(key) > ENTITY_MAX_KEY_UNITS)
        return refuse(ret_refusal, -ENAMETOOLONG, "KeyValueTooLarge",
                      "a key of more than 512 UTF-16 units");
    return r;
}

static int check_name(struct bytes name, struct entity_refusal *ret)
{
    size_t size = edm_name_size(name);
    if (bytes_start_with(bytes_skip(name, size), BYTES_LITERAL("\\ud")))
        return refuse(ret, -EINVAL, "PropertyNameInvalid", "a name with a lone surrogate");
    if (size == 0 || size < name.size)
        return refuse(ret, -EINVAL, "PropertyNameInvalid",
                      "a name with an ASCII character other than letters, digits and underscores, "
                      "or that begins with a digit");
    if (edm_name_is_too_long(name))
        return refuse(ret, -EINVAL, "PropertyNameTooLong", "a name of more than 255 characters");
    return 0;
}

/* Each function adds the value's size to `size`. */

static int check_string(struct bytes text, size_t *size, struct entity_refusal *ret)
{
    size_t units = json_string_units(text);
    if (units > ENTITY_MAX_STRING_UNITS)
        return refuse(ret, -EINVAL, "PropertyValueTooLarge",
                      "a string of more than 32,768 UTF-16 units");
    *size += SIZE_OF_LENGTH + units * SIZE_OF_UNIT;
    return 0;
}

static int check_binary(struct bytes text, size_t *size, struct entity_refusal *ret)
{
    size_t bytes;
    if (!base64_decoded_size(text, &bytes))
        return refuse_input(ret, "an Edm.Binary that is not base64");
    if (bytes > ENTITY_MAX_BINARY_BYTES)
        return refuse(ret, -EINVAL, "PropertyValueTooLarge", "a binary of more than 64 KiB");
    *size += SIZE_OF_LENGTH + bytes;
    return 0;
}

static int check_datetime(struct bytes text, size_t *size, struct entity_refusal *ret)
{
    int64_t time;
    *size += sizeof(time);
    if (edm_datetime_parse(text, &time))
        return 0;
    if (edm_datetime_has_form(text))
        return refuse(ret, -EINVAL, "OutOfRangeInput",
                      "an Edm.DateTime outside of the years 1601 to 9999 of UTC");
    return refuse_input(ret, "no Edm.DateTime such as 2012-11-10T03:04:05.2Z, "
                             "2012-11-10T04:04+01:00 or 2012-11-10");
}

static int check_integer(const struct edm_value *value, size_t *size, struct entity_refusal *ret)
{
    int64_t integer;
    bool is_long = value->type == EDM_INT64;
    *size += is_long ? sizeof(int64_t) : sizeof(int32_t);
    if (edm_integer_parse(value->token.text, is_long ? INT64_MIN : INT32_MIN,
                          is_long ? INT64_MAX : INT32_MAX, &integer))
        return 0;
    return refuse_input(ret, is_long ? "no integer of 64 bits" : "no integer of 32 bits");
}

static int check_double(struct bytes text, size_t *size, struct entity_refusal *ret)
{
    double number;
    *size += sizeof(number);
    if (text.size > MAX_DOUBLE_BYTES)
        return refuse_input(ret, "a number of more than 800 characters");
    return edm_double_parse(text, &number) ? 0 : refuse_input(ret, "no number of 64 bits");
}

static int check_guid(struct bytes text, size_t *size, struct entity_refusal *ret)
{
    unsigned char guid[EDM_GUID_BYTES];
    *size += sizeof(guid);
    return edm_guid_parse(text, guid) ? 0 : refuse_input(ret, "no Edm.Guid");
}

/* Does the value have the JSON kind of its type? */
static bool has_kind_of_type(const struct edm_value *value)
{
    enum json_kind kind = value->token.kind;
    if (value->type == EDM_BOOLEAN)
        return kind == JSON_TRUE || kind == JSON_FALSE;
    if (value->type == EDM_INT32)
        return kind == JSON_NUMBER;
    return kind == JSON_STRING || (kind == JSON_NUMBER && value->type == EDM_DOUBLE);
}

#define UNKNOWN_TYPE          "a type that the service does not know"
#define MISSPELLED_TYPE(name) UNKNOWN_TYPE "; it is written " name

static int refuse_type(struct bytes annotation, struct entity_refusal *ret)
{
    static const char *const reasons[] = {
        [EDM_STRING] = MISSPELLED_TYPE("Edm.String"),
        [EDM_BOOLEAN] = MISSPELLED_TYPE("Edm.Boolean"),
        [EDM_INT32] = MISSPELLED_TYPE("Edm.Int32"),
        [EDM_INT64] = MISSPELLED_TYPE("Edm.Int64"),
        [EDM_DOUBLE] = MISSPELLED_TYPE("Edm.Double"),
        [EDM_DATETIME] = MISSPELLED_TYPE("Edm.DateTime"),
        [EDM_GUID] = MISSPELLED_TYPE("Edm.Guid"),
        [EDM_BINARY] = MISSPELLED_TYPE("Edm.Binary"),
        [EDM_OTHER] = UNKNOWN_TYPE,
    };
    return refuse_input(ret, reasons[edm_type_meant(annotation)]);
}

static int check_value(const struct edm_value *value, size_t *size, struct entity_refusal *ret)
{
    static const char *const wrong_kinds[] = {
        [EDM_STRING] = "an Edm.String that is not a string",
        [EDM_BOOLEAN] = "an Edm.Boolean that is neither true nor false",
        [EDM_INT32] = "an Edm.Int32 that is not a number",
        [EDM_INT64] = "an Edm.Int64 that is no integer of 64 bits",
        [EDM_DOUBLE] = "an Edm.Double that is not a number",
        [EDM_DATETIME] = "an Edm.DateTime that is not a string",
        [EDM_GUID] = "an Edm.Guid that is not a string",
        [EDM_BINARY] = "an Edm.Binary that is not a string",
    };
    struct bytes text = value->token.text;
    if (value->type != EDM_OTHER && !has_kind_of_type(value))
        return refuse_input(ret, wrong_kinds[value->type]);
    switch (value->type) {
    case EDM_STRING:
        return check_string(text, size, ret);
    case EDM_BOOLEAN:
        *size += 1;
        return 0;
    case EDM_INT32:
    case EDM_INT64:
        return check_integer(value, size, ret);
    case EDM_DOUBLE:
        return check_double(text, size, ret);
    case EDM_DATETIME:
        return check_datetime(text, size, ret);
    case EDM_GUID:
        return check_guid(text, size, ret);
    case EDM_BINARY:
        return check_binary(text, size, ret);
    case EDM_OTHER:
    default:
        return refuse_type(value->annotation, ret);
    }
}

int entity_check_property(struct bytes name, const struct edm_value *value,
                          struct entity_total *total, struct entity_refusal *ret_refusal)
{
    total->properties++;
    if (total->properties > ENTITY_MAX_PROPERTIES)
        return refuse(ret_refusal, -EINVAL, "TooManyProperties", "more than 252 properties");
    int r = check_name(name, ret_refusal);
    if (r == 0)
        r = check_value(value, &total->bytes, ret_refusal);
    if (r < 0)
        ret_refusal->name = name;
    total->bytes += SIZE_OF_PROPERTY + json_string_units(name) * SIZE_OF_UNIT;
    return r;
}

int entity_check_total(const struct entity_total *total, struct entity_refusal *ret_refusal)
{
    if (total->bytes > ENTITY_MAX_BYTES)
        return refuse(ret_refusal, -EFBIG, "EntityTooLarge", "an entity of more than 1 MiB");
    return 0;
}

int entity_check_keys(struct bytes position, struct entity_total *ret_total,
                      struct entity_refusal *ret_refusal)
{
    struct bytes partition_key = position_partition_key(position);
    struct bytes row_key = position_row_key(position);
    if (!position_has_row(position))
        return refuse(ret_refusal, -EINVAL, "PropertiesNeedValue", "no row key");
    int r = entity_check_key(partition_key, ret_refusal);
    if (r == 0)
        r = entity_check_key(row_key, ret_refusal);
    size_t units = cesu8_units(partition_key) + cesu8_units(row_key);
    *ret_total = (struct entity_total){.bytes = SIZE_FIXED + units * SIZE_OF_UNIT};
    return r;
}

static int check_key_is(const struct entity_property *property, struct bytes position,
                        struct entity_refusal *ret)
{
    bool is_partition = property->role == ENTITY_PARTITION_KEY;
    struct bytes key = is_partition ? position_partition_key(position) : position_row_key(position);
    if (json_string_compare_cesu8(property->value.token.text, key) == 0)
        return 0;
    return refuse_input(ret, "a key in the text that is not the one it is stored under");
}

static int check_text(struct bytes position, struct bytes text, struct entity_total *total,
                      struct entity_refusal *ret)
{
    struct entity_lines lines;
    struct entity_property property;
    int r;
    entity_lines_init(&lines, text);
    while ((r = entity_lines_next(&lines, &property)) > 0) {
        r = property.role == ENTITY_PROPERTY
                ? entity_check_property(property.name, &property.value, total, ret)
                : check_key_is(&property, position, ret);
        if (r < 0)
            return r;
    }
    return r < 0 ? refuse_input(ret, "a text that is not canonical") : 0;
}

int entity_check(struct bytes position, struct bytes text, struct entity_refusal *ret_refusal)
{
    struct entity_total total;
    int r = entity_check_keys(position, &total, ret_refusal);
    if (r == 0)
        r = check_text(position, text, &total, ret_refusal);
    return r < 0 ? r : entity_check_total(&total, ret_refusal);
}
