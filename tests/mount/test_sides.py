"""`diff` and `sync`: each side has a credential of its own, which never goes to the other side's host."""
import threading

import pytest

from credentials import Certificate, account_sas
from expected import entities_of
from harness import CONFIGURATION, KEY, TABLEFUSE, USAGE, Azurite, environment, run
from servers import Handler, Server
from tokens import CLIENT, SECRET, TENANT, Issuer

OTHER = "other"
OTHER_KEY = "dGhlIGtleSBvZiB0aGUgb3RoZXIgb25l"
ROWS = [{"partitionKey": "p", "rowKey": str(n), "N": n} for n in range(3)]


class Witness(Server):
    """Before a service: hands everything on. `credentials` is what came: the header Authorization, or a signature of the URL."""

    def __init__(self, service, certificate=None):
        self.credentials, lock = set(), threading.Lock()
        witness = self

        class Between(Handler):
            def do_GET(self):
                header = self.headers.get("Authorization", "").partition(":")[0]
                with lock:
                    witness.credentials.add(header or self.path.partition("sig=")[2].partition("&")[0])
                self.reply(*self.hand_on(service))

            do_POST = do_PUT = do_DELETE = do_GET

        super().__init__(Between, certificate)
        scheme = "https" if certificate else "http"
        self.endpoint = f"{scheme}://{self.address}/{service.account}"


@pytest.fixture(scope="module")
def certificate(scratch):
    return Certificate(scratch)


@pytest.fixture(scope="module")
def pair(scratch, certificate):
    """Two services by https, FROM and TO: they have a table `table` with three rows in FROM, and none in TO."""
    azurites = [
        Azurite(scratch, certificate=certificate, takes_tokens=True),
        Azurite(scratch, OTHER, OTHER_KEY, certificate=certificate, takes_tokens=True),
    ]
    azurites[0].sdk.create_table("table", ROWS)
    azurites[1].sdk.create_table("table")
    yield azurites
    for azurite in azurites:
        azurite.stop()


@pytest.fixture
def witnesses(pair, certificate):
    made = [Witness(azurite, certificate) for azurite in pair]
    yield made
    for witness in made:
        witness.stop()


@pytest.fixture
def issuers(certificate):
    made = [Issuer(certificate), Issuer(certificate)]
    yield made
    for issuer in made:
        issuer.stop()


def make(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    path.chmod(0o600)
    return path


def app(issuer):
    """The lines of a file for auth=spn."""
    return (
        *(f"AZURE_TENANT_ID={TENANT}", f"AZURE_CLIENT_ID={CLIENT}", f"AZURE_CLIENT_SECRET={SECRET}"),
        f"AZURE_AUTHORITY_HOST=https://{issuer.address}",
    )


def compare(witnesses, certificate, options, verb="diff", **env):
    words = [TABLEFUSE, verb, "--quiet", "-o", f"ca_cert={certificate.file},{options}"]
    sources = [f"{witness.endpoint}/table" for witness in witnesses]
    return run(*words, *sources, check=False, env=environment(**env))


DIFFERS = "+ p/0.json\n+ p/1.json\n+ p/2.json\n"


def assert_differs(done):
    assert (done.returncode, done.stdout, done.stderr) == (1, DIFFERS, "")


def test_a_key_for_each(witnesses, certificate, tmp_path):
    first = make(tmp_path / "first", f"AZURE_STORAGE_KEY={KEY}")
    second = make(tmp_path / "second", f"AZURE_STORAGE_KEY={OTHER_KEY}")
    env = {"AZURE_STORAGE_KEY": "bm90IHVzZWQ=", "AZURE_STORAGE_SAS_TOKEN": "sig=notused"}  # they do not count
    done = compare(witnesses, certificate, f"from.credentials={first},to.credentials={second}", **env)
    assert_differs(done)
    assert witnesses[0].credentials == {"SharedKey devstoreaccount1"}
    assert witnesses[1].credentials == {f"SharedKey {OTHER}"}


@pytest.mark.parametrize("own", ["from", "to"])
def test_a_key_for_one_and_the_environment_for_the_other(witnesses, certificate, tmp_path, own):
    keys = {"from": KEY, "to": OTHER_KEY}
    file = make(tmp_path / "file", f"AZURE_STORAGE_KEY={keys.pop(own)}")
    (key,) = keys.values()
    assert_differs(compare(witnesses, certificate, f"{own}.credentials={file}", AZURE_STORAGE_KEY=key))
    assert witnesses[0].credentials == {"SharedKey devstoreaccount1"}
    assert witnesses[1].credentials == {f"SharedKey {OTHER}"}


def test_a_token_for_each(witnesses, certificate, issuers, tmp_path):
    """Of two authorities: no token comes to the other side's host."""
    files = [make(tmp_path / str(n), *app(issuer)) for n, issuer in enumerate(issuers)]
    options = f"from.auth=spn,to.auth=spn,from.credentials={files[0]},to.credentials={files[1]}"
    issuers[1].claims = {"uti": "of the other one"}
    assert_differs(compare(witnesses, certificate, options))
    for witness, issuer in zip(witnesses, issuers):
        assert len(issuer.tokens) == 1 and witness.credentials == {f"Bearer {issuer.tokens[0]}"}
    assert issuers[0].tokens != issuers[1].tokens


@pytest.mark.parametrize("own", ["from", "to"])
def test_a_token_for_one_and_a_key_for_the_other(witnesses, certificate, issuers, own):
    """Both are in the environment: the token's application, and the key of the other account."""
    key = OTHER_KEY if own == "from" else KEY
    env = dict(line.split("=", 1) for line in app(issuers[0]))
    assert_differs(compare(witnesses, certificate, f"{own}.auth=spn", AZURE_STORAGE_KEY=key, **env))
    bearer = {f"Bearer {token}" for token in issuers[0].tokens}
    keys = {"from": "SharedKey devstoreaccount1", "to": f"SharedKey {OTHER}"}
    seen = {"from": witnesses[0].credentials, "to": witnesses[1].credentials}
    assert seen.pop(own) == bearer and len(bearer) == 1
    ((other, used),) = seen.items()
    assert used == {keys[other]}


def test_a_sync(pair, witnesses, certificate, issuers, tmp_path):
    file = make(tmp_path / "file", f"AZURE_STORAGE_SAS_TOKEN={account_sas(OTHER, OTHER_KEY, 'raud')}")
    env = dict(line.split("=", 1) for line in app(issuers[0]))
    done = compare(witnesses, certificate, f"from.auth=spn,to.credentials={file}", "sync", **env)
    assert (done.returncode, done.stderr) == (0, "")
    copied = entities_of(pair[1].sdk.read_texts("table"))
    assert sorted(copied) == [("p", "0"), ("p", "1"), ("p", "2")]
    for row in ROWS:
        pair[1].sdk.remove("table", row["partitionKey"], row["rowKey"])
    assert witnesses[0].credentials == {f"Bearer {issuers[0].tokens[0]}"}
    assert len(witnesses[1].credentials) == 1 and "Bearer" not in str(witnesses[1].credentials)


@pytest.fixture
def namesakes(pair, certificate):
    """Two hosts, where accounts have the same name."""
    made = [Witness(pair[1], certificate), Witness(pair[1], certificate)]
    yield made
    for witness in made:
        witness.stop()


@pytest.mark.parametrize("kind", ["AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN"])
def test_a_file_that_is_found_for_two_namesakes(namesakes, certificate, tmp_path, kind):
    """It does not say whose it is: it goes to neither host."""
    value = OTHER_KEY if kind == "AZURE_STORAGE_KEY" else account_sas(OTHER, OTHER_KEY)
    file = make(tmp_path / OTHER, f"{kind}={value}")
    done = compare(namesakes, certificate, "timeout=30", CREDENTIALS_DIRECTORY=str(tmp_path))
    said = f"tablefuse: {file} does not say that it is for {namesakes[0].endpoint} -- with two services write a connection"
    assert (done.returncode, done.stdout) == (CONFIGURATION, "") and done.stderr.startswith(said)
    assert [witness.credentials for witness in namesakes] == [set(), set()]


def test_a_file_that_names_the_host_of_one_namesake(namesakes, certificate, tmp_path):
    file = make(tmp_path / OTHER, f"AZURE_STORAGE_SAS_URL={namesakes[0].endpoint}?{account_sas(OTHER, OTHER_KEY)}")
    done = compare(namesakes, certificate, "timeout=30", CREDENTIALS_DIRECTORY=str(tmp_path))
    said = f"{file}: SOURCE is at {namesakes[1].endpoint}, but AZURE_STORAGE_SAS_URL at {namesakes[0].endpoint}: unset one"
    assert (done.returncode, done.stderr) == (CONFIGURATION, f"tablefuse: {said}\n")
    assert len(namesakes[0].credentials) == 1 and namesakes[1].credentials == set()


def test_files_that_are_found_for_two_services(pair, certificate, tmp_path):
    for azurite in pair:
        make(tmp_path / azurite.account, f"AZURE_STORAGE_CONNECTION_STRING={azurite.connection_string()}")
    assert_differs(compare(pair, certificate, "timeout=30", CREDENTIALS_DIRECTORY=str(tmp_path)))


REFUSED = [
    ("auth=spn", "option auth is for one side: write it with from. or to. before it"),
    ("credentials=x", "option credentials is for one side: write it with from. or to. before it"),
    ("from.table=x", "option from.table is not for this command"),
    ("to.ttl=1", "option to.ttl is not for this command"),
    ("from.=x", "option from. is not for this command"),
    ("table=x", "option table is not for this command"),
    ("from.auth", "option auth needs a value"),
]


@pytest.mark.parametrize("verb, code", [("diff", CONFIGURATION), ("sync", USAGE)])
@pytest.mark.parametrize("option, reason", REFUSED)
def test_options_that_are_refused(verb, code, option, reason):
    done = run(TABLEFUSE, verb, "-o", option, "first/Tab", "second/Tab", check=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (code, f"tablefuse: {verb}: {reason}")


@pytest.mark.parametrize("option", ["from.credentials=x", "from.auth=spn"])
def test_an_account_in_a_file_takes_none(option, tmp_path):
    account = f"local:{tmp_path}/account"
    done = run(TABLEFUSE, "diff", "-o", option, f"{account}/Tab", "emulator/Tab", check=False)
    name = option.partition("=")[0].partition(".")[2]
    said = f"{account}/Tab: -o {name}= is not for an account in a file: leave it out"
    assert (done.returncode, done.stderr) == (CONFIGURATION, f"tablefuse: {said}\n")
