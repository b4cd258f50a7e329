"""The official JavaScript client against a running platform. Needs Node (skipped only where it is absent)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.platform import Platform

HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.node,
    pytest.mark.process_group("clients"),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


@pytest.mark.timeout(240)
@pytest.mark.usefixtures("node_modules")
def test_supabase_js_does_all_of_the_data_interface(
    client_platform: Platform, tokens: dict[str, str]
) -> None:
    environment = {**os.environ, **client_platform.values, **tokens}

    done = subprocess.run(
        ["node", "--test", "rest.test.mjs"],
        cwd=HERE,
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
