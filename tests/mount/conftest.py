"""Fixtures: an empty table service for each file, the SDK that writes to it, and mounts that are always unmounted."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading

import pytest

from expected import entities_of
from harness import EXIT_SEC, Azurite, LocalAccount, Mount, environment, run
from strict_proxy import ROWS, RawClient, StrictProxy

# A test that hangs in the file system cannot be interrupted. The watchdog frees it before pytest-timeout acts.
WATCHDOG_BEFORE_SEC = 15

# They take the longest, the first of them most. Where files run in parallel, they start first and in this order, so that
# the short ones end together.
LONGEST = [
    "test_walking.py",
    "test_write_model.py",
    "test_readme.py",
    "test_tools_save.py",
    "test_saving_killed.py",
    "test_walks.py",
    "test_table_drop.py",
    "test_write_conflicts.py",
    "test_cache.py",
    "test_secrets.py",
    "test_mirror.py",
    "test_levels.py",
    "test_bench.py",
    "test_write_keeps_types.py",
    "test_write_append.py",
    "test_deleting_random.py",
    "test_drop.py",
    "test_long_names.py",
    "test_write_races.py",
    "test_streams.py",
    "test_write_random.py",
    "test_failures.py",
    "test_tools_backup.py",
    "test_growing.py",
    "test_import_faults.py",
    "test_tokens.py",
    "test_import.py",
    "test_sync_faults.py",
    "test_freshness.py",
    "test_deleting_faults.py",
    "test_writeback_fails.py",
    "test_deleting.py",
    "test_write.py",
    "test_write_tools.py",
    "test_write_names_and_dates.py",
    "test_export_csv.py",
    "test_export.py",
    "test_memory.py",
    "test_waiting.py",
    "test_nodes.py",
    "test_memory_fails.py",
]


def pytest_addoption(parser):
    parser.addoption("--sanitizer", choices=["asan", "tsan"], help="run the tests with this marker, and of them its rows")
    parser.addoption(
        "--proxy", metavar="KEY=VALUE&...", default="", help="settings of the strict proxy before Azurite; off: there is none"
    )


def for_sanitizer(name, items):
    """Those whose marker names their row of the parametrization, or no row at all. A row that is not there is an error."""
    chosen, rows = [], {}
    for item in items:
        named = {row for marker in item.iter_markers(name) for row in marker.args}
        row = item.callspec.id if hasattr(item, "callspec") else ""
        if item.get_closest_marker(name) and (not named or row in named):
            chosen.append(item)
        rows.setdefault(item.nodeid.partition("[")[0], set(named)).discard(row)
    if missing := {test: left for test, left in rows.items() if left}:
        raise pytest.UsageError(f"the marker {name} names rows that are not there: {missing}")
    return chosen


def pytest_ignore_collect(collection_path, config):
    """A process takes a second to read all files, and few have the marker."""
    sanitizer = config.getoption("--sanitizer")
    if sanitizer and collection_path.name.startswith("test_") and f".{sanitizer}" not in collection_path.read_text():
        return True
    return None


def pytest_collection_modifyitems(config, items):
    if sanitizer := config.getoption("--sanitizer"):
        items[:] = for_sanitizer(sanitizer, items)
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONGEST)))


@pytest.fixture(scope="module")
def scratch():
    """A directory that other users may enter, unlike pytest's own."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="tablefuse-"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def lend_azurite(pytestconfig):
    """Azurite takes longer to start than most tests: one serves all files of this process, and is empty for each."""
    lent = []
    with tempfile.TemporaryDirectory(prefix="tablefuse-azurite-") as directory:

        def lend():
            if lent and not lent[-1].is_emptied():
                lent.pop().stop()
            if not lent:
                lent.append(Azurite(directory))
                if (settings := pytestconfig.getoption("--proxy")) != "off":
                    lent[-1].stand_behind(StrictProxy(lent[-1].direct_port, settings))
            return lent[-1]

        yield lend
        for azurite in lent:
            azurite.stop()


@pytest.fixture(scope="module")
def service(request, scratch):
    """Azurite, unless the module parametrizes it: BOTH_SERVICES, or "local" alone, which is an account in a file."""
    if getattr(request, "param", "azurite") == "local":
        account = LocalAccount(scratch / "account")
        yield account
        account.stop()
    else:
        yield request.getfixturevalue("lend_azurite")()


def account_in_file(file):
    local = LocalAccount(file)
    local.fill("dates", "dates", "5000")
    yield local
    local.stop()


@pytest.fixture(scope="module")
def account(scratch):
    """An account in a file with 5,000 rows in the table `dates`, whatever the service of the test is."""
    yield from account_in_file(scratch / "one")


@pytest.fixture(scope="module")
def other(scratch):
    """Another one, with the same rows."""
    yield from account_in_file(scratch / "other")


@pytest.fixture(scope="module")
def sdk(service):
    return service.sdk


@pytest.fixture(scope="module")
def make_table(request, service):
    """Makes a table of entities without properties, past every mount: make_table(name, [(PartitionKey, RowKey), ...])."""
    if isinstance(service, LocalAccount):
        service.fill("first", "single", "1")  # makes the account
        return lambda name, keys=(): service.write(name, keys)
    writer = request.getfixturevalue("sdk")
    return lambda name, keys=(): writer.create_table(
        name, [{"partitionKey": p, "rowKey": r} for p, r in keys]
    )


@pytest.fixture(scope="module")
def fill(request, service, make_table):
    """As make_table, for many rows. Keys must not hold quotes."""
    if isinstance(service, LocalAccount):
        return make_table
    writer = request.getfixturevalue("sdk")
    return lambda name, keys: writer.fill_table(
        name, [{"partitionKey": p, "rowKey": r} for p, r in keys]
    )


@pytest.fixture(scope="module")
def stored(request, service):
    """What the service has, past every mount: stored(table) is {(PartitionKey, RowKey): its other members}."""
    if isinstance(service, LocalAccount):
        return lambda table: entities_of(service.read_texts(table))
    writer = request.getfixturevalue("sdk")
    return lambda table: entities_of(writer.read_texts(table))


@pytest.fixture(scope="module")
def two_tables(sdk):
    sdk.create_table("table", [{"partitionKey": "p", "rowKey": "r", "N": 1}])
    sdk.create_table("Mixed", [{"partitionKey": "p", "rowKey": "r"}])


@pytest.fixture(scope="session", autouse=True)
def state_home():
    """For mounts that a test starts by itself: their lost+found is not the tester's."""
    with tempfile.TemporaryDirectory(prefix="tablefuse-state-") as directory:
        os.environ["XDG_STATE_HOME"] = directory
        yield


@pytest.fixture(scope="module")
def started_proxy(service):
    """Before the service, with a table of three partitions."""
    service.sdk.create_table("table", [{"partitionKey": p, "rowKey": r, "N": 1} for p, r in ROWS])
    proxy = StrictProxy(service.direct_port)
    yield proxy
    proxy.stop()


@pytest.fixture
def proxy(started_proxy):
    """With the settings that it starts with."""
    started_proxy.control(reset=1)
    yield started_proxy
    started_proxy.control(reset=1)


@pytest.fixture
def client(proxy):
    """Speaks to the proxy."""
    client = RawClient(proxy.port)
    yield client
    client.close()


@pytest.fixture
def direct(service):
    """Speaks to the service itself."""
    client = RawClient(service.direct_port)
    yield client
    client.close()


@pytest.fixture(autouse=True)
def strict(request):
    """A request that the service would refuse fails the test, unless the test has announced it to the proxy before Azurite."""
    lent = request.getfixturevalue("service") if "service" in request.fixturenames else None
    yield
    if isinstance(lent, Azurite):
        assert lent.problems() == []


@pytest.fixture(autouse=True)
def watchdog(request):
    limit = request.node.get_closest_marker("timeout")
    seconds = (
        limit.args[0] if limit else float(request.config.getini("timeout"))
    ) - WATCHDOG_BEFORE_SEC
    timer = threading.Timer(seconds, Mount.kill_all)
    timer.daemon = True
    timer.start()
    yield
    timer.cancel()


class Mounts:
    def __init__(self, directory, service):
        self._directory, self._service = directory, service
        self._made = []

    def prepare(self):
        """A mount point without a mount."""
        base = pathlib.Path(tempfile.mkdtemp(dir=self._directory))
        base.chmod(0o755)
        (base / "mnt").mkdir()
        for name in ("logs", "state"):  # the daemon may be another user's
            (base / name).mkdir()
            (base / name).chmod(0o777)
        self._made.append(Mount(base / "mnt", base / "logs"))
        return self._made[-1]

    def __call__(self, *options, faults=None, **start):
        """Mounts the test file's service. With faults: by the program that causes them."""
        mount = self.prepare()
        start.setdefault("env", self._service.credentials)
        source = start.pop("source", self._service.source)
        mount.start(source, *options, faults=faults, **start)
        return mount

    def finish(self):
        problems = []
        for mount in reversed(self._made):
            try:
                mount.finish()
            except Exception as problem:
                problems.append(problem)
        if problems:
            raise problems[0]


@pytest.fixture
def mounts(scratch, service):
    made = Mounts(scratch, service)
    yield made
    made.finish()


@pytest.fixture
def mount(mounts):
    return mounts()


@pytest.fixture
def out():
    """A directory for thousands of copies: in memory, if there is a place. TABLEFUSE_MEMORY names another one."""
    memory = os.environ.get("TABLEFUSE_MEMORY", "/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.path.isdir(memory) else None) as directory:
        yield pathlib.Path(directory)


@pytest.fixture
def small(scratch):
    """A file system in memory, of the size that is asked for."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    directory = scratch / "small"
    directory.mkdir()

    def mount_it(size):
        run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", directory)
        return directory

    yield mount_it
    run("umount", directory)
    directory.rmdir()


@pytest.fixture
def begin(mounts):
    """Starts a process. It has ended before the mounts that it uses are unmounted."""
    begun = []

    def begin_one(*command, **variables):
        begun.append(
            subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(**variables),
                start_new_session=True,
            )
        )
        return begun[-1]

    yield begin_one
    for process in begun:
        process.kill()
        process.communicate(timeout=EXIT_SEC)
