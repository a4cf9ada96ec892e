#ifndef CLIENT_TEXT_TABLE_NAME_H
#define CLIENT_TEXT_TABLE_NAME_H
/* What a table may be called: a letter, then 2 to 62 letters and digits (ASCII). Such a name is a
 * file name, a URL's path and a line of text as it is. Pure. */
#include "client/bytes.h"

#define TABLE_NAME_SIZE 64 /* with a NUL */

bool table_name_is_legal(struct bytes name);

#endif
