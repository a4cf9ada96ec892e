#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of README.md: glance.svg from session.txt, figures.svg from the tables of benchmark.md.

    contrib/docs/pictures.py                  # draws both anew
    contrib/docs/pictures.py --record build   # runs the session first, with the program in the build directory

They have one look on white and on black: a dark card for the terminal; else colours that both backgrounds show."""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
from html import escape

HERE = pathlib.Path(__file__).resolve().parent
SESSION = HERE / "session.txt"
EXPORT = "tablefuse export --quiet local:sample.tablefuse/packages"
COMMANDS = (
    EXPORT,
    "tablefuse mount local:sample.tablefuse mnt",
    "ls mnt/packages",
    "cat mnt/packages/zlib/1.3.1.json",
    """grep -rl '"Listed": false' mnt/packages""",
    """echo '{"Listed": true}' > mnt/packages/zlib/1.4.json""",
    "find mnt/packages -name '*.json' | wc -l",
)

SANS = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
WIDTH = 1000


# --- the session


def record(build):
    """What the commands print, as a terminal shows it."""
    said = []
    with tempfile.TemporaryDirectory() as work:
        path = f"{pathlib.Path(build).resolve()}:{os.environ['PATH']}"
        env = {"PATH": path, "HOME": work, "LC_ALL": "C.UTF-8"}

        def run(command):
            done = subprocess.run(
                ["sh", "-c", command], cwd=work, env=env, check=True, stdout=subprocess.PIPE, timeout=120
            )
            return done.stdout.decode()

        run(f"mkdir mnt && {pathlib.Path(build).resolve()}/tests/fixture local:sample.tablefuse sample > fixture.log")
        try:
            for command in COMMANDS:
                said.append(f"$ {command}\n{run(command)}")
        finally:
            run("! mountpoint -q mnt || tablefuse unmount mnt")
    return "".join(said)


def parse_session(text):
    """[(command, [line])]"""
    blocks = []
    for line in text.splitlines():
        if line.startswith("$ "):
            blocks.append((line[2:], []))
        else:
            blocks[-1][1].append(line)
    return blocks


# --- drawing


def text(x, y, words, colour, size=13, anchor="start", weight="normal", family=None):
    font = f' font-family="{family}"' if family else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="{colour}"{font} xml:space="preserve">{escape(words)}</text>'
    )


def line(x1, y1, x2, y2, colour, width=1):
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}" stroke-width="{width}"/>'


def box(x, y, width, height, fill, stroke="none", radius=0):
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )


def svg(height, title, drawn):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="{SANS}">\n<title>{escape(title)}</title>\n' + "\n".join(drawn) + "\n</svg>\n"
    )


# --- what it is at a glance: the account's rows, and a terminal

CARD, EDGE = "#161b22", "#8b949e"
BRIGHT, DIM, GREEN, BLUE = "#f0f3f6", "#9ea7b3", "#6fdd8b", "#79c0ff"
STEP = 17  # pixels a line


def draw_rows(rows, left, width):
    """The table as a grid. Partition, row, and two properties."""
    columns = (("PartitionKey", 14), ("RowKey", 142), ("Downloads", 262), ("Listed", 382))
    drawn = [box(left, 1, width, 74 + 26 * len(rows), CARD, EDGE, 8)]
    drawn.append(text(left + 14, 27, "The account: table packages", BRIGHT, 14, weight="bold"))
    for name, x in columns:
        drawn.append(text(left + x, 54, name, DIM, 12))
    for i, row in enumerate(rows):
        y = 64 + 26 * i
        drawn.append(line(left + 14, y, left + width - 14, y, "#3d444d"))
        for name, x in columns:
            value = row[name]
            shown = value if isinstance(value, str) else json.dumps(value)
            colour = GREEN if name == "PartitionKey" else BLUE if name == "RowKey" else BRIGHT
            drawn.append(text(left + x, y + 18, shown, colour, 12, family=MONO))
    return drawn


def colour_path(words):
    """A path in the colours of its keys: [(words, colour)]."""
    found = re.fullmatch(r"(.*packages/)([^/ ]+)(/)([^/ ]+)(\.json)", words)
    if not found:
        return [(words, BRIGHT)]
    return list(zip(found.groups(), (BRIGHT, GREEN, BRIGHT, BLUE, BRIGHT)))


def draw_line(x, y, parts):
    spans = "".join(f'<tspan fill="{colour}">{escape(words)}</tspan>' for words, colour in parts)
    return f'<text x="{x:g}" y="{y:g}" font-size="12" font-family="{MONO}" xml:space="preserve">{spans}</text>'


def draw_terminal(blocks, left, width):
    lines = []
    for command, printed in blocks:
        lines.append([("$ ", DIM), *colour_path(command)])
        colour = GREEN if command.startswith("ls ") else BRIGHT
        for words in printed:
            key = re.fullmatch(r'(  "(?:Partition|Row)Key": )(".*")(,)', words)
            if key:
                colours = (BRIGHT, GREEN if "Partition" in key[1] else BLUE, BRIGHT)
                lines.append(list(zip(key.groups(), colours)))
            else:
                lines.append(colour_path(words) if colour is BRIGHT else [(words, colour)])
    height = 50 + STEP * len(lines)
    drawn = [box(left, 1, width, height, CARD, EDGE, 8)]
    drawn.append(text(left + 14, 27, "The mount", BRIGHT, 14, weight="bold"))
    drawn += [draw_line(left + 14, 52 + STEP * i, parts) for i, parts in enumerate(lines)]
    return drawn, height + 2


def draw_glance(session):
    (command, exported), *blocks = parse_session(session)
    assert command == EXPORT
    rows = [json.loads(row) for row in exported]
    drawn, height = draw_terminal(blocks, 492, 507)
    drawn += draw_rows(rows, 1, 446)
    drawn.append(line(452, 140, 480, 140, EDGE, 2))
    drawn.append(f'<path d="M 478 134 L 488 140 L 478 146 Z" fill="{EDGE}"/>')
    y = 74 + 26 * len(rows) + 34
    for words in (
        "A table is a directory, and so is a partition.",
        "An entity is a JSON file: PartitionKey/RowKey.json",
        "By default, the write that completes an entity stores it.",
    ):
        drawn.append(text(8, y, words, "#767676", 14))
        y += 22
    return svg(height, "A table of an account, and its files in a terminal", drawn)


# --- the figures

TEXT, GRID = "#767676", "#76767655"
OURS, PAGING = "#2f81d6", "#d0711c"
PAGE_ROWS = 1000
# label, the section of the table (its bold row, or its heading), the row, which of its values, entities of the table
WALKS = (
    ("ls of 1,000,000 partitions", "1,000,000 partitions of one entity", "`ls` (GUIDs;", 0, 1_000_000),
    ("ls -f of a partition of 1,000,000", "one partition of 1,000,000", "`ls -f` ", 0, 1_000_000),
    ("find in a partition of 1,000,000", "one partition of 1,000,000", "`find` ", 0, 1_000_000),
    ("find, 100,000 in 12,666 partitions", "100,000 in 10; 12,666; 33,326 partitions", "`find` ", 1, 100_000),
    ("rsync -a again, of the same", "100,000 in 10; 12,666; 33,326 partitions", "`rsync -a` again", 1, 100_000),
    ("grep -rc, of the same", "100,000 in 10; 12,666; 33,326 partitions", "`grep -rc` ", 1, 100_000),
)
EXPORTED = 400_000


def number(cell, index=0):
    return float(cell.split(";")[min(index, cell.count(";"))].strip(" *").replace(",", ""))


def find_walk(page, section, row, index):
    """(requests, seconds, seconds of reading page after page)"""
    rows = page.split(f"| **{section}** |", 1)[1].split("\n| **", 1)[0]
    (found,) = [cells for cells in rows.splitlines() if cells.startswith(f"| {row}")]
    _, _, requests, seconds, paging, *_ = found.split("|")
    return number(requests, index), number(seconds, index), number(paging)


def find_export(page):
    """Of the table "in a file", by the rates."""
    (found,) = re.findall(r"^\| `export` \| ([\d,]+) \|[^|]*\|[^|]*\| ([\d,]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    requests, rate, times = (number(cell) for cell in found)
    return requests, EXPORTED / rate, EXPORTED / rate * times


def read_figures(page):
    """[(label, (requests, of paging), (seconds, of paging))]"""
    figures = []
    for label, section, row, index, entities in WALKS:
        requests, seconds, paging = find_walk(page, section, row, index)
        figures.append((label, (requests, entities / PAGE_ROWS), (seconds, paging)))
    requests, seconds, paging = find_export(page)
    figures.insert(3, ("tablefuse export of 400,000", (requests, EXPORTED / PAGE_ROWS), (seconds, paging)))
    return figures


class Axis:
    """Logarithmic, over whole decades."""

    def __init__(self, left, width, first, last):
        self.left, self.width, self.first, self.last = left, width, first, last

    def x(self, value):
        share = (math.log10(value) - self.first) / (self.last - self.first)
        return self.left + self.width * share

    def draw(self, top, bottom):
        for decade in range(self.first, self.last + 1):
            x = self.x(10**decade)
            yield line(x, top, x, bottom, GRID)
            yield text(x, bottom + 16, f"{10**decade:,}", TEXT, 12, "middle")


def draw_pair(axis, y, values, form):
    """Two bars, each with its value."""
    for i, (value, colour) in enumerate(zip(values, (OURS, PAGING))):
        top = y + 13 * i
        yield box(axis.left, top, max(axis.x(value) - axis.left, 2), 11, colour)
        yield text(axis.x(value) + 5, top + 10, form(value), TEXT, 11)


def draw_figures(page):
    figures = read_figures(page)
    top, row = 62, 36
    bottom = top + row * len(figures)
    panels = (
        ("requests", Axis(262, 300, 1, 4), lambda value: f"{value:,.0f}"),
        ("seconds, at 20 ms a request", Axis(634, 300, -1, 2), lambda value: f"{value:.2g}"),
    )
    drawn = []
    for x, colour, words in ((262, OURS, "tablefuse"), (370, PAGING, "reading the table page after page, as SDKs do")):
        drawn += [box(x, 6, 12, 12, colour), text(x + 18, 17, words, TEXT, 14)]
    for i, (name, axis, form) in enumerate(panels):
        drawn.append(text(axis.left, top - 14, name, TEXT, 14, weight="bold"))
        drawn += axis.draw(top - 6, bottom)
        for n, figure in enumerate(figures):
            drawn += draw_pair(axis, top + row * n + 2, figure[1 + i], form)
    for n, (label, *_) in enumerate(figures):
        drawn.append(text(252, top + row * n + 19, label, TEXT, 14, "end"))
    return svg(bottom + 26, "Requests and seconds of tools, beside reading page after page", drawn)


def pictures():
    """{file: its text}"""
    return {
        HERE / "glance.svg": draw_glance(SESSION.read_text()),
        HERE / "figures.svg": draw_figures((HERE / "benchmark.md").read_text()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--record", metavar="BUILD", help="run the session with the program of this build directory")
    arguments = parser.parse_args()
    if arguments.record:
        SESSION.write_text(record(arguments.record))
    for file, drawn in pictures().items():
        file.write_text(drawn)


if __name__ == "__main__":
    main()
