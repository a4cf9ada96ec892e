"""The programs that change files, each as people use it, on an entity with a value of each type: what the service has
afterwards, what was sent, what another client sees meanwhile, and what a failure looks like. contrib/docs/tools.md
lists them."""
import dataclasses
import os
import pathlib
import re
import threading

import pytest

from conftest import Mounts
from harness import BOTH_SERVICES, environment, run
from other_client import typed
from writing import failures, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

TABLE = "tools"
VALUES = {
    "Big": ("Int64", "9007199254740993"),
    "Id": ("Guid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    "Ratio": ("Double", 3.0),
    "Raw": ("Binary", "AAEC/+8="),
    "When": ("DateTime", "2024-05-06T07:08:09Z"),
}
OLD, NEW = ({**VALUES, "Text": ("String", text)} for text in ("old", "new"))
TEXT = """{"Text": "%s", "Big@odata.type": "Edm.Int64", "Big": "9007199254740993", "Id@odata.type": "Edm.Guid", \
"Id": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "Ratio": 3.0, "Raw@odata.type": "Edm.Binary", "Raw": "AAEC/+8=", \
"When@odata.type": "Edm.DateTime", "When": "2024-05-06T07:08:09Z"}
"""
DENIED = "Permission denied"
NANO = f"/usr/bin/python3 {pathlib.Path(__file__).with_name('nano_actor.py')}"
GIT = (
    'export GIT_DIR="$DISK/git" GIT_WORK_TREE=. GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null EMAIL=a@b\n'
)
RESTIC = 'export RESTIC_REPOSITORY="$DISK/backups/restic" RESTIC_PASSWORD=a RESTIC_CACHE_DIR="$DISK/backups/cache"\n'
# borg refuses a repository that is found by another path than before
BORG = """export BORG_REPO=$(realpath "$DISK/backups/borg") BORG_BASE_DIR="$DISK/backups"
export BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
"""
PYTHON = """import os, tempfile
text = open("f.json").read().replace("old", "new")
with tempfile.NamedTemporaryFile("w", dir=".", delete=False) as file:
    file.write(text)
os.replace(file.name, "f.json")"""


def requests(**counts):
    return dataclasses.field(default_factory=lambda: counts)


@dataclasses.dataclass
class Tool:
    """`script` changes f.json from OLD to NEW in its working directory, a partition. $DISK is a directory of a disk,
    and $DISK/new/f.json has the new text. The archive "new" of each program for backups has it, too."""

    script: str
    asked: dict = requests(write=1)
    also: tuple = ()  # files that it leaves beside f.json
    has_gap: bool = False  # it removes the file before it makes the new one
    needs_gap: bool = True  # if it cannot remove the file, it does not write it
    status: int = 1  # where its request fails
    says: str = DENIED
    before: str = ""
    result: dict = dataclasses.field(default_factory=lambda: NEW)


def vim(*settings, **attributes):
    # of a file in /tmp it makes no backup otherwise
    options = " ".join(f"--cmd 'set {setting}'" for setting in ("backupskip=", *settings))
    script = f"vim.tiny -N -u NONE -i NONE -V1 {options} -es -c '%s/old/new/' -c wq f.json"
    return Tool(script, says="E512: Close failed", **attributes)


def in_two_steps(script, **attributes):
    return Tool(script, asked={"delete": 1, "write": 1}, has_gap=True, **attributes)


TOOLS = {
    # editors
    "vim": vim(),
    "vim, backupcopy=yes": vim("backupcopy=yes"),
    "vim, nobackup": vim("nobackup", "nowritebackup"),
    "vim, backup": vim("backup", also=("f.json~",)),
    "nano": Tool(f"{NANO} f.json"),
    # a temporary file gets the entity's name
    "sed -i": Tool("sed -i s/old/new/ f.json", status=4),
    "sed -i.bak": Tool("sed -i.bak s/old/new/ f.json", also=("f.json.bak",), status=4),
    "perl -i": Tool("perl -i -pe s/old/new/ f.json", status=13),
    "perl -i.bak": Tool("perl -i.bak -pe s/old/new/ f.json", also=("f.json.bak",), status=13),
    "jq, mv": Tool("""jq '.Text = "new"' f.json > f.json.tmp && mv f.json.tmp f.json"""),
    "python, os.replace": Tool(f"/usr/bin/python3 -c '{PYTHON}'"),
    "rsync -a": Tool('rsync -a "$DISK/new/" .', status=23),
    "rsync -a --delay-updates": Tool('rsync -a --delay-updates "$DISK/new/" .', status=23),
    "rsync -a --backup": Tool('rsync -a --backup "$DISK/new/" .', also=("f.json~",), status=23),
    "patch": Tool(
        'sed s/old/new/ f.json | diff -u f.json - > "$DISK/patch"; patch -s f.json "$DISK/patch"', status=2
    ),
    "gawk -i inplace": Tool("gawk -i inplace '{ sub(/old/, \"new\") } 1' f.json", status=2),
    "dos2unix": Tool("dos2unix f.json", result=OLD, status=13),
    "busybox sed -i": Tool("busybox sed -i s/old/new/ f.json"),
    "busybox patch": Tool(
        'sed s/old/new/ f.json | diff -u f.json - > "$DISK/patch"; busybox patch f.json "$DISK/patch" > /dev/null',
        status=0,
        says="",
    ),
    "flock, sed -i": Tool("flock .lock sed -i s/old/new/ f.json", also=(".lock",), status=4),
    # they write the file itself
    "rsync -a --inplace": Tool('rsync -a --inplace "$DISK/new/" .', status=11),
    "sort -o": Tool('sort -o f.json "$DISK/new/f.json"', status=2),
    "sponge": Tool("sed s/old/new/ f.json | sponge f.json"),
    "cp": Tool('cp "$DISK/new/f.json" f.json'),
    "cp -p": Tool('cp -p "$DISK/new/f.json" f.json'),
    "cp -r": Tool('cp -r "$DISK/new/." .'),
    "tee -a": Tool("""echo '{"Text": "new"}' | tee -a f.json"""),
    "tar x --overwrite": Tool('tar xf "$DISK/tar" --overwrite', status=2),
    "restic restore": Tool(f"{RESTIC} restic -q restore latest --tag new --target .", says="permission denied"),
    "bash, a group": Tool('text=$(sed s/old/new/ f.json); { echo "${text%?}"; echo "}"; } > f.json'),
    "bash, a here-document": Tool("text=$(sed s/old/new/ f.json); cat > f.json <<END\n$text\nEND"),
    # they rename or touch the entity
    "mv, in a partition": Tool(
        "mv g.json f.json", before='cp "$DISK/new/f.json" g.json', asked={"batch": 1}
    ),
    "touch": Tool("touch f.json", result=OLD),
    # they remove the file first
    "mv, from a disk": in_two_steps('mv "$DISK/new/f.json" f.json'),
    "install": in_two_steps('install "$DISK/new/f.json" f.json'),
    "borg extract": in_two_steps(f"{BORG} borg extract ::new", status=2, needs_gap=False),
    "tar x": in_two_steps('tar xf "$DISK/tar"', status=2),
    "git checkout": in_two_steps(
        f"{GIT} git checkout -q HEAD~ f.json",
        status=255,
        says="unable to write file f.json",
        before=f"""{GIT} git init -q && cp "$DISK/new/f.json" . && git add f.json && git commit -qm new &&
            cp "$DISK/old/f.json" . && git commit -qam old""",
    ),
}


@dataclasses.dataclass
class Unchanged:
    """`script` changes nothing, and sends nothing."""

    script: str
    status: int = 0
    says: str = ""
    also: tuple = ()


UNCHANGED = {
    "ln": Unchanged("ln f.json g.json", 1, "Operation not permitted"),
    "ln -s": Unchanged("ln -s f.json g.json", 1, "Operation not permitted"),
    "jq fails, mv": Unchanged(
        "jq 'error(\"no\")' f.json > f.json.tmp && mv f.json.tmp f.json", 5, "no", also=("f.json.tmp",)
    ),
    "patch, rejected": Unchanged(
        "printf -- '--- f\n+++ f\n@@ -1 +1 @@\n-x\n+y\n' | patch f.json >&2",
        1,
        "1 out of 1 hunk FAILED -- saving rejects to file f.json.rej",
        also=("f.json.orig", "f.json.rej"),
    ),
    # where both files are on a disk that has no clones of files, cp does the same
    "cp --reflink=always": Unchanged(
        'cp --reflink=always "$DISK/new/f.json" f.json', 1, "failed to clone 'f.json'"
    ),
    "flock": Unchanged("flock f.json true"),
    # what it writes is no entity
    "yq -yi": Unchanged("yq -yi . f.json", 1, "Invalid argument"),
    "gawk -i inplace, a backup": Unchanged(
        "gawk -i inplace -v inplace::suffix=.bak 1 f.json", 2, "Operation not permitted"
    ),
    # what they make is to be kept: gzip would remove f.json then
    "gzip": Unchanged("gzip f.json", 1, "gzip: f.json.gz: Invalid argument"),
    "xz": Unchanged("xz f.json", 1, "xz: f.json.xz: Invalid argument"),
    "cp, another name": Unchanged('cp "$DISK/notes.txt" .', 1, "'./notes.txt': Invalid argument"),
    "cp -p, another name": Unchanged('umask 077; cp -p "$DISK/notes.txt" .', 1, "'./notes.txt': Invalid argument"),
    "install, another name": Unchanged('install -m 600 "$DISK/notes.txt" .', 1, "'./notes.txt': Invalid argument"),
    "tar x, another name": Unchanged('tar xpf "$DISK/notes.tar"', 2, "notes.txt: Cannot open: Invalid argument"),
    "restic backup": Unchanged(f"{RESTIC} restic -q backup ."),
    "borg create": Unchanged(f"{BORG} borg create ::{{now:%s.%f}} ."),
    "git add, commit": Unchanged(
        f"{GIT} git init -q && git add f.json && git commit -qm old && git status --short >&2 && git diff >&2"
    ),
}


@pytest.fixture(scope="module")
def make_mount(make_table, service, scratch):
    make_table(TABLE, [("p", "beside")])
    made = Mounts(scratch, service)
    yield made
    made.finish()


@pytest.fixture(scope="module")
def mount(make_mount):
    return make_mount("ttl=600")


@pytest.fixture(scope="module")
def fails_to_write(make_mount):
    refusal = "403:AuthorizationPermissionMismatch"
    return make_mount("ttl=0", faults=f"fail=write:*:{refusal},fail=batch:*:{refusal}")


@pytest.fixture(scope="module")
def fails_to_delete(make_mount):
    return make_mount("ttl=0", faults="fail=delete:*:403:AuthorizationPermissionMismatch")


def write_texts(directory):
    for text in ("new", "old"):
        (directory / text).mkdir()
        (directory / text / "f.json").write_text(TEXT % text)


@pytest.fixture(scope="module")
def backups(tmp_path_factory):
    """A directory with the repositories of the programs for backups."""
    disk = tmp_path_factory.mktemp("backups")
    write_texts(disk)
    (disk / "backups").mkdir()
    restic = f"{RESTIC} restic -q init; restic -q backup --tag new ."
    borg = f"{BORG} borg init -e none; borg create ::new ."
    for script in (restic, borg):
        run("bash", "-ec", script, cwd=disk / "new", env=environment(DISK=str(disk)))
    return disk / "backups"


@pytest.fixture
def disk(tmp_path, backups):
    """A directory with the old and the new text."""
    write_texts(tmp_path)
    run("tar", "cf", tmp_path / "tar", "-C", tmp_path / "new", "f.json")
    (tmp_path / "notes.txt").write_text("notes\n")
    (tmp_path / "notes.txt").chmod(0o600)
    run("tar", "cf", tmp_path / "notes.tar", "-C", tmp_path, "notes.txt")
    (tmp_path / "backups").symlink_to(backups)
    return tmp_path


@pytest.fixture
def use(disk):
    """Runs a script in a partition."""

    def run_script(script, partition):
        return run("bash", "-c", script, cwd=partition, check=False, env=environment(DISK=str(disk)))

    return run_script


@pytest.fixture
def partition(request, mount, use):
    """Of this test alone, with f.json, which is OLD, as this process has just seen."""
    directory = mount / TABLE / re.sub(r"\W+", "-", request.node.name)
    directory.mkdir()
    os.listdir(directory)
    assert write(directory / "f.json", TEXT % "old") == ""
    tool = TOOLS.get(request.node.callspec.params["name"])
    if tool and tool.before:
        done = use(tool.before, directory)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return directory


@pytest.fixture
def entity(stored, partition):
    """What the service has of f.json, past every mount. None: nothing."""

    def read():
        members = stored(TABLE).get((partition.name, "f"))
        return members and typed(members)

    return read


class Watcher:
    """What another client sees from the beginning to the end of a `with` block, without repetitions."""

    def __init__(self, read):
        self._read, self._is_over = read, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.seen = []

    def _watch(self):
        is_over = False
        while not is_over:
            is_over = self._is_over.is_set()
            found = self._read()
            if found not in self.seen:
                self.seen.append(found)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()


def names_in(directory):
    return sorted(os.listdir(directory))


def rules(mount):
    """What failed, but for links: some tools try to make them, and rename the file when there are none."""
    return [line for line in failures(mount) if line["operation"] not in ("link", "symlink")]


@pytest.mark.parametrize("name", TOOLS)
def test_a_change(mount, partition, entity, use, name):
    tool = TOOLS[name]
    told = rules(mount)
    with mount.counting() as counted, Watcher(entity) as watcher:
        done = use(tool.script, partition)
    assert done.returncode == 0, done.stderr
    assert not done.stderr or name.startswith(("vim", "dos2unix"))  # they tell what they do
    assert entity() == tool.result and watcher.seen[-1] == tool.result
    assert counted.asked() == tool.asked
    assert [seen for seen in watcher.seen if seen not in (OLD, NEW)] in ([], [None] * tool.has_gap)
    assert names_in(partition) == sorted(["f.json", *tool.also])
    assert rules(mount) == told


@pytest.mark.parametrize("name", TOOLS)
def test_a_store_that_fails(mount, fails_to_write, partition, entity, use, disk, name):
    """What removes the file first leaves none, as on a disk; what it was given is still there."""
    tool = TOOLS[name]
    done = use(tool.script, fails_to_write / partition.relative_to(mount.point))
    assert done.returncode == tool.status
    assert re.search(tool.says, done.stderr), done.stderr
    assert entity() == (None if tool.has_gap else OLD)
    assert (disk / "new/f.json").exists()


@pytest.mark.asan("mv, from a disk-local")
@pytest.mark.parametrize("name", [name for name, tool in TOOLS.items() if tool.has_gap])
def test_a_removal_that_fails(mount, fails_to_delete, partition, entity, use, disk, name):
    tool = TOOLS[name]
    with Watcher(entity) as watcher:
        done = use(tool.script, fails_to_delete / partition.relative_to(mount.point))
    if not tool.needs_gap:
        assert (done.returncode, done.stderr, watcher.seen[-1]) == (0, "", NEW)
        assert None not in watcher.seen
        return
    assert done.returncode != 0
    # tar says why it could not make the file
    assert re.search(f"{DENIED}|File exists", done.stderr), done.stderr
    assert entity() == OLD
    assert (disk / "new/f.json").exists()


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_changes_nothing(mount, partition, entity, use, name):
    tool = UNCHANGED[name]
    with mount.counting() as counted:
        done = use(tool.script, partition)
    assert done.returncode == tool.status
    assert tool.says in done.stderr and bool(tool.says) == bool(done.stderr)
    assert counted.asked() == {}
    assert entity() == OLD and names_in(partition) == sorted(["f.json", *tool.also])
