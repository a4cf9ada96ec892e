"""A service that fails: errors have a reason, no listing is short, and no process waits forever."""
import errno
import os
import re
import signal
import socket
import time

import pytest

from harness import (
    COMMAND_SEC,
    CONFIGURATION,
    EXIT_SEC,
    MOUNT_SEC,
    TABLEFUSE,
    Azurite,
    run,
    wait_until,
)
from ports import refusing_port
from servers import Proxy

SLOW_PAGES = "latency=300,short=1"  # 12 s: a busy test still comes while it is half way
ROWS = 40
PATIENCE = "timeout=10"  # a file operation gives up after this time without progress
GIVEN_UP_SEC = 60


def entities(rows=ROWS):
    return [{"partitionKey": "p", "rowKey": f"{row:04}", "Row": row} for row in range(rows)]


@pytest.fixture(scope="module", autouse=True)
def data(sdk):
    sdk.fill_table("steady", entities(2000))


@pytest.fixture
def silent():
    """A port that accepts connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/devstoreaccount1"


@pytest.fixture
def mortal(scratch):
    """A service of this test only, which it kills."""
    azurite = Azurite(scratch)
    azurite.sdk.fill_table("mortal", entities())
    yield azurite
    azurite.stop()


def half_way(mount, begin, *command):
    """Starts a process that reads a partition of 40 slow pages. Answers it once some pages were requested."""
    before = mount.stats().requests("query")
    process = begin(*command)
    wait_until(lambda: mount.stats().requests("query") >= before + 4, what="the fourth query")
    assert process.poll() is None
    return process


def connection(endpoint):
    return {
        "AZURE_STORAGE_CONNECTION_STRING": f"AccountName=devstoreaccount1;AccountKey=bm90IGEga2V5;TableEndpoint={endpoint}"
    }


def test_a_service_that_is_killed(mounts, begin, mortal, silent):
    """All cases that wait for a time limit. They wait at the same time."""
    env = {"AZURE_STORAGE_CONNECTION_STRING": mortal.connection_string()}
    mount = mounts(PATIENCE, faults=SLOW_PAGES, env=env)
    waiting = mounts.prepare()
    unanswered = begin(TABLEFUSE, "mount", waiting.point, **connection(silent))
    running = {
        "find": half_way(mount, begin, "find", mount / "mortal/p", "-name", "*.json"),
        "ls": half_way(mount, begin, "ls", mount / "mortal/p"),
    }
    mortal.stop()
    for name, process in running.items():
        out, err = process.communicate(timeout=GIVEN_UP_SEC)
        assert process.returncode not in (0, -signal.SIGKILL), f"{name} took a part for the whole"
        assert "No such file" not in err and "Connection refused" not in out
    errors = mount.control("errors")
    assert "mortal" in errors and "127.0.0.1" in errors
    assert mount.stats().total("tablefuse_given_up_total") > 0
    out, err = unanswered.communicate(timeout=MOUNT_SEC)
    assert unanswered.returncode == 4 and len(err.splitlines()) == 1 and silent.split("/")[2] in err
    assert not waiting.is_mounted()


def test_a_service_that_never_was(mounts):
    mount = mounts.prepare()
    with refusing_port() as port:
        env = connection(f"http://127.0.0.1:{port}/devstoreaccount1")
        failed = mount.start(env=env, check=False)
    assert failed.returncode == 4 and not mount.is_mounted()
    assert len(failed.stderr.splitlines()) == 1 and "devstoreaccount1" in failed.stderr


@pytest.mark.asan("find", "rsync")
@pytest.mark.tsan("rsync")
@pytest.mark.parametrize("tool", ["ls", "find", "rsync"])
def test_a_table_dropped_half_way(mounts, begin, sdk, tmp_path, tool):
    sdk.fill_table("dropped" + tool, entities())
    mount = mounts(faults=SLOW_PAGES)
    words = {"ls": ["ls", "-U"], "find": ["find"], "rsync": ["rsync", "-a"]}[tool]
    target = [tmp_path] if tool == "rsync" else []
    process = half_way(mount, begin, *words, f"{mount.point}/dropped{tool}/p/", *target)
    sdk.drop_table("dropped" + tool)
    _, err = process.communicate(timeout=COMMAND_SEC)
    assert process.returncode != 0 and err
    assert "TableNotFound" in mount.control("errors")


@pytest.mark.parametrize("tool", ["ls", "find"])
def test_a_table_of_levels_dropped_half_way(mounts, begin, sdk, tool):
    keys = [f"{first}{second}{third}" for first in "abcd" for second in "abcd" for third in "abcd"]
    sdk.create_table("levels" + tool, [{"partitionKey": key, "rowKey": "r"} for key in keys])
    mount = mounts("fanout=40", "parallelism=2", faults=SLOW_PAGES)
    process = half_way(mount, begin, tool, mount / ("levels" + tool))
    sdk.drop_table("levels" + tool)
    _, err = process.communicate(timeout=COMMAND_SEC)
    assert process.returncode != 0 and err and "No such file" not in err
    assert "TableNotFound" in mount.control("errors")


def test_a_dropped_table_is_gone(mounts, sdk):
    sdk.fill_table("brief", entities(3))
    mount = mounts("ttl=0")
    assert len(os.listdir(mount / "brief/p")) == 3
    sdk.drop_table("brief")
    looked = run("stat", mount / "brief", check=False)  # another process than the one that listed
    assert looked.returncode == 1 and "No such file" in looked.stderr
    assert "brief" not in os.listdir(mount.point)
    with pytest.raises(FileNotFoundError):
        os.stat(mount / "brief")


@pytest.fixture
def stopped(service):
    """The test file's service. It accepts connections and does not answer while the test runs."""
    yield lambda: service.send(signal.SIGSTOP)
    service.send(signal.SIGCONT)


@pytest.mark.tsan("2")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_waiting_ls_can_be_interrupted(mounts, begin, stopped, number):
    mount = mounts("ttl=0")
    stopped()
    process = begin("ls", mount / "steady/p")
    time.sleep(1)
    assert process.poll() is None, "it should be waiting for the service"
    os.killpg(process.pid, number)
    process.communicate(timeout=EXIT_SEC)
    assert process.returncode == -number


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can join groups")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_member_of_many_groups_can_be_interrupted(mounts, begin, stopped, number):
    """/proc/ID/status has the groups before the signals, and these have more than 4,096 bytes."""
    groups = ",".join(str(1900000000 + group) for group in range(380))
    mount = mounts("ttl=0")
    stopped()
    waiting = begin("setpriv", "--groups", groups, "cat", mount / "steady/p/0000.json")
    wait_until(lambda: mount.stats().total("tablefuse_waiting") > 0, what="the LOOKUP")
    waiting.send_signal(number)
    waiting.communicate(timeout=EXIT_SEC)
    assert waiting.returncode == -number


def test_another_signal_interrupts_nothing(mounts, begin, service):
    mount = mounts("ttl=0")
    service.send(signal.SIGSTOP)
    try:
        process = begin(
            "python3",
            "-c",
            "import os, signal, sys; signal.signal(signal.SIGURG, lambda *_: None);"
            "print(len(os.listdir(sys.argv[1])))",
            mount / "steady/p",
        )
        time.sleep(1)
        process.send_signal(signal.SIGURG)
        time.sleep(1)
    finally:
        service.send(signal.SIGCONT)
    out, err = process.communicate(timeout=COMMAND_SEC)
    assert (process.returncode, out) == (0, "2000\n"), err


@pytest.mark.asan
@pytest.mark.tsan
def test_sigterm_does_not_wait_for_the_service(mounts, begin, stopped):
    mount = mounts("ttl=0")
    stopped()
    process = begin("ls", mount / "steady/p")
    time.sleep(1)
    mount.send(signal.SIGTERM)
    assert mount.has_ended(), "the daemon waits for a service that does not answer"
    assert not mount.is_mounted()
    process.communicate(timeout=EXIT_SEC)
    assert process.returncode != 0


def test_control_files_answer_while_the_service_does_not(mounts, stopped):
    mount = mounts("ttl=0")
    stopped()
    assert "tablefuse_requests_total" in mount.control("stats")
    assert mount.control("version") and mount.control("config")
    assert os.statvfs(mount.point).f_namemax == 255


def test_the_service_comes_back(mounts, begin, service):
    mount = mounts("ttl=0")
    service.send(signal.SIGSTOP)
    process = begin("ls", mount / "steady/p")
    time.sleep(1)
    service.send(signal.SIGCONT)
    out, err = process.communicate(timeout=COMMAND_SEC)
    assert process.returncode == 0 and len(out.splitlines()) == 2000, err


@pytest.fixture
def proxy(service):
    between = Proxy(service)
    yield between
    between.stop()


PAGE = b"<!DOCTYPE html><html><head><title>404 Not Found</title></head><body>nginx</body></html>"


@pytest.mark.asan("empty")
@pytest.mark.tsan("empty")
@pytest.mark.parametrize("page", [PAGE, b""], ids=["page", "empty"])
def test_a_proxys_404_says_nothing_of_the_account(mounts, proxy, page):
    mount = mounts("ttl=0", env=proxy.credentials)
    known = mount / "steady/p/0007.json"
    text = known.read_text()
    directories = [mount.point, mount / "steady", mount / "steady/p"]
    opened = [os.open(directory, os.O_RDONLY | os.O_DIRECTORY) for directory in directories]
    proxy.page = page
    for command, path in [
        ("cat", known),
        ("cat", mount / "steady/p/0008.json"),
        ("cat", mount / "steady/q/0008.json"),
        ("ls", mount / "steady/p"),
        ("ls", mount / "steady"),
        ("ls", mount.point),
        ("stat", mount / "steady"),
        ("stat", mount / "other"),
    ]:
        failed = run(command, path, check=False)
        assert failed.returncode != 0 and failed.stdout == ""
        assert "Protocol error" in failed.stderr and "No such file" not in failed.stderr
    for directory in opened:
        with pytest.raises(OSError) as failure:
            os.listdir(directory)
        assert failure.value.errno == errno.EPROTO
        os.close(directory)
    lines = mount.control("errors").splitlines()
    # one of each that failed: a name that the kernel knows is asked for once. Equal ones are one line.
    assert mount.stats().total("tablefuse_failures_total") == 11 and len(lines) == 8
    reason = "EPROTO, HTTP 404: the service answered HTTP 404 without a reason"
    for line in lines:
        assert reason in line and "check that the endpoint is a Table endpoint" in line

    proxy.page = None
    assert known.read_text() == text
    assert os.path.exists(mount / "steady/p/0008.json")
    assert os.listdir(mount / "steady") == ["p"]
    assert len(os.listdir(mount / "steady/p")) == 2000
    assert "steady" in os.listdir(mount.point)
    for path in ("steady/q/0008.json", "other"):  # the service's own 404
        failed = run("stat", mount / path, check=False)
        assert failed.returncode == 1 and "No such file" in failed.stderr


def test_a_mount_behind_a_proxys_404(mounts, proxy):
    proxy.page = PAGE
    mount = mounts.prepare()
    failed = mount.start(env=proxy.credentials, check=False)
    assert failed.returncode == CONFIGURATION and not mount.is_mounted()
    assert len(failed.stderr.splitlines()) == 1 and "HTTP 404" in failed.stderr
    assert "check that the endpoint is a Table endpoint" in failed.stderr


ENDPOINT_ADVICE = (
    "check that the endpoint is a Table endpoint of Azure Storage, and that no proxy answers in its place"
)


@pytest.mark.parametrize(
    "trouble, said, advice",
    [
        (
            {"is_silent": True},
            r"ETIMEDOUT: no answer from ADDRESS in time \[stat\]",
            "check the network, and whether the service works; where answers take longer, give a longer -o timeout=SECONDS",
        ),
        (
            {"page": b"{", "status": 200, "is_cut": True},
            r"EIO: .*1 bytes? .* \[stat\]",  # libcurl's words
            "the connection broke: check the network, and the proxy, VPN or firewall on the way",
        ),
        (
            {"page": PAGE, "status": 500},
            r"EIO, HTTP 500: the service answered HTTP 500 without a reason \[stat\]",
            "the service itself failed: look at its status page or its log, and try again later",
        ),
        (
            {"page": PAGE, "status": 502},
            r"EIO, HTTP 502: the service answered HTTP 502 without a reason \[stat\]",
            "a proxy or gateway before the service answered that it does not reach it: check that one, or try again"
            " later",
        ),
        (
            {"page": PAGE, "status": 504},
            r"ETIMEDOUT, HTTP 504: the service answered HTTP 504 without a reason \[stat\]",
            "the service, or a gateway before it, took too long: try again later",
        ),
        (
            {"page": PAGE, "status": 200},
            r"EPROTO, HTTP 200: table steady: the answer is not one with entities: no JSON value begins so, at byte 0"
            r" \[stat\]",
            ENDPOINT_ADVICE,
        ),
    ],
    ids=["silent", "cut", "500", "502", "504", "200"],
)
def test_a_failure_says_what_to_do(mounts, proxy, trouble, said, advice):
    mount = mounts("timeout=4", "ttl=600", env=proxy.credentials)
    assert os.path.exists(mount / "steady")
    for name, value in trouble.items():
        setattr(proxy, name, value)
    assert run("stat", mount / "steady/p/0007.json", check=False).returncode == 1
    line = mount.control("errors").splitlines()[0]
    pattern = r"\S+ lookup /steady/p(/0007\.json)?: " + said.replace("ADDRESS", re.escape(proxy.address))
    head, _, tail = line.partition(" -- ")
    assert re.fullmatch(pattern, head) and tail == advice
