# SPDX-License-Identifier: MIT
"""st_ino of entities: the same in every mount, and no two files with one number after renames and saves."""
import itertools
import os

import pytest

from harness import BOTH_SERVICES, run
from writing import failures

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

NAMES = ("a", "b", "c", "f")

# What programs do to save f.json, and what renames it. The script may leave files with other names.
STEPS = {
    "mv": "mv f.json g.json; cp c.json f.json",
    "swap": "mv a.json t.json; mv b.json a.json; mv t.json b.json",
    "scratch swap": "mv a.json a.tmp; mv b.json a.json; mv a.tmp b.json",
    "replace": "mv a.json b.json; cp c.json a.json",
    "vim": "vim -u NONE -N -es -c 'set backup backupcopy=no' -c '%s/}/ }/' -c 'w' -c 'q' f.json",
    "sed -i.bak": "sed -i.bak s/1/3/ f.json",
    "backup and back": "mv f.json f.json~; mv f.json~ f.json",
    "backup to another name": "mv f.json f.json~; mv f.json~ g.json; cp c.json f.json",
    "backup of a renamed file": "cp c.json f.json; mv f.json g.json; mv g.json g.json~; cp c.json g.json",
    "save by rename": "cp c.json f.json.tmp; mv f.json.tmp f.json",
    "again": "mv f.json g.json; mv g.json f.json; mv f.json g.json; mv c.json f.json; cp f.json c.json",
}


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("stable", [("p", "r"), ("p", "s"), ("q", "r"), ("", ""), ("p", "k" * 300)])
    for number in range(len(STEPS)):
        make_table(f"steps{number}", [("p", name) for name in NAMES])


def numbers_below(directory):
    """{path: st_ino} of all files, as stat(1) shows them, which asks the kernel for nothing else."""
    listed = run("find", directory, "-exec", "stat", "-c", "%i %n", "{}", "+").stdout.splitlines()
    return {line.split(" ", 1)[1]: int(line.split(" ", 1)[0]) for line in listed}


def test_numbers_are_the_same_in_every_mount(mounts):
    first, second = mounts("ttl=600"), mounts("ttl=0")
    numbers = {os.path.relpath(path, first / "."): number for path, number in numbers_below(first / "stable").items()}
    other = {os.path.relpath(path, second / "."): number for path, number in numbers_below(second / "stable").items()}
    assert numbers == other and len(set(numbers.values())) == len(numbers) == 9
    first.unmount()
    again = mounts("ttl=1")
    assert numbers == {os.path.relpath(path, again / "."): n for path, n in numbers_below(again / "stable").items()}


def test_a_file_that_is_open_without_a_name_has_a_number_of_its_own(mounts, make_table):
    make_table("open", [("p", "f"), ("p", "g"), ("p", "h")])
    p = mounts("ttl=600") / "open/p"
    for script in ("cp h.json f.json.tmp; mv f.json.tmp f.json", "mv f.json g.json; cp h.json f.json", "rm f.json; cp h.json f.json"):
        files = [os.open(p / name, os.O_RDONLY) for name in ("f.json", "g.json")]
        run("bash", "-ec", script, cwd=p)
        numbers = [os.fstat(file).st_ino for file in files if os.fstat(file).st_nlink == 0]
        assert len(numbers) == 1 and not set(numbers) & {os.stat(p / name).st_ino for name in os.listdir(p)}
        for file in files:
            os.close(file)


@pytest.mark.asan("scratch swap-local")
@pytest.mark.parametrize("step", STEPS)
def test_no_two_files_have_one_number(mounts, step):
    mount = mounts("ttl=600")
    p = mount / f"steps{list(STEPS).index(step)}/p"
    before = numbers_below(p)
    for _ in range(2):
        run("bash", "-ec", STEPS[step], cwd=p)
        kept = numbers_below(p)  # by the nodes that the kernel has kept
        assert len(set(kept.values())) == len(kept), kept
        for name in os.listdir(p):  # as the kernel shows them, and as they are looked up
            run("cp", p / name, mount.point.parent / "copy")
        numbers = numbers_below(p)
        assert len(set(numbers.values())) == len(numbers), numbers
        with os.scandir(p) as entries:
            assert {str(p / entry.name) for entry in entries} == set(numbers) - {str(p)}
    if step in ("vim", "sed -i.bak", "backup and back", "save by rename"):
        assert {path: numbers[path] for path in before} == before
    assert failures(mount) == []


def test_many_renames_and_new_files_of_the_old_names(mounts):
    mount = mounts("ttl=600")
    p = mount / "stable/many"
    os.mkdir(p)
    for _ in range(3):
        for name, other in itertools.pairwise(["a", "b", "c", "d", "a"]):
            if not os.path.exists(p / f"{name}.json"):
                (p / f"{name}.json").write_text("{}")
            os.rename(p / f"{name}.json", p / f"{other}.json")
            (p / f"{name}.json").write_text("{}")
            numbers = [os.stat(path).st_ino for path in p.iterdir()]
            assert len(set(numbers)) == len(numbers)
