"""The daemon is killed, as by `kill -9`, at each operation of each save: the service has the old entity or the new one.
The save is tried again and again, and each time the daemon ends one operation later, until the save is not disturbed.

By default the daemon ends at each request that changes an entity, and after each operation of the kernel that changes
a file. TABLEFUSE_KILLS=all is each operation and each request, and all saves on Azurite, too:

    TABLEFUSE_KILLS=all python3 -m pytest tests/mount/test_saving_killed.py
"""
import contextlib
import dataclasses
import itertools
import os
import re

import pytest

from harness import FAULTY, environment, run, wait_until
from kill_switch import CHANGES, CHANGING, OPERATIONS, REQUESTS, KillSwitch
from other_client import other_client
from test_tools_save import NEW, OLD, TEXT, TOOLS, backups  # backups is a fixture

TABLE = "killed"
IS_ALL = os.environ.get("TABLEFUSE_KILLS") == "all"
BESIDE = {"N": ("Int32", 1)}

# {name: (enum kill_point, the kinds that count)}
POINTS = {"reply": (1, CHANGING), "request": (2, CHANGES), "answer": (3, CHANGES)}
CHANGES_AT = {"request": 0, "answer": 1}  # how many of the request that does not return have been made
if IS_ALL:
    POINTS |= {
        "any operation": (0, OPERATIONS),
        "any reply": (1, OPERATIONS),
        "any request": (2, REQUESTS),
        "any answer": (3, REQUESTS),
    }


@dataclasses.dataclass
class Save:
    """`script` leads from the first state to the last one, by one request from each state to the next. A state is
    {file: properties}. $OTHER is another partition, whose files begin with "other/"."""

    script: str
    states: tuple = ({"f": OLD}, {"f": NEW})
    before: str = ""  # on a disk


def save_of(name):
    """A save that test_tools_save.py tests, too."""
    tool = TOOLS[name]
    gap = [{}] if tool.has_gap else []
    return Save(tool.script, ({"f": OLD}, *gap, {"f": tool.result}), tool.before)


OTHERS = ["mv, in a partition", "tee -a"]  # their states are not those of save_of
ALIKE = ["vim, backup", "perl -i.bak", "flock, sed -i", "cp -p", "cp -r", "bash, a group", "bash, a here-document"]
ALIKE += ["restic restore", "borg extract"]  # as cp and tar x
PARTLY = {"f": {**OLD, "Text": ("String", "new")}}
SAVES = {name: save_of(name) for name in TOOLS if name not in OTHERS and (IS_ALL or name not in ALIKE)} | {
    "cp, a new file": Save('cp "$DISK/new/f.json" f.json', ({}, {"f": NEW})),
    "touch, a new file": Save("touch f.json", ({}, {"f": {}})),
    "tee -a": Save(TOOLS["tee -a"].script, ({"f": OLD}, PARTLY)),
    ">": Save('read -r text < "$DISK/new/f.json"; echo "$text" > f.json'),
    ">>": Save("""echo '{"Text": "new"}' >> f.json""", ({"f": OLD}, PARTLY)),
    "dd conv=notrunc": Save(
        'sed s/old/new/ f.json > "$DISK/text" && dd status=none if="$DISK/text" of=f.json conv=notrunc'
    ),
    "sed, mv, a new file": Save(
        'sed s/old/new/ "$DISK/old/f.json" > f.json.tmp && mv f.json.tmp f.json', ({}, {"f": NEW})
    ),
    "mv, a new name": Save("mv f.json g.json", ({"f": OLD}, {"g": OLD})),
    "mv, in a partition": Save("mv g.json f.json", ({"f": OLD, "g": NEW}, {"f": NEW})),
    "mv, a new file, from another partition": Save(
        'mv "$OTHER/f.json" f.json', ({"other/f": OLD}, {"other/f": OLD, "f": OLD}, {"f": OLD})
    ),
    "mv, from another partition": Save(
        'mv "$OTHER/f.json" f.json', ({"other/f": NEW, "f": OLD}, {"other/f": NEW, "f": NEW}, {"f": NEW})
    ),
}
# The status is 0 if they cannot open the old file; rsync: if it cannot make its directory, which it says.
MUTE = ["perl -i", "perl -i.bak", "patch", "busybox patch", "rsync -a --delay-updates"]
ON_AZURITE = list(SAVES) if IS_ALL else ["sed -i", "cp", "tar x", "mv, from another partition"]


@pytest.fixture(scope="module")
def client(make_table, service):
    make_table(TABLE)
    made = other_client(service)
    yield made
    made.stop()


@pytest.fixture
def disk(tmp_path, request):
    """A directory with the old and the new text. The saves that need a backup are among those of IS_ALL."""
    for name in ("new", "old", "work"):
        (tmp_path / name).mkdir()
    for text in ("new", "old"):
        (tmp_path / text / "f.json").write_text(TEXT % text)
    run("tar", "cf", tmp_path / "tar", "-C", tmp_path / "new", "f.json")
    if IS_ALL:
        (tmp_path / "backups").symlink_to(request.getfixturevalue("backups"))
    return tmp_path


class Trial:
    """Of one save. Each try has a number, and partitions with this number."""

    def __init__(self, save, client, mount, disk, service):
        self._save, self._client, self._mount, self._disk, self._service = save, client, mount, disk, service
        self._switch = KillSwitch(disk / "switch")
        if save.before:
            run("bash", "-c", save.before, cwd=disk / "work", env=environment(DISK=str(disk)))

    def stored(self, numbers):
        """What the service has of the tries whose numbers fulfil this."""
        found = self._client.stored(TABLE)
        return {key: properties for key, properties in found.items() if numbers(int(re.sub(r"\D", "", key[0])))}

    @contextlib.contextmanager
    def changing(self, number):
        """Nothing of another try changes meanwhile."""
        before = self.stored(lambda other: other != number)
        yield
        assert self.stored(lambda other: other != number) == before

    @staticmethod
    def _rows(state, number):
        rows = {}
        for file, properties in {**state, "beside": BESIDE, "other/beside": BESIDE}.items():
            partition, row = file.split("/") if "/" in file else ("p", file)
            rows[f"{partition}{number}", row] = properties
        return rows

    def prepare(self, number):
        """Makes the partitions of a try. Only those of the one before are left."""
        for key in self.stored(lambda other: other != number - 1):
            self._client.change("delete", (TABLE, *key), None)
        for key, properties in self._rows(self._save.states[0], number).items():
            self._client.change("insert", (TABLE, *key), properties)

    def start(self):
        variables = {**self._service.credentials, **self._switch.environment}
        self._switch.arm(OPERATIONS)
        self._mount.start(self._service.source, program=FAULTY, env=variables)
        self._mount.let_end()

    def _come_to_rest(self):
        """Until each operation is answered, or the daemon has ended. No program waits for RELEASE: STATFS comes
        after it."""
        with contextlib.suppress(OSError):
            os.statvfs(self._mount.point)
        wait_until(lambda: self._switch.is_at_rest() or self._mount.has_ended(0))

    def run_script(self, number):
        (self._disk / "new/f.json").write_text(TEXT % "new")  # mv has taken it
        script = f'cd "{self._mount / TABLE}/p{number}" || exit\n{self._save.script}'
        variables = environment(DISK=str(self._disk), OTHER=f"../other{number}")
        return run("bash", "-c", script, check=False, env=variables)

    def run_killed(self, number, name):
        """Answers whether the daemon has ended, and the script's status."""
        point, kinds = POINTS[name]
        self._come_to_rest()
        self._switch.arm(kinds, point, number)
        status = self.run_script(number).returncode
        self._come_to_rest()
        is_killed = self._switch.passed()[point] >= number
        assert not is_killed or self._mount.has_ended()
        return is_killed, status

    def states(self, number):
        """Those that the service has: their places in the save's list. Two may be equal."""
        found = self.stored(lambda other: other == number)
        states = [place for place, state in enumerate(self._save.states) if self._rows(state, number) == found]
        assert states, found
        return states

    def listed(self, number):
        """The keys that the mount shows."""
        return {
            (partition, name.removesuffix(".json"))
            for partition in (f"p{number}", f"other{number}")
            for name in os.listdir(self._mount / TABLE / partition)
        }


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    "service, name",
    [("local", name) for name in SAVES] + [("azurite", name) for name in ON_AZURITE],
    indirect=["service"],
    scope="module",
)
def test_a_save(client, mounts, disk, service, name, point):
    trial = Trial(SAVES[name], client, mounts.prepare(), disk, service)
    last = len(SAVES[name].states) - 1
    trial.prepare(1)
    trial.start()
    for number in itertools.count(1):
        with trial.changing(number):
            is_killed, status = trial.run_killed(number, point)
        states = trial.states(number)
        assert status != 0 or last in states or name in MUTE
        if not is_killed:
            break
        if point in CHANGES_AT:
            assert number - 1 + CHANGES_AT[point] in states
        trial.prepare(number + 1)
        trial.start()
        assert trial.listed(number) == set(trial.stored(lambda other: other == number))
        if states != [last]:
            with trial.changing(number):
                assert trial.run_script(number).returncode == 0
            assert last in trial.states(number)
    assert status == 0 and last in states
    assert point not in CHANGES_AT or number - 1 == last
