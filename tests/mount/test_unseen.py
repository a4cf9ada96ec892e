"""A mount whose process cannot see the programs that use it: it runs in a PID namespace of its own, as in a container with a
shared mount. No other client's change is overwritten, and each command says what is weaker there."""
import os

import pytest

from harness import DETACH, FAULTY, TABLEFUSE, copying_mounts, environment, run

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a PID namespace")

# Runs in a mount namespace of its own. "seen" is another client of the account that "unseen" shows.
PROLOGUE = """
    set -u
    cd "$1" && mount -t tmpfs none . && mount --make-shared . && cd "$1"
    export XDG_STATE_HOME=$1/state
    mkdir seen unseen table && mkfifo end
    "$TABLEFUSE" mount -o ttl=0,create "local:$1/account" seen
    mkdir seen/tab seen/tab/p
    for name in x y z 1 2 3 4 5; do echo '{"a": 1}' > seen/tab/p/$name.json; done
    INSIDE='"$PROGRAM" mount -f -o ttl=0 "local:$1/account" unseen & until mountpoint -q unseen; do sleep 0.05; done
        echo > ready; read -r line < end'
    unshare --pid --fork --kill-child --mount-proc --propagation unchanged sh -c "$INSIDE" sh "$1" 2> log &
    until [ -e ready ]; do sleep 0.05; done
"""
EPILOGUE = """
    "$TABLEFUSE" unmount unseen
    echo "unmount $?"
    echo > end
    wait
    "$TABLEFUSE" unmount seen
    cat log >&2
    cd / && umount "$1"
"""

# An open that a timer interrupts. Python itself would send it again.
OPEN = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGALRM, lambda *_: None)
for number in "12345":
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    if libc.open(f"unseen/tab/p/{number}.json".encode(), os.O_RDONLY) >= 0:
        print("opened")
        break
"""


@pytest.fixture
def outside(scratch):
    def execute(text, faults=None):
        directory = scratch / "unseen"
        directory.mkdir(exist_ok=True)
        env = environment(
            TABLEFUSE=str(TABLEFUSE),
            PROGRAM=str(FAULTY if faults else TABLEFUSE),
            OPEN=OPEN,
            **({"TABLEFUSE_FAULTS": faults} if faults else {}),
        )
        with copying_mounts(env) as options:
            script = DETACH + PROLOGUE + text + EPILOGUE
            return run("unshare", "--mount", "sh", "-c", script, "sh", directory, check=False, **options)

    return execute


ELSEWHERE = (
    "tablefuse: unmounted; the process of the mount runs in another PID namespace: its end was not waited for, "
    "and its log shows what could not be stored"
)


def test_what_an_unseen_program_read_is_not_overwritten_once_another_client_has_changed_it(outside):
    done = outside(
        """
        cat unseen/tab/p/x.json > text
        echo '{"a": 2}' > seen/tab/p/x.json
        cat unseen/tab/p/x.json > text    # the oldest version counts
        sh -c 'echo "{\\"a\\": 3}" > unseen/tab/p/x.json' 2> /dev/null; echo "first $?"
        grep '"a"' seen/tab/p/x.json
        sh -c 'echo "{\\"a\\": 3}" > unseen/tab/p/x.json'; echo "again $?"
        grep '"a"' seen/tab/p/x.json

        cat unseen/tab/p/y.json > text    # a store of the mount ends it
        echo '{"a": 4}' > unseen/tab/p/y.json
        echo '{"a": 5}' > seen/tab/p/y.json
        cat unseen/tab/p/y.json > text
        echo '{"a": 6}' > unseen/tab/p/y.json; echo "own $?"

        cat unseen/tab/p/z.json > text
        echo '{"a": 7}' > seen/tab/p/z.json
        echo '{"a": 8}' > unseen/tab/p/z.tmp
        mv unseen/tab/p/z.tmp unseen/tab/p/z.json 2> /dev/null; echo "mv $?"
        rm -r unseen/tab/p; ls seen/tab/p
        """
    )
    lines = done.stdout.split("\n")
    assert [line.strip() for line in lines if line] == [
        "first 1",
        '"a": 2',
        "again 0",
        '"a": 3',
        "own 0",
        "mv 1",
        "unmount 0",
    ]
    told = done.stderr.split("\n")
    assert told[0] == ELSEWHERE
    assert len([line for line in told if "cannot be seen" in line]) == 1, told


def test_a_signal_that_ends_no_unseen_program_does_not_end_its_open_at_once(outside):
    done = outside('python3 -c "$OPEN"', faults="latency=300")
    assert done.stdout == "opened\nunmount 0\n", done.stderr


def test_an_unseen_program_is_ended_though_the_service_does_not_answer(outside):
    done = outside(
        """
        cat unseen/tab/p/x.json & cat=$!
        sleep 0.5
        kill -TERM $cat
        wait $cat; echo "cat $?"
        """,
        faults="hang=query:1+,hang=get:1+",
    )
    assert "cat 143\n" in done.stdout, done
