/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_BASE_H
#define CLIENT_BASE_BASE_H
/* For every file: cleanup attributes, ownership transfer, and bans: a use of a banned function does
 * not compile. The headers that declare these functions are included first, so that only uses are
 * found. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Times and the sizes of caches and files need 64 bits. */
_Static_assert(sizeof(time_t) >= 8, "dates are wrong from 2038 on");
_Static_assert(sizeof(size_t) >= 8, "cache_size may be more than 4 GiB");

#define _cleanup_(function) __attribute__((cleanup(function)))

/* Transfers ownership: returns the pointer, and sets the variable to NULL. */
#define TAKE_PTR(pointer)                                                                          \
    ({                                                                                             \
        __typeof__(pointer) taken_ = (pointer);                                                    \
        (pointer) = NULL;                                                                          \
        taken_;                                                                                    \
    })

/* Defines the function `destroy`p for _cleanup_. (_cleanup_ passes a pointer to the variable, but a
 * destructor takes the variable.) */
#define DEFINE_CLEANUP(type, destroy)                                                              \
    static inline void destroy##p(__typeof__(type) *pointer)                                       \
    {                                                                                              \
        destroy(*pointer);                                                                         \
    }                                                                                              \
    struct base_semicolon_

static inline void freep(void *pointer)
{
    free(*(void **)pointer);
}

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define MIN(a, b)         ((a) < (b) ? (a) : (b))
#define MAX(a, b)         ((a) > (b) ? (a) : (b))

#define BANNED(name) name##_is_banned_see_client_base_h
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef strtok
#define strcpy(...)    BANNED(strcpy)
#define strcat(...)    BANNED(strcat)
#define strncpy(...)   BANNED(strncpy)
#define strncat(...)   BANNED(strncat)
#define strtok(...)    BANNED(strtok)
#define sprintf(...)   BANNED(sprintf)
#define vsprintf(...)  BANNED(vsprintf)
#define gmtime(...)    BANNED(gmtime)
#define localtime(...) BANNED(localtime)
#define atoi(...)      BANNED(atoi)
#define atol(...)      BANNED(atol)
#define strtol(...)    BANNED(strtol)
#define strtoul(...)   BANNED(strtoul)

#endif
