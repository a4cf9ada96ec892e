/* SPDX-License-Identifier: MIT */
#ifndef FS_OUTPUT_DIFFERENCE_OUTPUT_H
#define FS_OUTPUT_DIFFERENCE_OUTPUT_H
/* Compares two tables, and writes the differences as lines to standard output, and counts them. One
 * thread.
 *
 *     + zlib/1.3.1.json     only FROM has it
 *     - zlib/1.2.0.json     only TO has it
 *     ~ zlib/1.2.1.json     both have it, and their texts differ
 *
 * As JSON, each side is an entity as entity_line.h writes it, or null: {"from":{...},"to":null} */
#include "cache/account.h"
#include "fs/cli/progress.h"
#include "fs/output/line_output.h"
#include "fs/source/table_pair.h"

struct difference_output {
    struct line_output *output; /* NULL: differences are counted, and not written */
    bool is_json;
    struct progress progress;
    uint64_t counts[PAIR_UNREADABLE + 1]; /* by kind */
    int error, comparison_error;          /* of the output, of the comparison: why it ended early */
};

/* Compares the whole tables. Writes each key that cannot be compared to standard error. Gives each
 * pair to sync, too, unless sync is NULL. 0; -errno of the output, of the comparison or of sync.
 */
int difference_output_compare(struct difference_output *output, struct table_pair *tables,
                              struct sync *sync);
/* Shows the progress if it is due. position: of the last pair, or empty. */
void difference_output_show(struct difference_output *output, const struct table_pair *tables,
                            const struct sync *sync, struct bytes position);
uint64_t difference_output_found(const struct difference_output *output); /* differences */
/* Writes why the output or the comparison has failed with r to standard error. Returns an exit
 * code. */
int difference_output_complain(const struct difference_output *output, struct table_pair *tables,
                               int r);

#endif
