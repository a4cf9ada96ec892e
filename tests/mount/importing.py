"""What the tests of `tablefuse import` share."""
import json
import re
import subprocess

from harness import COMMAND_SEC, FAULTY, TABLEFUSE, environment
from test_export import export, source

COUNTS = re.compile(
    r"tablefuse: ([\d,]+) objects read, ([\d,]+) (?:would be )?(?:stored|deleted), ([\d,]+) refused, "
    r"(?:([\d,]+) not sent or not answered, )?([\d,]+) requests, [\d.]+ s"
)


class Done:
    """An import that has ended: its exit code, counts and other lines."""

    def __init__(self, code, says):
        self.code, self.says = code, says
        lines = says.splitlines()
        found = [COUNTS.fullmatch(line) for line in lines]
        self.lines = [line.removeprefix("tablefuse: ") for line, is_counts in zip(lines, found) if not is_counts]
        counts = [match for match in found if match]
        numbers = [int((n or "0").replace(",", "")) for n in counts[-1].groups()] if counts else [None] * 5
        self.read, self.stored, self.refused, self.left, self.requests = numbers

    @property
    def counts(self):
        return self.code, self.read, self.stored, self.refused

    def __repr__(self):
        return f"exit code {self.code}: {self.says}"


def lines_of(rows):
    return "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)


def command(service, table, *arguments, faults=None):
    extra = {"TABLEFUSE_FAULTS": faults} if faults else {}
    program = FAULTY if faults else TABLEFUSE
    return [program, "import", *map(str, arguments)], environment(**service.credentials, **extra), source(service, table)


def imported(service, table, given, *arguments, faults=None, partition=None, credentials=None):
    """`given`: text, bytes, an iterable of rows, or an open file, which is read from where it is."""
    words, env, where = command(service, table, *arguments, faults=faults)
    env |= credentials or {}
    words += [where, *([partition] if partition is not None else [])]
    stdin = {"stdin": given} if hasattr(given, "fileno") else {}
    if not stdin:
        text = given if isinstance(given, (str, bytes)) else lines_of(given)
        stdin = {"input": text if isinstance(text, bytes) else text.encode()}
    done = subprocess.run(
        words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=COMMAND_SEC, check=False, **stdin
    )
    assert done.stdout == b""
    return Done(done.returncode, done.stderr.decode())


def rows_of(service, table):
    return [json.loads(line) for line in export(service, table).splitlines()]


def row(partition, key, **members):
    return {"PartitionKey": partition, "RowKey": key, **members}
