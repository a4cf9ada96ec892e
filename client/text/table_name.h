#ifndef CLIENT_TEXT_TABLE_NAME_H
#define CLIENT_TEXT_TABLE_NAME_H
/* The rule of table names: a letter, then 2 to 62 letters and digits (ASCII). Such a name needs no
 * escapes in a file name, in a URL's path or in a line of text. Pure. */
#include "client/bytes.h"

#define TABLE_NAME_SIZE 64 /* with a NUL */

bool table_name_is_legal(struct bytes name);

#endif
