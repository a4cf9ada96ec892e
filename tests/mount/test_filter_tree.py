"""`.filter/EXPR` in the tree: programs see what matches, and work on it. In a service and in a file."""
import os

import pytest

from harness import BOTH_SERVICES, run, wait_until
from importing import imported
from test_export import export
from writing import failures, outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

OPEN = "Status eq 'open'"
PARTITIONS = "abcd"
ROWS = 7
MATCHES = [f"{p}/{r}.json" for p in "abc" for r in (0, 3, 6)]  # nothing in d matches
ALL = [f"{p}/{r}.json" for p in PARTITIONS for r in range(ROWS)]


def status_of(partition, row):
    return "open" if partition != "d" and row % 3 == 0 else "done"


@pytest.fixture(scope="module")
def table(service, make_table):
    """A new table of these entities; each call makes one."""
    made = []
    make_table("first0", [("p", "r")])  # makes the account of a file

    def make():
        made.append(f"filtered{len(made)}")
        make_table(made[-1])
        rows = [
            {"PartitionKey": p, "RowKey": str(r), "Status": status_of(p, r), "Number": r}
            for p in PARTITIONS
            for r in range(ROWS)
        ]
        assert imported(service, made[-1], rows).stored == len(rows)
        return made[-1]

    return make


def files(root):
    return sorted(run("find", ".", "-type", "f", "-printf", "%P\n", cwd=root).stdout.splitlines())


def filtered(mount, directory, *filters):
    return mount.point / directory / "/".join(f".filter/{text}" for text in filters)


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_programs_see_what_matches(mounts, service, table):
    name, mount = table(), mounts("ttl=600")
    root = filtered(mount, name, OPEN)
    os.listdir(mount.point)
    with mount.counting() as counted:
        assert os.stat(root).st_nlink > 0
    assert counted.requests() == 0
    with mount.counting() as counted:
        assert run("ls", root).stdout.split() == ["a", "b", "c"]
    assert counted.asked() == {"query": 1}
    with mount.counting() as counted:
        assert files(root) == MATCHES
        assert run("grep", "-rc", "open", root).stdout.count(":1\n") == len(MATCHES)
    assert counted.asked() == {"query": 2 + 2 * 3}  # of each the table and three partitions
    assert files(filtered(mount, name, OPEN, "Number gt 1 and Number lt 5")) == ["a/3.json", "b/3.json", "c/3.json"]
    assert files(filtered(mount, f"{name}/b", OPEN)) == ["0.json", "3.json", "6.json"]
    assert files(filtered(mount, f"{name}/a+", OPEN)) == [path for path in MATCHES if path.startswith("a")]
    for path in MATCHES:
        assert os.stat(root / path).st_size == len((mount.point / name / path).read_bytes())
    exported = export(service, name, "--keys", "--filter", OPEN)
    assert exported.count("\n") == len(MATCHES)


def test_no_walk_meets_it(mount, table, out):
    name = table()
    run("rsync", "-a", f"{mount.point}/{name}/", f"{out}/")
    run("du", "-a", mount.point / name)
    assert files(out) == files(mount.point / name) == ALL
    for directory in (name, f"{name}/a", f"{name}/a+", f"{name}/.flat"):
        assert not [entry for entry in os.listdir(mount.point / directory) if entry.startswith(".")]


def test_programs_change_what_matches(mount, table, stored):
    name = table()
    root = filtered(mount, name, OPEN)
    run("sh", "-c", f"""sed -i s/open/shut/ "{root}"/a/*.json""")
    os.rename(root / "b/0.json", root / "b/new.json")
    os.unlink(root / "b/3.json")
    assert write(root / "b/1.json", '{"Status": "open"}') == ""  # it does not match: its key counts
    assert write(root / "b/8.json", '{"Status": "done"}') == ""
    entities = stored(name)
    assert [entities["a", str(r)]["Status"] for r in (0, 1, 3, 6)] == ["shut", "done", "shut", "shut"]
    assert sorted(row for partition, row in entities if partition == "b") == ["1", "2", "4", "5", "6", "8", "new"]
    assert files(root) == ["b/1.json", "b/6.json", "b/new.json", "c/0.json", "c/3.json", "c/6.json"]
    assert outcome(os.mkdir, root / "e") == "EPERM"
    assert (root / "d/1.json").exists() and not (root / "e").exists()


@pytest.mark.tsan("local")
def test_rm_r_deletes_what_matches(mount, table, stored):
    name = table()
    run("rm", "-r", filtered(mount, name, OPEN))
    assert sorted(f"{p}/{r}.json" for p, r in stored(name)) == sorted(set(ALL) - set(MATCHES))
    run("rm", "-r", filtered(mount, f"{name}/a", "Number ge 0"))
    assert not [key for key in stored(name) if key[0] == "a"]
    run("rm", "-r", filtered(mount, name, "Number ge 0"))
    assert stored(name) == {} and name in os.listdir(mount.point)
    assert mount.control("errors") == ""


def test_two_filters_are_two_directories(mount, table):
    name = table()
    one, other = (filtered(mount, f"{name}/a", text) for text in (OPEN, "Number lt 5"))
    assert len({os.stat(path).st_ino for path in (one, other, mount.point / name / "a")}) == 3
    assert os.stat(one / "3.json").st_ino == os.stat(other / "3.json").st_ino
    os.unlink(one / "3.json")
    assert files(other) == ["0.json", "1.json", "2.json", "4.json"]
    wait_until(lambda: not (other / "3.json").exists(), what="the end of the name")


def test_short_and_empty_pages(mounts, table):
    name = table()
    assert files(filtered(mounts(faults="short=2,empty=1"), name, OPEN)) == MATCHES


def test_a_filter_that_the_service_refuses(mounts, table):
    name = table()
    mount = mounts(faults=f"fail=query:1+:400:InvalidInput,only={name}")
    assert outcome(os.listdir, filtered(mount, name, OPEN)) == "EINVAL"
    (failure,) = failures(mount)
    assert (failure["operation"], failure["error"], failure["code"]) == ("readdir", "EINVAL", "InvalidInput")


def test_a_filter_that_is_too_long_for_a_name(mount, table):
    name = table()
    assert outcome(os.stat, filtered(mount, name, "A eq 1 or " * 26)) == "ENAMETOOLONG"
    (failure,) = failures(mount)
    assert failure["advice"] == (
        "divide the filter: .filter/A/.filter/B shows what matches both; for `or` use `tablefuse export --filter`"
    )


def test_a_version_that_was_not_listed_stays(mounts, table, stored):
    name = table()
    mount = mounts(faults=f"changed=delete:1:1,only={name}")
    root = filtered(mount, f"{name}/a", OPEN)
    removed = run("rm", "-r", root, check=False)
    assert removed.returncode == 1 and "Device or resource busy" in removed.stderr
    mount.send_queued(name)
    left = {key: entity for key, entity in stored(name).items() if key[0] == "a" and entity["Status"] == "open"}
    assert list(left) == [("a", "0")] and "Rival" in left["a", "0"]
    (failure,) = failures(mount)
    assert (failure["operation"], failure["path"], failure["error"]) == ("unlink", f"/{name}/a/0.json", "EBUSY")


def test_a_table_that_is_dropped(mounts, table):
    name = table()
    mount = mounts(faults=f"dropped=query:2,only={name}")
    root = filtered(mount, name, OPEN)
    assert os.listdir(root) == ["a", "b", "c"]
    assert outcome(os.listdir, root) in ("ESTALE", "ENOENT")
