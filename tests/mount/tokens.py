"""Who gives out tokens of Microsoft Entra ID, in small: the authority, the identity service of a virtual machine, the endpoint of
Container Apps, and `az`. Azurite does not check the signature of a token."""
import base64
import json
import pathlib
import threading
import time
import urllib.parse

from harness import COMMAND_SEC
from servers import Handler, Server

TENANT = "11111111-1111-1111-1111-111111111111"
CLIENT = "22222222-2222-2222-2222-222222222222"
OBJECT = "33333333-3333-3333-3333-333333333333"
RESOURCE = "https://storage.azure.com"
SECRET = "a client~secret+of/the=test"
HEADER = "a-header-that-is-secret"
ASSERTION = "header.assertion-of-the-cluster.signature"


def _part(claims):
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")


def make_token(life, number=0, **claims):
    """`number` makes tokens differ."""
    now = int(time.time())
    all_claims = {
        **{"aud": RESOURCE, "iss": f"https://sts.windows.net/{TENANT}/", "iat": now - 5, "nbf": now - 5},
        **{"exp": now + life, "oid": OBJECT, "appid": CLIENT, "tid": TENANT, "uti": number},
        **claims,
    }
    return f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part(all_claims)}.c2lnbmF0dXJl"


class Issuer(Server):
    """Gives out tokens that live for `life` seconds. `requests` has (path, headers, form) of each. While `answer` is set, it is
    (status, body) for all. While `is_silent`, nothing is answered. `claims` are put into each token; with `is_same` all are
    the first one."""

    def __init__(self, certificate=None, life=3600):
        self.life, self.answer, self.is_silent, self.is_same = life, None, False, False
        self.requests, self.tokens, self.claims = [], [], {}
        self._lock, self._ends = threading.Lock(), threading.Event()
        issuer = self

        class Give(Handler):
            def do_GET(self):
                form = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                issuer.requests.append((self.path, dict(self.headers), dict(urllib.parse.parse_qsl(form))))
                if issuer.is_silent:
                    issuer._ends.wait(COMMAND_SEC)
                    self.close_connection = True
                    return
                status, body = issuer.answer or (200, json.dumps(issuer.next_answer(self.path)))
                data = body if isinstance(body, bytes) else body.encode()
                self.reply(status, {"Content-Type": "application/json"}, data)

            do_POST = do_GET

        super().__init__(Give, certificate)

    def next_token(self):
        with self._lock:
            if not (self.is_same and self.tokens):
                # a token counts whole seconds: it lives a little longer than the answer says
                self.tokens.append(make_token(self.life + 2, len(self.tokens), **self.claims))
            return self.tokens[-1]

    def next_answer(self, path):
        """As each of them writes it."""
        token = {"access_token": self.next_token(), "token_type": "Bearer"}
        if path.startswith("/msi/"):
            return {**token, "expires_on": str(int(time.time()) + self.life), "resource": RESOURCE}
        if path.startswith("/metadata/"):
            return {**token, "expires_in": str(self.life), "expires_on": "0", "resource": RESOURCE}
        return {**token, "expires_in": self.life, "ext_expires_in": self.life}

    def stop(self):
        self._ends.set()
        super().stop()


class Guard(Server):
    """Before an Azurite that takes tokens. A request with one of `revoked` gets `refusal`, (status, headers, body); one without
    such a token is handed on. While `refuses_all`, every request gets it; while `refuses_batches`, each batch is answered
    with a part that is refused for want of a role. `seen` counts what came."""

    UNAUTHORIZED = (401, {"x-ms-error-code": "InvalidAuthenticationInfo"}, b"")
    # as Azure Storage writes them
    FAILED = (403, {"x-ms-error-code": "AuthenticationFailed"}, b"")
    MISMATCH = (
        *(403, {"x-ms-error-code": "AuthorizationPermissionMismatch", "Content-Type": "application/xml"}),
        b"<?xml version='1.0'?><m:error xmlns:m='urn:x'><m:code>AuthorizationPermissionMismatch</m:code><m:message>This request "
        b"is not authorized to perform this operation using this permission.\nRequestId:1</m:message></m:error>",
    )

    BATCH = (
        *(202, {"Content-Type": "multipart/mixed; boundary=batchresponse_1"}),
        b"--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n"
        b"--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
        b'HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n\r\n{"odata.error":{"code":'
        b'"AuthorizationPermissionMismatch","message":{"lang":"en-US","value":"This request is not authorized."}}}\r\n'
        b"--changesetresponse_1--\r\n--batchresponse_1--\r\n",
    )

    def __init__(self, service, certificate):
        self.revoked, self.refusal, self.refuses_all, self.seen = set(), self.UNAUTHORIZED, False, 0
        self.refuses_batches = False
        self._lock = threading.Lock()
        guard = self

        class Between(Handler):
            def do_GET(self):
                with guard._lock:
                    guard.seen += 1
                token = self.headers.get("Authorization", "").removeprefix("Bearer ")
                if guard.refuses_all or token in guard.revoked:
                    self.rfile.read(int(self.headers.get("Content-Length", 0)))
                    self.reply(*guard.refusal)
                elif guard.refuses_batches and "$batch" in self.path:
                    self.rfile.read(int(self.headers.get("Content-Length", 0)))
                    self.reply(*guard.BATCH)
                else:
                    self.reply(*self.hand_on(service))

            do_POST = do_PUT = do_DELETE = do_GET

        super().__init__(Between, certificate)
        self.endpoint = f"https://{self.address}/{service.account}"


def install_az(directory, script):
    """A stand-in for `az` in a directory for PATH. Each call adds its arguments to the file `calls`."""
    directory.mkdir(exist_ok=True)
    az = directory / "az"
    az.write_text(f'#!/bin/sh\necho "$@" >> {directory}/calls\n{script}\n')
    az.chmod(0o755)
    return {"PATH": f"{directory}:/usr/bin:/bin"}


def az_answers(token, life):
    """A script that prints what `az` prints."""
    answer = {
        **{"accessToken": token, "expiresOn": "2026-11-27 02:00:00.000000", "subscription": TENANT},
        **{"expires_on": int(time.time()) + life, "tenant": TENANT, "tokenType": "Bearer"},
    }
    return f"cat <<'END'\n{json.dumps(answer, indent=2)}\nEND"


def variables(mode, issuer, directory):
    """The environment of a mode."""
    directory = pathlib.Path(directory)
    app = {"AZURE_TENANT_ID": TENANT, "AZURE_CLIENT_ID": CLIENT}
    authority = {**app, "AZURE_AUTHORITY_HOST": f"https://{issuer.address}/"}
    if mode == "spn":
        return {**authority, "AZURE_CLIENT_SECRET": SECRET}
    if mode == "workload":
        (directory / "federated").write_text(f"{ASSERTION}\n")
        return {**authority, "AZURE_FEDERATED_TOKEN_FILE": str(directory / "federated")}
    if mode == "machine":
        return {"AZURE_POD_IDENTITY_AUTHORITY_HOST": f"http://{issuer.address}"}
    if mode == "endpoint":
        return {"IDENTITY_ENDPOINT": f"http://{issuer.address}/msi/token", "IDENTITY_HEADER": HEADER}
    assert mode == "azcli"
    return install_az(directory / "bin", az_answers(issuer.next_token(), issuer.life))


MODES = ["spn", "workload", "machine", "endpoint", "azcli"]


def option(mode):
    return "auth=msi" if mode in ("machine", "endpoint") else f"auth={mode}"


def is_tls(mode):
    return mode in ("spn", "workload")
