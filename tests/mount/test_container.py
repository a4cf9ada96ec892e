"""The image of contrib/Containerfile: it is built on a root of Debian's packages, and its program runs as process 1.

    $ contrib/package
    $ buildah build -t tablefuse -f contrib/Containerfile build
    $ podman run --rm tablefuse export ...
"""
import json
import os
import signal
import subprocess

import pytest

from harness import EXIT_SEC, ROOT, environment, run

pytestmark = pytest.mark.container

BUILD_SEC = 3600  # it fetches packages
ROWS = 3000  # more than a pipe holds
ISOLATION = "--isolation=chroot"  # needs no namespace: a machine may forbid them


@pytest.fixture(scope="module")
def buildah(tmp_path_factory):
    """Calls it, with a store of its own."""
    store = tmp_path_factory.mktemp("store")

    def call(*arguments, **options):
        stores = ("--root", store / "root", "--runroot", store / "run")
        return run("buildah", *stores, *arguments, timeout=BUILD_SEC, **options).stdout.strip()

    yield call
    call("rm", "--all")
    call("rmi", "--all", "--force")


@pytest.fixture(scope="module")
def image(buildah, tmp_path_factory):
    """What debian:12-slim would be, and the image on it."""
    directory = tmp_path_factory.mktemp("image")
    built = run(ROOT / "contrib/package", timeout=BUILD_SEC).stdout.splitlines()[-1]
    options = ("--quiet", "--variant=minbase", "--dpkgopt=force-unsafe-io")
    run("mmdebstrap", *options, "bookworm", directory / "base.tar", timeout=BUILD_SEC)
    base = buildah("from", "scratch")
    buildah("add", base, directory / "base.tar")
    buildah("commit", base, "base")
    names = ("--build-arg", "BASE=localhost/base", "--build-arg", f"PACKAGE={os.path.basename(built)}")
    file = ROOT / "contrib/Containerfile"
    buildah("build", ISOLATION, "--pull=never", *names, "--tag", "tablefuse", "--file", file, (ROOT / built).parent)
    return "localhost/tablefuse"


@pytest.fixture(scope="module")
def root(buildah, image):
    """Where the files of a container lie."""
    return buildah("mount", buildah("from", "--pull=never", image))


def process_1(root, *arguments):
    """The command that runs the program as a container does: with the files of the image, its user, and process 1."""
    return ["unshare", "--pid", "--fork", "--kill-child", "chroot", "--userspec=tablefuse", root, "tablefuse", *arguments]


def test_what_the_image_runs(buildah, image):
    config = json.loads(buildah("inspect", "--type=image", image))["OCIv1"]["config"]
    assert (config["Entrypoint"], config["User"]) == (["tablefuse"], "1000")


def test_the_command_of_a_container(buildah, image):
    container = buildah("from", "--pull=never", image)
    version = run("sh", "-c", f"sed -n \"s/^ *version: '\\(.*\\)',$/\\1/p\" {ROOT}/meson.build").stdout.strip()
    assert buildah("run", ISOLATION, container, "tablefuse", "version").startswith(f"tablefuse {version}")
    assert buildah("run", ISOLATION, container, "id", "-un") == "tablefuse"


@pytest.fixture(scope="module")
def table(service):
    service.fill("events", "single", str(ROWS))
    return f"{service.endpoint}/events"


def test_an_export_into_a_pipe(root, service, table):
    done = run(*process_1(root, "export", "--quiet", table), env=environment(**service.credentials))
    assert (len([json.loads(line) for line in done.stdout.splitlines()]), done.stderr) == (ROWS, "")


def test_an_export_ends_with_its_reader(root, service, table):
    env = environment(**service.credentials)
    process = subprocess.Popen(process_1(root, "export", "--quiet", table), stdout=subprocess.PIPE, env=env)
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=EXIT_SEC) == 128 + signal.SIGPIPE
