/* SPDX-License-Identifier: MIT */
#include "fs/cli/part_option.h"
#include "client/entity/entity_select.h"
#include "client/text/digest.h"
#include "fs/base/exit_codes.h"
#include "fs/base/say.h"
#include "fs/cli/verb.h"

#include <stdio.h>

#define LINES_MAX 100000000 /* of a file of tokens */

struct part_lines {
    FILE *file;
    char line[PART_TOKEN_MAX_BYTES + 1]; /* of a longer line the beginning, which is no token */
};

void part_option_init(struct part_option *option)
{
    option->is_given = false;
    buffer_init(&option->token, PART_TOKEN_MAX_BYTES + 1);
    part_init(&option->part);
}

void part_option_finish(struct part_option *option)
{
    buffer_finish(&option->token);
    part_finish(&option->part);
}

int part_lines_open(const struct verb *verb, const char *file, struct part_lines **ret)
{
    _cleanup_(part_lines_closep) struct part_lines *lines = calloc(1, sizeof(*lines));
    if (!lines)
        return verb_complain_memory();
    lines->file = fopen(file, "re");
    if (!lines->file) {
        say("tablefuse: %s: cannot read the tokens in %s: %s\n", verb->name, file, strerror(errno));
        return EXIT_CONFIGURATION;
    }
    *ret = TAKE_PTR(lines);
    return 0;
}

void part_lines_close(struct part_lines *lines)
{
    if (!lines)
        return;
    if (lines->file)
        (void)fclose(lines->file);
    free(lines);
}

int part_lines_next(struct part_lines *lines, struct bytes *ret)
{
    size_t size = 0;
    int c;
    errno = 0;
    while ((c = getc(lines->file)) != EOF && c != '\n')
        if (size < sizeof(lines->line))
            lines->line[size++] = (char)c;
    if (c == EOF && ferror(lines->file))
        return errno != 0 ? -errno : -EIO;
    bool is_there = c == '\n' || size > 0;
    size -= size > 0 && lines->line[size - 1] == '\r';
    *ret = (struct bytes){lines->line, size};
    return is_there;
}

/* Sets the token to the line with this number, from 1 on. */
static int take_line(struct part_option *option, const struct verb *verb, uint64_t number,
                     const char *file)
{
    _cleanup_(part_lines_closep) struct part_lines *lines = NULL;
    struct bytes line = {0};
    int code = part_lines_open(verb, file, &lines);
    if (!lines)
        return code;
    for (uint64_t i = 1; i <= number; i++) {
        int r = part_lines_next(lines, &line);
        if (r > 0)
            continue;
        if (r == 0)
            say("tablefuse: %s: --part: %s has %llu lines, no line %llu\n", verb->name, file,
                (unsigned long long)i - 1, (unsigned long long)number);
        else
            say("tablefuse: %s: cannot read the tokens in %s: %s\n", verb->name, file,
                strerror(-r));
        return EXIT_CONFIGURATION;
    }
    if (buffer_set(&option->token, line) < 0)
        return verb_complain_memory();
    return 0;
}

int part_option_take(struct part_option *option, const struct verb *verb, const char *text)
{
    struct bytes rest = bytes_of(text);
    uint64_t number;
    int code = 0;
    if (option->is_given)
        return verb_refuse(verb, "two --part");
    option->is_given = true;
    if (strchr(text, '/')) {
        struct bytes digits = bytes_take_until(&rest, '/');
        if (!bytes_parse_unsigned(digits, LINES_MAX, &number) || number == 0 || rest.size == 0)
            return verb_refuse(verb, "--part: expected TOKEN or N/FILE, a line from 1 on and the "
                                     "file of tokens, for example 3/parts");
        code = take_line(option, verb, number, rest.data);
    } else if (buffer_set(&option->token, bytes_first(rest, MIN(rest.size, PART_TOKEN_MAX_BYTES))) <
               0) {
        code = verb_complain_memory();
    }
    if (code != 0)
        return code;
    int r = part_token_read(buffer_bytes(&option->token), &option->part);
    if (r == -ENOMEM)
        return verb_complain_memory();
    if (r < 0)
        say("tablefuse: %s: --part: %s\n", verb->name,
            r == -ENOTSUP ? "the token is of a later version of tablefuse"
                          : "it is no token of `tablefuse split`, or it was cut or changed");
    return r < 0 ? EXIT_CONFIGURATION : 0;
}

int part_option_check(const struct part_option *option, const struct verb *verb, const char *table)
{
    if (!option->is_given || part_is_of(&option->part, table))
        return 0;
    say("tablefuse: %s: --part: the token is of the table %s, not of %s\n", verb->name,
        option->part.table, table);
    return EXIT_CONFIGURATION;
}

/* The names in their order, each once: however they are spelled, the result is the same. */
static int append_select(const char *list, struct buffer *ret)
{
    struct entity_select select = {.count = 0};
    const char *problem;
    size_t at;
    if (list && entity_select_init(&select, bytes_of(list), &problem, &at) < 0)
        return -EINVAL;
    (void)buffer_append_string(ret, "\nselect ");
    for (size_t i = 0; i < select.count; i++) {
        if (i > 0 && bytes_equal(select.names[i], select.names[i - 1]))
            continue;
        (void)buffer_append_string(ret, i > 0 ? "," : "");
        (void)buffer_append(ret, select.names[i]);
    }
    return ret->error;
}

int part_form_append_name(const struct part_form *form, struct bytes token, struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer all;
    unsigned char digest[DIGEST_SIZE];
    buffer_init(&all, (size_t)1 << 20);
    (void)buffer_append(&all, token);
    (void)buffer_append_format(&all, "\n%d%d%d", form->keys_only, form->has_etag,
                               form->has_timestamp);
    int r = append_select(form->select, &all);
    (void)buffer_append_string(&all, "\nfilter ");
    (void)buffer_append_string(&all, form->filter ? form->filter : "");
    r = r < 0 ? r : all.error;
    if (r == 0)
        r = digest_sha256(buffer_bytes(&all), digest);
    if (r == 0)
        r = buffer_append_string(ret, "part-");
    for (size_t i = 0; i < 8 && r == 0; i++)
        r = buffer_append_format(ret, "%02x", digest[i]);
    return r;
}
