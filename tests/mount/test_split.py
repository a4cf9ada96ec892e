"""`tablefuse split`, `join`, and `--part` of `export` and `count`: a table in parts."""
import base64
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import random
import re
import sqlite3
import subprocess

import pytest

from harness import ABANDONED, BOTH_SERVICES, COMMAND_SEC, CONFIGURATION, MOUNTING, NOT_FOUND, TABLEFUSE, USAGE, LocalAccount, environment, run
from servers import Spoiler
from test_export import export, source, tablefuse

TOKEN = re.compile("[A-Za-z0-9_-]+")


def split(service, table, n, *arguments):
    tokens = tablefuse(service, "split", "--quiet", "-n", str(n), source(service, table), *arguments).stdout.split("\n")
    assert tokens.pop() == "" and len(tokens) == n
    assert all(TOKEN.fullmatch(token) for token in tokens)
    return tokens


def part(service, table, token, *arguments):
    return export(service, table, "--part", token, *arguments)


def counted(service, table, *arguments):
    return int(tablefuse(service, "count", "--quiet", source(service, table), *arguments).stdout.split()[1])


def keys_of(lines):
    return [(row["PartitionKey"], row["RowKey"]) for row in map(json.loads, lines.splitlines())]


def refused(service, *arguments):
    failed = tablefuse(service, *arguments, check=False)
    assert failed.stdout == ""
    return failed.returncode, failed.stderr


def store(service, table, entities, *arguments):
    lines = "".join(json.dumps({"PartitionKey": p, "RowKey": r, "A": 1}) + "\n" for p, r in entities)
    command = [str(TABLEFUSE), "import", "--quiet", *arguments, source(service, table)]
    env = environment(**service.credentials)
    subprocess.run(command, input=lines, check=True, env=env, encoding="utf-8", timeout=COMMAND_SEC)


ALPHABET = ["a", "b", "é", "z", "0", "9", "-", "\U0001F600", "\uffff", " ", "'"]


def random_key(chance):
    return "".join(chance.choices(ALPHABET, k=chance.randrange(1, 8)))


def random_keys(chance, partitions, most):
    keys = {
        (partition, random_key(chance))
        for partition in {random_key(chance) for _ in range(partitions)}
        for _ in range(chance.randrange(1, most))
    }
    return sorted(keys)


@pytest.fixture(scope="module")
def dates(service):
    service.fill("dates", "dates", "5000" if isinstance(service, LocalAccount) else "1500")
    return "dates"


@pytest.mark.asan("few-local", "exact-local")
@pytest.mark.tsan("few-local")
@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
@pytest.mark.parametrize("arguments", [(), ("--exact",)], ids=["few", "exact"])
def test_the_parts_are_the_whole_export(service, dates, arguments):
    whole = export(service, dates)
    tokens = split(service, dates, 7, *arguments)
    parts = [part(service, dates, token) for token in tokens]
    assert "".join(parts) == whole
    sizes = [len(keys_of(lines)) for lines in parts]
    assert max(sizes) <= 2 * sum(sizes) / len(sizes)
    assert [counted(service, dates, "--part", token) for token in tokens] == sizes


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
@pytest.mark.parametrize("seed", range(3))
def test_each_entity_is_in_one_part_whatever_is_written(service, seed):
    chance = random.Random(seed)
    table = f"random{seed}"
    local = isinstance(service, LocalAccount)
    keys = random_keys(chance, *((60, 20) if local else (8, 12)))
    store(service, table, keys, "--create")
    tokens = split(service, table, chance.choice([2, 5, 16]))
    gone = chance.sample(keys, len(keys) // 4)
    new = random_keys(chance, 10, 4)
    store(service, table, gone, "--mode=delete", "--any-version")
    store(service, table, new)
    now = (set(keys) - set(gone)) | set(new)
    parts = [keys_of(part(service, table, token)) for token in tokens]
    assert sorted(key for keys in parts for key in keys) == sorted(now)
    assert [key for keys in parts for key in keys] == keys_of(export(service, table))


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_a_part_with_a_filter(service, dates):
    chosen = ("--filter", "RowKey gt '12'", "--select", "Count")
    whole = export(service, dates, *chosen)
    parts = [part(service, dates, token, *chosen) for token in split(service, dates, 5)]
    assert whole and "".join(parts) == whole


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_a_directory_in_parts(service):
    store(service, "inside", [(p, f"r{i}") for p in ("a", "ab", "b") for i in range(20)], "--create")
    for path in ("ab", "a+"):
        parts = [part(service, "inside", token) for token in split(service, "inside", 3, path)]
        assert "".join(parts) == export(service, "inside", path)
        assert all(parts)


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
@pytest.mark.parametrize("keys, n", [([], 3), ([("p", "r")], 4), ([("p", "r")], 1), ([("p", "1"), ("p", "2"), ("q", "1")], 8)])
def test_fewer_entities_than_parts(service, keys, n):
    table = f"few{len(keys)}{n}"
    store(service, table, keys, "--create")
    parts = [keys_of(part(service, table, token)) for token in split(service, table, n)]
    assert sum(parts, []) == keys and max(map(len, parts)) <= 1
    assert [counted(service, table, "--part", token) for token in split(service, table, n)] == list(map(len, parts))


def made(content):
    """A token of these bytes."""
    content += hashlib.sha256(content).digest()[:6]
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_bad_tokens_are_refused(service, dates):
    (token,) = split(service, dates, 1)
    assert token == made(b"\1dates\0\0\0\xff")
    other = "Z" if token[9] != "Z" else "Y"
    bad = {
        token[:-1]: "cut or changed",
        token[:9] + other + token[10:]: "cut or changed",
        token + "\n": "cut or changed",
        "": "cut or changed",
        made(b"\2dates\0\0\0\xff"): "later version",
        made(b"\1other\0\0\0\xff"): "of the table other, not of dates",
    }
    for wrong, why in bad.items():
        for verb in ("export", "count"):
            code, message = refused(service, verb, "--part", wrong, source(service, dates))
            assert code == CONFIGURATION and why in message, wrong


def test_wrong_usage_is_refused(service, dates, tmp_path):
    where = source(service, dates)
    for n in ("0", "-1", "x", "10001", ""):
        assert refused(service, "split", "-n", n, where)[0] == USAGE
    assert refused(service, "split", where)[0] == USAGE
    (token,) = split(service, dates, 1)
    tokens = tmp_path / "parts"
    tokens.write_text(f"{token}\n")
    assert part(service, dates, f"1/{tokens}") == export(service, dates)
    for wrong in ("0", "2", "99999999"):
        code, message = refused(service, "export", "--part", f"{wrong}/{tokens}", where)
        assert code == (USAGE if wrong == "0" else CONFIGURATION), message
    assert refused(service, "export", "--part", f"1/{tmp_path}/none", where)[0] == CONFIGURATION
    assert refused(service, "export", "--part", token, where, "2015-01-01")[0] == USAGE
    assert refused(service, "export", "--part", token, "--part", token, where)[0] == USAGE
    assert refused(service, "export", "--skip-done", where)[0] == USAGE
    for option in (("--resume", "--output", str(tmp_path / "x")), ("--format=csv",)):
        assert refused(service, "export", "--part", token, *option, where)[0] == CONFIGURATION


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_a_table_that_is_gone(service):
    store(service, "there", [("p", "1")], "--create")
    gone = source(service, "gone")
    assert refused(service, "split", "-n", "2", gone)[0] == NOT_FOUND
    for verb in ("export", "count"):
        assert refused(service, verb, "--part", made(b"\1gone\0\0\0\xff"), gone)[0] == NOT_FOUND


def results(directory):
    return sorted(path.name for path in directory.iterdir())


def test_results_are_joined(service, dates, tmp_path):
    tokens, out = tmp_path / "parts", tmp_path / "out"
    out.mkdir()
    tokens.write_text("".join(f"{token}\n" for token in split(service, dates, 6)))

    def make(number):
        return part(service, dates, f"{number}/{tokens}", "--output", f"{out}/", "--skip-done")

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert set(pool.map(make, [1, 2, 4, 5, 2, 4])) == {""}
    assert len(results(out)) == 4 and all(re.fullmatch("part-[0-9a-f]{16}", name) for name in results(out))
    code, message = refused(service, "join", str(tokens), str(out))
    assert code == NOT_FOUND and "lines 3,6 of" in message
    listed = tablefuse(service, "join", "--missing", str(tokens), str(out), check=False)
    assert (listed.returncode, listed.stdout) == (NOT_FOUND, "3,6\n")
    make(3)
    make(6)
    assert tablefuse(service, "join", str(tokens), str(out)).stdout == export(service, dates)
    assert tablefuse(service, "join", "--missing", str(tokens), str(out)).stdout == ""
    # other options are other results
    assert refused(service, "join", "--keys", str(tokens), str(out))[0] == NOT_FOUND
    # the order of properties is none of the result
    part(service, dates, f"1/{tokens}", "--output", f"{out}/", "--select", "Size,Count")
    listed = tablefuse(service, "join", "--missing", "--select", "Count,Size,Count", str(tokens), str(out), check=False)
    assert listed.stdout == "2,3,4,5,6\n"
    (extra,) = [path for path in out.iterdir() if '"odata.select"' in path.read_text().splitlines()[0]]
    extra.unlink()
    # what is there is left out, and made again without --skip-done
    first = out / results(out)[0]
    first.write_text("mine")
    for number in range(1, 7):
        make(number)
    assert first.read_text() == "mine"
    for number in range(1, 7):
        part(service, dates, f"{number}/{tokens}", "--output", f"{out}/")
    assert tablefuse(service, "join", str(tokens), str(out)).stdout == export(service, dates)
    assert len(results(out)) == 6


def test_a_part_with_a_bad_row_is_incomplete(service, sdk, tmp_path):
    rows = [{"partitionKey": "p", "rowKey": "good", "N": 1}, {"partitionKey": "p", "rowKey": "bad", "Spoil": '"n":1,"n":2'}]
    sdk.create_table("spoiledparts", rows)
    tokens, out = tmp_path / "parts", tmp_path / "out"
    out.mkdir()
    server = Spoiler(service)
    try:
        endpoint = re.search("TableEndpoint=([^;]*)", server.credentials["AZURE_STORAGE_CONNECTION_STRING"])[1]
        url, env = f"{endpoint}/spoiledparts", environment(**server.credentials)
        tokens.write_text(run(TABLEFUSE, "split", "--quiet", "-n", "1", url, env=env).stdout)
        command = (TABLEFUSE, "export", "--quiet", "--part", f"1/{tokens}", "--output", f"{out}/", url)
        assert run(*command, check=False, env=env).returncode == ABANDONED
    finally:
        server.stop()
    (name,) = results(out)
    assert re.fullmatch("part-[0-9a-f]{16}.incomplete", name) and len((out / name).read_text().splitlines()) == 1
    failed = run(TABLEFUSE, "join", str(tokens), str(out), check=False)
    assert failed.returncode == NOT_FOUND and "rows were left out of lines 1" in failed.stderr
    # the service is well again: the whole result takes the place of the incomplete one
    whole, env = (*command[:-1], f"{service.endpoint}/spoiledparts"), environment(**service.credentials)
    assert run(*whole, env=env).returncode == 0 and results(out) == [name.removesuffix(".incomplete")]
    nowhere = (*whole[:-2], f"{out}/no/", whole[-1])
    failed = run(*nowhere, check=False, env=env)
    assert (failed.returncode, failed.stderr) == (
        CONFIGURATION,
        f"tablefuse: export: --output {out}/no/: No such file or directory -- create it first: `mkdir -p`\n",
    )


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_a_table_that_is_dropped_meanwhile(service, tmp_path):
    table = "dropped"
    store(service, table, [(p, f"{row:03}") for p in "pq" for row in range(50)], "--create")
    (tmp_path / "parts").write_text("".join(f"{token}\n" for token in split(service, table, 2)))
    (tmp_path / "out").mkdir()
    to = ("--part", f"1/{tmp_path}/parts", "--output", f"{tmp_path}/out/", source(service, table))
    if isinstance(service, LocalAccount):
        with contextlib.closing(sqlite3.connect(service.file)) as database, database:
            database.execute("DELETE FROM entities WHERE table_id = (SELECT id FROM tables WHERE name = ?)", (table,))
            database.execute("DELETE FROM tables WHERE name = ?", (table,))
    else:
        service.sdk.drop_table(table)
    says = f"has no table {table}" if isinstance(service, LocalAccount) else f"table {table}: HTTP 404 TableNotFound"
    for words in (("export", "--quiet", *to), ("count", "--part", f"2/{tmp_path}/parts", source(service, table))):
        code, message = refused(service, *words)
        assert code == NOT_FOUND and says in message
    assert results(tmp_path / "out") == []


@pytest.mark.parametrize("wrong", ["no permission", "read-only", "a file"])
def test_a_directory_that_takes_no_result(tmp_path, wrong):
    """An engine need not try again. Root may write without a permission, but not into /proc."""
    one, out = LocalAccount(tmp_path / "one.tf"), tmp_path / "out"
    one.fill("items", "ten", 20)
    if wrong == "a file":
        out.write_text("")
    elif os.geteuid() == 0 or wrong == "read-only":
        out = pathlib.Path("/proc/self" if wrong == "read-only" else "/sys")
    else:
        out.mkdir(mode=0o500)
    token = run(TABLEFUSE, "split", "--quiet", "-n", "1", f"{one.source}/items").stdout.strip()
    done = run(TABLEFUSE, "export", "--quiet", "--part", token, "--output", f"{out}/", f"{one.source}/items", check=False)
    assert done.returncode == CONFIGURATION and done.stderr.startswith("tablefuse: "), done.stderr


def test_missing_lines_that_cannot_be_written(tmp_path):
    one = LocalAccount(tmp_path / "one.tf")
    one.fill("items", "ten", 20)
    (tmp_path / "parts").write_text(run(TABLEFUSE, "split", "--quiet", "-n", "3", f"{one.source}/items").stdout)
    command = [TABLEFUSE, "join", "--missing", tmp_path / "parts", tmp_path]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=COMMAND_SEC, check=False)
    assert (done.returncode, done.stderr) == (MOUNTING, "tablefuse: cannot write the output: No space left on device\n")


def test_a_file_without_tokens_is_not_joined(service, tmp_path):
    tokens = tmp_path / "parts"
    for text in ("", "\n", "word\n"):
        tokens.write_text(text)
        assert refused(service, "join", str(tokens), str(tmp_path))[0] == CONFIGURATION
    assert refused(service, "join", str(tmp_path / "none"), str(tmp_path))[0] == CONFIGURATION


def test_parts_that_gnu_parallel_runs(service, dates, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    tokens = tmp_path / "parts"
    tokens.write_text("".join(f"{token}\n" for token in split(service, dates, 16)))
    command = ["parallel", "--will-cite", "-j", "8", "--joblog", str(tmp_path / "log"), "--resume-failed", "--retries", "3"]
    command += [str(TABLEFUSE), "export", "--quiet", "--output", f"{out}/", "--part", "{}", source(service, dates), "::::", str(tokens)]
    subprocess.run(command, check=True, env=environment(**service.credentials), timeout=300)
    assert tablefuse(service, "join", str(tokens), str(out)).stdout == export(service, dates)


def test_lines_that_are_not_one_split_are_not_joined(tmp_path):
    """`join` of a file of tokens with a line that is missing, twice there or in another order; Windows' line ends are none."""
    one = LocalAccount(tmp_path / "one.tf")
    one.fill("items", "ten", 500)
    url, out = f"{one.source}/items", tmp_path / "out"
    lines = run(TABLEFUSE, "split", "--quiet", "-n", "3", url).stdout.splitlines()
    (tmp_path / "whole").write_bytes("\r\n".join([*lines, ""]).encode())
    out.mkdir()
    for line in (1, 2, 3):
        run(TABLEFUSE, "export", "--quiet", "--part", f"{line}/{tmp_path}/whole", "--output", f"{out}/", url)
    whole = run(TABLEFUSE, "export", "--quiet", url).stdout
    assert run(TABLEFUSE, "join", tmp_path / "whole", out).stdout == whole
    for order, wrong in (([0, 2], 2), ([0, 1, 1, 2], 3), ([1, 0, 2], 2)):
        (tmp_path / "other").write_text("".join(f"{lines[i]}\n" for i in order) + "\n")
        done = run(TABLEFUSE, "join", tmp_path / "other", out, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (
            CONFIGURATION,
            "",
            f"tablefuse: join: line {wrong} of {tmp_path}/other does not begin where the line before ends -- take the lines"
            " of one `tablefuse split`, all of them, in their order\n",
        )
    for place, why in ((tmp_path / "no", "No such file or directory"), (tmp_path / "whole", "Not a directory")):
        done = run(TABLEFUSE, "join", "--missing", tmp_path / "whole", place, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (
            CONFIGURATION, "", f"tablefuse: join: {place}: {why} -- name the directory of the results\n"
        )


def test_outputs_that_no_part_can_have(tmp_path):
    one = LocalAccount(tmp_path / "one.tf")
    for table in ("items", "others"):
        one.fill(table, "ten", 20)
    (tmp_path / "out").mkdir()
    token = run(TABLEFUSE, "split", "--quiet", "-n", "1", f"{one.source}/items").stdout.strip()
    run(TABLEFUSE, "export", "--quiet", "--part", token, "--output", f"{tmp_path}/out/", f"{one.source}/items")
    for words, code, says in (
        (["--output", f"{tmp_path}/out/", "items"], USAGE, "--output: DIRECTORY/ needs --part; name a file"),
        (["--part", token, "--output", f"{tmp_path}/out", "items"], USAGE, "--output: with --part a directory is spelled DIRECTORY/"),
        (["--part", token, "--skip-done", "--output", f"{tmp_path}/out/", "others"], CONFIGURATION,
         "--part: the token is of the table items, not of others"),
    ):
        done = run(TABLEFUSE, "export", "--quiet", *words[:-1], f"{one.source}/{words[-1]}", check=False)
        assert (done.returncode, done.stderr.splitlines()[0]) == (code, f"tablefuse: export: {says}")
