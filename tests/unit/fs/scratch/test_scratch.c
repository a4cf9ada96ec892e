/* SPDX-License-Identifier: MIT */
/* Scratch files, as the handlers use them. */
#include "fs/scratch/scratch.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/threads.h"

#define MAX_BYTES ((size_t)100000)
#define FULL      (MAX_BYTES - SCRATCH_FILE_BYTES) /* what one file may have */

static const struct address p = {"t", {"p", 2}}, q = {"t", {"q", 2}};
static const struct scratch_attributes none = {.number = 1};

static struct scratch *new_scratch(void)
{
    struct scratch *scratch;
    assert_int_equal(scratch_create(MAX_BYTES, &scratch), 0);
    return scratch;
}

/* Its handle. */
static struct scratch_file *make(struct scratch *scratch, struct address directory,
                                 const char *name)
{
    static uint64_t number;
    struct scratch_file *file = NULL;
    struct scratch_attributes attributes = {.number = ++number, .mode = 0640, .mtime_100ns = 1};
    assert_int_equal(scratch_make(scratch, directory, bytes_of(name), &attributes, &file), 0);
    assert_int_equal(scratch_file_open(file), 0);
    scratch_file_unref(file);
    return file;
}

static void make_closed(struct scratch *scratch, struct address directory, const char *name,
                        const char *text)
{
    struct scratch_file *file = make(scratch, directory, name);
    assert_int_equal(scratch_file_write(file, bytes_of(text), 0, false, 1), 0);
    scratch_file_close(file);
}

static void write_at(struct scratch_file *file, const char *text, uint64_t offset)
{
    assert_int_equal(scratch_file_write(file, bytes_of(text), offset, false, 2), 0);
}

static void assert_text(struct scratch_file *file, struct bytes expected)
{
    struct scratch_attributes attributes;
    _cleanup_(buffer_finish) struct buffer text = {.max = MAX_BYTES};
    assert_int_equal(scratch_file_read(file, 0, SIZE_MAX, &text), 0);
    assert_bytes(buffer_bytes(&text), expected);
    scratch_file_attributes(file, &attributes);
    assert_int_equal(attributes.size, expected.size);
}

static void assert_found(struct scratch *scratch, struct address directory, const char *name,
                         const char *text)
{
    _cleanup_(scratch_file_unrefp) struct scratch_file *file =
        scratch_find(scratch, directory, bytes_of(name));
    if (!file != !text)
        fail_msg("%s is %s", name, file ? "there" : "not there");
    if (file && text)
        assert_text(file, bytes_of(text));
}

/* expected: the names, each with a blank after it */
static void assert_listed(struct scratch *scratch, struct address directory, const char *expected)
{
    _cleanup_(buffer_finish) struct buffer shown = {.max = 1000}, before = {.max = 255},
                                           next = {.max = 255};
    struct scratch_attributes found = {0};
    int r;
    while ((r = scratch_next(scratch, directory, buffer_bytes(&before), &next, &found)) == 1) {
        assert_true(found.number > 0);
        (void)buffer_append(&shown, buffer_bytes(&next));
        (void)buffer_append_char(&shown, ' ');
        buffer_swap(&before, &next);
    }
    assert_int_equal(r, 0);
    assert_string_equal(buffer_string(&shown), expected);
}

DEFINE_OBJECT_FIXTURE(scratch, new_scratch(), scratch_destroy)

static void a_file_is_in_the_directory_where_it_was_made(void **state)
{
    struct scratch *scratch = *state;
    struct scratch_file *file = make(scratch, p, ".f.swp"), *again = NULL;
    assert_int_equal(scratch_make(scratch, p, B(".f.swp"), &none, &again), -EEXIST);
    assert_null(again);
    make_closed(scratch, q, ".f.swp", "q's");
    make_closed(scratch, (struct address){"u", {"p", 2}}, ".f.swp", "u's");
    make_closed(scratch, p, "a~", "a's");
    make_closed(scratch, p, "f.tmp", "f's");
    write_at(file, "p's", 0);
    assert_found(scratch, p, ".f.swp", "p's");
    assert_found(scratch, q, ".f.swp", "q's");
    assert_found(scratch, (struct address){"u", {"p", 2}}, ".f.swp", "u's");
    assert_found(scratch, (struct address){"t", {"pp", 3}}, ".f.swp", NULL);
    assert_listed(scratch, p, ".f.swp a~ f.tmp ");
    assert_listed(scratch, q, ".f.swp ");
    assert_listed(scratch, (struct address){"t", {"pp", 3}}, "");
    scratch_file_close(file);
}

static struct directory directory_of(enum directory_kind kind, struct bytes lo, struct bytes hi)
{
    return (struct directory){.kind = kind, .table = "t", .range = {lo, hi}};
}

static void a_directory_that_has_files_below_it(void **state)
{
    struct scratch *scratch = *state;
    make_closed(scratch, (struct address){"t", {"Ne", 3}}, "a~", "");
    const struct {
        struct directory directory;
        bool has;
    } cases[] = {
        {directory_of(DIRECTORY_ENTITIES, B("Ne\0"), B("Ne\1")), true},
        {directory_of(DIRECTORY_ENTITIES, B("Ne\0x"), B("Ne\0y")), true},
        {directory_of(DIRECTORY_ENTITIES, B("N\0"), B("N\1")), false},
        {directory_of(DIRECTORY_ENTITIES, B("New\0"), B("New\1")), false},
        {directory_of(DIRECTORY_AUTO, B("N"), B("O")), true},
        {directory_of(DIRECTORY_AUTO, B("Ne"), B("Nf")), true},
        {directory_of(DIRECTORY_AUTO, B("New"), B("Nex")), false},
        {directory_of(DIRECTORY_AUTO, B("M"), B("N")), false},
        {directory_of(DIRECTORY_FLAT, RANGE_ALL.lo, RANGE_ALL.hi), true},
        {{.kind = DIRECTORY_FLAT, .table = "s", .range = RANGE_ALL}, false},
        {{.kind = DIRECTORY_FLAT, .table = "u", .range = RANGE_ALL}, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (scratch_has_below(scratch, &cases[i].directory) != cases[i].has)
            fail_msg("case %zu", i);
    struct address address = scratch_directory(&cases[1].directory);
    assert_string_equal(address.table, "t");
    assert_bytes(address.position, B("Ne\0"));
}

static void a_text_is_written_anywhere(void **state)
{
    struct scratch *scratch = *state;
    struct scratch_file *file = make(scratch, p, "f~");
    _cleanup_(buffer_finish) struct buffer part = {.max = 100};
    assert_text(file, B(""));
    write_at(file, "hello", 0);
    write_at(file, "LL", 2);
    assert_text(file, B("heLLo"));
    write_at(file, "end", 7);
    assert_text(file, B("heLLo\0\0end"));
    write_at(file, "", 100);
    assert_text(file, B("heLLo\0\0end"));
    assert_int_equal(scratch_file_write(file, B("+"), 3, true, 2), 0);
    assert_text(file, B("heLLo\0\0end+"));
    assert_int_equal(scratch_file_read(file, 7, 2, &part), 0);
    assert_int_equal(scratch_file_read(file, 9, 100, &part), 0);
    assert_int_equal(scratch_file_read(file, 11, 100, &part), 0);
    assert_int_equal(scratch_file_read(file, UINT64_MAX, 100, &part), 0);
    assert_bytes(buffer_bytes(&part), B("end+"));
    scratch_file_close(file);
}

static void a_text_is_resized(void **state)
{
    struct scratch *scratch = *state;
    struct scratch_file *file = make(scratch, p, "f~");
    write_at(file, "hello", 0);
    assert_int_equal(scratch_file_resize(file, 2, 2), 0);
    assert_text(file, B("he"));
    assert_int_equal(scratch_file_resize(file, 4, 2), 0);
    assert_text(file, B("he\0\0"));
    assert_int_equal(scratch_file_resize(file, 0, 2), 0);
    assert_text(file, B(""));
    assert_int_equal(scratch_bytes(scratch), SCRATCH_FILE_BYTES);
    assert_int_equal(scratch_file_resize(file, 3, 2), 0);
    assert_text(file, B("\0\0\0"));
    scratch_file_close(file);
}

static void assert_attributes(struct scratch_file *file, mode_t mode, int64_t mtime_100ns)
{
    struct scratch_attributes attributes;
    scratch_file_attributes(file, &attributes);
    assert_int_equal(attributes.mode, mode);
    assert_int_equal(attributes.mtime_100ns, mtime_100ns);
    assert_int_equal(attributes.number, 77);
    assert_int_equal(attributes.uid, 12);
    assert_int_equal(attributes.gid, 13);
}

static void mode_time_and_owner_are_kept(void **state)
{
    struct scratch *scratch = *state;
    _cleanup_(scratch_file_unrefp) struct scratch_file *file = NULL;
    const struct scratch_attributes begin = {
        .size = 9, .number = 77, .mode = 0640, .uid = 12, .gid = 13, .mtime_100ns = 5};
    assert_int_equal(scratch_make(scratch, p, B("f~"), &begin, &file), 0);
    assert_attributes(file, 0640, 5);
    assert_text(file, B(""));
    scratch_file_set_mode(file, 0400);
    scratch_file_set_mtime(file, -3);
    assert_attributes(file, 0400, -3);
    assert_int_equal(scratch_rename(file, p, B("g~"), false), 0);
    assert_attributes(file, 0400, -3);
    assert_int_equal(scratch_file_write(file, B("a"), 0, false, 6), 0);
    assert_attributes(file, 0400, 6);
    assert_int_equal(scratch_file_write(file, B("a"), UINT64_MAX, false, 7), -ENOSPC);
    assert_attributes(file, 0400, 6);
    assert_int_equal(scratch_file_resize(file, 1, 8), 0);
    assert_attributes(file, 0400, 8);
}

/* What does not fit changes nothing. */
static void the_budget_is_one_for_all(void **state)
{
    struct scratch *scratch = *state;
    static char large[MAX_BYTES + 1];
    struct scratch_file *first = make(scratch, p, "a~"), *second, *refused = NULL;
    memset(large, 'x', sizeof(large));
    assert_int_equal(scratch_file_write(first, (struct bytes){large, FULL + 1}, 0, false, 2),
                     -ENOSPC);
    assert_text(first, B(""));
    assert_int_equal(scratch_file_resize(first, FULL + 1, 2), -ENOSPC);
    assert_int_equal(scratch_file_resize(first, UINT64_MAX, 2), -ENOSPC);
    assert_int_equal(scratch_file_write(first, (struct bytes){large, FULL}, 0, false, 2), 0);
    assert_int_equal(scratch_bytes(scratch), MAX_BYTES);
    assert_int_equal(scratch_file_write(first, B("y"), FULL, false, 2), -ENOSPC);
    assert_int_equal(scratch_file_write(first, B("y"), 0, true, 2), -ENOSPC);
    assert_int_equal(scratch_file_write(first, B("x"), FULL - 1, false, 2), 0);
    assert_text(first, (struct bytes){large, FULL});
    assert_int_equal(scratch_make(scratch, p, B("b~"), &none, &refused), -ENOSPC);
    assert_null(refused);
    assert_listed(scratch, p, "a~ ");

    assert_int_equal(scratch_file_resize(first, 10, 2), 0);
    second = make(scratch, p, "b~");
    size_t left = MAX_BYTES - 2 * SCRATCH_FILE_BYTES - 10;
    assert_int_equal(scratch_file_resize(second, left + 1, 2), -ENOSPC);
    assert_int_equal(scratch_file_resize(second, left, 2), 0);
    assert_int_equal(scratch_file_write(first, B("y"), 10, false, 2), -ENOSPC);
    assert_int_equal(scratch_unlink(second), 0); /* it counts until it is closed */
    assert_int_equal(scratch_file_write(first, B("y"), 10, false, 2), -ENOSPC);
    scratch_file_close(second);
    assert_int_equal(scratch_file_write(first, B("y"), 10, false, 2), 0);
    scratch_file_close(first);
}

/* A text that comes in small pieces. */
static void what_is_left_can_be_filled_to_the_last_byte(void **state)
{
    struct scratch *scratch = *state;
    struct scratch_file *file = make(scratch, p, "a~");
    for (size_t i = 0; i < FULL; i++)
        assert_int_equal(scratch_file_write(file, B("z"), i, false, 2), 0);
    assert_int_equal(scratch_file_write(file, B("z"), FULL, false, 2), -ENOSPC);
    assert_int_equal(scratch_bytes(scratch), MAX_BYTES);
    scratch_file_close(file);
}

static void a_file_that_is_unlinked_lives_until_it_is_closed(void **state)
{
    struct scratch *scratch = *state;
    struct scratch_file *file = make(scratch, p, "f~");
    write_at(file, "old", 0);
    assert_int_equal(scratch_unlink(file), 0);
    assert_int_equal(scratch_unlink(file), -ENOENT);
    assert_int_equal(scratch_rename(file, p, B("g~"), false), -ENOENT);
    assert_found(scratch, p, "f~", NULL);
    assert_listed(scratch, p, "");
    make_closed(scratch, p, "f~", "new");
    write_at(file, "older", 0);
    assert_text(file, B("older"));
    assert_found(scratch, p, "f~", "new");
    scratch_file_close(file);
    assert_found(scratch, p, "f~", "new");
    assert_int_equal(scratch_bytes(scratch), SCRATCH_FILE_BYTES + 3);
}

static void a_file_is_renamed(void **state)
{
    struct scratch *scratch = *state;
    struct scratch_file *file = make(scratch, p, "f~"), *old = make(scratch, q, "g~");
    write_at(file, "file", 0);
    write_at(old, "replaced", 0);
    assert_int_equal(scratch_rename(file, p, B("f~"), true), -EEXIST);
    assert_int_equal(scratch_rename(file, p, B("f~"), false), 0);
    assert_int_equal(scratch_rename(file, p, B("h~"), true), 0);
    assert_listed(scratch, p, "h~ ");
    assert_int_equal(scratch_rename(file, q, B("g~"), true), -EEXIST);
    assert_found(scratch, q, "g~", "replaced");
    assert_int_equal(scratch_rename(file, q, B("g~"), false), 0);
    assert_listed(scratch, p, "");
    assert_listed(scratch, q, "g~ ");
    assert_found(scratch, q, "g~", "file");
    assert_text(old, B("replaced"));
    assert_int_equal(scratch_unlink(old), -ENOENT);
    scratch_file_close(old);
    assert_int_equal(scratch_bytes(scratch), SCRATCH_FILE_BYTES + 4);
    assert_int_equal(scratch_unlink(file), 0);
    scratch_file_close(file);
    assert_int_equal(scratch_bytes(scratch), 0);
}

/* The kernel may keep a node for long. */
static void of_a_file_that_has_ended_a_node_keeps_no_text(void **state)
{
    struct scratch *scratch = *state;
    struct scratch_file *file = make(scratch, p, "f~");
    struct node_file *node_file = scratch_node_file(file);
    node_file->ops->ref(node_file);
    assert_ptr_equal(scratch_of_node_file(node_file), file);
    write_at(file, "text", 0);
    scratch_file_close(file);
    assert_found(scratch, p, "f~", "text");
    assert_int_equal(scratch_file_open(file), 0);
    assert_int_equal(scratch_unlink(file), 0);
    assert_int_equal(scratch_file_open(file), 0); /* by /proc/self/fd/N */
    scratch_file_close(file);
    assert_text(file, B("text"));
    scratch_file_close(file);
    assert_int_equal(scratch_file_open(file), -ESTALE);
    assert_int_equal(scratch_file_write(file, B("a"), 0, false, 3), -ENOENT);
    assert_int_equal(scratch_file_write(file, B(""), 0, false, 3), -ENOENT);
    assert_int_equal(scratch_file_resize(file, 5, 3), -ENOENT);
    assert_text(file, B(""));
    assert_int_equal(scratch_bytes(scratch), 0);
    node_file->ops->unref(node_file);
}

static void assert_backup(struct scratch_file *file, const char *table, struct bytes position)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = 1000};
    struct address address;
    struct bytes etag;
    assert_int_equal(scratch_file_backup(file, &text, &address, &etag), table != NULL);
    if (table) {
        assert_string_equal(address.table, table);
        assert_bytes(address.position, position);
        assert_bytes(etag, B("etag"));
    }
}

static void a_file_is_the_backup_of_an_entity(void **state)
{
    struct scratch *scratch = *state;
    struct scratch_file *file = make(scratch, p, "f~");
    char position[] = "p\0f";
    const struct address entity = {"t", {position, 3}}, next = {"u", {position, 3}};
    assert_backup(file, NULL, B(""));
    write_at(file, "{}", 0);
    assert_int_equal(scratch_file_set_backup(file, entity, B("etag")), 0);
    position[2] = 'x';
    assert_false(scratch_file_was_changed(file));
    assert_int_equal(scratch_rename(file, q, B("g~"), false), 0);
    assert_backup(file, "t", B("p\0f"));
    assert_false(scratch_file_was_changed(file));
    write_at(file, "[", 0);
    assert_true(scratch_file_was_changed(file));
    assert_int_equal(scratch_file_set_backup(file, next, B("etag")), 0);
    assert_backup(file, "u", B("p\0x"));
    assert_false(scratch_file_was_changed(file));
    assert_int_equal(scratch_file_resize(file, 0, 3), 0);
    assert_true(scratch_file_was_changed(file));
    assert_int_equal(scratch_file_set_backup(file, (struct address){0}, B("etag")), 0);
    assert_backup(file, NULL, B(""));
    scratch_file_close(file);
}

static void keep(void *context, struct address directory, struct bytes name, struct bytes text)
{
    (void)buffer_append_format(context, "%s/%s/%.*s=%.*s ", directory.table,
                               directory.position.data, (int)name.size, name.data, (int)text.size,
                               text.data);
}

static void what_is_worth_it_is_kept_at_unmount(void **state)
{
    (void)state;
    struct scratch *scratch = new_scratch();
    _cleanup_(buffer_finish) struct buffer kept = {.max = 1000};
    struct scratch_file *open = make(scratch, p, "open~"), *unlinked = make(scratch, p, "gone~");
    write_at(open, "1", 0);
    write_at(unlinked, "2", 0);
    assert_int_equal(scratch_unlink(unlinked), 0);
    make_closed(scratch, q, "notes.tmp", "3");
    make_closed(scratch, q, "empty.tmp", "");
    make_closed(scratch, p, ".f.json.swp", "4");
    make_closed(scratch, p, ".f.json.AbC123", "5");
    make_closed(scratch, p, ".draft", "6");
    scratch_for_each_kept(scratch, keep, &kept);
    assert_string_equal(buffer_string(&kept), "t/p/.draft=6 t/p/open~=1 t/q/notes.tmp=3 ");
    scratch_destroy(scratch); /* frees what is open, too */
}

static void use_everything(struct scratch *scratch, int *ret_failures)
{
    static const struct address entity = {"t", {"p\0f", 3}};
    _cleanup_(scratch_file_unrefp) struct scratch_file *file = NULL;
    _cleanup_(buffer_finish) struct buffer name = {.max = 255}, text = {.max = 1000};
    struct scratch_attributes found;
    *ret_failures += scratch_make(scratch, p, B("f~"), &none, &file) == -ENOMEM;
    if (file) {
        *ret_failures += scratch_file_write(file, B("text"), 0, false, 1) == -ENOMEM;
        *ret_failures += scratch_file_resize(file, 2, 1) == -ENOMEM;
        *ret_failures += scratch_rename(file, q, B("g~"), false) == -ENOMEM;
        *ret_failures += scratch_file_set_backup(file, entity, B("etag")) == -ENOMEM;
        *ret_failures += scratch_next(scratch, q, B(""), &name, &found) == -ENOMEM;
        *ret_failures += scratch_file_read(file, 0, 9, &text) == -ENOMEM;
        assert_int_equal(scratch_unlink(file), 0);
    }
}

static void out_of_memory_is_told_and_nothing_is_lost(void **state)
{
    (void)state;
    bool is_reached = true;
    long n = 1;
    for (; is_reached; n++) {
        struct scratch *scratch = NULL;
        int failures = 0;
        assert_int_equal(scratch_create(MAX_BYTES, &scratch), 0);
        allocations_until_failure = n;
        use_everything(scratch, &failures);
        is_reached = allocations_until_failure == 0;
        allocations_until_failure = 0;
        assert_in_range(failures, 0, is_reached);
        assert_int_equal(scratch_bytes(scratch), 0);
        scratch_destroy(scratch);
    }
    assert_true(n > 4);
}

#define THREADS 6
#define TURNS   2000

struct shared {
    struct scratch *scratch;
    _Atomic int made;
};

/* Makes, writes, renames onto a common name, reads, unlinks. */
static void *work(void *context)
{
    struct shared *shared = context;
    static const char *const names[] = {"a~", "b~", "c~"};
    for (int turn = 0; turn < TURNS; turn++) {
        _cleanup_(scratch_file_unrefp) struct scratch_file *file = NULL;
        struct bytes name = bytes_of(names[turn % 3]), other = bytes_of(names[(turn / 3) % 3]);
        _cleanup_(buffer_finish) struct buffer text = {.max = 100};
        if (scratch_make(shared->scratch, p, name, &none, &file) == 0)
            shared->made++;
        else
            file = scratch_find(shared->scratch, p, name);
        if (file && scratch_file_open(file) == 0) {
            (void)scratch_file_write(file, B("0123456789"), 0, turn % 2, 1);
            (void)scratch_file_resize(file, 10, 1);
            (void)scratch_rename(file, turn % 5 == 0 ? q : p, other, turn % 4 == 0);
            assert_int_equal(scratch_file_read(file, 0, 100, &text), 0);
            assert_true(text.size >= 10);
            if (turn % 7 == 0)
                (void)scratch_unlink(file);
            scratch_file_close(file);
        }
    }
    return NULL;
}

static void threads_share_the_files(void **state)
{
    (void)state;
    struct shared shared = {.scratch = new_scratch()};
    const struct address directories[] = {p, q};
    run_in_threads(THREADS, work, &shared, 0);
    assert_true(shared.made > 0);
    for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
        _cleanup_(buffer_finish) struct buffer name = {.max = 255};
        struct scratch_attributes found;
        while (scratch_next(shared.scratch, directories[i], B(""), &name, &found) == 1) {
            _cleanup_(scratch_file_unrefp) struct scratch_file *file =
                scratch_find(shared.scratch, directories[i], buffer_bytes(&name));
            assert_int_equal(scratch_unlink(file), 0);
        }
    }
    assert_int_equal(scratch_bytes(shared.scratch), 0);
    scratch_destroy(shared.scratch);
}

static void a_sealed_file_keeps_its_text(void **state)
{
    struct scratch *scratch = *state;
    struct scratch_file *file = make(scratch, p, "a~");
    struct scratch_attributes attributes;
    write_at(file, "text", 0);
    scratch_file_seal(file, true);
    assert_int_equal(scratch_file_write(file, B("x"), 0, false, 3), -ESTALE);
    assert_int_equal(scratch_file_write(file, B("x"), 0, true, 3), -ESTALE);
    assert_int_equal(scratch_file_resize(file, 0, 3), -ESTALE);
    scratch_file_attributes(file, &attributes);
    assert_int_equal(attributes.mtime_100ns, 2);
    assert_text(file, B("text"));
    assert_int_equal(scratch_file_open(file), 0); /* for reading */
    scratch_file_close(file);
    scratch_file_seal(file, false);
    write_at(file, "next", 0);
    scratch_file_seal(file, true);
    assert_int_equal(scratch_unlink(file), 0);
    assert_int_equal(scratch_file_write(file, B("x"), 0, false, 3), -ESTALE);
    assert_text(file, B("next"));
    scratch_file_close(file);
    assert_int_equal(scratch_bytes(scratch), 0);
}

static void files_of_a_settled_directory_get_into_that_of_the_key(void **state)
{
    struct scratch *scratch = *state;
    static const struct address unsettled = {"t", {"u\xfe\x01", 4}},
                                beside = {"t", {"u\xfe\x02", 4}};
    const struct settlement settlement = {"t", B("u\xfe\x01"), B("p")};
    make_closed(scratch, unsettled, "a~", "one");
    make_closed(scratch, unsettled, "b~", "two");
    make_closed(scratch, beside, "a~", "other");
    make_closed(scratch, p, "b~", "replaced");
    size_t bytes = scratch_bytes(scratch);
    assert_int_equal(scratch_settle(scratch, &settlement), 0);
    assert_found(scratch, p, "a~", "one");
    assert_found(scratch, p, "b~", "two");
    assert_found(scratch, beside, "a~", "other");
    assert_null(scratch_find(scratch, unsettled, B("a~")));
    assert_true(scratch_bytes(scratch) < bytes); /* without the one that was replaced */
    make_closed(scratch, unsettled, "a~", "late");
    allocations_until_failure = 1;
    assert_int_equal(scratch_settle(scratch, &settlement), -ENOMEM);
    assert_found(scratch, unsettled, "a~", "late");
}

static void a_directory_holds_files(void **state)
{
    struct scratch *scratch = *state;
    static const struct scratch_attributes directory = {.number = 7, .is_directory = true};
    static const struct address inside = {"t", {"p\0.d", 4}};
    struct scratch_file *made, *file, *absent;
    assert_int_equal(scratch_make(scratch, inside, B("x.json"), &none, &absent), -ENOENT);
    assert_int_equal(scratch_make(scratch, p, B(".d"), &directory, &made), 0);
    assert_int_equal(scratch_make(scratch, p, B(".d"), &directory, &absent), -EEXIST);
    file = make(scratch, inside, "x.json");
    assert_listed(scratch, p, ".d ");
    assert_listed(scratch, inside, "x.json ");
    assert_int_equal(scratch_unlink(made), -ENOTEMPTY);
    allocations_until_failure = 1;
    assert_int_equal(scratch_unlink(made), -ENOMEM);
    assert_int_equal(scratch_rename(file, p, B(".d"), false), -EISDIR);
    assert_int_equal(scratch_rename(file, p, B("x~"), false), 0);
    assert_int_equal(scratch_rename(file, inside, B("y"), false), 0);
    assert_int_equal(scratch_rename(file, p, B("x~"), false), 0);
    assert_int_equal(scratch_unlink(made), 0);
    assert_int_equal(scratch_unlink(made), -ENOENT);
    assert_int_equal(scratch_rename(file, inside, B("y"), false), -ENOENT);
    assert_listed(scratch, p, "x~ ");
    scratch_file_close(file);
    scratch_file_unref(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(scratch, a_file_is_in_the_directory_where_it_was_made),
        TEST_WITH(scratch, a_directory_that_has_files_below_it),
        TEST_WITH(scratch, a_directory_holds_files),
        TEST_WITH(scratch, a_text_is_written_anywhere),
        TEST_WITH(scratch, a_text_is_resized),
        TEST_WITH(scratch, mode_time_and_owner_are_kept),
        TEST_WITH(scratch, the_budget_is_one_for_all),
        TEST_WITH(scratch, what_is_left_can_be_filled_to_the_last_byte),
        TEST_WITH(scratch, a_file_that_is_unlinked_lives_until_it_is_closed),
        TEST_WITH(scratch, a_file_is_renamed),
        TEST_WITH(scratch, of_a_file_that_has_ended_a_node_keeps_no_text),
        TEST_WITH(scratch, a_file_is_the_backup_of_an_entity),
        cmocka_unit_test(what_is_worth_it_is_kept_at_unmount),
        cmocka_unit_test(out_of_memory_is_told_and_nothing_is_lost),
        cmocka_unit_test(threads_share_the_files),
        TEST_WITH(scratch, a_sealed_file_keeps_its_text),
        TEST_WITH(scratch, files_of_a_settled_directory_get_into_that_of_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
