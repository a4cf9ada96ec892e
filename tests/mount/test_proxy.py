"""The strict proxy (tests/service): each rule is broken on purpose, and each way of answering is seen by a plain client."""
import email.utils
import http.client
import json
import socket
import subprocess
import time

import pytest

from credentials import account_sas
from harness import ACCOUNT, COMMAND_SEC, KEY, run
from strict_proxy import ANY, PROGRAM, ROWS, Broken, RawClient, StrictProxy, code_of, entity, inner_code_of, module, put

faults, rules, limits = (module(name) for name in ("faults", "rules", "limits"))


# what passes


def test_requests_pass_unchanged(client, direct, proxy):
    for method, path, body in (
        ("GET", "/Tables", None),
        ("GET", entity("table", "p0", "r01"), None),
        ("GET", "/table()", None),
        ("GET", "/none()", None),
        ("POST", "/table", {"PartitionKey": "p0", "RowKey": "r00"}),
    ):
        here, there = client.send(method, path, body), direct.send(method, path, body)
        assert here.status == there.status
        if "error" in here.text:  # has a time
            assert code_of(here) == code_of(there)
        else:
            text = here.text.replace(f":{client.connection.port}/", f":{direct.connection.port}/")
            assert text == there.text and here.getheader("etag") == there.getheader("etag")
    answer = client.batch(put("p0", "r00", N=1), put("p0", "r01", N=1))
    assert answer.status == 202 and answer.text.count("HTTP/1.1 204") == 2
    report = proxy.control()
    assert report["problems"] == [] and not report["refused"]
    assert report["requests"] == {"all": 6, "tables": 1, "get": 1, "query": 2, "insert": 1, "batch": 1}


def test_a_connection_is_kept(client):
    client.send("GET", "/Tables")
    first = client.connection.sock
    for _ in range(3):
        client.send("GET", "/Tables")
    assert client.connection.sock is first


# control and bad input


@pytest.mark.parametrize(
    "query, message",
    [
        ("colour=1", "colour: no such setting"),
        ("expect=colour", "colour: no such rule"),
        ("plan=colour", "colour: no such fault"),
        ("plan=503@paint", "paint: no such operation"),
        ("plan=503*", "503*: not KIND[@OPERATION[:TABLE]][*N]"),
        ("fault_kinds=503,colour", "fault_kinds=colour: no such fault"),
        ("page_rows=0-5", "page_rows=0-5: not within 1-1000"),
        ("empty=2", "empty=2: not 0 to 1"),
        ("tokens=blue", "tokens=blue: not one of azurite opaque partition mixed"),
        ("strict", "bad query field: 'strict'"),
    ],
)
def test_what_is_unknown_is_named(proxy, query, message):
    before = proxy.control()
    with pytest.raises(ValueError) as raised:
        proxy.control_text(query)
    assert str(raised.value) == message
    assert proxy.control() == before
    failed = run("/usr/bin/python3", PROGRAM, "--set", query, "127.0.0.1:1", check=False)
    assert failed.returncode == 2 and failed.stderr.endswith(f"error: {message}\n")


def test_a_port_that_is_taken(proxy):
    failed = run("/usr/bin/python3", PROGRAM, "--port", proxy.port, "127.0.0.1:1", check=False)
    assert (failed.returncode, failed.stderr) == (1, f"proxy: port {proxy.port}: Address already in use\n")


def test_the_help_names_everything():
    text = run("/usr/bin/python3", PROGRAM, "--help").stdout
    for name in (*rules.RULES, *faults.KINDS, *module("settings").SETTINGS, *module("settings").ACTIONS):
        assert f"  {name}" in text
    for rule in rules.RULES.values():
        assert rule.source.split(" ")[0] in ("T", "A", "none")


def test_a_service_that_is_gone():
    with socket.socket() as bound:  # nothing listens
        bound.bind(("127.0.0.1", 0))
        proxy = StrictProxy(bound.getsockname()[1], stderr=subprocess.DEVNULL)
        try:
            answer = RawClient(proxy.port).send("GET", "/Tables")
            assert answer.status == 502 and "is lost" in answer.text
            (problem,) = proxy.control()["problems"]
            assert problem.startswith(f"the service behind the proxy was lost: 127.0.0.1:{bound.getsockname()[1]}: ")
        finally:
            proxy.stop()


def test_what_is_no_http_is_refused(proxy):
    for text in (b"hello\r\n\r\n", b"GET /Tables HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"x" * (1 << 19)):
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=COMMAND_SEC) as client:
            try:
                client.sendall(text)
                answer = client.recv(4096)
            except ConnectionError:
                assert len(text) == 1 << 19  # it has not read all
                continue
            assert answer.startswith(b"HTTP/1.1 400 ")
    assert proxy.control()["problems"] == []


# strict rules

LARGE = {f"B{i}": "x" * 32768 for i in range(17)}  # 64 KiB each
PLAIN = {"PartitionKey": "p", "RowKey": "r"}
QUERIES = {
    "top": ["$top=0", "$top=1001", "$top=-1", "$top=x", "$top="],
    "comparisons": ["$filter=" + "%20or%20".join(["N%20eq%201"] * 16)],
    "select_count": ["$select=" + ",".join(f"A{i}" for i in range(256))],
    "query_option": ["$orderby=N", "$count=true", "$skip=1", "$expand=N"],
}
ENTITIES = {
    "properties": [{f"N{i}": i for i in range(253)}],
    "entity_bytes": [LARGE],
    "property_name": [{"9lives": 1}, {"a-b": 1}, {"": 1}, {"a" * 256: 1}],
    "value_type": [
        {"A": 2147483648},
        {"A": [1]},
        {"A": "no", "A@odata.type": "Edm.Guid"},
        {"A": "x", "A@odata.type": "Edm.Int64"},
        {"A": "9223372036854775808", "A@odata.type": "Edm.Int64"},
        {"A": "1600-12-31T00:00:00Z", "A@odata.type": "Edm.DateTime"},
        {"A": "2024-02-30T00:00:00Z", "A@odata.type": "Edm.DateTime"},
        {"A": "a", "A@odata.type": "Edm.Binary"},
        {"A": "true", "A@odata.type": "Edm.Boolean"},
        {"A": "one", "A@odata.type": "Edm.Double"},
        {"A": "x", "A@odata.type": "Edm.Foo"},
    ],
}
CODES = {
    "properties": ["TooManyProperties"],
    "entity_bytes": ["EntityTooLarge"],
    "property_name": ["PropertyNameInvalid"] * 3 + ["PropertyNameTooLong"],
    "query_option": ["NotImplemented"] * 4,
}


def refusals(proxy, rule):
    """How often it was refused by this rule, and by no other. It is a problem, unless it was announced."""
    report = proxy.control()
    assert list(report["refused"]) == [rule] and len(report["problems"]) == 1
    assert report["problems"][0].startswith(f"refused by the rule {rule}: ")
    assert proxy.control(expect=rule)["problems"] == []
    return report["refused"][rule]


@pytest.mark.parametrize("rule", QUERIES)
def test_queries_that_are_refused(client, proxy, rule):
    codes = CODES.get(rule, ["InvalidInput"] * len(QUERIES[rule]))
    for query, code in zip(QUERIES[rule], codes, strict=True):
        answer = client.send("GET", f"/table()?{query}")
        assert answer.status == (501 if code == "NotImplemented" else 400) and code_of(answer) == code
        assert answer.getheader("x-ms-error-code") == code
    assert refusals(proxy, rule) == len(codes)


@pytest.mark.parametrize("rule", ENTITIES)
def test_entities_that_are_refused(client, proxy, rule):
    codes = CODES.get(rule, ["InvalidInput"] * len(ENTITIES[rule]))
    for members, code in zip(ENTITIES[rule], codes, strict=True):
        body = {**PLAIN, **members}
        for answer in (
            client.send("POST", "/table", body),
            client.send("PUT", entity("table", "p", "r"), body),
            client.send("PATCH", entity("table", "p", "r"), body),
        ):
            assert answer.status == 400 and code_of(answer) == code
        if rule != "entity_bytes":
            inner = inner_code_of(client.batch(put("p", "a"), put("p", "r", **members)))
            assert inner[:2] == (400, code) and inner[2].startswith("1:")
    assert refusals(proxy, rule) == len(codes) * (3 if rule == "entity_bytes" else 4)
    assert client.send("GET", entity("table", "p", "r")).status == 404


def test_bodies_that_are_refused(client, proxy):
    twice = '{"PartitionKey": "p", "RowKey": "r", "A": 1, "A": 2}'
    number = {"PartitionKey": 1, "RowKey": "r"}
    for body, code in ((twice, "DuplicatePropertiesSpecified"), (number, "PrimaryKeyPropertyIsInvalidType")):
        answer = client.send("POST", "/table", body)
        assert answer.status == 400 and code_of(answer) == code
    assert code_of(client.send("PUT", entity("table", "p", "other"), PLAIN)) == "InvalidInput"
    assert code_of(client.send("PUT", entity("table", "p", "r"), PLAIN, If_None_Match="*")) == "InvalidInput"
    assert code_of(client.send("DELETE", entity("table", "p", "r"))) == "MissingRequiredHeader"
    report = proxy.control()
    assert report["refused"] == dict.fromkeys(["property_twice", "key_type", "body_keys", "if_none_match", "if_match"], 1)
    assert len(report["problems"]) == 5
    report = proxy.control(expect=list(report["refused"]))
    assert report["problems"] == []


def test_a_body_without_a_length(proxy):
    head = f"POST /{ACCOUNT}/table HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=COMMAND_SEC) as client:
        client.sendall(head.encode())
        assert client.makefile("rb").readline() == b"HTTP/1.1 411 Length Required\r\n"
    assert refusals(proxy, "length") == 1


def test_names_of_tables_that_are_refused(client, proxy):
    for name, code in (
        ("a-b-c", "InvalidResourceName"),
        ("1abc", "InvalidResourceName"),
        ("ab", "OutOfRangeInput"),
        ("a" * 64, "OutOfRangeInput"),
        ("Tables", "InvalidInput"),
    ):
        answer = client.send("POST", "/Tables", {"TableName": name})
        assert answer.status == 400 and code_of(answer) == code
    assert refusals(proxy, "table_name") == 5


BATCHES = {
    "batch_partition": ([put("p", "a"), put("q", "b")], "CommandsInBatchActOnDifferentPartitions", 1),
    "batch_twice": ([put("p", "a"), put("p", "b"), put("p", "a")], "InvalidDuplicateRow", 2),
    "batch_table": ([put("p", "a"), ("PUT", entity("other", "p", "b"), {}, {})], "InvalidInput", 1),
    "batch_count": ([put("p", str(i)) for i in range(101)], "InvalidInput", 99),
    "batch_query": ([("GET", entity("table", "p", "r"), None, {}), put("p", "b")], "InvalidInput", 0),
    "if_match": ([put("p", "a"), ("DELETE", entity("table", "p", "b"), None, {})], "MissingRequiredHeader", 1),
}


@pytest.mark.parametrize("rule", BATCHES)
def test_batches_that_are_refused(client, proxy, rule):
    writes, code, index = BATCHES[rule]
    answer = client.batch(*writes)
    inner = inner_code_of(answer)
    assert answer.status == 202 and inner[:2] == (400, code) and inner[2].startswith(f"{index}:")
    assert refusals(proxy, rule) == 1
    assert client.send("GET", entity("table", "p", "a")).status == 404


def test_a_batch_of_many_bytes(client, proxy):
    answer = client.batch(*(put("p", str(i), A="x" * 32768) for i in range(100)), put("p", "more", **LARGE, B="x" * 600000))
    assert answer.status == 413 and code_of(answer) == "RequestBodyTooLarge"
    assert refusals(proxy, "batch_bytes") == 1


def test_what_is_just_allowed(client, proxy):
    literals = " or ".join(["N eq 1"] * 14 + ["S eq 'a eq b or ''c'' lt d'"]).replace(" ", "%20")
    for query in ("$top=1", "$top=1000", f"$filter={literals}", "$select=" + ",".join(f"A{i}" for i in range(255))):
        assert client.send("GET", f"/table()?{query}").status == 200
    fits = {
        "I": -2147483648,
        "B": True,
        "D": 1.5,
        "S": "text",
        "N": None,
        "\u00e9_1": 1,
        "a" * 255: 1,
        "L": "-9223372036854775808",
        "L@odata.type": "Edm.Int64",
        "G": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "G@odata.type": "Edm.Guid",
        "T": "1601-01-01T00:00:00Z",
        "T@odata.type": "Edm.DateTime",
        "Y": "AAEC/w==",
        "Y@odata.type": "Edm.Binary",
        "F": "NaN",
        "F@odata.type": "Edm.Double",
    }
    for members in (fits, {f"N{i}": i for i in range(252)}, {f"B{i}": "x" * 32768 for i in range(15)}):
        assert client.batch(("POST", "/table", {"PartitionKey": "fits", "RowKey": "r", **members}, {})).status == 202
        assert client.send("DELETE", entity("table", "fits", "r"), If_Match="*").status == 204
    rows = [put("hundred", str(i)) for i in range(100)]
    assert client.batch(*rows).text.count("HTTP/1.1 204") == 100
    deletes = [("DELETE", entity("table", "hundred", str(i)), None, ANY) for i in range(100)]
    assert client.batch(*deletes).text.count("HTTP/1.1 204") == 100
    report = proxy.control()
    assert report["problems"] == [] and not report["refused"]


def test_rules_that_only_count(client, proxy):
    assert client.send("GET", "/table()?$select=").status == 200
    report = proxy.control()
    assert report["noted"] == {"select_nothing": 1} and report["problems"] == []


def test_rules_can_be_left_out(client, proxy):
    proxy.control(strict=0)
    assert client.send("GET", "/table()?$top=1001").status == 200
    assert not proxy.control()["refused"]


def test_an_announced_refusal_that_does_not_come(proxy):
    assert proxy.control(expect=["top", "top"])["problems"] == ["announced, and not refused: top"]


# as the service answers


@pytest.mark.parametrize("tokens", ["azurite", "opaque", "partition", "mixed"])
@pytest.mark.parametrize("query", ["", "$top=3", "$filter=N%20eq%201&$top=2", "$select=PartitionKey,RowKey"])
def test_all_rows_come_in_pages_of_any_size(client, proxy, tokens, query):
    for seed in range(3):
        proxy.control(seed=seed, tokens=tokens, page_rows="1-5", empty=0.4, last_empty=0.5, borders=0.3)
        pages, _ = client.pages("table", query)
        assert sum(pages, []) == ROWS
    assert proxy.control()["problems"] == []


def test_short_pages(client, proxy):
    proxy.control(page_rows=5)
    assert [len(page) for page in client.pages("table")[0]] == [5, 5, 2]
    assert [len(page) for page in client.pages("table", "$top=4")[0]] == [4, 4, 4]


def test_empty_pages(client, proxy):
    proxy.control(page_rows=6, empty=1, empty_run=2)
    assert [len(page) for page in client.pages("table")[0]] == [0, 0, 6, 0, 0, 6]
    proxy.control(empty=0, last_empty=1)
    assert [len(page) for page in client.pages("table")[0]] == [6, 6, 0]
    for query in ("/none()", "/none()?$top=1"):
        assert code_of(client.send("GET", query)) == "TableNotFound"


def test_pages_end_at_borders_and_bytes(client, proxy):
    proxy.control(borders=1)
    assert [len(page) for page in client.pages("table")[0]] == [4, 4, 4]
    proxy.control(borders=0, page_bytes=1)
    assert [len(page) for page in client.pages("table")[0]] == [1] * 12
    (row, *_), _ = client.pages("table")
    text = client.send("GET", "/table()?$top=1").text
    size = len(text[text.index("[") + 1 : text.rindex("]")].encode())
    proxy.control(page_bytes=3 * size)
    assert len(client.pages("table")[0][0]) == 3


def test_forms_of_tokens(client, proxy):
    names = {"NextPartitionKey", "NextRowKey"}
    proxy.control(page_rows=5)
    assert client.pages("table")[1][0] == {"NextPartitionKey": "cDE=", "NextRowKey": "cjA1"}
    proxy.control(tokens="opaque")
    tokens = client.pages("table")[1]
    assert [set(token) for token in tokens] == [names] * 2
    for value in (*tokens[0].values(), *tokens[1].values()):
        version, length, text = value.split("!")
        assert version == "1" and int(length) == len(text)
    proxy.control(tokens="partition")
    assert [set(token) for token in client.pages("table")[1]] == [{"NextPartitionKey"}] * 2
    proxy.control(tokens="mixed", page_rows=1)
    assert {len(token) for token in client.pages("table")[1]} == {1, 2}


def test_tokens_that_are_none(client, proxy):
    proxy.control(page_rows=5, tokens="partition")
    token = client.pages("table")[1][0]["NextPartitionKey"]
    assert client.send("GET", f"/table()?NextPartitionKey={token}&NextRowKey=").status == 200
    bad = (f"{token}&NextRowKey=x", token[:-1], "cDE=", "", "1!4!AAAA")
    for value in bad:
        answer = client.send("GET", f"/table()?NextPartitionKey={value}")
        assert answer.status == 400 and code_of(answer) == "InvalidInput"
    assert client.send("GET", "/table()?NextRowKey=x").status == 400
    report = proxy.control()
    assert report["noted"] == {"blank_token": 1, "bad_token": len(bad) + 1} and report["problems"] == []
    assert client.send("GET", f"/table()?$filter=N%20eq%201&NextPartitionKey={token}").status == 400
    assert refusals(proxy, "same_query") == 1


def test_pages_of_tables(client, proxy, direct):
    names = sorted(json.dumps(row) for row in json.loads(direct.send("GET", "/Tables").text)["value"])
    for settings in ({"page_rows": 1}, {"tokens": "opaque"}, {"empty": 1, "empty_run": 1}):
        proxy.control(**settings)
        found, token, pages = [], "", 0
        while token is not None:
            answer = client.send("GET", f"/Tables?{token and 'NextTableName=' + token}")
            found += [json.dumps(row) for row in json.loads(answer.text)["value"]]
            token, pages = answer.getheader("x-ms-continuation-NextTableName"), pages + 1
        assert sorted(found) == names and pages >= len(names)


def test_a_table_that_is_being_deleted(client, proxy):
    proxy.control(being_deleted=2)
    assert client.create("dropped") == 204
    assert client.send("DELETE", "/Tables('dropped')").status == 204
    for _ in range(2):
        answer = client.send("POST", "/Tables", {"TableName": "Dropped"})
        assert answer.status == 409 and code_of(answer) == "TableBeingDeleted"
    assert client.create("dropped") == 204
    assert client.send("DELETE", "/Tables('dropped')").status == 204
    assert proxy.control()["requests"]["being_deleted"] == 2


def test_a_service_that_is_busy(client, proxy):
    proxy.control(partition_rate=0)
    get = client.send("GET", entity("table", "p0", "r00"))
    for answer in (get, client.batch(put("p", "a")), client.insert("table", "p", "a")):
        assert answer.status == 503 and code_of(answer) == "ServerBusy" and answer.getheader("retry-after") is None
    assert client.send("GET", "/table()").status == 200  # many partitions
    proxy.control(partition_rate="off", account_rate=0, retry_after=7)
    answer = client.send("GET", "/table()")
    assert answer.status == 503 and answer.getheader("retry-after") == "7"
    proxy.control(account_rate="off")
    assert client.send("GET", "/table()").status == 200
    assert proxy.control()["requests"]["busy"] == 4


def test_rates():
    now = 0.0
    rate = limits.Rate(lambda: now)
    assert [rate.take("p", 1, 3) for _ in range(5)] == [True, True, True, False, False]
    assert rate.take("q", 1, 3)
    now = 1 / 3
    assert [rate.take("p", 1, 3) for _ in range(2)] == [True, False]
    now = 60.0
    assert [rate.take("p", 100, 3) for _ in range(2)] == [True, False]  # a batch takes all


def test_a_service_that_is_away(client, proxy):
    proxy.control(away=6000)
    with pytest.raises(Broken):
        client.send("GET", "/table()")
    report = proxy.control(away=0)
    assert report["requests"]["away"] == 1 and report["problems"] == []
    assert client.send("GET", "/table()").status == 200


def date_of(answer):
    return email.utils.mktime_tz(email.utils.parsedate_tz(answer.getheader("date")))


def test_a_clock_that_differs(client, proxy):
    minute = 60
    for ahead in (20 * minute, -20 * minute):
        proxy.control(clock=ahead)
        answer = client.send("GET", "/table()")
        assert answer.status == 403 and code_of(answer) == "AuthenticationFailed"
        assert abs(date_of(answer) - time.time() - ahead) < 5 * minute
        answer = client.send("GET", "/table()", shift_sec=ahead)
        assert answer.status == 200 and abs(date_of(answer) - time.time() - ahead) < 5 * minute
    report = proxy.control(clock=0)
    assert report["requests"]["skewed"] == 2 and report["problems"] == []
    assert client.send("GET", "/table()", shift_sec=-20 * minute).status == 403
    assert refusals(proxy, "date") == 1


def test_a_sas_is_judged_by_the_clock(proxy):
    def status():
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=COMMAND_SEC)
        connection.request("GET", f"/{ACCOUNT}/table()?{sas}", headers={"Accept": "application/json"})
        return connection.getresponse().status

    hour = 3600
    begin, end = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + n * hour)) for n in (-1, 1))
    sas = account_sas(ACCOUNT, KEY, expiry=end, st=begin)
    for ahead, expected in ((0, 200), (2 * hour, 403), (-2 * hour, 403)):
        proxy.control(clock=ahead)
        assert status() == expected
