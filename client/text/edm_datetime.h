/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_EDM_DATETIME_H
#define CLIENT_TEXT_EDM_DATETIME_H
/* Times of the service: DateTimes, Timestamps, and the times in ETags and SAS tokens. In ticks of
 * 100 ns since 1970 (client/base/clock.h), for the years 1601 to 9999 of UTC. Pure.
 *
 *     2008-07-10               midnight UTC
 *     2008-07-10Z              the same; Azurite answers it for the form above
 *     2008-07-10T04:25         UTC if there is no zone
 *     2008-07-10T04:25:03.5Z   the seconds may have one to seven digits of fraction
 *     2008-07-10T04:25+01:00   an offset, up to 14:00 in both directions: 03:25 UTC
 *
 * https://learn.microsoft.com/rest/api/storageservices/formatting-datetime-values */
#include "client/base/bytes.h"

/* Strict: false for anything else, such as 31 June or second 60, and for other years. */
bool edm_datetime_parse(struct bytes text, int64_t *ret);
/* Does the text have one of these forms, in any year? */
bool edm_datetime_has_form(struct bytes text);

#define EDM_DATETIME_SIZE 28
/* Writes `2008-07-10T03:25:00.0000000Z` and a NUL. */
void edm_datetime_write(int64_t ticks, char ret[EDM_DATETIME_SIZE + 1]);
/* Appends the canonical spelling: the same without trailing zeros of the fraction. */
int edm_datetime_append(struct buffer *ret, int64_t ticks);

#endif
