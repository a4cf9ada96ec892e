"""`tablefuse check SOURCE`: the settings, one query, the clocks; without a mount."""
import email.utils
import os
import re
import time

import pytest

from credentials import Certificate, account_sas
from harness import ACCOUNT, CONFIGURATION, FAULTY, KEY, NOT_FOUND, OTHER_KEY, REFUSED, TABLEFUSE, Azurite, environment, run
from servers import Handler, Server
from tokens import CLIENT, OBJECT, TENANT, Issuer, variables


@pytest.fixture(scope="module", autouse=True)
def data(sdk):
    sdk.create_table("orders", [{"partitionKey": "p", "rowKey": "r"}])


def check(*arguments, env=(), program=TABLEFUSE):
    return run(program, "check", *arguments, env=environment(**dict(env)), check=False)


def settings(endpoint, credential, origin, table="-", clock="clock right\n"):
    return (
        f"account {ACCOUNT}\nendpoint {endpoint}\ncredential {credential}\n"
        f"table {table}\nca_cert -\ncredential_from {origin}\n{clock}"
    )


OF_KEY = f"shared key of account {ACCOUNT}"


@pytest.mark.asan
@pytest.mark.tsan
def test_a_key(service):
    done = check(service.endpoint, env={"AZURE_STORAGE_KEY": KEY})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == settings(service.endpoint, OF_KEY, "AZURE_STORAGE_KEY")


def test_a_key_in_a_file(service, tmp_path):
    (tmp_path / "key").write_text(KEY + "\n")
    done = check(f"{service.endpoint}/orders", env={"AZURE_STORAGE_KEY_FILE": str(tmp_path / "key")})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == settings(service.endpoint, OF_KEY, "AZURE_STORAGE_KEY_FILE", "orders")


def test_what_the_environment_names(service):
    done = check("-o", "table=orders,timeout=20", env=service.credentials)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == settings(service.endpoint, OF_KEY, "AZURE_STORAGE_CONNECTION_STRING", "orders")


def test_permissions_of_a_sas(service):
    sas = account_sas(ACCOUNT, KEY, "rl")
    done = check(env={"AZURE_STORAGE_SAS_URL": f"{service.endpoint}?{sas}"})
    shown = "SAS token (sv=2019-02-02, ss=t, srt=sco, sp=rl, se=2099-01-01T00%3A00%3A00Z, spr=https%2Chttp, signature not shown)"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == settings(service.endpoint, shown, "AZURE_STORAGE_SAS_URL")


def test_a_token(scratch, tmp_path):
    certificate = Certificate(scratch)
    issuer = Issuer(certificate)
    secure = Azurite(scratch, certificate=certificate, takes_tokens=True)
    try:
        options = f"auth=spn,ca_cert={certificate.file}"
        done = check("-o", options, secure.endpoint, env=variables("spn", issuer, tmp_path))
    finally:
        secure.stop()
        issuer.stop()
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert lines[:2] == [f"account {ACCOUNT}", f"endpoint {secure.endpoint}"]
    assert lines[2].startswith(f"credential auth=spn, application {CLIENT} (object {OBJECT}) of tenant {TENANT}, until ")
    assert lines[3:] == ["table -", f"ca_cert {certificate.file}", "credential_from -o auth=", "clock right"]


def test_what_is_refused_is_told_with_the_settings(service):
    done = check(service.endpoint, env={"AZURE_STORAGE_KEY": OTHER_KEY})
    assert done.stdout == settings(service.endpoint, OF_KEY, "AZURE_STORAGE_KEY")
    assert done.returncode == REFUSED and len(done.stderr.splitlines()) == 1
    assert "the account key is wrong" in done.stderr


def test_a_table_that_is_missing(service):
    done = check(f"{service.endpoint}/missing", env={"AZURE_STORAGE_KEY": KEY})
    assert done.stdout == settings(service.endpoint, OF_KEY, "AZURE_STORAGE_KEY", "missing")
    assert done.returncode == NOT_FOUND and "TableNotFound" in done.stderr


def test_at_a_busy_service_the_answer_is_awaited(service):
    busy = {"AZURE_STORAGE_KEY": KEY, "TABLEFUSE_FAULTS": "fail=query:1:503:ServerBusy"}
    assert check(f"{service.endpoint}/orders", env=busy, program=FAULTY).returncode == 0
    done = check(f"{service.endpoint}/missing", env=busy, program=FAULTY)
    assert done.returncode == NOT_FOUND and "TableNotFound" in done.stderr


def test_without_any_setting_three_ways_to_begin_are_told(tmp_path):
    """The first one works as it is told."""
    (tmp_path / "DIR").mkdir()
    done = run(TABLEFUSE, "mount", "DIR", cwd=tmp_path, check=False)
    ways = re.search(r" -- three ways to begin: (.*)\n", done.stderr)[1]
    first, second, third = re.findall("`(tablefuse mount [^`]*)`", ways)
    assert (done.returncode, "credentials=" in second, "auth=" in third) == (CONFIGURATION, True, True)
    try:
        run(TABLEFUSE, *first.split()[1:], cwd=tmp_path)
        assert os.listdir(tmp_path / "DIR") == []
    finally:
        run(TABLEFUSE, "unmount", tmp_path / "DIR")


def test_settings_that_are_wrong(service):
    for arguments, env, reason in (
        ((), {}, "no account: name one as SOURCE"),
        (("myaccount",), {}, "no credential for account 'myaccount'"),
        (("AccountName=a;AccountKey=c2VjcmV0",), {}, "SOURCE looks like a connection string"),
    ):
        done = check(*arguments, env=env)
        assert (done.returncode, done.stdout) == (CONFIGURATION, "")
        assert done.stderr.startswith(f"tablefuse: {reason}") and "c2VjcmV0" not in done.stderr


@pytest.mark.parametrize(
    "source, meant",
    [
        *((word, "do you mean `emulator`?") for word in ("emulater", "EMULATOR", "azurite/orders", "emulator2")),
        *((word, "do you mean local:FILE?") for word in ("local", "Local:a.tf", "locall:a.tf", "lokal/orders")),
        *((word, None) for word in ("vocals", "loc", "simulators1", "emulator/orders/1")),
    ],
)
def test_a_word_that_is_near_to_a_source(source, meant):
    done = check(source)
    assert done.returncode == CONFIGURATION and len(done.stderr.splitlines()) == 1
    assert done.stderr.endswith(f" -- {meant}\n") if meant else "do you mean" not in done.stderr


@pytest.mark.parametrize("ahead", [-3600, 0, 3600])
def test_clocks_that_differ(service, ahead):
    class Between(Handler):
        def do_GET(self):
            status, headers, body = self.hand_on(service)
            kept = {name: value for name, value in headers.items() if name.lower() != "date"}
            self.reply(status, {**kept, "Date": email.utils.formatdate(time.time() - ahead, usegmt=True)}, body)

    server = Server(Between)
    try:
        done = check(env=server.credentials_for(service))
    finally:
        server.stop()
    assert done.returncode == 0
    last = done.stdout.splitlines()[-1]
    if abs(ahead) < 60:
        assert last == "clock right"
    else:
        word, seconds, unit, *side = last.split()
        assert (word, unit, side[0]) == ("clock", "s", "ahead" if ahead > 0 else "behind")
        assert abs(int(seconds) - abs(ahead)) < 100  # what the answer has taken
