"""A text from empty, and changed in place: what is stored, what a write answers, and how many requests it takes."""
import errno
import json
import os
import pathlib
import subprocess

import pytest

from harness import BOTH_SERVICES, run, wait_until

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

TABLE = "written"
NEW = '{"a": 1, "b": "ü"}'


@pytest.fixture(scope="module", autouse=True)
def data(make_table):
    make_table(TABLE, [("p", "old"), ("p", "other"), ("q", "old")])


@pytest.fixture
def directory(mounts):
    """A mount, and a partition of it that has been looked up."""
    mount = mounts("ttl=60")
    os.stat(mount / TABLE / "p/old.json")
    return mount, mount / TABLE / "p"


def shell(script, cwd, check=True):
    return run("bash", "-c", script, cwd=cwd, check=check)


def errors(mount):
    return mount.control("errors").splitlines()


def lost(mount):
    place = mount.state / "tablefuse/lost+found"
    return {p.name.split("-", 1)[1]: p.read_text() for p in place.iterdir()}


# --- a text from empty


def test_a_new_file(directory, stored):
    mount, p = directory
    with pytest.raises(FileNotFoundError):
        os.stat(p / "new.json")
    with mount.counting() as counted:
        shell(f"echo '{NEW}' > new.json", p)
        text = (p / "new.json").read_text()
        assert os.stat(p / "new.json").st_size == len(text.encode())
    assert counted.asked() == {"write": 1}
    assert text == '{\n  "PartitionKey": "p",\n  "RowKey": "new",\n  "a": 1,\n  "b": "ü"\n}\n'
    assert stored(TABLE)["p", "new"] == {"a": 1, "b": "ü"}
    assert "new.json" in os.listdir(p)
    assert errors(mount) == []


def test_over_an_entity(directory, stored):
    mount, p = directory
    number = os.stat(p / "old.json").st_ino
    with mount.counting() as counted:
        shell("""echo '{"n": 2}' > old.json""", p)
        assert json.loads((p / "old.json").read_text())["n"] == 2
        assert os.stat(p / "old.json").st_ino == number
    assert counted.asked() == {"write": 1}
    assert stored(TABLE)["p", "old"] == {"n": 2}
    assert errors(mount) == []


def test_cp_costs_a_write_and_a_negative_lookup(directory, tmp_path, stored):
    mount, p = directory
    (tmp_path / "source").write_text(NEW)
    with mount.counting() as counted:
        run("cp", tmp_path / "source", p / "copied.json")
        run("cp", p / "copied.json", p / "again.json")
    assert counted.asked() == {"write": 2}  # what is absent is known
    assert stored(TABLE)["p", "again"] == {"a": 1, "b": "ü"}


def test_what_is_no_object_is_refused_by_the_write(directory, stored):
    mount, p = directory
    # it is called bash before it comes to the mount
    done = shell(f"cd '{p}' && echo hello > bad.json", None, check=False)
    assert (done.returncode, done.stderr.strip()) == (
        1,
        "bash: line 1: echo: write error: Invalid argument",
    )
    wait_until(lambda: not (p / "bad.json").exists(), what="the end of the file")
    (line,) = errors(mount)
    assert line.endswith(
        f"write /{TABLE}/p/bad.json: EINVAL: line 1, column 1: not a JSON object [bash]"
    )
    assert ("p", "bad") not in stored(TABLE)
    assert lost(mount) == {}


def test_half_a_text_is_kept(directory, stored):
    """bash does not report a failed close; cp does."""
    mount, p = directory
    shell("""printf '{"a": ' > half.json""", p)
    wait_until(lambda: errors(mount), what="the release")
    (line,) = errors(mount)
    assert "release /written/p/half.json: EINVAL: line 1, column 7: the text ends before" in line
    path = pathlib.Path(line.rsplit(" -- the text is in ", 1)[1])
    assert path.read_text() == '{"a": '
    assert ("p", "half") not in stored(TABLE) and "half.json" not in os.listdir(p)
    (p.parents[1] / ".tablefuse").exists()
    failed = run("cp", path, p / "half.json", check=False)
    assert failed.returncode == 1 and "Invalid argument" in failed.stderr


def test_an_empty_new_file_is_an_entity(directory, stored):
    mount, p = directory
    shell(": > empty.json; touch touched.json", p)
    wait_until(lambda: ("p", "empty") in stored(TABLE), what="the release")
    assert stored(TABLE)["p", "empty"] == stored(TABLE)["p", "touched"] == {}
    assert errors(mount) == []


def test_a_truncated_entity_that_is_not_written_stays(directory, stored):
    mount, p = directory
    before = stored(TABLE)["p", "other"]
    shell(": > other.json", p)
    wait_until(lambda: errors(mount), what="the release")
    assert "EINVAL" in errors(mount)[0] and "no JSON object was written" in errors(mount)[0]
    assert stored(TABLE)["p", "other"] == before
    assert json.loads((p / "other.json").read_text())["RowKey"] == "other"
    assert lost(mount) == {}


def test_names_that_are_no_entity(directory):
    mount, p = directory
    for name in ("plain", "x.txt"):
        with pytest.raises(OSError) as raised:
            (p / name).write_text("{}")
        assert raised.value.errno == errno.EINVAL
    assert "the name of an entity ends in .json" in errors(mount)[0]


def test_several_handles_of_a_new_file(directory, stored):
    """All see one text, also under another spelling of the path. A child writes on through a descriptor."""
    mount, p = directory
    with open(p / "shared.json", "w", encoding="utf-8") as first:
        first.write('{"a": 1')
        first.flush()
        assert (p / "shared.json").read_text() == '{"a": 1'
        assert (mount / TABLE / "p+" / "p/shared.json").read_text() == '{"a": 1'
        assert os.stat(p / "shared.json").st_size == 7
        assert ("p", "shared") not in stored(TABLE)
        with pytest.raises(FileExistsError):
            os.open(mount / TABLE / "p+" / "p/shared.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        subprocess.run(["echo", ', "b": 2}'], stdout=first, check=True)
        assert stored(TABLE)["p", "shared"] == {"a": 1, "b": 2}
    assert errors(mount) == []


def test_groups_of_commands(directory, stored):
    mount, p = directory
    shell("""{ echo '{'; /bin/echo '"a":'; echo '[1]'; } > no.json; true""", p, check=False)
    shell("""{ echo '{'; /bin/echo '"a":'; echo '3}'; } > group.json""", p)
    shell("""exec 3> fd.json; printf '{"x"' >&3; (printf ': 5' >&3); printf '}' >&3""", p)
    assert stored(TABLE)["p", "group"] == {"a": 3}
    assert stored(TABLE)["p", "fd"] == {"x": 5}
    assert ("p", "no") not in stored(TABLE)


def test_two_openers_of_an_entity_have_their_own_texts(directory, stored):
    mount, p = directory
    with pytest.raises(OSError) as raised, open(p / "old.json", "w", encoding="utf-8") as one:
        with open(p / "old.json", "w", encoding="utf-8") as two:
            one.write('{"by":')
            one.flush()
            assert json.loads((p / "old.json").read_text())["RowKey"] == "old"
            two.write('{"by": "two"}')
        assert stored(TABLE)["p", "old"] == {"by": "two"}
        assert json.loads((p / "old.json").read_text())["by"] == "two"
    assert raised.value.errno == errno.EINVAL
    wait_until(lambda: lost(mount), what="the release")
    assert sorted(lost(mount).values())[-1] == '{"by":'


# --- attributes


def test_what_copying_tools_set_is_accepted(directory):
    mount, p = directory
    (p / "kept.json").write_text("{}")
    before = os.stat(p / "kept.json")
    os.chmod(p / "kept.json", 0o600)
    os.chown(p / "kept.json", 1, 1)
    os.utime(p / "kept.json", (1, 1))
    os.utime(p, (1, 1))
    after = os.stat(p / "kept.json")
    assert (after.st_mode, after.st_uid, after.st_mtime_ns) == (
        before.st_mode,
        before.st_uid,
        before.st_mtime_ns,
    )
    os.utime(p / "kept.json")
    assert os.stat(p / "kept.json").st_mtime_ns > before.st_mtime_ns
    with pytest.raises(OSError) as raised:
        os.truncate(p / "kept.json", 0)
    assert raised.value.errno == errno.EINVAL
    assert "a size can only be set through an open file" in errors(mount)[0]


# --- in place


def test_in_place(directory, stored):
    mount, p = directory
    (p / "place.json").write_text('{"a": 1, "b": 2}')
    with mount.counting() as counted:
        with open(p / "place.json", "r+", encoding="utf-8") as file:
            text = file.read()
            file.seek(text.index('"b": 2'))
            file.write('"b": 7')
    assert counted.asked() == {"write": 1}
    assert stored(TABLE)["p", "place"] == {"a": 1, "b": 7}
    assert json.loads((p / "place.json").read_text())["b"] == 7
    shell("""exec 7<>place.json; read -r line <&7; truncate -s 0 /dev/fd/7 2>/dev/null; true""", p)
    with open(p / "place.json", "r+", encoding="utf-8") as file:
        file.truncate(0)
        file.write('{"c": 3}')
    assert stored(TABLE)["p", "place"] == {"c": 3}


def test_touch_moves_the_time_alone(directory, stored):
    _, p = directory
    (p / "time.json").write_text('{"a": 1}')
    before = os.stat(p / "time.json").st_mtime_ns
    run("touch", p / "time.json")
    assert os.stat(p / "time.json").st_mtime_ns > before
    assert stored(TABLE)["p", "time"] == {"a": 1}


# --- appended


def test_what_is_appended_is_merged(directory, stored):
    mount, p = directory
    (p / "log.json").write_text('{"a": 1, "b": 2}')
    size = os.stat(p / "log.json").st_size
    with mount.counting() as counted:
        shell("""echo '{"b": true}{"c": 3}' >> log.json""", p)
        assert json.loads((p / "log.json").read_text())["b"] is True
    assert counted.asked() == {"write": 1}
    shell("""{ echo '{"d"'; echo ': 4} {'; echo '"e": 5}'; } >> log.json""", p)
    assert stored(TABLE)["p", "log"] == {"a": 1, "b": True, "c": 3, "d": 4, "e": 5}
    assert os.stat(p / "log.json").st_size > size
    assert errors(mount) == []
    done = shell("""echo '{"a": null}' >> log.json""", p, check=False)
    assert done.returncode == 1 and "Invalid argument" in done.stderr
    assert "a: null, but a merge cannot remove a property" in errors(mount)[0]
    with pytest.raises(OSError) as raised, open(p / "log.json", "a+", encoding="utf-8") as file:
        file.seek(0)
        file.read()
    assert raised.value.errno == errno.EBADF
    shell("""echo '{"n": 1}' >> none.json""", p)
    assert stored(TABLE)["p", "none"] == {"n": 1}
    done = shell("""exec 3>> grown.json; printf '{"h": ' >&3; cat grown.json; printf '1}' >&3""", p)
    assert done.stdout == '{"h": ', "a new file is seen as it is written"
    assert stored(TABLE)["p", "grown"] == {"h": 1}


def test_processes_that_append_lose_nothing(directory, stored):
    mount, p = directory
    writers = [
        subprocess.Popen(
            ["bash", "-ec", f"""for i in $(seq 10); do echo "{{\\"p{k}x$i\\": $i}}" >> many.json; done"""],
            cwd=p,
        )
        for k in range(6)
    ]
    assert [writer.wait() for writer in writers] == [0] * 6
    assert stored(TABLE)["p", "many"] == {f"p{k}x{i}": i for k in range(6) for i in range(1, 11)}
    assert errors(mount) == []


# --- conflicts


def test_a_process_that_has_read_it_does_not_overwrite_a_change(mounts, stored):
    one, two = mounts("ttl=60"), mounts("ttl=60")
    path = pathlib.Path(TABLE) / "q/old.json"
    (one / path).read_text()
    shell(f"""echo '{{"by": "two"}}' > {path}""", two.point)
    with pytest.raises(OSError) as raised:
        (one / path).write_text('{"by": "one"}')
    assert raised.value.errno == errno.ESTALE
    assert stored(TABLE)["q", "old"] == {"by": "two"}
    (line,) = errors(one)  # although Python writes and flushes once more
    assert "write /written/q/old.json: ESTALE" in line
    assert pathlib.Path(line.rsplit(" -- the text is in ", 1)[1]).read_text() == '{"by": "one"}'
    (one / path).write_text('{"by": "one again"}')
    assert stored(TABLE)["q", "old"] == {"by": "one again"}
    three = mounts("ttl=60,conflict=overwrite")
    (three / path).read_text()
    shell(f"""echo '{{"by": "two"}}' > {path}""", two.point)
    (three / path).write_text('{"by": "three"}')
    assert stored(TABLE)["q", "old"] == {"by": "three"}


def test_an_open_for_reading_and_writing_counts_as_reading(mounts, stored):
    one, two = mounts("ttl=60"), mounts("ttl=60")
    path = pathlib.Path(TABLE) / "q/both.json"
    shell(f"""echo '{{"by": "two"}}' > {path}""", two.point)
    with open(one / path, "r+", encoding="utf-8") as file:
        file.read()
    shell(f"""echo '{{"by": "two again"}}' > {path}""", two.point)
    with pytest.raises(OSError) as raised:
        (one / path).write_text('{"by": "one"}')
    assert raised.value.errno == errno.ESTALE
    assert stored(TABLE)["q", "both"] == {"by": "two again"}


def test_a_touch_of_an_open_file_does_not_hide_a_change(mounts, stored):
    one, two = mounts("ttl=60"), mounts("ttl=60")
    path = pathlib.Path(TABLE) / "q/touched.json"
    shell(f"""echo '{{"by": "two"}}' > {path}""", two.point)
    with pytest.raises(OSError) as raised:
        with open(one / path, "r+", encoding="utf-8") as file:
            shell(f"""echo '{{"by": "two again"}}' > {path}""", two.point)
            os.utime(file.fileno())
            file.truncate(0)
            file.write('{"by": "one"}')
    assert raised.value.errno == errno.ESTALE
    assert stored(TABLE)["q", "touched"] == {"by": "two again"}


def test_what_may_be_stored_is_removed_with_its_name(mounts, stored):
    """The store of a new file is made, its answer is lost, and its repetition is refused. The file is removed while it
    is still open."""
    mount = mounts("ttl=60", faults="lost=write:1,fail=write:2+:403:AuthorizationFailure")
    p = mount / TABLE / "p"
    file = os.open(p / "perhaps.json", os.O_WRONLY | os.O_CREAT)
    with pytest.raises(PermissionError):
        os.write(file, b"{}")
    assert ("p", "perhaps") in stored(TABLE)
    os.unlink(p / "perhaps.json")
    assert ("p", "perhaps") not in stored(TABLE)
    os.close(file)
    assert ("p", "perhaps") not in stored(TABLE)


def test_what_was_not_stored_is_removed_without_a_request(directory, stored):
    mount, p = directory
    file = os.open(p / "half.json", os.O_WRONLY | os.O_CREAT)
    os.write(file, b'{"a"')
    with mount.counting() as counted:
        os.unlink(p / "half.json")
        os.close(file)
    assert counted.asked() == {}
    assert ("p", "half") not in stored(TABLE)
