/* SPDX-License-Identifier: MIT */
/* `tablefuse import`: stores, merges or deletes the entities that standard input names. */
#include "fs/base/say.h"
#include "fs/cli/csv_options.h"
#include "fs/cli/progress.h"
#include "fs/cli/verb.h"
#include "fs/output/object_input.h"
#include "fs/output/refused.h"
#include "fs/source/opened_account.h"

#include <getopt.h>
#include <sys/stat.h>
#include <inttypes.h>
#include <unistd.h>

#define HOPELESS   100  /* refused before one is stored: it is a wrong file */
#define SLOW_MS    1000 /* so long the input lets it wait, in all: then what waits is sent */
#define LOOK_EVERY 256  /* objects, between two looks at the clock and for signals */
#define LOOK_MS    50   /* and of waiting for input */
#define WAIT_MS    50

struct import_command {
    struct opened_account opened;
    const char *source, *path, *refused_file; /* path "": keys are in the objects */
    struct judge_options judged;
    bool creates, is_dry_run, is_quiet, infers;
    struct csv_options format;
    struct judge *judge;
    struct import *import; /* NULL: nothing is sent */
    struct object_input *input;
    struct refused refused;
    struct progress progress;
    uint64_t read, accepted, input_bytes; /* objects; bytes up to the last object's end */
    uint64_t wrong; /* objects that the service refuses, whatever the table has */
    bool is_hopeless;
    int64_t looked_ms, sent_ms; /* of object_input_waited_ms: at the last look; when all was sent */
};

static bool is_interrupted(struct import_command *command)
{
    return opened_account_is_interrupted(&command->opened);
}

static struct import_counts counts_of(const struct import_command *command)
{
    return command->import ? import_counts(command->import)
                           : (struct import_counts){.stored = command->accepted};
}

/* What waits or is out is not done; it counts as as large as the others. */
static void show(struct import_command *command)
{
    if (!progress_is_due(&command->progress))
        return;
    struct import_counts counts = counts_of(command);
    uint64_t undone = command->accepted - counts.stored - counts.refused;
    double done = (double)(command->read - undone) / (double)MAX(command->read, 1);
    const struct progress_counts shown = {.rows = command->read - undone,
                                          .bytes = (uint64_t)(done * (double)command->input_bytes),
                                          .all_bytes = object_input_size(command->input),
                                          .is_throttled = command->import &&
                                                          import_is_throttled(command->import)};
    progress_show(&command->progress, &shown);
}

static void note_refused(void *context, const struct grouped *change, const struct failure *failure)
{
    struct import_command *command = context;
    bool is_of_row = failure->error == -EEXIST || failure->error == -ESTALE;
    if (!is_of_row) /* what is there already is no sign of a wrong file */
        command->wrong += change->objects;
    refused_note_change(&command->refused, change, failure);
}

/* Nothing was stored, and many objects were refused. What is out may yet be stored: so the decision
 * is made once. */
static bool is_hopeless(struct import_command *command)
{
    uint64_t judged = command->read - command->accepted;
    if (counts_of(command).stored == 0 &&
        (command->wrong >= HOPELESS || (command->accepted == 0 && judged >= HOPELESS)))
        command->is_hopeless = true;
    return command->is_hopeless;
}

static bool has_failed(const struct import_command *command)
{
    return command->refused.error < 0 || (command->import && import_failure(command->import));
}

/* Has reading to end early? */
static bool must_end(struct import_command *command)
{
    return is_interrupted(command) || has_failed(command) || is_hopeless(command);
}

/* Waits for room. 0; -ECANCELED: must_end; -ENOMEM. */
static int add(struct import_command *command, const struct write *write, uint64_t line)
{
    int r;
    while ((r = import_add(command->import, write, line)) == -EAGAIN) {
        (void)import_step(command->import, IMPORT_ROOM, WAIT_MS);
        show(command);
        if (must_end(command))
            return -ECANCELED;
    }
    return r == 0 || r == -ENOMEM ? r : -ECANCELED;
}

static int take_object(struct import_command *command, const struct stream_object *object)
{
    struct entity_input_refusal ignored = {0};
    struct entity_input_refusal refusal = {
        .refusal = {.error = -EINVAL, .reason = object->refusal}};
    struct write write;
    command->read++;
    command->input_bytes = object->end_offset;
    int r = object->refusal ? -EINVAL
                            : judge_object(command->judge, object, &write, &ignored, &refusal);
    if (r == -ENOMEM) {
        command->read--;
        return r;
    }
    if (r < 0) {
        refused_note_text(&command->refused, object, &refusal);
        return 0;
    }
    if (ignored.refusal.reason)
        refused_note_ignored(&command->refused, object, &ignored);
    r = command->import ? add(command, &write, object->line) : 0;
    command->accepted += r == 0;
    command->read -= r < 0; /* it is neither stored nor refused */
    return r;
}

/* Is it time to look at the clock and for signals, after an object, or after none has come? */
static bool is_time_to_look(struct import_command *command, bool has_come)
{
    int64_t waited_ms = object_input_waited_ms(command->input);
    if (has_come && command->read % LOOK_EVERY != 0 && waited_ms - command->looked_ms < LOOK_MS)
        return false;
    command->looked_ms = waited_ms;
    return true;
}

/* Input that is slower than the service is sent about once a second, in batches of what has come.
 * Of a fast one all waits that may still find others of its partition. The time that the input lets
 * this wait tells them apart. */
static void send_slow_input(struct import_command *command)
{
    if (!command->import)
        return;
    bool is_slow = command->looked_ms - command->sent_ms >= SLOW_MS;
    (void)import_step(command->import, is_slow ? IMPORT_ALL : IMPORT_READY, 0);
    if (counts_of(command).waiting == 0)
        command->sent_ms = command->looked_ms;
}

/* 0: everything was read; -ECANCELED: must_end; as of object_input_next. ret: of -EBADMSG. */
static int read_objects(struct import_command *command, struct stream_object *ret)
{
    for (;;) {
        int r = object_input_next(command->input, ret);
        if (r <= 0 && r != -EAGAIN)
            return r;
        bool has_come = r > 0;
        r = has_come ? take_object(command, ret) : 0;
        if (r < 0)
            return r;
        bool is_time = is_time_to_look(command, has_come);
        if (is_time) {
            send_slow_input(command);
            show(command);
        }
        if (is_time ? must_end(command) : has_failed(command) || is_hopeless(command))
            return -ECANCELED;
    }
}

/* Sends what waits, if all was read, and waits for what is out. */
static void finish(struct import_command *command, bool sends_rest)
{
    enum import_sending sending = sends_rest ? IMPORT_ALL : IMPORT_NOTHING;
    while (command->import && import_step(command->import, sending, WAIT_MS)) {
        show(command);
        if (is_interrupted(command) || has_failed(command))
            sending = IMPORT_NOTHING;
    }
}

static void report_counts(struct import_command *command)
{
    char read[PROGRESS_NUMBER_SIZE], stored[PROGRESS_NUMBER_SIZE], refused[PROGRESS_NUMBER_SIZE];
    char left[PROGRESS_NUMBER_SIZE], requests[PROGRESS_NUMBER_SIZE];
    struct import_counts counts = counts_of(command);
    uint64_t refused_count = command->read - command->accepted + counts.refused;
    uint64_t left_count = command->accepted - counts.stored - counts.refused;
    const char *made = command->judged.mode == IMPORT_DELETE ? "deleted" : "stored";
    progress_clear(&command->progress);
    if (command->is_quiet)
        return;
    say("tablefuse: %s objects read, %s %s%s, %s refused, %s%s%s requests, %.1f s\n",
        progress_number(command->read, read), progress_number(counts.stored, stored),
        command->is_dry_run ? "would be " : "", made, progress_number(refused_count, refused),
        left_count > 0 ? progress_number(left_count, left) : "",
        left_count > 0 ? " not sent or not answered, " : "",
        progress_number(command->import ? opened_account_requests(&command->opened) : 0, requests),
        progress_elapsed_sec(&command->progress));
}

static int complain_input(int error)
{
    say("tablefuse: cannot read standard input: %s\n", strerror(-error));
    return EXIT_MOUNTING;
}

static int complain_syntax(const struct stream_object *object)
{
    say("tablefuse: line %" PRIu64 ", column %" PRIu64 ": %s -- what follows is not read\n",
        object->line, object->column, object->refusal);
    return EXIT_ABANDONED;
}

static int complain_refused(const struct import_command *command, int error)
{
    say("tablefuse: cannot write %s: %s\n", command->refused_file,
        error == -EEXIST ? "it is not empty: remove it or name another one" : strerror(-error));
    return EXIT_MOUNTING;
}

/* Why it has ended, in a line. r: of read_objects. */
static int explain(struct import_command *command, int r, const struct stream_object *object)
{
    const struct failure *failure = command->import ? import_failure(command->import) : NULL;
    int file_error = refused_close(&command->refused);
    int file_code = file_error < 0 ? complain_refused(command, file_error) : 0;
    if (is_interrupted(command))
        return EXIT_INTERRUPTED;
    if (failure)
        return opened_account_complain(&command->opened, failure);
    if (file_code != 0)
        return file_code;
    if (r == -EBADMSG)
        return complain_syntax(object);
    if (r == -ENOMEM)
        return verb_complain_memory();
    if (r < 0 && r != -ECANCELED)
        return complain_input(r);
    if (command->is_hopeless)
        say("tablefuse: %d objects were refused before one was stored, so the rest is not read -- "
            "is it the right input?\n",
            HOPELESS);
    return command->read - command->accepted + counts_of(command).refused > 0 ? EXIT_ABANDONED : 0;
}

static int import_objects(struct import_command *command)
{
    struct stream_object object = {0};
    int r = read_objects(command, &object);
    finish(command, r == 0 || r == -EBADMSG);
    report_counts(command);
    return explain(command, r, &object);
}

/* The key that counts for all objects. */
static int find_partition(struct import_command *command, struct place *ret)
{
    if (!command->path[0])
        return 0;
    int code = opened_account_find(&command->opened, command->path, ret);
    if (code != 0)
        return code;
    struct directory directory = place_directory(ret);
    bool is_partition =
        directory.kind == DIRECTORY_ENTITIES && position_row_key(directory.range.lo).size == 0;
    if (!is_partition) {
        say("tablefuse: %s: it is no partition\n", command->path);
        return EXIT_NOT_FOUND;
    }
    command->judged.partition_key = position_partition_key(directory.range.lo);
    return 0;
}

static int begin(struct import_command *command, store_decorator *decorate)
{
    progress_init(&command->progress, &clock_system, command->is_quiet);
    const struct csv_rows_options csv = {.delimiter = command->format.delimiter,
                                         .infers = command->infers,
                                         .needs_no_partition_key =
                                             command->judged.partition_key.data};
    int r =
        object_input_create(STDIN_FILENO, command->format.is_csv ? &csv : NULL, &command->input);
    if (r < 0)
        return complain_input(r);
    int code = command->is_dry_run
                   ? 0
                   : opened_account_open_to_change(&command->opened, command->source,
                                                   command->creates, decorate);
    if (code != 0)
        return code;
    r = refused_open(&command->refused, command->refused_file, command->format.is_csv,
                     &command->progress);
    if (r < 0)
        return complain_refused(command, r);
    r = judge_create(&command->judged, &command->judge);
    if (r == 0 && !command->is_dry_run)
        r = account_import(command->opened.account, mount_source_table(command->opened.source),
                           note_refused, command, &command->import);
    return r < 0 ? verb_complain_memory() : 0;
}

enum { MODE = 1, CREATE, REFUSED, DRY_RUN, ANY_VERSION, QUIET, FORMAT, DELIMITER, INFER };

static int take_mode(struct import_command *command, const struct verb *verb)
{
    static const char *const modes[] = {[IMPORT_REPLACE] = "replace",
                                        [IMPORT_MERGE] = "merge",
                                        [IMPORT_INSERT] = "insert",
                                        [IMPORT_DELETE] = "delete"};
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        if (strcmp(optarg, modes[i]) != 0)
            continue;
        command->judged.mode = (enum import_mode)i;
        return 0;
    }
    return verb_refuse(verb, "--mode=%s: expected replace, merge, insert or delete",
                       verb_printable(optarg));
}

static int take_option(struct import_command *command, const struct verb *verb, int option)
{
    switch (option) {
    case MODE:
        return take_mode(command, verb);
    case CREATE:
        command->creates = true;
        return 0;
    case REFUSED:
        command->refused_file = optarg;
        return 0;
    case DRY_RUN:
        command->is_dry_run = true;
        return 0;
    case ANY_VERSION:
        command->judged.any_version = true;
        return 0;
    case QUIET:
        command->is_quiet = true;
        return 0;
    case FORMAT:
        return csv_options_take_format(&command->format, verb, optarg);
    case DELIMITER:
        return csv_options_take_delimiter(&command->format, verb, optarg);
    case INFER:
        command->infers = true;
        return 0;
    default:
        return opened_account_add_options(&command->opened, optarg);
    }
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Other programs take it as an operand. */
static int refuse_file(const struct verb *verb, const char *file)
{
    return verb_refuse(verb,
                       "unexpected file %s: standard input is read -- `tablefuse import "
                       "SOURCE/TABLE < FILE`",
                       verb_printable_path(file));
}

static int parse(struct import_command *command, const struct verb *verb, int argc, char **argv)
{
    static const struct option long_options[] = {
        {.name = "mode", .has_arg = 1, .val = MODE},
        {.name = "create", .val = CREATE},
        {.name = "refused", .has_arg = 1, .val = REFUSED},
        {.name = "dry-run", .val = DRY_RUN},
        {.name = "any-version", .val = ANY_VERSION},
        {.name = "quiet", .val = QUIET},
        {.name = "format", .has_arg = 1, .val = FORMAT},
        {.name = "delimiter", .has_arg = 1, .val = DELIMITER},
        {.name = "infer", .val = INFER},
        {0}};
    for (int option; (option = getopt_long(argc, argv, ":o:", long_options, NULL)) != -1;) {
        if (option == '?' || option == ':')
            return verb_refuse_option(verb, option, argv);
        int code = take_option(command, verb, option);
        if (code != 0)
            return code;
    }
    if (command->refused_file && !command->refused_file[0])
        return verb_refuse(verb, "--refused needs the name of a file");
    if (command->judged.any_version && command->judged.mode != IMPORT_DELETE)
        return verb_refuse(verb, "--any-version needs --mode=delete");
    if (!command->format.is_csv && (command->format.delimiter || command->infers))
        return verb_refuse(verb, "--delimiter and --infer need --format=csv");
    int code = opened_account_take_operands(&command->opened, argc, argv, "PARTITION",
                                            &command->source, &command->path);
    /* the name of an account has neither */
    if (code == 0 && strpbrk(command->source, "./") && is_file(command->source))
        code = refuse_file(verb, command->source);
    if (code == 0 && strchr(command->path, '/') && is_file(command->path))
        code = refuse_file(verb, command->path);
    return code;
}

static int run_import(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    _cleanup_(place_finish) struct place partition = {0};
    struct import_command command = {.refused = {.fd = -1}};
    opened_account_init(&command.opened, verb);
    int code = parse(&command, verb, argc, argv);
    if (code == 0)
        code = find_partition(&command, &partition);
    if (code == 0)
        code = begin(&command, decorate);
    if (code == 0)
        code = import_objects(&command);
    (void)refused_close(&command.refused);
    import_destroy(command.import);
    judge_destroy(command.judge);
    object_input_destroy(command.input);
    opened_account_finish(&command.opened);
    return code;
}

const struct verb verb_import = {
    .name = "import",
    .usage = "[OPTION...] SOURCE/TABLE [PARTITION]",
    .purpose = "Stores the entities that standard input names: JSON objects, as `export` writes.",
    .help =
        "Needs no mount. With PARTITION, its key counts for all objects. An object with odata.etag "
        "changes\n"
        "that version only. After a crash or a failure the same command can be run again.\n"
        "  --mode=replace     the default: what is there is replaced\n"
        "  --mode=merge       properties that an object does not name stay; null is refused\n"
        "  --mode=insert      what is there stays; the object is refused unless it is the same\n"
        "  --mode=delete      an object needs odata.etag; with --any-version it does not\n"
        "  --create           a table that is missing is made, and so is the file of local:FILE\n"
        "  --refused=FILE     gets the objects that are refused, as JSON\n"
        "  --dry-run          reads and judges all, and sends nothing: the table may be missing\n"
        "  --format=csv       with --delimiter, as of export; --infer: if no types are there, "
        "values\n"
        "                     are what they look like, else Strings\n"
        "  --quiet            no progress and no counts on standard error\n"
        "  -o OPTION          as of export\n"
        "It ends when 100 objects were refused before one was stored.\n",
    .codes = {{EXIT_ABANDONED, "an object was refused"}},
    .has_help_apart = true,
    .run = run_import,
};
