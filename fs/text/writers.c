/* SPDX-License-Identifier: MIT */
#include "fs/text/writer_parts.h"

#include <assert.h>

static int compare_writers(const struct writer *a, const struct writer *b)
{
    int order = address_compare(a->address, b->address);
    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

RB_GENERATE_INTERNAL(writer_map, writer, by_address, compare_writers,
                     static __attribute__((unused)));

struct held_writers {
    struct writers *writers;
    struct writer_name *name;
    struct address address; /* the name's */
    uint64_t last_number;   /* of a writer, when the hold began */
    LIST_ENTRY(held_writers) entry;
};

struct writer_name *writer_name_create(struct address address)
{
    struct writer_name *name = calloc(1, sizeof(*name) + address_size(address));
    if (!name)
        return NULL;
    name->references = 1;
    name->address = address_copy(address, name->text);
    return name;
}

struct writer_name *writer_name_ref(struct writer_name *name)
{
    name->references++;
    return name;
}

void writer_name_unref(struct writer_name *name)
{
    if (name && --name->references == 0)
        free(name);
}

struct writer *writer_ref(struct writer *writer)
{
    writer->references++;
    return writer;
}

int writers_create(const struct clock *clock, const struct writer_store *store,
                   struct writers **ret)
{
    struct writers *writers = calloc(1, sizeof(*writers));
    if (!writers)
        return -ENOMEM;
    monitor_init(&writers->monitor);
    writers->clock = clock;
    writers->store = *store;
    *ret = writers;
    return 0;
}

void writers_destroy(struct writers *writers)
{
    if (!writers)
        return;
    assert(!RB_ROOT(&writers->map));
    monitor_finish(&writers->monitor);
    free(writers);
}

bool writers_is_held_locked(const struct writers *writers, struct address address)
{
    const struct held_writers *held;
    LIST_FOREACH(held, &writers->held, entry)
    if (address_compare(held->address, address) == 0)
        return true;
    return false;
}

int writers_wait_locked(struct writers *writers, struct call *call)
{
    monitor_wait(&writers->monitor);
    if (!call)
        return 0;
    monitor_leave(&writers->monitor);
    int r = call_check(call, writers->clock, "another change of the file did not end in time");
    monitor_enter(&writers->monitor);
    return r;
}

static struct writer *find_locked(struct writers *writers, struct address address, uint64_t number)
{
    struct writer key = {.address = address, .number = number};
    return RB_NFIND(writer_map, &writers->map, &key);
}

/* The next writer of the address; NULL: none. `writer`: of find_locked or RB_NEXT. */
static struct writer *of_address(struct writer *writer, struct address address)
{
    return writer && address_compare(writer->address, address) == 0 ? writer : NULL;
}

struct writer *writers_find_new_locked(struct writers *writers, struct address address)
{
    struct writer *writer = of_address(find_locked(writers, address, 0), address);
    while (writer && writer->state != WRITER_NEW)
        writer = of_address(RB_NEXT(writer_map, &writers->map, writer), address);
    return writer;
}

bool writers_is_open(struct writers *writers, struct address address)
{
    INSIDE(&writers->monitor);
    const struct writer *writer = of_address(find_locked(writers, address, 0), address);
    while (writer && writer->state == WRITER_DETACHED)
        writer = of_address(RB_NEXT(writer_map, &writers->map, (struct writer *)writer), address);
    return writer != NULL;
}

void writers_add_locked(struct writers *writers, struct writer *writer)
{
    writer->number = ++writers->last_number;
    (void)RB_INSERT(writer_map, &writers->map, writer);
}

void writers_remove_locked(struct writers *writers, struct writer *writer)
{
    (void)RB_REMOVE(writer_map, &writers->map, writer);
}

struct writer *writers_find_new(struct writers *writers, struct address address)
{
    INSIDE(&writers->monitor);
    struct writer *writer = writers_find_new_locked(writers, address);
    if (writer)
        (void)writer_ref(writer);
    return writer;
}

bool writers_has_new(struct writers *writers, struct address address)
{
    INSIDE(&writers->monitor);
    return writers_find_new_locked(writers, address) != NULL;
}

bool writers_next_new(struct writers *writers, const struct directory *directory,
                      struct bytes after, struct buffer *ret_position)
{
    bool is_first = bytes_compare(after, directory->range.lo) < 0;
    struct address from = {directory->table, is_first ? directory->range.lo : after};
    INSIDE(&writers->monitor);
    struct writer *writer = find_locked(writers, from, is_first ? 0 : UINT64_MAX);
    while (writer && writer->state != WRITER_NEW)
        writer = RB_NEXT(writer_map, &writers->map, writer);
    return writer && strcmp(writer->address.table, directory->table) == 0 &&
           range_holds(directory->range, writer->address.position) &&
           buffer_append(ret_position, writer->address.position) == 0;
}

/* The first writer that the settlement concerns. */
static struct writer *next_unsettled_locked(struct writers *writers,
                                            const struct settlement *settlement)
{
    struct writer *writer =
        find_locked(writers, (struct address){settlement->table, settlement->from}, 0);
    return writer && settlement_is_of(settlement, writer->address) ? writer : NULL;
}

/* NULL: out of memory. */
static struct writer_name *settled_name(const struct settlement *settlement, struct address address)
{
    _cleanup_(buffer_finish) struct buffer position = {.max = POSITION_MAX_BYTES};
    int r = settlement_append(settlement, address.position, &position);
    return r == 0 ? writer_name_create((struct address){settlement->table, buffer_bytes(&position)})
                  : NULL;
}

static int settle_locked(struct writers *writers, struct writer *writer,
                         const struct settlement *settlement)
{
    struct writer_name *name = settled_name(settlement, writer->address);
    if (!name)
        return -ENOMEM;
    writers_remove_locked(writers, writer);
    writer_name_unref(writer->name);
    writer->name = name;
    writer->address = name->address;
    (void)RB_INSERT(writer_map, &writers->map, writer); /* it began when it did */
    return 0;
}

/* Its writers get the settled address, too. */
static int settle_holds_locked(struct writers *writers, const struct settlement *settlement)
{
    struct held_writers *held;
    LIST_FOREACH(held, &writers->held, entry)
    {
        if (!settlement_is_of(settlement, held->address))
            continue;
        struct writer_name *name = settled_name(settlement, held->address);
        if (!name)
            return -ENOMEM;
        writer_name_unref(held->name);
        held->name = name;
        held->address = name->address;
    }
    return 0;
}

int writers_settle(struct writers *writers, const struct settlement *settlement)
{
    struct writer *writer;
    INSIDE(&writers->monitor);
    int r = settle_holds_locked(writers, settlement);
    while (r == 0 && (writer = next_unsettled_locked(writers, settlement)) != NULL)
        r = settle_locked(writers, writer, settlement);
    monitor_notify(&writers->monitor);
    return r;
}

void writers_for_each_unstored(struct writers *writers,
                               void (*visit)(void *context, struct address address,
                                             struct bytes text),
                               void *context)
{
    struct writer *writer;
    RB_FOREACH(writer, writer_map, &writers->map)
    {
        struct bytes text = draft_unstored(&writer->draft);
        if (writer->state != WRITER_DETACHED && !writer->outcome.is_kept && text.size > 0)
            visit(context, writer->address, text);
    }
}

static bool is_any_busy_locked(struct writers *writers, struct address address)
{
    struct writer *writer = of_address(find_locked(writers, address, 0), address);
    while (writer && !writer->is_busy)
        writer = of_address(RB_NEXT(writer_map, &writers->map, writer), address);
    return writer != NULL;
}

static int hold_locked(struct writers *writers, struct held_writers *held, struct call *call)
{
    int r = 0;
    while (r == 0 && writers_is_held_locked(writers, held->address))
        r = writers_wait_locked(writers, call);
    if (r < 0)
        return r;
    LIST_INSERT_HEAD(&writers->held, held, entry);
    while (r == 0 && is_any_busy_locked(writers, held->address))
        r = writers_wait_locked(writers, call);
    if (r < 0) {
        LIST_REMOVE(held, entry);
        monitor_notify(&writers->monitor);
    }
    held->last_number = writers->last_number;
    return r;
}

static void free_held(struct held_writers *held)
{
    writer_name_unref(held->name);
    free(held);
}

int writers_hold(struct writers *writers, struct address address, struct call *call,
                 struct held_writers **ret)
{
    struct held_writers *held = calloc(1, sizeof(*held));
    struct writer_name *name = writer_name_create(address);
    if (!held || !name) {
        writer_name_unref(name);
        free(held);
        return call_fail(call, -ENOMEM, "out of memory");
    }
    held->writers = writers;
    held->name = name;
    held->address = name->address;
    monitor_enter(&writers->monitor);
    int r = hold_locked(writers, held, call);
    monitor_leave(&writers->monitor);
    if (r < 0)
        free_held(held);
    else
        *ret = held;
    return r;
}

/* Was the file created after the hold began? Then it is not the file that is being removed. It was
 * created by another spelling of the path: in one directory the kernel does not run CREATE and
 * UNLINK at once. */
static bool is_later_file(const struct held_writers *held, const struct writer *writer)
{
    return writer->state == WRITER_NEW && writer->number > held->last_number;
}

bool writers_held_is_unstored(struct held_writers *held)
{
    struct writers *writers = held->writers;
    INSIDE(&writers->monitor);
    const struct writer *writer = writers_find_new_locked(writers, held->address);
    /* no writer of the name is busy */
    bool is_unstored = writer && !is_later_file(held, writer) && !writer->outcome.may_be_stored;
    return is_unstored;
}

static void detach_locked(struct held_writers *held)
{
    struct writers *writers = held->writers;
    struct address address = held->address;
    struct writer *writer = of_address(find_locked(writers, address, 0), address);
    for (; writer; writer = of_address(RB_NEXT(writer_map, &writers->map, writer), address))
        if (!is_later_file(held, writer))
            writer->state = WRITER_DETACHED;
}

static void end_hold_locked(struct held_writers *held)
{
    LIST_REMOVE(held, entry);
    monitor_notify(&held->writers->monitor);
}

void writers_let_go(struct held_writers *held, bool is_gone)
{
    struct writers *writers = held->writers;
    monitor_enter(&writers->monitor);
    if (is_gone)
        detach_locked(held);
    end_hold_locked(held);
    monitor_leave(&writers->monitor);
    free_held(held);
}

static uint64_t hash_of(struct address address)
{
    return bytes_hash(bytes_hash(BYTES_HASH_START, bytes_of(address.table)), address.position);
}

void writers_note_removed(struct writers *writers, struct address address)
{
    INSIDE(&writers->monitor);
    writers->removed[writers->removed_count++ % REMOVED_NAMES] = hash_of(address);
}

bool writers_was_removed_locked(const struct writers *writers, struct address address)
{
    uint64_t hash = hash_of(address);
    for (size_t i = 0; i < MIN(writers->removed_count, REMOVED_NAMES); i++)
        if (writers->removed[i] == hash)
            return true;
    return false;
}

/* If the writer knows the version that was renamed, it learns the new one. */
static void note_renamed(struct writer *writer, const struct entity *before,
                         const struct entity *after)
{
    bool is_new = writer->state == WRITER_NEW;
    bool has_stored = is_new || writer->last_stored.size > 0 || writer->queued;
    struct etag *known = has_stored ? &writer->last_stored : &writer->snapshot;
    struct bytes etag = writer->queued ? later_etag_get(writer->queued) : etag_bytes(known);
    if (!is_new && !bytes_equal(etag, page_etag(before->page, before->row)))
        return;
    later_etag_unref(TAKE_PTR(writer->queued));
    etag_set(known, page_etag(after->page, after->row));
    writer->outcome.may_be_stored = false;
    writer->state = WRITER_OPEN;
}

static void move_locked(struct held_writers *from, struct held_writers *to,
                        const struct entity *before, const struct entity *after)
{
    struct writers *writers = from->writers;
    struct address address = from->address;
    struct writer *next, *writer = of_address(find_locked(writers, address, 0), address);
    for (; writer; writer = next) {
        next = of_address(RB_NEXT(writer_map, &writers->map, writer), address);
        if (writer->state == WRITER_DETACHED || is_later_file(from, writer))
            continue;
        writers_remove_locked(writers, writer);
        writer_name_unref(writer->name);
        writer->name = writer_name_ref(to->name);
        writer->address = to->address;
        if (after->page)
            note_renamed(writer, before, after);
        writers_add_locked(writers, writer);
    }
}

void writers_let_go_renamed(struct held_writers *from, struct held_writers *to,
                            const struct entity *before, const struct entity *after)
{
    struct writers *writers = from->writers;
    monitor_enter(&writers->monitor);
    detach_locked(to);
    move_locked(from, to, before, after);
    end_hold_locked(from);
    end_hold_locked(to);
    monitor_leave(&writers->monitor);
    free_held(from);
    free_held(to);
}
