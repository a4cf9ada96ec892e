/* SPDX-License-Identifier: MIT */
/* Writers in every order: schedule_writer [SEED [COUNT]].
 *
 * Threads create, open, write, unlink and close two names. A writer stores one text at a time, and
 * none of a name while an unlink of the name holds it. In half of the runs some callers have a
 * deadline, some stores fail, and time may pass at any moment. In the other half no caller gives
 * up, and no time may pass: then no thread was left waiting for a wakeup that was lost. */
#include "fs/text/writer.h"
#include "tests/schedule/schedule.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS  3
#define NAMES   2

static const struct address names[NAMES] = {{"T", BYTES_LITERAL("p\0a")},
                                            {"T", BYTES_LITERAL("p\0b")}};

struct test {
    struct writers *writers;
    bool may_give_up;
    pthread_t threads[THREADS];
    bool is_held[NAMES];
    int given_up;
};

static size_t index_of(struct address address)
{
    return bytes_equal(address.position, names[0].position) ? 0 : 1;
}

static void check_not_held(const struct test *test, struct address address)
{
    SCHEDULE_CHECK(!test->is_held[index_of(address)]);
}

static int store(void *context, struct caller *caller, const struct writer_text *text,
                 struct entity *ret)
{
    struct test *test = context;
    struct bytes before = text->text;
    (void)ret;
    check_not_held(test, text->address);
    schedule_step();
    check_not_held(test, text->address);
    SCHEDULE_CHECK(bytes_equal(before, text->text));
    SCHEDULE_CHECK(before.size >= 2 && before.data[0] == '{');
    if (test->may_give_up && schedule_random(4) == 0)
        return call_fail(&caller->call, -EACCES, "refused");
    return 0;
}

static int touch(void *context, struct caller *caller, struct address address, struct bytes known,
                 const struct later_etag *queued, struct entity *ret)
{
    (void)queued;
    (void)caller;
    (void)known;
    (void)ret;
    check_not_held(context, address);
    schedule_step();
    check_not_held(context, address);
    return 0;
}

static void give_up(void *context, struct caller *caller, const struct writer_loss *loss)
{
    struct test *test = context;
    (void)caller;
    SCHEDULE_CHECK(loss->error < 0);
    test->given_up++;
}

static struct caller caller_of(const struct test *test)
{
    int64_t patience_ms = test->may_give_up && schedule_random(3) == 0 ? 100 : 1000000;
    return (struct caller){
        .call = {.deadline_ms = clock_now_ms(&clock_system) + patience_ms},
        .process = schedule_random(2),
    };
}

/* NULL: the name has a writer that ended meanwhile. */
static struct writer_handle *open_name(struct test *test, struct address address)
{
    bool is_new = schedule_random(2) == 0;
    struct writer_begin begin = {
        .address = address, .begin = is_new ? EDIT_NEW : EDIT_OVER, .is_new = is_new};
    struct writer_handle *handle = NULL;
    struct caller caller = {0};
    int r = writers_open(test->writers, &begin, &caller, &handle);
    SCHEDULE_CHECK(r == 0 || (r == -EEXIST && is_new));
    if (r == 0)
        return handle;
    struct writer *writer = writers_find_new(test->writers, address);
    if (!writer)
        return NULL;
    SCHEDULE_CHECK(writer_open_handle(writer, 1, &handle) == 0 || !handle);
    writer_unref(writer);
    return handle;
}

static void remove_name(struct test *test, struct address address)
{
    struct caller caller = caller_of(test);
    struct held_writers *held;
    int r = writers_hold(test->writers, address, &caller.call, &held);
    SCHEDULE_CHECK(r == 0 || test->may_give_up);
    if (r < 0)
        return;
    bool *is_held = &test->is_held[index_of(address)];
    bool is_gone = schedule_random(2) == 0;
    SCHEDULE_CHECK(!*is_held);
    *is_held = true;
    bool is_unstored = writers_held_is_unstored(held);
    schedule_step();
    SCHEDULE_CHECK(!is_unstored || writers_held_is_unstored(held));
    *is_held = false;
    writers_let_go(held, is_gone);
}

static void use(struct test *test, struct writer_handle *handle)
{
    static const struct bytes texts[] = {BYTES_LITERAL("{}"), BYTES_LITERAL("{\"a\":"),
                                         BYTES_LITERAL("1}"), BYTES_LITERAL("?")};
    for (uint64_t n = schedule_random(3); n > 0; n--) {
        struct caller caller = caller_of(test);
        uint64_t size = writer_size(handle->writer);
        switch (schedule_random(5)) {
        case 0:
            (void)writer_resize(handle->writer, &caller, 0);
            break;
        case 1:
            (void)writer_sync(handle, &caller);
            break;
        case 2:
            (void)writer_touch(handle->writer, &caller);
            break;
        default:
            (void)writer_write(handle, &caller, texts[schedule_random(4)], size);
            break;
        }
    }
    struct caller caller = caller_of(test);
    (void)writer_flush(handle, &caller);
    if (schedule_random(8) == 0)
        writer_drop_handle(handle, &caller);
    else
        writer_close_handle(handle, &caller);
}

static void *write_again_and_again(void *context)
{
    struct test *test = context;
    for (int i = 0; i < ROUNDS; i++) {
        struct address address = names[schedule_random(NAMES)];
        struct writer_handle *handle = NULL;
        if (schedule_random(3) == 0)
            remove_name(test, address);
        else
            handle = open_name(test, address);
        if (handle)
            use(test, handle);
    }
    return NULL;
}

static void body(void *context)
{
    struct test *test = context;
    const struct writer_store writer_store = {
        .store = store, .touch = touch, .give_up = give_up, .context = test};
    SCHEDULE_CHECK(writers_create(&clock_system, &writer_store, &test->writers) == 0);
    for (int i = 0; i < THREADS; i++)
        SCHEDULE_CHECK(pthread_create(&test->threads[i], NULL, write_again_and_again, test) == 0);
    for (int i = 0; i < THREADS; i++)
        SCHEDULE_CHECK(pthread_join(test->threads[i], NULL) == 0);
    for (size_t i = 0; i < NAMES; i++)
        SCHEDULE_CHECK(!writers_find_new(test->writers, names[i]));
    SCHEDULE_CHECK(test->given_up <= THREADS * ROUNDS);
    writers_destroy(test->writers); /* it asserts that no writer is left */
}

static void run(uint64_t seed)
{
    struct test test = {.may_give_up = seed % 2 == 1};
    struct schedule_outcome outcome;
    struct schedule_options options = {.seed = seed, .is_time_free = test.may_give_up};
    schedule_run(&options, body, &test, &outcome);
    SCHEDULE_CHECK(test.may_give_up || outcome.elapsed_ms == 0);
}

int main(int argc, char **argv)
{
    return schedule_main(argc, argv, run);
}
