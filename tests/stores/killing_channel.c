/* SPDX-License-Identifier: MIT */
/* The linker puts these between the session and its channel (--wrap), so that the process can end
 * at each request of the kernel. */
#include "fs/kernel/channel.h"
#include "tests/stores/kill_switch.h"

#include <linux/fuse.h>
#include <sys/uio.h>

#define SLOTS 4096 /* more than the threads that serve */

/* Opcodes of the requests that are being handled, by their numbers, which are even. */
static uint32_t opcodes[SLOTS];

ssize_t __real_channel_read(int fd, void *buffer, size_t size, void *userdata);
ssize_t __real_channel_write(int fd, struct iovec *iov, int count, bool is_init);
ssize_t __wrap_channel_read(int fd, void *buffer, size_t size, void *userdata);
ssize_t __wrap_channel_write(int fd, struct iovec *iov, int count, bool is_init);

static uint32_t *slot_of(uint64_t unique)
{
    return &opcodes[unique / 2 % SLOTS];
}

ssize_t __wrap_channel_read(int fd, void *buffer, size_t size, void *userdata)
{
    ssize_t n = __real_channel_read(fd, buffer, size, userdata);
    const struct fuse_in_header *header = buffer;
    if (n < (ssize_t)sizeof(*header))
        return n;
    __atomic_store_n(slot_of(header->unique), header->opcode, __ATOMIC_SEQ_CST);
    kill_switch_pass(KILL_OPERATION, header->opcode);
    return n;
}

ssize_t __wrap_channel_write(int fd, struct iovec *iov, int count, bool is_init)
{
    const struct fuse_out_header *header = iov[0].iov_base;
    if (header->unique != 0) /* else it is a notification */
        kill_switch_pass(KILL_REPLY, __atomic_load_n(slot_of(header->unique), __ATOMIC_SEQ_CST));
    return __real_channel_write(fd, iov, count, is_init);
}
