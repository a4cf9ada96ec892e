"""contrib/backup: every table of an account, compressed, and the restore of one of them."""
import os
import shutil
import signal
import subprocess

import pytest

from comparing import compared
from harness import ABANDONED, BOTH_SERVICES, EXIT_SEC, MOUNTING, NOT_FOUND, ROOT, TABLEFUSE, USAGE
from harness import environment, run, wait_until
from importing import imported, row, rows_of
from test_export import export, source, untyped

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

BACKUP = ROOT / "contrib/backup"
DIFFERS, DAMAGED, BUSY, INTERRUPTED = 9, 10, 75, 130
NEEDED = "awk bash cmp date flock grep gzip mkdir mv rm sha256sum sleep sync wc".split()
TABLES = ["large", "small"]


@pytest.fixture(scope="module", autouse=True)
def tables(service):
    service.fill("large", "ten", "2500")  # more than a page, of few partitions: Azurite takes a batch for each
    service.fill("small", "small", "20")


@pytest.fixture
def to(tmp_path):
    (tmp_path / "to").mkdir()
    return tmp_path / "to"


@pytest.fixture
def program(tmp_path):
    """A directory for PATH: program(text) has the text, a script, in place of tablefuse."""
    directory = tmp_path / "bin"
    directory.mkdir()

    def put(text=None):
        if text is None:
            (directory / "tablefuse").symlink_to(TABLEFUSE)
        else:
            (directory / "tablefuse").write_text(f"#!/bin/bash\nreal={TABLEFUSE} state={tmp_path}\n{text}\n")
            (directory / "tablefuse").chmod(0o755)
        return directory

    return put


def variables(service, program, path=None):
    return environment(**service.credentials, PATH=path or f"{program}:{os.environ['PATH']}")


def account(service):
    return source(service, "").rstrip("/")


def backup(service, program, *arguments, path=None):
    """(exit code, what it says)."""
    done = run(BACKUP, *arguments, check=False, env=variables(service, program, path))
    return done.returncode, done.stdout + done.stderr


def made(to):
    return sorted(name for name in os.listdir(to) if name != ".lock")


def file_of(to, table):
    (newest, *_) = reversed(made(to))
    (file,) = (to / newest).glob(f"{table}.jsonl.*")
    return file


def test_a_table_is_restored_as_it_was(service, stored, program, to):
    bin_directory = program()
    before, text = stored("large"), export(service, "large")
    assert backup(service, bin_directory, account(service), to) == (0, "")
    file = file_of(to, "large")
    assert run("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=file.parent).stdout == ""
    counts = [line for line in (file.parent / "SHA256SUMS").read_text().splitlines() if line.startswith("#")]
    assert counts[:2] == ["# entities 2500 large", "# entities 20 small"]
    assert imported(service, "large", [row("new", "r", A=1)]).code == 0
    again = 0, "2500 entities restored, equal to the backup\n"
    for _ in range(2):  # the second time all is there
        assert backup(service, bin_directory, "--restore", file, source(service, "restored")) == again
    assert untyped(stored("restored")) == untyped(before)
    assert export(service, "restored") == text
    assert compared((service, "large"), (service, "restored")).lines == ["+ new/r.json"]
    code, said = backup(service, bin_directory, "--restore", file, source(service, "large"))
    assert (code, said.count("something else")) == (DIFFERS, 1)  # and nothing that is there has changed
    assert row("new", "r", A=1) in rows_of(service, "large")


def test_an_entity_that_is_there_with_another_text_stays(service, program, to):
    bin_directory = program()
    assert backup(service, bin_directory, account(service), to)[0] == 0
    first = rows_of(service, "small")[0]
    changed = row(first["PartitionKey"], first["RowKey"], Changed=True)
    assert imported(service, "changed", [changed], "--create").code == 0
    code, said = backup(service, bin_directory, "--restore", file_of(to, "small"), source(service, "changed"))
    assert code == ABANDONED and "it exists, with another text" in said
    assert changed in rows_of(service, "changed")


def test_it_works_without_zstd(service, program, to):
    bin_directory = program()
    for name in NEEDED:
        (bin_directory / name).symlink_to(shutil.which(name))
    assert backup(service, None, account(service), to, path=str(bin_directory)) == (0, "")
    file = file_of(to, "small")
    assert file.suffix == ".gz"
    code, _ = backup(service, None, "--restore", file, source(service, "unzipped"), path=str(bin_directory))
    assert code == 0 and export(service, "unzipped") == export(service, "small")


def damage_a_byte(file):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def cut(file):
    file.write_bytes(file.read_bytes()[:-1])


def forget(file):
    """The list does not have it."""
    sums = file.with_name("SHA256SUMS")
    sums.write_text("".join(line for line in sums.read_text().splitlines(True) if file.name not in line))


@pytest.mark.parametrize("harm", [damage_a_byte, cut, forget, os.unlink], ids=lambda harm: harm.__name__)
def test_damage_is_found_before_anything_is_restored(service, program, to, harm):
    bin_directory = program()
    assert backup(service, bin_directory, account(service), to)[0] == 0
    file = file_of(to, "large")
    harm(file)
    assert backup(service, bin_directory, "--restore", file, source(service, "untouched"))[0] == DAMAGED
    assert "untouched" not in run(TABLEFUSE, "tables", account(service), env=variables(service, "")).stdout.split()


def test_old_backups_go_when_the_new_one_is_whole(service, program, to):
    bin_directory = program()
    for name in ("2020-01-01T000000Z", "2020-01-02T000000Z", ".partial", "other"):
        (to / name).mkdir()
        (to / name / "file").touch()
    assert backup(service, bin_directory, "--keep=2", account(service), to) == (0, "")
    first, second, other = made(to)
    assert (first, other) == ("2020-01-02T000000Z", "other") and second.startswith("2")
    assert (to / second / "SHA256SUMS").stat().st_mode & 0o777 == 0o600
    assert backup(service, bin_directory, "--keep=0", account(service), to)[0] == USAGE
    assert backup(service, bin_directory, account(service), to / "none")[0] == USAGE


def test_a_table_that_is_removed_meanwhile(service, program, to):
    """Here it was there when the tables were listed, and no longer."""
    listed = 'if [ "$1" = tables ] && mkdir "$state/first" 2> /dev/null; then echo gone; fi; exec $real "$@"'
    code, said = backup(service, program(listed), account(service), to)
    assert code == 0
    assert said.splitlines()[1:] == ["backup: gone: the table was removed meanwhile; it is left out"]
    names = {file.name.partition(".")[0] for file in file_of(to, "large").parent.iterdir()}
    assert names >= {"SHA256SUMS", *TABLES} and "gone" not in names


def test_a_table_that_is_listed_and_not_found(service, program, to):
    listed = '[ "$1" != tables ] || echo gone; exec $real "$@"'
    assert backup(service, program(listed), account(service), to)[0] == NOT_FOUND
    assert made(to) == []


def test_entities_that_are_left_out(service, program, to):
    """What export says by its exit code is said, and no earlier backup is removed."""
    (to / "2020-01-01T000000Z").mkdir()
    left_out = f'$real "$@" || exit; [[ "$*" != export*/small ]] || exit {ABANDONED}'
    code, said = backup(service, program(left_out), "--keep=1", account(service), to)
    assert code == ABANDONED and "no earlier backup is removed" in said
    assert len(made(to)) == 2 and file_of(to, "small").stat().st_size


def test_a_full_disk(service, program, small):
    to, bin_directory = small("96K"), program()
    (to / "2020-01-01T000000Z").mkdir()
    (to / "filled").write_bytes(bytes(72 << 10))
    code, said = backup(service, bin_directory, "--keep=1", account(service), to)
    assert code == MOUNTING and "nothing of this backup is kept" in said
    assert made(to) == ["2020-01-01T000000Z", "filled"]


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"  # its new parent has not looked yet
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_interrupt_leaves_nothing(service, program, to, tmp_path, number):
    """The signal goes to the script alone. Until it ends, no other one runs."""
    bin_directory = program('[ "$1" != tables ] || exec $real "$@"; echo $$ > $state/pid; exec sleep 1000')
    (to / "2020-01-01T000000Z").mkdir()
    words = [BACKUP, "--keep=1", account(service), to]
    with subprocess.Popen(
        words, env=variables(service, bin_directory), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as first:
        try:
            wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
            assert backup(service, bin_directory, *words[1:])[0] == BUSY
            first.send_signal(number)
            said = first.communicate(timeout=EXIT_SEC)[1]
        finally:
            first.kill()
    assert (first.returncode, said) == (INTERRUPTED, "backup: interrupted; nothing of this backup is kept\n")
    assert made(to) == ["2020-01-01T000000Z"]
    wait_until(lambda: has_ended((tmp_path / "pid").read_text().strip()))


def test_no_secret_is_an_argument(service, program, to):
    """Every program that it starts sees the credential in the environment alone."""
    noted = 'printf "%s\\n" "$@" >> $state/arguments; exec $real "$@"'
    assert backup(service, program(noted), account(service), to)[0] == 0
    arguments = (to.parent / "arguments").read_text()
    assert "export" in arguments
    for secret in service.credentials.values():
        assert secret not in arguments


@pytest.mark.parametrize("words", [[], ["a"], ["--unknown", "a", "b"], ["a", "b", "c"], ["-o"], ["--keep=x", "a", "b"]])
def test_wrong_usage(service, program, words):
    code, said = backup(service, program(), *words)
    assert code == USAGE and said.startswith("backup: usage: ")


def test_a_file_that_is_of_no_backup(service, program, to):
    (to / "small.jsonl.gz").touch()
    code, said = backup(service, program(), "--restore", to / "small.jsonl.gz", source(service, "untouched"))
    assert code == NOT_FOUND
    assert said == f"backup: {to}/small.jsonl.gz is no file of a backup: there is no {to}/SHA256SUMS\n"
