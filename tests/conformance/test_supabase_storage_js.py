"""The official JavaScript client on the storage of a running platform. Needs Node (skipped only where it is absent)."""

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
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


@pytest.mark.usefixtures("node_modules")
def test_supabase_js_does_all_of_the_storage(stored: Platform) -> None:
    done = subprocess.run(
        ["node", "--test", "--test-reporter=tap", "storage.test.mjs"],
        cwd=HERE,
        env={**os.environ, **stored.values},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
