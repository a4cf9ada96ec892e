#ifndef FS_COMMAND_H
#define FS_COMMAND_H
/* The command line: `tablefuse mount|unmount|version`. Wires the program together; the one place
 * that names stores. */

struct table_store;

enum command_exit {
    EXIT_USAGE = 1,
    EXIT_CONFIGURATION = 2,
    EXIT_CREDENTIALS = 3,
    EXIT_NETWORK = 4,
    EXIT_NOT_FOUND = 5,
    EXIT_MOUNTING = 32,
};

/* Puts another store in front of the service's, for tests: takes `inner` on success. */
typedef int store_decorator(struct table_store *inner, struct table_store **ret);

/* decorate may be NULL; the exit code */
int command_run(int argc, char **argv, store_decorator *decorate);

#endif
