"""The strict proxy before a table service (tests/service/proxy.py --help), and a plain client that signs anything."""
import base64
import email.utils
import hashlib
import hmac
import http.client
import importlib
import json
import subprocess
import sys
import time
import urllib.parse
import uuid

from harness import ACCOUNT, COMMAND_SEC, EXIT_SEC, KEY, ROOT, _end_with_parent, environment, is_readable

PROGRAM = ROOT / "tests/service/proxy.py"

# of the table `table` in the tests of the proxy: three partitions
ROWS = [(f"p{i // 4}", f"r{i:02}") for i in range(12)]
ANY = {"If-Match": "*"}


def module(name):
    """Of the proxy's program."""
    sys.path.insert(0, str(PROGRAM.parent))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(PROGRAM.parent))


def entity(table, partition, row):
    return f"/{table}(PartitionKey='{partition}',RowKey='{row}')"


def put(partition, row, **members):
    return ("PUT", entity("table", partition, row), {"PartitionKey": partition, "RowKey": row, **members}, {})


class StrictProxy:
    """Before the service of 127.0.0.1 with this port. `settings`: KEY=VALUE&..., to start with."""

    def __init__(self, port, settings="", stderr=None):
        options = ["--set", settings] if settings else []
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), *options, f"127.0.0.1:{port}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=environment(),
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
        assert is_readable(self._process.stdout, COMMAND_SEC), "the proxy did not start"
        self.pid = self._process.pid
        self.port = int(self._process.stdout.readline().rpartition(":")[2])
        self.endpoint = f"http://127.0.0.1:{self.port}/{ACCOUNT}"

    def control(self, **settings):
        """Changes settings, and answers what the proxy reports. A list is given several times."""
        return self.control_text(urllib.parse.urlencode(settings, doseq=True))

    def control_text(self, query):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=COMMAND_SEC)
        connection.request("GET", f"/__ctl?{query}", headers={"Connection": "close"})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if answer.status != 200:
            raise ValueError(text.strip())
        return json.loads(text)

    def stop(self):
        self._process.kill()
        self._process.communicate(timeout=EXIT_SEC)


class Broken(Exception):
    """The connection gave no whole answer."""


class RawClient:
    """One connection. Signs and sends any request, and sends none again."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=COMMAND_SEC)

    def close(self):
        self.connection.close()

    @staticmethod
    def signed(path, shift_sec=0):
        date = email.utils.formatdate(time.time() + shift_sec, usegmt=True)
        text = f"{date}\n/{ACCOUNT}{path.partition('?')[0]}"
        digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
        return {
            "x-ms-date": date,
            "x-ms-version": "2020-12-06",
            "Authorization": f"SharedKeyLite {ACCOUNT}:{base64.b64encode(digest).decode()}",
            "Accept": "application/json;odata=minimalmetadata",
        }

    def send(self, method, path, body=None, shift_sec=0, **headers):
        """The answer, with `body` read. Broken: there is none, or it breaks off."""
        path = f"/{ACCOUNT}{path}"
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        typed = {"Content-Type": "application/json"} if body is not None else {}
        try:
            self.connection.request(method, path, body, {**self.signed(path, shift_sec), **typed, **named})
            answer = self.connection.getresponse()
            answer.text = answer.read().decode()
        except (http.client.HTTPException, OSError) as error:
            self.connection.close()
            raise Broken(repr(error)) from error
        return answer

    def batch(self, *writes):
        """Writes are (method, path, entity or None, headers). Answers as send()."""
        name = uuid.uuid4()
        lines = [f"--batch_{name}", f"Content-Type: multipart/mixed; boundary=changeset_{name}", ""]
        for method, path, entity, headers in writes:
            lines += [f"--changeset_{name}", "Content-Type: application/http", "Content-Transfer-Encoding: binary", ""]
            lines += [f"{method} http://127.0.0.1/{ACCOUNT}{path} HTTP/1.1", "Content-Type: application/json"]
            lines += ["Accept: application/json;odata=minimalmetadata", *(f"{k}: {v}" for k, v in headers.items())]
            lines += ["", json.dumps(entity) if entity is not None else ""]
        lines += [f"--changeset_{name}--", f"--batch_{name}--", ""]
        return self.send("POST", "/$batch", "\r\n".join(lines), Content_Type=f"multipart/mixed; boundary=batch_{name}")

    def create(self, table):
        return self.send("POST", "/Tables", {"TableName": table}, Prefer="return-no-content").status

    def insert(self, table, partition, row, **properties):
        entity = {"PartitionKey": partition, "RowKey": row, **properties}
        return self.send("POST", f"/{table}", entity, Prefer="return-no-content")

    def pages(self, table, query=""):
        """[rows of each page] as the continuation tokens lead through the table, and [the headers of each token]."""
        pages, tokens, token = [], [], ""
        while True:
            answer = self.send("GET", f"/{table}()?" + "&".join(part for part in (query, token) if part))
            assert answer.status == 200, answer.text
            pages.append([(row["PartitionKey"], row["RowKey"]) for row in json.loads(answer.text)["value"]])
            names = ("NextPartitionKey", "NextRowKey")
            given = {n: answer.getheader(f"x-ms-continuation-{n}") for n in names}
            given = {n: value for n, value in given.items() if value is not None}
            if not given:
                return pages, tokens
            assert given not in tokens
            tokens.append(given)
            token = urllib.parse.urlencode(given)


def code_of(answer):
    return json.loads(answer.text)["odata.error"]["code"]


def inner_code_of(answer):
    """(status, code, the message's first line) of the one operation of a batch that failed."""
    status = int(answer.text.partition("HTTP/1.1 ")[2][:3])
    error = json.loads(answer.text[answer.text.index("{") : answer.text.rindex("}") + 1])["odata.error"]
    return status, error["code"], error["message"]["value"].partition("\n")[0]
