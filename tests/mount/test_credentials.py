"""Files that have the credential of an account: -o credentials=FILE, $CREDENTIALS_DIRECTORY, /etc/tablefuse."""
import datetime
import os
import re
import subprocess
import threading

import pytest

from credentials import Certificate, account_sas
from harness import ACCOUNT, CONFIGURATION, DETACH, EXIT_SEC, KEY, OTHER_KEY, REFUSED, TABLEFUSE, USAGE, Azurite
from harness import copying_mounts, environment, run, wait_until
from messages import cause
from servers import Handler, Server
from tokens import SECRET, Issuer, variables
from writing import write

NAMED = "the file that -o credentials= names"
OTHERS = "is not for its owner alone"

pytestmark = pytest.mark.usefixtures("two_tables")


def make(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


def lines(service, kind):
    sas = account_sas(service.account, service.key)
    return {
        "AZURE_STORAGE_KEY": service.key,
        "AZURE_STORAGE_SAS_TOKEN": f"?{sas}",
        "AZURE_STORAGE_SAS_URL": f"{service.endpoint}?{sas}",
        "AZURE_STORAGE_CONNECTION_STRING": service.connection_string(),
    }[kind]


KINDS = [f"AZURE_STORAGE_{kind}" for kind in ("KEY", "SAS_TOKEN", "SAS_URL", "CONNECTION_STRING")]


def check(*arguments, **env):
    return run(TABLEFUSE, "check", *arguments, env=environment(**env), check=False)


def origin(done):
    """Where the credential is from."""
    assert done.returncode == 0, done.stderr
    return re.search(r"^credential_from (.*)$", done.stdout, re.MULTILINE)[1]


@pytest.mark.asan("AZURE_STORAGE_SAS_URL")
@pytest.mark.parametrize("kind", KINDS)
def test_a_mount(mounts, service, kind, tmp_path):
    text = f"# of the account\r\n\r\n {kind} = {lines(service, kind)} \r\n"
    file = make(tmp_path / "file", text)
    source = service.endpoint if kind in KINDS[:2] else None
    mount = mounts(f"credentials={file}", source=source, env={})
    assert sorted(os.listdir(mount.point)) == ["Mixed", "table"]
    assert f"\ncredential_from {kind} in {file}\n" in mount.control("config")


@pytest.mark.parametrize("verb", ["export", "count"])
def test_commands_with_a_table(service, tmp_path, verb):
    file = make(tmp_path / "file", f"AZURE_STORAGE_KEY={KEY}\n")
    done = run(TABLEFUSE, verb, "--quiet", "-o", f"credentials={file}", f"{service.endpoint}/table")
    assert '"RowKey":"r"' in done.stdout.replace(" ", "") or done.stdout.startswith("entities 1\n")


def test_commands_of_an_account(service, tmp_path):
    file = make(tmp_path / "file", f"AZURE_STORAGE_KEY={KEY}\nAZURE_STORAGE_ACCOUNT={ACCOUNT}\n")
    options = ["-o", f"credentials={file}"]
    assert run(TABLEFUSE, "tables", *options, service.endpoint).stdout == "Mixed\ntable\n"
    assert origin(check(*options, service.endpoint)) == f"AZURE_STORAGE_KEY in {file}"


def test_an_import(service, stored, tmp_path):
    file = make(tmp_path / "file", f"AZURE_STORAGE_KEY={KEY}\n")
    rows = make(tmp_path / "rows", '{"PartitionKey": "p", "RowKey": "imported"}\n')
    with open(rows) as stdin:
        options = ["--quiet", "--create", "-o", f"credentials={file}"]
        command = [TABLEFUSE, "import", *options, f"{service.endpoint}/imported"]
        done = subprocess.run(command, stdin=stdin, env=environment(), timeout=100)
    assert done.returncode == 0 and set(stored("imported")) == {("p", "imported")}


# tests/unit has all lines and modes that are refused, test_secrets.py all files that cannot be read
FILES = [
    (lambda path: None, "cannot be read: No such file or directory"),
    (lambda path: path.symlink_to(make(path.with_name("other"), "AZURE_STORAGE_KEY=x", 0o644)), OTHERS),
    (lambda path: make(path, f"\n{KEY}\n"), ": line 2 is not NAME=value with the name of a variable"),
    (
        lambda path: make(path, f'AZURE_STORAGE_KEY="{KEY}"'),
        ": AZURE_STORAGE_KEY begins or ends with a quotation mark: remove it",
    ),
    (
        lambda path: make(path, f"AZURE_STORAGE_KEY={KEY}\nAZURE_STORAGE_ACCOUNT=other"),
        f": AZURE_STORAGE_ACCOUNT names account 'other', but SOURCE account '{ACCOUNT}'",
    ),
]


@pytest.mark.parametrize("spoil, reason", FILES, ids=range(len(FILES)))
def test_a_file_that_is_refused(mounts, service, tmp_path, spoil, reason):
    path = tmp_path / "file"
    spoil(path)
    failed = mounts.prepare().start(service.endpoint, f"credentials={path}", env={}, check=False)
    said = f"{NAMED}{reason}" if reason.startswith(":") else f"{NAMED} {reason}"
    assert (failed.returncode, cause(failed.stderr)) == (CONFIGURATION, said)


def test_a_file_below_the_mount_point(mounts, service):
    """It could not be read again."""
    mount = mounts.prepare()
    file = make(mount.point / "file", f"AZURE_STORAGE_KEY={KEY}\n")
    failed = mount.start(service.endpoint, f"credentials={file}", env={}, check=False)
    said = f"{file}: the file lies inside its own mount point -- choose another file or another directory"
    assert (failed.returncode, failed.stderr) == (
        CONFIGURATION,
        f"tablefuse: warning: {mount.point} is not empty; the mount hides what is in it\ntablefuse: {said}\n",
    )


def test_a_source_that_is_wrong(tmp_path):
    """The file is not blamed."""
    file = make(tmp_path / "file", f"AZURE_STORAGE_KEY={KEY}\n")
    for source in "No_Account", "https://", "myaccount/no_table":
        failed = check("-o", f"credentials={file}", source)
        assert failed.returncode == CONFIGURATION and failed.stderr and NAMED not in failed.stderr


def test_a_file_without_a_credential(tmp_path):
    file = make(tmp_path / "file", "# nothing yet\n")
    failed = check("-o", f"credentials={file}", "myaccount")
    begin = f"tablefuse: {NAMED}: no credential for account 'myaccount': set AZURE_STORAGE_KEY, "
    assert failed.returncode == CONFIGURATION and failed.stderr.startswith(begin)
    assert failed.stderr.endswith(" -- write such a line into it, AZURE_STORAGE_KEY=... for example\n")


def test_a_file_that_is_found_and_cannot_be_read(tmp_path):
    """Root can read every file but this one."""
    file = tmp_path / "myaccount"
    file.symlink_to(file)
    failed = check("myaccount", CREDENTIALS_DIRECTORY=str(tmp_path))
    said = "; " + f"{file} cannot be read: Too many levels of symbolic links"[:80]
    assert failed.returncode == CONFIGURATION and cause(failed.stderr).endswith(said)
    assert failed.stderr.endswith("or name a file of your own: -o credentials=FILE\n")


def test_sources_that_take_none(mounts, tmp_path):
    file = make(tmp_path / "file", f"AZURE_STORAGE_KEY={KEY}\n")
    account = f"local:{tmp_path}/account"
    for source, option, said in (
        ("emulator", f"credentials={file}", "SOURCE `emulator` has a key: leave out -o credentials="),
        (account, f"credentials={file}", f"{account}: -o credentials= is not for an account in a file: leave it out"),
        (account, "auth=msi", f"{account}: -o auth= is not for an account in a file: leave it out"),
    ):
        failed = mounts.prepare().start(source, option, "create", env={}, check=False)
        assert (failed.returncode, cause(failed.stderr)) == (CONFIGURATION, said)
    assert not (tmp_path / "account").exists()
    failed = check("-o", "credentials=", "myaccount")
    assert (failed.returncode, failed.stderr.splitlines()[0]) == (
        *(USAGE, "tablefuse: check: option credentials=: expected a file"),
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="mount(8) is for root")
def test_a_line_of_fstab(mounts, service, tmp_path):
    """As mount.fuse3 calls the program. The kernel's list of mounts does not have the option."""
    file = make(tmp_path / "file", f"AZURE_STORAGE_KEY={KEY}\n")
    mount = mounts.prepare()
    words = [service.endpoint, mount.point, "-o", f"rw,_netdev,credentials={file},dev,suid"]
    run(TABLEFUSE, *words, env=environment(**mount.variables()))
    mount.adopt()
    assert os.listdir(mount / "table/p") == ["r.json"]
    assert "credentials" not in run("findmnt", "-n", "-o", "OPTIONS", mount.point).stdout


def test_a_file_with_the_settings_of_tokens(mounts, scratch, tmp_path):
    """What it lacks is in the environment."""
    certificate = Certificate(scratch)
    azurite, issuer = Azurite(scratch, certificate=certificate, takes_tokens=True), Issuer(certificate)
    try:
        env = variables("spn", issuer, tmp_path)
        text = "".join(f"{name}={env.pop(name)}\n" for name in ("AZURE_CLIENT_SECRET", "AZURE_TENANT_ID"))
        file = make(tmp_path / "file", text)
        options = [f"ca_cert={certificate.file}", "auth=spn", f"credentials={file}"]
        env |= {"AZURE_CLIENT_SECRET": "of the environment", "AZURE_STORAGE_KEY": "bm90IHVzZWQ="}
        mount = mounts(*options, source=azurite.endpoint, env=env)
        ((_, _, form),) = issuer.requests
        assert form["client_secret"] == SECRET
        assert f"\ncredential_from -o auth= and {file}\n" in mount.control("config")
        make(file, text + f"AZURE_STORAGE_KEY={KEY}\n")
        failed = mounts.prepare().start(azurite.endpoint, *options, env=env, check=False)
        said = f"{NAMED}: -o auth= and AZURE_STORAGE_KEY are both set: unset one of them"
        assert (failed.returncode, cause(failed.stderr)) == (CONFIGURATION, said)
    finally:
        issuer.stop()
        azurite.stop()


# --- which one counts


@pytest.fixture
def with_etc(tmp_path):
    """with_etc(command..., **environment): runs it where /etc is a directory that has `tablefuse` alone."""
    (tmp_path / "etc/tablefuse").mkdir(parents=True)
    space = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]

    def call(*command, **env):
        script = DETACH + 'mount --bind "$0" /etc && exec "$@"'
        words = [*space, "sh", "-c", script, tmp_path / "etc", *command]
        with copying_mounts(environment(**env)) as options:
            return run(*words, check=False, **options)

    call.file = tmp_path / "etc/tablefuse" / ACCOUNT
    return call


def test_the_first_that_has_one_counts_alone(service, with_etc, tmp_path):
    good = f"AZURE_STORAGE_KEY={KEY}\n"
    bad = f"AZURE_STORAGE_KEY={OTHER_KEY}\n"
    option = make(tmp_path / "option", good)
    directory = tmp_path / "directory"
    directory.mkdir()
    of_systemd = make(directory / ACCOUNT, bad)
    make(with_etc.file, bad)
    command = [TABLEFUSE, "check", service.endpoint]
    env = {"AZURE_STORAGE_SAS_TOKEN": account_sas(ACCOUNT, OTHER_KEY), "CREDENTIALS_DIRECTORY": str(directory)}
    # each in its turn is the only one that the service takes
    done = with_etc(*command, "-o", f"credentials={option}", **env)
    assert origin(done) == f"AZURE_STORAGE_KEY in {option}"
    env["AZURE_STORAGE_SAS_TOKEN"] = account_sas(ACCOUNT, KEY)
    assert origin(with_etc(*command, **env)) == "AZURE_STORAGE_SAS_TOKEN"
    del env["AZURE_STORAGE_SAS_TOKEN"]
    assert with_etc(*command, **env).returncode == REFUSED
    make(of_systemd, good)
    assert origin(with_etc(*command, **env)) == f"AZURE_STORAGE_KEY in {of_systemd}"
    make(of_systemd, "AZURE_CLIENT_ID=x\n")  # no credential
    make(with_etc.file, good)
    of_etc = f"AZURE_STORAGE_KEY in /etc/tablefuse/{ACCOUNT}"
    assert origin(with_etc(*command, **env)) == of_etc
    of_systemd.unlink()
    assert origin(with_etc(*command, **env)) == of_etc
    assert origin(with_etc(*command, CREDENTIALS_DIRECTORY="")) == of_etc
    assert origin(with_etc(*command, AZURE_STORAGE_ACCOUNT=ACCOUNT, AZURE_STORAGE_KEY=" \n")) == of_etc
    with_etc.file.unlink()
    assert origin(with_etc(*command)) == "the emulator's key"


def test_a_file_that_is_found_and_refused(service, with_etc):
    make(with_etc.file, f"AZURE_STORAGE_KEY={KEY}\n", 0o644)
    failed = with_etc(TABLEFUSE, "check", service.endpoint)
    said = f"/etc/tablefuse/{ACCOUNT} {OTHERS}"
    assert (failed.returncode, cause(failed.stderr)) == (CONFIGURATION, said)
    make(with_etc.file, "x\n")
    failed = with_etc(TABLEFUSE, "check", service.endpoint)
    said = f"/etc/tablefuse/{ACCOUNT}: line 1 is not NAME=value with the name of a variable"
    assert (failed.returncode, cause(failed.stderr)) == (CONFIGURATION, said)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can have a file of root")
def test_the_group_of_a_file_of_systemd(service, with_etc, tmp_path):
    """Its ACL for a service's user. Elsewhere the same file is refused."""
    file = make(tmp_path / ACCOUNT, f"AZURE_STORAGE_KEY={KEY}\n", 0o440)
    env = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    command = [TABLEFUSE, "check", service.endpoint]
    assert origin(with_etc(*command, **env)) == f"AZURE_STORAGE_KEY in {file}"
    assert origin(with_etc(*command, "-o", f"credentials={file}", **env)) == f"AZURE_STORAGE_KEY in {file}"
    assert cause(check(*command[2:], "-o", f"credentials={file}").stderr) == f"{NAMED} {OTHERS}"


def test_the_account_of_the_environment(service, tmp_path):
    """It names the account, where neither SOURCE nor the file does so."""
    file = make(tmp_path / "file", f"AZURE_STORAGE_KEY={KEY}\n")
    failed = check("-o", f"credentials={file}", AZURE_STORAGE_ACCOUNT=ACCOUNT)
    assert failed.stderr.startswith(f"tablefuse: {NAMED}: devstoreaccount1 is the emulator's account: ")
    failed = check("-o", f"credentials={file}")
    assert failed.stderr.startswith(f"tablefuse: {NAMED}: no account: name one as SOURCE")
    # it does not count beside SOURCE
    done = check("-o", f"credentials={file}", service.endpoint, AZURE_STORAGE_ACCOUNT="other", AZURE_STORAGE_KEY="x")
    assert origin(done) == f"AZURE_STORAGE_KEY in {file}"


# --- a key that is replaced under a mount


class Switch(Server):
    """Before a service, which can be changed for another one. `seen` counts requests, `refused` the answers 403."""

    def __init__(self, service):
        self.service, self.seen, self.refused = service, 0, 0
        self._lock = threading.Lock()
        switch = self

        class Between(Handler):
            def do_GET(self):
                with switch._lock:
                    switch.seen += 1
                answer = self.hand_on(switch.service)
                with switch._lock:
                    switch.refused += answer[0] == 403
                self.reply(*answer)

            do_POST = do_PUT = do_DELETE = do_GET

        super().__init__(Between)
        self.endpoint = f"http://{self.address}/{service.account}"


@pytest.fixture(scope="module")
def rotated(scratch):
    """The service with another key."""
    azurite = Azurite(scratch, key=OTHER_KEY)
    azurite.sdk.create_table("table", [{"partitionKey": "p", "rowKey": "r", "N": 2}])
    yield azurite
    azurite.stop()


@pytest.fixture
def switch(service):
    made = Switch(service)
    yield made
    made.stop()


def test_a_key_that_is_replaced(mounts, rotated, switch, tmp_path):
    """The path is relative, and its directory is a link that is replaced, as Kubernetes does it."""
    for name, key in ("old", KEY), ("new", OTHER_KEY):
        (tmp_path / name).mkdir()
        make(tmp_path / name / "file", f"AZURE_STORAGE_KEY={key}\n")
    (tmp_path / "data").symlink_to("old")
    mount = mounts("ttl=0", "credentials=data/file", source=switch.endpoint, env={}, cwd=tmp_path)
    assert '"N": 1' in (mount / "table/p/r.json").read_text()
    (tmp_path / "next").symlink_to("new")
    (tmp_path / "next").rename(tmp_path / "data")
    (tmp_path / "old/file").unlink()
    switch.service = rotated
    assert os.listdir(mount / "table/p") == ["r.json"]
    assert '"N": 2' in (mount / "table/p/r.json").read_text()
    assert write(mount / "table/p/written.json", '{"A": 1}') == ""
    assert (mount.control("errors"), switch.refused) == ("", 1)
    assert f"\ncredential_from AZURE_STORAGE_KEY in {tmp_path}/data/file\n" in mount.control("config")
    os.unlink(mount / "table/p/written.json")


def test_a_change_is_sent_once_more(mounts, rotated, switch, stored, tmp_path):
    file = make(tmp_path / "file", f"AZURE_STORAGE_KEY={KEY}\n")
    mount = mounts("ttl=0", f"credentials={file}", source=switch.endpoint, env={})
    make(file, f"AZURE_STORAGE_CONNECTION_STRING={switch_string(switch, OTHER_KEY)}\n")
    switch.service = rotated
    assert write(mount / "table/p/sent.json", '{"A": 1}') == ""
    assert '"A": 1' in (mount / "table/p/sent.json").read_text()
    assert (mount.control("errors"), switch.refused) == ("", 1)
    assert ("p", "sent") not in stored("table")
    os.unlink(mount / "table/p/sent.json")


def switch_string(switch, key):
    return f"AccountName={ACCOUNT};AccountKey={key};TableEndpoint={switch.endpoint}"


SAME = [
    lambda file, service: None,
    lambda file, service: make(file, f"AZURE_STORAGE_KEY={OTHER_KEY}\n", 0o644),
    lambda file, service: make(file, "AZURE_STORAGE_KEY=!\n"),
    # of another service
    lambda file, service: make(file, f"AZURE_STORAGE_CONNECTION_STRING={service.connection_string(OTHER_KEY)}\n"),
    lambda file, service: file.unlink(),
]


@pytest.mark.parametrize("change", SAME, ids=range(len(SAME)))
def test_a_file_that_has_no_other_key(mounts, rotated, switch, service, tmp_path, change):
    """The refusal stands: each operation sends one request."""
    file = make(tmp_path / "file", f"AZURE_STORAGE_KEY={KEY}\n")
    mount = mounts("ttl=0", f"credentials={file}", source=switch.endpoint, env={})
    change(file, service)
    switch.service = rotated
    for _ in range(3):
        before = switch.seen
        assert "Permission denied" in run("ls", mount / "table", check=False).stderr
        assert switch.seen == before + 1


# --- the end of a SAS


def in_hours(hours):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


MAKE = "make a new one, unmount, and mount with it"
PUT = "put a new one into its file: it is read when the service refuses this one"


def test_a_sas_that_ends_within_a_day(mounts, service, tmp_path):
    """It is told at the mount, and once in `errors`."""
    end = in_hours(20)
    sas = account_sas(ACCOUNT, KEY, expiry=end)
    file = make(tmp_path / "file", f"AZURE_STORAGE_SAS_TOKEN={sas}\n")
    for options, env, advice in (([], {"AZURE_STORAGE_SAS_TOKEN": sas}, MAKE), ([f"credentials={file}"], {}, PUT)):
        says = f"tablefuse: warning: the SAS ends soon, at {end} -- {advice}\n"
        mount = mounts("ttl=0", *options, source=service.endpoint, env=env, says=says)
        for _ in range(3):
            assert os.listdir(mount / "table/p") == ["r.json"]
        (line,) = mount.control("errors").splitlines()
        assert line.split(" ", 1)[1] == f"credential /: OK: the SAS ends soon, at {end} -- {advice}"
        assert mount.stats().total("tablefuse_failures_total") == 0


def test_a_sas_that_ends_later(mounts, service):
    env = {"AZURE_STORAGE_SAS_TOKEN": account_sas(ACCOUNT, KEY, expiry=in_hours(25))}
    mount = mounts("ttl=0", source=service.endpoint, env=env)
    assert os.listdir(mount / "table/p") == ["r.json"] and mount.control("errors") == ""


def test_the_log_of_a_sas_that_ends(mounts, service):
    end = in_hours(20)
    mount = mounts.prepare()
    log = mount.point.with_name("log")
    env = {"AZURE_STORAGE_SAS_TOKEN": account_sas(ACCOUNT, KEY, expiry=end), **mount.variables()}
    with open(log, "w") as file:
        command = [TABLEFUSE, "mount", "-f", "-o", "ttl=0", service.endpoint, mount.point]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment(**env)
        )
    wait_until(mount.is_mounted)
    mount.adopt()
    for _ in range(3):
        assert os.listdir(mount / "table/p") == ["r.json"]
    assert mount.unmount().returncode == 0 and process.wait(timeout=EXIT_SEC) == 0
    told = [line.partition("the SAS ends soon")[2] for line in log.read_text().splitlines() if "the SAS" in line]
    assert told == [f", at {end} -- {MAKE}"] * 2  # at the mount, and once later


def test_check_of_a_sas_that_ends(service):
    end = in_hours(20)
    done = check(service.endpoint, AZURE_STORAGE_SAS_TOKEN=account_sas(ACCOUNT, KEY, expiry=end))
    assert done.returncode == 0 and f"\nthe SAS ends soon, at {end}\nclock right\n" in done.stdout
    end = in_hours(-1)
    done = check(service.endpoint, AZURE_STORAGE_SAS_TOKEN=account_sas(ACCOUNT, KEY, expiry=end))
    assert done.returncode == REFUSED and f"\nthe SAS has ended, at {end}\n" in done.stdout
    assert "the SAS token has expired: the time in se= is over" in done.stderr
    done = check(service.endpoint, AZURE_STORAGE_SAS_TOKEN=account_sas(ACCOUNT, KEY, expiry=in_hours(25)))
    assert done.returncode == 0 and "the SAS" not in done.stdout


def test_a_sas_that_is_replaced(mounts, service, switch, rotated, tmp_path):
    """The new one has an end of its own."""
    end = in_hours(20)
    file = make(tmp_path / "file", f"AZURE_STORAGE_SAS_TOKEN={account_sas(ACCOUNT, KEY)}\n")
    mount = mounts("ttl=0", f"credentials={file}", source=switch.endpoint, env={})
    assert os.listdir(mount / "table/p") == ["r.json"] and mount.control("errors") == ""
    make(file, f"AZURE_STORAGE_SAS_TOKEN={account_sas(ACCOUNT, OTHER_KEY, expiry=end)}\n")
    switch.service = rotated
    for _ in range(3):
        assert os.listdir(mount / "table/p") == ["r.json"]
    (line,) = mount.control("errors").splitlines()
    assert line.split(" ", 1)[1] == f"credential /: OK: the SAS ends soon, at {end} -- {PUT}"
    assert switch.refused == 1
