/* SPDX-License-Identifier: MIT */
#ifndef TESTS_STORES_KILL_SWITCH_H
#define TESTS_STORES_KILL_SWITCH_H
/* Kills the process at a point that the test chooses, as `kill -9` does. TABLEFUSE_KILL names a
 * file that is a struct kill_control; it is mapped, so that the test arms a daemon that runs.
 * Without the variable nothing happens. Any thread. */
#include "client/base/base.h"

enum kill_point {
    KILL_OPERATION, /* the kernel's request has been read, and is not handled yet */
    KILL_REPLY,     /* it has been handled, and is not answered yet */
    KILL_REQUEST,   /* a request to the service is not sent yet */
    KILL_ANSWER,    /* the service has answered it, and nothing has read the answer yet */
    KILL_POINTS
};

struct kill_control {
    uint64_t counted[KILL_POINTS]; /* bits: which kinds count */
    uint32_t limits[KILL_POINTS];  /* the process ends where it passes so often; 0: it does not */
    uint32_t passed[KILL_POINTS];
};

/* kind: below 64. Of the kernel's request its opcode. */
void kill_switch_pass(enum kill_point point, uint32_t kind);

#endif
