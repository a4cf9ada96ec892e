"""What contrib/docs/recipes.md says of programs, where its own commands do not show it. They are run by test_readme.py."""
import itertools
import os

import pytest

from harness import BOTH_SERVICES, DETACH, TABLEFUSE, copying_mounts, environment, is_readable, run
from writing import write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("recipes", [("p", "r")])


def value_of(path):
    return run("jq", ".A", path).stdout.strip()


def test_a_change_of_the_same_size_in_the_same_second_is_copied(mounts, tmp_path):
    """By --modify-window=-1, and not without."""
    mount, seconds, tried = mounts("ttl=0"), set(), 0
    path = mount / "recipes/p/same.json"
    while len(seconds) != 1:  # on a busy machine the second may end between the two
        seconds, tried = set(), tried + 1
        for value in "12":
            assert write(path, f'{{"A": {value}}}') == ""
            seconds.add(int(path.stat().st_mtime))
            for window in "0", "-1":
                to = tmp_path / f"{tried}-{window}"
                run("rsync", "-a", f"--modify-window={window}", f"{mount / 'recipes/.flat'}/", f"{to}/")
    assert value_of(path) == value_of(tmp_path / f"{tried}--1/p/same.json") == "2"
    assert value_of(tmp_path / f"{tried}-0/p/same.json") == "1"


# argv: the entity's file, and the same in the mount of another client, who changes it after it was read.
ESTALE = """
const fs = require("fs");
const [mine, others] = process.argv.slice(2);
fs.readFileSync(mine);
fs.writeFileSync(others, '{"A": 5}');
let told;
try { fs.writeFileSync(mine, '{"A": 6}'); } catch (error) { told = [error.errno, error.code]; }
console.log(JSON.stringify(told));
const now = JSON.parse(fs.readFileSync(mine));
fs.writeFileSync(mine, JSON.stringify({ ...now, B: 7 }));
"""


def test_node_tells_estale_by_its_number(mounts, tmp_path):
    pair = mounts("ttl=0"), mounts("ttl=0")
    (tmp_path / "estale.js").write_text(ESTALE)
    files = [mount / "recipes/p/r.json" for mount in pair]
    done = run("node", tmp_path / "estale.js", *files)
    assert done.stdout == '[-116,"Unknown system error -116"]\n'
    assert run("jq", "-c", "[.A, .B]", files[0]).stdout == "[5,7]\n"


# Prints a line for each event, and a last one when "end" is created in the directory.
WATCH = """
const fs = require("fs");
const [directory, file] = process.argv.slice(2);
const told = new Set();
fs.watch(directory, (event, name) => {
  if (name === "end.json") { console.log([...told].sort().join()); process.exit(); }
  told.add(`directory ${name}`);
});
fs.watch(file, () => told.add("file"));
fs.watchFile(file, { interval: 50 }, (now) => console.log(`looked ${now.size}`));
console.log("ready");
"""


def size_of(mount):
    return os.stat(mount / "recipes/p/watched.json").st_size


def test_a_watch_sees_what_this_mount_changes_in_a_directory(mounts, begin, tmp_path):
    mine, others = mounts("ttl=0"), mounts("ttl=0")
    (tmp_path / "watch.js").write_text(WATCH)
    directory = mine / "recipes/p"
    for name in ("watched", "other"):
        assert write(directory / f"{name}.json", '{"A": 1}') == ""
    watch = begin("node", tmp_path / "watch.js", directory, directory / "watched.json")
    assert watch.stdout.readline() == "ready\n"
    # watchFile reports nothing of its first stat, and it cannot see a change before that
    for n in itertools.count(1000):
        assert write(others / "recipes/p/watched.json", f'{{"A": {n}}}') == ""
        if is_readable(watch.stdout, 1):
            break
    assert watch.stdout.readline() == f"looked {size_of(others)}\n", "to look again shows what another client changed"
    assert write(others / "recipes/p/new.json", '{"A": 1000}') == ""
    assert write(directory / "other.json", '{"A": 2}') == ""
    assert write(directory / "watched.json", '{"A": 20}') == ""
    assert any(line == f"looked {size_of(mine)}\n" for line in iter(watch.stdout.readline, ""))
    assert write(directory / "end.json", "{}") == ""
    assert watch.stdout.readlines()[-1] == "directory other.json,directory watched.json\n"


# $1: a directory, in which a mount is made after a mount namespace has begun: a container's, but without a container.
PROPAGATION = """
    cd "$1" && mount -t tmpfs none . && mount --make-shared . && cd "$1" && mkdir mnt
    for how in private slave; do
        mkfifo $how
        unshare --mount --propagation $how sh -c 'echo > $0.begun; read -r _ < $0; ls mnt' $how > $how.out &
        pids="$pids $!"
    done
    until [ -e private.begun ] && [ -e slave.begun ]; do sleep 0.01; done
    "$TABLEFUSE" mount -o create local:account mnt && mkdir mnt/tab
    for how in private slave; do echo > $how; done
    wait $pids
    head private.out slave.out
    "$TABLEFUSE" unmount mnt
    cd / && umount "$1"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a mount namespace")
def test_a_mount_is_seen_in_a_namespace_that_follows(service, tmp_path):
    """A container's mounts are private, unless it is told otherwise: bind-propagation=rslave."""
    env = environment(TABLEFUSE=str(TABLEFUSE), XDG_STATE_HOME=str(tmp_path / "state"), pids="")
    with copying_mounts(env) as options:
        done = run("unshare", "--mount", "bash", "-c", DETACH + PROPAGATION, "bash", tmp_path, check=False, **options)
    assert done.stdout == "==> private.out <==\n\n==> slave.out <==\ntab\n", done.stderr
