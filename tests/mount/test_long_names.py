"""Keys that are too long for a file name: their cut names are copied, moved and created like others."""
import concurrent.futures
import json
import os
import shutil
import subprocess

import pytest

from expected import entity_name, entity_text, partition_name
from harness import BOTH_SERVICES, environment, run, wait_until
from writing import CREATE, EXCLUSIVE, OVER, failures, lost_texts, outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

ROW = "r" * 251
PARTITION = "p" * 256
ROWS = [
    ROW,
    ROW + "2",
    "鍵" * 84,
    "é" * 130,
    "r" * 511 + "b",
    "r" * 511 + "c",
    "x" * 230 + "😀" * 20,
    "+" * 300,
    " " + "b" * 299,
    "2024-05-01T00:00:00.000Z %" + "u" * 250,
]
PARTITIONS = [PARTITION, PARTITION + "+", "分" * 100, "+" * 300, "q" * 512, "q" * 511 + "r"]
NO_ROW_KEY = "the text has no RowKey: this name is the short form of a long key, which only the text can tell"
NO_PARTITION_KEY = (
    "the text has no PartitionKey: the directory's name is the short form of a long key, which only the text can tell"
)
OTHER_ROW_KEY = "the text's RowKey does not belong to this name"
OTHER_PARTITION_KEY = "the text's PartitionKey does not belong to the directory's name"


def text_of(row=None, partition=None, **members):
    keys = {"PartitionKey": partition, "RowKey": row}
    return json.dumps({**{k: v for k, v in keys.items() if v is not None}, **members})


def shell(script, cwd=None, **variables):
    return run("bash", "-c", script, cwd=cwd, env=environment(**variables), check=False)


def reasons(mount):
    return [failure["reason"] for failure in failures(mount)]


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    """The rows of a table of logs, one of four with a long key; and partitions with long keys."""
    keys = [(p, r) for p in PARTITIONS for r in (*ROWS[:3], "short")]
    keys += [("2024-05-01", row) for row in ROWS] + [("2024-05-01", f"{n:03}") for n in range(30)]
    make_table("logs", keys)
    for table in ("one", "files", "saved", "threads", "empty", "hostile"):
        make_table(table, [("p", "beside")])


COPIES = {
    "copy": 'cp -r "$FROM/." "$TO"',
    "rsync": 'rsync -rc "$FROM/" "$TO/"',
    "rsyncinplace": 'rsync -rc --inplace "$FROM/" "$TO/"',
    "tar": 'tar -C "$FROM" -c . | tar -C "$TO" -x --warning=no-timestamp',
}


@pytest.mark.parametrize("options", [(), ("ttl=0",), ("writeback",)])
@pytest.mark.parametrize("tool", COPIES)
def test_a_table_is_copied_whole_and_equal(mounts, stored, tool, options, out):
    """Two mounts: the one that writes has given out none of the names."""
    reading, writing = mounts(), mounts(*options)
    table = tool + "".join(filter(str.isalnum, "".join(options)))
    os.mkdir(writing / table)
    done = shell(COPIES[tool], FROM=str(reading / "logs/.flat"), TO=str(writing / table / ".flat"))
    assert (done.returncode, done.stderr) == (0, "")
    writing.send_queued()
    assert stored(table) == stored("logs")
    assert run("diff", "-r", reading / "logs/.flat", writing / table / ".flat").stdout == ""
    if tool == "rsync":
        again = shell('rsync -rci "$FROM/" "$TO/"', FROM=str(reading / "logs/.flat"), TO=str(writing / table / ".flat"))
        assert (again.returncode, again.stdout) == (0, ""), "the second transfers nothing"
    assert failures(writing) == []


def test_a_table_is_copied_to_another_account_and_back(mounts, stored, out):
    there = mounts("create", source=f"local:{out}/other")
    here = mounts()
    os.mkdir(there / "logs")
    os.mkdir(here / "back")
    shutil.copytree(here / "logs/.flat", there / "logs", dirs_exist_ok=True, copy_function=shutil.copyfile)
    assert shell('rsync -a "$FROM/" "$TO/"', FROM=str(there / "logs/.flat"), TO=str(here / "back")).returncode == 0
    assert stored("back") == stored("logs")


def test_rsync_back_from_a_disk(mounts, stored, out):
    mount, disk = mounts(), out / "disk"
    for _ in range(2):
        listed = run("rsync", "-ai", f"{mount.point}/logs/.flat/", disk).stdout
    assert listed == "", "the second transfers nothing"
    other = mounts()
    os.mkdir(other / "restored")
    run("rsync", "-a", f"{disk}/", other / "restored/.flat")
    assert stored("restored") == stored("logs")


def test_tar_over_the_same_table_loses_nothing(mounts, stored, out):
    before = stored("logs")
    run("tar", "-C", mounts() / "logs/.flat", "-cf", out / "t.tar", ".")
    for overwrite in ([], ["--overwrite"]):
        mount = mounts()
        run("tar", "-C", mount / "logs/.flat", "-xf", out / "t.tar", "--warning=no-timestamp", *overwrite)
        mount.send_queued()
        assert stored("logs") == before
        assert failures(mount) == []


def test_the_text_tells_the_row_key(mounts, stored):
    mount, path = mounts(), f"one/rows/{entity_name(ROW)}"
    os.mkdir(mount / "one/rows")
    for text, reason in (
        (text_of(A=1), NO_ROW_KEY),
        (text_of(ROW + "x", A=1), OTHER_ROW_KEY),
        ('{"RowKey": 1}', NO_ROW_KEY),
        ('{"RowKey": ""}', NO_ROW_KEY),
        (text_of(ROW[:-1] + "\0"), OTHER_ROW_KEY),
        (text_of(ROW, A=[1]), "line 1, column "),
    ):
        before = mount.control("errors")
        with mount.counting() as counted:
            assert write(mount / path, text) == "write EINVAL", text
        assert counted.requests("insert") + counted.requests("upsert_replace") == 0
        assert any(told["reason"].startswith(reason) for told in failures(mount, before)), text
        assert os.listdir(mount / "one/rows") == []
    assert write(mount / path, text_of(ROW, "another", A=2)) == "", "the directory is the partition's"
    assert (mount / path).read_text() == entity_text("rows", ROW, {"A": ("Int32", 2)})
    assert os.listdir(mount / "one/rows") == [entity_name(ROW)]
    assert write(mount / path, text_of("another", A=3)) == "", "the path is the key, as of any entity"
    assert stored("one")["rows", ROW] == {"A": 3}


def test_of_a_key_that_is_twice_in_the_text_the_last_counts(mounts, stored):
    mount = mounts()
    assert write(mount / "one/p" / entity_name("t" * 300), f'{{"RowKey": "u", "RowKey": "{"t" * 300}"}}') == ""
    appended = f'{{"RowKey": "u", "A": 1}}\n{{"RowKey": "{"a" * 300}", "B": 1}}\n'
    assert write(mount / "one/p" / entity_name("a" * 300), appended, os.O_WRONLY | os.O_CREAT | os.O_APPEND) == ""
    assert stored("one")["p", "a" * 300] == {"A": 1, "B": 1}
    assert ("p", "t" * 300) in stored("one")


def test_escapes_in_the_text_s_key(mounts, stored):
    mount, row = mounts(), "é😀" * 100
    assert write(mount / "one/p" / entity_name(row), json.dumps({"RowKey": row})) == ""
    assert "\\ud83d" in json.dumps(row)
    assert ("p", row) in stored("one")


@pytest.mark.parametrize("key", ["n" * 513, "n" * 250 + "/", "n" * 250 + "\n"])
def test_a_key_that_the_service_refuses(mounts, key):
    mount = mounts()
    assert write(mount / "one/p" / entity_name(key), text_of(key)) == "write EINVAL" or len(key) > 512
    assert "the text's RowKey: " in reasons(mount)[-1] or "RowKey: " in reasons(mount)[-1]


def test_without_a_text_nothing_is_stored(mounts, stored):
    mount, before = mounts(), stored("empty")
    path = mount / "empty/p" / entity_name(ROW)
    done = run("touch", path, check=False)
    assert done.returncode == 1 and "Invalid argument" in done.stderr
    wait_until(lambda: not path.exists(), what="the release")
    (line,) = failures(mount)
    assert (line["operation"], line["error"]) == ("release", "EINVAL"), "a text is one line"
    run("bash", "-c", ': > "$0"', path)
    wait_until(lambda: not path.exists(), what="the release")
    file = os.open(path, CREATE)
    assert outcome(os.fsync, file) == "EINVAL"
    assert outcome(os.utime, file) == "EINVAL"
    assert os.listdir(mount / "empty/p") == ["beside.json", path.name], "it is there, and not stored"
    assert path.stat().st_size == 0
    assert outcome(os.close, file) == "EINVAL"
    wait_until(lambda: not path.exists(), what="the release")
    assert outcome(os.mknod, path) == "EINVAL"
    assert run("bash", "-c", 'echo > "$0"', path, check=False).returncode == 0, "a blank text is empty"
    assert stored("empty") == before
    told = failures(mount)
    assert {"release", "mknod"} == {failure["operation"] for failure in told}
    assert {failure["error"] for failure in told} == {"EINVAL"}
    assert all("short form of a long key" in failure["reason"] for failure in told)


def test_a_text_in_pieces_and_a_half_one(mounts, stored):
    mount = mounts()
    row, path = "h" * 300, mount / "one/p" / entity_name("h" * 300)
    with open(path, "wb", buffering=0) as file:
        for byte in text_of(row, B=1).encode():
            file.write(bytes([byte]))
    assert stored("one")["p", row] == {"B": 1}
    other = mount / "one/p" / entity_name("H" * 300)
    assert write(other, text_of("H" * 300)[:-1]) == "close EINVAL"
    assert not other.exists()
    assert any(text.startswith(b'{"RowKey') for text in lost_texts(mount, 1).values())


def test_the_refused_text_is_in_lost_and_found(mounts):
    """A file that is changed in place is judged when it is closed."""
    mount, path = mounts(), "one/p/" + entity_name("L" * 300)
    file = os.open(mount / path, CREATE)
    os.pwrite(file, b'"RowKey": "wrong"}', 1)
    os.pwrite(file, b"{", 0)
    assert outcome(os.close, file) == "EINVAL"
    kept = lost_texts(mount, 1)
    assert any(text == b'{"RowKey": "wrong"}' for text in kept.values())
    assert failures(mount)[-1]["reason"].startswith(OTHER_ROW_KEY)
    assert failures(mount)[-1]["path"] == f"/{path}"


def test_exclusive_is_by_name_here_and_an_insert_when_stored(mounts, stored):
    mount, other = mounts("ttl=600"), mounts()
    row = "e" * 300
    path, text = mount / "one/p" / entity_name(row), text_of(row, A=1)
    os.path.exists(path)
    file = os.open(path, EXCLUSIVE)
    assert outcome(os.open, path, EXCLUSIVE) == "EEXIST"
    assert write(other / "one/p" / entity_name(row), text_of(row, B=1)) == ""
    assert outcome(os.write, file, text.encode()) == "EEXIST"
    outcome(os.close, file)
    assert stored("one")["p", row] == {"B": 1}


def test_a_directory_gets_its_key_by_its_first_text(mounts, stored):
    mount, name = mounts(), partition_name("d" * 300)
    directory = mount / "files" / name
    os.mkdir(directory)
    with mount.counting() as counted:
        assert sorted(os.listdir(mount / "files/.flat")) == sorted([name, "p"])
        assert os.listdir(directory) == []
        assert not (directory / "r.json").exists()
        assert not (directory / entity_name(ROW)).exists()
    assert counted.asked().get("get", 0) == 0
    assert outcome(os.mkdir, directory) == "EEXIST"
    assert outcome(os.mkdir, mount / "files/.flat" / name) == "EEXIST"
    assert write(directory / "r.json", "{}") == "write EINVAL"
    assert reasons(mount)[-1] == NO_PARTITION_KEY
    assert write(directory / "r.json", text_of("r", "D" * 300)) == "write EINVAL"
    assert reasons(mount)[-1] == OTHER_PARTITION_KEY
    assert write(directory / entity_name(ROW), text_of("r", "d" * 300)) == "write EINVAL"
    assert reasons(mount)[-1] == OTHER_ROW_KEY, "both are checked before either is settled"
    assert write(directory / "r.json", "{}") == "write EINVAL"
    assert write(directory / entity_name(ROW), text_of(ROW, "d" * 300, A=1)) == ""
    assert write(directory / "r.json", "{}") == "", "the path is the key now"
    assert sorted(os.listdir(directory)) == sorted(["r.json", entity_name(ROW)])
    assert {key: stored("files")[key] for key in stored("files") if key[0] == "d" * 300} == {
        ("d" * 300, ROW): {"A": 1},
        ("d" * 300, "r"): {},
    }
    assert sorted(os.listdir(mount / "files")) == sorted([name, "p"])


@pytest.mark.asan("local")
def test_an_open_directory_and_files_go_on_when_it_is_settled(mounts, stored):
    """A working directory, a file that is not stored yet, and a temporary one, all of the time before."""
    mount, key = mounts(), "w" * 300
    directory = mount / "files" / partition_name(key)
    os.mkdir(directory)
    (directory / ".note.swp").write_text("kept")
    waiting = os.open(directory / "later.json", CREATE)
    here = os.open(directory, os.O_RDONLY)
    assert sorted(os.listdir(here)) == [".note.swp", "later.json"]
    assert outcome(os.rmdir, directory) == "ENOTEMPTY"
    assert write(directory / "first.json", text_of("first", key)) == ""
    assert sorted(os.listdir(directory)) == [".note.swp", "first.json", "later.json"]
    assert (directory / ".note.swp").read_text() == "kept"
    assert os.stat("later.json", dir_fd=here).st_size == 0
    os.write(waiting, b'{"A": 1}')
    os.close(waiting)
    file = os.open("relative.json", CREATE, dir_fd=here)
    os.write(file, b"{}")
    os.close(file)
    os.rename(".note.swp", ".other.swp", src_dir_fd=here, dst_dir_fd=here)
    os.unlink(directory / ".other.swp")
    assert sorted(os.listdir(here)) == ["first.json", "later.json", "relative.json"], "the first read after it"
    os.unlink("first.json", dir_fd=here)
    os.close(here)
    mount.send_queued()
    assert {k[1]: v for k, v in stored("files").items() if k[0] == key} == {"later": {"A": 1}, "relative": {}}


def test_directories_that_stay_empty(mounts, stored):
    mount, before = mounts(), stored("files")
    directory = mount / "files" / partition_name("z" * 300)
    for _ in range(2):
        os.mkdir(directory)
        (directory / ".a.tmp").touch()
        os.unlink(directory / ".a.tmp")
        os.rmdir(directory)
        assert not directory.exists()
    os.mkdir(directory)
    file = os.open(directory / "r.json", CREATE)
    os.unlink(directory / "r.json")
    os.close(file)
    run("rm", "-r", directory)
    assert not directory.exists()
    assert stored("files") == before
    assert failures(mount) == []


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_what_is_not_stored_yet_is_removed_and_renamed(mounts, stored):
    mount, directory = mounts(), None
    directory = mount / "one/p"
    names = [entity_name(letter * 300) for letter in "ABC"]
    file = os.open(directory / names[0], CREATE)
    os.rename(directory / names[0], directory / names[1])
    assert sorted(os.listdir(directory)).count(names[0]) == 0
    assert names[1] in os.listdir(directory)
    assert outcome(os.write, file, text_of("A" * 300).encode()) == "EINVAL"
    os.write(file, text_of("B" * 300, N=1).encode())
    os.close(file)
    assert stored("one")["p", "B" * 300] == {"N": 1}
    file = os.open(directory / names[2], CREATE)
    os.unlink(directory / names[2])
    os.write(file, b"{}")
    os.close(file)
    file = os.open(directory / names[2], CREATE)
    os.rename(directory / names[2], directory / "named.json")
    os.close(file)
    wait_until(lambda: ("p", "named") in stored("one"), what="the release")
    assert ("p", "C" * 300) not in stored("one")


def test_a_name_that_was_given_out_is_known(mounts, stored):
    """Whatever the table, and without the text."""
    mount = mounts()
    os.mkdir(mount / "known")
    os.listdir(mount / "logs/2024-05-01")
    os.listdir(mount / "logs")
    for key in ROWS[:2]:
        os.makedirs(mount / "known" / partition_name(PARTITION), exist_ok=True)
        (mount / "known" / partition_name(PARTITION) / entity_name(key)).touch()
    wait_until(lambda: len(stored("known")) == 2, what="the releases")
    assert stored("known") == {(PARTITION, key): {} for key in ROWS[:2]}
    path = mount / "known" / partition_name(PARTITION) / entity_name(ROWS[2])
    assert write(path, text_of("another", "another", A=1)) == "", "as of any entity: the path is the key"
    assert stored("known")[PARTITION, ROWS[2]] == {"A": 1}


@pytest.mark.parametrize("tool", ["mv", "cp"])
def test_one_file_is_moved_and_copied(mounts, stored, tool):
    mount = mounts()
    table = f"{tool}one"
    os.mkdir(mount / table)
    os.mkdir(mount / table / "a")
    os.mkdir(mount / table / "b")
    row = ROWS[5]
    assert write(mount / table / "a" / entity_name(row), text_of(row, A=1)) == ""
    run(tool, mount / table / "a" / entity_name(row), mount / table / "b")
    mount.send_queued()
    copied = {("b", row): {"A": 1}}
    assert stored(table) == (copied if tool == "mv" else {("a", row): {"A": 1}, **copied})


def test_a_rename_to_a_name_of_another_key(mounts, stored):
    mount = mounts()
    directory = mount / "one/p"
    assert write(directory / "short.json", text_of("m" * 300, A=1)) == ""
    moved = run("mv", directory / "short.json", directory / entity_name("m" * 300), check=False)
    assert "Operation not permitted" in moved.stderr, "the entity's key is short, whatever the text said"
    assert reasons(mount)[-1] == OTHER_ROW_KEY
    assert ("p", "short") in stored("one") and ("p", "m" * 300) not in stored("one")
    (directory / "x.tmp").write_text(text_of("m" * 300, A=2))
    run("mv", directory / "x.tmp", directory / entity_name("m" * 300))
    assert stored("one")["p", "m" * 300] == {"A": 2}
    (directory / "x.tmp").write_text(text_of("n", A=2))
    moved = run("mv", directory / "x.tmp", directory / entity_name("M" * 300), check=False)
    assert "Operation not permitted" in moved.stderr
    assert (directory / "x.tmp").read_text() == text_of("n", A=2)
    (directory / "x.tmp").write_text("")
    assert outcome(os.rename, directory / "x.tmp", directory / entity_name("M" * 300)) == "EPERM"
    assert reasons(mount)[-1] == NO_ROW_KEY


def test_a_rename_over_an_entity_that_only_the_service_knows(mounts, make_table, stored):
    make_table("over", [("p", ROWS[0]), ("p", "source")])
    mount = mounts()
    os.rename(mount / "over/p/source.json", mount / "over/p" / entity_name(ROWS[0]))
    assert stored("over") == {("p", ROWS[0]): {}}


SAVES = {
    "sed": "sed -i 's/1/2/' \"$NAME\"",
    "backup": 'mv "$NAME" x.bak; sed s/1/2/ x.bak > "$NAME"; rm x.bak',
    "backupback": 'mv "$NAME" x.bak; mv x.bak "$NAME"; sed -i s/1/2/ "$NAME"',
    "vim": "vim -Nes -u NONE -c '%s/1/2/' -c 'wq' \"$NAME\"",
    "vimbackup": "vim -Nes -u NONE -c 'set backup writebackup backupcopy=no' -c '%s/1/2/' -c 'wq' \"$NAME\"; rm -f *~",
    "jq": "jq '.N = 2' \"$NAME\" > x.tmp && mv x.tmp \"$NAME\"",
    "rsync": "sed 's/1/2/' \"$NAME\" > \"$DISK/$NAME\" && rsync -c \"$DISK/$NAME\" .",
    "append": "echo '{\"N\": 2}' >> \"$NAME\"",
}


@pytest.mark.parametrize("tool", SAVES)
def test_editors_save_it(mounts, stored, out, tool):
    row = f"{tool}{'v' * 300}"
    assert write(mounts() / "saved/p" / entity_name(row), text_of(row, N=1)) == ""
    mount = mounts()
    done = shell(SAVES[tool], cwd=mount / "saved/p", NAME=entity_name(row), DISK=str(out))
    assert done.stderr == "" or tool.startswith("vim"), done.stderr
    mount.send_queued()
    assert stored("saved")["p", row] == {"N": 2}


def test_vim_makes_a_new_file(mounts, stored):
    row, mount = "V" * 300, mounts()
    script = """vim -Nes -u NONE -c "call setline(1, '{\\"RowKey\\": \\"$ROW\\"}')" -c wq "$NAME\""""
    shell(script, cwd=mount / "saved/p", NAME=entity_name(row), ROW=row)
    assert stored("saved")["p", row] == {}


def test_names_that_no_key_can_have(mounts, stored):
    mount, before = mounts(), stored("hostile")
    name = entity_name(ROW)
    digits = name[-21:-5]
    refused = {
        name.replace(digits, digits.upper()): "hex digits",
        name.replace(digits, "0" * 15 + "g"): "hex digits",
        name.replace("#~", "#~#~")[2:]: "hex digits",
        "#41" + name[3:]: "hex digits",
        "#2F" + name[3:]: "/ \\ # ?",
        "a#~" + digits + ".json": "hex digits",
    }
    for path, reason in refused.items():
        assert write(mount / "hostile/p" / path, text_of(ROW)) == "open EINVAL", path
        assert reason in reasons(mount)[-1], path
    half = os.fsencode(mount / "hostile/p") + b"/" + b"x" * 231 + b"\xc3#~" + digits.encode() + b".json"
    assert outcome(os.open, half, CREATE) == "EINVAL"
    assert "UTF-8" in reasons(mount)[-1]
    wrong = name.replace(digits, "0" * 16)
    assert write(mount / "hostile/p" / wrong, text_of(ROW)) == "write EINVAL"
    assert reasons(mount)[-1] == OTHER_ROW_KEY
    shorter = name[1:]
    assert write(mount / "hostile/p" / shorter, text_of(ROW)) == "write EINVAL"
    assert write(mount / "hostile/p" / name.replace("r#~", "s#~"), text_of(ROW)) == "write EINVAL"
    assert stored("hostile") == before


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_threads_fill_a_new_directory(mounts, stored):
    """Each of them may be the one that settles it."""
    key, mount = "T" * 300, mounts()
    directory = mount / "threads" / partition_name(key)
    rows = [f"{n:02}" for n in range(16)] + [f"{n:02}{'t' * 300}" for n in range(16)]
    os.mkdir(directory)

    def fill(row):
        temporary = directory / f".{row[:2]}{len(row)}.tmp"
        for _ in range(3):
            temporary.write_text(text_of(row, key, A=len(row)))
            os.rename(temporary, directory / entity_name(row))
        return write(directory / entity_name(row), text_of(row, key, A=len(row)), OVER)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fill, rows)) == [""] * len(rows)
    assert {k: v for k, v in stored("threads").items() if k[0] == key} == {
        (key, row): {"A": len(row)} for row in rows
    }
    assert sorted(os.listdir(directory)) == sorted(entity_name(row) for row in rows)


SETTLED_DIRECTORIES = 40


def make_and_remove(directory, n, text):
    """In a directory that another thread settles meanwhile. One file stays."""
    for turn in range(8):
        path, other = directory / f"a{n}{turn}.json", directory / f"b{n}{turn}.json"
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        try:
            if n == 0 and turn == 3:
                os.write(descriptor, text)
            if turn % 2 == 1 and n > 0:
                os.rename(path, other)
                path = other
            os.stat(path)
            if n > 0 or turn != 3:
                os.unlink(path)
        finally:
            os.close(descriptor)


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_threads_make_and_remove_files_while_one_settles_the_directory(mounts, stored):
    mount = mounts()
    before = stored("threads")
    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        for n in range(SETTLED_DIRECTORIES):
            key = f"{n:03}{'s' * 300}"
            directory = mount / "threads" / partition_name(key)
            os.mkdir(directory)
            text = text_of("a03", key).encode()
            list(pool.map(lambda n: make_and_remove(directory, n, text), range(9)))
            assert os.listdir(directory) == ["a03.json"]
    expected = {**before, **{(f"{n:03}{'s' * 300}", "a03"): {} for n in range(SETTLED_DIRECTORIES)}}
    wait_until(lambda: stored("threads") == expected, what="the queued deletes")
    assert failures(mount) == []


def test_a_prefix_s_directory_takes_only_its_own(mounts, stored):
    mount, key = mounts(), "g" * 300
    os.mkdir(mount / "files/g+")
    os.mkdir(mount / "files/g+" / partition_name(key))
    assert os.listdir(mount / "files/g+") == [partition_name(key)]
    assert write(mount / "files/g+" / partition_name(key) / "r.json", text_of("r", key)) == ""
    assert (key, "r") in stored("files")
    assert outcome(os.mkdir, mount / "files/g+" / partition_name("h" * 300)) == "EINVAL"
    deep = "gg" * 119 + "+"
    os.makedirs(mount / "files" / deep, exist_ok=True)
    os.mkdir(mount / "files" / deep / partition_name("g" * 310))
    assert write(mount / "files" / deep / partition_name("g" * 310) / "r.json", text_of("r", "g" * 310)) == ""
    assert ("g" * 310, "r") in stored("files")


def test_a_crash_of_the_other_program(mounts, stored):
    """A program that is killed while it writes leaves nothing."""
    mount, before = mounts(), stored("one")
    path = mount / "one/p" / entity_name("K" * 300)
    writer = subprocess.Popen(["bash", "-c", 'exec 3> "$0"; echo -n "{" >&3; echo; sleep 100', path], stdout=subprocess.PIPE)
    writer.stdout.readline()
    writer.kill()
    writer.communicate()
    wait_until(lambda: not path.exists(), what="the release")
    assert stored("one") == before
