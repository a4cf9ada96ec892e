"""contrib/cluster/kubernetes.yaml: what its pods run, and whether Kubernetes' API has such fields."""
import copy
import json
import os
import pathlib
import shutil
import subprocess

import pytest
import yaml

from harness import COMMAND_SEC, CONFIGURATION, ROOT, TABLEFUSE, LocalAccount, environment, run

FILE = ROOT / "contrib/cluster/kubernetes.yaml"
CHECK = ROOT / "tests/kubernetes"
INSTALL_SEC = 500


@pytest.fixture(scope="module")
def resources():
    return list(yaml.safe_load_all(FILE.read_text()))


@pytest.fixture(scope="module")
def job(resources):
    (job,) = [resource for resource in resources if resource["kind"] == "Job"]
    return job["spec"]


@pytest.fixture(scope="module")
def pod(job):
    return job["template"]["spec"]


@pytest.fixture(scope="module")
def container(pod):
    (container,) = pod["containers"]
    return container


def test_each_index_exports_its_part(container, tmp_path):
    account, results = LocalAccount(tmp_path / "account"), tmp_path / "results"
    account.fill("dates", "dates", "500")
    results.mkdir()
    url, tokens = f"{account.source}/dates", tmp_path / "parts"
    tokens.write_text(run(TABLEFUSE, "split", "--quiet", "-n", "4", url).stdout)
    given = {variable["name"] for variable in container["env"]}
    own = {"TABLE": url, "PARTS": str(tokens), "RESULTS": str(results)}
    assert given == set(own)

    def start(index):
        path = f"{pathlib.Path(TABLEFUSE).parent}:{os.environ['PATH']}"
        return run(*container["command"], check=False, env=environment(**own, PATH=path, JOB_COMPLETION_INDEX=str(index)))

    for index in (0, 1, 2, 3, 2):
        assert start(index).returncode == 0
    assert len(list(results.iterdir())) == 4
    assert run(TABLEFUSE, "join", tokens, results).stdout == run(TABLEFUSE, "export", "--quiet", url).stdout
    assert start(4).returncode == CONFIGURATION  # more completions than lines: not tried again


def test_what_a_pod_is_made_of(job, pod, container):
    tokens, results = (variable["value"] for variable in container["env"] if variable["name"] != "TABLE")
    mounted = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert {volume["name"] for volume in pod["volumes"]} == set(mounted.values())
    assert str(pathlib.Path(tokens).parent) in mounted and results in mounted
    ignored, failing = job["podFailurePolicy"]["rules"]
    assert ignored["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert (failing["onExitCodes"]["containerName"], failing["onExitCodes"]["values"]) == (container["name"], [1, 2, 3, 5, 6, 7])
    assert pod["restartPolicy"] == "Never"  # podFailurePolicy needs it
    assert "privileged" not in FILE.read_text() and "/dev/fuse" not in FILE.read_text()


@pytest.fixture(scope="module")
def faults_of(tmp_path_factory):
    """What the types of the API say: faults_of(resources) is a list for each of them."""
    place = tmp_path_factory.mktemp("kubernetes")
    for file in CHECK.iterdir():
        shutil.copy(file, place)
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", cwd=place, timeout=INSTALL_SEC)

    def check(resources):
        command = ["node", place / "check_fields.js"]
        done = subprocess.run(
            command, input=json.dumps(resources), stdout=subprocess.PIPE, text=True, check=True, timeout=COMMAND_SEC
        )
        return json.loads(done.stdout)

    return check


def renamed(resource, name, new_name):
    """A copy in which all fields of that name have another one."""
    if isinstance(resource, list):
        return [renamed(each, name, new_name) for each in resource]
    if not isinstance(resource, dict):
        return resource
    return {new_name if key == name else key: renamed(value, name, new_name) for key, value in resource.items()}


def field_names(resource):
    if isinstance(resource, list):
        return {name for each in resource for name in field_names(each)}
    if not isinstance(resource, dict):
        return set()
    return set(resource).union(*map(field_names, resource.values()))


@pytest.mark.cluster
def test_the_api_has_these_fields(resources, faults_of):
    assert faults_of(resources) == [[], []]
    # of each field another spelling is found; what a user names is none of the API's
    own = {"kind", "apiVersion", "azure.workload.identity/use", "cpu", "memory", "storage"}
    names = sorted(field_names(resources) - own)
    assert len(names) > 40
    wrong = faults_of([each for name in names for each in renamed(resources, name, name + "s")])
    missed = [name for i, name in enumerate(names) if not wrong[2 * i] and not wrong[2 * i + 1]]
    assert missed == []
    # and so are values of another type, or that it does not know
    for path, value in (
        (("spec", "backoffLimitPerIndex"), "5"),
        (("spec", "completionMode"), "indexed"),
        (("spec", "podFailurePolicy", "rules", 1, "action"), "Fail"),
        (("spec", "podFailurePolicy", "rules", 1, "onExitCodes", "values", 0), "1"),
        (("spec", "template", "spec", "containers", 0, "env", 0, "value"), 7),
    ):
        changed = copy.deepcopy(resources[0])
        place = changed
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        assert faults_of([changed]) != [[]], path
