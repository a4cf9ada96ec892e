"""The two services of the soak, and what goes wrong with them."""
import datetime
import pathlib
import time

from harness import FAULTY, TABLEFUSE, Azurite, LocalAccount, environment, run
from strict_proxy import StrictProxy

# Every 23rd request fails with 503, and so on. The numbers are primes, so that two rules seldom hit the same request.
RULES = (
    "latency=1,empty=1,short=40,fail=*:/23:503:ServerBusy,fail=*:/61:500:OperationTimedOut,fail=*:/47:0:reset,"
    "lost=write:/19,lost=batch:/13,lost=delete:/17,lost=create_table:/3,lost=delete_table:/3"
)
KINDS = "500,503,500_after,503_after,inner_503,reset,reset_after,cut,wrong_length,stale"
SETTINGS = f"page_rows=1-40&empty=0.1&tokens=mixed&fault_rate=0.08&fault_kinds={KINDS}"


def utc(seconds):
    """As the lines of .tablefuse/errors begin."""
    return datetime.datetime.utcfromtimestamp(seconds).isoformat(timespec="milliseconds")


def journal_line(entry):
    """Of the proxy's journal: when the change came, after how long it was forwarded and answered, and what it was."""
    times = [f"+{entry[name] - entry['arrived']:.3f}" if entry[name] else "-" for name in ("forwarded", "answered")]
    gone = "client gone before" if entry["was_gone"] else "client gone" if entry["is_gone"] else ""
    writes = ", ".join(f"{name} {partition}/{row} {text}" for name, partition, row, text in entry["writes"])
    words = [utc(entry["arrived"]), *times, entry["operation"], entry["result"], gone, entry["fault"], entry["id"], writes]
    return " ".join(word for word in words if word)


class FileService:
    """An account in a file, and a decorator in the process of the mount."""

    program, idle_descriptors = FAULTY, 0

    def __init__(self, directory, seed):
        del seed  # the rules count
        self.account = LocalAccount(pathlib.Path(directory) / "account.tf")
        self.source = self.mount_source = self.account.source
        self._outage = pathlib.Path(directory) / "outage"
        self.variables = {"TABLEFUSE_FAULTS": f"{RULES},down={self._outage}"}
        run(TABLEFUSE, "import", "--quiet", "--create", f"{self.source}/soak", env=environment())

    def be_away(self, seconds):
        self._outage.touch()
        time.sleep(seconds)
        self._outage.unlink()

    def calm(self):
        """The mounts have the rules until their end."""

    def problems(self):
        return []

    def journal(self, table):
        return []

    def stop(self):
        self.account.stop()


class ProxyService:
    """Azurite behind the strict proxy."""

    # it keeps each connection for the next request: at most 80 (client/http/http.h), of three descriptors each
    program, idle_descriptors = TABLEFUSE, 3 * 80

    def __init__(self, directory, seed):
        self.account = Azurite(directory)
        try:
            self.account.stand_behind(StrictProxy(self.account.direct_port, f"seed={seed}&{SETTINGS}"))
        except BaseException:
            self.account.stop()
            raise
        self.source, self.mount_source = self.account.endpoint, None  # the credentials name it
        self.variables = self.account.credentials

    def be_away(self, seconds):
        self.account.proxy.control(away=seconds)
        time.sleep(seconds)

    def calm(self):
        self.account.proxy.control(fault_rate=0)

    def problems(self):
        """What the service would have refused."""
        return self.account.problems()

    def journal(self, table):
        """The last changes of the table, as the proxy has seen them."""
        return self.account.proxy.control(journal=table)["journal"]

    def stop(self):
        self.account.stop()


SERVICES = {"local": FileService, "proxy": ProxyService}
