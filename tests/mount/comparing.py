"""What the tests of `tablefuse diff` and `tablefuse sync` share."""
import re

from expected import partition_name, utf16_order
from harness import FAULTY, TABLEFUSE, environment, run
from importing import imported, row
from test_export import source

FOUND = re.compile(
    r"tablefuse: ([\d,]+) and ([\d,]+) entities read, ([\d,]+) only in FROM, ([\d,]+) only in TO, ([\d,]+) different, "
    r"([\d,]+) requests, [\d.]+ s"
)


def numbers_of(match):
    return [int((number or "0").replace(",", "")) for number in match.groups()]


class Compared:
    """A comparison that has ended: its exit code, the lines of both outputs, and the counts."""

    def __init__(self, done):
        self.code, self.lines = done.returncode, done.stdout.splitlines()
        self.says = [line.removeprefix("tablefuse: ") for line in done.stderr.splitlines()]
        found = FOUND.fullmatch(done.stderr.splitlines()[-1]) if done.stderr else None
        self.read, self.found, self.requests = None, None, None
        if found:
            numbers = numbers_of(found)
            self.read, self.found, self.requests = tuple(numbers[:2]), tuple(numbers[2:5]), numbers[5]
            self.says.pop()

    def __repr__(self):
        return f"exit code {self.code}: {self.lines} {self.says} {self.read} {self.found}"


def credentials_of(services):
    """Of the one that needs some. Of two the last one counts."""
    return {name: value for each in services for name, value in each.credentials.items()}


def operands(begin, end):
    """Each is (service, table)."""
    return [source(*begin), source(*end)]


def compared(begin, end, *arguments, faults=None, credentials=None, path=None):
    extra = {"TABLEFUSE_FAULTS": faults} if faults else {}
    env = credentials_of((begin[0], end[0])) if credentials is None else credentials
    words = [FAULTY if faults else TABLEFUSE, "diff", *arguments, *operands(begin, end), *([path] if path else [])]
    return Compared(run(*words, check=False, env=environment(**env, **extra)))


def is_equal(begin, end, **options):
    done = compared(begin, end, **options)
    assert done.code == 0 and done.lines == [] and done.found == (0, 0, 0), done
    return True


def path_of(key):
    """Of keys without characters that the tree escapes."""
    return f"{partition_name(key[0])}/{key[1]}.json"


def table_of(service, name, rows):
    assert imported(service, name, rows, "--create").refused == 0
    return service, name


def key_of(each):
    return each["PartitionKey"], each["RowKey"]


def random_row(chance):
    return row(f"p{chance.randrange(5)}", f"r{chance.randrange(200):03}", A=chance.randrange(3), B="x" * chance.randrange(5))


def random_tables(chance):
    """Two tables, each {key: row}: in the second one some rows are removed, changed or added."""
    begin = {key_of(new): new for new in (random_row(chance) for _ in range(chance.randrange(300)))}
    end = dict(begin)
    for _ in range(chance.randrange(30)):
        new = random_row(chance)
        kind = chance.randrange(3)
        old = chance.choice(list(end)) if end else None
        if kind == 0 and old:
            del end[old]
        elif kind == 1 and old:
            end[old] = end[old] | {"A": chance.randrange(3)}
        else:
            end[key_of(new)] = new
    return begin, end


def expected_lines(begin, end):
    """begin, end: {key: row}."""
    lines = []
    for key in sorted(begin.keys() | end.keys(), key=lambda pair: tuple(map(utf16_order, pair))):
        if begin.get(key) != end.get(key):
            sign = "+" if key not in end else "-" if key not in begin else "~"
            lines.append(f"{sign} {path_of(key)}")
    return lines


SYNCED = re.compile(
    r"tablefuse: ([\d,]+) and ([\d,]+) entities read, ([\d,]+) (?:would be )?inserted, ([\d,]+) (?:would be )?replaced, "
    r"([\d,]+) (?:would be )?deleted, ([\d,]+) conflicts, ([\d,]+) refused, ([\d,]+) requests, [\d.]+ s"
)


class Synced:
    """A sync that has ended: its exit code, the lines of both outputs, and the counts."""

    def __init__(self, code, out, says):
        self.code, self.lines, self.text = code, out.splitlines(), says
        found = [SYNCED.fullmatch(line) for line in says.splitlines()]
        self.says = [line.removeprefix("tablefuse: ") for line, is_counts in zip(says.splitlines(), found) if not is_counts]
        numbers = numbers_of(next(filter(None, found))) if any(found) else [None] * 8
        self.read, self.made = tuple(numbers[:2]), tuple(numbers[2:5])  # inserted, replaced, deleted
        self.conflicts, self.refused, self.requests = numbers[5:]

    def __repr__(self):
        return f"exit code {self.code}: {self.lines} {self.text}"


def sync_command(begin, end, *arguments, faults=None, path=None, **variables):
    """Words and environment, for the faulty program if it needs that."""
    extra = {"TABLEFUSE_FAULTS": faults} if faults else {}
    program = FAULTY if faults or variables else TABLEFUSE
    words = [program, "sync", *arguments, *operands(begin, end), *([path] if path else [])]
    return list(map(str, words)), environment(**credentials_of((begin[0], end[0])), **extra, **variables)


def synced(begin, end, *arguments, **options):
    words, env = sync_command(begin, end, *arguments, **options)
    done = run(*words, check=False, env=env)
    return Synced(done.returncode, done.stdout, done.stderr)
