/* SPDX-License-Identifier: MIT */
#include "client/base/thread.h"
#include "client/base/base.h"

#include <signal.h>

int thread_create(pthread_t *ret, void *(*run)(void *context), void *context)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int r = pthread_attr_init(&attributes);
    if (r != 0)
        return r;
    (void)pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(ret, &attributes, run, context);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return r;
}
