"""The official JavaScript client on the realtime interface of a running platform. Needs Node (skipped only where it is absent)."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import jwt
import pytest

from tests.platform import Platform

HERE = Path(__file__).parent
PEOPLE = {
    "TOKEN_WRITER": "00000000-0000-0000-0000-00000000000a",
    "TOKEN_READER": "00000000-0000-0000-0000-00000000000b",
    "TOKEN_STRANGER": "00000000-0000-0000-0000-00000000000c",
}
_ENDING_S = 12
"""The token of whom is over during the tests; they wait for it."""

pytestmark = [
    pytest.mark.node,
    pytest.mark.process_group("clients"),
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


@pytest.fixture(scope="module")
def tables(client_platform: Platform) -> Platform:
    """The platform with the tables and rooms of these tests."""
    for name in ("realtime_schema.sql", "realtime_changes.sql"):
        done = client_platform.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(HERE / name))
        assert done.returncode == 0, done.stderr
    client_platform.wait_for_catalog("ticker")
    client_platform.wait_for_catalog("orders_live")
    return client_platform


@pytest.mark.usefixtures("node_modules")
@pytest.mark.parametrize(
    "file", ["realtime.test.mjs", "realtime-changes.test.mjs", "realtime-rooms.test.mjs"]
)
def test_supabase_js_does_all_of_realtime(tables: Platform, file: str) -> None:
    secret, now = tables.values["JWT_SECRET"], int(time.time())
    tokens = {
        name: jwt.encode({"role": "authenticated", "sub": sub, "exp": now + 3600}, secret, "HS256")
        for name, sub in PEOPLE.items()
    }
    ending = {"role": "authenticated", "sub": PEOPLE["TOKEN_WRITER"], "exp": now + _ENDING_S}
    tokens["TOKEN_ENDING"] = jwt.encode(ending, secret, "HS256")

    done = subprocess.run(
        ["node", "--test", "--test-reporter=tap", file],
        cwd=HERE,
        env={**os.environ, **tables.values, **tokens},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
