"""What a Markdown file tells its reader to type, and what it says will be printed: pure.

Commands are in fenced blocks. `sh`: a command on each line. `console`: a command after `$ `, then what it prints.
`python` and `js`: a program. `text` is for what is none of these. There are no other blocks, and no indented ones: nothing
that looks like a command is overlooked."""
import dataclasses
import re

FENCE = "```"
PROGRAMS = {"python": "python3", "js": "node"}
LANGUAGES = ("sh", "console", "text", *PROGRAMS)


class Malformed(Exception):
    pass


@dataclasses.dataclass
class Block:
    language: str
    line: int  # of its fence, from 1
    lines: list


@dataclasses.dataclass
class Command:
    text: str
    line: int
    output: str = None  # None: not shown

    def __str__(self):
        return f"line {self.line}: {self.text}"


def parse(text):
    """(blocks, the other lines as (number, line))."""
    blocks, prose, current = [], [], None
    for number, line in enumerate(text.splitlines(), 1):
        if current is not None:
            if line == FENCE:
                blocks.append(current)
                current = None
            else:
                current.lines.append(line)
        elif line.startswith(FENCE):
            if line.removeprefix(FENCE) not in LANGUAGES:
                raise Malformed(f"line {number}: a block is one of {', '.join(LANGUAGES)}")
            current = Block(line.removeprefix(FENCE), number, [])
        elif re.match(r" {4}|\t|.*(```|~~~)", line):
            raise Malformed(f"line {number}: neither text nor a block")
        else:
            prose.append((number, line))
    if current is not None:
        raise Malformed(f"line {current.line}: the block has no end")
    return blocks, prose


def _sh_commands(block):
    begun = None
    for number, line in enumerate(block.lines, block.line + 1):
        if begun is None:
            if not line or line.startswith("#"):
                continue
            begun = Command(line, number)
        else:
            begun.text += "\n" + line
        if not line.endswith("\\"):
            yield begun
            begun = None
    if begun:
        raise Malformed(f"{begun}: it has no end")


def _console_commands(block):
    commands = []
    for number, line in enumerate(block.lines, block.line + 1):
        if line.startswith("$ "):
            commands.append(Command(line.removeprefix("$ "), number, ""))
        elif line.startswith("# "):
            continue  # what is printed may not look like this
        elif not commands:
            raise Malformed(f"line {number}: what is printed, without a command")
        else:
            commands[-1].output += line + "\n"
    return commands


def _program(block):
    text = "\n".join([f"{PROGRAMS[block.language]} <<'END'", *block.lines, "END"])
    return [Command(text, block.line)]


def commands_of(text):
    """All commands in their order."""
    found = []
    readers = {"sh": _sh_commands, "console": _console_commands, **dict.fromkeys(PROGRAMS, _program)}
    for block in parse(text)[0]:
        if block.language in readers:
            found += readers[block.language](block)
    return found


def text_commands(text, heading, number=0):
    """Of a block that no test of pages runs: the commands, one a line, in the block `text` with this number below the
    heading."""
    section = text.split(f"{heading}\n")[1].split("\n## ")[0]
    block = [each for each in parse(section)[0] if each.language == "text"][number]
    joined = "\n".join(block.lines).replace("\\\n", " ").replace("|\n", "| ")
    return [line.removeprefix("$ ") for line in joined.split("\n") if line.startswith("$ ")]


def code_spans(text):
    """What stands between backticks in the text."""
    prose = "\n".join(line for _, line in parse(text)[1])
    return re.findall(r"`([^`\n]+)`", prose)


def links(text):
    """The targets of links to files, without those to the web."""
    prose = "\n".join(line for _, line in parse(text)[1])
    targets = re.findall(r"\]\(([^)\s]+)\)", prose)
    return [target for target in targets if not re.match(r"https?:", target)]


def table_rows(text, heading):
    """The cells of the table that follows the heading, without the head of the table."""
    lines = text.splitlines()
    rest = lines[lines.index(heading) + 1 :]
    first = next(i for i, line in enumerate(rest) if line.startswith("|"))
    rows = []
    for line in rest[first + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows
