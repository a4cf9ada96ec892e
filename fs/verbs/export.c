/* SPDX-License-Identifier: MIT */
/* `tablefuse export`: writes a table, one entity a line. */
#include "fs/base/say.h"
#include "fs/cli/choice_options.h"
#include "fs/cli/csv_options.h"
#include "fs/cli/part_option.h"
#include "fs/cli/progress.h"
#include "fs/cli/verb.h"
#include "fs/output/csv_output.h"
#include "fs/source/opened_account.h"

#include <getopt.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

struct export
{
    struct opened_account opened;
    const char *source, *path, *file; /* path "": the table; file NULL: standard output */
    struct part_option part;
    struct buffer result; /* of a part in a directory: the name of its file; else empty */
    bool skips_done;
    bool keys_only, has_etag, has_timestamp, selects_timestamp, resumes, is_quiet;
    struct filter *filter; /* NULL: all entities */
    const char *select;    /* NULL: all properties */
    struct csv_options format;
    const char *columns; /* of CSV; NULL: those that the entities have */
    struct line_output *output;
    struct csv_writer *writer; /* of CSV, until the output takes it */
    struct csv_output *csv;    /* NULL: JSON is written */
    int output_error;          /* of the output; 0: none */
    struct progress progress;
    struct progress_counts counts;
    uint64_t left_out; /* bad rows */
};

static bool is_interrupted(void *context)
{
    struct export *export = context;
    return opened_account_is_interrupted(&export->opened);
}

static void report_left_out(const struct export *export, struct bytes position, const char *why)
{
    _cleanup_(buffer_finish) struct buffer line;
    const struct entity_line keys = {.position = position};
    buffer_init(&line, (size_t)64 << 10);
    if (progress_may_report(&export->progress, export->left_out,
                            "more entities are left out, and not named") &&
        entity_line_append(&line, &keys) == 0)
        say("tablefuse: left out, because %s: %.*s\n", why, (int)line.size - 1, line.data);
}

/* -EPROTO, -EILSEQ: not this row, and nothing of it is written. */
static int write_line(struct export *export, const struct entity_line *line, size_t *ret_size)
{
    if (export->csv)
        return csv_output_write(export->csv, line, ret_size);
    struct buffer *lines = line_output_buffer(export->output);
    size_t begin = lines->size;
    int r = entity_line_append(lines, line);
    if (r < 0) {
        lines->size = begin;
        return r;
    }
    *ret_size = lines->size - begin;
    return line_output_written(export->output);
}

static int write_row(struct export *export, const struct page *page, size_t row)
{
    struct bytes position = page_position(page, row);
    struct entity_line line = {.position = position};
    size_t size = 0;
    line.is_part = export->select;
    if (!export->keys_only)
        line.text = page_text(page, row);
    if (export->keys_only || export->has_etag)
        line.etag = page_etag(page, row);
    if (export->has_timestamp)
        line.timestamp = page_timestamp(page, row);
    int r = page_is_bad(page, row) ? -EPROTO : write_line(export, &line, &size);
    export->counts.rows += size > 0;
    export->counts.bytes += size;
    if (r != -EPROTO && r != -EILSEQ)
        return r;
    export->left_out++;
    report_left_out(export, position,
                    r == -EPROTO ? "it cannot be understood" : "CSV cannot hold half a surrogate");
    return 0;
}

static int write_rows(void *context, const struct run *rows)
{
    struct export *export = context;
    int r = 0;
    for (size_t row = rows->begin; r == 0 && row < rows->end; row++)
        r = write_row(export, rows->page, row);
    export->output_error = r;
    export->counts.position = page_position(rows->page, rows->end - 1);
    progress_show(&export->progress, &export->counts);
    export->counts.position = (struct bytes){0};
    return r;
}

static int complain_output(const struct export *export, int error)
{
    if (export->csv && csv_output_is_waiting_failed(export->csv)) {
        say("tablefuse: cannot keep the rows in %s until all columns are known: %s -- name the "
            "columns by --columns, or %s\n",
            csv_output_waiting_in(export->csv), strerror(-error),
            export->file ? "make room there" : "set TMPDIR");
        return EXIT_MOUNTING;
    }
    const char *why = error == -EBUSY     ? "another process writes FILE.partial"
                      : error == -E2BIG   ? "too many columns -- name some by --columns, or "
                                            "write JSON"
                      : error == -ENOTSUP ? "it is no regular file -- write to standard output"
                                          : strerror(-error);
    say("tablefuse: cannot write %s: %s\n", export->file ? export->file : "the output", why);
    return export->file && line_output_is_refused(error) ? EXIT_CONFIGURATION : EXIT_MOUNTING;
}

/* Takes the lines out of the counts that could not be written. CSV is not whole anyway. */
static void count_written(struct export *export)
{
    struct bytes rest = line_output_rest(export->output);
    if (export->csv || export->output_error == 0)
        return;
    export->counts.bytes -= MIN(rest.size, export->counts.bytes);
    for (const char *end; (end = memchr(rest.data, '\n', rest.size));) {
        export->counts.rows -= export->counts.rows > 0;
        rest = bytes_skip(rest, (size_t)(end - rest.data) + 1);
    }
}

/* The line at the end, whatever the end is. */
static void report_counts(const struct export *export)
{
    char rows[PROGRESS_NUMBER_SIZE], requests[PROGRESS_NUMBER_SIZE], bytes[PROGRESS_BYTES_SIZE];
    progress_clear(&export->progress);
    if (export->is_quiet)
        return;
    say("tablefuse: %s entities, %s, %s requests, %.1f s\n",
        progress_number(export->counts.rows, rows), progress_bytes(export->counts.bytes, bytes),
        progress_number(opened_account_requests(&export->opened), requests),
        progress_elapsed_sec(&export->progress));
}

static void report_partial(const struct export *export)
{
    if (export->file && export->result.size == 0)
        say(export->csv ? "tablefuse: %s.partial is not whole -- remove it, or export again\n"
                        : "tablefuse: what was written is in %s.partial -- --resume goes on\n",
            export->file);
}

/* Was the line written by an export with the same options? */
static bool has_form(const struct export *export, struct bytes line)
{
    return bytes_start_with(line, BYTES_LITERAL("{\"PartitionKey\":\"")) &&
           bytes_find(line, BYTES_LITERAL("\",\"RowKey\":\"")) &&
           bytes_end_with(line, BYTES_LITERAL("\"" ENTITY_LINE_SELECT "\":true}")) ==
               (export->keys_only || export->select) &&
           !!bytes_find(line, BYTES_LITERAL(",\"odata.etag\":\"")) ==
               (export->keys_only || export->has_etag) &&
           !!bytes_find(line, BYTES_LITERAL(",\"Timestamp\":\"")) == export->has_timestamp;
}

static int refuse_partial(const struct export *export)
{
    say("tablefuse: %s.partial is of another export: its last line does not belong to this one -- "
        "remove it, or leave out --resume\n",
        export->file);
    return EXIT_CONFIGURATION;
}

/* Is the last line of an export with the same options, in the directory? Then ret is its position.
 * 1, 0, -ENOMEM. */
static int read_last(const struct export *export, struct range range, struct buffer *ret)
{
    struct bytes last = line_output_last(export->output);
    _cleanup_(buffer_finish) struct buffer partition_key, row_key;
    struct caller caller = {0};
    buffer_init(&partition_key, POSITION_MAX_BYTES);
    buffer_init(&row_key, POSITION_MAX_BYTES);
    int r = account_read_keys(&caller, last, EDIT_NEW, &partition_key, &row_key);
    if (r == 0)
        r = position_append(ret, buffer_bytes(&partition_key), buffer_bytes(&row_key));
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    return has_form(export, last) && range_holds(range, buffer_bytes(ret));
}

/* Sets the start of the range, in *lo, after the last line of the earlier export, whose entity must
 * be in the table: it may be another table's. 0 or an exit code. */
static int skip_written(struct export *export, struct directory *directory, struct position *lo)
{
    _cleanup_(buffer_finish) struct buffer position;
    _cleanup_(entity_finish) struct entity there = {0};
    struct caller caller = opened_account_caller(&export->opened);
    buffer_init(&position, POSITION_MAX_BYTES);
    int r = read_last(export, directory->range, &position);
    if (r < 0)
        return complain_output(export, r);
    if (r == 0)
        return refuse_partial(export);
    r = account_find(export->opened.account, &caller,
                     (struct address){directory->table, buffer_bytes(&position)}, &there);
    if (r == -ENOENT) /* the table is there: it was read before */
        return refuse_partial(export);
    if (r < 0)
        return opened_account_complain(&export->opened, &caller.call.failure);
    directory->range.lo = position_behind(buffer_bytes(&position), lo);
    return 0;
}

/* The part is whole now: the incomplete result of an earlier run is not needed any more. */
static void remove_incomplete(const struct export *export)
{
    char *file;
    if (asprintf(&file, "%s%s", export->file, PART_INCOMPLETE) < 0)
        return;
    (void)unlink(file);
    free(file);
}

static int finish(struct export *export, int r, const struct failure *failure)
{
    bool is_empty = r == 0 && export->path[0] && !export->filter &&
                    export->counts.rows + export->left_out == 0 &&
                    line_output_last(export->output).size == 0;
    if (r == 0 && !is_empty && export->csv)
        export->output_error = r = csv_output_finish(export->csv, is_interrupted, export);
    if (r == 0 && export->result.size > 0 && export->left_out > 0)
        r = line_output_rename(export->output, PART_INCOMPLETE);
    if (r == 0 && !is_empty)
        export->output_error = r = line_output_finish(export->output);
    else if (r < 0 && export->output_error == 0) /* what was read before the failure is written */
        export->output_error = line_output_flush(export->output) == -EPIPE ? -EPIPE : 0;
    if (export->output_error == -EPIPE && !export->file)
        line_output_end_by_sigpipe();
    if (r == 0 && is_empty) {
        say("tablefuse: %s: no entity is in it\n", export->path);
        return EXIT_NOT_FOUND;
    }
    count_written(export);
    report_counts(export);
    if (r == 0 && export->result.size > 0 && export->left_out == 0)
        remove_incomplete(export);
    if (r == 0)
        return export->left_out > 0 ? EXIT_ABANDONED : 0;
    bool is_output = export->output_error < 0 && !opened_account_is_interrupted(&export->opened);
    int code =
        is_output ? complain_output(export, r) : opened_account_complain(&export->opened, failure);
    report_partial(export);
    return code;
}

static int open_csv(struct export *export)
{
    int r = csv_output_create(TAKE_PTR(export->writer), export->columns != NULL, export->output,
                              export->file, &export->csv);
    return r < 0 ? complain_output(export, r) : 0;
}

static int write_table(struct export *export)
{
    _cleanup_(place_finish) struct place place = {0};
    struct position lo;
    int code = opened_account_find(&export->opened, export->path, &place);
    if (code != 0)
        return code;
    struct directory directory = place_directory(&place);
    if (export->part.is_given)
        directory.range = part_range(&export->part.part);
    int r = export->result.size > 0
                ? line_output_open_apart(export->file, is_interrupted, export, &export->output)
                : line_output_open(export->file, export->resumes, is_interrupted, export,
                                   &export->output);
    if (r < 0)
        return complain_output(export, r);
    if (export->writer)
        code = open_csv(export);
    else if (line_output_last(export->output).size > 0)
        code = skip_written(export, &directory, &lo);
    if (code != 0)
        return code;
    progress_init(&export->progress, &clock_system, export->is_quiet);
    struct caller caller = opened_account_caller(&export->opened);
    const struct row_choice choice = {
        .keys_only = export->keys_only, .filter = export->filter, .select = export->select};
    if (!range_is_empty(directory.range))
        r = account_export(export->opened.account, &caller, &directory, &choice, write_rows,
                           export);
    return finish(export, r, &caller.call.failure);
}

enum {
    FILTER = 1,
    SELECT,
    KEYS,
    ETAG,
    TIMESTAMP,
    OUTPUT,
    RESUME,
    QUIET,
    FORMAT,
    COLUMNS,
    DELIMITER,
    PART,
    SKIP_DONE
};

static int take_option(struct export *export, int option)
{
    switch (option) {
    case FILTER:
        return choice_options_take_filter(&export->filter, export->opened.verb, optarg);
    case SELECT:
        return choice_options_take_select(&export->select, &export->selects_timestamp,
                                          export->opened.verb, optarg);
    case KEYS:
        export->keys_only = true;
        return 0;
    case ETAG:
        export->has_etag = true;
        return 0;
    case TIMESTAMP:
        export->has_timestamp = true;
        return 0;
    case OUTPUT:
        export->file = optarg;
        return verb_check_output(export->opened.verb, "--output", optarg);
    case RESUME:
        export->resumes = true;
        return 0;
    case QUIET:
        export->is_quiet = true;
        return 0;
    case PART:
        return part_option_take(&export->part, export->opened.verb, optarg);
    case SKIP_DONE:
        export->skips_done = true;
        return 0;
    case FORMAT:
        return csv_options_take_format(&export->format, export->opened.verb, optarg);
    case COLUMNS:
        export->columns = optarg;
        return 0;
    case DELIMITER:
        return csv_options_take_delimiter(&export->format, export->opened.verb, optarg);
    default:
        return opened_account_add_options(&export->opened, optarg);
    }
}

static int prepare_csv(struct export *export)
{
    const struct verb *verb = export->opened.verb;
    const struct csv_writer_options options = {.columns = export->columns,
                                               .delimiter = export->format.delimiter,
                                               .keys_only = export->keys_only,
                                               .is_part = export->select,
                                               .has_etag = export->has_etag,
                                               .has_timestamp = export->has_timestamp};
    if (!export->format.is_csv && (export->columns || export->format.delimiter))
        return verb_refuse(verb, "--columns and --delimiter need --format=csv");
    if (!export->format.is_csv)
        return 0;
    if (export->resumes) {
        say("tablefuse: export: --resume cannot go on with CSV -- leave it out, or write JSON\n");
        return EXIT_CONFIGURATION;
    }
    int r = csv_writer_create(&options, &export->writer);
    return r == -ENOMEM  ? complain_output(export, r)
           : r == -E2BIG ? verb_refuse(verb, "--columns: too many names for CSV")
           : r < 0       ? verb_refuse(verb,
                                       "--columns=%s: expected different names of properties, for "
                                             "example Name,Count",
                                       verb_printable(export->columns))
                         : 0;
}

/* A part in a directory gets a name of its own. */
static int name_result(struct export *export)
{
    const struct part_form form = {.filter = export->filter ? filter_text(export->filter) : NULL,
                                   .select = export->select,
                                   .keys_only = export->keys_only,
                                   .has_etag = export->has_etag,
                                   .has_timestamp = export->has_timestamp};
    struct stat status;
    if (stat(export->file, &status) < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        say("tablefuse: export: --output %s: %s -- create it first: `mkdir -p`\n",
            verb_printable_path(export->file), strerror(errno));
        return EXIT_CONFIGURATION; /* an engine need not try again */
    }
    (void)buffer_append_string(&export->result, export->file);
    if (part_form_append_name(&form, buffer_bytes(&export->part.token), &export->result) < 0 ||
        !buffer_string(&export->result))
        return verb_complain_memory();
    export->file = buffer_string(&export->result);
    return 0;
}

static int prepare_part(struct export *export)
{
    const struct verb *verb = export->opened.verb;
    size_t size = export->file ? strlen(export->file) : 0;
    bool is_directory = size > 0 && export->file[size - 1] == '/';
    if (is_directory && !export->part.is_given)
        return verb_refuse(verb, "--output: DIRECTORY/ needs --part; name a file");
    if (export->skips_done && !(export->part.is_given && is_directory))
        return verb_refuse(verb, "--skip-done needs --part and --output DIRECTORY/");
    if (!export->part.is_given)
        return 0;
    struct stat status;
    if (size > 0 && !is_directory && stat(export->file, &status) == 0 && S_ISDIR(status.st_mode))
        return verb_refuse(verb, "--output: with --part a directory is spelled DIRECTORY/");
    if (export->path[0])
        return verb_refuse(verb, "--part: leave DIRECTORY out: the token has it");
    const char *slash = strrchr(export->source, '/');
    int code = slash && slash[1] ? part_option_check(&export->part, verb, slash + 1) : 0;
    if (code != 0)
        return code; /* before --skip-done, which opens no account */
    if (export->resumes || export->format.is_csv) {
        say("tablefuse: export: --part goes with no %s: a part is written anew as a whole, as "
            "JSON\n",
            export->resumes ? "--resume" : "--format=csv");
        return EXIT_CONFIGURATION;
    }
    return is_directory ? name_result(export) : 0;
}

static bool is_done(const struct export *export)
{
    struct stat status;
    return export->skips_done && stat(export->file, &status) == 0 && S_ISREG(status.st_mode);
}

static int parse(struct export *export, const struct verb *verb, int argc, char **argv)
{
    static const struct option long_options[] = {
        {.name = "filter", .has_arg = 1, .val = FILTER},
        {.name = "select", .has_arg = 1, .val = SELECT},
        {.name = "keys", .val = KEYS},
        {.name = "etag", .val = ETAG},
        {.name = "timestamp", .val = TIMESTAMP},
        {.name = "output", .has_arg = 1, .val = OUTPUT},
        {.name = "resume", .val = RESUME},
        {.name = "quiet", .val = QUIET},
        {.name = "format", .has_arg = 1, .val = FORMAT},
        {.name = "columns", .has_arg = 1, .val = COLUMNS},
        {.name = "delimiter", .has_arg = 1, .val = DELIMITER},
        {.name = "part", .has_arg = 1, .val = PART},
        {.name = "skip-done", .val = SKIP_DONE},
        {0}};
    for (int option; (option = getopt_long(argc, argv, ":o:", long_options, NULL)) != -1;) {
        if (option == '?' || option == ':')
            return verb_refuse_option(verb, option, argv);
        int code = take_option(export, option);
        if (code != 0)
            return code;
    }
    if (export->file && !export->file[0])
        return verb_refuse(verb, "--output needs the name of a file");
    if (export->resumes && !export->file)
        return verb_refuse(verb, "--resume needs --output FILE");
    if (export->keys_only && export->select)
        return verb_refuse(verb, "--select names properties, and --keys writes none");
    if (export->selects_timestamp && !export->has_timestamp)
        return verb_refuse(verb, "--select: Timestamp is no property that it writes -- give "
                                 "--timestamp");
    int code = prepare_csv(export);
    if (code == 0)
        code = opened_account_take_operands(&export->opened, argc, argv, "DIRECTORY",
                                            &export->source, &export->path);
    return code != 0 ? code : prepare_part(export);
}

static int run_export(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    struct export export = {0};
    opened_account_init(&export.opened, verb);
    part_option_init(&export.part);
    buffer_init(&export.result, PATH_MAX);
    int code = parse(&export, verb, argc, argv);
    if (code == 0 && !is_done(&export)) {
        code = opened_account_open(&export.opened, export.source, true, decorate);
        if (code == 0)
            code = part_option_check(&export.part, verb, mount_source_table(export.opened.source));
        if (code == 0)
            code = write_table(&export);
    }
    part_option_finish(&export.part);
    filter_destroy(export.filter);
    csv_writer_destroy(export.writer);
    csv_output_destroy(export.csv);
    line_output_close(export.output);
    buffer_finish(&export.result);
    opened_account_finish(&export.opened);
    return code;
}

const struct verb verb_export = {
    .name = "export",
    .usage = "[OPTION...] SOURCE/TABLE [DIRECTORY]",
    .purpose =
        "Writes the entities of a table, or of a directory in it, as JSON, one on each line.",
    .help =
        "Needs no mount. The lines are in key order; DIRECTORY is spelled as in a mount: zlib, "
        "zlib/1.+.\n"
        "It is no snapshot: each line is one version of its entity, of different moments.\n"
        "  --filter EXPR      entities that match: \"Count gt 5 and Name eq 'zlib'\"\n"
        "  --select A,B       these properties alone; no --keys\n"
        "  --keys             keys and ETags alone\n"
        "  --etag, --timestamp  with the entity's odata.etag, its Timestamp\n"
        "  --output FILE      FILE appears when it is whole; --resume goes on with an "
        "interrupted one\n"
        "  --part PART        of a token of split, or N/FILE: the Nth line of a file of tokens; "
        "to DIRECTORY/\n"
        "                     under a name of its own; --skip-done leaves out what is there\n"
        "  --format=csv       with types, as of Storage Explorer; --columns A,B of these "
        "properties alone,\n"
        "                     without waiting in a file until all columns are known; "
        "--delimiter , ; | tab\n"
        "  --quiet            no progress and no counts on standard error\n"
        "  -o OPTION          table, auth, credentials, timeout, parallelism, ca_cert, "
        "allow_http as of "
        "mount\n",
    .codes = {{EXIT_ABANDONED, "an entity was left out: not understood, or CSV cannot hold it"}},
    .has_help_apart = true,
    .run = run_export,
};
