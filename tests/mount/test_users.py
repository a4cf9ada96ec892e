"""Other users: a mount of a user other than root, and the users that may read it.

Root's /dev/fuse is often root's alone. In a mount namespace of its own each script gets one that all users may open,
and a fuse.conf; it ends with the script, and its mounts with it."""
import os
import re
import shutil

import pytest

from harness import DETACH, TABLEFUSE, copying_mounts, environment, run

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become others; all other files ran as a plain user"
)

USER, OTHER = "nobody", "games"
SANITIZERS = ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")

PROLOGUE = """
set -eu
mount -t tmpfs none "$WORK/devices"
mknod "$WORK/devices/fuse" c 10 229
chmod 666 "$WORK/devices/fuse"
mount --bind "$WORK/devices/fuse" /dev/fuse
printf "%s" "$FUSE_CONF" > "$WORK/fuse.conf"
mount --bind "$WORK/fuse.conf" /etc/fuse.conf
as() { user=$1; shift; runuser -u "$user" -- "$@"; }
trap 'umount -l "$WORK/mnt" 2>/dev/null || :' EXIT
"""


@pytest.fixture(scope="module", autouse=True)
def data(sdk):
    sdk.create_table("table", [{"partitionKey": "p", "rowKey": "r", "N": 1}])


def with_readable_suppressions(options, work):
    """A sanitizer's options, with a copy of its suppressions. The user need not be allowed to read the checkout."""
    path = re.search("suppressions=(/[^:]*)", options)[1]
    copy = shutil.copy(path, work)
    os.chmod(copy, 0o644)
    return options.replace(path, str(copy))


@pytest.fixture
def script(tmp_path_factory, scratch, service):
    """Runs a script in such a namespace. $WORK/mnt belongs to the user; $WORK/tablefuse is the program."""
    work = scratch / tmp_path_factory.mktemp("users").name
    for directory in ("mnt", "devices", "state"):
        (work / directory).mkdir(parents=True)
    shutil.copy(TABLEFUSE, work / "tablefuse")
    for directory in ("mnt", "state"):
        shutil.chown(work / directory, USER)
    for path in (work, work / "mnt", work / "tablefuse"):
        path.chmod(0o755)
    sanitizers = {name: with_readable_suppressions(os.environ[name], work) for name in SANITIZERS if name in os.environ}

    def in_namespace(text, fuse_conf="", check=True):
        env = environment(
            WORK=str(work),
            FUSE_CONF=fuse_conf,
            HOME=str(work),  # for root, to which the state directory does not belong
            XDG_STATE_HOME=str(work / "state"),
            AZURE_STORAGE_CONNECTION_STRING=service.connection_string(),
            **sanitizers,
        )
        with copying_mounts(env) as options:
            return run("unshare", "-m", "sh", "-c", DETACH + PROLOGUE + text, check=check, **options)

    return in_namespace


def test_a_plain_user_mounts_reads_and_unmounts(script):
    done = script(
        f"""
        as {USER} "$WORK/tablefuse" mount "$WORK/mnt"
        as {USER} ls "$WORK/mnt/table/p"
        as {USER} cat "$WORK/mnt/table/p/r.json"
        as {USER} stat -c %U "$WORK/mnt/table/p/r.json"
        as {USER} "$WORK/tablefuse" unmount "$WORK/mnt"
        as {USER} ls -a "$WORK/mnt"
    """
    )
    listed, *text, owner, dot, dots = done.stdout.splitlines()
    assert listed == "r.json" and text[-2] == '  "N": 1' and (owner, dot, dots) == (USER, ".", "..")


@pytest.mark.asan
@pytest.mark.tsan
def test_a_signal_unmounts_the_mount_of_a_plain_user(script):
    done = script(
        f"""
        as {USER} "$WORK/tablefuse" mount "$WORK/mnt"
        pid=$(as {USER} sed -n 's/^pid //p' "$WORK/mnt/.tablefuse/version")
        kill -TERM $pid
        while kill -0 $pid 2> /dev/null; do sleep 0.05; done
        grep " $WORK/mnt " /proc/self/mounts || echo unmounted
    """
    )
    assert done.stdout == "unmounted\n"


def test_a_signal_unmounts_no_other_mount_of_a_plain_user(script):
    """It is detached while a file is open, and its user has mounted there again."""
    done = script(
        f"""
        as {USER} "$WORK/tablefuse" mount "$WORK/mnt"
        pid=$(as {USER} sed -n 's/^pid //p' "$WORK/mnt/.tablefuse/version")
        as {USER} sh -c 'exec < "$WORK/mnt"; echo $$ > "$WORK/state/open"; exec sleep 60' &
        until [ -s "$WORK/state/open" ]; do sleep 0.05; done
        as {USER} "$WORK/tablefuse" unmount -z "$WORK/mnt"
        as {USER} "$WORK/tablefuse" mount "$WORK/mnt"
        kill -TERM $pid
        while kill -0 $pid 2> /dev/null; do sleep 0.05; done
        as {USER} ls "$WORK/mnt"
        as {USER} "$WORK/tablefuse" unmount "$WORK/mnt"
        kill "$(cat "$WORK/state/open")"
    """
    )
    assert done.stdout == "table\n"


def test_the_next_mount_is_not_taken_for_the_one_that_was_unmounted(script):
    """The number of its device is free then, and the next mount gets it: here before fusermount3 has ended."""
    done = script(
        f"""
        mkdir "$WORK/next" "$WORK/bin"
        chown {USER} "$WORK/next"
        printf '#!/bin/sh\\n"%s" "$@" && exec "%s" mount "%s"\\n' \\
            "$(command -v fusermount3)" "$WORK/tablefuse" "$WORK/next" > "$WORK/bin/fusermount3"
        chmod 755 "$WORK/bin" "$WORK/bin/fusermount3"
        as {USER} "$WORK/tablefuse" mount "$WORK/mnt"
        as {USER} env PATH="$WORK/bin:$PATH" "$WORK/tablefuse" unmount "$WORK/mnt"
        as {USER} ls "$WORK/next"
        as {USER} "$WORK/tablefuse" unmount "$WORK/next"
    """
    )
    assert (done.stdout, done.stderr) == ("table\n", "")


def test_other_users_have_no_access(script):
    done = script(
        f"""
        as {USER} "$WORK/tablefuse" mount "$WORK/mnt"
        as {OTHER} ls "$WORK/mnt" || echo refused the other
        ls "$WORK/mnt" || echo refused root
        as {USER} "$WORK/tablefuse" unmount "$WORK/mnt"
    """
    )
    assert done.stdout.splitlines() == ["refused the other", "refused root"]


# $1: what the system says the user's home is
FSTAB = f"""
mkdir "$WORK/home"
chown {USER} "$WORK/home"
awk -F: -v OFS=: -v home="$1" '$1 == "{USER}" {{ $6 = home }} {{ print }}' /etc/passwd > "$WORK/passwd"
mount --bind "$WORK/passwd" /etc/passwd
echo "$WORK/tablefuse#local:$WORK/home/account $WORK/mnt fuse create,noauto,user 0 0" > "$WORK/fstab"
mount --bind "$WORK/fstab" /etc/fstab
unset XDG_STATE_HOME
"""


@pytest.mark.skipif(not shutil.which("mount.fuse3", path="/sbin:/usr/sbin"), reason="mount(8) mounts by mount.fuse3")
def test_a_plain_user_mounts_by_fstab(script):
    """HOME is root's then."""
    done = script(
        f"""set -- "$WORK/home"
        {FSTAB}
        as {USER} mount "$WORK/mnt"
        as {USER} mkdir "$WORK/mnt/table"
        as {USER} ls "$WORK/mnt"
        stat -c %U "$WORK/home/.local/state/tablefuse/lost+found"
        as {USER} "$WORK/tablefuse" unmount "$WORK/mnt"
    """
    )
    assert done.stdout.splitlines() == ["table", USER]


def test_root_makes_nothing_in_the_home_of_another_user(script):
    """As behind `sudo -E`, with links to root's own directory in that home."""
    done = script(
        f"""
        mkdir "$WORK/home" "$WORK/roots" "$WORK/roots/state"
        chown {USER} "$WORK/home"
        as {USER} ln -s "$WORK/roots/state" "$WORK/home/state"
        as {USER} ln -s "$WORK/roots" "$WORK/home/.local"
        awk -F: -v OFS=: -v home="$WORK/roots" '$1 == "root" {{ $6 = home }} {{ print }}' /etc/passwd > "$WORK/passwd"
        mount --bind "$WORK/passwd" /etc/passwd
        HOME="$WORK/home" XDG_STATE_HOME="$WORK/home/state" "$WORK/tablefuse" mount "$WORK/mnt"
        "$WORK/tablefuse" unmount "$WORK/mnt"
        cd "$WORK/roots" && find . -name lost+found
        find "$WORK/home" -type d -newer "$WORK/passwd" | grep -v home$ || :
    """
    )
    assert done.stdout == "./.local/state/tablefuse/lost+found\n"


@pytest.mark.skipif(not shutil.which("mount.fuse3", path="/sbin:/usr/sbin"), reason="mount(8) mounts by mount.fuse3")
def test_a_plain_user_without_a_home_is_told_what_to_set(script):
    done = script(
        f"""set -- /nonexistent
        {FSTAB}
        as {USER} mount "$WORK/mnt" || echo "exit $?"
    """
    )
    assert done.stdout == "exit 2\n"
    assert "set XDG_STATE_HOME to a directory of yours outside the mount" in done.stderr


def test_allow_other_needs_fuse_conf(script):
    done = script(
        f"""
        as {USER} "$WORK/tablefuse" mount -o allow_other "$WORK/mnt" || echo "exit $?"
        mountpoint -q "$WORK/mnt" || echo nothing there
    """
    )
    assert done.stdout.splitlines() == ["exit 32", "nothing there"]
    assert "user_allow_other" in done.stderr


def test_what_a_mount_needs_is_asked_before_a_file_is_made(script):
    """The device, and the line in fuse.conf."""
    done = script(
        f"""
        state=$(mktemp -d "$WORK/state/XXXXXX")
        chown {USER} "$state"
        try() {{ as {USER} env XDG_STATE_HOME="$state" "$WORK/tablefuse" mount -o "$1" "local:$state/a.tf" "$WORK/mnt" || :; }}
        try create,allow_other
        chmod 600 /dev/fuse
        try create
        umount /dev/fuse
        mount --bind "$WORK/devices" /dev
        rm "$WORK/devices/fuse"
        mknod -m 666 /dev/null c 1 3
        try create
        ls "$state"
    """
    )
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "tablefuse: /etc/fuse.conf does not let users give the option allow_other -- `echo user_allow_other | "
        "sudo tee -a /etc/fuse.conf`, or mount as root",
        "tablefuse: cannot open /dev/fuse: Permission denied -- `sudo chmod 666 /dev/fuse`, as it is on most systems; "
        "or mount as root",
        "tablefuse: cannot open /dev/fuse: No such file or directory -- `sudo modprobe fuse`; in a container: "
        "`docker run --device /dev/fuse --cap-add SYS_ADMIN`",
    ]


def test_fusermount_that_is_missing(script):
    done = script(
        f"""
        touch "$WORK/empty"
        mount --bind "$WORK/empty" "$(realpath "$(command -v fusermount3)")"
        as {USER} "$WORK/tablefuse" mount "$WORK/mnt" || echo "exit $?"
    """
    )
    assert done.stdout == "exit 32\n"
    assert done.stderr.endswith("/mnt -- fusermount3 is missing: `sudo apt install fuse3`\n")


def test_allow_other_gives_access_by_the_modes(script):
    done = script(
        f"""
        as {USER} "$WORK/tablefuse" mount -o allow_other "$WORK/mnt"
        as {OTHER} ls "$WORK/mnt/table/p"
        as {OTHER} rmdir "$WORK/mnt/.tablefuse/drop/table!" || echo only the owner drops
        grep " $WORK/mnt fuse.tablefuse " /proc/self/mounts | grep -o default_permissions
        as {USER} "$WORK/tablefuse" unmount "$WORK/mnt"
        as {USER} "$WORK/tablefuse" mount -o allow_other,umask=077 "$WORK/mnt"
        as {OTHER} ls "$WORK/mnt/table" || echo refused the other
        as {USER} ls "$WORK/mnt/table"
        as {USER} "$WORK/tablefuse" unmount "$WORK/mnt"
    """,
        fuse_conf="# user_allow_other\nuser_allow_other   # for all users\n",
    )
    assert done.stdout.splitlines() == [
        "r.json",
        "only the owner drops",
        "default_permissions",
        "refused the other",
        "p",
    ]


def test_root_gives_others_access_without_fuse_conf(script):
    done = script(
        f"""
        "$WORK/tablefuse" mount "$WORK/mnt"
        as {OTHER} ls "$WORK/mnt" || echo refused the other
        "$WORK/tablefuse" unmount "$WORK/mnt"
        "$WORK/tablefuse" mount -o allow_other,uid=$(id -u {USER}),umask=027 "$WORK/mnt"
        as {USER} ls "$WORK/mnt"
        as {OTHER} ls "$WORK/mnt" || echo refused the other
        "$WORK/tablefuse" unmount "$WORK/mnt"
    """
    )
    assert done.stdout.splitlines() == ["refused the other", "table", "refused the other"]


def test_a_directory_of_another_user_is_no_mount_point(script):
    done = script(
        f"""
        chown {OTHER} "$WORK/mnt"
        as {USER} "$WORK/tablefuse" mount "$WORK/mnt" || echo "exit $?"
    """
    )
    assert done.stdout == "exit 32\n" and "mnt" in done.stderr
