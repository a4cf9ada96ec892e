"""The soak (tests/soak) ends, whatever hangs."""
import importlib
import os
import pathlib
import re
import sys
import time

import pytest

from harness import ROOT, environment, run

# the processes of the mounts stop when the programs' time is over
HANGING = """
import os, signal, sys, threading
sys.path.insert(0, sys.argv.pop(1))
import soak
soak.HANG_SEC = 15
end_programs = soak.Soak.end_programs

def stop_mounts(self):
    for mount in self.mounts:
        os.kill(mount.mount.pid, signal.SIGSTOP)
    end_programs(self)

soak.Soak.end_programs = stop_mounts
sys.exit(soak.main())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="the soak's programs work as root")
def test_the_soak_ends_though_its_mounts_hang(tmp_path):
    words = [sys.executable, "-c", HANGING, ROOT / "tests/soak", "--seconds", "4", "--seed", "1"]
    done = run(*words, check=False, timeout=200, env=environment(TMPDIR=str(tmp_path)))
    assert done.returncode == 1, done
    assert re.search(r"^WRONG  \w+ on (plain|writeback) hangs in \[", done.stdout, re.MULTILINE)
    assert re.search(r"^WRONG  hangs: .*run:\d+ > (end_programs|stop_mounts):\d+", done.stdout, re.MULTILINE)
    (left,) = re.findall("^LEFT  (.*)$", done.stdout, re.MULTILINE)
    assert left.startswith(str(tmp_path))
    assert str(tmp_path) not in open("/proc/self/mounts", encoding="utf-8").read()
    listed = run("ps", "-eo", "args").stdout
    assert left not in listed


def test_a_late_change_is_one_that_a_later_command_was_ahead_of(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tests/soak")
    model, key, begun = importlib.import_module("model").Model(), ("table", "p", "r1"), time.time()
    mount = pathlib.Path("mount")  # has a name
    model.end(mount, model.begin(mount, {key: ("value", 1)}), is_confirmed=True, is_queued=False)
    late = {"arrived": begun - 1, "answered": time.time() + 1, "is_gone": True, "result": "202", "table": "table"}
    late["writes"] = [["insert", "p", "r0", ""], ["insert", "p", "r1", ""]]
    assert model.was_late(key, late)
    assert not model.was_late(("table", "p", "r2"), late)
    assert begun <= model.sure_since(key) < late["answered"] and model.sure_since(("table", "p", "r2")) == 0
    model.begin(mount, {("table", "p", "r2"): None})
    assert not model.was_late(("table", "p", "r2"), late)
    assert model.was_late(key, {**late, "writes": [["drop", "", "", ""]]})
    for other in (
        {"is_gone": False},
        {"table": "other"},
        {"result": "409 EntityAlreadyExists"},
        {"answered": begun - 0.5},
        {"arrived": time.time()},
    ):
        assert not model.was_late(key, {**late, **other})
    model.killed(mount)
    assert not model.in_doubt
    model.doubt([key])
    assert model.in_doubt == {("value", 1)}
