#!/usr/bin/env python3
"""A stress test: programs that people use work on two mounts of one account, one with write-back. Meanwhile requests fail,
the service is away, and a mount's process is killed now and then. At the end the service, both mounts, and a model of what
the programs have done must agree. Exit code 0: they do. The same seed runs the same operations again."""
import argparse
import collections
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mount"))

import programs
from harness import FAULTY, TABLEFUSE, Mount, detach, environment, run
from model import Model
from other_client import other_client
from services import SERVICES, journal_line, utc
from values import Broken, value_of, values_of

# what a mount prints after its predecessor was killed
KEPT = r"tablefuse: \d+ new files? of this account in \S+: kept there because .*\n"
TIMEOUT_SEC = 20  # of an operation of the mount: longer than an outage
HANG_SEC = 45  # more than twice TIMEOUT_SEC; on a busy machine, too, every process runs now and then
END_SEC = 600  # after the programs' time
SETTLED_SEC = 45  # for the threads and kernel nodes of both mounts to go
MEMORY = (64 + 64 + 64) << 20  # of a process: its cache, its queue, and what it is itself
SWITCHES = re.compile(r"ctxt_switches:\s*(\d+)")  # of a thread that runs now and then: in /proc/PID/status
LOST_MAX = 16  # texts of an entity in lost+found: fs/text/lost_and_found.h
JOURNAL_LINES = 24  # of a finding
IDLE_THREADS = 40  # more than at the start: what waits for the next request
END = f"""
After their time the programs finish their last step, and everything is compared. This takes seconds, on a busy machine
minutes. What has not moved for {HANG_SEC} s counts as hanging: then, and {END_SEC} s after the time in any case, the soak names
it, kills all that it has started, and names what is left."""


def mount_points(directory):
    """Below the directory, the last mount first."""
    lines = pathlib.Path("/proc/self/mounts").read_text().splitlines()
    return [point for point in (line.split(" ")[1] for line in reversed(lines)) if point.startswith(f"{directory}/")]


def is_sanitized(pid):
    return re.search("lib[at]san", pathlib.Path(f"/proc/{pid}/maps").read_text()) is not None


class SoakMount:
    """A mount whose process is killed now and then."""

    def __init__(self, soak, name, *options):
        self.name, self.is_writeback = name, "writeback" in options
        self._soak, self._options = soak, [f"timeout={TIMEOUT_SEC}", "ttl=2", *options]
        base = pathlib.Path(soak.directory) / name
        for part in ("mnt", "logs", "state"):
            (base / part).mkdir(parents=True)
        # while nothing is mounted, programs cannot write into the directory itself
        (base / "mnt").chmod(0o555)
        if os.geteuid() == 0:
            run("mount", "-t", "tmpfs", "-o", "ro,size=4k", "soak", base / "mnt")
        self.mount = Mount(base / "mnt", base / "logs")
        self.point = self.mount.point
        self._is_there = threading.Event()
        self.start()
        self.at_start = self.mount.stats()
        self.threads_at_start = self.threads()

    def threads(self):
        return len(os.listdir(f"/proc/{self.mount.pid}/task"))

    def cpu_time(self):
        with contextlib.suppress(OSError):  # it has ended
            return pathlib.Path(f"/proc/{self.mount.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return None

    def start(self):
        service = self._soak.service
        done = self.mount.start(
            service.mount_source, *self._options, program=self._soak.daemon, env=service.variables, says=None
        )
        assert not re.sub(KEPT, "", done.stdout + done.stderr), done
        self._is_there.set()

    def wait(self):
        """False: the soak has ended."""
        while not self._is_there.wait(0.2):
            if self._soak.is_over():
                return False
        return True

    def is_there(self):
        return self._is_there.is_set()

    def has_crashed(self, deaths):
        """Has its process ended, and was not killed? `deaths`: before what has noticed it."""
        return self.mount.has_ended(0) and self.is_there() and deaths == self._soak.model.deaths(self)

    def kill(self):
        self._is_there.clear()
        self.mount.send(9)
        self._soak.kills.append((self.name, time.time()))
        assert self.mount.has_ended()
        self._soak.model.killed(self)
        self._soak.doubt_refused(self)
        detach(self.point)
        self.start()

    def errors(self, table):
        """The lines of .tablefuse/errors for this table, as far as it still has them."""
        with contextlib.suppress(OSError):
            return [line for line in self.mount.control("errors").splitlines() if f" /{table}/" in line]
        return []

    def lost_texts(self):
        """{name of its file: text}"""
        return {name: text for name, text in self.mount.lost_texts().items() if not name.endswith(".reason")}


class Soak:
    def __init__(self, seconds, seed, service, directory, mutant=None):
        self.daemon = pathlib.Path(FAULTY).with_name(f"tablefuse-{mutant}") if mutant else service.program
        self.seed, self.service, self.directory, self.seconds = seed, service, directory, seconds
        self.program, self.source = TABLEFUSE, service.source
        self.environment = environment(**service.variables)
        self.model = Model()
        self.problems = []
        self.kills = []  # (name of the mount, when)
        self.mounts, self.programs = [], []
        self.refused = {}  # name of a text: [the mount, when, whether it must be in lost+found, key of the entity]
        self.events = collections.Counter()
        self._is_over = threading.Event()
        self._ends = threading.Lock()  # taken by what ends the soak: the comparison, or watch()
        self._first_wrong = threading.Event()  # ends the run of a mutant
        self.mutant, self.has_crashed = mutant, False
        self._lock = threading.Lock()
        self.chance = random.Random(f"{seed} events")

    def is_over(self):
        return self._is_over.is_set()

    def wrong(self, what):
        with self._lock:
            self.problems.append(what)
            if self.mutant:
                self._first_wrong.set()
        print(f"WRONG  {what}", flush=True)

    def journal_lines(self, table, *keys):
        """What the proxy has seen last of the table, or of this entity, and the kills since then."""
        entries = self.service.journal(table)
        if keys:
            entries = [entry for entry in entries if any(tuple(write[1:3]) in (keys, ("", "")) for write in entry["writes"])]
        entries = entries[-JOURNAL_LINES:]
        lines = [journal_line(entry) for entry in entries]
        lines += [f"{utc(when)} killed {name}" for name, when in self.kills if entries and when > entries[0]["arrived"]]
        return "".join(f"\n    {line}" for line in sorted(lines))

    def late_changes(self, keys):
        """{key: the lines of the journal that are late changes of it}. See Model.was_late."""
        gone = {}
        for table in {key[0] for key in keys}:
            gone[table] = [entry for entry in self.service.journal(table) if entry["is_gone"]]
        return {key: [entry for entry in gone[key[0]] if self.model.was_late(key, entry)] for key in keys}

    def are_unsure(self, keys):
        """Those of the keys that a late change has overwritten, or may have: no later change is confirmed."""
        late = self.late_changes(keys)
        return {key for key in keys if any(entry["answered"] > self.model.sure_since(key) for entry in late[key])}

    def check_process(self, mount, deaths):
        if mount.has_crashed(deaths) and not self.has_crashed:
            self.has_crashed = True
            self.wrong(f"the process of {mount.name} has ended by itself")

    def note_refused(self, mount, key, name, is_surely, deaths):
        """A text was closed that is no entity. `deaths` of the mount before the program began."""
        with self._lock:
            is_surely = is_surely and deaths == self.model.deaths(mount)
            self.refused[name] = [mount, time.monotonic(), is_surely, key]

    def doubt_refused(self, mount):
        """Its process was killed: the kernel had perhaps not yet reported the last closes to it."""
        with self._lock:
            for text in self.refused.values():
                if text[0] is mount and time.monotonic() - text[1] < 20:
                    text[2] = False

    def check_texts(self, by, text):
        try:
            self.events["texts read"] += sum(1 for _ in values_of(text))
        except Broken as broken:
            self.wrong(f"{by} read {broken}")

    # The service is away, and processes are killed.

    def disturb(self):
        end = time.monotonic() + self.seconds
        away_sec = self.seconds / 10  # in all
        while True:
            pause = self.chance.uniform(0.03, 0.12) * self.seconds
            if self._first_wrong.wait(min(pause, max(0, end - time.monotonic()))) or time.monotonic() > end - 2:
                return
            if self.chance.random() < 0.5 and away_sec > 0:
                pause = min(away_sec, self.chance.uniform(0.01, 0.04) * self.seconds, TIMEOUT_SEC / 2)
                pause = min(pause, max(0, end - time.monotonic()))
                away_sec -= pause
                self.events["outages"] += 1
                self.service.be_away(pause)
            else:
                self.kill(self.chance.choice(self.mounts))

    def kill(self, mount):
        self.events[f"kills of {mount.name}"] += 1
        mount.kill()

    # The end.

    def end_programs(self):
        """They finish their last step: a program that is killed may leave anything. `watch` ends what hangs."""
        self._is_over.set()
        for program in self.programs:
            program.join()

    def verify(self):
        self.service.calm()
        for mount in self.mounts:
            self.check_process(mount, self.model.deaths(mount))
            run("sync", mount.point, check=False)
        until = time.monotonic() + SETTLED_SEC
        for mount in self.mounts:
            self.verify_counters(mount, until)
        stored = self.read_service()
        late, unsure = self.late_changes(self.model.keys()), self.are_unsure(self.model.keys())
        self.model.doubt([key for key, entries in late.items() if entries])
        self.events["entities that a late change has overwritten"] = len(unsure)
        for key in self.model.keys():
            may_be = self.model.may_be(key)
            if stored.get(key) not in may_be and key not in unsure:
                self.wrong(f"{key} is {stored.get(key)}, and may be {may_be}{self.model.history(key)}{self.journal_lines(*key)}")
        for key in stored.keys() - set(self.model.keys()):
            if key[0] != programs.Contest.TABLE:
                self.wrong(f"{key} was never written: {stored[key]}{self.journal_lines(*key)}")
        self.events["entities at the end"] = len(stored)
        time.sleep(2.1)  # ttl: what a killed process had stored is new for the others
        for mount in self.mounts:
            shown = self.read_mount(mount)
            for key in stored.keys() | shown.keys():
                if stored.get(key) != shown.get(key):
                    seen = self.journal_lines(*key)
                    self.wrong(f"{mount.name} shows {key} as {shown.get(key)}, and stored is {stored.get(key)}{seen}")
        self.verify_lost()
        for problem in self.service.problems():
            self.wrong(problem)

    def read_service(self):
        """Past every mount."""
        client, stored = other_client(self.service.account), {}
        for table in {program.table for program in self.programs}:
            for (pk, rk), members in client.stored(table).items():
                plain = {name: value for name, (_, value) in members.items()}
                try:
                    stored[table, pk, rk] = value_of(plain)
                except Broken as broken:
                    self.wrong(f"stored in {table}: {broken}")
        return stored

    def read_mount(self, mount):
        shown = {}
        for path in sorted(mount.point.glob("soak*/*/*.json")):
            with contextlib.suppress(Broken):
                (shown[(*path.relative_to(mount.point).parts[:2], path.stem)],) = values_of(path.read_text())
        return shown

    def verify_lost(self):
        for mount in self.mounts:
            files = mount.lost_texts()
            lost = [text.decode() for text in files.values()]
            texts = collections.Counter(file.split("-", 2)[2] for file in files)  # TIME-ACCOUNT-TABLE-PARTITION-ROW.json
            self.events[f"lost+found of {mount.name}"] = len(files)
            for name, (of, _, is_surely, key) in self.refused.items():
                found = sum(f'"{name}"' in text for text in lost)
                is_full = texts["-".join(key) + ".json"] >= LOST_MAX
                if of is mount and (found > 1 or (is_surely and not found and not is_full)):
                    self.wrong(f"{name} was refused by {mount.name} and is {found} times in lost+found")
            known = {"contest", "client", "same-contest", *self.refused}
            known |= {value[0] for value in self.model.in_doubt if value}
            for text in lost:
                if not any(f'"{name}' in text for name in known):
                    self.wrong(f"lost+found of {mount.name} has a text that was not refused: {text[:100]}")

    def verify_counters(self, mount, until):
        wanted = {
            f"tablefuse_{name}": 0
            for name in ("changing", "changes_waiting", "queued", "queued_bytes", "open_text_bytes", "waiting")
        } | {
            "tablefuse_inodes": mount.at_start.total("tablefuse_inodes"),
            "process_open_fds": mount.at_start.total("process_open_fds") + self.service.idle_descriptors,
        }
        if is_sanitized(mount.mount.pid):
            wanted["process_open_fds"] += 2  # the pipe of a symbolizer, from the first suppressed report on
        else:
            wanted["process_resident_memory_bytes"] = MEMORY
        while True:
            mount.mount.make_kernel_forget()
            now = mount.mount.stats()
            off = {name: now.total(name) for name in wanted if now.total(name) > wanted[name]}
            if mount.threads() > mount.threads_at_start + IDLE_THREADS:
                off["threads"] = mount.threads()
            if not off:
                break
            if time.monotonic() > until:
                self.wrong(f"{mount.name} is not at rest: {off}")
                break
            time.sleep(0.2)
        self.events[f"requests of {mount.name}"] = now.requests()
        self.events[f"retries of {mount.name}"] = now.total("tablefuse_retries_total")
        self.events[f"MiB of {mount.name}"] = now.total("process_resident_memory_bytes") >> 20
        self.events[f"threads of {mount.name}"] = mount.threads()
        self.events[f"descriptors of {mount.name}"] = now.total("process_open_fds")

    def unmount(self):
        for mount in self.mounts:
            done = mount.mount.unmount(check=False)
            if done.returncode != 0 or done.stderr:
                self.wrong(f"unmount of {mount.name} ended with {done.returncode}: {done.stderr}")
            mount.mount.let_end()  # only the mount point's own file system is left
            mount.mount.finish()

    def leave_nothing(self):
        """Kills all that was started, and prints what is left nevertheless."""
        self._is_over.set()
        for program in self.programs:
            program.kill()
        Mount.kill_all()
        for point in mount_points(self.directory):
            with contextlib.suppress(subprocess.SubprocessError):
                detach(point)
        self.service.stop()
        time.sleep(0.1)  # killed processes are there for a moment
        for left in (*mount_points(self.directory), *(f"{pid} {name}" for pid, name, _ in self.processes())):
            print(f"LEFT  {left}", flush=True)

    def processes(self):
        """(pid, name, what changes while it runs) of all processes of the programs."""
        sessions = {program.process.pid for program in self.programs if program.process}
        found = []
        for directory in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has ended
                stat, status = (directory / "stat").read_text(), (directory / "status").read_text()
                head, _, rest = stat.rpartition(")")
                state, _, _, session = rest.split()[:4]
                if int(session) in sessions and state not in "ZX":
                    found.append((directory.name, head.partition("(")[2], (stat, SWITCHES.findall(status))))
        return found

    def watch(self):
        """Ends all if no program, no mount and not the comparison after them moves."""
        time.sleep(self.seconds)
        end, moved, before = time.monotonic() + END_SEC, time.monotonic(), None
        while time.monotonic() < min(end, moved + HANG_SEC):
            time.sleep(1)
            main = pathlib.Path(f"/proc/self/task/{os.getpid()}/status").read_text()
            now = self.processes(), SWITCHES.findall(main), [mount.cpu_time() for mount in self.mounts]
            if now != before:
                before, moved = now, time.monotonic()
        self._ends.acquire()  # main, which goes on when what it waits for is killed, waits for os._exit then
        try:
            self.end_hanging()
        finally:
            print(f"LEFT  {self.directory}", flush=True)
            os._exit(1)

    def end_hanging(self):
        for program in self.programs:
            if program.is_alive():
                doing = program.process and program.process.args[:6]
                self.wrong(f"{program.name} on {program.mount.name} hangs in {doing}")
        frames = traceback.extract_stack(sys._current_frames()[threading.main_thread().ident])
        self.wrong("hangs: " + " > ".join(f"{frame.name}:{frame.lineno}" for frame in frames if frame.filename == __file__))
        self.report()
        self.leave_nothing()

    def report(self):
        print(f"seed {self.seed}")
        for program in self.programs:
            print(
                f"  {program.name} on {program.mount.name}: {program.made} changes, {program.in_doubt} in doubt,"
                f" {program.ended} processes"
            )
        for name, n in sorted(self.events.items()):
            print(f"  {name}: {n}")
        print(f"{len(self.problems)} wrong", flush=True)

    def run(self):
        for name, options in (("plain", []), ("writeback", ["writeback"])):
            self.mounts.append(SoakMount(self, name, *options))
        kinds = [
            programs.Bash, programs.Bash, programs.Sed, programs.Vim, programs.Cp, programs.Cp, programs.Rsync,
            programs.Tar, programs.Remove, programs.Bulk, programs.Client, programs.Contest, programs.Contest,
            programs.Contest, programs.Contest, programs.Read, programs.Read,
        ]
        tables = [*(f"soak{n}" for n in range(len(kinds))), programs.Contest.TABLE]
        run("mkdir", *[self.mounts[0].point / table for table in tables])
        first = self.chance.randrange(2)
        self.programs = [kind(self, self.mounts[(n + first) % 2], n) for n, kind in enumerate(kinds)]
        threading.Thread(target=self.watch, daemon=True).start()
        threading.excepthook = lambda it: self.wrong(f"{it.thread.name}: {it.exc_type.__name__}: {it.exc_value}")
        for program in self.programs:
            program.start()
        self.disturb()
        self.end_programs()
        if not (self.mutant and self.problems):
            try:
                self.verify()
                self.unmount()
            except (OSError, AssertionError) as error:
                self.wrong(f"the end: {error}")
        self._ends.acquire()
        self.report()


def main():
    words = argparse.ArgumentParser(description=__doc__, epilog=END)
    words.add_argument("--seconds", type=int, default=60, help="how long the programs work (60)")
    words.add_argument("--seed", type=int, default=None, help="a random one, which is printed")
    words.add_argument("--service", choices=SERVICES, default="local", help="an account in a file, or Azurite behind the proxy")
    words.add_argument("--mutant", choices=["trusting", "claimless"], help="a program with a fault, which must be noticed")
    words.add_argument("--keep", action="store_true", help="keep the directory with logs and lost+found")
    options = words.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 30)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # and leave nothing
    directory = tempfile.mkdtemp(prefix="tablefuse-soak-")
    soak = Soak(options.seconds, seed, SERVICES[options.service](directory, seed), directory, options.mutant)
    try:
        soak.run()
    finally:
        soak.leave_nothing()
        if not options.keep and not mount_points(directory):
            shutil.rmtree(directory, ignore_errors=True)
    if options.mutant:  # a program that crashes shows nothing of what the soak notices
        return int(soak.has_crashed or not soak.problems)
    return int(bool(soak.problems))


if __name__ == "__main__":
    sys.exit(main())
