"""Programs that keep backups, on a mounted table: what a run sends, what the next one reads again, and what a restore
puts back. contrib/docs/tools.md has them, too."""
import dataclasses
import json

import pytest

from harness import BOTH_SERVICES, environment, run
from other_client import typed

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

TABLE, ROWS = "readings", 100  # in one partition, and in one page
NAMES = {f"{TABLE}/all/evt-{i:08}.json" for i in range(ROWS)}
TOUCHED = f"{TABLE}/all/evt-00000007.json"


@dataclasses.dataclass
class Program:
    begin: str
    backup: str  # of the table, by a path that is relative to the working directory
    restore: str  # the last backup, to the same path
    variables: dict

    def run(self, script, directory, repository):
        """What it prints. It keeps its caches beside the repository."""
        beside = {name: str(repository.parent / name) for name in ("RESTIC_CACHE_DIR", "BORG_BASE_DIR")}
        variables = environment(REPOSITORY=str(repository), **self.variables, **beside)
        return run("bash", "-ec", script, cwd=directory, env=variables).stdout


class Restic(Program):
    queries = (1, 2)  # two threads of it walk the tree at once

    def read(self, printed):
        """The files that a backup has read."""
        lines = [json.loads(line) for line in printed.splitlines()]
        return {line["item"].lstrip("/") for line in lines if line.get("action") in ("new", "modified")} & NAMES

    def reads_always(self, _):
        return set()


class Borg(Program):
    queries = (1,)

    def read(self, printed):
        return {line[2:] for line in printed.splitlines() if line.startswith(("A ", "M "))}

    def reads_always(self, root):
        """It does not rely on the time of the youngest files."""
        times = {name: (root / name).stat().st_mtime_ns for name in NAMES}
        return {name for name in NAMES if times[name] == max(times.values())}


PROGRAMS = {
    "restic": Restic(
        "restic -q -r $REPOSITORY init",
        f"restic -r $REPOSITORY backup --json -vv {TABLE}",
        "restic -q -r $REPOSITORY restore latest --target .",
        {"RESTIC_PASSWORD": "a"},
    ),
    "borg": Borg(
        "borg init -e none $REPOSITORY",
        f"borg create --list --filter AM $REPOSITORY::{{now:%s.%f}} {TABLE} 2>&1",
        "borg extract $REPOSITORY::$(borg list --short --last 1 $REPOSITORY)",
        {"BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes"},
    ),
}


@pytest.fixture
def mount(mounts, service):
    service.fill(TABLE, "single", str(ROWS))
    return mounts("ttl=600")


@pytest.fixture
def repository(tmp_path):
    return tmp_path / "repository"


@pytest.fixture
def entities(stored):
    def read():
        return {keys: typed(members) for keys, members in stored(TABLE).items()}

    return read


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_backup_reads_what_has_changed(mount, service, repository, tmp_path, name):
    program = PROGRAMS[name]
    program.run(program.begin, tmp_path, repository)

    def back_up():
        """The files that were read, and the requests."""
        with mount.counting() as counted:
            printed = program.run(program.backup, mount.point, repository)
        return program.read(printed), counted.asked()

    listed = [{"list_tables": 1, "query": queries} for queries in program.queries]
    read, asked = back_up()
    assert read == NAMES and asked in listed
    always = program.reads_always(mount.point)
    assert back_up() == (always, {})
    # another mount at the same place
    mount.unmount()
    mount.start(service.source, "ttl=600", env=service.credentials)
    read, asked = back_up()
    assert read == always and asked in listed
    run("touch", mount / TOUCHED)
    assert back_up() == ({TOUCHED} | always, {})
    (tmp_path / "copied").mkdir()
    program.run(program.restore, tmp_path / "copied", repository)
    run("diff", "-r", mount / TABLE, tmp_path / "copied" / TABLE)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_table_that_is_gone_is_restored(mount, repository, tmp_path, entities, name):
    program, before = PROGRAMS[name], entities()
    program.run(program.begin, tmp_path, repository)
    program.run(program.backup, mount.point, repository)
    run("rm", "-r", mount / TABLE)
    with mount.counting() as counted:
        program.run(program.restore, mount.point, repository)
    assert entities() == before and len(before) == ROWS
    assert counted.asked() == {"create_table": 1, "write": ROWS}


def test_borg_drops_an_empty_table_that_it_restores(mount, repository, tmp_path, entities):
    """It removes what it restores, also a directory, if that is empty."""
    program, before = PROGRAMS["borg"], entities()
    program.run(program.begin, tmp_path, repository)
    program.run(program.backup, mount.point, repository)
    run("rm", "-r", mount / TABLE / "all")
    with mount.counting() as counted:
        program.run(program.restore, mount.point, repository)
    assert entities() == before
    assert counted.asked() == {"query": 1, "delete_table": 1, "create_table": 1, "write": ROWS}
