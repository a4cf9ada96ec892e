"""A shell in a machine of its own, as far as a reader of README.md can tell: a clone of the repository, an empty home, own
/etc, /srv and /usr/local/bin, own processes, mounts and network. Nothing that is done there is left behind.

In it `myaccount` of Azure is an Azurite behind TLS, under Azure's own host name. The programs in stand_ins/ take the place
of those that need the internet, an Azure subscription or an init system. For root alone."""
import os
import pathlib
import shutil
import signal
import subprocess

from credentials import Certificate
from harness import DETACH, EXIT_SEC, FIXTURE, MODULES, ROOT, TABLEFUSE, copying_mounts, environment, is_readable

COMMAND_SEC = 900  # the first command builds the program
AZURE, AZURE_KEY = "myaccount", "bm90IHRoZSBrZXkgb2YgdGhpcyBhY2NvdW50"
AZURE_HOST = f"{AZURE}.table.core.windows.net"
STAND_INS = pathlib.Path(__file__).with_name("stand_ins")

# $1: the sandbox's directory. Each line that is read is the name of an output: of what is in $1/command.
SHELL = f"""
set -eu
{DETACH}mount -t tmpfs none "$1/layers"
for directory in /etc /srv /usr/local/bin; do
    mkdir -p "$1/layers$directory/new" "$1/layers$directory/work"
    mount -t overlay none "$directory" \\
        -o "lowerdir=$directory,upperdir=$1/layers$directory/new,workdir=$1/layers$directory/work"
done
echo "127.0.0.1 localhost {AZURE_HOST}" > /etc/hosts
cat "$1/azure.pem" >> /etc/ssl/certs/ca-certificates.crt
/usr/bin/python3 "{STAND_INS}/loopback_up.py"
await_port() {{ until (: < "/dev/tcp/127.0.0.1/$1") 2> /dev/null; do sleep 0.05; done; }}
AZURITE_ACCOUNTS="{AZURE}:{AZURE_KEY}" node "{MODULES}/azurite/dist/src/table/main.js" --tableHost 127.0.0.1 \\
    --tablePort 443 --inMemoryPersistence --silent --disableTelemetry --skipApiVersionCheck \\
    --cert "$1/azure.pem" --key "$1/azure.key" > "$1/azure.log" 2>&1 &
disown
await_port 443
AZURE_STORAGE_KEY="{AZURE_KEY}" "{FIXTURE}" {AZURE} sample
cd "$1/clone"
set +eu
echo ready
while read -r output; do
    eval "$(< "$1/command")" > "$1/$output" 2>&1 < "$1/input"
    echo $?
done
"""


def _lend_objects(build, directory):
    """What is compiled already, with the log by which ninja knows how and from what: it compiles what differs."""
    directory.mkdir()
    for log in (".ninja_log", ".ninja_deps"):  # first: what they name is whole, even if another part still builds
        (directory / log).write_bytes((build / log).read_bytes())
    for name in ("cache", "client", "fs", "tests", "tests/bench"):
        for objects in (build / name).glob("*.p"):
            shutil.copytree(objects, directory / name / objects.name)
    shutil.copytree(build / "tablefuse.p", directory / "tablefuse.p")


def _clone(directory):
    """Without what was built, or made by a reader of README.md, whose mounts may be in the repository."""
    directory.mkdir()
    for name in ("cache", "client", "contrib", "fs", "tests"):
        ignored = shutil.ignore_patterns("node_modules", "__pycache__")
        shutil.copytree(ROOT / name, directory / name, ignore=ignored, symlinks=True)
    for file in "meson.build", "meson_options.txt":
        shutil.copy2(ROOT / file, directory)


class Sandbox:
    """One shell. run() runs one command after the other in it, so that variables and jobs live on."""

    def __init__(self, directory):
        self._directory, self._commands = pathlib.Path(directory), 0
        self.clone = self._directory / "clone"
        for name in ("home", "layers"):
            (self._directory / name).mkdir()
        Certificate(directory, "azure", f"DNS:{AZURE_HOST}")
        _clone(self.clone)
        _lend_objects(pathlib.Path(TABLEFUSE).parent, self.clone / "build")
        spaces = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        with open(self._directory / "shell.log", "wb") as log, copying_mounts(self._environment()) as options:
            self._process = subprocess.Popen(
                ["unshare", *spaces, "bash", "-c", SHELL, "bash", str(directory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                **options,
            )
        try:
            assert self._answer(COMMAND_SEC) == "ready", self._log()
        except BaseException:
            self.stop()
            raise

    def _environment(self):
        return environment(
            HOME=str(self._directory / "home"),
            PATH=f"{STAND_INS}:{os.environ['PATH']}",
            EMULATOR_MODULES=MODULES,
            AZURE_STAND_IN=AZURE,
            AZURE_STAND_IN_KEY=AZURE_KEY,
        )

    def _log(self):
        return (self._directory / "shell.log").read_text(errors="replace")

    def _answer(self, timeout):
        assert is_readable(self._process.stdout, timeout), f"no end in {timeout} s"
        return self._process.stdout.readline().rstrip("\n")

    def run(self, command, typed="", timeout=COMMAND_SEC):
        """(exit code, what was printed). `typed` is what the command reads."""
        (self._directory / "command").write_text(command, encoding="utf-8")
        (self._directory / "input").write_text(typed, encoding="utf-8")
        self._commands += 1
        # a file for each: what runs on in the background writes to its own one
        output = self._directory / f"output-{self._commands}"
        self._process.stdin.write(output.name + "\n")
        self._process.stdin.flush()
        answer = self._answer(timeout)
        assert answer, f"the shell has ended: {self._log()}"
        return int(answer), output.read_text(encoding="utf-8", errors="replace")

    def stop(self):
        """Every process in it ends, and with them its mounts."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=EXIT_SEC)
        for pipe in (self._process.stdin, self._process.stdout):
            pipe.close()
