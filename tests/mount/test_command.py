"""The command line: accounts, options, the look of a mount, and the messages of refusals."""
import os
import pathlib
import re
import stat
import sys

import pytest

from credentials import account_sas, table_sas
from harness import (
    ACCOUNT,
    CONFIGURATION,
    KEY,
    NETWORK,
    NOT_FOUND,
    OTHER_KEY,
    REFUSED,
    TABLEFUSE,
    USAGE,
    Azurite,
    assert_serves,
    environment,
    run,
)
from ports import is_listening, refusing_port

EMULATOR_PORT = 10002

pytestmark = pytest.mark.usefixtures("two_tables")


def refusal(mounts, *options, source=None, env=None, expected):
    """Checks that a mount is refused with one line on standard error and the exit code. Answers the line."""
    mount = mounts.prepare()
    failed = mount.start(source, *options, env=env or {}, check=False)
    assert failed.returncode == expected, failed.stderr
    assert failed.stdout == "" and not mount.is_mounted()
    assert len(failed.stderr.splitlines()) == 1, failed.stderr
    return failed.stderr


def mounted_source(mount):
    return run("findmnt", "-n", "-o", "SOURCE", mount.point).stdout.rstrip("\n")


# --- accounts and credentials


def test_url_and_key(mounts, service):
    assert_serves(mounts(source=service.endpoint, env={"AZURE_STORAGE_KEY": KEY}))


def test_connection_string_in_its_whole_grammar(mounts, service):
    text = f" ;defaultendpointsprotocol=http; ACCOUNTNAME={ACCOUNT} ;AccountKey={KEY};;tableendpoint={service.endpoint}/;"
    assert_serves(mounts(env={"AZURE_STORAGE_CONNECTION_STRING": text}))


@pytest.mark.parametrize("question_mark", ["", "?"])
def test_shared_access_signature(mounts, service, question_mark):
    sas = question_mark + account_sas(ACCOUNT, KEY)
    assert_serves(
        mounts(env={"AZURE_STORAGE_CONNECTION_STRING": service.connection_string(sas=sas)})
    )
    assert_serves(mounts(source=service.endpoint, env={"AZURE_STORAGE_SAS_TOKEN": sas}))


def test_the_emulator_needs_no_environment(mounts, scratch):
    if is_listening(EMULATOR_PORT):
        pytest.skip("something else has the emulator's port")
    emulator = Azurite(scratch, port=EMULATOR_PORT)
    try:
        emulator.sdk.create_table("local", [{"partitionKey": "p", "rowKey": "r"}])
        ignored = {"AZURE_STORAGE_ACCOUNT": "other", "AZURE_STORAGE_KEY": OTHER_KEY}
        for start in (
            {"source": "emulator", "env": ignored},
            {"env": {"AZURE_STORAGE_CONNECTION_STRING": "UseDevelopmentStorage=true"}},
        ):
            assert os.listdir(mounts(**start) / "local") == ["p"]
        assert os.listdir(mounts(source="emulator/local", env={}).point) == ["p"]
    finally:
        emulator.stop()


def test_a_proxy_is_not_for_loopback(mounts, service):
    names = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    with refusing_port() as port:
        proxies = {name: f"http://127.0.0.1:{port}" for name in names}
        env = {"AZURE_STORAGE_CONNECTION_STRING": service.connection_string(), **proxies}
        assert_serves(mounts(env=env))


def test_a_table_as_the_root(mounts, service):
    for start in ({"source": f"{service.endpoint}/table", "env": {"AZURE_STORAGE_KEY": KEY}}, {}):
        mount = mounts(*([] if start else ["table=table"]), **start)
        assert os.listdir(mount.point) == ["p"]
        assert '"N": 1' in (mount / "p/r.json").read_text()
        assert mount.control("version").startswith("tablefuse ")


def test_two_credentials_are_refused_and_named(mounts):
    env = {"AZURE_STORAGE_CONNECTION_STRING": "UseDevelopmentStorage=true", "AZURE_STORAGE_KEY": KEY}
    message = refusal(mounts, env=env, expected=CONFIGURATION)
    assert all(name in message for name in env) and KEY not in message


def test_a_wrong_key_is_refused(mounts, service):
    env = {"AZURE_STORAGE_CONNECTION_STRING": service.connection_string(key=OTHER_KEY)}
    message = refusal(mounts, env=env, expected=REFUSED)
    assert (
        ACCOUNT in message
        and str(service.port) in message
        and "403" in message
        and "AuthorizationFailure" in message
        and " -- the account key is wrong (AZURE_STORAGE_KEY, or AccountKey in" in message
        and "SAS" not in message
    )


SIGNATURE = (
    "the SAS token's signature is wrong (its text was cut or changed, or the key that signed it "
    "was replaced)"
)
MISMATCH = "AuthorizationPermissionMismatch"


@pytest.mark.parametrize(
    "key, fields, table, code, advice",
    [
        (OTHER_KEY, {}, "", "AuthorizationFailure", SIGNATURE),
        (KEY, {"se": "2024-01-01T00:00:00Z"}, "", "AuthorizationFailure", "the SAS token has expired"),
        (KEY, {"st": "2098-01-01"}, "/table", "AuthorizationFailure", "the SAS token is not valid yet"),
        (KEY, {"sp": "r"}, "", MISMATCH, "lacks l in sp=, which listing tables needs"),
        (KEY, {"sp": "l"}, "/table", MISMATCH, "lacks r in sp=, which reading entities needs"),
        (KEY, {"ss": "b"}, "", "AuthorizationServiceMismatch", "make one with t in ss="),
        (KEY, {"srt": "o"}, "", "AuthorizationResourceTypeMismatch", "make one with srt=sco"),
        (KEY, {"spr": "https"}, "", "AuthorizationProtocolMismatch", "spr= allows another protocol"),
    ],
)
def test_a_token_that_is_refused(mounts, service, key, fields, table, code, advice):
    sas = account_sas(ACCOUNT, key, **fields)
    env = {"AZURE_STORAGE_SAS_TOKEN": sas}
    message = refusal(mounts, source=service.endpoint + table, env=env, expected=REFUSED)
    assert f": HTTP 403 {code}: " in message
    assert advice in message.split(" -- ")[1] and "key is wrong" not in message
    assert sas not in message and "sig=" not in message


def test_a_tables_own_token_lists_no_tables(mounts, service):
    env = {"AZURE_STORAGE_SAS_TOKEN": table_sas(ACCOUNT, KEY, "table")}
    message = refusal(mounts, source=service.endpoint, env=env, expected=REFUSED)
    assert "a table's own SAS token cannot list, create or delete tables: write SOURCE/TABLE" in message
    message = refusal(mounts, source=service.endpoint + "/Mixed", env=env, expected=REFUSED)
    assert "the SAS token is for another table, the one in tn=" in message
    assert os.listdir(mounts(source=service.endpoint + "/table", env=env).point) == ["p"]


def test_a_table_is_mounted_with_permission_to_read_alone(mounts, service):
    env = {"AZURE_STORAGE_SAS_TOKEN": account_sas(ACCOUNT, KEY, sp="r")}
    mount = mounts(source=service.endpoint + "/table", env=env)
    assert os.listdir(mount.point) == ["p"]
    assert mounted_source(mount) == service.endpoint + "/table"


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_mount_is_named_by_its_source(mounts, service, slash):
    """As it was given, so that mounts of several endpoints differ. Without one: the account."""
    env = {"AZURE_STORAGE_KEY": KEY}
    assert mounted_source(mounts(source=service.endpoint + slash, env=env)) == service.endpoint
    for option in ([], ["table=table"]):
        mount = mounts(*option, source=f"{service.endpoint}/table{slash}", env=env)
        assert mounted_source(mount) == service.endpoint + "/table"
    mount = mounts("table=table", source=service.endpoint + slash, env=env)
    assert mounted_source(mount) == service.endpoint + "/table"
    assert mounted_source(mounts()) == ACCOUNT
    assert mounted_source(mounts("table=table")) == f"{ACCOUNT}/table"


def test_an_account_that_is_not_there(mounts, service):
    source = service.endpoint.replace(ACCOUNT, "nosuchaccount")
    env = {"AZURE_STORAGE_KEY": KEY}
    message = refusal(mounts, source=source, env=env, expected=NOT_FOUND)
    assert "account nosuchaccount at " in message
    assert message.endswith(" -- check the account's name: `az storage account list --output table`\n")


def test_a_host_that_is_not_there(mounts):
    """A name of this form never resolves (RFC 6761)."""
    source = "https://account.table.core.invalid"
    message = refusal(mounts, source=source, env={"AZURE_STORAGE_KEY": KEY}, expected=NETWORK)
    assert f"account account at {source}: " in message
    assert message.endswith(
        " -- no storage account has this name, or this machine cannot resolve names: check both: "
        "`getent hosts account.table.core.invalid`\n"
    )


def test_a_file_without_local(mounts, tmp_path):
    (tmp_path / "account.tf").touch()
    message = refusal(
        mounts,
        source=str(tmp_path / "account.tf"),
        env={"AZURE_STORAGE_KEY": KEY},
        expected=CONFIGURATION,
    )
    assert message == (
        f"tablefuse: {tmp_path}/account.tf: an account in a file is written as local:FILE -- "
        f"try local:{tmp_path}/account.tf\n"
    )


def test_a_table_that_is_not_there(mounts, service):
    env = {"AZURE_STORAGE_CONNECTION_STRING": service.connection_string()}
    message = refusal(mounts, "table=missing", env=env, expected=NOT_FOUND)
    assert "table missing" in message and message.endswith(" -- check the table's name: `tablefuse tables SOURCE`\n")


@pytest.mark.parametrize("table", ["", "a/b", "ab", "1st", "with space"])
def test_what_is_no_name_of_a_table(mounts, service, table):
    env = {"AZURE_STORAGE_CONNECTION_STRING": service.connection_string()}
    failed = mounts.prepare().start(None, f"table={table}", env=env, check=False)
    assert failed.returncode in (USAGE, CONFIGURATION) and "table" in failed.stderr


def test_an_account_without_tables_can_be_mounted(mounts, scratch):
    empty = Azurite(scratch)
    try:
        mount = mounts(env={"AZURE_STORAGE_CONNECTION_STRING": empty.connection_string()})
        assert os.listdir(mount.point) == []
    finally:
        empty.stop()


# --- usage


def test_unmounting_what_is_not_mounted(tmp_path):
    failed = run(TABLEFUSE, "unmount", tmp_path, check=False)
    assert failed.returncode not in (0, USAGE) and str(tmp_path) in failed.stderr


def test_a_relative_mount_point_and_a_path_with_spaces(mounts, service, tmp_path):
    mount = mounts.prepare()
    point = mount.point.with_name('with spaces\\and "quotes",comma')
    mount.point.rename(point)
    mount.point = point
    env = environment(
        AZURE_STORAGE_CONNECTION_STRING=service.connection_string(), **mount.sanitizers()
    )
    run(TABLEFUSE, "mount", point.name, cwd=point.parent, env=env)
    mount.adopt()
    assert_serves(mount)
    run(TABLEFUSE, "unmount", point.name, cwd=point.parent)
    assert not mount.is_mounted() and mount.has_ended()


# --- the look of a mount


def test_the_mount_table(mounts):
    mount = mounts("ro")
    (line,) = [
        line
        for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()
        if str(mount.point) in line
    ]
    _, _, kind, options = line.split()[:4]
    assert kind == "fuse.tablefuse"
    assert {"ro", "nosuid", "nodev"} <= set(options.split(","))


@pytest.mark.parametrize("layout, fanout, parallelism", [("flat", 1, 64), ("auto", 1000000, 1), ("auto", "auto", 8)])
def test_options_of_listings(mounts, layout, fanout, parallelism):
    given = {"layout": layout, "fanout": fanout, "parallelism": parallelism, "max_nodes": 1000}
    mount = mounts(*(f"{name}={value}" for name, value in given.items()))
    shown = {f"{name} {value}" for name, value in given.items()}
    assert shown <= set(mount.control("config").splitlines())
    assert_serves(mount)


@pytest.mark.asan
def test_owner_and_modes(mounts):
    plain = mounts()
    for path, kind, mode in (
        ("", stat.S_IFDIR, 0o755),
        ("table/p", stat.S_IFDIR, 0o755),
        ("table/p/r.json", stat.S_IFREG, 0o644),
    ):
        status = os.stat(plain / path)
        assert (stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)) == (kind, mode)
        assert (status.st_uid, status.st_gid) == (os.getuid(), os.getgid())
    owned = mounts("uid=1234,gid=2345,umask=027")
    for path, mode in (("", 0o750), ("table", 0o750), ("table/p/r.json", 0o640)):
        status = os.stat(owned / path)
        assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, mode)


def test_control_files(mount):
    assert os.listdir(mount.point) == ["Mixed", "table"] and ".tablefuse" not in os.listdir(
        mount.point
    )
    assert sorted(os.listdir(mount / ".tablefuse")) == ["config", "drop", "errors", "stats", "version"]
    assert re.search(r"^tablefuse \d+\.\d+\.\d+$", mount.control("version"), re.MULTILINE)
    assert pathlib.Path(f"/proc/{mount.pid}").exists()
    config = mount.control("config")
    assert ACCOUNT in config and KEY not in config
    assert {"ttl 1.000", "timeout 60.000", "cache_size 67108864"} <= set(config.splitlines())
    assert {"layout auto", "fanout auto", "parallelism 8", "max_nodes 1000000", "table_drop yes"} <= set(config.splitlines())
    assert f"lost_and_found {mount.state}/tablefuse/lost+found" in config.splitlines()
    for name in ("stats", "errors", "version", "config"):
        assert run("cat", mount / ".tablefuse" / name).stdout is not None
        assert os.stat(mount / ".tablefuse" / name).st_size == len(mount.control(name))
    run("cp", mount / ".tablefuse/stats", mount.point.parent / "copied")
    assert "tablefuse_requests_total" in (mount.point.parent / "copied").read_text()


# Lists a directory as a program with the name that is given.
NAMED = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(15, os.fsencode(sys.argv[1]))
os.listdir(sys.argv[2])
"""


LABELS = r'\{\w+="(?:[^"\\]|\\[\\"n])*"(?:,\w+="(?:[^"\\]|\\[\\"n])*")*\}'


def assert_prometheus_reads(stats):
    """What `promtool check metrics` checks: the form, one HELP and TYPE before the samples of each metric, no series twice,
    counters that end in _total and nothing else that does, base units, and whole histograms."""
    types, helped, series, metric = {}, set(), {}, None
    for line in stats.splitlines():
        if head := re.fullmatch(r"# HELP (\w+) (\S.*\S)", line):
            metric = head[1]
            assert metric not in helped
            helped.add(metric)
        elif head := re.fullmatch(r"# TYPE (\w+) (counter|gauge|histogram)", line):
            assert head[1] == metric not in types
            types[metric] = head[2]
            assert metric.endswith("_total") == (head[2] == "counter") and not re.search("milli|micro|kib", metric), metric
        else:
            name, labels, value = re.fullmatch(rf"(\w+)({LABELS})? (\d+(?:\.\d+)?)", line).groups()
            endings = ("_bucket", "_sum", "_count") if types[metric] == "histogram" else ("",)
            assert name in [metric + ending for ending in endings], line
            assert (name, labels) not in series, line
            series[name, labels] = float(value)
    assert set(types) == helped
    buckets = {}
    for (name, labels), value in series.items():
        if name.endswith("_bucket"):
            others, bound = re.fullmatch(r'\{(.*),le="([^"]*)"\}', labels).groups()
            buckets.setdefault((name.removesuffix("_bucket"), others), []).append((float(bound), value))
    for (metric, others), values in buckets.items():
        assert values == sorted(values) and [count for _, count in values] == sorted(count for _, count in values)
        assert values[-1] == (float("inf"), series[metric + "_count", f"{{{others}}}"])
    assert buckets


def test_stats_are_prometheus_text(mounts):
    """The kernel cuts a process's name after 15 bytes, within a character."""
    mount = mounts("ttl=0", "writeback")
    (mount / "table/p/new.tmp").touch()
    for name in (b"plain", b'"\\\n}', b"a" * 14 + "é".encode(), b"a" * 14 + "€".encode()):
        run(sys.executable, "-c", NAMED, os.fsdecode(name), mount / "table/p")
    stats = mount.control("stats")
    assert_prometheus_reads(stats)
    commands = {value for what, labels in mount.stats().values for name, value in labels if name == "command"}
    assert "process_resident_memory_bytes" in stats and 'tablefuse_build_info{version="' in stats
    assert {"plain", "a" * 14 + "?", r'\"\\?}'} <= commands
    counts = mount.stats()
    assert (
        counts.requests("query", status="200") > 0
        and counts.requests("list_tables", status="200") > 0
    )
    with mount.counting() as counted:
        os.stat(mount / ".tablefuse/stats")
        os.stat(mount / ".tablefuse")
    assert counted.requests() == 0


def test_failures_are_named(mount):
    with mount.counting() as counted:
        failed = run("ls", mount / "missing", check=False)
    assert failed.returncode == 2 and "No such file or directory" in failed.stderr
    assert counted.requests(command="ls") >= 1
    assert mount.control("errors") == "", "a name that is not there is no failure"
