"""`tablefuse import` where the service, other clients or the machine fail: counts are exact, and nothing is lost."""
import contextlib
import itertools
import json
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from comparing import is_equal
from harness import ABANDONED, COMMAND_SEC, CONFIGURATION, EXIT_SEC, FAULTY, MOUNTING, NOT_FOUND
from harness import LocalAccount, environment, run, wait_until
from importing import Done, command, imported, lines_of, row, rows_of
from kill_switch import REQUESTS, KillSwitch
from test_export import export, source

INTERRUPTED = 130
PARTITIONS, ROWS = 40, 60


def many(value=0):
    return [row(f"p{p:02}", f"{n:03}", A=value + n, B="x" * 100) for p in range(PARTITIONS) for n in range(ROWS)]


N = PARTITIONS * ROWS
LOST = "lost=batch:/3"
BURSTS = "fail=batch:/9:503:ServerBusy,fail=batch:5:503:ServerBusy,fail=batch:6:503:ServerBusy,fail=batch:7:500:InternalError"


@pytest.mark.tsan("replace-lost=batch:/3")
@pytest.mark.parametrize(
    "mode, faults",
    [
        ("replace", LOST),
        ("merge", BURSTS),
        ("insert", f"{LOST},{BURSTS}"),
        ("insert", "fail=batch:/3:0:,short=7,empty=1"),
        ("replace", "throttle=100:20"),
    ],
)
def test_answers_that_are_lost_or_late(account, mode, faults):
    table = f"late{mode}{len(faults)}"
    assert imported(account, table, many(), "--create", f"--mode={mode}", faults=faults).counts == (0, N, N, 0)
    assert rows_of(account, table) == many()
    keys = export(account, table, "--keys")
    assert imported(account, table, keys, "--mode=delete", faults=faults).counts == (0, N, N, 0)
    assert rows_of(account, table) == []


def test_lost_answers_of_azurite(service):
    rows = [row(f"p{n // 60}", f"{n % 60:03}", A=n) for n in range(600)]
    for mode in ("insert", "merge", "replace"):
        assert imported(service, "lost", rows, "--create", f"--mode={mode}", faults=LOST).counts == (0, 600, 600, 0)
        assert rows_of(service, "lost") == rows
    keys = export(service, "lost", "--keys")
    assert imported(service, "lost", keys, "--mode=delete", faults=LOST).counts == (0, 600, 600, 0)
    assert rows_of(service, "lost") == []


def test_answers_that_are_lost_in_random_order(account):
    chance = random.Random(5)
    rows = [row(f"p{chance.randrange(9)}", str(chance.randrange(50)), A=n) for n in range(3000)]
    assert imported(account, "mixed", rows, "--create", faults=f"{LOST},{BURSTS}").counts == (0, 3000, 3000, 0)
    last = {(each["PartitionKey"], each["RowKey"]): each for each in rows}
    assert rows_of(account, "mixed") == [last[key] for key in sorted(last)]


def test_rows_that_change_meanwhile(account, tmp_path):
    assert imported(account, "rivals", many(), "--create").code == 0
    given = [json.loads(line) | {"A": -1} for line in export(account, "rivals", "--etag").splitlines()]
    file = tmp_path / "refused"
    done = imported(
        account, "rivals", given, f"--refused={file}", faults="changed=batch:/10:7,gone=batch:/8:9,only=rivals"
    )
    refused = [json.loads(line) for line in file.read_text().splitlines()]
    assert done.code == ABANDONED and done.refused == len(refused) == len(done.lines) > 0
    assert done.stored == N - done.refused
    keys = {(each["PartitionKey"], each["RowKey"]) for each in refused}
    now = {(each["PartitionKey"], each["RowKey"]): each for each in rows_of(account, "rivals")}
    for each in given:
        key = each["PartitionKey"], each["RowKey"]
        assert (key in keys) == (key not in now or now[key]["A"] != -1)


@pytest.mark.asan
@pytest.mark.tsan
def test_inserts_among_others(account):
    """Every 30th row of a table is there already, with this text or another one."""
    between = [row("p", f"{n:05}", A=0) for n in range(3000)]
    mine = [row("p", f"{n:05}", A=1) for n in range(0, 3000, 30)]
    mine[::2] = [each | {"A": 0} for each in mine[::2]]
    assert imported(account, "sparse", between, "--create").code == 0
    assert imported(account, "sparse", mine, "--mode=insert", faults="short=10,empty=1").counts == (ABANDONED, 100, 50, 50)
    assert rows_of(account, "sparse") == between


def test_a_table_that_is_dropped(account):
    done = imported(account, "dropped", many(), "--create", faults="dropped=batch:3,only=dropped,latency=5")
    assert done.code == NOT_FOUND and "has no table dropped" in done.lines[-1]
    assert done.read > 0 and done.stored + done.left == done.read and done.refused == 0


def test_a_credential_that_is_refused(account):
    done = imported(account, "refused", many(), "--create", faults="fail=batch:*:403:AuthorizationFailure")
    assert (done.code, done.stored, done.refused) == (CONFIGURATION, 0, 0)
    assert done.requests < 25 and len(done.lines) == 1


@pytest.mark.asan
@pytest.mark.tsan
def test_a_full_disk(small):
    """Nothing is lost: with more room, the same command stores the rest."""
    directory = small("3M")
    where = LocalAccount(directory / "account")
    rows = [each | {"C": "x" * 2000} for each in many()]
    for arguments in (["--create"], []):
        done = imported(where, "full", rows, *arguments)
        assert (done.code, done.refused) == (MOUNTING, 0) and done.stored + done.left == done.read
        assert done.lines[-1].endswith("-- make room on the file system that holds the account's file")
    assert 0 < len(rows_of(where, "full")) < N
    run("mount", "-o", "remount,size=64M", directory)
    assert imported(where, "full", rows).counts == (0, N, N, 0)
    assert rows_of(where, "full") == rows


@pytest.mark.asan
@pytest.mark.tsan
def test_a_disk_without_room_for_an_account(small):
    done = imported(LocalAccount(small("8K") / "account"), "full", many(), "--create")
    assert (done.code, done.read) == (MOUNTING, None) and done.lines[-1].endswith("the account's file")


@pytest.mark.tsan
def test_a_service_that_stays_away(account, tmp_path):
    down = tmp_path / "down"
    words, env, where = command(account, "away", "--create", "-o", "timeout=2", faults=f"latency=20,down={down}")
    process = subprocess.Popen([*words, where], env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    down_after(process, account, down)
    done = Done(process.wait(timeout=EXIT_SEC), process.stderr.read().decode())
    assert done.code == CONFIGURATION and done.lines[-1].endswith(": the connection was refused") and done.left > 0
    assert done.stored + done.left == done.read
    assert len(rows_of(account, "away")) >= done.stored
    down.unlink()
    assert imported(account, "away", many()).counts == (0, N, N, 0)
    assert rows_of(account, "away") == many()


def down_after(process, account, down):
    """The service goes when a part of the rows is stored; the others are written afterwards."""
    process.stdin.write(lines_of(many()[: N // 2]).encode())
    process.stdin.flush()
    wait_until(lambda: len(rows_of_if_there(account, "away")) > 0)
    down.touch()
    with contextlib.suppress(BrokenPipeError):  # it may have given up before
        process.stdin.write(lines_of(many()[N // 2 :]).encode())
        process.stdin.close()


def rows_of_if_there(account, table):
    try:
        return rows_of(account, table)
    except AssertionError:
        return []


@pytest.mark.tsan
def test_a_service_that_comes_back(account, tmp_path):
    down = tmp_path / "down"
    words, env, where = command(account, "away", "--mode=merge", faults=f"latency=20,down={down}")
    process = subprocess.Popen([*words, where], env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    down_after(process, account, down)
    time.sleep(1)
    down.unlink()
    done = Done(process.wait(timeout=EXIT_SEC), process.stderr.read().decode())
    assert done.counts == (0, N, N, 0)
    assert rows_of(account, "away") == many()


@pytest.mark.parametrize("mode", ["replace", "merge", "insert"])
def test_killed_and_run_again(account, tmp_path, mode):
    """Killed at any moment, the same command again makes the same table."""
    table, chance = f"killed{mode}", random.Random(mode)
    file = tmp_path / "rows"
    file.write_text(lines_of(many()))
    for _ in range(5):
        words, env, where = command(account, table, "--create", f"--mode={mode}", faults=f"latency=20,{LOST}")
        with open(file, "rb") as given:
            process = subprocess.Popen([*words, where], env=env, stdin=given, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.05, 0.6))
        process.kill()
        process.wait(timeout=EXIT_SEC)
        assert {json.dumps(each) for each in rows_of_if_there(account, table)} <= {json.dumps(each) for each in many()}
    assert imported(account, table, file.read_text(), "--create", f"--mode={mode}").counts == (0, N, N, 0)
    assert rows_of(account, table) == many()


FEW = [row(f"p{p}", str(n), A=n) for p in range(4) for n in range(3)]


def begin_table(where, table, mode):
    """What an import of this mode finds. Its input, and the rows that it leaves."""
    if mode == "insert":
        return lines_of(FEW), FEW
    assert imported(where, table, FEW, "--create").code == 0
    if mode == "delete":
        return export(where, table, "--keys"), []
    return export(where, table, "--etag").replace('"A":', '"A":-1,"B":'), [each | {"B": each["A"], "A": -1} for each in FEW]


MODES = ["insert", "replace", "merge", "delete"]
EACH = [("local", mode) for mode in MODES] + [("azurite", mode) for mode in MODES[:2]]


@pytest.mark.parametrize("point", ["request", "answer"])
@pytest.mark.parametrize("service, mode", EACH, indirect=["service"])
def test_killed_at_each_request(service, tmp_path, mode, point):
    """Before it is sent, or before its answer is read. Then the same command makes the same table."""
    switch = KillSwitch(tmp_path / "switch")
    for limit in itertools.count(1):
        table = f"each{mode}{point}{limit}"
        given, expected = begin_table(service, table, mode)
        switch.arm(REQUESTS, {"request": 2, "answer": 3}[point], limit)
        words = f"--mode={mode}", "--create"
        done = imported(service, table, given, *words, faults="latency=0", credentials=switch.environment)
        if done.code == 0:
            break
        assert done.code == -signal.SIGKILL
        assert imported(service, table, given, *words).counts == (0, len(FEW), len(FEW), 0)
        assert rows_of(service, table) == expected
    assert limit > 5 and rows_of(service, table) == expected  # the table, and a batch for each partition


COPY_PART = '"$PROGRAM" export --quiet "$FROM" {} | "$PROGRAM" import --quiet "$TO"'
SIDE_BY_SIDE = {  # a command, and its exit code if one part fails
    "xargs": (["xargs", "-P", "4", "-I", "{}", "bash", "-o", "pipefail", "-c", COPY_PART], 123),
    "parallel": (["parallel", "-j", "4", "--joblog", "LOG", "--resume-failed", f"set -o pipefail; {COPY_PART}"], 1),
}


@pytest.mark.parametrize("limit", [2, 25])
@pytest.mark.parametrize("program", SIDE_BY_SIDE)
def test_one_of_several_is_killed(account, other, tmp_path, program, limit):
    """Prefixes are copied side by side. The export or import that comes to this request is killed; the same command again
    makes the same table."""
    table, switch = f"parts{program}{limit}", KillSwitch(tmp_path / "switch")
    words, failed = SIDE_BY_SIDE[program]
    words = [word.replace("LOG", str(tmp_path / "log")) for word in words]
    parts = "".join(f"{year}+\n" for year in sorted({each["PartitionKey"][:4] for each in rows_of(account, "dates")}))
    assert parts.count("\n") > 4
    assert imported(other, table, [], "--create").code == 0
    env = environment(
        PROGRAM=FAULTY,
        FROM=source(account, "dates"),
        TO=source(other, table),
        HOME=str(tmp_path),
        PARALLEL_SHELL="/bin/bash",
        **switch.environment,
    )
    switch.arm(REQUESTS, 2, limit)
    for code in (failed, 0):
        done = subprocess.run(words, env=env, input=parts, text=True, capture_output=True, timeout=COMMAND_SEC, check=False)
        assert done.returncode == code, done
    assert is_equal((account, "dates"), (other, table))


def test_an_interrupt_while_nothing_is_sent(account):
    words, env, where = command(account, "dry", "--dry-run")
    process = subprocess.Popen([*words, where], env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(lines_of(many()).encode())
    process.stdin.flush()
    wait_until(lambda: blocks_interrupts(process.pid))
    process.send_signal(signal.SIGINT)
    done = Done(process.wait(timeout=EXIT_SEC), process.stderr.read().decode())
    process.stdin.close()
    assert done.code == INTERRUPTED and done.stored == done.read


@pytest.mark.asan("cat /dev/zero")
@pytest.mark.tsan("cat /dev/zero")
@pytest.mark.parametrize("words", ["cat /dev/zero", "yes ,"])
def test_an_interrupt_of_input_without_objects(account, words):
    with subprocess.Popen(["sh", "-c", f"exec {words}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as given:
        arguments, env, where = command(account, "endless", "--quiet", "--dry-run")
        process = subprocess.Popen([*arguments, where], env=env, stdin=given.stdout, stderr=subprocess.DEVNULL)
        given.stdout.close()
        wait_until(lambda: blocks_interrupts(process.pid))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=EXIT_SEC) == INTERRUPTED


def blocks_interrupts(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        blocked = re.search(r"SigBlk:\s*(\w+)", status.read())[1]
    return bool(int(blocked, 16) >> (signal.SIGINT - 1) & 1)


@pytest.mark.tsan("2")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt(account, number):
    """It reads no more, waits for what is out, and counts."""
    table = f"interrupted{number}"
    words, env, where = command(account, table, "--create", faults="latency=50")
    process = subprocess.Popen([*words, where], env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(lines_of(many()).encode())
    process.stdin.flush()
    wait_until(lambda: len(rows_of_if_there(account, table)) > 0)
    process.send_signal(number)
    done = Done(process.wait(timeout=EXIT_SEC), process.stderr.read().decode())
    process.stdin.close()
    assert (done.code, done.refused, done.lines) == (INTERRUPTED, 0, [])
    assert len(rows_of(account, table)) == done.stored > 0 and done.stored + done.left == done.read


def test_input_that_is_slow_is_stored(account):
    """Its pauses are shorter than a second, and add up."""
    words, env, where = command(account, "slow", "--create")
    process = subprocess.Popen([*words, where], env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    for each in many()[:600]:
        process.stdin.write(lines_of([each]).encode())
        process.stdin.flush()
        time.sleep(0.1)
        if rows_of_if_there(account, "slow"):
            break
    assert rows_of_if_there(account, "slow")
    process.stdin.close()
    assert Done(process.wait(timeout=EXIT_SEC), process.stderr.read().decode()).code == 0


STEADY = """
import sys, time
for n in range(6000):
    print('{"PartitionKey":"p%s","RowKey":"r"}' % n, flush=True)
    time.sleep(0.01)
"""


@pytest.mark.asan
def test_input_that_is_slow_and_steady_is_stored(account):
    """It never pauses for as long as one look at it takes."""
    words, env, where = command(account, "steady", "--create")
    with subprocess.Popen([sys.executable, "-c", STEADY], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as given:
        with subprocess.Popen([*words, where], env=env, stdin=given.stdout, stderr=subprocess.PIPE) as process:
            given.stdout.close()
            wait_until(lambda: rows_of_if_there(account, "steady"))
            assert given.poll() is None
            process.send_signal(signal.SIGINT)  # is noticed, too
            assert process.wait(timeout=EXIT_SEC) == INTERRUPTED


def test_input_that_pauses_is_stored(account):
    """What waits is sent when nothing comes for a second."""
    words, env, where = command(account, "pauses", "--create")
    process = subprocess.Popen([*words, where], env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(lines_of(many()[:5]).encode())
    process.stdin.flush()
    wait_until(lambda: len(rows_of_if_there(account, "pauses")) == 5)
    process.stdin.close()
    assert Done(process.wait(timeout=EXIT_SEC), process.stderr.read().decode()).counts == (0, 5, 5, 0)
