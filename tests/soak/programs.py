"""The programs of the soak. Each has a thread, and a table that nothing else changes. The seed decides what it does, as long
as its commands end in the same way."""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import threading
import time

from services import utc
from values import of_one_size, text_of

PARTITIONS = ["p", "quite a long partition", "ü"]
ROWS = 12

# What a program prints if the service, or the mount, does not answer. Then the change may be made or not.
AWAY = re.compile(
    r"Connection (timed out|refused|reset)|Transport endpoint is not connected|Software caused connection abort"
    r"|Read-only file system|Input/output error|No route to host|Host is down|Network is unreachable|not mounted"
    r"|no answer|Timeout was reached|HTTP 50\d"
)
# ... or if the service has made a change late, of a client that had gone (Model.was_late)
LATE_WRITE = re.compile("File exists|Directory not empty|Stale file handle")
LATE_DELETE = re.compile("No such file|Stale file handle|Device or resource busy")
CANNOT_OPEN = re.compile(r"([^/\n]+): Cannot open: File exists")
LATE_SEC = 20  # between a late change and the command that fails: a queued text is reported by the next fsync


class Killed(Exception):
    """The soak has killed the program."""


class Program(threading.Thread):
    """One of the programs. `soak` has the mounts, the model and the list of problems."""

    def __init__(self, soak, mount, number):
        super().__init__(daemon=True)
        self.name = f"{type(self).__name__.lower()}{number}"
        self.soak, self.mount, self.table = soak, mount, f"soak{number}"
        self.chance = random.Random(f"{soak.seed} {self.name}")
        self.directory = pathlib.Path(soak.directory) / self.name
        self.directory.mkdir()
        self.made = self.ended = self.in_doubt = 0
        self.process = None
        self._values = 0
        self._lock, self._is_killed = threading.Lock(), False

    def run(self):
        with contextlib.suppress(Killed):
            while not self.soak.is_over():
                if self.mount.wait():
                    self.step()

    def new_value(self):
        self._values += 1
        return f"{self.name}-{self._values}", self.chance.randrange(1000)

    def key(self):
        return self.table, self.chance.choice(PARTITIONS), f"r{self.chance.randrange(ROWS)}"

    def path(self, key):
        return self.mount.point / key[0] / key[1] / f"{key[2]}.json"

    def call(self, *command):
        """(exit code, what it printed)"""
        self.began = time.time()
        with self._lock:
            if self._is_killed:
                raise Killed
            self.process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self.soak.environment,
                start_new_session=True,
                text=True,
                errors="replace",
            )
        printed = self.process.communicate()[0]
        self.ended += 1
        return self.process.returncode, printed

    def kill(self):
        """Kills the command, and lets no other one start."""
        with self._lock:
            self._is_killed = True
            if self.process is not None and self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)

    def change(self, changes, *command, steps=(), is_queued=None):
        """Runs a command that makes these changes. True: it has reported success."""
        self.made += 1
        deaths = self.soak.model.deaths(self.mount)
        begun = self.soak.model.begin(self.mount, changes, steps)
        code, printed = self.call(*command)
        is_queued = self.mount.is_writeback if is_queued is None else is_queued
        self.soak.model.end(self.mount, begun, code == 0, is_queued)
        self.excuse(" ".join(str(word)[:60] for word in command[:5]), code, printed, deaths, keys=changes)
        return code == 0

    def is_overtaken(self, keys, printed):
        """Did a command fail because the service has made a change of one of these keys late?"""
        is_late = any(
            (LATE_DELETE if name in ("delete", "drop") else LATE_WRITE).search(printed)
            for key, entries in self.soak.late_changes(keys).items()
            for entry in entries
            if entry["answered"] > self.began - LATE_SEC
            for name, partition, row, _ in entry["writes"]
            if name == "drop" or (partition, row) == key[1:]
        )
        self.soak.events["results of late changes"] += is_late
        return is_late

    def excuse(self, what, code, printed, deaths, keys=(), also=None):
        """Reports a command that failed without a reason."""
        if code == 0:
            return
        self.in_doubt += 1
        self.soak.check_process(self.mount, deaths)
        has_died = not self.mount.is_there() or deaths != self.soak.model.deaths(self.mount)
        if self.soak.is_over() or has_died or AWAY.search(printed) or (also and also.search(printed)):
            return
        errors = self.mount.errors(self.table)
        recent = [line for line in errors if line.strip() >= utc(self.began)]  # a line begins with its time
        # 503 until the operation's time was over
        if "Device or resource busy" in printed and any("EBUSY, HTTP 503" in line for line in recent):
            return
        # tar reports that it cannot create the file, and not why it could not unlink the old one
        stays = [line for line in recent if " unlink /" in line]
        names = CANNOT_OPEN.findall(printed)
        if names and all(any(f"/{name}: ETIMEDOUT" in line for line in stays) for name in names):
            return
        if self.is_overtaken(keys, printed):
            return
        seen = self.soak.journal_lines(self.table)
        self.soak.wrong("\n  ".join([f"{self.name}: {what} ended with {code}: {printed[-400:]}", *errors[-8:]]) + seen)

    def shell(self, changes, script, *words, **how):
        return self.change(changes, "bash", "-c", f"set -e -o pipefail; {script}", "bash", *words, **how)

    def known(self, key):
        """The value, if only one is possible. None: absent, or not certain."""
        values = self.soak.model.may_be(key)
        return next(iter(values)) if len(values) == 1 else None

    def write(self, key):
        value = self.new_value()
        self.shell(
            {key: value}, 'mkdir -p "${1%/*}"; printf "%s\\n" "$2" > "$1"', self.path(key), text_of(value)
        )

    def sync(self):
        """After it, the confirmed changes of this program are stored."""
        keys = self.soak.model.unsynced(self.mount, lambda key: key[0] == self.table)
        code, printed = self.call("sync", self.mount.point / self.table)
        if code == 0:
            self.soak.model.synced(self.mount, keys)
        elif not (
            AWAY.search(printed) or self.soak.is_over() or "No such file" in printed or self.is_overtaken(keys, printed)
        ):
            self.soak.wrong(f"{self.name}: sync: {printed}{self.soak.journal_lines(self.table)}")

    def tree(self):
        """(a directory of texts, {key: value}) for the programs that copy directories."""
        partition, source = self.chance.choice(PARTITIONS), self.directory / "tree"
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir()
        changes = {}
        for row in sorted(self.chance.sample(range(ROWS), self.chance.randrange(1, ROWS))):
            value = self.new_value()
            (source / f"r{row}.json").write_text(text_of(value) + "\n")
            changes[(self.table, partition, f"r{row}")] = value
        return source, self.mount.point / self.table / partition, changes


class Bash(Program):
    """Redirections, `rm`, `mv`, and texts that end too early: a shell reports no failure of close."""

    def step(self):
        key = self.key()
        kind = self.chance.choice(["write", "write", "append", "remove", "move", "cut", "sync"])
        if kind == "sync":
            self.sync()
        elif kind == "write" or self.known(key) is None:
            self.write(key)
        else:
            getattr(self, kind)(key)

    def append(self, key):
        value = self.new_value()
        self.shell({key: value}, 'printf "%s\\n" "$2" >> "$1"', self.path(key), text_of(value))

    def remove(self, key):
        self.shell({key: None}, 'rm "$1"', self.path(key))

    def move(self, key):
        other, value = self.key(), self.known(key)
        if other != key:
            changes = {key: None, other: value}
            self.shell(changes, 'mkdir -p "${2%/*}"; mv "$1" "$2"', self.path(key), self.path(other))

    def cut(self, key):
        name = self.new_value()[0]
        deaths = self.soak.model.deaths(self.mount)
        code, _ = self.call("bash", "-c", 'printf "%s" "$2" > "$1"', "bash", self.path(key), f'{{"Name": "{name}"')
        self.soak.note_refused(self.mount, key, name, code == 0, deaths)


class Editor(Program):
    """Changes the turn of a text in its file."""

    def step(self):
        key = self.key()
        value = self.known(key)
        if value is None:
            return self.write(key)
        turn = self.chance.randrange(1000)
        self.change({key: (value[0], turn)}, *self.command(turn), self.path(key))


class Sed(Editor):
    """A new file, and a rename."""

    def command(self, turn):
        return ["sed", "-i", f's/"Turn": [0-9]*/"Turn": {turn}/']


class Vim(Editor):
    """A swap file, a backup and fsync."""

    def command(self, turn):
        edit = f'%s/"Turn": [0-9]*/"Turn": {turn}/'
        options = ["-N", "-es", "-V1", "-u", "NONE", "-i", "NONE", "-c", "set backup writebackup"]
        return ["vim.tiny", *options, "-c", edit, "-c", "wq!"]


class Cp(Program):
    def step(self):
        source, target, changes = self.tree()
        self.shell(changes, 'mkdir -p "$2"; cp -r "$1/." "$2/"', source, target)
        if self.chance.random() < 0.3:
            self.sync()


class Rsync(Program):
    def step(self):
        source, target, changes = self.tree()
        flags = self.chance.choice([["-a"], ["-a", "--inplace"], ["-a", "--delete"]])
        if "--delete" in flags:
            _, partition, _ = next(iter(changes))
            changes = {(self.table, partition, f"r{row}"): None for row in range(ROWS)} | changes
        # the entity's text may by chance have the size and the second of what is stored: rsync would leave that out
        flags = [*flags, "--ignore-times"]
        self.shell(changes, 'mkdir -p "$2"; rsync "${@:3}" "$1/" "$2/"', source, target, *flags)


class Tar(Program):
    """Unlinks before it writes, unless it has --overwrite."""

    def step(self):
        source, target, changes = self.tree()
        flags = self.chance.choice([[], ["--overwrite"]])
        script = 'mkdir -p "$2"; tar -C "$1" -cf - . | tar -C "$2" -xf - "${@:3}"'
        self.shell(changes, script, source, target, *flags, steps=() if flags else (None,))


class Remove(Program):
    """`rm -r` of partitions, and of the table."""

    def step(self):
        if self.chance.random() < 0.7:
            source, target, changes = self.tree()
            self.shell(changes, 'mkdir -p "$2"; cp -r "$1/." "$2/"', source, target)
            return
        partitions = PARTITIONS if self.chance.random() < 0.3 else [self.chance.choice(PARTITIONS)]
        changes = {(self.table, partition, f"r{row}"): None for partition in partitions for row in range(ROWS)}
        target = self.mount.point / self.table
        if len(partitions) == 1:
            target /= partitions[0]
        self.shell(changes, 'if [ -e "$1" ]; then rm -r "$1"; fi; mkdir -p "$2"', target, self.mount.point / self.table)


class Bulk(Program):
    """`import` and `export`: they use the service directly."""

    def step(self):
        partition = self.chance.choice(PARTITIONS)
        file, target = self.directory / "lines", f"{self.soak.source}/{self.table}"
        rows = self.chance.sample(range(ROWS), self.chance.randrange(1, ROWS))
        changes = {(self.table, partition, f"r{row}"): self.new_value() for row in rows}
        with open(file, "w", encoding="utf-8") as lines:
            for (_, partition, row), value in changes.items():
                keys = {"PartitionKey": partition, "RowKey": row}
                lines.write(json.dumps(keys | json.loads(text_of(value))) + "\n")
        script = '"$1" import --quiet --create --mode=replace "$2" < "$3"'
        self.shell(changes, script, self.soak.program, target, file, is_queued=False)
        out = self.directory / "exported"
        code, printed = self.call(self.soak.program, "export", "--quiet", "--output", out, target)
        if code == 0:
            self.soak.check_texts(self.name, out.read_text())
        elif not AWAY.search(printed) and not self.soak.is_over():
            self.soak.wrong(f"{self.name}: export ended with {code}: {printed[-400:]}")


class Contest(Program):
    """Several of them change the same entities, over both mounts. The model does not know what they leave. But texts are
    whole, and the service and both mounts have the same."""

    TABLE = "soakshared"
    # the last two: those that create a file share its text, so one may append to a text that the other has not closed, or `sed
    # -i` read it before anything is written
    OUTRUN = re.compile(
        "Stale file handle|No such file|File exists|Device or resource busy|cannot overwrite directory|Invalid argument"
        "|cannot rename .*: Operation not permitted"
    )

    def __init__(self, *words):
        super().__init__(*words)
        self.table = self.TABLE

    def step(self):
        key = (self.TABLE, self.chance.choice(PARTITIONS[:2]), f"r{self.chance.randrange(4)}")
        path, value = self.path(key), self.new_value()
        script = self.chance.choice(
            [
                """printf '%s\\n' "$2" > "$1" """,
                """printf '%s\\n' "$2" > "${1%/*}/.$3"; mv "${1%/*}/.$3" "$1" """,
                """printf '%s\\n' "$2" >> "$1" """,
                """sed -i 's/"Turn": [0-9]*/"Turn": 1/' "$1" """,
                """rm "$1" """,
            ]
        )
        # two that create a file share its text, as on a disk: if one writes over the other's, nothing of that is left
        text = text_of(of_one_size(value) if script.startswith("printf") else value)
        deaths = self.soak.model.deaths(self.mount)
        self.made += 1
        code, printed = self.call("bash", "-c", f'set -e; mkdir -p "${{1%/*}}"; {script}', "bash", path, text, self.name)
        self.excuse(f"{script} {path}", code, printed, deaths, also=self.OUTRUN)


class Client(Program):
    """Changes the same entities past every mount."""

    def __init__(self, *words):
        super().__init__(*words)
        self.table = Contest.TABLE

    def step(self):
        file, target = self.directory / "lines", f"{self.soak.source}/{self.table}"
        with open(file, "w", encoding="utf-8") as lines:
            for partition in PARTITIONS[:2]:
                keys = {"PartitionKey": partition, "RowKey": f"r{self.chance.randrange(4)}"}
                lines.write(json.dumps(keys | json.loads(text_of(self.new_value()))) + "\n")
        mode = self.chance.choice(["replace", "insert", "delete --any-version"])
        script = f'"$1" import --quiet --mode={mode} "$2" < "$3"'
        self.made += 1
        code, printed = self.call("bash", "-c", script, "bash", self.soak.program, target, file)
        if code not in (0, 6) and not AWAY.search(printed) and not self.soak.is_over():  # 6: an insert was refused
            self.soak.wrong(f"{self.name}: import --mode={mode} ended with {code}: {printed[-400:]}")
        time.sleep(0.2)


class Read(Program):
    """Reads what the others write: no text may be cut or mixed."""

    def step(self):
        script = (
            'find "$1" -mindepth 1 -name .tablefuse -prune -o -name "*.json" -print0 2>/dev/null'
            ' | xargs -0 -r cat 2>/dev/null > "$2" || :'
        )
        out = self.directory / "read"
        self.call("bash", "-c", script, "bash", self.mount.point, out)
        self.made += 1
        self.soak.check_texts(self.name, out.read_text(errors="replace"))
