/* SPDX-License-Identifier: MIT */
#include "fs/source/table_pair.h"
#include "fs/base/say.h"
#include "fs/cli/verb.h"
#include "fs/source/secret_variables.h"

#include <getopt.h>

void table_pair_init(struct table_pair *ret, const struct verb *verb)
{
    *ret = (struct table_pair){0};
    for (int side = 0; side < COMPARE_SIDES; side++)
        opened_account_init(&ret->sides[side], verb);
    ret->sides[COMPARE_TO].first = &ret->sides[COMPARE_FROM];
}

void table_pair_finish(struct table_pair *pair)
{
    comparison_destroy(TAKE_PTR(pair->comparison));
    for (int side = 0; side < COMPARE_SIDES; side++) {
        place_finish(&pair->places[side]);
        opened_account_finish(&pair->sides[side]);
    }
}

/* The options that each side has for itself. A token or a key must not go to both. */
static bool is_of_one(struct bytes name)
{
    return bytes_equal(name, BYTES_LITERAL("auth")) ||
           bytes_equal(name, BYTES_LITERAL("credentials"));
}

/* Which side is it for? COMPARE_SIDES: for both. Removes "from." or "to.". */
static int take_side(struct bytes *option)
{
    static const char *const begins[COMPARE_SIDES] = {
        [COMPARE_FROM] = "from.", [COMPARE_TO] = "to."};
    for (int side = 0; side < COMPARE_SIDES; side++) {
        if (!bytes_start_with(*option, bytes_of(begins[side])))
            continue;
        *option = bytes_skip(*option, strlen(begins[side]));
        return side;
    }
    return COMPARE_SIDES;
}

static int refuse_option(const struct table_pair *pair, struct bytes name, const char *why)
{
    return verb_refuse(pair->sides[COMPARE_FROM].verb, "option %.*s %s", (int)name.size, name.data,
                       why);
}

static int add_option(struct table_pair *pair, struct bytes option)
{
    struct bytes rest = option, given = bytes_take_until(&rest, '='), name = given;
    int only = take_side(&name);
    bool is_own = is_of_one(name);
    if (is_own && only == COMPARE_SIDES)
        return refuse_option(pair, name, "is for one side: write it with from. or to. before it");
    if (!is_own && (only != COMPARE_SIDES || bytes_equal(name, BYTES_LITERAL("table"))))
        return refuse_option(pair, given, "is not for this command");
    size_t prefix = given.size - name.size;
    _cleanup_(freep) char *text = strndup(option.data + prefix, option.size - prefix);
    int code = text ? 0 : verb_complain_memory();
    for (int side = 0; code == 0 && side < COMPARE_SIDES; side++)
        if (only == COMPARE_SIDES || only == side)
            code = opened_account_add_options(&pair->sides[side], text);
    if (is_own)
        pair->has_own[only] = true;
    return code;
}

int table_pair_add_options(struct table_pair *pair, const char *text)
{
    int code = 0;
    for (struct bytes rest = bytes_of(text); code == 0 && rest.size > 0;)
        code = add_option(pair, bytes_take_until(&rest, ','));
    return code;
}

int table_pair_take_operands(struct table_pair *pair, int argc, char **argv)
{
    const struct verb *verb = pair->sides[COMPARE_FROM].verb;
    if (argc < optind + 2)
        return verb_refuse(verb, argc == optind ? "no FROM/TABLE and TO/TABLE"
                                                : "no TO/TABLE after FROM/TABLE");
    if (argc > optind + 3)
        return verb_refuse(verb, "unexpected operand %s after FROM/TABLE, TO/TABLE and DIRECTORY",
                           verb_printable(argv[optind + 3]));
    pair->sources[COMPARE_FROM] = argv[optind];
    pair->sources[COMPARE_TO] = argv[optind + 1];
    pair->path = argc > optind + 2 ? argv[optind + 2] : "";
    if (argc > optind + 2 && !pair->path[0])
        return opened_account_refuse_empty(verb, "DIRECTORY");
    return 0;
}

static bool is_service(const char *source)
{
    return !local_source_is_named(source) && !connection_is_emulator(source);
}

/* May it take a credential of the environment? */
static bool may_take(const struct table_pair *pair, int side)
{
    return is_service(pair->sources[side]) && !pair->has_own[side];
}

static void share_environment(struct table_pair *pair)
{
    bool may_both = may_take(pair, COMPARE_FROM) && may_take(pair, COMPARE_TO);
    for (int side = 0; side < COMPARE_SIDES; side++)
        pair->sides[side].environment = may_both               ? MOUNT_ENVIRONMENT_SHARED
                                        : may_take(pair, side) ? MOUNT_ENVIRONMENT_ONE
                                                               : MOUNT_ENVIRONMENT_FOREIGN;
}

static int open_sides(struct table_pair *pair, const struct table_pair_use *use,
                      store_decorator *decorate)
{
    _cleanup_(secret_variables_wipe) struct secret_variables variables = {0};
    struct opened_account *from = &pair->sides[COMPARE_FROM], *to = &pair->sides[COMPARE_TO];
    share_environment(pair);
    secret_variables_take(&variables, is_service(pair->sources[COMPARE_FROM]) ||
                                          is_service(pair->sources[COMPARE_TO]));
    from->variables = to->variables = &variables;
    from->needs_all = use->needs_all;
    int code = opened_account_open(from, pair->sources[COMPARE_FROM], true, decorate);
    if (code == 0 && use->changes)
        code = opened_account_open_to_change(to, pair->sources[COMPARE_TO], use->creates, decorate);
    else if (code == 0)
        code = opened_account_open(to, pair->sources[COMPARE_TO], true, decorate);
    from->variables = to->variables = NULL;
    return code;
}

static int refuse_one(const struct table_pair *pair)
{
    say("tablefuse: %s and %s are the same table\n",
        mount_source_name(pair->sides[COMPARE_FROM].source),
        mount_source_name(pair->sides[COMPARE_TO].source));
    return EXIT_CONFIGURATION;
}

struct compared_table table_pair_table(struct table_pair *pair, enum compare_side side)
{
    return (struct compared_table){pair->sides[side].account, &pair->callers[side],
                                   place_directory(&pair->places[side])};
}

static int begin(struct table_pair *pair)
{
    struct compared_table tables[COMPARE_SIDES];
    bool may_be_one = true;
    for (int side = 0; side < COMPARE_SIDES; side++) {
        int code = opened_account_find(&pair->sides[side], pair->path, &pair->places[side]);
        if (code != 0)
            return code;
        pair->callers[side] = opened_account_caller(&pair->sides[side]);
        tables[side] = table_pair_table(pair, (enum compare_side)side);
        may_be_one = may_be_one && !local_source_is_named(pair->sources[side]);
    }
    return comparison_create(tables, may_be_one, &pair->comparison) < 0 ? verb_complain_memory()
                                                                        : 0;
}

int table_pair_open(struct table_pair *pair, const struct table_pair_use *use,
                    store_decorator *decorate)
{
    _cleanup_(place_finish) struct place place = {0};
    int code = opened_account_find(&pair->sides[COMPARE_FROM], pair->path, &place);
    if (code == 0) /* before TO is made */
        code = open_sides(pair, use, decorate);
    if (code != 0)
        return code;
    return mount_source_is_same_table(pair->sides[COMPARE_FROM].source,
                                      pair->sides[COMPARE_TO].source)
               ? refuse_one(pair)
               : begin(pair);
}

int table_pair_check_found(const struct table_pair *pair)
{
    if (!pair->path[0] || table_pair_read(pair) > 0)
        return 0;
    say("tablefuse: %s: no entity is in it on either side\n", pair->path);
    return EXIT_NOT_FOUND;
}

int table_pair_complain_of(struct table_pair *pair, enum compare_side side,
                           const struct failure *failure)
{
    if (table_pair_is_interrupted(pair))
        return EXIT_INTERRUPTED;
    return opened_account_complain(&pair->sides[side], failure);
}

int table_pair_complain(struct table_pair *pair, int r)
{
    enum compare_side side = comparison_failed(pair->comparison);
    return r == -ENOTUNIQ ? refuse_one(pair)
                          : table_pair_complain_of(pair, side, &pair->callers[side].call.failure);
}

bool table_pair_is_interrupted(struct table_pair *pair)
{
    return opened_account_is_interrupted(&pair->sides[COMPARE_FROM]);
}

uint64_t table_pair_read(const struct table_pair *pair)
{
    return comparison_read(pair->comparison, COMPARE_FROM) +
           comparison_read(pair->comparison, COMPARE_TO);
}

uint64_t table_pair_requests(const struct table_pair *pair)
{
    return opened_account_requests(&pair->sides[COMPARE_FROM]) +
           opened_account_requests(&pair->sides[COMPARE_TO]);
}

int table_pair_append_path(struct bytes position, struct buffer *ret)
{
    int r = names_encode(position_partition_key(position), NAME_PARTITION, ret);
    if (r == 0)
        r = buffer_append_char(ret, '/');
    return r == 0 ? names_encode(position_row_key(position), NAME_ENTITY, ret) : r;
}
