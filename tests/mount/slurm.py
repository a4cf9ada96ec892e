"""A Slurm cluster in a machine of its own: own processes and network, each node with processes of its own, that all end with
the test, also when that is killed. It needs no service of the machine, and runs as any user who may make namespaces."""
import os
import pwd
import shlex
import signal
import socket
import subprocess
import time

from harness import COMMAND_SEC, EXIT_SEC, ROOT, _end_with_parent, environment, is_readable

LOOPBACK_UP = ROOT / "tests/mount/stand_ins/loopback_up.py"
MORE_THAN_LOOPBACK = "192.0.2.1"  # without such an address Slurm's look-up of names finds nothing
NODE = "NodeName={0} NodeHostname={host} NodeAddr=127.0.0.1 Port={1} CPUs=2 State=UNKNOWN"
FIRST_PORT = 7001

# cred_expire: the seconds that a requeued element waits, instead of 120. SlurmdTimeout: the seconds without an answer
# after which a node is down. A node that was slow alone comes back (ReturnToService).
CONFIGURED = """\
ClusterName=parts
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket,cred_expire=5
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/%n.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SchedulerParameters=batch_sched_delay=0,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdTimeout=5
KillWait=1
ReturnToService=2
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""

# Process 1. Each line that it reads is a command; it ends with its input, and with it all others.
SHELL = f"""
set -eu
exec 3>&1 >&2
export SLURM_CONF=$PWD/slurm.conf
/usr/bin/python3 "{LOOPBACK_UP}" {MORE_THAN_LOOPBACK}
munged --foreground --force --key-file=munge.key --socket="$PWD/munge.socket" --pid-file="$PWD/munge.pid" \\
    --log-file="$PWD/munge.log" --seed-file="$PWD/munge.seed" &
slurmctld -D &
for node; do
    unshare --pid --fork --kill-child bash -c 'slurmd -D -N "$0"; exit' "$node" & # process 1 collects orphans
    echo $! > "$node.machine"
done
set +eu
echo ready >&3
while read -r command; do
    eval "$command" > output 2>&1 < /dev/null
    echo $? >&3
done
"""


class Cluster:
    """With these nodes, of two processors each."""

    def __init__(self, directory, nodes, **variables):
        self._directory = directory
        for name in ("state", *nodes):
            (directory / name).mkdir()
        (directory / "munge.key").write_bytes(os.urandom(64))
        (directory / "munge.key").chmod(0o600)
        names = {"host": socket.gethostname(), "user": pwd.getpwuid(os.geteuid()).pw_name}
        lines = "\n".join(NODE.format(node, FIRST_PORT + i, **names) for i, node in enumerate(nodes))
        (directory / "slurm.conf").write_text(CONFIGURED.format(directory=directory, nodes=lines, **names))
        spaces = ["--net", "--pid", "--fork", "--kill-child"]
        if os.geteuid() != 0:
            spaces += ["--user", "--map-current-user", "--keep-caps"]
        with open(directory / "daemons.log", "wb") as log:
            self._process = subprocess.Popen(
                ["unshare", *spaces, "bash", "-c", SHELL, "bash", *nodes],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                preexec_fn=_end_with_parent,
                cwd=directory,
                env=environment(**variables),
            )
        try:
            assert self._answer() == "ready", self.log()
            self.wait_for(f"{len(nodes)}\n", "sinfo", "--noheader", "--states=idle", "--format=%D")
        except BaseException:
            self.close()
            raise

    def log(self):
        return "".join(f"{file.name}:\n{file.read_text(errors='replace')}" for file in sorted(self._directory.glob("*.log")))

    def _answer(self):
        assert is_readable(self._process.stdout, COMMAND_SEC), f"no answer:\n{self.log()}"
        return self._process.stdout.readline().rstrip("\n")

    def run(self, *command, check=True):
        """What the command prints."""
        self._process.stdin.write(shlex.join(map(str, command)) + "\n")
        self._process.stdin.flush()
        code, said = self._answer(), (self._directory / "output").read_text()
        assert not check or code == "0", f"{command} ended with {code}:\n{said}\n{self.log()}"
        return said

    def kill_node(self, node):
        """The machine is gone, with all that ran on it."""
        self.run("kill", "-KILL", (self._directory / f"{node}.machine").read_text().strip())

    def wait_for(self, answer, *command):
        end = time.monotonic() + COMMAND_SEC
        while (said := self.run(*command, check=False)) != answer:
            assert time.monotonic() < end, f"{command} says:\n{said}\n{self.log()}"
            time.sleep(0.3)

    def wait_for_jobs(self):
        self.wait_for("", "squeue", "--noheader")

    def close(self):
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=EXIT_SEC)
        for pipe in (self._process.stdin, self._process.stdout):
            pipe.close()
