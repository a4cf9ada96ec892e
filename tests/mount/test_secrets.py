"""A known key is found nowhere: not in output, logs or generated files, and not where other users can look."""
import base64
import os
import pathlib
import re
import resource
import signal
import subprocess
import urllib.parse

import pytest

import tokens
from credentials import Certificate, account_sas
from harness import CONFIGURATION, EXIT_SEC, TABLEFUSE, USAGE, Azurite, environment, run, wait_until
from messages import cause
from servers import Proxy
from writing import lost_texts, write

ACCOUNT = "planted"
SECRET = b"this-is-the-planted-account-key-that-nobody-may-ever-see-again!!"
KEY = base64.b64encode(SECRET).decode()
SAS = account_sas(ACCOUNT, KEY)
SIGNATURE = dict(urllib.parse.parse_qsl(SAS))["sig"]
# not even these parts of them may be found
PARTS = [
    SECRET[8:28],
    KEY[10:30].encode(),
    SIGNATURE[5:25].encode(),
    urllib.parse.quote(SIGNATURE, safe="")[5:25].encode(),
]


@pytest.fixture(scope="module")
def service(scratch):
    azurite = Azurite(scratch, ACCOUNT, KEY)
    yield azurite
    azurite.stop()


@pytest.fixture(scope="module", autouse=True)
def data(sdk):
    sdk.create_table("table", [{"partitionKey": "p", "rowKey": "r"}])


CREDENTIALS = {
    "connection string": lambda url: {
        "AZURE_STORAGE_CONNECTION_STRING": f"AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={url}"
    },
    "connection string with a signature": lambda url: {
        "AZURE_STORAGE_CONNECTION_STRING": f"SharedAccessSignature={SAS};TableEndpoint={url}"
    },
    "key": lambda _: {"AZURE_STORAGE_KEY": KEY},
    "signature": lambda _: {"AZURE_STORAGE_SAS_TOKEN": SAS},
    "URL with a signature": lambda url: {"AZURE_STORAGE_SAS_URL": f"{url}?{SAS}"},
    "URL in place of a signature": lambda url: {"AZURE_STORAGE_SAS_TOKEN": f"{url}/?{SAS}\r\n"},
}


# what a mount with a token of Microsoft Entra ID must not show
TOKEN_SECRETS = (tokens.SECRET, urllib.parse.quote(tokens.SECRET, safe=""), tokens.HEADER, tokens.ASSERTION)


def names_account(env):
    """Is SOURCE not needed?"""
    return any("://" in value for value in env.values())


def source(service, env):
    return None if names_account(env) else service.endpoint


def assert_clean(what, data, parts=PARTS):
    for part in parts:
        assert part not in (
            data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape")
        ), f"in {what}"


def assert_shows_no_secret(mount):
    """In its control files, and in what the system tells of its process."""
    for name in ("stats", "errors", "version", "config"):
        assert_clean(name, mount.control(name))
    for name in ("cmdline", "environ"):
        try:
            assert_clean(name, pathlib.Path(f"/proc/{mount.pid}/{name}").read_bytes())
        except PermissionError:
            pass  # safer still
    assert_clean("the mount table", pathlib.Path("/proc/self/mounts").read_bytes())


@pytest.mark.parametrize("kind", CREDENTIALS)
def test_a_mounted_secret(mounts, service, kind):
    env = CREDENTIALS[kind](service.endpoint)
    mount = mounts("ttl=0", source=source(service, env), env=env)
    run("ls", "-lR", mount.point)
    run("ls", mount / "missing", check=False)
    service.send(signal.SIGSTOP)  # an interrupted request is a failure to tell of
    try:
        process = subprocess.Popen(
            ["ls", mount / "table/p"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=EXIT_SEC)
    finally:
        service.send(signal.SIGCONT)
    assert_shows_no_secret(mount)


@pytest.mark.parametrize("kind", CREDENTIALS)
def test_texts_that_are_not_stored(mounts, service, kind):
    """Refused here, or by the service, for which the signatures are for reading alone; kept in lost+found."""
    env = CREDENTIALS[kind](service.endpoint)
    mount = mounts("ttl=0", source=source(service, env), env=env)
    assert write(mount / "table/p/refused.json", "hello") == "write EINVAL"
    assert write(mount / "table/p/half.json", '{"A":') == "close EINVAL"
    stored = write(mount / "table/p/whole.json", '{"A": 1}')
    assert stored == ("write EACCES" if "signature" in kind else "")
    lost = lost_texts(mount, 1)
    for name in ("stats", "errors", "version", "config"):
        assert_clean(name, mount.control(name))
    assert "half.json" in mount.control("errors")
    for name, text in lost.items():
        assert_clean(name, name + text.decode())


@pytest.mark.parametrize("kind", CREDENTIALS)
def test_a_log_of_failures(mounts, service, kind):
    env = CREDENTIALS[kind](service.endpoint)
    mount = mounts.prepare()
    log = mount.point.with_name("log")
    command = [TABLEFUSE, "mount", "-f", *filter(None, [source(service, env)]), mount.point]
    with open(log, "w") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=environment(**env, **mount.variables()),
        )
    wait_until(mount.is_mounted)
    mount.adopt()
    assert write(mount / "table/p/refused.json", "hello") == "write EINVAL"
    write(mount / "table/p/whole.json", '{"A": 1}')  # a signature for reading is refused
    assert write(mount / "table/p/half.json", '{"A":') == "close EINVAL"
    service.send(signal.SIGSTOP)
    try:
        waiting = subprocess.Popen(
            ["ls", mount / "table"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(timeout=1)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=EXIT_SEC)
        waiting.wait(timeout=EXIT_SEC)
    finally:
        service.send(signal.SIGCONT)
    assert_clean("the log", log.read_bytes())
    assert b"refused.json" in log.read_bytes() and b"half.json" in log.read_bytes()


@pytest.mark.parametrize("kind", CREDENTIALS)
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/planted",
        "http://example.com/planted",
        "https://planted.table.cosmos.azure.com",
    ],
)
def test_a_mount_that_fails(mounts, kind, url):
    env = CREDENTIALS[kind](url)
    mount = mounts.prepare()
    failed = mount.start(
        None if names_account(env) else url, env=env, check=False
    )
    assert failed.returncode in (2, 4)
    assert_clean("what a failure says", failed.stdout + failed.stderr)


def test_what_is_refused_is_not_repeated(mounts, service):
    for env in (
        {
            "AZURE_STORAGE_CONNECTION_STRING": f"AccountName=a;AccountKey={KEY}!;TableEndpoint={service.endpoint}"
        },
        {"AZURE_STORAGE_CONNECTION_STRING": f"{KEY};{SAS}"},
        {
            "AZURE_STORAGE_CONNECTION_STRING": f"AccountName=a;AccountKey={KEY}",
            "AZURE_STORAGE_SAS_TOKEN": SAS,
        },
        {"AZURE_STORAGE_ACCOUNT": "a", "AZURE_STORAGE_KEY": KEY, "AZURE_STORAGE_SAS_TOKEN": SAS},
        {"AZURE_STORAGE_SAS_URL": f"{service.endpoint}?{SAS}", "AZURE_STORAGE_KEY": KEY},
        {"AZURE_STORAGE_SAS_URL": f'"{service.endpoint}?{SAS}"'},
        {"AZURE_STORAGE_SAS_URL": f"{service.endpoint}/a/b?{SAS}"},
        {"AZURE_STORAGE_SAS_URL": SAS},
        {"AZURE_STORAGE_KEY": f"'{KEY}'", "AZURE_STORAGE_ACCOUNT": "planted"},
        {"AZURE_STORAGE_CONNECTION_STRING": f"{service.endpoint}?{SAS}"},
    ):
        failed = mounts.prepare().start(env=env, check=False)
        assert failed.returncode == 2
        assert_clean("a refusal", failed.stdout + failed.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        ["mount", "URL?SAS"],
        ["mount", "URL?SAS", "point"],
        ["mount", "local:file?SAS", "point"],
        ["mount", "local:file", "point", "-o", "ttl=SAS"],
        ["mount", "local:file", "point", "-o", "ro,fsname=?SAS"],
        ["check", "URL?SAS"],
        ["check", "local:file?SAS"],
        ["unmount", "SAS"],
        ["drop", "URL?SAS"],
    ],
)
def test_a_signature_as_an_argument(service, arguments):
    """It is in `ps` for as long as the process lives, which is short, and nowhere else."""
    verb = arguments[0]
    meant = [word.replace("URL", f"{service.endpoint}/table").replace("SAS", SAS) for word in arguments]
    failed = run(TABLEFUSE, *meant, check=False)
    assert (failed.returncode, failed.stdout) == (USAGE, "")
    assert failed.stderr == (
        f"tablefuse: {verb}: a SAS as an argument can be read in `ps`: "
        "put it into AZURE_STORAGE_SAS_URL or AZURE_STORAGE_SAS_TOKEN\n"
        f"try `tablefuse {verb} --help`\n"
    )


def test_a_url_that_fstab_has(service):
    """mount.fuse3 passes the source on."""
    source = f"{service.endpoint}?{SAS}"
    failed = run(TABLEFUSE, source, "/nowhere", "-o", "rw,nodev", check=False)
    assert failed.returncode == USAGE and "AZURE_STORAGE_SAS_URL" in failed.stderr
    assert_clean("a refusal", failed.stderr)


def test_an_account_in_a_file_uses_no_secret(mounts, service, tmp_path):
    """They are overwritten in the environment all the same."""
    env = {}
    for credential in CREDENTIALS.values():
        env |= credential(service.endpoint)
    mount = mounts("create", source=f"local:{tmp_path}/account.tablefuse", env=env)
    environ = pathlib.Path(f"/proc/{mount.pid}/environ").read_bytes()
    for name in env:
        assert f"{name}=".encode() in environ, "it was planted"
    assert_clean("environ", environ)


@pytest.mark.parametrize("kind", CREDENTIALS)
@pytest.mark.parametrize("is_in_file", [False, True])
def test_a_core(mounts, service, kind, is_in_file, tmp_path):
    """A crash with core dumps allowed leaves none, or one without the secret."""
    env = CREDENTIALS[kind](service.endpoint)
    options = [f"credentials={credentials_file(tmp_path, env)}"] if is_in_file else []
    before = resource.getrlimit(resource.RLIMIT_CORE)
    try:
        if before[1] == resource.RLIM_INFINITY:
            resource.setrlimit(
                resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )
        own = {} if is_in_file else env
        mount = mounts(*options, source=source(service, env), env=own, cwd=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
    run("ls", "-lR", mount.point)
    began = os.stat(tmp_path).st_mtime
    mount.send(signal.SIGABRT)
    assert mount.has_ended()
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    assert re.match(r"[|/]|[\w%.]+$", pattern)
    for directory in {
        tmp_path,
        pathlib.Path("/"),
        mount.point.parent,
        pathlib.Path(pattern).parent,
    }:
        for core in directory.glob("core*"):
            if core.is_file() and core.stat().st_mtime >= began:
                try:
                    assert_clean(f"the core {core}", core.read_bytes())
                finally:
                    core.unlink()


def in_file(env, directory):
    """The same credential in a file, as docker and Kubernetes hand it out: a link to a file of one line."""
    ((name, value),) = env.items()
    (directory / "real").write_bytes(f"{value}\n".encode())
    (directory / "secret").symlink_to("real")
    return {f"{name}_FILE": str(directory / "secret")}


@pytest.mark.parametrize("kind", CREDENTIALS)
def test_a_secret_in_a_file(mounts, service, kind, tmp_path):
    env = CREDENTIALS[kind](service.endpoint)
    mount = mounts(source=source(service, env), env=in_file(env, tmp_path))
    assert "r.json" in os.listdir(mount / "table/p")
    for name in ("errors", "config"):
        assert_clean(name, mount.control(name))
    assert_clean("environ", pathlib.Path(f"/proc/{mount.pid}/environ").read_bytes())


def test_a_relative_path_of_a_secret(mounts, service, tmp_path):
    in_file({"AZURE_STORAGE_KEY": KEY}, tmp_path)
    mount = mounts(source=service.endpoint, env={"AZURE_STORAGE_KEY_FILE": "secret"}, cwd=tmp_path)
    assert "r.json" in os.listdir(mount / "table/p")


def make_fifo(path):
    os.mkfifo(path)


FILES = [
    (lambda path: None, "cannot be read: No such file or directory"),
    (lambda path: path.mkdir(), "is no regular file"),
    (make_fifo, "is no regular file"),
    (lambda path: path.symlink_to(path), "cannot be read: Too many levels of symbolic links"),
    (lambda path: path.write_text(""), "is empty"),
    (lambda path: path.write_bytes(b"\xef\xbb\xbf\r\n"), "is empty"),
    (lambda path: path.write_text(KEY * 1000), "is larger than 64 KiB"),
    (lambda path: path.write_text(f"{KEY}\0"), "has a NUL byte: it is no text"),
]


@pytest.mark.parametrize("make, reason", FILES, ids=[reason for _, reason in FILES])
def test_a_file_that_has_no_secret(mounts, service, make, reason, tmp_path):
    path = tmp_path / "secret"
    make(path)
    for name in "KEY", "SAS_TOKEN", "SAS_URL", "CONNECTION_STRING":
        variable = f"AZURE_STORAGE_{name}_FILE"
        failed = mounts.prepare().start(service.endpoint, env={variable: str(path)}, check=False)
        assert failed.returncode == CONFIGURATION
        assert cause(failed.stderr) == f"the file that {variable} names {reason}"


WRONG = {
    "KEY": ("not base64", "{} is not the base64 of an account key: was it cut?"),
    "SAS_TOKEN": (KEY, "{} looks like an account key: put it into AZURE_STORAGE_KEY"),
    "SAS_URL": ("here", "{} "),
    "CONNECTION_STRING": ("AccountName=myaccount", "{} "),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_secret_in_a_file_names_the_variable_of_the_file(mounts, name, tmp_path):
    text, begin = WRONG[name]
    source = ["myaccount"] if name in ("KEY", "SAS_TOKEN") else []
    for is_quoted in False, True:
        env = in_file({f"AZURE_STORAGE_{name}": f'"{text}"' if is_quoted else text}, tmp_path)
        failed = mounts.prepare().start(*source, env=env, check=False)
        assert failed.returncode == CONFIGURATION
        variable = f"AZURE_STORAGE_{name}_FILE"
        expected = "{} begins or ends with a quotation mark: remove it" if is_quoted else begin
        assert failed.stderr.startswith("tablefuse: " + expected.format(variable)), failed.stderr
        (tmp_path / "real").unlink()
        (tmp_path / "secret").unlink()


def test_a_secret_in_place_of_its_file(mounts, service):
    failed = mounts.prepare().start(service.endpoint, env={"AZURE_STORAGE_KEY_FILE": KEY}, check=False)
    assert failed.returncode == CONFIGURATION
    assert_clean("a refusal", failed.stderr)


def test_a_secret_and_its_file(mounts, service, tmp_path):
    env = {"AZURE_STORAGE_KEY": KEY}
    both = {**env, **in_file(env, tmp_path)}
    failed = mounts.prepare().start(service.endpoint, env=both, check=False)
    assert failed.returncode == CONFIGURATION
    assert failed.stderr == (
        "tablefuse: AZURE_STORAGE_KEY and AZURE_STORAGE_KEY_FILE are both set: unset one of them\n"
    )
    mount = mounts(source=service.endpoint, env={**both, "AZURE_STORAGE_KEY": ""})
    assert "r.json" in os.listdir(mount / "table/p")


@pytest.fixture(scope="module")
def certificate(scratch):
    return Certificate(scratch)


@pytest.fixture(scope="module")
def tls_service(scratch, certificate):
    azurite = Azurite(scratch, "tokens", KEY, certificate=certificate, takes_tokens=True)
    azurite.sdk.create_table("table", [{"partitionKey": "p", "rowKey": "r"}])
    yield azurite
    azurite.stop()


@pytest.fixture(params=tokens.MODES)
def with_token(request, tls_service, certificate, tmp_path):
    """(issuer, the arguments of `mount`, its environment). Secrets of other modes are in it, too."""
    mode = request.param
    issuer = tokens.Issuer(certificate if tokens.is_tls(mode) else None, life=4)
    others = {"AZURE_CLIENT_SECRET": tokens.SECRET, "IDENTITY_HEADER": tokens.HEADER}
    env = {**others, **tokens.variables(mode, issuer, tmp_path)}
    options = f"ttl=0,ca_cert={certificate.file},{tokens.option(mode)}"
    yield issuer, ["-o", options, tls_service.endpoint], env
    issuer.stop()


def parts_of(issuer):
    """Not even these parts may be found. A part of the claims is shown, but not as it stands in the token."""
    pieces = [text[len(text) // 4 :][:20] for text in (*TOKEN_SECRETS, *issuer.tokens)]
    return [piece.encode() for piece in pieces]


def assert_shows_no_token(mount, issuer):
    for name in ("stats", "errors", "version", "config"):
        assert_clean(name, mount.control(name), parts_of(issuer))
    for name in ("cmdline", "environ"):
        try:
            assert_clean(name, pathlib.Path(f"/proc/{mount.pid}/{name}").read_bytes(), parts_of(issuer))
        except PermissionError:
            pass  # safer still
    assert_clean("the mount table", pathlib.Path("/proc/self/mounts").read_bytes(), parts_of(issuer))


def test_a_token(mounts, with_token, tmp_path):
    """Whatever fails: the log, too, shows none of it."""
    issuer, arguments, env = with_token
    mount = mounts.prepare()
    log = mount.point.with_name("log")
    with open(log, "w") as file:
        process = subprocess.Popen(
            [TABLEFUSE, "mount", "-f", *arguments, mount.point],
            **{"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file},
            env=environment(**env, **mount.variables()),
        )
    wait_until(mount.is_mounted)
    mount.adopt()
    assert os.listdir(mount / "table/p") == ["r.json"]
    assert_shows_no_token(mount, issuer)
    issuer.answer = (401, '{"error_description": "AADSTS1: no. more"}')
    if (tmp_path / "bin").exists():
        tokens.install_az(tmp_path / "bin", "echo no >&2; exit 1")
    wait_until(lambda: run("ls", mount / "table/p", check=False).returncode != 0)
    assert_shows_no_token(mount, issuer)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=EXIT_SEC)
    assert b"EACCES: no token from " in log.read_bytes()
    assert_clean("the log", log.read_bytes(), parts_of(issuer))


def test_a_core_with_a_token(mounts, with_token, tmp_path):
    issuer, arguments, env = with_token
    mount = mounts.prepare()
    before = resource.getrlimit(resource.RLIMIT_CORE)
    try:
        if before[1] == resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
        mount.start(arguments[2], arguments[1], env=env, cwd=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    mount.send(signal.SIGABRT)
    assert mount.has_ended()
    for directory in {tmp_path, pathlib.Path("/"), mount.point.parent, pathlib.Path(pattern).parent}:
        for core in directory.glob(f"core*{mount.pid}*"):
            assert_clean(f"the core {core}", core.read_bytes(), parts_of(issuer))


def test_what_az_inherits(mounts, tls_service, certificate, tmp_path):
    """Of secrets nothing, and of descriptors none."""
    issuer = tokens.Issuer()
    others = {"AZURE_CLIENT_SECRET": tokens.SECRET, "IDENTITY_HEADER": tokens.HEADER}
    script = f"env > {tmp_path}/env; {tokens.az_answers(issuer.next_token(), 3600)}"
    env = {**others, **tokens.install_az(tmp_path / "bin", script)}
    mounts(f"ca_cert={certificate.file}", "auth=azcli", source=tls_service.endpoint, env=env)
    inherited = (tmp_path / "env").read_bytes()
    assert b"AZURE_CLIENT_SECRET=\n" in inherited and b"IDENTITY_HEADER=\n" in inherited
    assert_clean("the environment of az", inherited, parts_of(issuer))
    issuer.stop()


# --- in a file of credentials


def credentials_file(directory, env, mode=0o600):
    ((name, value),) = env.items()
    file = directory / "credentials"
    file.write_text(f"# of the account\n{name}={value.strip()}\n")
    file.chmod(mode)
    return file


def memory_of(pid):
    """What the process can write to, as far as it can be read."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        found = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
        if not found or "[v" in line:
            continue
        begin, end = (int(text, 16) for text in found.groups())
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
            file.seek(begin)
            try:
                yield file.read(end - begin)
            except OSError:
                pass  # not backed by memory


@pytest.mark.parametrize("kind", CREDENTIALS)
def test_a_file_of_credentials(mounts, service, kind, tmp_path):
    """Also after the file was read again, and was refused then."""
    env = CREDENTIALS[kind](service.endpoint)
    file = credentials_file(tmp_path, env)
    proxy = Proxy(service)
    source_url = None if names_account(env) else f"http://{proxy.address}/{ACCOUNT}"
    mount = mounts.prepare()
    log = mount.point.with_name("log")
    command = [TABLEFUSE, "mount", "-f", "-o", f"ttl=0,credentials={file}", *filter(None, [source_url]), mount.point]
    with open(log, "w") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment(**mount.variables())
        )
    try:
        wait_until(mount.is_mounted)
        mount.adopt()
        assert "r.json" in os.listdir(mount / "table/p")
        file.write_text(f"{KEY}\n{SAS}\nAZURE_STORAGE_SAS_TOKEN={SAS}\n")
        if source_url:  # it is refused, and so the file is read again
            proxy.status, proxy.page = 403, b'{"odata.error":{"code":"AuthenticationFailed","message":{"value":"no"}}}'
            assert run("ls", mount / "table", check=False).returncode != 0
        assert_shows_no_secret(mount)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=EXIT_SEC)
        proxy.stop()
    assert_clean("the log", log.read_bytes())
    if source_url:
        assert b"there is no other one: the file that -o credentials= names: line 1 is not NAME=value" in log.read_bytes()


@pytest.mark.parametrize("kind", CREDENTIALS)
def test_check_of_a_file_of_credentials(service, kind, tmp_path):
    env = CREDENTIALS[kind](service.endpoint)
    file = credentials_file(tmp_path, env)
    done = run(TABLEFUSE, "check", "-o", f"credentials={file}", *filter(None, [source(service, env)]), check=False)
    assert done.returncode == 0
    assert_clean("what check says", done.stdout + done.stderr)


def test_what_a_refused_file_of_credentials_says(service, tmp_path):
    for text in (KEY, SAS, f"{service.endpoint}?{SAS}", f"AccountKey={KEY}", f"KEY_{KEY}", f"AZURE_STORAGE_KEY '{KEY}'"):
        (tmp_path / "file").write_text(text)
        (tmp_path / "file").chmod(0o600)
        done = run(TABLEFUSE, "check", "-o", f"credentials={tmp_path}/file", service.endpoint, check=False)
        assert done.returncode == 2
        assert_clean("a refusal", done.stdout + done.stderr)
    done = run(TABLEFUSE, "check", "-o", f"credentials={KEY}", service.endpoint, check=False)
    assert done.returncode == 2
    assert_clean("a refusal", done.stdout + done.stderr)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can read the memory")
@pytest.mark.parametrize("is_in_file", [False, True])
def test_the_text_of_a_key_in_memory(mounts, service, is_in_file, tmp_path):
    """What signs is the decoded key. The text is wiped everywhere."""
    env = CREDENTIALS["key"](service.endpoint)
    options = [f"credentials={credentials_file(tmp_path, env)}"] if is_in_file else []
    mount = mounts("ttl=0", *options, source=service.endpoint, env={} if is_in_file else env)
    assert "r.json" in os.listdir(mount / "table/p")
    found = list(memory_of(mount.pid))
    assert any(PARTS[0] in part for part in found), "the decoded key is found"
    for part in found:
        assert PARTS[1] not in part
