"""The contract of every table store (tests/contract), over Azurite behind the strict proxy."""
import os
import pathlib

import pytest

from harness import TABLEFUSE, environment, run

CONTRACT = os.environ.get(
    "TABLEFUSE_CONTRACT", str(pathlib.Path(TABLEFUSE).parent / "tests" / "store_contract")
)


REFUSED = ["table_name", "property_name", "value_type"]
# The first requests that fit get them. A refused batch in doubt would count as made where its outcome is there.
FAULTS = [
    "503@tables",
    "500_after@create*2",
    "reset_after@drop*2",
    "reset_after@insert*2",
    "429@insert",
    "500_after@replace",
    "reset@merge",
    "504_after@delete*2",
    "cut@get",
    "408@get",
    "cut@query",
    "wrong_length@query",
    "stale@query",
    "502@query",
    "inner_503@batch",
    "inner_500@batch",
    "reset_after@batch",
    "cut@batch",
]
SETTINGS = {"strict": {}, "tokens": {"tokens": "mixed"}, "faults": {"plan": FAULTS}}


@pytest.mark.asan("strict")
@pytest.mark.parametrize("settings", SETTINGS)
def test_a_service_keeps_the_contract(service, settings):
    service.proxy.control(expect=REFUSED, **SETTINGS[settings])
    env = environment(AZURE_STORAGE_CONNECTION_STRING=service.connection_string())
    done = run(CONTRACT, "", env=env, check=False, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    report = service.proxy.control()
    assert report["planned"] == [] and sum(report["happened"].values()) == (22 if settings == "faults" else 0)


def test_a_fixture_fills_the_service(service, mounts):
    env = environment(AZURE_STORAGE_CONNECTION_STRING=service.connection_string())
    fixture = pathlib.Path(CONTRACT).with_name("fixture")
    done = run(fixture, "", "filled", "small", "200", env=env)
    assert done.stdout.split()[-1] == "200"
    mount = mounts()
    assert sum(len(files) for _, _, files in os.walk(mount / "filled")) == 200
