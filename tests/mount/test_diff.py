"""`tablefuse diff`: what two tables do not have in common, without a mount."""
import json
import os
import random
import re
import signal
import subprocess

import pytest

import samples
from comparing import compared, expected_lines, is_equal, key_of, operands, path_of, random_tables, table_of
from credentials import table_sas
from harness import ABANDONED, COMMAND_SEC, CONFIGURATION, EXIT_SEC, FAULTY, MOUNTING, NOT_FOUND, TABLEFUSE
from harness import Azurite, environment, run, wait_until
from importing import imported, row
from servers import Spoiler
from terminal import at_terminal
from test_export import export, source, tablefuse
from test_import_faults import blocks_interrupts

INTERRUPTED, DIFFERENT = 130, 1
KEY = "b3RoZXIga2V5"


@pytest.fixture(scope="module")
def copy(other):
    return other  # it has the rows of `account`


@pytest.mark.asan
@pytest.mark.tsan
def test_random_tables(service, account, copy):
    chance = random.Random(11)
    for n in range(12):
        places = [(account, copy), (copy, account), (account, account)]
        places += [(service, account), (account, service), (service, service)]
        first, second = places[n % 6]
        begin, end = random_tables(chance)
        tables = table_of(first, f"begin{n}", begin.values()), table_of(second, f"end{n}", end.values())
        done = compared(*tables)
        lines = expected_lines(begin, end)
        assert done.lines == lines, done
        assert (done.code, done.says) == (DIFFERENT if lines else 0, [])
        assert done.read == (len(begin), len(end)) and sum(done.found) == len(lines)
        both = [json.loads(line) for line in compared(*tables, "--json").lines]
        keys = [key_of(each["from"] or each["to"]) for each in both]
        assert keys == [key for key in sorted(begin.keys() | end.keys()) if begin.get(key) != end.get(key)]
        assert [each["from"] for each in both] == [begin.get(key) for key in keys]
        assert [each["to"] for each in both] == [end.get(key) for key in keys]


def test_all_types_and_awkward_keys(service, sdk, account):
    """A copy is equal, whatever kind of account has it and however a Double is spelled."""
    rows = [{"partitionKey": key, "rowKey": key, "N": 1} for key in samples.KEYS]
    sdk.create_table("awkward", [*rows, {"partitionKey": "types", "rowKey": "r", **samples.ALL_TYPES}])
    text = export(service, "awkward")
    assert imported(account, "awkward", text, "--create").refused == 0
    assert imported(service, "again", export(account, "awkward"), "--create").refused == 0
    tables = [(service, "awkward"), (account, "awkward"), (service, "again")]
    for begin in tables:
        for end in tables:
            assert begin == end or is_equal(begin, end)


@pytest.mark.asan
@pytest.mark.tsan
def test_paths_are_those_of_the_tree(mounts, account):
    """Of awkward keys, too, and of long ones, whose names are cut."""
    keys = [(p, r) for p, r in zip(samples.KEYS, reversed(samples.KEYS))] + [("l" * 300, "m" * 400)]
    account.write("named", keys)
    account.write("nothing", [])
    mount = mounts(source=account.source)
    done = compared((account, "named"), (account, "nothing"))
    assert len(done.lines) == len(keys) and done.code == DIFFERENT
    assert all((mount / "named" / line.removeprefix("+ ")).is_file() for line in done.lines)
    assert [line.replace("+", "-", 1) for line in done.lines] == compared((account, "nothing"), (account, "named")).lines


def test_a_directory(account, copy):
    assert is_equal((account, "dates"), (copy, "dates"), path="2015-01+")
    day = "2015-01-05"
    changed = [json.loads(line) | {"Count": -1} for line in export(account, "dates", day).splitlines()]
    assert imported(copy, "dates", changed).code == 0
    try:
        done = compared((account, "dates"), (copy, "dates"), path=day)
        assert done.lines == [f"~ {path_of(key_of(each))}" for each in changed] and done.code == DIFFERENT
        assert compared((account, "dates"), (copy, "dates")).lines == done.lines
        assert is_equal((account, "dates"), (copy, "dates"), path="2015-02+")
    finally:
        assert imported(copy, "dates", export(account, "dates", day)).code == 0
    done = compared((account, "dates"), (copy, "dates"), path="nothing")
    assert (done.code, done.says) == (NOT_FOUND, ["nothing: no entity is in it on either side"])


def test_values_and_not_versions(account, copy):
    """Types count, Timestamp and ETag do not."""
    rows = [row("p", "a", **{"A@odata.type": "Edm.Int64", "A": "1"}), row("p", "b", A=1), row("p", "c", A=1.5)]
    others = [row("p", "a", A=1), row("p", "b", A=True), row("p", "c", **{"A@odata.type": "Edm.Double", "A": "15e-1"})]
    begin, end = table_of(account, "typed", rows), table_of(copy, "typed", others)
    assert compared(begin, end).lines == ["~ p/a.json", "~ p/b.json"]
    for where in (account, copy):
        assert imported(where, "typed", rows).code == 0
    assert is_equal(begin, end)


@pytest.mark.asan("empty=3")
@pytest.mark.tsan("fail=query:/4:0:")
@pytest.mark.parametrize(
    "faults",
    [
        "fail=query:/3:503:ServerBusy",
        "fail=query:/4:0:",
        "short=70",
        "empty=3",
        "short=900,empty=1,fail=query:/5:500:InternalError",
    ],
)
def test_faults_find_nothing(account, copy, faults):
    assert is_equal((account, "dates"), (copy, "dates"), faults=faults)


def test_requests(account, copy):
    """Both scans, and one request before each."""
    done = compared((account, "dates"), (copy, "dates"), faults="latency=20")
    assert done.read == (5000, 5000) and done.requests <= 2 * (1.25 * 5000 / 1000 + 20)
    found = [compared((account, "dates"), (copy, "dates"), "-o", "parallelism=1").requests for _ in range(2)]
    assert found == [12, 12]


def test_what_fails(account, copy):
    """The message names the side, and no difference is told that may be none."""
    for only, where in (("first", account), ("second", copy)):
        account.fill("first", "dates", "5000")
        copy.fill("second", "dates", "5000")
        done = compared((account, "first"), (copy, "second"), faults=f"short=100,dropped=query:5,only={only}")
        assert done.code == NOT_FOUND and done.lines == []
        assert done.says[-1].startswith(f"{where.source} has no table {only}")
        tablefuse(where, "tables", where.source)
    for begin, end in (((account, "missing"), (copy, "dates")), ((account, "dates"), (copy, "missing"))):
        done = compared(begin, end)
        assert done.code == NOT_FOUND and "has no table missing" in done.says[0]
    done = compared((account, "dates"), (copy, "dates"), faults="fail=query:4+:403:AuthorizationFailure")
    assert done.code == CONFIGURATION and done.lines == []


def test_a_row_that_cannot_be_read(service, sdk, account):
    good = {"partitionKey": "p", "rowKey": "good", "N": 1}
    sdk.create_table("spoiled", [good, {"partitionKey": "p", "rowKey": "bad", "Spoil": '"n":1,"n":2'}])
    clear = table_of(account, "clear", [row("p", "good", N=2), row("p", "other")])
    server = Spoiler(service)
    try:
        url = re.search("TableEndpoint=([^;]*)", server.credentials["AZURE_STORAGE_CONNECTION_STRING"])[1]
        done = run(TABLEFUSE, "diff", f"{url}/spoiled", source(*clear), check=False, env=environment(**server.credentials))
    finally:
        server.stop()
    assert (done.returncode, done.stdout) == (ABANDONED, "~ p/good.json\n+ p/other.json\n".replace("+", "-"))
    assert done.stderr.startswith("tablefuse: p/bad.json: it cannot be compared, because it cannot be understood\n")


def test_the_same_table(service, account, scratch):
    link, other = scratch / "link", scratch / "other-name"
    link.symlink_to(account.file)
    os.link(account.file, other)
    for begin, end in ((account.source, account.source), (account.source, f"local:{link}"), (f"local:{other}", account.source)):
        done = run(TABLEFUSE, "diff", f"{begin}/dates", f"{end}/DATES", check=False)
        assert done.returncode == CONFIGURATION and done.stderr.endswith(" are the same table\n")
    service.fill("same", "dates", "1200")
    by_other_name = service.endpoint.replace("127.0.0.1", "localhost")
    for begin, end in ((service.endpoint, service.endpoint), (service.endpoint, by_other_name)):
        done = run(TABLEFUSE, "diff", f"{begin}/same", f"{end}/Same", check=False)
        assert done.returncode == CONFIGURATION and done.stderr.endswith(" are the same table\n"), done
        assert done.stdout == ""
    other.unlink()


@pytest.fixture(scope="module")
def second(scratch):
    azurite = Azurite(scratch, account="second", key=KEY)
    yield azurite
    azurite.stop()


@pytest.mark.asan
def test_two_services(service, second):
    """The environment is for the one that it names, with its host; the emulator's account needs none."""
    service.fill("shared", "dates", "200")
    text = export(service, "shared")
    assert imported(second, "shared", text, "--create").code == 0
    tables = (second, "shared"), (service, "shared")
    by_host = {"AZURE_STORAGE_CONNECTION_STRING": second.connection_string()}
    assert is_equal(*tables, credentials=by_host) and is_equal(*reversed(tables), credentials=by_host)
    for env in ({"AZURE_STORAGE_KEY": KEY}, {"AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=secret"}):
        done = compared(*tables, credentials=env)
        assert done.code == CONFIGURATION and done.says == [
            "with two services set AZURE_STORAGE_ACCOUNT, too: it names the account of the credential"
        ]
    by_name = {"AZURE_STORAGE_ACCOUNT": "second", "AZURE_STORAGE_KEY": KEY}  # at core.windows.net
    for env in (service.credentials, by_name):
        done = compared(*tables, credentials=env)
        assert done.code == CONFIGURATION and done.says[0].startswith("no credential for account 'second': set ")
    own = imported(second, "own", text, "--create")
    assert own.code == 0 and is_equal((second, "shared"), (second, "own"))


@pytest.mark.asan
@pytest.mark.tsan
def test_a_part_of_a_table_is_told(service, account):
    service.fill("part", "small", "20")
    token = table_sas(service.account, service.key, "part") + "&spk=p&epk=p"
    env = {"AZURE_STORAGE_SAS_URL": f"{service.endpoint}/part?{token}"}
    note = ": its SAS is for a range of keys (spk, srk, epk, erk): a part of the table may be missing here"
    for words in (["count", source(service, "part")], ["export", source(service, "part")]):
        assert note in tablefuse(service, *words, credentials=env, check=False).stderr
    for tables in (((service, "part"), (account, "dates")), ((account, "dates"), (service, "part"))):
        assert compared(*tables, credentials=env).says[0].endswith(note)


@pytest.mark.asan
@pytest.mark.tsan
def test_usage(account, copy):
    """Exit code 1 says that tables differ, so wrong usage is 2."""
    where = source(account, "dates")
    for arguments, says in (
        ([], "no FROM/TABLE and TO/TABLE"),
        ([where], "no TO/TABLE after FROM/TABLE"),
        ([where, where, "a", "b"], "unexpected operand b after FROM/TABLE, TO/TABLE and DIRECTORY"),
        (["--delete", where, where], "unknown option --delete"),
        (["-o", "table=dates", account.source, account.source], "option table is not for this command"),
        (["-o", "timeout=x", where, where], "option timeout=x: expected seconds from 1 to 3600, for example 30"),
        ([where, account.source], "SOURCE names no table: write SOURCE/TABLE"),
        (["https://host/a?sig=x", where], None),
    ):
        done = run(TABLEFUSE, "diff", *arguments, check=False)
        assert done.returncode == CONFIGURATION and done.stdout == ""
        assert says is None or done.stderr.splitlines()[0] == f"tablefuse: diff: {says}"
        assert done.stderr.splitlines()[-1] == "try `tablefuse diff --help`"
    done = compared((account, "dates"), (copy, "dates"), path=".tablefuse")
    assert (done.code, done.says) == (NOT_FOUND, [".tablefuse: it is not a directory"])


@pytest.mark.asan
@pytest.mark.tsan
def test_outputs_that_fail(account, copy):
    account.write("none", [])
    words = [TABLEFUSE, "diff", *operands((copy, "dates"), (account, "none"))]
    with open("/dev/full", "w") as full:
        failed = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, text=True, env=environment(), timeout=COMMAND_SEC, check=False
        )
    assert failed.returncode == MOUNTING
    assert failed.stderr.endswith("tablefuse: cannot write the output: No space left on device\n")
    done = run("bash", "-c", '"$@" --json | head -n 1; echo ${PIPESTATUS[0]}', "bash", *words)
    assert done.stdout.splitlines()[1:] == [str(128 + signal.SIGPIPE)] and done.stderr == ""


@pytest.mark.asan
@pytest.mark.tsan
def test_an_interrupt(account, copy):
    env = environment(TABLEFUSE_FAULTS="short=100,hang=query:10")
    words = [FAULTY, "diff", *operands((account, "dates"), (copy, "dates"))]
    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: blocks_interrupts(process.pid))
        process.send_signal(number)
        says = process.communicate(timeout=EXIT_SEC)[1]
        assert process.returncode == INTERRUPTED and says.count("\n") <= 1  # the counts, if both are open


def test_progress_at_a_terminal(account, copy):
    env = environment(TABLEFUSE_FAULTS="latency=300,short=500")
    words = [FAULTY, "diff", *operands((account, "dates"), (copy, "dates"))]
    code, says = at_terminal(lambda terminal: subprocess.Popen(words, env=env, stderr=terminal))
    assert code == 0
    *shown, last = says.split("\r")
    assert last.startswith("\x1b[Ktablefuse: 5,000 and 5,000 entities read, 0 only in FROM, 0 only in TO, 0 different, ")
    lines = [line.removesuffix("\x1b[K") for line in shown if line]
    assert lines and max(map(len, lines)) < 80
