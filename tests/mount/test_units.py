"""The units of contrib/: their commands in the order in which systemd runs them, after the process was killed, too."""
import os
import pathlib
import re
import signal
import stat

import pytest

import units
from harness import (
    CONFIGURATION,
    KEY,
    MOUNT_SEC,
    NETWORK,
    ROOT,
    TABLEFUSE,
    USAGE,
    assert_serves,
    environment,
    run,
)
from ports import refusing_port

pytestmark = pytest.mark.usefixtures("two_tables")

FOR_ALL, FOR_A_USER = "contrib/tablefuse@.service", "contrib/user/tablefuse@.service"
PROGRAM = "/usr/local/bin/tablefuse"


class Unit:
    """One of the units, for an account at `source`. Its directory is the mount's."""

    def __init__(self, file, mount):
        self.is_for_all, self._mount = file == FOR_ALL, mount
        self.text = (ROOT / file).read_text()

    def start(self, source):
        text = re.sub(r"(/srv|%h)/tables/%i", str(self._mount.point), self.text)
        text = text.replace(" %i ", f" {source} ").replace(PROGRAM, TABLEFUSE)
        assert "%" not in units.only(text, "ExecStart")
        variables = {"AZURE_STORAGE_KEY": KEY, **self._mount.variables()}
        done = units.start(text, variables, capture_output=True, text=True, timeout=MOUNT_SEC)
        if done.returncode == 0:
            assert done.stdout + done.stderr == ""
            self._mount.adopt()
        return done.returncode


@pytest.fixture(params=[FOR_ALL, FOR_A_USER])
def unit(request, mounts):
    if request.param == FOR_ALL and os.geteuid() != 0:
        pytest.skip("only root may use allow_other without /etc/fuse.conf")
    mount = mounts.prepare()
    mount.point.rmdir()  # the unit makes it
    return Unit(request.param, mount)


@pytest.fixture
def mount(unit):
    return unit._mount


def test_a_unit_mounts_again_after_its_process_was_killed(unit, mount, service):
    assert unit.start(service.endpoint) == 0
    assert_serves(mount)
    mount.send(signal.SIGKILL)
    assert mount.has_ended() and mount.is_mounted(), "a dead mount"
    assert unit.start(service.endpoint) == 0
    assert_serves(mount)
    mount.unmount()
    assert not mount.is_mounted(), "nothing is left under it"


def test_a_unit_mounts_when_the_service_is_back(unit, mount, service):
    """At boot, and after the process was killed meanwhile. systemd tries again after this exit code, without an end."""
    with refusing_port() as port:
        away = f"http://127.0.0.1:{port}/account"
        assert unit.start(away) == NETWORK and not mount.is_mounted()
        assert unit.start(service.endpoint) == 0
        mount.send(signal.SIGKILL)
        assert mount.has_ended()
        assert unit.start(away) == NETWORK
        assert unit.start(service.endpoint) == 0
    assert_serves(mount)
    assert units.only(unit.text, "Restart") == "on-failure"
    assert units.only(unit.text, "StartLimitIntervalSec") == "0"
    final = {int(code) for code in units.only(unit.text, "RestartPreventExitStatus").split()}
    assert final == {USAGE, CONFIGURATION}


def test_a_unit_stops_by_a_signal(unit, mount, service):
    assert unit.start(service.endpoint) == 0
    mount.send(signal.SIGTERM)
    assert mount.has_ended() and not mount.is_mounted()


def test_the_account_is_not_for_every_user(unit, mount, service):
    assert unit.start(service.endpoint) == 0
    options = run("findmnt", "-n", "-o", "OPTIONS", mount.point).stdout
    if unit.is_for_all:
        modes = [stat.S_IMODE(os.stat(mount / path).st_mode) for path in ("", "table/p/r.json")]
        assert modes == [0o750, 0o640] and os.stat(mount / "table").st_gid == 0
        assert "default_permissions" in options
    else:
        assert "allow_other" not in options


@pytest.mark.parametrize("manager, file", [("--system", FOR_ALL), ("--user", FOR_A_USER)])
def test_systemd_accepts_a_unit(tmp_path, scratch, manager, file):
    copy = tmp_path / pathlib.Path(file).name
    copy.write_text((ROOT / file).read_text().replace(PROGRAM, TABLEFUSE))
    env = environment(XDG_RUNTIME_DIR=str(scratch))  # it loads others' units, too, whose sockets' names must not be long
    done = run("systemd-analyze", manager, "verify", copy, env=env)
    assert (done.stdout, done.stderr) == ("", "")


# Each makes a mount namespace, in systemd 252 or a later one.
NAMESPACE = (
    "BindPaths BindReadOnlyPaths DynamicUser ExecPaths ExtensionDirectories ExtensionImages InaccessiblePaths LogNamespace"
    " MountAPIVFS MountFlags MountImages NoExecPaths PrivateDevices PrivateIPC PrivateMounts PrivatePIDs PrivateTmp"
    " PrivateUsers ProcSubset ProtectControlGroups ProtectHome ProtectHostname ProtectKernelLogs ProtectKernelModules"
    " ProtectKernelTunables ProtectProc ProtectSystem ReadOnlyPaths ReadWritePaths RootDirectory RootImage"
    " TemporaryFileSystem"
).split()


def test_the_unit_for_all_gives_away_what_it_can(tmp_path):
    """systemd's own measure is between 0 and 10; --threshold has it ten times."""
    copy = tmp_path / "tablefuse@account.service"
    copy.write_text((ROOT / FOR_ALL).read_text())
    run("systemd-analyze", "security", "--offline=true", "--threshold=50", copy)


@pytest.mark.parametrize("file", [FOR_ALL, FOR_A_USER])
def test_a_unit_has_no_mount_namespace(file):
    """The mount would be in it alone."""
    settings = re.findall(r"^(\w+)=", (ROOT / file).read_text(), re.MULTILINE)
    assert "ExecStart" in settings and not set(settings) & set(NAMESPACE)
