"""Tools that delete many files: what is left on the service is exact, a listing knows it at once, and the requests are
those of batches. On Azurite and in a file."""
import errno
import os
import shutil
import subprocess
import threading

import pytest

from deleting import FIRST, Deleting, is_of_the_other, keys, names
from harness import BOTH_SERVICES, environment, run
from writing import failures, outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

MANY = int(os.environ.get("TABLEFUSE_DELETES", "1000"))
FANOUT = 16


@pytest.fixture
def mount(mounts):
    return mounts("ttl=600", f"fanout={FANOUT}")


def found(directory):
    return sorted(run("find", directory, "-mindepth", "1", "-type", "f", "-printf", "%P\\n").stdout.split())


# rm


def test_rm_of_files(mount, fill, stored):
    """Few are sent at once, each by a request, and rm reports the answer."""
    fill("few", keys("p", 8))
    with mount.counting() as counted:
        run("rm", mount / "few/p/00001.json")
        assert len(stored("few")) == 7
        run("rm", *[mount / "few/p" / name for name in names(8)[2:5]])
        assert sorted(stored("few")) == [("p", "00000"), *keys("p", 8)[5:]]
    assert counted.requests("delete") == 4 and counted.requests("batch") == 0
    assert found(mount / "few/p") == ["00000.json", *names(8)[5:]]
    assert failures(mount) == []


def test_rm_of_many_names(mount, fill, stored):
    fill("many", [*keys("p", MANY), *keys("p", 3, "y"), *keys("q", 3)])
    with Deleting(mount, FIRST, [MANY - FIRST]):
        run("rm", *[mount / "many/p" / name for name in names(MANY)])
        assert os.listdir(mount / "many/p") == names(3, "y")
    assert found(mount / "many") == [*[f"p/{name}" for name in names(3, "y")], *[f"q/{name}" for name in names(3)]]
    assert sorted(stored("many")) == [*keys("p", 3, "y"), *keys("q", 3)]
    assert failures(mount) == []


def test_rm_of_a_glob(mount, fill, stored):
    """The shell lists, and rm does not."""
    fill("globbed", [*keys("p", 300, "x"), *keys("p", 3, "y")])
    with Deleting(mount, FIRST, [300 - FIRST]):
        run("sh", "-c", 'rm "$1"/x*; exit $?', "sh", mount / "globbed/p")
    assert found(mount / "globbed") == [f"p/{name}" for name in names(3, "y")]
    assert sorted(stored("globbed")) == keys("p", 3, "y")
    assert failures(mount) == []


def test_rm_of_what_the_mount_has_written_by_another_path(mount, fill, stored):
    """The kernel still has the version before, of which no delete may be queued."""
    fill("written", keys("p", 40))
    files = [mount / "written/p" / name for name in os.listdir(mount / "written/p")]
    for file in files:
        os.stat(file)
    for name in names(40):
        write(mount / "written/.flat/p" / name, '{"a": 1}')
    for file in files:
        os.unlink(file)
    mount.send_queued()
    assert stored("written") == {} and failures(mount) == []


def test_rm_of_what_another_thread_writes(mount, fill, stored):
    fill("racing", keys("p", 200))
    files = [mount / "racing/p" / name for name in os.listdir(mount / "racing/p")]
    written = threading.Semaphore(0)

    def write_all():
        for file in files:
            write(file, '{"a": 1}')
            written.release()

    writer = threading.Thread(target=write_all)
    writer.start()
    for file in files:
        written.acquire()
        os.unlink(file)
    writer.join()
    mount.send_queued()
    assert stored("racing") == {} and failures(mount) == []


def test_rm_r_of_a_partition(mount, fill, stored):
    fill("partition", [*keys("p", MANY), *keys("q", 3)])
    with Deleting(mount, 1, [MANY - 1]) as deleting:
        run("rm", "-r", mount / "partition/p")
        assert stored("partition").keys() == set(keys("q", 3)), "the rmdir has sent all"
        assert os.listdir(mount / "partition") == ["q"]
    assert sum(deleting.reads().values()) <= 1.15 * MANY / 1000 + 5, deleting.asked
    assert not os.path.exists(mount / "partition/p") and failures(mount) == []


def test_rm_r_of_a_prefix(mount, fill, stored):
    """Its partitions are small, and are sent beside one another when the prefix is removed."""
    small = [f"a{first}{second}" for first in "xyz" for second in "0123456789"]
    fill("prefix", [(p, f"{r}") for p in [*small, *[f"b{n}" for n in range(FANOUT)]] for r in range(4)])
    assert sorted(os.listdir(mount / "prefix")) == ["a+", "b+"]
    with Deleting(mount, 1, [3, *[4] * (len(small) - 1)]):
        run("rm", "-r", mount / "prefix/a+")
        assert len(stored("prefix")) == 4 * FANOUT, "the rmdir has sent all"
    left = sorted((f"b{n}", f"{r}") for n in range(FANOUT) for r in range(4))
    assert sorted(stored("prefix")) == left
    assert found(mount / "prefix/.flat") == sorted(f"{p}/{r}.json" for p, r in left)
    assert failures(mount) == []


def test_rm_r_of_several(mount, fill, stored):
    fill("several", [key for p in "pqrs" for key in keys(p, 150)])
    with Deleting(mount, 1, [149, 150, 150]):
        run("rm", "-r", *[mount / "several" / p for p in "prs"])
        assert stored("several").keys() == set(keys("q", 150))
    assert os.listdir(mount / "several") == ["q"] and failures(mount) == []


def test_rm_of_what_is_not_there(mount, fill, stored):
    fill("there", keys("p", 3))
    with mount.counting() as counted:
        run("rm", "-rf", mount / "there/none", mount / "there/p/none.json", mount / "absent")
        assert run("rm", mount / "there/p/none.json", check=False).returncode == 1
    assert not counted.requests("delete") and not counted.requests("batch")
    assert stored("there").keys() == set(keys("p", 3)) and failures(mount) == []


# other tools


def test_find_delete(mount, fill, stored):
    fill("foundall", [key for p in "pqr" for key in keys(p, 120)])
    with Deleting(mount, 1, [119, 120]):
        run("find", mount / "foundall/p", mount / "foundall/q", "-delete")
        assert os.listdir(mount / "foundall") == ["r"]
        assert stored("foundall").keys() == set(keys("r", 120)), "the rmdir of each has sent all"
    assert failures(mount) == []


def test_find_some_and_delete(mount, fill, stored):
    """It removes no directory: what is queued is sent within a second."""
    fill("foundsome", [key for p in "pqr" for x in "xy" for key in keys(p, 50, x)])
    left = [key for p in "pqr" for key in keys(p, 50, "y")]
    with Deleting(mount, 1, [49, 50, 50]):
        run("find", mount / "foundsome", "-name", "x*", "-delete")
        assert found(mount / "foundsome") == [f"{p}/{r}.json" for p, r in left]
    assert sorted(stored("foundsome")) == left
    assert found(mount / "foundsome") == [f"{p}/{r}.json" for p, r in left]
    assert failures(mount) == []


def test_rsync_delete(mount, fill, stored, tmp_path):
    """Into .flat, where names never change."""
    partitions = [f"p{n:02}" for n in range(FANOUT + 4)]
    fill("mirrored", [key for p in partitions for key in keys(p, 20)])
    kept = [(p, f"{r:05}") for p in partitions[::2] for r in range(0, 20, 2)]
    for p, r in kept:
        (tmp_path / p).mkdir(exist_ok=True)
        (tmp_path / p / f"{r}.json").write_text("{}")
    with Deleting(mount, 1, [9, *[10] * 9, *[20] * 10]):
        run("rsync", "-r", "--delete", "--ignore-existing", f"{tmp_path}/", f"{mount.point}/mirrored/.flat/")
        assert found(mount / "mirrored/.flat") == [f"{p}/{r}.json" for p, r in kept]
    assert sorted(stored("mirrored")) == kept
    assert found(mount / "mirrored/.flat") == [f"{p}/{r}.json" for p, r in kept]
    assert failures(mount) == []


def test_git_clean(mount, fill, stored, tmp_path):
    fill("worktree", [*keys("p", 50, "kept"), *keys("p", 150), *keys("q", 50)])
    git = ["git", f"--git-dir={tmp_path}/git", f"--work-tree={mount / 'worktree'}"]
    run(*git, "init", "-q", cwd=tmp_path)
    run("sh", "-c", '"$@" add p/kept*', "sh", *git, cwd=mount / "worktree")
    with Deleting(mount, 1, [149, 50]):
        run(*git, "clean", "-fdxq", cwd=mount / "worktree")
        assert found(mount / "worktree") == [f"p/{name}" for name in names(50, "kept")]
    assert sorted(stored("worktree")) == keys("p", 50, "kept")
    assert os.listdir(mount / "worktree") == ["p"] and failures(mount) == []


def test_rmtree(mount, fill, stored):
    fill("tree", [key for p in "pqr" for key in keys(p, 120)])
    with Deleting(mount, 1, [119]):
        shutil.rmtree(mount / "tree/p")
        assert stored("tree").keys() == {key for p in "qr" for key in keys(p, 120)}
    assert failures(mount) == []


def test_eight_rm_at_once(mount, fill, stored):
    fill("eight", [*keys("p", 400), *keys("q", 3)])
    each = 25
    with Deleting(mount, FIRST * 400 // each, [400 - FIRST * 400 // each], processes=400 // each):
        done = subprocess.run(
            ["xargs", "-P8", f"-n{each}", "rm"],
            input="\n".join(str(mount / "eight/p" / name) for name in names(400)),
            capture_output=True,
            text=True,
            timeout=60,
            env=environment(),
            check=False,
        )
        assert (done.returncode, done.stdout + done.stderr) == (0, "")
        assert os.listdir(mount / "eight/p") == []
    assert stored("eight").keys() == set(keys("q", 3))
    assert os.listdir(mount / "eight/p") == [] and failures(mount) == []


def test_two_rm_of_one_tree(mounts, mount, begin, fill, stored):
    """By two mounts, so that batches meet rows that are gone."""
    fill("both", [key for p in "pqr" for key in keys(p, 300)])
    other = mounts("ttl=600", f"fanout={FANOUT}")
    partitions = [[at / "both" / p for p in "pq"] for at in (mount, other)]
    removing = [begin("rm", "-rf", *each) for each in partitions]
    for process in removing:
        _, err = process.communicate(timeout=60)
        assert all(is_of_the_other(line) for line in err.splitlines()), err
    run("rm", "-rf", *partitions[0])
    run("rm", "-rf", *partitions[1])
    assert stored("both").keys() == set(keys("r", 300))
    for at in (mount, other):
        assert os.listdir(at / "both") == ["r"] and failures(at) == []


def test_two_rm_of_one_tree_in_one_mount(mount, begin, fill, stored):
    fill("same", [key for p in "pqr" for key in keys(p, 300)])
    removing = [begin("rm", "-rf", mount / "same/p", mount / "same/q") for _ in range(2)]
    for process in removing:
        _, err = process.communicate(timeout=60)
        assert all(is_of_the_other(line) for line in err.splitlines()), err
    run("rm", "-rf", mount / "same/p", mount / "same/q")
    mount.send_queued()
    assert stored("same").keys() == set(keys("r", 300))
    assert os.listdir(mount / "same") == ["r"] and failures(mount) == []


# what comes after a delete that is still queued


@pytest.fixture
def emptied(mount, fill):
    """A table whose partition p has been emptied, by deletes of which almost all are still queued."""

    def empty(table):
        fill(table, [*keys("p", 40), *keys("q", 3)])
        for name in os.listdir(mount / table / "p"):
            os.unlink(mount / table / "p" / name)
        assert os.listdir(mount / table / "p") == []
        return mount / table

    return empty


def test_a_name_is_written_again(mount, emptied, stored):
    table = emptied("again")
    for number in (7, 39):
        assert write(table / f"p/{number:05}.json", f'{{"N": {number}}}') == ""
    assert os.listdir(table / "p") == ["00007.json", "00039.json"]
    assert write(table / "p/00008.json", '{"N": 8}', os.O_WRONLY | os.O_CREAT | os.O_EXCL) == ""
    mount.send_queued()
    new = {("p", f"{number:05}"): {"N": number} for number in (7, 8, 39)}
    assert stored("again") == {**{key: {} for key in keys("q", 3)}, **new}
    assert '"N": 39' in (table / "p/00039.json").read_text()
    assert found(table / "p") == ["00007.json", "00008.json", "00039.json"] and failures(mount) == []


def test_an_entity_is_renamed_onto_a_deleted_one(mount, emptied, stored):
    table = emptied("onto")
    os.rename(table / "q/00001.json", table / "p/00001.json")
    os.rename(table / "q/00002.json", table / "q/00009.json")
    assert found(table) == ["p/00001.json", "q/00000.json", "q/00009.json"]
    mount.send_queued()
    assert sorted(stored("onto")) == [("p", "00001"), ("q", "00000"), ("q", "00009")]
    assert found(table) == ["p/00001.json", "q/00000.json", "q/00009.json"] and failures(mount) == []


def test_what_is_deleted_has_no_other_use(mount, emptied):
    table = emptied("gone")
    for use in (os.stat, os.unlink, os.utime, lambda path: os.open(path, os.O_RDONLY)):
        assert outcome(use, table / "p/00005.json") == "ENOENT"
    assert outcome(os.rename, table / "p/00005.json", table / "p/x.json") == "ENOENT"
    assert failures(mount) == []


def test_a_directory_is_made_again(mount, emptied, stored):
    table = emptied("remade")
    os.rmdir(table / "p")
    assert os.listdir(table) == ["q"]
    os.mkdir(table / "p")
    assert os.listdir(table / "p") == []
    assert write(table / "p/00000.json", '{"N": 0}') == ""
    assert stored("remade") == {**{key: {} for key in keys("q", 3)}, ("p", "00000"): {"N": 0}}
    assert failures(mount) == []


def test_readers_beside_rm(mount, begin, fill, stored):
    """A reader sees what is there or what is gone, and no failure."""
    fill("read", [key for p in "pq" for key in keys(p, 400)])
    removing = begin("rm", "-r", mount / "read/p")
    while removing.poll() is None:
        done = run("sh", "-c", 'cat "$1"/read/[pq]/*9.json', "sh", mount.point, check=False)
        assert all(line.endswith(os.strerror(errno.ENOENT)) for line in done.stderr.splitlines()), done.stderr
    assert removing.returncode == 0, removing.communicate()
    assert stored("read").keys() == set(keys("q", 400))
    assert found(mount / "read") == [f"q/{name}" for name in names(400)] and failures(mount) == []
