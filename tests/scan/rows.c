/* SPDX-License-Identifier: MIT */
#include "tests/scan/rows.h"

#include <assert.h>

#define BLOCK_BYTES ((size_t)1 << 20)

void rows_init(struct rows *rows)
{
    *rows = (struct rows){.is_sorted = true};
}

void rows_finish(struct rows *rows)
{
    while (rows->block) {
        char *previous;
        memcpy(&previous, rows->block, sizeof(previous));
        free(rows->block);
        rows->block = previous;
    }
    free(rows->positions);
}

static void *checked(void *memory)
{
    if (!memory) {
        (void)fputs("out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static char *take_memory(struct rows *rows, size_t size)
{
    assert(size <= BLOCK_BYTES - sizeof(char *));
    if (rows->block_left < size) {
        char *block = checked(malloc(BLOCK_BYTES));
        memcpy(block, &rows->block, sizeof(rows->block));
        rows->block = block;
        rows->block_left = BLOCK_BYTES - sizeof(rows->block);
    }
    char *memory = rows->block + BLOCK_BYTES - rows->block_left;
    rows->block_left -= size;
    return memory;
}

static void append(struct rows *rows, struct bytes position)
{
    if (rows->count == rows->capacity) {
        rows->capacity = MAX(rows->capacity * 2, 1024);
        rows->positions =
            checked(realloc(rows->positions, rows->capacity * sizeof(*rows->positions)));
    }
    rows->positions[rows->count++] = position;
}

void rows_add(struct rows *rows, struct bytes partition_key, struct bytes row_key)
{
    char *memory = take_memory(rows, partition_key.size + 1 + row_key.size);
    if (partition_key.size > 0)
        memcpy(memory, partition_key.data, partition_key.size);
    memory[partition_key.size] = '\0';
    if (row_key.size > 0)
        memcpy(memory + partition_key.size + 1, row_key.data, row_key.size);
    append(rows, (struct bytes){memory, partition_key.size + 1 + row_key.size});
    rows->is_sorted = false;
}

void rows_add_strings(struct rows *rows, const char *partition_key, const char *row_key)
{
    rows_add(rows, bytes_of(partition_key), bytes_of(row_key));
}

static int compare(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

void rows_sort(struct rows *rows)
{
    if (rows->is_sorted)
        return;
    qsort(rows->positions, rows->count, sizeof(*rows->positions), compare);
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (kept == 0 || !bytes_equal(rows->positions[i], rows->positions[kept - 1]))
            rows->positions[kept++] = rows->positions[i];
    }
    rows->count = kept;
    rows->is_sorted = true;
}

size_t rows_seek(const struct rows *rows, struct bytes position)
{
    assert(rows->is_sorted);
    size_t lo = 0, hi = rows->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (bytes_compare(rows->positions[middle], position) < 0)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static bool is_at(const struct rows *rows, size_t row, struct bytes position)
{
    return row < rows->count && bytes_equal(rows->positions[row], position);
}

bool rows_insert(struct rows *rows, struct bytes position)
{
    size_t row = rows_seek(rows, position);
    if (is_at(rows, row, position))
        return false;
    char *memory = take_memory(rows, position.size);
    memcpy(memory, position.data, position.size);
    append(rows, position);
    memmove(rows->positions + row + 1, rows->positions + row,
            (rows->count - 1 - row) * sizeof(*rows->positions));
    rows->positions[row] = (struct bytes){memory, position.size};
    return true;
}

bool rows_remove(struct rows *rows, struct bytes position)
{
    size_t row = rows_seek(rows, position);
    if (!is_at(rows, row, position))
        return false;
    rows->count--;
    memmove(rows->positions + row, rows->positions + row + 1,
            (rows->count - row) * sizeof(*rows->positions));
    return true;
}

/* splitmix64 */
uint64_t random_next(uint64_t *seed)
{
    uint64_t x = *seed += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
}

uint64_t random_below(uint64_t *seed, uint64_t n)
{
    return random_next(seed) % n;
}

bool random_percent(uint64_t *seed, int percent)
{
    return random_below(seed, 100) < (uint64_t)percent;
}
