#ifndef FS_TREE_SCRATCH_NAME_H
#define FS_TREE_SCRATCH_NAME_H
/* Which files of a partition's directory are scratch files (fs/files/scratch): those with the
 * temporary names of editors, rsync and scripts. Pure.
 *
 * A name that ends in .json and does not begin with a dot is always an entity's, and one that ends
 * in + and does not begin with a dot is a prefix's, whatever the patterns say. Of the other names
 * these are scratch files':
 *
 *   .*                                             lock and swap files, rsync
 *   digits alone                                   vim's test file
 *   *~  *.bak  *.orig  *.rej  #*#  *.json.[0-9]*   backups of editors, patch and sed
 *   *.tmp  tmp.*  *.json.??????                    scripts, mktemp
 *   tmp??????  tmp????????                         emacs, python
 *   sed??????  XX??????  *.[or]??????              sed, perl and patch
 *   *___jb_tmp___  *___jb_old___                   editors of JetBrains
 *
 * A ? is one byte. Further patterns come from the option scratch=GLOB[:GLOB...]. */
#include "client/bytes.h"

/* globs: of the option, separated by colons; NULL: none. */
bool scratch_name_is(struct bytes name, const char *globs);
/* Is it a swap file of an editor, or a temporary file of rsync? Such a file is of no use behind the
 * end of the mount. */
bool scratch_name_is_passing(struct bytes name);
/* Can each of the globs match a name? One with a [ that is not closed is refused, as it is hardly
 * meant for names with a [ in them. */
bool scratch_name_globs_are_valid(const char *globs);

#endif
