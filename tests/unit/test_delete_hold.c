/* SPDX-License-Identifier: MIT */
#include "cache/write/delete_policy.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/threads.h"

/* The table HOLDING of delete_policy.h: which deletes are held. The rest of the contract is in
 * test_delete_policy. */

#define RM   7 /* a process */
#define FIND 8
#define REST DELETE_POLICY_REST_MS

static const struct address p = {"T", B("p\0r")}, q = {"T", B("q\0r")}, r = {"T", B("r\0r")},
                            other = {"U", B("p\0r")};
static const struct range all_p = {B("p\0"), B("p\x01")}, all_q = {B("q\0"), B("q\x01")};

struct story { /* what a process does */
    struct delete_policy *policy;
    uint64_t process;
    int64_t now_ms;
    uint64_t running[2]; /* operations of two threads */
};

static struct story new_story(void)
{
    struct story story = {.process = RM};
    assert_int_equal(delete_policy_create(&story.policy), 0);
    return story;
}

/* The result as a letter: N(ow), Q(ueued), H(eld); n, q: and the hold has been left. */
static char delete_one(const struct story *story, struct address address, bool has_listed,
                       bool may_hold)
{
    const struct delete_facts facts = {address, has_listed, may_hold};
    bool has_left = true;
    enum delete_decision decision =
        delete_policy_unlink(story->policy, story->process, &facts, story->now_ms, &has_left);
    const char *letters = has_left ? "nqh" : "NQH";
    return letters[decision];
}

static void remove_range(const struct story *story, const char *table, struct range range)
{
    delete_policy_removed(story->policy, story->process, table, range, story->now_ms);
}

static void answer(const struct story *story, bool is_deleted)
{
    delete_policy_answered(story->policy, story->process, is_deleted, story->now_ms);
}

static void begin(struct story *story, size_t i)
{
    story->running[i] = delete_policy_begin(story->policy, story->process, story->now_ms);
}

static void end(struct story *story, size_t i)
{
    delete_policy_end(story->policy, story->process, story->running[i], story->now_ms);
}

/* An event by its letter. The result of a question or an unlink, else 0. */
static char tell(struct story *story, char letter)
{
    switch (letter) {
    case 'p': /* unlinks that may be held */
        return delete_one(story, p, true, true);
    case 'q':
        return delete_one(story, q, true, true);
    case 'r':
        return delete_one(story, r, true, true);
    case 'u':
        return delete_one(story, other, true, true);
    case 'm': /* unlinks in p that may not */
        return delete_one(story, p, true, false);
    case 'l':
        return delete_one(story, p, false, true);
    case 'x':
        return delete_one(story, p, false, false);
    case '+':
        answer(story, true);
        return 0;
    case '-':
        answer(story, false);
        return 0;
    case 'P':
        remove_range(story, "T", all_p);
        return 0;
    case 'Q':
        remove_range(story, "T", all_q);
        return 0;
    case 'U':
        remove_range(story, "U", all_p);
        return 0;
    case 'a':
        delete_policy_active(story->policy, story->process, story->now_ms);
        return 0;
    case 'e':
        delete_policy_end_table(story->policy, story->process, "T");
        return 0;
    case 'w':
        delete_policy_end_table(story->policy, story->process, "U");
        return 0;
    case '1': /* two operations begin, and end */
    case '2':
        begin(story, letter == '2');
        return 0;
    case ')':
    case ']':
        end(story, letter == ']');
        return 0;
    case 'h': /* does the process hold? */
        return delete_policy_holds(story->policy, story->process, story->now_ms) ? 'y' : '-';
    case ',':
        story->now_ms += REST - 1;
        return 0;
    case '.':
        story->now_ms += REST;
        return 0;
    }
    fail_msg("no event: %c", letter);
    return 0;
}

/* The results of the unlinks, in order. */
static void assert_story(struct story *story, const char *events, const char *expected)
{
    char results[64] = "";
    size_t n = 0;
    assert_in_range(strlen(events), 0, sizeof(results) - 1);
    for (const char *event = events; *event; event++) {
        char result = tell(story, *event);
        if (result)
            results[n++] = result;
    }
    if (strcmp(results, expected) != 0)
        fail_msg("\"%s\" is \"%s\", not \"%s\"", events, results, expected);
}

struct cell {
    const char *events, *expected;
};

static void assert_cells(const struct cell *cells, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct story story = new_story();
        assert_story(&story, cells[i].events, cells[i].expected);
        delete_policy_destroy(story.policy);
    }
}

/* In these, "p+" comes to NONE, "p+p" to HOLDING(p), "p+pP" removes p there, "p+pq" comes to OFF.
 * What follows an unlink shows the state after it: "m" leaves a hold; "q" leaves that of p; "Pq"
 * goes on from p, and leaves a hold of another partition. */

static void unlinks_in_none(void **state)
{
    (void)state;
    static const struct cell cells[] = {
        {"pm", "NN"},
        {"pp+p", "NNH"},
        {"p-p-pm", "NNNN"},
        {"p+pm", "NHq"},
        {"p+ppq", "NHHq"},
        {"p+pPq", "NHH"},
        {"p+uum", "NHHq"},
        {"p+up", "NHq"},
        {"p+mmp", "NQQH"},
        {"p+lp", "NNH"},
        {"p+lm", "NNQ"},
        {"p+xp", "NNH"},
        {"p+l+pm", "NNHq"},
        {"p+p-em", "NHN"},
        /* the count is FIRST */
        {"p+lllllllllllllllllxxmm", "NNNNNNNNNNNNNNNNQQQQQQ"},
        {"p+llllllllllllllllpm", "NNNNNNNNNNNNNNNNQHq"},
    };
    assert_cells(cells, ARRAY_SIZE(cells));
}

static void unlinks_in_holding(void **state)
{
    (void)state;
    static const struct cell cells[] = {
        /* in p */
        {"p+pppm", "NHHHq"},
        {"p+pppPq", "NHHHH"},
        {"p+pppq", "NHHHq"},
        /* in q while p stands */
        {"p+pqqp", "NHqQQ"},
        {"p+pQqq", "NHqQ"},
        /* in q after p was removed */
        {"p+pPqqm", "NHHHq"},
        {"p+pPqQrm", "NHHHq"},
        {"p+pPqr", "NHHq"},
        {"p+pPqPr", "NHHq"},
        {"p+pPqp", "NHHq"},
        {"p+pPqQp", "NHHH"},
        /* in p after p was removed */
        {"p+pPpm", "NHHq"},
        {"p+pPpq", "NHHq"},
        {"p+pPpPq", "NHHH"},
        /* in another table */
        {"p+puup", "NHqQQ"},
        {"p+pPup", "NHqQ"},
        {"p+pUup", "NHqQ"},
        /* may not be held */
        {"p+pmp", "NHqQ"},
        {"p+pPmp", "NHqQ"},
        {"p+plp", "NHnQ"},
        {"p+pPlp", "NHnQ"},
        {"p+pxp", "NHnQ"},
        {"p+pPxp", "NHnQ"},
        {"p+lllllllllllllllplp", "NNNNNNNNNNNNNNNNHqQ"},
    };
    assert_cells(cells, ARRAY_SIZE(cells));
}

/* NOW until one succeeds; the state changes as ever. */
static void unlinks_in_holding_after_a_failure(void **state)
{
    (void)state;
    static const struct cell cells[] = {
        {"p+p-ppp+p", "NHNNNH"}, {"p+p-p-p+pq", "NHNNHq"}, {"p+p-p+pPq", "NHNHH"},
        {"p+p-qp+p", "NHnNQ"},   {"p+pP-qq+q", "NHNNH"},   {"p+pP-q+p", "NHNq"},
        {"p+pP-qQ+r", "NHNH"},   {"p+pP-p+q", "NHNq"},     {"p+p-u+u", "NHnQ"},
        {"p+p-m+p", "NHnQ"},     {"p+p-l+p", "NHnQ"},      {"p+pP-m+p", "NHnQ"},
    };
    assert_cells(cells, ARRAY_SIZE(cells));
}

static void unlinks_in_off(void **state)
{
    (void)state;
    static const struct cell cells[] = {
        {"p+pqppp", "NHqQQQ"}, {"p+pqqqq", "NHqQQQ"},     {"p+pqQrr", "NHqQQ"},
        {"p+pquum", "NHqQQQ"}, {"p+pqmmp", "NHqQQQ"},     {"p+pqllp", "NHqNNQ"},
        {"p+pqxp", "NHqNQ"},   {"p+pqp-pp+p", "NHqQNNQ"},
    };
    assert_cells(cells, ARRAY_SIZE(cells));
}

static void other_events_in_each_state(void **state)
{
    (void)state;
    static const struct cell cells[] = {
        /* NONE */
        {"p+++p", "NH"},
        {"p+-p+p", "NNH"},
        {"p+ap", "NH"},
        {"p+Ppq", "NHq"},
        {"p+ep", "NH"},
        {"p+wp", "NH"},
        {"p+.p+p", "NNH"},
        /* HOLDING(p) */
        {"p+p+pm", "NHHq"},
        {"p+pP+q", "NHH"},
        {"p+p-m", "NHn"},
        {"p+pam", "NHq"},
        {"p+pPaq", "NHH"},
        {"p+pPPq", "NHH"},
        {"p+pPQq", "NHH"},
        {"p+pUq", "NHq"},
        {"p+pem", "NHQ"},
        {"p+peqm", "NHHq"},
        {"p+pPepq", "NHHq"},
        {"p+peu", "NHH"},
        {"p+pwm", "NHq"},
        {"p+pPwq", "NHH"},
        {"p+uem", "NHq"},
        {"p+uwp", "NHH"},
        /* OFF */
        {"p+pq+p", "NHqQ"},
        {"p+pq-p+p", "NHqNQ"},
        {"p+pqap", "NHqQ"},
        {"p+pqPp", "NHqQ"},
        {"p+pqQr", "NHqQ"},
        {"p+pqepm", "NHqHq"},
        {"p+pqwpm", "NHqHq"},
        {"p+pqerm", "NHqHq"},
    };
    assert_cells(cells, ARRAY_SIZE(cells));
}

/* The new burst is in NONE. It does not say that the hold has been left. */
static void a_rest_ends_the_state(void **state)
{
    (void)state;
    static const struct cell cells[] = {
        {"p+p.p+pm", "NHNHq"},
        {"p+p.q+q", "NHNH"},
        {"p+p.m+m", "NHNQ"},
        {"p+pP.q+r", "NHNH"},
        {"p+pq.p+p", "NHqNH"},
        {"p+p.P.q+q", "NHNH"},
        {"p+p.Pp+q", "NHNH"},
        {"p+p.ep+p", "NHNH"},
        /* these are no rest */
        {"p+p,p,p,q", "NHHHq"},
        {"p+p,P,q", "NHH"},
        {"p+p,a,p", "NHH"},
        {"p+pP,a,q", "NHH"},
        {"p+pq,a,p", "NHqQ"},
        {"p+p.+p", "NHH"},
        {"p+pP.+q", "NHH"},
        {"p+p.+q", "NHq"},
    };
    assert_cells(cells, ARRAY_SIZE(cells));
}

/* `1` and `2` begin an operation, `)` and `]` end it. */
static void while_an_operation_runs_there_is_no_rest(void **state)
{
    (void)state;
    static const struct cell cells[] = {
        /* the end is no earlier for another operation that ends meanwhile */
        {"p+p12].h..h)h", "NHyyy"},
        {"p+p12].)h,hp", "NHyyH"},
        {"p+p12).]h.hp", "NHy-N"},
        {"p+p1.2].)hp", "NHyH"},
        {"p+p1)2].h", "NH-"},
        /* what it waits for is deleted, removed, or left */
        {"p+p1.p)", "NHH"},
        {"p+p1.P)q", "NHH"},
        {"p+p1.q)h", "NHq-"},
        {"p+p1.e)h", "NH-"},
        {"p+p.1p+p)", "NHNH"}, /* it began after a rest */
        /* each operation is an event while deletes are held, and only then */
        {"p+p,1),1),p", "NHH"},
        {"p+pP,1),1),q", "NHH"},
        {"p+,1),p+p", "NNH"},
        {"p+pq,1),p+p", "NHqNH"},
        {"p+,1,p)", "NH"},
        {"p+pq1.p)", "NHqQ"},
        /* one that is not remembered, or was not when it began */
        {"1h)p+ph", "-NHy"},
        {"1p+p.h)h", "NH--"},
    };
    assert_cells(cells, ARRAY_SIZE(cells));
}

/* Its place has another number. */
static void an_operation_of_a_forgotten_process_does_not_count(void **state)
{
    (void)state;
    struct story story = new_story();
    assert_story(&story, "p+p1", "NH");
    for (story.process = 100; story.process < 100 + DELETE_POLICY_PROCESSES; story.process++)
        assert_story(&story, "p+", "N");
    story.process = RM;
    assert_story(&story, "h)p+p2)h.h]h", "-NHyyy");
    assert_story(&story, ".h", "-");
    delete_policy_destroy(story.policy);
}

/* `rm -r T U`: the second table is held as the first one. */
static void two_tables_one_after_the_other(void **state)
{
    (void)state;
    struct story story = new_story();
    assert_story(&story, "p+ppPqqQrre", "NHHHHHH");
    assert_story(&story, "uuUw", "HH");
    assert_story(&story, "pPqq", "HHH");
    delete_policy_destroy(story.policy);
}

static void each_process_has_a_state_of_its_own(void **state)
{
    (void)state;
    struct story rm = new_story(), find = {.policy = rm.policy, .process = FIND};
    assert_story(&rm, "p+p", "NH");
    assert_story(&find, "q+qQ", "NH");
    assert_story(&rm, "p", "H");
    assert_story(&find, "Pr", "H");
    assert_story(&rm, "q", "q");
    assert_story(&find, "r", "H");
    assert_story(&rm, "e", "");
    assert_story(&find, "p", "q");
    assert_story(&rm, "p", "H");
    delete_policy_destroy(rm.policy);
}

static void process_0_holds_nothing(void **state)
{
    (void)state;
    struct story story = new_story();
    story.process = 0;
    assert_story(&story, "p+p+Pq+e1q+hw)m", "NNNN-N");
    delete_policy_destroy(story.policy);
}

/* In its place another one begins in NONE, and it begins there again itself. */
static void the_65th_process_takes_the_place_of_one_that_holds(void **state)
{
    (void)state;
    struct story story = new_story();
    const uint64_t last = DELETE_POLICY_PROCESSES;
    for (story.process = 1; story.process <= last; story.process++)
        assert_story(&story, "p+pP", "NH");
    assert_int_equal(story.process, last + 1);
    assert_story(&story, "1Pep+p)m", "NHq");
    for (story.process = 2; story.process <= last; story.process++)
        assert_story(&story, "qm", "Hq");
    story.process = 1;
    assert_story(&story, "q+q", "NH");
    delete_policy_destroy(story.policy);
}

/* Was the partition `pear` removed with this range? */
static void assert_removes_pear(struct range range, bool is_removed)
{
    struct story story = new_story();
    const struct address pear = {"T", B("pear\0r")};
    assert_story(&story, "p+", "N");
    assert_int_equal(delete_one(&story, pear, true, true), 'H');
    remove_range(&story, "T", range);
    assert_int_equal(delete_one(&story, q, true, true), is_removed ? 'H' : 'q');
    delete_policy_destroy(story.policy);
}

static void a_directory_that_holds_all_of_p_removes_it(void **state)
{
    (void)state;
    static const struct {
        struct range range;
        bool is_removed;
    } cases[] = {
        {{B("pear\0"), B("pear\x01")}, true},
        {{B("p"), B("q")}, true},
        {{B("pear"), B("peas")}, true}, /* the prefix is the whole key */
        {{B("o"), B("\xff")}, true},
        {{B("pea\0"), B("pea\x01")}, false}, /* another partition */
        {{B("pears\0"), B("pears\x01")}, false},
        {{B("pears"), B("peart")}, false}, /* prefixes of others */
        {{B("a"), B("b")}, false},
        {{B("q"), B("r")}, false},
        {{B("pear\0a"), B("pear\0b")}, false}, /* directories in the partition */
        {{B("pear\0r"), B("pear\x01")}, false},
        {{B("pear\0"), B("pear\0s")}, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_removes_pear(cases[i].range, cases[i].is_removed);
}

/* `rm -r` of a table with prefixes: each partition is removed before the prefix above it. */
static void a_removed_prefix_changes_nothing_after_its_partition(void **state)
{
    (void)state;
    struct story story = new_story();
    assert_story(&story, "p+pPq", "NHH");
    remove_range(&story, "T", (struct range){B("p"), B("q")});
    assert_story(&story, "qQ", "H");
    remove_range(&story, "T", (struct range){B("q"), B("r")});
    assert_story(&story, "rm", "Hq");
    delete_policy_destroy(story.policy);
}

/* The n-th allocation of the last unlink fails; the state is OFF. False: it has fewer. */
static bool fails_at(long n, const char *events, const char *expected, struct address address,
                     char result)
{
    struct story story = new_story();
    assert_story(&story, events, expected);
    allocations_until_failure = n;
    char actual = delete_one(&story, address, true, true);
    bool has_failed = allocations_until_failure == 0;
    allocations_until_failure = 0;
    assert_int_equal(actual, has_failed ? result : 'H');
    assert_story(&story, "u", has_failed ? "Q" : "q");
    assert_story(&story, "ep", "H");
    delete_policy_destroy(story.policy);
    return has_failed;
}

static void without_memory_for_the_partition_it_is_off(void **state)
{
    (void)state;
    char key[500];
    memset(key, 'q', sizeof(key));
    key[sizeof(key) - 2] = '\0';
    const struct address longer = {"T", {key, sizeof(key)}}; /* p's memory is too small for it */
    long n = 1;
    while (fails_at(n, "p+", "N", p, 'Q'))
        n++;
    assert_in_range(n, 3, 20); /* one for its end, one for the copy, or more */
    n = 1;
    while (fails_at(n, "p+pP", "NH", longer, 'q'))
        n++;
    assert_in_range(n, 3, 20);
}

/* No key of the service is so long. */
static void a_partition_with_a_very_long_key_is_not_held(void **state)
{
    (void)state;
    static char key[10000];
    memset(key, 'q', sizeof(key));
    key[sizeof(key) - 2] = '\0';
    const struct address longest = {"T", {key, sizeof(key)}};
    struct story story = new_story();
    assert_story(&story, "p+", "N");
    assert_int_equal(delete_one(&story, longest, true, true), 'Q');
    assert_story(&story, "pepP", "QH");
    assert_int_equal(delete_one(&story, longest, true, true), 'q');
    assert_story(&story, "pp", "QQ");
    delete_policy_destroy(story.policy);
}

/* A process of its own, whose deletes are held, and one that all share. */
static void *delete_tables(void *argument)
{
    struct story *own = argument, shared = {.policy = own->policy, .process = RM};
    assert_story(own, "p+", "N");
    for (int i = 0; i < 3000; i++) {
        assert_story(own, "pPqQre", "HHH");
        for (const char *event = "1p+pPq2Q]re)"; *event; event++)
            (void)tell(&shared, *event);
    }
    return NULL;
}

static void threads_hold_at_once(void **state)
{
    (void)state;
    struct story stories[4], first = new_story();
    for (size_t i = 0; i < ARRAY_SIZE(stories); i++)
        stories[i] = (struct story){.policy = first.policy, .process = 100 + i};
    run_in_threads(ARRAY_SIZE(stories), delete_tables, stories, sizeof(stories[0]));
    assert_story(&first, "ep", "H");
    delete_policy_destroy(first.policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unlinks_in_none),
        cmocka_unit_test(unlinks_in_holding),
        cmocka_unit_test(unlinks_in_holding_after_a_failure),
        cmocka_unit_test(unlinks_in_off),
        cmocka_unit_test(other_events_in_each_state),
        cmocka_unit_test(a_rest_ends_the_state),
        cmocka_unit_test(while_an_operation_runs_there_is_no_rest),
        cmocka_unit_test(an_operation_of_a_forgotten_process_does_not_count),
        cmocka_unit_test(two_tables_one_after_the_other),
        cmocka_unit_test(each_process_has_a_state_of_its_own),
        cmocka_unit_test(process_0_holds_nothing),
        cmocka_unit_test(the_65th_process_takes_the_place_of_one_that_holds),
        cmocka_unit_test(a_directory_that_holds_all_of_p_removes_it),
        cmocka_unit_test(a_removed_prefix_changes_nothing_after_its_partition),
        cmocka_unit_test(without_memory_for_the_partition_it_is_off),
        cmocka_unit_test(a_partition_with_a_very_long_key_is_not_held),
        cmocka_unit_test(threads_hold_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
