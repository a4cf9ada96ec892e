/* SPDX-License-Identifier: MIT */
#include "fs/ops/directory_handle.h"
#include "fs/kernel/entry.h"
#include "fs/ops/own_names.h"

#include <linux/fuse.h>

#define DOT_ENTRIES  2                   /* cookies of `.` and `..` */
#define ABOVE_ST_INO ((uint64_t)1 << 63) /* as the numbers of listing_entry */

struct directory_handle {
    struct file_system *fs;
    const struct inode *directory;
    struct directory place;  /* the directory's, views of it */
    struct listing *listing; /* NULL: of .tablefuse, or of scratch files */
    struct own_names own;    /* after those of the listing */
    /* An error that ended a reply with entries in it. The next read replies with it at once. */
    struct failure failure; /* error 0: none */
    off_t failed_after;     /* the cookie of the last entry of that reply */
};

/* The reply that is being packed. */
struct packing {
    struct directory_handle *handle;
    struct request *request;
    char *data;
    size_t size, used;
    off_t last; /* cookie of the last entry in it */
    bool is_plus, is_full;
    uint64_t *entered; /* node ids whose lookups this reply counts */
    size_t entered_count;
};

/* Begins a new listing of the directory, in place of the present one. 0 or -ENOMEM: then the
 * present one stays. */
static int begin(struct directory_handle *handle)
{
    const struct file_system *fs = handle->fs;
    const struct place *directory = &handle->directory->place;
    struct directory place = place_directory(directory);
    struct listing *listing = NULL;
    int r = directory->kind == PLACE_DIRECTORY ? account_list(fs->account, &place, &listing) : 0;
    if (r < 0)
        return r;
    own_names_finish(&handle->own);
    listing_close(handle->listing);
    handle->place = place;
    handle->listing = listing;
    own_names_init(&handle->own, &handle->place, place_scratch_directory(directory), listing,
                   fs->writers, fs->scratch);
    return 0;
}

int directory_handle_create(struct file_system *fs, const struct inode *directory,
                            struct directory_handle **ret)
{
    struct directory_handle *handle = calloc(1, sizeof(*handle));
    if (!handle)
        return -ENOMEM;
    handle->fs = fs;
    handle->directory = directory;
    int r = begin(handle);
    if (r < 0)
        free(handle);
    else
        *ret = handle;
    return r;
}

/* Has the directory got its key since it was opened (fs/text/settler)? Then it is listed anew. So
 * is one with a filter, whose listing does not begin anew by itself. */
static int begin_settled(struct directory_handle *handle)
{
    struct bytes lo = place_directory(&handle->directory->place).range.lo;
    bool is_settled = lo.data != handle->place.range.lo.data;
    return is_settled || handle->place.filter ? begin(handle) : 0;
}

void directory_handle_destroy(struct directory_handle *handle)
{
    if (!handle)
        return;
    own_names_finish(&handle->own);
    listing_close(handle->listing);
    free(handle);
}

/* Adds an entry if there is room. Otherwise sets is_full. */
static void pack(struct packing *packing, const char *name, const struct fuse_entry_param *entry,
                 uint64_t cookie)
{
    fuse_req_t req = packing->request->req;
    char *end = packing->data + packing->used;
    size_t left = packing->size - packing->used;
    size_t needed = packing->is_plus
                        ? fuse_add_direntry_plus(req, end, left, name, entry, (off_t)cookie)
                        : fuse_add_direntry(req, end, left, name, &entry->attr, (off_t)cookie);
    packing->is_full = needed > left;
    if (packing->is_full)
        return;
    packing->used += needed;
    packing->last = (off_t)cookie;
}

/* Packs `.` and `..`. They count as no lookup, so their node id is 0. */
static void pack_dots(struct packing *packing, off_t cookie)
{
    const struct inode *directory = packing->handle->directory;
    const struct inode *parent = inode_table_find(packing->handle->fs->inodes, directory->parent);
    uint64_t numbers[DOT_ENTRIES] = {directory->number,
                                     parent ? parent->number : directory->number};
    static const char *const names[DOT_ENTRIES] = {".", ".."};
    for (; cookie < DOT_ENTRIES && !packing->is_full; cookie++) {
        struct fuse_entry_param entry = {.attr = {.st_ino = numbers[cookie], .st_mode = S_IFDIR}};
        pack(packing, names[cookie], &entry, (uint64_t)cookie + 1);
    }
}

/* Sets the d_ino of an entry of READDIRPLUS. libfuse has set it to st_ino. */
static void set_number(char *entry, uint64_t number)
{
    memcpy(entry + offsetof(struct fuse_direntplus, dirent.ino), &number, sizeof(number));
}

/* For READDIRPLUS: counts a lookup of the entry's node and packs the entry. Takes the lookup back
 * if the entry did not fit. number: the d_ino if it differs from st_ino, else 0. */
static int pack_entered(struct packing *packing, const char *name, struct place *place,
                        const struct entity *entity, uint64_t number, int64_t valid_ms,
                        uint64_t cookie)
{
    struct file_system *fs = packing->handle->fs;
    char *end = packing->data + packing->used;
    struct fuse_entry_param entry;
    int r = entry_make(fs, packing->handle->directory->id, bytes_of(name), place, entity, valid_ms,
                       &entry);
    if (r < 0)
        return r;
    pack(packing, name, &entry, cookie);
    if (packing->is_full)
        inode_table_forget(fs->inodes, entry.ino, 1);
    else
        packing->entered[packing->entered_count++] = entry.ino;
    if (!packing->is_full && number != 0)
        set_number(end, number);
    return 0;
}

/* Packs a name, a number and a type. In READDIRPLUS it counts as no lookup. */
static void pack_plain(struct packing *packing, const char *name, mode_t type, uint64_t number,
                       uint64_t cookie)
{
    struct fuse_entry_param entry = {.attr = {.st_ino = number, .st_mode = type}};
    pack(packing, name, &entry, cookie);
}

static int append_name(struct buffer *name, const struct listing_entry *listed)
{
    switch (listed->kind) {
    case LISTING_TABLE:
        return buffer_append(name, listed->key);
    case LISTING_PREFIX:
        return names_encode(listed->key, NAME_PREFIX, name);
    case LISTING_PARTITION:
        return names_encode(listed->key, NAME_PARTITION, name);
    case LISTING_ENTITY:
        return names_encode(listed->key, NAME_ENTITY, name);
    }
    return -EPROTO;
}

/* 0 or -errno. Never -ENOENT: readdir's callers take ENOENT for the end of the directory. */
static int make_place(const struct place *parent, const struct listing_entry *listed,
                      struct place *ret)
{
    int r = listed->kind == LISTING_TABLE    ? place_child(parent, listed->key, ret)
            : listed->kind == LISTING_PREFIX ? place_of_prefix(parent, listed->key, ret)
                                             : place_of_key(parent, listed->key, ret);
    return r == -ENOENT ? -EPROTO : r;
}

/* The d_ino of an entry for which no node is made. */
static int find_number(const struct packing *packing, const struct listing_entry *listed,
                       uint64_t *ret)
{
    _cleanup_(place_finish) struct place place = {0};
    int r = 0;
    if (listed->number == 0)
        r = make_place(&packing->handle->directory->place, listed, &place);
    if (r < 0)
        return r;
    *ret = listed->number != 0 ? listed->number : place_number(&place);
    return 0;
}

static int pack_node(struct packing *packing, const char *name, const struct listing_entry *listed)
{
    bool is_entity = listed->kind == LISTING_ENTITY;
    _cleanup_(place_finish) struct place place = {0};
    int r = make_place(&packing->handle->directory->place, listed, &place);
    if (r < 0)
        return r;
    return pack_entered(packing, name, &place, is_entity ? &listed->entity : NULL, listed->number,
                        listed->valid_ms, DOT_ENTRIES + listed->cookie);
}

static void note_shown(struct packing *packing, const char *name,
                       const struct listing_entry *listed)
{
    bool is_entity = listed->kind == LISTING_ENTITY;
    if (is_entity || listed->kind == LISTING_PARTITION)
        long_names_put(packing->handle->fs->long_names, bytes_of(name),
                       is_entity ? NAME_ENTITY : NAME_PARTITION, listed->key);
}

/* The kernel keeps a node for each entry of READDIRPLUS that has one. There may be millions of
 * entities, and few of them are used. The kernel looks up the others when they are. */
static bool makes_node(const struct packing *packing, const struct listing_entry *listed)
{
    return packing->is_plus && (listed->kind != LISTING_ENTITY ||
                                !inode_table_is_half_full(packing->handle->fs->inodes));
}

static int pack_listed(struct packing *packing, const struct listing_entry *listed)
{
    _cleanup_(buffer_finish) struct buffer buffer = {.max = NAME_MAX_BYTES};
    int r = append_name(&buffer, listed);
    const char *name = r == 0 ? buffer_string(&buffer) : NULL;
    if (!name)
        return r < 0 ? r : -ENOMEM;
    note_shown(packing, name, listed);
    if (makes_node(packing, listed))
        return pack_node(packing, name, listed);
    uint64_t number;
    r = find_number(packing, listed, &number);
    if (r < 0)
        return r;
    pack_plain(packing, name, listed->kind == LISTING_ENTITY ? S_IFREG : S_IFDIR, number,
               DOT_ENTRIES + listed->cookie);
    return 0;
}

/* Waits for the first entry only, so that available entries are not held back by the others. 1: the
 * listing has no more. */
static int pack_listing(struct packing *packing, uint64_t cookie)
{
    struct caller *caller = &packing->request->caller;
    struct own_names *own = &packing->handle->own;
    bool may_wait = true;
    if (cookie == 0 && own_names_begin(own) < 0)
        return call_fail(&caller->call, -ENOMEM, "out of memory");
    if (cookie == 0 && packing->handle->place.filter) {
        int r = account_send_texts(packing->handle->fs->account, caller, &packing->handle->place);
        if (r < 0)
            return r;
    }
    while (!packing->is_full) {
        struct listing_entry entry;
        int r = listing_next(packing->handle->listing, caller, cookie, !packing->is_plus, may_wait,
                             &entry);
        if (r <= 0)
            return r == -EAGAIN ? 0 : r == 0 ? 1 : r;
        own_names_listed(own, entry.key);
        r = pack_listed(packing, &entry);
        if (r < 0)
            return call_fail(&caller->call, r,
                             r == -ENOMEM ? "out of memory" : "an entry has no file name");
        cookie = entry.cookie;
        may_wait = false;
    }
    return 0;
}

/* The kernel looks the name up when it needs more of it. */
static int pack_own_name(struct packing *packing, const struct own_name *own)
{
    bool is_scratch = own->name.size > 0;
    bool is_file = is_scratch ? !own->is_directory : own->kind == NAME_ENTITY;
    _cleanup_(buffer_finish) struct buffer buffer = {.max = NAME_MAX_BYTES};
    int r =
        is_scratch ? buffer_append(&buffer, own->name) : names_encode(own->key, own->kind, &buffer);
    const char *name = r == 0 ? buffer_string(&buffer) : NULL;
    if (!name)
        return r < 0 ? r : -ENOMEM;
    pack_plain(packing, name, is_file ? S_IFREG : S_IFDIR,
               is_scratch ? own->number : ABOVE_ST_INO | own->cookie, own->cookie);
    return 0;
}

static int pack_own(struct packing *packing, uint64_t cookie)
{
    int r = 1;
    while (r > 0 && !packing->is_full) {
        struct own_name own;
        r = own_names_next(&packing->handle->own, cookie, &own);
        if (r <= 0)
            break;
        cookie = own.cookie;
        r = pack_own_name(packing, &own);
        r = r < 0 ? r : 1;
    }
    return r < 0 ? call_fail(&packing->request->caller.call, r, "out of memory") : 0;
}

/* Names alone, also for READDIRPLUS: the text of a file is made by its LOOKUP. */
static int pack_control(struct packing *packing, uint64_t cookie)
{
    for (; cookie < CONTROL_FILES && !packing->is_full; cookie++) {
        const char *name = control_file_names[cookie];
        uint64_t next = DOT_ENTRIES + cookie + 1;
        struct place place;
        int r = place_child(&packing->handle->directory->place, bytes_of(name), &place);
        if (r < 0)
            return r;
        pack_plain(packing, name, place.kind == PLACE_CONTROL_FILE ? S_IFREG : S_IFDIR,
                   place_number(&place), next);
        place_finish(&place);
    }
    return 0;
}

static int pack_all(struct packing *packing, off_t cookie)
{
    if (cookie == 0 && begin_settled(packing->handle) < 0)
        return call_fail(&packing->request->caller.call, -ENOMEM, "out of memory");
    pack_dots(packing, cookie);
    if (packing->is_full)
        return 0;
    if ((uint64_t)cookie >= OWN_NAMES_BEGIN)
        return pack_own(packing, (uint64_t)cookie);
    uint64_t after_dots = cookie > DOT_ENTRIES ? (uint64_t)cookie - DOT_ENTRIES : 0;
    if (packing->handle->directory->place.kind == PLACE_CONTROL_DIRECTORY)
        return pack_control(packing, after_dots);
    if (!packing->handle->listing)
        return pack_own(packing, OWN_NAMES_BEGIN);
    int r = request_may_wait(packing->request, &packing->handle->directory->place);
    if (r == 0)
        r = pack_listing(packing, after_dots);
    if (r > 0 && packing->handle->place.filter) /* the names of the mount match nothing */
        return 0;
    return r > 0 ? pack_own(packing, OWN_NAMES_BEGIN) : r;
}

static void forget_entered(const struct packing *packing)
{
    for (size_t i = 0; i < packing->entered_count; i++)
        inode_table_forget(packing->handle->fs->inodes, packing->entered[i], 1);
}

/* An error after some entries is kept for the next read. EINTR is replied at once: a process that
 * handles the signal would continue to read, and wait again. */
static void reply(struct packing *packing, int error)
{
    struct directory_handle *handle = packing->handle;
    struct request *request = packing->request;
    if (error < 0 && (packing->used == 0 || error == -EINTR)) {
        forget_entered(packing);
        request_fail(request, error, &handle->directory->place);
        return;
    }
    if (error < 0) {
        handle->failure = request->caller.call.failure;
        handle->failure.error = error;
        handle->failed_after = packing->last;
    }
    if (fuse_reply_buf(request->req, packing->data, packing->used) < 0)
        forget_entered(packing); /* the kernel did not take the reply */
}

void directory_handle_read(struct directory_handle *handle, struct request *request, size_t size,
                           off_t cookie, bool is_plus)
{
    struct failure *failure = &handle->failure;
    if (failure->error < 0 && handle->failed_after == cookie) {
        request->caller.call.failure = *failure;
        *failure = (struct failure){0};
        request_fail(request, request->caller.call.failure.error, &handle->directory->place);
        return;
    }
    *failure = (struct failure){0};                             /* it is for another cookie */
    size_t max_entries = size / sizeof(struct fuse_dirent) + 1; /* an entry takes more bytes */
    _cleanup_(freep) char *data = malloc(size);
    _cleanup_(freep) uint64_t *entered = calloc(is_plus ? max_entries : 1, sizeof(uint64_t));
    struct packing packing = {.handle = handle,
                              .request = request,
                              .data = data,
                              .size = size,
                              .is_plus = is_plus,
                              .entered = entered};
    reply(&packing, data && entered ? pack_all(&packing, cookie)
                                    : call_fail(&request->caller.call, -ENOMEM, "out of memory"));
}
