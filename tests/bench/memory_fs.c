/* SPDX-License-Identifier: MIT */
/* What the file system is measured against: the same files, read from an account once and served
 * from memory, with the same agreement with the kernel, timeouts, threads and page cache, and
 * nothing between the kernel and the bytes. `memory_fs SOURCE DIR` stays in the foreground and
 * unmounts when a signal ends it. */
#include "client/base/clock.h"
#include "fs/kernel/channel.h"
#include "fs/tree/attributes.h"
#include "tests/bench/memory_tree.h"
#include "tests/stores/source.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#define VALID_SEC   1.0 /* the usual ttl */
#define DOT_ENTRIES 2   /* cookies of `.` and `..`; a child's is that + the next one's index */

struct memory_fs {
    struct memory_tree *tree;
    struct attributes attributes;
    struct fuse_session *session;
    _Atomic bool is_answering; /* the first reply, to FUSE's init, was begun */
};

static const struct memory_fs *fs_of(fuse_req_t req)
{
    return fuse_req_userdata(req);
}

/* The kernel's ids begin with 1, FUSE's id for the root. */
static uint32_t node_of(fuse_ino_t id)
{
    return (uint32_t)(id - FUSE_ROOT_ID);
}

static fuse_ino_t id_of(uint32_t node)
{
    return (fuse_ino_t)node + FUSE_ROOT_ID;
}

static struct bytes text_of(const struct memory_node *node)
{
    return page_text(node->page, node->row);
}

static void stat_node(const struct memory_fs *fs, uint32_t index, struct stat *ret)
{
    const struct memory_node *node = memory_tree_node(fs->tree, index);
    if (node->page)
        attributes_of_file(&fs->attributes, id_of(index), text_of(node).size,
                           page_timestamp(node->page, node->row), ret);
    else
        attributes_of_directory(&fs->attributes, id_of(index), ret);
}

static void make_entry(const struct memory_fs *fs, uint32_t node, struct fuse_entry_param *ret)
{
    *ret = (struct fuse_entry_param){
        .ino = id_of(node), .attr_timeout = ATTRIBUTES_VALID_SEC, .entry_timeout = VALID_SEC};
    stat_node(fs, node, &ret->attr);
}

static void on_init(void *userdata, struct fuse_conn_info *connection)
{
    (void)userdata;
    channel_want(connection);
}

static void look_up(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    const struct memory_fs *fs = fs_of(req);
    struct fuse_entry_param entry = {.entry_timeout = VALID_SEC};
    uint32_t node;
    if (memory_tree_find(fs->tree, node_of(parent), bytes_of(name), &node))
        make_entry(fs, node, &entry);
    (void)fuse_reply_entry(req, &entry);
}

/* Nodes stay as long as the file system. */
static void forget(fuse_req_t req, fuse_ino_t id, uint64_t lookups)
{
    (void)id;
    (void)lookups;
    fuse_reply_none(req);
}

static void forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    (void)count;
    (void)forgets;
    fuse_reply_none(req);
}

static void get_attributes(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    (void)info;
    struct stat stat;
    stat_node(fs_of(req), node_of(id), &stat);
    (void)fuse_reply_attr(req, &stat, ATTRIBUTES_VALID_SEC);
}

struct packing { /* one reply */
    fuse_req_t req;
    char *data;
    size_t size, used;
    bool is_plus, is_full;
};

static void pack(struct packing *packing, const char *name, const struct fuse_entry_param *entry,
                 off_t cookie)
{
    char *end = packing->data + packing->used;
    size_t left = packing->size - packing->used;
    size_t needed = packing->is_plus
                        ? fuse_add_direntry_plus(packing->req, end, left, name, entry, cookie)
                        : fuse_add_direntry(packing->req, end, left, name, &entry->attr, cookie);
    packing->is_full = needed > left;
    if (!packing->is_full)
        packing->used += needed;
}

static void pack_dots(struct packing *packing, uint32_t node, off_t cookie)
{
    static const char *const names[DOT_ENTRIES] = {".", ".."};
    const struct memory_fs *fs = fs_of(packing->req);
    fuse_ino_t ids[DOT_ENTRIES] = {id_of(node), id_of(memory_tree_node(fs->tree, node)->parent)};
    for (; cookie < DOT_ENTRIES && !packing->is_full; cookie++) {
        struct fuse_entry_param entry = {.attr = {.st_ino = ids[cookie], .st_mode = S_IFDIR}};
        pack(packing, names[cookie], &entry, cookie + 1);
    }
}

static void pack_children(struct packing *packing, uint32_t node, off_t cookie)
{
    const struct memory_fs *fs = fs_of(packing->req);
    uint32_t end = memory_tree_node(fs->tree, node)->end;
    uint32_t child = cookie > DOT_ENTRIES ? (uint32_t)(cookie - DOT_ENTRIES) : node + 1;
    while (child < end && !packing->is_full) {
        uint32_t next = memory_tree_node(fs->tree, child)->end;
        struct fuse_entry_param entry;
        make_entry(fs, child, &entry);
        pack(packing, memory_tree_name(fs->tree, child), &entry, (off_t)next + DOT_ENTRIES);
        child = next;
    }
}

static void read_directory(fuse_req_t req, fuse_ino_t id, size_t size, off_t cookie, bool is_plus)
{
    _cleanup_(freep) char *data = malloc(size);
    struct packing packing = {.req = req, .data = data, .size = size, .is_plus = is_plus};
    if (!data) {
        (void)fuse_reply_err(req, ENOMEM);
        return;
    }
    pack_dots(&packing, node_of(id), cookie);
    pack_children(&packing, node_of(id), cookie);
    (void)fuse_reply_buf(req, data, packing.used);
}

static void read_names(fuse_req_t req, fuse_ino_t id, size_t size, off_t cookie,
                       struct fuse_file_info *info)
{
    (void)info;
    read_directory(req, id, size, cookie, false);
}

static void read_entries(fuse_req_t req, fuse_ino_t id, size_t size, off_t cookie,
                         struct fuse_file_info *info)
{
    (void)info;
    read_directory(req, id, size, cookie, true);
}

static void open_file(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    (void)id;
    if ((info->flags & O_ACCMODE) != O_RDONLY) {
        (void)fuse_reply_err(req, EROFS);
        return;
    }
    info->noflush = 1;
    info->keep_cache = 1;
    (void)fuse_reply_open(req, info);
}

static void read_file(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset,
                      struct fuse_file_info *info)
{
    (void)info;
    struct bytes text = text_of(memory_tree_node(fs_of(req)->tree, node_of(id)));
    text = bytes_skip(text, MIN((size_t)offset, text.size));
    (void)fuse_reply_buf(req, text.data, MIN(size, text.size));
}

static void succeed(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    (void)id;
    (void)info;
    (void)fuse_reply_err(req, 0);
}

static void open_directory(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    (void)id;
    (void)fuse_reply_open(req, info);
}

static void stat_file_system(fuse_req_t req, fuse_ino_t id)
{
    (void)id;
    struct statvfs statvfs = {.f_bsize = 4096, .f_frsize = 4096, .f_namemax = 255};
    (void)fuse_reply_statfs(req, &statvfs);
}

static const struct fuse_lowlevel_ops operations = {
    .init = on_init,
    .lookup = look_up,
    .forget = forget,
    .forget_multi = forget_multi,
    .getattr = get_attributes,
    .statfs = stat_file_system,
    .opendir = open_directory,
    .readdir = read_names,
    .readdirplus = read_entries,
    .releasedir = succeed,
    .open = open_file,
    .read = read_file,
    .flush = succeed,
    .release = succeed,
};

/* The first reply of a session is that to INIT. */
static ssize_t write_reply(int fd, struct iovec *iov, int count, void *userdata)
{
    struct memory_fs *fs = userdata;
    return channel_write(fd, iov, count, !atomic_exchange(&fs->is_answering, true));
}

static int serve(struct memory_fs *fs, const char *directory)
{
    static const struct fuse_custom_io channel = {.writev = write_reply, .read = channel_read};
    if (fuse_session_mount(fs->session, directory) != 0)
        return -EIO;
    int r = fuse_session_custom_io(fs->session, &channel, fuse_session_fd(fs->session));
    if (r == 0)
        r = fuse_set_signal_handlers(fs->session);
    if (r == 0) {
        r = channel_serve(fs->session);
        fuse_remove_signal_handlers(fs->session);
    }
    fuse_session_unmount(fs->session);
    return r;
}

static int read_account(const char *name, struct memory_tree **ret)
{
    _cleanup_(source_closep) struct source *source = NULL;
    struct call call = {.deadline_ms = INT64_MAX};
    int r = source_open(name, &source);
    if (r < 0)
        return r; /* it has said why */
    r = memory_tree_create(source_store(source), &call, ret);
    if (r < 0)
        (void)fprintf(stderr, "memory_fs: %s: %s\n", name, call.failure.message);
    return r;
}

int main(int argc, char **argv)
{
    struct memory_fs fs = {.attributes = {.uid = getuid(),
                                          .gid = getgid(),
                                          .umask = 022,
                                          .mounted_at_100ns = clock_utc_100ns(&clock_system)}};
    if (argc != 3) {
        (void)fprintf(stderr, "usage: memory_fs SOURCE DIR\n");
        return 1;
    }
    if (read_account(argv[1], &fs.tree) < 0)
        return 2;
    struct fuse_args args = FUSE_ARGS_INIT(1, argv);
    fs.session = fuse_session_new(&args, &operations, sizeof(operations), &fs);
    int r = fs.session ? serve(&fs, argv[2]) : -EINVAL;
    if (fs.session)
        fuse_session_destroy(fs.session);
    fuse_opt_free_args(&args);
    memory_tree_destroy(fs.tree);
    return r < 0 ? 3 : 0;
}
