"""contrib/cluster/slurm-job: the parts of a table as an array job of Slurm. A node dies while it exports, a part fails for a
while, and another one for good."""
import contextlib
import os

import pytest

from harness import FAULTY, ROOT, TABLEFUSE, LocalAccount, run, wait_until
from slurm import Cluster

pytestmark = pytest.mark.cluster

JOB = ROOT / "contrib/cluster/slurm-job"
PARTS = 16
FAILS_ONCE, FAILS = 3, 5
DYING = "n2"

# In the place of tablefuse. While the file `fails` is there, two parts fail; what DYING exports waits while `held` is there.
PROGRAM = f"""#!/bin/sh
part=$SLURM_ARRAY_TASK_ID
echo "$SLURMD_NODENAME $part ${{SLURM_RESTART_COUNT:-0}}" >> "$HERE/runs"
if [ "$SLURMD_NODENAME" = {DYING} ]; then
    TABLEFUSE_FAULTS="hold=query:$HERE/held" exec "{FAULTY}" "$@"
fi
[ -e "$HERE/fails" ] && case $part-${{SLURM_RESTART_COUNT:-0}} in
    {FAILS_ONCE}-0) exit 4 ;;
    {FAILS}-*) exit 2 ;;
esac
exec "{TABLEFUSE}" "$@"
"""


@pytest.fixture
def here(tmp_path):
    for name in ("bin", "results", "slurm"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin/tablefuse").write_text(PROGRAM)
    (tmp_path / "bin/tablefuse").chmod(0o755)
    return tmp_path


@pytest.fixture
def cluster(here):
    with contextlib.closing(
        Cluster(here / "slurm", ["n1", DYING, "n3"], PATH=f"{here}/bin:{os.environ['PATH']}", HERE=str(here))
    ) as made:
        yield made


def runs(here):
    """[(node, part, how often it was requeued before)]"""
    lines = (here / "runs").read_text().splitlines() if (here / "runs").exists() else []
    return [(node, int(part), int(restarts)) for node, part, restarts in map(str.split, lines)]


def results_in(directory):
    return [path.name for path in directory.iterdir() if not path.name.endswith(".tmp")]


def test_an_array_job(here, cluster):
    account = LocalAccount(here / "account")
    account.fill("dates", "dates", "3000")
    url, tokens, results = f"{account.source}/dates", here / "parts", here / "results"
    tokens.write_text(run(TABLEFUSE, "split", "--quiet", "-n", str(PARTS), url).stdout)

    def submit(array):
        output = f"--output={here}/log-%a"
        return cluster.run("sbatch", "--parsable", f"--array={array}", output, JOB, tokens, f"{results}/", url).strip()

    def wait_for_runs(number):
        wait_until(lambda: len(runs(here)) >= number, what=f"the start of {number} parts")

    cluster.run("scontrol", "update", "nodename=n1,n3", "state=drain", "reason=later")
    (here / "held").touch()
    (here / "fails").touch()

    # what is cancelled in the middle of a part stays so, though the program ends with "try again"
    cancelled = submit("1-2")
    wait_for_runs(2)
    cluster.run("scancel", cancelled)
    cluster.wait_for_jobs()
    assert sorted(runs(here)) == [(DYING, 1, 0), (DYING, 2, 0)] and results_in(results) == []

    submit(f"1-{PARTS}")
    wait_for_runs(4)
    cluster.run("scontrol", "update", "nodename=n1,n3", "state=resume")
    cluster.kill_node(DYING)
    cluster.wait_for_jobs()
    done = runs(here)[2:]
    lost = {part for node, part, _ in done if node == DYING}
    assert lost <= {part for node, part, restarts in done if node != DYING and restarts}
    assert {part for _, part, _ in done} == set(range(1, PARTS + 1))
    assert (FAILS_ONCE, 1) in [(part, restarts) for _, part, restarts in done]
    assert max(restarts for _, part, restarts in done if part == FAILS) < 5  # it is not tried again
    missing = run(TABLEFUSE, "join", "--missing", tokens, results, check=False).stdout
    assert missing == f"{FAILS}\n"

    # what is missing, by its numbers
    (here / "fails").unlink()
    submit(missing.strip())
    cluster.wait_for_jobs()
    assert run(TABLEFUSE, "join", tokens, results).stdout == run(TABLEFUSE, "export", "--quiet", url).stdout
