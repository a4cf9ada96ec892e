"""The figures as a table in plain text and as a chart in SVG: pure."""
import math
from html import escape

from marks import WALKS, marks

_COLUMNS = "{:<16}{:<10}{:>3}{:>9}{:>8}{:>9}{:>11}{:>8}{:>8}{:>8}{:>5}  {}"
_HEADING = (
    "",
    "on",
    "ms",
    "requests",
    "MB",
    "seconds",
    "rows/s",
    "/serial",
    "/publ.",
    "/memory",
    "MiB",
)
_MARKS = "pass marks: at most"


def _ratio(seconds, other):
    return f"{seconds / other:.2f}" if seconds is not None and other else ""


def _mark(mark):
    limit = format(mark.limit, ".2f" if mark.what == "seconds" else ",.0f")
    return f"{limit} {mark.what} {'met' if mark.is_met else 'MISSED'}"


def _row(figures, results):
    """A line; what only reads from memory has no service to be compared with."""
    seconds, table = figures.seconds, figures.table
    is_asking = figures.side != "memory"
    is_whole = figures.tool in (*WALKS, figures.side)
    return _COLUMNS.format(
        figures.tool if figures.tool != figures.side else "the whole table",
        figures.side,
        figures.latency_ms if is_asking else "",
        f"{figures.requests:,}" if is_asking else "",
        f"{figures.bytes / 1e6:,.1f}" if is_asking else "",
        f"{seconds:.2f}" if seconds is not None else "-",
        f"{table.rows / seconds:,.0f}" if seconds and is_whole else "",
        _ratio(seconds, results.paging(figures, "serial")) if is_asking else "",
        _ratio(seconds, results.paging(figures, "published")) if is_asking else "",
        _ratio(seconds, results.beside(figures)) if is_asking else "",
        f"{figures.peak_kib / 1024:.0f}" if figures.peak_kib else "",
        ", ".join([*map(_mark, marks(figures, results)), *filter(None, [figures.note])]),
    ).rstrip()


def _is_about(table):
    return (
        f"{table.shape}: {table.rows:,} entities in {table.partitions:,} partitions, "
        f"{table.row_bytes:.0f} bytes each"
    )


def _tables(results):
    """In the order of their first runs, each once."""
    return list({id(figures.table): figures.table for figures in results.all}.values())


def text_table(results, machine):
    lines = [machine, ""]
    for table in _tables(results):
        lines += [_is_about(table), _COLUMNS.format(*_HEADING, _MARKS)]
        lines += [_row(figures, results) for figures in results.all if figures.table is table]
        lines.append("")
    every = [mark for figures in results.all for mark in marks(figures, results)]
    missed = sum(not mark.is_met for mark in every)
    lines.append(f"{len(every) - missed} pass marks met, {missed} missed")
    return "\n".join(lines) + "\n"


# Side, latency, how it is called, colour, whether it is a line instead of a dot: those that only read the table.
_SERIES = (
    ("auto", 20, "tablefuse, 20 ms a request", "#1f6fb2", False),
    ("auto", 0, "tablefuse, no latency", "#7dc0ee", False),
    ("memory", 0, "the same files in memory", "#8a8a8a", False),
    ("serial", 20, "serial paging, 20 ms (no files)", "#d9822b", True),
    ("published", 20, "published prefix scan, 20 ms (no files)", "#9a6fc4", True),
)
_WIDTH, _TOP = 1000, 112
_PANEL, _LABEL, _PLOT = 490, 128, 330  # pixels across: a panel, of it labels and plot
_ROW, _HEAD, _FOOT = 18, 34, 34  # down


def _rate(results, table, tool, side, latency_ms):
    """Entities a second; None: not measured."""
    is_paging = side in ("serial", "published")
    seconds = results.seconds(table, side if is_paging else tool, side, latency_ms)
    return table.rows / seconds if seconds else None


def _rows(results, tool):
    """(label, [(rate, colour, is_line)]) of each table that the tool was run over."""
    rows = []
    for table in _tables(results):
        if not any(_rate(results, table, tool, "auto", latency_ms) for latency_ms in (0, 20)):
            continue
        rates = [
            (_rate(results, table, tool, side, latency_ms), colour, is_line)
            for side, latency_ms, _, colour, is_line in _SERIES
        ]
        rows.append((f"{table.shape} {table.rows:,}", [rate for rate in rates if rate[0]]))
    return rows


def _text(x, y, text, size=12, anchor="start", weight="normal", colour="#222"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
        f'font-weight="{weight}" fill="{colour}">{escape(text)}</text>'
    )


def _line(x1, y1, x2, y2, colour, width=1):
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{colour}" stroke-width="{width}"/>'
    )


def _symbol(x, y, colour, is_line):
    if is_line:
        return _line(x, y - 7, x, y + 7, colour, 3)
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}" stroke="white"/>'


class _Axis:
    """Logarithmic, the same for all panels: whole decades."""

    def __init__(self, rates):
        self.first = math.floor(math.log10(min(rates)))
        self.last = max(math.ceil(math.log10(max(rates))), self.first + 1)

    def x(self, rate):
        return _LABEL + _PLOT * (math.log10(rate) - self.first) / (self.last - self.first)

    def draw(self, left, top, bottom):
        drawn = []
        for decade in range(self.first, self.last + 1):
            x = left + self.x(10**decade)
            drawn.append(_line(x, top, x, bottom, "#ccc"))
            drawn.append(_text(x, bottom + 14, f"{10**decade:,}", 10, "middle", colour="#666"))
        return drawn


def _panel(tool, rows, axis, left, top):
    bottom = top + _HEAD + _ROW * len(rows)
    drawn = [_text(left + _LABEL, top + 22, tool, 14, weight="bold")]
    drawn += axis.draw(left, top + _HEAD, bottom)
    for i, (label, rates) in enumerate(rows):
        y = top + _HEAD + _ROW * (i + 0.5)
        drawn.append(_text(left + _LABEL - 8, y + 4, label, 11, "end"))
        drawn.append(_line(left + _LABEL, y, left + _LABEL + _PLOT, y, "#eee"))
        drawn += [_symbol(left + axis.x(rate), y, *how) for rate, *how in reversed(rates)]
    return drawn


def _panels(results):
    """Two side by side; (elements, where they end)."""
    panels = [(tool, _rows(results, tool)) for tool in WALKS]
    panels = [(tool, rows) for tool, rows in panels if rows]
    drawn, top = [], _TOP
    every = [rate for _, rows in panels for _, rates in rows for rate, *_ in rates]
    for pair in zip(panels[::2], [*panels[1::2], None][: (len(panels) + 1) // 2]):
        for side, panel in enumerate(filter(None, pair)):
            drawn += _panel(*panel, _Axis(every), side * _PANEL, top)
        top += _HEAD + _FOOT + _ROW * max(len(panel[1]) for panel in pair if panel)
    return drawn, top


def _legend():
    drawn = []
    for i, (_, _, name, colour, is_line) in enumerate(_SERIES):
        x, y = 30 + 310 * (i % 3), 66 + 20 * (i // 3)
        drawn += [_symbol(x, y, colour, is_line), _text(x + 12, y + 4, name)]
    return drawn


def svg_chart(results, machine):
    panels, bottom = _panels(results)
    title = "Entities a second, by tool and key shape"
    drawn = [
        _text(24, 28, title, 18, weight="bold"),
        _text(24, 46, f"{machine}; logarithmic", 11, colour="#666"),
        *_legend(),
        *panels,
    ]
    size = f'width="{_WIDTH}" height="{bottom}" viewBox="0 0 {_WIDTH} {bottom}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">\n'
        f"<title>{title}</title>\n"
        '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(drawn) + "\n</svg>\n"
    )
