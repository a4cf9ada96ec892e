/* Prints, for each key shape, what a scan costs beside what the model in
 * prefix_scanner.md 5.3 costs: requests / round trips. figures [ROWS [SHAPE...]] */
#include "tests/scan/network.h"
#include "tests/scan/shapes.h"

static const struct column {
    int slots, window; /* pages; 0: unbounded */
} columns[] = {{8, 0}, {32, 0}, {32, 128}, {8, 40}};
#define COLUMNS ARRAY_SIZE(columns)

static const struct {
    const char *shape, *model[COLUMNS];
} model[] = {
    {"guid", {"1011/129", "1053/38", "1167/105", ""}},
    {"customer", {"1016/130", "1037/38", "1129/84", ""}},
    {"package", {"1043/132", "1393/53", "1612/198", ""}},
    {"single", {"1018/130", "1064/40", "1149/53", ""}},
    {"ten", {"1024/131", "1095/42", "1151/231", ""}},
    {"ticks", {"1036/132", "1104/54", "1328/91", ""}},
    {"sensors", {"1091/139", "1161/43", "1228/69", ""}},
    {"dates", {"1038/132", "1112/41", "1479/59", ""}},
    {"skew", {"1030/132", "1095/53", "1301/58", ""}},
    {"cjk", {"1004/271", "1008/271", "1004/654", ""}},
    {"long", {"1019/130", "1045/38", "1117/84", ""}},
    {"small", {"12/5", "12/5", "8/5", ""}},
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

static int print_shape(size_t shape, size_t count)
{
    struct rows rows;
    scan_shape_fill(model[shape].shape, count, &rows);
    (void)printf("%-9s", model[shape].shape);
    size_t weight = 0;
    int r = 0;
    for (size_t i = 0; i < COLUMNS && r == 0; i++) {
        struct network_figures figures = {0};
        r = measure(&rows, &columns[i], weight, &figures);
        weight = MAX(weight, figures.page_bytes);
        (void)printf("  %5zu/%-4zu (%s) e%zu w%zu", figures.requests, figures.round_trips,
                     model[shape].model[i], figures.empties,
                     weight > 0 ? figures.bytes_ahead / weight : 0);
        (void)fflush(stdout);
    }
    (void)printf(r < 0 ? "  failed: %s\n" : "\n", strerror(-r));
    rows_finish(&rows);
    return r;
}

int main(int argc, char **argv)
{
    uint64_t count = 1000000;
    if (argc > 1 && !bytes_parse_unsigned(bytes_of(argv[1]), 100000000, &count))
        return 2;
    int failures = 0;
    for (size_t i = 0; i < ARRAY_SIZE(model); i++) {
        bool is_chosen = argc <= 2;
        for (int a = 2; a < argc; a++)
            is_chosen |= strcmp(argv[a], model[i].shape) == 0;
        if (is_chosen)
            failures += print_shape(i, count) < 0;
    }
    return failures > 0;
}
