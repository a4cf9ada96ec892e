/* SPDX-License-Identifier: MIT */
#include "cache/list/forms.h"
#include "cache/failure_log.h"

#include <pthread.h>

struct form {
    uint64_t table; /* hash of the name */
    int64_t requested_ms;
    bool has_prefixes;
};

struct forms {
    struct failure_log *failures;
    const struct clock *clock;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct form all[FORMS_MAX]; /* the next one to be replaced: noted % FORMS_MAX */
    size_t noted;               /* tables, ever */
};

int forms_create(struct failure_log *failures, const struct clock *clock, struct forms **ret)
{
    struct forms *forms = calloc(1, sizeof(*forms));
    if (!forms)
        return -ENOMEM;
    (void)pthread_mutex_init(&forms->lock, NULL);
    forms->failures = failures;
    forms->clock = clock;
    *ret = forms;
    return 0;
}

void forms_destroy(struct forms *forms)
{
    if (!forms)
        return;
    (void)pthread_mutex_destroy(&forms->lock);
    free(forms);
}

static struct form *find_locked(struct forms *forms, uint64_t table)
{
    for (size_t i = 0; i < MIN(forms->noted, (size_t)FORMS_MAX); i++)
        if (forms->all[i].table == table)
            return &forms->all[i];
    return NULL;
}

/* Is it another form than the last one of this table? */
static bool keep_locked(struct forms *forms, const struct form *form)
{
    struct form *known = find_locked(forms, form->table);
    if (!known) {
        forms->all[forms->noted++ % FORMS_MAX] = *form;
        return false;
    }
    if (form->requested_ms < known->requested_ms)
        return false;
    bool is_other = form->has_prefixes != known->has_prefixes;
    *known = *form;
    return is_other;
}

void forms_note(struct forms *forms, const struct caller *caller, const char *table,
                bool has_prefixes, int64_t requested_ms)
{
    struct form form = {bytes_hash(BYTES_HASH_START, bytes_of(table)), requested_ms, has_prefixes};
    (void)pthread_mutex_lock(&forms->lock);
    bool is_other = keep_locked(forms, &form);
    (void)pthread_mutex_unlock(&forms->lock);
    if (!is_other)
        return;
    struct call note = {0};
    (void)call_fail(&note, 0, "it lists %s now, and listed %s before",
                    has_prefixes ? "prefixes" : "partitions",
                    has_prefixes ? "partitions" : "prefixes");
    note.failure.advice = "scripts and globs belong below .flat, which always lists partitions";
    const struct failure_record record = {.at_100ns = clock_utc_100ns(forms->clock),
                                          .operation = "readdir",
                                          .command = caller->call.command,
                                          .table = table,
                                          .failure = note.failure};
    failure_log_add(forms->failures, &record);
}
