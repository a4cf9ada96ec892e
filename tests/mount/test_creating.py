# SPDX-License-Identifier: MIT
"""Many processes that create files in one partition. Each name is looked up first, under the kernel's lock of the directory:
what is absent is known by gaps, not by names."""
import random
import time

import pytest

from harness import BOTH_SERVICES, environment, run
from writing import outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

BEFORE = [f"a{i:03}" for i in range(100)]  # more rows than a lookup of the partition brings
GAPS = 64
ENDS = [f"w{i:02}" for i in range(GAPS)]  # a gap is after each of them
NEW = 3  # names of a gap
TTL_SEC = 0.2

TOOLS = {"redirect": "cat $SOURCE > $f", "cp": "cp $SOURCE $f"}


@pytest.mark.parametrize("tool", TOOLS)
def test_absent_names_are_known_by_gaps(mounts, make_table, stored, tmp_path, tool):
    table = f"created{tool}"
    make_table(table, [("p", row) for row in [*BEFORE, *ENDS]])
    mount = mounts("ttl=600")
    names = [f"{end}-{i}" for i in range(NEW) for end in random.Random(i).sample(ENDS, GAPS)]
    (tmp_path / "source").write_text('{"By": "me"}')
    (tmp_path / "list").write_text("".join(f"{name}.json\n" for name in names))
    script = f"cd $1; xargs -P8 -n1 sh -c 'f=$0; {TOOLS[tool]} || exit 255' < $2"
    env = environment(SOURCE=str(tmp_path / "source"))
    with mount.counting() as counted:
        run("sh", "-e", "-c", script, "sh", mount / table / "p", tmp_path / "list", env=env)
    # the table, the partition, the first name; and of several look-ups in one gap at the same time each may ask
    assert counted.requests() - len(names) <= GAPS + 3 + 16
    found = {row: text for (_, row), text in stored(table).items() if text}
    assert found == {name: {"By": "me"} for name in names}


def test_a_change_is_seen_in_a_gap(mounts, make_table):
    """An own one at once, another client's after ttl."""
    make_table("gap", [("p", row) for row in BEFORE])
    mount, other = mounts(f"ttl={TTL_SEC}"), mounts("ttl=0")
    names = [mount / f"gap/p/b{i}.json" for i in range(9)]
    for name in names:
        assert outcome(name.stat) == "ENOENT"
    assert write(other / "gap/p/b5.json", '{"By": "another"}') == ""
    assert write(names[7], '{"By": "me"}') == ""
    assert '"By": "me"' in names[7].read_text()
    time.sleep(TTL_SEC + 0.05)
    assert '"By": "another"' in names[5].read_text()
    assert [i for i, name in enumerate(names) if outcome(name.stat) == ""] == [5, 7]
