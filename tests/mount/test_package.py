"""The Debian package: what is in it, and that its program works with the libraries that it names.

    $ contrib/package
    $ sudo apt install ./build/tablefuse_0.1.0_amd64.deb
"""
import json
import os
import re
import shutil

import pytest

from harness import ROOT, LocalAccount, environment, no_copies, run

pytestmark = pytest.mark.package

BUILD_SEC = 1800
DOCS = {page.name for page in (ROOT / "contrib/docs").glob("*.md")} | {"README.md", "changelog", "copyright"}
EXPECTED = {
    "usr/bin/tablefuse",
    "usr/lib/systemd/system/tablefuse@.service",
    "usr/lib/systemd/user/tablefuse@.service",
    "usr/share/bash-completion/completions/tablefuse",
    "usr/share/man/man1/tablefuse.1.gz",
    "usr/share/zsh/vendor-completions/_tablefuse",
    "usr/share/doc/tablefuse/examples/ACCOUNT",
    "usr/share/doc/tablefuse/examples/backup",
    "usr/share/doc/tablefuse/examples/package-lock.json",
    "usr/share/doc/tablefuse/examples/package.json",
    "usr/share/doc/tablefuse/examples/kubernetes.yaml",
    "usr/share/doc/tablefuse/examples/queue-worker",
    "usr/share/doc/tablefuse/examples/slurm-job",
} | {f"usr/share/doc/tablefuse/{name}" for name in DOCS}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the tree, in a repository with one commit: what is built in it leaves nothing here."""
    copy = tmp_path_factory.mktemp("package") / "tree"
    ignored = shutil.ignore_patterns("build*", ".git", "node_modules", "__pycache__", "mnt", "*.tablefuse*")
    shutil.copytree(ROOT, copy, ignore=ignored)
    for command in ("init -q", "add -A", "-c user.name=n -c user.email=n@example.org commit -q -m all"):
        run("git", "-C", copy, *command.split())
    return copy


@pytest.fixture(scope="module")
def package(tree):
    done = run(tree / "contrib/package", timeout=BUILD_SEC)
    assert done.stderr == ""
    built = done.stdout.splitlines()[-1]
    version = re.search(r"version: '(.*)'", (ROOT / "meson.build").read_text())[1]
    assert re.fullmatch(rf"build/tablefuse_{re.escape(version)}_\w+\.deb", built)
    return tree / built


@pytest.fixture(scope="module")
def root(package, tmp_path_factory):
    directory = tmp_path_factory.mktemp("root")
    run("dpkg-deb", "--extract", package, directory)
    return directory


def field(package, name):
    return run("dpkg-deb", "--field", package, name).stdout.strip()


def test_the_files_of_the_package(root):
    """Documents above 4 KB are compressed."""
    files = {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}
    doc = "usr/share/doc/tablefuse/"
    assert {name.removesuffix(".gz") if name.startswith(doc) else name for name in files} == EXPECTED


def test_installing_starts_nothing(package, tmp_path):
    """No script of a maintainer runs, at any time."""
    run("dpkg-deb", "--control", package, tmp_path / "control")
    assert set(os.listdir(tmp_path / "control")) == {"control", "md5sums"}


def owner_of(path):
    """The package of a file. /lib is a link to /usr/lib, and a package has either."""
    found = [run("dpkg-query", "--search", name, check=False).stdout for name in (path, f"/usr{path}")]
    return "".join(found).split(":")[0]


def test_the_fields_name_the_libraries_of_the_program(package, root):
    depends = {word.split(" ")[0] for word in field(package, "Depends").split(", ")}
    needed = re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", root / "usr/bin/tablefuse").stdout)
    paths = [run("sh", "-c", f"ldconfig -p | sed -n 's/.*{name} .*=> //p' | head -1").stdout.strip() for name in needed]
    owners = {owner_of(path) for path in paths}
    assert owners | {"fuse3"} == depends
    assert field(package, "Recommends") == "ca-certificates"  # without them no https:// server is trusted
    assert {"libfuse3-3", "libcurl4", "libssl3", "libcjson1"} <= depends


@pytest.mark.parametrize("manager", ["system", "user"])
def test_the_unit_starts_the_program_of_the_package(root, manager):
    unit = (root / f"usr/lib/systemd/{manager}/tablefuse@.service").read_text()
    assert re.search(r"^ExecStart=/usr/bin/tablefuse mount ", unit, re.MULTILINE)


def test_its_program_mounts(root, mounts, tmp_path):
    program = root / "usr/bin/tablefuse"
    account = LocalAccount(tmp_path / "account.tf")
    account.fill("sample")
    mount = mounts(source=account.source, program=program)
    assert '"Size": 2065787' in (mount / "packages/Newtonsoft.Json/13.0.1.json").read_text()
    with no_copies():  # mount tests run at the same time
        assert run(program, "unmount", mount.point).stderr == ""
    assert not mount.is_mounted()


def test_meson_installs_the_same_files(tree, tmp_path):
    """Without the build: what is installed is known before."""
    run("meson", "setup", tmp_path / "build", "--prefix=/usr", "-Dtests=false", cwd=tree, timeout=BUILD_SEC)
    installed = json.loads(run("meson", "introspect", "--installed", tmp_path / "build").stdout).values()
    assert {path.removeprefix("/").replace("tablefuse.1", "tablefuse.1.gz") for path in installed} == {
        name for name in EXPECTED if not name.startswith("usr/share/doc/")
    }


def test_a_tree_with_changes_says_so(tree, tmp_path):
    """Without the build: the script's functions alone."""
    changed = shutil.copytree(tree, tmp_path / "tree", symlinks=True)
    (changed / "contrib/CHANGELOG.md").write_text("# Changes\n\n## 0.1.0\n\n- One.\n")
    script = "eval \"$(sed -n '/^version_of_tree/,/^}/p' contrib/package)\"; version_of_tree"
    assert run("bash", "-euc", script, cwd=changed).stdout.strip().endswith("+local")
    assert not run("bash", "-euc", script, cwd=tree).stdout.strip().endswith("+local")


TOOLS = {(): "debhelper dpkg-dev lintian meson scdoc", ("arm64",): "lintian mmdebstrap"}


def with_programs(directory, **scripts):
    """An environment in which these stand for the real programs."""
    for name, script in scripts.items():
        (directory / name).write_text(f"#!/bin/sh\n{script}\n")
        (directory / name).chmod(0o755)
    return environment(PATH=f"{directory}:{os.environ['PATH']}")


@pytest.mark.parametrize("arguments", TOOLS)
def test_missing_tools_are_named(tmp_path, arguments):
    env = with_programs(tmp_path, **{"dpkg-query": "exit 1", "dpkg": "echo amd64"})
    done = run(ROOT / "contrib/package", *arguments, env=env, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f"contrib/package: these packages are missing: apt-get install {TOOLS[arguments]}\n"


def test_without_packages_for_arm64(tmp_path):
    programs = {"dpkg-query": "echo installed", "dpkg": "echo amd64", "mmdebstrap": "echo no network >&2; exit 100"}
    done = run(ROOT / "contrib/package", "arm64", env=with_programs(tmp_path, **programs), check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "no network\ncontrib/package: there is no root for arm64: mmdebstrap failed, see above\n"


def test_another_architecture_is_refused():
    done = run(ROOT / "contrib/package", "riscv64", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "contrib/package: usage: contrib/package [arm64 [COMMAND...]]\n"
