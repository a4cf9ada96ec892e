"""Which operation's failure which tool reports, and that a write which failed leaves no entity, or the old one."""
import os
import re
import sqlite3
import subprocess

import pytest

from harness import BOTH_SERVICES, environment, run, wait_until
from writing import failures, lost_texts, outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

OLD = '{"Old": true}\n'
GOOD = '{"A": 1}\n'
BAD = "hello\n"
HALF = '{"A":\n'

# Each writes $TEXT, which is also in the file $FILE, to $NAME: a new file, or over an old one.
TOOLS = {
    "bash": ["bash", "-c", 'printf %s "$TEXT" > "$NAME"'],
    "dash": ["dash", "-c", 'printf %s "$TEXT" > "$NAME"'],
    "/bin/echo": ["bash", "-c", '/bin/echo -n "$TEXT" > "$NAME"'],
    "cat": ["bash", "-c", 'cat "$FILE" > "$NAME"'],
    "cp": ["bash", "-c", 'cp "$FILE" "$NAME"'],
    "dd": ["bash", "-c", 'dd if="$FILE" of="$NAME" status=none'],
    "jq": ["bash", "-c", 'jq -Rsj . "$FILE" > "$NAME"'],
    "python": [
        "/usr/bin/python3",
        "-c",
        'import os\nwith open(os.environ["NAME"], "w") as file: file.write(os.environ["TEXT"])',
    ],
    "tar": ["bash", "-c", 'cd "${NAME%/*}" && tar xf "$FILE.tar" --overwrite'],
    "tee": ["bash", "-c", 'tee "$NAME" < "$FILE" > /dev/null'],
}

# Those that are used where each failure takes two seconds, until no time is left for another attempt.
SOME_TOOLS = ["bash", "cp", "python", "tar"]

# Their builtins close the file by dup2, which does not report an error of close.
SILENT_AT_CLOSE = {"bash", "dash"}


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table in ("refused", "half", "s403", "s412", "s500", "lost", "empty"):
        make_table(table, [("p", "beside")])


def name_of(tool):
    return re.sub(r"\W", "", tool)


def use(tool, path, text, directory):
    """Runs the tool with `path` in $NAME, and `text` in $TEXT and in the file $FILE."""
    file = directory / "text"
    file.write_text(text)
    if tool == "tar":
        member = directory / path.name
        member.write_text(text)
        run("tar", "cf", f"{file}.tar", "-C", directory, path.name)
    return subprocess.run(
        TOOLS[tool],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(NAME=str(path), TEXT=text, FILE=str(file)),
    )


def entities(stored, table):
    """{row key: members} beside the entity that is there from the beginning."""
    return {row: members for (_, row), members in stored(table).items() if row != "beside"}


def prepare(mount, table):
    """The paths of a new and of an old file for each tool; what is stored."""
    for tool in TOOLS:
        assert write(mount / f"{table}/p/{name_of(tool)}-old.json", OLD) == ""
    return [
        (tool, mount / f"{table}/p/{name_of(tool)}-{age}.json")
        for tool in TOOLS
        for age in ("new", "old")
    ]


def test_a_text_that_is_refused_at_write(mounts, stored, tmp_path):
    mount = mounts("ttl=0")
    paths = prepare(mount, "refused")
    before = entities(stored, "refused")
    for tool, path in paths:
        done = use(tool, path, BAD, tmp_path)
        assert done.returncode != 0, (tool, path.name)
        assert re.search("Invalid argument|I/O error", done.stderr), (tool, done.stderr)
        assert os.path.exists(path) == path.name.endswith("-old.json")
    assert entities(stored, "refused") == before
    assert mount.lost_texts() == {}, "each tool saw the write fail, so nothing is kept"


def test_a_text_that_is_refused_at_close(mounts, stored, tmp_path):
    mount = mounts("ttl=0")
    paths = prepare(mount, "half")
    before = entities(stored, "half")
    for tool, path in paths:
        done = use(tool, path, HALF, tmp_path)
        assert (done.returncode == 0) == (tool in SILENT_AT_CLOSE), (tool, done.stderr)
        assert ("Invalid argument" in done.stderr) != (tool in SILENT_AT_CLOSE), tool
    # close is the last chance to report that the text is incomplete; it is kept in any case
    lost = lost_texts(mount, len(paths))
    assert entities(stored, "half") == before
    for tool, path in paths:
        (name,) = [name for name in lost if name.endswith(f"-half-p-{path.name}")]
        assert lost[name].decode() == HALF
        reason = lost[name + ".reason"].decode()
        assert "line 2, column 1: the text ends before its JSON object does" in reason
        assert any(name in str(line) for line in failures(mount)), "the line in errors names the file"


REFUSALS = {
    "s403": ("fail=write:*:403:AuthorizationPermissionMismatch", "Permission denied"),
    "s412": ("fail=write:*:412:UpdateConditionNotSatisfied", "Stale file handle"),
    "s500": ("fail=write:*:500:InternalError", "Input/output error"),
}


@pytest.mark.parametrize("table", REFUSALS)
def test_a_store_that_the_service_refuses(mounts, stored, tmp_path, table):
    made = mounts()
    paths = prepare(made, table)
    before = entities(stored, table)
    faults, message = REFUSALS[table]
    mount = mounts("ttl=0", *(["timeout=2"] if table == "s500" else []), faults=faults)
    for tool, path in paths:
        if table == "s500" and tool not in SOME_TOOLS:
            continue
        path = mount.point / path.relative_to(made.point)
        done = use(tool, path, GOOD, tmp_path)
        assert done.returncode != 0, (tool, path.name)
        # dash does not say why; jq says what close answers, after the write that failed
        told = f"{message}|I/O error|writing output failed"
        assert re.search(told, done.stderr), (tool, done.stderr)
        assert os.path.exists(path) == path.name.endswith("-old.json")
    assert entities(stored, table) == before


@pytest.mark.parametrize("is_applied", [False, True], ids=["not-sent", "applied"])
def test_an_answer_that_is_lost_for_good(mounts, stored, tmp_path, is_applied):
    """The whole text may be stored or not. Never an empty entity, never a part."""
    faults = "lost=write:*" if is_applied else "fail=write:*:0"
    mount = mounts("ttl=0", "timeout=2", faults=faults)
    paths = {tool: mount / f"lost/p/{is_applied}-{tool}.json" for tool in SOME_TOOLS[:2]}
    for tool, path in paths.items():
        assert use(tool, path, GOOD, tmp_path).returncode != 0, tool
        # until a probe is answered, the service counts as down
        seen = []
        is_answered = lambda path=path, seen=seen: seen.append(outcome(os.stat, path)) or seen[-1] in ("", "ENOENT")
        wait_until(is_answered, what="an answer")
        assert seen[-1] == ("" if is_applied else "ENOENT"), tool
    found = entities(stored, "lost")
    expected = {"A": 1}
    rows = {path.stem for path in paths.values()}
    assert {row: found[row] for row in rows & set(found)} == (
        dict.fromkeys(rows, expected) if is_applied else {}
    )


def test_one_lost_answer_is_no_failure(mounts, stored, tmp_path):
    mount = mounts(faults="lost=write:/2")
    for tool in TOOLS:
        path = mount / f"lost/p/once-{name_of(tool)}.json"
        done = use(tool, path, GOOD, tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), tool
    found = entities(stored, "lost")
    assert sum(row.startswith("once-") for row in found) == len(TOOLS)
    assert all(found[row] == {"A": 1} for row in found)


def test_good_texts_by_each_tool(mounts, stored, tmp_path):
    mount = mounts("ttl=0")
    paths = prepare(mount, "empty")
    for tool, path in paths:
        with mount.counting() as counted:
            done = use(tool, path, GOOD, tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), tool
        assert counted.requests("write") == 1, tool
    found = entities(stored, "empty")
    assert len(found) == 2 * len(TOOLS) and all(each == {"A": 1} for each in found.values())
    assert failures(mount) == []


def test_a_database_in_a_file_leaves_no_entity(mounts, stored):
    """It opens x.json, and a journal beside it, whose name is refused."""
    mount = mounts("ttl=0")
    before = stored("refused")
    database = sqlite3.connect(mount / "refused/p/x.json", isolation_level=None)
    with pytest.raises(sqlite3.Error):
        database.execute("CREATE TABLE mine (a)")
    database.close()
    mount.unmount()
    assert stored("refused") == before


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_names_are_reported_with_the_file(mounts, shell):
    mount = mounts("ttl=0")
    done = run(shell, "-c", "echo '{}' > file.txt", cwd=mount / "refused/p", check=False)
    assert done.returncode != 0 and "file.txt" in done.stderr
    assert outcome(os.stat, mount / "refused/p/file.txt") == "ENOENT"
