"""A service whose answers are far larger than they should be: what is in flight at once has a limit."""
import re
import subprocess
import time

from harness import COMMAND_SEC
from servers import Handler, Server
from test_memory import MIB, peak_bytes

READERS = 16
PADDING = b" " * (40 * MIB)  # JSON may end in blanks
HELD_SEC = 0.5  # before its last byte, so that answers are there at the same time


class Padder(Server):
    """Between a mount and Azurite: an entity comes with 40 MiB after it."""

    def __init__(self, service):
        class Between(Handler):
            def do_GET(self):
                status, headers, body = self.hand_on(service)
                if b'"RowKey"' not in body:
                    self.reply(status, headers, body)
                    return
                self.send_response_only(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body) + len(PADDING)))
                self.end_headers()
                self.wfile.write(body + PADDING[1:])
                time.sleep(HELD_SEC)
                self.wfile.write(PADDING[:1])

        super().__init__(Between)
        self.credentials = self.credentials_for(service)


def test_large_answers_wait_for_each_other(mounts, service, sdk):
    """Each is read, and their memory is not the sum of all: 16 answers of 40 MiB. Measured: 76 MiB, and 278 without a limit."""
    for i in range(READERS):
        sdk.create_table(f"large{i}", [{"partitionKey": "p", "rowKey": "r", "N": i}])
    server = Padder(service)
    try:
        mount = mounts("cache_size=8M", env=server.credentials)
        readers = [
            subprocess.Popen(["cat", mount / f"large{i}/p/r.json"], stdout=subprocess.PIPE, text=True)
            for i in range(READERS)
        ]
        texts = [reader.communicate(timeout=COMMAND_SEC)[0] for reader in readers]
        assert [re.search(r'"N": (\d+)', text)[1] for text in texts] == [str(i) for i in range(READERS)]
        assert peak_bytes(mount) < 200 * MIB
    finally:
        mounts.finish()
        server.stop()
