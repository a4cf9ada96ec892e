"""Tokens of Microsoft Entra ID: -o auth=MODE."""
import json
import os
import re
import subprocess
import time

import pytest

from credentials import Certificate
from harness import CONFIGURATION, NETWORK, REFUSED, TABLEFUSE, Azurite, environment, run, wait_until
from messages import cause
from ports import refusing_port
from tokens import ASSERTION, CLIENT, HEADER, MODES, OBJECT, SECRET, TENANT, Guard, Issuer, install_az, is_tls, option, variables
from writing import write


@pytest.fixture(scope="module")
def certificate(scratch):
    return Certificate(scratch)


@pytest.fixture(scope="module")
def service(scratch, certificate):
    azurite = Azurite(scratch, certificate=certificate, takes_tokens=True)
    yield azurite
    azurite.stop()


@pytest.fixture(scope="module", autouse=True)
def data(sdk):
    sdk.create_table("table", [{"partitionKey": "p", "rowKey": "r", "N": 1}])


@pytest.fixture
def issuers(certificate):
    """issuers(mode, life): who gives out the tokens of a mode."""
    made = []

    def make(mode, **settings):
        made.append(Issuer(certificate if is_tls(mode) else None, **settings))
        return made[-1]

    yield make
    for issuer in made:
        issuer.stop()


@pytest.fixture
def start(mounts, service, certificate, issuers, tmp_path):
    """start(mode, option...): (mount, issuer)."""

    def make(mode, *options, life=3600, source=service.endpoint, **others):
        issuer = issuers(mode, life=life)
        env = variables(mode, issuer, tmp_path)
        mount = mounts(f"ca_cert={certificate.file}", option(mode), *options, source=source, env=env, **others)
        return mount, issuer

    return make


@pytest.mark.asan
@pytest.mark.tsan("workload", "machine", "endpoint", "azcli")
@pytest.mark.parametrize("mode", MODES)
def test_a_mount(start, mode):
    mount, issuer = start(mode)
    assert os.listdir(mount / "table/p") == ["r.json"]
    assert write(mount / f"table/p/{mode}.json", '{"N": 2}') == ""
    assert '"N": 2' in (mount / f"table/p/{mode}.json").read_text()
    os.unlink(mount / f"table/p/{mode}.json")
    assert mount.stats().total("tablefuse_token_requests_total") == 1
    line = re.search(r"^credential (.*)$", mount.control("config"), re.MULTILINE)[1]
    begin = f"{option(mode)}, application {CLIENT} (object {OBJECT}) of tenant {TENANT}, until "
    assert line.startswith(begin) and re.fullmatch(r"2\d\d\d-.*Z", line[len(begin) :])


@pytest.fixture
def guard(service, certificate):
    made = Guard(service, certificate)
    yield made
    made.stop()


def requested(mount):
    return mount.stats().total("tablefuse_token_requests_total")


def errors(mount, what):
    return [line for line in mount.control("errors").splitlines() if what in line]


@pytest.mark.parametrize("mode", MODES)
def test_commands_without_a_mount(service, certificate, issuers, tmp_path, mode):
    env = environment(**variables(mode, issuers(mode), tmp_path))
    options = ["-o", f"{option(mode)},ca_cert={certificate.file}"]
    table = f"{service.endpoint}/table{mode}"
    rows = tmp_path / "rows"
    rows.write_text("".join(f'{{"PartitionKey": "p", "RowKey": "{i}"}}\n' for i in range(150)))
    with open(rows) as stdin:
        imported = subprocess.run(
            [TABLEFUSE, "import", "--quiet", "--create", *options, table], stdin=stdin, env=env, timeout=100
        )
    assert imported.returncode == 0
    assert len(run(TABLEFUSE, "export", "--quiet", *options, table, env=env).stdout.splitlines()) == 150
    assert run(TABLEFUSE, "count", "--quiet", *options, table, env=env).stdout.startswith("entities 150\n")
    assert f"table{mode}" in run(TABLEFUSE, "tables", *options, service.endpoint, env=env).stdout.splitlines()


def test_what_the_authority_is_asked(start):
    _, issuer = start("spn")
    ((path, headers, form),) = issuer.requests
    assert path == f"/{TENANT}/oauth2/v2.0/token"
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert form == {
        **{"grant_type": "client_credentials", "client_id": CLIENT, "client_secret": SECRET},
        "scope": "https://storage.azure.com/.default",
    }


def test_what_the_authority_is_asked_with_a_file(start, tmp_path):
    """The file is read each time, because it is replaced."""
    mount, issuer = start("workload", life=3)
    assert issuer.requests[0][2]["client_assertion"] == ASSERTION
    kind = issuer.requests[0][2]["client_assertion_type"]
    assert kind == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    (tmp_path / "federated").write_text("header.another.signature")
    wait_until(lambda: issuer.requests[-1][2]["client_assertion"] == "header.another.signature")
    assert os.listdir(mount / "table/p") == ["r.json"]


def test_what_an_endpoint_is_asked(mounts, service, certificate, issuers, tmp_path):
    issuer = issuers("endpoint")
    env = {**variables("endpoint", issuer, tmp_path), "AZURE_CLIENT_ID": CLIENT, "http_proxy": "http://127.0.0.1:1"}
    mounts(f"ca_cert={certificate.file}", "auth=msi", source=service.endpoint, env=env)
    ((path, headers, _),) = issuer.requests
    resource = "resource=https%3A%2F%2Fstorage.azure.com"
    assert path == f"/msi/token?api-version=2019-08-01&{resource}&client_id={CLIENT}"
    assert headers["X-IDENTITY-HEADER"] == HEADER


def test_how_az_is_run(mounts, service, certificate, issuers, tmp_path):
    env = {**variables("azcli", issuers("azcli"), tmp_path), "AZURE_TENANT_ID": TENANT}
    script = (tmp_path / "bin/az").read_text()
    look = f"(pwd; ls -l /proc/self/fd | wc -l; grep SigIgn /proc/$$/status) > {tmp_path}/seen"
    (tmp_path / "bin/az").write_text(script.replace("cat <<", look + "\ncat <<"))
    mounts(f"ca_cert={certificate.file}", "auth=azcli", source=service.endpoint, env=env)
    asked = "account get-access-token --output json --resource https://storage.azure.com"
    assert (tmp_path / "bin/calls").read_text() == f"{asked} --tenant {TENANT}\n"
    directory, files, ignored = (tmp_path / "seen").read_text().splitlines()
    of_glibc = 3 << 31  # 32 and 33
    assert (directory, int(ignored.split()[1], 16) & ~of_glibc) == ("/", 0)
    assert int(files) == 5  # "total", 0, 1, 2 and the directory that ls reads


@pytest.mark.parametrize("mode", ["spn", "machine"])
def test_five_lives(start, mode):
    life, lives = 4, 5
    mount, issuer = start(mode, "ttl=0", "writeback", life=life)
    os.mkdir(mount / f"table/{mode}")
    began, number = time.monotonic(), 0
    while time.monotonic() - began < life * lives:
        number += 1
        (mount / f"table/{mode}/{number}.json").write_text('{"N": 1}')
        assert f"{number}.json" in os.listdir(mount / f"table/{mode}")
    mount.send_queued()
    passed = time.monotonic() - began
    assert len(os.listdir(mount / f"table/{mode}")) == number
    assert mount.control("errors") == ""
    # one follows another when half of its life has passed, or, after a pause of the machine, when it has ended: two seconds
    # later than it says
    assert passed / (life + 2) <= len(issuer.requests) <= 2 * (passed / life) * 1.06 + 2


def test_a_token_that_is_revoked_in_the_middle(start, guard):
    mount, issuer = start("spn", "ttl=0", source=guard.endpoint)
    names = [f"{n}.json" for n in range(64)]
    os.mkdir(mount / "table/many")
    for name in names:
        (mount / f"table/many/{name}").write_text('{"N": 1}')
    asked, before = len(issuer.requests), requested(mount)
    guard.revoked.add(issuer.tokens[-1])
    readers = [
        subprocess.Popen(["cat", mount / f"table/many/{name}"], stdout=subprocess.PIPE) for name in names
    ]
    assert all(b'"N": 1' in reader.communicate(timeout=100)[0] for reader in readers)
    assert (len(issuer.requests) - asked, requested(mount) - before) == (1, 1)
    assert mount.control("errors") == ""


@pytest.mark.parametrize("refusal", [Guard.UNAUTHORIZED, Guard.FAILED], ids=["401", "403"])
def test_each_operation_with_a_revoked_token(start, guard, refusal):
    """A change is refused before it is made, so it is sent once more as well."""
    guard.refusal = refusal
    mount, issuer = start("machine", "ttl=0", source=guard.endpoint)
    guard.revoked.add(issuer.tokens[-1])
    assert write(mount / "table/p/revoked.json", '{"N": 2}') == ""
    os.unlink(mount / "table/p/revoked.json")
    assert (len(issuer.requests), mount.control("errors")) == (2, "")


def test_the_same_token_again(start, guard):
    """The identity service has it in its cache: nothing is sent again, and it is not asked again and again."""
    mount, issuer = start("machine", "ttl=0", source=guard.endpoint)
    issuer.is_same = True
    guard.revoked.add(issuer.tokens[-1])
    for wanted in (2, 2, 2):
        seen = guard.seen
        listed = run("ls", mount / "table", check=False)
        assert "Permission denied" in listed.stderr
        assert (guard.seen - seen, len(issuer.requests)) == (1, wanted)
    assert f"HTTP 401 InvalidAuthenticationInfo: application {CLIENT} (object {OBJECT}): " in mount.control("errors")


def test_a_role_that_is_missing(start, guard):
    mount, issuer = start("spn", "ttl=0", source=guard.endpoint)
    guard.refuses_all, guard.refusal = True, Guard.MISMATCH
    assert "Permission denied" in run("ls", mount / "table", check=False).stderr
    (line,) = errors(mount, "EACCES")
    assert (
        f"HTTP 403 AuthorizationPermissionMismatch: application {CLIENT} (object {OBJECT}): This request is not authorized"
        in line
    )
    assert "needs the role Storage Table Data Reader" in line and "takes up to ten minutes" in line
    assert len(issuer.requests) == 1


def test_a_role_that_is_missing_at_mount(mounts, guard, certificate, issuers, tmp_path):
    guard.refuses_all, guard.refusal = True, Guard.MISMATCH
    issuer = issuers("azcli")
    issuer.claims = {"upn": "ada@example.com"}
    env = variables("azcli", issuer, tmp_path)
    failed = mounts.prepare().start(
        guard.endpoint, f"ca_cert={certificate.file}", "auth=azcli", env=env, check=False
    )
    assert failed.returncode == REFUSED
    assert f": user ada@example.com (object {OBJECT}): This request is not authorized" in failed.stderr
    assert "Owner or Contributor is not enough" in failed.stderr


def test_a_role_that_is_missing_for_a_batch(guard, certificate, issuers, tmp_path):
    """The refusal is a part of an answer with 202."""
    guard.refuses_batches = True
    env = environment(**variables("spn", issuers("spn"), tmp_path))
    options = ["--quiet", "-o", f"auth=spn,ca_cert={certificate.file}"]
    rows = '{"PartitionKey": "q", "RowKey": "1"}\n{"PartitionKey": "q", "RowKey": "2"}\n'
    command = [TABLEFUSE, "import", *options, f"{guard.endpoint}/table"]
    done = subprocess.run(command, input=rows, capture_output=True, text=True, env=env, timeout=100)
    assert done.returncode == REFUSED, done.stderr
    assert f"application {CLIENT} (object {OBJECT}): This request is not authorized." in done.stderr
    assert "the identity needs the role Storage Table Data Reader" in done.stderr


def test_an_account_of_another_tenant(mounts, guard, certificate, issuers, tmp_path):
    other = "44444444-4444-4444-4444-444444444444"
    guard.refuses_all = True
    challenge = f"Bearer authorization_uri=https://login.microsoftonline.com/{other}/oauth2/authorize"
    guard.refusal = (401, {"WWW-Authenticate": f"{challenge} resource_id=https://storage.azure.com"}, b"")
    env = variables("spn", issuers("spn"), tmp_path)
    failed = mounts.prepare().start(
        guard.endpoint, f"ca_cert={certificate.file}", "auth=spn", env=env, check=False
    )
    assert failed.returncode == REFUSED
    assert f"of tenant {TENANT}, but the account is in tenant {other}: " in failed.stderr
    assert " -- set AZURE_TENANT_ID to the tenant of the account; with auth=msi that cannot be chosen" in failed.stderr


def test_an_authority_that_is_away(start):
    """The mount goes on to the end of its token. Then operations fail at once, and the service is not down."""
    began, life = time.monotonic(), 6
    mount, issuer = start("spn", "ttl=0", life=life)
    issuer.answer = (503, "busy")
    wait_until(lambda: len(issuer.requests) > 1)  # the first try fails
    listed = run("ls", mount / "table/p", check=False).stdout
    assert listed == "r.json\n" or time.monotonic() - began >= life
    wait_until(lambda: run("ls", mount / "table/p", check=False).returncode != 0)
    with mount.counting() as counted:
        for _ in range(20):
            assert "Permission denied" in run("ls", mount / "table/p", check=False).stderr
    assert counted.requests(status=200) == 0
    lines = errors(mount, f"EACCES: no token from {issuer.address}: it answered HTTP 503 without a reason")
    assert lines, mount.control("errors")
    assert mount.stats().total("tablefuse_service_up") == 1
    issuer.answer = None
    wait_until(lambda: run("ls", mount / "table/p", check=False).returncode == 0)


def test_what_is_queued_outlives_an_authority_that_is_away(start):
    """What was acknowledged waits for a token, as for the service: it is tried a second later, the authority after three."""
    mount, issuer = start("spn", "ttl=0", "writeback", life=6)
    issuer.answer = (503, "busy")
    made = 0
    while write(mount / f"table/p/made{made}.json", '{"A": 1}') == "":
        made += 1
    issuer.answer = None
    wait_until(lambda: run("sync", mount / "table/p", check=False).returncode == 0)
    assert made > 0 and {f"made{n}.json" for n in range(made)} <= set(os.listdir(mount / "table/p"))
    assert mount.lost_texts() == {}
    for n in range(made):
        os.unlink(mount / f"table/p/made{n}.json")


def fails(mounts, source, certificate, mode, env, *options):
    failed = mounts.prepare().start(
        source, f"ca_cert={certificate.file}", option(mode), *options, env=env, check=False
    )
    assert len(failed.stderr.splitlines()) == 1
    return failed.returncode, failed.stderr


WRONG = [
    ("spn", {"AZURE_TENANT_ID": " \n"}, "-o auth=spn needs AZURE_TENANT_ID: it is not set"),
    ("machine", {"AZURE_CLIENT_ID": "a b"}, "AZURE_CLIENT_ID has characters that no id has"),
    ("endpoint", {"IDENTITY_ENDPOINT": "ftp://h"}, "IDENTITY_ENDPOINT is not a URL that begins with http:// or https://"),
    ("azcli", {"AZURE_STORAGE_SAS_TOKEN": "sig=x"}, "-o auth= and AZURE_STORAGE_SAS_TOKEN are both set: unset one of them"),
]


@pytest.mark.parametrize("mode, change, reason", WRONG)
def test_a_wrong_configuration(mounts, service, certificate, issuers, tmp_path, mode, change, reason):
    """tests/unit/client/identity has all of them."""
    env = {**variables(mode, issuers(mode), tmp_path), **change}
    code, said = fails(mounts, service.endpoint, certificate, mode, env)
    assert (code, cause(said)) == (CONFIGURATION, reason)


SECRET_IS_WRONG = {
    "error": "invalid_client",
    "error_description": "AADSTS7000215: Invalid client secret provided. Ensure the secret being sent.\r\nTrace ID: 1",
}
UNASSIGNED = {"error": "invalid_request", "error_description": "Identity not found"}
BAD_ANSWERS = [
    ("spn", 401, SECRET_IS_WRONG, REFUSED, "AADSTS7000215: Invalid client secret provided. -- check AZURE_TENANT_ID, "),
    ("machine", 400, UNASSIGNED, REFUSED, "Identity not found -- check that the machine or app has this identity"),
    ("machine", 429, "", NETWORK, "it answered HTTP 429 without a reason"),
    ("spn", 200, "<html>", NETWORK, "the answer is not JSON"),
    ("machine", 200, "x" * (1 << 20), NETWORK, "the answer is longer than the limit"),
]


@pytest.mark.parametrize("mode, status, body, code, reason", BAD_ANSWERS, ids=range(len(BAD_ANSWERS)))
def test_a_bad_answer(mounts, service, certificate, issuers, tmp_path, mode, status, body, code, reason):
    issuer = issuers(mode)
    issuer.answer = (status, body if isinstance(body, str) else json.dumps(body))
    env = variables(mode, issuer, tmp_path)
    got, said = fails(mounts, service.endpoint, certificate, mode, env)
    assert f": no token from {issuer.address}: {reason}" in said
    assert got == code
    assert (len(issuer.requests) > 1) == (status == 429)


@pytest.mark.parametrize("mode", ["spn", "machine"])
def test_nothing_listens(mounts, service, certificate, issuers, tmp_path, mode):
    issuer = issuers(mode)
    env = variables(mode, issuer, tmp_path)
    with refusing_port() as port:
        env = {name: value.replace(issuer.address, f"127.0.0.1:{port}") for name, value in env.items()}
        code, said = fails(mounts, service.endpoint, certificate, mode, env)
    assert code == NETWORK and f"no token from 127.0.0.1:{port}: Failed to connect" in said
    advice = "this is no Azure virtual machine" if mode == "machine" else "check the network, the proxy"
    assert f" -- {advice}" in said


def test_an_authority_whose_certificate_is_unknown(mounts, service, certificate, issuers, tmp_path, scratch):
    issuer = Issuer(Certificate(scratch, "other"))
    try:
        code, said = fails(mounts, service.endpoint, certificate, "spn", variables("spn", issuer, tmp_path))
    finally:
        issuer.stop()
    assert code == NETWORK and issuer.requests == []
    assert "certificate is not trusted for this host" in said


FILES = [
    (lambda path: path.unlink(), "cannot be read: No such file or directory"),
    (lambda path: path.write_text(""), "is empty"),
    (lambda path: path.write_text("\n"), "is empty"),
    (lambda path: path.write_text("x" * (1 << 20)), "is too large for a token"),
]


@pytest.mark.parametrize("spoil, reason", FILES, ids=[reason for _, reason in FILES])
def test_a_bad_file_of_an_assertion(mounts, service, certificate, issuers, tmp_path, spoil, reason):
    issuer = issuers("workload")
    env = variables("workload", issuer, tmp_path)
    spoil(tmp_path / "federated")
    code, said = fails(mounts, service.endpoint, certificate, "workload", env)
    assert code == REFUSED and issuer.requests == []
    assert f": no token from {issuer.address}: the file that AZURE_FEDERATED_TOKEN_FILE names {reason}\n" in said


AZ = [
    ("echo \"ERROR: Please run 'az login' to setup account.\" >&2; exit 1", "Please run 'az login' to setup account."),
    ("head -c 1000000 /dev/zero >&2; echo {}", "the answer has no access token"),
]


@pytest.mark.parametrize("script, reason", AZ)
def test_az_fails(mounts, service, certificate, tmp_path, script, reason):
    code, said = fails(mounts, service.endpoint, certificate, "azcli", install_az(tmp_path / "bin", script))
    assert f": no token from az: {reason}" in said and code in (REFUSED, NETWORK)
    assert (tmp_path / "bin/calls").read_text().count("\n") == 1


def test_az_is_missing(mounts, service, certificate, tmp_path):
    code, said = fails(mounts, service.endpoint, certificate, "azcli", {"PATH": str(tmp_path)})
    assert code == REFUSED and ": no token from az: it is not in PATH -- install the Azure CLI" in said
