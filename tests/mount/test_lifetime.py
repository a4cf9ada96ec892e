"""The end of a mount: by a signal, by `unmount`, in the foreground, by a kill; and the next mount there."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess

import pytest

from harness import (
    ACCOUNT,
    COMMAND_SEC,
    CONFIGURATION,
    DETACH,
    EXIT_SEC,
    MOUNTING,
    OLD_KERNEL,
    OTHER_KEY,
    REFUSED,
    TABLEFUSE,
    USAGE,
    assert_serves,
    copying_mounts,
    environment,
    libc,
    run,
    wait_until,
)

pytestmark = pytest.mark.usefixtures("two_tables")

MNT_DETACH = 2  # of umount2
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount other file systems")


@pytest.mark.tsan
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_unmounts(mount, number):
    assert_serves(mount)
    mount.send(number)
    assert mount.has_ended() and not mount.is_mounted()
    assert os.listdir(mount.point) == []


def test_a_busy_mount_is_not_unmounted(mount):
    with open(mount / "table/p/r.json") as file:
        refused = mount.unmount(check=False)
        assert refused.returncode != 0 and "busy" in refused.stderr.lower()
        assert_serves(mount)
        mount.unmount("-z")
        assert not mount.is_mounted() and not mount.has_ended(0)
        assert '"N": 1' in file.read(), "an open file can still be read"
    assert mount.has_ended()


@contextlib.contextmanager
def another_file_system(mount):
    """What was mounted at the directory after the mount."""
    run("mount", "-t", "tmpfs", "-o", "nosuid", "another", mount.point)
    try:
        yield
        line = run("findmnt", "-n", "-r", "-o", "SOURCE,FSTYPE", mount.point).stdout
        assert line == "another tmpfs\n"
        (mount / "written").touch()
    finally:
        libc.umount2(os.fsencode(mount.point), MNT_DETACH)
    assert os.listdir(mount.point) == []


@needs_root
def test_a_signal_unmounts_no_other_mount_at_the_directory(mount):
    with open(mount / "table/p/r.json") as file:
        mount.unmount("-z")
        with another_file_system(mount):
            mount.send(signal.SIGTERM)
            assert mount.has_ended()
        with pytest.raises(OSError):
            file.read()


def test_a_signal_unmounts_no_other_mount_of_an_account(mounts, service):
    mount, next_one = mounts(), mounts.prepare()
    next_one.point = mount.point
    with open(mount / "table/p/r.json"):
        mount.unmount("-z")
        next_one.start(env=service.credentials)
        mount.send(signal.SIGTERM)
        assert mount.has_ended()
        assert_serves(next_one)
        next_one.unmount()
    assert os.listdir(mount.point) == []


@needs_root
def test_the_end_unmounts_no_mount_with_the_same_number(mount):
    """The number of a device is free when its mount has ended, and the next mount gets it."""
    mount.send(signal.SIGSTOP)
    try:
        assert libc.umount2(os.fsencode(mount.point), 0) == 0
        with another_file_system(mount):
            mount.send(signal.SIGCONT)
            assert mount.has_ended()
    finally:
        mount.send(signal.SIGCONT)


@needs_root
def test_a_signal_unmounts_where_there_is_no_proc(mounts, service):
    """Neither is there a way to the process number in .tablefuse/version."""
    mount = mounts.prepare()
    env = environment(**service.credentials, **mount.variables())
    text = """
        set -eu
        "$0" mount -f "$1" & daemon=$!
        until mountpoint -q "$1"; do sleep 0.05; done
        umount -l /proc
        kill -TERM $daemon
        wait $daemon
        ls -A "$1"
    """
    with copying_mounts(env) as options:
        ended = run("unshare", "--mount", "sh", "-c", DETACH + text, TABLEFUSE, mount.point, **options)
    assert (ended.stdout, ended.stderr) == ("", "")


@pytest.mark.tsan
def test_quit_unmounts_and_stores_what_was_written(mount, stored):
    row = os.open(mount / "Mixed/p/r.json", os.O_RDWR)
    os.pwrite(row, b'{"N": 2}', 0)
    os.truncate(row, 8)
    mount.send(signal.SIGQUIT)
    assert mount.has_ended() and not mount.is_mounted() and os.listdir(mount.point) == []
    with pytest.raises(OSError):
        os.close(row)
    assert stored("Mixed")["p", "r"]["N"] == 2


def test_the_foreground(mounts, service):
    mount = mounts.prepare()
    env = environment(
        AZURE_STORAGE_CONNECTION_STRING=service.connection_string(), **mount.sanitizers()
    )
    log = mount.point.with_name("log")
    with open(log, "w") as file:
        process = subprocess.Popen(
            [TABLEFUSE, "mount", "-f", mount.point],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=env,
        )
    wait_until(mount.is_mounted)
    mount.adopt()
    assert mount.pid == process.pid
    assert_serves(mount)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=EXIT_SEC) == 0 and not mount.is_mounted()
    said = log.read_text()
    assert "error" not in said.lower() and "Sanitizer" not in said


def test_the_foreground_says_what_failed(mounts, service):
    mount = mounts.prepare()
    env = environment(
        AZURE_STORAGE_CONNECTION_STRING=service.connection_string(key=OTHER_KEY),
        **mount.sanitizers(),
    )
    failed = run(TABLEFUSE, "mount", "-f", mount.point, env=env, check=False)
    assert failed.returncode == REFUSED and ACCOUNT in failed.stderr


IN_CONTAINER = ("unshare", "--pid", "--fork", "--kill-child")


def test_a_limit_of_addresses_is_named(mounts, service):
    """The limit below which libfuse has no buffer, of 1 MiB, depends on the machine."""
    env = environment(AZURE_STORAGE_CONNECTION_STRING=service.connection_string())
    said = ""
    for kib in range(30000, 90000, 400):
        mount = mounts.prepare()
        limited = ["sh", "-c", f'ulimit -v {kib}; exec "$0" "$@"', TABLEFUSE, "mount", "-f", mount.point]
        process = subprocess.Popen(limited, stderr=subprocess.PIPE, text=True, env=env)
        wait_until(lambda: process.poll() is not None or mount.is_mounted())
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=COMMAND_SEC)[1]
        if "failed to allocate read buffer" in said:
            break
    assert re.search(r"failed to allocate read buffer -- `ulimit -v` limits the addresses of this process: mount", said)


@needs_root
def test_process_1_of_a_container(mounts, service, begin):
    """The background would end with it. In the foreground it serves, and SIGTERM ends it."""
    mount = mounts.prepare()
    variables = {"AZURE_STORAGE_CONNECTION_STRING": service.connection_string()}
    refused = run(*IN_CONTAINER, TABLEFUSE, "mount", mount.point, env=environment(**variables), check=False)
    assert refused.returncode == USAGE and not mount.is_mounted()
    assert refused.stderr.splitlines()[0].endswith("this is process 1 of a container, which ends with it -- use -f")
    container = begin(*IN_CONTAINER, TABLEFUSE, "mount", "-f", mount.point, **variables)
    wait_until(mount.is_mounted)
    (child,) = pathlib.Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text().split()
    assert_serves(mount)
    os.kill(int(child), signal.SIGTERM)
    container.communicate(timeout=COMMAND_SEC)
    assert container.returncode == 0 and not mount.is_mounted()


@pytest.mark.asan
@pytest.mark.tsan
def test_a_dead_mount_is_replaced(mounts, service):
    mount = mounts()
    mount.send(signal.SIGKILL)
    assert mount.has_ended()
    with pytest.raises(OSError):
        os.stat(mount.point)
    mount.start(env={"AZURE_STORAGE_CONNECTION_STRING": service.connection_string()})
    assert_serves(mount)
    mount.unmount()
    assert not mount.is_mounted(), "nothing is left under it"


def test_a_script_can_wait_for_the_mount(mounts, service):
    """The daemon keeps neither the caller's output open nor its directory busy."""
    mount = mounts.prepare()
    caller = mount.point.with_name("caller")
    caller.mkdir()
    env = environment(
        AZURE_STORAGE_CONNECTION_STRING=service.connection_string(), **mount.sanitizers()
    )
    done = run(
        "sh",
        "-c",
        'out=$("$0" mount "$1" 2>&1); echo "$?:$out"',
        TABLEFUSE,
        mount.point,
        cwd=caller,
        env=env,
    )
    mount.adopt()
    assert done.stdout == "0:\n"
    assert os.readlink(f"/proc/{mount.pid}/cwd") == "/"
    assert os.getsid(mount.pid) != os.getsid(0)


def test_what_fails_in_fuses_init_is_no_mount(mounts, service):
    env = {**service.credentials, "LD_PRELOAD": str(OLD_KERNEL)}
    mount = mounts.prepare()
    failed = mount.start(env=env, check=False)
    assert failed.returncode == MOUNTING and not mount.is_mounted()
    assert re.fullmatch(r"tablefuse: unsupported protocol version: 6\.\d+ -- the kernel is too old: .*\n", failed.stderr)


def test_a_dead_mount_whose_root_is_open_is_replaced(mounts, service):
    env = {"AZURE_STORAGE_CONNECTION_STRING": service.connection_string()}
    mount = mounts(env=env)
    here = os.open(mount.point, os.O_RDONLY)
    try:
        mount.send(signal.SIGKILL)
        assert mount.has_ended()
        mount.start(env=env)
        assert os.listdir(mount.point) is not None
    finally:
        os.close(here)


def test_what_the_caller_had_open_is_not_kept(mounts, service, tmp_path):
    env = {"AZURE_STORAGE_CONNECTION_STRING": service.connection_string()}
    mount = mounts.prepare()
    lock = tmp_path / "lock"
    run(
        "sh",
        "-c",
        'exec 9>"$0"; flock 9; "$1" mount "$2"',
        lock,
        TABLEFUSE,
        mount.point,
        env=environment(**env, **mount.sanitizers()),
    )
    mount.adopt()
    run("flock", "-n", lock, "true")


@pytest.fixture
def stopped(mounts):
    mount = mounts()
    assert_serves(mount)
    mount.send(signal.SIGSTOP)
    yield mount
    if not mount.has_ended(0):
        mount.send(signal.SIGCONT)


def test_a_stopped_daemon_is_not_waited_for(stopped):
    for seconds in ("3", "3.5"):  # of all steps: those before the one that hangs must end in it, on a busy machine, too
        refused = stopped.unmount("-t", seconds, check=False)
        assert refused.returncode == MOUNTING
        assert refused.stdout + refused.stderr == (
            f"tablefuse: cannot unmount {stopped.point}: the process of the mount has not answered within"
            f" {seconds} s -- unmount -z detaches the mount; its process stays until it runs again or is"
            " killed\n"
        )
    assert stopped.is_mounted()
    stopped.unmount("-z")
    assert not stopped.is_mounted() and not stopped.has_ended(0)
    stopped.send(signal.SIGCONT)
    assert stopped.has_ended()


def test_an_interrupted_unmount_leaves_no_reader_waiting(stopped):
    command = [TABLEFUSE, "unmount", "-t", "300", stopped.point]
    unmount = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wait_until(
        pathlib.Path(f"/proc/{unmount.pid}/task/{unmount.pid}/children").read_text,
        what="the child that asks",
    )
    unmount.send_signal(signal.SIGINT)
    assert unmount.communicate(timeout=COMMAND_SEC) == (b"", None)
    assert unmount.returncode == -signal.SIGINT


def test_a_directory_in_a_stopped_mount(stopped, begin):
    """The kernel does not know its name and asks the daemon. Symbolic links lead there, too."""
    inside, link = stopped / "table/q", stopped.point.with_name("link")
    link.symlink_to(inside)
    waiting = [begin(TABLEFUSE, "mount", "emulator", path) for path in (inside, link / "deeper")]
    for process, path in zip(waiting, (inside, link / "deeper")):
        out, err = process.communicate(timeout=COMMAND_SEC)
        assert (process.returncode, out) == (MOUNTING, "")
        assert err == (
            f"tablefuse: cannot mount at {path}: the file system that it lies in does not answer -- "
            "if that is a tablefuse mount, `tablefuse unmount -z` there first, or choose another directory\n"
        )
    refused = run(TABLEFUSE, "unmount", "-t", "1", inside, check=False)
    assert refused.returncode == MOUNTING
    assert refused.stderr == (
        f"tablefuse: cannot unmount {inside}: the file system that it lies in has not answered within 1 s\n"
    )
    assert stopped.is_mounted()


def test_an_account_in_a_stopped_mount(stopped, begin):
    """One FILE is there, and one is not."""
    directory = stopped.point.with_name("other")
    directory.mkdir()
    files = [f"local:{stopped / file}" for file in ("table/p/r.json", "table/q")]
    waiting = [(file, MOUNTING, begin(TABLEFUSE, "mount", file, directory)) for file in files]
    waiting += [(file, CONFIGURATION, begin(TABLEFUSE, "check", file)) for file in files]
    for file, code, process in waiting:
        out, err = process.communicate(timeout=COMMAND_SEC)
        assert (process.returncode, out) == (code, "")
        assert err == (
            f"tablefuse: {file}: the file system that it lies in does not answer -- "
            "if that is a tablefuse mount, `tablefuse unmount -z` there first\n"
        )


def test_a_stopped_daemon_is_not_mounted_over(stopped, service):
    env = {"AZURE_STORAGE_CONNECTION_STRING": service.connection_string()}
    refused = run(TABLEFUSE, "mount", stopped.point, env=environment(**env), check=False)
    assert refused.returncode == MOUNTING and len(refused.stderr.splitlines()) == 1
    assert "its process does not answer -- `tablefuse unmount -z DIR`" in refused.stderr
    stopped.send(signal.SIGCONT)
    assert_serves(stopped)


@pytest.mark.parametrize("verb", ["mount", "unmount"])
def test_a_daemon_that_cannot_be_asked(mount, verb):
    few = 'ulimit -n 4; exec "$0" "$@"'  # one more than a program begins with; a pipe needs two
    refused = run("sh", "-c", few, TABLEFUSE, verb, mount.point, check=False)
    assert refused.returncode == MOUNTING
    cannot = {"mount": "mount at", "unmount": "unmount"}[verb]
    step = {"mount": " -- allow more open files: `ulimit -n 1024`", "unmount": ""}[verb]
    assert refused.stderr == f"tablefuse: cannot {cannot} {mount.point}: Too many open files{step}\n"
    assert_serves(mount)


@pytest.mark.parametrize("seconds", ["0", "0.9", "3601", "x", ""])
def test_how_long_to_wait_for_a_daemon(mount, seconds):
    refused = mount.unmount("-t", seconds, check=False)
    assert refused.returncode == 1 and f"-t {seconds}: expected seconds" in refused.stderr
    assert mount.is_mounted()
