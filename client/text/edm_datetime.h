/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_EDM_DATETIME_H
#define CLIENT_TEXT_EDM_DATETIME_H
/* Times of the service: its DateTimes, Timestamps, and the times in ETags and SAS tokens. Ticks of
 * 100 ns since 1970 (client/base/clock.h), in the years 1601 to 9999 of UTC. Pure.
 *
 *     2008-07-10               midnight UTC
 *     2008-07-10Z              so Azurite answers the form above
 *     2008-07-10T04:25         no zone is UTC
 *     2008-07-10T04:25:03.5Z   the seconds may have one to seven digits of fraction
 *     2008-07-10T04:25+01:00   an offset, up to 14:00 in both directions: 03:25 UTC
 *
 * https://learn.microsoft.com/rest/api/storageservices/formatting-datetime-values */
#include "client/base/bytes.h"

/* Strict: false for anything else, such as 31 June or the second 60, and outside of the years. */
bool edm_datetime_parse(struct bytes text, int64_t *ret);
/* Has the text one of the forms, whatever the year? */
bool edm_datetime_has_form(struct bytes text);

#define EDM_DATETIME_SIZE 28
/* `2008-07-10T03:25:00.0000000Z` and a NUL. */
void edm_datetime_write(int64_t ticks, char ret[EDM_DATETIME_SIZE + 1]);
/* The canonical spelling: the same without zeros at the end of its fraction. */
int edm_datetime_append(struct buffer *ret, int64_t ticks);

#endif
