"""GNU parallel runs the parts of a table, with the lines of contrib/docs/scale.md: on one machine, and over ssh."""
import contextlib
import getpass
import os
import signal
import subprocess

import pytest

from documents import text_commands
from harness import COMMAND_SEC, EXIT_SEC, NOT_FOUND, ROOT, TABLEFUSE, environment, run, wait_until

PAGE = (ROOT / "contrib/docs/scale.md").read_text(encoding="utf-8")
HEADING = "## GNU parallel"
PARTS = 16

# In place of tablefuse: `what` is done before an export, whose token is $part.
PROGRAM = """#!/bin/sh
real={real} place={place}
if [ "$1" = export ]; then
    for part; do [ "$before" != --part ] || break; before=$part; done
    {what}
fi
exec "$real" "$@"
"""

FAILS = """
    echo "$part" >> "$place/begun"
    tries=$(grep -cxF -e "$part" "$place/begun")
    [ "$part" != "$(cat "$place/broken")" ] || exit 5
    [ "$tries" != 1 ] || [ "$(($(grep -nxF -e "$part" "$place/parts" | cut -d : -f 1) % 3))" != 0 ] || exit 4
"""

WAITS = """
    echo "$HOST $$" >> "$place/begun"
    while [ ! -e "$place/go" ]; do sleep 0.2; done
"""

SSHD = """
HostKey {place}/host_key
AuthorizedKeysFile {place}/key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PidFile none
PermitUserRC no
SetEnv HOST={host} HOME={place}/home PATH={place}/bin:/usr/bin:/bin LC_ALL=C.UTF-8
"""

# A server for each connection, on a pipe: no port is taken, and none is left when its client has gone.
SSH = """
User {user}
IdentityFile {place}/key
IdentitiesOnly yes
StrictHostKeyChecking no
UserKnownHostsFile {place}/known
GlobalKnownHostsFile none
LogLevel ERROR
ControlMaster auto
ControlPersist 60
ControlPath {place}/%n.socket
ProxyCommand sh -c 'echo $$ >> {place}/%n.servers; exec /usr/sbin/sshd -i -e -f {place}/%n.conf 2>> {place}/sshd.log'
"""


@pytest.fixture
def place(tmp_path):
    for name in "bin", "home", "results":
        (tmp_path / name).mkdir()
    return tmp_path


def put_program(place, what):
    (place / "bin/tablefuse").write_text(PROGRAM.format(real=TABLEFUSE, place=place, what=what.strip()))
    (place / "bin/tablefuse").chmod(0o755)


def variables(place):
    ssh = {"PARALLEL_SSH": f"ssh -F {place / 'ssh.conf'}", "HOME": str(place / "home")}
    return environment(**ssh, PATH=f"{place / 'bin'}:{os.environ['PATH']}")


def lines(account, place, number):
    replaced = {"SOURCE/TABLE": f"{account.source}/dates", "/shared": str(place), "-n 64": f"-n {PARTS}"}
    for line in text_commands(PAGE, HEADING, number):
        for old, new in replaced.items():
            line = line.replace(old, new)
        yield line


def shell(place, line, check=True):
    return run("bash", "-c", line, check=check, env=variables(place), cwd=place)


def assert_whole(account, place):
    joined = run(TABLEFUSE, "join", "parts", "results", cwd=place).stdout
    assert joined == run(TABLEFUSE, "export", "--quiet", f"{account.source}/dates").stdout
    assert joined.count("\n") == 5000


def test_one_machine(account, place):
    """A third of the parts fails once, and one each time."""
    split, export, join = lines(account, place, 0)
    put_program(place, FAILS)
    shell(place, split)
    tokens = (place / "parts").read_text().split()
    assert len(tokens) == PARTS
    (place / "broken").write_text(tokens[4])
    assert shell(place, export, check=False).returncode == 1  # as many jobs have failed
    begun = (place / "begun").read_text().split()
    assert sorted(begun) == sorted([*tokens, *tokens[2::3], *[tokens[4]] * 4])
    (awk,) = [span for span in PAGE.split("`") if span.startswith("awk ")]
    (failed,) = shell(place, awk).stdout.splitlines()
    assert tokens[4] in failed and failed.split()[6] == str(NOT_FOUND)
    missing = run(TABLEFUSE, "join", "--missing", "parts", "results", check=False, cwd=place)
    assert (missing.returncode, missing.stdout) == (NOT_FOUND, "5\n")

    (place / "broken").write_text("")
    shell(place, export)
    assert (place / "begun").read_text().split()[len(begun) :] == [tokens[4]]
    shell(place, join)
    assert_whole(account, place)

    for result in sorted((place / "results").iterdir())[::5]:
        result.unlink()
    put_program(place, ":")
    (again,) = lines(account, place, 2)
    shell(place, again)
    assert_whole(account, place)


@pytest.fixture
def hosts(place):
    """host1 and host2, which are this machine. Their servers end with the test, and so do clients that stay for others."""
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)  # where a system has no server yet
    for name in "key", "host_key":
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / name)
    (place / "ssh.conf").write_text(SSH.format(place=place, user=getpass.getuser()))
    for host in "host1", "host2":
        (place / f"{host}.conf").write_text(SSHD.format(place=place, host=host))
    yield
    for host in "host1", "host2":
        run("ssh", "-F", place / "ssh.conf", "-O", "exit", host, check=False)
        kill_server(place, host)


def kill_server(place, host):
    servers = place / f"{host}.servers"
    for pid in map(int, servers.read_text().split() if servers.exists() else ()):
        with contextlib.suppress(OSError):  # it has ended
            if open(f"/proc/{pid}/comm").read() == "sshd\n":
                os.kill(pid, signal.SIGKILL)


def begun(place):
    """[(host, process)]"""
    notes = place / "begun"
    return [line.split() for line in notes.read_text().splitlines()] if notes.exists() else []


def test_a_host_is_lost(account, place, hosts):
    """While it has four parts. They run elsewhere."""
    split, *_ = lines(account, place, 0)
    (export,) = lines(account, place, 1)
    put_program(place, WAITS)
    shell(place, split)
    with subprocess.Popen(["bash", "-c", export], env=variables(place), cwd=place, start_new_session=True) as process:
        try:
            each = ["host1"] * 4 + ["host2"] * 4
            wait_until(lambda: sorted(host for host, _ in begun(place)) == each, what="four parts on each host")
            (place / "host2.conf").rename(place / "lost.conf")
            kill_server(place, "host2")
            for host, pid in begun(place):
                if host == "host2":
                    with contextlib.suppress(ProcessLookupError):  # it may have noticed the end of its server
                        os.kill(int(pid), signal.SIGKILL)
            (place / "go").touch()
            process.wait(timeout=COMMAND_SEC)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=EXIT_SEC)
    shell(place, export.replace(",4/host2", ""))
    assert [host for host, _ in begun(place)].count("host2") == 4
    assert_whole(account, place)
