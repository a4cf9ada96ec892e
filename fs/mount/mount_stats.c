/* SPDX-License-Identifier: MIT */
#include "fs/mount/mount_stats.h"
#include "client/text/metrics.h"

#include <dirent.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

/* Both in bytes. */
static bool read_memory(uint64_t *ret_virtual, uint64_t *ret_resident)
{
    char line[64] = "";
    FILE *file = fopen("/proc/self/statm", "re");
    bool has_line = file && fgets(line, sizeof(line), file) != NULL;
    if (file)
        (void)fclose(file);
    struct bytes rest = bytes_of(line);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), sizes[2];
    for (size_t i = 0; has_line && i < ARRAY_SIZE(sizes); i++)
        has_line = bytes_parse_unsigned(bytes_take_until(&rest, ' '), UINT32_MAX, &sizes[i]);
    if (has_line)
        *ret_virtual = sizes[0] * page, *ret_resident = sizes[1] * page;
    return has_line;
}

/* Without the descriptor that this function opens. 0: not known. */
static uint64_t count_descriptors(void)
{
    uint64_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (!directory)
        return 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    (void)closedir(directory);
    return count - 1;
}

static void append_process(const struct file_system *fs, struct buffer *ret)
{
    struct rusage usage;
    struct rlimit files;
    uint64_t descriptors = count_descriptors(), virtual, resident;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        (void)metrics_append_seconds(
            ret, "process_cpu_seconds_total", "counter", "CPU time of the process.",
            (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000) +
                (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000);
    if (read_memory(&virtual, &resident)) {
        (void)metrics_append_number(ret, "process_resident_memory_bytes", "gauge",
                                    "Memory that the process has.", resident);
        (void)metrics_append_number(ret, "process_virtual_memory_bytes", "gauge",
                                    "Addresses that it uses.", virtual);
    }
    if (descriptors > 0)
        (void)metrics_append_number(ret, "process_open_fds", "gauge", "Open descriptors.",
                                    descriptors);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        (void)metrics_append_number(ret, "process_max_fds", "gauge", "Their maximum.",
                                    files.rlim_cur);
    (void)metrics_append_seconds(ret, "process_start_time_seconds", "gauge",
                                 "When the process began, since 1970.",
                                 fs->attributes.mounted_at_100ns / TICKS_PER_MS);
}

static void append_files(const struct file_system *fs, struct buffer *ret)
{
    (void)metrics_append_number(ret, "tablefuse_inodes", "gauge", "Nodes that the kernel knows.",
                                inode_table_count(fs->inodes));
    if (fs->lost)
        (void)metrics_append_number(ret, "tablefuse_lost_texts_total", "counter",
                                    "Texts that were not stored, and were kept in lost+found.",
                                    lost_and_found_count(fs->lost));
    if (fs->scratch)
        (void)metrics_append_number(ret, "tablefuse_scratch_bytes", "gauge",
                                    "Memory of files with temporary names.",
                                    scratch_bytes(fs->scratch));
    (void)metrics_append_number(ret, "tablefuse_waiting", "gauge",
                                "Callers that may be waiting for the service.",
                                (uint64_t)atomic_load(&fs->waiting.all));
}

int mount_stats_append(struct mount_source *source, const struct file_system *fs,
                       struct buffer *ret)
{
    (void)metrics_append_head(ret, "tablefuse_build_info", "gauge", "The version; always 1.");
    (void)buffer_append_string(ret, "tablefuse_build_info{version=\"" TABLEFUSE_VERSION "\"} 1\n");
    int r = mount_source_append_metrics(source, ret);
    if (r < 0)
        return r;
    (void)account_append_metrics(fs->account, ret);
    append_files(fs, ret);
    append_process(fs, ret);
    return ret->error;
}
