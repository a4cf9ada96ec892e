"""`tablefuse map`: what is in a table, as a tree with bars, as JSON and as a picture."""
import json
import os
import random
import re
import signal
import subprocess
import xml.etree.ElementTree

import pytest

import samples
from expected import partition_name, utf16_order
from harness import BOTH_SERVICES, COMMAND_SEC, CONFIGURATION, FAULTY, MOUNTING, NOT_FOUND, TABLEFUSE, USAGE, environment, run, wait_until
from servers import Handler, Server
from terminal import at_terminal
from test_export import refused, source, tablefuse

INTERRUPTED = 130
SVG = "{http://www.w3.org/2000/svg}"
MAP_AREA = 960 * 540
LOCAL = pytest.mark.parametrize("service", ["local"], indirect=True)
SHAPES = "guid customer package single ten ticks dates skew long small".split()
# row keys of partitions
PACKAGES = {"Newtonsoft.Json": 12, "Nexus": 3, "NuGet": 5, "abc": 1, "zlib": 19}
TREE = """\
entities  partitions   share
      40           5  100.0%  ████████████  packages/
      20           3   50.0%  ██████        ├─ N+/
      15           2   37.5%  ████▌         │  ├─ Ne+/
      12           1   30.0%  ███▋          │  │  ├─ Newtonsoft.Json/
       3           1    7.5%  ▉             │  │  └─ Nexus/
       5           1   12.5%  █▌            │  └─ NuGet/
      19           1   47.5%  █████▊        ├─ zlib/
       1           1    2.5%  ▎             └─ (the rest)
"""


def drawn(service, table, *arguments, **options):
    return tablefuse(service, "map", "--quiet", *arguments, source(service, table), **options).stdout


@pytest.fixture(scope="module")
def packages(make_table):
    make_table("packages", [(p, f"{row:02}") for p, rows in PACKAGES.items() for row in range(rows)])
    return "packages"


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_a_tree(service, packages):
    assert drawn(service, packages) == TREE
    inside = tablefuse(service, "map", "--depth", "1", source(service, packages), "N+").stdout
    assert inside == (
        "entities  partitions   share\n"
        "      20           3  100.0%  ████████████  packages/N+/\n"
        "      15           2   75.0%  █████████     ├─ Ne+/\n"
        "       5           1   25.0%  ███           └─ NuGet/\n"
    )


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_json(service, packages):
    found = json.loads(drawn(service, packages, "--json", "--depth", "1"))
    assert found == {
        "table": "packages",
        "directory": "",
        "entities": 40,
        "partitions": 5,
        "parts": [
            {"path": "N+", "prefix": "N", "level": 1, "entities": 20, "partitions": 3},
            {"path": "abc", "partition": "abc", "level": 1, "entities": 1, "partitions": 1},
            {"path": "zlib", "partition": "zlib", "level": 1, "entities": 19, "partitions": 1},
        ],
        "warnings": [],
    }


@LOCAL
@pytest.mark.parametrize(
    "given, directory", [("N+/", "N+"), ("/N+//Ne+/.", "N+/Ne+"), ("./zlib", "zlib"), ("zlib/1+/", "zlib/1+"), ("./", "")]
)
def test_a_title_is_the_plain_path(service, packages, tmp_path, given, directory):
    title = f"packages/{directory}".rstrip("/")
    where = source(service, packages), given
    assert tablefuse(service, "map", *where).stdout.splitlines()[1].endswith(f"  {title}/")
    found = json.loads(tablefuse(service, "map", "--json", "--svg", tmp_path / "picture.svg", *where).stdout)
    assert (found["table"], found["directory"]) == ("packages", directory)
    picture = xml.etree.ElementTree.parse(tmp_path / "picture.svg").getroot()
    assert picture.find(f"{SVG}text").text.startswith(f"{title}: ")


@LOCAL
def test_a_partition_is_said_once(service, tmp_path):
    service.fill("alone", "single", "3000")
    (part,) = json.loads(drawn(service, "alone", "--json"))["parts"]
    where = source(service, "alone"), part["path"]
    assert tablefuse(service, "map", *where).stdout == (
        f"entities  partitions   share\n   3,000           1  100.0%  ████████████  alone/{part['path']}/\n"
    )
    found = json.loads(tablefuse(service, "map", "--json", "--svg", tmp_path / "picture.svg", *where).stdout)
    del found["table"], found["directory"]
    assert found == {"entities": 3000, "partitions": 1, "parts": [], "warnings": []}
    picture = xml.etree.ElementTree.parse(tmp_path / "picture.svg").getroot()
    (box,) = boxes(picture)
    assert box[1:] == (f"alone/{part['path']}", 3000, 1, "#fff")


# --- widths

LONG_NAMES = [f"customer-of-the-northern-region-{number:04}-with-a-name-of-{number % 2}-words" for number in range(4)]


@pytest.fixture(scope="module")
def long_names(make_table):
    make_table("longnames", [(name, "r") for name in LONG_NAMES])
    return "longnames"


def drawn_at_terminal(service, table, columns):
    """What `map` draws at a terminal of this width. 0: the terminal does not know it."""
    command = [TABLEFUSE, "map", "--quiet", source(service, table)]
    env = environment(**service.credentials)
    code, text = at_terminal(lambda terminal: subprocess.Popen(command, env=env, stdout=terminal), columns)
    assert code == 0
    return text


@LOCAL
def test_names_in_a_pipe_are_whole(service, long_names):
    names = re.findall("─ (.*)/\n", drawn(service, long_names))
    assert names == LONG_NAMES
    for name in names:
        assert tablefuse(service, "count", source(service, long_names), name).stdout == "entities 1\npartitions 1\n"


@LOCAL
@pytest.mark.parametrize("columns, widest", [(0, 79), (80, 79), (90, 89), (200, 107)])
def test_names_at_a_terminal_have_its_width(service, long_names, columns, widest):
    text = drawn_at_terminal(service, long_names, columns)
    assert max(map(len, text.splitlines())) == widest
    assert (text == drawn(service, long_names)) == ("…" not in text) == (columns == 200)


# --- sizes


@LOCAL
def test_bytes_are_those_of_the_files(mounts, service, packages):
    mount = mounts(source=service.source)
    sizes = {p: sum(f.stat().st_size for f in (mount / "packages" / p).iterdir()) for p in PACKAGES}
    found = json.loads(drawn(service, packages, "--json", "--sizes"))
    assert found["bytes"] == sum(sizes.values())
    assert {part["partition"]: part["bytes"] for part in found["parts"] if "partition" in part} == sizes
    assert drawn(service, packages, "--sizes").startswith("   bytes  entities  partitions   share\n")


# --- a model


def model(keys, common=None, level=1):
    """(path or None, key or prefix, is it a partition, level, entities, partitions) of each part. {key: entities}"""
    shared = os.path.commonprefix([list(key) for key in keys])
    shared = "".join(shared)
    children = {}
    for key in sorted(keys, key=utf16_order):
        children.setdefault(key[: len(shared) + 1], []).append(key)
    for prefix, below in children.items():
        if len(below) == 1:
            yield (below[0], True, level, keys[below[0]], 1)
            continue
        inner = {key: keys[key] for key in below}
        yield (prefix, False, level, sum(inner.values()), len(inner))
        yield from model(inner, level=level + 1)


def parts(found):
    return [
        (part.get("partition", part.get("prefix")), "partition" in part, part["level"], part["entities"], part["partitions"])
        for part in found["parts"]
    ]


@LOCAL
@pytest.mark.parametrize("seed", range(4))
def test_random_tables(service, make_table, seed):
    """What a directory shows if it has more partitions than its fanout."""
    chance = random.Random(seed)
    letters = "ab\u00e9\u65e5\U0001f600." + "-<&\""[seed:]
    keys = {"".join(chance.choices(letters, k=chance.randrange(9))): chance.randrange(1, 6) for _ in range(700)}
    make_table(f"random{seed}", [(p, str(row)) for p, rows in keys.items() for row in range(rows)])
    found = json.loads(drawn(service, f"random{seed}", "--json"))
    assert parts(found) == list(model(keys))
    assert (found["entities"], found["partitions"]) == (sum(keys.values()), len(keys))


@LOCAL
def test_a_prefix_is_a_directory_of_a_mount(mounts, service, make_table):
    chance = random.Random(7)
    keys = {"".join(chance.choices("abc", k=6)) for _ in range(300)}
    make_table("many", [(key, "r") for key in keys])
    mount = mounts("fanout=4", source=service.source)
    found = json.loads(drawn(service, "many", "--json"))
    assert [part["path"] for part in found["parts"] if part["level"] == 1] == os.listdir(mount / "many")
    for part in found["parts"]:
        below = run("find", mount / "many" / part["path"], "-type", "f").stdout.splitlines()
        assert len(below) == part["entities"], part


# --- the picture


def pictured(service, table, tmp_path, *arguments):
    file = tmp_path / "picture.svg"
    drawn(service, table, "--svg", file, *arguments)
    return xml.etree.ElementTree.parse(file).getroot()


def group_of(picture, name):
    (group,) = [group for group in picture.iter(f"{SVG}g") if group.get("id") == name]
    return group


def edges_of(rect):
    """(left, top, right, bottom)"""
    x, y, width, height = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def edges_of_text(text):
    """Of a fixed width, in which a character takes 0.6 of the size."""
    x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
    return x, y - 0.75 * size, x + 0.6 * size * len(text.text), y + 0.25 * size


def is_inside(inner, outer):
    return outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def is_crossed(area, rect):
    """By an edge of the rectangle."""
    touches = rect[0] < area[2] and area[0] < rect[2] and rect[1] < area[3] and area[1] < rect[3]
    return touches and not is_inside(area, rect)


def boxes(picture):
    """(area, name, entities, partitions, fill) of each rectangle that has no smaller ones"""
    for rect in group_of(picture, "map"):
        name, counts = rect.find(f"{SVG}title").text.split("\n")
        entities, partitions = re.fullmatch(r"(?:[\d.]+ \w+, )?([\d,]+) entit\w+, ([\d,]+) partitions?", counts).groups()
        area = float(rect.get("width")) * float(rect.get("height"))
        yield area, name, int(entities.replace(",", "")), int(partitions.replace(",", "")), rect.get("fill")


def labels(picture):
    return [text.text for text in group_of(picture, "labels") if text.tag == f"{SVG}text"]


def scale(picture):
    """The area of an entity, or of a hundredth of all, as the square below the picture shows it."""
    square, text = group_of(picture, "notes")[0], group_of(picture, "notes")[1].text
    return float(square.get("width")) * float(square.get("height")) / float(re.match(r"= ([\d.]+)", text)[1])


def overlaps(picture):
    corners = sorted(map(edges_of, group_of(picture, "map")))
    assert all(is_inside(each, (8, 36, 968.02, 576.02)) for each in corners)
    for i, (_, top, right, bottom) in enumerate(corners):
        for left, other_top, _, other_bottom in corners[i + 1 :]:
            if left >= right - 0.02:
                break
            if min(bottom, other_bottom) - max(top, other_top) > 0.02:
                return True
    return False


@LOCAL
@pytest.mark.parametrize("shape", SHAPES)
def test_areas_are_shares(service, shape, tmp_path):
    service.fill(shape, shape, "3000")
    picture = pictured(service, shape, tmp_path)
    found = list(boxes(picture))
    assert sum(entities for _, _, entities, _, _ in found) == 3000
    assert sum(area for area, *_ in found) == pytest.approx(MAP_AREA, rel=0.005)
    for area, name, entities, *_ in found:
        assert area == pytest.approx(entities / 3000 * MAP_AREA, rel=0.02, abs=1), name
    assert not overlaps(picture) and len(found) <= 2500
    largest = max(found)
    if largest[0] > MAP_AREA / 50 and len(largest[1]) < 12:
        assert largest[1] in labels(picture)
    assert scale(picture) == pytest.approx(MAP_AREA / 3000, rel=0.01)


@LOCAL
@pytest.mark.parametrize("shape", SHAPES)
def test_no_line_crosses_a_label(service, shape, tmp_path):
    """A label is inside its rectangle, or over a background that hides those in its rectangle."""
    service.fill(shape, shape, "20000")
    picture = pictured(service, shape, tmp_path)
    lines = [edges_of(rect) for name in ("map", "borders") for rect in group_of(picture, name)]
    of_first_level = [edges_of(rect) for rect in group_of(picture, "borders") if rect.get("stroke-width") == "3"]
    drawn_labels = group_of(picture, "labels")
    backgrounds = [edges_of(each) for each in drawn_labels if each.tag == f"{SVG}rect"]
    assert len(labels(picture)) + len(backgrounds) == len(drawn_labels) and len(labels(picture)) > 0
    for background in backgrounds:
        assert any(is_inside(background, border) for border in of_first_level)
    for text in drawn_labels.iter(f"{SVG}text"):
        area = edges_of_text(text)
        hidden = [is_inside(area, background) for background in backgrounds]
        assert any(hidden) or not any(is_crossed(area, line) for line in lines + backgrounds), text.text


@LOCAL
def test_the_large_ones_are_named(service, packages, tmp_path):
    picture = pictured(service, packages, tmp_path)
    assert labels(picture) == ["Newtonsoft.Json", "12", "Nexus", "3", "NuGet", "5", "zlib", "19", "abc"]
    assert {fill for *_, fill in boxes(picture)} == {"#fff"}
    assert scale(picture) == pytest.approx(MAP_AREA / 100, rel=0.01)
    assert {fill for *_, fill in boxes(pictured(service, packages, tmp_path, "--depth", "1"))} == {"#fff", "#e4e4e4"}
    sizes = pictured(service, packages, tmp_path, "--sizes")
    assert sum(area for area, *_ in boxes(sizes)) == pytest.approx(MAP_AREA, rel=0.005)


@LOCAL
def test_an_empty_table(service, make_table, tmp_path):
    make_table("nothing")
    line = "       0           0    0.0%                nothing/"
    assert drawn(service, "nothing").splitlines()[1:] == [line, "", "The table is empty."]
    assert json.loads(drawn(service, "nothing", "--json"))["parts"] == []
    picture = pictured(service, "nothing", tmp_path)
    assert [(entities, name) for _, name, entities, *_ in boxes(picture)] == [(0, "nothing")]
    notes = group_of(picture, "notes")
    assert [note.text for note in notes if note.text] == ["The table is empty."]  # no scale of what is not there


# --- hostile keys

HOSTILE = {
    "\x01\x1b[31m": "#01#1B[31m",
    "\x9b": "#C2#9B",
    "<script>&\"'": "<script>&\"'",
    "a\u202eb\u2066": "a?b?",
    "\ufffe": "?",
    "#~0123456789abcdef": "#23~0123456789abcdef",
    "/": "#2F",
    ".dot": "#2Edot",
    "plus+": "plus#2B",
    "\u2028": "?",
    "": "#00",
}


@LOCAL
@pytest.mark.asan
def test_hostile_keys(service, make_table, tmp_path):
    """In the tree and in the picture all is printable. In JSON a key is what it is, and a path leads to it."""
    make_table("hostile", [(key, str(row)) for key in HOSTILE for row in range(10)] + [("k" * 400, "r" * 300)])
    long_name = partition_name("k" * 400)
    text = drawn(service, "hostile")
    for shown in HOSTILE.values():
        assert f"─ {shown}/\n" in text.replace("\ufffe", "?"), shown
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028]", text)
    assert text.endswith(
        "\nLonger than 255 bytes: 1 partition key, 1 row key (with .json). A mount cuts\n"
        "their names, which end in #~ and a checksum. The file has the key: see tree.md.\n"
    )
    found = json.loads(drawn(service, "hostile", "--json"))
    keys = {part["partition"]: part["path"] for part in found["parts"] if "partition" in part}
    assert set(keys) == {*HOSTILE, "k" * 400} and keys["k" * 400] == long_name
    for key, path in keys.items():
        assert path == partition_name(key)
        if "#~" not in path:
            done = tablefuse(service, "count", source(service, "hostile"), path)
            assert done.stdout == "entities 10\npartitions 1\n"
    names = [name for _, name, *_ in boxes(pictured(service, "hostile", tmp_path))]
    assert sorted(names) == sorted([*HOSTILE.values(), long_name])


@LOCAL
def test_awkward_keys(service, make_table):
    make_table("awkward", [(key, "r") for key in samples.KEYS])
    found = json.loads(drawn(service, "awkward", "--json"))
    assert {part["partition"] for part in found["parts"] if "partition" in part} == set(samples.KEYS)
    lines = drawn_at_terminal(service, "awkward", 80).splitlines()
    assert all(len(line) <= 80 for line in lines)


# --- what the guidance warns of


@LOCAL
@pytest.mark.parametrize(
    "shape, warnings",
    [
        ("guid", ["single_entities"]),
        ("customer", ["growing_keys", "single_entities"]),
        ("long", ["growing_keys", "single_entities"]),
        ("small", ["growing_keys"]),
        ("dates", ["growing_keys", "single_entities"]),
        ("single", ["one_partition"]),
        ("skew", ["one_partition"]),
        ("ten", []),
        ("ticks", []),
        ("package", []),
    ],
)
def test_warnings(service, shape, warnings):
    service.fill(f"warned{shape}", shape, "5000")
    table = f"warned{shape}"
    found = json.loads(drawn(service, table, "--json"))["warnings"]
    assert [warning["warning"] for warning in found] == warnings
    said = " ".join(drawn(service, table).split("\n\n", 1)[1:]).split()
    assert said == " ".join(warning["text"] for warning in found).split()


# --- requests, failures


class Counter(Server):
    """Between a command and Azurite; `paths` are those of the requests."""

    def __init__(self, service):
        self.paths = paths = []

        class Between(Handler):
            def do_GET(self):
                paths.append(self.path.partition("&timeout=")[0])  # the rest of the operation's time differs
                self.reply(*self.hand_on(service, Host=f"127.0.0.1:{service.port}"))

        super().__init__(Between)
        self.credentials = self.credentials_for(service)


@pytest.mark.parametrize("service", ["azurite"], indirect=True)
def test_requests(service):
    service.fill("dates", "dates", "1500")
    counter = Counter(service)

    def asked(*arguments):
        counter.paths.clear()
        url = f"http://{counter.address}/{service.account}/dates"
        tablefuse(service, *arguments, "--quiet", "-o", "parallelism=1", url, credentials=counter.credentials)
        return [path for path in counter.paths if "dates" in path]

    try:
        of_map, of_sizes, of_count = asked("map"), asked("map", "--sizes"), asked("count")
    finally:
        counter.stop()
    assert of_map == of_count and len(of_map) <= 4
    assert all("select=PartitionKey" in path for path in of_map)
    assert len(of_sizes) <= 4 and not any("select" in path for path in of_sizes[1:])  # the first asks for the table


@pytest.mark.parametrize("faults", ["latency=20", "short=100", "fail=query:/3:503", "empty=3"])
def test_faults_lose_nothing(account, faults):
    assert drawn(account, "dates", faults=faults) == drawn(account, "dates")


def test_refusals(account, tmp_path):
    dates = source(account, "dates")
    for arguments, cause in [
        ((), "no SOURCE/TABLE to map"),
        (("--depth", "0", dates), "--depth 0: expected a number from 1 to 1000"),
        (("--depth", "many", dates), "--depth many: expected a number from 1 to 1000"),
        (("--svg", "", dates), "--svg needs the name of a file"),
        (("--depth",), "option --depth needs a value"),
        (("--tree", dates), "unknown option --tree"),
        (("--json", "--svg", "-", dates), "--svg -: --json has standard output already"),
        (("--svg", "-", "--json", dates), "--svg -: --json has standard output already"),
        ((dates, ""), None),
    ]:
        code, says = refused(account, "map", *arguments)
        assert code == USAGE and says.startswith("tablefuse: map: ") and (cause is None or cause in says), says
    assert refused(account, "map", dates, "nope") == (NOT_FOUND, "tablefuse: nope: no entity is in it\n")
    assert refused(account, "map", source(account, "none"))[0] == NOT_FOUND
    for file, why in [(tmp_path, "Is a directory"), (tmp_path / "no/file", "No such file or directory")]:
        code, says = refused(account, "map", "--svg", file, dates)
        assert (code, says) == (CONFIGURATION, f"tablefuse: cannot write {file}: {why}\n")


def test_a_picture_in_standard_output(account, tmp_path):
    dates, file = source(account, "dates"), tmp_path / "picture.svg"
    tree = run(TABLEFUSE, "map", "--svg", file, dates).stdout
    assert run(TABLEFUSE, "map", "--svg", "-", dates, cwd=tmp_path).stdout == file.read_text() != tree
    both = run(TABLEFUSE, "map", "--svg", "-", "--svg", tmp_path / "other.svg", dates, cwd=tmp_path)
    assert both.stdout == (tmp_path / "other.svg").read_text() == file.read_text()
    assert not (tmp_path / "-").exists()


def test_a_file_that_is_there_is_replaced(account, tmp_path):
    """A picture as the file of an export: it has a new one's mode, and what a link leads to stays."""
    new, link, kept = tmp_path / "new", tmp_path / "link", tmp_path / "kept"
    for words in (("map", "--quiet", "--svg"), ("export", "--quiet", "--output")):
        kept.write_text("kept")
        kept.chmod(0o600)
        link.symlink_to(kept)
        for file in (new, link):
            run(TABLEFUSE, *words, file, source(account, "dates"))
        assert not link.is_symlink() and link.read_bytes() == new.read_bytes() and kept.read_text() == "kept"
        run(TABLEFUSE, *words, kept, source(account, "dates"))
        assert kept.read_bytes() == new.read_bytes() and kept.stat().st_mode == new.stat().st_mode
        for file in (new, link, kept):
            file.unlink()


def test_outputs_that_fail(account):
    with open("/dev/full", "w") as full:
        done = subprocess.run([TABLEFUSE, "map", source(account, "dates")], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (MOUNTING, "tablefuse: cannot write the output: No space left on device\n")
    done = run("bash", "-c", '"$0" map --json "$1" | head -n 1; echo ${PIPESTATUS[0]}', TABLEFUSE, source(account, "dates"))
    assert done.stdout.splitlines()[-1] in ("0", str(128 + signal.SIGPIPE)) and done.stderr == ""


@pytest.mark.parametrize("form", ["--quiet", "--json"])
def test_a_picture_that_fails_at_the_end(account, tmp_path, form):
    """The tree is there all the same. A local account needs 32 KiB for its readers, the picture more than 40."""
    dates, file = source(account, "dates"), tmp_path / "picture.svg"
    whole = run(TABLEFUSE, "map", form, dates).stdout
    limited = 'trap "" XFSZ; ulimit -f 40; exec "$@"'
    done = run("bash", "-c", limited, "bash", TABLEFUSE, "map", form, "--svg", file, dates, check=False)
    assert (done.returncode, done.stderr) == (MOUNTING, f"tablefuse: cannot write {file}: File too large\n")
    assert done.stdout == whole and not file.exists()


def test_a_picture_of_a_tree_that_is_not_read(account, tmp_path):
    """As with `map --svg FILE | head -n 0`: standard output has no reader."""
    dates, file = source(account, "dates"), tmp_path / "picture.svg"
    ours, its = os.pipe()
    os.close(ours)
    done = subprocess.run([TABLEFUSE, "map", "--svg", file, dates], stdout=its, stderr=subprocess.PIPE, text=True)
    os.close(its)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")
    assert xml.etree.ElementTree.parse(file).getroot().tag == f"{SVG}svg"


def test_an_interrupt_leaves_the_earlier_picture(account, tmp_path):
    file = tmp_path / "picture.svg"
    file.write_text("earlier")
    env = environment(TABLEFUSE_FAULTS="hang=query:2")
    process = subprocess.Popen(
        [FAULTY, "map", "--svg", file, source(account, "dates")], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_until(lambda: [*tmp_path.glob("picture.svg.*.tmp")])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=COMMAND_SEC)
    assert (process.returncode, out, err) == (INTERRUPTED, b"", b"")
    assert file.read_text() == "earlier" and [*tmp_path.glob("picture*")] == [file]
