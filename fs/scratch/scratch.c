/* SPDX-License-Identifier: MIT */
#include "fs/scratch/scratch.h"
#include "client/base/locked.h"
#include "fs/scratch/scratch_text.h"
#include "fs/tree/scratch_name.h"

#include <bsd/sys/tree.h>
#include <pthread.h>
#include <sys/queue.h>

/* Where a file is. A copy is one block: table, NUL, position, name. */
struct location {
    struct address directory;
    struct bytes name;
};

struct scratch_file {
    struct node_file file; /* first */
    struct scratch *scratch;
    _Atomic size_t references;
    LIST_ENTRY(scratch_file) of_all;
    /* guarded by the lock */
    RB_ENTRY(scratch_file) by_location;
    bool is_named; /* it is in the map */
    bool is_sealed;
    size_t handles;
    struct location where;
    char *where_text;
    struct scratch_text text;
    struct scratch_attributes attributes; /* but for size and is_named */
    struct address backup;                /* views into backup_text */
    char *backup_text;                    /* and its ETag; NULL: it is the backup of no entity */
    size_t backup_etag_size;
    bool was_changed;
};

RB_HEAD(location_map, scratch_file);
LIST_HEAD(scratch_list, scratch_file);

struct scratch {
    pthread_mutex_t lock;
    /* guarded by lock */
    struct location_map map;
    struct scratch_list all;
    struct scratch_budget budget;
};

static int compare_files(const struct scratch_file *a, const struct scratch_file *b)
{
    int order = address_compare(a->where.directory, b->where.directory);
    return order != 0 ? order : bytes_compare(a->where.name, b->where.name);
}

RB_GENERATE_INTERNAL(location_map, scratch_file, by_location, compare_files,
                     static __attribute__((unused)));

static void enter(struct scratch *scratch)
{
    (void)pthread_mutex_lock(&scratch->lock);
}

static void leave(struct scratch *scratch)
{
    (void)pthread_mutex_unlock(&scratch->lock);
}

int scratch_create(size_t max_bytes, struct scratch **ret)
{
    struct scratch *scratch = calloc(1, sizeof(*scratch));
    if (!scratch)
        return -ENOMEM;
    (void)pthread_mutex_init(&scratch->lock, NULL);
    scratch->budget.max_bytes = max_bytes;
    *ret = scratch;
    return 0;
}

static void file_free(struct scratch_file *file)
{
    free(file->where_text);
    scratch_text_finish(&file->text);
    free(file->backup_text);
    free(file);
}

void scratch_destroy(struct scratch *scratch)
{
    if (!scratch)
        return;
    for (struct scratch_file *file; (file = LIST_FIRST(&scratch->all)) != NULL;) {
        LIST_REMOVE(file, of_all);
        file_free(file);
    }
    (void)pthread_mutex_destroy(&scratch->lock);
    free(scratch);
}

size_t scratch_bytes(struct scratch *scratch)
{
    LOCKED(&scratch->lock);
    return scratch->budget.bytes;
}

struct address scratch_directory(const struct directory *directory)
{
    struct bytes partition_key = position_partition_key(directory->range.lo);
    return (struct address){directory->table, {partition_key.data, partition_key.size + 1}};
}

static struct scratch_file *find_locked(struct scratch *scratch, struct location where)
{
    return RB_FIND(location_map, &scratch->map, &(struct scratch_file){.where = where});
}

struct scratch_file *scratch_find(struct scratch *scratch, struct address directory,
                                  struct bytes name)
{
    LOCKED(&scratch->lock);
    struct scratch_file *file = find_locked(scratch, (struct location){directory, name});
    if (file)
        file->references++;
    return file;
}

/* NULL: out of memory. */
static char *copy_location(struct location where, struct location *ret)
{
    size_t size = address_size(where.directory);
    char *text = calloc(1, size + where.name.size);
    if (!text)
        return NULL;
    ret->directory = address_copy(where.directory, text);
    memcpy(text + size, where.name.data, where.name.size);
    ret->name = (struct bytes){text + size, where.name.size};
    return text;
}

static void ref_node_file(struct node_file *file)
{
    ((struct scratch_file *)file)->references++;
}

static void unref_node_file(struct node_file *file)
{
    scratch_file_unref((struct scratch_file *)file);
}

static const struct node_file_ops node_file_ops = {ref_node_file, unref_node_file};

/* Is it a partition's, or that of a directory that is there? */
static bool has_directory_locked(struct scratch *scratch, struct address directory)
{
    struct bytes name = position_row_key(directory.position);
    if (name.size == 0)
        return true;
    directory.position.size -= name.size;
    const struct scratch_file *found = find_locked(scratch, (struct location){directory, name});
    return found && found->attributes.is_directory;
}

static int add_locked(struct scratch *scratch, struct scratch_file *file)
{
    if (find_locked(scratch, file->where))
        return -EEXIST;
    if (!has_directory_locked(scratch, file->where.directory))
        return -ENOENT;
    int r = scratch_budget_take(&scratch->budget, SCRATCH_FILE_BYTES);
    if (r < 0)
        return r;
    (void)RB_INSERT(location_map, &scratch->map, file);
    LIST_INSERT_HEAD(&scratch->all, file, of_all);
    return 0;
}

int scratch_make(struct scratch *scratch, struct address directory, struct bytes name,
                 const struct scratch_attributes *attributes, struct scratch_file **ret)
{
    struct scratch_file *file = calloc(1, sizeof(*file));
    if (!file)
        return -ENOMEM;
    *file = (struct scratch_file){.file = {&node_file_ops},
                                  .scratch = scratch,
                                  .references = 2, /* of the name, and of the caller */
                                  .is_named = true,
                                  .attributes = *attributes};
    file->where_text = copy_location((struct location){directory, name}, &file->where);
    int r = file->where_text ? 0 : -ENOMEM;
    if (r == 0) {
        LOCKED(&scratch->lock);
        r = add_locked(scratch, file);
    }
    if (r < 0)
        file_free(file);
    else
        *ret = file;
    return r;
}

/* The first file of the directory after the name. */
static struct scratch_file *next_locked(struct scratch *scratch, struct address directory,
                                        struct bytes after)
{
    struct scratch_file key = {.where = {directory, after}};
    struct scratch_file *file = RB_NFIND(location_map, &scratch->map, &key);
    if (file && compare_files(file, &key) == 0)
        file = RB_NEXT(location_map, &scratch->map, file);
    return file && address_compare(file->where.directory, directory) == 0 ? file : NULL;
}

int scratch_next(struct scratch *scratch, struct address directory, struct bytes after,
                 struct buffer *ret_name, struct scratch_attributes *ret)
{
    LOCKED(&scratch->lock);
    const struct scratch_file *file = next_locked(scratch, directory, after);
    int r = file ? buffer_set(ret_name, file->where.name) : 0;
    if (file && r == 0) {
        *ret = file->attributes;
        r = 1;
    }
    return r;
}

bool scratch_has_below(struct scratch *scratch, const struct directory *directory)
{
    struct range range = directory->range;
    if (directory->kind == DIRECTORY_ENTITIES)
        range.lo = scratch_directory(directory).position;
    struct scratch_file key = {.where = {.directory = {directory->table, range.lo}}};
    LOCKED(&scratch->lock);
    const struct scratch_file *file = RB_NFIND(location_map, &scratch->map, &key);
    return file && strcmp(file->where.directory.table, directory->table) == 0 &&
           (directory->kind == DIRECTORY_ENTITIES
                ? bytes_equal(file->where.directory.position, range.lo)
                : range_holds(range, file->where.directory.position));
}

static bool has_ended_locked(const struct scratch_file *file)
{
    return !file->is_named && file->handles == 0;
}

/* Frees what the file holds, if it has ended. The struct itself may still be referenced. */
static void end_locked(struct scratch_file *file)
{
    if (!has_ended_locked(file))
        return;
    struct scratch_budget *budget = &file->scratch->budget;
    (void)scratch_text_resize(&file->text, budget, 0);
    scratch_budget_give_back(budget, SCRATCH_FILE_BYTES);
    free(TAKE_PTR(file->where_text));
    free(TAKE_PTR(file->backup_text));
}

/* The name's reference is the caller's afterwards. */
static void lose_name_locked(struct scratch_file *file)
{
    (void)RB_REMOVE(location_map, &file->scratch->map, file);
    file->is_named = false;
    end_locked(file);
}

/* Of a directory: 0, -ENOTEMPTY or -ENOMEM. */
static int check_empty_locked(const struct scratch_file *file)
{
    struct address directory = file->where.directory;
    _cleanup_(buffer_finish) struct buffer position = {.max = POSITION_MAX_BYTES + NAME_MAX_BYTES};
    (void)buffer_append(&position, directory.position);
    if (buffer_append(&position, file->where.name) < 0)
        return -ENOMEM;
    directory.position = buffer_bytes(&position);
    return next_locked(file->scratch, directory, BYTES_LITERAL("")) ? -ENOTEMPTY : 0;
}

int scratch_unlink(struct scratch_file *file)
{
    enter(file->scratch);
    int r = file->is_named ? 0 : -ENOENT;
    if (r == 0 && file->attributes.is_directory)
        r = check_empty_locked(file);
    if (r == 0)
        lose_name_locked(file);
    leave(file->scratch);
    if (r == 0)
        scratch_file_unref(file);
    return r;
}

/* Takes *text if the file gets the name. ret_replaced: the file that had it, with a reference. */
static int rename_locked(struct scratch_file *file, struct location where, char **text,
                         bool is_exclusive, struct scratch_file **ret_replaced)
{
    struct scratch *scratch = file->scratch;
    struct scratch_file *there = find_locked(scratch, where);
    if (!file->is_named)
        return -ENOENT;
    if (there && is_exclusive)
        return -EEXIST;
    if (there == file)
        return 0;
    if (there && there->attributes.is_directory && !file->attributes.is_directory)
        return -EISDIR;
    if (!has_directory_locked(scratch, where.directory))
        return -ENOENT;
    if (there)
        lose_name_locked(there);
    (void)RB_REMOVE(location_map, &scratch->map, file);
    free(file->where_text);
    file->where_text = TAKE_PTR(*text);
    file->where = where;
    (void)RB_INSERT(location_map, &scratch->map, file);
    *ret_replaced = there;
    return 0;
}

int scratch_rename(struct scratch_file *file, struct address directory, struct bytes name,
                   bool is_exclusive)
{
    struct location where = {directory, name};
    struct scratch_file *replaced = NULL;
    _cleanup_(freep) char *text = copy_location(where, &where);
    if (!text)
        return -ENOMEM;
    enter(file->scratch);
    int r = rename_locked(file, where, &text, is_exclusive, &replaced);
    leave(file->scratch);
    scratch_file_unref(replaced);
    return r;
}

/* Settles one file: 1. 0: there is none; -ENOMEM. ret_replaced: as of rename_locked. */
static int settle_one_locked(struct scratch *scratch, const struct settlement *settlement,
                             struct scratch_file **ret_replaced)
{
    struct address from = {settlement->table, settlement->from};
    struct scratch_file *file =
        RB_NFIND(location_map, &scratch->map, &(struct scratch_file){.where.directory = from});
    if (!file || !settlement_is_of(settlement, file->where.directory))
        return 0;
    _cleanup_(buffer_finish) struct buffer position = {.max = POSITION_MAX_BYTES};
    int r = settlement_append(settlement, file->where.directory.position, &position);
    if (r < 0)
        return r;
    struct location where = {{settlement->table, buffer_bytes(&position)}, file->where.name};
    _cleanup_(freep) char *text = copy_location(where, &where);
    r = text ? rename_locked(file, where, &text, false, ret_replaced) : -ENOMEM;
    return r < 0 ? r : 1;
}

int scratch_settle(struct scratch *scratch, const struct settlement *settlement)
{
    int r = 1;
    while (r > 0) {
        struct scratch_file *replaced = NULL;
        enter(scratch);
        r = settle_one_locked(scratch, settlement, &replaced);
        leave(scratch);
        scratch_file_unref(replaced);
    }
    return r;
}

void scratch_for_each_kept(struct scratch *scratch,
                           void (*keep)(void *context, struct address directory, struct bytes name,
                                        struct bytes text),
                           void *context)
{
    struct scratch_file *file;
    RB_FOREACH(file, location_map, &scratch->map)
    if (file->text.size > 0 && !scratch_name_is_passing(file->where.name))
        keep(context, file->where.directory, file->where.name,
             (struct bytes){file->text.data, file->text.size});
}

int scratch_file_open(struct scratch_file *file)
{
    LOCKED(&file->scratch->lock);
    int r = has_ended_locked(file) ? -ESTALE : 0;
    if (r == 0) {
        file->handles++;
        file->references++;
    }
    return r;
}

void scratch_file_close(struct scratch_file *file)
{
    if (!file)
        return;
    enter(file->scratch);
    file->handles--;
    end_locked(file);
    leave(file->scratch);
    scratch_file_unref(file);
}

void scratch_file_unref(struct scratch_file *file)
{
    if (!file || --file->references > 0)
        return;
    struct scratch *scratch = file->scratch;
    enter(scratch);
    LIST_REMOVE(file, of_all);
    leave(scratch);
    file_free(file);
}

struct node_file *scratch_node_file(struct scratch_file *file)
{
    return &file->file;
}

struct scratch_file *scratch_of_node_file(struct node_file *file)
{
    return (struct scratch_file *)file;
}

bool scratch_file_is_directory(const struct scratch_file *file)
{
    return file->attributes.is_directory;
}

void scratch_file_attributes(struct scratch_file *file, struct scratch_attributes *ret)
{
    LOCKED(&file->scratch->lock);
    *ret = file->attributes;
    ret->size = file->text.size;
    ret->is_named = file->is_named;
}

void scratch_file_set_mode(struct scratch_file *file, mode_t mode)
{
    LOCKED(&file->scratch->lock);
    file->attributes.mode = mode;
}

void scratch_file_set_mtime(struct scratch_file *file, int64_t mtime_100ns)
{
    LOCKED(&file->scratch->lock);
    file->attributes.mtime_100ns = mtime_100ns;
}

static int check_open_locked(const struct scratch_file *file)
{
    if (has_ended_locked(file))
        return -ENOENT;
    return file->is_sealed ? -ESTALE : 0;
}

static void note_change_locked(struct scratch_file *file, int64_t now_100ns)
{
    file->attributes.mtime_100ns = now_100ns;
    file->was_changed = true;
}

int scratch_file_write(struct scratch_file *file, struct bytes bytes, uint64_t offset,
                       bool is_append, int64_t now_100ns)
{
    LOCKED(&file->scratch->lock);
    int r = check_open_locked(file);
    if (r == 0)
        r = scratch_text_write(&file->text, &file->scratch->budget, bytes,
                               is_append ? file->text.size : offset);
    if (r == 0)
        note_change_locked(file, now_100ns);
    return r;
}

int scratch_file_resize(struct scratch_file *file, uint64_t size, int64_t now_100ns)
{
    LOCKED(&file->scratch->lock);
    int r = check_open_locked(file);
    if (r == 0)
        r = scratch_text_resize(&file->text, &file->scratch->budget, size);
    if (r == 0)
        note_change_locked(file, now_100ns);
    return r;
}

void scratch_file_seal(struct scratch_file *file, bool is_sealed)
{
    LOCKED(&file->scratch->lock);
    file->is_sealed = is_sealed;
}

int scratch_file_read(struct scratch_file *file, uint64_t offset, size_t size, struct buffer *ret)
{
    int r = 0;
    LOCKED(&file->scratch->lock);
    if (offset < file->text.size)
        r = buffer_append(ret, (struct bytes){file->text.data + offset,
                                              MIN(size, file->text.size - (size_t)offset)});
    return r;
}

int scratch_file_set_backup(struct scratch_file *file, struct address address, struct bytes etag)
{
    char *text = address.table ? calloc(1, address_size(address) + etag.size) : NULL;
    if (address.table && !text)
        return -ENOMEM;
    struct address copy = {0};
    if (text) {
        copy = address_copy(address, text);
        if (etag.size > 0)
            memcpy(text + address_size(address), etag.data, etag.size);
    }
    enter(file->scratch);
    char *old = file->backup_text;
    file->backup_text = text;
    file->backup = copy;
    file->backup_etag_size = etag.size;
    file->was_changed = false;
    leave(file->scratch);
    free(old);
    return 0;
}

int scratch_file_backup(struct scratch_file *file, struct buffer *ret_text, struct address *ret,
                        struct bytes *ret_etag)
{
    size_t table_size = 0, size = 0;
    enter(file->scratch);
    int r = file->backup_text ? 1 : 0;
    if (r > 0) {
        table_size = strlen(file->backup.table) + 1;
        size = address_size(file->backup);
        r = buffer_set(ret_text, (struct bytes){file->backup_text, size + file->backup_etag_size});
        r = r < 0 ? r : 1;
    }
    leave(file->scratch);
    if (r > 0) {
        struct bytes all = buffer_bytes(ret_text);
        *ret = (struct address){all.data, bytes_skip(bytes_first(all, size), table_size)};
        *ret_etag = bytes_skip(all, size);
    }
    return r;
}

bool scratch_file_was_changed(struct scratch_file *file)
{
    LOCKED(&file->scratch->lock);
    return file->was_changed;
}
