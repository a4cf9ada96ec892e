"""Each errno that a handler answers by a rule of the mount has one line in .tablefuse/errors, with the path and the reason.
What a disk in good order answers, too, has none."""
import os
import socket
import stat
import sys

import pytest

from harness import BOTH_SERVICES, run, wait_until
from posix_calls import renameat2
from writing import CREATE, EXCLUSIVE, OVER, failures, lost_texts, outcome, whole_lost_texts, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
LONG = "n" * 256
SHOWN = "n" * 60 + "..."
NO_LINKS = "the service has no symbolic or hard links"
NO_DEVICES = "the service has no devices, pipes or sockets"
PART_OF_MOUNT = "the name is part of the mount"
ONLY_READ = "the files of .tablefuse are read-only"
OF_A_KEY = "a key cannot have any of / \\ # ? nor control characters"
OF_A_FILE = "a file is an entity, and entities are in partitions: TABLE/PARTITION/ROWKEY.json"
OF_A_TABLE = "the name of a table is a letter and then 2 to 62 letters and digits"
OF_A_NAME = (
    "the name of an entity ends in .json; other files are not stored, and only temporary names are possible for them, "
    "as .x, x~ and x.tmp; -o scratch=GLOB adds more"
)
NOTHING_INSIDE = "nothing can be created in .tablefuse"
OF_A_SIZE = "a size can only be set through an open file: no part of an entity's text is an entity"
CONTROL = ".tablefuse/errors"


def bind(path):
    """Makes a socket by its name in the current directory: a whole path is too long for one."""
    before = os.getcwd()
    os.chdir(os.path.dirname(path))
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.basename(path))
    finally:
        os.chdir(before)


def mkdir_in_mkdir(path, name):
    os.mkdir(path)
    try:
        os.mkdir(os.path.join(path, name))
    finally:
        os.rmdir(path)


def open_close(path, flags):
    os.close(os.open(path, flags, 0o644))


def opened(path, flags, *calls):
    """Makes the calls of a file that is open, in order: each but the last succeeds."""
    file = os.open(path, flags, 0o644)
    try:
        *before, last = calls
        for call in before:
            call(file)
        last(file)
    finally:
        os.close(file)


def rename_new(root):
    """A new file that is not stored yet does not take the place of an entity."""
    opened(f"{root}/tab/p/new.json", CREATE, lambda file: os.rename(f"{root}/tab/p/new.json", f"{root}/tab/p/r.json"))


def rename_scratch(root, text):
    write(f"{root}/tab/p/x.tmp", text)
    try:
        os.rename(f"{root}/tab/p/x.tmp", f"{root}/tab/p/r.json")
    finally:
        os.unlink(f"{root}/tab/p/x.tmp")


def write_sealed(root):
    """What is written to a scratch file that has become an entity would be lost."""

    def become_entity(_):
        os.rename(f"{root}/tab/p/y.tmp", f"{root}/tab/p/y.json")

    opened(f"{root}/tab/p/y.tmp", CREATE, lambda file: os.write(file, b"{}"), become_entity, lambda file: os.write(file, b" "))


def unlink_by_another_path(root):
    """In a process of its own: this one uses the paths again."""
    path = f"{root}/tab"
    code = f"import os; os.stat('{path}/q'); os.unlink('{path}/q+/q/r.json')"
    done = run(sys.executable, "-c", code, check=False)
    assert done.returncode == 1
    raise OSError(int(done.stderr.split("[Errno ")[1].split("]")[0]), "")


def remove_with_scratch_file(root):
    write(f"{root}/tab/scratched/x.tmp", "x")
    try:
        os.rmdir(f"{root}/tab/scratched")
    finally:
        os.unlink(f"{root}/tab/scratched/x.tmp")


# what a process does: (errno, the line: operation, path and reason; None: there is no line)
CASES = {
    # LOOKUP
    "stat absent": (lambda m: os.stat(f"{m}/tab/p/absent.json"), "ENOENT", None),
    "stat absent table": (lambda m: os.stat(f"{m}/absent"), "ENOENT", None),
    "stat no key": (lambda m: os.stat(f"{m}/tab/p/#zz.json"), "ENOENT", None),
    "stat key with slash": (lambda m: os.stat(f"{m}/tab/p/a#2Fb.json"), "ENOENT", None),
    "open key with slash": (lambda m: open_close(f"{m}/tab/p/a#2Fb.json", os.O_RDONLY), "ENOENT", None),
    "stat partition with slash": (lambda m: os.stat(f"{m}/tab/a#2Fb"), "ENOENT", None),
    "stat key in partition with slash": (lambda m: os.stat(f"{m}/tab/a#2Fb/r.json"), "ENOENT", None),
    "stat key with backslash": (lambda m: os.stat(f"{m}/tab/p/a\\b.json"), "ENOENT", None),
    "stat key with question mark": (lambda m: os.stat(f"{m}/tab/p/a?b.json"), "ENOENT", None),
    "stat key with control character": (lambda m: os.stat(f"{m}/tab/p/a#09b.json"), "ENOENT", None),
    "stat key with hash": (lambda m: os.stat(f"{m}/tab/p/a#23b.json"), "ENOENT", None),
    "stat long name": (
        lambda m: os.stat(f"{m}/tab/p/{LONG}"),
        "ENAMETOOLONG",
        ("lookup", "/tab/p", f"{SHOWN}: a name has at most 255 bytes"),
    ),
    "create long name": (
        lambda m: open_close(f"{m}/tab/p/{LONG}.json", CREATE),
        "ENAMETOOLONG",
        ("lookup", "/tab/p", f"{SHOWN}: a name has at most 255 bytes"),
    ),
    # MKDIR
    "mkdir there": (lambda m: os.mkdir(f"{m}/tab"), "EEXIST", None),
    "mkdir partition there": (lambda m: os.mkdir(f"{m}/tab/p"), "EEXIST", None),
    "mkdir .tablefuse": (lambda m: os.mkdir(f"{m}/.tablefuse"), "EEXIST", None),
    "mkdir no table": (lambda m: os.mkdir(f"{m}/1t"), "EINVAL", ("mkdir", "/", f"1t: {OF_A_TABLE}")),
    "mkdir no partition": (
        lambda m: os.mkdir(f"{m}/tab/a#2Fb"),
        "EINVAL",
        ("mkdir", "/tab", f"a#2Fb: {OF_A_KEY}"),
    ),
    "mkdir in partition": (
        lambda m: os.mkdir(f"{m}/tab/p/d"),
        "EINVAL",
        (
            "mkdir",
            "/tab/p",
            "d: a partition holds entities, which are files named ROWKEY.json; no directory can be made in it",
        ),
    ),
    "mkdir in a directory of scratch files": (
        lambda m: mkdir_in_mkdir(f"{m}/tab/p/.d", "e"),
        "EINVAL",
        ("mkdir", "/tab/p", "e: a directory with a temporary name holds files alone"),
    ),
    "mkdir in .tablefuse": (
        lambda m: os.mkdir(f"{m}/.tablefuse/d"),
        "EINVAL",
        ("mkdir", "/.tablefuse", f"d: {NOTHING_INSIDE}"),
    ),
    # RMDIR
    "rmdir absent": (lambda m: os.rmdir(f"{m}/absent"), "ENOENT", None),
    "rmdir full table": (lambda m: os.rmdir(f"{m}/tab"), "ENOTEMPTY", None),
    "rmdir full partition": (lambda m: os.rmdir(f"{m}/tab/p"), "ENOTEMPTY", None),
    "rmdir scratch file": (remove_with_scratch_file, "ENOTEMPTY", None),
    "rmdir .tablefuse": (
        lambda m: os.rmdir(f"{m}/.tablefuse"),
        "EPERM",
        ("rmdir", "/.tablefuse", f".tablefuse: {PART_OF_MOUNT}"),
    ),
    "rmdir drop": (
        lambda m: os.rmdir(f"{m}/.tablefuse/drop"),
        "EPERM",
        ("rmdir", "/.tablefuse/drop", f"drop: {PART_OF_MOUNT}"),
    ),
    "list table in drop": (
        lambda m: os.listdir(f"{m}/.tablefuse/drop/tab!"),
        "EACCES",
        ("opendir", "/.tablefuse/drop/tab!", "this name is for rmdir, which drops the table"),
    ),
    "rmdir .flat": (lambda m: os.rmdir(f"{m}/tab/.flat"), "EPERM", ("rmdir", "/tab", f".flat: {PART_OF_MOUNT}")),
    "rmdir .filter": (lambda m: os.rmdir(f"{m}/tab/.filter"), "EPERM", ("rmdir", "/tab", f".filter: {PART_OF_MOUNT}")),
    # .filter
    "list .filter": (
        lambda m: os.listdir(f"{m}/tab/p/.filter"),
        "EPERM",
        ("opendir", "/tab/p", ".filter cannot be listed: a filter follows it"),
    ),
    "no filter": (
        lambda m: os.stat(f"{m}/tab/.filter/A eq"),
        "EINVAL",
        ("lookup", "/tab", "the filter's byte 4: a property or a constant is expected here"),
    ),
    "long filter": (
        lambda m: os.stat(f"{m}/tab/.filter/{'A' * 256}"),
        "ENAMETOOLONG",
        ("lookup", "/tab", f"{'A' * 60}...: a name has at most 255 bytes"),
    ),
    "mkdir in what matches": (
        lambda m: os.mkdir(f"{m}/tab/.filter/A/new"),
        "EPERM",
        ("mkdir", "/tab", "new: an empty directory matches no filter: make it in the directory that has .filter"),
    ),
    "rename a filter": (
        lambda m: os.rename(f"{m}/tab/.filter/A", f"{m}/tab/.filter/B"),
        "EPERM",
        ("rename", "/tab", f"A: {PART_OF_MOUNT}"),
    ),
    # UNLINK
    "unlink absent": (lambda m: os.unlink(f"{m}/tab/p/absent.json"), "ENOENT", None),
    "unlink control file": (
        lambda m: os.unlink(f"{m}/{CONTROL}"),
        "EPERM",
        ("unlink", f"/{CONTROL}", f"errors: {PART_OF_MOUNT}"),
    ),
    "unlink by another path": (
        unlink_by_another_path,
        "EBUSY",
        (
            "unlink",
            "/tab/q/r.json",
            "the process has used this partition by another path, too, as a mirror does when a table that grows changes "
            "its names",
        ),
    ),
    # SYMLINK, LINK, MKNOD
    "symlink": (lambda m: os.symlink("r.json", f"{m}/tab/p/l"), "EPERM", ("symlink", "/tab/p", NO_LINKS)),
    "link": (
        lambda m: os.link(f"{m}/tab/p/r.json", f"{m}/tab/p/l.json"),
        "EPERM",
        ("link", "/tab/p/l.json", NO_LINKS),
    ),
    "mkfifo": (lambda m: os.mkfifo(f"{m}/tab/p/f"), "EPERM", ("mknod", "/tab/p", f"f: {NO_DEVICES}")),
    "bind": (lambda m: bind(f"{m}/tab/p/s"), "EPERM", ("mknod", "/tab/p", f"s: {NO_DEVICES}")),
    "mknod there": (lambda m: os.mknod(f"{m}/tab/p/r.json"), "EEXIST", None),
    "mknod no name": (
        lambda m: os.mknod(f"{m}/tab/p/name", stat.S_IFREG | 0o644),
        "EINVAL",
        ("mknod", "/tab/p", f"name: {OF_A_NAME}"),
    ),
    # CREATE
    "create in root": (
        lambda m: open_close(f"{m}/r.json", CREATE),
        "EINVAL",
        ("create", "/", f"r.json: {OF_A_FILE}"),
    ),
    "create in table": (
        lambda m: open_close(f"{m}/tab/r.json", CREATE),
        "EINVAL",
        ("create", "/tab", f"r.json: {OF_A_FILE}"),
    ),
    "create no name": (
        lambda m: open_close(f"{m}/tab/p/r.txt", CREATE),
        "EINVAL",
        ("create", "/tab/p", f"r.txt: {OF_A_NAME}"),
    ),
    "create key with slash": (
        lambda m: open_close(f"{m}/tab/p/a#2Fb.json", CREATE),
        "EINVAL",
        ("create", "/tab/p", f"a#2Fb.json: {OF_A_KEY}"),
    ),
    "create key with backslash": (
        lambda m: open_close(f"{m}/tab/p/a\\b.json", CREATE),
        "EINVAL",
        ("create", "/tab/p", f"a\\b.json: {OF_A_KEY}"),
    ),
    "create key with question mark": (
        lambda m: open_close(f"{m}/tab/p/a?b.json", CREATE),
        "EINVAL",
        ("create", "/tab/p", f"a?b.json: {OF_A_KEY}"),
    ),
    "create key with control character": (
        lambda m: open_close(f"{m}/tab/p/a#01b.json", CREATE),
        "EINVAL",
        ("create", "/tab/p", f"a#01b.json: {OF_A_KEY}"),
    ),
    "create there": (lambda m: open_close(f"{m}/tab/p/r.json", EXCLUSIVE), "EEXIST", None),
    "create in .tablefuse": (
        lambda m: open_close(f"{m}/.tablefuse/x", CREATE),
        "EINVAL",
        ("create", "/.tablefuse", f"x: {NOTHING_INSIDE}"),
    ),
    # OPEN, READ, WRITE, FSYNC, FLUSH, RELEASE
    "open control file": (
        lambda m: open_close(f"{m}/{CONTROL}", os.O_WRONLY),
        "EROFS",
        ("open", f"/{CONTROL}", ONLY_READ),
    ),
    "read appended": (
        lambda m: opened(f"{m}/tab/p/r.json", os.O_RDWR | os.O_APPEND, lambda file: os.read(file, 1)),
        "EBADF",
        ("read", "/tab/p/r.json", "a file that is open for appending cannot be read"),
    ),
    "write no object": (
        lambda m: opened(f"{m}/tab/p/new.json", CREATE, lambda file: os.write(file, b"hello")),
        "EINVAL",
        ("write", "/tab/p/new.json", "line 1, column 1: not a JSON object"),
    ),
    "write no entity": (
        lambda m: opened(f"{m}/tab/p/r.json", OVER, lambda file: os.write(file, b'{"a": [1]}')),
        "EINVAL",
        ("write", "/tab/p/r.json", "line 1, column 7: an object or array as a property's value: [1]}"),
    ),
    "write behind 8 MiB": (
        lambda m: opened(f"{m}/tab/p/new.json", CREATE, lambda file: os.pwrite(file, b"{}", 9 << 20)),
        "EFBIG",
        ("write", "/tab/p/new.json", "the text is longer than 8 MiB"),
    ),
    "fsync half a text": (
        lambda m: opened(f"{m}/tab/p/new.json", CREATE, lambda file: os.write(file, b"{"), os.fsync),
        "EINVAL",
        ("release", "/tab/p/new.json", "line 1, column 2: the text ends before its JSON object does"),
    ),
    "fsync no text": (
        lambda m: opened(f"{m}/tab/p/r.json", OVER, os.fsync),
        "EINVAL",
        ("release", "/tab/p/r.json", "line 1, column 1: no JSON object was written"),
    ),
    "close half a text": (
        lambda m: opened(f"{m}/tab/p/new.json", CREATE, lambda file: os.write(file, b"{")),
        "EINVAL",
        ("release", "/tab/p/new.json", "line 1, column 2: the text ends before its JSON object does"),
    ),
    "write scratch that is stored": (
        write_sealed,
        "ESTALE",
        ("write", "/tab/p", "the file got an entity's name and is stored: open it by that name"),
    ),
    # SETATTR
    "truncate": (lambda m: os.truncate(f"{m}/tab/p/r.json", 1), "EINVAL", ("setattr", "/tab/p/r.json", OF_A_SIZE)),
    "truncate control file": (
        lambda m: os.truncate(f"{m}/{CONTROL}", 1),
        "EROFS",
        ("setattr", f"/{CONTROL}", ONLY_READ),
    ),
    "ftruncate appended": (
        lambda m: opened(f"{m}/tab/p/r.json", os.O_WRONLY | os.O_APPEND, lambda file: os.ftruncate(file, 1)),
        "EINVAL",
        ("setattr", "/tab/p/r.json", "the size of a file that is open for appending can only become 0"),
    ),
    "ftruncate scratch": (
        lambda m: opened(f"{m}/tab/p/x.tmp", CREATE, lambda file: os.ftruncate(file, 65 << 20)),
        "ENOSPC",
        ("setattr", "/tab/p", "the files with temporary names have more than 64 MiB"),
    ),
    # RENAME
    "rename absent": (lambda m: os.rename(f"{m}/tab/p/absent.json", f"{m}/tab/p/b.json"), "ENOENT", None),
    "rename directory": (lambda m: os.rename(f"{m}/tab/p", f"{m}/tab/new"), "EXDEV", None),
    "rename table": (lambda m: os.rename(f"{m}/tab", f"{m}/new"), "EXDEV", None),
    "rename no replace": (
        lambda m: renameat2(f"{m}/tab/p/r.json", f"{m}/tab/p/s.json", RENAME_NOREPLACE),
        "EEXIST",
        None,
    ),
    "exchange": (
        lambda m: renameat2(f"{m}/tab/p/r.json", f"{m}/tab/p/s.json", RENAME_EXCHANGE),
        "EINVAL",
        ("rename", "/tab/p", "r.json: two names cannot be exchanged, and none can be whited out"),
    ),
    "rename to no name": (
        lambda m: os.rename(f"{m}/tab/p/r.json", f"{m}/tab/p/name"),
        "EPERM",
        ("rename", "/tab/p/r.json", f"name: {OF_A_NAME}"),
    ),
    "rename to no key": (
        lambda m: os.rename(f"{m}/tab/p/r.json", f"{m}/tab/p/a#2Fb.json"),
        "EPERM",
        ("rename", "/tab/p/r.json", f"a#2Fb.json: {OF_A_KEY}"),
    ),
    "rename out of partition": (
        lambda m: os.rename(f"{m}/tab/p/r.json", f"{m}/tab/r.json"),
        "EPERM",
        ("rename", "/tab/p/r.json", f"r.json: {OF_A_FILE}"),
    ),
    "rename control file": (
        lambda m: os.rename(f"{m}/{CONTROL}", f"{m}/tab/p/c.json"),
        "EPERM",
        ("rename", f"/{CONTROL}", f"errors: {PART_OF_MOUNT}"),
    ),
    "rename into .tablefuse": (
        lambda m: os.rename(f"{m}/tab/p/r.json", f"{m}/.tablefuse/r.json"),
        "EPERM",
        ("rename", "/tab/p/r.json", f"r.json: {NOTHING_INSIDE}"),
    ),
    "rename new file": (
        rename_new,
        "EBUSY",
        (
            "rename",
            "/tab/p/new.json",
            "the file is not stored yet, and would take the place of an entity: write and close it first",
        ),
    ),
    "rename no object": (
        lambda m: rename_scratch(m, "hello"),
        "EPERM",
        ("rename", "/tab/p/r.json", "line 1, column 1: not a JSON object: hello"),
    ),
    "rename empty": (
        lambda m: rename_scratch(m, ""),
        "EPERM",
        ("rename", "/tab/p/r.json", "an empty file does not take the place of an entity"),
    ),
}


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("tab", [("p", "r"), ("p", "s"), ("q", "r"), ("scratched", "r")])
    for name in ("old", "several", "removed"):
        make_table(name, [("p", f"{number}") for number in range(4)])


def told(line):
    return line["operation"], line["path"], line["error"], line["reason"]


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_each_rule_has_one_line(mounts):
    mount = mounts()
    wrong = {}
    for what, (call, error, line) in CASES.items():
        before = mount.control("errors")
        found = outcome(call, str(mount.point))
        if line:
            wait_until(lambda: failures(mount, before), what=f"the line of: {what}")
        lines = [told(each) for each in failures(mount, before)]
        expected = [(*line[:2], error, line[2])] if line else []
        if (found, lines) != (error, expected):
            wrong[what] = (found, lines)
    assert not wrong, "\n".join(f"{what}: {found}" for what, found in wrong.items())
    mount.unmount()


def test_equal_failures_are_one_line(mounts):
    """A program that tries again and again drives no other failure out. The last one is last."""
    mount = mounts()
    p = mount / "tab/p"
    assert write(p / "once.json", "hello") == "write EINVAL"
    for number in range(150):
        assert write(p / "again.json", "hello") == "write EINVAL"
        if number % 50 == 0:
            assert outcome(os.truncate, p / "r.json", number) == "EINVAL"
    assert outcome(os.truncate, p / "s.json", 0) == "EINVAL"
    run("bash", "-c", 'echo hello > "$0"', p / "again.json", check=False)
    assert [(line["command"], line["operation"], line["path"], line["times"]) for line in failures(mount)] == [
        ("python3", "write", "/tab/p/once.json", None),
        ("python3", "setattr", "/tab/p/r.json", "3"),
        ("python3", "write", "/tab/p/again.json", "150"),
        ("python3", "setattr", "/tab/p/s.json", None),
        ("bash", "write", "/tab/p/again.json", None),
    ]
    last = [line.split()[0] for line in mount.control("errors").splitlines()]
    assert last == sorted(last), "by the time of the last"
    assert mount.stats().total("tablefuse_failures_total") == 156
    assert write(p / "once.json", "hello") == "write EINVAL"
    assert "/tab/p/once.json" in mount.control("errors").splitlines()[-1]


def test_many_links_have_few_lines(mounts):
    """Programs that link each file, and go on without, leave room for other failures."""
    mount = mounts()
    for number in range(30):
        assert outcome(os.link, mount / "tab/p/r.json", mount / f"tab/p/{number}.json") == "EPERM"
    lines = mount.control("errors").splitlines()
    assert [f"link /tab/p/{number}.json: EPERM: {NO_LINKS}" in line for number, line in enumerate(lines)] == [True] * 10
    assert "(and 20 more until " in lines[-1]


LARGE = b'{"a": "' + b"x" * 300_000 + b'", "b": nil}'  # cp writes it in several pieces


@pytest.mark.parametrize("tool", ["cp", "dd", "python"])
def test_a_text_of_several_writes_has_one_line(mounts, stored, tmp_path, tool):
    """That of its release, with the file that keeps what was written before."""
    mount = mounts()
    before = stored("several")
    source, target = tmp_path / "source", mount / f"several/p/{tool}.json"
    source.write_bytes(LARGE)
    command = {
        "cp": ["cp", source, target],
        "dd": ["dd", f"if={source}", f"of={target}", "bs=65536", "conv=fsync"],
        "python": [
            sys.executable,
            "-c",
            f"t = open('{source}', 'rb').read(); f = open('{target}', 'wb', 0); f.write(t[:9999]); f.write(t[9999:])",
        ],
    }[tool]
    assert run(*command, check=False).returncode != 0
    texts = lost_texts(mount, 1)
    (line,) = failures(mount)
    assert (line["operation"], line["path"], line["error"]) == ("release", f"/several/p/{tool}.json", "EINVAL")
    assert line["reason"].startswith("line 1, column 300017: neither true, false nor null")
    (text,) = [text for name, text in texts.items() if not name.endswith(".reason")]
    assert LARGE.startswith(text)
    assert stored("several") == before


@pytest.mark.parametrize("removes", [False, True])
def test_writes_refused_in_a_row_have_one_line(mounts, stored, removes):
    """As of a program that goes on after an error."""
    mount = mounts()
    path = mount / f"several/p/row-{removes}.json"
    if removes:
        path.write_text("{}")
        path.unlink()
    before = stored("several")
    script = f"exec 3> '{path}'; for i in 1 2 3 4 5; do echo hello >&3; done"
    assert "Invalid argument" in run("bash", "-c", script, check=False).stderr
    (line,) = failures(mount)
    assert (line["operation"], line["error"]) == ("write", "EINVAL")
    assert line["reason"].startswith("line 1, column 1: not a JSON object")
    assert stored("several") == before


# programs that remove the entity before they write its new text
def tar(source, target):
    return ["tar", "-C", target.parent, "-xf", source]


def cp(source, target):
    return ["cp", "--remove-destination", source, target]


def install(source, target):
    return ["install", "-m", "644", source, target]


BAD = {"small": b'{"a": nil}', "large": LARGE}


@pytest.mark.parametrize("tool", [tar, cp, install])
@pytest.mark.parametrize("size", BAD)
def test_a_text_in_place_of_a_removed_entity_is_kept(mounts, stored, tmp_path, tool, size):
    mount = mounts()
    name = f"{tool.__name__}{size}.json"
    source, target = tmp_path / name, mount / "removed/p" / name
    assert write(target, '{"a": 1}') == ""
    source.write_bytes(BAD[size])
    if tool is tar:
        run("tar", "-C", tmp_path, "-cf", tmp_path / "archive", name)
        source = tmp_path / "archive"
    assert run(*tool(source, target), check=False).returncode != 0
    texts = lost_texts(mount, 1)
    (line,) = failures(mount)
    assert (line["operation"], line["path"], line["error"]) == ("write", f"/removed/p/{name}", "EINVAL")
    assert "neither true, false nor null" in line["reason"]
    (text,) = [text for name, text in texts.items() if not name.endswith(".reason")]
    assert text == BAD[size][: len(text)] and b"nil" in text, "all that was written, with the write that was refused"
    assert ("p", name.removesuffix(".json")) not in stored("removed")


def test_tar_with_overwrite_keeps_the_entity(mounts, stored, tmp_path):
    mount = mounts()
    before = stored("old")
    for number, text in enumerate(BAD.values()):
        (tmp_path / f"{number}.json").write_bytes(text)
    run("tar", "-C", tmp_path, "-cf", tmp_path / "archive", "0.json", "1.json")
    done = run("tar", "-C", mount / "old/p", "--overwrite", "-xf", tmp_path / "archive", check=False)
    assert done.returncode != 0 and done.stderr.count("Cannot write: Invalid argument") == 2
    lost_texts(mount, 1)
    assert [line["operation"] for line in failures(mount)] == ["write", "release"]
    assert len(whole_lost_texts(mount)) == 1, "of the small text nothing was written before"
    assert stored("old") == before
