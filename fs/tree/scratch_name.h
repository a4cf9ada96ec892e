/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_SCRATCH_NAME_H
#define FS_TREE_SCRATCH_NAME_H
/* Which files of a partition's directory are scratch files (fs/scratch/scratch): those with the
 * temporary names of editors, rsync and scripts, and those that are created as mkstemp does. Pure.
 *
 * A name that ends in .json and does not begin with a dot is always an entity's, and one that ends
 * in + and does not begin with a dot is a prefix's, whatever the patterns say. Of the other names
 * these are scratch files':
 *
 *   .*                                             lock and swap files, rsync
 *   digits alone                                   vim's test file
 *   *~  *.bak  *.orig  *.rej  #*#  *.json.[0-9]*   backups of editors, patch and sed
 *   *.tmp  tmp.*  *.json.??????                    scripts, mktemp
 *   *.json.tmp*  *.json.new  *.json.lock           programs that save
 *   tmp??????  tmp????????                         emacs, python
 *   sed??????  XX??????  *.[or]??????              sed, perl and patch
 *   *___jb_tmp___  *___jb_old___                   editors of JetBrains
 *
 * A ? is one byte. Further patterns come from the option scratch=GLOB[:GLOB...]. Whatever its name,
 * a file that is created as mkstemp does is a scratch file, too: no list has all temporary names.
 * mkstemp and its like in other languages open with O_RDWR, O_CREAT, O_EXCL and mode 0600. What
 * makes a file to keep opens it with O_WRONLY (cp, install, tar, gzip). */
#include "client/base/bytes.h"

/* Can a scratch file have the name? Not where it is an entity's or a prefix's, or no file's. */
bool scratch_name_is_possible(struct bytes name);
/* Is it always a scratch file's? globs: of the option, separated by colons; NULL: none. */
bool scratch_name_is(struct bytes name, const char *globs);
/* Is it of no use behind the end of the mount? So are a swap or lock file of an editor, vim's test
 * file, a temporary file of rsync, what macOS leaves in directories, and what NFS and FUSE make of
 * a file that is removed while it is open. */
bool scratch_name_is_passing(struct bytes name);
/* Can each of the globs match a name? One with a [ that is not closed is refused, as it is hardly
 * meant for names with a [ in them. */
bool scratch_name_globs_are_valid(const char *globs);

#endif
