"""The soak (tests/soak) ends, whatever hangs."""
import os
import re
import sys

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
