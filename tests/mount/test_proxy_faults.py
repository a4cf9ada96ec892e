"""The strict proxy's faults, and its journal of changes."""
import signal
import time

import pytest

from harness import ACCOUNT, wait_until
from strict_proxy import ANY, Broken, RawClient, entity, inner_code_of, module, put

faults = module("faults")
STATUSES = [kind for kind, what in faults.KINDS.items() if what.status and not what.is_inner]


def happened(proxy):
    report = proxy.control()
    assert report["planned"] == [] and report["problems"] == []
    return report["happened"]


@pytest.mark.parametrize("kind", STATUSES)
def test_faults_with_a_status(client, proxy, direct, kind):
    proxy.control(plan=f"{kind}@insert:table")
    assert client.insert("none", "p", kind).status == 404  # is not its table
    assert client.insert("table", "p", kind).status == int(kind[:3])
    status = direct.send("DELETE", entity("table", "p", kind), If_Match="*").status
    assert status == (204 if kind.endswith("_after") else 404)
    assert client.send("GET", "/table()").status == 200
    assert happened(proxy) == {kind: 1}


def test_a_challenge(client, proxy):
    proxy.control(plan="401")
    answer = client.send("GET", "/table()")
    assert answer.getheader("www-authenticate").startswith("Bearer authorization_uri=https://login.microsoftonline.com/")
    assert answer.getheader("www-authenticate").endswith(" resource_id=https://storage.azure.com")


def test_retry_after(client, proxy):
    proxy.control(plan=["429", "503", "500"], retry_after=3)
    assert [client.send("GET", "/table()").getheader("retry-after") for _ in range(3)] == ["3", "3", None]


@pytest.mark.parametrize("kind", ["reset", "reset_after"])
def test_a_reset(client, proxy, direct, kind):
    proxy.control(plan=f"{kind}@write")
    with pytest.raises(Broken, match="ConnectionResetError"):
        client.insert("table", "p", kind)
    status = direct.send("DELETE", entity("table", "p", kind), If_Match="*").status
    assert status == (204 if kind == "reset_after" else 404)
    assert happened(proxy) == {kind: 1}


SILENCE_SEC = 1


@pytest.mark.parametrize("kind", ["silence", "silence_after"])
@pytest.mark.parametrize("is_batch", [False, True])
def test_silence(client, proxy, direct, kind, is_batch):
    proxy.control(plan=kind)
    client.connection.timeout = SILENCE_SEC
    with pytest.raises(Broken, match="timed out"):
        client.batch(put("p", kind)) if is_batch else client.insert("table", "p", kind)
    wait_until(lambda: not proxy.control()["planned"])
    if kind == "silence":
        assert direct.send("GET", entity("table", "p", kind)).status == 404
    else:
        wait_until(lambda: direct.send("DELETE", entity("table", "p", kind), If_Match="*").status == 204)
    assert happened(proxy) == {kind: 1}


def test_a_body_that_breaks_off(client, proxy):
    proxy.control(plan=["cut@query", "cut@batch"])
    with pytest.raises(Broken, match="IncompleteRead"):
        client.send("GET", "/table()")
    with pytest.raises(Broken, match="IncompleteRead"):
        client.batch(put("p0", "r00", N=1))
    assert happened(proxy) == {"cut": 2}


def test_a_wrong_length(client, proxy):
    whole = client.send("GET", "/table()").text
    proxy.control(plan="wrong_length")
    assert client.send("DELETE", entity("table", "p", "none"), If_Match="*").status == 404  # would have no body
    answer = client.send("GET", "/table()")
    assert answer.text == whole[: len(whole) // 2]
    assert happened(proxy) == {"wrong_length": 1}


def test_a_connection_that_is_closed_when_it_is_used_again(client, proxy):
    proxy.control(plan="stale@get")
    path = entity("table", "p0", "r00")
    assert client.send("GET", path).status == 200  # the first one of its connection
    with pytest.raises(Broken, match="RemoteDisconnected"):
        client.send("GET", path)
    assert client.send("GET", path).status == 200
    assert happened(proxy) == {"stale": 1}


@pytest.mark.parametrize("status", faults.TRANSIENT)
def test_faults_inside_a_batch(client, proxy, status):
    proxy.control(plan=f"inner_{status}")
    assert client.send("GET", "/table()").status == 200
    answer = client.batch(put("p", "a"), put("p", "b"))
    assert answer.status == 202 and inner_code_of(answer)[:2] == (status, faults.CODES[status])
    assert client.send("GET", entity("table", "p", "a")).status == 404
    assert happened(proxy) == {f"inner_{status}": 1}


@pytest.mark.parametrize("kind", ["reset_after", "500_after"])
def test_batches_that_are_made_though(client, proxy, direct, kind):
    proxy.control(plan=f"{kind}@batch")
    if kind == "reset_after":
        with pytest.raises(Broken):
            client.batch(put("p", kind))
    else:
        assert client.batch(put("p", kind)).status == 500
    assert direct.send("DELETE", entity("table", "p", kind), If_Match="*").status == 204
    assert happened(proxy) == {kind: 1}


def test_a_fault_that_never_happened(client, proxy):
    proxy.control(plan=["503@drop*2", "500@get"])
    client.send("GET", entity("table", "p0", "r00"))
    assert proxy.control()["problems"] == ["planned, and never happened: 503@drop*2"]


def test_faults_by_a_seed(client, proxy):
    def statuses(seed):
        proxy.control(seed=seed, fault_rate=0.5, fault_kinds="500,503")
        return [client.send("GET", entity("table", "p0", "r00")).status for _ in range(40)]

    first = statuses(1)
    assert set(first) == {200, 500, 503}
    assert statuses(1) == first != statuses(2)
    counts = proxy.control()["happened"]
    assert counts["500"] + counts["503"] > 0 and set(counts) == {"500", "503"}


# the journal


def test_the_journal_has_the_last_changes(client, direct, proxy):
    at_start = time.time()
    proxy.control(plan=["503@insert", "reset_after@replace"])
    assert client.insert("table", "j", "r1", N=1).status == 503
    assert client.insert("table", "j", "r1", N="1", **{"N@odata.type": "Edm.Int64"}).status == 204
    assert client.insert("table", "j", "r1", N=2).status == 409
    with pytest.raises(Broken):
        client.send("PUT", entity("table", "j", "r1"), {"Word": "w" * 50}, x_ms_client_request_id="mine")
    delete = ("DELETE", entity("table", "j", "none"), None, ANY)
    assert client.batch(put("j", "r2", N=3), delete).text.count("HTTP/1.1 404") == 1
    client.send("GET", entity("table", "j", "r1"))
    client.create("journal")
    client.send("DELETE", "/Tables('journal')")
    entries = proxy.control(journal="Table")["journal"]
    assert [(e["operation"], e["writes"], e["result"], e["fault"], e["id"]) for e in entries] == [
        ("insert", [["insert", "j", "r1", "N=1"]], None, "503", None),
        ("insert", [["insert", "j", "r1", "N=1"]], "204", None, None),
        ("insert", [["insert", "j", "r1", "N=2"]], "409 EntityAlreadyExists", None, None),
        ("replace", [["replace", "j", "r1", "Word=" + "w" * 40]], "204", "reset_after", "mine"),
        ("batch", [["replace", "j", "r2", "N=3"], ["delete", "j", "none", "*"]], "404 ResourceNotFound", None, None),
    ]
    assert entries[0]["forwarded"] is None and entries[0]["answered"] is None
    times = [e[name] for e in entries[1:] for name in ("arrived", "forwarded", "answered")]
    assert times == sorted(times) and at_start <= times[0] and times[-1] <= time.time()
    assert not any(e["was_gone"] or e["is_gone"] for e in entries)
    assert [e["operation"] for e in proxy.control(journal="journal")["journal"]] == ["create", "drop"]
    assert proxy.control(journal="none")["journal"] == [] and "journal" not in proxy.control()
    assert direct.send("DELETE", entity("table", "j", "r1"), **ANY).status == 204


def test_the_journal_knows_whether_the_client_has_gone(service, proxy):
    client = RawClient(proxy.port)
    service.send(signal.SIGSTOP)
    try:
        client.connection.request("DELETE", f"/{ACCOUNT}{entity('table', 'p0', 'r01')}", headers={**client.signed("/"), **ANY})
        wait_until(lambda: proxy.control(journal="table")["journal"], what="the request")
        client.close()
        service.send(signal.SIGCONT)
        wait_until(lambda: proxy.control(journal="table")["journal"][0]["answered"], what="the answer")
    finally:
        service.send(signal.SIGCONT)
    (entry,) = proxy.control(journal="table")["journal"]
    assert entry["is_gone"] and not entry["was_gone"]
