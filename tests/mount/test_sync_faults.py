"""`tablefuse sync` where a service, other clients or the machine fail: it never deletes what FROM has, and the same command
again makes the tables equal."""
import json
import random
import signal
import subprocess

import pytest

from comparing import Synced, compared, is_equal, key_of, sync_command, synced, table_of
from harness import ABANDONED, CONFIGURATION, EXIT_SEC, NOT_FOUND, wait_until
from importing import imported, row, rows_of
from kill_switch import REQUESTS, KillSwitch

INTERRUPTED = 130
N = 600


def many(n=N, **members):
    return [row(f"p{i % 7}", f"{i:04}", A=i, **members) for i in range(n)]


def changed_table(rows, chance):
    """A TO for these rows: (rows, keys that FROM has not)."""
    kept = [each | ({"A": -1} if chance.random() < 0.3 else {}) for each in rows if chance.random() < 0.7]
    extra = [row(f"p{i % 9}", f"extra{i:03}") for i in range(max(5, len(rows) // 5))]
    return kept + extra


def sorted_rows(rows):
    return sorted(rows, key=key_of)


LOST = "lost=batch:/3,lost=write:/4,lost=delete:/5"


@pytest.mark.asan("lost=batch:/3,lost=write:/4,lost=delete:/5", "short=40,fail=query:/7:500:InternalError")
@pytest.mark.tsan("lost=batch:/3,lost=write:/4,lost=delete:/5")
@pytest.mark.parametrize(
    "faults",
    [
        LOST,
        "fail=batch:/4:503:ServerBusy,fail=query:/5:503:ServerBusy",
        "fail=batch:/3:0:,short=70,empty=1",
        "throttle=100:20",
        "short=40,fail=query:/7:500:InternalError",
    ],
)
def test_answers_that_are_lost_or_late(account, other, faults):
    name = f"late{len(faults)}"
    begin = table_of(account, name, many())
    end = table_of(other, name, changed_table(many(), random.Random(faults)))
    assert not compared(begin, end).code == 0
    done = synced(begin, end, "--delete", faults=faults)
    assert (done.code, done.conflicts, done.refused) == (0, 0, 0), done
    assert is_equal(begin, end)
    assert synced(begin, end, "--delete").made == (0, 0, 0)


def test_lost_answers_of_azurite(service, account):
    begin = table_of(account, "lost", many(200))
    end = table_of(service, "lost", changed_table(many(200), random.Random(3)))
    assert synced(begin, end, "--delete", faults=LOST).code == 0
    assert is_equal(begin, end)


@pytest.mark.asan
@pytest.mark.tsan
def test_rows_of_to_that_change_meanwhile(account, other):
    """They are read and compared again."""
    begin = table_of(account, "steady", many())
    for n, faults in enumerate(("changed=batch:/2:3", "gone=batch:/2:5", "changed=batch:/3:9,gone=batch:/2:4")):
        end = table_of(other, f"rivals{n}", [each | {"A": -1} for each in many()])
        done = synced(begin, end, faults=f"{faults},only=rivals{n}")
        assert done.code == 0 and done.conflicts > 0 and done.refused == 0, done
        assert done.made[0] + done.made[1] == N and is_equal(begin, end)


def test_a_row_that_changes_again_and_again(account, other):
    begin = table_of(account, "calm", many(50))
    end = table_of(other, "busy", [each | {"A": -1} for each in many(50)])
    done = synced(begin, end, faults="changed=batch:*:1,changed=write:*:1,only=busy")
    assert done.code == ABANDONED and done.refused > 0 and len(done.says) == done.refused, done
    assert done.made[1] + done.refused == 50
    assert all(": another client has changed the entity" in line for line in done.says)
    assert synced(begin, end).code == 0 and is_equal(begin, end)


def test_a_row_to_delete_that_changes_meanwhile(account, other):
    """Another version than the compared one stays."""
    begin = table_of(account, "little", [row("p", "a")])
    end = table_of(other, "grown", [row("p", f"{n:02}") for n in range(10)])
    done = synced(begin, end, "--delete", faults="changed=batch:1:4,only=grown")
    assert (done.code, done.made, done.conflicts, done.refused) == (ABANDONED, (1, 0, 9), 1, 1), done
    (left,) = [each for each in rows_of(*end) if each["RowKey"] != "a"]
    assert "Rival" in left


def test_from_gets_the_rows_meanwhile(account, other, tmp_path):
    """FROM is asked once more before anything is deleted there."""
    begin = table_of(account, "late", [row("p", "a")])
    end = table_of(other, "early", [row("p", f"{n:02}") for n in range(10)])
    held = tmp_path / "held"
    held.touch()
    words, env = sync_command(begin, end, "--delete", faults=f"hold=write:{held}")
    process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: (tmp_path / "held.held").exists())  # the insert of a: both scans are through
    assert imported(account, "late", [row("p", f"{n:02}", New=n) for n in range(0, 10, 2)]).code == 0
    held.unlink()
    out, says = process.communicate(timeout=EXIT_SEC)
    done = Synced(process.returncode, out, says)
    assert (done.code, done.made) == (0, (1, 0, 5)), done
    assert [each["RowKey"] for each in rows_of(*end)] == ["00", "02", "04", "06", "08", "a"]


@pytest.mark.parametrize(
    "fault", ["fail=query:{}+:403:AuthorizationFailure", "fail=query:{}+:404:ResourceNotFound", "dropped=query:{}"]
)
def test_a_from_that_fails_at_each_request_deletes_nothing_that_it_has(account, other, fault):
    """Of tables of a few rows, page by page."""
    rows = many(24)
    end = table_of(other, "kept", changed_table(rows, random.Random(8)))
    before = rows_of(*end)
    extra = {key_of(each) for each in before} - set(map(key_of, rows))
    for n in range(1, 100):
        begin = table_of(account, "fails", rows)
        assert imported(other, "kept", before).code == 0
        here = {key_of(each) for each in rows_of(*end)}
        done = synced(begin, end, "--delete", faults=f"short=4,{fault.format(n)},only=fails")
        left = {key_of(each) for each in rows_of(*end)}
        assert left >= here - extra, done
        if done.code == 0:
            break
        assert left >= extra or done.made[2] > 0, done  # what FROM was asked for before it has failed
        assert done.code in (CONFIGURATION, NOT_FOUND, 3) and "local:" in done.says[-1], done
    assert n > 8 and is_equal(begin, end) and left == set(map(key_of, rows))


@pytest.mark.asan
@pytest.mark.tsan
def test_a_to_that_fails(account, other):
    begin = table_of(account, "good", many())
    end = table_of(other, "refusing", changed_table(many(), random.Random(2)))
    before = rows_of(*end)
    done = synced(begin, end, "--delete", faults="fail=batch:*:403:AuthorizationFailure,only=refusing")
    assert done.code == CONFIGURATION and done.made == (0, 0, 0) and rows_of(*end) == before
    assert done.says[-1].startswith(f"{other.source}: ")
    done = synced(begin, end, "--delete", faults="dropped=batch:2,latency=5,only=refusing")
    assert done.code == NOT_FOUND and "has no table refusing" in done.says[-1]
    assert synced(begin, end, "--create", "--delete").code == 0 and is_equal(begin, end)


def killed(begin, end, switch, number):
    """Is it killed? It sends its number-th request, and ends before the answer, or before the request is sent."""
    for point in (switch._REQUEST, switch._ANSWER):
        switch.arm(REQUESTS, point, number)
        words, env = sync_command(begin, end, "--delete", faults="short=5", **switch.environment)
        code = subprocess.run(words, env=env, stderr=subprocess.DEVNULL, timeout=EXIT_SEC, check=False).returncode
        yield code == -signal.SIGKILL


def test_killed_at_each_request(account, other, tmp_path):
    """Run again, it makes the same table."""
    rows, switch = many(15), KillSwitch(tmp_path / "switch")
    to = changed_table(rows, random.Random(1))
    begin = table_of(account, "killing", rows)
    for number in range(1, 100):
        end = table_of(other, f"killed{number}", to)
        is_killed = list(killed(begin, end, switch, number))
        here = {key_of(each): each for each in rows_of(*end)}
        assert all(here.get(key_of(each)) in (each, None) or each in rows or each in to for each in here.values())
        done = synced(begin, end, "--delete")
        assert done.code == 0 and is_equal(begin, end) and synced(begin, end, "--delete").made == (0, 0, 0)
        if not any(is_killed):
            break
    assert number > 12


def test_killed_at_random(account, other):
    chance = random.Random(4)
    begin = table_of(account, "random", many(2000))
    end = table_of(other, "random", changed_table(many(2000), chance))
    for _ in range(8):
        words, env = sync_command(begin, end, "--delete", faults=f"latency=15,short=100,{LOST}")
        process = subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=chance.uniform(0.05, 1))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=EXIT_SEC)
        assert {json.dumps(each) for each in rows_of(*begin)} >= {
            json.dumps(each) for each in rows_of(*end) if each.get("A", -1) >= 0
        }
    assert synced(begin, end, "--delete").code == 0
    assert sorted_rows(rows_of(*end)) == sorted_rows(many(2000))


@pytest.mark.asan
@pytest.mark.tsan
def test_an_interrupt(account, other):
    """It reads no more, waits for what is out, counts, and deletes nothing."""
    begin = table_of(account, "stopped", many(3000))
    for number in (signal.SIGINT, signal.SIGTERM):
        end = table_of(other, f"stopped{number}", [row("z", f"{n:03}") for n in range(10)])
        words, env = sync_command(begin, end, "--delete", faults="short=200,hang=query:10,only=stopped")
        process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: len(rows_of(*end)) > 10)
        process.send_signal(number)
        out, says = process.communicate(timeout=EXIT_SEC)
        done = Synced(process.returncode, out, says)
        assert (done.code, done.says, done.made[1:]) == (INTERRUPTED, [], (0, 0)), done
        assert len(rows_of(*end)) == 10 + done.made[0] < 3010


def test_other_writers(account, other):
    """Both tables are written to meanwhile; when that has ended, one more sync makes them equal."""
    begin = table_of(account, "shared", many())
    end = table_of(other, "shared", changed_table(many(), random.Random(6)))
    for n in range(4):
        words, env = sync_command(begin, end, "--delete", faults="latency=10,short=50")
        process = subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True)
        chance = random.Random(n)
        while process.poll() is None:
            for where in (account, other):
                some = [row(f"p{chance.randrange(9)}", f"{chance.randrange(N):04}", B=chance.randrange(9)) for _ in range(20)]
                assert imported(where, "shared", some).code == 0
        says = process.communicate(timeout=EXIT_SEC)[1]
        assert process.returncode in (0, ABANDONED), says
    assert synced(begin, end, "--delete").code == 0
    assert is_equal(begin, end) and rows_of(*begin) == rows_of(*end)


def test_a_row_that_from_loses_while_it_is_compared_again(account, other, tmp_path):
    """The row stays, and is named. What FROM has got meanwhile is not deleted for it."""
    begin, end, held = (account, "lagging"), (other, "lagging"), tmp_path / "held"
    for where, rows in (
        (begin, [row("p", "a", A=1), row("p", "b", A=1)]),
        (end, [row("p", "a", A=1), row("p", "b", A=-1), row("p", "y", A=1), row("p", "z", A=1)]),
    ):
        assert imported(*where, rows, "--create").code == 0
    held.touch()
    words, env = sync_command(begin, end, "--delete", faults=f"hold=write:{held}")
    syncing = subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True)
    wait_until(held.with_name("held.held").exists, what="the replace of b")
    assert imported(*begin, [row("p", "b")], "--mode=delete", "--any-version").code == 0
    assert imported(*begin, [row("p", "z", New=1)]).code == 0
    assert imported(*end, [row("p", "b", Other=1)]).code == 0
    held.unlink()
    says = syncing.communicate(timeout=EXIT_SEC)[1]
    assert syncing.returncode == ABANDONED and "p/b.json: FROM has lost it meanwhile -- run it again" in says
    assert [key_of(each)[1] for each in rows_of(*end)] == ["a", "b", "z"], "y is deleted"
    assert synced(begin, end, "--delete").made == (0, 1, 1) and is_equal(begin, end)
