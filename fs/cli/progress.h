/* SPDX-License-Identifier: MIT */
#ifndef FS_CLI_PROGRESS_H
#define FS_CLI_PROGRESS_H
/* Shows the progress of a long command on standard error: at a terminal in one line that is
 * updated, else in a new line every 10 s; and one line at the end. One thread. */
#include "client/base/bytes.h"
#include "client/base/clock.h"

struct progress {
    const struct clock *clock;
    bool is_quiet, is_terminal;
    int64_t began_ms, next_ms;
};

struct progress_counts {
    uint64_t rows, bytes;  /* bytes 0: not shown */
    struct bytes position; /* of the last row; empty: not shown */
    uint64_t all_bytes;    /* of the input, to show the percentage and the time left; 0: unknown */
    bool is_throttled;
};

void progress_init(struct progress *ret, const struct clock *clock, bool is_quiet);
bool progress_is_due(const struct progress *progress);
/* Writes a line if one is due. */
void progress_show(struct progress *progress, const struct progress_counts *counts);
/* Removes the line from the terminal; called before another message, too. */
void progress_clear(const struct progress *progress);
#define PROGRESS_REPORTED 100
/* May this message be written? number: counts messages of its kind, from 1 on. The first
 * PROGRESS_REPORTED may be written; instead of the next one, `more` is. Clears the progress line.
 */
bool progress_may_report(const struct progress *progress, uint64_t number, const char *more);
double progress_elapsed_sec(const struct progress *progress);

/* 1234567 as "1,234,567". */
#define PROGRESS_NUMBER_SIZE 27
const char *progress_number(uint64_t number, char ret[PROGRESS_NUMBER_SIZE]);
/* A number of bytes as "12.3 MB": powers of 1000. */
#define PROGRESS_BYTES_SIZE 16
const char *progress_bytes(uint64_t bytes, char ret[PROGRESS_BYTES_SIZE]);

#endif
