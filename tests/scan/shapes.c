/* SPDX-License-Identifier: MIT */
#include "tests/scan/shapes.h"
#include "client/base/clock.h"
#include "client/base/unicode.h"

#include <assert.h>
#include <math.h>

#define KEY_SIZE    160
#define MAX_TICKS   3155378975999999999 /* of .NET's DateTime */
#define FIRST_TICKS 638000000000000000

static double random_unit(uint64_t *seed) /* (0, 1] */
{
    return ((double)(random_next(seed) >> 11) + 1) / 9007199254740992.0;
}

static uint64_t random_pause(uint64_t *seed, double mean_seconds)
{
    return (uint64_t)(-log(random_unit(seed)) * mean_seconds * (double)TICKS_PER_SEC);
}

static void print_guid(uint64_t *seed, char ret[KEY_SIZE])
{
    uint64_t a = random_next(seed), b = random_next(seed);
    (void)snprintf(ret, KEY_SIZE, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32),
                   (unsigned)(a >> 16 & 0xFFFF), (unsigned)(a & 0xFFF),
                   (unsigned)(0x8000 | (b >> 48 & 0x3FFF)),
                   (unsigned long long)(b & 0xFFFFFFFFFFFF));
}

static void add_guid(struct rows *rows, size_t count, uint64_t *seed)
{
    char key[KEY_SIZE];
    for (size_t i = 0; i < count; i++) {
        print_guid(seed, key);
        rows_add_strings(rows, key, "r");
    }
}

static void add_counted(struct rows *rows, size_t count, const char *prefix)
{
    char key[KEY_SIZE];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(key, sizeof(key), "%s%06zu", prefix, i);
        rows_add_strings(rows, key, "profile");
    }
}

static void add_customer(struct rows *rows, size_t count, uint64_t *seed)
{
    (void)seed;
    add_counted(rows, count, "customer_");
}

static void add_long(struct rows *rows, size_t count, uint64_t *seed)
{
    (void)seed;
    add_counted(rows, count, "contoso.europe-west.production.telemetry.devices.factory-07-");
}

static void add_small(struct rows *rows, size_t count, uint64_t *seed)
{
    (void)seed;
    add_counted(rows, MIN(count, 5000), "item");
}

static void add_single(struct rows *rows, size_t count, uint64_t *seed)
{
    (void)seed;
    char key[KEY_SIZE];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(key, sizeof(key), "evt-%08zu", i);
        rows_add_strings(rows, "all", key);
    }
}

static void add_ten(struct rows *rows, size_t count, uint64_t *seed)
{
    char partition[KEY_SIZE], row[KEY_SIZE];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(partition, sizeof(partition), "region-%zu", i % 10);
        print_guid(seed, row);
        rows_add_strings(rows, partition, row);
    }
}

static void add_tick(struct rows *rows, const char *partition, uint64_t ticks)
{
    char row[KEY_SIZE];
    (void)snprintf(row, sizeof(row), "%019llu", (unsigned long long)(MAX_TICKS - ticks));
    rows_add_strings(rows, partition, row);
}

/* Newest first; bursts of readings, then a quiet time. */
static void add_ticks(struct rows *rows, size_t count, uint64_t *seed)
{
    uint64_t ticks = FIRST_TICKS;
    for (size_t i = 0; i < count; i++) {
        ticks += random_pause(seed, i / 20000 % 3 > 0 ? 5 : 200);
        add_tick(rows, "log", ticks);
    }
}

static void add_sensors(struct rows *rows, size_t count, uint64_t *seed)
{
    char partition[KEY_SIZE];
    for (size_t p = 0; p < 50; p++) {
        uint64_t ticks = FIRST_TICKS;
        (void)snprintf(partition, sizeof(partition), "sensor-%02zu", p);
        for (size_t i = 0; i < count / 50; i++) {
            ticks += random_pause(seed, 120);
            add_tick(rows, partition, ticks);
        }
    }
}

/* The index of the first sum that is not below a random one. */
static size_t choose(const double *sums, size_t n, uint64_t *seed)
{
    double sum = random_unit(seed) * sums[n - 1];
    size_t lo = 0, hi = n - 1;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (sums[middle] < sum)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

#define DAYS 3653

static void print_day(size_t day, char ret[KEY_SIZE], struct tm *ret_date)
{
    time_t noon = 1420113600 + (time_t)day * 86400; /* 2015-01-01 */
    (void)gmtime_r(&noon, ret_date);
    (void)strftime(ret, KEY_SIZE, "%Y-%m-%d", ret_date);
}

/* Ten years of days, busier every year, quiet at weekends. */
static void add_dates(struct rows *rows, size_t count, uint64_t *seed)
{
    double sums[DAYS], sum = 0;
    char partition[KEY_SIZE], row[KEY_SIZE];
    struct tm date;
    for (size_t day = 0; day < DAYS; day++) {
        print_day(day, partition, &date);
        bool is_weekend = date.tm_wday == 0 || date.tm_wday == 6;
        sums[day] = sum += (0.3 + (double)day / DAYS) * (is_weekend ? 0.3 : 1);
    }
    for (size_t i = 0; i < count; i++) {
        print_day(choose(sums, DAYS, seed), partition, &date);
        unsigned ms = (unsigned)random_below(seed, 86400000);
        (void)snprintf(row, sizeof(row), "%02u:%02u:%02u.%03u-%04x", ms / 3600000, ms / 60000 % 60,
                       ms / 1000 % 60, ms % 1000, (unsigned)random_below(seed, 65536));
        rows_add_strings(rows, partition, row);
    }
}

/* Row keys that go on from day to day. `days`: of a week that have rows. */
static void add_days(struct rows *rows, size_t count, uint64_t *seed, size_t daily, size_t days)
{
    char partition[KEY_SIZE], row[KEY_SIZE];
    struct tm date;
    for (size_t i = 0; i < count; i++) {
        size_t day = i / daily;
        print_day(day / days * 7 + day % days, partition, &date);
        size_t ms = 86400000 / daily * (i % daily) + random_below(seed, 86400000 / daily);
        (void)snprintf(row, sizeof(row), "%.10sT%02zu:%02zu:%02zu.%03zuZ", partition, ms / 3600000,
                       ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
        rows_add_strings(rows, partition, row);
    }
}

static void add_series(struct rows *rows, size_t count, uint64_t *seed)
{
    add_days(rows, count, seed, 3000, 7);
}

static void add_series_short(struct rows *rows, size_t count, uint64_t *seed)
{
    add_days(rows, count, seed, 1000, 7);
}

static void add_series_long(struct rows *rows, size_t count, uint64_t *seed)
{
    add_days(rows, count, seed, 10000, 7);
}

static void add_series_gaps(struct rows *rows, size_t count, uint64_t *seed)
{
    add_days(rows, count, seed, 3000, 5);
}

/* The newest row of a day comes first, and the days do not: row keys go back from day to day. */
static void add_series_ticks(struct rows *rows, size_t count, uint64_t *seed)
{
    const uint64_t daily = 3000, day_ticks = (uint64_t)86400 * TICKS_PER_SEC;
    char partition[KEY_SIZE];
    struct tm date;
    for (size_t i = 0; i < count; i++) {
        print_day(i / daily, partition, &date);
        add_tick(rows, partition,
                 FIRST_TICKS + day_ticks / daily * i + random_below(seed, day_ticks / daily));
    }
}

/* Nine rows of ten in one partition in the middle of many tiny ones. */
static void add_skew(struct rows *rows, size_t count, uint64_t *seed)
{
    char partition[KEY_SIZE], row[KEY_SIZE];
    for (size_t i = 0; i < count / 10; i++) {
        (void)snprintf(partition, sizeof(partition), "user%06u",
                       (unsigned)random_below(seed, 1000000));
        (void)snprintf(row, sizeof(row), "%08x", (unsigned)random_next(seed));
        rows_add_strings(rows, partition, row);
    }
    for (size_t i = 0; i < count - count / 10; i++) {
        (void)snprintf(row, sizeof(row), "%08x", (unsigned)i * 4);
        rows_add_strings(rows, "user500000x", row);
    }
}

/* Three characters, any of the block of CJK Unified Ideographs. */
static void add_cjk(struct rows *rows, size_t count, uint64_t *seed)
{
    for (size_t i = 0; i < count; i++) {
        char key[3 * CESU8_MAX_BYTES];
        size_t size = 0;
        for (int c = 0; c < 3; c++)
            size += cesu8_encode(0x4E00 + (uint32_t)random_below(seed, 20992), key + size);
        rows_add(rows, (struct bytes){key, size}, BYTES_LITERAL("r"));
    }
}

#define OWNERS 6021 /* known ones, then words */

struct owners {
    char names[OWNERS][48];
    double sums[OWNERS]; /* Zipf */
    size_t count;
};

static void append_word(struct buffer *word, uint64_t syllables, uint64_t *seed)
{
    static const char *const list[] = {
        "mi",   "cro",  "soft",  "ext",   "ens",    "ions", "sys",   "tem",  "log",  "net",
        "core", "web",  "data",  "api",   "client", "auth", "sql",   "json", "http", "test",
        "mock", "aws",  "azure", "goo",   "gle",    "xam",  "arin",  "form", "ui",   "kit",
        "lib",  "tool", "build", "gen",   "code",   "fast", "light", "dev",  "app",  "serv",
        "ice",  "bus",  "event", "queue", "graph",  "db",   "cache", "file", "zip",  "pdf",
        "mail", "pay",  "map",   "geo",   "img",    "ml",   "ai",    "bot",  "chat", "iot"};
    for (uint64_t i = 0; i < syllables; i++)
        (void)buffer_append_string(word, list[random_below(seed, ARRAY_SIZE(list))]);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void make_owners(struct owners *owners, uint64_t *seed)
{
    static const char *const known[] = {
        "microsoft", "system",  "xamarin",     "aws",     "google",   "azure",      "abp",
        "volo",      "umbraco", "nservicebus", "serilog", "akka",     "devexpress", "syncfusion",
        "telerik",   "runtime", "dotnet",      "orchard", "sitecore", "kentico"};
    size_t n = 0;
    for (; n < ARRAY_SIZE(known); n++)
        (void)snprintf(owners->names[n], sizeof(owners->names[n]), "%s", known[n]);
    for (; n < OWNERS; n++) {
        _cleanup_(buffer_finish) struct buffer word;
        buffer_init(&word, sizeof(owners->names[n]));
        append_word(&word, 1 + random_below(seed, 3), seed);
        (void)snprintf(owners->names[n], sizeof(owners->names[n]), "%s", buffer_string(&word));
    }
    qsort(owners->names + ARRAY_SIZE(known), n - ARRAY_SIZE(known), sizeof(owners->names[0]),
          compare_names);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && strcmp(owners->names[i], owners->names[owners->count - 1]) == 0)
            continue;
        memmove(owners->names[owners->count], owners->names[i], sizeof(owners->names[i]));
        owners->sums[owners->count] = sum += pow((double)owners->count + 1, -0.8);
        owners->count++;
    }
}

/* owner.word.word: few owners have most packages, which share their first letters. */
static void make_package_id(const struct owners *owners, struct buffer *id, uint64_t *seed)
{
    static const uint64_t words[] = {0, 0, 1, 1, 1, 2, 2, 3};
    buffer_clear(id);
    (void)buffer_append_string(id, owners->names[choose(owners->sums, owners->count, seed)]);
    for (uint64_t n = words[random_below(seed, ARRAY_SIZE(words))]; n > 0; n--) {
        (void)buffer_append_char(id, '.');
        append_word(id, 1 + random_below(seed, 2), seed);
    }
    if (random_percent(seed, 10))
        (void)buffer_append_format(id, "%d", 1 + (int)random_below(seed, 9));
}

/* Most packages have few versions, some have thousands. */
static size_t add_versions(struct rows *rows, const char *id, uint64_t *seed)
{
    double versions = pow(random_unit(seed), -1 / 0.95);
    size_t count = versions < 3000 ? (size_t)versions : 3000;
    for (size_t k = 0; k < count; k++) {
        char row[KEY_SIZE];
        int size = snprintf(row, sizeof(row), "%zu.%zu.%zu", k / 100, k / 10 % 10, k % 10);
        if (!random_percent(seed, 80))
            (void)snprintf(row + size, sizeof(row) - (size_t)size, "-beta%d",
                           1 + (int)random_below(seed, 9));
        rows_add_strings(rows, id, row);
    }
    return count;
}

/* A set of hashes with open addressing; false when `id` was there already. */
static bool take_id(uint64_t *taken, size_t size, struct bytes id)
{
    uint64_t hash = id.size;
    for (size_t i = 0; i < id.size; i++) {
        hash ^= (unsigned char)id.data[i];
        (void)random_next(&hash);
        hash = random_next(&hash);
    }
    hash |= 1; /* 0 is a free slot */
    size_t slot = hash % size;
    while (taken[slot] != 0 && taken[slot] != hash)
        slot = (slot + 1) % size;
    bool is_new = taken[slot] == 0;
    taken[slot] = hash;
    return is_new;
}

static void add_packages(struct rows *rows, size_t count, uint64_t *seed)
{
    size_t taken_size = count * 2 + 16; /* a package has a row at least */
    _cleanup_(freep) uint64_t *taken = calloc(taken_size, sizeof(*taken));
    assert(taken);
    _cleanup_(freep) struct owners *owners = calloc(1, sizeof(*owners));
    assert(owners);
    make_owners(owners, seed);
    _cleanup_(buffer_finish) struct buffer id;
    buffer_init(&id, KEY_SIZE);
    for (size_t n = 0; n < count;) {
        make_package_id(owners, &id, seed);
        if (!take_id(taken, taken_size, buffer_bytes(&id)))
            continue;
        n += add_versions(rows, buffer_string(&id), seed);
    }
}

const struct scan_shape scan_shapes[SCAN_SHAPES] = {
    {"guid", add_guid},
    {"customer", add_customer},
    {"package", add_packages},
    {"single", add_single},
    {"ten", add_ten},
    {"ticks", add_ticks},
    {"sensors", add_sensors},
    {"dates", add_dates},
    {"skew", add_skew},
    {"cjk", add_cjk},
    {"long", add_long},
    {"small", add_small},
    {"series", add_series},
    {"seriesshort", add_series_short},
    {"serieslong", add_series_long},
    {"seriesgaps", add_series_gaps},
    {"seriesticks", add_series_ticks},
};

void scan_shape_fill(const char *name, size_t count, struct rows *ret)
{
    size_t i = 0;
    while (i < SCAN_SHAPES && strcmp(scan_shapes[i].name, name) != 0)
        i++;
    assert(i < SCAN_SHAPES);
    uint64_t seed = i + 1;
    rows_init(ret);
    scan_shapes[i].add(ret, count, &seed);
    rows_sort(ret);
    ret->count = MIN(ret->count, count);
}
