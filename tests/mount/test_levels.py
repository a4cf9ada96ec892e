"""Levels: a walk meets each entity once, every form of a path works, with any keys. In a service and in a file."""
import errno
import os
import random

import pytest

from expected import cesu8, entity_name, partition_name, prefix_name, utf16_order
from harness import BOTH_SERVICES, LocalAccount, run

FANOUT = 4
AWKWARD = [
    "",
    "+",
    "++",
    "a",
    "a+",
    "a++",
    "a+b",
    "ab",
    "abc",
    "abcd",
    "abcde",
    ".",
    "..",
    "a.",
    ".flat",
    ".hidden",
    ".hide",
    "%41",
    "it's",
    " ",
    "é",
    "日本",
    "日本語",
    "😀",
    "😀😀",
    "😁",
    "😀+",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "\uffffa",
    "\uffff\uffff",
    "\U0010ffff",
    *("chain of single children " + c for c in "abcdefg"),
    *("l" * 245 + c for c in "abcdef"),
    *("l" * 511 + c for c in "abcdef"),
]


def random_keys(seed):
    """Keys of few different characters: many are prefixes of others."""
    source = random.Random(seed)
    return {"".join(source.choices("ab+.\uffff😀", k=source.randrange(9))) for _ in range(90)}


def rows_of(partitions):
    """One to three rows each."""
    return [
        (key, row)
        for n, key in enumerate(sorted(partitions))
        for row in ("r", "", "r+")[: 1 + n % 3]
    ]


TABLES = {
    "awkward": rows_of(AWKWARD),
    "random1": rows_of(random_keys(1)),
    "random2": rows_of(random_keys(2)),
    "none": [],
    "one": [("only", "row")],
    "full": rows_of("abcd"),
    "more": rows_of("abcde"),
    "rows": [("p", key) for key in AWKWARD] + [("q", "r")],
}
WALKED = [table for table in TABLES if table != "rows"]


pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")


@pytest.fixture(scope="module", autouse=True)
def data(service):
    service.fill("thousand", "customer", 1000)
    if isinstance(service, LocalAccount):
        for table, keys in TABLES.items():
            service.write(table, keys)
        return
    for table, keys in TABLES.items():
        service.sdk.create_table(table, [{"partitionKey": p, "rowKey": r} for p, r in keys])


@pytest.fixture
def mount(mounts):
    return mounts("ttl=600", f"fanout={FANOUT}")


def next_prefix(common, key):
    return common + key[len(common)] if len(key) > len(common) else None


def level_of(keys, fanout):
    """{name: its keys} that a directory of these partitions shows."""
    alone = {partition_name(key): [key] for key in keys}
    if len(keys) <= fanout:
        return alone
    common = os.path.commonprefix(keys)
    if prefix_name(common + "x") is None:
        return alone
    shown = {}
    for key in keys:
        shown.setdefault(next_prefix(common, key), []).append(key)
    return {
        partition_name(behind[0]) if len(behind) == 1 else prefix_name(prefix): behind
        for prefix, behind in shown.items()
    }


def tree_of(rows, fanout):
    """The paths of all entities."""

    def walk(keys):
        for name, behind in level_of(keys, fanout).items():
            if name == partition_name(behind[0]) and len(behind) == 1:
                yield from (f"{name}/{entity_name(row)}" for key, row in rows if key == behind[0])
            else:
                yield from (f"{name}/{path}" for path in walk(behind))

    return sorted(walk(sorted({key for key, _ in rows}, key=utf16_order)))


def found_below(directory):
    found = run("find", directory, "-type", "f", "-printf", "%P\\0").stdout.split("\0")[:-1]
    return sorted(found)


@pytest.mark.asan("awkward-local")
@pytest.mark.tsan("awkward-local")
@pytest.mark.parametrize("table", WALKED)
def test_find_meets_each_entity_once(mount, table):
    assert found_below(mount / table) == tree_of(TABLES[table], FANOUT)
    assert found_below(mount / table / ".flat") == tree_of(TABLES[table], 10**6)


@pytest.mark.parametrize("faults", ["short=3", "short=2,empty=1"])
@pytest.mark.parametrize("table", ["awkward", "random1"])
def test_short_pages_make_the_same_tree(mounts, table, faults):
    mount = mounts("ttl=600", f"fanout={FANOUT}", faults=faults)
    assert found_below(mount / table) == tree_of(TABLES[table], FANOUT)


@pytest.mark.parametrize("fanout", [1, 2, 7, 50])
def test_any_fanout(mounts, fanout):
    mount = mounts("ttl=600", f"fanout={fanout}")
    assert found_below(mount / "random2") == tree_of(TABLES["random2"], fanout)


def test_names_are_in_the_order_of_keys(mount):
    """A prefix has the place of its first key."""
    for table in WALKED:
        keys = sorted({key for key, _ in TABLES[table]}, key=utf16_order)
        with os.scandir(mount / table) as entries:
            assert [entry.name for entry in entries] == list(level_of(keys, FANOUT))


def numbers_of(directory):
    """{name: (as it is listed, as it is looked up)}"""
    with os.scandir(directory) as entries:
        listed = {entry.name: entry.inode() for entry in entries}
    return {name: (number, os.stat(directory / name).st_ino) for name, number in listed.items()}


@pytest.mark.parametrize("layout", ["auto", "flat"])
def test_a_directory_has_its_number_in_every_mount(mounts, layout):
    def of(mount):
        return {
            path: os.stat(mount / path).st_ino
            for path in (
                "random1",
                "random1/.flat",
                "random1/ab+",
                "random1/a",
                "rows/p",
                "rows/p/a+",
                "thousand/customer_000999",
                ".tablefuse",
                ".tablefuse/stats",
            )
            if os.path.exists(mount / path)
        }

    numbers = of(mounts(f"layout={layout}"))
    assert len(set(numbers.values())) == len(numbers) >= 7
    assert of(mounts(f"layout={layout}")) == numbers


def test_one_directory_has_one_number_however_it_is_spelled(mount):
    for spellings in (
        (
            "thousand/customer_000001",
            "thousand/.flat/customer_000001",
            "thousand/c+/customer_000001",
        ),
        ("thousand/customer_00000+", "thousand/c+/cus+/customer_00000+"),
        ("rows/p/ab+", "rows/p/a+/ab+", "rows/.flat/p/ab+"),
    ):
        assert len({os.stat(mount / path).st_ino for path in spellings}) == 1


@pytest.mark.parametrize("options", [[f"fanout={FANOUT}"], ["fanout=1000"], ["layout=flat"]])
def test_partitions_are_listed_by_numbers_of_their_order(mounts, options):
    """cp -r visits names in the order of d_ino, as find does if there are many. It must be the order of keys."""
    mount = mounts("ttl=600", *options)
    for _ in range(2):  # the second time the kernel knows them all
        for directory in ("thousand", "thousand/.flat", "random1"):
            numbers = numbers_of(mount / directory)
            listed, found = zip(*numbers.values())
            assert list(listed) == sorted(set(listed)), directory
            assert set(found).isdisjoint(listed) and len(set(found)) == len(numbers)


@pytest.mark.asan("cache_size=64M-local")
@pytest.mark.tsan("cache_size=64M-local")
@pytest.mark.parametrize("cache", ["cache_size=1M", "cache_size=64M"])
def test_directories_keep_their_numbers_when_all_is_forgotten(mounts, cache):
    mount = mounts(cache, "fanout=1000")
    directories = ["thousand", "random1/a+", "random1", "."]
    before = [numbers_of(mount / directory) for directory in directories]
    assert all(listed == found for listed, found in before[-1].values()), "of tables"
    run("find", mount.point, "-name", "none")
    mount.make_kernel_forget()
    assert [numbers_of(mount / directory) for directory in directories] == before


def test_no_two_nodes_have_one_number(mount):
    """Looked up before they are listed: find, grep -r and cp would take two directories of one number for a loop."""
    for path in ("random1/a+", "random1/a+/aa+", "random1/b+", "random1/b+/b++"):
        if os.path.exists(mount / path):
            os.stat(mount / path)
    listed = run("find", mount / "random1", "-exec", "stat", "-c", "%i", "{}", "+").stdout.split()
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("count, fanout", [(1000, 512), (1000, 1000), (1000, 999), (1000, 1001)])
def test_exactly_a_thousand_partitions(mounts, count, fanout):
    mount = mounts("ttl=600", f"fanout={fanout}")
    rows = [(f"customer_{number:06}", "r") for number in range(count)]
    assert found_below(mount / "thousand") == tree_of(rows, fanout)
    assert os.listdir(mount / "thousand/.flat") == [key for key, _ in rows]


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_layout_flat_has_no_prefixes(mounts):
    mount = mounts("layout=flat", f"fanout={FANOUT}")
    keys = sorted({key for key, _ in TABLES["awkward"]}, key=utf16_order)
    assert os.listdir(mount / "awkward") == [partition_name(key) for key in keys]
    assert not os.path.exists(mount / "awkward/a+")
    assert os.listdir(mount / "awkward/.flat") == os.listdir(mount / "awkward")
    assert "layout flat" in mount.control("config").splitlines()


def prefixes(key):
    return [key[:size] for size in range(1, len(key) + 1) if prefix_name(key[:size])]


def is_absent(path):
    try:
        os.stat(path)
    except OSError as error:
        return error.errno == errno.ENOENT
    return False


@pytest.mark.parametrize(
    "path",
    [
        "awkward/z+",
        "awkward/ab+/a",
        "awkward/ab+/b+",
        "awkward/ab+/none",
        "awkward/ab+/.flat/abc+",
        "awkward/.flat/none",
        "awkward/ab/x+",
        "rows/p/abc+/ab.json",
        "rows/q/a+",
        "none/a",
        "none/.flat/a",
    ],
)
def test_a_wrong_form_is_not_there(mount, path):
    """test_place.c has what is no form at all."""
    assert is_absent(mount / path)


def test_a_prefix_resolves_as_long_as_something_starts_so(mount):
    for table in ("awkward", "random1"):
        keys = {key for key, _ in TABLES[table]}
        for key in sorted(keys):
            for prefix in prefixes(key)[:3]:
                below = sorted((k for k in keys if k.startswith(prefix)), key=utf16_order)
                directory = mount / table / prefix_name(prefix)
                assert os.listdir(directory / ".flat") == list(map(partition_name, below))
                others = [k for k in keys if not k.startswith(prefix)][:2]
                assert all(is_absent(directory / partition_name(other)) for other in others)


def test_row_key_prefixes(mount):
    keys = sorted(AWKWARD, key=utf16_order)
    assert os.listdir(mount / "rows/p") == [entity_name(key) for key in keys], "and none is listed"
    for prefix in ("a", "a+", "ab", "abcd", "chain", "é", "日本", "😀", "\uffff", "l" * 200, "."):
        directory = mount / "rows/p" / prefix_name(prefix)
        below = [entity_name(key) for key in keys if key.startswith(prefix)]
        assert os.listdir(directory) == below
        assert found_below(directory) == sorted(below)
        for longer in prefixes(next(key for key in keys if key.startswith(prefix)))[:3]:
            if len(longer) > len(prefix):
                assert os.path.isdir(directory / prefix_name(longer))
    assert is_absent(mount / "rows/p/a+/b.json") and os.path.exists(mount / "rows/p/a+/ab.json")


def test_flat_is_not_listed_and_a_look_at_it_costs_nothing(mount):
    for directory in ("random1", "random1/a+"):
        assert ".flat" not in os.listdir(mount / directory)
        with mount.counting() as counted:
            assert os.path.isdir(mount / directory / ".flat")
        assert counted.asked() == {}
        assert not any(name.endswith("+") for name in os.listdir(mount / directory / ".flat"))


MOVES = """
cd "$1/a+/ab+/abc" && here=$(/bin/pwd)
(cd "$1/abc" && ls .. | wc -l && ls . && ls "$here" && /bin/pwd)
find "$1" >"$2"
ls "$1/abc" "$1/.flat/abc" "$1/ab+/abc" >"$2"
/bin/pwd
ls ..
cd .. && /bin/pwd && cd .. && /bin/pwd && ls
"""


@pytest.mark.parametrize("ttl", ["ttl=0", "ttl=600"])
def test_a_working_directory_stays_what_it_was(mounts, ttl):
    """Also while other spellings of its path are used."""
    mount = mounts(ttl, f"fanout={FANOUT}")
    table = mount / "awkward"
    lines = run("bash", "-e", "-c", MOVES, "bash", table, "/dev/null").stdout.splitlines()
    keys = {key for key, _ in TABLES["awkward"]}

    def shown(prefix):
        below = sorted((key for key in keys if key.startswith(prefix)), key=utf16_order)
        return sorted(level_of(below, FANOUT))

    rows = sorted(entity_name(row) for key, row in TABLES["awkward"] if key == "abc")
    top = str(len(shown("")))
    start, point = f"{table}/a+/ab+", str(table)
    moved = [f"{start}/abc", *shown("ab"), start, f"{point}/a+", *shown("a")]
    assert lines == [top, *rows, *rows, f"{point}/abc", *moved]


def test_the_order_of_keys_is_that_of_cesu8():
    keys = sorted(AWKWARD, key=utf16_order)
    assert keys == sorted(AWKWARD, key=cesu8)
