#include "client/text/table_name.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool table_name_is_legal(struct bytes name)
{
    if (name.size < 3 || name.size >= TABLE_NAME_SIZE || !is_letter(name.data[0]))
        return false;
    for (size_t i = 1; i < name.size; i++)
        if (!is_letter(name.data[i]) && !(name.data[i] >= '0' && name.data[i] <= '9'))
            return false;
    return true;
}
