"""The command line: accounts, options, the look of a mount, and the messages of refusals."""
import os
import pathlib
import re
import stat

import pytest

from harness import (
    ACCOUNT,
    CONFIGURATION,
    KEY,
    MOUNTING,
    NOT_FOUND,
    OTHER_KEY,
    REFUSED,
    TABLEFUSE,
    USAGE,
    Azurite,
    Sdk,
    account_sas,
    assert_serves,
    environment,
    is_listening,
    refusing_port,
    run,
)

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


# --- accounts and credentials


def test_connection_string(mount):
    assert_serves(mount)


def test_connection_string_in_its_whole_grammar(mounts, service):
    text = f" ;defaultendpointsprotocol=http; ACCOUNTNAME={ACCOUNT} ;AccountKey={KEY};;tableendpoint={service.endpoint}/;"
    assert_serves(mounts(env={"AZURE_STORAGE_CONNECTION_STRING": text}))


def test_url_and_key(mounts, service):
    assert_serves(mounts(source=service.endpoint, env={"AZURE_STORAGE_KEY": KEY}))


@pytest.mark.parametrize("question_mark", ["", "?"])
def test_shared_access_signature(mounts, service, question_mark):
    sas = question_mark + account_sas(ACCOUNT, KEY)
    assert_serves(
        mounts(env={"AZURE_STORAGE_CONNECTION_STRING": service.connection_string(sas=sas)})
    )
    assert_serves(mounts(source=service.endpoint, env={"AZURE_STORAGE_SAS_TOKEN": sas}))


def test_account_key_wins_inside_a_connection_string(mounts, service):
    text = service.connection_string() + ";SharedAccessSignature=sv=2019-02-02&sig=bm9uZQ%3D%3D"
    assert_serves(mounts(env={"AZURE_STORAGE_CONNECTION_STRING": text}))


def test_the_emulator_needs_no_environment(mounts, scratch):
    if is_listening(EMULATOR_PORT):
        pytest.skip("something else has the emulator's port")
    emulator = Azurite(scratch, port=EMULATOR_PORT)
    sdk = Sdk(emulator)
    try:
        sdk.create_table("local", [{"partitionKey": "p", "rowKey": "r"}])
        ignored = {"AZURE_STORAGE_ACCOUNT": "other", "AZURE_STORAGE_KEY": OTHER_KEY}
        for start in (
            {"source": "emulator", "env": ignored},
            {"env": {"AZURE_STORAGE_CONNECTION_STRING": "UseDevelopmentStorage=true"}},
        ):
            assert os.listdir(mounts(**start) / "local") == ["p"]
        assert os.listdir(mounts(source="emulator/local", env={}).point) == ["p"]
    finally:
        sdk.stop()
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


@pytest.mark.parametrize(
    "env, named",
    [
        (
            {
                "AZURE_STORAGE_KEY": KEY,
                "AZURE_STORAGE_ACCOUNT": "a",
                "AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=2",
            },
            ["AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN"],
        ),
        (
            {
                "AZURE_STORAGE_CONNECTION_STRING": "UseDevelopmentStorage=true",
                "AZURE_STORAGE_KEY": KEY,
            },
            ["AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_KEY"],
        ),
        (
            {
                "AZURE_STORAGE_CONNECTION_STRING": "UseDevelopmentStorage=true",
                "AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=2",
            },
            ["AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_SAS_TOKEN"],
        ),
    ],
)
def test_two_credentials_are_refused_and_named(mounts, env, named):
    message = refusal(mounts, env=env, expected=CONFIGURATION)
    assert all(name in message for name in named)


@pytest.mark.parametrize(
    "env, said",
    [
        ({}, "AZURE_STORAGE"),
        ({"AZURE_STORAGE_ACCOUNT": "account"}, "AZURE_STORAGE_KEY"),
        ({"AZURE_STORAGE_KEY": KEY}, "AZURE_STORAGE_ACCOUNT"),
        ({"AZURE_STORAGE_CONNECTION_STRING": "no grammar"}, "AZURE_STORAGE_CONNECTION_STRING"),
        ({"AZURE_STORAGE_CONNECTION_STRING": "AccountName=account"}, "AccountKey"),
        (
            {"AZURE_STORAGE_CONNECTION_STRING": "AccountName=account;AccountKey=not base64!"},
            "AccountKey",
        ),
        (
            {"AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_KEY": "not base64!"},
            "AZURE_STORAGE_KEY",
        ),
        (
            {
                "AZURE_STORAGE_CONNECTION_STRING": f"AccountName=account;AccountKey={KEY};TableEndpoint=https://account.table.cosmos.azure.com:443/"
            },
            "Cosmos",
        ),
        (
            {
                "AZURE_STORAGE_CONNECTION_STRING": f"AccountName=account;AccountKey={KEY};TableEndpoint=http://example.com/account"
            },
            "http",
        ),
        (
            {
                "AZURE_STORAGE_CONNECTION_STRING": f"DefaultEndpointsProtocol=http;AccountName=account;AccountKey={KEY}"
            },
            "http",
        ),
    ],
)
def test_configuration_is_refused(mounts, env, said):
    message = refusal(mounts, env=env, expected=CONFIGURATION)
    assert said.lower() in message.lower()
    assert KEY not in message and "not base64!" not in message


@pytest.mark.parametrize(
    "source",
    [
        "http://example.com/account",
        "https://account.table.cosmos.azure.com",
        "ftp://127.0.0.1/account",
        "https://",
        "Not An Account",
        "http://127.0.0.1:99999/account",
        "http://127.0.0.1",
        "http://localhost.example.com/account",
        "http://127.0.0.1.example.com/account",
    ],
)
def test_a_source_is_refused(mounts, source):
    refusal(mounts, source=source, env={"AZURE_STORAGE_KEY": KEY}, expected=CONFIGURATION)


@pytest.mark.sanitized
def test_a_wrong_key_is_refused(mounts, service):
    env = {"AZURE_STORAGE_CONNECTION_STRING": service.connection_string(key=OTHER_KEY)}
    message = refusal(mounts, env=env, expected=REFUSED)
    assert (
        ACCOUNT in message
        and str(service.port) in message
        and "403" in message
        and "AuthorizationFailure" in message
    )


def test_a_wrong_signature_is_refused(mounts, service):
    sas = account_sas(ACCOUNT, OTHER_KEY)
    env = {"AZURE_STORAGE_CONNECTION_STRING": service.connection_string(sas=sas)}
    assert "403" in refusal(mounts, env=env, expected=REFUSED)


def test_a_table_that_is_not_there(mounts, service):
    env = {"AZURE_STORAGE_CONNECTION_STRING": service.connection_string()}
    assert "missing" in refusal(mounts, "table=missing", env=env, expected=NOT_FOUND)


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


def test_options_of_fuse(mounts):
    mount = mounts("fsname=mine,ttl=0.25,timeout=1.5,cache_size=1M", "noatime")
    lines = pathlib.Path("/proc/self/mounts").read_text().splitlines()
    assert f"mine {mount.point} fuse.tablefuse" in [" ".join(line.split()[:3]) for line in lines]
    shown = {"ttl 0.250", "timeout 1.500", "cache_size 1048576"}
    assert shown <= set(mount.control("config").splitlines())
    assert_serves(mount)


@pytest.mark.parametrize("layout, fanout, parallelism", [("flat", 1, 64), ("auto", 1000000, 1)])
def test_options_of_listings(mounts, layout, fanout, parallelism):
    given = {"layout": layout, "fanout": fanout, "parallelism": parallelism}
    mount = mounts(*(f"{name}={value}" for name, value in given.items()))
    shown = {f"{name} {value}" for name, value in given.items()}
    assert shown <= set(mount.control("config").splitlines())
    assert_serves(mount)


@pytest.mark.sanitized
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
    assert sorted(os.listdir(mount / ".tablefuse")) == ["config", "errors", "stats", "version"]
    assert re.search(r"^tablefuse \d+\.\d+\.\d+$", mount.control("version"), re.MULTILINE)
    assert pathlib.Path(f"/proc/{mount.pid}").exists()
    config = mount.control("config")
    assert ACCOUNT in config and KEY not in config
    assert {"ttl 1.000", "timeout 60.000", "cache_size 67108864"} <= set(config.splitlines())
    assert {"layout auto", "fanout 512", "parallelism 8"} <= set(config.splitlines())
    for name in ("stats", "errors", "version", "config"):
        assert run("cat", mount / ".tablefuse" / name).stdout is not None
        assert os.stat(mount / ".tablefuse" / name).st_size == 0
    run("cp", mount / ".tablefuse/stats", mount.point.parent / "copied")
    assert "tablefuse_requests_total" in (mount.point.parent / "copied").read_text()


def test_stats_are_prometheus_text(mount):
    os.listdir(mount / "table/p")
    stats = mount.control("stats")
    for line in stats.splitlines():
        assert re.fullmatch(
            r'# (HELP|TYPE) \w+ .*|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? \d+(\.\d+)?', line
        ), line
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
