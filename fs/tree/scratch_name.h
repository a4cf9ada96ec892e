/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_SCRATCH_NAME_H
#define FS_TREE_SCRATCH_NAME_H
/* Decides which files in a partition's directory are scratch files (fs/scratch/scratch): those with
 * the temporary names of editors, rsync and scripts, and those that are created as mkstemp does.
 * Pure.
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
 * A ? is one byte. The option scratch=GLOB[:GLOB...] adds patterns. No list has all temporary
 * names, so a file with any other name is a scratch file, too, if it is created as mkstemp does:
 * with O_RDWR, O_CREAT, O_EXCL and mode 0600, as in many languages. Programs that create a file to
 * keep open it with O_WRONLY (cp, install, tar, gzip). */
#include "client/base/bytes.h"

/* Can a scratch file have the name? No if it is an entity's or a prefix's, or if no file can have
 * it. */
bool scratch_name_is_possible(struct bytes name);
/* Is a file with this name always a scratch file? globs: of the option, separated by colons; NULL:
 * none. */
bool scratch_name_is(struct bytes name, const char *globs);
/* Is the file of no use after the end of the mount? True for a swap or lock file of an editor,
 * vim's test file, a temporary file of rsync, files that macOS leaves in directories, and files to
 * which NFS and FUSE rename a file that is removed while it is open. */
bool scratch_name_is_passing(struct bytes name);
/* Is each of the globs valid? A glob with a [ that is not closed is not, because it is hardly meant
 * for names with a [ in them. */
bool scratch_name_globs_are_valid(const char *globs);

#endif
