#include "cache/read/process_history.h"

#include <bsd/sys/tree.h>
#include <pthread.h>
#include <sys/queue.h>

#define DIRECTORIES       8
#define NAMES             8 /* that a shell in a loop may wait for */
#define REACHED_MAX_BYTES ((size_t)16 << 10)

/* A directory; without a region it is none. A walk goes through it in key order: what it comes to
 * next is served from what it has read ahead, what it comes back to is not. */
struct listed {
    struct region where;
    int64_t began_ms;                  /* nothing older was shown than ttl before that */
    int64_t started_ms;                /* when it was told first */
    int64_t last_ms;                   /* when it was read last */
    int64_t walked_ms;                 /* when a walk through it last came farther */
    struct buffer listed_to, asked_to; /* how far: begin of a directory; position */
};

/* Of a process; its arrays begin with what was used last. */
struct record {
    RB_ENTRY(record) by_number;
    TAILQ_ENTRY(record) by_use;
    uint64_t number;
    struct listed listed[DIRECTORIES];
    struct passages passages;
    struct region question; /* lo is the position: the last that led not just to the one before, or
                               the directory that was listed since */
    struct {
        uint64_t name; /* hash of table and position; 0: none */
        int64_t first_ms;
    } asked[NAMES]; /* the last names that were asked for, in a ring */
    size_t next_asked;
};

static int compare_numbers(const struct record *a, const struct record *b)
{
    return (a->number > b->number) - (a->number < b->number);
}

RB_HEAD(record_tree, record);
TAILQ_HEAD(record_list, record);
RB_GENERATE_INTERNAL(record_tree, record, by_number, compare_numbers,
                     static __attribute__((unused)))

struct process_history {
    int64_t ttl_ms;
    size_t max_bytes;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct record_tree records;
    struct record_list by_use; /* the last used first */
    size_t count;
    struct passages newcomers; /* of those that have no order of their own, one after the other */
};

int process_history_create(int64_t ttl_ms, size_t max_bytes, struct process_history **ret)
{
    struct process_history *history = calloc(1, sizeof(*history));
    if (!history)
        return -ENOMEM;
    int r = pthread_mutex_init(&history->lock, NULL);
    if (r != 0) {
        free(history);
        return -r;
    }
    history->ttl_ms = ttl_ms;
    history->max_bytes = max_bytes;
    RB_INIT(&history->records);
    TAILQ_INIT(&history->by_use);
    passages_init(&history->newcomers);
    *ret = history;
    return 0;
}

static bool is_listing_of(const struct listed *listed, const struct directory *directory)
{
    const struct region *where = &listed->where;
    return region_is_set(where) && is_same_table(where->table, directory->table) &&
           bytes_equal(where->range.lo, directory->range.lo) &&
           bytes_equal(where->range.hi, directory->range.hi);
}

static bool holds_range(const struct listed *listed, const char *table, struct range range)
{
    const struct region *where = &listed->where;
    if (!region_is_set(where))
        return false;
    if (!where->table) /* the account holds everything */
        return true;
    return is_same_table(where->table, table) && bytes_compare(where->range.lo, range.lo) <= 0 &&
           bytes_compare(range.hi, where->range.hi) <= 0;
}

static bool holds_directory(const struct listed *listed, const struct directory *directory)
{
    return holds_range(listed, directory->table, directory->range);
}

static bool holds_position(const struct listed *listed, const char *table, struct bytes position)
{
    const struct region *where = &listed->where;
    if (!region_is_set(where))
        return false;
    if (!where->table) /* it brought the tables' names, nothing of what is in them */
        return !table;
    if (!table) /* what was listed of a table shows that the table is there */
        return bytes_equal(bytes_of(where->table), position);
    return is_same_table(where->table, table) && range_holds(where->range, position);
}

static void listed_init(struct listed *listed)
{
    region_init(&listed->where);
    buffer_init(&listed->listed_to, REACHED_MAX_BYTES);
    buffer_init(&listed->asked_to, REACHED_MAX_BYTES);
}

static void listed_finish(struct listed *listed)
{
    region_finish(&listed->where);
    buffer_finish(&listed->listed_to);
    buffer_finish(&listed->asked_to);
}

static struct record *record_create(uint64_t number)
{
    struct record *record = calloc(1, sizeof(*record));
    if (!record)
        return NULL;
    record->number = number;
    region_init(&record->question);
    for (size_t i = 0; i < DIRECTORIES; i++)
        listed_init(&record->listed[i]);
    passages_init(&record->passages);
    return record;
}

static void record_destroy(struct record *record)
{
    region_finish(&record->question);
    for (size_t i = 0; i < DIRECTORIES; i++)
        listed_finish(&record->listed[i]);
    passages_finish(&record->passages);
    free(record);
}

static void drop_locked(struct process_history *history, struct record *record)
{
    RB_REMOVE(record_tree, &history->records, record);
    TAILQ_REMOVE(&history->by_use, record, by_use);
    history->count--;
    record_destroy(record);
}

void process_history_destroy(struct process_history *history)
{
    if (!history)
        return;
    while (!TAILQ_EMPTY(&history->by_use))
        drop_locked(history, TAILQ_FIRST(&history->by_use));
    passages_finish(&history->newcomers);
    (void)pthread_mutex_destroy(&history->lock);
    free(history);
}

/* NULL: not remembered */
static struct record *find_locked(struct process_history *history, uint64_t number)
{
    struct record *record = RB_ROOT(&history->records);
    while (record && record->number != number)
        record = number < record->number ? RB_LEFT(record, by_number) : RB_RIGHT(record, by_number);
    if (record) {
        TAILQ_REMOVE(&history->by_use, record, by_use);
        TAILQ_INSERT_HEAD(&history->by_use, record, by_use);
    }
    return record;
}

/* NULL: process 0, or no memory */
static struct record *find_or_add_locked(struct process_history *history, uint64_t number)
{
    struct record *record = find_locked(history, number);
    if (record || number == 0 || !(record = record_create(number)))
        return record;
    if (history->count == PROCESS_HISTORY_SIZE)
        drop_locked(history, TAILQ_LAST(&history->by_use, record_list));
    RB_INSERT(record_tree, &history->records, record);
    TAILQ_INSERT_HEAD(&history->by_use, record, by_use);
    history->count++;
    return record;
}

/* Where the directory is, or will be: in place of what was not listed for longest, but not of what
 * holds it: a walk comes back there, however many directories it has. */
static size_t find_listed(const struct record *record, const struct directory *directory)
{
    for (size_t i = 0; i < DIRECTORIES; i++)
        if (is_listing_of(&record->listed[i], directory))
            return i;
    size_t i = DIRECTORIES - 1;
    while (i > 0 && holds_directory(&record->listed[i], directory))
        i--;
    return i;
}

/* Farther than ever: notes how far. What is too long is not remembered, and no progress. */
static bool comes_farther(struct buffer *reached, struct bytes position)
{
    if (bytes_compare(position, buffer_bytes(reached)) <= 0)
        return false;
    buffer_clear(reached);
    return buffer_append(reached, position) == 0;
}

static void begin_listed(struct listed *listed, const struct directory *directory)
{
    (void)region_set(&listed->where, directory->table, directory->range);
    buffer_clear(&listed->listed_to);
    buffer_clear(&listed->asked_to);
    listed->walked_ms = INT64_MIN;
}

static void note_listed(struct record *record, const struct directory *directory, int64_t began_ms,
                        int64_t now_ms)
{
    size_t i = find_listed(record, directory);
    struct listed listed = record->listed[i];
    memmove(&record->listed[1], &record->listed[0], i * sizeof(listed));
    bool is_known = is_listing_of(&listed, directory);
    if (!is_known || listed.began_ms != began_ms) {
        begin_listed(&listed, directory);
        listed.started_ms = now_ms;
    }
    listed.began_ms = began_ms;
    listed.last_ms = now_ms;
    record->listed[0] = listed;
    for (size_t k = 1; k < DIRECTORIES; k++) {
        struct listed *holder = &record->listed[k];
        if (holds_directory(holder, directory) &&
            comes_farther(&holder->listed_to, directory->range.lo))
            holder->walked_ms = now_ms;
    }
}

bool process_history_listed(struct process_history *history, uint64_t process,
                            const struct directory *directory, int64_t began_ms, int64_t now_ms,
                            struct region *ret_left)
{
    bool has_left = false;
    (void)pthread_mutex_lock(&history->lock);
    struct record *record = find_or_add_locked(history, process);
    if (record) {
        const struct listed *last = &record->listed[0];
        if (region_is_set(&last->where) && !holds_directory(last, directory))
            has_left = region_set(ret_left, last->where.table, last->where.range);
        note_listed(record, directory, began_ms, now_ms);
        (void)region_set(&record->question, directory->table,
                         (struct range){.lo = directory->range.lo});
    }
    (void)pthread_mutex_unlock(&history->lock);
    return has_left;
}

/* What the listing brought will do. */
static void serve(const struct process_history *history, const struct listed *listed,
                  int64_t now_ms, int64_t *not_before_ms)
{
    int64_t oldest_ms = now_ms - PROCESS_HISTORY_KEPT_MS;
    *not_before_ms = MIN(*not_before_ms, MAX(listed->began_ms - history->ttl_ms, oldest_ms));
}

static bool is_recent(int64_t ms, int64_t now_ms)
{
    return ms > now_ms - PROCESS_HISTORY_KEPT_MS;
}

/* A listing of more than the directory, that was read lately, or is walked through and the walk
 * comes there. */
static bool leads_walk_to(const struct listed *listed, const struct directory *directory,
                          int64_t now_ms)
{
    const struct region *where = &listed->where;
    if (!where->table || !holds_directory(listed, directory))
        return false;
    return is_recent(listed->last_ms, now_ms) ||
           (is_recent(listed->walked_ms, now_ms) &&
            bytes_compare(directory->range.lo, buffer_bytes(&listed->listed_to)) >= 0);
}

int64_t process_history_listing_not_before(struct process_history *history, uint64_t process,
                                           const struct directory *directory, int64_t now_ms,
                                           bool *ret_is_served)
{
    int64_t not_before_ms = now_ms - history->ttl_ms;
    bool is_again = false, is_served = false;
    (void)pthread_mutex_lock(&history->lock);
    struct record *record = find_locked(history, process);
    for (size_t i = 0; record && i < DIRECTORIES; i++) {
        const struct listed *listed = &record->listed[i];
        if (is_listing_of(listed, directory)) {
            is_again = now_ms - listed->started_ms >= PROCESS_HISTORY_REPEAT_MS;
        } else if (leads_walk_to(listed, directory, now_ms)) {
            serve(history, listed, now_ms, &not_before_ms);
            is_served = true;
        }
    }
    (void)pthread_mutex_unlock(&history->lock);
    *ret_is_served = is_served && !is_again;
    return is_again ? now_ms - history->ttl_ms : not_before_ms;
}

/* A listing of more than the range, read or walked through lately. */
static bool is_walked(const struct listed *listed, const char *table, struct range range,
                      int64_t now_ms)
{
    const struct region *where = &listed->where;
    bool is_larger =
        where->table && holds_range(listed, table, range) &&
        !(bytes_equal(where->range.lo, range.lo) && bytes_equal(where->range.hi, range.hi));
    return is_larger &&
           (is_recent(listed->last_ms, now_ms) || is_recent(listed->walked_ms, now_ms));
}

bool process_history_walks(struct process_history *history, uint64_t process, const char *table,
                           struct range range, int64_t now_ms, struct region *ret_whole)
{
    const struct listed *whole = NULL;
    (void)pthread_mutex_lock(&history->lock);
    struct record *record = find_locked(history, process);
    for (size_t i = 0; record && i < DIRECTORIES; i++) {
        const struct listed *listed = &record->listed[i];
        if (is_walked(listed, table, range, now_ms) &&
            (!whole || holds_range(listed, table, whole->where.range)))
            whole = listed;
    }
    bool walks = whole && region_set(ret_whole, whole->where.table, whole->where.range);
    (void)pthread_mutex_unlock(&history->lock);
    return walks;
}

/* Is it a table or directory on the path to the position of `question`? */
static bool leads_to(const char *table, struct bytes position, const struct region *question)
{
    if (!table)
        return question->table && bytes_equal(position, bytes_of(question->table));
    return is_same_table(table, question->table) && position_row_key(position).size == 0 &&
           bytes_start_with(question->range.lo, position);
}

static uint64_t hash_name(const char *table, struct bytes position)
{
    uint64_t hash = BYTES_HASH_START;
    if (table) /* with its NUL, which no name of a table has */
        hash = bytes_hash(hash, (struct bytes){table, strlen(table) + 1});
    return bytes_hash(hash, position) | 1;
}

/* Notes the question. True for a few names again and again; with them, what leads to the last is
 * asked for wherever the kernel's answers about that have expired, too. */
static bool asks_again(struct record *record, const char *table, struct bytes position,
                       int64_t now_ms)
{
    struct region *question = &record->question;
    uint64_t name = hash_name(table, position);
    bool is_last =
        is_same_table(table, question->table) && bytes_equal(position, question->range.lo);
    if (region_is_set(question) && !is_last && leads_to(table, position, question))
        return false;
    (void)region_set(question, table, (struct range){.lo = position});
    for (size_t i = 0; i < NAMES; i++)
        if (record->asked[i].name == name)
            return now_ms - record->asked[i].first_ms >= PROCESS_HISTORY_REPEAT_MS;
    record->asked[record->next_asked].name = name;
    record->asked[record->next_asked].first_ms = now_ms;
    record->next_asked = (record->next_asked + 1) % NAMES;
    return false;
}

/* Does the listing serve a question about what it holds: read lately; or walked through, and the
 * walk comes there now, or is on the path to where it is? */
static bool serves(struct listed *listed, struct bytes position, int64_t now_ms)
{
    bool is_walked = is_recent(listed->walked_ms, now_ms);
    bool is_on_path = bytes_start_with(buffer_bytes(&listed->asked_to), position);
    if (comes_farther(&listed->asked_to, position)) {
        listed->walked_ms = is_walked ? now_ms : listed->walked_ms;
        is_on_path = true;
    }
    return is_recent(listed->last_ms, now_ms) || (is_walked && is_on_path);
}

int64_t process_history_not_before(struct process_history *history, uint64_t process,
                                   const char *table, struct bytes position, int64_t now_ms,
                                   bool *ret_is_served)
{
    int64_t not_before_ms = now_ms - history->ttl_ms;
    bool is_served = false;
    (void)pthread_mutex_lock(&history->lock);
    struct record *record = find_locked(history, process);
    bool may_serve = record && !asks_again(record, table, position, now_ms);
    for (size_t i = 0; may_serve && i < DIRECTORIES; i++) {
        struct listed *listed = &record->listed[i];
        if (holds_position(listed, table, position) && serves(listed, position, now_ms)) {
            serve(history, listed, now_ms, &not_before_ms);
            is_served = true;
        }
    }
    (void)pthread_mutex_unlock(&history->lock);
    *ret_is_served = is_served;
    return not_before_ms;
}

/* Where it is new, on the newcomers' way, too. */
static void go_locked(struct process_history *history, struct record *record, enum way way,
                      const char *table, struct bytes position)
{
    passages_go(&record->passages, way, table, position);
    if (passages_are_new(&record->passages, way, table, position))
        passages_go(&history->newcomers, way, table, position);
}

/* `record` NULL: it has asked for no row yet. */
static int rows_locked(const struct process_history *history, const struct record *record,
                       enum way way, const char *table, struct bytes position)
{
    bool is_new = !record || passages_are_new(&record->passages, way, table, position);
    return passages_rows(is_new ? &history->newcomers : &record->passages, way, table, position,
                         history->max_bytes);
}

struct reading process_history_ask(struct process_history *history, uint64_t process,
                                   const char *table, struct bytes position)
{
    struct reading reading = {.rows = 1};
    (void)pthread_mutex_lock(&history->lock);
    struct record *record = find_or_add_locked(history, process);
    if (record) {
        go_locked(history, record, WAY_ROWS, table, position);
        go_locked(history, record, WAY_PARTITIONS, table, position);
        bool comes_along =
            passages_are_in_order(&record->passages, WAY_PARTITIONS, table, position);
        reading.rows = MAX(rows_locked(history, record, WAY_ROWS, table, position),
                           comes_along ? PASSAGES_STEP_ROWS : 1);
        reading.is_in_order = passages_are_in_order(&record->passages, WAY_ROWS, table, position);
    }
    (void)pthread_mutex_unlock(&history->lock);
    return reading;
}

/* Makes no record: that would remember the steps to what the process lists next. */
int process_history_ahead(struct process_history *history, uint64_t process, const char *table,
                          struct bytes position)
{
    if (process == 0)
        return 0;
    (void)pthread_mutex_lock(&history->lock);
    const struct record *record = find_locked(history, process);
    int rows = rows_locked(history, record, WAY_PARTITIONS, table, position);
    (void)pthread_mutex_unlock(&history->lock);
    return rows;
}

bool process_history_reads_at(struct process_history *history, uint64_t process, const char *table,
                              struct range range, struct buffer *ret_position)
{
    (void)pthread_mutex_lock(&history->lock);
    struct record *record = find_locked(history, process);
    bool reads = record && passages_last(&record->passages, table, range, ret_position);
    (void)pthread_mutex_unlock(&history->lock);
    return reads;
}

void process_history_missed(struct process_history *history, uint64_t process, enum way way,
                            const char *table, struct bytes position, size_t rows, size_t bytes)
{
    (void)pthread_mutex_lock(&history->lock);
    struct record *record = find_locked(history, process);
    if (record) {
        if (passages_are_new(&record->passages, way, table, position))
            passages_missed(&history->newcomers, way, table, position, rows, bytes);
        passages_missed(&record->passages, way, table, position, rows, bytes);
    }
    (void)pthread_mutex_unlock(&history->lock);
}
