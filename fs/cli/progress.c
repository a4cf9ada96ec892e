/* SPDX-License-Identifier: MIT */
#include "fs/cli/progress.h"
#include "client/base/position.h"
#include "client/text/printable.h"
#include "fs/base/say.h"
#include "fs/tree/names.h"

#include <unistd.h>

#define TERMINAL_MS 200 /* between two lines */
#define LOG_MS      10000
#define KEY_BYTES   24 /* so that a line has less than 80 columns */

void progress_init(struct progress *ret, const struct clock *clock, bool is_quiet)
{
    *ret = (struct progress){.clock = clock,
                             .is_quiet = is_quiet,
                             .is_terminal = isatty(STDERR_FILENO),
                             .began_ms = clock_now_ms(clock)};
    ret->next_ms = ret->began_ms + (ret->is_terminal ? TERMINAL_MS : LOG_MS);
}

const char *progress_number(uint64_t number, char ret[PROGRESS_NUMBER_SIZE])
{
    char *at = ret + PROGRESS_NUMBER_SIZE - 1;
    *at = '\0';
    for (int digits = 0; number > 0 || digits == 0; number /= 10, digits++) {
        if (digits > 0 && digits % 3 == 0)
            *--at = ',';
        *--at = (char)('0' + number % 10);
    }
    return at;
}

const char *progress_bytes(uint64_t bytes, char ret[PROGRESS_BYTES_SIZE])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 999.95 && unit + 1 < ARRAY_SIZE(units); unit++)
        value /= 1000;
    (void)snprintf(ret, PROGRESS_BYTES_SIZE, "%.*f %s", unit > 0, value, units[unit]);
    return ret;
}

double progress_elapsed_sec(const struct progress *progress)
{
    return (double)(clock_now_ms(progress->clock) - progress->began_ms) / 1000;
}

/* The start of the keys as a path shows them, so that a terminal can. */
static const char *shown_key(struct bytes position, struct buffer *ret)
{
    if (position.size > 0 &&
        names_append_beginning(position_partition_key(position), KEY_BYTES / 2, ret) == 0 &&
        buffer_append_char(ret, '/') == 0 && position_has_row(position))
        (void)names_append_beginning(position_row_key(position), KEY_BYTES / 2 - 1, ret);
    printable_replace_from(ret, 0);
    const char *text = buffer_string(ret);
    return text ? text : "";
}

/* ", 45 %, 1:10 left", and that the service throttles. */
static const char *shown_rest(const struct progress_counts *counts, double seconds, char *ret,
                              size_t size)
{
    const char *throttled = counts->is_throttled ? ", throttled" : "";
    double share = (double)counts->bytes / (double)MAX(counts->all_bytes, 1);
    if (counts->all_bytes == 0 || counts->bytes == 0 || share > 1) {
        (void)snprintf(ret, size, "%s", throttled);
        return ret;
    }
    int left = (int)(seconds / share - seconds);
    (void)snprintf(ret, size, ", %d %%, %d:%02d left%s", (int)(share * 100), left / 60, left % 60,
                   throttled);
    return ret;
}

bool progress_is_due(const struct progress *progress)
{
    return !progress->is_quiet && clock_now_ms(progress->clock) >= progress->next_ms;
}

void progress_show(struct progress *progress, const struct progress_counts *counts)
{
    if (!progress_is_due(progress))
        return;
    progress->next_ms =
        clock_now_ms(progress->clock) + (progress->is_terminal ? TERMINAL_MS : LOG_MS);
    double seconds = progress_elapsed_sec(progress);
    char rows[PROGRESS_NUMBER_SIZE], rate[PROGRESS_NUMBER_SIZE], bytes[PROGRESS_BYTES_SIZE];
    char rest[64];
    _cleanup_(buffer_finish) struct buffer key = {.max = (size_t)2 * KEY_BYTES};
    (void)fprintf(stderr, "%s%s rows, %s/s, %s%s%d:%02d%s%s%s%s",
                  progress->is_terminal ? "\r" : "tablefuse: ", progress_number(counts->rows, rows),
                  progress_number((uint64_t)((double)counts->rows / MAX(seconds, 0.001)), rate),
                  counts->bytes > 0 ? progress_bytes(counts->bytes, bytes) : "",
                  counts->bytes > 0 ? ", " : "", (int)seconds / 60, (int)seconds % 60,
                  shown_rest(counts, seconds, rest, sizeof(rest)),
                  counts->position.size > 0 ? "  " : "", shown_key(counts->position, &key),
                  progress->is_terminal ? "\033[K" : "\n");
}

void progress_clear(const struct progress *progress)
{
    if (!progress->is_quiet && progress->is_terminal)
        (void)fputs("\r\033[K", stderr);
}

bool progress_may_report(const struct progress *progress, uint64_t number, const char *more)
{
    if (number > PROGRESS_REPORTED + 1)
        return false;
    progress_clear(progress);
    if (number == PROGRESS_REPORTED + 1)
        say("tablefuse: %s\n", more);
    return number <= PROGRESS_REPORTED;
}
