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

pytestmark = [
    pytest.mark.node,
    pytest.mark.xdist_group("clients"),
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


@pytest.mark.usefixtures("node_modules")
def test_supabase_js_does_all_of_realtime(client_platform: Platform) -> None:
    done = client_platform.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(HERE / "realtime_schema.sql"))
    assert done.returncode == 0, done.stderr
    client_platform.wait_for_catalog("ticker")
    secret, until = client_platform.values["JWT_SECRET"], int(time.time()) + 3600
    tokens = {
        name: jwt.encode({"role": "authenticated", "sub": sub, "exp": until}, secret, "HS256")
        for name, sub in PEOPLE.items()
    }

    done = subprocess.run(
        ["node", "--test", "--test-reporter=tap", "realtime.test.mjs"],
        cwd=HERE,
        env={**os.environ, **client_platform.values, **tokens},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
