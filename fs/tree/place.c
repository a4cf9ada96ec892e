/* SPDX-License-Identifier: MIT */
#include "fs/tree/place.h"
#include "client/text/digest.h"
#include "client/text/table_name.h"
#include "fs/tree/filter_name.h"

#define PLACE_MAX_BYTES ((size_t)256 << 10)

#define FLAT_NAME   BYTES_LITERAL(".flat") /* the directory of all partitions, without prefixes */
#define FILTER_NAME BYTES_LITERAL(".filter")

const char *const control_file_names[CONTROL_FILES] = {[CONTROL_STATS] = "stats",
                                                       [CONTROL_ERRORS] = "errors",
                                                       [CONTROL_VERSION] = "version",
                                                       [CONTROL_CONFIG] = "config",
                                                       [CONTROL_DROP] = "drop"};

/* In one block, which never changes. */
struct place_text {
    struct place_text *before; /* views of it may be in use: it lives as long as the place */
    uint32_t table_size, lo_size, hi_size, filter_size;
    char bytes[]; /* table, NUL, lo, hi, filter, NUL */
};

/* Of a string with its NUL; of NULL 0. */
static size_t size_of(const char *string)
{
    return string ? strlen(string) + 1 : 0;
}

/* NULL: out of memory. */
static struct place_text *text_create(const char *table, struct range range, const char *filter)
{
    size_t table_size = size_of(table), filter_size = size_of(filter);
    struct bytes lo = range.lo, hi = range.hi;
    struct place_text *text =
        calloc(1, sizeof(*text) + table_size + lo.size + hi.size + filter_size);
    if (!text)
        return NULL;
    *text = (struct place_text){.table_size = (uint32_t)table_size,
                                .lo_size = (uint32_t)lo.size,
                                .hi_size = (uint32_t)hi.size,
                                .filter_size = (uint32_t)filter_size};
    struct bytes parts[] = {{table, table_size}, lo, hi, {filter, filter_size}};
    char *end = text->bytes;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (parts[i].data) /* NULL: there is none */
            memcpy(end, parts[i].data, parts[i].size);
        end += parts[i].size;
    }
    return text;
}

static int set_filtered_text(struct place *place, const char *table, struct range range,
                             const char *filter)
{
    place->text = text_create(table, range, filter);
    return place->text ? 0 : -ENOMEM;
}

static int set_text(struct place *place, const char *table, struct bytes lo, struct bytes hi)
{
    return set_filtered_text(place, table, (struct range){lo, hi}, NULL);
}

/* place_settle may replace it at any time. NULL: a place without. */
static struct place_text *text_of(const struct place *place)
{
    return __atomic_load_n(&place->text, __ATOMIC_ACQUIRE);
}

/* A view of the place as it is now: place_settle does not change it. Every function that reads the
 * text more than once, or reads it and makes a child, works on one. */
static struct place snapshot(const struct place *place)
{
    struct place seen = {0};
    memcpy(&seen, place, offsetof(struct place, text));
    seen.text = text_of(place);
    return seen;
}

static const char *place_table(const struct place *place)
{
    const struct place_text *text = text_of(place);
    return text && text->table_size > 0 ? text->bytes : NULL;
}

static struct range place_range(const struct place *place)
{
    const struct place_text *text = text_of(place);
    if (!text)
        return (struct range){BYTES_LITERAL(""), BYTES_LITERAL("")};
    const char *lo = text->bytes + text->table_size;
    return (struct range){{lo, text->lo_size}, {lo + text->lo_size, text->hi_size}};
}

/* NULL: none. */
static const char *place_filter(const struct place *place)
{
    const struct place_text *text = text_of(place);
    if (!text || text->filter_size == 0)
        return NULL;
    return text->bytes + text->table_size + text->lo_size + text->hi_size;
}

static int make_table(const char *table, enum directory_kind layout, struct place *ret)
{
    *ret = (struct place){.kind = PLACE_DIRECTORY, .directory_kind = layout};
    return set_text(ret, table, RANGE_ALL.lo, RANGE_ALL.hi);
}

int place_root(const char *table, enum directory_kind layout, struct place *ret)
{
    *ret = (struct place){
        .kind = PLACE_DIRECTORY, .directory_kind = DIRECTORY_TABLES, .layout = layout};
    int r =
        table ? make_table(table, layout, ret) : set_text(ret, NULL, RANGE_ALL.lo, RANGE_ALL.hi);
    ret->is_root = true;
    return r;
}

void place_finish(struct place *place)
{
    for (struct place_text *text = place->text, *before; text; text = before) {
        before = text->before;
        free(text);
    }
    *place = (struct place){0};
}

/* The table may not exist: account_find_directory checks that, and the spelling of the name. */
static int child_table(const struct place *account, struct bytes name, struct place *ret)
{
    char table[TABLE_NAME_SIZE];
    if (!table_name_is_shown(name))
        return -ENOENT;
    memcpy(table, name.data, name.size);
    table[name.size] = '\0';
    return make_table(table, account->layout, ret);
}

static int make_partition(const struct place *parent, struct bytes key, struct place *ret)
{
    _cleanup_(buffer_finish) struct buffer ends = {.max = PLACE_MAX_BYTES};
    int r = position_append(&ends, key, BYTES_LITERAL(""));
    size_t lo_size = ends.size;
    if (r == 0)
        (void)buffer_append(&ends, key);
    if (r == 0)
        r = buffer_append_string(&ends, POSITION_AFTER);
    if (r < 0)
        return r;
    *ret = (struct place){.kind = PLACE_DIRECTORY, .directory_kind = DIRECTORY_ENTITIES};
    struct range range = {bytes_first(buffer_bytes(&ends), lo_size),
                          bytes_skip(buffer_bytes(&ends), lo_size)};
    return set_filtered_text(ret, place_table(parent), range, place_filter(parent));
}

bool place_lies_in_partition(const struct place *place)
{
    return place->kind == PLACE_DIRECTORY && place->directory_kind == DIRECTORY_ENTITIES;
}

bool place_holds_scratch(const struct place *place)
{
    return place_lies_in_partition(place) || place->kind == PLACE_SCRATCH_DIRECTORY;
}

bool place_is_of_control(const struct place *place)
{
    return place->kind == PLACE_CONTROL_DIRECTORY || place->kind == PLACE_DROP_DIRECTORY ||
           place->kind == PLACE_DROPPED_TABLE;
}

struct address place_scratch_directory(const struct place *place)
{
    struct address address = place_address(place);
    if (place_lies_in_partition(place))
        address.position.size = position_partition_key(address.position).size + 1;
    return address;
}

static int make_scratch(const struct place *directory, enum place_kind kind, struct bytes name,
                        struct place *ret)
{
    const struct place seen = snapshot(directory);
    struct address where = place_scratch_directory(&seen);
    _cleanup_(buffer_finish) struct buffer position = {.max = PLACE_MAX_BYTES};
    (void)buffer_append(&position, where.position);
    if (buffer_append(&position, name) < 0)
        return position.error;
    *ret = (struct place){.kind = kind, .directory_kind = DIRECTORY_ENTITIES};
    return set_text(ret, where.table, buffer_bytes(&position), BYTES_LITERAL(""));
}

int place_of_scratch(const struct place *directory, struct place *ret)
{
    return make_scratch(directory, PLACE_SCRATCH, BYTES_LITERAL(""), ret);
}

int place_of_scratch_directory(const struct place *directory, struct bytes name, struct place *ret)
{
    return make_scratch(directory, PLACE_SCRATCH_DIRECTORY, name, ret);
}

static int make_entity(const struct place *partition, struct bytes row_key, struct place *ret)
{
    _cleanup_(buffer_finish) struct buffer position = {.max = PLACE_MAX_BYTES};
    int r = position_append(&position, position_partition_key(place_range(partition).lo), row_key);
    if (r < 0)
        return r;
    *ret = (struct place){.kind = PLACE_ENTITY};
    return set_text(ret, place_table(partition), buffer_bytes(&position), BYTES_LITERAL(""));
}

static int make_of_key(const struct place *parent, struct bytes key, struct place *ret)
{
    return parent->directory_kind == DIRECTORY_ENTITIES ? make_entity(parent, key, ret)
                                                        : make_partition(parent, key, ret);
}

int place_of_key(const struct place *parent, struct bytes key, struct place *ret)
{
    const struct place seen = snapshot(parent);
    return make_of_key(&seen, key, ret);
}

static int child_of_key(const struct place *parent, struct bytes key, struct place *ret)
{
    int r = make_of_key(parent, key, ret);
    if (r < 0 || range_holds(place_range(parent), place_range(ret).lo))
        return r;
    place_finish(ret);
    return -ENOENT;
}

/* Appends the bounds of the keys that start with `begin`: PartitionKeys, or RowKeys of the parent's
 * partition. If no key can follow them, hi is the parent's. */
static int append_ends(const struct place *parent, struct bytes begin, struct buffer *lo,
                       struct buffer *hi)
{
    struct range whole = place_range(parent);
    if (parent->directory_kind == DIRECTORY_ENTITIES) {
        (void)position_append(lo, position_partition_key(whole.lo), BYTES_LITERAL(""));
        (void)buffer_append(hi, buffer_bytes(lo));
    }
    size_t before = hi->size;
    (void)buffer_append(lo, begin);
    (void)prefix_append_successor(hi, begin, BYTES_LITERAL(""));
    if (hi->error == 0 && hi->size == before) {
        buffer_clear(hi);
        (void)buffer_append(hi, whole.hi);
    }
    return MIN(lo->error, hi->error);
}

/* A directory of the parent's kind, with the parent's keys that start with `begin`. -ENOENT: no key
 * of the parent's range starts with it. */
static int make_beginning(const struct place *parent, struct bytes begin, const char *filter,
                          struct place *ret)
{
    _cleanup_(buffer_finish) struct buffer lo = {.max = PLACE_MAX_BYTES};
    _cleanup_(buffer_finish) struct buffer hi = {.max = PLACE_MAX_BYTES};
    int r = append_ends(parent, begin, &lo, &hi);
    if (r < 0)
        return r;
    struct range range = {buffer_bytes(&lo), buffer_bytes(&hi)}, whole = place_range(parent);
    if (bytes_compare(range.lo, whole.lo) < 0)
        range.lo = whole.lo;
    if (bytes_compare(range.hi, whole.hi) > 0)
        range.hi = whole.hi;
    if (range_is_empty(range))
        return -ENOENT;
    *ret = (struct place){.kind = PLACE_DIRECTORY, .directory_kind = parent->directory_kind};
    return set_filtered_text(ret, place_table(parent), range, filter);
}

/* The key is sought among all keys of the directory, also those that a filter leaves out. */
static int make_cut(const struct place *parent, struct bytes begin, struct place *ret)
{
    int r = make_beginning(parent, begin, NULL, ret);
    if (r < 0)
        return r;
    ret->is_cut = true;
    if (ret->directory_kind == DIRECTORY_AUTO) /* its listing could show prefixes, not keys */
        ret->directory_kind = DIRECTORY_FLAT;
    return 0;
}

int place_of_unsettled(const struct place *parent, struct bytes name, const struct place *cut,
                       struct place *ret)
{
    bool is_row = parent->directory_kind == DIRECTORY_ENTITIES;
    struct bytes lo = place_range(cut).lo, digits = {0};
    _cleanup_(buffer_finish) struct buffer key = {.max = POSITION_MAX_BYTES};
    (void)names_digits(name, is_row ? NAME_ENTITY : NAME_PARTITION, &digits);
    int r = names_append_unsettled(is_row ? position_row_key(lo) : lo, digits, &key);
    return r < 0 ? r : place_of_key(parent, buffer_bytes(&key), ret);
}

bool place_is_unsettled(const struct place *place)
{
    return position_is_unsettled(place_range(place).lo);
}

static int append_settled(const struct settlement *settlement, struct bytes end, struct buffer *ret)
{
    bool is_concerned = bytes_start_with(end, settlement->from);
    return is_concerned ? settlement_append(settlement, end, ret) : buffer_append(ret, end);
}

int place_settle(struct place *place, const struct settlement *settlement)
{
    struct range range = place_range(place);
    if (!settlement_is_of(settlement, place_address(place)))
        return 0;
    _cleanup_(buffer_finish) struct buffer lo = {.max = PLACE_MAX_BYTES};
    _cleanup_(buffer_finish) struct buffer hi = {.max = PLACE_MAX_BYTES};
    (void)append_settled(settlement, range.lo, &lo);
    (void)append_settled(settlement, range.hi, &hi);
    int r = MIN(lo.error, hi.error);
    if (r < 0)
        return r;
    struct range settled = {buffer_bytes(&lo), buffer_bytes(&hi)};
    struct place_text *text = text_create(place_table(place), settled, place_filter(place));
    if (!text)
        return -ENOMEM;
    text->before = place->text;
    __atomic_store_n(&place->text, text, __ATOMIC_RELEASE);
    return 0;
}

/* The prefix that all keys of the directory share. */
static struct bytes own_prefix(const struct place *directory)
{
    struct bytes lo = place_range(directory).lo;
    return directory->directory_kind == DIRECTORY_ENTITIES ? position_row_key(lo) : lo;
}

static int child_of_prefix(const struct place *parent, struct bytes prefix, struct place *ret)
{
    struct bytes own = own_prefix(parent);
    bool has_prefixes =
        parent->directory_kind == DIRECTORY_AUTO || parent->directory_kind == DIRECTORY_ENTITIES;
    if (!has_prefixes || prefix.size <= own.size || !bytes_start_with(prefix, own))
        return -ENOENT;
    return make_beginning(parent, prefix, place_filter(parent), ret);
}

int place_of_prefix(const struct place *parent, struct bytes prefix, struct place *ret)
{
    const struct place seen = snapshot(parent);
    return child_of_prefix(&seen, prefix, ret);
}

static enum name_kind kind_of_name(const struct place *parent, struct bytes name)
{
    if (names_is_prefix(name))
        return NAME_PREFIX;
    return parent->directory_kind == DIRECTORY_ENTITIES ? NAME_ENTITY : NAME_PARTITION;
}

static int child_keyed(const struct place *parent, struct bytes name, struct place *ret)
{
    _cleanup_(buffer_finish) struct buffer key = {.max = POSITION_MAX_BYTES};
    enum name_kind kind = kind_of_name(parent, name);
    enum name_meaning meaning;
    int r = names_decode(name, kind, &key, &meaning);
    if (r < 0)
        return r;
    if (meaning == NAME_MEANS_NOTHING)
        return -ENOENT;
    if (meaning == NAME_MEANS_CUT)
        return make_cut(parent, buffer_bytes(&key), ret);
    return kind == NAME_PREFIX ? child_of_prefix(parent, buffer_bytes(&key), ret)
                               : child_of_key(parent, buffer_bytes(&key), ret);
}

static int child_control_file(struct bytes name, struct place *ret)
{
    for (size_t i = 0; i < CONTROL_FILES; i++) {
        if (bytes_equal(name, bytes_of(control_file_names[i]))) {
            *ret = (struct place){.kind =
                                      i == CONTROL_DROP ? PLACE_DROP_DIRECTORY : PLACE_CONTROL_FILE,
                                  .control_file = (enum control_file)i,
                                  .layout = DIRECTORY_FLAT, /* of the tables in it */
                                  .is_given = true};
            return 0;
        }
    }
    return -ENOENT;
}

static int child_dropped(const struct place *drop, struct bytes name, struct place *ret)
{
    const struct bytes suffix = BYTES_LITERAL(DROPPED_SUFFIX);
    if (!bytes_end_with(name, suffix))
        return -ENOENT;
    int r = child_table(drop, bytes_first(name, name.size - suffix.size), ret);
    if (r == 0)
        ret->kind = PLACE_DROPPED_TABLE;
    return r;
}

/* Is it the directory of a table or of a prefix? `.flat` itself has no `.flat`, nor has a filter.
 */
static bool has_flat(const struct place *directory)
{
    return !directory->is_given && (directory->directory_kind == DIRECTORY_AUTO ||
                                    directory->directory_kind == DIRECTORY_FLAT);
}

/* The directory of filters, or of one filter: they lie in `parent`, and show no prefixes. */
static int make_filtered(const struct place *parent, enum place_kind kind, const char *filter,
                         struct place *ret)
{
    *ret = (struct place){.kind = kind, .directory_kind = parent->directory_kind, .is_given = true};
    if (ret->directory_kind == DIRECTORY_AUTO)
        ret->directory_kind = DIRECTORY_FLAT;
    return set_filtered_text(ret, place_table(parent), place_range(parent), filter);
}

static int child_filter(const struct place *filters, struct bytes name, struct place *ret)
{
    _cleanup_(buffer_finish) struct buffer filter = {.max = FILTER_NAME_MAX_BYTES};
    struct filter_error error;
    int r = filter_name_append(place_filter(filters), name, &filter, &error);
    if (r < 0)
        return r;
    const char *text = buffer_string(&filter);
    return text ? make_filtered(filters, PLACE_DIRECTORY, text, ret) : -ENOMEM;
}

/* A child whose name has a leading dot: `.tablefuse`, `.filter` or `.flat`. No key has such a name.
 */
static int child_dotted(const struct place *parent, struct bytes name, struct place *ret)
{
    if (parent->is_root && bytes_equal(name, BYTES_LITERAL(CONTROL_DIRECTORY_NAME))) {
        *ret = (struct place){.kind = PLACE_CONTROL_DIRECTORY, .is_given = true};
        return 0;
    }
    if (parent->directory_kind != DIRECTORY_TABLES && bytes_equal(name, FILTER_NAME))
        return make_filtered(parent, PLACE_FILTERS, place_filter(parent), ret);
    if (!has_flat(parent) || !bytes_equal(name, FLAT_NAME))
        return -ENOENT;
    struct range range = place_range(parent);
    *ret =
        (struct place){.kind = PLACE_DIRECTORY, .directory_kind = DIRECTORY_FLAT, .is_given = true};
    return set_text(ret, place_table(parent), range.lo, range.hi);
}

static int child(const struct place *parent, struct bytes name, struct place *ret)
{
    if (name.size > NAME_MAX_BYTES)
        return -ENAMETOOLONG;
    if (parent->kind == PLACE_CONTROL_DIRECTORY)
        return child_control_file(name, ret);
    if (parent->kind == PLACE_DROP_DIRECTORY)
        return child_dropped(parent, name, ret);
    if (parent->kind == PLACE_FILTERS)
        return child_filter(parent, name, ret);
    if (parent->kind == PLACE_SCRATCH_DIRECTORY || parent->kind == PLACE_DROPPED_TABLE)
        return -ENOENT; /* nothing in it is a place of the account */
    if (parent->kind != PLACE_DIRECTORY)
        return -ENOTDIR;
    if (name.size > 0 && name.data[0] == '.')
        return child_dotted(parent, name, ret);
    return parent->directory_kind == DIRECTORY_TABLES ? child_table(parent, name, ret)
                                                      : child_keyed(parent, name, ret);
}

int place_child(const struct place *parent, struct bytes name, struct place *ret)
{
    const struct place seen = snapshot(parent);
    return child(&seen, name, ret);
}

struct directory place_directory(const struct place *place)
{
    const struct place seen = snapshot(place);
    return (struct directory){.kind = seen.directory_kind,
                              .table = place_table(&seen),
                              .range = place_range(&seen),
                              .filter = place_filter(&seen)};
}

struct address place_address(const struct place *place)
{
    const struct place seen = snapshot(place);
    return (struct address){.table = place_table(&seen), .position = place_range(&seen).lo};
}

uint64_t place_number(const struct place *place)
{
    static const struct place_text none = {0};
    const struct place_text *own = text_of(place), *text = own ? own : &none;
    const uint32_t shape[] = {place->kind,         place->directory_kind, place->is_given,
                              place->control_file, text->table_size,      text->lo_size};
    struct bytes all = {text->bytes, (size_t)text->table_size + text->lo_size + text->hi_size +
                                         text->filter_size};
    const struct bytes parts[] = {{(const char *)shape, sizeof(shape)}, all};
    return PLACE_NUMBER_MIN | digest_number(parts, ARRAY_SIZE(parts));
}
