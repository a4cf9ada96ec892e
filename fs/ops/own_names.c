/* SPDX-License-Identifier: MIT */
#include "fs/ops/own_names.h"

struct own_file { /* a file that was new when the listing began */
    RB_ENTRY(own_file) by_key;
    struct bytes position, key; /* key: the row's; both are views into text */
    bool is_shown;              /* by the listing */
    char text[];
};

/* All are of one partition, so this is their order in the listing. */
static int compare_keys(const struct own_file *a, const struct own_file *b)
{
    return bytes_compare(a->key, b->key);
}

RB_GENERATE_INTERNAL(own_files, own_file, by_key, compare_keys, static __attribute__((unused)));

void own_names_init(struct own_names *names, const struct directory *directory,
                    struct address scratch_directory, struct listing *listing,
                    struct writers *writers, struct scratch *scratch)
{
    *names = (struct own_names){.directory = *directory,
                                .scratch_directory = scratch_directory,
                                .listing = listing,
                                .writers = writers,
                                .scratch = scratch,
                                .last = OWN_NAMES_BEGIN};
    buffer_init(&names->before, POSITION_MAX_BYTES);
    buffer_init(&names->next, POSITION_MAX_BYTES);
}

static void forget_files(struct own_names *names)
{
    for (struct own_file *file; (file = RB_ROOT(&names->files)) != NULL;) {
        (void)RB_REMOVE(own_files, &names->files, file);
        free(file);
    }
    names->files_count = 0;
}

void own_names_finish(struct own_names *names)
{
    forget_files(names);
    buffer_finish(&names->before);
    buffer_finish(&names->next);
}

static struct own_file *find_file(struct own_names *names, struct bytes key)
{
    return RB_FIND(own_files, &names->files, &(struct own_file){.key = key});
}

static int keep_file(struct own_names *names, struct bytes position)
{
    if (find_file(names, position_row_key(position))) /* the listing has not shown anything yet */
        return 0;
    struct own_file *file = calloc(1, sizeof(*file) + position.size);
    if (!file)
        return -ENOMEM;
    memcpy(file->text, position.data, position.size);
    file->position = (struct bytes){file->text, position.size};
    file->key = position_row_key(file->position);
    (void)RB_INSERT(own_files, &names->files, file);
    names->files_count++;
    return 0;
}

int own_names_begin(struct own_names *names)
{
    _cleanup_(buffer_finish) struct buffer after = {.max = POSITION_MAX_BYTES};
    _cleanup_(buffer_finish) struct buffer next = {.max = POSITION_MAX_BYTES};
    int r = 0;
    if (names->is_listed)
        forget_files(names);
    names->is_listed = false;
    if (names->directory.kind != DIRECTORY_ENTITIES || !names->writers)
        return 0;
    while (r == 0 && names->files_count < OWN_NAMES_MAX) {
        buffer_clear(&next);
        if (!writers_next_new(names->writers, &names->directory, buffer_bytes(&after), &next))
            return next.error;
        r = keep_file(names, buffer_bytes(&next));
        buffer_swap(&after, &next);
    }
    return r;
}

void own_names_listed(struct own_names *names, struct bytes key)
{
    struct own_file *file = names->files_count > 0 ? find_file(names, key) : NULL;
    names->is_listed = true;
    if (file)
        file->is_shown = true;
}

/* The first file after `after` (empty: the first of all) that was new when the listing began. */
static struct own_file *next_kept(struct own_names *names, struct bytes after)
{
    if (after.size == 0)
        return RB_MIN(own_files, &names->files);
    struct own_file key = {.key = position_row_key(after)};
    struct own_file *file = RB_NFIND(own_files, &names->files, &key);
    return file && compare_keys(file, &key) == 0 ? RB_NEXT(own_files, &names->files, file) : file;
}

/* Should the listing still show it? kept NULL: the file was not new when the listing began; another
 * client may have stored an entity of its name. */
static bool is_to_show(const struct own_names *names, const struct own_file *kept, bool is_new,
                       struct bytes position)
{
    if (kept && (kept->is_shown || is_new))
        return !kept->is_shown;
    struct position end;
    struct range range = range_of_one(position, &end);
    return kept ? !listing_knows_none(names->listing, range)
                : !listing_knows_row(names->listing, range);
}

static int find_next_file(struct own_names *names)
{
    _cleanup_(buffer_finish) struct buffer after = {.max = POSITION_MAX_BYTES};
    struct buffer *next = &names->next;
    int r = buffer_set(&after, buffer_bytes(&names->before));
    while (r == 0) {
        const struct own_file *kept = next_kept(names, buffer_bytes(&after));
        buffer_clear(next);
        bool is_new =
            writers_next_new(names->writers, &names->directory, buffer_bytes(&after), next);
        if (next->error < 0 || (!is_new && !kept))
            return next->error;
        int order = !is_new ? -1 : !kept ? 1 : bytes_compare(kept->position, buffer_bytes(next));
        if (order < 0)
            r = buffer_set(next, kept->position);
        if (r == 0)
            r = is_to_show(names, order <= 0 ? kept : NULL, order >= 0, buffer_bytes(next));
        if (r == 0)
            r = buffer_set(&after, buffer_bytes(next));
        else if (r > 0)
            return 1;
    }
    return r;
}

static int find_next_scratch(struct own_names *names)
{
    struct bytes after =
        names->before_is_scratch ? buffer_bytes(&names->before) : BYTES_LITERAL("");
    names->next_is_scratch = true;
    return scratch_next(names->scratch, names->scratch_directory, after, &names->next,
                        &names->next_attributes);
}

/* Finds the name after `before`: 1. 0: there is none. */
static int find_next(struct own_names *names)
{
    bool is_partition = names->directory.kind == DIRECTORY_ENTITIES;
    int r = 0;
    buffer_clear(&names->next);
    names->next_is_scratch = false;
    if (!is_partition && !names->listing) /* .tablefuse */
        return 0;
    if (!is_partition)
        return listing_next_local(names->listing, buffer_bytes(&names->before), &names->next);
    if (names->listing && names->writers && !names->before_is_scratch)
        r = find_next_file(names);
    return r == 0 && names->scratch ? find_next_scratch(names) : r;
}

static void take_next(struct own_names *names)
{
    buffer_swap(&names->before, &names->next);
    buffer_clear(&names->next);
    names->before_is_scratch = names->next_is_scratch;
    names->last++;
}

/* Counts from the first name. */
static int seek(struct own_names *names, uint64_t cookie)
{
    int r = 1;
    names->last = OWN_NAMES_BEGIN;
    buffer_clear(&names->before);
    names->before_is_scratch = false;
    while (r > 0 && names->last < cookie) {
        r = find_next(names);
        if (r > 0)
            take_next(names);
    }
    return r;
}

int own_names_next(struct own_names *names, uint64_t cookie, struct own_name *ret)
{
    int r = 1;
    names->is_listed = true;
    if (cookie == names->last + 1 && names->next.size > 0)
        take_next(names);
    else if (cookie != names->last)
        r = seek(names, cookie);
    if (r > 0)
        r = find_next(names);
    if (r <= 0)
        return r;
    struct bytes position = buffer_bytes(&names->next);
    if (names->next_is_scratch)
        *ret = (struct own_name){.name = position,
                                 .number = names->next_attributes.number,
                                 .is_directory = names->next_attributes.is_directory,
                                 .cookie = names->last + 1};
    else if (names->directory.kind == DIRECTORY_ENTITIES)
        *ret = (struct own_name){
            .kind = NAME_ENTITY, .key = position_row_key(position), .cookie = names->last + 1};
    else
        *ret = (struct own_name){.kind = position_has_row(position) ? NAME_PARTITION : NAME_PREFIX,
                                 .key = position_partition_key(position),
                                 .cookie = names->last + 1};
    return 1;
}
