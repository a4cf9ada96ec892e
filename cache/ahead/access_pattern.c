/* SPDX-License-Identifier: MIT */
#include "cache/ahead/access_pattern.h"

#define PROBE_ROWS   3   /* after the row that is needed */
#define PROBE_SPARSE 127 /* where misses are in key order */
#define BACKOFF_MAX  64  /* misses from one probe to the next */
#define RECENT_MS    3000
#define DENSE_PART   5   /* of a fetch; random readers use less by chance */
#define SPARSE_PART  100 /* of a fetch, where misses are in key order */
#define IN_ORDER     6   /* random misses ascend so often once in 5,000 */
#define TIMES        8   /* more rows than fetches were worth, or than the largest had */

struct lesson { /* of the last fetches */
    bool is_any_recent;
    size_t dense, sparse; /* fetches; a dense one is sparse, too */
    size_t worth;         /* of the dense ones: together */
    size_t largest;       /* rows that the largest of the sparse ones read ahead */
};

static size_t rows_ahead(const struct row_fetch *fetch)
{
    return fetch->rows - fetch->needed;
}

static void learn(const struct row_fetch *fetch, struct lesson *lesson)
{
    lesson->is_any_recent = true;
    if (fetch->worth == 0 || fetch->worth < rows_ahead(fetch) / SPARSE_PART)
        return;
    lesson->sparse++;
    lesson->largest = MAX(lesson->largest, rows_ahead(fetch));
    if (fetch->worth < rows_ahead(fetch) / DENSE_PART)
        return;
    lesson->dense++;
    lesson->worth += fetch->worth;
}

static uint64_t hash_partition(struct bytes position)
{
    return bytes_hash(BYTES_HASH_START, position_partition_key(position));
}

/* Of the fetches of the partition, if one is recent; else of all. */
static struct lesson learn_all(const struct access_pattern *pattern, struct bytes position,
                               int64_t now_ms)
{
    struct lesson all = {0}, own = {0};
    uint64_t partition = hash_partition(position);
    for (size_t i = 0; i < ACCESS_PATTERN_FETCHES; i++) {
        const struct row_fetch *fetch = &pattern->fetches[i];
        if (fetch->first == 0 || now_ms - fetch->requested_ms >= RECENT_MS)
            continue;
        learn(fetch, &all);
        if (fetch->partition == partition)
            learn(fetch, &own);
    }
    return own.is_any_recent ? own : all;
}

/* Are the misses in key order? */
static bool note_order(struct access_pattern *pattern, struct bytes position)
{
    struct bytes last = {pattern->last, pattern->last_size};
    position = bytes_first(position, MIN(position.size, sizeof(pattern->last)));
    pattern->ascents = bytes_compare(position, last) > 0 ? MIN(pattern->ascents + 1, IN_ORDER) : 0;
    if (position.size > 0)
        memcpy(pattern->last, position.data, position.size);
    pattern->last_size = position.size;
    return pattern->ascents == IN_ORDER;
}

/* 0: no fetch was worth anything. */
static size_t rows_of(const struct lesson *lesson, bool is_in_order)
{
    bool is_sparse = is_in_order && lesson->sparse - lesson->dense > lesson->dense;
    if (is_sparse)
        return TIMES * lesson->largest + 1;
    return lesson->dense > 0 ? TIMES * lesson->worth + 1 : 0;
}

/* Rows of a probe, or 0 until the next is due. */
static size_t probe(struct access_pattern *pattern, bool is_in_order)
{
    if (pattern->wait > 0) {
        pattern->wait--;
        return 0;
    }
    pattern->backoff = MIN(MAX(2 * pattern->backoff, 1), BACKOFF_MAX);
    pattern->wait = pattern->backoff - 1;
    return is_in_order ? PROBE_SPARSE : PROBE_ROWS;
}

size_t access_pattern_ahead(struct access_pattern *pattern, struct bytes position, size_t max_bytes,
                            int64_t now_ms)
{
    bool is_in_order = note_order(pattern, position);
    struct lesson lesson = learn_all(pattern, position, now_ms);
    size_t rows = rows_of(&lesson, is_in_order);
    if (rows > 0 || !lesson.is_any_recent)
        pattern->backoff = pattern->wait = 0;
    if (!lesson.is_any_recent) /* else rows that were too large once would end all reading ahead */
        pattern->row_bytes = 0;
    if (rows == 0)
        rows = probe(pattern, is_in_order);
    return MIN(rows, max_bytes / MAX(pattern->row_bytes, 1));
}

static void remember(struct access_pattern *pattern, struct row_fetch fetch)
{
    pattern->fetches[pattern->next] = fetch;
    pattern->next = (pattern->next + 1) % ACCESS_PATTERN_FETCHES;
}

void access_pattern_fetched(struct access_pattern *pattern, struct bytes position, uint64_t first,
                            size_t needed, size_t rows, size_t bytes, int64_t now_ms)
{
    if (rows == 0)
        return;
    remember(pattern, (struct row_fetch){.first = first,
                                         .partition = hash_partition(position),
                                         .needed = MIN(needed, rows),
                                         .rows = MIN(rows, TABLE_STORE_PAGE_ROWS),
                                         .requested_ms = now_ms});
    pattern->row_bytes = bytes / rows;
}

void access_pattern_failed(struct access_pattern *pattern, struct bytes position, int64_t now_ms)
{
    remember(pattern, (struct row_fetch){.first = UINT64_MAX,
                                         .partition = hash_partition(position),
                                         .requested_ms = now_ms});
}

void access_pattern_absent(struct access_pattern *pattern, struct bytes position, int64_t now_ms)
{
    const struct absence absence = {hash_partition(position), now_ms};
    size_t i = 0;
    while (i < ACCESS_PATTERN_ABSENT - 1 && pattern->absent[i].partition != absence.partition)
        i++;
    memmove(&pattern->absent[1], &pattern->absent[0], i * sizeof(absence));
    pattern->absent[0] = absence;
}

bool access_pattern_is_absent(const struct access_pattern *pattern, struct bytes position,
                              int64_t within_ms, int64_t now_ms)
{
    uint64_t partition = hash_partition(position);
    for (size_t i = 0; i < ACCESS_PATTERN_ABSENT; i++) {
        const struct absence *absence = &pattern->absent[i];
        if (absence->partition == partition)
            return absence->at_ms > 0 && now_ms - absence->at_ms < within_ms;
    }
    return false;
}

/* The fetch that has read the row; NULL: none that is remembered. */
static const struct row_fetch *find(const struct access_pattern *pattern, uint64_t number)
{
    for (size_t i = 0; i < ACCESS_PATTERN_FETCHES; i++) {
        const struct row_fetch *fetch = &pattern->fetches[i];
        if (fetch->first != 0 && number >= fetch->first && number - fetch->first < fetch->rows)
            return fetch;
    }
    return NULL;
}

static bool is_used(const struct row_fetch *fetch, size_t row)
{
    return fetch->used[row / 64] >> row % 64 & 1;
}

void access_pattern_used(struct access_pattern *pattern, uint64_t number)
{
    struct row_fetch *fetch = (struct row_fetch *)find(pattern, number);
    if (!fetch)
        return;
    size_t row = number - fetch->first;
    if (row >= fetch->needed && !is_used(fetch, row))
        fetch->worth++;
    fetch->used[row / 64] |= UINT64_C(1) << row % 64;
}

bool access_pattern_was_used(const struct access_pattern *pattern, uint64_t number)
{
    const struct row_fetch *fetch = find(pattern, number);
    return fetch && is_used(fetch, number - fetch->first);
}
