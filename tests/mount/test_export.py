"""`tablefuse export`, `count` and `tables`: whole tables as lines, without a mount."""
import contextlib
import fcntl
import json
import os
import pathlib
import random
import re
import select
import signal
import socket
import subprocess

import pytest

import samples
from expected import entities_of, partition_name, utf16_order
from harness import ABANDONED, BOTH_SERVICES, COMMAND_SEC, CONFIGURATION, EXIT_SEC, FAULTY, MOUNTING, NOT_FOUND
from harness import TABLEFUSE, USAGE, LocalAccount, environment, run, wait_until
from servers import Spoiler
from terminal import at_terminal

INTERRUPTED = 130
ROWS, AZURITE_ROWS = 5000, 1500  # more than a page; Azurite takes a batch for each partition


def tablefuse(service, *arguments, faults=None, check=True, credentials=None, **options):
    extra = {"TABLEFUSE_FAULTS": faults} if faults else {}
    env = environment(**(service.credentials if credentials is None else credentials), **extra)
    return run(FAULTY if faults else TABLEFUSE, *arguments, check=check, env=env, **options)


def source(service, table):
    return f"{getattr(service, 'source', None) or service.endpoint}/{table}"


def export(service, table, *arguments, **options):
    return tablefuse(service, "export", "--quiet", source(service, table), *arguments, **options).stdout


def refused(service, *arguments, **options):
    failed = tablefuse(service, *arguments, check=False, **options)
    return failed.returncode, failed.stderr


def count(service, table, *arguments):
    return tablefuse(service, "count", source(service, table), *arguments).stdout


def keys_of(lines):
    return [(row["PartitionKey"], row["RowKey"]) for row in map(json.loads, lines)]


def rows_at(service):
    return ROWS if isinstance(service, LocalAccount) else AZURITE_ROWS


def in_order(keys):
    return sorted(keys, key=lambda pair: tuple(map(utf16_order, pair)))


@pytest.fixture(scope="module")
def dates(service):
    service.fill("dates", "dates", str(rows_at(service)))
    return "dates"


def untyped(entities):
    """The SDK's answers leave out the type of a Double that has a point."""
    return {
        key: {name: value for name, value in members.items() if value != "Edm.Double"}
        for key, members in entities.items()
    }


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_an_export_is_what_is_stored(service, dates, stored):
    lines = export(service, dates).splitlines(keepends=True)
    assert untyped(entities_of(lines)) == untyped(stored(dates))
    assert keys_of(lines) == in_order(keys_of(lines)) and len(lines) == rows_at(service)
    assert not any("odata.etag" in line or "Timestamp" in line for line in lines)
    partitions = len({p for p, _ in keys_of(lines)})
    assert count(service, dates) == f"entities {len(lines)}\npartitions {partitions}\n"
    assert tablefuse(service, "tables", source(service, "")[:-1]).stdout == "dates\n"


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_keys_etags_and_timestamps(service, dates):
    whole = [json.loads(line) for line in export(service, dates, "--etag", "--timestamp").splitlines()]
    keys = [json.loads(line) for line in export(service, dates, "--keys").splitlines()]
    assert [{**row, "odata.select": True} for row in keys] == keys
    members = ("PartitionKey", "RowKey", "odata.etag")
    assert [[row[name] for name in members] for row in keys] == [[row[name] for name in members] for row in whole]
    assert all(re.fullmatch(r"W/\"datetime'.*Z'\"", row["odata.etag"]) for row in keys)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", row["Timestamp"]) for row in whole)


def test_lines_are_the_files_texts(mounts, service, sdk):
    """Of every type and awkward key: the text of the file without line breaks and blanks."""
    rows = [{"partitionKey": key, "rowKey": key, "N": 1} for key in samples.KEYS]
    sdk.create_table("awkward", [*rows, {"partitionKey": "types", "rowKey": "r", **samples.ALL_TYPES}])
    mount = mounts()
    texts = [path.read_text() for path in (mount / "awkward" / ".flat").glob("*/*")]
    member = re.compile(r'  ("(?:[^"\\]|\\.)*"): (.*)')

    def on_one_line(text):
        return "{" + "".join(f"{name}:{rest}" for name, rest in member.findall(text)) + "}"

    lines = export(service, "awkward").splitlines()
    assert sorted(lines) == sorted(map(on_one_line, texts)) and len(lines) == len(rows) + 1
    assert keys_of(lines) == in_order(keys_of(lines))


@pytest.mark.asan
def test_a_directory_is_spelled_as_in_the_tree(mounts, account, scratch):
    whole = export(account, "dates").splitlines()
    mount = mounts("fanout=16", source=account.source)
    parts = []
    names = os.listdir(mount / "dates")
    assert all(name.endswith("+") for name in names) and len(names) > 1
    for name in names:
        lines = export(account, "dates", name).splitlines()
        assert count(account, "dates", name).startswith(f"entities {len(lines)}\n")
        parts += lines
    assert sorted(parts) == sorted(whole)
    day, row = keys_of(whole)[len(whole) // 2]
    of_day = [line for line in whole if json.loads(line)["PartitionKey"] == day]
    hours = row[:2]
    for path in (day, f"/{day}/", f"./.flat/{day}", f"{day[:3]}+/{day}"):
        assert export(account, "dates", path).splitlines() == of_day
    of_hour = [line for line in of_day if json.loads(line)["RowKey"].startswith(hours)]
    assert export(account, "dates", f"{partition_name(day)}/{hours}+").splitlines() == of_hour
    for path, reason in (
        ("nothing", "no entity is in it"),
        ("nothing+", "no entity is in it"),
        (f"{day}/{row}.json", "it is not a directory"),
        (".tablefuse", "it is not a directory"),
        ("#zz", "no directory can have this name"),
    ):
        code, says = refused(account, "export", source(account, "dates"), path)
        assert (code, says) == (NOT_FOUND, f"tablefuse: {path}: {reason}\n")


@pytest.mark.parametrize(
    "faults",
    [
        "fail=query:/3:503:ServerBusy",
        "fail=query:/4:0:",
        "short=7",
        "empty=3",
        "short=900,empty=1,fail=query:/5:500:InternalError",
    ],
)
def test_faults_lose_nothing(account, faults):
    rows = 500 if faults == "short=7" else ROWS
    where = ["2015+"] if rows < ROWS else []
    whole = export(account, "dates", *where)
    assert export(account, "dates", *where, faults=faults) == whole
    assert whole.count("\n") > 100


def requests_of(run):
    return re.search(r"([0-9,]+) requests", run.stderr)[1]


def test_a_busy_service_is_not_asked_twice_for_the_table(account):
    account.write("blank", [])
    words = ("export", source(account, "blank"))
    whole, busy = (tablefuse(account, *words, faults=f"{rule}only=blank") for rule in ("", "fail=query:1:503:ServerBusy,"))
    assert busy.stdout == whole.stdout and requests_of(busy) == requests_of(whole)
    code, said = refused(account, "export", source(account, "nothere"), faults="fail=query:1:503:ServerBusy")
    assert code == NOT_FOUND and "nothere" in said and "503" not in said


def test_requests(account):
    says = tablefuse(account, "export", source(account, "dates"), faults="latency=20").stderr
    assert re.fullmatch(r"tablefuse: 5,000 entities, [\d.]+ MB, \d+ requests, [\d.]+ s\n", says)
    assert int(re.search(r"(\d+) requests", says)[1]) <= 1.25 * ROWS / 1000 + 20


@pytest.mark.asan
@pytest.mark.tsan
def test_a_service_that_is_gone_is_told(account, scratch):
    down = scratch / "down"
    down.touch()
    code, says = refused(account, "count", "-o", "timeout=1", source(account, "dates"), faults=f"down={down}")
    assert code == CONFIGURATION or code == 4
    assert says.startswith("tablefuse: ") and says.count("\n") == 1


def test_a_table_that_is_dropped_meanwhile(account, scratch):
    account.fill("gone", "dates", "5000")
    code, says = refused(account, "export", source(account, "gone"), faults="short=100,dropped=query:5,only=gone")
    assert code == NOT_FOUND and "has no table gone" in says


def start(account, *arguments, faults="latency=10,short=100", **options):
    return subprocess.Popen(
        [FAULTY, "export", *arguments], env=environment(TABLEFUSE_FAULTS=faults), **options
    )


def ends_inside_a_line(path):
    return path.exists() and path.read_bytes()[-1:] not in (b"", b"\n")


@pytest.mark.asan
@pytest.mark.tsan
def test_an_interrupted_export_is_resumed(account, tmp_path):
    """Killed at any moment, again and again, it is the same file in the end."""
    whole = export(account, "dates").encode()
    file, partial = tmp_path / "file", tmp_path / "file.partial"
    chance = random.Random(42)
    for _ in range(15):
        was_torn = ends_inside_a_line(partial)
        process = start(
            account, "--quiet", "--output", file, "--resume", source(account, "dates"), stderr=subprocess.DEVNULL
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=chance.uniform(0.05, 0.6))
        number = chance.choice((signal.SIGKILL, signal.SIGINT, signal.SIGTERM))
        process.send_signal(number)
        code = process.wait(timeout=EXIT_SEC)
        assert code in (0, -number, INTERRUPTED)  # -number also before it begins to look for signals
        if code == INTERRUPTED and not was_torn:  # it may end before it cuts off the torn line
            assert not ends_inside_a_line(partial)
        if partial.exists() and chance.random() < 0.5:  # a machine that lost its power
            os.truncate(partial, int(partial.stat().st_size * chance.uniform(0.5, 1)))
        if partial.exists():
            assert whole.startswith(partial.read_bytes())
    tablefuse(account, "export", "--output", file, "--resume", source(account, "dates"))
    assert file.read_bytes() == whole and not partial.exists()


def is_locked(path):
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.mark.asan
@pytest.mark.tsan
def test_an_interrupt_while_it_looks_for_the_last_entity(account, tmp_path):
    """The one request between the check of the file and the first line."""
    first = export(account, "dates").splitlines(keepends=True)[0]
    partial = tmp_path / "file.partial"
    partial.write_text(first)
    arguments = ("--output", tmp_path / "file", "--resume", source(account, "dates"))
    process = start(account, *arguments, faults="hang=query:2", stderr=subprocess.PIPE, text=True)
    wait_until(lambda: is_locked(partial))
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=EXIT_SEC)[1] == "" and process.returncode == INTERRUPTED
    assert partial.read_text() == first


@pytest.mark.asan
@pytest.mark.tsan
def test_a_file_appears_when_it_is_whole(account, tmp_path):
    file = tmp_path / "file"
    file.write_text("earlier\n")
    faults = "short=100,hang=query:5+"  # it goes on until it is interrupted
    process = start(account, "--output", file, source(account, "dates"), faults=faults, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: (tmp_path / "file.partial").exists())
    other = refused(account, "export", "--output", file, source(account, "dates"))
    assert other == (MOUNTING, f"tablefuse: cannot write {file}: another process writes FILE.partial\n")
    process.send_signal(signal.SIGINT)
    says = process.communicate(timeout=EXIT_SEC)[1]
    assert process.returncode == INTERRUPTED and file.read_text() == "earlier\n"
    assert says.endswith(f"tablefuse: what was written is in {file}.partial -- --resume goes on\n")
    tablefuse(account, "export", "--output", file, source(account, "dates"))
    assert file.read_text() == export(account, "dates") and os.listdir(tmp_path) == ["file"]


@pytest.mark.asan("no JSON", "{\"PartitionKey\":\"2015-01-01\"}")
@pytest.mark.tsan("no JSON", "{\"PartitionKey\":\"2015-01-01\"}")
@pytest.mark.parametrize("line", ['{"PartitionKey":"p","RowKey":"r"}', "no JSON", '{"PartitionKey":"2015-01-01"}', "[]"])
def test_another_exports_file_is_not_resumed(account, tmp_path, line):
    (tmp_path / "file.partial").write_text(f"{line}\n")
    again = refused(account, "export", "--output", tmp_path / "file", "--resume", source(account, "dates"), "2015-01+")
    assert again == (
        CONFIGURATION,
        f"tablefuse: {tmp_path}/file.partial is of another export: its last line does not belong to this one -- "
        "remove it, or leave out --resume\n",
    )
    assert (tmp_path / "file.partial").read_text() == f"{line}\n"


def test_an_export_of_another_table_is_not_resumed(account, tmp_path):
    account.fill("other", "ticks", "50")
    (tmp_path / "file.partial").write_text("".join(export(account, "dates").splitlines(keepends=True)[:10]))
    again = refused(account, "export", "--output", tmp_path / "file", "--resume", source(account, "other"))
    assert again[0] == CONFIGURATION and "of another export" in again[1]


@pytest.mark.asan
@pytest.mark.tsan
def test_an_export_in_another_form_is_not_resumed(account, tmp_path):
    (tmp_path / "file.partial").write_text(export(account, "dates", "2015-01-01"))
    for flag in ("--keys", "--etag", "--timestamp"):
        again = refused(account, "export", flag, "--output", tmp_path / "file", "--resume", source(account, "dates"))
        assert again[0] == CONFIGURATION and "of another export" in again[1]


@pytest.mark.asan
@pytest.mark.tsan
def test_outputs_that_fail(account, tmp_path):
    with open("/dev/full", "w") as full:
        failed = subprocess.run(
            [TABLEFUSE, "export", source(account, "dates")], stdout=full, stderr=subprocess.PIPE, text=True,
            env=environment(), timeout=COMMAND_SEC, check=False,
        )
    assert failed.returncode == MOUNTING
    assert failed.stderr.startswith("tablefuse: 0 entities, 0 B, ")
    assert failed.stderr.endswith("tablefuse: cannot write the output: No space left on device\n")
    for file, why in (
        (tmp_path, "Is a directory"),
        ("/dev/null", "it is no regular file -- write to standard output"),
        (tmp_path / "no/file", "No such file or directory"),
    ):
        code, says = refused(account, "export", "--output", file, source(account, "dates"))
        assert (code, says) == (CONFIGURATION, f"tablefuse: cannot write {file}: {why}\n")


@pytest.mark.asan
def test_no_result_replaces_an_account(tmp_path):
    """`tablefuse export --output my.tablefuse local:my.tablefuse/items`, and the same of a copy and of the account's WAL."""
    one = LocalAccount(tmp_path / "one.tf")
    one.fill("items", "ten", 20)
    (tmp_path / "copy").write_bytes((tmp_path / "one.tf").read_bytes())
    (tmp_path / "one.tf-wal").write_bytes(bytes.fromhex("377f0682") + bytes(28))
    for name in ("one.tf", "copy", "one.tf-wal"):
        before = (tmp_path / name).read_bytes()
        for command in (["export", "--output"], ["map", "--svg"]):
            option, file = command[1], tmp_path / name
            done = run(TABLEFUSE, *command, file, one.source + "/items", check=False)
            assert (done.returncode, done.stderr) == (
                USAGE,
                f"tablefuse: {command[0]}: {option} {file}: it is a database of SQLite, as an account in a file is"
                f" -- name another file\ntry `tablefuse {command[0]} --help`\n",
            )
            assert (tmp_path / name).read_bytes() == before and not (tmp_path / (name + ".partial")).exists()


@pytest.mark.asan
@pytest.mark.tsan
def test_a_service_that_is_silent_from_the_begin(account):
    """A signal ends the command at its first request, too."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/acct"
        for arguments in (["count", f"{url}/dates"], ["export", f"{url}/dates"], ["tables", url]):
            process = subprocess.Popen(
                [TABLEFUSE, *arguments], env=environment(AZURE_STORAGE_KEY="c2VjcmV0"), stderr=subprocess.DEVNULL
            )
            silent.settimeout(COMMAND_SEC)
            connection, _ = silent.accept()
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=EXIT_SEC) == INTERRUPTED
            connection.close()


@pytest.mark.asan
@pytest.mark.tsan
def test_standard_output_that_is_closed(account):
    for arguments in (["export", source(account, "dates")], ["count", source(account, "dates")], ["tables", account.source]):
        done = run("bash", "-c", '"$@" >&-', "bash", TABLEFUSE, *arguments, check=False)
        assert done.returncode == MOUNTING
        assert done.stderr.endswith("tablefuse: cannot write the output: Bad file descriptor\n")


@pytest.mark.tsan
def test_a_reader_that_ends_early(account):
    """The export dies as `cat` does, without a last line."""
    done = run("bash", "-c", '"$0" export "$1" | head -n 1; echo ${PIPESTATUS[0]}', TABLEFUSE, source(account, "dates"))
    assert done.stdout.splitlines()[1:] == [str(128 + signal.SIGPIPE)] and done.stderr == ""


def children_of(process):
    return [int(pid) for pid in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def blocks(pid, number):
    """It waits for the signal, once it has begun. Before, unshare(1) blocks it, too, and loses it."""
    if not os.path.samefile(f"/proc/{pid}/exe", FAULTY):
        return False
    mask = re.search(r"^SigBlk:\s+(\w+)$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1]
    return int(mask, 16) >> (number - 1) & 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a PID namespace")
def test_process_1_of_a_container_ends_by_its_reader_and_by_signals(account):
    """The kernel's default action of a signal does nothing to it."""
    shell = 'unshare --pid --fork --kill-child "$0" export "$1" | head -n 1; echo ${PIPESTATUS[0]}'
    done = run("bash", "-c", shell, TABLEFUSE, source(account, "dates"))
    assert done.stdout.splitlines()[1:] == [str(128 + signal.SIGPIPE)] and done.stderr == ""
    command = ["unshare", "--pid", "--fork", "--kill-child", FAULTY, "export", source(account, "dates")]
    for number in (signal.SIGTERM, signal.SIGINT):
        variables = environment(TABLEFUSE_FAULTS="hang=query:2")
        parent = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=variables)
        wait_until(lambda: any(blocks(child, number) for child in children_of(parent)))
        os.kill(children_of(parent)[0], number)
        assert parent.wait(timeout=EXIT_SEC) == INTERRUPTED


@pytest.mark.asan
@pytest.mark.tsan
def test_a_reader_that_does_not_read(account):
    read_end, write_end = os.pipe()
    with open(read_end, "rb") as output:
        process = start(account, source(account, "dates"), stdout=write_end, stderr=subprocess.DEVNULL, faults="short=100")
        wait_until(lambda: not select.select([], [write_end], [], 0)[1], what="a full pipe")
        os.close(write_end)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=EXIT_SEC) == INTERRUPTED
        lines = output.read()
    assert lines.endswith(b"}\n") and lines.decode() == export(account, "dates")[: len(lines)]


@pytest.mark.asan
@pytest.mark.tsan
def test_a_bad_row_is_left_out(service, sdk):
    rows = [{"partitionKey": "p", "rowKey": "good", "N": 1}, {"partitionKey": "p", "rowKey": "bad", "Spoil": '"n":1,"n":2'}]
    sdk.create_table("spoiled", rows)
    server = Spoiler(service)
    try:
        url = re.search("TableEndpoint=([^;]*)", server.credentials["AZURE_STORAGE_CONNECTION_STRING"])[1]
        done = tablefuse(service, "export", "--quiet", f"{url}/spoiled", credentials=server.credentials, check=False)
    finally:
        server.stop()
    assert (done.returncode, keys_of(done.stdout.splitlines())) == (ABANDONED, [("p", "good")])
    assert done.stderr == (
        'tablefuse: left out, because it cannot be understood: {"PartitionKey":"p","RowKey":"bad","odata.select":true}\n'
    )


@pytest.mark.asan
@pytest.mark.tsan
def test_sources_and_options(account, scratch):
    where = source(account, "dates")
    for arguments, says in (
        (["export"], "export: no SOURCE/TABLE to export"),
        (["export", account.source], "export: SOURCE names no table: write SOURCE/TABLE"),
        (["export", where, ""], "export: DIRECTORY is empty: the empty key is spelled #00"),
        (["export", where, "a", "b"], "export: unexpected operand b after SOURCE/TABLE and DIRECTORY"),
        (["export", "--resume", where], "export: --resume needs --output FILE"),
        (["export", "-o", "timeout=5,ttl=1", where], "export: option ttl is not for this command"),
        (["export", "-o", "timeout=x", where], "export: option timeout=x: expected seconds from 1 to 3600, for example 30"),
        (["count"], "count: no SOURCE/TABLE to count"),
        (["count", "--keys", where], "count: unknown option --keys"),
        (["tables", where], "tables: SOURCE names a table: leave it out"),
    ):
        code, lines = refused(account, *arguments)
        assert (code, lines.splitlines()[0]) == (USAGE, f"tablefuse: {says}")
    for verb in ("export", "count"):
        code, says = refused(account, verb, f"{account.source}.none/table")
        assert code == NOT_FOUND and says.startswith(f"tablefuse: {account.source}.none/table: No such file or directory -- ")
    code, says = refused(account, "count", source(account, "nothing"))
    assert code == NOT_FOUND and "has no table nothing" in says
    account.write("empty", [])
    assert count(account, "empty") == "entities 0\npartitions 0\n" and export(account, "empty") == ""
    assert {"dates", "empty"} <= set(tablefuse(account, "tables", account.source).stdout.split())
    assert export(account, "dates", "-o", "parallelism=1") == export(account, "dates")


@pytest.mark.asan
@pytest.mark.tsan
def test_progress_at_a_terminal(account):
    """One line that is written anew, narrower than 80 columns, and removed for the counts."""
    where, slow = source(account, "dates"), "latency=300,short=500"
    code, says = at_terminal(
        lambda terminal: start(account, where, stdout=subprocess.DEVNULL, stderr=terminal, faults=slow)
    )
    assert code == 0
    *shown, last = says.split("\r")
    assert re.fullmatch(r"\x1b\[Ktablefuse: 5,000 entities, [\d.]+ MB, \d+ requests, [\d.]+ s\n", last)
    lines = [line.removesuffix("\x1b[K") for line in shown if line]
    assert lines and all(re.fullmatch(r"[\d,]+ rows, [\d,]+/s, [\d.]+ .?B, 0:\d\d  20\S+", line) for line in lines)
    assert max(map(len, lines)) < 80
