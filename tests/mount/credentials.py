"""Credentials for tests: shared access signatures for a client, a self-signed certificate for a server."""
import base64
import hashlib
import hmac
import urllib.parse

from harness import run


class Certificate:
    """A self-signed certificate, for the loopback address or for another one."""

    def __init__(self, directory, name="localhost", addresses="DNS:localhost,IP:127.0.0.1", subject=None):
        self.file, self.key = f"{directory}/{name}.pem", f"{directory}/{name}.key"
        run(
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            f"/CN={subject or name}",
            "-utf8",
            "-addext",
            f"subjectAltName={addresses}",
            "-keyout",
            self.key,
            "-out",
            self.file,
        )


def _sas(key, fields, lines):
    """The token of `fields`, signed over the lines."""
    digest = hmac.new(base64.b64decode(key), "\n".join(lines).encode(), hashlib.sha256).digest()
    return urllib.parse.urlencode({**fields, "sig": base64.b64encode(digest).decode()})


_SAS = {"sv": "2019-02-02", "spr": "https,http"}
_FOR_LONG = "2099-01-01T00:00:00Z"


def account_sas(account, key, permissions="rl", expiry=_FOR_LONG, **others):
    """A shared access signature for the whole account, as the service documents it."""
    fields = {**_SAS, "ss": "t", "srt": "sco", "sp": permissions, "se": expiry, **others}
    order = ("sp", "ss", "srt", "st", "se", "sip", "spr", "sv")
    return _sas(key, fields, [account, *(fields.get(name, "") for name in order), ""])


def table_sas(account, key, table, permissions="r"):
    """A shared access signature for one table."""
    fields = {**_SAS, "tn": table, "sp": permissions, "se": _FOR_LONG}
    resource = f"/table/{account}/{table.lower()}"
    order = ("si", "sip", "spr", "sv", "spk", "srk", "epk", "erk")
    rest = [fields.get(name, "") for name in order]
    return _sas(key, fields, [permissions, "", _FOR_LONG, resource, *rest])
