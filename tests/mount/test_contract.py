"""The contract of every table store (tests/contract), over the service."""
import os
import pathlib

import pytest

from harness import TABLEFUSE, environment, run

CONTRACT = os.environ.get(
    "TABLEFUSE_CONTRACT", str(pathlib.Path(TABLEFUSE).parent / "tests" / "store_contract")
)


@pytest.mark.asan
def test_azurite_keeps_the_contract(service):
    env = environment(AZURE_STORAGE_CONNECTION_STRING=service.connection_string())
    done = run(CONTRACT, "", "azurite", env=env, check=False, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_fixture_fills_the_service(service, mounts):
    env = environment(AZURE_STORAGE_CONNECTION_STRING=service.connection_string())
    fixture = pathlib.Path(CONTRACT).with_name("fixture")
    done = run(fixture, "", "filled", "small", "200", env=env)
    assert done.stdout.split()[-1] == "200"
    mount = mounts()
    assert sum(len(files) for _, _, files in os.walk(mount / "filled")) == 200
