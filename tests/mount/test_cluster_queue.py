"""contrib/cluster/queue-worker: the parts of a table, handed out by Azurite's queue service."""
import contextlib
import http.client
import itertools
import json
import os
import random
import re
import signal
import subprocess
import urllib.parse
import xml.etree.ElementTree as tree
import xml.sax.saxutils

import pytest

from credentials import account_sas
from documents import text_commands
from harness import ABANDONED, ACCOUNT, COMMAND_SEC, CONFIGURATION, EXIT_SEC, KEY, MODULES, NETWORK, NOT_FOUND, OTHER_KEY
from harness import REFUSED, ROOT, TABLEFUSE, USAGE, Azurite, environment, run, wait_until
from ports import refusing_port
from servers import Handler, Server

WORKER = ROOT / "contrib/cluster/queue-worker"
PAGE = (ROOT / "contrib/docs/scale.md").read_text(encoding="utf-8")
INTERRUPTED = 130
names = (f"parts{n}" for n in itertools.count())

# A part, in place of tablefuse: notes that it runs, of which worker, and waits until the test lets all parts go.
PART = """#!/bin/sh
echo "$PPID $1" >> begun
while [ ! -e go ]; do sleep 0.2; done
shift
exec "$@"
"""


class Queue:
    """Of Azurite, by its REST interface: independent of the SDK."""

    _SAS = account_sas(ACCOUNT, KEY, "raupc", ss="q")

    def __init__(self, service, name):
        self.name, self._service = name, service

    def _ask(self, method, path="", text=None, **parameters):
        query = "&".join([self._SAS, urllib.parse.urlencode(parameters)])
        body = f"<QueueMessage><MessageText>{xml.sax.saxutils.escape(text or '')}</MessageText></QueueMessage>"
        connection = http.client.HTTPConnection("127.0.0.1", self._service.port, timeout=COMMAND_SEC)
        connection.request(method, f"/{ACCOUNT}/{self.name}{path}?{query}", None if text is None else body.encode())
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        assert answer.status < 300, content
        return answer, content

    def make(self):
        self._ask("PUT")

    def count(self):
        return int(self._ask("GET", comp="metadata")[0].headers["x-ms-approximate-messages-count"])

    def put(self, *texts):
        for text in texts:
            self._ask("POST", "/messages", text, messagettl=-1)

    def _messages(self, **parameters):
        content = self._ask("GET", "/messages", numofmessages=32, **parameters)[1]
        return [{part.tag: part.text or "" for part in message} for message in tree.fromstring(content)]

    def visible(self):
        """[(text, how often it was received)]"""
        return [(each["MessageText"], int(each["DequeueCount"])) for each in self._messages(peekonly="true")]

    def texts(self):
        return [text for text, _ in self.visible()]

    def receive(self, seconds=600):
        return self._messages(visibilitytimeout=seconds)

    def give_back(self, message):
        receipt = {"popreceipt": message["PopReceipt"], "visibilitytimeout": 0}
        self._ask("PUT", f"/messages/{message['MessageId']}", message["MessageText"], **receipt)

    def delete(self, message):
        self._ask("DELETE", f"/messages/{message['MessageId']}", popreceipt=message["PopReceipt"])


@pytest.fixture(scope="module")
def queues(scratch):
    azurite = Azurite(scratch, kind="queue")
    yield azurite
    azurite.stop()


@pytest.fixture
def queue(queues):
    return Queue(queues, next(names))


@pytest.fixture
def poison(queues, queue):
    return Queue(queues, f"{queue.name}-poison")


@pytest.fixture
def place(tmp_path):
    """A directory with bin/ for PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "results").mkdir()
    (tmp_path / "bin/queue-worker").symlink_to(WORKER)
    (tmp_path / "bin/tablefuse").symlink_to(TABLEFUSE)
    (tmp_path / "bin/part").write_text(PART)
    (tmp_path / "bin/part").chmod(0o755)
    return tmp_path


def variables(place, queues, **others):
    credential = {"AZURE_STORAGE_CONNECTION_STRING": queues.connection_string()}
    path = f"{place / 'bin'}:{os.environ['PATH']}"
    return environment(**{**credential, "NODE_PATH": MODULES, "PATH": path, **others})


@pytest.fixture
def worker(place, queues):
    """worker(argument, ...) is (exit code, standard output, standard error)."""

    def call(*arguments, **others):
        done = run("queue-worker", *arguments, check=False, env=variables(place, queues, **others), cwd=place)
        assert KEY not in done.stdout + done.stderr
        return done.returncode, done.stdout, done.stderr

    return call


@pytest.fixture
def start(place, queues):
    """Starts a worker, each in a group with its part. What it says is in place/said."""
    started = []

    def begin(*arguments, **others):
        with open(place / "said", "a") as said:
            process = subprocess.Popen(
                ["queue-worker", "work", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=variables(place, queues, **others),
                cwd=place,
                start_new_session=True,
            )
        started.append(process)
        return process

    yield begin
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=EXIT_SEC)


def fill(worker, place, queue, tokens):
    (place / "tokens").write_text("".join(f"{token}\n" for token in tokens))
    assert worker("fill", queue.name, "tokens") == (0, f"{len(tokens)} tokens put into {queue.name}\n", "")


def begun(place):
    """[(process of the worker, token)]"""
    if not (place / "begun").exists():
        return []
    return [(int(line.split()[0]), line.split()[1]) for line in (place / "begun").read_text().splitlines()]


def wait_for_word(place, word):
    wait_until(lambda: word in (place / "said").read_text(), what=word)


def ends(process):
    return process.wait(timeout=COMMAND_SEC)


def test_the_lines_of_the_page(account, place, queues):
    """With a SAS, which needs no more than the page says: `fill` makes queues, the others do not."""
    lines = text_commands(PAGE, "## Azure Queue Storage")
    script = "\n".join(lines).replace("SOURCE/TABLE", f"{account.source}/dates")
    script = script.replace("-n 64", "-n 5").replace("seq 8", "seq 2")

    def shell(commands, permissions):
        string = queues.connection_string(sas=account_sas(ACCOUNT, KEY, permissions, ss="qt"))
        env = variables(place, queues, AZURE_STORAGE_CONNECTION_STRING=string)
        return run("bash", "-euc", commands, env=env, cwd=place)

    to_fill, end, rest = script.partition("fill parts parts\n")
    assert shell(to_fill + end, "raupc").stdout == "5 tokens put into parts\n"
    done = shell(rest, "raup")
    assert done.stdout.splitlines() == [
        "parts: 0 messages, 0 waiting, 0 with workers or paused",
        "parts-poison: 0 messages",
    ]
    assert done.stderr.count(": done in ") == 5
    assert sum(map(int, re.findall("parts is empty; (.) parts done by this worker", done.stderr))) == 5
    (table,) = [line.rpartition("> ")[2] for line in lines if " join " in line]
    whole = run(TABLEFUSE, "export", "--quiet", f"{account.source}/dates", text=False).stdout
    assert (place / table).read_bytes() == whole


def test_workers_are_killed_at_random(service, sdk, place, queues, queue, poison, worker, start):
    """Each entity once: three workers die while all have a part, and then some more. The parts of the dead run on, beside
    those of the workers that took them over."""
    chance, table, parts = random.Random(1), "killed", 24
    keys = [(f"p{n % 7}", f"r{n:03}") for n in range(200)]
    sdk.fill_table(table, [{"partitionKey": p, "rowKey": r} for p, r in keys])
    source = f"{service.endpoint}/{table}"
    both = {"AZURE_STORAGE_CONNECTION_STRING": f"{service.connection_string()};QueueEndpoint={queues.endpoint}"}
    env = variables(place, queues, **both)
    tokens = run(TABLEFUSE, "split", "--quiet", "-n", str(parts), source, env=env).stdout.split()
    fill(worker, place, queue, tokens)

    export = ["tablefuse", "export", "--quiet", "--skip-done", "--output", "results/", "--part", "{}", source]
    arguments = ["--visibility", "2", "--tries", "100", queue.name, "--", "part", "{}", *export]
    workers = [start(*arguments, **both) for _ in range(8)]
    wait_until(lambda: len({pid for pid, _ in begun(place)}) == len(workers), what="a part of each worker")
    chance.shuffle(workers)
    for _ in range(3):
        workers.pop().kill()
    (place / "go").touch()
    for done in sorted(chance.sample(range(1, parts), 2)):
        wait_until(lambda: len(list((place / "results").glob("part-*[0-9a-f]"))) >= done, what=f"{done} parts")
        workers.pop().kill()
    assert [ends(process) for process in workers] == [0, 0, 0], (place / "said").read_text()

    assert {token for _, token in begun(place)} == set(tokens)
    assert len(begun(place)) >= parts + 3  # the first three of the dead had a part that nobody let go
    assert (queue.count(), poison.count()) == (0, 0)
    joined = run(TABLEFUSE, "join", "tokens", "results", env=env, cwd=place).stdout
    assert joined == run(TABLEFUSE, "export", "--quiet", source, env=env).stdout
    assert joined.count("\n") == len(keys)


JUNK = ["", "no token", "$(touch junk)", "--help", "1/parts", "b\u00e9", "x" * 60000 + "="]


def test_what_is_put_into_the_poison_queue(place, queue, poison, worker):
    """By the exit code; what is no token; and what five workers, here two, have lost."""
    fill(worker, place, queue, ["lost"])
    for _ in range(2):
        (message,) = queue.receive()
        queue.give_back(message)
    for code in 1, 2, 3, 5, 6, 7:
        queue.put(f"c{code}", "c0")
    queue.put(*JUNK, "c4", "c0", "c32", "c0", "c137", "c0")
    command = ["sh", "-c", 'c=${1#c}; test "$c" -lt 128 || kill -9 $$; exit $c', "sh", "{}"]
    ended, out, said = worker("work", "--tries=2", "--visibility=1", queue.name, *command)
    assert (ended, out) == (ABANDONED, "")
    assert "9 parts done" in said and f'{len(JUNK) + 10} messages are in {poison.name}' in said
    assert not (place / "junk").exists()
    final = [f"c{code} # exit code {code}" for code in (1, 2, 3, 5, 6, 7)]
    after_two = ["c4 # exit code 4, 2 tries", "c32 # exit code 32, 2 tries", "c137 # SIGKILL, 2 tries"]
    assert sorted(poison.texts()) == sorted([*final, *after_two, "lost # 2 workers have lost it", *JUNK])
    assert queue.count() == 0
    shown = worker("status", queue.name)[1]
    assert f"\n{poison.name}: {len(JUNK) + 10} messages\n" in shown
    assert all(f"\n  {text}\n" in shown for text in (*final, *after_two, '"no token"', '""'))
    assert len(max(shown.split("\n"), key=len)) < 100


def test_a_machine_where_nothing_works_keeps_the_messages(place, queue, poison, worker):
    """Neither the poison queue nor the tries are used up."""
    tokens = [f"t{n}" for n in range(5)]
    fill(worker, place, queue, tokens)
    ended, _, said = worker("work", queue.name, "tablefus", "{}")
    assert (ended, said) == (
        CONFIGURATION,
        "queue-worker: tablefus is not on this machine, or not in PATH; no message was taken\n",
    )
    assert sorted(queue.visible()) == [(token, 0) for token in tokens]
    ended, _, said = worker("work", queue.name, "sh", "-c", "exec tablefus {}")
    assert ended == CONFIGURATION and "exit code 127: it cannot run on this machine" in said
    assert sorted(queue.texts()) == tokens and sum(tries for _, tries in queue.visible()) == 1

    ended, _, said = worker("work", "--visibility=1", queue.name, "sh", "-c", "exit 3; {}")
    assert ended == REFUSED and "3 parts failed in a row, now exit code 3" in said
    assert (queue.count(), poison.count()) == (2, 3)
    assert worker("work", poison.name, "sh", "-c", "echo {} >> again")[0] == 0
    again = (place / "again").read_text().split()
    assert sorted([*again, *queue.texts()]) == tokens and poison.count() == 0


@pytest.mark.parametrize("is_deleted", [False, True], ids=["mismatch", "deleted"])
def test_another_worker_has_the_message(place, queue, worker, start, is_deleted):
    """The part is ended, and the message is left alone."""
    fill(worker, place, queue, ["t"])
    process = start("--visibility", "1", queue.name, "part", "{}")
    wait_until(lambda: begun(place), what="the part")
    process.send_signal(signal.SIGSTOP)
    taken = []
    wait_until(lambda: taken.extend(queue.receive()) or taken, what="the end of the visibility")
    if is_deleted:
        queue.delete(taken[0])
    process.send_signal(signal.SIGCONT)
    wait_for_word(place, "t: another worker has it by now")
    if not is_deleted:
        assert queue.count() == 1
        queue.delete(taken[0])
    assert ends(process) == 0
    assert "0 parts done" in (place / "said").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_part_and_leaves_it_to_others_at_once(place, queue, poison, worker, start, number):
    fill(worker, place, queue, ["t"])
    stub = 'trap "echo ended >> ended; exit 130" TERM; echo "$PPID $1" >> begun; while :; do sleep 0.2; done'
    process = start("--visibility", "600", queue.name, "sh", "-c", stub, "sh", "{}")
    wait_until(lambda: begun(place), what="the part")
    assert queue.visible() == []
    process.send_signal(number)
    assert ends(process) == INTERRUPTED
    assert queue.visible() == [("t", 1)] and poison.count() == 0
    assert (place / "ended").read_text() == "ended\n"


class Away(Server):
    """Between a worker and Azurite. While `is_away`, it answers as a service that has no time."""

    def __init__(self, service):
        self.is_away = False
        proxy = self

        class Between(Handler):
            def do_GET(self):
                if proxy.is_away:
                    self.rfile.read(int(self.headers.get("Content-Length", 0)))
                    self.reply(503, {}, b"")
                else:
                    self.reply(*self.hand_on(service))

            do_PUT = do_POST = do_DELETE = do_GET

        super().__init__(Between)


def test_a_service_that_is_away_for_a_while(place, queues, queue, worker, start):
    """The part runs on; the worker waits, and goes on where it was."""
    fill(worker, place, queue, ["t"])
    proxy = Away(queues)
    try:
        string = queues.connection_string().replace(f"127.0.0.1:{queues.port}", proxy.address)
        process = start("--visibility", "2", queue.name, "part", "{}", "true", AZURE_STORAGE_CONNECTION_STRING=string)
        wait_until(lambda: begun(place), what="the part")
        proxy.is_away = True
        wait_for_word(place, f"{proxy.address} does not answer (503); the part runs on")
        (place / "go").touch()
        wait_for_word(place, "trying again for an hour")
        proxy.is_away = False
        assert ends(process) == 0
    finally:
        proxy.stop()
    assert len(begun(place)) == 2
    assert queue.count() == 0


def test_the_sdk_is_the_one_of_the_tests():
    """The newest versions do not run on Node 18, though they can be loaded."""
    locks = [json.loads((ROOT / "contrib" / name / "package-lock.json").read_text()) for name in ("cluster", "emulator")]
    shipped, tested = (
        {name: package["version"] for name, package in lock["packages"].items() if "/@azure/" in name} for lock in locks
    )
    assert shipped and shipped.items() <= tested.items()


def test_fill(place, queue, worker):
    (place / "tokens").write_text("A\nB\n")
    assert worker("fill", queue.name, "tokens")[0] == 0
    ended, out, said = worker("fill", queue.name, "tokens")
    assert (ended, out) == (0, f"2 tokens put into {queue.name}\n")
    assert f"{queue.name} had 2 messages already" in said
    assert sorted(queue.texts()) == ["A", "A", "B", "B"]
    refused = {"": "is empty", "A\nno token\n": "line 2", "A\n\nB\n": "line 2", "A # 1\n": "line 1", "A\r\n": "line 1"}
    for text, word in refused.items():
        (place / "wrong").write_text(text)
        ended, out, said = worker("fill", queue.name, "wrong")
        assert (ended, out) == (USAGE, "") and word in said
    assert queue.count() == 4


def test_what_is_wrong_from_the_start(place, queues, queue, worker):
    """The reason and the next step; nothing of a credential."""
    string = queues.connection_string()

    def refused(*arguments, **others):
        ended, out, said = worker(*arguments, **others)
        assert out == "" and OTHER_KEY not in said
        return ended, said

    def by_string(text):
        return refused("status", queue.name, AZURE_STORAGE_CONNECTION_STRING=text)

    assert refused("status", queue.name) == (
        NOT_FOUND,
        f"queue-worker: there is no queue {queue.name}: `queue-worker fill {queue.name} FILE` makes it\n",
    )
    for arguments in [(), ("take", "q"), ("work",), ("work", "q", "true"), ("work", "--tries=0", "q", "true", "{}")]:
        ended, said = refused(*arguments)
        assert ended == USAGE and said.endswith("try `queue-worker --help`\n")
    assert refused("status", "No_Name")[0] == USAGE
    ended, said = by_string(queues.connection_string(key=OTHER_KEY))
    assert ended == REFUSED and "the key is wrong" in said
    ended, said = by_string(queues.connection_string(sas=account_sas(ACCOUNT, KEY, "r", ss="t")))
    assert ended == REFUSED and "sig=" not in said
    with refusing_port() as port:
        ended, said = by_string(string.replace(f":{queues.port}", f":{port}"))
        assert ended == NETWORK and f"127.0.0.1:{port} does not answer (ECONNREFUSED)" in said
    no_endpoint = string.replace("QueueEndpoint", "TableEndpoint")
    no_url = "QueueEndpoint=x;AccountName=a;AccountKey=b"
    for wrong in "", "x", "AccountName=a", "SharedAccessSignature=x", no_endpoint, no_url:
        assert by_string(wrong)[0] == CONFIGURATION
    assert refused("status", queue.name, AZURE_STORAGE_KEY="b")[0] == CONFIGURATION
    (place / "string").write_text(f"{string}\n")
    by_file = {"AZURE_STORAGE_CONNECTION_STRING": "", "AZURE_STORAGE_CONNECTION_STRING_FILE": "string"}
    assert refused("status", queue.name, **by_file)[0] == NOT_FOUND
    ended, said = refused("status", queue.name, NODE_PATH="")
    assert ended == CONFIGURATION and "npm ci --prefix" in said


def test_help_tells_all(worker):
    ended, out, said = worker("--help", AZURE_STORAGE_CONNECTION_STRING="")
    assert (ended, said) == (0, "") and max(map(len, out.splitlines())) <= 105
    assert all(word in out for word in ("fill QUEUE", "work [--visibility", "status QUEUE", "Exit codes:"))
