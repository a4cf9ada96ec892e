"""A text or a name that the service would refuse is refused before anything is sent, with the reason and the place."""
import os

import pytest

from harness import BOTH_SERVICES, EXIT_SEC, run, wait_until
from writing import CREATE, begin_foreground, failures, fails_at, lost_texts, outcome, write, write_all

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

MAX_TEXT = 8 << 20


def typed(kind, value):
    return f'{{"x@odata.type": "{kind}",\n "x": {value}}}'


def many(count, text='"a%03d": 1'):
    return "{" + ", ".join(text % number for number in range(count)) + "}"


# A text that can never become an object, or that the service would refuse: the reason. The write fails. test_draft_text.c and
# test_entity_input_refused.c have all reasons.
AT_WRITE = {
    "hello\n": "EINVAL line 1, column 1: not a JSON object",
    "\ufeff{} x": "EINVAL line 1, column 4: there is text after the JSON object",
    '{\n  "a": 1,\n  "b": "é," ,\n}\n': "EINVAL line 3, column 13: a trailing comma",
    '{"a": 1,,}': "EINVAL line 1, column 9: a separator where none can be",
    b'{"a": "\xff"}': "EINVAL line 1, column 8: not UTF-8",
    '{"a": {"b": 1}}': "EINVAL line 1, column 7: an object or array as a property's value: {\"b\": 1}}",
    '{"a": 1, "b": 2, "a": 3}': "EINVAL line 1, column 18: a: a name that is there twice",
    f'{{"{"名" * 256}": 1}}': f"EINVAL line 1, column 2: {'名' * 16}...: a name of more than 255 characters",
    many(253): "EINVAL more than 252 properties",
    '{"x": 1e400}': "EINVAL line 1, column 7: x: no number of 64 bits: 1e400",
    typed("Edm.Guid", '"c9da6455"'): 'EINVAL line 2, column 7: x: no Edm.Guid: "c9da6455"',
    typed("Edm.Single", "1"): "EINVAL line 1, column 2: x: a type that the service does not know: Edm.Single",
    many(17, '"a%03d": "' + "x" * 32000 + '"'): "EFBIG an entity of more than 1 MiB",
}

# a beginning of an object: the write succeeds, the close fails
AT_CLOSE = {
    "{": "EINVAL line 1, column 2: the text ends before its JSON object does",
    '{"a": 1,\n "b': "EINVAL line 2, column 4: the text ends before its JSON object does",
}


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("new", [("p", "beside")])
    make_table("old", [("p", f"{number:02}") for number in range(len(AT_WRITE) + len(AT_CLOSE))])
    make_table("names", [("p", "r"), ("pq", "r")])
    make_table("large", [("p", "r")])


def assert_reported_once(mount, path, reason):
    """In `errors`: by the write, or by the RELEASE, which comes after close."""
    wait_until(lambda: fails_at(mount, path), what=f"the reason for {path}")
    assert fails_at(mount, path) == [reason]


@pytest.mark.asan("old-local")
@pytest.mark.tsan("old-local")
@pytest.mark.parametrize("table", ["new", "old"])
def test_texts_are_refused_with_reason_and_place(mounts, stored, table):
    mount = mounts("ttl=0")
    before = stored(table)
    cases = [(text, reason, "write") for text, reason in AT_WRITE.items()]
    cases += [(text, reason, "close") for text, reason in AT_CLOSE.items()]
    with mount.counting() as counted:
        for number, (text, reason, step) in enumerate(cases):
            path = f"/{table}/p/{number:02}.json"
            assert write(mount.point / path[1:], text) == f"{step} {reason.split()[0]}", text
            assert_reported_once(mount, path, reason)
            assert os.path.exists(mount.point / path[1:]) == (table == "old"), text
    assert set(counted.asked()) <= {"list_tables", "query", "get"}, "nothing was sent"
    assert stored(table) == before


@pytest.mark.asan("local")
def test_the_log_has_the_lines_of_errors(mounts, service):
    mount = mounts.prepare()
    process = begin_foreground(mount, service)
    assert write(mount / "new/p/log.json", '{"a-b": 1}') == "write EINVAL"
    assert write(mount / "new/p/half.json", "{") == "close EINVAL"
    assert_reported_once(mount, "/new/p/half.json", AT_CLOSE["{"])
    lines = mount.control("errors").splitlines()
    assert [line.split("Z ")[1].split(":")[0] for line in lines] == [
        "write /new/p/log.json",
        "release /new/p/half.json",
    ]
    mount.unmount(check=False)
    process.wait(timeout=EXIT_SEC)
    logged = mount.point.with_name("log").read_text().splitlines()
    assert [line.split(f"{mount.point}: ")[1] for line in logged] == [line.split(" ", 1)[1] for line in lines]


@pytest.mark.asan("sed 's/5/five/' f.json > f.json.tmp; mv f.json.tmp f.json-azurite")
@pytest.mark.tsan("sed 's/5/five/' f.json > f.json.tmp; mv f.json.tmp f.json-local")
@pytest.mark.parametrize(
    "tool", ["sed -i 's/5/five/' f.json", "sed 's/5/five/' f.json > f.json.tmp; mv f.json.tmp f.json"]
)
def test_a_program_that_renames_says_not_permitted(mounts, tool):
    """With EINVAL mv would tell of a directory that is moved into itself. contrib/docs/tools.md says so."""
    mount = mounts()
    os.makedirs(mount / "Renames/p", exist_ok=True)
    assert write(mount / "Renames/p/f.json", '{"x": 5}') == ""
    done = run("sh", "-c", tool, cwd=mount / "Renames/p", check=False)
    assert done.returncode != 0 and "Operation not permitted" in done.stderr
    last = failures(mount)[-1]
    assert (last["error"], last["path"]) == ("EPERM", "/Renames/p/f.json")
    assert last["reason"].startswith("line 4, column 9: neither true, false nor null: ive")


def test_a_refused_close_is_one_line(mounts, stored):
    """Of the RELEASE that follows, which names the file in lost+found."""
    mount = mounts(faults="fail=write:1+:403:AuthorizationFailure")
    before = stored("old")
    path = mount / "old/p/00.json"
    file = os.open(path, os.O_RDWR)
    os.pwrite(file, b'{"a": 1}'.ljust(os.fstat(file).st_size), 0)
    assert outcome(os.close, file) == "EACCES"
    assert len(lost_texts(mount, 1)) == 2
    (line,) = failures(mount)
    assert (line["operation"], line["error"], line["path"]) == ("release", "EACCES", "/old/p/00.json")
    assert stored("old") == before


def test_a_text_is_at_most_8_mib(mounts, stored):
    mount = mounts("ttl=0")
    before = stored("large")
    for name in ("new", "r"):
        path = mount / f"large/p/{name}.json"
        with mount.counting() as counted:
            file = os.open(path, CREATE, 0o644)
            write_all(file, '{"a": "' + "x" * (MAX_TEXT - 7))
            assert outcome(os.write, file, b"x") == "EFBIG"
            assert outcome(os.write, file, b'"}') == "EFBIG"
            assert outcome(os.close, file) == "EFBIG"
            wait_until(lambda: fails_at(mount, f"/large/p/{name}.json"), what="the reason")
        assert set(counted.asked()) <= {"list_tables", "query", "get"}, "nothing was sent"
        assert fails_at(mount, f"/large/p/{name}.json") == [
            "EFBIG the text is longer than 8 MiB; the text lacks the write that failed"
        ]
    assert stored("large") == before


def test_an_old_file_without_a_text_is_refused(mounts, stored):
    mount = mounts("ttl=0")
    before = stored("old")
    for number, text in enumerate(["", " \n"]):
        path = f"/old/p/{number:02}.json"
        assert write(mount.point / path[1:], text) == "close EINVAL"
        assert_reported_once(mount, path, f"EINVAL line {number + 1}, column 1: no JSON object was written")
    assert stored("old") == before


OTHER_NAMES = (
    "the name of an entity ends in .json; other files are not stored, and only temporary names are possible for them, "
    "as .x, x~ and x.tmp; -o scratch=GLOB adds more"
)
# a path that can be no entity's: what creating a file there answers
NAMES = {
    "file.json": "EINVAL a file is an entity, and entities are in partitions: TABLE/PARTITION/ROWKEY.json",
    "names/file.json": "EINVAL a file is an entity, and entities are in partitions: TABLE/PARTITION/ROWKEY.json",
    "names/p/file.txt": f"EINVAL {OTHER_NAMES}",
    "names/p/file": f"EINVAL {OTHER_NAMES}",
}


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_names_that_cannot_be_created(mounts, stored):
    mount = mounts("ttl=0")
    before = stored("names")
    with mount.counting() as counted:
        for name, reason in NAMES.items():
            assert write(mount / name, "{}") == f"open {reason.split()[0]}", name
            told = [line.split("Z ", 1)[1] for line in mount.control("errors").splitlines()]
            last = name.split("/")[-1]
            assert f"EINVAL: {last}: {reason.split(' ', 1)[1]}" in told[-1], name
        assert write(mount / "names/p" / ("n" * 251 + ".json"), "{}") == "open ENAMETOOLONG"
        assert write(mount / "names/p" / ("n" * 230 + "#~0123456789abcdef.json"), "{}") == "write EINVAL"
    assert set(counted.asked()) <= {"list_tables", "query", "get"}, "nothing was sent"
    assert stored("names") == before
