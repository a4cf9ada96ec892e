/* SPDX-License-Identifier: MIT */
#ifndef FS_CLI_PART_OPTION_H
#define FS_CLI_PART_OPTION_H
/* The option --part of export and count, and the lines of a file of tokens, as `tablefuse split`
 * prints them. One thread. A function that returns an exit code returns 0; or, after it has written
 * one line to standard error, another code. */
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
/* The next line, without its end (LF or CR LF); a view until the next call. 1; 0: the end;
 * -errno. */
int part_lines_next(struct part_lines *lines, struct bytes *ret);

/* The options that, together with the token, decide what is in a part's file. */
struct part_form {
    const char *filter, *select; /* NULL: none */
    bool keys_only, has_etag, has_timestamp;
};
/* Appends the name of the part's file: "part-" and 16 hexadecimal digits of a digest of the token
 * and the form. So a file from another `split`, or from other options, has another name. */
int part_form_append_name(const struct part_form *form, struct bytes token, struct buffer *ret);
#define PART_INCOMPLETE ".incomplete" /* after the name, if a row was left out */

DEFINE_CLEANUP(struct part_lines *, part_lines_close);

#endif
