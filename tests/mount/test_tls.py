"""https with a self-signed certificate."""
import os
import pathlib

import pytest

from credentials import Certificate
from harness import ACCOUNT, CONFIGURATION, KEY, Azurite, LocalAccount

NETWORK = 4


@pytest.fixture(scope="module")
def certificate(scratch):
    return Certificate(scratch)


@pytest.fixture(scope="module")
def service(scratch, certificate):
    azurite = Azurite(scratch, certificate=certificate)
    yield azurite
    azurite.stop()


@pytest.fixture(scope="module", autouse=True)
def data(sdk):
    sdk.create_table("secure", [{"partitionKey": "p", "rowKey": "r", "Text": "over TLS"}])


def refusal(mounts, service, *options, **variables):
    mount = mounts.prepare()
    failed = mount.start(
        service.endpoint, *options, env={"AZURE_STORAGE_KEY": KEY, **variables}, check=False
    )
    assert not mount.is_mounted() and len(failed.stderr.splitlines()) == 1
    return failed


def test_ca_cert(mounts, certificate):
    mount = mounts(f"ca_cert={certificate.file}")
    assert "over TLS" in (mount / "secure/p/r.json").read_text()


def test_a_relative_ca_cert(mounts, certificate):
    path = pathlib.Path(certificate.file)
    assert os.listdir(mounts(f"ca_cert={path.name}", cwd=path.parent).point) == ["secure"]


def test_ssl_cert_file(mounts, service, certificate):
    mount = mounts(
        source=service.endpoint, env={"AZURE_STORAGE_KEY": KEY, "SSL_CERT_FILE": certificate.file}
    )
    assert os.listdir(mount / "secure/p") == ["r.json"]


def test_an_unknown_certificate_is_refused(mounts, service):
    failed = refusal(mounts, service)
    assert (
        failed.returncode == NETWORK
        and "certificate" in failed.stderr
        and "ca_cert" in failed.stderr
    )


def test_a_foreign_certificate_is_refused(mounts, service, scratch):
    foreign = Certificate(scratch, "foreign")
    failed = refusal(mounts, service, f"ca_cert={foreign.file}")
    assert failed.returncode == NETWORK and "certificate" in failed.stderr


def test_a_certificate_for_another_host_is_refused(mounts, scratch):
    elsewhere = Certificate(scratch, "elsewhere", "DNS:elsewhere.example")
    azurite = Azurite(scratch, certificate=elsewhere)
    try:
        failed = refusal(mounts, azurite, f"ca_cert={elsewhere.file}")
    finally:
        azurite.stop()
    assert failed.returncode == NETWORK and ACCOUNT in failed.stderr


@pytest.mark.parametrize("content", [None, "", "no certificate\n"])
def test_a_ca_cert_that_is_none(mounts, service, scratch, content):
    path = scratch / "none.pem"
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_text(content)
    failed = refusal(mounts, service, f"ca_cert={path}")
    assert failed.returncode in (2, NETWORK) and "none.pem" in failed.stderr


def test_plain_http_to_a_tls_port_fails(mounts, service):
    mount = mounts.prepare()
    failed = mount.start(
        service.endpoint.replace("https", "http"), env={"AZURE_STORAGE_KEY": KEY}, check=False
    )
    assert failed.returncode == NETWORK and not mount.is_mounted()


def test_what_is_not_https_needs_no_certificates(mounts, scratch):
    """A container without any has a variable that names them all the same."""
    account = LocalAccount(scratch / "account")
    account.fill("items", "single", "1")
    env = {"SSL_CERT_FILE": "/nowhere", "SSL_CERT_DIR": "/nowhere"}
    mount = mounts(source=account.source, env=env)
    assert os.listdir(mount.point) == ["items"]
    mount.unmount()
    azurite = Azurite(scratch)
    try:
        mount = mounts(env={**azurite.credentials, **env})
        assert "ca_cert -\n" in mount.control("config") and os.listdir(mount.point) == []
        mount.unmount()
    finally:
        azurite.stop()


def test_https_needs_the_certificates_that_are_named(mounts, service):
    failed = refusal(mounts, service, SSL_CERT_FILE="/nowhere")
    assert failed.returncode == CONFIGURATION
    assert failed.stderr == (
        "tablefuse: cannot use the certificates in /nowhere: No such file or directory -- "
        "check -o ca_cert or SSL_CERT_FILE: `ls -lL FILE`\n"
    )
