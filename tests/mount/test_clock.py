"""A service whose clock is another one than this machine's. Azurite accepts each date, so a stand-in before it refuses those
that the service would."""
import email.utils
import time

import pytest

from harness import COMMAND_SEC, TABLEFUSE, run, wait_until
from servers import Handler, Server

ACCEPTED_SEC = 15 * 60


class Shifted(Server):
    """Its clock is `ahead` seconds ahead of this machine's. `refused` counts the requests whose date it did not accept."""

    def __init__(self, service):
        self.ahead, self.refused = 0, 0
        shifted = self

        class Between(Handler):
            def handle_one(self):
                now = time.time() + shifted.ahead
                date = {"Date": email.utils.formatdate(now, usegmt=True)}
                sent = email.utils.parsedate_to_datetime(self.headers["x-ms-date"]).timestamp()
                if abs(sent - now) > ACCEPTED_SEC:
                    shifted.refused += 1
                    self.rfile.read(int(self.headers.get("Content-Length", 0)))
                    body = b'{"odata.error":{"code":"AuthenticationFailed","message":{"value":"Refused."}}}'
                    self.reply(403, date, body)
                    return
                status, headers, body = self.hand_on(service)
                kept = {name: value for name, value in headers.items() if name.lower() != "date"}
                self.reply(status, {**kept, **date}, body)

            do_GET = do_POST = do_PUT = do_DELETE = handle_one

        super().__init__(Between)
        self.credentials = self.credentials_for(service)


@pytest.fixture(scope="module", autouse=True)
def data(sdk):
    sdk.create_table("orders", [{"partitionKey": "p", "rowKey": "r"}])


@pytest.fixture
def server(service):
    server = Shifted(service)
    yield server
    server.stop()


@pytest.mark.parametrize("ahead", [-1200, 1200])
def test_requests_are_signed_with_the_services_time(server, mounts, begin, ahead):
    server.ahead = ahead
    mount = mounts.prepare()
    daemon = begin(TABLEFUSE, "mount", "-f", "-o", "ttl=0", mount.point, **server.credentials)
    wait_until(mount.is_mounted)
    mount.adopt()
    assert server.refused == 1  # of the mount's first request alone
    assert run("ls", mount / "orders/p").stdout == "r.json\n"
    (mount / "orders/p/new.json").write_text('{"N": 1}')
    (mount / "orders/p/new.json").unlink()
    assert server.refused == 1
    skew = mount.stats().total("tablefuse_clock_skew_seconds")
    assert abs(skew - ahead) < 100  # what the answer has taken

    server.ahead = 0  # as if this machine's clock were set: the next date is refused, and corrected
    assert run("ls", mount / "orders/p").stdout == "r.json\n"
    assert mount.stats().total("tablefuse_clock_skew_seconds") == 0
    assert server.refused == 2
    assert mount.control("errors") == ""
    mount.unmount()
    _, log = daemon.communicate(timeout=COMMAND_SEC)
    wrong, right = [line.split(": ", 2)[2] for line in log.splitlines() if "clock" in line]
    side = "behind" if ahead > 0 else "ahead of"
    assert wrong.startswith("this machine's clock is 1") and wrong.endswith(
        f" s {side} the service's: requests are signed with the service's time -- set the clock"
    )
    assert right == "this machine's clock is right again"
