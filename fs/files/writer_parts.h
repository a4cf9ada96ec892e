#ifndef FS_FILES_WRITER_PARTS_H
#define FS_FILES_WRITER_PARTS_H
/* What writer.c and writers.c share: the fields of a writer and of the map of all writers. Private
 * to both. Functions that end in _locked are called inside the monitor. */
#include "client/monitor.h"
#include "fs/files/draft.h"
#include "fs/files/writer.h"

#include <bsd/sys/tree.h>

enum writer_state { WRITER_NEW, WRITER_OPEN, WRITER_DETACHED };

LIST_HEAD(handle_list, writer_handle);

struct writer {
    struct node_file file; /* first */
    struct writers *writers;
    _Atomic size_t references;
    enum edit_begin begin;
    struct address address; /* views into text */
    uint64_t number;        /* tells the writers of an address apart */
    /* belong to the event that made it busy */
    struct draft draft;
    struct buffer snapshot, last_stored; /* ETags */
    bool may_be_stored;
    /* guarded by the monitor */
    enum writer_state state;
    bool is_busy;
    uint64_t size;
    struct handle_list handles; /* none: it has ended, and is not in the map */
    RB_ENTRY(writer) by_address;
    char text[]; /* table, NUL, position */
};

RB_HEAD(writer_map, writer);
LIST_HEAD(held_list, held_writers);

struct writers {
    const struct clock *clock;
    struct writer_store store;
    struct monitor monitor;
    /* guarded by monitor */
    struct writer_map map;
    struct held_list held;
    uint64_t last_number;
};

/* Copies the address into `text`, which has room for its size. */
size_t writers_address_size(struct address address);
struct address writers_copy_address(struct address address, char *text);

/* Into the map, and out of it. */
void writers_add_locked(struct writers *writers, struct writer *writer);
void writers_remove_locked(struct writers *writers, struct writer *writer);
struct writer *writers_find_new_locked(struct writers *writers, struct address address);
bool writers_is_held_locked(const struct writers *writers, struct address address);
/* Waits for the next change. call NULL: without a deadline. 0, -EINTR, -ETIMEDOUT. */
int writers_wait_locked(struct writers *writers, struct call *call);

#endif
