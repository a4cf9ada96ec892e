"""The counters of a mount: .tablefuse/stats."""
import re


class Counts:
    """The counters of .tablefuse/stats, or the difference of two readings."""

    _LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (-?[\d.]+)$", re.MULTILINE)
    _LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

    def __init__(self, text="", values=None):
        self.values = values or {
            (name, frozenset(self._LABEL.findall(labels))): float(value)
            for name, labels, value in self._LINE.findall(text)
        }

    def __sub__(self, before):
        return Counts(
            values={what: n - before.values.get(what, 0) for what, n in self.values.items()}
        )

    def total(self, name, **labels):
        wanted = {(label, str(value)) for label, value in labels.items()}
        return int(
            sum(n for (what, has), n in self.values.items() if what == name and wanted <= has)
        )

    def requests(self, operation=None, **labels):
        if operation:
            labels["operation"] = operation
        return self.total("tablefuse_requests_total", **labels)

    def asked(self):
        """{operation: requests}, without operations that sent none."""
        operations = {dict(labels).get("operation") for _, labels in self.values}
        counts = {name: self.requests(name) for name in operations if name}
        return {name: n for name, n in counts.items() if n}

    def asked_alike(self):
        """The same where read-ahead decides whether a row is asked for alone or with others: both are queries."""
        asked = self.asked()
        gets = asked.pop("get", 0)
        return asked | {"query": asked.get("query", 0) + gets} if gets else asked


class Counting:
    """`with mount.counting() as counted:`, afterwards counted.requests("query")."""

    def __init__(self, mount):
        self._mount = mount

    def __enter__(self):
        self._before = self._mount.stats()
        return self

    def __exit__(self, kind, *_):
        # After a failure the mount may be gone. An error of reading its counters would hide that failure.
        if kind is None:
            self._counts = self._mount.stats() - self._before

    def __getattr__(self, name):
        return getattr(self._counts, name)
