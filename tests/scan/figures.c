/* SPDX-License-Identifier: MIT */
/* Prints what a scan of each key shape costs, requests / round trips, beside the model's figures
 * (prefix_scanner.md 5.3) where it has some: figures [ROWS [SHAPE...]]. With the million rows that
 * those are for, a ! stands after what misses its mark, and the status says so: without a window a
 * tenth more than the model; inside one 1.25 requests a page (package ids 1.6), and with the usual
 * 8 slots a quarter of the round trips of serial paging. */
#include "tests/scan/network.h"
#include "tests/scan/shapes.h"

#define MODEL_ROWS 1000000

static const struct column {
    int slots, window; /* pages; 0: unbounded */
} columns[] = {{8, 0}, {32, 0}, {32, 128}, {8, 128}};
#define COLUMNS ARRAY_SIZE(columns)

struct cost {
    size_t requests, round_trips;
};

static const struct {
    const char *shape;
    struct cost costs[COLUMNS]; /* {0}: the model has none */
} model[] = {
    {"guid", {{1011, 129}, {1053, 38}, {1167, 105}}},
    {"customer", {{1016, 130}, {1037, 38}, {1129, 84}}},
    {"package", {{1043, 132}, {1393, 53}, {1612, 198}}},
    {"single", {{1018, 130}, {1064, 40}, {1149, 53}}},
    {"ten", {{1024, 131}, {1095, 42}, {1151, 231}}},
    {"ticks", {{1036, 132}, {1104, 54}, {1328, 91}}},
    {"sensors", {{1091, 139}, {1161, 43}, {1228, 69}}},
    {"dates", {{1038, 132}, {1112, 41}, {1479, 59}}},
    {"skew", {{1030, 132}, {1095, 53}, {1301, 58}}},
    {"cjk", {{1004, 271}, {1008, 271}, {1004, 654}}},
    {"long", {{1019, 130}, {1045, 38}, {1117, 84}}},
    {"small", {{12, 5}, {12, 5}, {8, 5}}},
    {"series", {{0}}},
    {"seriesshort", {{0}}},
    {"serieslong", {{0}}},
    {"seriesgaps", {{0}}},
    {"seriesticks", {{0}}},
};

static int measure(struct rows *rows, const struct column *column, size_t page_weight,
                   struct network_figures *ret)
{
    struct scan_limits limits = {.page_rows = TABLE_STORE_PAGE_ROWS,
                                 .window_bytes = (size_t)column->window * page_weight};
    struct network_options options = {.slots = column->slots};
    _cleanup_(scan_destroyp) struct scan *scan = NULL;
    int r = scan_rows_create(RANGE_ALL, &limits, &scan);
    if (r == 0)
        r = network_run(&options, rows, scan, ret);
    if (r == 0 && ret->taken_rows != rows->count)
        r = -EPROTO;
    return r;
}

static bool misses_mark(size_t shape, size_t column, const struct network_figures *figures)
{
    const struct cost *cost = &model[shape].costs[column];
    if (model[shape].costs[0].requests == 0)
        return false;
    if (columns[column].window == 0)
        return figures->requests * 10 > cost->requests * 11 ||
               figures->round_trips * 10 > cost->round_trips * 11;
    size_t most = strcmp(model[shape].shape, "package") == 0 ? 1600 : 1250;
    return figures->requests > most || (columns[column].slots == 8 && figures->round_trips > 250);
}

static void print_heading(void)
{
    (void)printf("%-11s", "");
    for (size_t i = 0; i < COLUMNS; i++) {
        (void)printf("  %2d slots, ", columns[i].slots);
        if (columns[i].window > 0)
            (void)printf("window %-8d", columns[i].window);
        else
            (void)printf("%-15s", "no window");
    }
    (void)putchar('\n');
}

static void print_cost(size_t shape, size_t column, const struct network_figures *figures,
                       bool is_missed)
{
    const struct cost *cost = &model[shape].costs[column];
    char model_cost[32] = "";
    if (cost->requests > 0)
        (void)snprintf(model_cost, sizeof(model_cost), "(%zu/%zu)", cost->requests,
                       cost->round_trips);
    (void)printf("  %5zu/%-4zu%c%-12s", figures->requests, figures->round_trips,
                 is_missed ? '!' : ' ', model_cost);
    (void)fflush(stdout);
}

/* False when a mark was missed, or worse. */
static bool print_shape(size_t shape, size_t count)
{
    struct rows rows;
    scan_shape_fill(model[shape].shape, count, &rows);
    (void)printf("%-11s", model[shape].shape);
    size_t weight = 0, missed = 0;
    int r = 0;
    for (size_t i = 0; i < COLUMNS && r == 0; i++) {
        struct network_figures figures = {0};
        r = measure(&rows, &columns[i], weight, &figures);
        weight = MAX(weight, figures.page_bytes);
        bool is_missed = count == MODEL_ROWS && misses_mark(shape, i, &figures);
        missed += is_missed;
        print_cost(shape, i, &figures, is_missed);
    }
    (void)printf(r < 0 ? "  failed: %s\n" : "\n", strerror(-r));
    rows_finish(&rows);
    return r == 0 && missed == 0;
}

int main(int argc, char **argv)
{
    uint64_t count = MODEL_ROWS;
    if (argc > 1 && !bytes_parse_unsigned(bytes_of(argv[1]), 100000000, &count))
        return 2;
    bool is_good = true;
    print_heading();
    for (size_t i = 0; i < ARRAY_SIZE(model); i++) {
        bool is_chosen = argc <= 2;
        for (int a = 2; a < argc; a++)
            is_chosen |= strcmp(argv[a], model[i].shape) == 0;
        if (is_chosen)
            is_good &= print_shape(i, count);
    }
    return is_good ? 0 : 1;
}
