"""Settings as users paste them: line ends, SAS URLs, and http:// to other hosts than loopback."""
import os
import socket

import pytest

from credentials import account_sas, table_sas
from harness import ACCOUNT, CONFIGURATION, KEY, OTHER_KEY, Azurite, assert_serves
from messages import cause
from servers import ForwardProxy, Proxy
from test_command import mounted_source, refusal

AT_STAKE = "over http:// others on the network can read and change the data"
ADVICE = " -- use https://, or accept that with -o allow_http\n"
SAS = account_sas(ACCOUNT, KEY)

pytestmark = pytest.mark.usefixtures("two_tables")


# --- what is pasted


def test_line_ends_around_a_value(mounts, service):
    """As files of Windows have them. tests/unit/client/identity has what else is pasted."""

    def pasted(text):
        return f"\ufeff{text}\r\n"

    url = service.endpoint
    for env in (
        {"AZURE_STORAGE_KEY": pasted(KEY), "AZURE_STORAGE_ACCOUNT": pasted(ACCOUNT)},
        {"AZURE_STORAGE_SAS_TOKEN": pasted(SAS)},
        {"AZURE_STORAGE_SAS_URL": pasted(f"{url}?{SAS}")},
        {"AZURE_STORAGE_CONNECTION_STRING": pasted(service.connection_string())},
    ):
        assert_serves(mounts(source=url, env=env))
    mount = mounts(source=f" {url}\r\n", env={"AZURE_STORAGE_KEY": KEY})
    assert mounted_source(mount) == url


# --- SAS URLs


@pytest.mark.parametrize("variable", ["AZURE_STORAGE_SAS_URL", "AZURE_STORAGE_SAS_TOKEN"])
def test_a_sas_url_is_complete(mounts, service, variable):
    for slash in ("", "/"):
        mount = mounts(env={variable: f"{service.endpoint}{slash}?{SAS}"})
        assert_serves(mount)
        assert mounted_source(mount) == ACCOUNT
    mount = mounts(env={variable: f"{service.endpoint}/table?{SAS}"})
    assert os.listdir(mount.point) == ["p"]
    assert mounted_source(mount) == f"{ACCOUNT}/table"
    assert "\ntable table\n" in mount.control("config") and "sig=" not in mount.control("config")


def test_a_sas_url_of_one_table(mounts, service):
    """The table stands in the path, in tn=, or in both; the path's spelling counts, which Azurite compares exactly."""
    for path, name in (("", "table"), ("/table", "table"), ("/Mixed", "mixed"), ("/Mixed", "MIXED")):
        url = f"{service.endpoint}{path}?{table_sas(ACCOUNT, KEY, name)}"
        mount = mounts(env={"AZURE_STORAGE_SAS_URL": url})
        assert mount.control("config").splitlines()[3] == f"table {path[1:] or name}"
        assert os.listdir(mount.point) == ["p"]


def test_a_sas_url_beside_source(mounts, service):
    env = {"AZURE_STORAGE_SAS_URL": f"{service.endpoint}?{SAS}", "AZURE_STORAGE_ACCOUNT": ACCOUNT}
    assert_serves(mounts(source=service.endpoint, env=env))
    mount = mounts(source=f"{service.endpoint}/table", env=env)
    assert os.listdir(mount.point) == ["p"]
    assert mounted_source(mount) == f"{service.endpoint}/table"
    env = {"AZURE_STORAGE_SAS_URL": f"{service.endpoint}?{table_sas(ACCOUNT, KEY, 'MIXED')}"}
    for start in ({"source": f"{service.endpoint}/Mixed"}, {}):
        mount = mounts(*([] if start else ["table=Mixed"]), env=env, **start)
        assert os.listdir(mount.point) == ["p"]
    mount = mounts(source=service.endpoint, env={"AZURE_STORAGE_SAS_URL": f"{service.endpoint}/table?{SAS}"})
    assert mounted_source(mount) == f"{service.endpoint}/table"


def test_a_sas_url_that_contradicts(mounts, service):
    url = f"{service.endpoint}?{SAS}"
    message = refusal(mounts, env={"AZURE_STORAGE_SAS_URL": url, "AZURE_STORAGE_KEY": KEY}, expected=CONFIGURATION)
    assert cause(message) == "AZURE_STORAGE_KEY and AZURE_STORAGE_SAS_URL are both set: unset one of them"
    env = {"AZURE_STORAGE_SAS_URL": f"{service.endpoint}/table?{SAS}"}
    message = refusal(mounts, "table=Mixed", env=env, expected=CONFIGURATION)
    assert cause(message) == "the SAS URL names the table table, but -o table= names another one"


# --- http:// to another host


@pytest.fixture
def proxy(service):
    proxy = ForwardProxy(service)
    yield proxy
    proxy.stop()


@pytest.mark.parametrize("host", ["azurite:10002", "host.docker.internal:10002", "192.168.1.2:10002", "azurite"])
def test_the_emulator_on_another_host(mounts, proxy, host):
    """As compose files name it. Its account and key are public. Without a credential it has that key."""
    source = f"http://{host}/{ACCOUNT}"
    text = f"AccountName={ACCOUNT};AccountKey={KEY};DefaultEndpointsProtocol=http;TableEndpoint={source}"
    for start in (
        {"source": source, "env": {}},
        {"source": source, "env": {"AZURE_STORAGE_KEY": KEY + "\n"}},
        {"env": {"AZURE_STORAGE_CONNECTION_STRING": text}},
    ):
        start["env"] |= proxy.variables
        assert_serves(mounts(**start))
        assert proxy.hosts == {host}


def test_the_emulator_without_a_credential(mounts, service):
    for host in ("127.0.0.1", "localhost"):
        assert_serves(mounts(source=f"http://{host}:{service.port}/{ACCOUNT}", env={}))


def test_names_below_localhost(mounts, service):
    """They are this machine, without a resolver. Azurite itself takes the first label for the account."""
    server = Proxy(service)
    try:
        source = f"http://azurite.localhost:{server.address.partition(':')[2]}/{ACCOUNT}"
        assert_serves(mounts(source=source, env={"AZURE_STORAGE_SAS_TOKEN": SAS}))
    finally:
        server.stop()


def test_another_account_by_http(mounts, proxy):
    """Also the emulator's, with another key or a SAS."""
    for host in ("azurite:10002", "192.168.1.2", socket.gethostname(), "localhost.example.com"):
        for env in ({"AZURE_STORAGE_KEY": OTHER_KEY}, {"AZURE_STORAGE_SAS_TOKEN": SAS}):
            source = f"http://{host}/{ACCOUNT}"
            env |= proxy.variables
            message = refusal(mounts, source=source, env=env, expected=CONFIGURATION)
            also = ", and take the SAS token" if "AZURE_STORAGE_SAS_TOKEN" in env else ""
            assert message == f"tablefuse: SOURCE: {AT_STAKE}{also}{ADVICE}"
    assert proxy.hosts == set(), "nothing was sent"
    source = f"http://azurite:10002/{ACCOUNT}"
    for start in (
        {"source": source, "env": {"AZURE_STORAGE_SAS_TOKEN": SAS}},
        {"env": {"AZURE_STORAGE_SAS_URL": f"{source}?{SAS}"}},
    ):
        start["env"] |= proxy.variables
        assert_serves(mounts("allow_http", **start))
    assert proxy.hosts == {"azurite:10002"}


def test_a_connection_string_with_http_and_no_endpoint(mounts, scratch):
    azurite = Azurite(scratch, "planted", OTHER_KEY)
    proxy = ForwardProxy(azurite)
    try:
        azurite.sdk.create_table("one")
        text = f"DefaultEndpointsProtocol=http;AccountName=planted;SharedAccessSignature={account_sas('planted', OTHER_KEY)}"
        env = {"AZURE_STORAGE_CONNECTION_STRING": text, **proxy.variables}
        message = refusal(mounts, env=env, expected=CONFIGURATION)
        what = "DefaultEndpointsProtocol=http without TableEndpoint"
        assert message == f"tablefuse: {what}: {AT_STAKE}, and take the SAS token{ADVICE}"
        assert os.listdir(mounts("allow_http", env=env).point) == ["one"]
        assert proxy.hosts == {"planted.table.core.windows.net"}
    finally:
        proxy.stop()
        azurite.stop()
