/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target over files, and over the files in directories: `fuzz_NAME PATH...`. */
#include "tests/fuzz/fuzz.h"

#include <err.h>
#include <ftw.h>

static int run(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)ftw;
    if (type != FTW_F)
        return 0;
    size_t size = (size_t)status->st_size;
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size); /* not one byte more, so that a sanitizer sees a read after it */
    if (!file || (!data && size > 0) || fread(data, 1, size, file) != size)
        err(1, "%s", path);
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
    (void)fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (nftw(argv[i], run, 8, FTW_PHYS) != 0)
            err(1, "%s", argv[i]);
    return 0;
}
