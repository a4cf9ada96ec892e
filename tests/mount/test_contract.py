"""The contract of every table store (tests/contract), over the service."""
import os
import pathlib

import pytest

from harness import TABLEFUSE, environment, run

CONTRACT = os.environ.get(
    "TABLEFUSE_CONTRACT", str(pathlib.Path(TABLEFUSE).parent / "tests" / "store_contract")
)


REFUSED = ["table_name", "property_name", "value_type"]
SETTINGS = [
    "",
    "page_rows=1-5&empty=0.3&last_empty=0.3&borders=0.3&tokens=mixed",
    "fault_rate=0.1&fault_kinds=429,500,503,reset,stale,inner_503",
    "fault_rate=0.1&fault_kinds=500_after,reset_after,cut",
]


@pytest.mark.asan
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings.replace("&", " "))
def test_a_service_keeps_the_contract(service, settings):
    service.proxy.control_text(settings)
    service.proxy.control(expect=REFUSED)
    env = environment(AZURE_STORAGE_CONNECTION_STRING=service.connection_string())
    done = run(CONTRACT, "", env=env, check=False, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_fixture_fills_the_service(service, mounts):
    env = environment(AZURE_STORAGE_CONNECTION_STRING=service.connection_string())
    fixture = pathlib.Path(CONTRACT).with_name("fixture")
    done = run(fixture, "", "filled", "small", "200", env=env)
    assert done.stdout.split()[-1] == "200"
    mount = mounts()
    assert sum(len(files) for _, _, files in os.walk(mount / "filled")) == 200
