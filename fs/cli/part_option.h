/* SPDX-License-Identifier: MIT */
#ifndef FS_CLI_PART_OPTION_H
#define FS_CLI_PART_OPTION_H
/* The option --part of export and count, and the lines of a file of tokens, as `tablefuse split`
 * prints them. One thread. Functions that answer an exit code answer 0, or a code after one line on
 * standard error. */
#include "client/text/part_token.h"

struct verb;

struct part_option {
    bool is_given;
    struct buffer token;
    struct part part;
};
void part_option_init(struct part_option *option);
void part_option_finish(struct part_option *option);
/* TOKEN, or N/FILE: the Nth line of the file. An exit code. */
int part_option_take(struct part_option *option, const struct verb *verb, const char *text);
/* Is it a part of this table? An exit code. */
int part_option_check(const struct part_option *option, const struct verb *verb, const char *table);

struct part_lines;
int part_lines_open(const struct verb *verb, const char *file, struct part_lines **ret);
void part_lines_close(struct part_lines *lines); /* takes NULL */
/* The next line, without its end, also one of Windows; a view until the next call. 1; 0: the end;
 * -errno. */
int part_lines_next(struct part_lines *lines, struct bytes *ret);

/* What a part's result is made by, beside its token. */
struct part_form {
    const char *filter, *select; /* NULL: none */
    bool keys_only, has_etag, has_timestamp;
};
/* Appends the name of the part's file: "part-" and 16 hexadecimal digits of a digest of the token
 * and the form. So what another `split` or other options have made has another name. */
int part_form_append_name(const struct part_form *form, struct bytes token, struct buffer *ret);
#define PART_INCOMPLETE ".incomplete" /* behind the name, if a row was left out */

DEFINE_CLEANUP(struct part_lines *, part_lines_close);

#endif
