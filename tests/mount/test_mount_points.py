"""Where a mount is made, how mount(8) and fstab make it, and what findmnt and df show of it."""
import os
import pathlib
import shutil

import pytest

from harness import (
    CONFIGURATION,
    KEY,
    MOUNTING,
    NOT_FOUND,
    TABLEFUSE,
    LocalAccount,
    environment,
    fill,
    run,
)

MOUNT_FUSE = shutil.which("mount.fuse3", path="/sbin:/usr/sbin")

needs_mount8 = pytest.mark.skipif(
    os.geteuid() != 0 or not MOUNT_FUSE, reason="mount(8) mounts for root, by mount.fuse3"
)


@pytest.fixture(scope="module")
def service(scratch):
    """The sample account. No server is started."""
    account = LocalAccount(scratch / "sample.tf")
    account.fill("sample")
    yield account
    account.stop()


def shown(mount, *columns):
    """What findmnt shows in these columns."""
    return run("findmnt", "-n", "-r", "-o", ",".join(columns), mount.point).stdout.strip()


def source_of(mount):
    """The mount's source, which findmnt escapes in its raw format and not in this one."""
    return run("findmnt", "-n", "-o", "SOURCE", mount.point).stdout.strip("\n")


def refused(mount, *arguments, expected=MOUNTING):
    """Checks that it is refused with one line, and answers it without the program's name."""
    failed = run(TABLEFUSE, "mount", *arguments, check=False)
    assert (failed.returncode, failed.stdout) == (expected, ""), failed
    (line,) = failed.stderr.splitlines()
    assert not mount.is_mounted() and line.startswith("tablefuse: ")
    return line[len("tablefuse: ") :]


# --- names


def test_a_mount_is_named_by_its_source(mounts, service):
    mount = mounts()
    assert shown(mount, "SOURCE", "FSTYPE") == f"{service.source} fuse.tablefuse"
    assert run("df", "--output=source", mount.point).stdout.splitlines()[1] == service.source


def test_the_name_of_a_relative_file(mounts, service):
    mount = mounts(source=f"local:./{service.file.name}/packages/", cwd=service.file.parent)
    assert source_of(mount) == f"{service.source}/packages"


@pytest.mark.parametrize("how", ["a path", "an option"])
def test_a_mount_of_a_table_names_it(mounts, service, how):
    if how == "a path":
        mount = mounts(source=f"{service.source}/packages")
    else:
        mount = mounts("table=packages")
    assert sorted(os.listdir(mount.point)) == ["Newtonsoft.Json", "Serilog", "zlib"]
    assert source_of(mount) == f"{service.source}/packages"
    assert {f"account {service.source}", "table packages"} <= set(
        mount.control("config").splitlines()
    )


@pytest.mark.parametrize("options", [[], ["auto_unmount"]])
def test_a_name_that_has_to_be_escaped(mounts, scratch, options):
    directory = scratch / f"a b,c\\d'\"{len(options)}"
    directory.mkdir()
    fill(f"local:{directory}/x y.tf", "sample")
    mount = mounts(*options, source=f"local:{directory}/x y.tf")
    assert source_of(mount) == f"local:{directory}/x y.tf"
    assert sorted(os.listdir(mount.point)) == ["keys", "orders", "packages"]


def test_the_user_may_name_the_mount(mounts):
    assert shown(mounts("fsname=mine,subtype=other"), "SOURCE", "FSTYPE") == "mine fuse.tablefuse"


# --- FILE/TABLE

NO_TABLE = "local:{file} has no table nosuch -- `tablefuse tables SOURCE` shows those that it has"


@pytest.mark.parametrize("slash", ["/", "//"])
def test_slashes_behind_a_file(mounts, service, slash):
    assert sorted(os.listdir(mounts(source=service.source + slash).point)) == [
        "keys",
        "orders",
        "packages",
    ]
    mount = mounts(source=f"{service.source}{slash}orders{slash}")
    assert source_of(mount) == f"{service.source}/orders"


@pytest.mark.parametrize(
    "rest, option, expected, said",
    [
        ("/nosuch", None, NOT_FOUND, NO_TABLE),
        ("", "table=nosuch", NOT_FOUND, NO_TABLE),
        (
            *("/a b", None, CONFIGURATION),
            "local:{file}/a b: what follows the file is not the name of a table, which has 3 to 63 letters and digits, "
            "a letter first -- `tablefuse tables local:FILE` shows the tables",
        ),
        (
            *("/packages/zlib", None, CONFIGURATION),
            "local:{file}/packages/zlib: a file is followed by more than /TABLE -- write local:FILE/TABLE",
        ),
        (
            *("/packages", "table=orders", CONFIGURATION),
            "SOURCE names the table packages, but -o table= names another one -- leave -o table= out",
        ),
    ],
)
def test_a_table_that_cannot_be_mounted(mounts, service, rest, option, expected, said):
    mount = mounts.prepare()
    flags = ["-o", option] if option else []
    line = refused(mount, *flags, service.source + rest, mount.point, expected=expected)
    assert line == said.format(file=service.file)


# --- directories


def test_a_directory_that_is_not_empty(mounts, service):
    mount = mounts.prepare()
    (mount / "file").touch()
    done = run(TABLEFUSE, "mount", service.source, mount.point)
    mount.adopt()
    assert done.stdout == ""
    assert done.stderr == (
        f"tablefuse: warning: {mount.point} is not empty; the mount hides what is in it\n"
    )
    assert sorted(os.listdir(mount.point)) == ["keys", "orders", "packages"]
    mount.unmount()
    assert os.listdir(mount.point) == ["file"]


def test_directories_that_cannot_be(mounts, service):
    mount = mounts.prepare()
    missing, file = mount / "missing", mount / "file"
    said = refused(mount, service.source, missing)
    assert said == (
        f"cannot mount at {missing}: No such file or directory -- create the directory first: `mkdir -p DIR`"
    )
    said = refused(mount, mount.point, "local:account.tf")
    assert said == "cannot mount at local:account.tf: No such file or directory -- SOURCE stands before DIR"
    file.touch()
    assert refused(mount, service.source, file) == f"cannot mount at {file}: it is not a directory -- create one: `mkdir -p DIR`"
    for system in ("/", "/proc/fs"):
        said = refused(mount, service.source, system)
        assert said == (
            f"cannot mount at {system}: the mount would hide the whole system"
            " -- choose another directory: `mkdir -p ~/tables`"
        )


def test_a_long_path_of_blanks(mounts, service):
    """/proc/self/mounts has four bytes for each blank."""
    mount = mounts.prepare()
    mount.point = mount.point.joinpath(*["a" + " " * 250 + "b"] * 12)
    mount.point.mkdir(parents=True)
    mount.start(service.source)
    assert sorted(os.listdir(mount.point)) == ["keys", "orders", "packages"]
    said = refused(mounts.prepare(), service.source, mount.point)
    assert said.startswith(f"cannot mount at {mount.point}: a tablefuse mount is there already")
    mount.unmount()
    assert not mount.is_mounted() and mount.has_ended()


def test_a_directory_in_a_mount(mounts, service):
    mount, other = mounts(), mounts.prepare()
    for inside in ("packages", "packages/zlib", "packages/zlib/1.3.1.json"):
        said = refused(other, service.source, mount / inside)
        assert said == (
            f"cannot mount at {mount / inside}: it lies in a tablefuse mount -- "
            "choose a directory outside: `mkdir -p ~/tables`"
        )
    said = refused(other, service.source, mount.point)
    assert said == (
        f"cannot mount at {mount.point}: a tablefuse mount is there already -- "
        "`tablefuse unmount DIR` first, or choose another directory"
    )


# --- df


def test_nothing_is_free_in_a_read_only_mount(mounts, tmp_path):
    mount = mounts("ro")
    status = os.statvfs(mount.point)
    assert (status.f_blocks, status.f_bfree, status.f_bavail) == (1, 0, 0)
    assert (status.f_files, status.f_ffree, status.f_favail) == (0, 0, 0)
    assert (status.f_bsize, status.f_frsize, status.f_namemax) == (4096, 4096, 255)
    lines = run("df", "--output=size,used,avail,pcent,iused", mount.point).stdout.splitlines()
    assert lines[1].split() == ["4", "4", "0", "100%", "0"]
    run("cp", "-r", mount / "orders", tmp_path / "copied")
    run("rsync", "-a", f"{mount.point}/orders", tmp_path / "synced")


def test_a_writable_mount_has_room(mounts):
    """Tools that look for room before they write find some. What an account may hold is not known."""
    mount = mounts()
    status = os.statvfs(mount.point)
    assert status.f_bavail == status.f_bfree == status.f_blocks - 1 == 2**38
    assert status.f_favail == status.f_ffree == status.f_files == 10**9
    lines = run("df", "--output=size,used,avail,pcent,iavail", mount.point).stdout.splitlines()
    assert lines[1].split() == [str(2**40 + 4), "4", str(2**40), "1%", "1000000000"]


# --- options


@pytest.mark.parametrize(
    "options", ["async,atime,dev,exec,suid,relatime,nodiratime,strictatime,lazytime,silent,nomand", "rw,,rw", ","]
)
def test_what_fstab_writes_is_accepted(mounts, options):
    mount = mounts(options)
    assert sorted(os.listdir(mount.point)) == ["keys", "orders", "packages"]
    assert "rw" in shown(mount, "OPTIONS").split(",")


def test_the_last_of_several_values_holds(mounts):
    mount = mounts("ttl=1,layout=flat,ttl=2,table=orders,layout=auto", "table=packages,ttl=3.25,timeout=1.5,cache_size=1M")
    config = set(mount.control("config").splitlines())
    assert {"ttl 3.250", "timeout 1.500", "cache_size 1048576", "layout auto", "table packages"} <= config
    assert os.listdir(mount / "zlib") == ["1.3.1.json"]


@pytest.mark.parametrize("options, shows", [("ro,rw", "rw"), ("rw,ro", "ro"), ("ro,,ro", "ro")])
def test_the_last_of_ro_and_rw_holds(mounts, options, shows):
    mount = mounts(options)
    assert shows in shown(mount, "OPTIONS").split(",")
    assert f"read_only {'yes' if shows == 'ro' else 'no'}\n" in mount.control("config")


# --- mount(8)


def test_the_call_of_a_mount_helper(mounts, service):
    """mount(8) calls mount.fuse.tablefuse so, if there is a program of this name."""
    mount = mounts.prepare()
    helper = mount.point.with_name("mount.fuse.tablefuse")
    helper.symlink_to(pathlib.Path(TABLEFUSE).resolve())
    call = [helper, service.source, mount.point, "-n", "-v", "-s", "-t", "fuse.tablefuse"]
    done = run(*call, "-f", "-o", "rw,ttl=9")
    assert (done.stdout, done.stderr) == ("", "") and not mount.is_mounted(), "it is a rehearsal"
    done = run(*call, "-o", "rw,ttl=9")
    mount.adopt()
    assert (done.stdout, done.stderr) == ("", "")
    assert source_of(mount) == service.source
    assert "ttl 9.000" in mount.control("config")
    failed = run(helper, service.source, mount.point, "-x", check=False)
    assert failed.stderr == "tablefuse: mount: unknown option -x\ntry `tablefuse mount --help`\n"


@needs_mount8
def test_an_fstab(mounts, service):
    mount = mounts.prepare()
    fstab = mount.point.with_name("fstab")
    # with the program's path before the source, because the tested program is not in mount(8)'s PATH
    fstab.write_text(
        f"{pathlib.Path(TABLEFUSE).resolve()}#{service.source}/packages {mount.point} fuse "
        "ro,noauto,nofail,_netdev,x-systemd.automount,user,comment=packages,ttl=5 0 0\n"
    )
    run("mount", "-T", fstab, mount.point, "-o", "ttl=6")
    mount.adopt()
    assert source_of(mount) == f"{service.source}/packages"
    assert "ttl 6.000" in mount.control("config"), "mount(8) appends options to those of fstab"
    assert {"ro", "nosuid", "nodev", "noexec"} <= set(shown(mount, "OPTIONS").split(","))
    assert sorted(os.listdir(mount.point)) == ["Newtonsoft.Json", "Serilog", "zlib"]
    run("umount", mount.point)
    assert mount.has_ended() and not mount.is_mounted()


@needs_mount8
def test_the_environment_reaches_a_mount_of_mount8(mounts):
    mount = mounts.prepare()
    env = environment(SSL_CERT_FILE="/nowhere", AZURE_STORAGE_KEY=KEY)
    failed = run(
        *("mount", "-t", "fuse", f"{pathlib.Path(TABLEFUSE).resolve()}#https://localhost:1/account"),
        mount.point,
        check=False,
        env=env,
    )
    assert failed.returncode == CONFIGURATION
    assert failed.stderr.startswith("tablefuse: cannot use the certificates in /nowhere: ")
